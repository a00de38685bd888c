/* build_task.c: tasks, exports and the statements that run when the trainer runs. */
#include "build_call.h"
#include "build_host.h"
#include "build_stmt.h"

/* ---- does a task train? (ruling A2) ---- */

static bool changes_params(const Ast *n) {
    return n->kind == AST_MINIMIZE || n->kind == AST_UPDATE;
}

static bool assigns_param(Build *b, const Ast *n, bool in_each) {
    if (n->kind != AST_ASSIGN)
        return false;
    const Ast *t = n->assign.target;
    while (t->kind == AST_INDEX || t->kind == AST_FIELD)
        t = t->kind == AST_INDEX ? t->index.base : t->field.base;
    if (t->kind != AST_NAME)
        return false;
    const Binding *bind = env_get(b->user, t->name);
    return in_each ||
           (bind && bind->decl && (bind->decl->kind == AST_PARAM || bind->decl->kind == AST_MODEL));
}

static bool trains(Build *b, Ast *n, bool in_each) {
    if (!n)
        return false;
    if (changes_params(n) || assigns_param(b, n, in_each))
        return true;
    in_each = in_each || n->kind == AST_EACH;
    Ast **kids;
    int nk = ast_kids(n, &kids);
    for (int i = 0; i < nk; i++)
        if (trains(b, kids[i], in_each))
            return true;
    AstList *lists;
    int nl = ast_lists(n, &lists);
    for (int i = 0; i < nl; i++)
        for (int k = 0; k < lists[i].n; k++)
            if (trains(b, lists[i].at[k], in_each))
                return true;
    return false;
}

/* ---- let, var, assignment ---- */

/* A host value that may change later is kept in a variable: a `let` is computed once, when reached.
 */
static Value settle(Build *b, Value v, const char *name, Span at) {
    if (v.kind == V_LIST) {
        Value *items = NEW_ARRAY(b->arena, Value, v.list->n + 1);
        for (int i = 0; i < v.list->n; i++)
            items[i] = settle(b, v.list->at[i], name, at);
        return value_list(b, items, v.list->n, v.list->tuple);
    }
    if (v.kind != V_HOST || !host_changes(v.host) || v.host->type == HT_STRING)
        return v;
    if (v.host->kind == HX_VAR && b->loop && v.host->var->fixed)
        return v;
    HostVar *kept = host_new_var(b, name, v.host->type);
    kept->fixed = true;
    host_set(b, kept, v.host, at);
    return value_host(host_var(b, kept));
}

static const char *pattern_name(const Ast *p) {
    return p->kind == AST_NAME ? p->name : "value";
}

static void task_let(Build *b, Env *env, Ast *s) {
    Ast *p = s->let.pattern;
    if (s->let.value->kind == AST_COPY) {
        Instance *in = model_new(b, env, NULL, pattern_name(p), s, s->let.value);
        build_pattern(b, env, p, (Value){.kind = V_MODEL, .model = in}, BIND_LET);
        return;
    }
    Value v = build_let_value(b, env, s);
    build_pattern(b, env, p, settle(b, v, pattern_name(p), s->span), BIND_LET);
}

static void var_host(Build *b, Env *env, Ast *s, const char *name, HExpr *h) {
    HostVar *v = host_new_var(b, name, h->type);
    host_set(b, v, h, s->span);
    Binding *bind = env_add(b, env, name, BIND_HOST, value_none, s->let.pattern->span);
    bind->var = v;
}

static void task_var(Build *b, Env *env, Ast *s) {
    Value v = build_let_value(b, env, s);
    if (s->let.pattern->kind != AST_NAME) {
        build_error(b, s->let.pattern->span, "'var' declares one variable; use one 'var' for each");
        build_pattern(b, env, s->let.pattern, value_poison, BIND_LET);
        return;
    }
    const char *name = s->let.pattern->name;
    Span at = s->let.value->span;
    if (v.kind == V_TENSOR && v.node->shape.rank == 0 && v.node->op != OP_read) {
        HExpr *h = value_to_host(b, v, at); /* a scalar variable lives on the host */
        if (h)
            var_host(b, env, s, name, h);
        return;
    }
    switch (v.kind) {
    case V_NUMBER:
    case V_BOOL:
    case V_HOST: {
        HExpr *h = value_to_host(b, v, at);
        if (h)
            var_host(b, env, s, name, h);
        return;
    }
    case V_TENSOR: {
        if (shape_count(&v.node->shape)) {
            build_error(b, at,
                        "a variable of a task has a fixed shape, found %s (last=\"drop\" makes "
                        "batches of one size)",
                        value_text(b, v));
            return;
        }
        Home *h = home_new(b, HOME_VAR, name, v.node->dtype, &v.node->shape, s->span);
        home_write(b, h, v.node);
        Binding *bind = env_add(b, env, name, BIND_HOME, value_none, s->let.pattern->span);
        bind->home = h;
        return;
    }
    case V_POISON:
        env_add(b, env, name, BIND_LET, value_poison, s->let.pattern->span);
        return;
    default:
        build_error(b, at, "a variable of a task is a tensor, number or bool, found %s",
                    value_text(b, v));
        env_add(b, env, name, BIND_LET, value_poison, s->let.pattern->span);
    }
}

