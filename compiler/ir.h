/* ir.h: the tensor graph.
 *
 * One graph holds the tensor work of a whole program in SSA form. Nodes are appended, so an input
 * always has a smaller number than its user: node order is a topological order. Every node belongs
 * to a region, the straight-line piece of work between two host decisions in which it is computed.
 * A value used in another region than its own has memory of its own ("crosses"); values inside one
 * region share memory.
 *
 * Types and shapes are strict here: the inputs of a map have one shape and (but for `where`,
 * `cast`) one type; promotion and broadcasting are the language's business and are explicit nodes.
 */
#ifndef NNC_IR_H
#define NNC_IR_H

#include "diag.h"

#define MAX_RANK 8
#define MAX_WINDOWED 3 /* axes */

typedef enum DType { DT_F32, DT_F64, DT_I32, DT_I64, DT_U8, DT_BOOL, DT_N } DType;

const char *dtype_name(DType t); /* "f32" … */
int dtype_size(DType t);         /* bytes of one element in memory; bool is one byte */
bool dtype_is_real(DType t);
bool dtype_is_int(DType t); /* not bool */

/* A run-time count with a bound: the rows of a last batch, the rows given to an export. */
typedef struct Count {
    int id;
    const char *name;   /* C identifier, unique in the program: valid_rows */
    const char *called; /* where no other can be meant: rows */
    int64_t bound;
} Count;

/* An extent. count == NULL: exactly n. Else n is the bound, and the extent at run time is
 * count * (n / count->bound). */
typedef struct Dim {
    int64_t n;
    const Count *count;
} Dim;

typedef struct Shape {
    int rank;
    Dim dim[MAX_RANK];
} Shape;

bool dim_equal(Dim a, Dim b);
bool shape_equal(const Shape *a, const Shape *b);
int64_t shape_elements(const Shape *s); /* product of the bounds */
const Count *shape_count(const Shape *s); /* the count that stands in it, NULL: static */
const char *shape_text(Arena *a, const Shape *s); /* "[64, 10]" */
Shape shape_of(int rank, const int64_t *n);
Shape shape_scalar(void);
Shape shape_without(const Shape *s, unsigned axes); /* drops the axes of the bit set */

typedef enum OpKind {
    KIND_LEAF,
    KIND_MAP,
    KIND_REDUCE,
    KIND_MOVE,
    KIND_CONTRACT,
    KIND_INDEXED,
    KIND_RANDOM,
    KIND_SCAN,
    KIND_EFFECT
} OpKind;

enum {
    OPF_COMM = 1,
    OPF_ASSOC = 2,
    OPF_CMP = 4,
    OPF_COSTLY = 8,
    OPF_NOGRAD = 16,
    OPF_FLAT = 32,
    OPF_POLE = 64,
    OPF_FIRST = 128,
    OPF_LAST = 256,
    OPF_OWN = 512,
    OPF_WHOLE = 1024,
    OPF_FN = 2048,
    OPF_TABLE = 4096,
    OPF_VIEW = 8192,
    OPF_BITS = 14 /* above them: the AttrKind */
};

typedef enum Op {
#define OP(name, ...) OP_##name,
#include "ops.h"
#undef OP
    OP_N
} Op;

typedef struct Graph Graph;
typedef struct Node Node;
typedef struct Region Region; /* program.h */
typedef struct Home Home;     /* program.h: storage that outlives a region */
typedef struct Scalar Scalar; /* program.h: a host value handed to a region */
typedef struct DataSource DataSource; /* program.h */

typedef struct Ix Ix; /* loop.h */

/* What a gradient rule gets: y = op(in…), dy is the gradient of y. It adds to the gradients of its
 * inputs. */
typedef struct Grad Grad;

/* An index rule: the subscripts of the input that the element `sub` of n is; false: not known, or
 * not of one input. */
typedef bool IndexRule(Arena *a, const Node *n, const Ix *const *sub, const Ix **out);

/* The value that joining by a reduction leaves as it is. */
typedef enum Neutral { NEUTRAL_ZERO, NEUTRAL_ONE, NEUTRAL_LEAST, NEUTRAL_MOST } Neutral;

/* Which member of an op's attributes counts. */
typedef enum AttrKind {
    ATTR_NONE,
    ATTR_VALUE,
    ATTR_HOME,
    ATTR_SCALAR,
    ATTR_COUNT,
    ATTR_SOURCE,
    ATTR_AXIS,
    ATTR_AXES,
    ATTR_SCAN,
    ATTR_PERM,
    ATTR_SLICE,
    ATTR_PAD,
    ATTR_WINDOWS,
    ATTR_DOT,
    ATTR_RANDOM
} AttrKind;

typedef struct OpInfo {
    const char *name;
    int args;
    OpKind kind;
    unsigned flags;
    AttrKind attr;
    void (*shape)(Node *n); /* sets dtype and shape; bug() on a graph that is wrong */
    void (*grad)(Grad *gr, Node *n, Node *dy);
    const char *form, *form64; /* MAP */
    IndexRule *index;          /* MOVE */
    Op join;                   /* REDUCE */
    Neutral neutral;           /* REDUCE */
} OpInfo;
extern const OpInfo op_info[OP_N];

