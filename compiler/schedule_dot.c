/* schedule_dot.c: contractions [b,m,k] x [b,k,n]: how the work is cut, and the loops around the
 * micro-kernel.
 *
 * The left operand is read where it lies when a row's numbers are neighbours, or when the cache
 * lines of one tile stay in L1; else a kernel before this one copies it tile by tile. The right
 * operand is read as panels of 16 columns: where it lies when its rows are neighbours in memory and
 * a panel stays in the cache, else from a copy. All choices come from shapes and strides by the
 * model below; no choice changes a bit of the result.
 */
#include "schedule_dot.h"

/* ---- the machine ---- */

enum { LINE = 64, L1_SETS = 64, L2_SETS = 1024, WAYS = 7, GROUP_PANELS = 8, GROUP_TILES = 16 };

static const double flops_per_ns = 80; /* of one core, for deciding how many blocks pay */

static int64_t gcd(int64_t x, int64_t y) {
    return y ? gcd(y, x % y) : x;
}

/* Do `n` lines, `stride` bytes apart, stay in a cache with that many sets? Strides of powers of two
 * use few sets. */
static bool lines_stay(int64_t n, int64_t stride, int64_t sets) {
    int64_t used = stride % LINE ? sets : sets / gcd(stride / LINE, sets);
    return n <= used * WAYS;
}

/* ---- operands ---- */

static int64_t row_tiles(const Dot *d) {
    return d->tall + d->low;
}

static int64_t all_panels(const Dot *d) {
    return d->panels + (d->narrow > 0);
}

static const Expr *operand_at(Dot *d, const DotOperand *o, const Ix *b, const Ix *row,
                              const Ix *column) {
    const Ix *sub[3] = {b, o->flip ? column : row, o->flip ? row : column};
    return sched_load(d->s, o->node, sub);
}

const Expr *dot_left(Dot *d, const Ix *b, const Ix *i, const Ix *k, const Ix *tile,
                     const Ix *in_tile) {
    if (!d->left.packed)
        return operand_at(d, &d->left, b, i, k);
    Arena *a = d->s->arena;
    const Ix *at = ix_add(a, ix_scale(a, b, row_tiles(d)), tile);
    return expr_load(a, d->left.packed, (const Ix *[]){at, k, in_tile});
}

/* A whole vector may reach into a panel's padding; subscripts past the last column mean something
 * only in the panels themselves, not in a reshape of them. */
static const Expr *padded_at(Dot *d, const Ix *b, const Ix *k, const Ix *first, const Ix *lane) {
    Arena *a = d->s->arena;
    const Expr *e = operand_at(d, &d->right, b, k, first);
    return expr_load(a, e->buffer, (const Ix *[]){e->sub[0], ix_add(a, e->sub[1], lane)});
}

const Expr *dot_right(Dot *d, const Ix *b, const Ix *k, const Ix *panel, int64_t first,
                      const Ix *lane) {
    Arena *a = d->s->arena;
    const Ix *column = ix_offset(a, ix_scale(a, panel, PANEL), first);
    if (d->right.packed) {
        const Ix *at = ix_add(a, ix_scale(a, b, all_panels(d)), panel);
        return expr_load(a, d->right.packed, (const Ix *[]){at, k, ix_offset(a, lane, first)});
    }
    if (d->right.padded)
        return padded_at(d, b, k, column, lane);
    return operand_at(d, &d->right, b, k, ix_add(a, column, lane));
}

const Expr *dot_extent(Dot *d, Dim dim) {
    Arena *a = d->s->arena;
    if (!dim.count)
        return expr_const(a, DT_I32, (double)dim.n);
    sched_count(d->s, dim.count);
    Expr *count = NEW(a, Expr);
    count->kind = EX_COUNT;
    count->dtype = DT_I32;
    count->count = dim.count;
    int64_t each = dim.n / dim.count->bound;
    return each == 1 ? count : expr_binary(a, OP_mul, count, expr_const(a, DT_I32, (double)each));
}

