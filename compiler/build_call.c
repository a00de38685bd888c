/* build_call.c: binding arguments to parameters and running the bodies of functions and layers. */
#include "build_call.h"
#include "build_data.h"
#include "build_stmt.h"

/* ---- names of parameters for messages ---- */

static const char *formal_list(Build *b, const AstList *formals, int from) {
    Text t = {.arena = b->arena};
    for (int i = from; i < formals->n; i++)
        text_printf(&t, "%s%s", i > from ? ", " : "", formals->at[i]->name);
    return t.n ? t.at : "none";
}

static int formal_index(const AstList *formals, const char *name) {
    for (int i = 0; i < formals->n; i++)
        if (formals->at[i]->name == name)
            return i;
    return -1;
}

/* Sorts arguments to parameters `from`…; slot[i] is the argument of parameter i or NULL. */
static bool sort_args(Build *b, const char *callee, const AstList *formals, int from,
                      const Args *args, const Arg **slot) {
    int next = from;
    bool ok = true;
    for (int i = 0; i < args->n; i++) {
        const Arg *a = &args->at[i];
        int k = a->name ? formal_index(formals, a->name) : next++;
        if (k < 0) {
            build_error(b, a->span, "%s has no parameter '%s' (its parameters: %s)", callee,
                        a->name, formal_list(b, formals, from));
            ok = false;
        } else if (k >= formals->n) {
            build_error(b, a->span, "%s takes %d argument%s, this is one more (its parameters: %s)",
                        callee, formals->n - from, formals->n - from == 1 ? "" : "s",
                        formal_list(b, formals, from));
            return false;
        } else if (slot[k]) {
            build_error(b, a->span, "%s got '%s' twice", callee, formals->at[k]->name);
            ok = false;
        } else {
            slot[k] = a;
        }
    }
    return ok;
}

/* ---- types of parameters ---- */

typedef enum TypeClass { TYPE_OTHER, TYPE_REAL, TYPE_INT, TYPE_BOOL, TYPE_FN } TypeClass;

/* The words that are types; DT_N: of elements, the program's float, or none. */
static const struct {
    const char *name;
    TypeClass class;
    DType element;
} type_words[] = {
    {"real", TYPE_REAL, DT_N}, {"f32", TYPE_REAL, DT_F32},   {"f64", TYPE_REAL, DT_F64},
    {"int", TYPE_INT, DT_I32}, {"i32", TYPE_INT, DT_I32},    {"i64", TYPE_INT, DT_I64},
    {"u8", TYPE_INT, DT_U8},   {"bool", TYPE_BOOL, DT_BOOL}, {"fn", TYPE_FN, DT_N},
};

/* Index of the type's row, -1: it has none (list, string, a type that is not supported yet). */
static int type_row(const char *name) {
    for (int i = 0; name && i < COUNT_OF(type_words); i++)
        if (strcmp(type_words[i].name, name) == 0)
            return i;
    return -1;
}

static TypeClass type_class(const Ast *type) {
    int row = type && type->kind == AST_TYPE ? type_row(type->name) : -1;
    return row < 0 ? TYPE_OTHER : type_words[row].class;
}

static Value arg_value(Build *b, const Arg *a, const Ast *type) {
    if (!a->expr)
        return a->value;
    return type_class(type) == TYPE_FN ? build_expr_fn(b, a->env, a->expr)
                                       : build_expr(b, a->env, a->expr);
}

bool type_is_element(const char *name) {
    int row = type_row(name);
    return row >= 0 && type_words[row].class != TYPE_FN;
}

DType type_element(Build *b, const char *name) {
    int row = type_row(name);
    return row < 0 || type_words[row].element == DT_N ? b->g->real : type_words[row].element;
}

static const char *dim_text(Build *b, Dim d) {
    return d.count ? arena_printf(b->arena, "%lld rows at most", (long long)d.n)
                   : arena_printf(b->arena, "%lld", (long long)d.n);
}

/* One dimension of a signature against one of a value: a new name is bound, everything else must
 * agree. */
