/* simplify_move.c: movement ops merged into one each, and transpositions taken into contractions.
 *
 * Canonical forms: reshape of reshape, permute of permute, broadcast of broadcast, slice of slice
 * are one op; a permutation that moves only extents of 1 is a reshape.
 */
#include "simplify.h"

static Node *move(Simplify *s, Op op, Node *x, const Attr *attr, const Shape *shape) {
    return simplify_node(s, op, 1, &x, attr, x->dtype, shape);
}

static bool is_one(Dim d) {
    return d.n == 1 && !d.count;
}

/* One value everywhere stays that, wherever it goes. */
static Node *moved_uniform(Simplify *s, const Node *n) {
    for (int k = 0; k < n->nin; k++) {
        bool equal = is_uniform(n->in[k]) && is_number(n->in[0], n->in[k]->attr.constant.value);
        if (!equal)
            return NULL;
    }
    if (n->op == OP_pad && n->attr.pad.value != n->in[0]->attr.constant.value)
        return NULL;
    return simplify_node(s, OP_constant, 0, NULL, &n->in[0]->attr, n->dtype, &n->shape);
}

/* n only moves elements of a broadcast scalar: broadcast it to the shape of n. */
static Node *moved_scalar(Simplify *s, const Node *n) {
    Node *x = n->in[0];
    if (!is_op(n, x, OP_broadcast))
        return NULL;
    Shape ones = {.rank = n->shape.rank};
    for (int i = 0; i < x->in[0]->shape.rank; i++)
        if (!is_one(x->in[0]->shape.dim[i]))
            return NULL;
    for (int i = 0; i < ones.rank; i++)
        ones.dim[i].n = 1;
    return move(s, OP_broadcast, move(s, OP_reshape, x->in[0], NULL, &ones), NULL, &n->shape);
}

static Node *reshape(Simplify *s, const Node *n) {
    Node *x = n->in[0];
    if (shape_equal(&x->shape, &n->shape))
        return x;
    if (is_op(n, x, OP_reshape))
        return move(s, OP_reshape, x->in[0], NULL, &n->shape);
    return moved_scalar(s, n);
}

/* Do the extents other than 1 keep their order? */
static bool keeps_order(const Shape *from, const int *perm) {
    int last = -1;
    for (int i = 0; i < from->rank; i++) {
        if (is_one(from->dim[perm[i]]))
            continue;
        if (perm[i] < last)
            return false;
        last = perm[i];
    }
    return true;
}

/* (a b)^T = b^T a^T, when nobody else wants a b. */
static Node *transposed_dot(Simplify *s, const Node *n) {
    Node *x = n->in[0];
    bool swap = n->shape.rank == 3 && n->attr.perm[0] == 0 && n->attr.perm[1] == 2;
    if (!swap || !is_op(n, x, OP_dot) || s->uses.at[x->id] != 1)
        return NULL;
    const Attr attr = {.dot = {.ta = !x->attr.dot.tb, .tb = !x->attr.dot.ta}};
    return simplify_node(s, OP_dot, 2, (Node *[]){x->in[1], x->in[0]}, &attr, n->dtype, NULL);
}

static Node *permute(Simplify *s, const Node *n) {
    Node *x = n->in[0];
    if (keeps_order(&x->shape, n->attr.perm))
        return move(s, OP_reshape, x, NULL, &n->shape);
    if (is_op(n, x, OP_permute)) {
        Attr attr = {0};
        for (int i = 0; i < n->shape.rank; i++)
            attr.perm[i] = x->attr.perm[n->attr.perm[i]];
        return move(s, OP_permute, x->in[0], &attr, NULL);
    }
    Node *dot = transposed_dot(s, n);
    return dot ? dot : moved_scalar(s, n);
}

static Node *broadcast(Simplify *s, const Node *n) {
    Node *x = n->in[0];
    if (shape_equal(&x->shape, &n->shape))
        return x;
    return is_op(n, x, OP_broadcast) ? move(s, OP_broadcast, x->in[0], NULL, &n->shape) : NULL;
}