/* Distance in memory between elements one apart in v; 0 where it is not fixed. */
static int64_t distance(Arena *a, const Expr *load, const LoopVar *v) {
    const Ix *at[3], *flat = ix_const(a, 0);
    int64_t extent[3];
    bool linear;
    int rank = layout_subscripts(a, load->buffer, load->sub, at, extent);
    for (int i = 0; i < rank; i++)
        flat = ix_add(a, ix_scale(a, flat, extent[i]), at[i]);
    int64_t k = ix_coefficient(flat, v, &linear);
    return linear ? k : 0;
}

const Ix *dot_open_k(Dot *d, int unroll) {
    static const char *const name[MAX_RANK] = {"k", "kc", "kb", "ka", "k4", "k5", "k6", "k7"};
    Arena *a = d->s->arena;
    const Ix *k = d->k_outer ? d->k_base : ix_const(a, 0);
    for (int i = d->k_outer; i < d->k_runs; i++) {
        int inside = d->k_runs - 1 - i;
        LoopVar *v = nest_loop(d->s->nest, LOOP_SEQ, name[inside], d->k_run[i]);
        v->unroll = inside ? 0 : unroll;
        k = ix_add(a, ix_scale(a, k, d->k_run[i].n), ix_var(a, v));
    }
    return k;
}

/* The left operand may be linear along the extents whose product k is. Where its rows do not lie
 * alike, the C compiler computes their places before the loops over k. */
static void look_at_runs(Dot *d) {
    int64_t step;
    d->k_runs = sched_runs(d->s, d->left.node, d->left.flip ? 1 : 2, d->k_run, &step);
    if (d->k_runs)
        d->left.along_k = step;
    else
        d->k_run[d->k_runs++] = d->k;
}

/* Looks at how an operand lies: `other` is a row of the left one, or lane j of a panel of the right
 * one. */
static void look_at(Dot *d, DotOperand *o, bool right) {
    Arena *a = d->s->arena;
    LoopVar b = {.name = "b", .extent = dim_fixed(d->b.n)},
            k = {.name = "k", .extent = dim_fixed(d->k.n)};
    LoopVar panel = {.name = "p", .extent = dim_fixed(MAX(d->panels, 1))};
    LoopVar other = {.name = "o", .extent = dim_fixed(right ? LANES : d->m.n)};
    const Ix *at = ix_var(a, &other), *kx = ix_var(a, &k);
    if (right)
        at = ix_add(a, ix_scale(a, ix_var(a, &panel), PANEL), at);
    const Expr *load = operand_at(d, o, ix_var(a, &b), right ? kx : at, right ? at : kx);
    o->along_k = distance(a, load, &k);
    o->along_other = distance(a, load, &other);
    o->padded = load->buffer->layout == LAYOUT_PANELS16 && o->along_other == 1;
}

/* ---- cutting ---- */

/* m rows as tiles of `most` rows or fewer: of one height when one of 6, 5, 4 divides m (8 chains
 * are enough for the multiply units, and the text has one tile), else of two that differ by one. */
static void cut_rows(Dot *d, int64_t most, bool one_height) {
    int64_t tiles = (d->m.n + most - 1) / most;
    for (int64_t h = most; one_height && h >= 4; h--)
        if (d->m.n % h == 0) {
            tiles = d->m.n / h;
            break;
        }
    d->height = (d->m.n + tiles - 1) / tiles;
    d->tall = d->m.n - tiles * (d->height - 1);
    d->low = tiles - d->tall;
    d->low_height = d->height - 1;
}

static int64_t largest_divisor(int64_t n, int64_t most) {
    int64_t d = MAX(MIN(n, most), 1);
    while (n % d)
        d--;
    return d;
}

/* Blocks of equally many tall tiles, `rows` of them or somewhat fewer: row numbers then stay below
 * m, and subscripts fold. `height` low tiles in the place of height - 1 tall ones may make the
 * number of tall ones divisible. */
static void cut_row_blocks(Dot *d, int64_t rows) {
    const int64_t tall = d->tall, low = d->low;
    d->row_blocks = 0;
    for (int64_t more = 0; more <= 2 && d->row_blocks * 4 < rows * 3; more++) {
        int64_t t = tall - more * d->low_height, l = low + more * d->height;
        if (t <= 0 || (more && d->height < 5))
            break;
        int64_t blocks = largest_divisor(t, rows);
        if (blocks <= d->row_blocks || (more && l > t / blocks))
            continue;
        d->row_blocks = blocks;
        d->block_tiles = t / blocks;
        d->tall = t;
        d->low = l;
    }
}

