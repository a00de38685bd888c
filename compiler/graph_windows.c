/* graph_windows.c: makers of windows and of their transpose.
 *
 * Windows repeat elements, so nobody wants them in memory. A contraction reads them through their
 * index map; the gradient of its left operand would be a fold of as many elements again. But
 *
 *     y[o, k, c] = sum over f of a[o, f] b[k, c, f]
 *     fold(y)[h, c] = sum over k and f of a'[h - start - k*apart, f] b[k, c, f],
 *
 * where a' is a with zeros between the steps and beside the ends: a contraction with windows of a',
 * as small as the first one. It has step times as many products, so where steps are long the fold
 * is made as it stands.
 */
#include "ir.h"

/* ---- windows ---- */

static bool lie_side_by_side(const Node *x, const Windows *w, const int64_t *out,
                             const int64_t *length) {
    for (int i = 0; i < w->n; i++)
        if (w->start[i] || (w->apart[i] != 1 && length[i] > 1) ||
            (out[i] > 1 && w->step[i] != length[i]) ||
            x->shape.dim[w->axis + i].n != out[i] * length[i])
            return false;
    return x->shape.rank + w->n <= MAX_RANK;
}

/* [.., o0*k0, o1*k1, ..] -> [.., o0, k0, o1, k1, ..] -> [.., o0, o1, k0, k1, ..] */
static Node *side_by_side(Graph *g, Node *x, const Windows *w, const int64_t *out,
                          const int64_t *length) {
    Shape s = {.rank = x->shape.rank + w->n};
    int perm[MAX_RANK];
    for (int d = 0; d < s.rank; d++) {
        int i = d - w->axis; /* among the windowed axes, each as two */
        bool windowed = i >= 0 && i < 2 * w->n;
        s.dim[d] = x->shape.dim[i < 0 ? d : d - w->n];
        if (windowed)
            s.dim[d] = (Dim){.n = i % 2 ? length[i / 2] : out[i / 2]};
        perm[d] = windowed ? w->axis + (i < w->n ? 2 * i : 2 * (i - w->n) + 1) : d;
    }
    return graph_permute(g, graph_reshape(g, x, &s), perm);
}

Node *graph_windows(Graph *g, Node *x, const Windows *w, const int64_t *out,
                    const int64_t *length) {
    Attr attr = {.windows = *w};
    Shape s = {.rank = x->shape.rank + w->n};
    if (lie_side_by_side(x, w, out, length))
        return side_by_side(g, x, w, out, length);
    if (s.rank > MAX_RANK)
        bug("windows: too many dimensions");
    for (int d = 0; d < x->shape.rank; d++) {
        int i = d - w->axis;
        s.dim[i < w->n ? d : d + w->n] = x->shape.dim[d];
        if (i < 0 || i >= w->n)
            continue;
        s.dim[d] = (Dim){.n = out[i]};
        s.dim[d + w->n] = (Dim){.n = length[i]};
    }
    return graph_node(g, OP_windows, 1, &x, &attr, x->dtype, &s);
}

/* ---- zeros between and beside ---- */

static Dim product(const Shape *s, int from, int to) {
    Dim d = {.n = 1};
    for (int i = from; i < to; i++) {
        d.n *= s->dim[i].n;
        d.count = s->dim[i].count ? s->dim[i].count : d.count;
    }
    return d;
}

Node *graph_dilate(Graph *g, Node *x, int axis, int64_t step) {
    const int64_t none[4] = {0}, one[4] = {1, 1, 1, 1};
    int64_t m = x->shape.dim[axis].n;
    Dim before = product(&x->shape, 0, axis), after = product(&x->shape, axis + 1, x->shape.rank);
    const Shape apart = {.rank = 4, .dim = {before, {.n = m}, {.n = 1}, after}};
    const Shape filled = {.rank = 4, .dim = {before, {.n = m}, {.n = step}, after}};
    const Shape joined = {.rank = 3, .dim = {before, {.n = m * step}, after}};
    const Shape cut = {.rank = 3, .dim = {before, {.n = (m - 1) * step + 1}, after}};
    Shape out = x->shape;
    out.dim[axis].n = cut.dim[1].n;
    if (step == 1 || m == 1)
        return x;
    x = graph_pad(g, graph_reshape(g, x, &apart), none, &filled, 0);
    x = graph_slice(g, graph_reshape(g, x, &joined), none, one, &cut);
    return graph_reshape(g, x, &out);
}

/* ---- the fold of a contraction ---- */

/* x = permute(y), y = reshape of a contraction [b, m, n]: the axes of y are those of b and m, the
 * last of which are the windows', then those of n, the first of which are the elements' of a
 * window. */
typedef struct Folded {
    const Windows *w;
    const Node *dot;
    const Shape *y;
    int perm[MAX_RANK]; /* axis i of x is axis perm[i] of y */
    int first;          /* axis of y where n begins */
} Folded;

