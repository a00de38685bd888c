/* schedule_share.c: kernels that differ only in their buffers and scalars share one function
 * (fusion rule 8).
 *
 * Two nests are walked side by side; loops and locals are matched where they are declared, buffers
 * by their places in the kernels' lists of reads and writes.
 */
#include "schedule.h"
#include <string.h>

typedef struct Pair {
    const void *a, *b;
} Pair;

typedef struct Match {
    Arena *arena;
    const Kernel *a, *b;
    VEC(Pair) pairs; /* loop variables and locals */
} Match;

static bool same_expr(const Match *m, const Expr *x, const Expr *y);

static bool is_pair(const Match *m, const void *a, const void *b) {
    for (int i = 0; i < m->pairs.n; i++)
        if (m->pairs.at[i].a == a)
            return m->pairs.at[i].b == b;
    return false;
}

static bool same_dim(Dim x, Dim y) {
    return x.n == y.n && x.count == y.count;
}

static bool same_ix(const Match *m, const Ix *x, const Ix *y) {
    if (!x || !y)
        return x == y;
    if (x->c != y->c || x->n != y->n)
        return false;
    for (int i = 0; i < x->n; i++) {
        const Atom *p = x->term[i].atom, *q = y->term[i].atom;
        if (x->term[i].k != y->term[i].k || p->kind != q->kind || p->by != q->by)
            return false;
        if (p->kind == ATOM_VAR    ? !is_pair(m, p->var, q->var)
            : p->kind == ATOM_DATA ? !same_expr(m, p->data, q->data)
                                   : !same_ix(m, p->of, q->of))
            return false;
    }
    return true;
}

static int place_of(int n, const Access *list, const Buffer *b) {
    for (int i = 0; i < n; i++)
        if (list[i].buffer == b)
            return i;
    return -1;
}

static bool same_buffer(const Match *m, const Buffer *x, const Buffer *y) {
    if (!x || !y)
        return x == y;
    int read = place_of(m->a->reads.n, m->a->reads.at, x),
        write = place_of(m->a->writes.n, m->a->writes.at, x);
    if (read < 0 && write < 0)
        return x == y;
    return x->dtype == y->dtype && x->layout == y->layout && shape_equal(&x->shape, &y->shape) &&
           read == place_of(m->b->reads.n, m->b->reads.at, y) &&
           write == place_of(m->b->writes.n, m->b->writes.at, y);
}

static bool same_scalar(const Match *m, const Scalar *x, const Scalar *y) {
    if (!x || !y)
        return x == y;
    int i = 0, j = 0;
    while (m->a->scalars.at[i] != x)
        i++;
    while (m->b->scalars.at[j] != y)
        j++;
    return i == j && x->dtype == y->dtype;
}

static bool same_subscripts(const Match *m, int n, const Ix *const *x, const Ix *const *y) {
    for (int i = 0; i < n; i++)
        if (!same_ix(m, x[i], y[i]))
            return false;
    return true;
}

static bool same_expr(const Match *m, const Expr *x, const Expr *y) {
    if (!x || !y)
        return x == y;
    if (x->kind != y->kind || x->dtype != y->dtype || x->nin != y->nin || x->op != y->op)
        return false;
    if (memcmp(&x->value, &y->value, sizeof x->value) != 0 || x->count != y->count ||
        x->source != y->source)
        return false;
    if (x->place != y->place || x->lo != y->lo || x->hi != y->hi)
        return false;
    for (int i = 0; i < x->nin; i++)
        if (!same_expr(m, x->in[i], y->in[i]))
            return false;
    if (!same_buffer(m, x->buffer, y->buffer) || !same_scalar(m, x->scalar, y->scalar) ||
        !same_ix(m, x->ix, y->ix))
        return false;
    if (x->kind == EX_LOAD)
        return same_subscripts(m, x->buffer->shape.rank, x->sub, y->sub);
    if (x->kind == EX_LOCAL) /* a variable has no subscripts though its local may have rank 0 */
        return is_pair(m, x->local, y->local) && same_subscripts(m, x->local->rank, x->sub, y->sub);
    return true;
}

static bool same_local(const Local *x, const Local *y) {
    if (x->dtype != y->dtype || x->lanes != y->lanes || x->named != y->named ||
        x->changes != y->changes || x->rank != y->rank)
        return false;
    return memcmp(x->extent, y->extent, sizeof *x->extent * (size_t)x->rank) == 0;
}

static bool same_loop(const Match *m, const LoopVar *x, const LoopVar *y) {
    return x->kind == y->kind && same_dim(x->extent, y->extent) && same_ix(m, x->base, y->base) &&
           same_dim(x->total, y->total);
}

static bool same_block(Match *m, const Block *x, const Block *y);

static bool declares(const Stmt *st) {
    return st->kind == ST_LET || st->kind == ST_FILL || st->kind == ST_JOIN_LANES;
}

static bool same_statement(Match *m, const Stmt *x, const Stmt *y) {
    if (x->kind != y->kind || x->op != y->op || x->node != y->node)
        return false;
    if (!same_expr(m, x->value, y->value) || !same_expr(m, x->with, y->with) ||
        !same_buffer(m, x->buffer, y->buffer))
        return false;
    if (x->var) {
        if (!same_loop(m, x->var, y->var))
            return false;
        vec_push(m->arena, &m->pairs, (Pair){x->var, y->var});
    }
    if (x->from && !is_pair(m, x->from, y->from))
        return false;
    if (declares(x)) {
        if (!same_local(x->local, y->local))
            return false;
        vec_push(m->arena, &m->pairs, (Pair){x->local, y->local});
    } else if (x->local && !is_pair(m, x->local, y->local)) {
        return false;
    }
    int rank = x->kind == ST_STORE ? x->buffer->shape.rank : x->kind == ST_SET ? x->local->rank : 0;
    return same_subscripts(m, rank, x->sub, y->sub) && same_ix(m, x->ix, y->ix) &&
           same_block(m, &x->body, &y->body);
}

static bool same_block(Match *m, const Block *x, const Block *y) {
    if (x->stmts.n != y->stmts.n)
        return false;
    for (int i = 0; i < x->stmts.n; i++)
        if (!same_statement(m, x->stmts.at[i], y->stmts.at[i]))
            return false;
    return true;
}

/* `element` and `owner` are the plan's business, but a function without restrict serves both. */
static bool same_kernel(Arena *a, const Kernel *x, const Kernel *y) {
    Match m = {.arena = a, .a = x, .b = y};
    if (x->tiles != y->tiles || x->seed != y->seed || x->check != y->check ||
        x->reads.n != y->reads.n || x->writes.n != y->writes.n || x->scalars.n != y->scalars.n ||
        x->counts.n != y->counts.n || x->sources.n != y->sources.n)
        return false;
    for (int i = 0; i < x->reads.n; i++)
        if (x->reads.at[i].element != y->reads.at[i].element)
            return false;
    return same_block(&m, &x->nest->body, &y->nest->body);
}

void schedule_share(Compiler *c) {
    const Lowered *l = c->lowered;
    for (int i = 0; i < l->kernels.n; i++)
        for (int j = 0; j < i; j++) {
            Kernel *k = l->kernels.at[i], *first = l->kernels.at[j];
            if (first->same_as != first->id || !same_kernel(c->arena, first, k))
                continue;
            k->same_as = first->id;
            k->name = first->name;
            break;
        }
}
