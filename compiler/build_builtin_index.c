/* build_builtin_index.c: functions whose indices come from data. */
#include "build_builtin.h"

/* Constants may count from the end and must be in range (ruling D8); others are checked when it
 * runs. */
static Node *check_constant(Build *b, Node *n, Dim limit, Span at) {
    int64_t count = shape_elements(&n->shape);
    double *own = NEW_ARRAY(b->arena, double, count);
    bool changed = false;
    for (int64_t i = 0; i < count; i++) {
        double v = n->attr.constant.data ? n->attr.constant.data[i] : n->attr.constant.value;
        double low = limit.count ? 0 : -(double)limit.n;
        if (v < low || v >= (double)limit.n) {
            build_error(b, at, "index %lld is out of range: the dimension has %s%lld", (long long)v,
                        limit.count ? "at most " : "", (long long)limit.n);
            return NULL;
        }
        own[i] = v < 0 ? v + (double)limit.n : v;
        changed = changed || v < 0;
    }
    return changed ? graph_data(b->g, DT_I32, &n->shape, own) : n;
}

Node *index_node(Build *b, Value v, Dim limit, Span at) {
    Node *n = value_to_node(b, v, DT_I32, at);
    if (!n)
        return NULL;
    if (n->dtype == DT_BOOL) {
        build_error(
            b, at,
            "a bool tensor cannot be an index (where(mask, x, 0) selects element by element)");
        return NULL;
    }
    if (!dtype_is_int(n->dtype)) {
        build_error(b, at, "an index must be an integer, found %s", value_text(b, v));
        return NULL;
    }
    bool known = n->op == OP_constant && !shape_count(&n->shape);
    if (known && !(n = check_constant(b, n, limit, at)))
        return NULL;
    return graph_cast(b->g, n, DT_I32);
}

/* [a..., d, z...] by an index [i...] along axis d gives [a..., i..., z...]. */
Node *node_take(Build *b, Node *x, Node *index, int axis, Span at) {
    int rank = x->shape.rank, k = index->shape.rank, perm[MAX_RANK];
    if (rank - 1 + k > MAX_RANK) {
        build_error(b, at, "a tensor has at most %d dimensions, here it would have %d", MAX_RANK,
                    rank - 1 + k);
        return NULL;
    }
    for (int i = 0; i < rank; i++)
        perm[i] = i == 0 ? axis : i <= axis ? i - 1 : i;
    if (axis)
        x = graph_permute(b->g, x, perm);
    Node *n = graph_gather(b->g, x, index);
    if (!shape_check(b, &n->shape, at))
        return NULL;
    for (int i = 0; i < n->shape.rank; i++)
        perm[i] = i < axis ? k + i : i < axis + k ? i - axis : i;
    return axis && k ? graph_permute(b->g, n, perm) : n;
}

Value builtin_take(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    Node *x = actual_node(b, a, 0);
    int axis;
    if (!x || !value_to_axis(b, a->at[2], x->shape.rank, a->spans[2], &axis))
        return value_poison;
    Node *index = index_node(b, a->at[1], x->shape.dim[axis], a->spans[1]);
    return index ? value_node(node_take(b, x, index, axis, a->span)) : value_poison;
}

/* One element of each row; an index of lower rank serves all rows. */
Value builtin_pick(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    Node *x = actual_node(b, a, 0);
    if (!x)
        return value_poison;
    int last = x->shape.rank - 1;
    if (last < 0) {
        build_error(b, a->spans[0], "pick needs at least 1 dimension, found %s",
                    value_text(b, a->at[0]));
        return value_poison;
    }
    Node *index = index_node(b, a->at[1], x->shape.dim[last], a->spans[1]);
    if (!index)
        return value_poison;
    Shape rows = shape_without(&x->shape, 1u << last);
    if (index->shape.rank == 0)
        index = graph_broadcast_to(b->g, index, &rows);
    if (shape_equal(&index->shape, &rows))
        return value_node(graph_pick(b->g, x, index));
    build_error(b, a->span, "pick from %s needs an index %s, found %s",
                shape_text(b->arena, &x->shape), shape_text(b->arena, &rows),
                shape_text(b->arena, &index->shape));
    return value_poison;
}

/* base with update[i...] added to row index[i...] */
Value builtin_scatter_add(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    Node *base = actual_node(b, a, 0);
    if (!base)
        return value_poison;
    if (base->shape.rank == 0 || base->dtype == DT_BOOL) {
        build_error(b, a->spans[0], "scatter_add adds to the rows of a tensor of numbers, found %s",
                    value_text(b, a->at[0]));
        return value_poison;
    }
    Node *index = index_node(b, a->at[1], base->shape.dim[0], a->spans[1]);
    Node *update = index ? value_to_node(b, a->at[2], base->dtype, a->spans[2]) : NULL;
    if (!update)
        return value_poison;
    if (!dtype_is_real(update->dtype) && dtype_is_real(base->dtype))
        update = graph_cast(b->g, update, base->dtype);
    Shape want = index->shape;
    bool fits =
        update->dtype == base->dtype && index->shape.rank + base->shape.rank - 1 <= MAX_RANK;
    for (int i = 1; fits && i < base->shape.rank; i++)
        want.dim[want.rank++] = base->shape.dim[i];
    if (fits && update->shape.rank == 0)
        update = graph_broadcast_to(b->g, update, &want);
    if (fits && shape_equal(&update->shape, &want))
        return value_node(graph_scatter_add(b->g, base, index, update));
    build_error(b, a->spans[2], "scatter_add to %s by an index %s needs an update %s%s, found %s",
                value_text(b, value_node(base)), shape_text(b->arena, &index->shape),
                dtype_name(base->dtype), shape_text(b->arena, &want),
                value_text(b, value_node(update)));
    return value_poison;
}

/* [i...] -> [i..., n]: 1 where the last index is the value, else 0 */
Value builtin_one_hot(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    Dim n;
    if (!value_to_dim(b, a->at[1], "the number of classes", a->spans[1], &n))
        return value_poison;
    Node *index = index_node(b, a->at[0], n, a->spans[0]);
    if (!index)
        return value_poison;
    Shape s = index->shape;
    if (s.rank == MAX_RANK) {
        build_error(b, a->span, "a tensor has at most %d dimensions", MAX_RANK);
        return value_poison;
    }
    s.dim[s.rank++] = (Dim){1, NULL};
    Node *wide = graph_reshape(b->g, index, &s);
    s.dim[s.rank - 1] = n;
    if (!shape_check(b, &s, a->span))
        return value_poison;
    Node *same = graph_binary(b->g, OP_eq, graph_broadcast(b->g, wide, &s),
                              graph_iota(b->g, &s, s.rank - 1));
    return value_node(graph_cast(b->g, same, b->g->real));
}
