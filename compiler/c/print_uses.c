/* print_uses.c: what a nest uses that its parameters do not say: lanes of 64 bits, and lists of
 * constants of the program, which stand in the text as tables. */
#include "print_kernel.h"

typedef struct Uses {
    bool in_lanes; /* in a lane loop */
    bool wide;     /* f64 or i64 there */
    VEC(const Buffer *) tables;
} Uses;

static bool has_64_bits(DType t) {
    return t == DT_F64 || t == DT_I64;
}

static void scan_expr(Printer *p, Uses *u, const Expr *e);

static void scan_ix(Printer *p, Uses *u, const Ix *x) {
    for (int i = 0; i < x->n; i++) {
        if (x->term[i].atom->kind == ATOM_DATA)
            scan_expr(p, u, x->term[i].atom->data);
        else if (x->term[i].atom->of)
            scan_ix(p, u, x->term[i].atom->of);
    }
}

static void add_table(Printer *p, Uses *u, const Buffer *b) {
    for (int i = 0; i < u->tables.n; i++)
        if (u->tables.at[i] == b)
            return;
    vec_push(p->arena, &u->tables, b);
}

static void scan_expr(Printer *p, Uses *u, const Expr *e) {
    u->wide |= u->in_lanes && has_64_bits(e->dtype);
    for (int i = 0; i < e->nin; i++)
        scan_expr(p, u, e->in[i]);
    if (e->ix)
        scan_ix(p, u, e->ix);
    int rank = expr_rank(e);
    for (int i = 0; i < rank; i++)
        if (e->sub[i])
            scan_ix(p, u, e->sub[i]);
    if (e->kind == EX_LOAD && e->buffer->node && e->buffer->node->op == OP_constant &&
        e->buffer->id < 0)
        add_table(p, u, e->buffer);
}

static void scan_block(Printer *p, Uses *u, const Block *b) {
    for (int i = 0; i < b->stmts.n; i++) {
        const Stmt *st = b->stmts.at[i];
        if (st->value)
            scan_expr(p, u, st->value);
        if (st->with)
            scan_expr(p, u, st->with);
        bool to_buffer = st->kind == ST_STORE || st->kind == ST_TRANSPOSE;
        int rank = to_buffer              ? st->buffer->shape.rank
                   : st->kind == ST_SET ? st->local->rank
                                        : 0;
        for (int d = 0; d < rank; d++)
            scan_ix(p, u, st->sub[d]);
        u->wide |= st->local && st->local->lanes && has_64_bits(st->local->dtype);
        bool outside = u->in_lanes;
        u->in_lanes |= st->var && st->var->kind == LOOP_LANE;
        scan_block(p, u, &st->body);
        u->in_lanes = outside;
    }
}

/* A list of constants of the program stands in the text. */
static void print_table(Printer *p, const Buffer *b) {
    Text all = {.arena = p->arena};
    int64_t n = shape_elements(&b->shape);
    for (int64_t i = 0; i < n; i++)
        text_printf(&all, "%s%s", i ? ", " : "",
                    print_constant(p, b->dtype, b->node->attr.constant.data[i], false));
    const char *name = print_new_name(p, b, b->name);
    emit_line(&p->e, "static const %s %s[%lld] = {%s};", c_type(b->dtype), name, (long long)n,
              all.at);
}

void print_tables(Printer *p) {
    Uses uses = {0};
    scan_block(p, &uses, &p->kernel->nest->body);
    for (int i = 0; i < uses.tables.n; i++)
        print_table(p, uses.tables.at[i]);
}

bool print_is_wide(Printer *p) {
    Uses uses = {0};
    scan_block(p, &uses, &p->kernel->nest->body);
    return uses.wide;
}
