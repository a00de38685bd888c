/* schedule_other.c: ops with a nest of their own: concat, pad, put_at, scatter_add, cumsum, fold.
 */
#include "target.h"

enum { COLUMNS = 32 }; /* elements of a row that one thread adds to */

static void close(Sched *s, int opened) {
    while (opened--)
        nest_end(s->nest);
}

/* Stores e as the element `sub` of the anchor in each buffer that keeps it. */
static void put(Sched *s, const Ix *const *sub, const Expr *e) {
    const Group *g = s->group;
    for (int i = 0; i < g->stores.n; i++) {
        const Buffer *b = g->stores.at[i].buffer;
        const Ix *at[MAX_RANK];
        ix_unflat(s->arena, &b->shape, ix_flat(s->arena, &g->anchor->shape, sub), at);
        sched_put(s, b, at, e);
    }
}

/* Is `from` <= x < from + n? NULL: always. */
static const Expr *is_within(Sched *s, const Ix *x, const Ix *from, int64_t n) {
    Arena *a = s->arena;
    const Ix *past = ix_add(a, x, ix_scale(a, from, -1));
    const Expr *i = expr_index(a, past);
    int64_t lo, hi;
    ix_range(past, &lo, &hi);
    const Expr *low = lo < 0 ? expr_binary(a, OP_le, expr_const(a, DT_I32, 0), i) : NULL;
    const Expr *high = hi >= n ? expr_binary(a, OP_lt, i, expr_const(a, DT_I32, (double)n)) : NULL;
    return low && high ? expr_binary(a, OP_and, low, high) : low ? low : high;
}

/* Each element of n is that of `piece`, which begins at `from`, or else what other() gives. */
typedef const Expr *ElementOf(Sched *s, const Node *n, const Ix *const *sub);

static void piece_or_other(Sched *s, const Node *n, const Node *piece, const Ix *const *from,
                           ElementOf *other) {
    Arena *a = s->arena;
    const Ix *sub[MAX_RANK], *in[MAX_RANK];
    const Expr *inside = expr_const(a, DT_BOOL, 1);
    int opened = sched_open_loops(s, &n->shape, false, sub);
    for (int d = 0; d < n->shape.rank; d++) {
        const Expr *within = is_within(s, sub[d], from[d], piece->shape.dim[d].n);
        in[d] = ix_add(a, sub[d], ix_scale(a, from[d], -1));
        if (within)
            inside = inside->kind == EX_CONST ? within : expr_binary(a, OP_and, inside, within);
    }
    inside = expr_local(a, nest_let(s->nest, "inside", inside), NULL);
    nest_if(s->nest, inside);
    put(s, sub, value_at(s, piece, in));
    nest_end(s->nest);
    nest_if(s->nest, expr_op(a, OP_not, DT_BOOL, 1, &inside));
    put(s, sub, other(s, n, sub));
    nest_end(s->nest);
    close(s, opened);
}

static const Expr *padding(Sched *s, const Node *n, const Ix *const *sub) {
    (void)sub;
    return expr_const(s->arena, n->dtype, n->attr.pad.value);
}

static const Expr *base_element(Sched *s, const Node *n, const Ix *const *sub) {
    return value_at(s, n->in[0], sub);
}

/* ---- rows for the threads ---- */

/* Where threads pay, a loop over the outermost extent of the anchor, a tile a row: sub gets the
 * subscripts up to it. Returns its axis; -1: no loop is open. */
static int open_rows(Sched *s, const Node *n, const Ix **sub) {
    const Shape *shape = &n->shape;
    int r = 0;
    while (r < shape->rank && shape->dim[r].n == 1 && !shape->dim[r].count)
        sub[r++] = ix_const(s->arena, 0);
    if (s->target->threads || r + 1 >= shape->rank)
        return -1;
    int64_t rows = shape->dim[r].n;
    if (sched_tiles(rows, (double)(shape_elements(shape) / MAX(rows, 1)) * sched_cost(s)) == 1)
        return -1;
    if (shape->dim[r].count)
        sched_count(s, shape->dim[r].count);
    sub[r] = ix_var(s->arena, nest_loop(s->nest, LOOP_TILE, "i", shape->dim[r]));
    s->kernel->tiles = (int)rows;
    return r;
}

