/* fuse_order.c: which values go to memory, where homes are written, and the order of the groups.
 *
 * A home is written in place by the kernel that computes its new version when every reader of the
 * old version can come before that kernel, and the kernel itself reads only the element it writes;
 * else by a copy at the end of the region. Writes to homes come after all that may set the fault
 * word.
 */
#include "fuse.h"

/* ---- buffers ---- */

/* By node: the shape in which its users see it, when all see it in one other shape. */
static void find_stored_shapes(Fuser *f) {
    f->used_as = NEW_ARRAY(f->arena, const Shape *, f->graph->nodes.n);
    for (int i = 0; i < f->graph->nodes.n; i++) {
        const Node *user = f->graph->nodes.at[i];
        for (int k = 0; k < user->nin && f->live[i]; k++) {
            const Node *n = user->in[k];
            const Shape **as = &f->used_as[n->id];
            if (user->op != OP_reshape || (*as && !shape_equal(*as, &user->shape)))
                *as = &n->shape;
            else if (!*as)
                *as = &user->shape;
        }
    }
}

static const Shape *stored_shape(const Fuser *f, const Node *n) {
    return f->used_as[n->id] ? f->used_as[n->id] : &n->shape;
}

static Buffer *own_buffer(Fuser *f, Node *n) {
    if (f->out->buffer_of[n->id])
        return f->out->buffer_of[n->id];
    const Shape *shape = f->crosses[n->id] ? &n->shape : stored_shape(f, n);
    Region *only = f->crosses[n->id] ? NULL : n->region;
    Buffer like = {.dtype = n->dtype, .shape = *shape, .node = n, .region = only};
    Buffer *b = lower_buffer(f->arena, f->compiler->lowered, like);
    f->out->buffer_of[n->id] = b;
    vec_push(f->arena, &f->out->group_of[n->id]->stores, (GroupStore){n, b});
    return b;
}

static void home_buffers(Fuser *f) {
    Program *p = f->compiler->program;
    for (int i = 0; i < p->homes.n; i++) {
        Home *h = p->homes.at[i];
        Buffer like = {.dtype = h->dtype, .shape = h->shape, .home = h};
        lower_buffer(f->arena, f->compiler->lowered, like);
    }
}

static void table_buffer(Fuser *f, Node *n) {
    Buffer *b = NEW(f->arena, Buffer);
    b->id = -1;
    b->name = "table";
    b->dtype = n->dtype;
    b->shape = shape_of(1, (const int64_t[]){MAX(shape_elements(&n->shape), 1)});
    b->node = n;
    f->out->buffer_of[n->id] = b;
}

/* Values that another group or the outside needs; the values of homes wait for fuse_homes. */
void fuse_buffers(Fuser *f) {
    f->compiler->lowered = NEW(f->arena, Lowered);
    f->compiler->lowered->program = f->compiler->program;
    find_stored_shapes(f);
    home_buffers(f);
    for (int i = 0; i < f->graph->nodes.n; i++) {
        Node *n = f->graph->nodes.at[i];
        if (f->live[i] && n->op == OP_read && !f->out->group_of[i])
            f->out->buffer_of[i] = lower_buffer_of_home(f->compiler->lowered, n->attr.home);
        if (f->live[i] && n->op == OP_constant && n->attr.constant.data)
            table_buffer(f, n);
    }
    for (int i = 0; i < f->out->groups.n; i++) {
        const Group *g = f->out->groups.at[i];
        for (int m = 0; m < g->nodes.n; m++) {
            ReachVec reach = {0};
            fuse_reach_member(f, g, g->nodes.at[m], &reach);
            for (int r = 0; r < reach.n; r++) {
                const Group *h = f->out->group_of[reach.at[r].node->id];
                f->stored[reach.at[r].node->id] |= h && h != g;
            }
        }
        arena_reset(f->scratch);
    }
}

/* ---- homes ---- */

