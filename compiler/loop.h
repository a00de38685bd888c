/* loop.h: the loop IR: what schedule makes of groups and a target's printer turns into text.
 *
 * A kernel's Nest is a block of statements: loops, lets, stores. Expressions are ops of the table
 * on values; every element of memory is reached by logical subscripts through its buffer's layout,
 * so a layout is a choice for speed and never for meaning.
 *
 * Lanes. A LOOP_LANE loop stands for vectors of eight elements; its body is written for one
 * element, and what depends on the loop's variable (or is held in a local with `lanes`) is a
 * vector. The printer finds out which is which: a load whose offset grows by 1 with the variable is
 * a vector load, one that does not depend on it a broadcast, anything else a gather. The last,
 * partial vector is printed with partial loads and stores. A lane loop of at most eight rounds has
 * no loop in the text, only its body. Nests with lanes of f64 or i64 are printed with one lane.
 *
 * Threads (target cuda). TILE loops, up to three inside each other, are the blocks of the grid. In
 * them WARP loops are shared among the warps of a block, LANE loops among the threads of a warp,
 * and THREAD loops, one or two inside each other, are the threads of a block. A WARP or a LANE loop
 * outside of TILE loops is shared among all warps or threads of the grid. What stands outside of
 * LANE and THREAD loops is computed by each thread and stored by one. Locals may be shared by a
 * block; a barrier parts their stores from their loads.
 *
 * Division of work. fuse.c makes groups, schedule.c buffers and the order, schedule_*.c one Nest a
 * group with the functions here and those of schedule.h; the folder of a target prints it. Nobody
 * but the printers writes C.
 */
#ifndef NNC_LOOP_H
#define NNC_LOOP_H

#include "lower.h"

typedef struct Expr Expr;
typedef struct Stmt Stmt;

typedef enum LoopKind {
    LOOP_TILE,   /* independent rounds, shared among threads; only outermost, one a nest */
    LOOP_LANE,   /* independent rounds, vectors; no lane loop inside another */
    LOOP_UNROLL, /* written out; extent constant */
    LOOP_SEQ,    /* in this order */
    LOOP_WARP,   /* cuda: independent rounds, a warp each; lanes in it are the warp's threads */
    LOOP_THREAD, /* cuda: independent rounds, a thread of the block each; extent constant */
    LOOP_AT,     /* no loop: v = at, if that is below the extent */
    LOOP_PART    /* cuda: no loop: what the next so many blocks of the grid do; outermost, all of a
                    nest or none. The name says what it is for */
} LoopKind;

/* 0 <= v < extent; where `base` is set also base + v < total. An extent with a count runs to the
 * count's share. */
typedef struct LoopVar {
    const char *name; /* i, j, k, row … made unique by the printer */
    LoopKind kind;
    Dim extent;
    const Ix *base;
    Dim total;
    int unroll; /* SEQ: rounds the C compiler is asked to put side by side; 0: as it likes */
    const Ix *at; /* AT */
    bool promised; /* AT: no test, what uses the variable tests it */
    const Buffer *makes; /* PART: what it is called after; NULL: it only checks */
} LoopVar;

/* ---- subscripts: constant + sum of coefficient * atom, kept in one canonical form ---- */

typedef enum AtomKind { ATOM_VAR, ATOM_DIV, ATOM_MOD, ATOM_DATA } AtomKind;

typedef struct Atom {
    AtomKind kind;
    const LoopVar *var; /* VAR */
    const Ix *of;       /* DIV, MOD: of / by, of % by; never negative */
    int64_t by;
    const Expr *data; /* DATA: an i32 value, 0 <= value < by */
} Atom;

typedef struct Term {
    const Atom *atom;
    int64_t k;
} Term;

struct Ix {
    int64_t c;
    int n;
    const Term *term;
};