/* The piece of a concat that the slice lies in, or NULL. */
static Node *slice_of_concat(Simplify *s, const Node *n) {
    const Node *x = n->in[0];
    int axis = x->attr.axis;
    int64_t first = n->attr.slice.start[axis];
    int64_t last = first + (n->shape.dim[axis].n - 1) * n->attr.slice.step[axis];
    int64_t lo = MIN(first, last), hi = MAX(first, last), at = 0;
    for (int k = 0; k < x->nin; k++) {
        int64_t end = at + x->in[k]->shape.dim[axis].n;
        if (lo >= at && hi < end) {
            Attr attr = n->attr;
            attr.slice.start[axis] -= at;
            return move(s, OP_slice, x->in[k], &attr, &n->shape);
        }
        at = end;
    }
    return NULL;
}

static Node *slice(Simplify *s, const Node *n) {
    Node *x = n->in[0];
    bool all = shape_equal(&x->shape, &n->shape);
    for (int i = 0; i < n->shape.rank; i++)
        all = all && (n->attr.slice.step[i] == 1 || n->shape.dim[i].n == 1);
    if (all)
        return x;
    if (is_op(n, x, OP_concat) && shape_elements(&n->shape) > 0)
        return slice_of_concat(s, n);
    if (!is_op(n, x, OP_slice))
        return NULL;
    Attr attr = {0};
    for (int i = 0; i < n->shape.rank; i++) {
        attr.slice.start[i] =
            x->attr.slice.start[i] + n->attr.slice.start[i] * x->attr.slice.step[i];
        attr.slice.step[i] = n->attr.slice.step[i] * x->attr.slice.step[i];
    }
    return move(s, OP_slice, x->in[0], &attr, &n->shape);
}

static Node *pad(Simplify *s, const Node *n) {
    (void)s;
    return shape_equal(&n->in[0]->shape, &n->shape) ? n->in[0] : NULL;
}

static Node *concat(Simplify *s, const Node *n) {
    (void)s;
    return n->nin == 1 ? n->in[0] : NULL;
}

/* ---- contractions ---- */

/* Does x, of rank 3, hold something transposed in its last two axes? Gives that as it lies, else
 * NULL: a permutation 0 2 1, or a reshape of a permutation that would keep the order of extents if
 * its last two were not exchanged. */
static Node *untransposed(Simplify *s, const Node *n, Node *x) {
    Node *p = is_op(n, x, OP_reshape) ? x->in[0] : x;
    int rank = p->shape.rank, perm[MAX_RANK];
    if (!is_op(n, p, OP_permute) || rank < 2)
        return NULL;
    if (!dim_equal(p->shape.dim[rank - 2], x->shape.dim[1]) ||
        !dim_equal(p->shape.dim[rank - 1], x->shape.dim[2]))
        return NULL;
    for (int i = 0; i < rank; i++)
        perm[i] = p->attr.perm[i];
    perm[rank - 2] = p->attr.perm[rank - 1];
    perm[rank - 1] = p->attr.perm[rank - 2];
    if (!keeps_order(&p->in[0]->shape, perm))
        return NULL;
    Shape lies = x->shape;
    lies.dim[1] = x->shape.dim[2];
    lies.dim[2] = x->shape.dim[1];
    return move(s, OP_reshape, p->in[0], NULL, &lies);
}

static Node *dot(Simplify *s, const Node *n) {
    Attr attr = n->attr;
    Node *in[] = {n->in[0], n->in[1]};
    Node *a = untransposed(s, n, in[0]), *b = untransposed(s, n, in[1]);
    if (!a && !b)
        return NULL;
    attr.dot.ta = n->attr.dot.ta != (a != NULL);
    attr.dot.tb = n->attr.dot.tb != (b != NULL);
    in[0] = a ? a : in[0];
    in[1] = b ? b : in[1];
    return simplify_node(s, OP_dot, 2, in, &attr, n->dtype, NULL);
}

static SimplifyRule *const rules[OP_N] = {
    [OP_reshape] = reshape, [OP_permute] = permute, [OP_broadcast] = broadcast,
    [OP_slice] = slice,     [OP_pad] = pad,         [OP_concat] = concat,
    [OP_dot] = dot,
};

Node *simplify_move(Simplify *s, const Node *n) {
    Node *uniform = op_info[n->op].kind == KIND_MOVE ? moved_uniform(s, n) : NULL;
    if (uniform)
        return uniform;
    return rules[n->op] ? rules[n->op](s, n) : NULL;
}
