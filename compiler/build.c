/* build.c: scopes, names and top-level declarations. */
#include "build_call.h"
#include "build_data.h"
#include "build_host.h"
#include "build_stmt.h"
#include "front.h"
#include "parse.h"
#include "ref.h"
#include "sema.h"
#include <errno.h>
#include <math.h>

/* ---- messages ---- */

static bool in_library(const Build *b, Span at) {
    return at.file && diag_file(b->diag, at.file)->library;
}

/* The outermost call: the one that stands in a task. */
Span outer_call(const Build *b) {
    Span at = {0};
    for (const Frame *f = b->frame; f; f = f->parent)
        if (f->decl && f->decl->kind != AST_TASK && f->decl->kind != AST_EXPORT &&
            f->decl->kind != AST_MODEL && f->decl->kind != AST_SUB && f->call.file &&
            !in_library(b, f->call))
            at = f->call;
    return at;
}

static bool same_span(Span a, Span b) {
    return a.file == b.file && a.lo == b.lo && a.hi == b.hi;
}

/* Inside the library the user's call is the place, and the function's name says where in it. */
static Span user_place(const Build *b, Span at, const char **callee) {
    *callee = NULL;
    for (const Frame *f = b->frame; f && in_library(b, at); f = f->parent)
        if (f->call.file && !in_library(b, f->call)) {
            *callee = f->decl ? f->decl->name : NULL;
            return f->call;
        }
    return at;
}

Span build_place(const Build *b, Span at) {
    const char *callee;
    return user_place(b, at, &callee);
}

void build_error(Build *b, Span at, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *what = arena_vprintf(b->arena, fmt, ap);
    va_end(ap);
    const char *callee;
    Span place = user_place(b, at, &callee);
    if (callee && !strstr(what, callee))
        what = arena_printf(b->arena, "%s: %s", callee, what);
    diag_error(b->diag, place, "%s", what);
    Span outer = outer_call(b);
    if (outer.file && !same_span(outer, place))
        diag_note(b->diag, outer, "called from here");
}

void build_warning(Build *b, Span at, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *what = arena_vprintf(b->arena, fmt, ap);
    va_end(ap);
    const char *callee;
    Span place = user_place(b, at, &callee);
    if (in_library(b, place))
        return;
    if (callee && !strstr(what, callee))
        what = arena_printf(b->arena, "%s: %s", callee, what);
    diag_warning(b->diag, place, "%s", what);
}

/* ---- scopes ---- */

/* A name of the library is parsed when a program first says it: few programs say many. */
static void parse_declaration(Build *b, Binding *bind) {
    if (bind->decl)
        return;
    Ast *part = parse_part(b->arena, b->c->names, b->diag, bind->span);
    if (part->file.decls.n != 1 || part->file.decls.at[0]->name != bind->name)
        bug("std.nn: not one declaration of '%s'", bind->name);
    bind->decl = part->file.decls.at[0];
    bind->span = bind->decl->name_span;
}

Env *env_new(Build *b, Env *parent) {
    Env *e = NEW(b->arena, Env);
    e->parent = parent;
    return e;
}

Binding *env_get(Env *env, const char *name) {
    for (int i = env->names.n - 1; i >= 0; i--)
        if (env->names.at[i]->name == name) {
            if (env->library)
                parse_declaration(env->library, env->names.at[i]);
            return env->names.at[i];
        }
    return NULL;
}

Binding *env_add(Build *b, Env *env, const char *name, BindKind kind, Value v, Span at) {
    Binding *bind = NEW(b->arena, Binding);
    bind->name = intern_str(b->c->names, name);
    bind->kind = kind;
    bind->value = v;
    bind->span = at;
    if (v.kind == V_HOST && v.host->kind == HX_OP && !v.host->name)
        v.host->name = bind->name;
    vec_push(b->arena, &env->names, bind);
    return bind;
}

