/* schedule.h: groups, and what the files that schedule them share.
 *
 * A group is a set of nodes computed by one kernel. Nodes that are inlined (movement, casts,
 * constants, cheap maps) belong to no group: value_at writes them out where they are used.
 *
 *   GROUP_MAP     stored values of one shape                                  schedule_map.c
 *   GROUP_ROW     reductions over the last axis of rows, and maps between     schedule_row.c
 *   GROUP_COLUMN  reductions over leading axes                                schedule_column.c
 *   GROUP_DOT     a contraction and its epilogue                              schedule_dot.c
 *   GROUP_OTHER   one op with a nest of its own                               schedule_other.c
 */
#ifndef NNC_SCHEDULE_H
#define NNC_SCHEDULE_H

#include "loop.h"
#include "pass.h"

typedef enum GroupKind {
    GROUP_MAP,
    GROUP_ROW,
    GROUP_COLUMN,
    GROUP_DOT,
    GROUP_OTHER,
    GROUP_KINDS
} GroupKind;

/* A value that goes to memory. The buffer may be that of a home (an update in place). */
typedef struct GroupStore {
    Node *node;
    Buffer *buffer;
} GroupStore;

typedef struct Group {
    int id;
    GroupKind kind;
    Node *anchor;      /* the contraction, the first reduction, the op of OTHER; NULL for maps */
    VEC(Node *) nodes; /* in topological order */
    VEC(GroupStore) stores;
    Region *region;
    /* The iteration space. ROW: `rows` rows of `length` elements; a member has rows*length elements
     * ("full") or `rows`. COLUMN: outer x length x inner elements, length reduced; members have
     * rows = outer*inner. Others: `rows` elements. */
    int64_t rows, length, inner;
    const Count *count, *length_count; /* run-time counts of rows and of length; NULL: none */
    VEC(int) deps;                     /* groups that come before it */
    bool needed;                       /* some group came after it */
    VEC(const Node *) inputs;          /* what its members are made from */
    bool effects;                      /* may set the fault word */
    bool writes_homes;
} Group;

/* The element `sub` of node n is e, as long as `block` is open at `depth`. */
typedef struct Binding {
    const Node *n;
    const Ix **sub;
    const Expr *e;
    const Block *block;
    int depth;
} Binding;

/* One group being scheduled. Names of locals come from the nodes. */
typedef struct Sched {
    Compiler *compiler;
    const Target *target;
    Arena *arena;
    Group *group;
    Kernel *kernel; /* reads, writes, scalars, counts, sources are gathered by value_at and
                       sched_store */
    Nest *nest;
    VEC(Binding) bindings; /* values that stand in locals */
    const struct Fusion *fusion;
    Names *names; /* of kernels */
    const char *name, *plain; /* of the kernel that comes next */
} Sched;

/* What fuse leaves in side arrays, by node id. */
typedef struct Fusion {
    Group **group_of;    /* the group that computes the node; NULL: inlined */
    Buffer **buffer_of;  /* where it is stored; NULL: it is not. Of a read: the home's buffer */
    int *uses;           /* inputs of other live nodes that it is */
    bool *proved;        /* of an index: always in range */
    VEC(Group *) groups; /* in the order of execution */
} Fusion;

/* The subscripts of input i that the element `sub` of n is made from: maps and movement. False: not
 * known when compiling (an index from data), or more than one (a reduction). */
bool input_subscripts(Arena *a, const Node *n, int i, const Ix *const *sub, const Ix **out);

/* The element of a node at logical subscripts (node->shape.rank of them): a load of its buffer, a
 * value bound below, or the node written out. Values used more than once become lets of the
 * innermost open block. */
const Expr *value_at(Sched *s, const Node *n, const Ix *const *sub);

/* From here on, until the block that is open now is closed: the element of n at these subscripts is
 * e (an accumulator). */
void value_bind(Sched *s, const Node *n, const Ix *const *sub, const Expr *e);

/* The nodes of an epilogue have the contraction's elements in its row-major order, perhaps in
 * another shape: the subscripts of n for the element that has subscripts `sub` in shape `from`. */
