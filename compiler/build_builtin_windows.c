/* build_builtin_windows.c: windows1d, windows2d, windows3d and their transposes fold1d, fold2d,
 * fold3d. The windowed axes are those before the last, the channels.
 */
#include "build_builtin.h"

/* How windows lie along each axis. `size` is that of the tensor with its padding. */
typedef struct Lie {
    int n;
    int64_t size[MAX_WINDOWED], length[MAX_WINDOWED], step[MAX_WINDOWED], apart[MAX_WINDOWED];
    int64_t lo[MAX_WINDOWED], hi[MAX_WINDOWED], out[MAX_WINDOWED];
} Lie;

/* A number for all axes, or a list of one for each. */
static bool numbers(Build *b, Value v, int n, const char *what, Span at, int64_t *out) {
    if (v.kind == V_LIST && v.list->n != n) {
        build_error(b, at, "%s: expected a number, or one for each of %d axes, found %s", what, n,
                    value_text(b, v));
        return false;
    }
    for (int i = 0; i < n; i++) {
        Value one = v.kind == V_LIST ? v.list->at[i] : v;
        Dim d;
        if (!value_to_dim(b, one, what, at, &d))
            return false;
        if (d.count) {
            build_error(b, at, "%s must be known when nnc runs", what);
            return false;
        }
        out[i] = d.n;
    }
    return true;
}

/* As many windows as steps begin in the axis: what is missing is padded, the odd one behind. */
static void pad_same(Lie *w, int i) {
    int64_t n = w->size[i], out = (n + w->step[i] - 1) / w->step[i],
            all = (out - 1) * w->step[i] + (w->length[i] - 1) * w->apart[i] + 1 - n;
    w->lo[i] = MAX(all, 0) / 2;
    w->hi[i] = MAX(all, 0) - w->lo[i];
}

static bool pad_number(Build *b, Value v, Span at, int64_t *lo, int64_t *hi) {
    const Value pair[2] = {v.kind == V_LIST && v.list->n == 2 ? v.list->at[0] : v,
                           v.kind == V_LIST && v.list->n == 2 ? v.list->at[1] : v};
    if (!value_to_int(b, pair[0], "padding", at, lo) ||
        !value_to_int(b, pair[1], "padding", at, hi))
        return false;
    if (*lo >= 0 && *hi >= 0)
        return true;
    build_error(b, at, "padding cannot be negative, found %s", value_text(b, v));
    return false;
}

/* "same", "valid", a number, or for each axis a number or a pair (before, after). */
static bool padding(Build *b, Value v, Span at, Lie *w) {
    bool same = v.kind == V_STRING && strcmp(v.string, "same") == 0;
    if (v.kind == V_STRING && !same && strcmp(v.string, "valid") != 0) {
        build_error(b, at, "padding is a number, \"same\" or \"valid\", found %s",
                    value_text(b, v));
        return false;
    }
    if (v.kind == V_LIST && v.list->n != w->n) {
        build_error(b, at, "padding: expected a number, or one for each of %d axes, found %s", w->n,
                    value_text(b, v));
        return false;
    }
    for (int i = 0; i < w->n; i++) {
        if (same)
            pad_same(w, i);
        else if (v.kind != V_STRING &&
                 !pad_number(b, v.kind == V_LIST ? v.list->at[i] : v, at, &w->lo[i], &w->hi[i]))
            return false;
    }
    return true;
}

/* Arguments 2, 3 and 4 are stride, padding and dilation. */
static bool lie_of(Build *b, const Actual *a, Lie *w) {
    if (!numbers(b, a->at[2], w->n, "stride", a->spans[2], w->step) ||
        !numbers(b, a->at[4], w->n, "dilation", a->spans[4], w->apart) ||
        !padding(b, a->at[3], a->spans[3], w))
        return false;
    for (int i = 0; i < w->n; i++) {
        int64_t reach = (w->length[i] - 1) * w->apart[i] + 1;
        w->size[i] += w->lo[i] + w->hi[i];
        w->out[i] = (w->size[i] - reach) / w->step[i] + 1;
        if (reach <= w->size[i])
            continue;
        build_error(b, a->span, "a window of %lld does not fit into %lld%s", (long long)reach,
                    (long long)w->size[i], w->lo[i] + w->hi[i] ? ", padding included" : "");
        return false;
    }
    return true;
}

static Windows windows_of(const Lie *lie, int axis) {
    Windows w = {.axis = axis, .n = lie->n};
    for (int i = 0; i < w.n; i++) {
        w.step[i] = lie->step[i];
        w.apart[i] = lie->apart[i];
    }
    return w;
}