Binding *build_lookup(Env *env, const char *name) {
    for (; env; env = env->parent) {
        Binding *bind = env_get(env, name);
        if (bind)
            return bind;
    }
    return NULL;
}

/* The name a slip of the keyboard may have meant. */
static const char *nearest(Build *b, Env *env, const char *name) {
    VEC(const char *) names = {0};
    for (; env; env = env->parent)
        for (int i = 0; i < env->names.n; i++)
            vec_push(b->arena, &names, env->names.at[i]->name);
    int n;
    const char *const *more = builtin_names(b->arena, &n);
    for (int i = 0; i < n; i++)
        vec_push(b->arena, &names, more[i]);
    return diag_nearest(name, names.at, names.n);
}

Binding *build_find(Build *b, Env *env, const char *name, Span at) {
    Binding *bind = build_lookup(env, name);
    if (bind)
        return bind;
    const char *near = nearest(b, env, name);
    if (near)
        build_error(b, at, "unknown name '%s' (did you mean '%s'?)", name, near);
    else
        build_error(b, at, "unknown name '%s'", name);
    return NULL;
}

bool build_name(Build *b, Node *n, const char *name, NameRank rank) {
    while (b->name_ranks.n <= n->id)
        vec_push(b->arena, &b->name_ranks, NAME_OF_LIBRARY);
    if (n->name && rank <= b->name_ranks.at[n->id])
        return false;
    n->name = name;
    b->name_ranks.at[n->id] = (unsigned char)rank;
    return true;
}

const char *build_identifier(Build *b, const char *wish) {
    Text t = {.arena = b->arena};
    for (const char *p = wish; *p; p++) {
        bool word = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                    (*p >= '0' && *p <= '9' && p != wish);
        if (word)
            text_addn(&t, p, 1);
        else if (t.n && t.at[t.n - 1] != '_' && p[1])
            text_add(&t, "_");
    }
    const char *base = t.n ? t.at : "x";
    const char *name = intern_str(b->c->names, base);
    for (int k = 2;; k++) {
        bool taken = false;
        for (int i = 0; i < b->identifiers.n && !taken; i++)
            taken = b->identifiers.at[i] == name;
        if (!taken)
            break;
        name = intern_str(b->c->names, arena_printf(b->arena, "%s_%d", base, k));
    }
    vec_push(b->arena, &b->identifiers, name);
    return name;
}

/* ---- top-level declarations, evaluated when first asked for ---- */

static bool parse_define(Build *b, const Ast *decl, Value old, const char *text, Value *out) {
    char *end;
    bool large = false;
    errno = 0;
    if (old.kind == V_BOOL) {
        bool yes = strcmp(text, "true") == 0;
        *out = value_bool(yes);
        if (yes || strcmp(text, "false") == 0)
            return true;
    } else if (old.kind == V_STRING) {
        *out = value_string(text);
        return true;
    } else if (old.kind == V_NUMBER && old.num.is_int) {
        *out = value_int(strtoll(text, &end, 10));
        large = errno == ERANGE;
        if (*text && !*end && !large)
            return true;
    } else if (old.kind == V_NUMBER) {
        *out = value_real(strtod(text, &end));
        large = errno == ERANGE && isinf(out->num.f);
        if (*text && !*end && !large && !isnan(out->num.f))
            return true;
    }
    const char *kind = old.kind == V_BOOL ? "true or false"
                       : old.num.is_int   ? large ? "an integer up to 2^63-1" : "an integer"
                       : large            ? "a number up to 1.79e308"
                                          : "a number";
    if (old.kind == V_BOOL || old.kind == V_NUMBER)
        diag_error(b->diag, decl->span, "-D %s=%s: expected %s, because '%s' is %s", decl->name,
                   text, kind, decl->name, value_text(b, old));
    else
        diag_error(b->diag, decl->span, "-D %s=%s: '%s' is a list, which only the file sets",
                   decl->name, text, decl->name);
    return false;
}

