/* build_loop.c: run-time loops of tasks, `every`, and reductions over data. */
#include "build_call.h"
#include "build_data.h"
#include "build_host.h"
#include "build_stmt.h"

void loop_begin(Build *b, LoopInfo *loop, HStmtKind kind, Span at) {
    loop->stmt = host_stmt(b, kind, at);
    loop->stmt->body = NEW(b->arena, HBlock);
    loop->outer = b->block;
    loop->index = b->block->stmts.n - 1;
    loop->start = b->loop_start;
    loop->parent = b->loop;
    b->loop = loop;
    b->block = loop->stmt->body;
    b->loop_start = b->g->nodes.n;
}

void loop_end(Build *b, LoopInfo *loop) {
    if (loop->yields)
        reduce_round(b, loop);
    region_close(b);
    loop_losses(b, loop);
    b->block = loop->outer;
    b->loop = loop->parent;
    b->loop_start = loop->start;
}

static void insert_stmts(Build *b, HBlock *to, int at, const HBlock *from) {
    int n = from->stmts.n;
    for (int i = 0; i < n; i++)
        vec_push(b->arena, &to->stmts, NULL);
    memmove(to->stmts.at + at + n, to->stmts.at + at,
            sizeof(HStmt *) * (size_t)(to->stmts.n - n - at));
    if (n)
        memcpy(to->stmts.at + at, from->stmts.at, sizeof(HStmt *) * (size_t)n);
}

void loop_before(Build *b, LoopInfo *loop, void (*body)(Build *b, void *arg), void *arg) {
    HBlock block = {0};
    Task *task = b->task;
    Place old = place_enter(b, &block);
    b->task = task;
    body(b, arg);
    place_leave(b, &old);
    insert_stmts(b, loop->outer, loop->index, &block);
    loop->index += block.stmts.n;
}

/* A body whose head was wrong: for its own errors. */
static void look_into(Build *b, Env *env, Ast *pattern, Ast *body, LoopInfo *loop) {
    HBlock *outer = b->block;
    HBlock nowhere = {0};
    b->block = &nowhere;
    loop_begin(b, loop, HS_FOR, pattern->span);
    Env *inner = env_new(b, env);
    build_pattern(b, inner, pattern, value_poison, BIND_LET);
    build_stmts(b, inner, body);
    loop->yields = NULL;
    loop_end(b, loop);
    b->block = outer;
}

static HExpr *range_end(Build *b, Env *env, Ast *e, const char *what) {
    Value v = build_expr(b, env, e);
    int64_t i;
    if (v.kind == V_NUMBER && !v.num.count)
        return value_to_int(b, v, what, e->span, &i) ? host_const_int(b, i) : NULL;
    HExpr *h = v.kind == V_POISON ? NULL : value_to_host(b, v, e->span);
    if (!h || h->type == HT_INT)
        return h;
    build_error(b, e->span, "%s must be an integer, found %s", what, value_text(b, v));
    return NULL;
}

static void over_range(Build *b, Env *env, Ast *pattern, Ast *iter, Ast *body, LoopInfo *loop,
                       Span at) {
    HExpr *lo = range_end(b, env, iter->range.lo, "the start of the range");
    HExpr *hi = range_end(b, env, iter->range.hi, "the end of the range");
    if (pattern->kind != AST_NAME)
        build_error(b, pattern->span, "a range gives one number a round");
    if (!lo || !hi || pattern->kind != AST_NAME) {
        look_into(b, env, pattern, body, loop);
        return;
    }
    HostVar *v = host_new_var(b, pattern->name, HT_INT);
    loop_begin(b, loop, HS_FOR, at);
    loop->stmt->var = v;
    loop->stmt->value = lo;
    loop->stmt->limit = hi;
    if (iter->range.inclusive) {
        loop->stmt->limit = host_op(b, OP_add, HT_INT, hi, host_const_int(b, 1), NULL);
        loop->stmt->limit->span = iter->range.hi->span;
    }
    loop->stmt->reverse = iter->range.reverse;
    Env *inner = env_new(b, env);
    env_add(b, inner, pattern->name, BIND_LET, value_host(host_var(b, v)), pattern->span);
    build_stmts(b, inner, body);
    loop_end(b, loop);
}