static bool match_dim(Build *b, Env *env, Ast *want, Dim have, const char *what, const char *shape,
                      Span at) {
    if (want->kind == AST_NAME && !env_get(env, want->name)) {
        Binding *file_const = env_get(env->parent, want->name);
        if (!file_const || !file_const->decl || file_const->decl->kind != AST_CONST) {
            Binding *made = env_add(b, env, want->name, BIND_LET, value_dim(have), at);
            made->used = true;
            return true;
        }
    }
    Value v = build_expr(b, env, want);
    Dim d;
    if (v.kind == V_POISON || !value_to_dim(b, v, "a dimension", want->span, &d))
        return false;
    if (dim_equal(d, have))
        return true;
    Text name = {.arena = b->arena};
    ast_print(&name, want);
    build_error(b, at, "%s: '%s' must be %s here, found %s in %s", what, name.at, dim_text(b, d),
                dim_text(b, have), shape);
    const Binding *bound = want->kind == AST_NAME ? env_get(env, want->name) : NULL;
    if (bound && bound->span.file && bound->span.lo != at.lo)
        diag_note(b->diag, bound->span, "%s is %s because of this", want->name, dim_text(b, d));
    return false;
}

static bool match_star(Build *b, Env *env, const Shape *s, int lead, const char *what, Span at) {
    Value *dims = NEW_ARRAY(b->arena, Value, lead + 1);
    for (int i = 0; i < lead; i++)
        dims[i] = value_dim(s->dim[i]);
    Value list = value_list(b, dims, lead, false);
    const char *name = intern_str(b->c->names, "*");
    const Binding *star = env_get(env, name);
    if (!star) {
        env_add(b, env, name, BIND_LET, list, at)->used = true;
        return true;
    }
    if (value_equal(star->value, list))
        return true;
    build_error(b, at, "%s: the leading dimensions '*' are %s here, but %s before", what,
                value_text(b, list), value_text(b, star->value));
    if (star->span.file)
        diag_note(b->diag, star->span, "bound here");
    return false;
}

/* A tensor's shape against a signature's dimensions; names first, so that expressions may use them.
 */
static bool match_shape(Build *b, Env *env, const AstList *dims, const Shape *s, const char *what,
                        Span at) {
    const char *text = shape_text(b->arena, s);
    int star = -1;
    for (int i = 0; i < dims->n; i++)
        if (dims->at[i]->kind == AST_STAR)
            star = i;
    int fixed = dims->n - (star >= 0);
    if (star < 0 ? s->rank != fixed : s->rank < fixed) {
        build_error(b, at, "%s: expected %s%d dimension%s, found %d in %s", what,
                    star < 0 ? "" : "at least ", fixed, fixed == 1 ? "" : "s", s->rank, text);
        return false;
    }
    int lead = s->rank - fixed;
    bool ok = star < 0 || match_star(b, env, s, lead, what, at);
    for (int names = 1; names >= 0; names--)
        for (int i = 0, k = 0; i < dims->n; i++) {
            if (i == star) {
                k += lead;
                continue;
            }
            bool is_name = dims->at[i]->kind == AST_NAME;
            if (is_name == (names == 1))
                ok = match_dim(b, env, dims->at[i], s->dim[k], what, text, at) && ok;
            k++;
        }
    return ok;
}

static bool scalar_fits(Value v, TypeClass class) {
    bool is_bool = v.kind == V_BOOL || (v.kind == V_HOST && v.host->type == HT_BOOL) ||
                   (v.kind == V_TENSOR && v.node->dtype == DT_BOOL);
    bool is_int = (v.kind == V_NUMBER && (v.num.is_int || v.num.f == (double)(int64_t)v.num.f)) ||
                  (v.kind == V_HOST && v.host->type == HT_INT) ||
                  (v.kind == V_TENSOR && dtype_is_int(v.node->dtype));
    return class == TYPE_BOOL ? is_bool : class == TYPE_INT ? is_int : !is_bool;
}

/* A value for a type that is one word. */
static Value match_word(Build *b, const Ast *type, Value v, const char *what, Span at) {
    TypeClass class = type_class(type);
    if (class == TYPE_FN) {
        if (v.kind == V_FN || v.kind == V_MODEL)
            return v;
        build_error(b, at, "%s: expected a function, found %s", what, value_text(b, v));
        return value_poison;
    }
    bool scalar = value_is_scalar(v);
    if (scalar && scalar_fits(v, class))
        return class == TYPE_INT && v.kind == V_NUMBER && !v.num.is_int
                   ? value_int((int64_t)v.num.f)
                   : v;
    bool loose = v.kind == V_LIST || v.kind == V_STRING || v.kind == V_TYPE;
    if (!scalar && loose && class == TYPE_OTHER)
        return v;
    build_error(b, at, "%s: expected %s, found %s", what, type->name, value_text(b, v));
    return value_poison;
}

