/* simplify_algebra.c: identities of maps and reductions that keep the bits of the value. Sums and
 * products are never regrouped: the order of a sum is part of the program.
 */
#include "simplify.h"
#include <math.h>
#include <stdlib.h>

static Node *unary(Simplify *s, Op op, Node *x) {
    return simplify_node(s, op, 1, &x, NULL, x->dtype, NULL);
}

static Node *binary(Simplify *s, Op op, Node *x, Node *y) {
    return simplify_node(s, op, 2, (Node *[]){x, y}, NULL, x->dtype, NULL);
}

static Node *compare(Simplify *s, Op op, Node *x, Node *y) {
    return simplify_node(s, op, 2, (Node *[]){x, y}, NULL, DT_BOOL, NULL);
}

static Node *choose(Simplify *s, Node *c, Node *x, Node *y) {
    return simplify_node(s, OP_where, 3, (Node *[]){c, x, y}, NULL, x->dtype, NULL);
}

static Node *number(Simplify *s, const Node *like, double value) {
    const Attr attr = {.constant = {.value = value}};
    return simplify_node(s, OP_constant, 0, NULL, &attr, like->dtype, &like->shape);
}

/* ---- arithmetic ---- */

static Node *add(Simplify *s, const Node *n) {
    Node *a = n->in[0], *b = n->in[1];
    if (is_number(a, 0) || is_number(b, 0))
        return is_number(a, 0) ? b : a;
    if (is_op(n, b, OP_neg))
        return binary(s, OP_sub, a, b->in[0]);
    return is_op(n, a, OP_neg) ? binary(s, OP_sub, b, a->in[0]) : NULL;
}

static Node *sub(Simplify *s, const Node *n) {
    Node *a = n->in[0], *b = n->in[1];
    if (is_number(b, 0))
        return a;
    return is_op(n, b, OP_neg) ? binary(s, OP_add, a, b->in[0]) : NULL;
}

static Node *mul(Simplify *s, const Node *n) {
    for (int i = 0; i < 2; i++) {
        if (is_number(n->in[i], 1))
            return n->in[1 - i];
        if (is_number(n->in[i], -1))
            return unary(s, OP_neg, n->in[1 - i]);
    }
    return NULL;
}

static Node *mul_zero(Simplify *s, const Node *n) {
    Node *a = n->in[0], *b = n->in[1];
    if (is_number(a, 0))
        return a;
    bool finite = is_uniform(b) && isfinite(b->attr.constant.value);
    bool whole = is_uniform(a) && isfinite(a->attr.constant.value);
    return finite || whole ? binary(s, OP_mul, a, b) : NULL;
}

/* The inverse of a power of two is exact. */
static Node *divide(Simplify *s, const Node *n) {
    Node *a = n->in[0], *b = n->in[1];
    if (is_number(b, 1))
        return a;
    int exponent;
    if (!is_uniform(b) || fabs(frexp(b->attr.constant.value, &exponent)) != 0.5 ||
        abs(exponent) > 100)
        return NULL;
    return binary(s, OP_mul, a, number(s, b, 1 / b->attr.constant.value));
}

static Node *power(Simplify *s, const Node *n) {
    Node *a = n->in[0], *b = n->in[1];
    if (is_number(b, 1))
        return a;
    return is_number(b, 2) ? binary(s, OP_mul, a, a) : NULL;
}

static Node *neg(Simplify *s, const Node *n) {
    (void)s;
    return is_op(n, n->in[0], OP_neg) ? n->in[0]->in[0] : NULL;
}

static Node *absolute(Simplify *s, const Node *n) {
    Node *x = n->in[0];
    if (is_op(n, x, OP_abs))
        return x;
    return is_op(n, x, OP_neg) ? unary(s, OP_abs, x->in[0]) : NULL;
}

static Node *of_equals(Simplify *s, const Node *n) {
    (void)s;
    return n->in[0] == n->in[1] ? n->in[0] : NULL;
}

/* After differentiation it is only a name for its argument. */
static Node *stop(Simplify *s, const Node *n) {
    (void)s;
    return n->in[0];
}

/* ---- types ---- */

static bool keeps_all(DType from, DType to) {
    if (from == DT_BOOL)
        return true;
    if (from == DT_U8)
        return to != DT_BOOL;
    return (from == DT_I32 && (to == DT_I64 || to == DT_F64)) || (from == DT_F32 && to == DT_F64);
}

static Node *cast(Simplify *s, const Node *n) {
    Node *x = n->in[0];
    if (x->dtype == n->dtype)
        return x;
    if (!is_op(n, x, OP_cast) || !keeps_all(x->in[0]->dtype, x->dtype))
        return NULL;
    return simplify_node(s, OP_cast, 1, x->in, NULL, n->dtype, NULL);
}

/* ---- logic ---- */

static Node * not(Simplify * s, const Node *n) {
    Node *x = n->in[0];
    if (is_op(n, x, OP_not))
        return x->in[0];
    if (is_op(n, x, OP_eq) || is_op(n, x, OP_ne))
        return binary(s, x->op == OP_eq ? OP_ne : OP_eq, x->in[0], x->in[1]);
    return NULL;
}

/* and, or: `neutral` leaves the other argument, its opposite decides. */
static Node *logic(const Node *n, double neutral) {
    for (int i = 0; i < 2; i++) {
        if (is_number(n->in[i], neutral))
            return n->in[1 - i];
        if (is_number(n->in[i], 1 - neutral))
            return n->in[i];
    }
    return n->in[0] == n->in[1] ? n->in[0] : NULL;
}

