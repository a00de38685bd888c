/* shape_rules.c: dtype and shape of a node from its inputs and attributes, one rule for each name
 * in ops.h.
 *
 * The language has checked the user's shapes before; what is wrong here is an error in nnc.
 */
#include "op_rules.h"
#include "program.h"

_Noreturn static void wrong(const Node *n, const char *what) {
    Arena *a = arena_new();
    Text t = {.arena = a};
    for (int i = 0; i < n->nin; i++)
        text_printf(&t, " %s%s", dtype_name(n->in[i]->dtype), shape_text(a, &n->in[i]->shape));
    bug("%s:%s -> %s: %s", op_info[n->op].name, t.n ? t.at : "", shape_text(a, &n->shape), what);
}

static void need(const Node *n, bool ok, const char *what) {
    if (!ok)
        wrong(n, what);
}

static bool is_scalar(const Node *n, DType t) {
    return n->shape.rank == 0 && n->dtype == t;
}

static void axis_in_range(const Node *n, int rank) {
    need(n, n->attr.axis >= 0 && n->attr.axis < rank, "axis out of range");
}

/* Inputs from number `first` on agree in type and shape; the result is like them. */
static void like_inputs(Node *n, int first) {
    for (int i = first + 1; i < n->nin; i++) {
        need(n, n->in[i]->dtype == n->in[first]->dtype, "types differ");
        need(n, shape_equal(&n->in[i]->shape, &n->in[first]->shape), "shapes differ");
    }
    n->dtype = n->in[first]->dtype;
    n->shape = n->in[first]->shape;
}

/* ---- leaves: what the maker gave ---- */

void shape_rule_constant(Node *n) {
    need(n, !n->attr.constant.data || !shape_count(&n->shape),
         "data of an extent known at run time");
}

void shape_rule_read(Node *n) {
    n->dtype = n->attr.home->dtype;
    n->shape = n->attr.home->shape;
}

void shape_rule_scalar(Node *n) {
    n->dtype = n->attr.scalar->dtype;
    n->shape = shape_scalar();
}

void shape_rule_count(Node *n) {
    n->dtype = DT_I32;
    n->shape = shape_scalar();
}

void shape_rule_iota(Node *n) {
    n->dtype = DT_I32;
    axis_in_range(n, n->shape.rank);
}

/* The maker gives [B, row...]. */
void shape_rule_batch(Node *n) {
    const Node *index = n->in[0];
    n->dtype = n->attr.batch.source->dtype;
    need(n, index->dtype == DT_I32 && index->shape.rank == 1, "the index is an i32 vector");
    need(n, n->shape.rank >= 1 && dim_equal(n->shape.dim[0], index->shape.dim[0]),
         "one row for each index");
}

/* ---- maps ---- */

void shape_rule_cast(Node *n) {
    n->shape = n->in[0]->shape;
}

void shape_rule_same(Node *n) {
    like_inputs(n, 0);
}

void shape_rule_real(Node *n) {
    like_inputs(n, 0);
    need(n, dtype_is_real(n->dtype), "arguments must be real");
}

void shape_rule_boolean(Node *n) {
    like_inputs(n, 0);
    need(n, n->dtype == DT_BOOL, "arguments must be bool");
}

void shape_rule_test(Node *n) {
    shape_rule_real(n);
    n->dtype = DT_BOOL;
}

void shape_rule_compare(Node *n) {
    like_inputs(n, 0);
    n->dtype = DT_BOOL;
}

void shape_rule_where(Node *n) {
    like_inputs(n, 1);
    need(n, n->in[0]->dtype == DT_BOOL, "the condition must be bool");
    need(n, shape_equal(&n->in[0]->shape, &n->shape), "shape of the condition differs");
}

/* ---- reductions ---- */

void shape_rule_reduce(Node *n) {
    const Node *x = n->in[0];
    need(n, n->attr.axes != 0 && n->attr.axes >> x->shape.rank == 0, "axes out of range");
    need(n, x->dtype != DT_BOOL, "no reduction of bool");
    n->dtype = x->dtype;
    n->shape = shape_without(&x->shape, n->attr.axes);
}

void shape_rule_sum_mul(Node *n) {
    shape_rule_reduce(n);
    need(n, dtype_is_real(n->dtype) && n->in[1]->dtype == n->dtype, "factors of one real type");
    need(n, shape_equal(&n->in[0]->shape, &n->in[1]->shape), "shapes of the factors differ");
}

void shape_rule_argreduce(Node *n) {
    const Node *x = n->in[0];
    axis_in_range(n, x->shape.rank);
    n->dtype = DT_I32;
    n->shape = shape_without(&x->shape, 1u << n->attr.axis);
}

void shape_rule_scan(Node *n) {
    like_inputs(n, 0);
    axis_in_range(n, n->shape.rank);
    need(n, n->dtype != DT_BOOL, "no sum of bool");
}

/* ---- movement ---- */

