/* build_train.c: gradients, minimize, update, optimizers, each. */
#include "build_call.h"
#include "build_host.h"
#include "build_loss.h"
#include "build_stmt.h"

/* ---- grad(y, x) ---- */

static Value grad_one(Build *b, Node *y, const Dependences *d, Value x, Span at) {
    if (x.kind == V_MODEL) {
        ParamSet *set = NEW(b->arena, ParamSet);
        instance_params(b, x.model, false, set);
        set->nodes = NEW_ARRAY(b->arena, Node *, set->n + 1);
        if (!loss_home_gradients(b, y, d, set->homes, set->n, set->nodes, at))
            return value_poison;
        for (int i = 0; i < set->n; i++)
            if (!set->nodes[i])
                set->nodes[i] =
                    graph_constant(b->g, set->homes[i]->dtype, &set->homes[i]->shape, 0);
        return (Value){.kind = V_SET, .set = set};
    }
    if (x.kind != V_TENSOR || !dtype_is_real(x.node->dtype)) {
        build_error(b, at,
                    "grad is taken with respect to real tensors, parameters and models, found %s",
                    value_text(b, x));
        return value_poison;
    }
    Node *g = NULL;
    Home *h = home_of_version(b, x.node);
    bool ok = h && depends_on(d, h) ? loss_home_gradients(b, y, d, &h, 1, &g, at)
                                    : loss_gradients(b, y, &x.node, 1, &g, at);
    if (!ok)
        return value_poison;
    return value_node(g ? g : loss_zero_gradient(b, y, x.node, at));
}

Value build_grad(Build *b, const Actual *a) {
    Node *y;
    if (!loss_node(b, a->at[0], "the first argument of grad", a->spans[0], &y))
        return value_poison;
    Dependences d = loss_dependences(b, y);
    Value x = a->at[1];
    if (x.kind == V_POISON || !loss_is_fresh(b, &d, y, a->spans[0]))
        return value_poison;
    if (b->training) /* as 'minimize' does: a loss that is no number must not reach the weights */
        graph_check(b->g, y);
    if (x.kind != V_LIST)
        return grad_one(b, y, &d, x, a->spans[1]);
    Value *out = NEW_ARRAY(b->arena, Value, x.list->n + 1);
    for (int i = 0; i < x.list->n; i++)
        out[i] = grad_one(b, y, &d, x.list->at[i], a->spans[1]);
    return value_list(b, out, x.list->n, true);
}

/* ---- optimizers ---- */

typedef struct OptSlot { /* state of one optimizer for one parameter */
    Home *param;
    const Ast *decl; /* the `state` in the optimizer's body */
    const char *name;
    Home *home;
} OptSlot;

struct OptState {
    const char *name;
    int number;       /* among the optimizers of this name */
    bool shared_step; /* one minimize uses it: all its parameters are updated together */
    VEC(OptSlot) slots;
};

struct OptState *opt_new(Build *b, const char *name) {
    struct OptState *o = NEW(b->arena, struct OptState);
    o->name = name;
    for (int i = 0; i < b->opts.n; i++)
        o->number += b->opts.at[i]->name == name;
    vec_push(b->arena, &b->opts, o);
    return o;
}

/* The optimizer being applied to one parameter. */
typedef struct RuleUse {
    struct OptState *opt;
    Home *param;
    Env *env; /* scope of p, g and step: initial values of states are made in it, at start */
} RuleUse;

static Home *slot_home(struct OptState *o, const Home *param, const Ast *decl, const char *name) {
    for (int i = 0; i < o->slots.n; i++) {
        const OptSlot *s = &o->slots.at[i];
        if (s->param == param && s->decl == decl && s->name == name)
            return s->home;
    }
    return NULL;
}

typedef struct SlotInit {
    Home *home;
    const RuleUse *rule;
    Ast *decl; /* NULL: zero */
} SlotInit;

