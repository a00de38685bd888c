/* loop.c: makers of expressions and statements of the loop IR (loop.h). */
#include "loop.h"
#include <math.h>
#include <string.h>

Dim dim_fixed(int64_t n) {
    return (Dim){.n = n};
}

/* ---- expressions ---- */

static Expr *expr_new(Arena *a, ExprKind kind, DType t) {
    Expr *e = NEW(a, Expr);
    e->kind = kind;
    e->dtype = t;
    return e;
}

static const Ix **copy_subscripts(Arena *a, int n, const Ix *const *sub) {
    const Ix **out = NEW_ARRAY(a, const Ix *, n + 1);
    for (int i = 0; i < n; i++)
        out[i] = sub[i];
    return out;
}

const Expr *expr_const(Arena *a, DType t, double value) {
    Expr *e = expr_new(a, EX_CONST, t);
    e->value = value;
    return e;
}

const Expr *expr_op(Arena *a, Op op, DType t, int nin, const Expr *const *in) {
    Expr *e = expr_new(a, EX_OP, t);
    e->op = op;
    e->nin = nin;
    for (int i = 0; i < nin; i++)
        e->in[i] = in[i];
    return e;
}

const Expr *expr_binary(Arena *a, Op op, const Expr *x, const Expr *y) {
    DType t = op_info[op].flags & OPF_CMP ? DT_BOOL : x->dtype;
    return expr_op(a, op, t, 2, (const Expr *[]){x, y});
}

const Expr *expr_fma(Arena *a, const Expr *x, const Expr *y, const Expr *z) {
    return expr_op(a, OP_fma, x->dtype, 3, (const Expr *[]){x, y, z});
}

const Expr *expr_where(Arena *a, const Expr *c, const Expr *x, const Expr *y) {
    return expr_op(a, OP_where, x->dtype, 3, (const Expr *[]){c, x, y});
}

const Expr *expr_cast(Arena *a, const Expr *x, DType t) {
    return x->dtype == t ? x : expr_op(a, OP_cast, t, 1, &x);
}

const Expr *expr_load(Arena *a, const Buffer *b, const Ix *const *sub) {
    Expr *e = expr_new(a, EX_LOAD, b->dtype);
    e->buffer = b;
    e->sub = copy_subscripts(a, b->shape.rank, sub);
    return e;
}

const Expr *expr_local(Arena *a, const Local *l, const Ix *const *sub) {
    Expr *e = expr_new(a, EX_LOCAL, l->dtype);
    e->local = l;
    e->sub = copy_subscripts(a, sub ? l->rank : 0, sub);
    return e;
}

const Expr *expr_index(Arena *a, const Ix *ix) {
    Expr *e = expr_new(a, EX_INDEX, DT_I32);
    e->ix = ix;
    return e;
}

int expr_rank(const Expr *e) {
    if (e->kind == EX_LOAD)
        return e->buffer->shape.rank;
    return e->kind == EX_LOCAL ? e->local->rank : 0;
}

static bool subscripts_equal(int n, const Ix *const *x, const Ix *const *y) {
    for (int i = 0; i < n; i++)
        if (!ix_equal(x[i], y[i]))
            return false;
    return true;
}

static bool leaf_equal(const Expr *x, const Expr *y) {
    switch (x->kind) {
    case EX_CONST:
        return x->value == y->value;
    case EX_LOAD:
        return x->buffer == y->buffer && subscripts_equal(x->buffer->shape.rank, x->sub, y->sub);
    case EX_LOCAL:
        return x->local == y->local && subscripts_equal(x->local->rank, x->sub, y->sub);
    case EX_INDEX:
        return ix_equal(x->ix, y->ix);
    case EX_SCALAR:
        return x->scalar == y->scalar;
    case EX_COUNT:
        return x->count == y->count;
    case EX_SOURCE:
        return x->source == y->source && ix_equal(x->ix, y->ix);
    case EX_RANDOM:
        return x->op == y->op && x->place == y->place && ix_equal(x->ix, y->ix);
    default:
        return true;
    }
}

bool expr_equal(const Expr *x, const Expr *y) {
    if (x == y)
        return true;
    if (x->kind != y->kind || x->dtype != y->dtype || x->nin != y->nin)
        return false;
    if (x->kind == EX_OP && x->op != y->op)
        return false;
    for (int i = 0; i < x->nin; i++)
        if (!expr_equal(x->in[i], y->in[i]))
            return false;
    return leaf_equal(x, y);
}

bool expr_uses(const Expr *e, const LoopVar *v) {
    for (int i = 0; i < e->nin; i++)
        if (expr_uses(e->in[i], v))
            return true;
    if (e->ix && ix_uses(e->ix, v))
        return true;
    int n = expr_rank(e);
    for (int i = 0; i < n; i++)
        if (e->sub[i] && ix_uses(e->sub[i], v))
            return true;
    return false;
}

