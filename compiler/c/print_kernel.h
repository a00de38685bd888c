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

/* A loop variable that stands for something else: an unrolled loop, the last vector of a lane loop,
 * one of four vectors. */
typedef struct PrintFixed {
    const LoopVar *var;
    const Ix *value;
} PrintFixed;

typedef struct Printer {
    Emit e;
    Arena *arena;
    const Kernel *kernel;
    bool one;            /* f64 or i64 in lanes: no vectors, one element after the other */
    const LoopVar *lane; /* the open lane loop, NULL: none */
    const char *lanes;   /* text of the number of lanes that count, NULL: all eight */
    const char *vector;  /* of four vectors a round, NULL: they are told by the element */
    VEC(PrintName) names;
    int first_buffer, buffers; /* of the names */
    VEC(PrintFixed) fixed;
} Printer;

#define print_text(p, ...) arena_printf((p)->arena, __VA_ARGS__)

/* ---- names (print_names.c) ---- */

const char *print_name(const Printer *p, const void *of);
const char *print_new_name(Printer *p, const void *of, const char *wanted);
/* The same for what has elements itself. */
const char *print_new_array(Printer *p, const void *of, const char *wanted);

/* ---- functions (print_kernel.c) ---- */

/* The comment above a kernel's function. */
void print_note(Emit *e, const Kernel *k);
/* How many subscripts the buffer has in the text, and their extents. */
int print_buffer_subscripts(Arena *a, const Buffer *b, int64_t *extent);
/* Each buffer once: what is read first, then what is only written. */
int print_buffers_of(const Kernel *k, const Buffer **out);
bool print_writes(const Kernel *k, const Buffer *b);
/* Adds the parameters of a kernel that are memory: buffers, then sources. */
void print_memory_parameters(Printer *p, Text *list);
/* "a, b, c" grows by one. */
void print_item(Text *list, const char *item);

/* ---- what a nest uses (print_uses.c) ---- */

/* Do numbers of 64 bits stand where the nest has lanes? What is one number anyway may have any
 * size. */
bool print_is_wide(Printer *p);
/* Lists of constants of the program stand in the text. */
void print_tables(Printer *p);

/* ---- statements (print_stmt.c) and loops (print_loop.c) ---- */

void print_statements(Printer *p, const Block *b);
/* Its names end with it. */
void print_in_scope(Printer *p, const Block *b);
void print_rounds(Printer *p, const Stmt *st);
/* The type of one number: bool for DT_BOOL. */
const char *print_scalar_type(DType t);
/* "[4][16]" of a local; zeros as C writes them for any array: "{{0}}". */
const char *print_extents(Printer *p, const Local *l);
const char *print_zeros(Printer *p, int rank);
/* A run-time extent; the number of rounds of a loop, also where it is known now (else -1). */
const char *print_dim(Printer *p, Dim d);
const char *print_limit(Printer *p, const LoopVar *v);
int64_t print_known_limit(Printer *p, const LoopVar *v);

/* ---- expressions (print_expr.c) ---- */

/* A subscript with what is fixed put in; the lane variable stands for the first lane. */
const char *print_ix(Printer *p, const Ix *x);
/* The same where it is a term, and where it is a factor. */
const char *print_term(Printer *p, const Ix *x);
const char *print_factor(Printer *p, const Ix *x);
const Ix *print_resolve(Printer *p, const Ix *x);
bool print_is_vector(const Printer *p, const Expr *e);
/* As a vector when `lanes`, else as one number. */
const char *print_expr(Printer *p, const Expr *e, bool lanes);
/* A condition for each lane that counts. */
const char *print_mask(Printer *p, const Expr *e);
const char *print_constant(Printer *p, DType t, double value, bool lanes);
/* at = at joined with the value by the reduction; lanes that do not count change nothing. */
void print_join(Printer *p, Op op, const char *at, const Expr *value);
/* at = x * y + at in one rounding; likewise. */
void print_add_product(Printer *p, const char *at, const Expr *x, const Expr *y);
/* local[sub] = value, its own element. */
void print_assign(Printer *p, const Stmt *st, bool lanes);
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
