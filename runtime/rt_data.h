/* rt_data.h: what a data set is made of: fields, the rows read for them, where files are, splits.
 *
 * The readers are in rt_csv.h and rt_npy.h. They turn a file into rows of the type that the
 * generated program keeps in memory, checked against the field's declaration, so that kernels can
 * trust them.
 */
#ifndef RT_DATA_H
#define RT_DATA_H

#include "rt_file.h"
#include "rt_rng.h"

/* A field as declared: what a source must hold. A const table in the generated file. */
struct rt_field {
    const char *name;  /* "digits.image" */
    enum rt_type type; /* as kept in memory */
    int rank;          /* of one row */
    int64_t dims[RT_MAX_RANK];
    const char *range_why; /* "digits.nn:31" when the values index something, else NULL */
    int64_t range;         /* then they must be 0 … range-1 */
};

/* The rows that were read. */
struct rt_source {
    const struct rt_field *field;
    char file[256]; /* for messages: the name without folders */
    enum rt_type type;
    int64_t rows, row_elements;
    void *data; /* [rows][row_elements]; rt_source_free releases it */
};

/* A selection of a source's rows: position p (0 <= p < count) is row rt_row(rows, p). */
struct rt_rows {
    const char *name; /* "digits.train" */
    int64_t total;    /* rows of the source */
    int64_t first, count;
    int64_t gap_at, gap; /* folds: positions from gap_at on are `gap` rows further */
    bool shuffled;
    uint64_t key;
};

/* A part of a split: the fraction amount/of, `of` a power of ten up to 10^9, or, where `of` is 0,
 * `amount` rows. One split has fractions only or rows only. */
struct rt_part {
    const char *name; /* "digits.train" */
    int64_t amount, of;
};

/* ---- fields -----------------------------------------------------------------------------------
 */

RT_FN int64_t rt_field_elements(const struct rt_field *f) {
    int64_t n = 1;
    for (int i = 0; i < f->rank; i++)
        n *= f->dims[i];
    return n;
}

/* "[8, 8, 1]", or "one number" for a row of rank 0. */
RT_FN const char *rt_shape_text(char *out, size_t room, int rank, const int64_t *dims) {
    size_t n = 0;
    if (rank == 0) {
        snprintf(out, room, "one number");
        return out;
    }
    for (int i = 0; i < rank && n < room; i++)
        n += (size_t)snprintf(out + n, room - n, "%s%lld", i ? ", " : "[", (long long)dims[i]);
    if (n < room)
        snprintf(out + n, room - n, "]");
    return out;
}

RT_FN void rt_source_free(struct rt *rt, struct rt_source *s) {
    rt->release(rt, s->data);
    s->data = NULL;
}

/* Takes memory for `rows` rows of the field. RT_ENV when there is none. */
RT_FN enum rt_status rt_source_begin(struct rt *rt, struct rt_source *s, const struct rt_field *f,
                                     const char *path, int64_t rows) {
    snprintf(s->file, sizeof s->file, "%.*s", (int)sizeof s->file - 1, rt_base_name(path));
    s->field = f;
    s->type = f->type;
    s->rows = rows;
    s->row_elements = rt_field_elements(f);
    int64_t row_bytes, bytes;
    s->data = NULL;
    if (!__builtin_mul_overflow(s->row_elements, (int64_t)rt_type_size(s->type), &row_bytes) &&
        !__builtin_mul_overflow(rows, row_bytes, &bytes) && bytes < (int64_t)(PTRDIFF_MAX - 64))
        s->data = rt->alloc(rt, (size_t)bytes + 64); /* kernels load whole vectors */
    if (!s->data)
        return rt_fail(rt, RT_ENV, "no memory for %lld rows of %s", (long long)rows, f->name);
    return RT_OK;
}

/* Is x a number as an f32 too, not one that becomes infinite? */
RT_INLINE bool rt_f32_holds(double x) {
    return fabs(x) < 3.4028235677973366e38;
}

/* Puts x as element i; false when the type cannot hold it (integers: not whole, or out of range).
 */
RT_FN bool rt_source_put(struct rt_source *s, int64_t i, double x) {
    static const double least[] = {0, 0, -2147483648.0, -9223372036854775808.0, 0, -128, -32768,
                                   0, 0};
    static const double past[] = {0,     0, 2147483648.0, 9223372036854775808.0, 256, 128, 32768,
                                  65536, 2};
    if (s->type == RT_F32) {
        ((float *)s->data)[i] = (float)x;
        return true;
    }
    if (s->type == RT_F64) {
        ((double *)s->data)[i] = x;
        return true;
    }
    if (!(x >= least[s->type] && x < past[s->type]) || x != floor(x))
        return false;
    int64_t k = (int64_t)x;
    if (s->type == RT_I32)
        ((int32_t *)s->data)[i] = (int32_t)k;
    else if (s->type == RT_I64)
        ((int64_t *)s->data)[i] = k;
    else if (rt_type_size(s->type) == 2)
        ((uint16_t *)s->data)[i] = (uint16_t)k;
    else
        ((uint8_t *)s->data)[i] = (uint8_t)k;
    return true;
}

