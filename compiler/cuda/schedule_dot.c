/* schedule_dot.c: contractions [b,m,k] x [b,k,n] for threads.
 *
 * A block computes a tile of the result, each thread a few rows and columns of it. Slices of both
 * operands, some k deep, pass through shared memory; each result is one chain of fused
 * multiply-adds, k ascending, as on every target. Tiles are as large as leaves the machine enough
 * blocks. The group's other ops follow on the sums.
 */
#include "schedule.h"

enum { ENOUGH_BLOCKS = 96, DEPTH = 16, PAD = 4 };

/* rows x columns of the result, of which a thread has high x wide. */
typedef struct TileSize {
    int64_t rows, columns, high, wide;
} TileSize;

typedef struct Dot {
    Sched *s;
    const Node *n;
    const Node *operand[2]; /* left [b,m,k], right [b,k,n] */
    bool flip[2];           /* it lies transposed */
    Dim b, m, k, cols;
    TileSize tile;
    int64_t depth, threads;
    const Ix *batch, *row0, *column0; /* of the tile */
    const Ix *ty, *tx;
    Local *slice[2]; /* [depth][rows], [depth][columns] */
    Local *sum;      /* [high][wide] */
} Dot;

static const Expr *operand_at(Dot *d, int side, const Ix *row, const Ix *column) {
    bool flip = d->flip[side];
    const Ix *sub[3] = {d->batch, flip ? column : row, flip ? row : column};
    return sched_load(d->s, d->operand[side], sub);
}

static void close_to(Dot *d, int depth) {
    while (d->s->nest->depth > depth)
        nest_end(d->s->nest);
}

/* ---- sizes ---- */

static int64_t pieces(int64_t n, int64_t size) {
    return (n + size - 1) / size;
}

/* The largest tile that leaves enough blocks, 16 columns wide where there are no more. */
static void choose_tile(Dot *d) {
    static const TileSize wide[] = {{128, 128, 8, 8}, {64, 64, 4, 4}, {32, 32, 2, 2}},
                          narrow[] = {{64, 16, 4, 1}, {32, 16, 2, 1}};
    const TileSize *size = d->cols.n > 16 ? wide : narrow;
    int sizes = d->cols.n > 16 ? COUNT_OF(wide) : COUNT_OF(narrow);
    d->tile = (TileSize){16, 16, 1, 1};
    for (int i = sizes - 1; i >= 0; i--) {
        int64_t blocks = d->b.n * pieces(d->m.n, size[i].rows) * pieces(d->cols.n, size[i].columns);
        if (blocks >= ENOUGH_BLOCKS)
            d->tile = size[i];
    }
    d->threads = d->tile.rows / d->tile.high * (d->tile.columns / d->tile.wide);
    d->depth = DEPTH; /* a depth that divides k leaves no rest */
    while (d->depth > DEPTH / 2 && d->k.n % d->depth)
        d->depth--;
    if (d->k.n % d->depth)
        d->depth = MIN(DEPTH, d->k.n);
}

/* ---- slices ---- */

/* Do neighbours in memory differ in k? */
static bool runs_along_k(Dot *d, int side) {
    Dim extent[MAX_RANK];
    int64_t step;
    int axis = (side == 0) != d->flip[side] ? 2 : 1;
    return sched_runs(d->s, d->operand[side], axis, extent, &step) && step == 1;
}

/* A subscript that may be past the extent stands under a name of its own, and *inside tests it. */
static const Ix *tested(Dot *d, const char *name, const Ix *at, int64_t extent,
                        const Expr **inside) {
    Sched *s = d->s;
    Arena *a = s->arena;
    int64_t lo, hi;
    ix_range(at, &lo, &hi);
    if (hi < extent)
        return at;
    LoopVar *v = nest_at(s->nest, name, at, dim_fixed(extent));
    v->promised = true;
    const Expr *below = expr_binary(a, OP_lt, expr_index(a, extent == 1 ? at : ix_var(a, v)),
                                    expr_const(a, DT_I32, (double)extent));
    *inside = *inside ? expr_binary(a, OP_and, *inside, below) : below;
    return ix_var(a, v);
}

/* Element (k, at) of an operand, 0 where it has none. */
static const Expr *slice_element(Dot *d, int side, const Ix *k, const Ix *at) {
    Arena *a = d->s->arena;
    const Expr *inside = NULL;
    at = tested(d, side ? "column" : "row", at, side ? d->cols.n : d->m.n, &inside);
    k = tested(d, "depth", k, d->k.n, &inside);
    const Expr *e = side ? operand_at(d, 1, k, at) : operand_at(d, 0, at, k);
    return inside ? expr_where(a, inside, e, expr_const(a, DT_F32, 0)) : e;
}