static Value declare_const(Build *b, Env *env, Ast *decl) {
    Value v = build_expr(b, env, decl->constant.value);
    bool fits = v.kind == V_NUMBER || v.kind == V_BOOL || v.kind == V_STRING || v.kind == V_LIST;
    if (!fits && v.kind != V_POISON) {
        build_error(b, decl->constant.value->span,
                    "a const is a number, boolean, string or list known when nnc runs; this is %s",
                    value_text(b, v));
        return value_poison;
    }
    for (int i = 0; i < b->c->settings.ndefines && env == b->user; i++) {
        const char *d = b->c->settings.defines[i];
        size_t n = strlen(decl->name);
        if (strncmp(d, decl->name, n) == 0 && d[n] == '=' &&
            !parse_define(b, decl, v, d + n + 1, &v))
            return value_poison;
    }
    if (env == b->user && (v.kind == V_NUMBER || v.kind == V_BOOL))
        vec_push(b->arena, &b->p->constants,
                 arena_printf(b->arena, "%s = %s", decl->name, value_text(b, v)));
    return v;
}

static const char *option_spelling(Build *b, const char *name) {
    char *s = arena_printf(b->arena, "%s", name);
    for (char *p = s; *p; p++)
        *p = *p == '_' ? '-' : *p;
    return s;
}

void build_check_option(Build *b, const char *what, const char *name, Span at) {
    const char *does =
        strcmp(name, "output") == 0 ? "where an export's result goes" : ref_common_option(name);
    if (does)
        build_error(b, at, "%s '%s': the name is taken by --%s of every trainer: %s", what, name,
                    option_spelling(b, name), does);
}

static Value declare_option(Build *b, Env *env, Ast *decl) {
    Value v = build_expr(b, env, decl->option.value);
    Option *o = NEW(b->arena, Option);
    o->name = decl->name;
    o->span = decl->span;
    build_check_option(b, "option", o->name, decl->name_span);
    o->help = decl->option.help ? ast_plain_string(b->arena, decl->option.help) : "";
    switch (v.kind) {
    case V_BOOL:
        o->type = HT_BOOL;
        o->i = v.boolean;
        break;
    case V_STRING:
        o->type = HT_STRING;
        o->s = v.string;
        break;
    case V_NUMBER:
        o->type = v.num.is_int ? HT_INT : HT_REAL;
        o->i = v.num.i;
        o->f = v.num.f;
        break;
    case V_POISON:
        return v;
    default:
        build_error(b, decl->option.value->span,
                    "an option is a number, boolean or string; this is %s", value_text(b, v));
        return value_poison;
    }
    vec_push(b->arena, &b->p->options, o);
    return value_host(host_option(b, o));
}

typedef struct DeclArg {
    Env *env;
    Ast *decl;
    Binding *bind;
} DeclArg;

/* A tensor `let` at top level is computed once, at start. */
static void run_let(Build *b, void *arg) {
    DeclArg *d = (DeclArg *)arg;
    Ast *e = d->decl->let.value;
    Value v = build_expr(b, d->env, e);
    v = match_type(b, d->env, d->decl->let.type, v, arena_printf(b->arena, "'%s'", d->bind->name),
                   e->span);
    d->bind->value = v;
    if (v.kind != V_TENSOR)
        return;
    Home *h = home_new(b, HOME_CONST, d->bind->name, v.node->dtype, &v.node->shape, d->decl->span);
    home_write(b, h, graph_unary(b->g, OP_stop, v.node));
    d->bind->kind = BIND_HOME;
    d->bind->home = h;
}

