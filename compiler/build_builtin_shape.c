/* build_builtin_shape.c: shapes asked for, and the functions that move elements without computing.
 */
#include "build_builtin.h"

/* ---- shapes as values ---- */

static bool shape_of_value(Build *b, const Actual *a, Shape *s) {
    *s = (Shape){0};
    Value x = a->at[0];
    if (x.kind == V_NUMBER || x.kind == V_BOOL || x.kind == V_HOST)
        return true;
    const Node *n = actual_node(b, a, 0);
    if (n)
        *s = n->shape;
    return n != NULL;
}

Value builtin_shape(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    Shape s;
    if (!shape_of_value(b, a, &s))
        return value_poison;
    Value dims[MAX_RANK];
    for (int i = 0; i < s.rank; i++)
        dims[i] = value_dim(s.dim[i]);
    return value_list(b, dims, s.rank, false);
}

Value builtin_size(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    Shape s;
    unsigned axes;
    if (!shape_of_value(b, a, &s) || !value_to_axes(b, a->at[1], s.rank, a->spans[1], &axes))
        return value_poison;
    Value n = value_int(1);
    for (int i = 0; i < s.rank; i++)
        if (axes & 1u << i)
            n = value_binary(b, OP_mul, n, value_dim(s.dim[i]), a->span);
    return n;
}

Value builtin_rank(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    Shape s;
    return shape_of_value(b, a, &s) ? value_int(s.rank) : value_poison;
}

Value builtin_len(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    Value x = a->at[0];
    if (x.kind == V_LIST)
        return value_int(x.list->n);
    if (x.kind == V_STRING)
        return value_int((int64_t)strlen(x.string));
    if (x.kind == V_TENSOR && x.node->shape.rank)
        return value_dim(x.node->shape.dim[0]);
    build_error(b, a->spans[0], "len takes a list, string or tensor, found %s", value_text(b, x));
    return value_poison;
}

Value builtin_append(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    if (a->at[0].kind != V_LIST) {
        build_error(b, a->spans[0], "append takes a list, found %s", value_text(b, a->at[0]));
        return value_poison;
    }
    const ValueList *list = a->at[0].list;
    Value *at = NEW_ARRAY(b->arena, Value, list->n + 1);
    if (list->n)
        memcpy(at, list->at, sizeof(Value) * (size_t)list->n);
    at[list->n] = a->at[1];
    return value_list(b, at, list->n + 1, false);
}

/* ---- reshape ---- */

typedef struct Wish { /* a shape, one of whose extents may be left open */
    Shape shape;
    int open; /* -1: none */
} Wish;

static bool wish_of(Build *b, Value v, Span at, Wish *w) {
    *w = (Wish){.open = -1};
    if (v.kind != V_LIST)
        v = value_list(b, &v, 1, false);
    Value *dims = NEW_ARRAY(b->arena, Value, v.list->n + 1);
    for (int i = 0; i < v.list->n; i++) {
        dims[i] = v.list->at[i];
        if (dims[i].kind != V_NUMBER || dims[i].num.count || dims[i].num.f != -1)
            continue;
        if (w->open >= 0) {
            build_error(b, at, "only one dimension of a shape can be -1");
            return false;
        }
        w->open = i;
        dims[i] = value_int(1);
    }
    return value_to_shape(b, value_list(b, dims, v.list->n, false), at, &w->shape);
}

static const char *wish_text(Build *b, const Wish *w) {
    Text t = {.arena = b->arena};
    text_add(&t, "[");
    for (int i = 0; i < w->shape.rank; i++)
        text_printf(&t, "%s%lld", i ? ", " : "",
                    i == w->open ? -1LL : (long long)w->shape.dim[i].n);
    text_add(&t, "]");
    return t.at;
}