/* Is it the element at which the group computes? */
static bool is_own_element(Fuser *f, const Group *g, const Home *h, const Ix *flat) {
    Arena *a = f->scratch;
    const Ix *row = ix_var(a, f->row);
    bool by_row = g->kind != GROUP_ROW || shape_elements(&h->shape) == g->rows;
    return flat && ix_equal(flat, by_row ? row
                                         : ix_add(a, ix_scale(a, row, g->length),
                                                  ix_var(a, f->element)));
}

static void add_reader(Fuser *f, const Group *g, const Home *h, bool same_element) {
    Readers *list = &f->readers[h->id];
    if (list->n && list->at[list->n - 1].group == g)
        list->at[list->n - 1].same_element &= same_element;
    else
        vec_push(f->arena, list, (Reader){g, same_element});
}

/* Who reads each home. */
static void find_readers(Fuser *f) {
    f->readers = NEW_ARRAY(f->arena, Readers, f->compiler->program->homes.n + 1);
    for (int i = 0; i < f->out->groups.n; i++) {
        const Group *g = f->out->groups.at[i];
        for (int m = 0; m < g->nodes.n; m++) {
            ReachVec reach = {0};
            fuse_reach_member(f, g, g->nodes.at[m], &reach);
            for (int k = 0; k < reach.n; k++) {
                const Node *n = reach.at[k].node;
                if (n->op == OP_read && !f->out->group_of[n->id])
                    add_reader(f, g, n->attr.home,
                               is_own_element(f, g, n->attr.home, reach.at[k].flat));
            }
        }
        if (g->effects)
            vec_push(f->arena, &f->effects, g);
        arena_reset(f->scratch);
    }
}

static bool can_write_in_place(Fuser *f, const Write *w, const Group *writer) {
    if (f->crosses[w->value->id] || f->out->buffer_of[w->value->id] ||
        op_info[w->value->op].kind == KIND_LEAF || writer->effects)
        return false;
    const Readers *readers = &f->readers[w->home->id];
    for (int i = 0; i < readers->n; i++) {
        const Group *g = readers->at[i].group;
        if (g == writer ? !readers->at[i].same_element
                        : g->region == writer->region && fuse_depends(f, g, writer))
            return false;
    }
    for (int i = 0; i < f->effects.n; i++)
        if (f->effects.at[i]->region == writer->region &&
            fuse_depends(f, f->effects.at[i], writer))
            return false;
    return true;
}

static Group *copy_group(Fuser *f, Region *region, const Write *w) {
    Group *g = fuse_new_group(f, GROUP_MAP, NULL, region);
    g->rows = shape_elements(&w->home->shape);
    if (w->value->op == OP_read)
        add_reader(f, g, w->value->attr.home, true);
    if (f->out->group_of[w->value->id]) {
        own_buffer(f, w->value);
        fuse_add_dep(f, g, f->out->group_of[w->value->id]);
    }
    return g;
}

static void write_home(Fuser *f, Region *region, const Write *w) {
    Buffer *home = lower_buffer_of_home(f->compiler->lowered, w->home);
    Group *writer = f->out->group_of[w->value->id];
    bool in_place = writer && writer->region == region && can_write_in_place(f, w, writer);
    if (!in_place)
        writer = copy_group(f, region, w);
    else
        f->out->buffer_of[w->value->id] = home;
    vec_push(f->arena, &writer->stores, (GroupStore){w->value, home});
    writer->writes_homes = true;
    const Readers *readers = &f->readers[w->home->id];
    for (int i = 0; i < readers->n; i++)
        fuse_add_dep(f, writer, readers->at[i].group);
    for (int i = 0; i < f->effects.n; i++)
        fuse_add_dep(f, writer, f->effects.at[i]);
}

