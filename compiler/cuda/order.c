/* order.c: no thread overwrites what others have still to read.
 *
 * What stands outside of LANE and THREAD loops is computed by each thread of a warp or block, and
 * stored by one (loop.h). Where a kernel updates a buffer in place, all that have read an element
 * must be done before it is stored: a barrier goes before the store, as far inside as those threads
 * still come by together. An update reads only the element that it writes (fuse_order.c), so they
 * are of one block, and what is read where the subscripts name a thread, that thread writes.
 */
#include "geometry.h"
#include "schedule.h"

/* Who reads an element, or comes by a statement at the same time. */
typedef enum Who { ONE, A_WARP, A_BLOCK } Who;

typedef struct Own { /* a variable, and who has one value of it */
    const LoopVar *var;
    Who who;
} Own;

typedef struct Order {
    Arena *arena;
    const Kernel *kernel;
    VEC(const Buffer *) updated; /* is read and written */
    Who *reader;                 /* of each, since they waited; ONE: nobody but who writes it */
    VEC(Own) own;
} Order;

static int number_of(const Order *o, const Buffer *b) {
    for (int i = 0; i < o->updated.n; i++)
        if (o->updated.at[i] == b)
            return i;
    return -1;
}

static void find_updated(Order *o) {
    const Kernel *k = o->kernel;
    for (int i = 0; i < k->reads.n; i++)
        for (int j = 0; j < k->writes.n; j++)
            if (k->reads.at[i].buffer == k->writes.at[j].buffer)
                vec_push(o->arena, &o->updated, k->reads.at[i].buffer);
    o->reader = NEW_ARRAY(o->arena, Who, o->updated.n + 1);
}

/* ---- reads ---- */

/* Who of `who` has one value of x. */
static Who who_has(const Order *o, const Ix *x, Who who) {
    for (int i = 0; i < o->own.n; i++)
        if (ix_uses(x, o->own.at[i].var))
            who = MIN(who, o->own.at[i].who);
    return who;
}

static void note_reads(Order *o, const Expr *e, Who who);

static void note_reads_of_ix(Order *o, const Ix *x, Who who) {
    for (int i = 0; i < x->n; i++) {
        const Atom *atom = x->term[i].atom;
        if (atom->kind == ATOM_DATA)
            note_reads(o, atom->data, who);
        else if (atom->kind != ATOM_VAR)
            note_reads_of_ix(o, atom->of, who);
    }
}

static void note_reads(Order *o, const Expr *e, Who who) {
    int at = e->kind == EX_LOAD ? number_of(o, e->buffer) : -1, rank = expr_rank(e);
    Who reader = who;
    for (int d = 0; d < rank; d++) {
        if (!e->sub[d])
            continue;
        note_reads_of_ix(o, e->sub[d], who);
        reader = who_has(o, e->sub[d], reader);
    }
    if (at >= 0)
        o->reader[at] = MAX(o->reader[at], reader);
    if (e->ix)
        note_reads_of_ix(o, e->ix, who);
    for (int i = 0; i < e->nin; i++)
        note_reads(o, e->in[i], who);
}

/* Of the statement itself. What is stored is computed by the thread that stores it. */
static void note_reads_of_statement(Order *o, const Stmt *st, Who who) {
    if (st->kind == ST_STORE)
        return;
    if (st->value)
        note_reads(o, st->value, who);
    if (st->with)
        note_reads(o, st->with, who);
    if (st->kind == ST_LOOP && st->var->at)
        note_reads_of_ix(o, st->var->at, who);
}

/* ---- barriers ---- */

static bool is_overwritten(const Order *o, const Stmt *st) {
    int at = st->kind == ST_STORE ? number_of(o, st->buffer) : -1;
    if (at >= 0 && o->reader[at] != ONE)
        return true;
    for (int i = 0; i < st->body.stmts.n; i++)
        if (is_overwritten(o, st->body.stmts.at[i]))
            return true;
    return false;
}

/* Does statement i or one of the stores next to it overwrite what others have read? */
static bool must_wait(const Order *o, const Block *b, int i) {
    do
        if (is_overwritten(o, b->stmts.at[i]))
            return true;
    while (b->stmts.at[i]->kind == ST_STORE && ++i < b->stmts.n &&
           b->stmts.at[i]->kind == ST_STORE);
    return false;
}

static void wait(Order *o, Who who) {
    for (int i = 0; i < o->updated.n; i++)
        if (o->reader[i] <= who)
            o->reader[i] = ONE;
}

static void insert_barrier(Order *o, Block *b, int at) {
    Stmt *st = NEW(o->arena, Stmt);
    st->kind = ST_BARRIER;
    vec_push(o->arena, &b->stmts, st);
    for (int i = b->stmts.n - 1; i > at; i--)
        b->stmts.at[i] = b->stmts.at[i - 1];
    b->stmts.at[at] = st;
}

/* ---- the walk ---- */

static bool in_tile(const Order *o) {
    for (int i = 0; i < o->own.n; i++)
        if (o->own.at[i].var->kind == LOOP_TILE)
            return true;
    return false;
}

/* `together`: all of `who` come by each statement of the block. */
static void order_block(Order *o, Block *b, Who who, bool together);

static void order_loop(Order *o, Stmt *st, Who who, bool together) {
    const LoopVar *v = st->var;
    Who has = who; /* one value of v */
    if (v->kind == LOOP_LANE) {
        bool of_grid = who == A_BLOCK && !in_tile(o);
        who = of_grid || v->extent.n == 1 ? ONE : who;
        has = ONE;
        together = false;
    } else if (v->kind == LOOP_WARP) {
        has = who = MIN(who, A_WARP);
    } else if (v->kind == LOOP_THREAD) {
        has = ONE;
    } else if (v->kind == LOOP_AT) {
        has = who_has(o, v->at, who);
        together = false;
    }
    vec_push(o->arena, &o->own, (Own){v, has});
    order_block(o, &st->body, who, together);
    o->own.n--;
}

static void order_block(Order *o, Block *b, Who who, bool together) {
    for (int i = 0; i < b->stmts.n; i++) {
        Stmt *st = b->stmts.at[i];
        if (together && must_wait(o, b, i)) {
            insert_barrier(o, b, i++);
            wait(o, who);
        }
        note_reads_of_statement(o, st, who);
        if (st->kind == ST_BARRIER)
            wait(o, who);
        else if (st->kind == ST_LOOP)
            order_loop(o, st, who, together);
        else
            order_block(o, &st->body, who, false);
    }
}

void cuda_order(Arena *a, Kernel *k) {
    Order o = {.arena = a, .kernel = k};
    find_updated(&o);
    if (o.updated.n && !geometry_of(k).one)
        order_block(&o, &k->nest->body, A_BLOCK, true);
}
