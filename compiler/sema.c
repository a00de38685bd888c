/* sema.c: names, before anything is built.
 *
 * build looks only at what the tasks use; this walk looks at everything that was written. A scope
 * is a list of names that grows while a body is walked and is cut back at its end.
 */
#include "sema.h"
#include "build_call.h"
#include "build_data.h"

typedef struct Name {
    const char *name;
    Span span;
    bool fixed; /* let, loop variable: cannot be assigned to */
    bool let;   /* a warning when nothing reads it */
    bool used;
} Name;

typedef struct Sema {
    Build *b;
    VEC(Name) names;
    int scope;       /* first name of the innermost scope */
    bool rule;       /* in an optimizer or schedule: `step` is known */
    bool data;       /* in a data declaration: sources are known */
    VEC(Name) uses;  /* of top-level names, in the declaration that is walked */
    VEC(Name) hides; /* names declared in it that hide one of the top level */
} Sema;

static void walk(Sema *s, Ast *n);

static Name *find(const Sema *s, const char *name) {
    for (int i = s->names.n - 1; i >= 0; i--)
        if (s->names.at[i].name == name)
            return &s->names.at[i];
    return NULL;
}

static void declare(Sema *s, const char *name, Span span, bool fixed) {
    if (strcmp(name, "_") == 0)
        return;
    for (int i = s->scope; i < s->names.n; i++)
        if (s->names.at[i].name == name) {
            diag_error(s->b->diag, span, "'%s' is declared twice in this block", name);
            diag_note(s->b->diag, s->names.at[i].span, "the first declaration");
            return;
        }
    vec_push(s->b->arena, &s->names, (Name){name, span, fixed, false, false});
    if (env_get(s->b->user, name))
        vec_push(s->b->arena, &s->hides, s->names.at[s->names.n - 1]);
}

static void declare_pattern(Sema *s, const Ast *p, bool fixed) {
    if (p->kind == AST_NAME)
        declare(s, p->name, p->span, fixed);
    else if (p->kind == AST_TUPLE)
        for (int i = 0; i < p->list.items.n; i++)
            declare_pattern(s, p->list.items.at[i], fixed);
}

/* ---- names that need no declaration ---- */