static void run_slot_init(Build *b, void *arg) {
    const SlotInit *a = (const SlotInit *)arg;
    Home *h = a->home;
    if (!a->decl) {
        home_write(b, h, graph_constant(b->g, h->dtype, &h->shape, 0));
        return;
    }
    /* p and g stand for the first value of the parameter: initial values use their shapes */
    Env *env = env_new(b, a->rule->env->parent);
    for (int i = 0; i < a->rule->env->names.n; i++) {
        const Binding *from = a->rule->env->names.at[i];
        Value v =
            from->value.kind == V_TENSOR ? value_node(home_value(b, a->rule->param)) : from->value;
        env_add(b, env, from->name, BIND_LET, v, from->span);
    }
    Value v = build_expr(b, env, a->decl->param.init);
    Node *n = v.kind == V_POISON ? NULL : value_to_node(b, v, b->g->real, a->decl->span);
    if (!n)
        return;
    h->shape = n->shape;
    h->dtype = n->dtype;
    home_write(b, h, graph_unary(b->g, OP_stop, n));
}

static Home *slot_new(Build *b, const RuleUse *r, Ast *decl, const char *name, DType t,
                      const Shape *s) {
    Home *h = home_new(b, HOME_OPT, name, t, s, b->g->span);
    h->of = r->param;
    h->path = r->opt->number ? arena_printf(b->arena, "%s[%d]", r->opt->name, r->opt->number)
                             : r->opt->name;
    vec_push(b->arena, &h->steps, (PathStep){r->opt->name, r->opt->number});
    vec_push(b->arena, &r->opt->slots,
             (OptSlot){r->opt->shared_step && !decl ? NULL : r->param, decl, name, h});
    SlotInit init = {h, r, decl};
    build_at_start(b, run_slot_init, &init);
    return h;
}

void rule_state(Build *b, Env *env, Ast *s) {
    RuleUse *r = b->rule;
    for (int i = 0; i < s->param.names.n; i++) {
        Ast *name = s->param.names.at[i];
        Home *h = slot_home(r->opt, r->param, s, name->name);
        if (!h)
            h = slot_new(b, r, s, name->name, r->param->dtype, &r->param->shape);
        env_add(b, env, name->name, BIND_HOME, value_none, name->span)->home = h;
    }
}

/* The number of this update (from 1): read, increased, written once a statement. */
static Node *next_step(Build *b, const RuleUse *r, int *n, Home **stepped) {
    const Home *key = r->opt->shared_step ? NULL : r->param;
    const char *name = intern_str(b->c->names, "step");
    Home *h = slot_home(r->opt, key, NULL, name);
    Shape s = shape_scalar();
    if (!h)
        h = slot_new(b, r, NULL, name, DT_I32, &s);
    for (int i = 0; i < *n; i++)
        if (stepped[i] == h)
            return home_value(b, h);
    stepped[(*n)++] = h;
    Node *one = graph_constant(b->g, DT_I32, &s, 1);
    home_write(b, h, graph_binary(b->g, OP_add, home_value(b, h), one));
    return home_value(b, h);
}

static void apply_rule(Build *b, const FnValue *f, Home *p, Node *g, Node *step, Span at) {
    Value sv = value_node(step);
    Env *env = rule_bind(b, f, &sv, at);
    if (!env)
        return;
    const AstList *inner = &f->decl->rule.inner;
    if (inner->n != 2) {
        build_error(b, at, "%s: an optimizer's rule takes (p, g)", f->decl->name);
        return;
    }
    Node *old = home_value(b, p);
    Binding *bp = env_add(b, env, inner->at[0]->name, BIND_VAR, value_node(old), at);
    env_add(b, env, inner->at[1]->name, BIND_LET, value_node(g), at);
    env_add(b, env, "step", BIND_LET, sv, at);
    int errors = diag_errors(b->diag);
    RuleUse rule = {f->opt, p, env};
    Frame frame = {b->frame, f->decl, at, NULL};
    b->rule = &rule;
    b->frame = &frame;
    build_block(b, env, f->decl->rule.body);
    b->frame = frame.parent;
    b->rule = NULL;
    if (bp->value.kind == V_TENSOR && bp->value.node != old)
        home_assign(b, p, bp->value, at);
    else if (bp->value.kind != V_POISON && diag_errors(b->diag) == errors)
        build_error(b, at, "%s never changes its parameter '%s'", f->decl->name,
                    inner->at[0]->name);
}

