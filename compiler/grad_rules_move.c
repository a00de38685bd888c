/* grad_rules_move.c: gradients of reductions, index maps, contractions and indexed ops. */
#include "grad.h"

/* A reduced value spread again over the axes it lost. */
static Node *spread(Grad *gr, Node *x, const Shape *to, unsigned axes) {
    Shape kept = *to;
    for (int i = 0; i < to->rank; i++)
        if (axes >> i & 1)
            kept.dim[i] = (Dim){.n = 1};
    return graph_broadcast(grad_graph(gr), graph_reshape(grad_graph(gr), x, &kept), to);
}

static Node *zeros(Grad *gr, const Node *like) {
    return grad_number(gr, like, 0);
}

/* d sum(x y) = sum(y dx + x dy) */
void grad_rule_sum_mul(Grad *gr, Node *n, Node *dy) {
    Node *all = spread(gr, dy, &n->in[0]->shape, n->attr.axes);
    for (int i = 0; i < 2; i++)
        grad_add(gr, n->in[i], graph_binary(grad_graph(gr), OP_mul, all, n->in[1 - i]));
}

/* ---- reductions over any axes as reductions over the last one ----
 *
 * `rows` of x: the reduced axes are moved behind the others and merged. */

static Dim dims_product(const Shape *s, int from, int to) {
    Dim d = {.n = 1};
    for (int i = from; i < to; i++) {
        d.n *= s->dim[i].n;
        d.count = s->dim[i].count ? s->dim[i].count : d.count;
    }
    return d;
}

/* perm puts the kept axes first; gives how many there are. */
static int rows_perm(int rank, unsigned axes, int *perm) {
    int kept = 0, at = 0;
    for (int i = 0; i < rank; i++)
        if (!(axes >> i & 1))
            perm[kept++] = i;
    at = kept;
    for (int i = 0; i < rank; i++)
        if (axes >> i & 1)
            perm[at++] = i;
    return kept;
}

static Node *to_rows(Grad *gr, Node *x, unsigned axes) {
    int perm[MAX_RANK], rank = x->shape.rank, kept = rows_perm(rank, axes, perm);
    Node *moved = graph_permute(grad_graph(gr), x, perm);
    Shape s = moved->shape;
    s.dim[kept] = dims_product(&moved->shape, kept, rank);
    s.rank = kept + 1;
    return graph_reshape(grad_graph(gr), moved, &s);
}

static Node *from_rows(Grad *gr, Node *rows, const Shape *to, unsigned axes) {
    int perm[MAX_RANK], back[MAX_RANK];
    Shape moved = *to;
    rows_perm(to->rank, axes, perm);
    for (int i = 0; i < to->rank; i++) {
        back[perm[i]] = i;
        moved.dim[i] = to->dim[perm[i]];
    }
    return graph_permute(grad_graph(gr), graph_reshape(grad_graph(gr), rows, &moved), back);
}

static unsigned last_axis(const Node *rows) {
    return 1u << (rows->shape.rank - 1);
}

/* ---- reductions ---- */

/* dx = dy for every element */
void grad_rule_sum(Grad *gr, Node *n, Node *dy) {
    grad_add(gr, n->in[0], spread(gr, dy, &n->in[0]->shape, n->attr.axes));
}

/* dx = dy at the first element that is the extreme one, else 0 */
static void extreme(Grad *gr, Node *n, Node *dy, Op arg) {
    Graph *g = grad_graph(gr);
    Node *rows = to_rows(gr, n->in[0], n->attr.axes);
    int last = rows->shape.rank - 1;
    Node *first = spread(gr, graph_argreduce(g, arg, rows, last), &rows->shape, last_axis(rows));
    Node *mask = graph_binary(g, OP_eq, graph_iota(g, &rows->shape, last), first);
    Node *all = spread(gr, dy, &rows->shape, last_axis(rows));
    Node *dx = graph_where(g, mask, all, zeros(gr, all));
    grad_add(gr, n->in[0], from_rows(gr, dx, &n->in[0]->shape, n->attr.axes));
}

void grad_rule_max(Grad *gr, Node *n, Node *dy) {
    extreme(gr, n, dy, OP_argmax);
}

void grad_rule_min(Grad *gr, Node *n, Node *dy) {
    extreme(gr, n, dy, OP_argmin);
}

/* Along the last axis: element i is x[i - by], or 1 where there is none. */
static Node *shift(Grad *gr, Node *x, int64_t by) {
    int64_t start[MAX_RANK] = {0}, step[MAX_RANK], lo[MAX_RANK] = {0};
    int last = x->shape.rank - 1;
    int64_t left = x->shape.dim[last].n - (by < 0 ? -by : by);
    if (left <= 0)
        return grad_number(gr, x, 1);
    Shape part = x->shape;
    part.dim[last].n = left;
    for (int i = 0; i <= last; i++)
        step[i] = 1;
    start[last] = by < 0 ? -by : 0;
    lo[last] = by > 0 ? by : 0;
    Node *cut = graph_slice(grad_graph(gr), x, start, step, &part);
    return graph_pad(grad_graph(gr), cut, lo, &x->shape, 1);
}

