/* rt_npy.h: binary tables: NumPy's .npy, IDX (MNIST's format) and raw numbers.
 *
 * All three end in the same place: a type, a byte order, a shape and the bytes, which are checked
 * against the field and converted to the type it is kept in.
 */
#ifndef RT_NPY_H
#define RT_NPY_H

#include "rt_data.h"

struct rt_table {
    const char *file;  /* name for messages */
    const char *bytes; /* at any address */
    size_t size;
    enum rt_type type;
    bool big_endian;
    int rank; /* 1 + that of a row */
    int64_t dims[RT_MAX_RANK + 1];
};

/* ---- from any table to rows -------------------------------------------------------------------
 */

/* Element i as a double. */
RT_FN double rt_table_at(const struct rt_table *t, int64_t i) {
    size_t size = rt_type_size(t->type);
    const char *from = t->bytes + (size_t)i * size;
    union {
        char bytes[8];
        float f32;
        double f64;
        int64_t i64;
    } x;
    x.i64 = 0;
    for (size_t k = 0; k < size; k++)
        x.bytes[k] = from[t->big_endian ? size - 1 - k : k];
    return rt_type_is_real(t->type) ? rt_real_at(&x, t->type, 0)
                                    : (double)rt_int_at(&x, t->type, 0);
}

/* Rows of [64], or of the declared shape where dimensions of 1 are left out, fit [8, 8, 1]. */
RT_FN bool rt_table_fits(const struct rt_table *t, const struct rt_field *f) {
    int a = 1, b = 0;
    if (t->rank == 2 && t->dims[1] == rt_field_elements(f))
        return true;
    for (;;) {
        while (a < t->rank && t->dims[a] == 1)
            a++;
        while (b < f->rank && f->dims[b] == 1)
            b++;
        if (a >= t->rank || b >= f->rank)
            return a >= t->rank && b >= f->rank;
        if (t->dims[a++] != f->dims[b++])
            return false;
    }
}

/* Sizes first: no product may wrap, and the bytes must be there. */
RT_FN enum rt_status rt_table_check(struct rt *rt, const struct rt_table *t,
                                    const struct rt_field *f) {
    char want[128], got[128];
    int64_t bytes = (int64_t)rt_type_size(t->type);
    rt_shape_text(got, sizeof got, t->rank - 1, t->dims + 1);
    for (int i = 0; i < t->rank; i++)
        if (t->dims[i] < 0 || __builtin_mul_overflow(bytes, t->dims[i], &bytes))
            return rt_fail(rt, RT_USAGE, "'%s': a shape that no memory holds", t->file);
    if (!rt_table_fits(t, f))
        return rt_fail(rt, RT_USAGE, "%s: declared %s (%lld numbers a row), '%s' has rows of %s",
                       f->name, rt_shape_text(want, sizeof want, f->rank, f->dims),
                       (long long)rt_field_elements(f), t->file, got);
    if ((uint64_t)bytes != t->size)
        return rt_fail(rt, RT_USAGE, "'%s': %lld rows of %s %s are %lld bytes, the file holds %zu",
                       t->file, (long long)t->dims[0], rt_type_name(t->type), got, (long long)bytes,
                       t->size);
    return RT_OK;
}

/* Numbers of the type they are kept in, which keep every bit. */
RT_FN void rt_table_copy(const struct rt_table *t, char *out) {
    size_t size = rt_type_size(t->type);
    if (!t->big_endian || size == 1) {
        memcpy(out, t->bytes, t->size);
        return;
    }
    for (size_t i = 0; i < t->size; i += size)
        for (size_t k = 0; k < size; k++)
            out[i + k] = t->bytes[i + size - 1 - k];
}

RT_FN enum rt_status rt_table_rows(struct rt *rt, const struct rt_table *t,
                                   const struct rt_field *f, struct rt_source *out) {
    enum rt_status s = rt_table_check(rt, t, f);
    if (!s)
        s = rt_source_begin(rt, out, f, t->file, t->dims[0]);
    if (s)
        return s;
    int64_t n = out->rows * out->row_elements;
    char place[80];
    if (t->type == out->type && t->type != RT_BOOL) {
        rt_table_copy(t, (char *)out->data);
        n = 0;
    }
    for (int64_t i = 0; i < n && !s; i++) {
        double x = rt_table_at(t, i);
        bool lost = out->type == RT_F32 && isfinite(x) && !rt_f32_holds(x);
        if (lost || !rt_source_put(out, i, x))
            s = rt_fail(rt, RT_USAGE, "'%s': %s (from 0) is %.17g, which does not fit %s (%s)",
                        t->file, rt_place_text(place, sizeof place, out, i), x, f->name,
                        rt_type_name(out->type));
    }
    if (!s)
        s = rt_source_range(rt, out);
    if (s)
        rt_source_free(rt, out);
    return s;
}

