/* schedule_column.c: reductions over leading or middle axes: [outer, length, inner] -> [outer,
 * inner].
 *
 * Order of a column: rows ascending in chunks of 64, the chunks' results ascending. Lanes are
 * columns.
 */
#include "target.h"

enum { ROWS = 64, COLUMNS = 16 };
/* cuda: columns of a block, chunks that its warps share, parts that it has room for. */
enum { WIDE = 32, MOST_CHUNKS = 32, MOST_PARTS = 128 };

typedef struct Columns {
    Sched *s;
    const Ix *outer, *column; /* of the element that is reduced to */
    const Ix *lane;           /* cuda: of the column among those of the block */
    int n;                    /* reductions, and of each: */
    const Node **of;
    Local **total, **part;
    Local **shared;  /* cuda: [chunks][WIDE] of a block */
    Buffer **memory; /* cuda: [chunks][columns] */
} Columns;

static const Ix *row_major(Sched *s, const Ix *outer, const Ix *row, const Ix *column) {
    const Group *g = s->group;
    const Ix *at = ix_add(s->arena, ix_scale(s->arena, outer, g->length), row);
    return ix_add(s->arena, ix_scale(s->arena, at, g->inner), column);
}

static Columns columns_new(Sched *s) {
    const Group *g = s->group;
    Columns c = {.s = s, .outer = ix_const(s->arena, 0)};
    c.of = NEW_ARRAY(s->arena, const Node *, g->nodes.n);
    for (int i = 0; i < g->nodes.n; i++)
        if (op_info[g->nodes.at[i]->op].kind == KIND_REDUCE)
            c.of[c.n++] = g->nodes.at[i];
    c.total = NEW_ARRAY(s->arena, Local *, c.n);
    c.part = NEW_ARRAY(s->arena, Local *, c.n);
    c.shared = NEW_ARRAY(s->arena, Local *, c.n);
    c.memory = NEW_ARRAY(s->arena, Buffer *, c.n);
    return c;
}

/* Joins the element of row `row` into each accumulator of `to`. */
static void add_row(Columns *c, Local *const *to, const Ix *row) {
    Sched *s = c->s;
    const Ix *sub[MAX_RANK];
    for (int k = 0; k < c->n; k++) {
        const Node *n = c->of[k];
        ix_unflat(s->arena, &n->in[0]->shape, row_major(s, c->outer, row, c->column), sub);
        const Expr *sum = expr_local(s->arena, to[k], NULL), *e = value_at(s, n->in[0], sub);
        sum = n->nin > 1 ? expr_fma(s->arena, e, value_at(s, n->in[1], sub), sum)
                         : expr_binary(s->arena, op_info[n->op].join, sum, e);
        nest_set(s->nest, to[k], NULL, sum);
    }
}

static void start(Columns *c, const char *name, Local **out) {
    for (int k = 0; k < c->n; k++) {
        const Node *n = c->of[k];
        out[k] = nest_lanes(c->s->nest, n->name && out == c->total ? n->name : name, n->dtype, 0,
                            NULL, reduce_neutral(n->op, n->dtype));
    }
}

/* Rows of chunk number `chunk`, joined into `part`. */
static void reduce_chunk(Columns *c, Local *const *part, const Ix *chunk) {
    Sched *s = c->s;
    const Ix *base = ix_scale(s->arena, chunk, ROWS);
    LoopVar *row = nest_loop_to(s->nest, LOOP_SEQ, "row", ROWS, base,
                                (Dim){s->group->length, s->group->length_count});
    add_row(c, part, ix_add(s->arena, base, ix_var(s->arena, row)));
    nest_end(s->nest);
}

/* The result of a chunk, from where it stands. */
typedef const Expr *PartOf(Columns *c, int k, const Ix *chunk);

/* Joins the parts into the totals. */
static void join_parts(Columns *c, PartOf *part_of, const Ix *chunk) {
    Sched *s = c->s;
    for (int k = 0; k < c->n; k++) {
        const Expr *sum = expr_binary(s->arena, op_info[c->of[k]->op].join,
                                      expr_local(s->arena, c->total[k], NULL),
                                      part_of(c, k, chunk));
        nest_set(s->nest, c->total[k], NULL, sum);
    }
}

static const Expr *local_part(Columns *c, int k, const Ix *chunk) {
    (void)chunk;
    return expr_local(c->s->arena, c->part[k], NULL);
}

static int64_t chunks_of(const Group *g) {
    return (g->length + ROWS - 1) / ROWS;
}

static void reduce_columns(Columns *c) {
    Sched *s = c->s;
    const Group *g = s->group;
    start(c, "total", c->total);
    Dim rows = {g->length, g->length_count};
    if (g->length <= ROWS) {
        add_row(c, c->total, ix_var(s->arena, nest_loop(s->nest, LOOP_SEQ, "row", rows)));
        nest_end(s->nest);
        return;
    }
    const Ix *chunk =
        ix_var(s->arena, nest_loop(s->nest, LOOP_SEQ, "chunk", dim_fixed(chunks_of(g))));
    start(c, "part", c->part);
    reduce_chunk(c, c->part, chunk);
    join_parts(c, local_part, chunk);
    nest_end(s->nest);
}

static void bind_and_store(Columns *c) {
    Sched *s = c->s;
    const Group *g = s->group;
    const Ix *flat = ix_add(s->arena, ix_scale(s->arena, c->outer, g->inner), c->column),
             *sub[MAX_RANK];
    for (int k = 0; k < c->n; k++) {
        ix_unflat(s->arena, &c->of[k]->shape, flat, sub);
        value_bind(s, c->of[k], sub, expr_local(s->arena, c->total[k], NULL));
    }
    const Shape all = shape_of(1, &g->rows);
    sched_store_all(s, &all, &flat);
}