/* A long k passes much more than the caches hold through each tile. Where it is several extents,
 * all but the last DEEP_K of it goes outside of the tiles, whose sums wait in memory: a chain goes
 * on where it was, bits and all. */
enum { LONG_K = 4096, DEEP_K = 512 };

static bool is_deep(const Dot *d) {
    enum { MOST = 1 << 20 };
    return d->k_runs > 1 && d->k_runs < MAX_RANK && d->k.n >= LONG_K &&
           d->m.n * all_panels(d) * PANEL <= MOST;
}

static void cut_depth(Dot *d) {
    int64_t inner = 1;
    int i = d->k_runs - 1;
    while (i > 0 && inner * d->k_run[i].n <= DEEP_K)
        inner *= d->k_run[i--].n;
    int64_t part = d->k_run[i].count ? 1 : largest_divisor(d->k_run[i].n, MAX(DEEP_K / inner, 1));
    d->k_outer = i + 1;
    if (part > 1) {
        for (int k = d->k_runs++; k > i; k--)
            d->k_run[k] = d->k_run[k - 1];
        d->k_run[i].n /= part;
        d->k_run[i + 1] = dim_fixed(part);
    }
    const Shape shape =
        shape_of(2, (const int64_t[]){d->b.n * d->m.n, all_panels(d) * PANEL});
    d->partial = sched_buffer(d->s, "partial_sums", DT_F32, shape);
}

/* Blocks for threads: panels first (a panel then serves all rows from the cache), rows where panels
 * are few, or where the left operand is too big to be streamed once a panel. */
static void cut_blocks(Dot *d) {
    enum { MOST = 64, ENOUGH = 16, MEGABYTE = 1 << 20 };
    double ns =
        2.0 * (double)d->m.n * (double)d->k.n * (double)d->cols.n * (double)d->b.n / flops_per_ns;
    int64_t want = ns < 5000 ? 1 : MIN((int64_t)(ns / 1000), MOST);
    int64_t left_bytes = d->m.n * d->k.n * 4;
    d->row_blocks = d->col_blocks = 1;
    d->block_tiles = d->tall;
    d->block_panels = d->panels;
    want = MAX(want / d->b.n, d->b.n > 1 ? 1 : want);
    if (want > 1 && d->panels > 1) {
        d->col_blocks = largest_divisor(d->panels, want);
        d->block_panels = d->panels / d->col_blocks;
    }
    int64_t rows = d->col_blocks < ENOUGH ? MIN(want, ENOUGH) / d->col_blocks : 1;
    if (left_bytes > 4 * MEGABYTE && !is_deep(d))
        rows = MAX(rows, left_bytes / MEGABYTE);
    cut_row_blocks(d, MIN(rows, d->tall));
}

/* Few columns or short chains: the right operand stays in the cache and serves all rows, so rows
 * are cut as kernels of rows cut them, and no barrier stands between the two. */
static bool is_cut_by_rows(const Dot *d) {
    enum { SHALLOW = 32, ENOUGH = 16 };
    bool wide = d->panels > 0 || d->narrow > LANES;
    return wide && d->b.n == 1 && d->m.n >= ENOUGH && d->m.n % 4 == 0 &&
           (d->cols.n <= PANEL || d->k.n <= SHALLOW);
}

static void cut_by_rows(Dot *d) {
    d->height = 4;
    d->low_height = 3;
    d->tall = d->m.n / 4;
    d->low = 0;
    d->col_blocks = 1;
    d->block_panels = d->panels;
    d->row_blocks = largest_divisor(d->tall, 64);
    d->block_tiles = d->tall / d->row_blocks;
}

/* ---- copies ---- */

/* Opens a loop unless there is one round only. */
static const Ix *open_rounds(Dot *d, LoopKind kind, const char *name, int64_t rounds) {
    Arena *a = d->s->arena;
    return rounds == 1 ? ix_const(a, 0)
                       : ix_var(a, nest_loop(d->s->nest, kind, name, dim_fixed(rounds)));
}

