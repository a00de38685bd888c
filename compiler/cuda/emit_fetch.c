/* emit_fetch.c: before a host statement reads values of tensors, they are copied to the host; and
 * `print`, which waits for nothing where it shows numbers as they are. */
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

void cuda_emit_fetch_expect(CEmit *x, const HStmt *s) {
    if (!x->gpu)
        return;
    Needs n = needs_new(x);
    const HExpr *const read[] = {s->value, s->left, s->right};
    for (int i = 0; i < COUNT_OF(read); i++)
        need_expr(&n, read[i]);
    need_format(&n, s->format);
    emit_needs(x, &n, true);
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

/* ---- what is shown later ---- */

const Buffer *cuda_taken(const CEmit *x, const HExpr *h) {
    if (!x->gpu)
        return NULL;
    if (h->kind == HX_NODE && is_stored(h->node))
        return c_node_buffer(x, h->node);
    return h->kind == HX_HOME ? c_home_buffer(x, h->home) : NULL;
}

/* Is every part of it text, known to the host, or a number as the device has it? */
static bool can_wait(const CEmit *x, const Format *f) {
    Needs s = needs_new(x);
    for (int i = 0; i < f->n; i++) {
        const TextPart *part = &f->parts[i];
        const Buffer *b = part->value ? cuda_taken(x, part->value) : NULL;
        if (part->tensor || (b && b->dtype == DT_I64)) /* it would not fit into a double */
            return false;
        if (part->value && !b)
            need_expr(&s, part->value);
    }
    return s.n == 0;
}

static int count_values(const Format *f) {
    int n = 0;
    for (int i = 0; i < f->n; i++)
        n += f->parts[i].value != NULL;
    return n;
}

static int most_taken(const CEmit *x, const HBlock *b) {
    int most = -1;
    for (int i = 0; b && i < b->stmts.n; i++) {
        const HStmt *s = b->stmts.at[i];
        const HBlock *const inner[] = {s->cond, s->body, s->other};
        for (int k = 0; k < COUNT_OF(inner); k++)
            most = MAX(most, most_taken(x, inner[k]));
        if (s->kind == HS_RECORD || (s->kind == HS_PRINT && can_wait(x, s->format)))
            most = MAX(most, count_values(s->format));
    }
    return most;
}

int cuda_most_taken(const CEmit *x) {
    int most = -1;
    for (int i = 0; x->gpu && i < x->p->tasks.n; i++)
        most = MAX(most, most_taken(x, x->p->tasks.at[i]->body));
    return most;
}

bool cuda_emit_print(CEmit *x, const HStmt *s) {
    const Format *f = s->format;
    if (!x->gpu || !can_wait(x, f))
        return false;
    emit_line(&x->e, "rt_buf_clear(&nn->text);");
    int from = 0;
    for (int i = 0; i < f->n; i++) {
        const TextPart *part = &f->parts[i];
        const Buffer *b = part->value ? cuda_taken(x, part->value) : NULL;
        if (!b)
            continue;
        const Format before = {i - from, f->parts + from};
        c_emit_format(x, &before, "");
        emit_line(&x->e, "nn_put_later(nn, %s, %s);", c_buffer_value(x, b),
                  part->format ? emit_string(x->arena, part->format) : "NULL");
        from = i + 1;
    }
    const Format rest = {f->n - from, f->parts + from};
    c_emit_format(x, &rest, s->newline ? "\n" : "");
    emit_line(&x->e, "NN_TRY(nn_print_later(nn, %d));", s->warning ? 2 : 1);
    return true;
}
