/* grad.h: shared by grad*.c (the contract of differentiation is in ir.h). */
#ifndef NNC_GRAD_H
#define NNC_GRAD_H

#include "op_rules.h"

/* dy * factor. `cause` is a node of the forward computation; where its value may be infinite or
 * NaN, so may the factor be, and a gradient of 0 stays 0: nothing comes back through a branch that
 * was not taken. */
Node *grad_scale(Grad *gr, const Node *cause, Node *dy, Node *factor);

/* Is the node a number that is not 0, whatever the data? Looks through casts, movement and
 * products. */
bool grad_is_nonzero(const Node *n);

/* A constant of the type and shape of `like`. */
static inline Node *grad_number(Grad *gr, const Node *like, double value) {
    return graph_constant(grad_graph(gr), like->dtype, &like->shape, value);
}

static inline Node *grad_op1(Grad *gr, Op op, Node *x) {
    return graph_unary(grad_graph(gr), op, x);
}

static inline Node *grad_op2(Grad *gr, Op op, Node *x, Node *y) {
    return graph_binary(grad_graph(gr), op, x, y);
}

#endif
