/* build_instance.c: instances of layers, their parameters and the paths that name them.
 *
 * The k-th time a body calls a layer at one place, in every application of that body, is the same
 * instance: its key is the place and the round. Paths are made at the end, when it is known which
 * layers a body calls more than once.
 */
#include "build_call.h"
#include "build_host.h"

Instance *instance_new(Build *b, Instance *parent, const char *name, const Ast *site, Span at) {
    Instance *in = NEW(b->arena, Instance);
    in->name = name;
    in->parent = parent;
    in->site = site;
    in->span = at;
    in->model = parent ? parent->model : -1;
    if (parent)
        vec_push(b->arena, &parent->children, in);
    return in;
}

Instance *instance_child(Build *b, Instance *parent, const char *name, const Ast *site) {
    if (!parent)
        return instance_new(b, NULL, name, site, site->span);
    int round = 0;
    for (int i = 0; i < parent->uses.n; i++)
        round += parent->uses.at[i] == site;
    vec_push(b->arena, &parent->uses, site);
    for (int i = 0; i < parent->children.n; i++) {
        Instance *c = parent->children.at[i];
        if (c->site == site && c->round == round)
            return c;
    }
    Instance *c = instance_new(b, parent, name, site, site->span);
    c->round = round;
    return c;
}

static Instance *instance_root(Instance *in) {
    while (in && in->parent)
        in = in->parent;
    return in;
}

/* ---- parameters ---- */

/* An initialiser is named alone, or called without the shape that its first parameter `shape`
 * stands for. */
static bool takes_shape(const FnValue *f, bool bare) {
    if (f->builtin)
        return bare && strncmp(f->builtin->signature, "shape", 5) == 0;
    return f->decl && f->decl->kind == AST_FN && f->decl->fn.formals.n &&
           strcmp(f->decl->fn.formals.at[0]->name, "shape") == 0;
}

static Value shape_value(Build *b, const Shape *s) {
    Value *dims = NEW_ARRAY(b->arena, Value, s->rank + 1);
    for (int i = 0; i < s->rank; i++)
        dims[i] = value_int(s->dim[i].n);
    return value_list(b, dims, s->rank, false);
}

static Value init_value(Build *b, const Init *init, const Home *h) {
    Ast *e = init->expr;
    bool call = e->kind == AST_CALL;
    Ast *callee = call ? e->call.callee : e;
    if (callee->kind == AST_NAME) {
        Value f = build_expr(b, init->env, callee);
        if (f.kind == V_FN && takes_shape(f.fn, !call)) {
            Value shape = shape_value(b, &h->shape);
            if (call)
                return build_call(b, init->env, e, &shape);
            return build_apply(b, f, &shape, 1, e->span);
        }
        if (!call)
            return f;
    }
    return build_expr(b, init->env, e);
}

/* Gives the home its first (or a new) value in the open region. */
void home_init(Build *b, Home *h) {
    const Init *init = &b->inits.at[h->id];
    if (init->from) {
        Node *n = home_value(b, init->from);
        home_write(b, h, graph_unary(b->g, OP_stop, n));
        return;
    }
    Frame frame = {b->frame, b->frame ? b->frame->decl : NULL, init->expr->span, init->instance};
    b->frame = &frame;
    Value v = init_value(b, init, h);
    Node *n = v.kind == V_POISON ? NULL : value_to_node(b, v, h->dtype, init->expr->span);
    b->frame = frame.parent;
    if (!n)
        return;
    if (n->dtype != h->dtype)
        n = graph_cast(b->g, n, h->dtype);
    if (n->shape.rank > h->shape.rank || (n->shape.rank && !shape_equal(&n->shape, &h->shape))) {
        build_error(b, init->expr->span, "'%s' is %s, but its first value is %s", h->name,
                    shape_text(b->arena, &h->shape), shape_text(b->arena, &n->shape));
        return;
    }
    n = graph_broadcast_to(b->g, n, &h->shape);
    home_write(
        b, h,
        graph_unary(b->g, OP_stop, n)); /* a node of its own: two homes may start from one value */
}

typedef struct InitArg {
    Home *home;
} InitArg;