/* Opens the file; t->bytes is all of it. */
RT_FN enum rt_status rt_table_open(struct rt *rt, const char *set, const char *path,
                                   struct rt_table *t, struct rt_source *out) {
    char where[4096];
    const struct rt_file *file = NULL;
    memset(t, 0, sizeof *t);
    out->data = NULL;
    enum rt_status s = rt_data_path(rt, set, path, where, sizeof where);
    if (!s)
        s = rt_file_get(rt, where, &file);
    if (s)
        return s;
    t->file = rt_base_name(file->path);
    t->bytes = file->text;
    t->size = file->size;
    return RT_OK;
}

/* ---- npy --------------------------------------------------------------------------------------
 */

/* What follows 'key': in the header's dictionary, or NULL. */
RT_FN const char *rt_npy_key(const char *header, size_t size, const char *key) {
    const char *p = (const char *)memmem(header, size, key, strlen(key));
    if (!p)
        return NULL;
    p += strlen(key);
    while (p < header + size && (*p == ' ' || *p == ':'))
        p++;
    return p < header + size ? p : NULL;
}

/* '<f4' and its kin; false when the type is not one of ours. */
RT_FN bool rt_npy_type(const char *p, const char *end, struct rt_table *t) {
    static const char *const code[] = {"f4", "f8", "i4", "i8", "u1", "i1", "i2", "u2", "b1"};
    if (end - p < 5 || (*p != '\'' && *p != '"') || p[4] != *p)
        return false;
    t->big_endian = p[1] == '>';
    for (int k = 0; k < (int)(sizeof code / sizeof *code); k++) {
        if (memcmp(p + 2, code[k], 2) == 0) {
            t->type = (enum rt_type)k;
            return strchr("<>|=", p[1]) != NULL;
        }
    }
    return false;
}

/* (3, 4) */
RT_FN bool rt_npy_shape(const char *p, const char *end, struct rt_table *t) {
    if (p == end || *p++ != '(')
        return false;
    while (p < end && *p != ')') {
        int64_t n = 0;
        const char *digits = p;
        for (; p < end && (unsigned)(*p - '0') < 10; p++)
            if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *p - '0', &n))
                return false;
        if (p == digits || t->rank > RT_MAX_RANK)
            return false;
        t->dims[t->rank++] = n;
        while (p < end && (*p == ',' || *p == ' '))
            p++;
    }
    return p < end;
}

/* The header: magic, version, length, a dictionary; the numbers follow. */
RT_FN enum rt_status rt_npy_head(struct rt *rt, struct rt_table *t) {
    const unsigned char *b = (const unsigned char *)t->bytes;
    bool long_form = t->size > 6 && b[6] >= 2;
    size_t start = long_form ? 12 : 10;
    if (t->size < start || memcmp(b, "\x93NUMPY", 6) != 0)
        return rt_fail(rt, RT_USAGE, "'%s' is not an npy file: %s", t->file,
                       t->size < start ? "it is too short" : "those begin with \\x93NUMPY");
    if (b[6] < 1 || b[6] > 3)
        return rt_fail(rt, RT_USAGE, "'%s': npy files of version 1 to 3 are read, this is %d",
                       t->file, b[6]);
    size_t n = b[8] | (size_t)b[9] << 8;
    if (long_form)
        n |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (n > t->size - start)
        return rt_fail(rt, RT_USAGE, "'%s': the npy header is cut short", t->file);
    const char *head = t->bytes + start, *end = head + n;
    const char *descr = rt_npy_key(head, n, "'descr'"), *shape = rt_npy_key(head, n, "'shape'");
    const char *order = rt_npy_key(head, n, "'fortran_order'");
    if (!descr || !shape || !order)
        return rt_fail(rt, RT_USAGE, "'%s': the npy header has no descr, fortran_order or shape",
                       t->file);
    const char *comma = (const char *)memchr(descr, ',', (size_t)(end - descr));
    if (!rt_npy_type(descr, end, t))
        return rt_fail(rt, RT_USAGE,
                       "'%s': numbers of type %.*s are not read (f4 f8 i1 i2 i4 i8 u1 u2 b1 are)",
                       t->file, (int)((comma ? comma : end) - descr), descr);
    if (end - order < 5 || memcmp(order, "False", 5) != 0)
        return rt_fail(rt, RT_USAGE, "'%s' is in Fortran order: save numpy.ascontiguousarray(x)",
                       t->file);
    if (!rt_npy_shape(shape, end, t) || t->rank == 0) {
        const char *close = (const char *)memchr(shape, ')', (size_t)(end - shape));
        ptrdiff_t length = (close ? close + 1 : end) - shape;
        return rt_fail(rt, RT_USAGE,
                       "'%s': rows are wanted, of %d dimensions at most; its shape is %.*s",
                       t->file, RT_MAX_RANK, (int)(length < 60 ? length : 60), shape);
    }
    t->bytes = end;
    t->size -= start + n;
    return RT_OK;
}