static void assign_host(Build *b, Binding *bind, Value v, Span at) {
    HExpr *h = value_to_host(b, v, at);
    if (!h)
        return;
    HType want = bind->var->type;
    if (want == HT_REAL && h->type == HT_INT)
        h = host_op(b, OP_cast, HT_REAL, h, NULL, NULL);
    if (h->type != want) {
        static const char *const names[] = {"int", "real", "bool", "string"};
        build_error(b, at, "'%s' is %s, this value is %s", bind->name, names[want], names[h->type]);
        diag_note(b->diag, bind->span, "declared here");
        return;
    }
    host_set(b, bind->var, h, at);
}

/* The next version of a home: same type, same shape. */
void home_assign(Build *b, Home *h, Value v, Span at) {
    Node *n = v.kind == V_POISON ? NULL : value_to_node(b, v, h->dtype, at);
    if (!n)
        return;
    if (n->dtype != h->dtype || n->shape.rank > h->shape.rank ||
        (n->shape.rank && !shape_equal(&n->shape, &h->shape))) {
        build_error(b, at, "'%s' is %s%s, this value is %s", h->name, dtype_name(h->dtype),
                    shape_text(b->arena, &h->shape), value_text(b, value_node(n)));
        return;
    }
    n = graph_broadcast_to(b->g, n, &h->shape);
    if (h->kind == HOME_PARAM) {
        n = graph_unary(b->g, OP_stop, n);
        h->trained = true;
    }
    home_write(b, h, n);
}

/* net.linear.w = … */
static void assign_part(Build *b, Env *env, Ast *s) {
    Ast *t = s->assign.target;
    Value old = build_expr(b, env, t);
    Home *h = old.kind == V_TENSOR ? home_of_version(b, old.node) : NULL;
    if (!h || (h->kind != HOME_PARAM && h->kind != HOME_STATE)) {
        if (old.kind != V_POISON)
            build_error(b, t->span, "%s cannot be assigned to", value_text(b, old));
        return;
    }
    Value v = assigned_value(b, env, s, old);
    if (v.kind != V_POISON)
        home_assign(b, h, v, s->assign.value->span);
}

void build_assign(Build *b, Env *env, Ast *s) {
    Ast *t = s->assign.target;
    Ast *name = t->kind == AST_INDEX ? t->index.base : t;
    if (t->kind == AST_FIELD) {
        assign_part(b, env, s);
        return;
    }
    if (name->kind != AST_NAME) {
        build_error(b, t->span,
                    "only a variable, a parameter or an element of one can be assigned to");
        return;
    }
    Binding *bind = build_find(b, env, name->name, name->span);
    if (!bind)
        return;
    Value old = build_binding(b, bind, name->span);
    if (bind->kind != BIND_HOST && bind->kind != BIND_HOME) {
        if (old.kind == V_POISON)
            return;
        build_error(b, t->span, "'%s' is not a variable: declare it with 'var' to assign to it",
                    name->name);
        diag_note(b->diag, bind->span, "declared here");
        return;
    }
    Value v = assigned_whole(b, env, s, old);
    if (v.kind == V_POISON)
        return;
    if (bind->kind == BIND_HOST)
        assign_host(b, bind, v, s->assign.value->span);
    else if (bind->home->kind == HOME_CONST)
        build_error(b, t->span, "'%s' is a constant", name->name);
    else
        home_assign(b, bind->home, v, s->assign.value->span);
}

/* ---- control ---- */

