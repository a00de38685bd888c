/* products.c: sums of products become one op, a chain of fused multiply-adds: one rounding a
 * product instead of two, and one instruction.
 *
 * It changes bits, so it stands between simplify, which changes none, and fuse: whether the product
 * is computed elsewhere as well, or in which kernel, makes no difference to the sum. Products that
 * nobody uses any more are left to fuse, which takes what is live.
 */
#include "pass.h"

void products(Compiler *c) {
    const Graph *g = c->program->graph;
    for (int i = 0; i < g->nodes.n; i++) {
        Node *n = g->nodes.at[i];
        const Node *x = n->nin ? n->in[0] : NULL;
        if (n->op != OP_sum || x->op != OP_mul || x->region != n->region ||
            !dtype_is_real(n->dtype))
            continue;
        n->op = OP_sum_mul;
        n->in = x->in;
        n->nin = 2;
    }
}
