/* build_expr.c: expressions and blocks. */
#include "build_call.h"
#include "build_data.h"
#include "build_host.h"
#include "build_stmt.h"
#include <math.h>

static Value eval_name(Build *b, Env *env, Ast *e) {
    Binding *bind = build_lookup(env, e->name);
    if (bind)
        return build_binding(b, bind, e->span);
    if (strcmp(e->name, "pi") == 0)
        return value_real(M_PI);
    if (strcmp(e->name, "inf") == 0)
        return value_real(INFINITY);
    if (strcmp(e->name, "nan") == 0)
        return value_real(NAN);
    if (strcmp(e->name, "training") == 0)
        return value_bool(b->training);
    if (type_is_element(e->name))
        return (Value){.kind = V_TYPE, .type = type_element(b, e->name)};
    const Builtin *f = builtin_find(e->name);
    if (f) {
        FnValue *v = NEW(b->arena, FnValue);
        v->builtin = f;
        return (Value){.kind = V_FN, .fn = v};
    }
    build_find(b, env, e->name, e->span); /* gives the message */
    return value_poison;
}

static Op binary_op(BinaryOp op) {
    static const Op table[] = {
        [BINARY_OR] = OP_or,
        [BINARY_AND] = OP_and,
        [BINARY_EQ] = OP_eq,
        [BINARY_NE] = OP_ne,
        [BINARY_LT] = OP_lt,
        [BINARY_LE] = OP_le,
        [BINARY_GT] = OP_lt,
        [BINARY_GE] = OP_le,
        [BINARY_ADD] = OP_add,
        [BINARY_SUB] = OP_sub,
        [BINARY_MUL] = OP_mul,
        [BINARY_DIV] = OP_div,
        [BINARY_FLOORDIV] = OP_floordiv,
        [BINARY_MOD] = OP_mod,
        [BINARY_POW] = OP_pow,
    };
    return table[op];
}

static Value eval_binary(Build *b, Env *env, Ast *e) {
    Value x = build_expr(b, env, e->binary.left);
    BinaryOp op = e->binary.op;
    if (x.kind == V_BOOL && (op == BINARY_AND || op == BINARY_OR) && x.boolean == (op == BINARY_OR))
        return x; /* `mask != none and f(mask)`: the right side may make no sense */
    Value y = build_expr(b, env, e->binary.right);
    if (x.kind == V_POISON || y.kind == V_POISON)
        return value_poison;
    if (op == BINARY_MATMUL)
        return value_matmul(b, x, y, e->span);
    bool swap = op == BINARY_GT || op == BINARY_GE;
    return value_binary(b, binary_op(op), swap ? y : x, swap ? x : y, e->span);
}

static Value eval_pipe(Build *b, Env *env, Ast *e) {
    Value x = build_expr(b, env, e->pipe.left);
    if (x.kind == V_POISON)
        return x;
    Ast *right = e->pipe.right;
    if (right->kind == AST_CALL)
        return build_call(b, env, right, &x);
    Value f = build_expr_fn(b, env, right);
    if (f.kind == V_POISON)
        return f;
    if (f.kind != V_FN && f.kind != V_MODEL) {
        build_error(b, right->span, "expected a function, found %s", value_text(b, f));
        return value_poison;
    }
    return build_apply(b, f, &x, 1, e->span);
}

/* c ? x : y for a run-time scalar c, item by item in tuples. */
static Value select_value(Build *b, Value c, Value x, Value y, Span at) {
    if (x.kind != V_LIST || y.kind != V_LIST || x.list->n != y.list->n)
        return value_where(b, c, x, y, at);
    Value *items = NEW_ARRAY(b->arena, Value, x.list->n + 1);
    for (int i = 0; i < x.list->n; i++)
        items[i] = select_value(b, c, x.list->at[i], y.list->at[i], at);
    return value_list(b, items, x.list->n, x.list->tuple);
}

/* An `if` whose condition is known picks a side; a run-time scalar condition computes both and
 * selects. */
