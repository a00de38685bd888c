/* fuse.h: what the files of the fuse pass share. */
#ifndef NNC_FUSE_H
#define NNC_FUSE_H

#include "schedule.h"

/* A group that reads a home; at the element that it computes, and at no other? */
typedef struct Reader {
    const Group *group;
    bool same_element;
} Reader;
typedef VEC(Reader) Readers;

typedef struct Fuser {
    Compiler *compiler;
    Arena *arena;
    Arena *scratch; /* of walks: reset after each node or group */
    Graph *graph;
    Fusion *out;
    Names *names; /* of buffers */
    bool *live;
    bool *stored;  /* by node: goes to memory whatever happens */
    bool *crosses; /* by node: read by another region or by the host */
    bool *written; /* by node: the new version of a home */
    bool *wide;    /* by node: numbers of 64 bits in it or in what is inlined in it */
    int *weight;   /* by node: ops that inlining it writes out */
    int *seen, seen_cap, stamp; /* by group: equal to stamp: visited */
    const Shape **used_as;      /* by node: the shape in which its users see it; NULL: its own */
    Readers *readers;           /* by home */
    VEC(const Group *) effects; /* groups with effects: they come before the writes of homes */
    int *marked, mark;          /* by node: equal to mark: marked */
    const LoopVar *row,
        *element; /* symbols: the row (or the only subscript), the element in a row */
} Fuser;

/* What a walk from a node's elements through inlined nodes finds: members of groups, stored values,
 * reads of homes. */
typedef struct Reach {
    Node *node;
    const Ix *flat; /* row-major offset of the element, in the symbols; NULL: not known, or many */
} Reach;
typedef VEC(Reach) ReachVec; /* in f->scratch */

/* From element `sub` of n (NULL: unknown) to everything it is made from; n itself is not in it. */
void fuse_reach(Fuser *f, const Node *n, const Ix *const *sub, ReachVec *out);
/* From the elements of a member as its group computes them. */
void fuse_reach_member(Fuser *f, const Group *g, const Node *n, ReachVec *out);
/* Does group `from` come before `to` by dependence? */
bool fuse_depends(Fuser *f, const Group *to, const Group *from);
void fuse_add_dep(Fuser *f, Group *g, const Group *before);
Group *fuse_new_group(Fuser *f, GroupKind kind, Node *anchor, Region *region);

/* Marks the nodes whose index is in range whatever the data (fuse_index.c). */
void fuse_prove_indices(Fuser *f);
Node *fuse_behind_reshapes(Node *n);
/* Reductions over axes that are not neighbours become two (node order stays topological). */
void fuse_split_reductions(Fuser *f);
/* Stores, homes, order of the groups (fuse_order.c). */
void fuse_buffers(Fuser *f);
void fuse_homes(Fuser *f);
/* g takes over everything of h. */
void fuse_absorb(Fuser *f, Group *g, Group *h);
void fuse_merge_scalars(Fuser *f);
void fuse_order(Fuser *f);

#endif