HBlock *build_sub_block(Build *b, Env *env, Ast *block) {
    region_close(b);
    HBlock *old = b->block;
    HBlock *made = b->block = NEW(b->arena, HBlock);
    build_stmts(b, env_new(b, env), block);
    region_close(b);
    b->block = old;
    return made;
}

/* A block whose head was wrong: for its own errors. */
static void look_into(Build *b, Env *env, Ast *block) {
    if (block && block->kind == AST_BLOCK)
        build_sub_block(b, env, block);
}

static void task_if(Build *b, Env *env, Ast *s) {
    Value c = build_expr(b, env, s->cond.cond);
    if (c.kind == V_BOOL) {
        Ast *side = c.boolean ? s->cond.then : s->cond.other;
        if (side && side->kind == AST_IF)
            task_if(b, env, side);
        else if (side)
            build_stmts(b, env_new(b, env), side);
        return;
    }
    HExpr *h = value_to_condition(b, c, "'if'", s->cond.cond->span);
    if (!h) {
        look_into(b, env, s->cond.then);
        look_into(b, env, s->cond.other);
        return;
    }
    HStmt *st = host_stmt(b, HS_IF, s->span);
    st->value = h;
    Changes before = changes_copy(b);
    st->body = build_sub_block(b, env, s->cond.then);
    Changes then = changes_copy(b);
    changes_set(b, &before);
    Ast *other = s->cond.other;
    if (other && other->kind == AST_IF) {
        region_close(b);
        HBlock *old = b->block;
        st->other = b->block = NEW(b->arena, HBlock);
        task_if(b, env, other);
        region_close(b);
        b->block = old;
    } else if (other) {
        st->other = build_sub_block(b, env, other);
    }
    changes_join(b, &then);
}

static void task_eval(Build *b, Env *env, Ast *s) {
    bool training = b->training;
    b->training = false;
    build_stmts(b, env_new(b, env), s->eval.body);
    b->training = training;
}

static void task_expr(Build *b, Env *env, Ast *s) {
    int states = b->state_writes;
    value_unused(b, build_expr(b, env, s), s, states);
}

void build_stmt(Build *b, Env *env, Ast *s) {
    b->g->span = s->span;
    switch (s->kind) {
    case AST_LET:
        task_let(b, env, s);
        break;
    case AST_VAR:
        task_var(b, env, s);
        break;
    case AST_CONST:
        env_add(b, env, s->name, BIND_LET, build_expr(b, env, s->constant.value), s->name_span);
        break;
    case AST_ASSIGN:
        build_assign(b, env, s);
        break;
    case AST_IF:
        task_if(b, env, s);
        break;
    case AST_FOR:
        build_for(b, env, s);
        break;
    case AST_WHILE:
        build_while(b, env, s);
        break;
    case AST_EVERY:
        build_every(b, env, s);
        break;
    case AST_BREAK:
    case AST_CONTINUE:
        build_jump(b, s);
        break;
    case AST_YIELD:
        build_yield(b, env, s);
        break;
    case AST_MINIMIZE:
        build_minimize(b, env, s);
        break;
    case AST_UPDATE:
        build_update(b, env, s);
        break;
    case AST_EVAL:
        task_eval(b, env, s);
        break;
    case AST_PRINT:
    case AST_WRITE:
        build_print(b, env, s);
        break;
    case AST_RECORD:
        build_record(b, env, s);
        break;
    case AST_SAVE:
    case AST_LOAD:
        build_save_load(b, env, s);
        break;
    case AST_RESET:
        build_reset(b, env, s);
        break;
    case AST_EXPECT:
        build_expect(b, env, s);
        break;
    case AST_EACH:
        build_each(b, env, s, false);
        break;
    case AST_PARAM:
    case AST_STATE:
    case AST_SUB:
        build_error(b, s->span, "this declaration belongs into a layer or to the top level");
        for (int i = 0; s->kind != AST_SUB && i < s->param.names.n; i++)
            build_pattern(b, env, s->param.names.at[i], value_poison, BIND_LET);
        if (s->kind == AST_SUB)
            env_add(b, env, s->name, BIND_LET, value_poison, s->name_span);
        break;
    case AST_ERROR:
        break;
    default:
        task_expr(b, env, s);
    }
}

void build_stmts(Build *b, Env *env, Ast *block) {
    for (int i = 0; i < block->block.stmts.n; i++)
        build_stmt(b, env, block->block.stmts.at[i]);
}