static void run_init(Build *b, void *arg) {
    home_init(b, ((InitArg *)arg)->home);
}

void home_set_init(Build *b, Home *h, Init init) {
    while (b->inits.n <= h->id)
        vec_push(b->arena, &b->inits, (Init){0});
    b->inits.at[h->id] = init;
    InitArg arg = {h};
    build_at_start(b, run_init, &arg);
}

static Home *find_home(const Instance *in, const char *name) {
    for (int i = 0; i < in->homes.n; i++)
        if (in->homes.at[i]->name == name)
            return in->homes.at[i];
    return NULL;
}

static void check_again(Build *b, const Home *h, const Shape *s, Span at) {
    if (shape_equal(&h->shape, s))
        return;
    build_error(b, at, "'%s' was made %s, but this call needs %s", h->name,
                shape_text(b->arena, &h->shape), shape_text(b->arena, s));
    Instance *in = b->frame->instance;
    diag_note(b->diag, in->first_call, "the first call made it %s",
              shape_text(b->arena, &h->shape));
}

static DType param_type(Build *b, const Ast *type) {
    return type_element(b, type ? type->name : NULL);
}

void build_param(Build *b, Env *env, Ast *decl, HomeKind kind) {
    Instance *in = b->frame ? b->frame->instance : NULL;
    const Instance *root = instance_root(in);
    if (in && !root->is_model) {
        build_error(
            b, decl->span,
            "%s has parameters: in tasks and functions it must be a model (model net = %s(…))",
            in->name, in->name);
        in = NULL;
    } else if (!in) {
        build_error(b, decl->span,
                    "'%s' belongs into a layer or to the top level: a fn has none of its own",
                    kind == HOME_PARAM ? "param" : "state");
    }
    Shape s;
    bool ok = build_dims(b, env, decl->param.type, &s);
    for (int i = 0; i < decl->param.names.n; i++) {
        Ast *name = decl->param.names.at[i];
        if (!ok || !in) {
            env_add(b, env, name->name, BIND_LET, value_poison, name->span)->used = true;
            continue;
        }
        if (in->applied == 1 && !in->homes.n)
            in->first_call = outer_call(b);
        Home *h = find_home(in, name->name);
        if (h) {
            check_again(b, h, &s, decl->span);
        } else {
            h = home_new(b, kind, name->name, param_type(b, decl->param.type), &s, decl->span);
            h->model = in->model;
            vec_push(b->arena, &in->homes, h);
            const Instance *from = in->copy_of;
            Init init = {decl->param.init, env, from ? find_home(from, name->name) : NULL, in};
            home_set_init(b, h, init);
        }
        Binding *bind = env_add(b, env, name->name, BIND_HOME, value_none, name->span);
        bind->home = h;
        bind->used = true;
    }
}

/* ---- paths ---- */

static bool has_homes(const Instance *in) {
    if (in->homes.n)
        return true;
    for (int i = 0; i < in->children.n; i++)
        if (has_homes(in->children.at[i]))
            return true;
    return false;
}

/* Child i of an instance in paths; it has a place where there are several of its name. */
static PathStep child_step(const Instance *in, int i) {
    const Instance *c = in->children.at[i];
    int same = 0, before = 0;
    for (int k = 0; k < in->children.n; k++) {
        const Instance *other = in->children.at[k];
        bool counts = other->name == c->name && has_homes(other);
        same += counts;
        before += counts && k < i;
    }
    return (PathStep){c->name, same > 1 ? before : -1};
}

/* linear, linear[0] */
static const char *step_text(Build *b, PathStep s) {
    return s.place < 0 ? s.name : arena_printf(b->arena, "%s[%d]", s.name, s.place);
}

typedef VEC(PathStep) PathSteps;

static void set_paths(Build *b, Instance *in, PathSteps *above, const char *path) {
    in->path = path;
    for (int i = 0; i < in->homes.n; i++) {
        Home *h = in->homes.at[i];
        h->path = arena_printf(b->arena, "%s.%s", path, h->name);
        for (int k = 0; k < above->n; k++)
            vec_push(b->arena, &h->steps, above->at[k]);
    }
    for (int i = 0; i < in->children.n; i++) {
        PathStep step = child_step(in, i);
        vec_push(b->arena, above, step);
        set_paths(b, in->children.at[i], above,
                  arena_printf(b->arena, "%s.%s", path, step_text(b, step)));
        above->n--;
    }
}

