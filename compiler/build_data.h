/* build_data.h: data declarations, their fields and the loops over them. */
#ifndef NNC_BUILD_DATA_H
#define NNC_BUILD_DATA_H

#include "build.h"

/* One field of one section, seen through the batches of one loop. */
typedef struct FieldUse {
    DataSet *set;
    int section, field;
    Home *index;
    Dim batch;
    Node *made; /* its value in the region it was made in */
    Region *region;
} FieldUse;

/* All rows of a split as one tensor, filled when the set is read. */
typedef struct Whole {
    const Split *split;
    int field;
    Home *home;
} Whole;

/* What build knows of a data set beyond Program's view. */
typedef struct DataInfo {
    DataSet *set;
    Ast *decl;
    Env *env;
    VEC(Split *) splits;
    VEC(DataSource *) sources;
    VEC(const Ast *) calls; /* the call that each source was made from */
    Home **mean, **scale;   /* by field: standardize; NULL: not */
    VEC(Whole) wholes;
} DataInfo;

DataInfo *data_info(Build *b, const DataSet *set);

/* ---- build_data.c ---- */
void build_data(Build *b, Env *env, Ast *decl, DataSet **out);
Value data_field(Build *b, Value base, const char *name, Span at); /* .train .rows .all.image */
Value data_fold(Build *b, Env *env, Value data, Ast *call);
bool data_is_source(const Ast *call); /* csv(…), idx(…) … */
Value data_source(Build *b, Env *env, Ast *call);
Value data_zip(Build *b, Env *env, Ast *call);
Split *data_split(Build *b, const DataSet *set, const char *name); /* NULL: none of this name */
FieldUse *data_loops(Build *b, const BatchesValue *v, HStmt *stmt, int field, Span at);
void data_use(Build *b, DataSet *set);
Value data_batches(Build *b, Env *env, Value split, Ast *call);
/* Binds the fields of a batch loop's pattern in env; fills the loops of the statement. */
void data_bind(Build *b, Env *env, BatchesValue *v, Ast *loop, HStmt *stmt);
Value field_value(Build *b, FieldUse *f, Span at);

/* ---- build_source.c ---- */
/* The arguments that a call of data takes. */
typedef struct DataArguments {
    const char *callee;
    const char *const *names; /* NULL ends */
    uint32_t given;           /* bit i: names[i] */
} DataArguments;

/* Its index among the names; -1, after an error, when there is none or it was given before. To be
 * asked before the value is built: that may be a slip of another kind. */
int data_argument(Build *b, DataArguments *all, const char *name, Span at);
bool data_has_source(Ast *e);
/* The source made from `call` for this field, NULL: none yet. */
DataSource *data_source_of(const DataInfo *info, const Ast *call, const FieldUse *f);
Shape field_row(Build *b, const FieldUse *f);  /* declared shape of a row */
DType field_type(Build *b, const FieldUse *f); /* declared element type */

/* ---- build_field.c ---- */
Ast *field_expr(const DataInfo *info, int section, const char *field);
Node *field_raw(Build *b, DataInfo *info,
                FieldUse *f); /* before it is standardized; NULL after an error */
Home *field_whole(Build *b, DataInfo *info, Split *split, int field, int64_t rows, Span at);
void field_standardize(Build *b, DataInfo *info, int field, Split *split, Span at);

/* What the split is called in its data set, as a C identifier: train, fold_2_test. */
const char *split_word(Build *b, const Split *s);

#endif