/* ---- statements ---- */

Nest *nest_new(Arena *a) {
    Nest *n = NEW(a, Nest);
    n->arena = a;
    n->at = n->open[0] = &n->body;
    return n;
}

static Stmt *nest_add(Nest *n, StmtKind kind) {
    Stmt *st = NEW(n->arena, Stmt);
    st->kind = kind;
    vec_push(n->arena, &n->at->stmts, st);
    return st;
}

static void open_block(Nest *n, Stmt *st) {
    if (n->depth + 1 == COUNT_OF(n->open))
        bug("nest deeper than %d", COUNT_OF(n->open));
    n->at = &st->body;
    n->open[++n->depth] = n->at;
    n->opener[n->depth] = st;
}

LoopVar *nest_loop(Nest *n, LoopKind kind, const char *name, Dim extent) {
    LoopVar *v = NEW(n->arena, LoopVar);
    v->name = name;
    bool shared = kind != LOOP_TILE || extent.count || extent.n > 1;
    v->kind = shared ? kind : LOOP_SEQ; /* one tile is not shared among threads */
    v->extent = extent;
    Stmt *st = nest_add(n, ST_LOOP);
    st->var = v;
    open_block(n, st);
    return v;
}

LoopVar *nest_loop_to(Nest *n, LoopKind kind, const char *name, int64_t extent, const Ix *base,
                      Dim total) {
    LoopVar *v = nest_loop(n, kind, name, dim_fixed(extent));
    int64_t lo, hi;
    ix_range(base, &lo, &hi);
    if (total.count || hi + extent > total.n) {
        v->base = base;
        v->total = total;
    }
    return v;
}

LoopVar *nest_at(Nest *n, const char *name, const Ix *at, Dim extent) {
    LoopVar *v = nest_loop(n, LOOP_AT, name, extent);
    v->at = at;
    return v;
}

void nest_barrier(Nest *n) {
    nest_add(n, ST_BARRIER);
}

void nest_if(Nest *n, const Expr *cond) {
    Stmt *st = nest_add(n, ST_IF);
    st->value = cond;
    open_block(n, st);
}

void nest_end(Nest *n) {
    if (n->depth == 0)
        bug("nest_end without an open block");
    n->at = n->open[--n->depth];
}

LoopVar *nest_var_at(const Nest *n, int depth) {
    return depth > 0 ? n->opener[depth]->var : NULL;
}

/* The loop whose rounds are the lanes of what is added now, or NULL. */
static const LoopVar *lane_loop(const Nest *n) {
    for (int d = n->depth; d > 0; d--)
        if (n->opener[d]->var && n->opener[d]->var->kind == LOOP_LANE)
            return n->opener[d]->var;
    return NULL;
}

static bool expr_has_lanes(const Expr *e, const LoopVar *lane);

static bool ix_has_lanes(const Ix *x, const LoopVar *lane) {
    if (lane && ix_uses(x, lane))
        return true;
    for (int i = 0; i < x->n; i++)
        if (x->term[i].atom->kind == ATOM_DATA && expr_has_lanes(x->term[i].atom->data, lane))
            return true;
    return false;
}

static bool expr_has_lanes(const Expr *e, const LoopVar *lane) {
    if (e->kind == EX_LOCAL && e->local->lanes)
        return true;
    if (e->ix && ix_has_lanes(e->ix, lane))
        return true;
    int rank = expr_rank(e);
    for (int i = 0; i < rank; i++)
        if (e->sub[i] && ix_has_lanes(e->sub[i], lane))
            return true;
    for (int i = 0; i < e->nin; i++)
        if (expr_has_lanes(e->in[i], lane))
            return true;
    return false;
}

static Local *local_new(Nest *n, const char *name, DType t) {
    Local *l = NEW(n->arena, Local);
    l->name = name;
    l->dtype = t;
    l->depth = n->depth;
    return l;
}

Local *nest_let(Nest *n, const char *name, const Expr *value) {
    return nest_let_at(n, n->depth, name, value);
}

const Expr *nest_name(Nest *n, const char *name, const Expr *value) {
    bool named = value->kind == EX_LOCAL && !value->local->changes;
    return named ? value : expr_local(n->arena, nest_let(n, name, value), NULL);
}

Local *nest_let_at(Nest *n, int depth, const char *name, const Expr *value) {
    Local *l = local_new(n, name, value->dtype);
    l->lanes = expr_has_lanes(value, lane_loop(n));
    l->depth = depth;
    Stmt *st = NEW(n->arena, Stmt);
    st->kind = ST_LET;
    st->local = l;
    st->value = value;
    Block *b = n->open[depth];
    vec_push(n->arena, &b->stmts, st);
    if (depth == n->depth)
        return l;
    /* before the loop that is open in that block */
    b->stmts.at[b->stmts.n - 1] = b->stmts.at[b->stmts.n - 2];
    b->stmts.at[b->stmts.n - 2] = st;
    return l;
}