/* The same, shared among threads when it pays: kernel->tiles says so. */
static const Ix *open_shared(Dot *d, const char *name, int64_t rounds, double ns_of_one) {
    bool tiles = rounds > 1 && sched_tiles(rounds, ns_of_one) > 1;
    d->s->kernel->tiles = tiles ? (int)rounds : 1;
    return open_rounds(d, tiles ? LOOP_TILE : LOOP_SEQ, name, rounds);
}

static void close_to(Dot *d, int depth) {
    while (d->s->nest->depth > depth)
        nest_end(d->s->nest);
}

static const Ix *open_k(Dot *d) {
    if (d->k.count)
        sched_count(d->s, d->k.count);
    return ix_var(d->s->arena, nest_loop(d->s->nest, LOOP_SEQ, "k", d->k));
}

/* What follows is done in the last of `rounds` rounds. */
static void open_last(Dot *d, const Ix *round, int64_t rounds) {
    Arena *a = d->s->arena;
    if (rounds > 1)
        nest_if(d->s->nest, expr_binary(a, OP_eq, expr_index(a, round),
                                        expr_const(a, DT_I32, (double)(rounds - 1))));
}

static void note_access(Sched *s, const Buffer *b, bool writes) {
    const Access access = {.buffer = (Buffer *)b};
    if (writes)
        vec_push(s->arena, &s->kernel->writes, access);
    else
        vec_push(s->arena, &s->kernel->reads, access);
}

static const Ix *panel_place(const Dot *d, const Ix *b, const Ix *panel) {
    return ix_add(d->s->arena, ix_scale(d->s->arena, b, all_panels(d)), panel);
}

/* Rows that lie side by side: the numbers of row k to place k of a panel. */
static void copy_panel_row(Dot *d, const Ix *b, const Ix *panel, const Ix *k, int64_t width) {
    Sched *s = d->s;
    Arena *a = s->arena;
    for (int64_t first = 0; first < width; first += LANES) {
        const LoopVar *v = nest_loop(s->nest, LOOP_LANE, "j", dim_fixed(MIN(width - first, LANES)));
        const Ix *j = ix_offset(a, ix_var(a, v), first),
                 *column = ix_add(a, ix_scale(a, panel, PANEL), j);
        nest_store(s->nest, d->right.packed, (const Ix *[]){panel_place(d, b, panel), k, j},
                   operand_at(d, &d->right, b, k, column));
        nest_end(s->nest);
    }
}

/* A round copies some panels, so that whole lines of memory are read at once. */
static void copy_right_rows(Dot *d) {
    Sched *s = d->s;
    Arena *a = s->arena;
    int64_t group = largest_divisor(d->panels, GROUP_PANELS), groups = MAX(d->panels / group, 1);
    const Ix *q = open_shared(d, "q", d->b.n * groups, (double)(d->k.n * group));
    const Ix *b = ix_div(a, q, groups), *g = ix_mod(a, q, groups);
    int depth = s->nest->depth;
    if (d->panels) {
        const Ix *k = open_k(d), *p = open_rounds(d, LOOP_SEQ, "p", group);
        copy_panel_row(d, b, ix_add(a, ix_scale(a, g, group), p), k, PANEL);
        close_to(d, depth);
    }
    if (d->narrow) {
        open_last(d, g, groups);
        copy_panel_row(d, b, ix_const(a, d->panels), open_k(d), d->narrow);
    }
    close_to(d, 0);
}

/* Column j of a panel, numbers `rest` … k-1, one after the other: sixteen of each column at a time,
 * so that a line of memory is read once and the sixteen lines written stay in L1. */
