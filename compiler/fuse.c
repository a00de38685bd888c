/* fuse.c: groups of nodes that one kernel computes, grown from anchors: contraction > reduction >
 * map.
 *
 * Nodes are visited in topological order. An anchor starts a group or, a reduction, joins one with
 * its rows. A map joins the group of what it is made from when it has that group's space and uses
 * each member only at the same element (a symbolic walk of subscripts decides) and no path leads
 * from the group through another to the map. A map with one use is left to its user, a cheap one to
 * all its users: both are inlined. What remains starts a group of its own.
 */
#include "fuse.h"
#include <stdlib.h>

enum { CHEAP = 3, MEMBERS = 200, EPILOGUE = 40, FEW = 8, LONG = 4096 };

/* ---- walks ---- */

static bool is_landmark(const Fuser *f, const Node *n) {
    return f->out->group_of[n->id] || f->stored[n->id] || n->op == OP_read;
}

static void reach_input(Fuser *f, Node *in, const Ix *const *sub, ReachVec *out) {
    if (is_landmark(f, in)) {
        const Ix *flat = sub ? ix_flat(f->scratch, &in->shape, sub) : NULL;
        for (int i = 0; i < out->n; i++)
            if (out->at[i].node == in &&
                (out->at[i].flat == flat ||
                 (flat && out->at[i].flat && ix_equal(out->at[i].flat, flat))))
                return;
        vec_push(f->scratch, out, (Reach){in, flat});
        if (in->op != OP_read && !f->out->group_of[in->id] && !f->stored[in->id])
            bug("landmark");
        return;
    }
    fuse_reach(f, in, sub, out);
}

/* pick: the row of the element is known, its place in the row is not. */
static void reach_pick(Fuser *f, const Node *n, const Ix *const *sub, ReachVec *out) {
    const Ix *at[MAX_RANK];
    int last = n->shape.rank;
    for (int d = 0; d < last; d++)
        at[d] = sub[d];
    const Expr *which = expr_const(f->scratch, DT_I32, n->id);
    at[last] = ix_data(f->scratch, which, n->in[0]->shape.dim[last].n);
    reach_input(f, n->in[0], at, out);
    reach_input(f, n->in[1], sub, out);
}

static void reach_gather(Fuser *f, const Node *n, const Ix *const *sub, ReachVec *out) {
    reach_input(f, n->in[0], NULL, out);
    reach_input(f, n->in[1], sub, out);
}

void fuse_reach(Fuser *f, const Node *n, const Ix *const *sub, ReachVec *out) {
    if (n->op == OP_pick && sub) {
        reach_pick(f, n, sub, out);
        return;
    }
    if ((n->op == OP_gather || n->op == OP_batch) && sub) {
        if (n->op == OP_gather)
            reach_gather(f, n, sub, out);
        else
            reach_input(f, n->in[0], sub, out);
        return;
    }
    for (int i = 0; i < n->nin; i++) {
        const Ix *at[MAX_RANK];
        bool known = sub && input_subscripts(f->scratch, n, i, sub, at);
        reach_input(f, n->in[i], known ? at : NULL, out);
    }
}

/* ---- spaces ---- */

static const Ix *full_flat(Fuser *f, const Group *g) {
    return ix_add(f->scratch, ix_scale(f->scratch, ix_var(f->scratch, f->row), g->length),
                  ix_var(f->scratch, f->element));
}

static const Count *leading_count(const Shape *s) {
    for (int d = 0; d < s->rank; d++)
        if (s->dim[d].n != 1)
            return s->dim[d].count;
    return s->rank ? s->dim[0].count : NULL;
}

/* The symbols range over the space of g. */
static void set_space(Fuser *f, const Group *g) {
    ((LoopVar *)f->row)->extent = dim_fixed(MAX(g->rows, 1));
    ((LoopVar *)f->element)->extent = dim_fixed(MAX(g->length, 1));
}

/* The element that a member has in its group, as a flat offset; NULL when it does not fit the
 * space. */
static const Ix *member_flat(Fuser *f, const Group *g, const Node *n) {
    int64_t elements = shape_elements(&n->shape);
    if (g->kind == GROUP_ROW && elements == g->rows * g->length &&
        (g->length != 1 || op_info[n->op].kind != KIND_REDUCE))
        return full_flat(f, g);
    return elements == g->rows ? ix_var(f->scratch, f->row) : NULL;
}

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

