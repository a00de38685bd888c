/* fuse_group.c: groups as a graph: their members, what they are made from, and which comes before
 * which. No rule is decided here. */
#include "fuse.h"
#include <stdlib.h>

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

void fuse_add_member(Fuser *f, Group *g, Node *n) {
    ReachVec reach = {0};
    fuse_reach_member(f, g, n, &reach);
    for (int i = 0; i < reach.n; i++) {
        Group *h = f->out->group_of[reach.at[i].node->id];
        if (h)
            fuse_add_dep(f, g, h);
    }
    vec_push(f->arena, &g->nodes, n);
    f->out->group_of[n->id] = g;
    g->effects |= f->checks[n->id];
    g->writes_homes |= f->written[n->id] && !f->checks[n->id]; /* else a copy does, later */
    ReachVec all = {0};
    fuse_reach(f, n, NULL, &all);
    for (int i = 0; i < all.n; i++)
        vec_push(f->arena, &g->inputs, all.at[i].node);
}

static int later_group(const void *x, const void *y) {
    const Group *a = *(Group *const *)x, *b = *(Group *const *)y;
    return (a->id < b->id) - (a->id > b->id);
}

Groups fuse_producers(Fuser *f, const Node *n) {
    ReachVec reach = {0};
    Groups found = {0};
    fuse_reach(f, n, NULL, &reach);
    f->stamp++;
    for (int i = 0; i < reach.n; i++) {
        Group *g = f->out->group_of[reach.at[i].node->id];
        if (!g || f->seen[g->id] == f->stamp)
            continue;
        f->seen[g->id] = f->stamp;
        vec_push(f->scratch, &found, g);
    }
    if (found.n > 1)
        qsort(found.at, (size_t)found.n, sizeof *found.at, later_group);
    return found;
}
