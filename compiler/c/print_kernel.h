/* print_kernel.h: what the files that print kernels share. */
#ifndef NNC_C_PRINT_KERNEL_H
#define NNC_C_PRINT_KERNEL_H

#include "../emit.h"
#include "print.h"

/* What a buffer, local, loop variable, scalar, count or source is called in this function. */
typedef struct PrintName {
    const void *of;
    const char *name;
} PrintName;

/* A loop variable that stands for a number: an unrolled loop, the last vector of a lane loop. */
typedef struct PrintFixed {
    const LoopVar *var;
    int64_t value;
} PrintFixed;

typedef struct Printer {
    Emit e;
    Arena *arena;
    const Kernel *kernel;
    bool one;            /* f64 or i64: no lanes, one element after the other */
    const LoopVar *lane; /* the open lane loop, NULL: none */
    const char *lanes;   /* text of the number of lanes that count, NULL: all eight */
    int vector;          /* of four that are written out side by side */
    VEC(PrintName) names;
    VEC(PrintFixed) fixed;
} Printer;

#define print_text(p, ...) arena_printf((p)->arena, __VA_ARGS__)

const char *print_name(const Printer *p, const void *of);
const char *print_new_name(Printer *p, const void *of, const char *wanted);

/* A subscript with what is fixed put in; the lane variable stands for the first lane. */
const char *print_ix(Printer *p, const Ix *x);
const Ix *print_resolve(Printer *p, const Ix *x);
bool print_is_vector(const Printer *p, const Expr *e);
/* As a vector when `lanes`, else as one number. */
const char *print_expr(Printer *p, const Expr *e, bool lanes);
const char *print_constant(Printer *p, DType t, double value, bool lanes);
/* Joins two texts by an op of the table. */
const char *print_join(Printer *p, Op op, DType t, const char *x, const char *y, bool lanes);
/* buffer[sub] = value. */
void print_store(Printer *p, const Stmt *st);
/* An 8 x 8 block. */
void print_transpose(Printer *p, const Stmt *st);
/* local[sub] as an lvalue or value of its own element. */
const char *print_local(Printer *p, const Local *l, const Ix *const *sub);
bool print_subscripts_have_lane(const Printer *p, int n, const Ix *const *sub);
/* "8" or the number of lanes that count. */
const char *print_lanes(const Printer *p);

#endif