/* ---- sets of parameters ---- */

void params_add(Build *b, ParamSet *set, Home *h, const char *path) {
    Home **homes = NEW_ARRAY(b->arena, Home *, set->n + 1);
    const char **paths = NEW_ARRAY(b->arena, const char *, set->n + 1);
    if (set->n) {
        memcpy(homes, set->homes, sizeof *homes * (size_t)set->n);
        memcpy(paths, set->paths, sizeof *paths * (size_t)set->n);
    }
    homes[set->n] = h;
    paths[set->n++] = path;
    set->homes = homes;
    set->paths = paths;
}

/* path: of the instance, with its dot */
static void add_params(Build *b, Instance *in, bool states, const char *path, ParamSet *out) {
    for (int i = 0; i < in->homes.n; i++) {
        Home *h = in->homes.at[i];
        if (h->kind == HOME_PARAM || states)
            params_add(b, out, h, arena_printf(b->arena, "%s%s", path, h->name));
    }
    for (int i = 0; i < in->children.n; i++)
        add_params(b, in->children.at[i], states,
                   arena_printf(b->arena, "%s%s.", path, step_text(b, child_step(in, i))), out);
}

void instance_params(Build *b, Instance *in, bool states, ParamSet *out) {
    add_params(b, in, states, "", out);
}

/* mean, mean[1], mean[2]: accumulators and variables of tasks may share a name, keys may not. */
static void number_equal_paths(Build *b) {
    for (int i = 0; i < b->p->homes.n; i++) {
        Home *h = b->p->homes.at[i];
        const char *path = h->path;
        int same = 0;
        for (int k = 0; k < i; k++)
            if (strcmp(b->p->homes.at[k]->path, h->path) == 0) {
                h->path = arena_printf(b->arena, "%s[%d]", path, ++same);
                k = -1; /* the new name may be taken, too */
            }
    }
}

/* A user's name stays. A gradient is a reshape of what a kernel makes: both get the name. */
static void name_gradients(Build *b) {
    for (int i = 0; i < b->gradients.n; i++) {
        const HomeGradient *g = &b->gradients.at[i];
        const char *of = arena_fold_words(b->arena, arena_identifier(b->arena, g->of->path));
        const char *name = arena_printf(b->arena, "d_%s", of);
        for (Node *n = g->node; n && !n->name; n = n->op == OP_reshape ? n->in[0] : NULL)
            n->name = name;
        for (Node *n = g->node; n; n = n->op == OP_reshape ? n->in[0] : NULL)
            n->gradient_of = n->gradient_of ? n->gradient_of : g->of;
    }
}

/* linear[1] for what the second of equal layers made: its place from 1; 0: it is the only one. */
static int place_of_layer(const Instance *in) {
    int same = 0, place = 0;
    for (int i = 0; in->parent && i < in->parent->children.n; i++) {
        const Instance *other = in->parent->children.at[i];
        same += other->name == in->name && has_homes(other) == has_homes(in);
        place = other == in ? same : place;
    }
    return same > 1 ? place : 0;
}

/* A view of a value of its name is that value. */
static bool is_made_here(const Node *n) {
    bool view = n->nin == 1 && (op_info[n->op].kind == KIND_MOVE || n->op == OP_cast);
    return n->name && !n->place && !n->gradient_of && op_info[n->op].kind != KIND_LEAF &&
           !(view && n->in[0]->name == n->name);
}

static int by_name(const void *x, const void *y) {
    const Node *a = *(Node *const *)x, *b = *(Node *const *)y;
    if (a->region != b->region)
        return a->region->id < b->region->id ? -1 : 1;
    int order = strcmp(a->name, b->name);
    return order ? order : (a->id > b->id) - (a->id < b->id);
}