static Node * and (Simplify * s, const Node *n) {
    (void)s;
    return logic(n, 1);
}

static Node * or (Simplify * s, const Node *n) {
    (void)s;
    return logic(n, 0);
}

static Node *where(Simplify *s, const Node *n) {
    Node *c = n->in[0], *x = n->in[1], *y = n->in[2];
    if (is_uniform(c))
        return c->attr.constant.value != 0 ? x : y;
    if (x == y)
        return x;
    if (!is_op(n, c, OP_not))
        return NULL;
    return simplify_node(s, OP_where, 3, (Node *[]){c->in[0], y, x}, NULL, n->dtype, NULL);
}

/* ---- reductions ---- */

/* Over extents of 1 nothing is reduced. */
static Node *reduce(Simplify *s, const Node *n) {
    Node *x = n->in[0];
    unsigned ones = 0;
    for (int i = 0; i < x->shape.rank; i++)
        if (n->attr.axes >> i & 1 && x->shape.dim[i].n == 1 && !x->shape.dim[i].count)
            ones |= 1u << i;
    if (!ones)
        return NULL;
    if (n->attr.axes != ones) {
        Attr attr = {.axes = n->attr.axes & ~ones};
        x = simplify_node(s, n->op, 1, &x, &attr, n->dtype, NULL);
    }
    return simplify_node(s, OP_reshape, 1, &x, NULL, n->dtype, &n->shape);
}

/* What has no order in vectors is ordered as whole numbers. */
static Node *ordered(Simplify *s, Node *x) {
    return x->dtype == DT_BOOL || x->dtype == DT_U8
               ? simplify_node(s, OP_cast, 1, &x, NULL, DT_I32, NULL)
               : x;
}

/* x reduced over one axis, spread over the axis again. */
static Node *extreme(Simplify *s, Op op, Node *x, int axis) {
    const Attr attr = {.axes = 1u << axis};
    Node *y = simplify_node(s, op, 1, &x, &attr, x->dtype, NULL);
    Shape row = x->shape;
    row.dim[axis] = (Dim){1, NULL};
    y = simplify_node(s, OP_reshape, 1, &y, NULL, y->dtype, &row);
    return simplify_node(s, OP_broadcast, 1, &y, NULL, y->dtype, &x->shape);
}

/* The least subscript whose element is the extreme; `none`: no element is. */
static Node *first_of(Simplify *s, Node *hit, int axis, int64_t none) {
    const Attr attr = {.axis = axis}, axes = {.axes = 1u << axis};
    Node *at = simplify_node(s, OP_iota, 0, NULL, &attr, DT_I32, &hit->shape);
    Node *in[] = {hit, at, number(s, at, (double)none)};
    Node *first = simplify_node(s, OP_where, 3, in, NULL, DT_I32, NULL);
    return simplify_node(s, OP_min, 1, &first, &axes, DT_I32, NULL);
}

/* The largest is found first, then its first place: two reductions, which have vectors, threads and
 * a kernel with others of their row. A NaN that is the largest equals nothing: all NaNs are hit. */
static Node *argmax(Simplify *s, const Node *n) {
    Node *x = ordered(s, n->in[0]);
    int axis = n->attr.axis;
    Node *hit = compare(s, OP_eq, x, extreme(s, OP_max, x, axis));
    if (dtype_is_real(x->dtype))
        hit = binary(s, OP_or, hit, compare(s, OP_ne, x, x));
    return first_of(s, hit, axis, x->shape.dim[axis].n - 1);
}

/* A NaN is never the least; among NaNs alone the first is. */
static Node *argmin(Simplify *s, const Node *n) {
    Node *x = ordered(s, n->in[0]), *numbers = x;
    int axis = n->attr.axis;
    int64_t length = x->shape.dim[axis].n;
    if (!dtype_is_real(x->dtype))
        return first_of(s, compare(s, OP_eq, x, extreme(s, OP_min, x, axis)), axis, length - 1);
    numbers = choose(s, compare(s, OP_ne, x, x), number(s, x, INFINITY), x);
    Node *hit = compare(s, OP_eq, x, extreme(s, OP_min, numbers, axis));
    Node *first = first_of(s, hit, axis, length);
    return choose(s, compare(s, OP_lt, first, number(s, first, (double)length)), first,
                  number(s, first, 0));
}

static SimplifyRule *const rules[OP_N] = {
    [OP_add] = add,           [OP_sub] = sub,           [OP_mul] = mul,    [OP_mul_zero] = mul_zero,
    [OP_div] = divide,        [OP_pow] = power,         [OP_neg] = neg,    [OP_abs] = absolute,
    [OP_minimum] = of_equals, [OP_maximum] = of_equals, [OP_stop] = stop,  [OP_cast] = cast,
    [OP_not] = not,           [OP_and] = and,           [OP_or] = or,      [OP_where] = where,
    [OP_sum] = reduce,        [OP_prod] = reduce,       [OP_max] = reduce, [OP_min] = reduce,
    [OP_argmax] = argmax,     [OP_argmin] = argmin,
};

Node *simplify_algebra(Simplify *s, const Node *n) {
    return rules[n->op] ? rules[n->op](s, n) : NULL;
}
