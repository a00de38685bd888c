/* fuse_stored.c: which values lie in memory whatever the groups are.
 *
 * What the host or another region reads, what contractions and look-ups read (their operands are
 * walked in an order of their own), the new version of a home whose value is no computation of its
 * region, and the old version of a home that is read past its update.
 */
#include "fuse.h"

static bool is_leaf(const Node *n) {
    return op_info[n->op].kind == KIND_LEAF;
}

static bool steps_are_one(const Node *n) {
    for (int d = 0; d < n->shape.rank; d++)
        if (n->attr.slice.step[d] != 1)
            return false;
    return true;
}

/* What windows make is larger than what it is made from, so it is read where that lies. */
static Node *behind_windows(Node *n) {
    Node *x = n;
    while (op_info[x->op].kind == KIND_MOVE && op_info[x->op].flags & OPF_VIEW) {
        if (x->op == OP_windows)
            return x->in[0];
        x = x->in[0];
    }
    return n;
}

/* What a contraction or a table look-up reads must lie in memory: reshapes and plain slices of
 * something stored do. */
static void store_operand(Fuser *f, Node *n) {
    n = behind_windows(n);
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
        bool contracts = op_info[n->op].kind == KIND_CONTRACT;
        if (contracts || op_info[n->op].flags & OPF_TABLE)
            store_operand(f, n->in[0]);
        if (contracts)
            store_operand(f, n->in[1]);
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

void fuse_find_stored(Fuser *f) {
    find_live(f);
    find_stored(f);
    store_behind_reshapes(f);
}
