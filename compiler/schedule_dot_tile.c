/* schedule_dot_tile.c: the micro-kernel: a tile of results that stays in registers while k runs.
 *
 * height x 16 results are an array of height x 2 vectors; each step of k takes one row of the
 * panel (two vectors) and one number of each row of the left operand. One chain of fused
 * multiply-adds for each result, k ascending: its bits do not depend on the tile. The loops over
 * the rows are unrolled by the C compiler, which then keeps the array in registers; an index that
 * it cannot know would put the array into memory. The group's other ops follow on the accumulators.
 * A column of its own is an array of plain numbers.
 */
#include "schedule_dot.h"

enum { UNROLL = 4, MAX_HEIGHT = 12 };

typedef struct Tile {
    Dot *d;
    const Ix *b, *row, *tile, *panel;
    int64_t height, width;
    int vectors; /* of eight columns or fewer */
    Local *sum;  /* [height][vectors], or [height] where there is one */
    Local *last; /* [height]: a column of its own, NULL: none */
    Local *out;  /* [height][16]: the tile in memory, NULL: it is in registers */
} Tile;

static void close_to(Tile *t, int depth) {
    while (t->d->s->nest->depth > depth)
        nest_end(t->d->s->nest);
}

static int64_t vector_width(const Tile *t, int v) {
    return MIN(t->width - v * LANES, LANES);
}

/* The result of row i of the tile and column j of the panel: one number or the lanes of j. */
static const Expr *result_at(const Tile *t, const Ix *i, const Ix *j) {
    Arena *a = t->d->s->arena;
    int64_t column;
    if (t->out)
        return expr_local(a, t->out, (const Ix *[]){i, j});
    if (t->last && ix_is_const(j, &column) && column == t->vectors * LANES)
        return expr_local(a, t->last, &i);
    return expr_local(a, t->sum, (const Ix *[]){i, ix_div(a, j, LANES)});
}

static void open_accumulators(Tile *t) {
    Sched *s = t->d->s;
    const int64_t extent[2] = {t->height, t->vectors};
    if (t->vectors)
        t->sum = nest_lanes(s->nest, "c", DT_F32, t->vectors > 1 ? 2 : 1, extent, 0);
    if (t->vectors * LANES < t->width)
        t->last = nest_filled(s->nest, t->vectors ? "last" : "c", DT_F32, 1, extent, 0);
}

/* A loop over the rows of the tile that the C compiler unrolls. */
static const Ix *open_rows(Tile *t) {
    if (t->height == 1)
        return ix_const(t->d->s->arena, 0);
    LoopVar *i = nest_loop(t->d->s->nest, LOOP_SEQ, "i", dim_fixed(t->height));
    i->unroll = (int)t->height;
    return ix_var(t->d->s->arena, i);
}

/* The sums as they wait in memory between the rounds of a long k: loads, or stores. */
static void move_sums(Tile *t, bool load) {
    Dot *d = t->d;
    Nest *nest = d->s->nest;
    Arena *a = d->s->arena;
    int depth = nest->depth;
    const Ix *i = open_rows(t), *row = ix_add(a, ix_scale(a, t->b, d->m.n), ix_add(a, t->row, i));
    int inside = nest->depth;
    for (int v = 0; v < t->vectors + (t->last != NULL); v++) {
        Local *sum = v < t->vectors ? t->sum : t->last;
        const Ix *column = ix_offset(a, ix_scale(a, t->panel, PANEL), v * LANES),
                 *at[2] = {i, ix_const(a, v)};
        if (v < t->vectors)
            column = ix_add(a, column,
                            ix_var(a, nest_loop(nest, LOOP_LANE, "j", dim_fixed(LANES))));
        const Ix *place[2] = {row, column};
        if (load)
            nest_set(nest, sum, at, expr_load(a, d->partial, place));
        else
            nest_store(nest, d->partial, place, expr_local(a, sum, at));
        close_to(t, inside);
    }
    close_to(t, depth);
}

/* The numbers of vector v in row k of the panel; of a column of its own when v is past the vectors.
 */
static const Expr *panel_row(Tile *t, const Ix *k, int v) {
    Dot *d = t->d;
    Nest *nest = d->s->nest;
    const Ix *j = ix_const(d->s->arena, 0);
    int depth = nest->depth;
    if (v < t->vectors)
        j = ix_var(d->s->arena, nest_loop(nest, LOOP_LANE, "j",
                                          dim_fixed(d->right.padded ? LANES : vector_width(t, v))));
    const Expr *e = dot_right(d, t->b, k, t->panel, v * LANES, j);
    const Local *l = nest_let(
        nest, t->width > LANES ? arena_printf(d->s->arena, "b%d", v) : "b", e);
    close_to(t, depth);
    return expr_local(d->s->arena, l, NULL);
}