const Ix *ix_const(Arena *a, int64_t c);
const Ix *ix_var(Arena *a, const LoopVar *v);
const Ix *ix_data(Arena *a, const Expr *e, int64_t extent);
const Ix *ix_add(Arena *a, const Ix *x, const Ix *y);
const Ix *ix_offset(Arena *a, const Ix *x, int64_t c); /* x + c */
const Ix *ix_scale(Arena *a, const Ix *x, int64_t k);
const Ix *ix_div(Arena *a, const Ix *x, int64_t d); /* x >= 0; folded where ranges allow */
const Ix *ix_mod(Arena *a, const Ix *x, int64_t d);
bool ix_equal(const Ix *x, const Ix *y);
bool ix_is_const(const Ix *x, int64_t *value);
void ix_range(const Ix *x, int64_t *lo, int64_t *hi); /* by the bounds of the loops */
bool ix_uses(const Ix *x, const LoopVar *v);          /* anywhere in it, data included */
/* The coefficient of v; *linear is false when v also stands inside a div, mod or data atom. */
int64_t ix_coefficient(const Ix *x, const LoopVar *v, bool *linear);

/* Row-major offset of subscripts in a shape (strides by the bounds), and the way back. */
const Ix *ix_flat(Arena *a, const Shape *s, const Ix *const *sub);
void ix_unflat(Arena *a, const Shape *s, const Ix *flat, const Ix **sub);

/* ---- values ---- */

/* A variable, or an array of the kernel's own. `lanes`: each element is a vector of eight.
 * `by_four`: the four accumulators of a reduction over a known extent; the loop over them is
 * unrolled, so that they stay in registers. */
typedef struct Local {
    const char *name;
    DType dtype;
    bool lanes, by_four;
    bool shared;  /* cuda: one for all threads of a block */
    bool changes; /* is assigned again after its declaration */
    int depth;    /* of the block that declares it */
    int rank;
    int64_t extent[3];
} Local;

typedef enum ExprKind {
    EX_CONST,  /* value */
    EX_OP,     /* op in[0..nin) */
    EX_LOAD,   /* buffer at sub[0..rank of the buffer's shape) */
    EX_LOCAL,  /* local at sub[0..local->rank) */
    EX_INDEX,  /* ix as an i32 */
    EX_SCALAR, /* a host value handed to the kernel */
    EX_COUNT,  /* run-time count as an i32 */
    EX_SOURCE, /* element `ix` of a data source's stored rows, in its stored type */
    EX_RANDOM  /* op rand, randn, randint: element number ix; in[0] the execution number; place, lo,
                  hi; key: the seed */
} ExprKind;

struct Expr {
    ExprKind kind;
    DType dtype;
    double value;
    Op op;
    int nin;
    const Expr *in[3];
    const Buffer *buffer;
    const Local *local;
    const Ix **sub;
    const Ix *ix;
    const Scalar *scalar;
    const Count *count;
    const DataSource *source;
    uint32_t place;
    int64_t lo, hi;
};

const Expr *expr_const(Arena *a, DType t, double value);
const Expr *expr_op(Arena *a, Op op, DType t, int nin, const Expr *const *in);
const Expr *expr_binary(Arena *a, Op op, const Expr *x,
                        const Expr *y); /* type of x; bool for comparisons */
const Expr *expr_fma(Arena *a, const Expr *x, const Expr *y, const Expr *z);
const Expr *expr_where(Arena *a, const Expr *c, const Expr *x, const Expr *y);
const Expr *expr_cast(Arena *a, const Expr *x, DType t); /* x itself when it has the type */
const Expr *expr_load(Arena *a, const Buffer *b, const Ix *const *sub);
const Expr *expr_local(Arena *a, const Local *l, const Ix *const *sub); /* sub NULL: a variable */
const Expr *expr_index(Arena *a, const Ix *ix);
int expr_rank(const Expr *e); /* how many subscripts it has: of a load, of a local; else 0 */
bool expr_equal(const Expr *x, const Expr *y);
bool expr_uses(const Expr *e, const LoopVar *v);

/* ---- statements ---- */

typedef struct Block {
    VEC(Stmt *) stmts;
} Block;

typedef enum StmtKind {
    ST_LOOP,  /* var: body */
    ST_LET,   /* declares local (rank 0) with value, or an array without (value NULL: contents
                 undefined) */
    ST_SET,   /* local at sub = value */
    ST_STORE, /* buffer at sub = value */
    ST_FILL,  /* declares local with every element = value: accumulators */
    ST_GATHER_LANES, /* local at sub ([32 lanes] accumulators): op joins value into the lane of
                        `var`: element e of the loop goes to lane e mod 32, where e is `ix`. With
                        `with`: the lane becomes value * with + lane, in one rounding */
    ST_JOIN_LANES,   /* declares local = the 32 lanes of `from`, joined by op in the fixed order */
    ST_TRANSPOSE,    /* 8 x 8 numbers of f32 from buffer at sub: element (r, c), `step` elements
                        from one r to the next, = element (c, r) from the load `value`, `from_step`
                        from one c to the next */
    ST_IF,           /* value (bool; uniform but on cuda): body */
    ST_BARRIER,      /* cuda: the threads of the block, or in a WARP loop of the warp, wait for each
                        other */
    ST_FAULT         /* where value (bool) holds: fault of node `node` with `with` as its value */
} StmtKind;