void value_subscripts(Sched *s, const Shape *from, const Ix *const *sub, const Node *n,
                      const Ix **out);

/* Stores every value of the group for the element `sub` of shape `from`: value_bind the anchor's
 * element first. */
void sched_store_all(Sched *s, const Shape *from, const Ix *const *sub);
/* The checks among the group's nodes that have as many elements as `from`; sched_store_all begins
 * with them. */
void sched_checks(Sched *s, const Shape *from, const Ix *const *sub);
/* Makes the value a let, so that a store in place may come before another value's store; a short
 * one that is stored alone needs none. */
void sched_keep(Sched *s, const GroupStore *store, const Ix *const *sub);
void sched_store(Sched *s, const GroupStore *store, const Ix *const *sub);

/* An element of a contraction's operand: what is stored lies behind reshapes and slices only, so
 * this is a load. Gives the buffer's subscripts through expr->sub; notes the read. */
const Expr *sched_load(Sched *s, const Node *n, const Ix *const *sub);

/* How an operand of a contraction lies along an axis: the extents whose product it is, outermost
 * first, along each of which the subscripts of its memory are linear; *step: elements from one
 * place to the next along the last. Returns how many; 0: it does not lie so. */
int sched_runs(Sched *s, const Node *n, int axis, Dim *extent, int64_t *step);

/* Stores an expression, noting the write; notes a read that was made with expr_load. */
void sched_put(Sched *s, const Buffer *b, const Ix *const *sub, const Expr *e);
void sched_reads(Sched *s, const Buffer *b);

/* An index from data (node n looks up) as a subscript in 0..extent-1; one out of range sets the
 * fault word and is taken into the range. */
const Ix *sched_index(Sched *s, const Node *n, const Node *index, const Ix *const *sub,
                      int64_t extent);

/* Opens loops over a shape: the first a tile loop when tiles, the last a lane loop; sub gets their
 * variables. Returns how many nest_end close them. */
int sched_open_loops(Sched *s, const Shape *shape, bool tiles, const Ix **sub);
/* One loop over all elements; what lies past a count that is not the first extent is left out. */
int sched_open_flat(Sched *s, LoopKind kind, const char *name, const Shape *shape, const Ix **sub);

/* A buffer for a kernel's partial results, used in this region only. */
Buffer *sched_buffer(Sched *s, const char *name, DType t, Shape shape);
/* Ends the kernel made so far and starts another of the same group: its reads see what the first
 * one stored. */
void sched_next_kernel(Sched *s, const char *suffix);
/* An estimate of the time of one element of the group's values, in nanoseconds of one thread. */
double sched_cost(const Sched *s);
/* Rows in one tile where a kernel is cut by rows: at most 64 tiles, of whole groups of four, as
 * contractions cut them. Kernels over the same rows then need no barrier between them. */
int64_t sched_rows_a_tile(int64_t rows);
/* Tiles for `rounds` independent rounds of ns nanoseconds each: 1 when threads would not pay. */
int sched_tiles(int64_t rounds, double ns);

/* Kernels whose nests are equal but for what calls hand over share one function. */
void schedule_share(Compiler *c);
/* The same without new names: sets same_as. */
void schedule_find_same(Compiler *c);

/* One a kind: fills s->nest, s->kernel->tiles, flops, bytes and note; owner flags of reads and
 * writes where they hold. */
void schedule_map(Sched *s);
void schedule_row(Sched *s);
void schedule_column(Sched *s);
void schedule_dot(Sched *s); /* s->group->anchor is the dot; stores: see sched_store_all */
void schedule_other(Sched *s);
/* A matrix in panels that the kernel made so far reads or writes, or NULL; and the loops of a map
 * over matrices of that shape (schedule_panels.c). */
const Buffer *sched_panels(const Sched *s);
void schedule_panels(Sched *s, const Shape *shape, bool tiles);

/* The kernel takes the run-time count (a loop runs to it). */
void sched_count(Sched *s, const Count *c);

/* Finds the accesses that the tile loop cuts. */
void sched_find_owners(Sched *s);

#endif
