/* program.h: what a .nn file means: host statements around regions of tensor graph.
 *
 * build makes it; passes rewrite the graph and add side tables; a target's emit turns it into text.
 * Host scalars (options, loop counters, host variables) are HExpr trees evaluated by host code;
 * tensors are Nodes. A host statement that needs a tensor's value reads an output of an earlier
 * region.
 */
#ifndef NNC_PROGRAM_H
#define NNC_PROGRAM_H

#include "ir.h"

/* ---- storage that outlives a region ---- */

typedef enum HomeKind {
    HOME_PARAM, /* trained; in checkpoints, `each`, gradients */
    HOME_STATE, /* kept, not trained: running statistics */
    HOME_OPT,   /* state of an optimizer (m, v, step) */
    HOME_VAR,   /* a tensor `var` of a task, accumulators of `mean for` */
    HOME_CONST, /* a top-level tensor `let`, statistics of standardize: computed at start */
    HOME_INDEX, /* i32 [B]: the source rows of the current batch; written by the host loop */
    HOME_ARG    /* argument of an export */
} HomeKind;

/* A part of the path to a home: net, block[2]. */
typedef struct PathStep {
    const char *name;
    int place; /* among those of this name; -1: it is the only one */
} PathStep;

struct Home {
    int id;
    HomeKind kind;
    const char *name; /* "w" */
    const char *path; /* key in files: "net.linear[0].w"; unique */
    VEC(PathStep) steps; /* the model and the layers it lies in; HOME_OPT: the optimizer */
    DType dtype;
    Shape shape;
    Span span;
    Home *of;     /* HOME_OPT: the parameter it belongs to */
    int model;    /* index in Program.models for params and states of a model, else -1 */
    bool trained; /* some task changes it */
};

/* ---- host expressions ---- */

typedef enum HType {
    HT_INT,
    HT_REAL,
    HT_BOOL,
    HT_STRING
} HType; /* int64_t, double, bool, const char * */

typedef struct Option {
    const char *name, *help;
    HType type;
    int64_t i; /* default: int, bool */
    double f;  /* real */
    const char *s;
    Span span;
    bool used;
} Option;

typedef struct HostVar { /* a scalar `var` or loop variable of a task; the member of struct nn that
                            holds it */
    int id;
    const char *name; /* C identifier, unique in the program */
    HType type;
    bool fixed; /* set once: holds the value of a `let` */
} HostVar;

typedef enum HKind {
    HX_CONST,
    HX_OPTION,
    HX_VAR,
    HX_NODE,  /* value of a scalar node of an earlier region (waits for the device) */
    HX_HOME,  /* value of a scalar home now (waits for the device) */
    HX_ROWS,  /* rows of a split: int */
    HX_OP,    /* an op of the table on 1..3 arguments: add sub mul div (real) floordiv mod neg
                 comparisons and or not minimum maximum pow exp log sqrt sin cos tan abs floor ceil
                 round where cast(int->real, real->int) */
    HX_FORMAT /* text made of parts: string */
} HKind;

typedef struct HExpr HExpr;
typedef struct TextPart { /* literal text when value and tensor are NULL */
    const char *text;
    HExpr *value;
    Node *tensor;       /* printed as NumPy does */
    const char *format; /* after the colon, NULL: default */
} TextPart;
typedef struct Format {
    int n;
    TextPart *parts;
} Format;

struct HExpr {
    const char *name; /* HX_OP: that the program gives it first, or NULL */
    HKind kind;
    HType type;
    Op op; /* with a text s, the word of a statement: mod is its turn, every n >= 1 rounds; abs a
              number that it takes only above 0 */
    int nargs;
    HExpr *args[3];
    int64_t i;
    double f;
    const char *s;
    Option *option;
    HostVar *var;
    Node *node;
    Home *home;
    struct Split *split;
    Format *format;
    Span span;
};

/* A host value handed to a region: evaluated when the region starts, stored in the scalar block. */
struct Scalar {
    int id;
    const char *name;   /* C identifier, unique among scalars */
    const char *called; /* what messages call it */
    DType dtype;      /* the program's float, i32 or bool */
    HExpr *value;
    Region *region;
    Span span; /* where the program first uses it so */
};

/* ---- data ---- */

typedef enum SourceKind { SRC_CSV, SRC_IDX, SRC_NPY, SRC_RAW, SRC_TENSOR } SourceKind;

typedef struct DataSet DataSet;

/* One source of a field: rows of equal shape kept in memory in their stored type. */
struct DataSource {
    int id;
    SourceKind kind;
    const char *name; /* "digits.image": for messages */
    const char *path;
    DataSet *set;
    int section, field;
    DType dtype; /* stored type */
    Shape row;   /* shape of one row */
    int64_t row_elements;
    /* csv */
    int ncolumns;
    int64_t *columns;          /* indices, -1 where the name counts */
    const char **column_names; /* NULL where the index counts */
    int header;                /* -1: look, 0, 1 */
    int64_t skip;
    char separator;
    bool has_missing;
    double missing;
    int nclasses;
    const char **classes;
    /* a tensor expression: rows are rows of this home, computed by the prologue */
    Home *tensor;
    int64_t rows; /* of the tensor */
    /* Proved by ranges: indices must lie in 0..limit-1 (0: no limit), because of this place. */
    int64_t limit;
    Span limit_span;
    Span span;
    bool used; /* some task reads it */
};

typedef struct Section { /* all { … }, train { … } */
    const char *name;
    int nsources;
    DataSource **sources;
} Section;