/* relu[1] for what a region calls relu a second time: numbers as layers have them. */
static void place_equal_names(Build *b) {
    Node **made = NEW_ARRAY(b->arena, Node *, b->g->nodes.n + 1);
    int n = 0;
    for (int i = 0; i < b->g->nodes.n; i++)
        if (b->g->nodes.at[i]->region && is_made_here(b->g->nodes.at[i]))
            made[n++] = b->g->nodes.at[i];
    qsort(made, (size_t)n, sizeof(Node *), by_name);
    for (int i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && made[end]->region == made[i]->region &&
                          strcmp(made[end]->name, made[i]->name) == 0;)
            end++;
        for (int k = i; k < end && end > i + 1; k++) {
            made[k]->place = k - i + 1;
            made[k]->counted = true;
        }
    }
}

/* A gradient whose name was not changed since is called after its value once more. */
static void place_values(Build *b) {
    for (int i = 0; i < b->named_by_layers.n; i++) {
        const NamedByLayer *named = &b->named_by_layers.at[i];
        if (b->name_ranks.at[named->node->id] != NAME_OF_LET)
            named->node->place = place_of_layer(named->instance);
    }
    place_equal_names(b);
    for (int i = 0; i < b->g->derivatives.n; i++) {
        const Derivative *d = &b->g->derivatives.at[i];
        if (d->dy->name == d->name) {
            d->dy->place = d->of->place;
            d->dy->counted = d->of->counted;
        }
    }
}

/* Several models of one declaration have a place among them. */
static PathStep model_step(const Build *b, const Instance *model) {
    int same = 0, before = 0;
    for (int i = 0; i < b->models.n; i++) {
        same += b->models.at[i]->site == model->site;
        before += b->models.at[i]->site == model->site && b->models.at[i]->model < model->model;
    }
    bool many = same > 1 && model->site->kind == AST_MODEL;
    return (PathStep){many ? model->site->name : model->name, many ? before : -1};
}

void instance_paths(Build *b) {
    for (int i = 0; i < b->models.n; i++) {
        PathSteps steps = {0};
        vec_push(b->arena, &steps, model_step(b, b->models.at[i]));
        set_paths(b, b->models.at[i], &steps, b->models.at[i]->name);
    }
    for (int i = 0; i < b->p->homes.n; i++) {
        Home *h = b->p->homes.at[i];
        if (!h->path)
            h->path = h->name;
    }
    for (int i = 0; i < b->p->homes.n;
         i++) { /* adamw.m.net.linear[0].w: the parameters have their paths by now */
        Home *h = b->p->homes.at[i];
        bool one = h->kind == HOME_OPT && h->shape.rank == 0 && h->dtype == DT_I32;
        if (one)
            h->path = arena_printf(b->arena, "%s.%s", h->path, h->name);
        else if (h->of)
            h->path = arena_printf(b->arena, "%s.%s.%s", h->path, h->name, h->of->path);
    }
    number_equal_paths(b);
    name_gradients(b);
    place_values(b);
}

/* ---- models ---- */

/* The instance behind `model name = value` or `sub name = value`. */
Instance *model_new(Build *b, Env *env, Instance *parent, const char *name, Ast *decl, Ast *value) {
    Instance *in = instance_new(b, parent, name, decl, decl->span);
    if (!parent) {
        in->is_model = true;
        in->model = b->p->models.n;
        vec_push(b->arena, &b->p->models, (ModelInfo){name, decl->span});
        vec_push(b->arena, &b->models, in);
    }
    if (value->kind == AST_COPY)
        return model_copy(b, env, in, value->copy.x);
    Frame frame = {b->frame, decl, decl->span, in};
    bool naming = b->naming_model;
    b->frame = &frame;
    b->naming_model = true;
    Value f = build_expr_fn(b, env, value);
    b->naming_model = naming;
    b->frame = frame.parent;
    if (f.kind != V_FN) {
        if (f.kind != V_POISON)
            build_error(b, value->span,
                        "a model is a layer or function without its first argument, found %s",
                        value_text(b, f));
        return in;
    }
    in->fn = NEW(b->arena, FnValue);
    *in->fn = *f.fn;
    if (in->fn->decl && in->fn->decl->kind == AST_LAYER && !in->fn->instance)
        in->fn->instance = in;
    return in;
}

