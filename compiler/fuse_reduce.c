/* fuse_reduce.c: reductions: over which axes at once, and in which kernel.
 *
 * A reduction over axes that are not neighbours becomes two. One over the last axes of its input is
 * computed row by row, one over other axes in columns. It joins the group that computes its input
 * when that has the same rows, or is a group of maps over their elements (which then becomes one
 * of rows); or any group over the same space that reads something it reads and does not depend on
 * it: one pass over the memory serves both. Else it is the anchor of a new group.
 */
#include "fuse.h"

enum { TOTALS = 32 }; /* of a kernel of columns: they are to stay in registers */

/* ---- reductions over scattered axes ---- */

/* The axes make one loop: they are neighbours, and an extent with a count is the outermost, so that
 * what counts lies together. */
static bool axes_make_a_loop(const Node *n) {
    const Shape *s = &n->in[0]->shape;
    int state = 0;
    for (int d = 0; d < s->rank; d++) {
        if (s->dim[d].n == 1)
            continue;
        bool in = n->attr.axes >> d & 1;
        if (in && (state == 2 || (state == 1 && s->dim[d].count)))
            return false;
        state = in ? 1 : state ? 2 : 0;
    }
    return true;
}

/* The last run of axes, up to one with a count, is reduced first; the rest keep their places in the
 * smaller shape. */
static Node *split_one(Fuser *f, Node *n) {
    unsigned all = n->attr.axes, last = 0;
    int d = n->in[0]->shape.rank - 1;
    while (!(all >> d & 1))
        d--;
    for (bool counted = false; d >= 0 && all >> d & 1 && !counted; d--) {
        last |= 1u << d;
        counted = n->in[0]->shape.dim[d].count;
    }
    Node *inner = NEW(f->arena, Node);
    *inner = *n;
    inner->attr.axes = last;
    inner->shape = shape_without(&n->in[0]->shape, last);
    n->in = NEW_ARRAY(f->arena, Node *, 1);
    n->in[0] = inner;
    n->nin = 1;
    n->op = n->op == OP_sum_mul ? OP_sum : n->op;
    n->attr.axes = all & ~last; /* all below the dropped run, so they keep their numbers */
    return inner;
}

void fuse_split_reductions(Fuser *f) {
    Graph *g = f->graph;
    VEC(Node *) nodes = {0};
    for (int i = 0; i < g->nodes.n; i++) {
        Node *n = g->nodes.at[i];
        bool many = op_info[n->op].kind == KIND_REDUCE;
        int at = nodes.n;
        while (many && !axes_make_a_loop(n)) {
            vec_push(f->arena, &nodes, NULL);
            for (int k = nodes.n - 1; k > at; k--)
                nodes.at[k] = nodes.at[k - 1];
            nodes.at[at++] = split_one(f, n);
        }
        vec_push(f->arena, &nodes, n);
    }
    g->nodes.n = 0;
    for (int i = 0; i < nodes.n; i++) {
        nodes.at[i]->id = i;
        vec_push(f->arena, &g->nodes, nodes.at[i]);
    }
}

/* ---- spaces ---- */

/* outer x length x inner of a reduction; false when its axes are not neighbours. */
static bool reduce_space(const Node *n, int64_t *outer, int64_t *length, int64_t *inner) {
    const Shape *s = &n->in[0]->shape;
    unsigned axes = reduced_axes(n);
    *outer = *length = *inner = 1;
    int state = 0; /* before, in, behind the axes */
    for (int d = 0; d < s->rank; d++) {
        bool in = axes >> d & 1;
        if (s->dim[d].n == 1)
            continue;
        if (in && state == 2)
            return false;
        state = in ? 1 : state == 1 ? 2 : state;
        *(state == 0 ? outer : state == 1 ? length : inner) *= s->dim[d].n;
    }
    return true;
}

static const Count *reduced_count(const Node *n) {
    const Shape *s = &n->in[0]->shape;
    for (int d = 0; d < s->rank; d++)
        if (reduced_axes(n) >> d & 1 && s->dim[d].count)
            return s->dim[d].count;
    return NULL;
}