static Value declare_param(Build *b, Env *env, Ast *decl, Binding *bind) {
    Shape s;
    if (!build_dims(b, env, decl->param.type, &s))
        return value_poison;
    HomeKind kind = decl->kind == AST_PARAM ? HOME_PARAM : HOME_STATE;
    Home *h =
        home_new(b, kind, bind->name,
                 type_element(b, decl->param.type ? decl->param.type->name : NULL), &s, decl->span);
    bind->kind = BIND_HOME;
    bind->home = h;
    home_set_init(b, h, (Init){.expr = decl->param.init, .env = env});
    return value_none;
}

static Value declare_models(Build *b, Env *env, Ast *decl) {
    if (!decl->model.count)
        return (Value){.kind = V_MODEL,
                       .model = model_new(b, env, NULL, decl->name, decl, decl->model.value)};
    int64_t n;
    Value count = build_expr(b, env, decl->model.count);
    if (!value_to_int(b, count, "the number of models", decl->model.count->span, &n))
        return value_poison;
    if (n < 1 || n > 100000) {
        build_error(b, decl->model.count->span,
                    "the number of models must be at least 1, found %lld", (long long)n);
        return value_poison;
    }
    Value *list = NEW_ARRAY(b->arena, Value, n);
    for (int i = 0; i < n; i++) {
        const char *name = arena_printf(b->arena, "%s[%d]", decl->name, i);
        list[i] = (Value){.kind = V_MODEL,
                          .model = model_new(b, env, NULL, name, decl, decl->model.value)};
    }
    return value_list(b, list, (int)n, false);
}

static Value declare(Build *b, Env *env, Binding *bind) {
    Ast *d = bind->decl;
    switch (d->kind) {
    case AST_CONST:
        return declare_const(b, env, d);
    case AST_OPTION:
        return declare_option(b, env, d);
    case AST_PARAM:
    case AST_STATE:
        return declare_param(b, env, d, bind);
    case AST_MODEL:
        return declare_models(b, env, d);
    case AST_LET: {
        DeclArg arg = {env, d, bind};
        build_at_start(b, run_let, &arg);
        return bind->value;
    }
    case AST_DATA: {
        DataSet *set = NULL;
        build_data(b, env, d, &set);
        return set ? (Value){.kind = V_DATA, .data = set} : value_poison;
    }
    case AST_FN:
    case AST_LAYER:
    case AST_OPTIMIZER:
    case AST_SCHEDULE: {
        FnValue *f = NEW(b->arena, FnValue);
        f->decl = d;
        f->env = env;
        return (Value){.kind = V_FN, .fn = f};
    }
    default:
        build_error(b, d->span, "'%s' cannot be used as a value", bind->name);
        return value_poison;
    }
}

static Value force(Build *b, Binding *bind, Span at) {
    if (bind->busy) {
        build_error(b, at, "'%s' depends on itself", bind->name);
        return value_poison;
    }
    bind->busy = true;
    Frame *frame = b->frame;
    int depth = b->depth;
    Span span = b->g->span;
    b->frame = NULL;
    b->g->span = bind->decl->span;
    bind->kind = BIND_LET;
    bind->value = value_poison;
    Value v = declare(b, bind->decl_env, bind);
    if (bind->kind == BIND_LET)
        bind->value = v;
    b->g->span = span;
    b->depth = depth;
    b->frame = frame;
    bind->busy = false;
    return v;
}

Value build_binding(Build *b, Binding *bind, Span at) {
    bind->used = true;
    if (bind->busy || bind->kind == BIND_DECL) {
        Value v = force(b, bind, at);
        if (bind->kind == BIND_LET)
            return v;
    }
    switch (bind->kind) {
    case BIND_HOST:
        return value_host(host_var(b, bind->var));
    case BIND_HOME:
        return value_node(home_value(b, bind->home));
    case BIND_FIELD:
        return field_value(b, bind->field, at);
    default:
        return bind->value.kind == V_TENSOR ? value_node(node_here(b, bind->value.node))
                                            : bind->value;
    }
}

/* ---- files ---- */