/* Loops over the axes behind r. */
static int open_rest(Sched *s, const Shape *shape, int r, const Ix **sub) {
    Shape rest = *shape;
    rest.rank -= r + 1;
    for (int d = 0; d < rest.rank; d++)
        rest.dim[d] = shape->dim[d + r + 1];
    return sched_open_loops(s, &rest, false, sub + r + 1);
}

/* All elements of the row; r is -1: of the anchor. */
static void fill_row(Sched *s, const Node *n, int r, const Ix **sub, ElementOf *of) {
    int opened = open_rest(s, &n->shape, r, sub);
    put(s, sub, of(s, n, sub));
    close(s, opened);
}

/* The elements of the row that `piece` holds, which begins at `from`; r is -1: all of it. */
static void put_piece(Sched *s, int r, const Ix *const *sub, const Node *piece,
                      const Ix *const *from) {
    const Ix *in[MAX_RANK], *out[MAX_RANK];
    const Shape *shape = &piece->shape;
    if (shape_elements(shape) == 0)
        return;
    const Expr *within = r < 0 ? NULL : is_within(s, sub[r], from[r], shape->dim[r].n);
    for (int d = 0; d < r; d++)
        in[d] = sub[d];
    if (r >= 0)
        in[r] = ix_add(s->arena, sub[r], ix_scale(s->arena, from[r], -1));
    if (within)
        nest_if(s->nest, within);
    int opened = open_rest(s, shape, r, in);
    for (int d = 0; d < shape->rank; d++)
        out[d] = d < r ? sub[d] : ix_add(s->arena, in[d], from[d]);
    put(s, out, value_at(s, piece, in));
    close(s, opened + (within != NULL));
}

static void schedule_concat(Sched *s, const Node *n) {
    const Ix *sub[MAX_RANK], *from[MAX_RANK];
    int64_t offset = 0;
    for (int d = 0; d < n->shape.rank; d++)
        from[d] = ix_const(s->arena, 0);
    int r = open_rows(s, n, sub);
    for (int i = 0; i < n->nin; i++) {
        from[n->attr.axis] = ix_const(s->arena, offset);
        put_piece(s, r, sub, n->in[i], from);
        offset += n->in[i]->shape.dim[n->attr.axis].n;
    }
    close(s, r >= 0);
}

static void schedule_pad(Sched *s, const Node *n) {
    const Ix *sub[MAX_RANK], *from[MAX_RANK];
    for (int d = 0; d < n->shape.rank; d++)
        from[d] = ix_const(s->arena, n->attr.pad.lo[d]);
    if (s->target->threads) {
        piece_or_other(s, n, n->in[0], from, padding);
        return;
    }
    int r = open_rows(s, n, sub);
    fill_row(s, n, r, sub, padding);
    put_piece(s, r, sub, n->in[0], from);
    close(s, r >= 0);
}

static void schedule_put_at(Sched *s, const Node *n) {
    const Ix *sub[MAX_RANK], *from[MAX_RANK];
    const Node *piece = n->in[1];
    int axis = n->attr.axis;
    for (int d = 0; d < n->shape.rank; d++)
        from[d] = ix_const(s->arena, 0);
    from[axis] =
        sched_index(s, n, n->in[2], NULL, n->shape.dim[axis].n - piece->shape.dim[axis].n + 1);
    if (s->target->threads) {
        piece_or_other(s, n, piece, from, base_element);
        return;
    }
    int r = open_rows(s, n, sub);
    fill_row(s, n, r, sub, base_element);
    put_piece(s, r, sub, piece, from);
    close(s, r >= 0);
}

/* ---- sums at places ---- */

static void copy_base(Sched *s, const Node *base) {
    const Ix *sub[MAX_RANK];
    int opened = sched_open_loops(s, &base->shape, false, sub);
    put(s, sub, value_at(s, base, sub));
    close(s, opened);
}

/* Element `at` of the anchor where it is stored. */
static const Expr *stored_element(Sched *s, const Ix *const *at) {
    const Buffer *b = s->group->stores.at[0].buffer;
    const Ix *in_buffer[MAX_RANK];
    ix_unflat(s->arena, &b->shape, ix_flat(s->arena, &s->group->anchor->shape, at), in_buffer);
    return expr_load(s->arena, b, in_buffer);
}