/* ---- minimize ---- */

typedef struct Target {
    Home *home;
    const FnValue *opt;
    Node *grad;
} Target;

typedef struct Targets {
    Node *loss;
    VEC(Target) at;
} Targets;

static bool targets_have(const Targets *t, const Home *h) {
    for (int i = 0; i < t->at.n; i++)
        if (t->at.at[i].home == h)
            return true;
    return false;
}

static void target_add(Build *b, Targets *t, Home *h, const FnValue *opt) {
    if (!targets_have(t, h))
        vec_push(b->arena, &t->at, (Target){h, opt, NULL});
}

/* Adds the parameters of a value that an `over` names; false after an error. */
static bool target_params(Build *b, Value v, Span at, ParamSet *out) {
    Home *h = v.kind == V_TENSOR ? home_of_version(b, v.node) : NULL;
    if (v.kind == V_MODEL) {
        instance_params(b, v.model, false, out);
        return true;
    }
    if (h && h->kind == HOME_PARAM) {
        params_add(b, out, h, h->name);
        return true;
    }
    for (int i = 0; v.kind == V_LIST && i < v.list->n; i++)
        if (!target_params(b, v.list->at[i], at, out))
            return false;
    if (v.kind == V_LIST && v.list->n)
        return true;
    if (v.kind != V_POISON)
        build_error(b, at, "'over' names models, parts of models and parameters, found %s",
                    value_text(b, v));
    return false;
}

/* The parameters an `over` names; an error when the loss depends on none of them. */
static void target_named(Build *b, Env *env, Targets *t, const Dependences *d, const FnValue *opt,
                         const Ast *stmt, Ast *e) {
    Value v = build_expr(b, env, e);
    ParamSet set = {0};
    if (!target_params(b, v, e->span, &set))
        return;
    int found = 0;
    for (int i = 0; i < set.n; i++)
        if (depends_on(d, set.homes[i])) {
            target_add(b, t, set.homes[i], opt);
            train_use(b, stmt, set.homes[i], true, e->span);
            found++;
        }
    if (!found && !set.n)
        build_error(b, e->span, "'%s' has no parameters yet: its first use fixes their sizes",
                    v.kind == V_MODEL ? v.model->name : "this");
    else if (!found)
        loss_unreached(b, t->loss, set.homes, set.n, e->span);
}

static int count_uses(Ast *n, const char *name) {
    if (!n)
        return 0;
    bool hit =
        (n->kind == AST_USE && n->use.optimizer->kind == AST_NAME &&
         n->use.optimizer->name == name) ||
        (n->kind == AST_UPDATE && n->update.with->kind == AST_NAME && n->update.with->name == name);
    int found = hit;
    Ast **kids;
    int nk = ast_kids(n, &kids);
    for (int i = 0; i < nk; i++)
        found += count_uses(kids[i], name);
    AstList *lists;
    int nl = ast_lists(n, &lists);
    for (int i = 0; i < nl; i++)
        for (int k = 0; k < lists[i].n; k++)
            found += count_uses(lists[i].at[k], name);
    return found;
}

