/* emit_fetch.c: before a host statement reads values of tensors, they are copied to the host; and
 * `record`, which waits for nothing. */
#include "emit_device.h"

typedef struct Needs {
    const CEmit *x;
    bool *value; /* by buffer */
    int n;
} Needs;

static void need(Needs *s, const Buffer *b) {
    s->n += !s->value[b->id];
    s->value[b->id] = true;
}

static bool is_stored(const Node *n) {
    return n->op != OP_constant && n->op != OP_scalar && n->op != OP_count;
}

static void need_format(Needs *s, const Format *f);

static void need_expr(Needs *s, const HExpr *h) {
    if (!h)
        return;
    if (h->kind == HX_NODE && is_stored(h->node))
        need(s, c_node_buffer(s->x, h->node));
    if (h->kind == HX_HOME)
        need(s, c_home_buffer(s->x, h->home));
    if (h->kind == HX_FORMAT)
        need_format(s, h->format);
    for (int i = 0; h->kind == HX_OP && i < h->nargs; i++)
        need_expr(s, h->args[i]);
}

static void need_format(Needs *s, const Format *f) {
    for (int i = 0; f && i < f->n; i++) {
        need_expr(s, f->parts[i].value);
        if (f->parts[i].tensor)
            need(s, c_node_buffer(s->x, f->parts[i].tensor));
    }
}

static Needs needs_new(const CEmit *x) {
    return (Needs){.x = x, .value = NEW_ARRAY(x->arena, bool, x->l->buffers.n + 1)};
}

static void emit_needs(CEmit *x, const Needs *s, bool shows) {
    for (int i = 0; i < x->l->buffers.n; i++)
        if (s->value[i])
            emit_line(&x->e, "NN_TRY(nn_pull(nn, %s));", c_buffer_value(x, x->l->buffers.at[i]));
    if (s->n || shows)
        emit_line(&x->e, "NN_TRY(nn_settle(nn));");
}

void cuda_emit_fetch(CEmit *x, const HExpr *a, const HExpr *b, const Format *f, bool shows) {
    if (!x->gpu)
        return;
    Needs s = needs_new(x);
    need_expr(&s, a);
    need_expr(&s, b);
    need_format(&s, f);
    emit_needs(x, &s, shows);
}

void cuda_emit_fetch_scalars(CEmit *x, const Region *r) {
    if (!x->gpu)
        return;
    Needs s = needs_new(x);
    for (int i = 0; i < x->p->scalars.n; i++)
        if (x->p->scalars.at[i]->region == r)
            need_expr(&s, x->p->scalars.at[i]->value);
    emit_needs(x, &s, false);
}

/* The buffer whose only element is recorded as it is, or NULL. */
static const Buffer *recorded(const CEmit *x, const HExpr *h) {
    if (h->kind == HX_NODE && is_stored(h->node))
        return c_node_buffer(x, h->node);
    return h->kind == HX_HOME ? c_home_buffer(x, h->home) : NULL;
}

void cuda_emit_record(CEmit *x, const HStmt *s) {
    Text which = {.arena = x->arena}, from = {.arena = x->arena};
    int n = 0;
    for (int i = 0; i < s->format->n; i++) {
        const TextPart *part = &s->format->parts[i];
        if (!part->value)
            continue;
        const char *name = c_record_name(x, part->text);
        const Buffer *b = recorded(x, part->value);
        if (!b) {
            cuda_emit_fetch(x, part->value, NULL, NULL, false);
            emit_line(&x->e, "nn->record[%s] = (double)%s;", name, c_expr(x, part->value));
        }
        text_printf(&which, "%s%s", n ? ", " : "", name);
        text_printf(&from, "%s%s", n++ ? ", " : "", b ? c_buffer_value(x, b) : "-1");
    }
    if (!n)
        return;
    emit_begin(&x->e, "%s", "");
    emit_line(&x->e, "static const int which[] = {%s}, from[] = {%s};", which.at, from.at);
    emit_line(&x->e, "NN_TRY(nn_record(nn, which, from, %d));", n);
    emit_end(&x->e, "");
}