/* The row that a position adds to, taken into the range as sched_index does it. */
static const Expr *row_of(Sched *s, const Node *n, const Ix *const *position) {
    Arena *a = s->arena;
    const Expr *row = expr_cast(a, value_at(s, n->in[1], position), DT_I32);
    if (s->fusion->proved[n->id])
        return row;
    row = expr_binary(a, OP_maximum, row, expr_const(a, DT_I32, 0));
    return expr_binary(a, OP_minimum, row, expr_const(a, DT_I32, (double)(n->shape.dim[0].n - 1)));
}

static const Expr *one_where(Sched *s, const Expr *when) {
    return expr_where(s->arena, when, expr_const(s->arena, DT_I32, 1),
                      expr_const(s->arena, DT_I32, 0));
}

/* Positions sorted by the rows of the table that they add to, equal ones ascending: order[place] is
 * a position, `place` its place; `length` is how many add to the same row where it is the first of
 * them, else 0. */
typedef struct Segments {
    Buffer *order, *place, *length;
} Segments;

/* A warp for each position counts those that come before it. */
static Segments sort_positions(Sched *s, const Node *n) {
    Arena *a = s->arena;
    const Node *index = n->in[1];
    int64_t all = shape_elements(&index->shape);
    const Shape flat = shape_of(1, &all);
    Segments g = {sched_buffer(s, "order", DT_I32, flat), sched_buffer(s, "place", DT_I32, flat),
                  sched_buffer(s, "length", DT_I32, flat)};
    const Ix *sub[MAX_RANK], *other[MAX_RANK];
    int opened = sched_open_flat(s, LOOP_WARP, "p", &index->shape, sub);
    const Ix *p = ix_flat(a, &index->shape, sub);
    const Expr *row = expr_index(a, sched_index(s, n, index, sub, n->shape.dim[0].n));
    row = expr_local(a, nest_let(s->nest, "row", row), NULL);
    Local *before = nest_accumulator(s->nest, "before_lanes", OP_sum, DT_I32),
          *less = nest_accumulator(s->nest, "less_lanes", OP_sum, DT_I32),
          *same = nest_accumulator(s->nest, "same_lanes", OP_sum, DT_I32);
    int counted = sched_open_flat(s, LOOP_LANE, "q", &index->shape, other);
    const Ix *q = ix_flat(a, &index->shape, other);
    const Expr *there = row_of(s, n, other);
    there = expr_local(a, nest_let(s->nest, "other", there), NULL);
    const Expr *lower = expr_binary(a, OP_lt, there, row);
    const Expr *equal = expr_binary(a, OP_eq, there, row);
    const Expr *earlier = expr_binary(a, OP_lt, expr_index(a, q), expr_index(a, p));
    earlier = expr_binary(a, OP_or, lower, expr_binary(a, OP_and, equal, earlier));
    nest_accumulate(s->nest, before, OP_sum, q, one_where(s, earlier), NULL);
    nest_accumulate(s->nest, less, OP_sum, q, one_where(s, lower), NULL);
    nest_accumulate(s->nest, same, OP_sum, q, one_where(s, equal), NULL);
    close(s, counted);
    const Expr *place = expr_local(a, nest_join(s->nest, "before", OP_sum, before), NULL),
               *begin = expr_local(a, nest_join(s->nest, "less", OP_sum, less), NULL),
               *length = expr_local(a, nest_join(s->nest, "same", OP_sum, same), NULL);
    const Ix *at = ix_data(a, place, all);
    sched_put(s, g.order, &at, expr_index(a, p));
    sched_put(s, g.place, &p, place);
    sched_put(s, g.length, &p,
              expr_where(a, expr_binary(a, OP_eq, place, begin), length,
                         expr_const(a, DT_I32, 0)));
    close(s, opened);
    return g;
}

static const Expr *loaded(Sched *s, const char *name, const Buffer *b, const Ix *at) {
    return expr_local(s->arena, nest_let(s->nest, name, expr_load(s->arena, b, &at)), NULL);
}

/* A thread for each position and element of a row of the table: where it is the first that adds to
 * the row, it adds all of them, positions ascending. */
