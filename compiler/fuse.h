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
    bool *live;
    bool *stored;  /* by node: goes to memory whatever happens */
    bool *crosses; /* by node: read by another region or by the host */
    bool *written; /* by node: the new version of a home */
    bool *wide;    /* by node: numbers of 64 bits in it or in what is inlined in it */
    bool *checks;  /* by node: it may set the fault word, or what is inlined in it may */
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
typedef VEC(Group *) Groups;

/* ---- from elements to what they are made from (fuse_reach.c) ---- */

/* From element `sub` of n (NULL: unknown) to everything it is made from; n itself is not in it. */
void fuse_reach(Fuser *f, const Node *n, const Ix *const *sub, ReachVec *out);
/* From the elements of a member as its group computes them. */
void fuse_reach_member(Fuser *f, const Group *g, const Node *n, ReachVec *out);
/* Does a walk end at n: is it a group's, in memory, or a home? */
bool fuse_is_landmark(const Fuser *f, const Node *n);
/* The symbols range over the space of g. */
void fuse_set_space(Fuser *f, const Group *g);
/* The element in a group of rows as a flat offset; the one that a member has in its group, NULL
 * when it does not fit the space. */
const Ix *fuse_full_flat(Fuser *f, const Group *g);
const Ix *fuse_member_flat(Fuser *f, const Group *g, const Node *n);
const Count *fuse_leading_count(const Shape *s);

/* ---- groups and what they depend on (fuse_group.c) ---- */

Group *fuse_new_group(Fuser *f, GroupKind kind, Node *anchor, Region *region);
void fuse_add_member(Fuser *f, Group *g, Node *n);
/* Groups that n is made from, latest first; in f->scratch. */
Groups fuse_producers(Fuser *f, const Node *n);
/* Does group `from` come before `to` by dependence? */
bool fuse_depends(Fuser *f, const Group *to, const Group *from);
void fuse_add_dep(Fuser *f, Group *g, const Group *before);

/* ---- the rules (fuse_join.c, fuse_reduce.c) ---- */

/* What may set the fault word is another kernel than what writes a home: a fault then leaves all of
 * the home as it was, whichever block or thread comes first. */
bool fuse_checks_apart(const Fuser *f, const Group *g, const Node *n);
/* Every use of g's members by n fits, and nothing n needs comes after g. */
bool fuse_may_join(Fuser *f, const Group *g, const Node *n);
/* The same, and n has the space of g. */
bool fuse_fits(Fuser *f, const Group *g, const Node *n);
/* n joins a group that it is made from; false: it fits none. */
bool fuse_join_producer(Fuser *f, Node *n);
/* A reduction joins a group or starts one. */
void fuse_visit_reduction(Fuser *f, Node *n);
/* Reductions over axes that are not neighbours become two (node order stays topological). */
void fuse_split_reductions(Fuser *f);

/* ---- what lies in memory, in which order (fuse_stored.c, fuse_index.c, fuse_order.c) ---- */

/* Finds what is live and what must be stored. */
void fuse_find_stored(Fuser *f);
/* Marks the nodes whose index is in range whatever the data. */
void fuse_prove_indices(Fuser *f);
Node *fuse_behind_reshapes(Node *n);
/* Stores, homes, order of the groups. */
void fuse_buffers(Fuser *f);
void fuse_homes(Fuser *f);
/* g takes over everything of h. */
void fuse_absorb(Fuser *f, Group *g, Group *h);
void fuse_merge_scalars(Fuser *f);
void fuse_order(Fuser *f);

/* ---- names of buffers (fuse_names.c) ---- */

void fuse_name_buffers(Fuser *f);

#endif
