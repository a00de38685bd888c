/* schedule_dot_tile.c: the micro-kernel: a tile of results that stays in registers while k runs.
 *
 * height x 16 results are height x 2 accumulators of eight lanes with names of their own; each step of k takes one row of
 * the panel (two vectors) and one number of each row of the left operand. One chain of fused multiply-adds for each result,
 * k ascending: its bits do not depend on the tile. The group's other ops follow on the accumulators.
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

static void open_accumulators(Tile *t) {
    Sched *s = t->d->s;
    for (int i = 0; i < t->height; i++)
        for (int v = 0; v < t->vectors; v++) {
            const char *name = arena_printf(s->arena, "c%d%d", i, v);
            t->sum[i][v] = nest_lanes(s->nest, name, DT_F32, true, 0, NULL, 0);
        }
}

static void multiply(Tile *t, const Ix *k) {
    Dot *d = t->d;
    Sched *s = d->s;
    Arena *a = s->arena;
    const Expr *left[MAX_HEIGHT];
    for (int i = 0; i < t->height; i++) {
        const Expr *e = dot_left(d, t->b, ix_offset(a, t->row, i), k, t->tile, i);
        left[i] = expr_local(a, nest_let(s->nest, arena_printf(a, "a%d", i), e), NULL);
    }
    for (int v = 0; v < t->vectors; v++) {
        int64_t width = d->right.padded ? LANES : vector_width(t, v);
        const LoopVar *j = nest_loop(s->nest, LOOP_LANE, "j", dim_fixed(width));
        const Ix *at = ix_offset(a, ix_var(a, j), v * LANES);
        const Local *right = nest_let(s->nest, arena_printf(a, "b%d", v), dot_right(d, t->b, k, t->panel, at));
        for (int i = 0; i < t->height; i++) {
            const Expr *sum = expr_local(a, t->sum[i][v], NULL);
            nest_set(s->nest, t->sum[i][v], NULL, expr_fma(a, left[i], expr_local(a, right, NULL), sum));
        }
        nest_end(s->nest);
    }
}

static const Ix *column_of(const Tile *t, const Ix *j) {
    Arena *a = t->d->s->arena;
    return ix_add(a, ix_scale(a, t->panel, PANEL), j);
}

/* The lanes of vector v that are columns of the result. */
static const Ix *open_columns(Tile *t, int v) {
    Sched *s = t->d->s;
    Arena *a = s->arena;
    const Ix *first = column_of(t, ix_const(a, v * LANES));
    int64_t width = vector_width(t, v);
    const LoopVar *j = t->d->cols.count ? nest_loop_to(s->nest, LOOP_LANE, "j", width, first, t->d->cols)
                                        : nest_loop(s->nest, LOOP_LANE, "j", dim_fixed(width));
    return ix_add(a, first, ix_var(a, j));
}

static void store_element(Tile *t, const Ix *row, const Ix *column, const Expr *value) {
    Sched *s = t->d->s;
    const Ix *sub[3] = {t->b, row, column};
    value_bind(s, t->d->n, sub, value);
    sched_store_all(s, &t->d->n->shape, sub);
}

/* Ops written out for each accumulator. */
static void finish_in_registers(Tile *t) {
    Arena *a = t->d->s->arena;
    for (int v = 0; v < t->vectors; v++) {
        const Ix *column = open_columns(t, v);
        for (int i = 0; i < t->height; i++)
            store_element(t, ix_offset(a, t->row, i), column, expr_local(a, t->sum[i][v], NULL));
        nest_end(t->d->s->nest);
    }
}

/* The tile goes through a small array, so that the ops stand in the text once. */
static void finish_by_rows(Tile *t) {
    Sched *s = t->d->s;
    Arena *a = s->arena;
    Local *out = nest_array(s->nest, "tile", DT_F32, 2, (const int64_t[]){t->height, PANEL});
    for (int v = 0; v < t->vectors; v++) {
        const Ix *j = ix_offset(a, ix_var(a, nest_loop(s->nest, LOOP_LANE, "j", dim_fixed(LANES))), v * LANES);
        for (int i = 0; i < t->height; i++)
            nest_set(s->nest, out, (const Ix *[]){ix_const(a, i), j}, expr_local(a, t->sum[i][v], NULL));
        nest_end(s->nest);
    }
    const LoopVar *r = t->d->m.count ? nest_loop_to(s->nest, LOOP_SEQ, "i", t->height, t->row, t->d->m)
                                     : nest_loop(s->nest, LOOP_SEQ, "i", dim_fixed(t->height));
    const Ix *row = ix_add(a, t->row, ix_var(a, r));
    for (int v = 0; v < t->vectors; v++) {
        const Ix *column = open_columns(t, v);
        const Ix *at[2] = {ix_var(a, r), ix_add(a, column, ix_scale(a, t->panel, -PANEL))};
        store_element(t, row, column, expr_local(a, out, at));
        nest_end(s->nest);
    }
    nest_end(s->nest);
}

void dot_tile(Dot *d, const Ix *b, const Ix *row, const Ix *tile, int64_t height, const Ix *panel, int64_t width) {
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
