/* schedule_column.c: reductions over leading or middle axes: [outer, length, inner] -> [outer,
 * inner].
 *
 * Order of a column: rows ascending in chunks of 64, the chunks' results ascending. Lanes are
 * columns.
 */
#include "target.h"

enum { ROWS = 64, COLUMNS = 16 };

typedef struct Columns {
    Sched *s;
    const Ix *outer, *column; /* of the element that is reduced to */
    Local *total[32];
} Columns;

static const Ix *row_major(Sched *s, const Ix *outer, const Ix *row, const Ix *column) {
    const Group *g = s->group;
    const Ix *at = ix_add(s->arena, ix_scale(s->arena, outer, g->length), row);
    return ix_add(s->arena, ix_scale(s->arena, at, g->inner), column);
}

static bool is_reduction(const Node *n) {
    return op_info[n->op].kind == KIND_REDUCE;
}

/* Joins the element of row `row` into each accumulator of `to`. */
static void add_row(Columns *c, Local *const *to, const Ix *row) {
    Sched *s = c->s;
    const Ix *sub[MAX_RANK];
    for (int i = 0, k = 0; i < s->group->nodes.n; i++) {
        const Node *n = s->group->nodes.at[i];
        if (!is_reduction(n))
            continue;
        ix_unflat(s->arena, &n->in[0]->shape, row_major(s, c->outer, row, c->column), sub);
        const Expr *sum = expr_local(s->arena, to[k], NULL), *e = value_at(s, n->in[0], sub);
        sum = n->nin > 1 ? expr_fma(s->arena, e, value_at(s, n->in[1], sub), sum)
                         : expr_binary(s->arena, op_info[n->op].join, sum, e);
        nest_set(s->nest, to[k++], NULL, sum);
    }
}

static int start(Columns *c, const char *name, Local **out) {
    Sched *s = c->s;
    int k = 0;
    for (int i = 0; i < s->group->nodes.n; i++) {
        const Node *n = s->group->nodes.at[i];
        if (!is_reduction(n))
            continue;
        if (k == COUNT_OF(c->total))
            bug("more than %d reductions in a kernel", COUNT_OF(c->total));
        out[k++] = nest_lanes(s->nest, n->name && out == c->total ? n->name : name, n->dtype,
                              0, NULL, reduce_neutral(n->op, n->dtype));
    }
    return k;
}

static void reduce_columns(Columns *c) {
    Sched *s = c->s;
    const Group *g = s->group;
    int n = start(c, "total", c->total);
    Dim rows = {g->length, g->length_count};
    if (g->length <= ROWS) {
        add_row(c, c->total, ix_var(s->arena, nest_loop(s->nest, LOOP_SEQ, "row", rows)));
        nest_end(s->nest);
        return;
    }
    Local *part[COUNT_OF(c->total)];
    LoopVar *chunk =
        nest_loop(s->nest, LOOP_SEQ, "chunk", dim_fixed((g->length + ROWS - 1) / ROWS));
    start(c, "part", part);
    const Ix *base = ix_scale(s->arena, ix_var(s->arena, chunk), ROWS);
    LoopVar *row = nest_loop_to(s->nest, LOOP_SEQ, "row", ROWS, base, rows);
    add_row(c, part, ix_add(s->arena, base, ix_var(s->arena, row)));
    nest_end(s->nest);
    for (int i = 0, k = 0; i < g->nodes.n && k < n; i++) {
        const Node *node = g->nodes.at[i];
        if (!is_reduction(node))
            continue;
        const Expr *sum =
            expr_binary(s->arena, op_info[node->op].join, expr_local(s->arena, c->total[k], NULL),
                        expr_local(s->arena, part[k], NULL));
        nest_set(s->nest, c->total[k++], NULL, sum);
    }
    nest_end(s->nest);
}

static void bind_and_store(Columns *c) {
    Sched *s = c->s;
    const Group *g = s->group;
    const Ix *flat = ix_add(s->arena, ix_scale(s->arena, c->outer, g->inner), c->column),
             *sub[MAX_RANK];
    for (int i = 0, k = 0; i < g->nodes.n; i++) {
        const Node *n = g->nodes.at[i];
        if (!is_reduction(n))
            continue;
        ix_unflat(s->arena, &n->shape, flat, sub);
        value_bind(s, n, sub, expr_local(s->arena, c->total[k++], NULL));
    }
    const Shape all = shape_of(1, &g->rows);
    sched_store_all(s, &all, &flat);
}

/* A thread for each column. */
static void columns_by_threads(Columns *c) {
    Sched *s = c->s;
    const Group *g = s->group;
    const Ix *at = ix_var(s->arena, nest_loop(s->nest, LOOP_LANE, "j", dim_fixed(g->rows)));
    c->outer = ix_div(s->arena, at, g->inner);
    c->column = ix_mod(s->arena, at, g->inner);
    reduce_columns(c);
    bind_and_store(c);
    nest_end(s->nest);
}

void schedule_column(Sched *s) {
    const Group *g = s->group;
    Columns c = {.s = s, .outer = ix_const(s->arena, 0)};
    int64_t outer = g->rows / g->inner, work = g->rows * g->length;
    bool tiles = sched_tiles(work, sched_cost(s)) > 1 && (outer > 1 || g->inner > COLUMNS);
    int opened = 1;
    s->kernel->flops = (double)work;
    if (g->length_count)
        sched_count(s, g->length_count);
    if (s->target->threads) {
        columns_by_threads(&c);
        return;
    }
    if (outer > 1) {
        c.outer = ix_var(s->arena,
                         nest_loop(s->nest, tiles ? LOOP_TILE : LOOP_SEQ, "i", dim_fixed(outer)));
        opened = 2;
        s->kernel->tiles = tiles ? (int)outer : 1;
    }
    if (outer == 1 && g->inner > COLUMNS) { /* columns that lie side by side in panels as well */
        int blocks = (int)((g->inner + COLUMNS - 1) / COLUMNS);
        const Ix *base = ix_var(s->arena, nest_loop(s->nest, tiles ? LOOP_TILE : LOOP_SEQ, "tile",
                                                    dim_fixed(blocks)));
        base = ix_scale(s->arena, base, COLUMNS);
        LoopVar *j = nest_loop_to(s->nest, LOOP_LANE, "j", COLUMNS, base, dim_fixed(g->inner));
        c.column = ix_add(s->arena, base, ix_var(s->arena, j));
        opened = 2;
        s->kernel->tiles = tiles ? blocks : 1;
    } else {
        c.column = ix_var(s->arena, nest_loop(s->nest, LOOP_LANE, "j", dim_fixed(g->inner)));
    }
    reduce_columns(&c);
    bind_and_store(&c);
    while (opened--)
        nest_end(s->nest);
}