/* v as the declared type, with dimension names bound in env; poison after an error. */
Value match_type(Build *b, Env *env, Ast *type, Value v, const char *what, Span at) {
    if (!type || v.kind == V_POISON || v.kind == V_NONE)
        return v;
    if (type->kind == AST_TUPLE_TYPE) {
        const AstList *items = &type->tuple_type.items;
        if (v.kind != V_LIST || v.list->n != items->n) {
            build_error(b, at, "%s: expected a tuple of %d, found %s", what, items->n,
                        value_text(b, v));
            return value_poison;
        }
        for (int i = 0; i < items->n; i++)
            v.list->at[i] = match_type(b, env, items->at[i], v.list->at[i], what, at);
        return v;
    }
    if (type->kind == AST_TYPE)
        return match_word(b, type, v, what, at);
    DType want = type_element(b, type->name);
    Node *n = value_to_node(b, v, want, at);
    if (!n)
        return value_poison;
    if (n->dtype != want) {
        build_error(b, at, "%s: expected a tensor of %s, found %s (cast(x, %s) converts)", what,
                    dtype_name(want), value_text(b, value_node(n)),
                    want == b->g->real ? "real" : dtype_name(want));
        return value_poison;
    }
    return match_shape(b, env, &type->tensor.dims, &n->shape, what, at) ? value_node(n)
                                                                        : value_poison;
}

bool build_dims(Build *b, Env *env, Ast *type, Shape *out) {
    *out = (Shape){0};
    if (!type || type->kind == AST_TYPE)
        return true;
    for (int i = 0; i < type->tensor.dims.n; i++) {
        Ast *d = type->tensor.dims.at[i];
        if (d->kind == AST_STAR) {
            build_error(b, d->span, "'*' is for signatures; a size is wanted here");
            return false;
        }
        if (out->rank == MAX_RANK) {
            build_error(b, type->span, "a tensor has at most %d dimensions", MAX_RANK);
            return false;
        }
        Value v = build_expr(b, env, d);
        if (v.kind == V_POISON ||
            !value_to_dim(b, v, "a dimension", d->span, &out->dim[out->rank++]))
            return false;
    }
    return true;
}

/* ---- applying ---- */

/* A layer in a default is a part of the layer that has the default. */
static Value default_value(Build *b, const FnValue *f, Env *env, const Ast *formal) {
    if (type_class(formal->formal.type) != TYPE_FN)
        return build_expr(b, env, formal->formal.value);
    Frame frame = {b->frame, f->decl, (Span){0}, f->instance};
    b->frame = &frame;
    Value v = build_expr_fn(b, env, formal->formal.value);
    b->frame = frame.parent;
    return v;
}

static bool bind_formals(Build *b, const FnValue *f, const AstList *formals, Env *env,
                         const Args *args) {
    const char *name = f->decl->name;
    const Arg **slot = NEW_ARRAY(b->arena, const Arg *, formals->n + 1);
    if (!sort_args(b, name, formals, 0, args, slot))
        return false;
    bool ok = true;
    for (int i = 0; i < formals->n; i++) {
        Ast *p = formals->at[i];
        Span at = slot[i] ? slot[i]->span : args->span;
        Value v;
        if (slot[i])
            v = arg_value(b, slot[i], p->formal.type);
        else if (p->formal.value)
            v = default_value(b, f, env, p);
        else {
            build_error(b, args->span, "%s needs its argument '%s' (its parameters: %s)", name,
                        p->name, formal_list(b, formals, 0));
            return false;
        }
        v = match_type(b, env, p->formal.type, v,
                       arena_printf(b->arena, "argument '%s' of %s", p->name, name), at);
        if (v.kind == V_POISON)
            ok = false;
        if (env_get(env, p->name)) { /* a dimension of an earlier parameter has this name */
            env_get(env, p->name)->value = v;
            continue;
        }
        Binding *bind = env_add(b, env, p->name, BIND_VAR, v, at);
        bind->used = true;
    }
    return ok;
}

