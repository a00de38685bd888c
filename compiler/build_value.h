/* build_value.h: what an expression gives while nnc runs it, and what can be done with it. */
#ifndef NNC_BUILD_VALUE_H
#define NNC_BUILD_VALUE_H

#include "ast.h"
#include "pass.h"

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
    const char **paths; /* within the model: "linear[0].w" */
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

/* ---- build_value.c, build_arith.c ---- */
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

#endif
