/* grad.c: reverse-mode differentiation: one walk from the loss back over the nodes that lie between
 * it and the targets. A node is visited after all its users, so its gradient is complete when its
 * rule runs.
 *
 * What the rules (grad_rules*.c) make are ordinary nodes, so gradients can be differentiated again.
 */
#include "grad.h"

struct Grad {
    Graph *g;
    int n;          /* nodes up to the loss; the side arrays have this length */
    Node **dy;      /* gradients, by node id; NULL: none so far */
    bool *wants;    /* a target, or computed from one */
    bool *infinite; /* the value may be infinite or NaN though all leaves are finite */
};

Graph *grad_graph(Grad *gr) {
    return gr->g;
}

bool grad_wants(const Grad *gr, const Node *input) {
    return input->id < gr->n && gr->wants[input->id];
}

void grad_add(Grad *gr, Node *input, Node *dx) {
    if (!grad_wants(gr, input))
        return;
    if (dx->dtype != input->dtype || !shape_equal(&dx->shape, &input->shape))
        bug("the gradient of node %d (%s) has another type or shape", input->id,
            op_info[input->op].name);
    Node **sum = &gr->dy[input->id];
    *sum = *sum ? graph_binary(gr->g, OP_add, *sum, dx) : dx;
}

Node *grad_scale(Grad *gr, const Node *cause, Node *dy, Node *factor) {
    bool guard = cause->id >= gr->n || gr->infinite[cause->id];
    return graph_binary(gr->g, guard ? OP_mul_zero : OP_mul, dy, factor);
}

bool grad_is_nonzero(const Node *n) {
    while (op_info[n->op].flags & OPF_VIEW)
        n = n->in[0];
    if (n->op == OP_constant)
        return !n->attr.constant.data && n->attr.constant.value != 0;
    if (n->op == OP_cast)
        return dtype_is_real(n->dtype) && grad_is_nonzero(n->in[0]);
    if (n->op == OP_mul)
        return grad_is_nonzero(n->in[0]) && grad_is_nonzero(n->in[1]);
    return n->op == OP_count;
}

/* ---- what lies between ---- */

static void mark(Grad *gr, Node *const *targets, int n) {
    for (int i = 0; i < n; i++)
        if (targets[i]->id < gr->n)
            gr->wants[targets[i]->id] = true;
    for (int i = 0; i < gr->n; i++) {
        const Node *x = gr->g->nodes.at[i];
        unsigned flags = op_info[x->op].flags;
        bool pole = flags & OPF_POLE && !(x->op == OP_div && grad_is_nonzero(x->in[1]));
        gr->infinite[i] = pole;
        for (int k = 0; k < x->nin; k++) {
            int from = x->in[k]->id;
            gr->infinite[i] = gr->infinite[i] || gr->infinite[from];
            if (dtype_is_real(x->dtype) && !(flags & OPF_FLAT))
                gr->wants[i] = gr->wants[i] || gr->wants[from];
        }
    }
}

static bool has_wanted_input(const Grad *gr, const Node *n) {
    for (int k = 0; k < n->nin; k++)
        if (grad_wants(gr, n->in[k]))
            return true;
    return false;
}

/* Runs the rule of every node that has a gradient; false and *blame at one that has no rule. */
static bool walk_back(Grad *gr, Node **blame) {
    for (int i = gr->n - 1; i >= 0; i--) {
        Node *n = gr->g->nodes.at[i];
        Node *dy = gr->dy[i];
        if (!dy)
            continue;
        if (n->name && !dy->name && op_info[n->op].kind != KIND_LEAF) { /* a home has a path */
            dy->name = arena_printf(gr->g->arena, "d_%s", n->name);
            vec_push(gr->g->arena, &gr->g->derivatives, (Derivative){dy, n, dy->name});
        }
        if (!has_wanted_input(gr, n))
            continue;
        if (op_info[n->op].flags & OPF_NOGRAD) {
            *blame = n;
            return false;
        }
        gr->g->span = n->span;
        op_info[n->op].grad(gr, n, dy);
    }
    return true;
}

bool grad_build(Graph *g, Node *loss, Node *const *targets, int n, Node **out, Node **blame) {
    Grad gr = {.g = g, .n = loss->id + 1};
    Span span = g->span;
    gr.dy = NEW_ARRAY(g->arena, Node *, gr.n);
    gr.wants = NEW_ARRAY(g->arena, bool, gr.n);
    gr.infinite = NEW_ARRAY(g->arena, bool, gr.n);
    mark(&gr, targets, n);
    g->span = loss->span;
    if (gr.wants[loss->id])
        gr.dy[loss->id] = graph_constant(g, loss->dtype, &loss->shape, 1);
    bool done = walk_back(&gr, blame);
    for (int i = 0; i < n; i++)
        out[i] = done && targets[i]->id < gr.n ? gr.dy[targets[i]->id] : NULL;
    g->span = span;
    return done;
}