void fuse_reach_member(Fuser *f, const Group *g, const Node *n, ReachVec *out) {
    const Ix *sub[MAX_RANK];
    set_space(f, g);
    if (op_info[n->op].kind == KIND_REDUCE) {
        const Ix *in[MAX_RANK];
        if (g->kind == GROUP_ROW)
            ix_unflat(f->scratch, &n->in[0]->shape, full_flat(f, g), in);
        for (int i = 0; i < n->nin; i++)
            reach_input(f, n->in[i], g->kind == GROUP_ROW ? in : NULL, out);
        return;
    }
    const Ix *flat = g->kind == GROUP_DOT && n == g->anchor ? NULL : member_flat(f, g, n);
    if (!flat || g->kind == GROUP_OTHER) {
        fuse_reach(f, n, NULL, out);
        return;
    }
    ix_unflat(f->scratch, &n->shape, flat, sub);
    fuse_reach(f, n, sub, out);
}

/* ---- dependence ---- */

static bool depends_from(Fuser *f, const Group *to, int from) {
    if (to->id == from)
        return true;
    f->seen[to->id] = f->stamp;
    for (int i = 0; i < to->deps.n; i++)
        if (f->seen[to->deps.at[i]] != f->stamp &&
            depends_from(f, f->out->groups.at[to->deps.at[i]], from))
            return true;
    return false;
}

bool fuse_depends(Fuser *f, const Group *to, const Group *from) {
    if (to == from || !from->needed)
        return to == from;
    f->stamp++;
    return depends_from(f, to, from->id);
}

void fuse_add_dep(Fuser *f, Group *g, const Group *before) {
    if (g == before || g->region != before->region)
        return;
    for (int i = 0; i < g->deps.n; i++)
        if (g->deps.at[i] == before->id)
            return;
    vec_push(f->arena, &g->deps, before->id);
    f->out->groups.at[before->id]->needed = true;
}

Group *fuse_new_group(Fuser *f, GroupKind kind, Node *anchor, Region *region) {
    Group *g = NEW(f->arena, Group);
    g->id = f->out->groups.n;
    g->kind = kind;
    g->anchor = anchor;
    g->region = region;
    g->rows = g->length = g->inner = 1;
    vec_push(f->arena, &f->out->groups, g);
    if (g->id >= f->seen_cap) {
        f->seen_cap = 2 * g->id + 64;
        f->seen = NEW_ARRAY(f->arena, int, f->seen_cap);
    }
    return g;
}

static void add_member(Fuser *f, Group *g, Node *n) {
    ReachVec reach = {0};
    fuse_reach_member(f, g, n, &reach);
    for (int i = 0; i < reach.n; i++) {
        Group *h = f->out->group_of[reach.at[i].node->id];
        if (h)
            fuse_add_dep(f, g, h);
    }
    vec_push(f->arena, &g->nodes, n);
    f->out->group_of[n->id] = g;
    g->effects |= op_info[n->op].kind == KIND_EFFECT;
    g->writes_homes |= f->written[n->id];
    ReachVec all = {0};
    fuse_reach(f, n, NULL, &all);
    for (int i = 0; i < all.n; i++)
        vec_push(f->arena, &g->inputs, all.at[i].node);
}

/* ---- joining ---- */

/* A member may be used by n only at the element that is computed together with n's. */
static bool uses_same_element(Fuser *f, const Group *g, const Node *n, Reach r) {
    if (!r.flat)
        return false;
    const Ix *row = ix_var(f->scratch, f->row);
    if (g->kind != GROUP_ROW)
        return ix_equal(r.flat, row);
    const Ix *own = member_flat(f, g, r.node);
    if (own && !ix_uses(own, f->element))
        return ix_equal(r.flat, row);
    if (ix_equal(r.flat, full_flat(f, g)))
        return true;
    /* another element of the same row is computed anew, from inputs and the row's reductions */
    return op_info[r.node->op].kind == KIND_MAP && n->op == OP_pick &&
           ix_equal(ix_div(f->scratch, r.flat, g->length), row);
}

/* A few long rows are cut into pieces for the threads; what needs the whole row is another kernel's
 * work. */
static bool needs_whole_row(const Group *g, const Node *n, const Node *used) {
    if (g->kind != GROUP_ROW || g->rows >= FEW || g->length < LONG)
        return false;
    return shape_elements(&used->shape) == g->rows &&
           (shape_elements(&n->shape) > g->rows || op_info[n->op].kind == KIND_REDUCE);
}