static const FnValue *optimizer_value(Build *b, Env *env, Ast *e) {
    Value v = build_expr(b, env, e);
    bool fits = v.kind == V_FN && v.fn->decl && v.fn->decl->kind == AST_OPTIMIZER;
    if (!fits || !v.fn->partial) {
        if (v.kind != V_POISON)
            build_error(b, e->span,
                        "expected an optimizer with its arguments, as sgd(lr=0.1), found %s",
                        value_text(b, v));
        return NULL;
    }
    if (!v.fn->opt->slots.n)
        v.fn->opt->shared_step = e->kind != AST_NAME || count_uses(b->task_body, e->name) == 1;
    return v.fn;
}

static bool collect_targets(Build *b, Env *env, Ast *s, const Dependences *d, Targets *t) {
    int errors = diag_errors(b->diag);
    const FnValue *rest = NULL;
    for (int i = 0; i < s->minimize.uses.n; i++) {
        Ast *use = s->minimize.uses.at[i];
        const FnValue *opt = optimizer_value(b, env, use->use.optimizer);
        if (!opt)
            return false;
        for (int k = 0; k < use->use.targets.n; k++)
            target_named(b, env, t, d, opt, s, use->use.targets.at[k]);
        if (!use->use.targets.n && !rest)
            rest = opt;
    }
    for (int i = 0; rest && i < d->at.n; i++)
        if (!targets_have(t, d->at.at[i].home)) {
            target_add(b, t, d->at.at[i].home, rest);
            train_use(b, s, d->at.at[i].home, false, s->span);
        }
    if (!t->at.n && diag_errors(b->diag) == errors)
        loss_unreached(b, t->loss, NULL, 0, s->minimize.loss->span);
    return diag_errors(b->diag) == errors;
}

/* One factor for all: min(1, limit / norm), the norm over all gradients (ruling D11). */
static bool clip_gradients(Build *b, Env *env, Ast *clip, Targets *t) {
    Value limit = build_expr(b, env, clip);
    if (limit.kind == V_HOST && limit.host->type != HT_BOOL && limit.host->type != HT_STRING)
        limit = value_host(host_positive(b, limit.host, "clip", build_place(b, clip->span)));
    Node *l = limit.kind == V_POISON ? NULL : value_to_node(b, limit, b->g->real, clip->span);
    if (l && l->shape.rank)
        build_error(b, clip->span, "'clip' takes one number, found %s", value_text(b, limit));
    if (limit.kind == V_NUMBER && !limit.num.count && limit.num.f <= 0)
        build_error(b, clip->span, "'clip' takes a number above 0, found %s", value_text(b, limit));
    if (!l || l->shape.rank)
        return false;
    l = graph_cast(b->g, l, b->g->real);
    Node *sum = NULL;
    for (int i = 0; i < t->at.n; i++) {
        Node *g = t->at.at[i].grad;
        Node *s =
            graph_reduce(b->g, OP_sum, graph_binary(b->g, OP_mul, g, g), (1u << g->shape.rank) - 1);
        sum = sum ? graph_binary(b->g, OP_add, sum, s) : s;
        sum->name = "squared_norm"; /* of the gradients so far */
    }
    Node *norm = graph_unary(b->g, OP_sqrt, sum);
    Shape s = shape_scalar();
    Node *one = graph_constant(b->g, b->g->real, &s, 1);
    Node *factor = graph_binary(b->g, OP_minimum, one, graph_binary(b->g, OP_div, l, norm));
    factor->name = "clip_factor";
    for (int i = 0; i < t->at.n; i++) {
        Node *g = t->at.at[i].grad;
        t->at.at[i].grad =
            graph_binary(b->g, OP_mul, g, graph_broadcast_to(b->g, factor, &g->shape));
    }
    return true;
}

static void update_targets(Build *b, Env *env, Ast *clip, Targets *t, Span at) {
    if (clip && !clip_gradients(b, env, clip, t))
        return;
    Home **stepped = NEW_ARRAY(b->arena, Home *, t->at.n + 1);
    int n = 0;
    for (int i = 0; i < t->at.n; i++) {
        const Target *x = &t->at.at[i];
        RuleUse r = {x->opt->opt, x->home, NULL};
        Node *step = next_step(b, &r, &n, stepped);
        apply_rule(b, x->opt, x->home, x->grad, step, at);
    }
}