/* Gives the open extent its size; the whole must have the elements of x, at run time too. */
static bool wish_fits(const Shape *x, Wish *w) {
    int64_t have = shape_elements(x), want = shape_elements(&w->shape);
    const Count *count = shape_count(x), *wanted = shape_count(&w->shape);
    if (w->open < 0)
        return have == want && count == wanted;
    if (have % want || (wanted && wanted != count))
        return false;
    Dim d = {have / want, wanted ? NULL : count};
    w->shape.dim[w->open] = d;
    return !d.count || d.n % d.count->bound == 0;
}

Value builtin_reshape(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    Node *n = actual_node(b, a, 0);
    Wish w;
    if (!n || !wish_of(b, a->at[1], a->spans[1], &w))
        return value_poison;
    if (wish_fits(&n->shape, &w))
        return value_node(graph_reshape(b->g, n, &w.shape));
    const Count *count = shape_count(&n->shape);
    if (count != shape_count(&w.shape) && (w.open < 0 || shape_count(&w.shape)))
        build_error(b, a->span,
                    "cannot reshape %s to %s: a size known only at run time must stand in both",
                    shape_text(b->arena, &n->shape), wish_text(b, &w));
    else
        build_error(b, a->span, "cannot reshape %s to %s: it has %lld elements",
                    shape_text(b->arena, &n->shape), wish_text(b, &w),
                    (long long)shape_elements(&n->shape));
    return value_poison;
}

Value builtin_broadcast_to(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    Node *n = actual_node(b, a, 0);
    Shape s;
    if (!n || !value_to_shape(b, a->at[1], a->spans[1], &s))
        return value_poison;
    bool ok = n->shape.rank <= s.rank;
    for (int i = 0; ok && i < n->shape.rank; i++) {
        Dim have = n->shape.dim[i], want = s.dim[s.rank - n->shape.rank + i];
        ok = dim_equal(have, want) || (have.n == 1 && !have.count);
    }
    if (ok)
        return value_node(graph_broadcast_to(b->g, n, &s));
    build_error(b, a->span, "cannot broadcast %s to %s", shape_text(b->arena, &n->shape),
                shape_text(b->arena, &s));
    return value_poison;
}

/* ---- order of the axes ---- */

Node *node_swap(Build *b, Node *x, int i, int j) {
    int perm[MAX_RANK];
    for (int k = 0; k < x->shape.rank; k++)
        perm[k] = k == i ? j : k == j ? i : k;
    return i == j ? x : graph_permute(b->g, x, perm);
}

Value builtin_permute(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    Node *n = actual_node(b, a, 0);
    if (!n)
        return value_poison;
    Value v = a->at[1];
    int rank = n->shape.rank, perm[MAX_RANK];
    unsigned seen;
    if (v.kind != V_LIST || v.list->n != rank) {
        build_error(b, a->spans[1], "permute needs the %d axes of %s in their new order, found %s",
                    rank, shape_text(b->arena, &n->shape), value_text(b, v));
        return value_poison;
    }
    if (!value_to_axes(b, v, rank, a->spans[1], &seen))
        return value_poison;
    for (int i = 0; i < rank; i++)
        value_to_axis(b, v.list->at[i], rank, a->spans[1], &perm[i]);
    return value_node(graph_permute(b->g, n, perm));
}

/* The last two axes, or the two given ones. */
Value builtin_transpose(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    Node *n = actual_node(b, a, 0);
    if (!n)
        return value_poison;
    int i = n->shape.rank - 2, j = n->shape.rank - 1;
    bool given = a->at[1].kind != V_NONE || a->at[2].kind != V_NONE;
    if (!given && i < 0) {
        build_error(b, a->span, "transpose needs at least 2 dimensions, found %s",
                    value_text(b, value_node(n)));
        return value_poison;
    }
    if (given && (!value_to_axis(b, a->at[1], n->shape.rank, a->spans[1], &i) ||
                  !value_to_axis(b, a->at[2], n->shape.rank, a->spans[2], &j)))
        return value_poison;
    return value_node(node_swap(b, n, i, j));
}

/* ---- joining ---- */