/* Every use of g's members fits, and nothing n needs comes after g. */
static bool may_join(Fuser *f, const Group *g, const Node *n) {
    ReachVec reach = {0};
    if (g->nodes.n >= (g->kind == GROUP_DOT ? EPILOGUE : MEMBERS) || g->region != n->region)
        return false;
    if ((g->effects && f->written[n->id]) ||
        (g->writes_homes && op_info[n->op].kind == KIND_EFFECT))
        return false;
    fuse_reach_member(f, g, n, &reach);
    for (int i = 0; i < reach.n; i++) {
        const Group *h = f->out->group_of[reach.at[i].node->id];
        if (h == g && needs_whole_row(g, n, reach.at[i].node))
            return false;
        if (h == g ? !uses_same_element(f, g, n, reach.at[i])
                   : h && h->region == g->region && fuse_depends(f, h, g))
            return false;
    }
    return true;
}

/* The run-time extents of a full member stand where those of the rows and of their length do: its
 * elements lie where the loops count them. */
static bool full_counts_fit(const Group *g, const Shape *s) {
    int64_t before = 1;
    bool found = !g->length_count;
    for (int d = 0; d < s->rank; d++) {
        if (s->dim[d].n == 1)
            continue;
        const Count *want = before == g->rows ? g->length_count : before == 1 ? g->count : NULL;
        if (s->dim[d].count != want)
            return false;
        found |= before == g->rows;
        before *= s->dim[d].n;
    }
    return found;
}

static bool counts_fit(const Group *g, const Shape *s) {
    if (g->kind == GROUP_ROW && g->length > 1 && shape_elements(s) == g->rows * g->length)
        return full_counts_fit(g, s);
    return leading_count(s) == g->count || !shape_count(s);
}

/* The tiles of a contraction in f32 are vectors in registers; a kernel with numbers of 64 bits has
 * no vectors, so its epilogue takes none of them. */
static bool has_vectors(const Group *g) {
    return g->kind == GROUP_DOT && g->anchor->dtype == DT_F32;
}

static bool fits(Fuser *f, const Group *g, const Node *n) {
    if (g->kind == GROUP_OTHER || (f->wide[n->id] && has_vectors(g)))
        return false;
    set_space(f, g);
    const Ix *flat = member_flat(f, g, n);
    return flat && counts_fit(g, &n->shape) && may_join(f, g, n);
}

static int later_group(const void *x, const void *y) {
    const Group *a = *(Group *const *)x, *b = *(Group *const *)y;
    return (a->id < b->id) - (a->id > b->id);
}

/* Groups that n is made from, latest first. */
static int producers(Fuser *f, const Node *n, const Group **out, int max) {
    ReachVec reach = {0};
    VEC(const Group *) found = {0};
    fuse_reach(f, n, NULL, &reach);
    f->stamp++;
    for (int i = 0; i < reach.n; i++) {
        const Group *g = f->out->group_of[reach.at[i].node->id];
        if (!g || f->seen[g->id] == f->stamp)
            continue;
        f->seen[g->id] = f->stamp;
        vec_push(f->scratch, &found, g);
    }
    if (found.n > 1)
        qsort(found.at, (size_t)found.n, sizeof *found.at, later_group);
    for (int i = 0; i < found.n && i < max; i++)
        out[i] = found.at[i];
    return MIN(found.n, max);
}

/* Every use of one group's members by the other is at the same element. */
static bool uses_only_same(Fuser *f, const Group *user, const Group *used) {
    for (int m = 0; m < user->nodes.n; m++) {
        ReachVec reach = {0};
        fuse_reach_member(f, user, user->nodes.at[m], &reach);
        for (int i = 0; i < reach.n; i++)
            if (f->out->group_of[reach.at[i].node->id] == used &&
                !uses_same_element(f, used, user->nodes.at[m], reach.at[i]))
                return false;
    }
    return true;
}

/* Does a path lead from `from` to `to` through a third group? */
static bool goes_round(Fuser *f, const Group *to, const Group *from) {
    for (int i = 0; i < to->deps.n; i++)
        if (to->deps.at[i] != from->id && fuse_depends(f, f->out->groups.at[to->deps.at[i]], from))
            return true;
    return false;
}

