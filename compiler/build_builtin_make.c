/* build_builtin_make.c: new tensors, constant, counted or random. */
#include "build_builtin.h"
#include "build_host.h"

/* An element type as argument i; `own` when it is not given. */
static bool type_argument(Build *b, const Actual *a, int i, DType own, DType *out) {
    *out = a->at[i].kind == V_TYPE ? a->at[i].type : own;
    if (a->at[i].kind == V_TYPE || a->at[i].kind == V_NONE)
        return true;
    build_error(b, a->spans[i], "expected a type, such as real or int, found %s",
                value_text(b, a->at[i]));
    return false;
}

static Value filled(Build *b, const Actual *a, double value) {
    Shape s;
    DType t;
    if (!value_to_shape(b, a->at[0], a->spans[0], &s) || !type_argument(b, a, 1, b->g->real, &t))
        return value_poison;
    return value_node(graph_constant(b->g, t, &s, value));
}

Value builtin_zeros(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    return filled(b, a, 0);
}

Value builtin_ones(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    return filled(b, a, 1);
}

/* A scalar everywhere; a literal takes the type given or the program's float, anything else keeps
 * its own. */
static Value spread(Build *b, const Actual *a, const Shape *s, int type, DType own) {
    DType t;
    if (!type_argument(b, a, type, own, &t))
        return value_poison;
    Node *n = value_to_node(b, a->at[1], t, a->spans[1]);
    if (!n)
        return value_poison;
    if (n->shape.rank) {
        build_error(b, a->spans[1], "%s must be a scalar, found %s", "the value",
                    value_text(b, value_node(n)));
        return value_poison;
    }
    bool literal = a->at[1].kind == V_NUMBER || a->at[1].kind == V_HOST;
    if (a->at[type].kind == V_TYPE || (literal && dtype_is_real(t)))
        n = graph_cast(b->g, n, t);
    return value_node(graph_broadcast_to(b->g, n, s));
}

Value builtin_full(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    Shape s;
    return value_to_shape(b, a->at[0], a->spans[0], &s) ? spread(b, a, &s, 2, b->g->real)
                                                        : value_poison;
}

Value builtin_full_like(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    const Node *n = actual_node(b, a, 0);
    return n ? spread(b, a, &n->shape, 2, n->dtype) : value_poison;
}

static Value filled_like(Build *b, const Actual *a, double value) {
    const Node *n = actual_node(b, a, 0);
    DType t;
    if (!n || !type_argument(b, a, 1, n->dtype, &t))
        return value_poison;
    return value_node(graph_constant(b->g, t, &n->shape, value));
}

Value builtin_zeros_like(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    return filled_like(b, a, 0);
}

Value builtin_ones_like(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    return filled_like(b, a, 1);
}

/* 0, 1, … n-1 */
Value builtin_iota(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    Shape s = {.rank = 1};
    if (!value_to_dim(b, a->at[0], "the length of iota", a->spans[0], &s.dim[0]))
        return value_poison;
    return value_node(graph_iota(b->g, &s, 0));
}

/* ---- random numbers ---- */

static Value draw(Build *b, Op op, DType t, const Shape *s, int64_t lo, int64_t hi) {
    Node *execution = random_execution(b);
    return value_node(graph_random(b->g, op, execution, random_place(b), t, s, lo, hi));
}

Value builtin_random(Build *b, const Builtin *self, const Actual *a) {
    Shape s;
    return value_to_shape(b, a->at[0], a->spans[0], &s) ? draw(b, self->op, b->g->real, &s, 0, 0)
                                                        : value_poison;
}

Value builtin_random_like(Build *b, const Builtin *self, const Actual *a) {
    const Node *n = actual_node(b, a, 0);
    if (!n)
        return value_poison;
    Shape s = n->shape;
    return draw(b, self->op, dtype_is_real(n->dtype) ? n->dtype : b->g->real, &s, 0, 0);
}

/* lo <= value < hi */
Value builtin_randint(Build *b, const Builtin *self, const Actual *a) {
    Shape s;
    int64_t lo, hi;
    if (!value_to_shape(b, a->at[0], a->spans[0], &s) ||
        !value_to_int(b, a->at[1], "lo", a->spans[1], &lo) ||
        !value_to_int(b, a->at[2], "hi", a->spans[2], &hi))
        return value_poison;
    if (lo < hi && lo >= INT32_MIN && hi <= INT32_MAX)
        return draw(b, self->op, DT_I32, &s, lo, hi);
    build_error(b, a->span, "randint needs lo < hi in the range of i32, found %lld and %lld",
                (long long)lo, (long long)hi);
    return value_poison;
}

Value builtin_permutation(Build *b, const Builtin *self, const Actual *a) {
    int64_t n;
    if (!value_to_int(b, a->at[0], "the length of a permutation", a->spans[0], &n))
        return value_poison;
    if (n < 1 || n > INT32_MAX) {
        build_error(b, a->spans[0], "the length of a permutation must be 1 to 2^31-1, found %lld",
                    (long long)n);
        return value_poison;
    }
    Shape s = shape_of(1, &n);
    return draw(b, self->op, DT_I32, &s, 0, n);
}
