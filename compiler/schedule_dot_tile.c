/* schedule_dot_tile.c: the micro-kernel: a tile of results that stays in registers while k runs.
 *
 * height x 16 results are height x 2 accumulators of eight lanes with names of their own; each step
 * of k takes one row of the panel (two vectors) and one number of each row of the left operand. One
 * chain of fused multiply-adds for each result, k ascending: its bits do not depend on the tile.
 * The group's other ops follow on the accumulators. A tile one column wide has plain numbers
 * instead of vectors.
 */
#include "schedule_dot.h"

enum { UNROLL = 4, MAX_HEIGHT = 12 };

typedef struct Tile {
    Dot *d;
    const Ix *b, *row, *tile, *panel;
    int64_t height, width;
    int vectors;
    Local *sum[MAX_HEIGHT][2];
} Tile;

static int64_t vector_width(const Tile *t, int v) {
    return MIN(t->width - v * LANES, LANES);
}

static bool is_one_column(const Tile *t, int v) {
    return vector_width(t, v) == 1;
}

/* Opens the lanes of vector v, `width` of them; gives the column in the panel. */
static const Ix *open_lanes(Tile *t, int v, int64_t width) {
    Sched *s = t->d->s;
    Arena *a = s->arena;
    if (is_one_column(t, v))
        return ix_const(a, v * LANES);
    const LoopVar *j = nest_loop(s->nest, LOOP_LANE, "j", dim_fixed(width));
    return ix_offset(a, ix_var(a, j), v * LANES);
}

static void close_to(Tile *t, int depth) {
    while (t->d->s->nest->depth > depth)
        nest_end(t->d->s->nest);
}

static void open_accumulators(Tile *t) {
    Sched *s = t->d->s;
    for (int i = 0; i < t->height; i++)
        for (int v = 0; v < t->vectors; v++) {
            const char *name = arena_printf(s->arena, "c%d%d", i, v);
            t->sum[i][v] = is_one_column(t, v)
                               ? nest_var(s->nest, name, expr_const(s->arena, DT_F32, 0))
                               : nest_lanes(s->nest, name, DT_F32, true, 0, NULL, 0);
        }
}

/* One k: the panel's row stays in registers while each row's number meets it. */
static void multiply(Tile *t, const Ix *k) {
    Dot *d = t->d;
    Sched *s = d->s;
    Arena *a = s->arena;
    const Expr *right[2];
    int depth = s->nest->depth;
    for (int v = 0; v < t->vectors; v++) {
        const Ix *j = open_lanes(t, v, d->right.padded ? LANES : vector_width(t, v));
        const Expr *e = dot_right(d, t->b, k, t->panel, v * LANES, ix_offset(a, j, -v * LANES));
        right[v] = expr_local(a, nest_let(s->nest, arena_printf(a, "b%d", v), e), NULL);
        close_to(t, depth);
    }
    open_lanes(t, 0, LANES);
    for (int i = 0; i < t->height; i++) {
        const Expr *e = dot_left(d, t->b, ix_offset(a, t->row, i), k, t->tile, i);
        e = expr_local(a, nest_let(s->nest, arena_printf(a, "a%d", i), e), NULL);
        for (int v = 0; v < t->vectors; v++) {
            const Expr *sum = expr_local(a, t->sum[i][v], NULL);
            nest_set(s->nest, t->sum[i][v], NULL, expr_fma(a, e, right[v], sum));
        }
    }
    close_to(t, depth);
}

/* The lanes of vector v that are columns of the result; gives the column in the panel. */
static const Ix *open_columns(Tile *t, int v) {
    Sched *s = t->d->s;
    Arena *a = s->arena;
    if (!t->d->cols.count)
        return open_lanes(t, v, vector_width(t, v));
    const Ix *first = ix_offset(a, ix_scale(a, t->panel, PANEL), v * LANES);
    const LoopVar *j = nest_loop_to(s->nest, LOOP_LANE, "j", vector_width(t, v), first, t->d->cols);
    return ix_offset(a, ix_var(a, j), v * LANES);
}