/* The tensors of concat(x, y, axis=0) or concat([x, y], axis=0), of one type. */
static Node **joined(Build *b, const Actual *a, const char *what, int *n) {
    const Value *at = a->rest;
    *n = a->nrest;
    if (*n == 1 && at[0].kind == V_LIST && at[0].list->n) {
        *n = at[0].list->n;
        at = at[0].list->at;
    }
    Node **items = NEW_ARRAY(b->arena, Node *, *n);
    return value_unify(b, at, *n, DT_N, a->span, what, items) ? items : NULL;
}

static bool join_fits(Build *b, Node *const *items, int n, int axis, Span at) {
    const Shape *first = &items[0]->shape;
    for (int i = 0; i < n; i++) {
        const Shape *s = &items[i]->shape;
        bool ok = s->rank == first->rank;
        for (int k = 0; ok && k < s->rank; k++)
            ok = k == axis || dim_equal(s->dim[k], first->dim[k]);
        if (!ok) {
            build_error(
                b, at,
                "cannot concatenate %s and %s along axis %d: the other dimensions must be equal",
                shape_text(b->arena, first), shape_text(b->arena, s), axis);
            return false;
        }
        if (s->dim[axis].count && n > 1) {
            build_error(
                b, at, "cannot concatenate along axis %d: its size in %s is known only at run time",
                axis, shape_text(b->arena, s));
            return false;
        }
    }
    return true;
}

Value builtin_concat(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    int n, axis;
    Node **items = joined(b, a, "concatenate", &n);
    if (!items || !value_to_axis(b, a->at[1], items[0]->shape.rank, a->spans[1], &axis) ||
        !join_fits(b, items, n, axis, a->span))
        return value_poison;
    return value_node(n == 1 ? items[0] : graph_concat(b->g, n, items, axis));
}

Value builtin_stack(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    int n, axis;
    Node **items = joined(b, a, "stack", &n);
    if (!items || !value_to_axis(b, a->at[1], items[0]->shape.rank + 1, a->spans[1], &axis))
        return value_poison;
    for (int i = 1; i < n; i++)
        if (!shape_equal(&items[i]->shape, &items[0]->shape)) {
            build_error(b, a->span, "cannot stack %s and %s: all must have one shape",
                        shape_text(b->arena, &items[0]->shape),
                        shape_text(b->arena, &items[i]->shape));
            return value_poison;
        }
    return value_node(node_stack(b, items, n, axis, a->span));
}

/* ---- cutting ---- */

Node *node_part(Build *b, Node *x, int axis, int64_t start, int64_t length) {
    int64_t starts[MAX_RANK] = {0}, steps[MAX_RANK];
    Shape s = x->shape;
    if (start == 0 && length == s.dim[axis].n)
        return x;
    for (int i = 0; i < MAX_RANK; i++)
        steps[i] = 1;
    starts[axis] = start;
    s.dim[axis] = (Dim){length, NULL};
    return graph_slice(b->g, x, starts, steps, &s);
}

static bool fixed_axis(Build *b, const Node *n, int axis, const char *what, Span at) {
    if (!n->shape.dim[axis].count)
        return true;
    build_error(b, at, "cannot %s %s along axis %d: its size is known only at run time", what,
                shape_text(b->arena, &n->shape), axis);
    return false;
}

/* The sizes of the parts of an axis of n elements; NULL after an error. */
static int64_t *part_sizes(Build *b, Value v, int64_t n, Span at, int *parts) {
    int64_t k;
    if (v.kind != V_LIST) {
        if (!value_to_int(b, v, "the number of parts", at, &k))
            return NULL;
        if (k < 1 || n % k) {
            build_error(b, at, "cannot split %lld into %lld equal parts", (long long)n,
                        (long long)k);
            return NULL;
        }
        int64_t *equal = NEW_ARRAY(b->arena, int64_t, k);
        *parts = (int)k;
        for (int i = 0; i < k; i++)
            equal[i] = n / k;
        return equal;
    }
    *parts = v.list->n;
    int64_t *sizes = NEW_ARRAY(b->arena, int64_t, v.list->n + 1), sum = 0;
    for (int i = 0; i < v.list->n; i++) {
        Dim d;
        if (!value_to_dim(b, v.list->at[i], "the size of a part", at, &d))
            return NULL;
        sizes[i] = d.n;
        sum += d.n;
    }
    if (sum == n)
        return sizes;
    build_error(b, at, "the parts %s add up to %lld, the axis has %lld", value_text(b, v),
                (long long)sum, (long long)n);
    return NULL;
}