static Value eval_if(Build *b, Env *env, Ast *e) {
    Value c = build_expr(b, env, e->cond.cond);
    if (c.kind == V_POISON)
        return c;
    if (c.kind == V_BOOL) {
        Ast *side = c.boolean ? e->cond.then : e->cond.other;
        if (!side)
            return value_none;
        return side->kind == AST_IF ? eval_if(b, env, side) : build_block(b, env, side);
    }
    bool scalar = (c.kind == V_HOST && c.host->type == HT_BOOL) ||
                  (c.kind == V_TENSOR && c.node->dtype == DT_BOOL && c.node->shape.rank == 0);
    if (!scalar) {
        build_error(b, e->cond.cond->span, "'if' takes one bool, found %s%s", value_text(b, c),
                    c.kind == V_TENSOR ? " (where(c, a, b) selects element by element)" : "");
        return value_poison;
    }
    if (b->frame && b->frame->instance) {
        build_error(b, e->cond.cond->span,
                    "inside a layer the condition of 'if' must be known when nnc runs (where(c, a, "
                    "b) selects)");
        return value_poison;
    }
    if (!e->cond.other) {
        build_error(b, e->span, "an 'if' that gives a value needs an 'else'");
        return value_poison;
    }
    Value x = build_block(b, env, e->cond.then);
    Value y = e->cond.other->kind == AST_IF ? eval_if(b, env, e->cond.other)
                                            : build_block(b, env, e->cond.other);
    return select_value(b, c, x, y, e->span);
}

static Value eval_items(Build *b, Env *env, const AstList *items, bool tuple) {
    Value *at = NEW_ARRAY(b->arena, Value, items->n + 1);
    bool ok = true;
    for (int i = 0; i < items->n; i++) {
        at[i] = build_expr(b, env, items->at[i]);
        ok = ok && at[i].kind != V_POISON;
    }
    return ok ? value_list(b, at, items->n, tuple) : value_poison;
}

/* parts of a model: net.body; several of one name are a list, net.linear[1] */
static Value model_part(Build *b, Value base, Ast *e) {
    const Instance *in = base.model;
    VEC(const char *) names = {0};
    VEC(Value) found = {0};
    for (int i = 0; i < in->children.n; i++) {
        vec_push(b->arena, &names, in->children.at[i]->name);
        if (in->children.at[i]->name == e->name)
            vec_push(b->arena, &found, (Value){.kind = V_MODEL, .model = in->children.at[i]});
    }
    if (found.n)
        return found.n == 1 ? found.at[0] : value_list(b, found.at, found.n, false);
    for (int i = 0; i < in->homes.n; i++) {
        vec_push(b->arena, &names, in->homes.at[i]->name);
        if (in->homes.at[i]->name == e->name)
            return value_node(home_value(b, in->homes.at[i]));
    }
    if (!names.n && !in->applied) {
        build_error(b, e->span, "'%s' has no parts yet: they are known after its first use",
                    in->name);
        return value_poison;
    }
    Text list = {.arena = b->arena};
    for (int i = 0; i < names.n; i++)
        text_printf(&list, "%s%s", i ? ", " : "", names.at[i]);
    build_error(b, e->name_span, "'%s' has no part '%s' (its parts: %s)", in->name, e->name,
                list.n ? list.at : "none");
    return value_poison;
}

static Value eval_field(Build *b, Env *env, Ast *e) {
    Value base = build_expr(b, env, e->field.base);
    switch (base.kind) {
    case V_POISON:
        return base;
    case V_DATA:
    case V_SPLIT:
    case V_FOLD:
        return data_field(b, base, e->name, e->span);
    case V_MODEL:
        return model_part(b, base, e);
    default:
        build_error(b, e->span, "%s has no field '%s'", value_text(b, base), e->name);
        return value_poison;
    }
}

static Value eval_unary(Build *b, Env *env, Ast *e) {
    Value x = build_expr(b, env, e->unary.x);
    return x.kind == V_POISON
               ? x
               : value_unary(b, e->unary.op == UNARY_NEG ? OP_neg : OP_not, x, e->span);
}