static void copy_columns(Dot *d, const Ix *b, const Ix *panel, int64_t first, int64_t width,
                         int64_t rest) {
    Sched *s = d->s;
    Arena *a = s->arena;
    int depth = s->nest->depth;
    if (width <= 0 || rest >= d->k.n)
        return;
    if (d->k.count)
        sched_count(s, d->k.count);
    int64_t left = d->k.n - rest;
    const Ix *base = ix_scale(a, open_rounds(d, LOOP_SEQ, "k", (left + PANEL - 1) / PANEL), PANEL);
    base = ix_offset(a, base, rest);
    const Ix *j = ix_offset(a, open_rounds(d, LOOP_SEQ, "j", width), first);
    const LoopVar *v = nest_loop_to(s->nest, LOOP_SEQ, "k", MIN(left, PANEL), base, d->k);
    const Ix *k = ix_add(a, base, ix_var(a, v)), *column = ix_add(a, ix_scale(a, panel, PANEL), j);
    nest_store(s->nest, d->right.packed, (const Ix *[]){panel_place(d, b, panel), k, j},
               operand_at(d, &d->right, b, k, column));
    close_to(d, depth);
}

/* Elements from one column to the next where eight numbers of a column are neighbours; else 0. */
static int64_t column_step(Dot *d) {
    Arena *a = d->s->arena;
    LoopVar k = {.name = "k", .extent = dim_fixed(LANES)},
            j = {.name = "j", .extent = dim_fixed(LANES)};
    LoopVar eight = {.name = "e", .extent = dim_fixed(MAX(d->k.n / LANES, 1))};
    if (d->k.count || d->k.n < PANEL || d->cols.n < LANES)
        return 0;
    const Ix *at = ix_add(a, ix_scale(a, ix_var(a, &eight), LANES), ix_var(a, &k));
    const Expr *load = operand_at(d, &d->right, ix_const(a, 0), at, ix_var(a, &j));
    return distance(a, load, &k) == 1 ? distance(a, load, &j) : 0;
}

/* Columns that lie side by side: column j of a panel runs along memory. Blocks of 8 x 8 are
 * transposed in registers; the four of 16 x 16 use the same lines of memory. */
static void copy_panel_columns(Dot *d, const Ix *b, const Ix *panel, int64_t width) {
    Sched *s = d->s;
    Arena *a = s->arena;
    int64_t step = column_step(d), wide = width / LANES * LANES, whole = d->k.n / PANEL;
    int depth = s->nest->depth;
    if (step == 0) {
        copy_columns(d, b, panel, 0, width, 0);
        return;
    }
    const Ix *block = wide ? open_rounds(d, LOOP_SEQ, "k", whole) : NULL;
    for (int64_t j = 0; j < wide; j += LANES)
        for (int64_t e = 0; e < PANEL; e += LANES) {
            const Ix *k = ix_offset(a, ix_scale(a, block, PANEL), e),
                     *column = ix_offset(a, ix_scale(a, panel, PANEL), j);
            const Ix *to[3] = {panel_place(d, b, panel), k, ix_const(a, j)};
            nest_transpose(s->nest, d->right.packed, to, PANEL,
                           operand_at(d, &d->right, b, k, column), step);
        }
    close_to(d, depth);
    copy_columns(d, b, panel, 0, wide, whole * PANEL);
    copy_columns(d, b, panel, wide, width - wide, 0);
}

static void copy_right_columns(Dot *d) {
    Arena *a = d->s->arena;
    int64_t rounds = MAX(d->panels, 1);
    const Ix *q = open_shared(d, "q", d->b.n * rounds, 8.0 * (double)d->k.n);
    const Ix *b = ix_div(a, q, rounds), *p = ix_mod(a, q, rounds);
    int depth = d->s->nest->depth;
    if (d->panels)
        copy_panel_columns(d, b, p, PANEL);
    close_to(d, depth);
    if (d->narrow) {
        open_last(d, p, rounds);
        copy_panel_columns(d, b, ix_const(a, d->panels), d->narrow);
    }
    close_to(d, 0);
}

static const Ix *low_row(const Dot *d, const Ix *u) {
    Arena *a = d->s->arena;
    return ix_offset(a, ix_scale(a, u, d->low_height), d->tall * d->height);
}

/* The numbers of one k for a tile. */
static void copy_tile(Dot *d, const Ix *b, const Ix *tile, const Ix *row, const Ix *k,
                      int64_t height) {
    Sched *s = d->s;
    Arena *a = s->arena;
    const Ix *at = ix_add(a, ix_scale(a, b, row_tiles(d)), tile);
    for (int64_t i = 0; i < height; i++)
        nest_store(s->nest, d->left.packed, (const Ix *[]){at, k, ix_const(a, i)},
                   operand_at(d, &d->left, b, ix_offset(a, row, i), k));
}