static void outline_library(Build *b) {
    const Embedded *std = embedded("std.nn");
    uint32_t file = diag_add_file(b->diag, std->name, std->text, std->size, true);
    Outline found = parse_outline(b->arena, b->c->names, b->diag, file);
    Env *env = b->library;
    env->library = b;
    for (int i = 0; i < found.n; i++)
        env_add(b, env, found.at[i].name, BIND_DECL, value_none, found.at[i].part)->decl_env = env;
}

static Binding *declared(Build *b, Env *env, Ast *decl, const char *name, Span at) {
    Binding *old = env_get(env, name);
    if (old) {
        diag_error(b->diag, at, "'%s' is declared twice", name);
        diag_note(b->diag, old->span, "the first declaration");
        return NULL;
    }
    Binding *bind = env_add(b, env, name, BIND_DECL, value_none, at);
    bind->decl = decl;
    bind->decl_env = env;
    return bind;
}

static void declare_names(Build *b, Env *env, Ast *d) {
    if (d->kind == AST_TASK || d->kind == AST_EXPORT) {
        vec_push(b->arena, &b->runnable, d);
    } else if (d->kind == AST_PARAM || d->kind == AST_STATE) {
        for (int i = 0; i < d->param.names.n; i++)
            declared(b, env, d, d->param.names.at[i]->name, d->param.names.at[i]->span);
    } else if (d->kind == AST_LET && d->let.pattern->kind == AST_NAME) {
        declared(b, env, d, d->let.pattern->name, d->let.pattern->span);
    } else if (d->kind == AST_LET || d->kind == AST_VAR) {
        diag_error(b->diag, d->span,
                   "at top level 'let NAME = value' declares a constant; tuples and 'var' belong "
                   "into tasks and functions");
    } else if (d->name) {
        declared(b, env, d, d->name, d->name_span);
    }
}

static const char *relative_path(Build *b, const char *from, const char *path) {
    const char *slash = strrchr(from, '/');
    return path[0] == '/' || !slash
               ? path
               : arena_printf(b->arena, "%.*s/%s", (int)(slash - from), from, path);
}

static bool load(Build *b, Env *env, const char *path, const char *text, size_t size);

/* false when something could not be read or parsed */
static bool import_file(Build *b, Env *env, const Ast *d, const char *from) {
    const char *name = ast_plain_string(b->arena, d->import.path);
    if (!name)
        return false;
    const char *path = intern_str(b->c->names, relative_path(b, from, name));
    for (int i = 0; i < b->files.n; i++)
        if (b->files.at[i].path == path) {
            if (b->files.at[i].open)
                diag_error(b->diag, d->span, "'%s' imports itself", name);
            return !b->files.at[i].open;
        }
    size_t size;
    char *text = read_file(b->arena, path, &size);
    if (text)
        return load(b, env, path, text, size);
    diag_error(b->diag, d->span, "cannot open '%s': %s", path, strerror(errno));
    b->unreadable = true;
    return false;
}

static bool load(Build *b, Env *env, const char *path, const char *text, size_t size) {
    int index = b->files.n;
    vec_push(b->arena, &b->files, (LoadedFile){intern_str(b->c->names, path), true});
    int errors = diag_errors(b->diag);
    Ast *file =
        parse_file(b->arena, b->c->names, b->diag, diag_add_file(b->diag, path, text, size, false));
    bool parsed = diag_errors(b->diag) == errors;
    for (int i = 0; i < file->file.decls.n; i++) {
        Ast *d = file->file.decls.at[i];
        if (d->kind == AST_IMPORT)
            parsed = import_file(b, env, d, path) && parsed;
        else if (d->kind != AST_ERROR)
            declare_names(b, env, d);
    }
    vec_push(b->arena, &b->user_files, file);
    b->files.at[index].open = false;
    return parsed;
}