typedef struct AccumulateArg {
    Targets *targets;
    Home **sums;
    HostVar *count;
    Span at;
} AccumulateArg;

static void run_accumulate_start(Build *b, void *arg) {
    AccumulateArg *a = (AccumulateArg *)arg;
    for (int i = 0; i < a->targets->at.n; i++)
        home_write(b, a->sums[i], graph_constant(b->g, a->sums[i]->dtype, &a->sums[i]->shape, 0));
}

static HExpr *accumulate_count(Build *b, Env *env, Ast *e) {
    Value v = build_expr(b, env, e);
    HExpr *k = value_to_host(b, v, e->span);
    if (!k || (k->type == HT_INT && (k->kind != HX_CONST || (k->i > 0 && k->i <= INT32_MAX))))
        return k;
    build_error(b, e->span, "'accumulate' takes a whole number, 1 to 2^31-1, found %s",
                k->kind == HX_CONST && k->type == HT_INT
                    ? arena_printf(b->arena, "%lld", (long long)k->i)
                    : value_text(b, v));
    return NULL;
}

/* accumulate K: sums survive between executions; each K-th averages them, updates and clears. */
static void accumulate(Build *b, Env *env, Ast *s, Targets *t) {
    HExpr *k = accumulate_count(b, env, s->minimize.accumulate);
    if (!k)
        return;
    AccumulateArg a = {t, NEW_ARRAY(b->arena, Home *, t->at.n + 1),
                       host_new_var(b, "accumulated", HT_INT), s->span};
    vec_push(b->arena, &b->accumulations, (Accumulation){a.count, k, s->minimize.accumulate->span});
    for (int i = 0; i < t->at.n; i++) {
        const Home *p = t->at.at[i].home;
        a.sums[i] = home_new(b, HOME_OPT, "gradient_sum", p->dtype, &p->shape, p->span);
        a.sums[i]->of = t->at.at[i].home;
        a.sums[i]->path = "accumulate";
    }
    build_at_start(b, run_accumulate_start, &a);
    for (int i = 0; i < t->at.n; i++)
        home_write(b, a.sums[i],
                   graph_binary(b->g, OP_add, home_value(b, a.sums[i]), t->at.at[i].grad));
    host_set(b, a.count,
             host_op(b, OP_add, HT_INT, host_var(b, a.count), host_const_int(b, 1), NULL), s->span);
    HStmt *test = host_stmt(b, HS_IF, s->span);
    HExpr *rest = host_turn(b, host_var(b, a.count), k, "accumulate", s->minimize.accumulate->span);
    test->value = host_op(b, OP_eq, HT_BOOL, rest, host_const_int(b, 0), NULL);
    HBlock *old = b->block;
    test->body = b->block = NEW(b->arena, HBlock);
    b->region->name = "update";
    Node *n = graph_cast(b->g, value_to_node(b, value_host(k), DT_I32, s->span), b->g->real);
    for (int i = 0; i < t->at.n; i++) {
        Node *sum = home_value(b, a.sums[i]);
        t->at.at[i].grad =
            graph_binary(b->g, OP_div, sum, graph_broadcast_to(b->g, n, &sum->shape));
    }
    update_targets(b, env, s->minimize.clip, t, s->span);
    run_accumulate_start(b, &a);
    region_close(b);
    b->block = old;
}