/* Windows along axes axis … axis+n-1: element k of window o of axis i is number
 * start[i] + o*step[i] + k*apart[i] of the axis, never past its ends; apart may be < 0. */
typedef struct Windows {
    int axis, n;
    int64_t start[MAX_WINDOWED], step[MAX_WINDOWED], apart[MAX_WINDOWED];
} Windows;

/* Typed attributes; which member counts is fixed by the op (OpInfo.attr). */
typedef union Attr {
    /* one value for all elements, or one each (row-major) */
    struct { double value; const double *data; } constant;
    Home *home;         /* read */
    Scalar *scalar;     /* scalar */
    const Count *count; /* count: its run-time value as an i32 scalar */
    int axis;           /* iota, concat, argmax, argmin, slice_at, put_at */
    struct { int axis; bool reverse; } cumsum; /* same place for the axis as above */
    unsigned axes;      /* sum prod max min: bit set */
    int perm[MAX_RANK]; /* permute: output axis i is input axis perm[i] */
    /* output i is input start + i*step; step may be < 0 */
    struct { int64_t start[MAX_RANK], step[MAX_RANK]; } slice;
    struct { int64_t lo[MAX_RANK]; double value; } pad; /* output extents are in the shape */
    Windows windows; /* windows, fold */
    struct { bool ta, tb; } dot;
    struct { DataSource *source; } batch;
    /* place: hash of path and ordinal; lo, hi: randint */
    struct { uint32_t place; int64_t lo, hi; } random;
} Attr;

struct Node {
    int id;
    Op op;
    DType dtype;
    Shape shape; /* for leaves, cast, reshape, broadcast, pad, slice, random: given by the maker */
    int nin;
    Node **in;
    Attr attr;
    Region *region;
    const Home *gradient_of; /* NULL: it is no home's gradient; plan_runs lays such side by side */
    /* What follows says how a person is told of the value: no result depends on it. */
    Span span;        /* the place in the .nn file it comes from */
    const char *name; /* the user's name for the value (h1, loss, d_h1), or NULL */
    int place; /* of its layer, else of itself, among those of equal name, from 1; 0: it is alone */
    bool counted; /* its place is among values of its name, not of its layer */
};

/* dy was called d_NAME after a node. */
typedef struct Derivative {
    Node *dy;
    const Node *of;
    const char *name; /* that it got */
} Derivative;

struct Graph {
    Arena *arena;
    VEC(Node *) nodes;
    VEC(Derivative) derivatives; /* for names alone, in the order of naming */
    Region *region; /* where new nodes go */
    Span span;      /* what new nodes inherit */
    DType real;     /* the program's float: DT_F32 or DT_F64 */
    const char *mutate; /* tests only: name of a deliberate fault, NULL: none */
};

/* Of a reduction: the axes of its input that go, as a bit set. */
unsigned reduced_axes(const Node *n);
/* The extent that the subscripts in input 1 run over (FIRST, LAST); 0: the op has none. */
Dim indexed_extent(const Node *n);

Graph *graph_new(Arena *a, DType real);

/* Deliberate faults, for the tests of the tests: nnc --mutate NAME makes one, and the suites must
 * turn red (tests/scripts/mutations.sh). NAME: gradient (grad_rules_move.c), epilogue
 * (schedule_dot_tile.c), barrier, offset (plan.c), cuda_barrier, cuda_guard, cuda_index,
 * cuda_order, cuda_rows (cuda/schedule_dot.c), cuda_wait (templates/device.cu). */
bool mutated(const Graph *g, const char *fault);
const char *const *mutation_names(void); /* NULL ends */

/* The general maker: copies what it is given, runs the shape rule, appends. */
Node *graph_node(Graph *g, Op op, int nin, Node *const *in, const Attr *attr, DType dtype,
                 const Shape *shape);

Node *graph_unary(Graph *g, Op op, Node *x);
Node *graph_binary(Graph *g, Op op, Node *x, Node *y);
Node *graph_where(Graph *g, Node *c, Node *x, Node *y);
Node *graph_fma(Graph *g, Node *a, Node *b, Node *c);
Node *graph_cast(Graph *g, Node *x, DType t); /* x itself when it has the type */
Node *graph_constant(Graph *g, DType t, const Shape *s, double value);
Node *graph_data(Graph *g, DType t, const Shape *s, const double *data);
Node *graph_read(Graph *g, Home *h);
Node *graph_scalar(Graph *g, Scalar *s);
Node *graph_count(Graph *g, const Count *c);
Node *graph_iota(Graph *g, const Shape *s, int axis);
Node *graph_batch(Graph *g, DataSource *src, Node *index, const Shape *row);
Node *graph_reduce(Graph *g, Op op, Node *x, unsigned axes);
Node *graph_argreduce(Graph *g, Op op, Node *x, int axis);
/* Movement that changes nothing gives x itself. */
Node *graph_reshape(Graph *g, Node *x, const Shape *s);
Node *graph_permute(Graph *g, Node *x, const int *perm);
Node *graph_broadcast(Graph *g, Node *x, const Shape *s); /* equal rank, extents 1 grow */
/* NumPy's rule: adds leading axes, then broadcasts. */
Node *graph_broadcast_to(Graph *g, Node *x, const Shape *s);
Node *graph_slice(Graph *g, Node *x, const int64_t *start, const int64_t *step, const Shape *s);
Node *graph_pad(Graph *g, Node *x, const int64_t *lo, const Shape *s, double value);
/* step - 1 elements of 0 between neighbours along an axis. */
Node *graph_dilate(Graph *g, Node *x, int axis, int64_t step);
/* (graph_windows.c) How many windows there are, and how long they are, is in `out` and `length`.
 * Windows that lie side by side are a reshape and a permutation. */
