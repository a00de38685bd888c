/* pass.h: the compiler's state and the table of passes. */
#ifndef NNC_PASS_H
#define NNC_PASS_H

#include "lower.h"

typedef struct Settings {
    const char *input, *output;
    const char *target; /* "c", "cuda", "cuda,c", "ref" */
    bool real64;        /* --real f64 */
    const char *dump, *stop_after;
    const char *cpu;
    const char *mutate; /* tests only: name of a deliberate fault, NULL: none */
    int ndefines;
    const char **defines; /* "hidden=256" */
} Settings;

typedef struct Target Target; /* target.h */

typedef struct Compiler {
    Arena *arena;
    Interner *names;
    Diag *diag;
    Settings settings;
    Program *program;
    Lowered *lowered;      /* what the passes work on */
    Lowered *cpu, *gpu;    /* what is emitted, by target; NULL: not wanted */
    struct Fusion *fusion; /* groups, between fuse and schedule (schedule.h) */
    int lost;              /* why standard output has not taken a dump (errno), or 0 */
    const Target *target;  /* for which fuse … plan work now; NULL: c */
} Compiler;

typedef struct Pass {
    const char *name;
    void (*run)(Compiler *c);
    const char *gives;
} Pass;

/* Graph passes rewrite c->program->graph; the others fill c->lowered. */
void simplify(Compiler *c); /* folding, common subexpressions, dead code, movement ops */
void ranges(Compiler *c);   /* index ranges proved back to data fields */
void products(Compiler *c); /* sums of products become one op */
void fuse(Compiler *c);     /* groups */
void layout(Compiler *c);
void schedule(Compiler *c); /* groups -> kernels in order */
void plan(Compiler *c);     /* offsets, barriers */
/* Independent check of plan; returns NULL or what is wrong. */
const char *plan_check(const Lowered *l);

/* The whole output file. */
const char *emit_c(Compiler *c);

#endif