static void warn_left_over(Build *b, const Accumulation *a) {
    HExpr *rest = host_turn(b, host_var(b, a->count), a->k, "accumulate", a->at);
    HStmt *test = host_stmt(b, HS_IF, a->at);
    test->value = host_op(b, OP_ne, HT_BOOL, rest, host_const_int(b, 0), NULL);
    HBlock *old = b->block;
    test->body = b->block = NEW(b->arena, HBlock);
    HStmt *say = host_stmt(b, HS_PRINT, a->at);
    say->warning = say->newline = true;
    say->format = NEW(b->arena, Format);
    TextPart *parts = say->format->parts = NEW_ARRAY(b->arena, TextPart, 3);
    say->format->n = 3;
    parts[0].text =
        arena_printf(b->arena, "%s: warning: 'accumulate' dropped gradients of its last rounds, ",
                     diag_place(b->diag, b->arena, a->at));
    parts[1].value = rest;
    parts[2].text = " of them: too few for an update";
    b->block = old;
}

void train_task_end(Build *b) {
    for (int i = 0; i < b->accumulations.n; i++)
        warn_left_over(b, &b->accumulations.at[i]);
    b->accumulations.n = 0;
}

void build_minimize(Build *b, Env *env, Ast *s) {
    Node *loss;
    if (!loss_node(b, build_expr(b, env, s->minimize.loss), "the loss", s->minimize.loss->span,
                   &loss))
        return;
    Dependences d = loss_dependences(b, loss);
    Targets t = {.loss = loss};
    if (!loss_is_fresh(b, &d, loss, s->minimize.loss->span) || !collect_targets(b, env, s, &d, &t))
        return;
    b->region->name = arena_printf(b->arena, "%s_step", b->task ? b->task->name : "train");
    b->region->span = s->span;
    graph_check(b->g, loss);
    Home **homes = NEW_ARRAY(b->arena, Home *, t.at.n);
    Node **grads = NEW_ARRAY(b->arena, Node *, t.at.n);
    for (int i = 0; i < t.at.n; i++)
        homes[i] = t.at.at[i].home;
    if (!loss_home_gradients(b, loss, &d, homes, t.at.n, grads, s->minimize.loss->span))
        return;
    Targets with = {0};
    for (int i = 0; i < t.at.n; i++)
        if (grads[i]) {
            t.at.at[i].grad = grads[i];
            vec_push(b->arena, &with.at, t.at.at[i]);
        }
    if (s->minimize.accumulate)
        accumulate(b, env, s, &with);
    else
        update_targets(b, env, s->minimize.clip, &with, s->span);
}

/* Two sets are walked side by side: parameter by parameter they have the same path within their
 * models. what: the statement that pairs them */
static bool same_params(Build *b, const ParamSet *first, const ParamSet *other, const char *what,
                        Span at) {
    if (first->n != other->n) {
        build_error(b, at, "'%s' walks sets of equal parameters: the first has %d, this one %d",
                    what, first->n, other->n);
        return false;
    }
    for (int i = 0; i < first->n; i++)
        if (strcmp(first->paths[i], other->paths[i]) != 0) {
            build_error(b, at,
                        "'%s' pairs parameters of equal path: the first has '%s' where this one "
                        "has '%s'",
                        what, first->paths[i], other->paths[i]);
            return false;
        }
    return true;
}

/* update net by g with opt [clip N] */
void build_update(Build *b, Env *env, Ast *s) {
    Value target = build_expr(b, env, s->update.target);
    Value by = build_expr(b, env, s->update.by);
    const FnValue *opt = optimizer_value(b, env, s->update.with);
    if (target.kind == V_POISON || by.kind == V_POISON || !opt)
        return;
    ParamSet set = {0};
    Home *h = target.kind == V_TENSOR ? home_of_version(b, target.node) : NULL;
    Targets t = {0};
    if (target.kind == V_MODEL && by.kind == V_SET) {
        instance_params(b, target.model, false, &set);
        if (!same_params(b, &set, by.set, "update", s->update.by->span))
            return;
        for (int i = 0; i < set.n; i++)
            vec_push(b->arena, &t.at, (Target){set.homes[i], opt, node_here(b, by.set->nodes[i])});
    }
    if (h && h->kind == HOME_PARAM && by.kind == V_TENSOR &&
        shape_equal(&by.node->shape, &h->shape))
        vec_push(b->arena, &t.at, (Target){h, opt, by.node});
    bool fits = t.at.n > 0;
    for (int i = 0; i < set.n && fits; i++)
        fits = shape_equal(&set.homes[i]->shape, &by.set->nodes[i]->shape);
    if (!fits) {
        build_error(
            b, s->span,
            "update wants a model and its gradient, as grad(loss, net) gives it; found %s and %s",
            value_text(b, target), value_text(b, by));
        return;
    }
    update_targets(b, env, s->update.clip, &t, s->span);
}