/* Tasks and exports are told apart by name on the command line. */
static bool is_new_command(Build *b, const Ast *decl) {
    const Span *before = NULL;
    for (int i = 0; i < b->p->tasks.n && !before; i++)
        if (strcmp(b->p->tasks.at[i]->name, decl->name) == 0)
            before = &b->p->tasks.at[i]->span;
    for (int i = 0; i < b->p->exports.n && !before; i++)
        if (strcmp(b->p->exports.at[i]->name, decl->name) == 0)
            before = &b->p->exports.at[i]->span;
    if (!before)
        return true;
    diag_error(b->diag, decl->name_span, "%s '%s' is declared twice",
               decl->kind == AST_TASK ? "task" : "export", decl->name);
    diag_note(b->diag, *before, "the first declaration");
    return false;
}

void build_task(Build *b, Env *env, Ast *decl) {
    Task *t = NEW(b->arena, Task);
    t->name = decl->name;
    t->span = decl->span;
    t->body = NEW(b->arena, HBlock);
    if (!is_new_command(b, decl))
        return;
    vec_push(b->arena, &b->p->tasks, t);
    t->training = trains(b, decl->task.body, false);
    region_close(b);
    Place old = place_enter(b, t->body);
    b->task = t;
    b->task_body = decl->task.body;
    b->training = t->training;
    Frame frame = {NULL, decl, decl->span, NULL};
    b->frame = &frame;
    build_stmts(b, env_new(b, env), decl->task.body);
    train_task_end(b);
    b->frame = NULL;
    place_leave(b, &old);
}

/* ---- exports ---- */

/* How many rows an export works through at a time: as many as a loop over data does, if that is
 * neither few nor many, so that both call the same kernels. */
static int rows_at_a_time(const Build *b) {
    enum { LEAST = 64, USUAL = 256, MOST = 1024 };
    int64_t rows = 0;
    for (int i = 0; i < b->p->counts.n; i++)
        if (b->p->counts.at[i]->bound <= MOST)
            rows = MAX(rows, b->p->counts.at[i]->bound);
    return rows >= LEAST ? (int)rows : USUAL;
}

/* A dimension name that only the export binds is free: any number of rows, in chunks. */
static bool export_shape(Build *b, Env *env, const Ast *formal, Export *e, Shape *out) {
    const Ast *type = formal->formal.type;
    *out = (Shape){0};
    if (!type || type->kind == AST_TYPE)
        return true;
    for (int i = 0; i < type->tensor.dims.n; i++) {
        Ast *d = type->tensor.dims.at[i];
        if (d->kind == AST_NAME && !build_lookup(env, d->name)) {
            if (e->rows) {
                build_error(b, d->span, "an export has one free dimension; the first is '%s'",
                            e->rows_name);
                return false;
            }
            Count *c = NEW(b->arena, Count);
            *c = (Count){b->p->counts.n, build_identifier(b, d->name), d->name,
                         rows_at_a_time(b)};
            vec_push(b->arena, &b->p->counts, c);
            e->rows = c;
            e->rows_name = d->name;
            Value v = value_int(c->bound);
            v.num.count = c;
            env_add(b, env, d->name, BIND_LET, v, d->span);
        }
        Value v = build_expr(b, env, d);
        if (v.kind == V_POISON ||
            !value_to_dim(b, v, "a dimension", d->span, &out->dim[out->rank++]))
            return false;
    }
    return true;
}

static void export_outputs(Build *b, Export *e, Value v, Span at) {
    int n = v.kind == V_LIST ? v.list->n : 1;
    e->outputs = NEW_ARRAY(b->arena, Node *, n + 1);
    for (int i = 0; i < n; i++) {
        Value x = v.kind == V_LIST ? v.list->at[i] : v;
        Node *node = x.kind == V_POISON ? NULL : value_to_node(b, x, DT_N, at);
        if (!node)
            continue;
        if (!node->name)
            node->name = e->name;
        e->outputs[e->noutputs++] = node;
    }
}

/* Does a row of n depend on more than the same row of its inputs? */
static bool mixes_rows(const Node *n, const Count *rows) {
    if (n->op == OP_count)
        return n->attr.count == rows;
    if (n->op == OP_iota || n->op == OP_cumsum)
        return n->shape.dim[n->attr.axis].count == rows;
    if (n->nin && indexed_extent(n).count == rows)
        return true;
    for (int k = 0; k < n->nin; k++)
        if (shape_count(&n->in[k]->shape) == rows && shape_count(&n->shape) != rows)
            return true;
    return false;
}

