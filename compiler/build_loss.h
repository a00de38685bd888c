/* build_loss.h: what a loss was computed from, for minimize and grad. */
#ifndef NNC_BUILD_LOSS_H
#define NNC_BUILD_LOSS_H

#include "build.h"

typedef struct Dependence {
    Home *home;
    VEC(Node *) versions; /* nodes of it that the loss was computed from */
} Dependence;

typedef struct Dependences {
    VEC(Dependence) at;
} Dependences;

/* The parameters that a gradient of the loss flows to. */
Dependences loss_dependences(Build *b, Node *loss);
const Dependence *depends_on(const Dependences *d, const Home *h); /* NULL: not on this one */
/* Ruling A1: the loss must be computed from the parameters as they are now; false with an error. */
bool loss_is_fresh(Build *b, const Dependences *d, const Node *loss, Span at);
/* One real number as a node; false with an error. what: "the loss" */
bool loss_node(Build *b, Value v, const char *what, Span at, Node **out);
/* An error at `at`: no gradient comes from the loss to any of these homes (n 0: to no parameter);
 * says which operation stops it, where one does. */
void loss_unreached(Build *b, Node *loss, Home *const *homes, int n, Span at);
/* What grad gives where no gradient arrives: 0 behind floor and its like, else NULL, an error. */
Node *loss_zero_gradient(Build *b, Node *loss, const Node *x, Span at);
/* Gradients with respect to nodes, and to homes (NULL where the loss does not depend on one). */
bool loss_gradients(Build *b, Node *loss, Node *const *targets, int n, Node **out, Span at);
bool loss_home_gradients(Build *b, Node *loss, const Dependences *d, Home *const *homes, int n,
                         Node **out, Span at);
const char *home_label(const Build *b, const Home *h); /* its model's name, or its own */

#endif