/* Reads an .npy file (versions 1 to 3, C order); the first dimension counts the rows. */
RT_FN enum rt_status rt_npy_read(struct rt *rt, const struct rt_field *field, const char *set,
                                 const char *path, struct rt_source *out) {
    struct rt_table t;
    enum rt_status s = rt_table_open(rt, set, path, &t, out);
    if (!s)
        s = rt_npy_head(rt, &t);
    return s ? s : rt_table_rows(rt, &t, field, out);
}

/* ---- idx and raw ------------------------------------------------------------------------------
 */

/* Reads an IDX file: 0 0 type rank, the dimensions in four bytes each, big-endian. */
RT_FN enum rt_status rt_idx_read(struct rt *rt, const struct rt_field *field, const char *set,
                                 const char *path, struct rt_source *out) {
    static const signed char types[] = {RT_U8, RT_I8, -1, RT_I16, RT_I32, RT_F32, RT_F64};
    struct rt_table t;
    enum rt_status s = rt_table_open(rt, set, path, &t, out);
    if (s)
        return s;
    const unsigned char *b = (const unsigned char *)t.bytes;
    int type = t.size >= 4 && b[2] >= 8 && b[2] <= 14 ? types[b[2] - 8] : -1;
    if (t.size < 4 || b[0] || b[1] || type < 0 || b[3] < 1 || b[3] > RT_MAX_RANK)
        return rt_fail(rt, RT_USAGE,
                       "'%s' is not an IDX file: 0, 0, a type of 8 9 11 12 13 14 and 1 to %d "
                       "dimensions are wanted first%s",
                       t.file, RT_MAX_RANK, t.size < 4 ? "; it is too short" : "");
    if (t.size < 4 + 4 * (size_t)b[3])
        return rt_fail(rt, RT_USAGE, "'%s': %d dimensions have %d bytes, the file holds %zu",
                       t.file, b[3], 4 * b[3], t.size - 4);
    t.type = (enum rt_type)type;
    t.big_endian = true;
    t.rank = b[3];
    for (int i = 0; i < t.rank; i++) {
        const unsigned char *d = b + 4 + 4 * i;
        t.dims[i] = (int64_t)d[0] << 24 | (int64_t)d[1] << 16 | (int64_t)d[2] << 8 | d[3];
    }
    t.bytes += 4 + 4 * t.rank;
    t.size -= 4 + 4 * (size_t)t.rank;
    return rt_table_rows(rt, &t, field, out);
}

/* Reads plain little-endian numbers of `type`. shape has 1 + (row's rank) dimensions; shape[0] -1:
 * as many rows as the file holds. */
RT_FN enum rt_status rt_raw_read(struct rt *rt, const struct rt_field *field, const char *set,
                                 const char *path, enum rt_type type, int rank,
                                 const int64_t *shape, struct rt_source *out) {
    struct rt_table t;
    enum rt_status s = rt_table_open(rt, set, path, &t, out);
    if (s)
        return s;
    int64_t row = (int64_t)rt_type_size(type);
    t.type = type;
    t.rank = rank;
    for (int i = 0; i < rank; i++) {
        t.dims[i] = shape[i];
        if (i && __builtin_mul_overflow(row, shape[i], &row))
            return rt_fail(rt, RT_USAGE, "'%s': a shape that no memory holds", t.file);
    }
    if (shape[0] < 0) {
        if (row <= 0 || t.size % (size_t)row)
            return rt_fail(rt, RT_USAGE, "'%s': %zu bytes are not whole rows of %lld", t.file,
                           t.size, (long long)row);
        t.dims[0] = (int64_t)(t.size / (size_t)row);
    }
    return rt_table_rows(rt, &t, field, out);
}

#endif
