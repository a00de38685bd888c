/* schedule_other.c: ops with a nest of their own: concat, pad, put_at, scatter_add, cumsum, argmax
 * over a middle axis. */
#include "schedule.h"

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

static void schedule_concat(Sched *s, const Node *n) {
    const Ix *sub[MAX_RANK];
    int64_t offset = 0;
    int axis = n->attr.axis;
    for (int i = 0; i < n->nin; i++) {
        int opened = sched_open_loops(s, &n->in[i]->shape, false, sub);
        const Expr *e = value_at(s, n->in[i], sub);
        sub[axis] = ix_offset(s->arena, sub[axis], offset);
        put(s, sub, e);
        close(s, opened);
        offset += n->in[i]->shape.dim[axis].n;
    }
}

static void schedule_pad(Sched *s, const Node *n) {
    const Ix *sub[MAX_RANK];
    int opened = sched_open_loops(s, &n->shape, false, sub);
    put(s, sub, expr_const(s->arena, n->dtype, n->attr.pad.value));
    close(s, opened);
    opened = sched_open_loops(s, &n->in[0]->shape, false, sub);
    const Expr *e = value_at(s, n->in[0], sub);
    for (int d = 0; d < n->shape.rank; d++)
        sub[d] = ix_offset(s->arena, sub[d], n->attr.pad.lo[d]);
    put(s, sub, e);
    close(s, opened);
}

static void copy_base(Sched *s, const Node *base) {
    const Ix *sub[MAX_RANK];
    int opened = sched_open_loops(s, &base->shape, false, sub);
    put(s, sub, value_at(s, base, sub));
    close(s, opened);
}

static void schedule_put_at(Sched *s, const Node *n) {
    const Ix *sub[MAX_RANK];
    const Node *piece = n->in[1];
    int axis = n->attr.axis;
    copy_base(s, n->in[0]);
    const Ix *start =
        sched_index(s, n, n->in[2], NULL, n->shape.dim[axis].n - piece->shape.dim[axis].n + 1);
    int opened = sched_open_loops(s, &piece->shape, false, sub);
    const Expr *e = value_at(s, piece, sub);
    sub[axis] = ix_add(s->arena, sub[axis], start);
    put(s, sub, e);
    close(s, opened);
}

/* Positions ascending; the elements of a row of the table are lanes. */
static void schedule_scatter_add(Sched *s, const Node *n) {
    const Node *index = n->in[1], *update = n->in[2];
    const Ix *sub[MAX_RANK], *at[MAX_RANK], *piece[MAX_RANK];
    int ni = index->shape.rank, opened = 0;
    copy_base(s, n->in[0]);
    for (int d = 0; d < ni; d++, opened++) {
        if (index->shape.dim[d].count)
            sched_count(s, index->shape.dim[d].count);
        sub[d] = ix_var(s->arena, nest_loop(s->nest, LOOP_SEQ, "p", index->shape.dim[d]));
    }
    at[0] = sched_index(s, n, index, sub, n->shape.dim[0].n);
    Shape rest = n->shape;
    rest.rank--;
    for (int d = 0; d < rest.rank; d++)
        rest.dim[d] = n->shape.dim[d + 1];
    opened += sched_open_loops(s, &rest, false, piece);
    for (int d = 0; d < rest.rank; d++)
        at[d + 1] = sub[ni + d] = piece[d];
    const Buffer *b = s->group->stores.at[0].buffer;
    const Ix *in_buffer[MAX_RANK];
    ix_unflat(s->arena, &b->shape, ix_flat(s->arena, &n->shape, at), in_buffer);
    put(s, at,
        expr_binary(s->arena, OP_add, expr_load(s->arena, b, in_buffer), value_at(s, update, sub)));
    close(s, opened);
}

/* outer x length x inner of an axis. */
static void axis_space(const Shape *s, int axis, int64_t *outer, int64_t *length, int64_t *inner) {
    *outer = *inner = 1;
    *length = s->dim[axis].n;
    for (int d = 0; d < s->rank; d++)
        *(d < axis ? outer : d > axis ? inner : &(int64_t){1}) *= s->dim[d].n;
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

static Local *variable(Sched *s, bool lanes, const char *name, DType t, double value) {
    if (lanes)
        return nest_lanes(s->nest, name, t, 0, NULL, value);
    return nest_var(s->nest, name, expr_const(s->arena, t, value));
}

static void schedule_arg(Sched *s, const Node *n) {
    const Ix *sub[MAX_RANK];
    const Shape *in = &n->in[0]->shape;
    DType t = n->in[0]->dtype;
    Axis x = open_axis(s, in, n->attr.axis);
    Local *best = variable(s, x.inner > 1, "best", t, sched_arg_start(n->op, t));
    Local *at = variable(s, x.inner > 1, "at", DT_I32, 0);
    Dim length = in->dim[n->attr.axis];
    if (length.count)
        sched_count(s, length.count);
    const Ix *k = ix_var(s->arena, nest_loop(s->nest, LOOP_SEQ, "k", length));
    ix_unflat(s->arena, in, axis_element(s, &x, k), sub);
    sched_arg_step(s, n->op, best, at, value_at(s, n->in[0], sub), k);
    nest_end(s->nest);
    ix_unflat(s->arena, &n->shape, ix_add(s->arena, ix_scale(s->arena, x.i, x.inner), x.j), sub);
    put(s, sub, expr_local(s->arena, at, NULL));
    close(s, x.opened);
}

void schedule_other(Sched *s) {
    const Node *n = s->group->anchor;
    s->kernel->flops = (double)shape_elements(&n->shape);
    switch (n->op) {
    case OP_concat:
        schedule_concat(s, n);
        return;
    case OP_pad:
        schedule_pad(s, n);
        return;
    case OP_put_at:
        schedule_put_at(s, n);
        return;
    case OP_scatter_add:
        schedule_scatter_add(s, n);
        return;
    case OP_cumsum:
        schedule_cumsum(s, n);
        return;
    case OP_argmax:
    case OP_argmin:
        schedule_arg(s, n);
        return;
    default:
        bug("%s has no kernel of its own", op_info[n->op].name);
    }
}