/* ---- joining ---- */

/* A group of maps over the reduction's elements or rows becomes a group of rows. */
static bool becomes_rows(Fuser *f, Group *g, const Group *space, const Node *n) {
    if (g->kind != GROUP_MAP || g->region != n->region || (g->rows != space->rows * space->length))
        return false;
    if (g->count != (space->count ? space->count : space->rows == 1 ? space->length_count : NULL))
        return false;
    Group was = *g;
    g->kind = GROUP_ROW;
    g->rows = space->rows;
    g->length = space->length;
    g->count = space->count;
    g->length_count = space->length_count;
    if (fuse_may_join(f, g, n))
        return true;
    *g = was;
    return false;
}

static bool same_space(const Group *g, const Group *h) {
    return g->kind == h->kind && g->rows == h->rows && g->length == h->length &&
           g->inner == h->inner && g->count == h->count && g->length_count == h->length_count;
}

/* Does a member of g read something that is marked? */
static bool shares_input(const Fuser *f, const Group *g) {
    for (int i = 0; i < g->inputs.n; i++)
        if (f->marked[g->inputs.at[i]->id] == f->mark)
            return true;
    return false;
}

/* Marks what n is made from. */
static void mark_inputs(Fuser *f, const Node *n) {
    ReachVec reach = {0};
    fuse_reach(f, n, NULL, &reach);
    f->mark++;
    for (int i = 0; i < reach.n; i++)
        f->marked[reach.at[i].node->id] = f->mark;
}

/* Neither needs the other, so one loop may serve both. */
static bool is_independent(Fuser *f, const Group *g, const Node *n) {
    const Groups from = fuse_producers(f, n);
    for (int i = 0; i < from.n; i++)
        if (from.at[i]->region == g->region && fuse_depends(f, from.at[i], g))
            return false;
    return true;
}

static bool join_reduction(Fuser *f, Group *g, const Group *space, Node *n, bool reached) {
    if (g->region != n->region)
        return false;
    bool fitting = false;
    if (g->kind == GROUP_ROW && same_space(g, space))
        fitting = reached ? fuse_may_join(f, g, n)
                          : shares_input(f, g) && is_independent(f, g, n) && fuse_may_join(f, g, n);
    else if (g->kind == GROUP_COLUMN && same_space(g, space))
        fitting = g->nodes.n < TOTALS && shares_input(f, g) && fuse_checks_apart(f, g, n) &&
                  is_independent(f, g, n);
    else if (reached && space->kind == GROUP_ROW)
        fitting = becomes_rows(f, g, space, n);
    if (fitting) {
        g->anchor = g->anchor ? g->anchor : n;
        fuse_add_member(f, g, n);
    }
    return fitting;
}

void fuse_visit_reduction(Fuser *f, Node *n) {
    Group space = {.inner = 1};
    int64_t outer, length, inner;
    if (!reduce_space(n, &outer, &length, &inner))
        bug("reduction of node %d over axes that are not neighbours", n->id);
    if (op_info[n->op].attr == ATTR_AXIS)
        bug("simplify has left %s of node %d", op_info[n->op].name, n->id);
    space.kind = inner == 1 ? GROUP_ROW : GROUP_COLUMN;
    space.rows = outer * inner;
    space.length = length;
    space.inner = inner;
    space.count = fuse_leading_count(&n->shape);
    space.length_count = reduced_count(n);
    mark_inputs(f, n);
    const Groups from = fuse_producers(f, n);
    for (int i = 0; i < from.n; i++)
        if (join_reduction(f, from.at[i], &space, n, true))
            return;
    for (int i = f->out->groups.n - 1; i >= 0; i--)
        if (join_reduction(f, f->out->groups.at[i], &space, n, false))
            return;
    Group *g = fuse_new_group(f, space.kind, n, n->region);
    g->rows = space.rows;
    g->length = space.length;
    g->inner = space.inner;
    g->count = space.count;
    g->length_count = space.length_count;
    fuse_add_member(f, g, n);
}
