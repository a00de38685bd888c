/* build.h: shared by build*.c, which turn an AST into a Program and are the only files that see
 * both.
 *
 * build is an abstract interpreter: it runs the program with sizes, structure and functions known,
 * and tensors and options unknown. An expression gives a Value; tensor work becomes graph nodes of
 * the open region, host work HExpr trees. A call of a function or layer runs its body; every layer
 * call makes an Instance that owns its parameters.
 *
 * One mistake, one message: what failed is V_POISON, and whoever meets poison gives poison in
 * silence.
 */
#ifndef NNC_BUILD_H
#define NNC_BUILD_H

#include "ast.h"
#include "embed.h"
#include "pass.h"
#include <stdlib.h>
#include <string.h>

typedef struct Build Build;
typedef struct Value Value;
typedef struct Env Env;
typedef struct FnValue FnValue;
typedef struct Instance Instance;
typedef struct Builtin Builtin;

typedef enum ValueKind {
    V_POISON,
    V_NONE,
    V_NUMBER, /* known now: literal, const, size. With a count: a size that is known only at run
                 time */
    V_BOOL,
    V_STRING,
    V_LIST,   /* lists and tuples; a shape is a list of numbers */
    V_TENSOR, /* a graph node */
    V_HOST,   /* a run-time scalar of the host */
    V_FN,     /* function, layer, optimizer or schedule, possibly with arguments */
    V_MODEL,  /* an instance that is called by name */
    V_SET,    /* one tensor for each parameter of a model: gradients */
    V_DATA,
    V_SPLIT,
    V_FOLD, /* digits.fold(2): has .train and .test */
    V_BATCHES,
    V_TYPE /* an element type as argument: zeros([2], int) */
} ValueKind;

typedef struct ValueList {
    int n;
    Value *at;
    bool tuple;
} ValueList;

typedef struct ParamSet {
    int n;
    Home **homes;
    Node **nodes; /* NULL: the homes' own values */
} ParamSet;

typedef struct FoldValue {
    DataSet *set;
    int group, k;
} FoldValue;

typedef struct BatchesValue { /* one or several (zip) loops over splits */
    int n;
    Split **splits;
    int64_t *sizes;
    bool *shuffle;
    bool *keep_last;
    HExpr **steps;
    Span span;
} BatchesValue;

struct Value {
    ValueKind kind;
    union {
        struct {
            double f;
            int64_t i;
            bool is_int;
            const Count *count;
        } num; /* i and f both set when is_int */
        bool boolean;
        const char *string;
        ValueList *list;
        Node *node;
        HExpr *host;
        FnValue *fn;
        Instance *model;
        ParamSet *set;
        DataSet *data;
        Split *split;
        FoldValue *fold;
        BatchesValue *batches;
        DType type;
    };
};

/* An argument not yet evaluated (it may be wanted as a value or as a function), or evaluated
 * (piped, defaults). */
typedef struct Arg {
    const char *name; /* NULL: positional */
    Ast *expr;
    Env *env;    /* scope of expr */
    Value value; /* when expr is NULL */
    Span span;
} Arg;

typedef struct Args {
    int n;
    Arg *at;
    Span span; /* the call */
} Args;

/* decl or builtin with arguments; an application puts the first argument before them. */
struct FnValue {
    Ast *decl; /* FN LAYER OPTIMIZER SCHEDULE, or NULL */
    const Builtin *builtin;
    Env *env;     /* scope the declaration stands in */
    bool partial; /* made by a call without first argument (else: the bare name) */
    Args args;
    Instance *instance;   /* layers: parameters belong to the place where the value was made */
    struct OptState *opt; /* optimizers: identity of the value */
};

/* How a name is looked up. */
typedef enum BindKind {
    BIND_LET,
    BIND_VAR,   /* value may be replaced while nnc runs (functions, layers) */
    BIND_HOST,  /* scalar var of a task: HostVar */
    BIND_HOME,  /* tensor var of a task, param, state: current version of the home */
    BIND_FIELD, /* field of a batch: made once in every region that asks */
    BIND_DECL   /* top-level declaration, evaluated when first asked */
} BindKind;

