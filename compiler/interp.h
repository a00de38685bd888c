/* interp.h: shared by interp*.c, the naive evaluator of graphs (the contract is in ir.h). */
#ifndef NNC_INTERP_H
#define NNC_INTERP_H

#include "program.h"

struct Interp {
    Arena *arena;
    Arena *values; /* what interp_forget frees */
    const InterpEnv *env;
    bool single;
    uint32_t jitter; /* state of the noise, 0: none */
    const Tensor **value; /* by node id */
    int n;
    const Node *fault;
};

/* x: the values of the inputs. out: run-time shape and room for the elements, which are 0. */
typedef void InterpFn(Interp *in, const Node *n, const Tensor *const *x, Tensor *out);

/* Arithmetic is written once, in interp_ops.h, and compiled for f64 and for f32. */
#define INTERP_MAP(name)          InterpFn interp_f64_##name, interp_f32_##name;
#define INTERP_REDUCE(name)       INTERP_MAP(name)
#define INTERP_CONTRACT(name)     INTERP_MAP(name)
#define INTERP_SCAN(name)         INTERP_MAP(name)
#define INTERP_INDEXED(name)      INTERP_MAP(name)
#define INTERP_LEAF(name)         InterpFn interp_##name;
#define INTERP_MOVE(name)         INTERP_LEAF(name)
#define INTERP_RANDOM(name)       INTERP_LEAF(name)
#define INTERP_EFFECT(name)       INTERP_LEAF(name)
#define OP(name, args, kind, ...) INTERP_##kind(name)
#include "ops.h"
#undef OP

/* Notes the first fault. */
void interp_fault_at(Interp *in, const Node *n);
/* The index as a number in 0..extent-1; one out of range is a fault of n, and is taken into the
 * range. */
int64_t interp_index(Interp *in, const Node *n, double index, int64_t extent);

/* Walks the subscripts of a shape in row-major order. */
typedef struct Walk {
    int64_t at; /* place of the element, from 0 */
    int64_t sub[MAX_RANK];
    int64_t left;
    const Shape *shape;
} Walk;
Walk walk_start(const Shape *s);
void walk_next(Walk *w);
#define WALK(w, s) for (Walk w = walk_start(s); w.left > 0; walk_next(&w))

/* The place of the element with these subscripts. */
int64_t shape_place(const Shape *s, const int64_t *sub);

/* The place in a tensor of that rank that the element `sub` of its windows comes from. */
void windows_place(const Windows *w, int rank, const int64_t *sub, int64_t *place);

#endif