enum { MAX_CALLS = 200 };

/* Of all that run now, the one that was called most often. */
static const Frame *busiest(const Build *b) {
    const Frame *found = b->frame;
    int most = 0;
    for (const Frame *x = b->frame; x; x = x->parent) {
        int n = 0;
        for (const Frame *y = b->frame; y; y = y->parent)
            n += y->decl == x->decl;
        if (n > most) {
            most = n;
            found = x;
        }
    }
    return found;
}

static void endless(Build *b) {
    Frame *top = b->frame;
    const Frame *f = busiest(b);
    b->frame = f->parent;
    build_error(b, f->call, "%s calls itself without end (%d calls deep)", f->decl->name,
                MAX_CALLS);
    b->frame = top;
}

static Value body_value(Build *b, const FnValue *f, Env *env) {
    Ast *body = f->decl->fn.body;
    Value v = body->kind == AST_BLOCK ? build_block(b, env, body) : build_expr(b, env, body);
    if (v.kind == V_NONE && f->decl->fn.result) {
        build_error(b, body->span, "%s must give a value: its last statement gives none",
                    f->decl->name);
        return value_poison;
    }
    return match_type(b, env, f->decl->fn.result, v,
                      arena_printf(b->arena, "the result of %s", f->decl->name), body->span);
}

/* The output speaks of linear and relu, not of add. */
static void name_result(Build *b, Node *n, const char *name, const Instance *in, Span call) {
    bool library = diag_file(b->diag, call.file)->library;
    if (build_name(b, n, name, library ? NAME_OF_LIBRARY : NAME_OF_CALL) && in)
        vec_push(b->arena, &b->named_by_layers, (NamedByLayer){n, in});
}

static Value run_body(Build *b, const FnValue *f, Env *env, Instance *in, Span call) {
    if (b->depth >= MAX_CALLS) {
        endless(b);
        return value_poison;
    }
    Frame frame = {b->frame, f->decl, call, in};
    Frame *old = b->frame;
    Span span = b->g->span;
    int first = b->g->nodes.n;
    b->frame = &frame;
    b->depth++;
    if (in) {
        in->uses.n = 0;
        in->applied++;
    }
    if (!diag_file(b->diag, call.file)->library)
        b->g->span = call;
    Value v = body_value(b, f, env);
    b->depth--;
    b->frame = old;
    b->g->span = span;
    if (v.kind == V_TENSOR && v.node->id >= first && v.node->region == b->region)
        name_result(b, v.node, f->decl->name, in, call);
    return v;
}

/* What is applied: the arguments of the call, then those that were given when the value was made.
 */
static Args join_args(Build *b, const FnValue *f, const Args *args) {
    if (!f->partial)
        return *args;
    Args all = {args->n + f->args.n, NEW_ARRAY(b->arena, Arg, args->n + f->args.n + 1), args->span};
    memcpy(all.at, args->at, sizeof(Arg) * (size_t)args->n);
    if (f->args.n)
        memcpy(all.at + args->n, f->args.at, sizeof(Arg) * (size_t)f->args.n);
    return all;
}

Value fn_apply(Build *b, FnValue *f, const Args *args) {
    Args all = join_args(b, f, args);
    if (f->builtin)
        return builtin_apply(b, f->builtin, &all);
    if (f->decl->kind == AST_SCHEDULE)
        return schedule_apply(b, f, args);
    if (f->decl->kind == AST_OPTIMIZER) {
        build_error(b, args->span, "%s is an optimizer: it is used by 'minimize … with'",
                    f->decl->name);
        return value_poison;
    }
    Env *env = env_new(b, f->env);
    if (!bind_formals(b, f, &f->decl->fn.formals, env, &all))
        return value_poison;
    return run_body(b, f, env, f->instance, args->span);
}

Value build_apply(Build *b, Value f, const Value *args, int n, Span at) {
    Args a = {n, NEW_ARRAY(b->arena, Arg, n + 1), at};
    for (int i = 0; i < n; i++)
        a.at[i] = (Arg){.value = args[i], .span = at};
    if (f.kind == V_MODEL)
        return model_apply(b, f.model, &a);
    if (f.kind != V_FN) {
        build_error(b, at, "expected a function, found %s", value_text(b, f));
        return value_poison;
    }
    return fn_apply(b, f.fn, &a);
}

