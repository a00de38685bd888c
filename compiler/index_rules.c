/* index_rules.c: index rules: which element of its input an element of an index map is. Movement
 * costs nothing where it is inlined: only subscripts change. */
#include "loop.h"
#include "op_rules.h"

bool index_rule_none(Arena *a, const Node *n, const Ix *const *sub, const Ix **out) {
    (void)a, (void)n, (void)sub, (void)out;
    return false;
}

bool index_rule_reshape(Arena *a, const Node *n, const Ix *const *sub, const Ix **out) {
    ix_unflat(a, &n->in[0]->shape, ix_flat(a, &n->shape, sub), out);
    return true;
}

bool index_rule_permute(Arena *a, const Node *n, const Ix *const *sub, const Ix **out) {
    (void)a;
    for (int d = 0; d < n->shape.rank; d++)
        out[n->attr.perm[d]] = sub[d];
    return true;
}

bool index_rule_broadcast(Arena *a, const Node *n, const Ix *const *sub, const Ix **out) {
    const Shape *in = &n->in[0]->shape;
    for (int d = 0; d < in->rank; d++)
        out[d] = in->dim[d].n == 1 && n->shape.dim[d].n != 1 ? ix_const(a, 0) : sub[d];
    return true;
}

bool index_rule_windows(Arena *a, const Node *n, const Ix *const *sub, const Ix **out) {
    const Windows *w = &n->attr.windows;
    for (int d = 0; d < n->in[0]->shape.rank; d++) {
        int i = d - w->axis;
        out[d] = sub[i < w->n ? d : d + w->n];
        if (i < 0 || i >= w->n)
            continue;
        out[d] = ix_offset(a, ix_scale(a, out[d], w->step[i]), w->start[i]);
        out[d] = ix_add(a, out[d], ix_scale(a, sub[d + w->n], w->apart[i]));
    }
    return true;
}

bool index_rule_slice(Arena *a, const Node *n, const Ix *const *sub, const Ix **out) {
    for (int d = 0; d < n->shape.rank; d++)
        out[d] = ix_offset(a, ix_scale(a, sub[d], n->attr.slice.step[d]), n->attr.slice.start[d]);
    return true;
}