/* May the maps of `guest` be computed by `host`, maps or the epilogue of a contraction? */
static bool may_take_in(Fuser *f, const Group *host, const Group *guest) {
    bool epilogue = host->kind == GROUP_DOT;
    if (host == guest || (host->kind != GROUP_MAP && !epilogue) || guest->kind != GROUP_MAP ||
        host->region != guest->region || host->rows != guest->rows || host->count != guest->count)
        return false;
    if (host->nodes.n + guest->nodes.n > (epilogue ? EPILOGUE : MEMBERS) ||
        (host->effects && guest->writes_homes) || (guest->effects && host->writes_homes))
        return false;
    for (int i = 0; i < guest->nodes.n && has_vectors(host); i++)
        if (f->wide[guest->nodes.at[i]->id])
            return false;
    return !goes_round(f, host, guest) && !goes_round(f, guest, host) &&
           uses_only_same(f, host, guest) && uses_only_same(f, guest, host);
}

/* Two groups over one space that a later node uses together become one: it is returned. */
static Group *unite(Fuser *f, Group *g, Group *h) {
    if (may_take_in(f, g, h))
        fuse_absorb(f, g, h);
    else if (may_take_in(f, h, g))
        return fuse_absorb(f, h, g), h;
    return g;
}

static bool join_producer(Fuser *f, Node *n) {
    const Group *from[16];
    int count = producers(f, n, from, COUNT_OF(from));
    for (int i = 0; i < count; i++) {
        Group *g = f->out->groups.at[from[i]->id];
        if (!fits(f, g, n))
            continue;
        add_member(f, g, n);
        for (int k = 0; k < count; k++)
            g = unite(f, g, f->out->groups.at[from[k]->id]);
        return true;
    }
    return false;
}

static void start_map(Fuser *f, Node *n) {
    Group *g = fuse_new_group(f, GROUP_MAP, NULL, n->region);
    g->rows = shape_elements(&n->shape);
    g->count = leading_count(&n->shape);
    add_member(f, g, n);
}

/* ---- reductions ---- */

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
    if (may_join(f, g, n))
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
    const Group *from[16];
    int count = producers(f, n, from, COUNT_OF(from));
    for (int i = 0; i < count; i++)
        if (from[i]->region == g->region && fuse_depends(f, from[i], g))
            return false;
    return count < COUNT_OF(from);
}

static bool join_reduction(Fuser *f, Group *g, const Group *space, Node *n, bool reached) {
    if (g->region != n->region)
        return false;
    bool fitting = false;
    if (g->kind == GROUP_ROW && same_space(g, space))
        fitting = reached ? may_join(f, g, n)
                          : shares_input(f, g) && is_independent(f, g, n) && may_join(f, g, n);
    else if (g->kind == GROUP_COLUMN && same_space(g, space))
        fitting = shares_input(f, g) && is_independent(f, g, n);
    else if (reached && space->kind == GROUP_ROW)
        fitting = becomes_rows(f, g, space, n);
    if (fitting) {
        g->anchor = g->anchor ? g->anchor : n;
        add_member(f, g, n);
    }
    return fitting;
}

static void visit_reduction(Fuser *f, Node *n) {
    Group space = {.inner = 1};
    int64_t outer, length, inner;
    if (!reduce_space(n, &outer, &length, &inner))
        bug("reduction of node %d over axes that are not neighbours", n->id);
    bool arg = op_info[n->op].flags & OPF_ARG;
    space.kind = inner == 1 ? GROUP_ROW : arg ? GROUP_OTHER : GROUP_COLUMN;
    space.rows = outer * inner;
    space.length = length;
    space.inner = inner;
    space.count = leading_count(&n->shape);
    space.length_count = reduced_count(n);
    mark_inputs(f, n);
    const Group *from[16];
    int count = producers(f, n, from, COUNT_OF(from));
    for (int i = 0; i < count; i++)
        if (join_reduction(f, f->out->groups.at[from[i]->id], &space, n, true))
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
    add_member(f, g, n);
}

/* ---- the pass ---- */

static bool is_leaf(const Node *n) {
    return op_info[n->op].kind == KIND_LEAF;
}

/* Ops that are a kernel of their own. */
static bool is_other(const Node *n) {
    return op_info[n->op].flags & OPF_OWN;
}