Value model_apply(Build *b, Instance *in, const Args *args) {
    if (!in->fn && !diag_errors(b->diag))
        bug("build: '%s' applies nothing, and no error says why", in->name);
    return in->fn ? fn_apply(b, in->fn, args) : value_poison;
}

/* ---- calls ---- */

Args call_args(Build *b, Env *env, const Ast *call, const Value *piped, Span piped_span) {
    int extra = piped != NULL;
    const AstList *list = &call->call.args;
    Args a = {list->n + extra, NEW_ARRAY(b->arena, Arg, list->n + extra + 1), call->span};
    if (piped)
        a.at[0] = (Arg){.value = *piped, .span = piped_span};
    for (int i = 0; i < list->n; i++) {
        Ast *arg = list->at[i];
        a.at[i + extra] = (Arg){arg->name, arg->arg.value, env, value_none, arg->span};
    }
    return a;
}

static bool is_layer(const FnValue *f) {
    return f->decl && f->decl->kind == AST_LAYER;
}

/* A layer applied where it is written is a new instance of its own. */
static FnValue *with_instance(Build *b, FnValue *f, const Ast *site) {
    if (!is_layer(f) || f->instance)
        return f;
    FnValue *g = NEW(b->arena, FnValue);
    *g = *f;
    g->instance = instance_child(b, b->frame ? b->frame->instance : NULL, f->decl->name, site);
    return g;
}

Value build_call(Build *b, Env *env, Ast *call, const Value *piped) {
    Ast *callee = call->call.callee;
    if (callee->kind == AST_FIELD && strcmp(callee->name, "batches") == 0)
        return data_batches(b, env, build_expr(b, env, callee->field.base), call);
    if (callee->kind == AST_FIELD && strcmp(callee->name, "fold") == 0)
        return data_fold(b, env, build_expr(b, env, callee->field.base), call);
    if (callee->kind == AST_NAME && !build_lookup(env, callee->name)) {
        if (data_is_source(call))
            return data_source(b, env, call);
        if (strcmp(callee->name, "zip") == 0)
            return data_zip(b, env, call);
    }
    Value f = build_expr(b, env, callee);
    if (f.kind == V_POISON)
        return value_poison;
    Args args = call_args(b, env, call, piped, call->span);
    if (f.kind == V_MODEL)
        return model_apply(b, f.model, &args);
    if (f.kind != V_FN) {
        build_error(b, callee->span, "%s cannot be called", value_text(b, f));
        return value_poison;
    }
    bool rule =
        f.fn->decl && (f.fn->decl->kind == AST_OPTIMIZER || f.fn->decl->kind == AST_SCHEDULE);
    if (rule && !f.fn->partial)
        return rule_value(b, f.fn, &args);
    return fn_apply(b, with_instance(b, f.fn, call), &args);
}

Value build_expr_fn(Build *b, Env *env, Ast *e) {
    if (e->kind == AST_PIPE || (e->kind != AST_CALL && e->kind != AST_NAME)) {
        Value v = build_expr(b, env, e);
        return v;
    }
    Value f = build_expr(b, env, e->kind == AST_CALL ? e->call.callee : e);
    if (f.kind == V_FN && e->kind == AST_CALL &&
        f.fn->partial) { /* a function that gives a function */
        return build_expr(b, env, e);
    }
    if (f.kind != V_FN)
        return e->kind == AST_CALL ? build_expr(b, env, e) : f;
    FnValue *g = NEW(b->arena, FnValue);
    *g = *f.fn;
    if (e->kind == AST_CALL) {
        if (g->decl && (g->decl->kind == AST_OPTIMIZER || g->decl->kind == AST_SCHEDULE))
            return build_expr(b, env, e);
        g->partial = true;
        g->args = call_args(b, env, e, NULL, e->span);
        if (!partial_args(b, g))
            return value_poison;
    }
    if (!g->instance && is_layer(g) && !b->naming_model)
        g = with_instance(b, g, e);
    return (Value){.kind = V_FN, .fn = g};
}

/* The arguments of a function value are evaluated where it is made; the first parameter is still
 * open. */