void shape_rule_reshape(Node *n) {
    const Shape *x = &n->in[0]->shape;
    n->dtype = n->in[0]->dtype;
    need(n, shape_elements(x) == shape_elements(&n->shape), "numbers of elements differ");
    need(n, shape_count(x) == shape_count(&n->shape), "run-time counts differ");
}

void shape_rule_permute(Node *n) {
    const Shape *x = &n->in[0]->shape;
    unsigned seen = 0;
    n->dtype = n->in[0]->dtype;
    n->shape.rank = x->rank;
    for (int i = 0; i < x->rank; i++) {
        int from = n->attr.perm[i];
        need(n, from >= 0 && from < x->rank && !(seen >> from & 1), "not a permutation");
        seen |= 1u << from;
        n->shape.dim[i] = x->dim[from];
    }
}

void shape_rule_broadcast(Node *n) {
    const Shape *x = &n->in[0]->shape;
    n->dtype = n->in[0]->dtype;
    need(n, x->rank == n->shape.rank, "ranks differ");
    for (int i = 0; i < x->rank; i++)
        need(n, dim_equal(x->dim[i], n->shape.dim[i]) || (x->dim[i].n == 1 && !x->dim[i].count),
             "only extents of 1 grow");
}

/* Where an extent is known at run time only: all of it, or elements that are there for every count.
 */
static void slice_axis(const Node *n, Dim from, Dim to, int64_t start, int64_t step) {
    int64_t last = start + (to.n - 1) * step;
    int64_t sure = from.count ? from.n / from.count->bound : from.n;
    if (to.count)
        need(n, dim_equal(from, to) && start == 0 && step == 1, "part of a run-time extent");
    else if (to.n > 0)
        need(n, MIN(start, last) >= 0 && MAX(start, last) < sure, "slice out of range");
}

void shape_rule_slice(Node *n) {
    const Shape *x = &n->in[0]->shape;
    n->dtype = n->in[0]->dtype;
    need(n, x->rank == n->shape.rank, "ranks differ");
    for (int i = 0; i < x->rank; i++)
        slice_axis(n, x->dim[i], n->shape.dim[i], n->attr.slice.start[i], n->attr.slice.step[i]);
}

void shape_rule_pad(Node *n) {
    const Shape *x = &n->in[0]->shape;
    n->dtype = n->in[0]->dtype;
    need(n, x->rank == n->shape.rank, "ranks differ");
    for (int i = 0; i < x->rank; i++) {
        Dim from = x->dim[i], to = n->shape.dim[i];
        int64_t lo = n->attr.pad.lo[i], sure = to.count ? to.n / to.count->bound : to.n;
        if (from.count)
            need(n, lo == 0 && dim_equal(from, to), "pad of a run-time extent");
        else
            need(n, lo >= 0 && lo + from.n <= sure, "the argument does not fit");
    }
}

void shape_rule_concat(Node *n) {
    need(n, n->nin > 0, "no arguments");
    n->dtype = n->in[0]->dtype;
    n->shape = n->in[0]->shape;
    axis_in_range(n, n->shape.rank);
    int axis = n->attr.axis;
    for (int k = 1; k < n->nin; k++) {
        Shape s = n->in[k]->shape;
        need(n, n->in[k]->dtype == n->dtype && s.rank == n->shape.rank, "types or ranks differ");
        need(n, !s.dim[axis].count && !n->shape.dim[axis].count, "joined along a run-time extent");
        n->shape.dim[axis].n += s.dim[axis].n;
        s.dim[axis] = n->shape.dim[axis];
        need(n, shape_equal(&s, &n->shape), "shapes differ beside the axis");
    }
}

/* The maker gives the extent of the axis. */
void shape_rule_slice_at(Node *n) {
    const Node *x = n->in[0];
    axis_in_range(n, x->shape.rank);
    Dim length = n->shape.dim[n->attr.axis], all = x->shape.dim[n->attr.axis];
    need(n, is_scalar(n->in[1], DT_I32), "the start must be an i32 scalar");
    need(n, length.n <= all.n && !length.count && !all.count, "slice out of range");
    n->dtype = x->dtype;
    n->shape = x->shape;
    n->shape.dim[n->attr.axis] = length;
}

void shape_rule_put_at(Node *n) {
    const Node *base = n->in[0], *piece = n->in[1];
    n->dtype = base->dtype;
    n->shape = base->shape;
    axis_in_range(n, n->shape.rank);
    int axis = n->attr.axis;
    Shape s = piece->shape;
    need(n, is_scalar(n->in[2], DT_I32), "the start must be an i32 scalar");
    need(n, piece->dtype == n->dtype && s.rank == n->shape.rank, "types or ranks differ");
    need(n, s.dim[axis].n <= n->shape.dim[axis].n && !n->shape.dim[axis].count,
         "the piece does not fit");
    s.dim[axis] = n->shape.dim[axis];
    need(n, shape_equal(&s, &n->shape), "shapes differ beside the axis");
}