/* The threads copy the slice of one operand from k0 on, neighbours in memory to neighbours. */
static void copy_slice(Dot *d, int side, const Ix *k0) {
    Sched *s = d->s;
    Arena *a = s->arena;
    int64_t width = side ? d->tile.columns : d->tile.rows, all = width * d->depth;
    int64_t rounds = pieces(all, d->threads);
    bool along_k = runs_along_k(d, side);
    int depth = s->nest->depth;
    const Ix *e = ix_var(a, nest_loop(s->nest, LOOP_UNROLL, "e", dim_fixed(rounds)));
    const Ix *at = ix_add(a, ix_scale(a, d->ty, d->tile.columns / d->tile.wide), d->tx);
    at = ix_add(a, ix_scale(a, e, d->threads), at);
    if (all % d->threads)
        at = ix_var(a, nest_at(s->nest, "at", at, dim_fixed(all)));
    const Ix *k = along_k ? ix_mod(a, at, d->depth) : ix_div(a, at, width);
    const Ix *i = along_k ? ix_div(a, at, d->depth) : ix_mod(a, at, width);
    k = ix_var(a, nest_at(s->nest, "k", k, dim_fixed(d->depth)));
    i = ix_var(a, nest_at(s->nest, side ? "j" : "i", i, dim_fixed(width)));
    nest_set(s->nest, d->slice[side], (const Ix *[]){k, i},
             slice_element(d, side, ix_add(a, k0, k),
                           ix_add(a, side ? d->column0 : d->row0, i)));
    close_to(d, depth);
}

/* ---- the tile ---- */

/* A thread's rows lie side by side, as do its columns. */
static const Ix *own_row(Dot *d, const Ix *i) {
    Arena *a = d->s->arena;
    return ix_add(a, ix_scale(a, d->ty, d->tile.high), i);
}

static const Ix *own_column(Dot *d, const Ix *j) {
    Arena *a = d->s->arena;
    return ix_add(a, ix_scale(a, d->tx, d->tile.wide), j);
}

static bool is_mutated(const Dot *d, const char *fault) {
    return mutated(d->s->compiler->program->graph, fault);
}

static void multiply(Dot *d, const Ix *k) {
    Sched *s = d->s;
    Arena *a = s->arena;
    int depth = s->nest->depth;
    const Ix *i = ix_var(a, nest_loop(s->nest, LOOP_UNROLL, "i", dim_fixed(d->tile.high)));
    const Ix *j = ix_var(a, nest_loop(s->nest, LOOP_UNROLL, "j", dim_fixed(d->tile.wide)));
    const Expr *x = expr_local(a, d->slice[0], (const Ix *[]){k, own_row(d, i)}),
               *y = expr_local(a, d->slice[1], (const Ix *[]){k, own_column(d, j)}),
               *sum = expr_local(a, d->sum, (const Ix *[]){i, j});
    nest_set(s->nest, d->sum, (const Ix *[]){i, j}, expr_fma(a, x, y, sum));
    close_to(d, depth);
}

static void sum_slices(Dot *d) {
    Sched *s = d->s;
    Arena *a = s->arena;
    int depth = s->nest->depth;
    int64_t slices = pieces(d->k.n, d->depth);
    const Ix *k0 = ix_var(a, nest_loop(s->nest, LOOP_SEQ, "slice", dim_fixed(slices)));
    k0 = ix_scale(a, k0, d->depth);
    if (slices > 1) /* until the last slice is read */
        nest_barrier(s->nest);
    copy_slice(d, 0, k0);
    copy_slice(d, 1, is_mutated(d, "cuda_index") ? ix_const(a, 0) : k0);
    if (!is_mutated(d, "cuda_barrier"))
        nest_barrier(s->nest);
    Dim all = is_mutated(d, "cuda_rows") ? dim_fixed(d->k.n) : d->k;
    LoopVar *k = nest_loop_to(s->nest, LOOP_SEQ, "k", d->depth, k0, all);
    k->unroll = (int)d->depth;
    const Ix *place = ix_var(a, k);
    if (is_mutated(d, "cuda_order") && d->k.n % d->depth == 0)
        place = ix_add(a, ix_const(a, d->depth - 1), ix_scale(a, place, -1));
    multiply(d, place);
    close_to(d, depth);
}