static void over_batches(Build *b, Env *env, Ast *pattern, BatchesValue *batches, Ast *body,
                         LoopInfo *loop, Span at) {
    loop_begin(b, loop, HS_BATCHES, at);
    Env *inner = env_new(b, env);
    data_bind(b, inner, batches, pattern, loop->stmt);
    build_stmts(b, inner, body);
    loop_end(b, loop);
}

/* Unrolled: each round is built for its value. */
static void over_list(Build *b, Env *env, Ast *pattern, const ValueList *list, Ast *body) {
    LoopInfo rounds = {.parent = b->loop};
    b->loop = &rounds;
    for (int i = 0; i < list->n; i++) {
        Env *inner = env_new(b, env);
        build_pattern(b, inner, pattern, list->at[i], BIND_LET);
        build_stmts(b, inner, body);
    }
    b->loop = rounds.parent;
    for (int i = 0; b->loop && i < rounds.uses.n; i++)
        vec_push(b->arena, &b->loop->uses, rounds.uses.at[i]);
}

/* A loop at run time around the statement, else an error. */
static LoopInfo *running_loop(Build *b, const char *word, Span at) {
    if (!b->loop)
        build_error(b, at, "'%s' outside of a loop", word);
    else if (!b->loop->stmt)
        build_error(b, at,
                    "'%s' belongs to a loop that runs; this one over a list is unrolled when nnc "
                    "runs",
                    word);
    return b->loop && b->loop->stmt ? b->loop : NULL;
}

/* true when it was a loop at run time */
static bool run_loop(Build *b, Env *env, Ast *pattern, Ast *iter, Ast *body, LoopInfo *loop,
                     Span at) {
    if (iter->kind == AST_RANGE) {
        over_range(b, env, pattern, iter, body, loop, at);
        return true;
    }
    Value v = build_expr(b, env, iter);
    if (v.kind == V_BATCHES) {
        over_batches(b, env, pattern, v.batches, body, loop, at);
        return true;
    }
    if (v.kind == V_LIST && !loop->yields) {
        over_list(b, env, pattern, v.list, body);
        return false;
    }
    if (v.kind == V_SPLIT)
        build_error(b, iter->span, "a split is walked in batches: %s.batches(64)", v.split->name);
    else if (v.kind != V_POISON)
        build_error(b, iter->span, "'for' runs over a range, a list or batches, found %s",
                    value_text(b, v));
    look_into(b, env, pattern, body, loop);
    return false;
}

void build_for(Build *b, Env *env, Ast *s) {
    LoopInfo loop = {0};
    run_loop(b, env, s->loop.pattern, s->loop.iter, s->loop.body, &loop, s->span);
}

void build_while(Build *b, Env *env, Ast *s) {
    LoopInfo loop = {0};
    loop_begin(b, &loop, HS_WHILE, s->span);
    loop.stmt->cond = NEW(b->arena, HBlock);
    b->block = loop.stmt->cond;
    loop.stmt->value =
        value_to_condition(b, build_expr(b, env, s->whilst.cond), "'while'", s->whilst.cond->span);
    region_close(b);
    b->block = loop.stmt->body;
    build_stmts(b, env_new(b, env), s->whilst.body);
    loop_end(b, &loop);
}

void build_jump(Build *b, Ast *s) {
    bool leave = s->kind == AST_BREAK;
    const LoopInfo *loop = running_loop(b, leave ? "break" : "continue", s->span);
    if (loop)
        host_stmt(b, leave ? HS_BREAK : HS_CONTINUE, s->span)->loop = loop->stmt;
}

typedef struct SetArg {
    HostVar *var;
    Span at;
} SetArg;

static void run_zero(Build *b, void *arg) {
    SetArg *a = (SetArg *)arg;
    host_set(b, a->var, host_const_int(b, 0), a->at);
}

/* A counter is set to 0 before the loop, grows at the head of each round, and is asked here (ruling
 * A18). */