/* ---- windows ---- */

/* The windows of x have the shape `all`, which has w->n axes more. */
static void windows_fit(const Node *n, const Shape *x, const Shape *all) {
    const Windows *w = &n->attr.windows;
    need(n, w->n >= 1 && w->n <= MAX_WINDOWED && w->axis >= 0 && w->axis + w->n <= x->rank,
         "axis out of range");
    need(n, all->rank == x->rank + w->n, "the windows have another rank");
    for (int i = 0; i < w->n; i++) {
        Dim from = x->dim[w->axis + i], out = all->dim[w->axis + i],
            length = all->dim[w->axis + w->n + i];
        int64_t way = (out.n - 1) * w->step[i], reach = (length.n - 1) * w->apart[i];
        need(n, !from.count && !out.count && !length.count, "windows of a run-time extent");
        need(n, w->step[i] > 0 && w->start[i] + MIN(reach, 0) >= 0 &&
                    w->start[i] + way + MAX(reach, 0) < from.n, "windows out of range");
    }
    for (int d = 0; d < x->rank; d++)
        need(n, (d >= w->axis && d < w->axis + w->n) ||
                    dim_equal(x->dim[d], all->dim[d < w->axis ? d : d + w->n]),
             "shapes differ beside the windows");
}

void shape_rule_windows(Node *n) {
    n->dtype = n->in[0]->dtype;
    windows_fit(n, &n->in[0]->shape, &n->shape);
}

void shape_rule_fold(Node *n) {
    n->dtype = n->in[0]->dtype;
    need(n, n->dtype != DT_BOOL, "sums of bools");
    windows_fit(n, &n->shape, &n->in[0]->shape);
}

/* ---- contraction and indices ---- */

void shape_rule_dot(Node *n) {
    const Node *a = n->in[0], *b = n->in[1];
    bool ta = n->attr.dot.ta, tb = n->attr.dot.tb;
    need(n, a->shape.rank == 3 && b->shape.rank == 3, "operands have rank 3");
    need(n, a->dtype == b->dtype && a->dtype != DT_BOOL, "types differ");
    need(n, dim_equal(a->shape.dim[0], b->shape.dim[0]), "batches differ");
    need(n, dim_equal(a->shape.dim[ta ? 1 : 2], b->shape.dim[tb ? 2 : 1]), "inner extents differ");
    n->dtype = a->dtype;
    n->shape.rank = 3;
    n->shape.dim[0] = a->shape.dim[0];
    n->shape.dim[1] = a->shape.dim[ta ? 2 : 1];
    n->shape.dim[2] = b->shape.dim[tb ? 1 : 2];
}

/* [i...] and [d, rest...] give [i..., rest...]. */
static Shape rows_shape(const Node *n, const Shape *index, const Shape *x) {
    Shape s = *index;
    need(n, x->rank >= 1 && index->rank + x->rank - 1 <= MAX_RANK, "too many dimensions");
    for (int i = 1; i < x->rank; i++)
        s.dim[s.rank++] = x->dim[i];
    return s;
}

void shape_rule_gather(Node *n) {
    const Node *x = n->in[0], *index = n->in[1];
    need(n, index->dtype == DT_I32, "the index must be i32");
    n->dtype = x->dtype;
    n->shape = rows_shape(n, &index->shape, &x->shape);
}

void shape_rule_pick(Node *n) {
    const Node *x = n->in[0], *index = n->in[1];
    need(n, index->dtype == DT_I32, "the index must be i32");
    need(n, x->shape.rank == index->shape.rank + 1, "one index for each row");
    n->dtype = x->dtype;
    n->shape = index->shape;
    Shape rows = shape_without(&x->shape, 1u << (x->shape.rank - 1));
    need(n, shape_equal(&rows, &n->shape), "one index for each row");
}

void shape_rule_scatter_add(Node *n) {
    const Node *base = n->in[0], *index = n->in[1], *update = n->in[2];
    Shape rows = rows_shape(n, &index->shape, &base->shape);
    need(n, index->dtype == DT_I32, "the index must be i32");
    need(n, update->dtype == base->dtype && base->dtype != DT_BOOL, "types differ");
    need(n, shape_equal(&rows, &update->shape), "one row of updates for each index");
    n->dtype = base->dtype;
    n->shape = base->shape;
}

/* ---- random numbers ---- */

void shape_rule_random(Node *n) {
    bool whole = n->op == OP_randint || n->op == OP_permutation;
    need(n, is_scalar(n->in[0], DT_I32), "the execution number must be an i32 scalar");
    need(n, whole ? n->dtype == DT_I32 : dtype_is_real(n->dtype), "wrong type");
    need(n, n->op != OP_randint || n->attr.random.lo < n->attr.random.hi, "empty range");
    need(n, n->op != OP_permutation || (n->shape.rank == 1 && !n->shape.dim[0].count),
         "a vector of known length");
}