/* A round copies some tiles, so that whole lines of memory are read at once. */
static void copy_left(Dot *d) {
    Sched *s = d->s;
    Arena *a = s->arena;
    int64_t group = largest_divisor(d->tall, GROUP_TILES), groups = d->tall / group;
    double ns = 0.5 * (double)(d->k.n * d->height * group);
    const Ix *q = open_shared(d, "q", d->b.n * groups, ns);
    const Ix *b = ix_div(a, q, groups), *g = ix_mod(a, q, groups);
    int depth = s->nest->depth;
    const Ix *k = open_k(d);
    const Ix *u = ix_add(a, ix_scale(a, g, group), open_rounds(d, LOOP_SEQ, "u", group));
    copy_tile(d, b, u, ix_scale(a, u, d->height), k, d->height);
    close_to(d, depth);
    if (d->low) {
        open_last(d, g, groups);
        k = open_k(d);
        u = open_rounds(d, LOOP_SEQ, "u", d->low);
        copy_tile(d, b, ix_offset(a, u, d->tall), low_row(d, u), k, d->low_height);
    }
    close_to(d, 0);
}

static const Buffer *stored_operand(const Sched *s, const Node *n) {
    while (op_info[n->op].kind == KIND_MOVE && !s->fusion->buffer_of[n->id])
        n = n->in[0];
    return s->fusion->buffer_of[n->id];
}

/* A kernel before the product that copies an operand: [b * pieces][k][width]. */
static void copy_operand(Dot *d, DotOperand *o, int64_t pieces, int64_t width,
                         void (*copy)(Dot *d)) {
    Sched *s = d->s;
    const Buffer *stored = stored_operand(s, o->node);
    const char *own = s->kernel->name, *plain = s->kernel->plain, *what = stored->name;
    const Shape shape = shape_of(3, (const int64_t[]){d->b.n * pieces, d->k.n, width});
    Buffer *packed = sched_buffer(s, arena_printf(s->arena, "%s_packed", what), DT_F32, shape);
    packed->packed_of = stored->home;
    o->packed = packed;
    s->kernel->note = arena_printf(s->arena, "%s in pieces %d wide, for %s", what, (int)width, own);
    copy(d);
    note_access(s, o->packed, true);
    s->kernel->name = arena_printf(s->arena, "pack_%s_for_%s", what, own);
    s->kernel->plain = NULL;
    sched_next_kernel(s, "product");
    s->kernel->name = own;
    s->kernel->plain = plain;
}

static bool copy_pays_right(const Dot *d) {
    const DotOperand *r = &d->right;
    int64_t tiles = row_tiles(d), stride = r->along_k * 4;
    if (r->along_other != 1 || r->along_k == 0)
        return true;
    if (r->padded || tiles < 4 || lines_stay(d->k.n, stride, L1_SETS))
        return false;
    return tiles >= 64 || !lines_stay(d->k.n, stride, L2_SETS);
}

static bool copy_pays_left(const Dot *d) {
    enum { LONG = 128 };
    const DotOperand *l = &d->left;
    int64_t stride = l->along_k * 4;
    if (l->along_k == 0 && d->k.n > 1)
        return true;
    bool streams = l->along_k == 1 || d->k_runs > 1; /* of windows the copy would be larger */
    if (streams || all_panels(d) < 4 || lines_stay(d->k.n, stride, L1_SETS))
        return false;
    return d->k.n >= LONG || !lines_stay(d->k.n, stride, L2_SETS);
}

/* ---- loops around the tile ---- */

/* All row tiles of one panel in a block. */
static void block_rows(Dot *d, const Ix *b, const Ix *block, const Ix *panel, int64_t width) {
    Sched *s = d->s;
    Arena *a = s->arena;
    int depth = s->nest->depth;
    const Ix *u = ix_scale(a, block, d->block_tiles);
    u = ix_add(a, u, open_rounds(d, LOOP_SEQ, "u", d->block_tiles));
    dot_tile(d, b, ix_scale(a, u, d->height), u, d->height, panel, width);
    close_to(d, depth);
    if (!d->low)
        return;
    open_last(d, block, d->row_blocks);
    u = open_rounds(d, LOOP_SEQ, "u", d->low);
    dot_tile(d, b, low_row(d, u), ix_offset(a, u, d->tall), d->low_height, panel, width);
    close_to(d, depth);
}