/* Rows are worked through in chunks: nothing may mix them. */
static void check_free(Build *b, const Export *e, int first) {
    for (int i = first; e->rows && i < b->g->nodes.n; i++) {
        const Node *n = b->g->nodes.at[i];
        if (!mixes_rows(n, e->rows))
            continue;
        build_error(b, n->span,
                    "'%s' counts the rows of an export, which come in chunks: it may be carried "
                    "along, not reduced, contracted, cut, counted or indexed",
                    e->rows_name);
        return;
    }
}

enum { EXPORT_FILES = 16 };

/* An export is run as one region, chunk by chunk. */
static void export_region(Build *b, Export *e, const HBlock *block, bool draws) {
    int files = MAX(e->nargs, e->noutputs);
    if (block->stmts.n == 1 && block->stmts.at[0]->kind == HS_REGION)
        e->region = block->stmts.at[0]->region;
    if (draws)
        build_error(b, e->span, "not supported yet: random numbers in an export");
    else if (!e->region)
        build_error(b, e->span,
                    "not supported yet: an export that needs the host between its tensors (a loop "
                    "over data, a number that decides something)");
    else if (files > EXPORT_FILES)
        build_error(b, e->span, "an export has at most %d arguments and %d results, found %d",
                    EXPORT_FILES, EXPORT_FILES, files);
}

void build_export(Build *b, Env *env, Ast *decl) {
    Export *e = NEW(b->arena, Export);
    if (decl->fn.from)
        build_error(b, decl->fn.from->span,
                    "not supported yet: weights of an export by 'from' (the trainer takes --load)");
    if (!is_new_command(b, decl))
        return;
    e->name = decl->name;
    e->span = decl->span;
    int errors = diag_errors(b->diag);
    HBlock *block = NEW(b->arena, HBlock);
    region_close(b);
    int first = b->g->nodes.n;
    Place old = place_enter(b, block);
    Frame frame = {NULL, decl, decl->span, NULL};
    b->frame = &frame;
    b->region->name = decl->name;
    Env *inner = env_new(b, env);
    e->args = NEW_ARRAY(b->arena, Home *, decl->fn.formals.n + 1);
    bool ok = true;
    for (int i = 0; i < decl->fn.formals.n; i++) {
        Ast *f = decl->fn.formals.at[i];
        Shape s;
        build_check_option(b, "argument", f->name, f->span);
        if (!export_shape(b, inner, f, e, &s)) {
            ok = false;
            continue;
        }
        DType t = type_element(b, f->formal.type ? f->formal.type->name : NULL);
        Home *h = e->args[e->nargs++] = home_new(b, HOME_ARG, f->name, t, &s, f->span);
        env_add(b, inner, f->name, BIND_HOME, value_none, f->span)->home = h;
    }
    if (ok) {
        Ast *body = decl->fn.body;
        Value v =
            body->kind == AST_BLOCK ? build_block(b, inner, body) : build_expr(b, inner, body);
        v = match_type(b, inner, decl->fn.result, v, "the result", body->span);
        export_outputs(b, e, v, body->span);
        check_free(b, e, first);
    }
    for (int i = 0; i < e->noutputs; i++)
        region_output(b, e->outputs[i]);
    b->frame = NULL;
    bool draws = b->runs;
    place_leave(b, &old);
    if (diag_errors(b->diag) == errors)
        export_region(b, e, block, draws);
    vec_push(b->arena, &b->p->exports, e);
}

/* ---- after all tasks ---- */

static bool loads_weights(const HBlock *block) {
    for (int i = 0; i < block->stmts.n; i++) {
        const HStmt *s = block->stmts.at[i];
        if (s->kind == HS_LOAD || (s->body && loads_weights(s->body)) ||
            (s->other && loads_weights(s->other)))
            return true;
    }
    return false;
}

void build_tasks_finish(Build *b) {
    for (int i = 0; i < b->p->tasks.n; i++) {
        Task *t = b->p->tasks.at[i];
        if (t->training || loads_weights(t->body))
            continue;
        for (int k = 0; k < b->g->nodes.n && !t->needs_weights; k++) {
            const Node *n = b->g->nodes.at[k];
            t->needs_weights = n->op == OP_read && n->region->task == t && n->attr.home->trained;
        }
    }
}
