/* build_builtin_reduce.c: reductions, running sums, arg max. */
#include "build_builtin.h"
#include "build_stmt.h"

Node *node_reduce(Build *b, Op op, Node *x, unsigned axes, bool keepdims) {
    Node *n = axes ? graph_reduce(b->g, op, x, axes) : x;
    if (!keepdims)
        return n;
    Shape s = x->shape;
    for (int i = 0; i < s.rank; i++)
        if (axes & 1u << i)
            s.dim[i] = (Dim){1, NULL};
    return graph_reshape(b->g, n, &s);
}

/* In sums and products a bool counts 0 or 1. */
static Node *countable(Build *b, Node *n) {
    return n->dtype == DT_BOOL || n->dtype == DT_U8 ? graph_cast(b->g, n, DT_I32) : n;
}

static Value reduce(Build *b, Op op, Value x, const Actual *a, Span at) {
    if (a->at[1].kind == V_NONE &&
        (x.kind == V_NUMBER || (x.kind == V_HOST && x.host->type != HT_STRING)))
        return x.kind == V_HOST && x.host->type == HT_BOOL
                   ? value_binary(b, OP_add, x, value_int(0), at)
                   : x;
    Node *n = value_to_node(b, x, DT_N, at);
    unsigned axes;
    bool keep;
    if (!n || !value_to_axes(b, a->at[1], n->shape.rank, a->spans[1], &axes) ||
        !value_to_bool(b, a->at[2], "keepdims", a->spans[2], &keep))
        return value_poison;
    if (a->at[1].kind != V_NONE)
        warn_thin(b, n, axes, op_info[op].name, at);
    return value_node(node_reduce(b, op, countable(b, n), axes, keep));
}

/* A list of scalars is reduced one by one, so that sizes stay sizes: prod(shape(x)). */
static bool is_scalar_list(Value v) {
    if (v.kind != V_LIST || v.list->n == 0)
        return false;
    for (int i = 0; i < v.list->n; i++)
        if (!value_is_scalar(v.list->at[i]))
            return false;
    return true;
}

static Value fold_values(Build *b, Op op, const Value *at, int n, Span span) {
    Value v =
        at[0].kind == V_BOOL && op != OP_and && op != OP_or ? value_int(at[0].boolean) : at[0];
    for (int i = 1; i < n; i++)
        v = value_binary(b, op, v, at[i], span);
    return v;
}

static bool folds(const Actual *a, Value x) {
    return is_scalar_list(x) && a->at[1].kind == V_NONE && a->at[2].kind == V_BOOL &&
           !a->at[2].boolean;
}

Value builtin_reduce(Build *b, const Builtin *self, const Actual *a) {
    const Value x = a->at[0];
    if (folds(a, x))
        return fold_values(b, self->op == OP_sum ? OP_add : OP_mul, x.list->at, x.list->n, a->span);
    return reduce(b, self->op, x, a, a->spans[0]);
}

/* max(x, axis=…) reduces, max(x, y, …) is element by element (ruling A7). */
Value builtin_extreme(Build *b, const Builtin *self, const Actual *a) {
    Op pair = self->op == OP_max ? OP_maximum : OP_minimum;
    if (a->nrest == 1) {
        const Value x = a->rest[0];
        return folds(a, x) ? fold_values(b, pair, x.list->at, x.list->n, a->span)
                           : reduce(b, self->op, x, a, a->span);
    }
    if (a->at[1].kind != V_NONE) {
        build_error(b, a->spans[1],
                    "%s of several tensors works element by element and takes no axis", self->name);
        return value_poison;
    }
    return fold_values(b, pair, a->rest, a->nrest, a->span);
}

Value builtin_test(Build *b, const Builtin *self, const Actual *a) {
    if (a->at[0].kind == V_BOOL)
        return a->at[0];
    if (folds(a, a->at[0]))
        return fold_values(b, self->op, a->at[0].list->at, a->at[0].list->n, a->span);
    Node *n = actual_node(b, a, 0);
    if (!n)
        return value_poison;
    if (n->dtype != DT_BOOL) {
        build_error(b, a->spans[0], "%s takes bools, found %s", self->name,
                    value_text(b, value_node(n)));
        return value_poison;
    }
    Value x = value_node(graph_cast(b->g, n, DT_I32));
    return value_binary(b, OP_ne, reduce(b, self->op == OP_or ? OP_max : OP_min, x, a, a->span),
                        value_int(0), a->span);
}

Value builtin_argreduce(Build *b, const Builtin *self, const Actual *a) {
    Node *n = actual_node(b, a, 0);
    int axis;
    bool keep;
    if (!n || !value_to_axis(b, a->at[1], n->shape.rank, a->spans[1], &axis) ||
        !value_to_bool(b, a->at[2], "keepdims", a->spans[2], &keep))
        return value_poison;
    warn_thin(b, n, 1u << axis, self->name, a->span);
    Node *y = graph_argreduce(b->g, self->op, countable(b, n), axis);
    Shape s = n->shape;
    s.dim[axis] = (Dim){1, NULL};
    return value_node(keep ? graph_reshape(b->g, y, &s) : y);
}

Value builtin_cumsum(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    Node *n = actual_node(b, a, 0);
    int axis;
    if (!n || !value_to_axis(b, a->at[1], n->shape.rank, a->spans[1], &axis))
        return value_poison;
    return value_node(graph_cumsum(b->g, countable(b, n), axis, false));
}