/* One k: the panel's row stays in registers while each row's number meets it. */
static void multiply(Tile *t, const Ix *k) {
    Dot *d = t->d;
    Nest *nest = d->s->nest;
    Arena *a = d->s->arena;
    const Expr *right[3];
    int depth = nest->depth, columns = t->vectors + (t->last != NULL);
    for (int v = 0; v < columns; v++)
        right[v] = panel_row(t, k, v);
    const Ix *i = open_rows(t);
    const Expr *left = dot_left(d, t->b, ix_add(a, t->row, i), k, t->tile, i);
    left = expr_local(a, nest_let(nest, "a", left), NULL);
    for (int v = 0; v < columns; v++) {
        Local *sum = v < t->vectors ? t->sum : t->last;
        const Ix *sub[2] = {i, ix_const(a, v)};
        nest_set(nest, sum, sub, expr_fma(a, left, right[v], expr_local(a, sum, sub)));
    }
    close_to(t, depth);
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

/* Opens the lanes of `width` columns from `first`; gives the column in the panel. */
static const Ix *open_columns(Tile *t, int64_t first, int64_t width) {
    Sched *s = t->d->s;
    Arena *a = s->arena;
    const Ix *base = ix_offset(a, ix_scale(a, t->panel, PANEL), first);
    LoopVar *j = t->d->cols.count
                     ? nest_loop_to(s->nest, LOOP_LANE, "j", width, base, t->d->cols)
                     : nest_loop(s->nest, LOOP_LANE, "j", dim_fixed(width));
    if (!t->out)
        j->unroll = t->vectors; /* constants for the accumulators */
    return ix_offset(a, ix_var(a, j), first);
}

/* A loop that runs to a count has an index that the C compiler cannot know: vectors in registers
 * then come one by one. */
static void store_row(Tile *t, const Ix *i) {
    Arena *a = t->d->s->arena;
    const Ix *row = ix_add(a, t->row, i);
    int depth = t->d->s->nest->depth;
    int64_t width = MIN(t->width, t->vectors * LANES),
            piece = t->d->cols.count && !t->out ? LANES : width;
    for (int64_t first = 0; first < width; first += piece) {
        const Ix *j = open_columns(t, first, MIN(piece, width - first));
        store_element(t, row, j, result_at(t, i, piece < width ? ix_const(a, first) : j));
        close_to(t, depth);
    }
    if (t->last) {
        const Ix *j = ix_const(a, width);
        store_element(t, row, j, result_at(t, i, j));
    }
}

/* The ops on the accumulators in registers. */
static void finish_in_registers(Tile *t) {
    Sched *s = t->d->s;
    Arena *a = s->arena;
    int depth = s->nest->depth;
    const Ix *i = open_rows(t);
    if (t->d->m.count) {
        const Expr *row = expr_index(a, ix_add(a, t->row, i));
        nest_if(s->nest, expr_binary(a, OP_lt, row, dot_extent(t->d, t->d->m)));
    }
    store_row(t, i);
    close_to(t, depth);
}

/* Ops that are long as text of the machine: the tile goes through memory, so that they stand there
 * once. */
static void finish_in_memory(Tile *t) {
    Sched *s = t->d->s;
    Arena *a = s->arena;
    const int64_t extent[2] = {t->height, PANEL};
    int depth = s->nest->depth;
    Local *out = nest_array(s->nest, "out", DT_F32, 2, extent);
    const Ix *i = open_rows(t);
    if (t->last) {
        const Ix *j = ix_const(a, t->vectors * LANES);
        nest_set(s->nest, out, (const Ix *[]){i, j}, result_at(t, i, j));
    }
    if (t->vectors) {
        LoopVar *lane = nest_loop(s->nest, LOOP_LANE, "j", dim_fixed(t->vectors * LANES));
        const Ix *j = ix_var(a, lane);
        lane->unroll = t->vectors;
        nest_set(s->nest, out, (const Ix *[]){i, j}, result_at(t, i, j));
    }
    close_to(t, depth);
    t->out = out;
    LoopVar *rows = t->d->m.count
                        ? nest_loop_to(s->nest, LOOP_SEQ, "i", t->height, t->row, t->d->m)
                        : nest_loop(s->nest, LOOP_SEQ, "i", dim_fixed(t->height));
    store_row(t, ix_var(a, rows));
    close_to(t, depth);
}

void dot_tile(Dot *d, const Ix *b, const Ix *row, const Ix *tile, int64_t height, const Ix *panel,
              int64_t width) {
    Sched *s = d->s;
    Tile t = {d, b, row, tile, panel, height, width, 0, NULL, NULL, NULL};
    bool alone = width % LANES == 1 && !d->cols.count;
    t.vectors = (int)(alone ? width / LANES : (width + LANES - 1) / LANES);
    bool guard = d->m.count != NULL && d->m.n > 1;
    if (height > MAX_HEIGHT)
        bug("a tile of %d rows", (int)height);
    if (guard) {
        const Expr *count = dot_extent(d, d->m);
        nest_if(s->nest, expr_binary(s->arena, OP_lt, expr_index(s->arena, row), count));
    }
    open_accumulators(&t);
    int depth = s->nest->depth;
    if (d->part == DOT_ADD || d->part == DOT_FINISH)
        move_sums(&t, true);
    if (d->part == DOT_ADD || d->part == DOT_ALL)
        multiply(&t, dot_open_k(d, UNROLL));
    close_to(&t, depth);
    if (d->part == DOT_CLEAR || d->part == DOT_ADD)
        move_sums(&t, false);
    else if (d->long_epilogue)
        finish_in_memory(&t);
    else
        finish_in_registers(&t);
    if (guard)
        nest_end(s->nest);
}