/* now: a `let` of a task copies the values when it is reached, not only at start.
 * A second set of the parameters that `from` has by now: the same tree with homes of its own. */
static void copy_tree(Build *b, Instance *to, Instance *from, bool now) {
    to->copy_of = from;
    to->first_call = from->first_call;
    for (int i = 0; i < from->homes.n; i++) {
        const Home *h = from->homes.at[i];
        Home *n = home_new(b, h->kind, h->name, h->dtype, &h->shape, h->span);
        n->model = to->model;
        vec_push(b->arena, &to->homes, n);
        home_set_init(b, n, (Init){.from = from->homes.at[i]});
        if (now)
            home_init(b, n);
    }
    for (int i = 0; i < from->children.n; i++) {
        Instance *c = from->children.at[i];
        Instance *n = instance_new(b, to, c->name, c->site, c->span);
        n->round = c->round;
        copy_tree(b, n, c, now);
    }
}

/* Function values inside the copied function belong to instances of the original: find their twins.
 */
static Instance *twin(const Instance *from, Instance *to, const Instance *x) {
    if (from == x)
        return to;
    for (int i = 0; i < from->children.n && i < to->children.n; i++) {
        Instance *t = twin(from->children.at[i], to->children.at[i], x);
        if (t)
            return t;
    }
    return NULL;
}

static FnValue *copy_fn(Build *b, const FnValue *f, const Instance *from, Instance *to) {
    FnValue *g = NEW(b->arena, FnValue);
    *g = *f;
    if (f->instance)
        g->instance = twin(from, to, f->instance);
    g->args.at = NEW_ARRAY(b->arena, Arg, f->args.n + 1);
    for (int i = 0; i < f->args.n; i++) {
        g->args.at[i] = f->args.at[i];
        Value *v = &g->args.at[i].value;
        if (!g->args.at[i].expr && v->kind == V_FN)
            v->fn = copy_fn(b, v->fn, from, to);
    }
    return g;
}

/* What x, a part of `from`, applies is what its twin y in `to` applies: a model, and each `sub`. */
static void copy_functions(Build *b, const Instance *from, Instance *to, const Instance *x,
                           Instance *y) {
    if (x->fn)
        y->fn = copy_fn(b, x->fn, from, to);
    for (int i = 0; i < x->children.n; i++)
        copy_functions(b, from, to, x->children.at[i], y->children.at[i]);
}

Instance *model_copy(Build *b, Env *env, Instance *in, Ast *what) {
    Value v = build_expr(b, env, what);
    if (v.kind != V_MODEL) {
        if (v.kind != V_POISON)
            build_error(b, what->span, "only a model can be copied, found %s", value_text(b, v));
        return in;
    }
    if (!v.model->applied && !v.model->children.n) {
        build_error(
            b, what->span,
            "'%s' has no parameters yet: a copy is made after the first use fixed their sizes",
            v.model->name);
        return in;
    }
    copy_tree(b, in, v.model, in->site->kind == AST_LET);
    copy_functions(b, v.model, in, v.model, in);
    return in;
}

static void reset_instance(Build *b, Instance *in) {
    for (int i = 0; i < in->homes.n; i++)
        home_init(b, in->homes.at[i]);
    for (int i = 0; i < in->children.n; i++)
        reset_instance(b, in->children.at[i]);
}

void build_reset(Build *b, Env *env, Ast *s) {
    for (int i = 0; i < s->reset.items.n; i++) {
        Ast *item = s->reset.items.at[i];
        Value v = build_expr(b, env, item);
        Binding *bind = item->kind == AST_NAME ? build_find(b, env, item->name, item->span) : NULL;
        if (v.kind == V_MODEL)
            reset_instance(b, v.model);
        else if (bind && bind->kind == BIND_HOME && bind->home->kind == HOME_PARAM)
            home_init(b, bind->home);
        else if (v.kind != V_POISON)
            build_error(b, item->span, "reset takes models and parameters, found %s",
                        value_text(b, v));
    }
}