/* Products of all elements before (direction 1) or after (-1) each one, by doubling. */
static Node *products_beside(Grad *gr, Node *rows, int direction) {
    int64_t n = rows->shape.dim[rows->shape.rank - 1].n;
    Node *p = shift(gr, rows, direction);
    for (int64_t by = 1; by < n; by *= 2)
        p = grad_op2(gr, OP_mul, p, shift(gr, p, by * direction));
    return p;
}

/* Products of all other elements where the number of elements is known at run time only: with p the
 * product of those that are not 0, p / x_i, and 0 where another element is 0. Second derivatives at
 * two zeros are lost. */
static Node *products_by_division(Grad *gr, Node *rows) {
    Graph *g = grad_graph(gr);
    unsigned axes = last_axis(rows);
    Node *one = grad_number(gr, rows, 1), *zero = zeros(gr, rows);
    Node *is_zero = graph_binary(g, OP_eq, rows, zero);
    Node *safe = graph_where(g, is_zero, one, rows);
    Node *product = spread(gr, graph_reduce(g, OP_prod, safe, axes), &rows->shape, axes);
    Node *mark = graph_where(g, is_zero, one, zero);
    Node *zero_count = spread(gr, graph_reduce(g, OP_sum, mark, axes), &rows->shape, axes);
    Node *alone = graph_binary(g, OP_eq, zero_count, mark);
    return graph_where(g, alone, graph_binary(g, OP_div, product, safe), zero);
}

/* dx_i = dy * product of x_j, j != i: exact with zeros */
void grad_rule_prod(Grad *gr, Node *n, Node *dy) {
    Node *x = n->in[0];
    Node *rows = to_rows(gr, x, n->attr.axes);
    Node *others = NULL;
    if (rows->shape.dim[rows->shape.rank - 1].count)
        others = products_by_division(gr, rows);
    else
        others = grad_op2(gr, OP_mul, products_beside(gr, rows, 1), products_beside(gr, rows, -1));
    Node *dx = grad_scale(gr, x, spread(gr, dy, &rows->shape, last_axis(rows)), others);
    grad_add(gr, x, from_rows(gr, dx, &x->shape, n->attr.axes));
}

/* x_i is in y_i and all later ones: dx = the running sum of dy from the other end */
void grad_rule_cumsum(Grad *gr, Node *n, Node *dy) {
    bool reverse = n->attr.cumsum.reverse;
    grad_add(gr, n->in[0], graph_cumsum(grad_graph(gr), dy, n->attr.cumsum.axis, !reverse));
}

/* ---- index maps ---- */

/* dx = dy in the shape of x */
void grad_rule_reshape(Grad *gr, Node *n, Node *dy) {
    grad_add(gr, n->in[0], graph_reshape(grad_graph(gr), dy, &n->in[0]->shape));
}

/* dx = dy permuted back */
void grad_rule_permute(Grad *gr, Node *n, Node *dy) {
    int back[MAX_RANK];
    for (int i = 0; i < n->shape.rank; i++)
        back[n->attr.perm[i]] = i;
    grad_add(gr, n->in[0], graph_permute(grad_graph(gr), dy, back));
}

/* dx = sum of dy over the axes that grew */
void grad_rule_broadcast(Grad *gr, Node *n, Node *dy) {
    Graph *g = grad_graph(gr);
    const Shape *x = &n->in[0]->shape;
    unsigned axes = 0;
    for (int i = 0; i < x->rank; i++)
        if (!dim_equal(x->dim[i], n->shape.dim[i]))
            axes |= 1u << i;
    grad_add(gr, n->in[0], graph_reshape(g, graph_reduce(g, OP_sum, dy, axes), x));
}

/* dy turned round along the axes of a slice that ran backwards. */
static Node *forwards(Grad *gr, Node *n, Node *dy) {
    int64_t start[MAX_RANK] = {0}, step[MAX_RANK];
    for (int i = 0; i < dy->shape.rank; i++) {
        bool back = n->attr.slice.step[i] < 0;
        step[i] = back ? -1 : 1;
        start[i] = back ? dy->shape.dim[i].n - 1 : 0;
    }
    return graph_slice(grad_graph(gr), dy, start, step, &dy->shape);
}

/* dx = dy where it was taken from, 0 between and beside */
void grad_rule_slice(Grad *gr, Node *n, Node *dy) {
    int64_t lo[MAX_RANK] = {0};
    dy = forwards(gr, n, dy);
    for (int i = 0; i < n->shape.rank; i++) {
        int64_t step = n->attr.slice.step[i], m = n->shape.dim[i].n;
        lo[i] = n->attr.slice.start[i] + (step < 0 ? (m - 1) * step : 0);
        step = step < 0 ? -step : step;
        if (m > 1)
            dy = graph_dilate(grad_graph(gr), dy, i, step);
    }
    const Shape *x = &n->in[0]->shape;
    grad_add(gr, n->in[0],
             shape_equal(&dy->shape, x) ? dy : graph_pad(grad_graph(gr), dy, lo, x, 0));
}