static bool is_folded_dot(Folded *f, const Node *x) {
    const Windows *w = f->w;
    for (int i = 0; i < x->shape.rank; i++)
        f->perm[i] = x->op == OP_permute ? x->attr.perm[i] : i;
    const Node *y = x->op == OP_permute ? x->in[0] : x;
    f->y = &y->shape;
    f->dot = y->op == OP_reshape ? y->in[0] : y;
    f->first = f->perm[w->axis + w->n];
    if (f->dot->op != OP_dot || f->dot->region != x->region || f->first < w->n ||
        f->y->rank > MAX_RANK)
        return false;
    for (int i = 0; i < w->n; i++)
        if (f->perm[w->axis + i] != f->first - w->n + i ||
            f->perm[w->axis + w->n + i] != f->first + i)
            return false;
    const Shape *s = &f->dot->shape;
    return product(f->y, f->first, f->y->rank).n == s->dim[2].n &&
           product(f->y, 0, f->first).n == s->dim[0].n * s->dim[1].n &&
           f->first + w->n + 1 <= MAX_RANK;
}

static bool steps_are_short(const Windows *w) {
    enum { MOST = 4 };
    int64_t more = 1;
    for (int i = 0; i < w->n; i++)
        more *= w->step[i];
    return more <= MOST;
}

/* Windows of the left operand: [b, m', k f]. `to`: the shape of the fold. */
static Node *folded_left(Graph *g, const Folded *f, const Shape *to) {
    const Windows *w = f->w;
    const Attr *attr = &f->dot->attr;
    Node *a = f->dot->in[0];
    a = attr->dot.ta ? graph_permute(g, a, (int[]){0, 2, 1}) : a;
    Shape s = *f->y;
    int64_t lo[MAX_RANK] = {0}, out[MAX_WINDOWED], length[MAX_WINDOWED];
    Windows back = {.axis = f->first - w->n, .n = w->n};
    s.rank = f->first + 1;
    s.dim[f->first] = a->shape.dim[2];
    a = graph_reshape(g, a, &s);
    for (int i = 0; i < w->n; i++)
        a = graph_dilate(g, a, back.axis + i, w->step[i]);
    s = a->shape;
    for (int i = 0; i < w->n; i++) {
        length[i] = f->y->dim[f->first + i].n;
        out[i] = to->dim[w->axis + i].n;
        int64_t reach = (length[i] - 1) * w->apart[i];
        lo[back.axis + i] = w->start[i] + MAX(reach, 0);
        s.dim[back.axis + i] = (Dim){.n = out[i] + (reach < 0 ? -reach : reach)};
        back.start[i] = MAX(reach, 0);
        back.step[i] = 1;
        back.apart[i] = -w->apart[i];
    }
    a = graph_windows(g, graph_pad(g, a, lo, &s, 0), &back, out, length);
    Dim rows = f->dot->shape.dim[1];
    for (int i = 0; i < w->n; i++)
        rows.n = rows.n / f->y->dim[back.axis + i].n * out[i];
    const Shape all = {.rank = 3,
                       .dim = {f->dot->shape.dim[0], rows,
                               product(&a->shape, f->first, a->shape.rank)}};
    return graph_reshape(g, a, &all);
}

/* The right operand as [b, k f, c], from [b, k c, f] or [b, f, k c]. */
static Node *folded_right(Graph *g, const Folded *f) {
    const Windows *w = f->w;
    Node *b = f->dot->in[1];
    bool tb = f->dot->attr.dot.tb;
    Dim batch = b->shape.dim[0], inner = b->shape.dim[tb ? 2 : 1],
        k = product(f->y, f->first, f->first + w->n),
        c = product(f->y, f->first + w->n, f->y->rank);
    const Shape lies = {.rank = 4, .dim = {batch, tb ? k : inner, tb ? c : k, tb ? inner : c}};
    const Shape all = {.rank = 3, .dim = {batch, {.n = k.n * inner.n}, c}};
    b = graph_reshape(g, b, &lies);
    b = graph_permute(g, b, tb ? (int[]){0, 1, 3, 2} : (int[]){0, 2, 1, 3});
    return graph_reshape(g, b, &all);
}

static Node *fold_of_dot(Graph *g, const Folded *f, const Shape *to) {
    const Windows *w = f->w;
    Node *y = graph_dot(g, folded_left(g, f, to), folded_right(g, f), false, false);
    Shape s = {.rank = to->rank};
    int perm[MAX_RANK];
    for (int d = 0; d < to->rank; d++) {
        int from = f->perm[d < w->axis + w->n ? d : d + w->n];
        perm[d] = from < f->first ? from : from - w->n;
        s.dim[perm[d]] = to->dim[d];
    }
    return graph_permute(g, graph_reshape(g, y, &s), perm);
}

Node *graph_fold(Graph *g, Node *x, const Windows *w, const Shape *to) {
    Folded f = {.w = w};
    if (is_folded_dot(&f, x) && steps_are_short(w) && !f.dot->in[1]->shape.dim[1].count &&
        !f.dot->in[1]->shape.dim[2].count)
        return fold_of_dot(g, &f, to);
    Attr attr = {.windows = *w};
    return graph_node(g, OP_fold, 1, &x, &attr, x->dtype, to);
}
