/* fuse_reach.c: which elements an element is made from.
 *
 * A symbolic walk: from one element of a node, given by its subscripts, through everything that is
 * inlined, to the members of groups, the stored values and the homes behind it. What it finds are
 * offsets in the symbols `row` and `element`, so two uses can be compared: the rules for joining
 * (fuse_join.c) ask whether a value is used at the element that is computed beside it.
 */
#include "fuse.h"

/* ---- walks ---- */

bool fuse_is_landmark(const Fuser *f, const Node *n) {
    return f->out->group_of[n->id] || f->stored[n->id] || n->op == OP_read;
}

static void reach_input(Fuser *f, Node *in, const Ix *const *sub, ReachVec *out) {
    if (fuse_is_landmark(f, in)) {
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

/* A subscript of the last axis from data: the row of the element is known, its place in the row is
 * not. */
static void reach_place(Fuser *f, const Node *n, const Ix *const *sub, ReachVec *out) {
    const Ix *at[MAX_RANK];
    int last = n->shape.rank;
    for (int d = 0; d < last; d++)
        at[d] = sub[d];
    const Expr *which = expr_const(f->scratch, DT_I32, n->id);
    at[last] = ix_data(f->scratch, which, n->in[0]->shape.dim[last].n);
    reach_input(f, n->in[0], at, out);
    reach_input(f, n->in[1], sub, out);
}

/* Of the first axis: any element of the table, one of the index. */
static void reach_row(Fuser *f, const Node *n, const Ix *const *sub, ReachVec *out) {
    reach_input(f, n->in[0], NULL, out);
    reach_input(f, n->in[1], sub, out);
}

void fuse_reach(Fuser *f, const Node *n, const Ix *const *sub, ReachVec *out) {
    unsigned flags = op_info[n->op].flags;
    if (sub && !(flags & OPF_OWN)) {
        if (flags & OPF_LAST) {
            reach_place(f, n, sub, out);
            return;
        }
        if (flags & OPF_FIRST) {
            reach_row(f, n, sub, out);
            return;
        }
        if (op_info[n->op].attr == ATTR_SOURCE) {
            reach_input(f, n->in[0], sub, out);
            return;
        }
    }
    for (int i = 0; i < n->nin; i++) {
        const Ix *at[MAX_RANK];
        bool known = sub && input_subscripts(f->scratch, n, i, sub, at);
        reach_input(f, n->in[i], known ? at : NULL, out);
    }
}

/* ---- spaces ---- */

const Ix *fuse_full_flat(Fuser *f, const Group *g) {
    return ix_add(f->scratch, ix_scale(f->scratch, ix_var(f->scratch, f->row), g->length),
                  ix_var(f->scratch, f->element));
}

const Count *fuse_leading_count(const Shape *s) {
    for (int d = 0; d < s->rank; d++)
        if (s->dim[d].n != 1)
            return s->dim[d].count;
    return s->rank ? s->dim[0].count : NULL;
}

void fuse_set_space(Fuser *f, const Group *g) {
    ((LoopVar *)f->row)->extent = dim_fixed(MAX(g->rows, 1));
    ((LoopVar *)f->element)->extent = dim_fixed(MAX(g->length, 1));
}

const Ix *fuse_member_flat(Fuser *f, const Group *g, const Node *n) {
    int64_t elements = shape_elements(&n->shape);
    if (g->kind == GROUP_ROW && elements == g->rows * g->length &&
        (g->length != 1 || op_info[n->op].kind != KIND_REDUCE))
        return fuse_full_flat(f, g);
    return elements == g->rows ? ix_var(f->scratch, f->row) : NULL;
}

void fuse_reach_member(Fuser *f, const Group *g, const Node *n, ReachVec *out) {
    const Ix *sub[MAX_RANK];
    fuse_set_space(f, g);
    if (op_info[n->op].kind == KIND_REDUCE) {
        const Ix *in[MAX_RANK];
        if (g->kind == GROUP_ROW)
            ix_unflat(f->scratch, &n->in[0]->shape, fuse_full_flat(f, g), in);
        for (int i = 0; i < n->nin; i++)
            reach_input(f, n->in[i], g->kind == GROUP_ROW ? in : NULL, out);
        return;
    }
    const Ix *flat = g->kind == GROUP_DOT && n == g->anchor ? NULL : fuse_member_flat(f, g, n);
    if (!flat || g->kind == GROUP_OTHER) {
        fuse_reach(f, n, NULL, out);
        return;
    }
    ix_unflat(f->scratch, &n->shape, flat, sub);
    fuse_reach(f, n, sub, out);
}