static Value eval(Build *b, Env *env, Ast *e) {
    if (!diag_file(b->diag, e->span.file)->library)
        b->g->span = e->span;
    switch (e->kind) {
    case AST_NUMBER:
        return e->number.is_int ? value_int(e->number.integer) : value_real(e->number.value);
    case AST_STRING:
        return build_string(b, env, e);
    case AST_BOOL:
        return value_bool(e->boolean.value);
    case AST_NONE:
        return value_none;
    case AST_NAME:
        return eval_name(b, env, e);
    case AST_UNARY:
        return eval_unary(b, env, e);
    case AST_BINARY:
        return eval_binary(b, env, e);
    case AST_PIPE:
        return eval_pipe(b, env, e);
    case AST_CALL:
        return build_call(b, env, e, NULL);
    case AST_INDEX:
        return build_index(b, env, e);
    case AST_FIELD:
        return eval_field(b, env, e);
    case AST_IF:
        return eval_if(b, env, e);
    case AST_LIST:
        return eval_items(b, env, &e->list.items, false);
    case AST_TUPLE:
        return eval_items(b, env, &e->list.items, true);
    case AST_STAR:
        return value_string("*");
    case AST_BLOCK:
        return build_block(b, env, e);
    case AST_REDUCE_FOR:
        return build_reduce_for(b, env, e);
    case AST_SUM_EACH:
        return build_each(b, env, e, true);
    case AST_EACH:
        return build_each(b, env, e, false);
    case AST_TYPE:
        return (Value){.kind = V_TYPE, .type = type_element(b, e->name)};
    case AST_SCAN:
        build_error(b, e->span, "not supported yet: scan");
        return value_poison;
    default:
        build_error(b, e->span, "a value is expected here");
        return value_poison;
    }
}

/* Calls within calls: the stack of nnc has an end. */
enum { MAX_NESTING = 2500 };

Value build_expr(Build *b, Env *env, Ast *e) {
    if (b->nesting >= MAX_NESTING) {
        build_error(b, e->span, "calls and expressions are nested %d deep here", MAX_NESTING);
        return value_poison;
    }
    b->nesting++;
    Value v = eval(b, env, e);
    b->nesting--;
    return v;
}

/* ---- statements of functions, layers and rules: run while nnc runs ---- */

static void name_value(Build *b, Node *n, const Ast *pattern) {
    bool library = diag_file(b->diag, pattern->span.file)->library;
    if (n->region == b->region && !home_of_version(b, n))
        build_name(b, n, pattern->name, library ? NAME_OF_LIBRARY : NAME_OF_LET);
}

static void let_pattern(Build *b, Env *env, Ast *pattern, Value v, BindKind kind) {
    if (pattern->kind == AST_NAME) {
        if (strcmp(pattern->name, "_") == 0)
            return;
        if (v.kind == V_TENSOR)
            name_value(b, v.node, pattern);
        env_add(b, env, pattern->name, kind, v, pattern->span);
        return;
    }
    const AstList *items = &pattern->list.items;
    bool fits = v.kind == V_LIST && v.list->n == items->n;
    if (!fits && v.kind == V_LIST)
        build_error(b, pattern->span, "%d names for %d values", items->n, v.list->n);
    else if (!fits && v.kind != V_POISON)
        build_error(b, pattern->span,
                    "names in parentheses take several values apart; this is one, "
                    "%s",
                    value_text(b, v));
    for (int i = 0; i < items->n; i++)
        let_pattern(b, env, items->at[i], fits ? v.list->at[i] : value_poison, kind);
}

Value build_let_value(Build *b, Env *env, Ast *s) {
    b->let_pattern = s->let.value->kind == AST_REDUCE_FOR ? s->let.pattern : NULL;
    Value v = build_expr(b, env, s->let.value);
    if (v.kind == V_NONE && s->let.value->kind == AST_IF) {
        build_error(b, s->let.value->span, "this 'if' gives no value");
        return value_poison;
    }
    const Ast *p = s->let.pattern;
    const char *what = p->kind == AST_NAME ? arena_printf(b->arena, "'%s'", p->name) : "the value";
    return match_type(b, env, s->let.type, v, what, s->let.value->span);
}