/* ---- each ---- */

static bool each_set(Build *b, Value v, Span at, ParamSet *out) {
    if (v.kind == V_MODEL)
        instance_params(b, v.model, false, out);
    else if (v.kind == V_SET)
        *out = *v.set;
    else {
        if (v.kind != V_POISON)
            build_error(b, at, "'each' walks models and gradients of models, found %s",
                        value_text(b, v));
        return false;
    }
    return true;
}

static void each_bind(Build *b, Env *env, Ast *pattern, const ParamSet *set, int i) {
    if (pattern->kind != AST_NAME)
        return;
    if (set->nodes) {
        env_add(b, env, pattern->name, BIND_LET, value_node(set->nodes[i]), pattern->span);
        return;
    }
    env_add(b, env, pattern->name, BIND_HOME, value_none, pattern->span)->home = set->homes[i];
}

static bool each_sets(Build *b, Env *env, Ast *e, ParamSet *sets, int n) {
    Ast *iter = e->each.iter;
    for (int i = 0; i < n; i++) {
        Ast *x = iter->kind == AST_TUPLE ? iter->list.items.at[i] : iter;
        if (!each_set(b, build_expr(b, env, x), x->span, &sets[i]))
            return false;
        if (!same_params(b, &sets[0], &sets[i], "each", x->span))
            return false;
    }
    return true;
}

static bool last_is_value(const Ast *block) {
    if (!block->block.stmts.n)
        return false;
    AstKind k = block->block.stmts.at[block->block.stmts.n - 1]->kind;
    return k <= AST_COPY;
}

Value build_each(Build *b, Env *env, Ast *e, bool sum) {
    Ast *pattern = e->each.pattern, *iter = e->each.iter;
    int n = iter->kind == AST_TUPLE ? iter->list.items.n : 1;
    int names = pattern->kind == AST_TUPLE ? pattern->list.items.n : 1;
    if (n != names) {
        build_error(b, pattern->span, "%d name%s for %d set%s of parameters", names,
                    names == 1 ? "" : "s", n, n == 1 ? "" : "s");
        return value_poison;
    }
    ParamSet *sets = NEW_ARRAY(b->arena, ParamSet, n + 1);
    if (!each_sets(b, env, e, sets, n))
        return value_poison;
    bool value = sum || last_is_value(e->each.body);
    ParamSet *out = NEW(b->arena, ParamSet);
    *out = sets[0];
    out->nodes = NEW_ARRAY(b->arena, Node *, sets[0].n + 1);
    Value total = value_int(0);
    for (int i = 0; i < sets[0].n; i++) {
        Env *inner = env_new(b, env);
        for (int k = 0; k < n; k++)
            each_bind(b, inner, pattern->kind == AST_TUPLE ? pattern->list.items.at[k] : pattern,
                      &sets[k], i);
        if (!value) {
            build_stmts(b, inner, e->each.body);
            continue;
        }
        Value v = build_block(b, inner, e->each.body);
        if (v.kind == V_POISON)
            return v;
        if (sum)
            total = value_binary(b, OP_add, total, v, e->span);
        else
            out->nodes[i] = value_to_node(b, v, sets[0].homes[i]->dtype, e->span);
    }
    if (sum)
        return total;
    return value ? (Value){.kind = V_SET, .set = out} : value_none;
}