/* The part of dy that starts at lo and has the shape of x. */
static Node *part(Grad *gr, Node *dy, const int64_t *lo, const Node *x) {
    int64_t step[MAX_RANK];
    for (int i = 0; i < MAX_RANK; i++)
        step[i] = 1;
    return graph_slice(grad_graph(gr), dy, lo, step, &x->shape);
}

/* dx = the part of dy that is not padding */
void grad_rule_pad(Grad *gr, Node *n, Node *dy) {
    grad_add(gr, n->in[0], part(gr, dy, n->attr.pad.lo, n->in[0]));
}

static void extents_from(const Node *n, int axis, int count, int64_t *out) {
    for (int i = 0; i < count; i++)
        out[i] = n->shape.dim[axis + i].n;
}

/* dx = every element of dy added to where it was taken from */
void grad_rule_windows(Grad *gr, Node *n, Node *dy) {
    grad_add(gr, n->in[0],
             graph_fold(grad_graph(gr), dy, &n->attr.windows, &n->in[0]->shape));
}

/* dx = windows of dy */
void grad_rule_fold(Grad *gr, Node *n, Node *dy) {
    const Windows *w = &n->attr.windows;
    int64_t out[MAX_WINDOWED], length[MAX_WINDOWED];
    extents_from(n->in[0], w->axis, w->n, out);
    extents_from(n->in[0], w->axis + w->n, w->n, length);
    grad_add(gr, n->in[0], graph_windows(grad_graph(gr), dy, w, out, length));
}

/* every input gets its part of dy */
void grad_rule_concat(Grad *gr, Node *n, Node *dy) {
    int64_t lo[MAX_RANK] = {0};
    for (int k = 0; k < n->nin; k++) {
        if (grad_wants(gr, n->in[k]))
            grad_add(gr, n->in[k], part(gr, dy, lo, n->in[k]));
        lo[n->attr.axis] += n->in[k]->shape.dim[n->attr.axis].n;
    }
}

/* dx = 0 with dy put in */
void grad_rule_slice_at(Grad *gr, Node *n, Node *dy) {
    Node *x = n->in[0];
    grad_add(gr, x, graph_put_at(grad_graph(gr), zeros(gr, x), dy, n->in[1], n->attr.axis));
}

/* dbase = dy with 0 put in, dpiece = the slice of dy */
void grad_rule_put_at(Grad *gr, Node *n, Node *dy) {
    Graph *g = grad_graph(gr);
    Node *base = n->in[0], *piece = n->in[1], *start = n->in[2];
    int axis = n->attr.axis;
    if (grad_wants(gr, base))
        grad_add(gr, base, graph_put_at(g, dy, zeros(gr, piece), start, axis));
    if (grad_wants(gr, piece))
        grad_add(gr, piece, graph_slice_at(g, dy, start, axis, piece->shape.dim[axis].n));
}

/* ---- contraction ---- */

/* Two dims of a gradient swapped (a deliberate fault). */
static Node *swapped(Graph *g, Node *dx) {
    return graph_reshape(g, graph_permute(g, dx, (int[]){0, 2, 1}), &dx->shape);
}

/* Y = A B: dA = dY B^T, dB = A^T dY; where an operand lies transposed, so does its gradient:
 * dA^T = B dY^T, dB^T = dY^T A */
void grad_rule_dot(Grad *gr, Node *n, Node *dy) {
    Graph *g = grad_graph(gr);
    Node *a = n->in[0], *b = n->in[1];
    bool ta = n->attr.dot.ta, tb = n->attr.dot.tb;
    if (grad_wants(gr, a))
        grad_add(gr, a, ta ? graph_dot(g, b, dy, tb, true) : graph_dot(g, dy, b, false, !tb));
    if (!grad_wants(gr, b))
        return;
    Node *db = tb ? graph_dot(g, dy, a, true, ta) : graph_dot(g, a, dy, !ta, false);
    if (mutated(g, "gradient"))
        db = swapped(g, db);
    grad_add(gr, b, db);
}

/* ---- indices from data ---- */

/* dx = 0 with every row of dy added where it was taken from */
void grad_rule_gather(Grad *gr, Node *n, Node *dy) {
    Node *x = n->in[0];
    grad_add(gr, x, graph_scatter_add(grad_graph(gr), zeros(gr, x), n->in[1], dy));
}

/* dx = dy at the element that was picked, else 0 */
void grad_rule_pick(Grad *gr, Node *n, Node *dy) {
    Graph *g = grad_graph(gr);
    Node *x = n->in[0];
    int last = x->shape.rank - 1;
    Node *index = spread(gr, n->in[1], &x->shape, 1u << last);
    Node *mask = graph_binary(g, OP_eq, graph_iota(g, &x->shape, last), index);
    grad_add(gr, x, graph_where(g, mask, spread(gr, dy, &x->shape, 1u << last), zeros(gr, x)));
}

/* dbase = dy, dupdate = the rows of dy that were added to */
void grad_rule_scatter_add(Grad *gr, Node *n, Node *dy) {
    grad_add(gr, n->in[0], dy);
    if (grad_wants(gr, n->in[2]))
        grad_add(gr, n->in[2], graph_gather(grad_graph(gr), dy, n->in[1]));
}
