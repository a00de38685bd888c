/* ref.h: a program run by the oracle: `nnc run --target ref`, and the lock-step comparison.
 *
 * Host statements are walked, regions evaluated node by node (ir.h, interp_*) from what the homes
 * hold. Slow, clear, and independent of every pass: what a trainer does is compared with it. Data
 * files, splits, shuffles, formats and the command line are the trainers' own runtime, which only
 * ref_data.c includes.
 */
#ifndef NNC_REF_H
#define NNC_REF_H

#include "pass.h"

/* A host value; the type of its expression says which member holds it. */
typedef struct HValue {
    int64_t i;
    double f;
    bool b;
    const char *s;
} HValue;

/* Exit codes of a trainer. */
enum { REF_OK, REF_USAGE, REF_ENVIRONMENT, REF_DIVERGED, REF_EXPECT };

typedef struct RefData RefData;

typedef struct Ref {
    const Compiler *c;
    const Program *p;
    Arena *arena;
    Interp *interp;
    InterpEnv env;
    Tensor **home; /* by id: what it holds; room for the bounds, shape of this moment */
    Tensor **kept; /* by node id: outputs of the regions that ran; NULL: not yet */
    double *scalar;
    int64_t *count;
    HValue *option, *var; /* in order of the program's options; by id */
    int64_t *runs;        /* of each region */
    RefData *data;
    int status; /* why the run stopped, or that an `expect` failed */
    const char *message; /* for the end of the run, or NULL */
} Ref;

/* ---- ref.c: regions ---- */

/* A program before its first statement. single: real numbers are rounded to f32. */
Ref *ref_new(Arena *a, const Compiler *c, bool single);
/* Evaluates outputs and writes from the homes' contents, then makes all writes at once. false: a
 * loss was not finite or an index out of range; the message is left and r->status set. */
bool ref_region(Ref *r, const Region *region);
/* Zeros, with room for the bounds. */
Tensor *ref_tensor_new(Arena *a, const Shape *bounds);
/* Copies values into a tensor with room for them. */
void ref_store(Tensor *to, const Tensor *from);
/* Leaves the exit code and the first message for the end of the run; gives false. */
bool ref_fail(Ref *r, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* "digits.nn:14" */
const char *ref_where(const Ref *r, Span at);
/* A whole run with a trainer's arguments (argv[0] is the program's name); its exit code. */
int ref_run(Compiler *c, bool single, int argc, char **argv);

/* ---- ref_host.c: statements and expressions ---- */

HValue ref_value(Ref *r, const HExpr *h);
/* The value of a node that the host reads: an output of a region that ran, or a leaf. */
const Tensor *ref_node(Ref *r, const Node *n);
/* false: the run stops with r->status. */
bool ref_block(Ref *r, const HBlock *b);

/* ---- ref_data.c: the runtime ---- */

/* What the option of this name does in every trainer (names with _ or -); NULL: there is none. */
const char *ref_common_option(const char *name);

RefData *ref_data_new(Ref *r);
/* Options into r->option, the task; *stop: help was printed and nothing is to be done. */
bool ref_data_command_line(Ref *r, int argc, char **argv, const Task **task, bool *stop);
bool ref_data_load(Ref *r, const DataSet *set);
/* --load FILE and --untrained. */
bool ref_data_weights(Ref *r, const Task *t);
int64_t ref_data_rows(const Ref *r, const Split *s);
void ref_data_row(void *ref, const DataSource *s, int64_t row, double *out);
bool ref_data_batches_start(Ref *r, const BatchLoop *loop, int64_t steps);
/* The next rows into the loop's index home, their number into its count; false at the end. */
bool ref_data_batches_next(Ref *r, const BatchLoop *loop);
bool ref_data_can_save(Ref *r, const char *path); /* looked at before a task begins */
bool ref_data_store(Ref *r, const HStmt *s, const char *path); /* HS_SAVE, HS_LOAD */

/* The text being made; ref_data_text gives it and starts a new one. */
void ref_put_text(Ref *r, const char *s);
void ref_put_value(Ref *r, HType type, HValue v, bool is_f32, const char *format);
void ref_put_tensor(Ref *r, const Tensor *t, DType type, const char *format);
const char *ref_take_text(Ref *r);
void ref_print(Ref *r); /* the text to standard output */
void ref_warn(Ref *r);  /* to standard error */

/* ---- trace.c: files that a trainer wrote with --trace ---- */

typedef struct Trace { /* the tensors of one safetensors file */
    int n;
    const char **keys;
    Tensor *tensors;
} Trace;

/* REF_OK; else *why says what is wrong: REF_ENVIRONMENT: it cannot be read; REF_USAGE: it is no
 * whole safetensors file. */
int trace_read(Arena *a, const char *path, Trace *out, const char **why);
/* NULL: it is not there. */
const Tensor *trace_find(const Trace *t, const char *key);

/* ---- lockstep.c ---- */

/* Compares every execution of a region that a trainer wrote with --trace to `folder` with the
 * oracle in f64 and f32, run from the same state; prints a line each to `out`. c has been through
 * all passes; the oracle evaluates the graph as it was before them. Exit code 1 when a value is
 * further off than rounding explains, 2 when a file cannot be read or there is none. */
int lockstep(const Compiler *c, const char *folder, uint64_t seed, FILE *out);

#endif