static bool steps_are_one(const Node *n) {
    for (int d = 0; d < n->shape.rank; d++)
        if (n->attr.slice.step[d] != 1)
            return false;
    return true;
}

/* What a contraction or a table look-up reads must lie in memory: reshapes and plain slices of
 * something stored do. */
static void store_operand(Fuser *f, Node *n) {
    while (n->op == OP_reshape || (n->op == OP_slice && steps_are_one(n)))
        n = n->in[0];
    if (n->op != OP_read && !(n->op == OP_constant && n->attr.constant.data))
        f->stored[n->id] = true;
}

static void mark_live(Fuser *f, Node *n) {
    if (f->live[n->id])
        return;
    f->live[n->id] = true;
    for (int i = 0; i < n->nin; i++) {
        f->out->uses[n->in[i]->id]++;
        if (n->in[i]->region != n->region && !is_leaf(n->in[i]))
            f->crosses[n->in[i]->id] = f->stored[n->in[i]->id] = true;
        mark_live(f, n->in[i]);
    }
}

/* Does it change while values of it are in use? What is computed once at the start does not. */
static bool is_written(const Fuser *f, const Home *h) {
    const Program *p = f->compiler->program;
    if (h->kind == HOME_CONST)
        return false;
    for (int r = 0; r < p->regions.n; r++)
        for (int w = 0; w < p->regions.at[r]->writes.n; w++)
            if (p->regions.at[r]->writes.at[w].home == h)
                return true;
    return false;
}

static void find_live(Fuser *f) {
    const Program *p = f->compiler->program;
    for (int r = 0; r < p->regions.n; r++) {
        Region *region = p->regions.at[r];
        for (int i = 0; i < region->outputs.n; i++) {
            Node *n = region->outputs.at[i];
            mark_live(f, n);
            f->out->uses[n->id]++;
            f->crosses[n->id] = true;
            if (n->op != OP_read || is_written(f, n->attr.home))
                f->stored[n->id] = true;
        }
        for (int i = 0; i < region->writes.n; i++) {
            mark_live(f, region->writes.at[i].value);
            f->written[region->writes.at[i].value->id] |=
                region->writes.at[i].value->region == region;
            f->out->uses[region->writes.at[i].value->id]++;
        }
    }
    for (int i = 0; i < f->graph->nodes.n; i++)
        if (op_info[f->graph->nodes.at[i]->op].kind == KIND_EFFECT)
            mark_live(f, f->graph->nodes.at[i]);
}

/* Values of an op of their own kind that must lie in memory for their users. */
static void find_stored(Fuser *f) {
    for (int i = 0; i < f->graph->nodes.n; i++) {
        Node *n = f->graph->nodes.at[i];
        if (!f->live[i])
            continue;
        for (int k = 0; k < n->nin; k++) /* a home that changes is read in its own region */
            if (n->in[k]->op == OP_read && n->in[k]->region != n->region &&
                is_written(f, n->in[k]->attr.home))
                f->crosses[n->in[k]->id] = f->stored[n->in[k]->id] = true;
        if (n->op == OP_dot) {
            store_operand(f, n->in[0]);
            store_operand(f, n->in[1]);
        } else if (n->op == OP_gather || n->op == OP_slice_at) {
            store_operand(f, n->in[0]);
        }
    }
    for (int r = 0; r < f->compiler->program->regions.n; r++) {
        const Region *region = f->compiler->program->regions.at[r];
        for (int i = 0; i < region->writes.n; i++) {
            Node *v = region->writes.at[i].value;
            if (!is_leaf(v) || (v->op == OP_read && v->attr.home != region->writes.at[i].home &&
                                is_written(f, v->attr.home)))
                f->stored[v->id] = true;
        }
    }
}

/* A stored reshape lies where its input lies. */
static void store_behind_reshapes(Fuser *f) {
    for (int i = f->graph->nodes.n - 1; i >= 0; i--) {
        Node *n = f->graph->nodes.at[i];
        if (!f->stored[i] || n->op != OP_reshape || f->written[i] ||
            is_leaf(fuse_behind_reshapes(n)))
            continue;
        f->stored[n->in[0]->id] = true;
        f->crosses[n->in[0]->id] |= f->crosses[i];
        f->stored[i] = false;
    }
}

