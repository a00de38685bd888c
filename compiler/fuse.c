/* fuse.c: groups of nodes that one kernel computes, grown from anchors: contraction > reduction >
 * map.
 *
 * Nodes are visited in topological order. What only its users need is inlined in them: a leaf,
 * movement, a map with one use or a cheap one. An op with a nest of its own and a contraction start
 * a group; a reduction (fuse_reduce.c) and a map join one where the rules of fuse_join.c allow it,
 * else they start one too. What must lie in memory is found before (fuse_stored.c), buffers, homes
 * and the order of the groups after (fuse_order.c).
 */
#include "fuse.h"

enum { CHEAP = 3 };

static bool is_leaf(const Node *n) {
    return op_info[n->op].kind == KIND_LEAF;
}

/* Ops that are a kernel of their own. */
static bool is_other(const Node *n) {
    return op_info[n->op].flags & OPF_OWN;
}

/* How many ops inlining n would write out. */
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
        wide |= fuse_is_landmark(f, n->in[i]) ? has_64_bits(n->in[i]) : f->wide[n->in[i]->id];
    return wide;
}

/* For a loss that is not finite, or for an index that nobody has proved (rows of a data source are
 * the trainer's own). */
static bool may_fault(const Fuser *f, const Node *n) {
    const OpInfo *op = &op_info[n->op];
    bool looks_up = op->kind == KIND_INDEXED && op->attr != ATTR_SOURCE;
    bool found = op->kind == KIND_EFFECT || (looks_up && !f->out->proved[n->id]);
    for (int i = 0; i < n->nin && !found; i++)
        found = !fuse_is_landmark(f, n->in[i]) && f->checks[n->in[i]->id];
    return found;
}

/* One value a row is kept with its row, so that its user need not read what the row was made from.
 */
static void join_rows(Fuser *f, Node *n) {
    const Groups from = fuse_producers(f, n);
    Group *g = from.n ? from.at[0] : NULL;
    if (g && g->kind == GROUP_ROW && g->length > 1 && shape_elements(&n->shape) == g->rows &&
        fuse_fits(f, g, n))
        fuse_add_member(f, g, n);
}

static void start_map(Fuser *f, Node *n) {
    Group *g = fuse_new_group(f, GROUP_MAP, NULL, n->region);
    g->rows = shape_elements(&n->shape);
    g->count = fuse_leading_count(&n->shape);
    fuse_add_member(f, g, n);
}

static void visit(Fuser *f, Node *n) {
    OpKind kind = op_info[n->op].kind;
    if (kind == KIND_CONTRACT) {
        Group *g = fuse_new_group(f, GROUP_DOT, n, n->region);
        g->rows = shape_elements(&n->shape);
        g->count = fuse_leading_count(&n->shape);
        fuse_add_member(f, g, n);
    } else if (kind == KIND_REDUCE) {
        fuse_visit_reduction(f, n);
    } else if (is_other(n)) {
        Group *g = fuse_new_group(f, GROUP_OTHER, n, n->region);
        g->rows = shape_elements(&n->shape);
        fuse_add_member(f, g, n);
    } else if (is_leaf(n) && !f->stored[n->id]) {
        return;
    } else if (f->stored[n->id] || kind == KIND_EFFECT) {
        if (!fuse_join_producer(f, n))
            start_map(f, n);
    } else if (kind != KIND_MOVE && f->out->uses[n->id] > 1 && !fuse_join_producer(f, n) &&
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
    f.checks = NEW_ARRAY(c->arena, bool, n);
    f.scratch = arena_new();
    f.row = NEW(c->arena, LoopVar);
    f.element = NEW(c->arena, LoopVar);
    fuse_find_stored(&f);
    fuse_prove_indices(&f);
    for (int i = 0; i < n; i++) {
        f.wide[i] = is_wide(&f, f.graph->nodes.at[i]);
        f.checks[i] = may_fault(&f, f.graph->nodes.at[i]);
        f.stored[i] |= f.written[i] && f.checks[i]; /* for the copy that waits for it */
        if (f.live[i])
            visit(&f, f.graph->nodes.at[i]);
        arena_reset(f.scratch);
        f.weight[i] = weigh(&f, f.graph->nodes.at[i]);
    }
    c->fusion = f.out;
    fuse_buffers(&f);
    fuse_homes(&f);
    fuse_name_buffers(&f);
    fuse_merge_scalars(&f);
    fuse_order(&f);
    arena_free(f.scratch);
}
