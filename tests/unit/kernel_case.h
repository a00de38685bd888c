/* kernel_case.h: small graphs, lowered to C, compiled, run and compared with the oracle. */
#ifndef NNC_TEST_KERNEL_CASE_H
#define NNC_TEST_KERNEL_CASE_H

#include "c/print.h"
#include "pass.h"

typedef struct KernelCase {
    Compiler compiler;
    Arena *arena;
    Graph *g;
    Region *region;
    VEC(Tensor *) contents; /* of homes, by id */
    VEC(double) scalars;    /* by id */
    int64_t count;          /* run-time value of every count */
    const char *folder;
    double tolerance; /* relative to the largest element of a value; 0: the default of its type */
} KernelCase;

KernelCase *case_new(DType real);
/* A later region; graph nodes made from now on belong to it. */
void case_region(KernelCase *c);
/* A home with seeded contents in [lo, hi); integers are whole. */
Home *case_home(KernelCase *c, const char *name, DType t, Shape s, double lo, double hi);
Node *case_input(KernelCase *c, const char *name, DType t, Shape s, double lo, double hi);
Node *case_scalar(KernelCase *c, const char *name, DType t, double value);
Node *case_count_home(KernelCase *c, const char *name, int64_t bound, int64_t rest, int64_t value);
void case_output(KernelCase *c, Node *n);
void case_write(KernelCase *c, Home *h, Node *value);
/* Simplifies and lowers; returns the number of kernels. */
int case_lower(KernelCase *c);
/* Lowers if that was not done, prints, compiles with gcc -O1 -Wall -Wextra -Werror, runs with 1, 2
 * and 7 threads' shares of tiles. NULL: all values agree with the oracle and all runs with each
 * other, else what is wrong. */
const char *case_check(KernelCase *c);
void case_free(KernelCase *c);

/* Members of a struct of the program: the step, scalars and counts, which kernels read. */
void case_print_given(KernelCase *c, Text *out);

/* A value that the compiled program writes out: of a node, or of a written home. */
typedef struct CaseValue {
    const Node *node;
    const Home *home;
    int64_t elements;
} CaseValue;
/* The same values by CUDA kernels (kernel_cuda.c): NULL, or what is wrong. After case_check's
 * program has left its own. `how`: CASE_CUDA; `build`: a folder. */
const char *case_check_cuda(KernelCase *c, const char *how, const char *build, int n,
                            const CaseValue *want);

#endif
