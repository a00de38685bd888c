/* rt_data.h: what a data set is made of: fields, sources, paths, splits. */
#ifndef RT_DATA_H
#define RT_DATA_H
#include "rt_file.h"
#include "rt_rng.h"

enum { RT_MAX_RANK = 8 };

/* A field as declared: what a source must hold. A const table in the generated file. */
struct rt_field {
    const char *name;    /* "digits.image" */
    enum rt_type type;   /* as stored in memory: RT_F32, RT_F64, RT_I32, RT_I64, RT_U8 … */
    int rank;            /* of one row */
    int64_t dims[RT_MAX_RANK];
    const char *range_why; /* "digits.nn:31" when the values index something, else NULL */
    int64_t range;       /* then they must be 0 … range-1 */
};

/* The rows that were read: data[rows][row_elements] of `type`. */
struct rt_source {
    const struct rt_field *field;
    const char *file; /* for messages: the path without folders */
    enum rt_type type;
    int64_t rows, row_elements;
    void *data; /* from rt->alloc; free with rt_source_free */
};
RT_FN void rt_source_free(struct rt *rt, struct rt_source *s);

/* Where a file of data set `set` is: --data set=PATH, --data DIR, else the path itself. */
RT_FN enum rt_status rt_data_path(struct rt *rt, const char *set, const char *path, char *out,
                                  size_t room);

/* ---- csv: rt_csv.h ---- */
/* Columns `first` … `first+count-1`, or the one called `name` (then the numbers are not used).
 * count -1: to the last column of the file. */
struct rt_column {
    const char *name;
    int32_t first, count;
};
enum rt_header { RT_HEADER_AUTO, RT_HEADER_YES, RT_HEADER_NO };
struct rt_csv {
    const char *set;  /* data set, for --data */
    const char *path;
    const struct rt_column *columns;
    int n_columns;
    enum rt_header header;
    int64_t skip;     /* lines before the header or the first row */
    char separator;
    bool has_missing;
    double missing;   /* taken for an empty cell */
    const char *const *classes; /* NULL, or names: cell -> its number */
    int n_classes;
};
RT_FN enum rt_status rt_csv_read(struct rt *rt, const struct rt_field *field,
                                 const struct rt_csv *csv, struct rt_source *out);

/* ---- npy, raw, idx: rt_npy.h ---- */
RT_FN enum rt_status rt_npy_read(struct rt *rt, const struct rt_field *field, const char *set,
                                 const char *path, struct rt_source *out);
RT_FN enum rt_status rt_idx_read(struct rt *rt, const struct rt_field *field, const char *set,
                                 const char *path, struct rt_source *out);
/* shape[0] may be -1: as many rows as the file holds. shape has rank 1 + that of the field's row. */
RT_FN enum rt_status rt_raw_read(struct rt *rt, const struct rt_field *field, const char *set,
                                 const char *path, enum rt_type type, int rank,
                                 const int64_t *shape, struct rt_source *out);

/* ---- splits ---- */
/* A selection of the source's rows: position p is row rt_row(rows, p). */
struct rt_rows {
    const char *name;  /* "digits.train" */
    int64_t total;     /* rows of the source */
    int64_t first, count;
    int64_t gap_at, gap; /* folds: positions from gap_at on are `gap` rows further */
    bool shuffled;
    uint64_t key;
};
struct rt_part {
    const char *name;   /* "digits.train" */
    int64_t amount, of; /* fraction amount/of, a decimal; of == 0: amount rows */
};
/* All fields of one section must have the same rows: checks that and gives the section as rows. */
RT_FN enum rt_status rt_section(struct rt *rt, const char *name, const struct rt_source *const *fields,
                                int n, struct rt_rows *out);
/* Part k takes positions floor(n*(f1+…+fk-1)) … floor(n*(f1+…+fk))-1 of `all`, in the order that the
 * seed shuffles, or in file order. */
RT_FN enum rt_status rt_split(struct rt *rt, const struct rt_rows *all, bool in_order, uint32_t place,
                              const struct rt_part *parts, int n, struct rt_rows *out);
/* Fold k of n: test is floor(rows*k/n) … floor(rows*(k+1)/n)-1, train the rest. */
RT_FN enum rt_status rt_fold(struct rt *rt, const struct rt_rows *all, bool in_order, uint32_t place,
                             int k, int n, struct rt_rows *train, struct rt_rows *test);
RT_FN int64_t rt_row(const struct rt_rows *rows, int64_t position);
/* Mean and 1/deviation (over n) of each element of the row, in f64 over the rows; 1 where all are
 * equal. mean and scale hold row_elements floats. */
RT_FN void rt_standardize(const struct rt_source *s, const struct rt_rows *rows, float *mean,
                          float *scale);

/* ---- batches: rt_batch.h ---- */
struct rt_batches {
    const struct rt_rows *rows;
    int64_t batch, steps; /* steps 0: one epoch */
    bool shuffle, drop;
    struct rt_place at;   /* place of the loop and how often it was entered */
    int64_t round;        /* batches given so far: with the entry count, the whole state */
    int64_t rounds;       /* batches in all */
};
RT_FN enum rt_status rt_batches_start(struct rt *rt, struct rt_batches *b, const struct rt_rows *rows,
                                      int64_t batch, bool shuffle, bool drop, int64_t steps,
                                      uint32_t place, uint32_t entry);
/* Fills index[0 … *count-1] with source rows (*count <= batch); false when there are no more. */
RT_FN bool rt_batches_next(struct rt_batches *b, int32_t *index, int64_t *count);
#endif