void build_every(Build *b, Env *env, Ast *s) {
    LoopInfo *loop = running_loop(b, "every", s->span);
    if (!loop)
        return;
    HExpr *n = value_to_host(b, build_expr(b, env, s->every.n), s->every.n->span);
    if (!n || n->type != HT_INT) {
        if (n)
            build_error(b, s->every.n->span, "'every' takes an integer");
        return;
    }
    if (n->kind == HX_CONST && n->i < 1) {
        build_error(b, s->every.n->span, "'every' takes at least 1, found %lld", (long long)n->i);
        return;
    }
    region_close(b);
    HostVar *round = host_new_var(b, "round", HT_INT);
    SetArg arg = {round, s->span};
    loop_before(b, loop, run_zero, &arg);
    HStmt *count = NEW(b->arena, HStmt);
    *count = (HStmt){.kind = HS_SET, .span = s->span, .var = round};
    count->value = host_op(b, OP_add, HT_INT, host_var(b, round), host_const_int(b, 1), NULL);
    HBlock one = {0};
    vec_push(b->arena, &one.stmts, count);
    insert_stmts(b, loop->stmt->body, 0, &one);
    HStmt *test = host_stmt(b, HS_IF, s->span);
    HExpr *rest = host_turn(b, host_var(b, round), n, "every", s->every.n->span);
    test->value = host_op(b, OP_eq, HT_BOOL, rest, host_const_int(b, 0), NULL);
    test->body = build_sub_block(b, env, s->every.body);
}

/* ---- mean|sum|max|min for: sums in f64, a mean weighs each batch by its rows ---- */

void build_yield(Build *b, Env *env, Ast *s) {
    Yields *y = b->loop ? b->loop->yields : NULL;
    if (!y || !b->loop->stmt || b->block != b->loop->stmt->body) {
        build_error(
            b, s->span,
            "'yield' stands in the body of mean|sum|max|min for, not inside an inner block");
        return;
    }
    if (y->times++) {
        build_error(b, s->span, "one 'yield' a round: this is the second");
        return;
    }
    Value v = value_none;
    y->single = s->yield.values.n == 1;
    for (int i = 0; i < s->yield.values.n; i++) {
        Ast *e = s->yield.values.at[i];
        v = build_expr(b, env, e);
        bool spread = y->single && v.kind == V_LIST;
        y->single = y->single && !spread;
        for (int k = 0; k < (spread ? v.list->n : 1); k++) {
            Value x = spread ? v.list->at[k] : v;
            Node *n = x.kind == V_POISON ? NULL : value_to_node(b, x, DT_N, e->span);
            vec_push(b->arena, &y->nodes, n);
        }
    }
}

typedef struct Totals {
    int n;
    Home **sums;
    Home *rows;
    double start;
    const char *clear; /* the region that sets them */
} Totals;

static void run_clear(Build *b, void *arg) {
    Totals *t = (Totals *)arg;
    b->region->name = t->clear;
    for (int i = 0; i < t->n; i++)
        home_write(b, t->sums[i], graph_constant(b->g, DT_F64, &t->sums[i]->shape, t->start));
    if (t->rows)
        home_write(b, t->rows, graph_constant(b->g, DT_F64, &t->rows->shape, 0));
}

static Home *total_home(Build *b, const char *name, const char *what, const Shape *s, Span at) {
    return home_new(b, HOME_VAR, arena_printf(b->arena, "%s_%s", name, what), DT_F64, s, at);
}

/* What the program calls total i: by the `let` that gets it, else by what is yielded. */
static const char *total_name(const LoopInfo *loop, const Yields *y, int i) {
    const Ast *p = loop->into;
    if (i >= y->nodes.n) /* its error stands elsewhere */
        return "total";
    if (p && p->kind == AST_TUPLE)
        p = p->list.items.n == y->nodes.n ? p->list.items.at[i] : NULL;
    else if (y->nodes.n != 1)
        p = NULL;
    if (p && p->kind == AST_NAME && strcmp(p->name, "_") != 0)
        return p->name;
    return y->nodes.at[i]->name ? y->nodes.at[i]->name : "total";
}

/* The rows of this round: what a mean weighs it by. */
static Node *round_weight(Build *b, const LoopInfo *loop) {
    Shape s = shape_scalar();
    if (loop->stmt->kind != HS_BATCHES)
        return graph_constant(b->g, DT_F64, &s, 1);
    const BatchLoop *l = loop->stmt->loops[0];
    return l->count ? graph_cast(b->g, graph_count(b->g, l->count), DT_F64)
                    : graph_constant(b->g, DT_F64, &s, (double)l->size);
}