typedef struct Binding {
    const char *name;
    BindKind kind;
    Value value;
    HostVar *var;
    Home *home;
    Ast *decl;
    struct FieldUse *field;
    Env *decl_env;
    bool busy; /* BIND_DECL: being evaluated (a cycle when met again) */
    bool used;
    Span span;
} Binding;

struct Env {
    Env *parent;
    VEC(Binding *) names;
};

/* Where a parameter's first value comes from: runs in the start block, again by `reset`. */
typedef struct Init {
    Ast *expr; /* NULL: copy of `from` */
    Env *env;
    Home *from;
    Instance *instance;
} Init;

/* One use of a layer: its parameters and the layers it calls. Paths are made when all instances
 * exist. */
struct Instance {
    const char *name; /* "net", "linear" */
    Instance *parent;
    const char *path; /* "net.linear[0]": set by instance_paths */
    /* The call that made it, and the round: the key for the next application of the parent. */
    const Ast *site;
    int round;
    VEC(Instance *) children;
    VEC(Home *) homes;     /* params and states declared by its body, in order */
    VEC(const Ast *) uses; /* call sites met in the application that runs (counts rounds) */
    FnValue *fn;           /* models and subs: what a call applies */
    Instance *copy_of;
    bool is_model;   /* top level */
    int model;       /* index in Program.models */
    Span first_call; /* the call that fixed the sizes of its parameters */
    int applied;     /* how often its body was run */
    int randoms;     /* random nodes made in it: their ordinals */
    Span span;
};

/* One activation of a function, layer or task. */
typedef struct Frame {
    struct Frame *parent;
    const Ast *decl;
    Span call;          /* where it was called */
    Instance *instance; /* NULL in functions */
} Frame;

typedef struct Yields {
    VEC(Node *) nodes;
    int times; /* yield statements met */
    bool single;
} Yields;

/* A loss that was differentiated in a loop: stale in the next round if its parameters change. */
typedef struct LossUse {
    const Home *home;
    int version; /* id of the node it was computed from */
    const char *name;
    Span at;
} LossUse;

/* The gradient of a home: called d_<path> once paths are known. */
typedef struct HomeGradient {
    Node *node;
    const Home *of;
} HomeGradient;

/* A model that a minimize trains, by `over` or because the loss depends on it. */
typedef struct TrainUse {
    const Ast *stmt;
    int model;
    bool named;
    Span at;
} TrainUse;

/* A save or load: its homes are listed when all parameters are known. */
typedef struct StoreItem {
    HStmt *stmt;
    Instance *model; /* NULL: home */
    Home *home;
    Span at;
} StoreItem;

/* A `minimize … accumulate K` of the task: executions so far. */
typedef struct Accumulation {
    HostVar *count;
    HExpr *k;
    Span at;
} Accumulation;

typedef struct LoopInfo { /* a run-time loop being built */
    struct LoopInfo *parent;
    HStmt *stmt;
    HBlock *outer; /* where the loop's statement stands */
    int index;     /* and at which place: what is set up for the loop goes before it */
    int start;     /* b->loop_start outside */
    Ast *reduce;   /* `mean for`: the expression, else NULL */
    struct Totals *totals;
    VEC(LossUse) uses;
    Yields *yields; /* `mean for`: what its body yields; NULL: a plain loop */
} LoopInfo;

/* The last write to a home, in the order of the text. */
typedef struct Change {
    int version; /* id of the node written, 0: never */
    Span span;
} Change;

/* What changes when build goes to another block of the program and comes back. */
typedef struct Place {
    HBlock *block;
    Region *region;
    int region_start;
    Node *execution;
    HostVar *runs;
    Task *task;
    LoopInfo *loop;
    int loop_start;
    bool training;
    Node **current;
    int ncurrent, cap;
} Place;

typedef struct LoadedFile {
    const char *path;
    bool open; /* being read: an import of it is a cycle */
} LoadedFile;