static void block_panels(Dot *d, const Ix *b, const Ix *row_block, const Ix *col_block) {
    Arena *a = d->s->arena;
    int depth = d->s->nest->depth;
    if (d->panels) {
        const Ix *p = open_rounds(d, LOOP_SEQ, "p", d->block_panels);
        block_rows(d, b, row_block, ix_add(a, ix_scale(a, col_block, d->block_panels), p), PANEL);
        close_to(d, depth);
    }
    if (d->narrow) {
        open_last(d, col_block, d->col_blocks);
        block_rows(d, b, row_block, ix_const(a, d->panels), d->narrow);
        close_to(d, depth);
    }
}

static void product(Dot *d) {
    Sched *s = d->s;
    Arena *a = s->arena;
    int64_t blocks = d->row_blocks * d->col_blocks;
    double ns =
        2.0 * (double)d->m.n * (double)d->k.n * (double)d->cols.n / flops_per_ns / (double)blocks;
    if (d->left.packed)
        note_access(s, d->left.packed, false);
    if (d->right.packed)
        note_access(s, d->right.packed, false);
    if (d->k.count)
        sched_count(s, d->k.count);
    const Ix *t = open_shared(d, "block", blocks * d->b.n, ns);
    const Ix *b = ix_div(a, t, blocks), *block = ix_mod(a, t, blocks);
    if (d->b.count)
        nest_if(s->nest, expr_binary(a, OP_lt, expr_index(a, b), dot_extent(d, d->b)));
    const Ix *row = ix_div(a, block, d->col_blocks), *column = ix_mod(a, block, d->col_blocks);
    if (!d->k_outer) {
        block_panels(d, b, row, column);
        close_to(d, 0);
        return;
    }
    note_access(s, d->partial, true);
    note_access(s, d->partial, false);
    int depth = s->nest->depth;
    d->part = DOT_CLEAR;
    block_panels(d, b, row, column);
    d->part = DOT_ADD;
    d->k_base = ix_const(a, 0);
    for (int i = 0; i < d->k_runs; i++) {
        if (i < d->k_outer)
            d->k_base = ix_add(a, d->k_base,
                               ix_var(a, nest_loop(s->nest, LOOP_SEQ, "part", d->k_run[i])));
        if (i + 1 < d->k_outer)
            d->k_base = ix_scale(a, d->k_base, d->k_run[i + 1].n);
    }
    block_panels(d, b, row, column);
    close_to(d, depth);
    d->part = DOT_FINISH;
    block_panels(d, b, row, column);
    close_to(d, 0);
}

/* Ops that one element of n takes after the product, inlined ones with them; a costly one is many.
 */
static int ops_after(const Dot *d, const Node *n, int limit) {
    const Fusion *f = d->s->fusion;
    bool elsewhere = f->buffer_of[n->id] && f->group_of[n->id] != d->s->group;
    if (n == d->n || elsewhere || op_info[n->op].kind == KIND_LEAF)
        return 0;
    int ops = op_info[n->op].flags & OPF_COSTLY ? limit : op_info[n->op].kind != KIND_MOVE;
    for (int i = 0; i < n->nin && ops < limit; i++)
        ops += ops_after(d, n->in[i], limit - ops);
    return ops;
}

/* For each accumulator in registers or as a loop: the array costs some 20 cycles a tile. */
static bool is_long_epilogue(const Dot *d) {
    enum { DEEP = 128, SHORT = 3, LONG = 7 };
    int limit = d->k.n >= DEEP ? SHORT : LONG, ops = 0;
    for (int i = 0; i < d->s->group->stores.n && ops < limit; i++) {
        const GroupStore *store = &d->s->group->stores.at[i];
        ops += i > 0 || store->buffer->dtype != DT_F32 ? 2 : 0;
        ops += ops_after(d, store->node, LONG - ops);
    }
    return ops >= limit;
}