/* May the program index with x? */
RT_FN bool rt_field_takes(const struct rt_field *f, int64_t x) {
    return !f->range_why || (x >= 0 && x < f->range);
}

/* "row 4", in a table of wider rows "row 4, element 7": where element i of a table without lines
 * is, both counted from 0 as the tools count that write such tables. */
RT_FN const char *rt_place_text(char *out, size_t room, const struct rt_source *s, int64_t i) {
    int n = snprintf(out, room, "row %lld", (long long)(i / s->row_elements));
    if (s->row_elements > 1 && n > 0 && (size_t)n < room)
        snprintf(out + n, room - (size_t)n, ", element %lld", (long long)(i % s->row_elements));
    return out;
}

/* RT_USAGE when a value lies outside the range that the program indexes with. */
RT_FN enum rt_status rt_source_range(struct rt *rt, const struct rt_source *s) {
    const struct rt_field *f = s->field;
    char place[80];
    if (!f->range_why || rt_type_is_real(s->type))
        return RT_OK;
    int64_t n = s->rows * s->row_elements;
    for (int64_t i = 0; i < n; i++) {
        int64_t x = rt_int_at(s->data, s->type, i);
        if (!rt_field_takes(f, x))
            return rt_fail(rt, RT_USAGE,
                           "'%s': %s (from 0) is %lld: %s must be 0..%lld, because of %s", s->file,
                           rt_place_text(place, sizeof place, s, i), (long long)x, f->name,
                           (long long)f->range - 1, f->range_why);
    }
    return RT_OK;
}

/* ---- where files are --------------------------------------------------------------------------
 */

RT_FN bool rt_is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Where the file `path` of data set `set` is: by the last --data that speaks of it. NAME=PATH,
 * where NAME is the data set or the file's name, gives the file or its folder; DIR is the folder of
 * all files; without any, `path` is relative to the current folder. RT_USAGE when the name is too
 * long. */
RT_FN enum rt_status rt_data_path(struct rt *rt, const char *set, const char *path, char *out,
                                  size_t room) {
    const char *base = rt_base_name(path);
    const struct rt_pair *found = NULL;
    for (int i = 0; i < rt->data_paths; i++) {
        const struct rt_pair *p = &rt->data_path[i];
        bool mine = !p->name ||
                    (strlen(set) == p->name_size && !memcmp(p->name, set, p->name_size)) ||
                    (strlen(base) == p->name_size && !memcmp(p->name, base, p->name_size));
        if (mine && (p->name || !found || !found->name))
            found = p;
    }
    int n;
    if (!found || path[0] == '/')
        n = snprintf(out, room, "%s", path);
    else if (found->name && !rt_is_folder(found->path))
        n = snprintf(out, room, "%s", found->path);
    else
        n = snprintf(out, room, "%s/%s", found->path, path);
    if (n < 0 || (size_t)n >= room)
        return rt_fail(rt, RT_USAGE, "the path of '%s' is too long", base);
    return RT_OK;
}

/* ---- sections and splits ----------------------------------------------------------------------
 */

/* The section that n fields make. All must have the same number of rows, and no more than an int32
 * can count. */
RT_FN enum rt_status rt_section(struct rt *rt, const char *name,
                                const struct rt_source *const *fields, int n, struct rt_rows *out) {
    memset(out, 0, sizeof *out);
    out->name = name;
    out->total = out->count = out->gap_at = fields[0]->rows;
    for (int i = 0; i < n; i++) {
        if (fields[i]->rows != out->total)
            return rt_fail(rt, RT_USAGE, "%s: %s has %lld rows (%s), %s has %lld (%s)", name,
                           fields[0]->field->name, (long long)out->total, fields[0]->file,
                           fields[i]->field->name, (long long)fields[i]->rows, fields[i]->file);
    }
    if (out->total == 0)
        return rt_fail(rt, RT_USAGE, "%s has no rows: '%s' is empty", name, fields[0]->file);
    if (out->total >= INT32_MAX)
        return rt_fail(rt, RT_USAGE, "%s has %lld rows: more than 2^31-1 are not supported", name,
                       (long long)out->total);
    return RT_OK;
}