struct Build {
    Compiler *c;
    Arena *arena;
    Diag *diag;
    Graph *g;
    Program *p;
    Env *library, *user; /* top-level scopes */
    Frame *frame;
    int depth;   /* calls */
    int nesting; /* expressions */
    HBlock *block;    /* where host statements go */
    Region *region;   /* open region; its HS_REGION statement is made when it is closed */
    int region_start; /* number of the first node that can belong to the open region */
    VEC(Node *)
    current; /* by home id: the version that the open region has of it, NULL: not read yet */
    VEC(bool) user_names; /* by node id: the name was given by a `let` of the user */
    VEC(Home *) versions; /* by node id: the home that a written value became a version of */
    VEC(Change) changes;  /* by home id */
    VEC(bool) reached;    /* by home id: has a gradient, is loaded or copied */
    VEC(TrainUse) train_uses;
    VEC(Accumulation) accumulations; /* of the task being built */
    VEC(HomeGradient) gradients;
    VEC(StoreItem) stores;
    int state_writes; /* how often a state was written: a call for that is no unused value */
    Place start;          /* the start block while something else is built */
    int loop_start;       /* number of the first node made in the innermost run-time loop */
    HostVar *runs;        /* counts the executions of the open region; NULL: nobody asked */
    VEC(Init) inits;      /* by home id */
    Task *task;           /* NULL outside tasks */
    Ast *task_body;
    LoopInfo *loop;
    bool training;
    int random_ordinal;
    Node *
        execution; /* execution number for random nodes of the open region, made when first asked */
    VEC(Instance *) models;
    VEC(struct OptState *) opts;
    VEC(const char *) identifiers; /* C identifiers in use */
    VEC(LoadedFile) files;
    VEC(Ast *) library_files, user_files; /* FILE nodes */
    VEC(Ast *) runnable;                  /* tasks and exports, in order */
    VEC(struct DataInfo *) datas;
    struct FieldUse *field; /* the field whose expression is being built, else NULL */
    bool dry;               /* the field is only looked at */
    struct RuleUse *rule;   /* the optimizer update being built, else NULL */
    bool naming_model;      /* the layer being named gets the model's instance, none of its own */
    int names_made;         /* counter for unique identifiers */
};