Local *nest_var(Nest *n, const char *name, const Expr *value) {
    Local *l = nest_let(n, name, value);
    l->changes = true;
    return l;
}

Local *nest_array(Nest *n, const char *name, DType t, int rank, const int64_t *extent) {
    Local *l = local_new(n, name, t);
    l->changes = true;
    l->rank = rank;
    memcpy(l->extent, extent, sizeof *extent * (size_t)rank);
    nest_add(n, ST_LET)->local = l;
    return l;
}

Local *nest_shared(Nest *n, const char *name, DType t, int rank, const int64_t *extent) {
    Local *l = nest_array(n, name, t, rank, extent);
    l->shared = true;
    return l;
}

Local *nest_filled(Nest *n, const char *name, DType t, int rank, const int64_t *extent,
                   double value) {
    Local *l = local_new(n, name, t);
    l->changes = true;
    l->rank = rank;
    for (int i = 0; i < rank; i++)
        l->extent[i] = extent[i];
    Stmt *st = nest_add(n, ST_FILL);
    st->local = l;
    st->value = expr_const(n->arena, t, value);
    return l;
}

Local *nest_lanes(Nest *n, const char *name, DType t, int rank, const int64_t *extent,
                  double value) {
    Local *l = nest_filled(n, name, t, rank, extent, value);
    l->lanes = true;
    return l;
}

void nest_set(Nest *n, Local *l, const Ix *const *sub, const Expr *value) {
    Stmt *st = nest_add(n, ST_SET);
    l->changes = true;
    st->local = l;
    st->sub = copy_subscripts(n->arena, sub ? l->rank : 0, sub);
    st->value = value;
}

void nest_store(Nest *n, const Buffer *b, const Ix *const *sub, const Expr *value) {
    Stmt *st = nest_add(n, ST_STORE);
    st->buffer = b;
    st->sub = copy_subscripts(n->arena, b->shape.rank, sub);
    st->value = value;
}

void nest_transpose(Nest *n, const Buffer *b, const Ix *const *sub, int64_t step, const Expr *from,
                    int64_t from_step) {
    Stmt *st = nest_add(n, ST_TRANSPOSE);
    st->buffer = b;
    st->sub = copy_subscripts(n->arena, b->shape.rank, sub);
    st->value = from;
    st->step = step;
    st->from_step = from_step;
}

/* Of the values that a reduction starts with; infinite where the type has it. */
static double most_of(DType t) {
    return t == DT_I32    ? INT32_MAX
           : t == DT_I64  ? 9007199254740992.0
           : t == DT_U8   ? 255
           : t == DT_BOOL ? 1
                          : (double)INFINITY;
}

static double least_of(DType t) {
    return t == DT_U8 || t == DT_BOOL ? 0 : t == DT_I32 ? INT32_MIN : -most_of(t);
}

double reduce_neutral(Op op, DType t) {
    Neutral neutral = op_info[op].neutral;
    if (op_info[op].kind != KIND_REDUCE)
        bug("%s is no reduction", op_info[op].name);
    return neutral == NEUTRAL_LEAST  ? least_of(t)
           : neutral == NEUTRAL_MOST ? most_of(t)
                                     : neutral == NEUTRAL_ONE;
}

Local *nest_accumulator(Nest *n, const char *name, Op op, DType t) {
    return nest_lanes(n, name, t, 1, (const int64_t[]){4}, reduce_neutral(op, t));
}

/* Products are added as they come; from there on it is a sum. */
static Op lanes_op(Op op) {
    return op == OP_sum_mul ? OP_sum : op;
}

void nest_accumulate(Nest *n, Local *acc, Op op, const Ix *element, const Expr *value,
                     const Expr *times) {
    Stmt *st = nest_add(n, ST_GATHER_LANES);
    st->with = times;
    st->local = acc;
    st->op = lanes_op(op);
    st->ix = element;
    st->value = value;
}

Local *nest_join(Nest *n, const char *name, Op op, const Local *acc) {
    Local *l = local_new(n, name, acc->dtype);
    Stmt *st = nest_add(n, ST_JOIN_LANES);
    st->local = l;
    st->from = acc;
    st->op = lanes_op(op);
    return l;
}

void nest_fault(Nest *n, const Expr *when, int node, const Expr *with) {
    Stmt *st = nest_add(n, ST_FAULT);
    st->value = when;
    st->node = node;
    st->with = with;
}