static void store_tile(Dot *d) {
    Sched *s = d->s;
    Arena *a = s->arena;
    int depth = s->nest->depth;
    const Ix *i = ix_var(a, nest_loop(s->nest, LOOP_UNROLL, "i", dim_fixed(d->tile.high)));
    const Ix *row = ix_var(a, nest_at(s->nest, "row", ix_add(a, d->row0, own_row(d, i)), d->m));
    const Ix *j = ix_var(a, nest_loop(s->nest, LOOP_UNROLL, "j", dim_fixed(d->tile.wide)));
    LoopVar *own = nest_at(s->nest, "column", ix_add(a, d->column0, own_column(d, j)), d->cols);
    own->promised = is_mutated(d, "cuda_guard");
    const Ix *column = ix_var(a, own);
    const Ix *sub[3] = {d->batch, row, column};
    value_bind(s, d->n, sub, expr_local(a, d->sum, (const Ix *[]){i, j}));
    sched_store_all(s, &d->n->shape, sub);
    close_to(d, depth);
}

static const Ix *open_tiles(Dot *d, const char *name, Dim extent) {
    LoopVar *v = nest_loop(d->s->nest, LOOP_SEQ, name, extent);
    v->kind = LOOP_TILE;
    return ix_var(d->s->arena, v);
}

static void schedule_tiled(Dot *d) {
    Sched *s = d->s;
    Arena *a = s->arena;
    choose_tile(d);
    d->batch = d->b.n > 1 || d->b.count ? open_tiles(d, "b", d->b) : ix_const(a, 0);
    d->row0 = open_tiles(d, "tile_row", dim_fixed(pieces(d->m.n, d->tile.rows)));
    d->row0 = ix_scale(a, d->row0, d->tile.rows);
    d->column0 = open_tiles(d, "tile_column", dim_fixed(pieces(d->cols.n, d->tile.columns)));
    d->column0 = ix_scale(a, d->column0, d->tile.columns);
    Dim high = dim_fixed(d->tile.rows / d->tile.high),
        wide = dim_fixed(d->tile.columns / d->tile.wide);
    d->ty = ix_var(a, nest_loop(s->nest, LOOP_THREAD, "ty", high));
    d->tx = ix_var(a, nest_loop(s->nest, LOOP_THREAD, "tx", wide));
    int64_t left[2] = {d->depth, d->tile.rows + PAD}, right[2] = {d->depth, d->tile.columns + PAD},
            own[2] = {d->tile.high, d->tile.wide};
    d->slice[0] = nest_shared(s->nest, "left", DT_F32, 2, left);
    d->slice[1] = nest_shared(s->nest, "right", DT_F32, 2, right);
    d->sum = nest_filled(s->nest, "sum", DT_F32, 2, own, 0);
    sum_slices(d);
    store_tile(d);
    close_to(d, 0);
}

/* ---- other types: a thread for each result ---- */

static void schedule_plain(Dot *d) {
    Sched *s = d->s;
    Arena *a = s->arena;
    const Ix *sub[3];
    DType t = d->n->dtype;
    sched_open_loops(s, &d->n->shape, false, sub);
    d->batch = sub[0];
    Local *sum = nest_var(s->nest, "sum", expr_const(a, t, 0));
    const Expr *now = expr_local(a, sum, NULL);
    const Ix *k = ix_var(a, nest_loop(s->nest, LOOP_SEQ, "k", d->k));
    const Expr *x = operand_at(d, 0, sub[1], k), *y = operand_at(d, 1, k, sub[2]);
    nest_set(s->nest, sum, NULL,
             dtype_is_real(t) ? expr_fma(a, x, y, now)
                              : expr_binary(a, OP_add, now, expr_binary(a, OP_mul, x, y)));
    nest_end(s->nest);
    value_bind(s, d->n, sub, now);
    sched_store_all(s, &d->n->shape, sub);
    close_to(d, 0);
}

void schedule_cuda_dot(Sched *s) {
    const Node *n = s->group->anchor;
    bool ta = n->attr.dot.ta, tb = n->attr.dot.tb;
    Dot d = {.s = s, .n = n, .operand = {n->in[0], n->in[1]}, .flip = {ta, tb}};
    d.b = n->shape.dim[0];
    d.m = n->shape.dim[1];
    d.cols = n->shape.dim[2];
    d.k = n->in[0]->shape.dim[ta ? 1 : 2];
    if (n->dtype == DT_F32)
        schedule_tiled(&d);
    else
        schedule_plain(&d);
    s->kernel->flops =
        2.0 * (double)d.b.n * (double)d.m.n * (double)d.k.n * (double)d.cols.n;
}