void build_pattern(Build *b, Env *env, Ast *pattern, Value v, BindKind kind) {
    let_pattern(b, env, pattern, v, kind);
}

/* Ruling B3; a call that wrote a state had its effect. */
void value_unused(Build *b, Value v, const Ast *s, int states) {
    if (v.kind == V_NONE || v.kind == V_POISON || b->state_writes != states)
        return;
    build_error(b, s->span,
                "this value is not used (to continue a line, end the one before with the "
                "operator)");
}

static bool for_values(Build *b, Env *env, Ast *iter, Value *out) {
    if (iter->kind != AST_RANGE) {
        *out = build_expr(b, env, iter);
        if (out->kind == V_LIST)
            return true;
        if (out->kind != V_POISON)
            build_error(
                b, iter->span,
                "in functions and layers 'for' runs over a constant range or list, found %s",
                value_text(b, *out));
        return false;
    }
    int64_t lo, hi;
    if (!value_to_int(b, build_expr(b, env, iter->range.lo), "the start of the range",
                      iter->range.lo->span, &lo) ||
        !value_to_int(b, build_expr(b, env, iter->range.hi), "the end of the range",
                      iter->range.hi->span, &hi))
        return false;
    int64_t n = hi - lo + iter->range.inclusive;
    if (n > 100000) {
        build_error(b, iter->span, "%lld rounds are too many to unroll", (long long)n);
        return false;
    }
    n = MAX(n, 0);
    Value *at = NEW_ARRAY(b->arena, Value, n + 1);
    for (int64_t i = 0; i < n; i++)
        at[i] = value_int(iter->range.reverse ? lo + n - 1 - i : lo + i);
    *out = value_list(b, at, (int)n, false);
    return true;
}

static void unrolled_for(Build *b, Env *env, Ast *s) {
    Value list;
    if (!for_values(b, env, s->loop.iter, &list))
        return;
    int errors = diag_errors(b->diag);
    for (int i = 0; i < list.list->n && diag_errors(b->diag) == errors; i++) {
        Env *inner = env_new(b, env);
        let_pattern(b, inner, s->loop.pattern, list.list->at[i], BIND_LET);
        int states = b->state_writes;
        Value v = build_block(b, inner, s->loop.body);
        const AstList *stmts = &s->loop.body->block.stmts;
        if (stmts->n)
            value_unused(b, v, stmts->at[stmts->n - 1], states);
    }
}

static void sub_model(Build *b, Env *env, Ast *s) {
    Instance *parent = b->frame ? b->frame->instance : NULL;
    if (!parent) {
        build_error(b, s->span, "'sub' belongs into a layer; in a task use a model");
        env_add(b, env, s->name, BIND_LET, value_poison, s->name_span);
        return;
    }
    Instance *in = NULL;
    for (int i = 0; i < parent->children.n; i++)
        if (parent->children.at[i]->site == s)
            in = parent->children.at[i];
    if (!in)
        in = model_new(b, env, parent, s->name, s, s->model.value);
    env_add(b, env, s->name, BIND_LET, (Value){.kind = V_MODEL, .model = in}, s->name_span);
}

/* A state of a layer is written once per executed call, and only in training (ruling A3). */
static void state_write(Build *b, Binding *bind, Value v, Span at) {
    Node *n = value_to_node(b, v, bind->home->dtype, at);
    if (!n)
        return;
    if (n->shape.rank > bind->home->shape.rank ||
        (n->shape.rank && !shape_equal(&n->shape, &bind->home->shape)) ||
        n->dtype != bind->home->dtype) {
        build_error(b, at, "'%s' is %s%s, this value is %s", bind->name,
                    dtype_name(bind->home->dtype), shape_text(b->arena, &bind->home->shape),
                    value_text(b, value_node(n)));
        return;
    }
    b->state_writes++;
    home_write(b, bind->home,
               graph_unary(b->g, OP_stop, graph_broadcast_to(b->g, n, &bind->home->shape)));
}