/* ---- cuda ---- */

static void set_column(Columns *c, const Ix *flat) {
    c->outer = ix_div(c->s->arena, flat, c->s->group->inner);
    c->column = ix_mod(c->s->arena, flat, c->s->group->inner);
}

/* A thread for each column. */
static void columns_by_threads(Columns *c) {
    Sched *s = c->s;
    set_column(c, ix_var(s->arena, nest_loop(s->nest, LOOP_LANE, "j", dim_fixed(s->group->rows))));
    reduce_columns(c);
    bind_and_store(c);
    nest_end(s->nest);
}

static const Expr *shared_part(Columns *c, int k, const Ix *chunk) {
    return expr_local(c->s->arena, c->shared[k], (const Ix *[]){chunk, c->lane});
}

static const Expr *stored_part(Columns *c, int k, const Ix *chunk) {
    const Ix *flat = ix_scale(c->s->arena, c->outer, c->s->group->inner);
    flat = ix_add(c->s->arena, flat, c->column);
    return expr_load(c->s->arena, c->memory[k], (const Ix *[]){chunk, flat});
}

static void join_chunks(Columns *c, PartOf *part_of) {
    Sched *s = c->s;
    start(c, "total", c->total);
    Dim chunks = dim_fixed(chunks_of(s->group));
    join_parts(c, part_of, ix_var(s->arena, nest_loop(s->nest, LOOP_SEQ, "chunk", chunks)));
    nest_end(s->nest);
    bind_and_store(c);
}

/* Opens a lane for each column of the block's. */
static void open_lanes(Columns *c, const Ix *base) {
    Sched *s = c->s;
    bool whole = s->group->rows % WIDE == 0;
    c->lane = ix_var(s->arena, whole ? nest_loop(s->nest, LOOP_LANE, "j", dim_fixed(WIDE))
                                     : nest_loop_to(s->nest, LOOP_LANE, "j", WIDE, base,
                                                    dim_fixed(s->group->rows)));
    set_column(c, ix_add(s->arena, base, c->lane));
}

/* A block has columns, a lane one of them; its warps share the chunks, and one joins them. */
static void chunks_by_warps(Columns *c) {
    Sched *s = c->s;
    const Group *g = s->group;
    const int64_t extent[2] = {chunks_of(g), WIDE};
    LoopVar *tile = nest_loop(s->nest, LOOP_TILE, "tile", dim_fixed((g->rows + WIDE - 1) / WIDE));
    tile->kind = LOOP_TILE; /* even one is a block: all chunks are in it */
    const Ix *base = ix_scale(s->arena, ix_var(s->arena, tile), WIDE);
    for (int k = 0; k < c->n; k++)
        c->shared[k] = nest_shared(s->nest, "parts", c->of[k]->dtype, 2, extent);
    Dim chunks = dim_fixed(extent[0]);
    const Ix *chunk = ix_var(s->arena, nest_loop(s->nest, LOOP_WARP, "chunk", chunks));
    open_lanes(c, base);
    start(c, "part", c->part);
    reduce_chunk(c, c->part, chunk);
    for (int k = 0; k < c->n; k++)
        nest_set(s->nest, c->shared[k], (const Ix *[]){chunk, c->lane}, local_part(c, k, chunk));
    nest_end(s->nest);
    nest_end(s->nest);
    nest_barrier(s->nest);
    nest_loop(s->nest, LOOP_WARP, "one", dim_fixed(1));
    open_lanes(c, base);
    join_chunks(c, shared_part);
    nest_end(s->nest);
    nest_end(s->nest);
    nest_end(s->nest);
}

/* A thread for each chunk of each column; a second kernel joins them. */
static void chunks_by_threads(Columns *c) {
    Sched *s = c->s;
    const Group *g = s->group;
    const int64_t extent[2] = {chunks_of(g), g->rows};
    const Ix *i =
        ix_var(s->arena, nest_loop(s->nest, LOOP_LANE, "i", dim_fixed(extent[0] * extent[1])));
    const Ix *at[2] = {ix_div(s->arena, i, g->rows), ix_mod(s->arena, i, g->rows)};
    set_column(c, at[1]);
    start(c, "part", c->part);
    reduce_chunk(c, c->part, at[0]);
    for (int k = 0; k < c->n; k++) {
        c->memory[k] = sched_buffer(s, "parts", c->part[k]->dtype, shape_of(2, extent));
        sched_put(s, c->memory[k], at, local_part(c, k, at[0]));
    }
    nest_end(s->nest);
    sched_next_kernel(s, "join");
    for (int k = 0; k < c->n; k++)
        sched_reads(s, c->memory[k]);
    set_column(c, ix_var(s->arena, nest_loop(s->nest, LOOP_LANE, "j", dim_fixed(g->rows))));
    join_chunks(c, stored_part);
    nest_end(s->nest);
}

static void columns_of_device(Columns *c) {
    const Group *g = c->s->group;
    int64_t chunks = chunks_of(g);
    if (chunks == 1)
        columns_by_threads(c);
    else if (chunks <= MOST_CHUNKS && chunks * c->n <= MOST_PARTS)
        chunks_by_warps(c);
    else
        chunks_by_threads(c);
}

void schedule_column(Sched *s) {
    const Group *g = s->group;
    Columns c = columns_new(s);
    int64_t outer = g->rows / g->inner, work = g->rows * g->length;
    bool tiles = sched_tiles(work, sched_cost(s)) > 1 && (outer > 1 || g->inner > COLUMNS);
    int opened = 1;
    s->kernel->flops = (double)work;
    if (g->length_count)
        sched_count(s, g->length_count);
    if (s->target->threads) {
        columns_of_device(&c);
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