static bool is_constant_name(const char *name) {
    static const char *const names[] = {"pi",  "inf", "nan", "training", "int", "real", "bool",
                                        "f32", "f64", "i32", "i64",      "u8",  "zip"};
    for (int i = 0; i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool known(const Sema *s, const char *name) {
    Name *local = find(s, name);
    if (local)
        local->used = true;
    if (local || build_lookup(s->b->user, name) || builtin_find(name) || is_constant_name(name))
        return true;
    return s->rule && strcmp(name, "step") == 0;
}

/* What section 14 of the reference names, as calls. */
static bool comes_later(const char *name) {
    static const char *const names[] = {
        "attention", "rnn", "lstm", "gru", "sort", "argsort", "topk",
    };
    for (int i = 0; i < COUNT_OF(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static void unknown(Sema *s, const Ast *n) {
    if (comes_later(n->name)) {
        diag_error(s->b->diag, n->span, "not supported yet: %s", n->name);
        return;
    }
    VEC(const char *) near = {0};
    for (int i = 0; i < s->names.n; i++)
        vec_push(s->b->arena, &near, s->names.at[i].name);
    for (const Env *e = s->b->user; e; e = e->parent)
        for (int i = 0; i < e->names.n; i++)
            vec_push(s->b->arena, &near, e->names.at[i]->name);
    int count;
    const char *const *builtins = builtin_names(s->b->arena, &count);
    for (int i = 0; i < count; i++)
        vec_push(s->b->arena, &near, builtins[i]);
    const char *meant = diag_nearest(n->name, near.at, near.n);
    if (meant)
        diag_error(s->b->diag, n->span, "unknown name '%s' (did you mean '%s'?)", n->name, meant);
    else
        diag_error(s->b->diag, n->span, "unknown name '%s'", n->name);
}

/* ---- calls of declared functions ---- */

static const Ast *declaration(const Sema *s, const Ast *callee) {
    if (callee->kind != AST_NAME || find(s, callee->name))
        return NULL;
    const Binding *bind = build_lookup(s->b->user, callee->name);
    return bind ? bind->decl : NULL;
}

static const AstList *formals_of(const Ast *d) {
    if (d->kind == AST_FN || d->kind == AST_LAYER)
        return &d->fn.formals;
    return d->kind == AST_OPTIMIZER || d->kind == AST_SCHEDULE ? &d->rule.formals : NULL;
}

static void check_call(Sema *s, const Ast *call) {
    const Ast *d = declaration(s, call->call.callee);
    const AstList *formals = d ? formals_of(d) : NULL;
    for (int i = 0; formals && i < call->call.args.n; i++) {
        const Ast *a = call->call.args.at[i];
        bool found = !a->name;
        Text list = {.arena = s->b->arena};
        for (int k = 0; k < formals->n; k++) {
            found = found || formals->at[k]->name == a->name;
            text_printf(&list, "%s%s", k ? ", " : "", formals->at[k]->name);
        }
        if (!found)
            diag_error(s->b->diag, a->span, "%s has no parameter '%s' (its parameters: %s)",
                       d->name, a->name, list.n ? list.at : "none");
    }
}

/* ---- the walk ---- */

static void walk_list(Sema *s, const AstList *l) {
    for (int i = 0; i < l->n; i++)
        walk(s, l->at[i]);
}

static void walk_children(Sema *s, Ast *n) {
    Ast **kids;
    int nk = ast_kids(n, &kids);
    for (int i = 0; i < nk; i++)
        walk(s, kids[i]);
    AstList *lists;
    int nl = ast_lists(n, &lists);
    for (int i = 0; i < nl; i++)
        walk_list(s, &lists[i]);
}

typedef struct Mark {
    int names, scope;
} Mark;

static Mark enter(Sema *s) {
    Mark m = {s->names.n, s->scope};
    s->scope = s->names.n;
    return m;
}

static void leave(Sema *s, Mark m) {
    for (int i = m.names; i < s->names.n; i++) {
        const Name *n = &s->names.at[i];
        if (n->let && !n->used)
            diag_warning(s->b->diag, n->span, "'%s' is never used", n->name);
    }
    s->names.n = m.names;
    s->scope = m.scope;
}

static void walk_body(Sema *s, Ast *pattern, Ast *iter, Ast *body) {
    walk(s, iter);
    Mark m = enter(s);
    declare_pattern(s, pattern, true);
    walk(s, body);
    leave(s, m);
}

/* A name in a signature binds where it is not known: dimensions are sizes. */
static void walk_type(Sema *s, Ast *type) {
    if (!type)
        return;
    if (type->kind == AST_TUPLE_TYPE) {
        for (int i = 0; i < type->tuple_type.items.n; i++)
            walk_type(s, type->tuple_type.items.at[i]);
        return;
    }
    for (int i = 0; type->kind == AST_TENSOR && i < type->tensor.dims.n; i++) {
        Ast *d = type->tensor.dims.at[i];
        const Binding *top = d->kind == AST_NAME ? env_get(s->b->user, d->name) : NULL;
        bool constant = top && top->decl->kind == AST_CONST;
        if (d->kind == AST_NAME && !find(s, d->name) && !constant)
            vec_push(s->b->arena, &s->names, (Name){d->name, d->span, true, false, false});
    }
}

static void walk_formals(Sema *s, const AstList *formals) {
    for (int i = 0; i < formals->n; i++) {
        walk_type(s, formals->at[i]->formal.type);
        walk(s, formals->at[i]->formal.value);
    }
    for (int i = 0; i < formals->n; i++)
        if (!find(s, formals->at[i]->name))
            declare(s, formals->at[i]->name, formals->at[i]->name_span, false);
    s->hides.n = 0; /* a parameter stands for the whole body */
}

static void walk_fn(Sema *s, Ast *n) {
    Mark m = enter(s);
    walk_formals(s, &n->fn.formals);
    s->scope = s->names.n;
    walk(s, n->fn.body);
    leave(s, m);
}

static void walk_rule(Sema *s, Ast *n) {
    Mark m = enter(s);
    walk_formals(s, &n->rule.formals);
    walk_formals(s, &n->rule.inner);
    s->rule = n->kind == AST_OPTIMIZER;
    s->scope = s->names.n;
    walk(s, n->rule.body);
    s->rule = false;
    leave(s, m);
}

static void walk_assign(Sema *s, Ast *n) {
    walk(s, n->assign.value);
    walk(s, n->assign.target);
    const Ast *t = n->assign.target;
    while (t->kind == AST_INDEX)
        t = t->index.base;
    if (t->kind != AST_NAME)
        return;
    const Name *name = find(s, t->name);
    const Binding *top = name ? NULL : env_get(s->b->user, t->name);
    bool kept = top && (top->decl->kind == AST_PARAM || top->decl->kind == AST_STATE);
    bool fixed = name ? name->fixed : top && !kept;
    if (!fixed)
        return;
    diag_error(s->b->diag, n->assign.target->span, "'%s' cannot be assigned to: it is no 'var'",
               t->name);
    diag_note(s->b->diag, name ? name->span : top->span, "declared here");
}

static void walk_call(Sema *s, Ast *n) {
    check_call(s, n);
    if (!data_is_source(n) || known(s, n->call.callee->name))
        walk(s, n->call.callee);
    else if (!s->data)
        diag_error(s->b->diag, n->span, "%s(…) belongs into a data declaration",
                   n->call.callee->name);
    walk_list(s, &n->call.args);
}

static void walk_sections(Sema *s, Ast *n) {
    s->data = true;
    for (int i = 0; i < n->data.items.n; i++) {
        Ast *item = n->data.items.at[i];
        for (int k = 0; item->kind == AST_SECTION && k < item->section.assigns.n; k++)
            walk(s, item->section.assigns.at[k]->assign.value);
        if (item->kind == AST_SPLIT)
            walk_list(s, &item->split.parts);
    }
    s->data = false;
}

static void walk_let(Sema *s, Ast *n) {
    walk(s, n->let.value);
    if (n->let.type)
        walk_children(s, n->let.type);
    int first = s->names.n;
    declare_pattern(s, n->let.pattern, n->kind == AST_LET);
    for (int i = first; i < s->names.n; i++)
        s->names.at[i].let = n->kind == AST_LET;
}

static void walk_param(Sema *s, Ast *n) {
    if (n->param.init)
        walk(s, n->param.init);
    if (n->param.type)
        walk_children(s, n->param.type);
    for (int i = 0; i < n->param.names.n; i++)
        declare(s, n->param.names.at[i]->name, n->param.names.at[i]->span, false);
}

static void walk_in_scope(Sema *s, Ast *n) {
    Mark m = enter(s);
    walk_children(s, n);
    leave(s, m);
}

static void walk(Sema *s, Ast *n) {
    if (!n)
        return;
    switch (n->kind) {
    case AST_NAME:
        if (!known(s, n->name))
            unknown(s, n);
        else if (!find(s, n->name) && env_get(s->b->user, n->name))
            vec_push(s->b->arena, &s->uses, (Name){.name = n->name, .span = n->span});
        break;
    case AST_CALL:
        walk_call(s, n);
        break;
    case AST_FIELD:
        walk(s, n->field.base);
        break;
    case AST_FN:
    case AST_LAYER:
    case AST_EXPORT:
        walk_fn(s, n);
        break;
    case AST_OPTIMIZER:
    case AST_SCHEDULE:
        walk_rule(s, n);
        break;
    case AST_DATA:
        walk_sections(s, n);
        break;
    case AST_BLOCK:
        walk_in_scope(s, n);
        break;
    case AST_LET:
    case AST_VAR:
        walk_let(s, n);
        break;
    case AST_PARAM:
    case AST_STATE:
        walk_param(s, n);
        break;
    case AST_SUB:
        walk(s, n->model.value);
        declare(s, n->name, n->name_span, true);
        break;
    case AST_CONST:
        walk(s, n->constant.value);
        declare(s, n->name, n->name_span, true);
        break;
    case AST_ASSIGN:
        walk_assign(s, n);
        break;
    case AST_FOR:
        walk_body(s, n->loop.pattern, n->loop.iter, n->loop.body);
        break;
    case AST_REDUCE_FOR:
        walk_body(s, n->reduce.pattern, n->reduce.iter, n->reduce.body);
        break;
    case AST_EACH:
    case AST_SUM_EACH: {
        walk(s, n->each.iter);
        Mark m = enter(s);
        declare_pattern(s, n->each.pattern, false);
        walk(s, n->each.body);
        leave(s, m);
        break;
    }
    case AST_SCAN:
        diag_error(s->b->diag, n->span, "not supported yet: scan");
        break;
    default:
        walk_children(s, n);
    }
}

/* Ruling A12: a name that means two things in one declaration. */
static void check_hiding(Sema *s) {
    for (int i = 0; i < s->hides.n; i++)
        for (int k = 0; k < s->uses.n; k++) {
            const Name *h = &s->hides.at[i], *u = &s->uses.at[k];
            if (h->name != u->name)
                continue;
            diag_warning(s->b->diag, h->span,
                         "'%s' hides the '%s' of the top level, which is used here too", h->name,
                         h->name);
            diag_note(s->b->diag, u->span, "used here");
            break;
        }
    s->hides.n = s->uses.n = 0;
}

void sema_file(Build *b, Ast *file) {
    Sema s = {.b = b};
    for (int i = 0; i < file->file.decls.n; i++) {
        Ast *d = file->file.decls.at[i];
        check_hiding(&s);
        switch (d->kind) {
        case AST_LET:
        case AST_VAR:
            walk(&s, d->let.value);
            break;
        case AST_CONST:
            walk(&s, d->constant.value);
            break;
        case AST_OPTION:
            walk(&s, d->option.value);
            break;
        case AST_PARAM:
        case AST_STATE:
            walk(&s, d->param.init);
            break;
        case AST_MODEL:
            walk(&s, d->model.value);
            break;
        default:
            walk(&s, d);
        }
    }
    check_hiding(&s);
}