Value assigned_value(Build *b, Env *env, Ast *s, Value old) {
    static const Op ops[] = {
        [ASSIGN_ADD] = OP_add, [ASSIGN_SUB] = OP_sub, [ASSIGN_MUL] = OP_mul, [ASSIGN_DIV] = OP_div};
    Value v = build_expr(b, env, s->assign.value);
    if (s->assign.op == ASSIGN_SET || v.kind == V_POISON || old.kind == V_POISON)
        return v;
    return value_binary(b, ops[s->assign.op], old, v, s->span);
}

Value assigned_whole(Build *b, Env *env, Ast *s, Value old) {
    Ast *t = s->assign.target;
    if (t->kind != AST_INDEX)
        return assigned_value(b, env, s, old);
    Value element = s->assign.op == ASSIGN_SET ? value_none : build_index(b, env, t);
    return value_index_assign(b, env, t, old, assigned_value(b, env, s, element));
}

/* Assignments while nnc runs: variables of functions and layers, states, parameters of rules. */
void build_assign_known(Build *b, Env *env, Ast *s) {
    Ast *t = s->assign.target;
    Ast *name = t->kind == AST_INDEX ? t->index.base : t;
    if (name->kind != AST_NAME) {
        build_error(b, t->span, "only a variable or an element of one can be assigned to");
        return;
    }
    Binding *bind = build_find(b, env, name->name, name->span);
    if (!bind)
        return;
    Value old = build_binding(b, bind, name->span);
    Value v = assigned_whole(b, env, s, old);
    if (v.kind == V_POISON)
        return;
    if (bind->kind == BIND_HOME && bind->home->kind == HOME_PARAM) {
        build_error(b, t->span, "'%s' is a parameter: tasks change it, layers and functions do not",
                    name->name);
    } else if (bind->kind == BIND_HOME) {
        if (bind->home->kind == HOME_STATE && !b->training)
            return;
        state_write(b, bind, v, s->span);
    } else if (bind->kind == BIND_VAR) {
        bind->value = v;
    } else {
        build_error(b, t->span, "'%s' is not a variable: declare it with 'var' to assign to it",
                    name->name);
        diag_note(b->diag, bind->span, "declared here");
    }
}

/* One statement in a function, layer or rule; *v gets the value of an expression. */
static void known_stmt(Build *b, Env *env, Ast *s, Value *v) {
    switch (s->kind) {
    case AST_LET:
        build_pattern(b, env, s->let.pattern, build_let_value(b, env, s), BIND_LET);
        break;
    case AST_VAR:
        build_pattern(b, env, s->let.pattern, build_let_value(b, env, s), BIND_VAR);
        break;
    case AST_ASSIGN:
        build_assign_known(b, env, s);
        break;
    case AST_FOR:
        unrolled_for(b, env, s);
        break;
    case AST_PARAM:
        build_param(b, env, s, HOME_PARAM);
        break;
    case AST_STATE:
        if (b->rule)
            rule_state(b, env, s);
        else
            build_param(b, env, s, HOME_STATE);
        break;
    case AST_SUB:
        sub_model(b, env, s);
        break;
    case AST_CONST:
        env_add(b, env, s->name, BIND_LET, build_expr(b, env, s->constant.value), s->name_span);
        break;
    case AST_YIELD:
    case AST_WHILE:
    case AST_EVERY:
    case AST_MINIMIZE:
    case AST_UPDATE:
    case AST_PRINT:
    case AST_WRITE:
    case AST_RECORD:
    case AST_SAVE:
    case AST_LOAD:
    case AST_RESET:
    case AST_EXPECT:
    case AST_BREAK:
    case AST_CONTINUE:
    case AST_EVAL:
        build_error(b, s->span, "this statement belongs into a task");
        break;
    default:
        *v = build_expr(b, env, s);
    }
}

Value build_block(Build *b, Env *env, Ast *block) {
    Env *inner = env_new(b, env);
    Value v = value_none;
    const AstList *stmts = &block->block.stmts;
    for (int i = 0; i < stmts->n; i++) {
        int states = b->state_writes;
        v = value_none;
        known_stmt(b, inner, stmts->at[i], &v);
        if (i < stmts->n - 1)
            value_unused(b, v, stmts->at[i], states);
    }
    return v;
}
