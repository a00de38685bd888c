/* build_loss.c: what a loss was computed from: its parameters, whether they changed since, and what
 * keeps a gradient from them. */
#include "build_host.h"
#include "build_loss.h"
#include "build_stmt.h"

static void add_version(Build *b, Dependences *d, Home *h, Node *n) {
    for (int i = 0; i < d->at.n; i++)
        if (d->at.at[i].home == h) {
            vec_push(b->arena, &d->at.at[i].versions, n);
            return;
        }
    Dependence one = {.home = h};
    vec_push(b->arena, &one.versions, n);
    vec_push(b->arena, &d->at, one);
}

/* Walks back from the loss; a version of a parameter is a leaf. Integers carry no gradient. */
Dependences loss_dependences(Build *b, Node *loss) {
    Dependences d = {0};
    bool *seen = NEW_ARRAY(b->arena, bool, b->g->nodes.n);
    VEC(Node *) work = {0};
    vec_push(b->arena, &work, loss);
    while (work.n) {
        Node *n = work.at[--work.n];
        if (seen[n->id] || !dtype_is_real(n->dtype))
            continue;
        seen[n->id] = true;
        Home *h = home_of_version(b, n);
        if (h && h->kind == HOME_PARAM)
            add_version(b, &d, h, n);
        else if (n->op != OP_stop)
            for (int i = 0; i < n->nin; i++)
                vec_push(b->arena, &work, n->in[i]);
    }
    return d;
}

const Dependence *depends_on(const Dependences *d, const Home *h) {
    for (int i = 0; i < d->at.n; i++)
        if (d->at.at[i].home == h)
            return &d->at.at[i];
    return NULL;
}

const char *home_label(const Build *b, const Home *h) {
    return h->model >= 0 ? b->p->models.at[h->model].name : h->name;
}

static Change last_change(const Build *b, const Home *h) {
    return h->id < b->changes.n ? b->changes.at[h->id] : (Change){0};
}

static int line_of(const Build *b, Span at) {
    int line, column;
    diag_position(b->diag, at, &line, &column);
    return line;
}

static bool version_is_fresh(Build *b, const Home *h, const Node *version, const char *name,
                             Span at) {
    Change c = last_change(b, h);
    if (version->id >= c.version) {
        if (b->loop)
            vec_push(b->arena, &b->loop->uses, (LossUse){h, version->id, name, at});
        return true;
    }
    build_error(b, at,
                "%s was computed before '%s' was changed in line %d; move its computation below "
                "that",
                name, home_label(b, h), line_of(b, c.span));
    diag_note(b->diag, c.span, "the change");
    return false;
}

bool loss_is_fresh(Build *b, const Dependences *d, const Node *loss, Span at) {
    const char *name =
        loss->name ? arena_printf(b->arena, "'%s'", loss->name) : "what is differentiated";
    for (int i = 0; i < d->at.n; i++)
        for (int k = 0; k < d->at.at[i].versions.n; k++)
            if (!version_is_fresh(b, d->at.at[i].home, d->at.at[i].versions.at[k], name, at))
                return false;
    return true;
}

/* The end of a loop: what was computed before it must not change in it, or the second round would
 * use it stale. */
void loop_losses(Build *b, LoopInfo *loop) {
    for (int i = 0; i < loop->uses.n; i++) {
        LossUse u = loop->uses.at[i];
        Change c = last_change(b, u.home);
        if (u.version >= b->loop_start)
            continue;
        if (c.version < b->loop_start) {
            if (loop->parent)
                vec_push(b->arena, &loop->parent->uses, u);
            continue;
        }
        build_error(b, u.at,
                    "%s was computed before the loop in which '%s' changes (line %d); move its "
                    "computation into the loop",
                    u.name, home_label(b, u.home), line_of(b, c.span));
        diag_note(b->diag, c.span, "the change");
        return;
    }
}

/* ---- what stops a gradient ---- */

static const char *op_words(Op op) {
    return op_info[op].flags & OPF_CMP ? "a comparison" : op_info[op].name;
}

/* The nodes that the loss is made of, as a flag for each id. */
static bool *ancestors(Build *b, const Node *loss) {
    bool *in = NEW_ARRAY(b->arena, bool, b->g->nodes.n);
    in[loss->id] = true;
    for (int i = loss->id; i >= 0; i--) {
        const Node *n = b->g->nodes.at[i];
        for (int k = 0; in[i] && n->op != OP_stop && k < n->nin; k++)
            in[n->in[k]->id] = true;
    }
    return in;
}

/* What a gradient should reach: a node, or some homes, or (n 0) any parameter. */
typedef struct Goal {
    const Node *node;
    Home *const *homes;
    int n;
} Goal;