Node *graph_windows(Graph *g, Node *x, const Windows *w, const int64_t *out,
                    const int64_t *length);
/* The transpose, to shape `to`. The fold of a contraction is a contraction of windows of its left
 * operand, where that lies so. */
Node *graph_fold(Graph *g, Node *x, const Windows *w, const Shape *to);
Node *graph_concat(Graph *g, int n, Node *const *x, int axis);
Node *graph_slice_at(Graph *g, Node *x, Node *start, int axis, int64_t length);
Node *graph_put_at(Graph *g, Node *base, Node *piece, Node *start, int axis);
/* Each element is one of input 0, perhaps in another type. */
bool graph_keeps_numbers(const Node *n);
int64_t graph_run(const Node *n); /* of an indexed op: how many of the axis an index takes */
Node *graph_dot(Graph *g, Node *a, Node *b, bool ta, bool tb);
Node *graph_gather(Graph *g, Node *x, Node *index);
Node *graph_pick(Graph *g, Node *x, Node *index);
Node *graph_scatter_add(Graph *g, Node *base, Node *index, Node *update);
Node *graph_cumsum(Graph *g, Node *x, int axis, bool reverse);
Node *graph_random(Graph *g, Op op, Node *execution, uint32_t place, DType t, const Shape *s,
                   int64_t lo, int64_t hi);
Node *graph_check(Graph *g, Node *loss);
/* The number of elements over the axes as a scalar of type t: constant, or made from a count. */
Node *graph_size(Graph *g, const Shape *s, unsigned axes, DType t);

/* Checks every invariant stated here; bug() names the node. After each pass in debug builds. */
void graph_verify(const Graph *g);
/* One line a node. */
void graph_dump(const Graph *g, Text *out, const Diag *d);

/* ---- differentiation (grad.c) ----
 * out[i] = d loss / d targets[i] with the shape of targets[i], or NULL when the loss does not
 * depend on it. A target may be any node. On a loss that reaches a target through an op without a
 * gradient: false, *blame is that node. The gradient nodes go to g->region and can be
 * differentiated again. */
bool grad_build(Graph *g, Node *loss, Node *const *targets, int n, Node **out, Node **blame);

/* For gradient rules. */
Graph *grad_graph(Grad *gr);
/* Adds dx to the gradient of an input; ignores inputs nobody asked for. */
void grad_add(Grad *gr, Node *input, Node *dx);
bool grad_wants(const Grad *gr, const Node *input);

/* ---- the oracle (interp.c), compiled for f64 and for f32 ----
 * Values are row-major arrays of double (whatever the dtype), of the run-time extents. */
typedef struct Tensor {
    Shape shape; /* run-time extents, no counts */
    double *at;
} Tensor;
typedef struct Interp Interp;
/* What the graph cannot know: contents of homes, scalars, counts, rows of sources, the seed. */
typedef struct InterpEnv {
    void *context;
    const Tensor *(*home)(void *context, const Home *h);
    double (*scalar)(void *context, const Scalar *s);
    int64_t (*count)(void *context, const Count *c);
    /* row `row` of the source into out (row_elements doubles) */
    void (*source_row)(void *context, const DataSource *s, int64_t row, double *out);
    uint64_t seed;
} InterpEnv;
/* single: every operation rounds to f32 where the node is f32 (else real arithmetic is f64).
 * env may be NULL for a graph of constants. */
Interp *interp_new(Arena *a, const InterpEnv *env, bool single);
/* From now on every f32 result of arithmetic is moved by a unit in the last place up, down or not
 * at all, as the seed (not 0) says: a sample of how far rounding may carry a value. */
void interp_jitter(Interp *in, uint32_t seed);
/* The value of a node, with everything it needs (kept until interp_forget). */
const Tensor *interp_value(Interp *in, const Node *n);
/* Gives a node its value instead of computing it, until interp_forget; t must live that long. */
void interp_give(Interp *in, const Node *n, const Tensor *t);
void interp_forget(Interp *in);
/* First fault seen (check, index out of range), NULL when none. */
const Node *interp_fault(const Interp *in);

/* A map of single numbers by the same rules, in f64; t: the type of the result. */
double interp_number(Op op, DType t, int n, const double *x);

#endif