/* ---- build.c ---- */
void build_error(Build *b, Span at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void build_warning(Build *b, Span at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
Span outer_call(const Build *b); /* the call in a task or at top level that led here */
/* Finds a name from inner to outer scopes; NULL (with an error) when there is none. */
Binding *build_find(Build *b, Env *env, const char *name, Span at);
Binding *build_lookup(Env *env, const char *name); /* NULL: unknown */
Binding *env_get(Env *env, const char *name);
Env *env_new(Build *b, Env *parent);
Binding *env_add(Build *b, Env *env, const char *name, BindKind kind, Value v, Span at);
Value build_binding(Build *b, Binding *bind, Span at);    /* the value a name has now */
const char *build_identifier(Build *b, const char *wish); /* unique C identifier made from wish */

/* ---- build_value.c ---- */
Value value_int(int64_t i);
Value value_dim(Dim d); /* a size, with its count */
Value value_real(double f);
Value value_bool(bool x);
Value value_string(const char *s);
Value value_node(Node *n);
Value value_host(HExpr *h);
Value value_list(Build *b, const Value *at, int n, bool tuple);
extern const Value value_poison, value_none;
const char *value_text(Build *b, Value v); /* for messages: "f32[64, 10]", "3", "a function" */
bool value_is_scalar(Value v);             /* number, host scalar or rank-0 tensor */
/* As a tensor of the open region. want: element type for literals (DT_N: int stays i32, real the
 * program's float). */
Node *value_to_node(Build *b, Value v, DType want, Span at);
/* As a host scalar (a tensor's value is read: the region is closed); NULL with an error when it is
 * none. */
HExpr *value_to_host(Build *b, Value v, Span at);
HExpr *value_to_condition(Build *b, Value v, const char *what, Span at);
bool value_to_int(Build *b, Value v, const char *what, Span at,
                  int64_t *out); /* constant; integral reals are taken */
bool value_to_dim(Build *b, Value v, const char *what, Span at, Dim *out);
bool value_to_shape(Build *b, Value v, Span at, Shape *out); /* a number or a list */
bool value_to_bool(Build *b, Value v, const char *what, Span at, bool *out); /* constant */
bool value_to_axes(Build *b, Value v, int rank, Span at, unsigned *out);     /* none: all axes */
bool value_to_axis(Build *b, Value v, int rank, Span at, int *out);
bool value_equal(Value a, Value b); /* constants */
bool value_is_known(Value v);       /* a constant, or a list of such */
bool host_same(const HExpr *x, const HExpr *y);
/* Error when it has two run-time sizes or too many elements. */
bool shape_check(Build *b, const Shape *s, Span at);
void build_check_sizes(Build *b); /* of all nodes */
Node *node_stack(Build *b, Node *const *items, int n, int axis,
                 Span at); /* equal nodes along a new axis */
/* Promotes and broadcasts both to one type and shape (rulings A8, A17). */
bool value_meet(Build *b, Value x, Value y, Span at, const char *what, Node **nx, Node **ny);
/* op on two or one values of any kind: constants fold, host scalars stay on the host, else nodes.
 */
Value value_binary(Build *b, Op op, Value x, Value y, Span at);
Value value_matmul(Build *b, Value x, Value y, Span at); /* NumPy's rules */
Value value_unary(Build *b, Op op, Value x, Span at);
Value value_where(Build *b, Value c, Value x, Value y, Span at); /* c may be any bool */
DType dtype_promote(Build *b, DType x, DType y, bool *ok);
/* All as nodes of one type (shapes are left alone); what: "concatenate". want: type when all are
 * literals. */
bool value_unify(Build *b, const Value *v, int n, DType want, Span at, const char *what,
                 Node **out);

/* ---- build_host.c: host expressions ---- */
HExpr *host_const_int(Build *b, int64_t i);
HExpr *host_const_real(Build *b, double f);
HExpr *host_const_bool(Build *b, bool x);
HExpr *host_const_string(Build *b, const char *s);
HExpr *host_var(Build *b, HostVar *v);
HExpr *host_op(Build *b, Op op, HType type, HExpr *x, HExpr *y, HExpr *z);
HExpr *host_option(Build *b, Option *o);
HExpr *host_rows(Build *b, Split *s);
HExpr *host_format(Build *b, Format *f);
HExpr *host_node(Build *b, Node *n);
HExpr *host_home(Build *b, Home *home);
bool host_changes(
    const HExpr *h); /* reads a variable: a `let` of it must be kept in a variable of its own */
HostVar *host_new_var(Build *b, const char *name, HType type);
HStmt *host_stmt(Build *b, HStmtKind kind, Span at); /* closes the open region and appends */
void host_set(Build *b, HostVar *v, HExpr *value, Span at);

/* ---- build_region.c ---- */
void region_open(Build *b, const char *name, Span at); /* when none is open */
void region_close(Build *b);                           /* flushes writes, appends HS_REGION */
Node *home_value(Build *b, Home *h);                   /* in the open region */
void home_write(Build *b, Home *h, Node *value);       /* the next version */
void home_changed(Build *b, Home *h, Span at);         /* by something outside of the graph: load */
void home_reached(Build *b, const Home *h);
/* Sides of an `if`: each starts from the changes before it; afterwards the later ones count. */
typedef struct Changes {
    int n;
    Change *at;
} Changes;
Changes changes_copy(const Build *b);
void changes_set(Build *b, const Changes *c);
void changes_join(Build *b, const Changes *c);
Home *home_new(Build *b, HomeKind kind, const char *name, DType t, const Shape *s, Span at);
Home *home_of_version(const Build *b, const Node *n);
Node *node_here(Build *b, Node *n);         /* the same value for use in the open region */
Place place_enter(Build *b, HBlock *block); /* an empty place: no task, no loop */
void place_leave(Build *b, const Place *old);
HExpr *region_output(Build *b, Node *n); /* host value of a scalar node, for the next statement */
/* Runs `body` in the start block: saves and restores block, region, versions, training. */
void build_at_start(Build *b, void (*body)(Build *b, void *arg), void *arg);
void region_start_leave(
    Build *b); /* the open place is the start block's: build_at_start comes back */
void region_start_finish(Build *b); /* closes the start block's last region */
void region_finish(Build *b);       /* after all tasks: values that cross regions become outputs */
Node *random_execution(Build *b);
uint32_t random_place(Build *b);

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

/* ---- build_data.c ---- */
void build_data(Build *b, Env *env, Ast *decl, DataSet **out);
Value data_field(Build *b, Value base, const char *name, Span at); /* .train .rows .all.image */
Value data_fold(Build *b, Env *env, Value data, Ast *call);
bool data_is_source(const Ast *call); /* csv(…), idx(…) … */
Value data_source(Build *b, Env *env, Ast *call);
Value data_zip(Build *b, Env *env, Ast *call);
Split *data_split(Build *b, const DataSet *set, const char *name); /* NULL: none of this name */
struct FieldUse *data_loops(Build *b, const BatchesValue *v, HStmt *stmt, int field, Span at);
void data_use(Build *b, DataSet *set);
Value data_batches(Build *b, Env *env, Value split, Ast *call);
/* Binds the fields of a batch loop's pattern in env; fills the loops of the statement. */
void data_bind(Build *b, Env *env, BatchesValue *v, Ast *loop, HStmt *stmt);
Value field_value(Build *b, struct FieldUse *f, Span at);

/* ---- build_task.c, build_loop.c, build_train.c, build_text.c ---- */
void build_task(Build *b, Env *env, Ast *decl);
void build_export(Build *b, Env *env, Ast *decl);
void build_stmt(Build *b, Env *env, Ast *s);
void build_stmts(Build *b, Env *env, Ast *block);
HBlock *build_sub_block(Build *b, Env *env, Ast *block); /* statements in a block of their own */
void build_for(Build *b, Env *env, Ast *s);
void build_while(Build *b, Env *env, Ast *s);
void build_every(Build *b, Env *env, Ast *s);
void build_jump(Build *b, Ast *s);
void build_yield(Build *b, Env *env, Ast *s);
/* Opens a run-time loop: its statement, and the block its body goes to. */
void loop_begin(Build *b, LoopInfo *loop, HStmtKind kind, Span at);
void loop_end(Build *b, LoopInfo *loop);
void loop_losses(Build *b, LoopInfo *loop); /* build_loss.c */
/* Statements that `body` builds are put before the loop. */
void loop_before(Build *b, LoopInfo *loop, void (*body)(Build *b, void *arg), void *arg);
void reduce_round(Build *b, LoopInfo *loop);
Value build_reduce_for(Build *b, Env *env, Ast *e);
struct OptState *opt_new(Build *b, const char *name);
void build_minimize(Build *b, Env *env, Ast *s);
void build_update(Build *b, Env *env, Ast *s);
void train_task_end(Build *b); /* last in a task: what `accumulate` has left over */
Value build_grad(Build *b, const Actual *a);
Value build_each(Build *b, Env *env, Ast *e, bool sum);
void build_assign(Build *b, Env *env, Ast *s);
void home_assign(Build *b, Home *h, Value v, Span at);
Value build_string(Build *b, Env *env, Ast *e);
void build_print(Build *b, Env *env, Ast *s);
void build_record(Build *b, Env *env, Ast *s);
void build_save_load(Build *b, Env *env, Ast *s);
void build_stores_finish(Build *b);
void build_expect(Build *b, Env *env, Ast *s);
void build_tasks_finish(Build *b);
/* build_warn.c */
void train_use(Build *b, const Ast *stmt, const Home *h, bool named, Span at);
void warn_declarations(Build *b);
void warn_training(Build *b); /* after all tasks and paths */
void warn_thin(Build *b, const Node *x, unsigned axes, const char *what, Span at);
void warn_negative(Build *b, FnValue *schedule, Span at);

#endif