/* What `batches` walks: a whole section, a part of a split, or one side of a fold. */
typedef struct Split {
    int id;
    const char *name; /* "digits.train", "digits.fold[2].test" */
    DataSet *set;
    int section;
    int group, part; /* index in set->groups and of the part in it; group -1: the whole section in
                        file order */
    int64_t amount, of; /* part: the fraction amount/of of the rows; of == 0: amount rows */
    bool fold_test;     /* fold groups: part k is fold k; the test side or the rest */
    bool used;
    Span span;
} Split;

/* One `split` of a section: its parts in order, or a number of folds. */
typedef struct SplitGroup {
    int section;
    bool in_order; /* else shuffled by the seed */
    int64_t folds; /* 0: parts */
    int nparts;
    Split **parts;
} SplitGroup;

typedef struct HBlock HBlock;

struct DataSet {
    int id;
    const char *name;
    int nfields;
    const char **fields;
    int nsections;
    Section *sections;
    int ngroups;
    SplitGroup *groups;
    HBlock *prologue; /* standardize: runs after the files are read, before a task that uses the
                         set; may be empty */
    int64_t rows; /* declared for every section, 0: whatever the files hold */
    Span rows_span;
    bool used;
    Span span;
};

/* `for … in set.split.batches(size, …)`; the index home is filled by the host before each round */
/* host_range.c: can a whole number that h computes have more than 64 bits; can computing h stop the
 * run, by that or by a division by zero? */
bool host_may_overflow(const HExpr *h);
bool host_may_stop(const HExpr *h);

typedef struct BatchLoop {
    int id;
    Split *split;
    int64_t size;
    bool shuffle, keep_last;
    HExpr *steps; /* NULL: one epoch */
    Home *index;
    const Count *count; /* with keep_last and only where a smaller last batch may come; else NULL */
} BatchLoop;

/* ---- regions ---- */

typedef struct Write {
    Home *home;
    Node *value;
} Write;

struct Region {
    int id;
    const char *name;    /* C identifier: "train_step" */
    const char *word;    /* tells its values from those of another region: "valid" */
    VEC(Write) writes;   /* one per home: the version the region leaves behind */
    VEC(Node *) outputs; /* read by host statements or by other regions */
    bool used;
    struct Task *task; /* NULL: start, prologues, exports */
    Span span;
};

/* ---- host statements ---- */

typedef enum HStmtKind {
    HS_REGION,  /* region */
    HS_SET,     /* var = value */
    HS_FOR,     /* var from value to limit (exclusive), or downwards when reverse: body */
    HS_BATCHES, /* loops (several: zip), body */
    HS_WHILE,   /* cond block (regions that compute it), value, body */
    HS_IF,      /* value, body, other */
    HS_BREAK,
    HS_CONTINUE,
    HS_PRINT,  /* format; newline says whether a line ends; warning: to standard error */
    HS_RECORD, /* name, value: pairs in parts */
    HS_SAVE,   /* homes, path (string expression) */
    HS_LOAD,
    HS_EXPECT /* value (bool), format text; left, right: sides of a comparison for the message, or
                 NULL */
} HStmtKind;

typedef struct HStmt HStmt;
struct HBlock {
    VEC(HStmt *) stmts;
};

struct HStmt {
    HStmtKind kind;
    Span span;
    Region *region;
    HostVar *var;
    HExpr *value, *limit;
    HExpr *left, *right;
    const char *prefix;   /* load: keys outside of it belong to others: "net" */
    const char *relation; /* expect: ">=", for the message; NULL: no comparison */
    bool reverse, newline, warning;
    HBlock *cond, *body, *other;
    int nloops;
    BatchLoop **loops;
    Format *format;
    int nhomes;
    Home **homes;
    HStmt *loop; /* break, continue: the loop they belong to */
};

typedef struct Task {
    const char *name;
    HBlock *body;
    bool training;
    bool needs_weights; /* uses trained parameters without training or loading them */
    VEC(DataSet *) sets;
    Span span;
} Task;

typedef struct Export {
    const char *name;
    int nargs;
    Home **args;
    const Count *rows;     /* the free dimension, or NULL */
    const char *rows_name; /* as the user calls it */
    Region *region;
    int noutputs;
    Node **outputs;
    Span span;
} Export;

typedef struct ModelInfo {
    const char *name;
    Span span;
} ModelInfo;

typedef struct Program {
    Arena *arena;
    Diag *diag;
    const char *name; /* base name of the file without .nn: "digits" */
    const char *file; /* base name: "digits.nn" */
    VEC(const char *) constants; /* "hidden = 256", in the order of use */
    Graph *graph;
    VEC(Home *) homes;
    VEC(Region *) regions;
    VEC(Scalar *) scalars;
    VEC(Count *) counts;
    VEC(Option *) options;
    VEC(HostVar *) vars;
    VEC(DataSet *) sets;
    VEC(DataSource *) sources;
    VEC(Split *) splits;
    VEC(BatchLoop *) loops;
    VEC(Task *) tasks;
    VEC(Export *) exports;
    VEC(ModelInfo) models;
    HBlock *start; /* run once before any task: fills params, states, constants */
    bool uses_gz;
} Program;

/* The names that --data takes: data sets, then their files; NULL ends. */
const char *const *program_data_names(Arena *a, const Program *p);
/* Paths that the block is sure to save to and that are known before it runs: no statement under an
 * `if`, no path that is put together. */
typedef VEC(const HExpr *) SavePaths;
void program_save_paths(Arena *a, const HBlock *b, SavePaths *out);

#endif
