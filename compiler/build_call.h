/* build_call.h: expressions, calls, instances of layers and their parameters, built-in functions.
 */
#ifndef NNC_BUILD_CALL_H
#define NNC_BUILD_CALL_H

#include "build.h"

/* ---- build_expr.c ---- */
Value build_expr(Build *b, Env *env, Ast *e);
Value build_expr_fn(Build *b, Env *env,
                    Ast *e); /* where a value of kind fn is asked for (ruling A4) */
void build_pattern(Build *b, Env *env, Ast *pattern, Value v,
                   BindKind kind); /* let and for patterns */
Value build_let_value(Build *b, Env *env, Ast *s);
/* The same for a target that may be an element of x: the whole of x afterwards. */
Value assigned_whole(Build *b, Env *env, Ast *s, Value old);
Value assigned_value(Build *b, Env *env, Ast *s,
                     Value old);                     /* what `x = …` or `x += …` leaves in x */
void build_assign_known(Build *b, Env *env, Ast *s); /* outside tasks */
void rule_state(Build *b, Env *env, Ast *s);         /* `state` in an optimizer's body */
/* An error where the value of a statement is lost; states: b->state_writes before it. */
void value_unused(Build *b, Value v, const Ast *s, int states);
Value build_block(Build *b, Env *env,
                  Ast *block); /* new scope; value of the last expression or none */
Value value_index_assign(Build *b, Env *env, Ast *index, Value base,
                         Value v);             /* base with v put in */
Value build_index(Build *b, Env *env, Ast *e); /* build_index.c */

/* ---- build_call.c ---- */
Value build_call(Build *b, Env *env, Ast *call,
                 const Value *piped); /* CALL node; piped: goes before the arguments */
Value fn_apply(Build *b, FnValue *f, const Args *args);
Value model_apply(Build *b, Instance *in, const Args *args);
bool partial_args(Build *b, FnValue *f);
Value rule_value(Build *b, const FnValue *f,
                 const Args *args); /* optimizer or schedule with arguments */
Env *rule_bind(Build *b, const FnValue *f, const Value *step, Span at);
Value schedule_apply(Build *b, FnValue *f, const Args *args);
Args call_args(Build *b, Env *env, const Ast *call, const Value *piped, Span piped_span);
bool type_is_element(const char *name); /* int, f32 … */
DType type_element(Build *b,
                   const char *name); /* element type by name; NULL and real: the program's float */
Value match_type(Build *b, Env *env, Ast *type, Value v, const char *what, Span at);
Value build_apply(Build *b, Value f, const Value *args, int n, Span at); /* positional */
Instance *instance_child(Build *b, Instance *parent, const char *name, const Ast *site);
Instance *instance_new(Build *b, Instance *parent, const char *name, const Ast *site, Span at);
void instance_paths(Build *b);
Instance *model_new(Build *b, Env *env, Instance *parent, const char *name, Ast *decl, Ast *value);
Instance *model_copy(Build *b, Env *env, Instance *in, Ast *what);
void home_init(Build *b, Home *h);
void home_set_init(Build *b, Home *h, Init init); /* and gives it that value in the start block */
void build_reset(Build *b, Env *env, Ast *s);
void params_add(Build *b, ParamSet *set, Home *h, const char *path);
void instance_params(Build *b, Instance *in, bool states,
                     ParamSet *out); /* with children, in order of creation */
void build_param(Build *b, Env *env, Ast *decl, HomeKind kind); /* PARAM and STATE in a body */
bool build_dims(Build *b, Env *env, Ast *type, Shape *out); /* a declared shape, all names known */

/* ---- build_builtin.c ---- */
typedef struct Actual { /* bound arguments of a builtin, by parameter */
    int n;
    Value *at; /* V_NONE where a default of none applies */
    Span *spans;
    int nrest; /* a builtin whose first parameter is "*x": all positional arguments (at[0] is
                  V_NONE) */
    Value *rest;
    Span span;
} Actual;
struct Builtin {
    const char *name;
    const char *signature; /* "x, axis=none, keepdims=false"; "*x, axis" for variadic first */
    Value (*run)(Build *b, const Builtin *self, const Actual *a);
    Op op;
};
Value builtin_apply(Build *b, const Builtin *f, const Args *args);
const Builtin *builtin_find(const char *name);
const char *const *builtin_names(Arena *a, int *n);
/* For builtins and indexing; NULL after an error. */
Node *actual_node(Build *b, const Actual *a, int i);
Node *index_node(Build *b, Value v, Dim limit,
                 Span at); /* as i32; constants are checked and may count from the end */
Node *node_take(Build *b, Node *x, Node *index, int axis,
                Span at); /* the index's dimensions replace the axis */
Node *node_part(Build *b, Node *x, int axis, int64_t start, int64_t length);
Node *node_swap(Build *b, Node *x, int i, int j); /* two axes exchanged */
Node *node_reduce(Build *b, Op op, Node *x, unsigned axes, bool keepdims);
bool dim_multiply(Dim x, Dim y, Dim *out); /* false: both are run-time sizes */

#endif