static void scatter_by_threads(Sched *s, const Node *n) {
    Arena *a = s->arena;
    const Node *index = n->in[1], *update = n->in[2];
    const Ix *sub[MAX_RANK], *at[MAX_RANK], *from[MAX_RANK];
    int ni = index->shape.rank;
    int64_t all = shape_elements(&index->shape);
    copy_base(s, n->in[0]);
    sched_next_kernel(s, "order");
    const Segments g = sort_positions(s, n);
    sched_next_kernel(s, "add");
    sched_reads(s, s->group->stores.at[0].buffer);
    sched_reads(s, g.order);
    sched_reads(s, g.place);
    sched_reads(s, g.length);
    int opened = sched_open_flat(s, LOOP_LANE, "i", &update->shape, sub);
    const Ix *p = ix_flat(a, &index->shape, sub);
    const Expr *length = loaded(s, "length", g.length, p);
    nest_if(s->nest, expr_binary(a, OP_lt, expr_const(a, DT_I32, 0), length));
    const Expr *row = expr_local(a, nest_let(s->nest, "row", row_of(s, n, sub)), NULL);
    at[0] = ix_data(a, row, n->shape.dim[0].n);
    for (int d = 1; d < n->shape.rank; d++)
        at[d] = from[ni + d - 1] = sub[ni + d - 1];
    const Ix *place = ix_data(a, loaded(s, "place", g.place, p), all);
    Local *sum = nest_var(s->nest, "sum", stored_element(s, at));
    const Ix *unused = ix_scale(a, ix_data(a, length, all + 1), -1);
    const LoopVar *k = nest_loop_to(s->nest, LOOP_SEQ, "k", all, ix_offset(a, unused, all),
                                    dim_fixed(all));
    const Expr *q = loaded(s, "q", g.order, ix_add(a, place, ix_var(a, k)));
    ix_unflat(a, &index->shape, ix_data(a, q, all), from);
    nest_set(s->nest, sum, NULL,
             expr_binary(a, OP_add, expr_local(a, sum, NULL), value_at(s, update, from)));
    nest_end(s->nest);
    put(s, at, expr_local(a, sum, NULL));
    nest_end(s->nest);
    close(s, opened);
}

/* Where threads pay, a tile for each so many elements of a row: the loop over the last axis between
 * its base and there. NULL: one tile. */
static const Ix *open_columns(Sched *s, const Node *n) {
    const Node *update = n->in[2];
    int64_t columns = n->shape.rank > 1 ? n->shape.dim[n->shape.rank - 1].n : 1;
    int64_t tiles = (columns + COLUMNS - 1) / COLUMNS;
    if (shape_count(&n->shape) ||
        sched_tiles(tiles, (double)(shape_elements(&update->shape) / tiles) * sched_cost(s)) == 1)
        return NULL;
    const LoopVar *t = nest_loop(s->nest, LOOP_TILE, "tile", dim_fixed(tiles));
    s->kernel->tiles = (int)tiles;
    return ix_scale(s->arena, ix_var(s->arena, t), COLUMNS);
}

/* Loops over a row of the table, or the tile's part of it; returns how many are opened. */
static int open_row(Sched *s, const Node *n, const Ix *base, const Ix **sub) {
    Shape rest = n->shape;
    rest.rank--;
    for (int d = 0; d < rest.rank; d++)
        rest.dim[d] = n->shape.dim[d + 1];
    if (!base)
        return sched_open_loops(s, &rest, false, sub);
    Dim last = rest.dim[--rest.rank];
    int opened = 0;
    for (int d = 0; d < rest.rank; d++, opened++)
        sub[d] = ix_var(s->arena, nest_loop(s->nest, LOOP_SEQ, "k", rest.dim[d]));
    const LoopVar *j = last.n % COLUMNS ? nest_loop_to(s->nest, LOOP_LANE, "j", COLUMNS, base, last)
                                        : nest_loop(s->nest, LOOP_LANE, "j", dim_fixed(COLUMNS));
    sub[rest.rank] = ix_add(s->arena, base, ix_var(s->arena, j));
    return opened + 1;
}