Value builtin_split(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    Node *n = actual_node(b, a, 0);
    int axis, parts = 0;
    if (!n || !value_to_axis(b, a->at[2], n->shape.rank, a->spans[2], &axis) ||
        !fixed_axis(b, n, axis, "split", a->span))
        return value_poison;
    const int64_t *sizes = part_sizes(b, a->at[1], n->shape.dim[axis].n, a->spans[1], &parts);
    if (!sizes)
        return value_poison;
    Value *out = NEW_ARRAY(b->arena, Value, parts);
    int64_t start = 0;
    for (int i = 0; i < parts; i++) {
        out[i] = value_node(node_part(b, n, axis, start, sizes[i]));
        start += sizes[i];
    }
    return value_list(b, out, parts, true);
}

Value builtin_flip(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    Node *n = actual_node(b, a, 0);
    int axis;
    if (!n || !value_to_axis(b, a->at[1], n->shape.rank, a->spans[1], &axis) ||
        !fixed_axis(b, n, axis, "flip", a->span))
        return value_poison;
    int64_t start[MAX_RANK] = {0}, step[MAX_RANK];
    for (int i = 0; i < MAX_RANK; i++)
        step[i] = 1;
    start[axis] = n->shape.dim[axis].n - 1;
    step[axis] = -1;
    return value_node(graph_slice(b->g, n, start, step, &n->shape));
}

/* ---- pad ---- */

static bool pad_pair(Build *b, Value v, Span at, int64_t *lo, int64_t *hi) {
    if (v.kind != V_LIST || v.list->n != 2) {
        if (v.kind != V_POISON)
            build_error(b, at, "expected a pair (before, after), found %s", value_text(b, v));
        return false;
    }
    if (!value_to_int(b, v.list->at[0], "the width of a padding", at, lo) ||
        !value_to_int(b, v.list->at[1], "the width of a padding", at, hi))
        return false;
    if (*lo >= 0 && *hi >= 0)
        return true;
    build_error(b, at, "the width of a padding cannot be negative, found %s", value_text(b, v));
    return false;
}

/* widths: a pair (before, after) for each axis */
Value builtin_pad(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    Node *n = actual_node(b, a, 0);
    if (!n)
        return value_poison;
    Value w = a->at[1], fill = a->at[2];
    Shape s = n->shape;
    bool known = (fill.kind == V_NUMBER && !fill.num.count) || fill.kind == V_BOOL;
    if (!known) {
        build_error(b, a->spans[2], "pad fills with a constant, found %s", value_text(b, fill));
        return value_poison;
    }
    if (w.kind != V_LIST || w.list->n != s.rank) {
        build_error(b, a->spans[1],
                    "pad needs a pair (before, after) for each of the %d axes of %s, found %s",
                    s.rank, shape_text(b->arena, &s), value_text(b, w));
        return value_poison;
    }
    int64_t lo[MAX_RANK] = {0};
    for (int i = 0; i < s.rank; i++) {
        int64_t hi;
        if (!pad_pair(b, w.list->at[i], a->spans[1], &lo[i], &hi))
            return value_poison;
        if (lo[i] + hi && !fixed_axis(b, n, i, "pad", a->span))
            return value_poison;
        s.dim[i].n += lo[i] + hi;
    }
    return value_node(graph_pad(b->g, n, lo, &s, fill.kind == V_BOOL ? fill.boolean : fill.num.f));
}
