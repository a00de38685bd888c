/* shape.c: element types, extents and shapes. */
#include "ir.h"

/* ---- element types ---- */

static const struct {
    const char *name;
    int size;
    bool real, whole;
} dtypes[DT_N] = {
    [DT_F32] = {"f32", 4, true, false}, [DT_F64] = {"f64", 8, true, false},
    [DT_I32] = {"i32", 4, false, true}, [DT_I64] = {"i64", 8, false, true},
    [DT_U8] = {"u8", 1, false, true},   [DT_BOOL] = {"bool", 1, false, false},
};

const char *dtype_name(DType t) {
    return dtypes[t].name;
}

int dtype_size(DType t) {
    return dtypes[t].size;
}

bool dtype_is_real(DType t) {
    return dtypes[t].real;
}

bool dtype_is_int(DType t) {
    return dtypes[t].whole;
}

/* ---- shapes ---- */

bool dim_equal(Dim a, Dim b) {
    return a.n == b.n && a.count == b.count;
}

bool shape_equal(const Shape *a, const Shape *b) {
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (!dim_equal(a->dim[i], b->dim[i]))
            return false;
    return true;
}

int64_t shape_elements(const Shape *s) {
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++)
        n *= s->dim[i].n;
    return n;
}

const Count *shape_count(const Shape *s) {
    for (int i = 0; i < s->rank; i++)
        if (s->dim[i].count)
            return s->dim[i].count;
    return NULL;
}

const char *shape_text(Arena *a, const Shape *s) {
    Text t = {.arena = a};
    text_add(&t, "[");
    for (int i = 0; i < s->rank; i++) {
        const Dim *d = &s->dim[i];
        text_add(&t, i ? ", " : "");
        if (!d->count)
            text_printf(&t, "%lld", (long long)d->n);
        else if (d->n == d->count->bound)
            text_add(&t, d->count->called);
        else
            text_printf(&t, "%lld*%s", (long long)(d->n / d->count->bound), d->count->called);
    }
    text_add(&t, "]");
    return t.at;
}

Shape shape_of(int rank, const int64_t *n) {
    Shape s = {.rank = rank};
    for (int i = 0; i < rank; i++)
        s.dim[i].n = n[i];
    return s;
}

Shape shape_scalar(void) {
    return (Shape){.rank = 0};
}

unsigned reduced_axes(const Node *n) {
    return op_info[n->op].attr == ATTR_AXIS ? 1u << n->attr.axis : n->attr.axes;
}

Dim indexed_extent(const Node *n) {
    unsigned flags = op_info[n->op].flags;
    const Shape *s = &n->in[0]->shape;
    return flags & OPF_FIRST ? s->dim[0] : flags & OPF_LAST ? s->dim[s->rank - 1] : (Dim){0};
}

Shape shape_without(const Shape *s, unsigned axes) {
    Shape out = {.rank = 0};
    for (int i = 0; i < s->rank; i++)
        if (!(axes >> i & 1))
            out.dim[out.rank++] = s->dim[i];
    return out;
}
