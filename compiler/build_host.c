/* build_host.c: host expressions, variables and statements. */
#include "build_host.h"

static HExpr *host_new(Build *b, HKind kind, HType type) {
    HExpr *h = NEW(b->arena, HExpr);
    h->kind = kind;
    h->type = type;
    return h;
}

HExpr *host_const_int(Build *b, int64_t i) {
    HExpr *h = host_new(b, HX_CONST, HT_INT);
    h->i = i;
    return h;
}

HExpr *host_const_real(Build *b, double f) {
    HExpr *h = host_new(b, HX_CONST, HT_REAL);
    h->f = f;
    return h;
}

HExpr *host_const_bool(Build *b, bool x) {
    HExpr *h = host_new(b, HX_CONST, HT_BOOL);
    h->i = x;
    return h;
}

HExpr *host_const_string(Build *b, const char *s) {
    HExpr *h = host_new(b, HX_CONST, HT_STRING);
    h->s = s;
    return h;
}

HExpr *host_option(Build *b, Option *o) {
    HExpr *h = host_new(b, HX_OPTION, o->type);
    h->option = o;
    return h;
}

HExpr *host_rows(Build *b, Split *s) {
    HExpr *h = host_new(b, HX_ROWS, HT_INT);
    h->split = s;
    return h;
}

HExpr *host_format(Build *b, Format *f) {
    HExpr *h = host_new(b, HX_FORMAT, HT_STRING);
    h->format = f;
    return h;
}

static HType host_type(DType t) {
    return dtype_is_real(t) ? HT_REAL : t == DT_BOOL ? HT_BOOL : HT_INT;
}

HExpr *host_node(Build *b, Node *n) {
    HExpr *h = host_new(b, HX_NODE, host_type(n->dtype));
    h->node = n;
    return h;
}

HExpr *host_home(Build *b, Home *home) {
    HExpr *h = host_new(b, HX_HOME, host_type(home->dtype));
    h->home = home;
    return h;
}

HExpr *host_var(Build *b, HostVar *v) {
    HExpr *h = host_new(b, HX_VAR, v->type);
    h->var = v;
    return h;
}

HExpr *host_op(Build *b, Op op, HType type, HExpr *x, HExpr *y, HExpr *z) {
    HExpr *h = host_new(b, HX_OP, type);
    h->op = op;
    h->args[0] = x;
    h->args[1] = y;
    h->args[2] = z;
    h->nargs = z ? 3 : y ? 2 : 1;
    return h;
}

HExpr *host_positive(Build *b, HExpr *x, const char *word, Span at) {
    if (x->type == HT_INT)
        x = host_op(b, OP_cast, HT_REAL, x, NULL, NULL);
    HExpr *h = host_op(b, OP_abs, HT_REAL, x, NULL, NULL);
    h->s = word;
    h->span = at;
    return h;
}

HExpr *host_turn(Build *b, HExpr *round, HExpr *n, const char *word, Span at) {
    HExpr *h = host_op(b, OP_mod, HT_INT, round, n, NULL);
    h->s = word;
    h->span = at;
    return h;
}

bool host_changes(const HExpr *h) {
    if (h->kind == HX_VAR || h->kind == HX_HOME)
        return true;
    if (h->kind == HX_FORMAT)
        for (int i = 0; i < h->format->n; i++)
            if (h->format->parts[i].value && host_changes(h->format->parts[i].value))
                return true;
    for (int i = 0; i < h->nargs; i++)
        if (host_changes(h->args[i]))
            return true;
    return false;
}

HostVar *host_new_var(Build *b, const char *name, HType type) {
    HostVar *v = NEW(b->arena, HostVar);
    v->id = b->p->vars.n;
    v->name = build_identifier(b, name);
    v->type = type;
    vec_push(b->arena, &b->p->vars, v);
    return v;
}

HStmt *host_stmt(Build *b, HStmtKind kind, Span at) {
    region_close(b);
    HStmt *s = NEW(b->arena, HStmt);
    s->kind = kind;
    s->span = at;
    vec_push(b->arena, &b->block->stmts, s);
    return s;
}

void host_set(Build *b, HostVar *v, HExpr *value, Span at) {
    HStmt *s = host_stmt(b, HS_SET, at);
    s->var = v;
    s->value = value;
}