/* Positions ascending; the elements of a row of the table are lanes, and threads share them. */
static void schedule_scatter_add(Sched *s, const Node *n) {
    const Node *index = n->in[1], *update = n->in[2];
    const Ix *sub[MAX_RANK], *at[MAX_RANK], *piece[MAX_RANK];
    int ni = index->shape.rank;
    if (s->target->threads) {
        scatter_by_threads(s, n);
        return;
    }
    const Ix *base = open_columns(s, n);
    int opened = 1;
    if (base) {
        at[0] = ix_var(s->arena, nest_loop(s->nest, LOOP_SEQ, "i", n->shape.dim[0]));
        opened += open_row(s, n, base, at + 1);
        put(s, at, value_at(s, n->in[0], at));
        close(s, opened);
    } else {
        copy_base(s, n->in[0]);
    }
    for (int d = 0; d < ni; d++) {
        if (index->shape.dim[d].count)
            sched_count(s, index->shape.dim[d].count);
        sub[d] = ix_var(s->arena, nest_loop(s->nest, LOOP_SEQ, "p", index->shape.dim[d]));
    }
    at[0] = sched_index(s, n, index, sub, n->shape.dim[0].n);
    opened = ni + open_row(s, n, base, piece);
    for (int d = 0; d + 1 < n->shape.rank; d++)
        at[d + 1] = sub[ni + d] = piece[d];
    put(s, at, expr_binary(s->arena, OP_add, stored_element(s, at), value_at(s, update, sub)));
    close(s, opened + (base != NULL));
}

/* outer x length x inner of an axis. */
static void axis_space(const Shape *s, int axis, int64_t *outer, int64_t *length, int64_t *inner) {
    *outer = *inner = 1;
    *length = s->dim[axis].n;
    for (int d = 0; d < axis; d++)
        *outer *= s->dim[d].n;
    for (int d = axis + 1; d < s->rank; d++)
        *inner *= s->dim[d].n;
}

typedef struct Axis {
    int64_t outer, length, inner;
    const Ix *i, *j;
    int opened;
} Axis;

/* Loops over all but one axis: tiles outside, lanes inside. */
static Axis open_axis(Sched *s, const Shape *shape, int axis) {
    Axis x = {.i = ix_const(s->arena, 0), .j = ix_const(s->arena, 0)};
    axis_space(shape, axis, &x.outer, &x.length, &x.inner);
    if (s->target->threads) {
        Dim all = dim_fixed(x.outer * x.inner);
        const Ix *at = ix_var(s->arena, nest_loop(s->nest, LOOP_LANE, "i", all));
        x.i = ix_div(s->arena, at, x.inner);
        x.j = ix_mod(s->arena, at, x.inner);
        x.opened = 1;
        return x;
    }
    bool tiles = sched_tiles(x.outer, (double)(x.length * x.inner) * sched_cost(s)) > 1;
    if (x.outer > 1) {
        x.i = ix_var(s->arena,
                     nest_loop(s->nest, tiles ? LOOP_TILE : LOOP_SEQ, "i", dim_fixed(x.outer)));
        x.opened++;
        s->kernel->tiles = tiles ? (int)x.outer : 1;
    }
    if (x.inner > 1) {
        x.j = ix_var(s->arena, nest_loop(s->nest, LOOP_LANE, "j", dim_fixed(x.inner)));
        x.opened++;
    }
    return x;
}

static const Ix *axis_element(Sched *s, const Axis *x, const Ix *k) {
    const Ix *at = ix_add(s->arena, ix_scale(s->arena, x->i, x->length), k);
    return ix_add(s->arena, ix_scale(s->arena, at, x->inner), x->j);
}

static void schedule_cumsum(Sched *s, const Node *n) {
    const Ix *sub[MAX_RANK];
    Axis x = open_axis(s, &n->shape, n->attr.cumsum.axis);
    const Expr *zero = expr_const(s->arena, n->dtype, 0);
    Local *sum = x.inner > 1 ? nest_lanes(s->nest, "sum", n->dtype, 0, NULL, 0)
                             : nest_var(s->nest, "sum", zero);
    const Ix *k = ix_var(s->arena, nest_loop(s->nest, LOOP_SEQ, "k", dim_fixed(x.length)));
    if (n->attr.cumsum.reverse)
        k = ix_add(s->arena, ix_const(s->arena, x.length - 1), ix_scale(s->arena, k, -1));
    ix_unflat(s->arena, &n->shape, axis_element(s, &x, k), sub);
    const Expr *e =
        expr_binary(s->arena, OP_add, expr_local(s->arena, sum, NULL), value_at(s, n->in[0], sub));
    nest_set(s->nest, sum, NULL, e);
    put(s, sub, expr_local(s->arena, sum, NULL));
    nest_end(s->nest);
    close(s, x.opened);
}

/* Loops over a fold, as sched_open_loops opens them, but lanes behind the windowed axes only: all
 * lanes then have the same windows. */