static int weigh(const Fuser *f, const Node *n) {
    if (is_leaf(n))
        return n->op == OP_read ? 1 : 0;
    if (f->out->group_of[n->id])
        return 1;
    int w = op_info[n->op].kind == KIND_MOVE    ? 0
            : op_info[n->op].flags & OPF_COSTLY ? 2 * CHEAP
                                                : 1;
    w += op_info[n->op].kind == KIND_INDEXED;
    for (int i = 0; i < n->nin; i++)
        w += f->weight[n->in[i]->id];
    return w;
}

static bool has_64_bits(const Node *n) {
    return n->dtype == DT_F64 || n->dtype == DT_I64;
}

/* Does a number of 64 bits stand in the text of n, with all that is inlined in it? */
static bool is_wide(const Fuser *f, const Node *n) {
    bool wide = has_64_bits(n);
    for (int i = 0; i < n->nin; i++)
        wide |= is_landmark(f, n->in[i]) ? has_64_bits(n->in[i]) : f->wide[n->in[i]->id];
    return wide;
}

/* One value a row is kept with its row, so that its user need not read what the row was made from.
 */
static void join_rows(Fuser *f, Node *n) {
    const Group *from[16];
    int count = producers(f, n, from, COUNT_OF(from));
    const Group *g = count ? from[0] : NULL;
    if (g && g->kind == GROUP_ROW && g->length > 1 && shape_elements(&n->shape) == g->rows &&
        fits(f, g, n))
        add_member(f, f->out->groups.at[g->id], n);
}

static void visit(Fuser *f, Node *n) {
    OpKind kind = op_info[n->op].kind;
    if (n->op == OP_dot) {
        Group *g = fuse_new_group(f, GROUP_DOT, n, n->region);
        g->rows = shape_elements(&n->shape);
        g->count = leading_count(&n->shape);
        add_member(f, g, n);
    } else if (kind == KIND_REDUCE) {
        visit_reduction(f, n);
    } else if (is_other(n)) {
        Group *g = fuse_new_group(f, GROUP_OTHER, n, n->region);
        g->rows = shape_elements(&n->shape);
        add_member(f, g, n);
    } else if (is_leaf(n) && !f->stored[n->id]) {
        return;
    } else if (f->stored[n->id] || kind == KIND_EFFECT) {
        if (!join_producer(f, n))
            start_map(f, n);
    } else if (kind != KIND_MOVE && f->out->uses[n->id] > 1 && !join_producer(f, n) &&
               weigh(f, n) > CHEAP) {
        start_map(f, n);
    } else if (kind != KIND_MOVE && f->out->uses[n->id] == 1) {
        join_rows(f, n);
    }
}

void fuse(Compiler *c) {
    Fuser f = {.compiler = c, .arena = c->arena, .graph = c->program->graph};
    fuse_split_reductions(&f);
    int n = f.graph->nodes.n;
    f.out = NEW(c->arena, Fusion);
    f.out->group_of = NEW_ARRAY(c->arena, Group *, n);
    f.out->buffer_of = NEW_ARRAY(c->arena, Buffer *, n);
    f.out->uses = NEW_ARRAY(c->arena, int, n);
    f.out->proved = NEW_ARRAY(c->arena, bool, n);
    f.live = NEW_ARRAY(c->arena, bool, n);
    f.stored = NEW_ARRAY(c->arena, bool, n);
    f.crosses = NEW_ARRAY(c->arena, bool, n);
    f.weight = NEW_ARRAY(c->arena, int, n);
    f.marked = NEW_ARRAY(c->arena, int, n);
    f.written = NEW_ARRAY(c->arena, bool, n);
    f.wide = NEW_ARRAY(c->arena, bool, n);
    f.scratch = arena_new();
    f.row = NEW(c->arena, LoopVar);
    f.element = NEW(c->arena, LoopVar);
    find_live(&f);
    find_stored(&f);
    store_behind_reshapes(&f);
    fuse_prove_indices(&f);
    for (int i = 0; i < n; i++) {
        f.wide[i] = is_wide(&f, f.graph->nodes.at[i]);
        if (f.live[i])
            visit(&f, f.graph->nodes.at[i]);
        arena_reset(f.scratch);
        f.weight[i] = weigh(&f, f.graph->nodes.at[i]);
    }
    c->fusion = f.out;
    fuse_buffers(&f);
    fuse_homes(&f);
    fuse_merge_scalars(&f);
    fuse_order(&f);
    arena_free(f.scratch);
}