bool partial_args(Build *b, FnValue *g) {
    if (!g->decl) {
        for (int i = 0; i < g->args.n; i++) {
            Arg *a = &g->args.at[i];
            a->value = build_expr(b, a->env, a->expr);
            a->expr = NULL;
        }
        return true;
    }
    const AstList *formals = &g->decl->fn.formals;
    const Arg **slot = NEW_ARRAY(b->arena, const Arg *, formals->n + 1);
    if (!sort_args(b, g->decl->name, formals, 1, &g->args, slot))
        return false;
    for (int i = 1; i < formals->n; i++)
        if (!slot[i] && !formals->at[i]->formal.value) {
            build_error(b, g->args.span, "%s needs its argument '%s' (its parameters: %s)",
                        g->decl->name, formals->at[i]->name, formal_list(b, formals, 1));
            return false;
        }
    for (int i = 1; i < formals->n; i++)
        if (slot[i]) {
            Arg *a = &g->args.at[slot[i] - g->args.at];
            a->value = arg_value(b, a, formals->at[i]->formal.type);
            a->expr = NULL;
            if (a->value.kind == V_POISON)
                return false;
        }
    return true;
}

/* optimizer and schedule calls: the arguments stay expressions, evaluated at every use */
Value rule_value(Build *b, const FnValue *f, const Args *args) {
    const AstList *formals = &f->decl->rule.formals;
    const Arg **slot = NEW_ARRAY(b->arena, const Arg *, formals->n + 1);
    if (!sort_args(b, f->decl->name, formals, 0, args, slot))
        return value_poison;
    for (int i = 0; i < formals->n; i++)
        if (!slot[i] && !formals->at[i]->formal.value) {
            build_error(b, args->span, "%s needs its argument '%s' (its parameters: %s)",
                        f->decl->name, formals->at[i]->name, formal_list(b, formals, 0));
            return value_poison;
        }
    FnValue *g = NEW(b->arena, FnValue);
    *g = *f;
    g->partial = true;
    g->args = *args;
    if (f->decl->kind == AST_OPTIMIZER)
        g->opt = opt_new(b, f->decl->name);
    return (Value){.kind = V_FN, .fn = g};
}

/* Binds the parameters of an optimizer or schedule in a new scope. step: NULL, or what a schedule
 * is a function of. */
Env *rule_bind(Build *b, const FnValue *f, const Value *step, Span at) {
    const AstList *formals = &f->decl->rule.formals;
    Env *env = env_new(b, f->env);
    const Arg **slot = NEW_ARRAY(b->arena, const Arg *, formals->n + 1);
    if (!sort_args(b, f->decl->name, formals, 0, &f->args, slot))
        return NULL;
    for (int i = 0; i < formals->n; i++) {
        const Arg *a = slot[i];
        Value v = a ? arg_value(b, a, NULL) : build_expr(b, env, formals->at[i]->formal.value);
        bool schedule = v.kind == V_FN && v.fn->decl && v.fn->decl->kind == AST_SCHEDULE;
        if (schedule && step) {
            warn_negative(b, v.fn, a ? a->span : at);
            Args one = {1, NEW(b->arena, Arg), at};
            one.at[0] = (Arg){.value = *step, .span = at};
            v = schedule_apply(b, v.fn, &one);
        }
        if (v.kind == V_POISON)
            return NULL;
        env_add(b, env, formals->at[i]->name, BIND_LET, v, a ? a->span : at)->used = true;
    }
    return env;
}

Value schedule_apply(Build *b, FnValue *f, const Args *args) {
    if (args->n != 1 || args->at[0].name) {
        build_error(b, args->span, "a schedule takes one argument, the step");
        return value_poison;
    }
    Value step = arg_value(b, &args->at[0], NULL);
    Env *env = f->partial && step.kind != V_POISON ? rule_bind(b, f, &step, args->span) : NULL;
    if (!env)
        return value_poison;
    env_add(b, env, f->decl->rule.inner.at[0]->name, BIND_LET, step, args->span)->used = true;
    Frame frame = {b->frame, f->decl, args->span, NULL};
    b->frame = &frame;
    Ast *body = f->decl->rule.body;
    Value v = body->kind == AST_BLOCK ? build_block(b, env, body) : build_expr(b, env, body);
    b->frame = frame.parent;
    return v;
}