static int open_fold(Sched *s, const Node *n, const Ix **sub, bool *lanes) {
    const Shape *shape = &n->shape;
    const Windows *w = &n->attr.windows;
    int opened = 0, last = shape->rank - 1;
    *lanes = false;
    if (s->target->threads)
        return sched_open_loops(s, shape, false, sub);
    while (last > 0 && shape->dim[last].n == 1)
        last--;
    for (int d = 0; d < shape->rank; d++) {
        Dim extent = shape->dim[d];
        sub[d] = ix_const(s->arena, 0);
        if (extent.n == 1 && !extent.count)
            continue;
        double ns = sched_cost(s) * (double)(shape_elements(&n->in[0]->shape) / extent.n);
        bool tiles = opened == 0 && d < last && sched_tiles(extent.n, ns) > 1;
        *lanes = d == last && d >= w->axis + w->n;
        LoopKind kind = *lanes ? LOOP_LANE : tiles ? LOOP_TILE : LOOP_SEQ;
        s->kernel->tiles = tiles ? (int)extent.n : s->kernel->tiles;
        if (extent.count)
            sched_count(s, extent.count);
        sub[d] = ix_var(s->arena, nest_loop(s->nest, kind, "i", extent));
        opened++;
    }
    return opened;
}

/* Is place `way` that of a window, way = step * its number? NULL: always. */
static const Expr *is_window(Sched *s, const Ix *way, int64_t step, int64_t windows) {
    Arena *a = s->arena;
    const Expr *within = is_within(s, way, ix_const(a, 0), (windows - 1) * step + 1);
    if (step == 1)
        return within;
    const Expr *on = expr_binary(a, OP_eq, expr_index(a, ix_mod(a, way, step)),
                                 expr_const(a, DT_I32, 0));
    return within ? expr_binary(a, OP_and, within, on) : on;
}

/* Each element gathers what the windows took from it: no two rounds add to one. */
static void schedule_fold(Sched *s, const Node *n) {
    Arena *a = s->arena;
    const Windows *w = &n->attr.windows;
    const Node *x = n->in[0];
    const Ix *sub[MAX_RANK], *at[MAX_RANK], *way[MAX_WINDOWED];
    const Expr *inside = NULL;
    bool lanes;
    int opened = open_fold(s, n, sub, &lanes), depth = s->nest->depth;
    Local *sum = lanes ? nest_lanes(s->nest, "sum", n->dtype, 0, NULL, 0)
                       : nest_var(s->nest, "sum", expr_const(a, n->dtype, 0));
    for (int d = 0; d < n->shape.rank; d++)
        at[d < w->axis + w->n ? d : d + w->n] = sub[d];
    for (int i = 0; i < w->n; i++) {
        int axis = w->axis + i;
        const Ix *k = ix_var(a, nest_loop(s->nest, LOOP_SEQ, "k", x->shape.dim[axis + w->n]));
        at[axis + w->n] = k;
        way[i] = ix_add(a, ix_offset(a, sub[axis], -w->start[i]), ix_scale(a, k, -w->apart[i]));
    }
    for (int i = 0; i < w->n; i++) {
        const Expr *one = is_window(s, way[i], w->step[i], x->shape.dim[w->axis + i].n);
        inside = !one ? inside : inside ? expr_binary(a, OP_and, inside, one) : one;
    }
    if (inside)
        nest_if(s->nest, inside);
    for (int i = 0; i < w->n; i++) {
        const Expr *o = expr_index(a, ix_div(a, way[i], w->step[i])); /* a window, in here */
        at[w->axis + i] = ix_data(a, o, x->shape.dim[w->axis + i].n);
    }
    nest_set(s->nest, sum, NULL,
             expr_binary(a, OP_add, expr_local(a, sum, NULL), value_at(s, x, at)));
    close(s, s->nest->depth - depth);
    put(s, sub, expr_local(a, sum, NULL));
    close(s, opened);
}

/* By op: those with the flag OWN. */
static void (*const nests[OP_N])(Sched *, const Node *) = {
    [OP_concat] = schedule_concat, [OP_pad] = schedule_pad,
    [OP_put_at] = schedule_put_at, [OP_scatter_add] = schedule_scatter_add,
    [OP_cumsum] = schedule_cumsum, [OP_fold] = schedule_fold,
};

void schedule_other(Sched *s) {
    const Node *n = s->group->anchor;
    s->kernel->flops = (double)shape_elements(&n->shape);
    if (!nests[n->op])
        bug("%s has no kernel of its own", op_info[n->op].name);
    nests[n->op](s, n);
}