static void schedule_tiled(Dot *d) {
    Sched *s = d->s;
    d->panels = d->cols.n / PANEL;
    d->narrow = d->cols.n % PANEL;
    look_at(d, &d->left, false);
    look_at(d, &d->right, true);
    look_at_runs(d);
    s->kernel->reads.n = 0; /* only looked at */
    bool one_vector = d->panels == 0 && d->narrow <= LANES;
    bool panels = d->right.along_other != 1 || d->right.padded; /* a copy at the latest */
    bool near = lines_stay(d->k.n, panels ? LINE : d->right.along_k * 4, L1_SETS);
    if (is_cut_by_rows(d)) {
        cut_by_rows(d);
    } else {
        cut_rows(d, one_vector ? 12 : 6, near);
        cut_blocks(d);
    }
    d->long_epilogue = is_long_epilogue(d);
    d->part = DOT_ALL;
    bool left = copy_pays_left(d), right = copy_pays_right(d);
    if (right) {
        copy_operand(d, &d->right, all_panels(d), PANEL,
                     d->right.along_other == 1 ? copy_right_rows : copy_right_columns);
        d->right.padded = true;
    }
    if (left) {
        copy_operand(d, &d->left, row_tiles(d), d->height, copy_left);
        d->k_runs = 1;
        d->k_run[0] = d->k;
    }
    if (is_deep(d))
        cut_depth(d);
    product(d);
}

/* ---- other types: one loop nest, one chain for each result ---- */

static const Expr *times_plus(Arena *a, const Expr *x, const Expr *y, const Expr *sum) {
    if (dtype_is_real(sum->dtype))
        return expr_fma(a, x, y, sum);
    return expr_binary(a, OP_add, sum, expr_binary(a, OP_mul, x, y));
}

static void schedule_plain(Dot *d) {
    Sched *s = d->s;
    Arena *a = s->arena;
    const Ix *sub[3];
    double ns = (double)(d->k.n * d->cols.n);
    const Ix *q = open_shared(d, "row", d->b.n * d->m.n, ns);
    sub[0] = ix_div(a, q, d->m.n);
    sub[1] = ix_mod(a, q, d->m.n);
    if (d->b.count)
        nest_if(s->nest, expr_binary(a, OP_lt, expr_index(a, sub[0]), dot_extent(d, d->b)));
    if (d->m.count)
        nest_if(s->nest, expr_binary(a, OP_lt, expr_index(a, sub[1]), dot_extent(d, d->m)));
    if (d->cols.count)
        sched_count(s, d->cols.count);
    sub[2] = ix_var(a, nest_loop(s->nest, LOOP_LANE, "j", d->cols));
    Local *sum = nest_lanes(s->nest, "sum", d->n->dtype, 0, NULL, 0);
    const Expr *now = expr_local(a, sum, NULL);
    const Ix *k = open_k(d);
    const Expr *x = operand_at(d, &d->left, sub[0], sub[1], k),
               *y = operand_at(d, &d->right, sub[0], k, sub[2]);
    nest_set(s->nest, sum, NULL, times_plus(a, x, y, now));
    nest_end(s->nest);
    value_bind(s, d->n, sub, now);
    sched_store_all(s, &d->n->shape, sub);
    close_to(d, 0);
}

void schedule_dot(Sched *s) {
    const Node *n = s->group->anchor;
    const Node *left = n->in[0], *right = n->in[1];
    bool ta = n->attr.dot.ta, tb = n->attr.dot.tb;
    Dot d = {
        .s = s, .n = n, .left = {.node = left, .flip = ta}, .right = {.node = right, .flip = tb}};
    d.b = n->shape.dim[0];
    d.m = n->shape.dim[1];
    d.cols = n->shape.dim[2];
    d.k = left->shape.dim[ta ? 1 : 2];
    double flops = 2.0 * (double)d.b.n * (double)d.m.n * (double)d.k.n * (double)d.cols.n;
    if (n->dtype == DT_F32)
        schedule_tiled(&d);
    else
        schedule_plain(&d);
    s->kernel->flops = flops;
}
