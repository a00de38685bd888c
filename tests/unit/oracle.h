/* oracle.h: for tests: a program whose homes, scalars and data hold random numbers, evaluated by
 * the interpreter.
 */
#ifndef TEST_ORACLE_H
#define TEST_ORACLE_H

#include "pass.h"

typedef struct Range {
    double lo, hi;
} Range;

typedef struct Oracle {
    Arena *arena;
    Program *program;
    Graph *graph;
    InterpEnv env;
    VEC(Tensor *) homes; /* by id; made when first asked for, unless the test has set them */
    VEC(Range) ranges;
    double scalar[64];
    int64_t count;  /* run-time value of every count */
    uint64_t state; /* of random_real */
    bool single;
} Oracle;

/* An empty program with one region; the graph's new nodes go there. */
Oracle *oracle_new(DType real, uint64_t seed);
void oracle_free(Oracle *o);

/* In [lo, hi), [lo, hi]. */
double random_real(Oracle *o, double lo, double hi);
int64_t random_int(Oracle *o, int64_t lo, int64_t hi);

Home *oracle_home(Oracle *o, HomeKind kind, DType t, const Shape *s);
/* A read of a new home with values in [lo, hi): numbers in double, of an f32 program in float; ints
 * floored. */
Node *oracle_input(Oracle *o, DType t, const Shape *s, double lo, double hi);
/* The contents of an input; may be changed. */
Tensor *oracle_contents(Oracle *o, const Node *input);
/* Draws the contents of all inputs anew. */
void oracle_redraw(Oracle *o);

/* The value of a node. */
const Tensor *oracle_value(Oracle *o, const Node *n);

/* sum over the elements of y * w, w constant and random. */
Node *oracle_project(Oracle *o, Node *y);

/* Compares d loss / d inputs with central differences along random directions, the contents drawn
 * anew up to five times (a kink). Gives the smallest error found, relative to the sum of |terms|;
 * the program must be f64. */
double oracle_gradient_error(Oracle *o, Node *loss, Node *const *inputs, int n);
/* The same for the gradient of the gradient. */
double oracle_second_error(Oracle *o, Node *loss, Node *const *inputs, int n);

#endif