static void check_defines(Build *b) {
    for (int i = 0; i < b->c->settings.ndefines; i++) {
        const char *d = b->c->settings.defines[i];
        const char *eq = strchr(d, '=');
        size_t n = eq ? (size_t)(eq - d) : strlen(d);
        Binding *bind = env_get(b->user, intern(b->c->names, d, n));
        if (eq && bind && bind->decl->kind == AST_CONST)
            continue;
        Text names = {.arena = b->arena};
        for (int k = 0; k < b->user->names.n; k++)
            if (b->user->names.at[k]->decl->kind == AST_CONST)
                text_printf(&names, "%s%s", names.n ? ", " : "", b->user->names.at[k]->name);
        const Span none = {0}; /* the command line is no place in a file */
        if (!eq)
            diag_error(b->diag, none, "-D %s: expected name=value", d);
        else if (bind && bind->decl->kind == AST_OPTION)
            diag_error(b->diag, bind->decl->span,
                       "-D %s: '%s' is an option: the trainer takes it, as --%s", d, bind->name,
                       option_spelling(b, bind->name));
        else
            diag_error(b->diag, none, "-D %s: no constant of this name (the file's constants: %s)",
                       d, names.n ? names.at : "none");
    }
}

static void force_all(Build *b) {
    for (int i = 0; i < b->user->names.n; i++) {
        Binding *bind = b->user->names.at[i];
        AstKind k = bind->decl->kind;
        if (bind->kind == BIND_DECL && k != AST_DATA && k != AST_LET)
            force(b, bind, bind->span);
    }
    warn_declarations(b);
}

static Build *build_new(Compiler *c) {
    Build *b = NEW(c->arena, Build);
    b->c = c;
    b->arena = c->arena;
    b->diag = c->diag;
    b->g = graph_new(c->arena, c->settings.real64 ? DT_F64 : DT_F32);
    b->g->mutate = c->settings.mutate;
    Program *p = b->p = NEW(c->arena, Program);
    p->arena = c->arena;
    p->diag = c->diag;
    p->graph = b->g;
    p->file = path_base(c->settings.input);
    size_t n = strlen(p->file);
    bool nn = n > 3 && strcmp(p->file + n - 3, ".nn") == 0;
    p->name = arena_strndup(c->arena, p->file, nn ? n - 3 : n);
    p->start = NEW(c->arena, HBlock);
    b->block = p->start;
    b->library = env_new(b, NULL);
    b->user = env_new(b, b->library);
    b->scalars = names_new(c->arena);
    return b;
}

static void build_runnable(Build *b) {
    for (int i = 0; i < b->runnable.n; i++) {
        Ast *d = b->runnable.at[i];
        if (d->kind == AST_TASK)
            build_task(b, b->user, d);
        else
            build_export(b, b->user, d);
    }
    if (!b->runnable.n && !diag_errors(b->diag)) {
        Span at = {b->user_files.at[b->user_files.n - 1]->span.file, 0, 0};
        diag_error(b->diag, at, "the file has no task: expected 'task train { … }'");
    }
}

Program *front_end(Compiler *c, bool *unreadable) {
    Build *b = build_new(c);
    size_t size;
    char *text = read_file(c->arena, c->settings.input, &size);
    *unreadable = !text;
    if (!text)
        return NULL;
    outline_library(b);
    bool parsed = load(b, b->user, c->settings.input, text, size);
    *unreadable = b->unreadable;
    check_defines(b);
    if (!parsed)
        return NULL;
    for (int i = 0; i < b->user_files.n; i++)
        sema_file(b, b->user_files.at[i]);
    region_open(b, "start", (Span){0});
    region_start_leave(b);
    build_runnable(b);
    if (!diag_errors(c->diag))
        force_all(b);
    region_start_finish(b);
    instance_paths(b);
    build_stores_finish(b);
    build_check_sizes(b);
    if (diag_errors(c->diag))
        return NULL;
    build_tasks_finish(b);
    warn_training(b);
    region_finish(b);
    c->program = b->p;
    return b->p;
}