static bool is_goal(const Build *b, const Goal *g, const Node *n) {
    if (g->node)
        return n == g->node;
    const Home *h = home_of_version(b, n);
    if (!h || h->kind != HOME_PARAM)
        return false;
    for (int i = 0; i < g->n; i++)
        if (g->homes[i] == h)
            return true;
    return g->n == 0;
}

/* The last node without a gradient between the goal and the loss; NULL: there is none. *reached:
 * the loss depends on the goal in some way. */
static const Node *stopper(Build *b, const Node *loss, const Goal *goal, bool *reached) {
    const bool *in = ancestors(b, loss);
    bool *reaches = NEW_ARRAY(b->arena, bool, b->g->nodes.n);
    const Node *found = NULL;
    for (int i = 0; i <= loss->id; i++) {
        const Node *n = b->g->nodes.at[i];
        bool real_input = false;
        reaches[i] = in[i] && is_goal(b, goal, n);
        for (int k = 0; in[i] && n->op != OP_stop && k < n->nin; k++)
            if (reaches[n->in[k]->id]) {
                reaches[i] = true;
                real_input = real_input || dtype_is_real(n->in[k]->dtype);
            }
        if (real_input && !dtype_is_real(n->dtype))
            found = n;
    }
    *reached = reaches[loss->id];
    return found;
}

static void stopped(Build *b, const Node *op, const char *whom, Span at) {
    build_error(b, at, "no gradient of the loss reaches %s: %s on the way has none", whom,
                op_words(op->op));
    diag_note(b->diag, op->span, "here");
}

void loss_unreached(Build *b, Node *loss, Home *const *homes, int n, Span at) {
    Goal goal = {NULL, homes, n};
    bool reached;
    const Node *op = stopper(b, loss, &goal, &reached);
    const char *whom = n ? "this" : "any parameter";
    if (!op) {
        build_error(b, at, n ? "the loss does not depend on this" : "the loss depends on no "
                                                                     "parameter");
        return;
    }
    stopped(b, op, whom, at);
}

Node *loss_zero_gradient(Build *b, Node *loss, const Node *x, Span at) {
    Goal goal = {.node = x};
    bool reached;
    const Node *op = stopper(b, loss, &goal, &reached);
    if (op)
        stopped(b, op, "this", at);
    else if (!reached)
        build_error(b, at, "grad: the first argument does not depend on this");
    return op || !reached ? NULL : graph_constant(b->g, x->dtype, &x->shape, 0);
}

bool loss_node(Build *b, Value v, const char *what, Span at, Node **out) {
    Node *n = v.kind == V_POISON ? NULL : value_to_node(b, v, b->g->real, at);
    if (!n)
        return false;
    if (n->shape.rank || !dtype_is_real(n->dtype)) {
        build_error(b, at, "%s must be one real number, found %s", what,
                    value_text(b, value_node(n)));
        return false;
    }
    *out = n;
    return true;
}

bool loss_gradients(Build *b, Node *loss, Node *const *targets, int n, Node **out, Span at) {
    Node *blame = NULL;
    if (grad_build(b->g, loss, targets, n, out, &blame))
        return true;
    build_error(b, at, "the loss has no gradient: '%s' on the way to it has none",
                op_info[blame->op].name);
    diag_note(b->diag, blame->span, "this operation (stop(…) keeps it out of the gradient)");
    return false;
}

/* Gradients of the homes; NULL where the loss does not depend on one. */
bool loss_home_gradients(Build *b, Node *loss, const Dependences *d, Home *const *homes, int n,
                         Node **out, Span at) {
    VEC(Node *) targets = {0};
    for (int i = 0; i < n; i++) {
        const Dependence *dep = depends_on(d, homes[i]);
        for (int k = 0; dep && k < dep->versions.n; k++)
            vec_push(b->arena, &targets, dep->versions.at[k]);
    }
    Node **g = NEW_ARRAY(b->arena, Node *, targets.n + 1);
    if (!loss_gradients(b, loss, targets.at, targets.n, g, at))
        return false;
    int next = 0;
    for (int i = 0; i < n; i++) {
        const Dependence *dep = depends_on(d, homes[i]);
        home_reached(b, homes[i]);
        out[i] = NULL;
        for (int k = 0; dep && k < dep->versions.n; k++, next++)
            if (g[next])
                out[i] = out[i] ? graph_binary(b->g, OP_add, out[i], g[next]) : g[next];
        if (dep && !out[i]) /* through floor and its like */
            out[i] = graph_constant(b->g, homes[i]->dtype, &homes[i]->shape, 0);
        if (out[i])
            vec_push(b->arena, &b->gradients, (HomeGradient){out[i], homes[i]});
    }
    return true;
}