/* The rows that the program declares at `where`. */
RT_FN enum rt_status rt_rows_are(struct rt *rt, const struct rt_rows *all, int64_t want,
                                 const char *where) {
    if (all->total == want)
        return RT_OK;
    return rt_fail(rt, RT_USAGE, "%s has %lld rows, %s declares %lld", all->name,
                   (long long)all->total, where, (long long)want);
}

RT_FN void rt_shuffle_rows(struct rt *rt, struct rt_rows *rows, bool in_order, uint32_t place) {
    struct rt_place at = {rt->seed, 0, 0, place};
    rows->shuffled = !in_order;
    rows->key = in_order ? 0 : rt_key(&at);
}

/* Part k takes positions floor(n*(f1+…+fk-1)) … floor(n*(f1+…+fk))-1 of the n rows, shuffled by
 * the seed or in file order. The sum is exact: 0.7, 0.2 and 0.1 lose no row. */
RT_FN enum rt_status rt_split(struct rt *rt, const struct rt_rows *all, bool in_order,
                              uint32_t place, const struct rt_part *parts, int n,
                              struct rt_rows *out) {
    const int64_t unit = 1000000000;
    int64_t sum = 0, from = 0;
    for (int k = 0; k < n; k++) {
        bool rows = parts[k].of == 0;
        sum += rows ? parts[k].amount : parts[k].amount * (unit / parts[k].of);
        int64_t to = rows ? sum : all->count / unit * sum + all->count % unit * sum / unit;
        if (to > all->count)
            return rt_fail(rt, RT_USAGE, "the split of %s wants %lld rows up to %s; it has %lld",
                           all->name, (long long)to, parts[k].name, (long long)all->count);
        out[k] = *all;
        out[k].name = parts[k].name;
        out[k].first = from;
        out[k].count = out[k].gap_at = to - from;
        rt_shuffle_rows(rt, &out[k], in_order, place);
        from = to;
    }
    return RT_OK;
}

/* Fold k of n (0 <= k < n): test is positions floor(rows*k/n) … floor(rows*(k+1)/n)-1, train the
 * rest. */
RT_FN enum rt_status rt_fold(struct rt *rt, const struct rt_rows *all, bool in_order,
                             uint32_t place, int k, int n, struct rt_rows *train,
                             struct rt_rows *test) {
    int64_t lo = all->count * k / n, hi = all->count * (k + 1) / n;
    *train = *test = *all;
    if (all->count < n)
        return rt_fail(rt, RT_USAGE, "%s has %lld rows, too few for %d folds", all->name,
                       (long long)all->count, n);
    test->first = lo;
    test->count = test->gap_at = hi - lo;
    train->count = all->count - (hi - lo);
    train->gap_at = lo;
    train->gap = hi - lo;
    rt_shuffle_rows(rt, train, in_order, place);
    rt_shuffle_rows(rt, test, in_order, place);
    return RT_OK;
}

/* The row of the source at a position, 0 <= position < count. */
RT_BOTH RT_HOT int64_t rt_row(const struct rt_rows *rows, int64_t position) {
    int64_t at = rows->first + position + (position >= rows->gap_at ? rows->gap : 0);
    return rows->shuffled ? (int64_t)rt_permute((uint64_t)at, (uint64_t)rows->total, rows->key)
                          : at;
}

RT_FN double rt_source_at(const struct rt_source *s, int64_t i) {
    return rt_type_is_real(s->type) ? rt_real_at(s->data, s->type, i)
                                    : (double)rt_int_at(s->data, s->type, i);
}

/* The mean of each element over the rows, and 1/deviation (over n, not n-1), 1 where all are equal:
 * standardized is (x - mean) * scale. f64 sums in row order; two passes. Both arrays hold
 * row_elements floats. */
RT_FN void rt_standardize(const struct rt_source *s, const struct rt_rows *rows, float *mean,
                          float *scale) {
    for (int64_t c = 0; c < s->row_elements; c++) {
        double sum = 0, squares = 0, n = (double)rows->count;
        for (int64_t p = 0; p < rows->count; p++)
            sum += rt_source_at(s, rt_row(rows, p) * s->row_elements + c);
        double m = rows->count ? sum / n : 0;
        for (int64_t p = 0; p < rows->count; p++) {
            double d = rt_source_at(s, rt_row(rows, p) * s->row_elements + c) - m;
            squares += d * d;
        }
        double deviation = rows->count ? sqrt(squares / n) : 0;
        mean[c] = (float)m;
        /* A column of equal numbers may keep a little rounding noise. */
        scale[c] = deviation > 1e-12 * fabs(m) ? (float)(1 / deviation) : 1.0f;
    }
}

#endif