/* The last op of each stored map is left out: its first operand is stored (a deliberate fault). */
static void drop_epilogue(Tile *t, const Ix *const *sub) {
    Sched *s = t->d->s;
    const Ix *at[MAX_RANK];
    for (int i = 0; i < s->group->stores.n; i++) {
        const Node *n = s->group->stores.at[i].node;
        int k = 0;
        while (k < n->nin && n->in[k]->dtype != n->dtype)
            k++;
        if (op_info[n->op].kind != KIND_MAP || k == n->nin)
            continue;
        value_subscripts(s, &t->d->n->shape, sub, n, at);
        value_bind(s, n, at, value_at(s, n->in[k], at));
    }
}

static void store_element(Tile *t, const Ix *row, const Ix *j, const Expr *value) {
    Sched *s = t->d->s;
    const Ix *column = ix_add(s->arena, ix_scale(s->arena, t->panel, PANEL), j);
    const Ix *sub[3] = {t->b, row, column};
    value_bind(s, t->d->n, sub, value);
    if (mutated(s->compiler->program->graph, "epilogue"))
        drop_epilogue(t, sub);
    sched_store_all(s, &t->d->n->shape, sub);
}

/* Ops written out for each accumulator. */
static void finish_in_registers(Tile *t) {
    Arena *a = t->d->s->arena;
    int depth = t->d->s->nest->depth;
    for (int v = 0; v < t->vectors; v++) {
        const Ix *j = open_columns(t, v);
        for (int i = 0; i < t->height; i++)
            store_element(t, ix_offset(a, t->row, i), j, expr_local(a, t->sum[i][v], NULL));
        close_to(t, depth);
    }
}

/* The tile goes through a small array, so that the ops stand in the text once. */
static void finish_by_rows(Tile *t) {
    Sched *s = t->d->s;
    Arena *a = s->arena;
    const int64_t extent[2] = {t->height, PANEL};
    int depth = s->nest->depth;
    Local *out = nest_array(s->nest, "tile", DT_F32, 2, extent);
    for (int v = 0; v < t->vectors; v++) {
        const Ix *j = open_lanes(t, v, LANES);
        for (int i = 0; i < t->height; i++)
            nest_set(s->nest, out, (const Ix *[]){ix_const(a, i), j},
                     expr_local(a, t->sum[i][v], NULL));
        close_to(t, depth);
    }
    Dim rows = dim_fixed(t->height);
    const LoopVar *r = t->d->m.count ? nest_loop_to(s->nest, LOOP_SEQ, "i", rows.n, t->row, t->d->m)
                                     : nest_loop(s->nest, LOOP_SEQ, "i", rows);
    for (int v = 0; v < t->vectors; v++) {
        const Ix *i = ix_var(a, r), *j = open_columns(t, v);
        store_element(t, ix_add(a, t->row, i), j, expr_local(a, out, (const Ix *[]){i, j}));
        close_to(t, depth + 1);
    }
    close_to(t, depth);
}

void dot_tile(Dot *d, const Ix *b, const Ix *row, const Ix *tile, int64_t height, const Ix *panel,
              int64_t width) {
    Sched *s = d->s;
    Tile t = {d, b, row, tile, panel, height, width, (int)(width + LANES - 1) / LANES, {{0}}};
    bool guard = d->m.count != NULL && d->m.n > 1;
    if (height > MAX_HEIGHT)
        bug("a tile of %d rows", (int)height);
    if (guard) {
        const Expr *count = dot_extent(d, d->m);
        nest_if(s->nest, expr_binary(s->arena, OP_lt, expr_index(s->arena, row), count));
    }
    open_accumulators(&t);
    LoopVar *k = nest_loop(s->nest, LOOP_SEQ, "k", d->k);
    k->unroll = UNROLL;
    multiply(&t, ix_var(s->arena, k));
    nest_end(s->nest);
    if (d->by_rows)
        finish_by_rows(&t);
    else
        finish_in_registers(&t);
    if (guard)
        nest_end(s->nest);
}
