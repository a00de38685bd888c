/* simplify_fold.c: nodes with constant inputs, computed by the oracle. */
#include "simplify.h"
#include <string.h>

enum {
    FOLD_ELEMENTS = 4096,   /* of a constant that folding makes or reads */
    FOLD_WORK = 1000 * 1000 /* multiplications of a contraction */
};

/* The value of an op on constants, outside any graph; NULL when that is a fault. */
static const Tensor *evaluate(Simplify *s, const Node *n, const Shape *forced) {
    Node *in = NEW_ARRAY(s->arena, Node, n->nin), **pin = NEW_ARRAY(s->arena, Node *, n->nin);
    Node *copy = NEW(s->arena, Node);
    for (int k = 0; k < n->nin; k++) {
        in[k] = *n->in[k];
        in[k].id = k;
        in[k].shape = forced ? *forced : in[k].shape;
        pin[k] = &in[k];
    }
    *copy = *n;
    copy->id = n->nin;
    copy->in = pin;
    copy->shape = forced ? *forced : n->shape;
    interp_forget(s->interp);
    const Tensor *t = interp_value(s->interp, copy);
    if (!interp_fault(s->interp))
        return t;
    interp_forget(s->interp);
    s->interp = interp_new(s->arena, NULL, true);
    return NULL;
}

static Node *constant(Simplify *s, const Node *n, const Tensor *t) {
    int64_t elements = shape_elements(&t->shape);
    Attr attr = {.constant = {.value = elements ? t->at[0] : 0}};
    bool uniform = true;
    for (int64_t i = 1; i < elements && uniform; i++)
        uniform = memcmp(&t->at[i], &t->at[0], sizeof *t->at) == 0;
    if (!uniform) {
        double *data = NEW_ARRAY(s->g->arena, double, elements);
        memcpy(data, t->at, sizeof *data * (size_t)elements);
        attr.constant.data = data;
    }
    return simplify_node(s, OP_constant, 0, NULL, &attr, n->dtype, &n->shape);
}

static bool all_uniform(const Node *n) {
    for (int k = 0; k < n->nin; k++)
        if (!is_uniform(n->in[k]))
            return false;
    return true;
}

static bool is_small(const Node *n) {
    if (shape_count(&n->shape) || shape_elements(&n->shape) > FOLD_ELEMENTS)
        return false;
    for (int k = 0; k < n->nin; k++) {
        const Node *x = n->in[k];
        if (x->op != OP_constant || shape_count(&x->shape) ||
            shape_elements(&x->shape) > FOLD_ELEMENTS)
            return false;
    }
    int64_t inner = n->op == OP_dot ? n->in[0]->shape.dim[n->attr.dot.ta ? 1 : 2].n : 1;
    return inner * shape_elements(&n->shape) <= FOLD_WORK;
}

Node *simplify_fold(Simplify *s, const Node *n) {
    OpKind kind = op_info[n->op].kind;
    if (n->nin == 0 || kind == KIND_EFFECT || kind == KIND_RANDOM || n->op == OP_batch ||
        n->op == OP_broadcast)
        return NULL;
    const Shape scalar = shape_scalar();
    const Tensor *t = NULL;
    if (kind == KIND_MAP && all_uniform(n))
        t = evaluate(s, n, &scalar); /* one element stands for all, however many */
    else if (is_small(n))
        t = evaluate(s, n, NULL);
    return t ? constant(s, n, t) : NULL;
}
