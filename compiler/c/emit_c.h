/* emit_c.h: what the files that write the C output share.
 *
 * The output is templates/frame.c with its slots filled: fixed text comes from templates/ and
 * runtime/, all else from here. One file a part: emit_buffers (struct nn, accessors, the table of
 * values), emit_region (kernels, regions and their tables), emit_host (statements and expressions
 * of tasks), emit_data, emit_main (options, tasks).
 */
#ifndef NNC_EMIT_C_H
#define NNC_EMIT_C_H

#include "../link.h"
#include "../pass.h"
#include "print.h"

/* What has a number for replays, traces and files. Rows of nn_values: weights, what else outlives
 * a region, values of one region, scalars, counts; then one row for each family of values of one
 * region (with both targets then for those of the GPU), whose copies have numbers one after the
 * other. */
typedef struct Values {
    VEC(const Buffer *) buffers;
    VEC(const Family *) families;
    const int *number; /* by buffer id */
    int weights, scalars, counts, rows; /* the first that is none, first scalar, first count … */
    const bool *touched; /* by buffer id: by some kernel */
    int all;             /* the first number behind the families */
    VEC(const Buffer *) locals; /* with both targets, buffers of the GPU's regions: from `all` on */
} Values;

/* A row of nn_written: a value as the replay of a region finds it. */
typedef struct Written {
    int group, kernel, write; /* which of the kernel's writes; in a loop: of its first copy */
    const char *value;        /* of the first layer */
    int step;
} Written;

/* Kernels first … end - 1, the batches it reads. */
typedef struct RegionKernels {
    int first, end;
    bool parallel; /* some of them run on more than one thread */
    VEC(const Node *) batches;
} RegionKernels;

typedef struct CEmit {
    Compiler *c;
    Arena *arena;
    const Lowered *cpu, *gpu; /* NULL: the output has no kernels for it */
    const Lowered *l;         /* the one of the two by which values are numbered */
    const Program *p;
    Emit e;
    Link *link;
    Values values;
    const RegionKernels *regions; /* by id */
    const struct Layers *layers;  /* of the GPU's launches (cuda/layers.c) */
    VEC(Written) written;
    int groups; /* of them so far */
    VEC(const char *) records;   /* names of `record` */
    VEC(const char *) arguments; /* of exports, each name once */
    int most_taken;              /* cuda_most_taken */
    int temporaries;             /* names of locals made so far in the function */
} CEmit;

/* ---- emit_c.c ---- */
const char *c_where(const CEmit *x, Span s);        /* "digits.nn:14" */
const char *c_rt_type(DType t);                     /* "RT_F32" */
const char *c_dims(const CEmit *x, const Shape *s); /* "{64, 10}", "{0}" for rank 0 */

/* ---- emit_buffers.c ---- */
void c_number_values(CEmit *x);
int c_value_of_scalar(const CEmit *x, const Scalar *s);
int c_value_of_count(const CEmit *x, const Count *c);
const char *c_value_name(const CEmit *x, int value); /* VALUE_h1, SCALAR_lr, COUNT_rows */
const char *c_buffer_value(const CEmit *x, const Buffer *b); /* VALUE_h1, VALUE_block_w + 3 */
/* at_h1(nn), at_block_w(nn, 3); `at`: what the accessor's name begins with */
const char *c_at(const CEmit *x, const char *at, const Buffer *b);
/* "4096", of a family "4096 + i % 2 * 8192LL": where it lies, or copy i of it. */
const char *c_place_of(const CEmit *x, const Buffer *b);
Buffer *c_home_buffer(const CEmit *x, const Home *h);     /* never NULL */
Buffer *c_node_buffer(const CEmit *x, const Node *n);     /* never NULL */
const char *c_split_name(const CEmit *x, const Split *s); /* ROWS_digits_train */
void c_emit_sizes(CEmit *x);
void c_emit_given(CEmit *x); /* members for scalars and counts */
bool c_has_copies(const CEmit *x); /* values that share rows */
void c_emit_members(CEmit *x);
void c_emit_accessors(CEmit *x);
void c_emit_values(CEmit *x);

/* ---- emit_region.c ---- */
void c_emit_kernels(CEmit *x);
void c_emit_regions(CEmit *x);
void c_emit_region_tables(CEmit *x);
void c_collect_regions(CEmit *x);

/* ---- emit_run.c ---- */
/* Calls one after the other, some in a loop over the copies of a run. */
typedef struct RunLoop {
    CEmit *x;
    const Lowered *l;
    const char *at; /* what the names of accessors begin with: "at", "dev" */
    Names *tables;  /* of numbers, in this function */
    /* of the loop that is open, else copies == 0 */
    Run run;
    const char *var; /* the loop variable: lead + step * number of the copy */
    int lead, step;
    int kernel; /* that is being called, in the first copy */
} RunLoop;

RunLoop run_loop_new(CEmit *x, const Lowered *l, const char *at);
void run_loop_open(RunLoop *c, Run run);
void run_loop_close(RunLoop *c);
const char *run_loop_layer(const RunLoop *c); /* the loop variable; outside of loops "0" */
/* What a call of this kernel (in a loop: of the first copy) is handed. */
CallNames run_loop_names(RunLoop *c, int kernel);
/* A replay will look at what this kernel, the one called last, writes. */
void run_loop_note_written(RunLoop *c, const Kernel *k);

/* ---- emit_replay.c ---- */
/* A replay looks at what kernels before this one write. */
int c_replay_end(const Lowered *l, const RegionKernels *own);
/* Kernel i of a run (copies == 0: of none) writes over what nobody has looked at yet. */
bool c_needs_inspection(const CEmit *x, const Lowered *l, int i, Run run);
void c_add_written(CEmit *x, Written w);
/* The line that looks at what was added since the last one. */
void c_emit_inspection(CEmit *x, const char *layer);
void c_emit_written(CEmit *x);

/* ---- emit_host.c ---- */
void c_emit_block(CEmit *x, const HBlock *b);
void c_collect_records(CEmit *x);
const char *c_record_name(const CEmit *x, const char *name); /* RECORD_loss */
void c_emit_scalars(CEmit *x, const Region *r); /* what a region is given */
/* A function `RT_FN enum rt_status NAME(struct nn *nn)` around a block, which may be NULL. */
void c_emit_block_function(CEmit *x, const char *name, const HBlock *b);

/* ---- emit_expr.c ---- */
const char *c_expr(CEmit *x, const HExpr *h);
const char *c_condition(CEmit *x, const HExpr *h); /* without its outer parentheses */
/* Lines that put the text of a format, or the text of one value, into nn->text. */
void c_emit_format(CEmit *x, const Format *f, const char *after);
void c_emit_put(CEmit *x, const HExpr *h, const char *format);

/* ---- emit_data.c ---- */
void c_emit_data(CEmit *x);

/* ---- emit_export.c ---- */
void c_collect_arguments(CEmit *x);
int c_count_options(const CEmit *x);
/* A name that no option of the program has. */
const char *c_option_name(const CEmit *x, const char *wish, const char *else_add);
void c_emit_export_members(CEmit *x);
void c_emit_export_options(CEmit *x);
void c_emit_exports(CEmit *x);
bool c_export_needs_weights(const CEmit *x, const Export *e);

/* ---- emit_main.c ---- */
void c_emit_record_names(CEmit *x);
void c_emit_tasks(CEmit *x);
bool c_is_weight(const Buffer *b);

#endif