static void accumulate(Build *b, ReduceOp op, const LoopInfo *loop, const Yields *y, Totals *t,
                       Span at) {
    static const Op ops[] = {[REDUCE_MEAN] = OP_add,
                             [REDUCE_SUM] = OP_add,
                             [REDUCE_MAX] = OP_maximum,
                             [REDUCE_MIN] = OP_minimum};
    Node *weight = op == REDUCE_MEAN ? round_weight(b, loop) : NULL;
    for (int i = 0; i < y->nodes.n; i++) {
        Node *n = y->nodes.at[i];
        if (shape_count(&n->shape)) {
            build_error(b, at, "what is yielded must have a fixed shape, found %s",
                        shape_text(b->arena, &n->shape));
            return;
        }
        t->sums[i] = total_home(b, total_name(loop, y, i),
                                op == REDUCE_MAX   ? "max"
                                : op == REDUCE_MIN ? "min"
                                                   : "sum",
                                &n->shape, at);
        t->n++;
        Node *x = graph_cast(b->g, n, DT_F64);
        if (weight)
            x = graph_binary(b->g, OP_mul, x, graph_broadcast_to(b->g, weight, &n->shape));
        home_write(b, t->sums[i], graph_binary(b->g, ops[op], home_value(b, t->sums[i]), x));
    }
    if (weight) {
        Shape s = shape_scalar();
        t->rows = total_home(b, total_name(loop, y, 0), "rows", &s, at);
        home_write(b, t->rows, graph_binary(b->g, OP_add, home_value(b, t->rows), weight));
    }
}

static Value totals_value(Build *b, ReduceOp op, const Totals *t, const Yields *y) {
    Value *out = NEW_ARRAY(b->arena, Value, t->n + 1);
    for (int i = 0; i < t->n; i++) {
        Node *x = home_value(b, t->sums[i]);
        if (op == REDUCE_MEAN)
            x = graph_binary(b->g, OP_div, x,
                             graph_broadcast_to(b->g, home_value(b, t->rows), &x->shape));
        bool whole = op != REDUCE_MEAN && dtype_is_int(y->nodes.at[i]->dtype);
        out[i] = value_node(graph_cast(b->g, x, whole ? y->nodes.at[i]->dtype : b->g->real));
    }
    return y->single && t->n ? out[0] : value_list(b, out, t->n, true);
}

Value build_reduce_for(Build *b, Env *env, Ast *e) {
    ReduceOp op = e->reduce.op;
    Yields y = {0};
    LoopInfo loop = {.yields = &y};
    bool training = b->training;
    int errors = diag_errors(b->diag);
    Totals t = {0};
    t.start = op == REDUCE_MAX ? -1.0 / 0.0 : op == REDUCE_MIN ? 1.0 / 0.0 : 0;
    b->training = false;
    loop.reduce = e;
    loop.into = b->let_pattern;
    b->let_pattern = NULL;
    loop.totals = &t;
    run_loop(b, env, e->reduce.pattern, e->reduce.iter, e->reduce.body, &loop, e->span);
    b->training = training;
    if (diag_errors(b->diag) != errors)
        return value_poison;
    if (!y.times) {
        build_error(b, e->span, "'%s for' needs a 'yield' in its body", ast_reduce_text(op));
        return value_poison;
    }
    for (int i = 0; i < y.nodes.n; i++)
        if (!y.nodes.at[i]) /* its error stands elsewhere */
            return value_poison;
    t.clear = arena_printf(b->arena, "%s_clear_%s", b->task ? b->task->name : "start",
                           t.n ? t.sums[0]->name : "rows");
    loop_before(b, &loop, run_clear, &t);
    return totals_value(b, op, &t, &y);
}

/* At the end of the body, while its last region is still open. */
void reduce_round(Build *b, LoopInfo *loop) {
    Yields *y = loop->yields;
    for (int i = 0; i < y->nodes.n; i++)
        if (!y->nodes.at[i])
            return;
    loop->totals->sums = NEW_ARRAY(b->arena, Home *, y->nodes.n + 1);
    accumulate(b, loop->reduce->reduce.op, loop, y, loop->totals, loop->reduce->span);
}
