/* fuse_join.c: which nodes and groups one kernel computes: the rules.
 *
 *   - A node joins a group whose iteration space and run-time extents it has, when it uses each
 *     member only at the element that is computed beside it, and nothing it needs comes after the
 *     group: no path leads from the group through another to the node.
 *   - Groups of maps over one space that a later node uses together become one, and a group of maps
 *     becomes the epilogue of a contraction that it shares a user with, by the same rules.
 *   - The sizes of kernels are limited; numbers of 64 bits are no epilogue of vectors; what needs a
 *     long row as a whole leaves the kernel to which threads bring its pieces; what may set the
 *     fault word and the update of a home, which waits for it, are two kernels.
 */
#include "fuse.h"

enum { MEMBERS = 200, EPILOGUE = 40, FEW = 8, LONG = 4096 };

/* A member may be used by n only at the element that is computed together with n's. */
static bool uses_same_element(Fuser *f, const Group *g, const Node *n, Reach r) {
    if (!r.flat)
        return false;
    const Ix *row = ix_var(f->scratch, f->row);
    if (g->kind != GROUP_ROW)
        return ix_equal(r.flat, row);
    const Ix *own = fuse_member_flat(f, g, r.node);
    if (own && !ix_uses(own, f->element))
        return ix_equal(r.flat, row);
    if (ix_equal(r.flat, fuse_full_flat(f, g)))
        return true;
    /* another element of the same row is computed anew, from inputs and the row's reductions */
    return op_info[r.node->op].kind == KIND_MAP && op_info[n->op].flags & OPF_LAST &&
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

bool fuse_checks_apart(const Fuser *f, const Group *g, const Node *n) {
    return !(g->effects && f->written[n->id]) && !(g->writes_homes && f->checks[n->id]);
}

bool fuse_may_join(Fuser *f, const Group *g, const Node *n) {
    ReachVec reach = {0};
    if (g->nodes.n >= (g->kind == GROUP_DOT ? EPILOGUE : MEMBERS) || g->region != n->region)
        return false;
    if (!fuse_checks_apart(f, g, n))
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
    return fuse_leading_count(s) == g->count || !shape_count(s);
}

/* The tiles of a contraction in f32 are vectors in registers; a kernel with numbers of 64 bits has
 * no vectors, so its epilogue takes none of them. */
static bool has_vectors(const Group *g) {
    return g->kind == GROUP_DOT && g->anchor->dtype == DT_F32;
}

bool fuse_fits(Fuser *f, const Group *g, const Node *n) {
    if (g->kind == GROUP_OTHER || (f->wide[n->id] && has_vectors(g)))
        return false;
    fuse_set_space(f, g);
    const Ix *flat = fuse_member_flat(f, g, n);
    return flat && counts_fit(g, &n->shape) && fuse_may_join(f, g, n);
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

bool fuse_join_producer(Fuser *f, Node *n) {
    const Groups from = fuse_producers(f, n);
    for (int i = 0; i < from.n; i++) {
        Group *g = from.at[i];
        if (!fuse_fits(f, g, n))
            continue;
        fuse_add_member(f, g, n);
        for (int k = 0; k < from.n; k++)
            g = unite(f, g, from.at[k]);
        return true;
    }
    return false;
}
