/* schedule_owner.c: which accesses of a kernel are cut by its tile loop.
 *
 * Tile t owns a part of a buffer when every subscript along one axis lies in
 * [t * part, (t + 1) * part), as the ranges of the inner loops prove; the last tile may reach to
 * the end. Kernels with equally many tiles that own the same parts need no barrier between them
 * (plan.c), so schedule_*.c cut rows and columns by common rules.
 */
#include "schedule.h"

enum { ALL = -1, OUTSIDE = -2 };

typedef struct Touch {
    const Buffer *buffer;
    const Ix *const *sub; /* NULL: more than one element */
    bool write;
    int64_t tile; /* in a branch of this tile alone; ALL; or OUTSIDE of the loop */
} Touch;

typedef struct Walk {
    Arena *arena;
    const LoopVar *tile;
    bool outside; /* of the tile loop */
    int64_t only;
    VEC(Touch) touches;
} Walk;

static void walk_expr(Walk *w, const Expr *e);

static void walk_ix(Walk *w, const Ix *x) {
    for (int i = 0; i < x->n; i++) {
        const Atom *atom = x->term[i].atom;
        if (atom->kind == ATOM_DATA)
            walk_expr(w, atom->data);
        else if (atom->of)
            walk_ix(w, atom->of);
    }
}

static void touch(Walk *w, const Buffer *b, const Ix *const *sub, bool write) {
    int64_t tile = w->outside ? OUTSIDE : w->only;
    vec_push(w->arena, &w->touches, (Touch){b, sub, write, tile});
    for (int i = 0; sub && i < b->shape.rank; i++)
        walk_ix(w, sub[i]);
}

static void walk_expr(Walk *w, const Expr *e) {
    for (int i = 0; i < e->nin; i++)
        walk_expr(w, e->in[i]);
    if (e->ix)
        walk_ix(w, e->ix);
    if (e->kind == EX_LOAD)
        touch(w, e->buffer, e->sub, false);
    for (int i = 0; e->kind == EX_LOCAL && e->sub && i < e->local->rank; i++)
        walk_ix(w, e->sub[i]);
}

/* The only tile for which the condition holds, or ALL. */
static int64_t tile_of_condition(const Walk *w, const Expr *e) {
    if (e->kind != EX_OP || e->op != OP_eq || e->in[0]->kind != EX_INDEX ||
        e->in[1]->kind != EX_CONST)
        return ALL;
    const Ix *x = e->in[0]->ix;
    bool is_tile = x->n == 1 && x->c == 0 && x->term[0].k == 1 &&
                   x->term[0].atom->kind == ATOM_VAR && x->term[0].atom->var == w->tile;
    return is_tile ? (int64_t)e->in[1]->value : ALL;
}

static void walk_block(Walk *w, const Block *b) {
    for (int i = 0; i < b->stmts.n; i++) {
        const Stmt *st = b->stmts.at[i];
        const Walk was = *w;
        if (st->value)
            walk_expr(w, st->value);
        if (st->with)
            walk_expr(w, st->with);
        if (st->kind == ST_STORE)
            touch(w, st->buffer, st->sub, true);
        for (int d = 0; st->kind == ST_SET && st->sub && d < st->local->rank; d++)
            walk_ix(w, st->sub[d]);
        w->outside = was.outside && st->var != w->tile;
        if (st->kind == ST_TRANSPOSE) {
            touch(w, st->buffer, NULL, true);
            touch(w, st->value->buffer, NULL, false);
        }
        if (st->kind == ST_IF && was.only < 0 && !w->outside)
            w->only = tile_of_condition(w, st->value);
        walk_block(w, &st->body);
        w->outside = was.outside;
        w->only = was.only;
    }
}

/* Elements of the axis a tile owns by this subscript; 0: not cut by the tiles. */
static int64_t part_of(const Walk *w, const Ix *x) {
    bool linear;
    int64_t lo, hi, part = ix_coefficient(x, w->tile, &linear);
    if (!linear || part <= 0)
        return 0;
    ix_range(ix_add(w->arena, x, ix_scale(w->arena, ix_var(w->arena, w->tile), -part)), &lo, &hi);
    return lo >= 0 && hi < part ? part : 0;
}

static bool in_last_part(const Walk *w, const Touch *t, int axis, int64_t part) {
    bool linear;
    int64_t lo, hi, k = ix_coefficient(t->sub[axis], w->tile, &linear);
    if (!linear || t->tile != w->tile->extent.n - 1)
        return false;
    ix_range(ix_add(w->arena, t->sub[axis], ix_scale(w->arena, ix_var(w->arena, w->tile), -k)),
             &lo, &hi);
    return lo + k * t->tile >= part * t->tile;
}

/* The part of every tile along an axis; 0: some access leaves it. */
static int64_t common_part(const Walk *w, const Buffer *b, bool write, int axis) {
    int64_t part = 0;
    for (int i = 0; i < w->touches.n; i++) {
        const Touch *t = &w->touches.at[i];
        if (t->buffer != b || t->write != write || (t->sub && t->tile >= 0))
            continue;
        int64_t one = t->tile == OUTSIDE || !t->sub ? 0 : part_of(w, t->sub[axis]);
        if (one == 0 || (part && one != part))
            return 0;
        part = one;
    }
    for (int i = 0; i < w->touches.n && part; i++) {
        const Touch *t = &w->touches.at[i];
        if (t->buffer == b && t->write == write && t->tile >= 0 && !in_last_part(w, t, axis, part))
            return 0;
    }
    return part;
}

static void find_owner(const Walk *w, Access *a, bool write) {
    a->owner = false;
    for (int axis = 0; axis < a->buffer->shape.rank && !a->owner; axis++) {
        int64_t part = common_part(w, a->buffer, write, axis);
        if (part) {
            a->owner = true;
            a->axis = axis;
            a->part = part;
        }
    }
}

void sched_find_owners(Sched *s) {
    Walk w = {.arena = s->arena, .outside = true, .only = ALL};
    Kernel *k = s->kernel;
    const Block *body = &s->nest->body;
    for (int i = 0; i < body->stmts.n; i++)
        if (body->stmts.at[i]->kind == ST_LOOP && body->stmts.at[i]->var->kind == LOOP_TILE)
            w.tile = body->stmts.at[i]->var;
    if (!w.tile || k->tiles <= 1)
        return;
    walk_block(&w, body);
    for (int i = 0; i < k->reads.n; i++)
        find_owner(&w, &k->reads.at[i], false);
    for (int i = 0; i < k->writes.n; i++)
        find_owner(&w, &k->writes.at[i], true);
}
