/* simplify.h: shared by simplify*.c.
 *
 * The graph is built anew, node by node in order; a node that is made goes through the rules first.
 * A rule looks at a node not yet in the graph, whose inputs are simple already, and gives a simple
 * node of the same value or NULL. Rules keep every bit of a value but the sign of a zero.
 */
#ifndef NNC_SIMPLIFY_H
#define NNC_SIMPLIFY_H

#include "pass.h"

typedef struct Simplify {
    Arena *arena; /* scratch */
    Graph *g;
    Interp *interp; /* for folding */
    Node **table;   /* hash table of the nodes made: equal nodes are one */
    int room;
    VEC(int) uses;     /* of nodes made, by id: users in the old graph */
    VEC(bool) claimed; /* of nodes made, by id: it is what a region writes to a home */
} Simplify;

typedef Node *SimplifyRule(Simplify *s, const Node *n);

/* The simple node for op(in…) in the region that is open. */
Node *simplify_node(Simplify *s, Op op, int nin, Node *const *in, const Attr *attr, DType t,
                    const Shape *shape);

Node *simplify_fold(Simplify *s, const Node *n);    /* simplify_fold.c: constant inputs */
Node *simplify_algebra(Simplify *s, const Node *n); /* simplify_algebra.c: maps and reductions */
Node *simplify_move(Simplify *s, const Node *n);    /* simplify_move.c: movement and contractions */

/* Equality of op, type, shape, attributes, inputs and region; a hash of the same. */
bool simplify_same(const Node *a, const Node *b);
uint32_t simplify_hash(const Node *n);

/* A constant with one value for all elements. */
static inline bool is_uniform(const Node *n) {
    return n->op == OP_constant && !n->attr.constant.data;
}

static inline bool is_number(const Node *n, double value) {
    return is_uniform(n) && n->attr.constant.value == value;
}

/* Is x, an input of n, an op of this kind that n may be merged with? Only within one region. */
static inline bool is_op(const Node *n, const Node *x, Op op) {
    return x->op == op && x->region == n->region;
}

/* program_nodes.c: calls map on every place of the program that holds a node and stores what it
 * gives. */
void program_map_nodes(Program *p, Node *(*map)(void *context, Node *n), void *context);
/* Of these, what the host shows as tensors: parts of text, results of exports. */
void program_map_shown(Program *p, Node *(*map)(void *context, Node *n), void *context);

#endif