void fuse_homes(Fuser *f) {
    Program *p = f->compiler->program;
    find_readers(f);
    for (int r = 0; r < p->regions.n; r++)
        for (int i = 0; i < p->regions.at[r]->writes.n; i++) {
            const Write *w = &p->regions.at[r]->writes.at[i];
            if (w->value->op != OP_read || w->value->attr.home != w->home)
                write_home(f, p->regions.at[r], w);
        }
    for (int i = 0; i < f->graph->nodes.n; i++)
        if (f->stored[i] && f->out->group_of[i])
            own_buffer(f, f->graph->nodes.at[i]);
}

/* ---- horizontal fusion of scalars ---- */

static bool is_scalar_group(const Group *g) {
    return g->kind == GROUP_MAP && g->rows == 1 && g->stores.n + g->nodes.n > 0;
}

void fuse_absorb(Fuser *f, Group *g, Group *h) {
    for (int i = 0; i < h->nodes.n; i++) {
        vec_push(f->arena, &g->nodes, h->nodes.at[i]);
        f->out->group_of[h->nodes.at[i]->id] = g;
    }
    for (int i = 0; i < h->stores.n; i++)
        vec_push(f->arena, &g->stores, h->stores.at[i]);
    for (int i = 0; i < h->inputs.n; i++)
        vec_push(f->arena, &g->inputs, h->inputs.at[i]);
    for (int i = 0; i < h->deps.n; i++)
        fuse_add_dep(f, g, f->out->groups.at[h->deps.at[i]]);
    g->effects |= h->effects;
    g->writes_homes |= h->writes_homes;
    h->nodes.n = h->stores.n = h->deps.n = 0;
    for (int i = 0; i < f->out->groups.n; i++) {
        Group *user = f->out->groups.at[i];
        int kept = 0;
        bool moved = false;
        for (int d = 0; d < user->deps.n; d++)
            if (user->deps.at[d] == h->id)
                moved = true;
            else
                user->deps.at[kept++] = user->deps.at[d];
        user->deps.n = kept;
        if (moved)
            fuse_add_dep(f, user, g);
    }
}

void fuse_merge_scalars(Fuser *f) {
    for (int i = 0; i < f->out->groups.n; i++) {
        Group *g = f->out->groups.at[i];
        for (int j = i + 1; j < f->out->groups.n && is_scalar_group(g); j++) {
            Group *h = f->out->groups.at[j];
            if (!is_scalar_group(h) || h->region != g->region || (g->effects && h->writes_homes) ||
                (h->effects && g->writes_homes))
                continue;
            if (!fuse_depends(f, g, h) && !fuse_depends(f, h, g))
                fuse_absorb(f, g, h);
        }
    }
}

/* ---- order ---- */

static bool is_ready(const Fuser *f, const Group *g, const bool *done) {
    for (int i = 0; i < g->deps.n; i++)
        if (!done[g->deps.at[i]])
            return false;
    return f->out->groups.n > 0;
}

/* Regions in their order; in a region always the oldest group whose inputs are there. */
void fuse_order(Fuser *f) {
    Program *p = f->compiler->program;
    int n = f->out->groups.n;
    bool *done = NEW_ARRAY(f->arena, bool, n + 1);
    VEC(Group *) order = {0};
    for (int r = 0, oldest = 0; r < p->regions.n; r++, oldest = 0) {
        for (int i = 0; i < n; i++) {
            Group *g = f->out->groups.at[i];
            if (done[i] || g->region != p->regions.at[r] || !is_ready(f, g, done))
                continue;
            done[i] = true;
            if (g->stores.n || g->effects)
                vec_push(f->arena, &order, g);
            while (oldest < n && (done[oldest] || f->out->groups.at[oldest]->region != g->region))
                oldest++;
            i = oldest - 1; /* the oldest first */
        }
    }
    for (int i = 0; i < n; i++)
        if (!done[i])
            bug("group %d waits for itself", i);
    f->out->groups.n = 0;
    for (int i = 0; i < order.n; i++) {
        order.at[i]->id = i;
        vec_push(f->arena, &f->out->groups, order.at[i]);
    }
}