struct Stmt {
    StmtKind kind;
    LoopVar *var;
    Block body;
    Local *local;
    const Local *from;
    const Buffer *buffer;
    const Ix **sub;
    const Ix *ix;
    const Expr *value, *with;
    Op op;
    int node;
    int64_t step, from_step; /* of a transpose */
};

struct Nest {
    Arena *arena;
    Block body;
    Block *at; /* where statements are added */
    int depth; /* of open blocks: open[0] is the body */
    Block *open[16];
    Stmt *opener[16]; /* the loop or if whose block open[d] is */
};

Nest *nest_new(Arena *a);
/* Adds a loop and opens it; what is added next goes into it until nest_end. */
LoopVar *nest_loop(Nest *n, LoopKind kind, const char *name, Dim extent);
/* The same with base + v < total. */
LoopVar *nest_loop_to(Nest *n, LoopKind kind, const char *name, int64_t extent, const Ix *base,
                      Dim total);
/* v = at, where that is below the extent. */
LoopVar *nest_at(Nest *n, const char *name, const Ix *at, Dim extent);
void nest_if(Nest *n, const Expr *cond);
void nest_barrier(Nest *n);
void nest_end(Nest *n);
Local *nest_let(Nest *n, const char *name, const Expr *value); /* lanes follow from the value */
/* The value as a name: a let, or the local itself when it is one that does not change. */
const Expr *nest_name(Nest *n, const char *name, const Expr *value);
/* In the block open at that depth, before the loop that is open inside it. */
Local *nest_let_at(Nest *n, int depth, const char *name, const Expr *value);
Local *nest_var(Nest *n, const char *name, const Expr *value); /* may be set again */
Local *nest_array(Nest *n, const char *name, DType t, int rank, const int64_t *extent);
/* The same, one for all threads of a block. */
Local *nest_shared(Nest *n, const char *name, DType t, int rank, const int64_t *extent);
/* Every element = value. rank 0: one variable. */
Local *nest_filled(Nest *n, const char *name, DType t, int rank, const int64_t *extent,
                   double value);
/* The same of vectors of eight: accumulators. */
Local *nest_lanes(Nest *n, const char *name, DType t, int rank, const int64_t *extent,
                  double value);
void nest_set(Nest *n, Local *l, const Ix *const *sub, const Expr *value);
void nest_store(Nest *n, const Buffer *b, const Ix *const *sub, const Expr *value);
/* The 8 x 8 numbers at the load `from`, transposed: see ST_TRANSPOSE. */
void nest_transpose(Nest *n, const Buffer *b, const Ix *const *sub, int64_t step, const Expr *from,
                    int64_t from_step);
/* Row reductions: 32 lanes, started with the neutral element of op; one round of the lane loop; the
 * result. */
Local *nest_accumulator(Nest *n, const char *name, Op op, DType t);
void nest_accumulate(Nest *n, Local *acc, Op op, const Ix *element, const Expr *value,
                     const Expr *times); /* of sum_mul: the other factor; else NULL */
Local *nest_join(Nest *n, const char *name, Op op, const Local *acc);
void nest_fault(Nest *n, const Expr *when, int node, const Expr *with);
LoopVar *nest_var_at(const Nest *n,
                     int depth); /* variable of the loop whose block open[depth] is, or NULL */

/* The value of the type that a reduction starts with. */
double reduce_neutral(Op op, DType t);

/* Every const Dim of a fixed extent. */
Dim dim_fixed(int64_t n);

/* Physical subscripts and extents of an access: what the layout makes of logical subscripts. At
 * most 3; returns how many. LAYOUT_ROWS: leading dimensions merged, [rows][last]; a vector: [n].
 * LAYOUT_PANELS16: [panel][k][16]. */
int layout_subscripts(Arena *a, const Buffer *b, const Ix *const *sub, const Ix **out,
                      int64_t *extent);

#endif
