/* schedule_map.c: kernels of maps.
 *
 * When every access is affine in the flat number of the element, one loop runs over all elements,
 * 1024 a tile; else the loops are those of the stored value's shape, tiles over the first, lanes
 * over the last.
 */
#include "schedule.h"

enum { CHUNK = 1024 };

static bool ix_is_affine(const Ix *x) {
    for (int i = 0; i < x->n; i++)
        if (x->term[i].atom->kind == ATOM_DIV || x->term[i].atom->kind == ATOM_MOD)
            return false;
    return true;
}

static bool expr_is_affine(const Expr *e) {
    int rank = expr_rank(e);
    const Ix *flat = e->kind == EX_LOAD && rank ? e->sub[0] : NULL;
    for (int i = 1; flat && i < rank;
         i++) /* subscripts may fold to an affine offset only together */
        flat = NULL;
    if (flat && !ix_is_affine(flat))
        return false;
    if (e->ix && !ix_is_affine(e->ix))
        return false;
    for (int i = 0; i < e->nin; i++)
        if (!expr_is_affine(e->in[i]))
            return false;
    return true;
}

static bool load_is_affine(Arena *a, const Expr *e) {
    if (e->kind == EX_LOAD && !ix_is_affine(ix_flat(a, &e->buffer->shape, e->sub)))
        return false;
    for (int i = 0; i < e->nin; i++)
        if (!load_is_affine(a, e->in[i]))
            return false;
    return true;
}

/* Every access as a row-major offset is affine in the loop variables. */
static bool block_is_affine(Arena *a, const Block *b) {
    for (int i = 0; i < b->stmts.n; i++) {
        const Stmt *st = b->stmts.at[i];
        if (st->value && !(expr_is_affine(st->value) && load_is_affine(a, st->value)))
            return false;
        if (st->kind == ST_STORE && !ix_is_affine(ix_flat(a, &st->buffer->shape, st->sub)))
            return false;
        if (!block_is_affine(a, &st->body))
            return false;
    }
    return true;
}

static Dim elements_of(const Group *g) {
    return (Dim){g->rows, g->count};
}

/* One loop over all elements. */
static void flat_nest(Sched *s, bool tiles) {
    Group *g = s->group;
    Shape flat = shape_of(1, &g->rows);
    const Ix *at;
    int opened = 1;
    if (g->count)
        sched_count(s, g->count);
    if (tiles) {
        LoopVar *t =
            nest_loop(s->nest, LOOP_TILE, "tile", dim_fixed((g->rows + CHUNK - 1) / CHUNK));
        const Ix *base = ix_scale(s->arena, ix_var(s->arena, t), CHUNK);
        LoopVar *e = nest_loop_to(s->nest, LOOP_LANE, "i", CHUNK, base, elements_of(g));
        at = ix_add(s->arena, base, ix_var(s->arena, e));
        opened = 2;
    } else {
        at = ix_var(s->arena, nest_loop(s->nest, LOOP_LANE, "i", elements_of(g)));
    }
    sched_store_all(s, &flat, &at);
    while (opened--)
        nest_end(s->nest);
}

static void shaped_nest(Sched *s, const Shape *shape, bool tiles) {
    const Ix *sub[MAX_RANK];
    int opened = sched_open_loops(s, shape, tiles, sub);
    sched_store_all(s, shape, sub);
    while (opened--)
        nest_end(s->nest);
}

static void scalar_nest(Sched *s) {
    const Shape none = shape_scalar();
    sched_store_all(s, &none, NULL);
}

static const Node *largest_rank(const Group *g) {
    const Node *best = g->stores.n ? g->stores.at[0].node : g->nodes.at[0];
    for (int i = 0; i < g->stores.n; i++)
        if (g->stores.at[i].node->shape.rank > best->shape.rank)
            best = g->stores.at[i].node;
    return best;
}

static void restart(Sched *s) {
    s->nest = s->kernel->nest = nest_new(s->arena);
    s->bindings.n = 0;
    s->kernel->reads.n = s->kernel->writes.n = s->kernel->counts.n = 0;
    s->kernel->scalars.n = s->kernel->sources.n = 0;
    s->kernel->places.n = s->kernel->faults.n = 0;
}

void schedule_map(Sched *s) {
    const Group *g = s->group;
    s->kernel->flops = (double)g->rows * g->nodes.n;
    if (g->rows == 1 && !g->count) {
        scalar_nest(s);
        return;
    }
    bool tiles = sched_tiles(g->rows, sched_cost(s)) > 1;
    flat_nest(s, tiles);
    const Buffer *panels = sched_panels(s);
    if (panels) {
        restart(s);
        schedule_panels(s, &panels->shape, tiles);
        return;
    }
    if (block_is_affine(s->arena, &s->nest->body)) {
        s->kernel->tiles = tiles ? (int)((g->rows + CHUNK - 1) / CHUNK) : 1;
        return;
    }
    restart(s);
    const Shape *shape = &largest_rank(g)->shape;
    int first = 0;
    while (first + 1 < shape->rank && shape->dim[first].n == 1)
        first++;
    tiles = tiles && first + 1 < shape->rank && shape->dim[first].n > 1;
    shaped_nest(s, shape, tiles);
    s->kernel->tiles = tiles ? (int)shape->dim[first].n : 1;
}