static bool has_axes(Build *b, const Builtin *self, const Node *x, int need, const Actual *a) {
    int rank = x->shape.rank;
    bool counted = false;
    for (int i = rank - need; i + 1 < rank && i >= 0; i++)
        counted |= x->shape.dim[i].count != NULL;
    if (rank >= need && !counted)
        return true;
    build_error(b, a->spans[0], "%s needs %s%d dimensions, channels last, found %s", self->name,
                counted ? "known sizes in the last " : "", need, shape_text(b->arena, &x->shape));
    return false;
}

static Value windows(Build *b, const Builtin *self, const Actual *a, int n) {
    Node *x = actual_node(b, a, 0);
    Lie lie = {.n = n};
    Value fill = a->at[5];
    int64_t lo[MAX_RANK] = {0};
    if (!x || !has_axes(b, self, x, n + 1, a) ||
        !numbers(b, a->at[1], n, "kernel", a->spans[1], lie.length))
        return value_poison;
    if (fill.kind != V_NUMBER || fill.num.count) {
        build_error(b, a->spans[5], "the value of a padding is a constant, found %s",
                    value_text(b, fill));
        return value_poison;
    }
    Shape s = x->shape;
    int axis = s.rank - 1 - n;
    if (s.rank + n > MAX_RANK) {
        build_error(b, a->span, "a tensor has at most %d dimensions, the windows would have %d",
                    MAX_RANK, s.rank + n);
        return value_poison;
    }
    for (int i = 0; i < n; i++)
        lie.size[i] = s.dim[axis + i].n;
    if (!lie_of(b, a, &lie))
        return value_poison;
    for (int i = 0; i < n; i++) {
        lo[axis + i] = lie.lo[i];
        s.dim[axis + i].n = lie.size[i];
    }
    const Windows w = windows_of(&lie, axis);
    x = graph_pad(b->g, x, lo, &s, fill.num.f);
    return value_node(graph_windows(b->g, x, &w, lie.out, lie.length));
}

/* The windows of [.., size, C], each element added to where it would come from. */
static Value fold(Build *b, const Builtin *self, const Actual *a, int n) {
    Node *x = actual_node(b, a, 0);
    Lie lie = {.n = n};
    int64_t start[MAX_RANK] = {0}, one[MAX_RANK];
    if (!x || !has_axes(b, self, x, 2 * n + 1, a) ||
        !numbers(b, a->at[1], n, "size", a->spans[1], lie.size))
        return value_poison;
    if (!dtype_is_real(x->dtype)) {
        build_error(b, a->spans[0], "%s adds real numbers, found %s", self->name,
                    value_text(b, value_node(x)));
        return value_poison;
    }
    int axis = x->shape.rank - 1 - 2 * n;
    Shape part = {.rank = x->shape.rank - n};
    for (int d = 0; d < part.rank; d++) {
        part.dim[d] = x->shape.dim[d < axis ? d : d + n];
        one[d] = 1;
    }
    for (int i = 0; i < n; i++) {
        lie.length[i] = x->shape.dim[axis + n + i].n;
        part.dim[axis + i] = (Dim){.n = lie.size[i]};
    }
    if (!lie_of(b, a, &lie))
        return value_poison;
    Shape all = part;
    for (int i = 0; i < n; i++) {
        if (lie.out[i] != x->shape.dim[axis + i].n) {
            build_error(b, a->span, "%s: a size of %lld has %lld windows, found %lld in %s",
                        self->name, (long long)part.dim[axis + i].n, (long long)lie.out[i],
                        (long long)x->shape.dim[axis + i].n, shape_text(b->arena, &x->shape));
            return value_poison;
        }
        start[axis + i] = lie.lo[i];
        all.dim[axis + i].n = lie.size[i];
    }
    const Windows w = windows_of(&lie, axis);
    return value_node(graph_slice(b->g, graph_fold(b->g, x, &w, &all), start, one, &part));
}

Value builtin_windows1d(Build *b, const Builtin *self, const Actual *a) {
    return windows(b, self, a, 1);
}

Value builtin_windows2d(Build *b, const Builtin *self, const Actual *a) {
    return windows(b, self, a, 2);
}

Value builtin_windows3d(Build *b, const Builtin *self, const Actual *a) {
    return windows(b, self, a, 3);
}

Value builtin_fold1d(Build *b, const Builtin *self, const Actual *a) {
    return fold(b, self, a, 1);
}

Value builtin_fold2d(Build *b, const Builtin *self, const Actual *a) {
    return fold(b, self, a, 2);
}

Value builtin_fold3d(Build *b, const Builtin *self, const Actual *a) {
    return fold(b, self, a, 3);
}
