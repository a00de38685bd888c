/* build_value.c: making values, saying what they are, and turning them into nodes, host scalars,
 * sizes and axes. */
#include "build_call.h"
#include "build_host.h"
#include "emit.h"
#include <math.h>

const Value value_poison = {.kind = V_POISON};
const Value value_none = {.kind = V_NONE};

/* ---- making ---- */

Value value_int(int64_t i) {
    Value v = {.kind = V_NUMBER};
    v.num.f = (double)i;
    v.num.i = i;
    v.num.is_int = true;
    return v;
}

Value value_real(double f) {
    Value v = {.kind = V_NUMBER};
    v.num.f = f;
    return v;
}

Value value_dim(Dim d) {
    Value v = value_int(d.n);
    v.num.count = d.count;
    return v;
}

Value value_bool(bool x) {
    return (Value){.kind = V_BOOL, .boolean = x};
}

Value value_string(const char *s) {
    return (Value){.kind = V_STRING, .string = s};
}

Value value_node(Node *n) {
    return n ? (Value){.kind = V_TENSOR, .node = n} : value_poison;
}

Value value_host(HExpr *h) {
    return h ? (Value){.kind = V_HOST, .host = h} : value_poison;
}

Value value_list(Build *b, const Value *at, int n, bool tuple) {
    ValueList *list = NEW(b->arena, ValueList);
    list->n = n;
    list->tuple = tuple;
    list->at = NEW_ARRAY(b->arena, Value, n + 1);
    if (n)
        memcpy(list->at, at, sizeof(Value) * (size_t)n);
    return (Value){.kind = V_LIST, .list = list};
}

/* ---- saying ---- */

static const char *number_text(Build *b, Value v) {
    if (v.num.count)
        return arena_printf(b->arena, "a size of up to %lld", (long long)v.num.i);
    if (v.num.is_int)
        return arena_printf(b->arena, "%lld", (long long)v.num.i);
    const char *s = arena_printf(b->arena, "%.15g", v.num.f);
    return strpbrk(s, ".einf") ? s : arena_printf(b->arena, "%s.0", s);
}

static const char *list_text(Build *b, const ValueList *list) {
    Text t = {.arena = b->arena};
    text_add(&t, list->tuple ? "(" : "[");
    for (int i = 0; i < list->n; i++)
        text_printf(&t, "%s%s", i ? ", " : "", value_text(b, list->at[i]));
    text_add(&t, list->tuple ? ")" : "]");
    return t.at;
}

static const char *fn_text(Build *b, const FnValue *f) {
    if (f->builtin)
        return arena_printf(b->arena, "the function '%s'", f->builtin->name);
    static const struct {
        AstKind kind;
        const char *word;
    } words[] = {
        {AST_LAYER, "layer"},
        {AST_OPTIMIZER, "optimizer"},
        {AST_SCHEDULE, "schedule"},
    };
    const char *word = "function";
    for (int i = 0; i < COUNT_OF(words); i++)
        if (f->decl->kind == words[i].kind)
            word = words[i].word;
    return arena_printf(b->arena, "the %s '%s'", word, f->decl->name);
}

const char *value_text(Build *b, Value v) {
    static const char *const host[] = {
        [HT_INT] = "a run-time int",
        [HT_REAL] = "a run-time real",
        [HT_BOOL] = "a run-time bool",
        [HT_STRING] = "a run-time string",
    };
    static const char *const other[] = {
        [V_POISON] = "a faulty value",      [V_NONE] = "none",
        [V_SET] = "a set of gradients",     [V_DATA] = "a data set",
        [V_SPLIT] = "a part of a data set", [V_BATCHES] = "batches",
        [V_FOLD] = "a fold of a data set",
    };
    switch (v.kind) {
    case V_NUMBER:
        return number_text(b, v);
    case V_BOOL:
        return v.boolean ? "true" : "false";
    case V_STRING:
        return arena_printf(b->arena, "\"%s\"", v.string);
    case V_LIST:
        return list_text(b, v.list);
    case V_TENSOR:
        if (!v.node->shape.rank)
            return arena_printf(b->arena, "a scalar of type %s", dtype_name(v.node->dtype));
        return arena_printf(b->arena, "%s%s", dtype_name(v.node->dtype),
                            shape_text(b->arena, &v.node->shape));
    case V_HOST:
        return host[v.host->type];
    case V_FN:
        return fn_text(b, v.fn);
    case V_MODEL:
        return arena_printf(b->arena, "the model '%s'", v.model->name);
    case V_TYPE:
        return arena_printf(b->arena, "the type %s", dtype_name(v.type));
    default:
        return other[v.kind];
    }
}

bool value_is_scalar(Value v) {
    return v.kind == V_NUMBER || v.kind == V_BOOL || v.kind == V_HOST ||
           (v.kind == V_TENSOR && v.node->shape.rank == 0);
}

bool value_is_known(Value v) {
    if (v.kind == V_LIST) {
        for (int i = 0; i < v.list->n; i++)
            if (!value_is_known(v.list->at[i]))
                return false;
        return true;
    }
    return (v.kind == V_NUMBER && !v.num.count) || v.kind == V_BOOL || v.kind == V_STRING ||
           v.kind == V_NONE;
}

bool value_equal(Value x, Value y) {
    if (x.kind != y.kind)
        return false;
    switch (x.kind) {
    case V_NUMBER:
        return x.num.count == y.num.count &&
               (x.num.is_int && y.num.is_int ? x.num.i == y.num.i : x.num.f == y.num.f);
    case V_BOOL:
        return x.boolean == y.boolean;
    case V_STRING:
        return strcmp(x.string, y.string) == 0;
    case V_LIST:
        for (int i = 0; i < x.list->n && x.list->n == y.list->n; i++)
            if (!value_equal(x.list->at[i], y.list->at[i]))
                return false;
        return x.list->n == y.list->n;
    case V_TENSOR:
        return x.node == y.node;
    case V_HOST:
        return host_same(x.host, y.host);
    case V_MODEL:
        return x.model == y.model;
    case V_TYPE:
        return x.type == y.type;
    default:
        return x.kind == V_NONE;
    }
}

/* ---- host scalars as nodes, nodes as host scalars ---- */

bool host_same(const HExpr *x, const HExpr *y) {
    if (x == y)
        return true;
    if (x->kind != y->kind || x->type != y->type || x->op != y->op || x->nargs != y->nargs)
        return false;
    for (int i = 0; i < x->nargs; i++)
        if (!host_same(x->args[i], y->args[i]))
            return false;
    switch (x->kind) {
    case HX_CONST:
        return x->type == HT_STRING ? strcmp(x->s, y->s) == 0 : x->i == y->i && x->f == y->f;
    case HX_OPTION:
        return x->option == y->option;
    case HX_VAR:
        return x->var == y->var;
    case HX_NODE:
        return x->node == y->node;
    case HX_ROWS:
        return x->split == y->split;
    case HX_OP:
        return true;
    default:
        return false;
    }
}

/* The first name in an expression; NULL: none. */
static const char *first_name(const HExpr *h) {
    const char *name = h->kind == HX_OPTION ? h->option->name
                       : h->kind == HX_VAR  ? h->var->name
                       : h->kind == HX_ROWS ? h->split->name
                       : h->kind == HX_HOME ? h->home->name
                       : h->kind == HX_NODE ? h->node->name
                                            : h->name;
    for (int i = 0; i < h->nargs && !name; i++)
        name = first_name(h->args[i]);
    return name;
}

/* total, total_sub: what the program calls it, or the first name in it and the op. */
static const char *host_name(Build *b, const HExpr *h) {
    while (h->kind == HX_OP && h->op == OP_cast && !h->name)
        h = h->args[0];
    const char *name = first_name(h);
    if (h->kind != HX_OP || (h->name && h->name == name))
        return name ? name : "scalar";
    return name ? arena_printf(b->arena, "%s_%s", name, op_info[h->op].name) : op_info[h->op].name;
}

/* One scalar for equal expressions of a region: between two host statements they have one value. */
static Node *find_scalar(const Build *b, const HExpr *h, DType t) {
    for (int i = b->region_start; i < b->g->nodes.n; i++) {
        Node *n = b->g->nodes.at[i];
        if (n->op == OP_scalar && n->region == b->region && n->dtype == t &&
            host_same(n->attr.scalar->value, h))
            return n;
    }
    return NULL;
}

static Node *host_to_node(Build *b, HExpr *h, DType want, Span at) {
    if (h->type == HT_STRING) {
        build_error(b, at, "expected a number or a tensor, found a run-time string");
        return NULL;
    }
    bool real = want != DT_N && dtype_is_real(want);
    if (h->kind == HX_NODE) {
        Node *n = node_here(b, h->node);
        return real ? graph_cast(b->g, n, want) : n;
    }
    DType t = h->type == HT_REAL ? b->g->real : h->type == HT_BOOL ? DT_BOOL : DT_I32;
    if (real && t == DT_I32) {
        t = b->g->real;
        h = host_op(b, OP_cast, HT_REAL, h, NULL, NULL);
    }
    Node *n = find_scalar(b, h, t);
    if (!n) {
        Scalar *s = NEW(b->arena, Scalar);
        s->id = b->p->scalars.n;
        s->called = host_name(b, h);
        s->name = names_unique(b->scalars,
                               emit_name(b->arena, arena_identifier(b->arena, s->called)), "_");
        s->dtype = t;
        s->value = h;
        s->region = b->region;
        s->span = at;
        vec_push(b->arena, &b->p->scalars, s);
        n = graph_scalar(b->g, s);
    }
    bool convert =
        want != DT_N && t != DT_BOOL && (dtype_is_real(want) || (want == DT_I64 && t == DT_I32));
    return convert ? graph_cast(b->g, n, want) : n;
}

HExpr *value_to_host(Build *b, Value v, Span at) {
    switch (v.kind) {
    case V_POISON:
        return NULL;
    case V_NUMBER:
        if (v.num.count)
            return region_output(b, value_to_node(b, v, DT_I32, at));
        return v.num.is_int ? host_const_int(b, v.num.i) : host_const_real(b, v.num.f);
    case V_BOOL:
        return host_const_bool(b, v.boolean);
    case V_STRING:
        return host_const_string(b, v.string);
    case V_HOST:
        return v.host;
    case V_TENSOR:
        if (v.node->shape.rank == 0)
            return region_output(b, v.node);
        break;
    default:
        break;
    }
    build_error(b, at, "expected a scalar, found %s", value_text(b, v));
    return NULL;
}

/* A host bool; an error when v is none. what: "'if'" */
HExpr *value_to_condition(Build *b, Value v, const char *what, Span at) {
    if (v.kind == V_POISON)
        return NULL;
    bool wide = v.kind == V_TENSOR && v.node->shape.rank;
    HExpr *h = value_is_scalar(v) && !wide ? value_to_host(b, v, at) : NULL;
    if (h && h->type == HT_BOOL)
        return h;
    bool bools = wide && v.node->dtype == DT_BOOL;
    build_error(b, at, "%s takes one bool, found %s%s", what, value_text(b, v),
                bools ? " (all(…) and any(…) make one of many)" : "");
    return NULL;
}

/* ---- constants and sizes as nodes ---- */

enum { INT_LIMIT = 53 }; /* constants of the graph are doubles */

static Node *number_to_node(Build *b, Value v, DType want, Span at) {
    const Shape s = shape_scalar();
    bool integral = v.num.is_int || (fabs(v.num.f) < 0x1p53 && floor(v.num.f) == v.num.f);
    bool literal_int = want == DT_N ? v.num.is_int : !dtype_is_real(want) && integral;
    if (!literal_int)
        return graph_constant(b->g, want != DT_N && dtype_is_real(want) ? want : b->g->real, &s,
                              v.num.f);
    int64_t i = v.num.is_int ? v.num.i : (int64_t)v.num.f;
    DType t = want == DT_N || want == DT_BOOL ? DT_I32 : want;
    int64_t lo = t == DT_U8 ? 0 : t == DT_I32 ? INT32_MIN : -(INT64_C(1) << INT_LIMIT);
    int64_t hi = t == DT_U8 ? 255 : t == DT_I32 ? INT32_MAX : INT64_C(1) << INT_LIMIT;
    if (i < lo || i > hi) {
        build_error(b, at, "%lld does not fit the type %s", (long long)i, dtype_name(t));
        return NULL;
    }
    return graph_constant(b->g, t, &s, (double)i);
}

/* count * (n / bound) */
static Node *size_to_node(Build *b, Value v, DType want) {
    const Shape s = shape_scalar();
    Node *n = graph_count(b->g, v.num.count);
    int64_t factor = v.num.i / v.num.count->bound;
    if (factor != 1)
        n = graph_binary(b->g, OP_mul, n, graph_constant(b->g, DT_I32, &s, (double)factor));
    bool keep = want == DT_N || want == DT_BOOL || want == DT_U8;
    return keep ? n : graph_cast(b->g, n, want);
}

/* ---- lists as tensors ---- */

/* Extents of a nested list of constants; false when it is ragged or holds something else. */
static bool list_shape(Value v, int depth, Shape *s) {
    if (v.kind != V_LIST)
        return depth == s->rank && (v.kind == V_NUMBER || v.kind == V_BOOL) && value_is_known(v);
    if (depth == MAX_RANK || v.list->n == 0)
        return false;
    if (depth == s->rank)
        s->dim[s->rank++] = (Dim){v.list->n, NULL};
    if (s->dim[depth].n != v.list->n)
        return false;
    for (int i = 0; i < v.list->n; i++)
        if (!list_shape(v.list->at[i], depth + 1, s))
            return false;
    return true;
}

typedef struct Flat {
    double *at;
    int64_t n;
    bool all_bool, all_int;
} Flat;

static void flatten(Value v, Flat *f) {
    if (v.kind == V_LIST) {
        for (int i = 0; i < v.list->n; i++)
            flatten(v.list->at[i], f);
        return;
    }
    f->all_bool = f->all_bool && v.kind == V_BOOL;
    f->all_int = f->all_int && (v.kind == V_BOOL || v.num.is_int);
    f->at[f->n++] = v.kind == V_BOOL ? v.boolean : v.num.f;
}

/* The depth of the first path says the rank; a sibling that differs makes the list ragged. */
static Node *list_constant(Build *b, Value v, DType want) {
    Shape s = {0};
    if (!list_shape(v, 0, &s))
        return NULL;
    Flat f = {NEW_ARRAY(b->arena, double, shape_elements(&s) + 1), 0, true, true};
    flatten(v, &f);
    DType own = f.all_bool ? DT_BOOL : f.all_int ? DT_I32 : b->g->real;
    bool takes =
        want != DT_N && own != DT_BOOL && want != DT_BOOL && (own == DT_I32 || dtype_is_real(want));
    return graph_data(b->g, takes ? want : own, &s, f.at);
}

static Node *list_to_node(Build *b, Value v, DType want, Span at) {
    if (v.list->n == 0) {
        build_error(b, at, "expected a tensor, found an empty list");
        return NULL;
    }
    Node *n = list_constant(b, v, want);
    if (n)
        return n;
    Node **items = NEW_ARRAY(b->arena, Node *, v.list->n);
    if (!value_unify(b, v.list->at, v.list->n, want, at, "put into one tensor", items))
        return NULL;
    for (int i = 1; i < v.list->n; i++)
        if (!shape_equal(&items[i]->shape, &items[0]->shape)) {
            build_error(
                b, at,
                "the items of a list that is used as a tensor must have one shape, found %s and %s",
                shape_text(b->arena, &items[0]->shape), shape_text(b->arena, &items[i]->shape));
            return NULL;
        }
    return node_stack(b, items, v.list->n, 0, at);
}

/* Nodes of one type and shape side by side along a new axis. */
Node *node_stack(Build *b, Node *const *items, int n, int axis, Span at) {
    Shape s = items[0]->shape;
    if (s.rank == MAX_RANK) {
        build_error(b, at, "a tensor has at most %d dimensions", MAX_RANK);
        return NULL;
    }
    for (int i = s.rank; i > axis; i--)
        s.dim[i] = s.dim[i - 1];
    s.dim[axis] = (Dim){1, NULL};
    s.rank++;
    Node **wide = NEW_ARRAY(b->arena, Node *, n);
    for (int i = 0; i < n; i++)
        wide[i] = graph_reshape(b->g, items[i], &s);
    return n == 1 ? wide[0] : graph_concat(b->g, n, wide, axis);
}

Node *value_to_node(Build *b, Value v, DType want, Span at) {
    const Shape s = shape_scalar();
    switch (v.kind) {
    case V_POISON:
        return NULL;
    case V_TENSOR:
        return node_here(b, v.node);
    case V_NUMBER:
        return v.num.count ? size_to_node(b, v, want) : number_to_node(b, v, want, at);
    case V_BOOL:
        return graph_constant(b->g, DT_BOOL, &s, v.boolean);
    case V_HOST:
        return host_to_node(b, v.host, want, at);
    case V_LIST:
        return list_to_node(b, v, want, at);
    default:
        build_error(b, at, "expected a tensor, found %s", value_text(b, v));
        return NULL;
    }
}

/* ---- constants asked for ---- */

/* "H/2 = " where that is what stands there (ruling A9) */
static const char *division_text(Build *b, Span at) {
    const SourceFile *f = at.file ? diag_file(b->diag, at.file) : NULL;
    const char *text = f ? arena_strndup(b->arena, f->text + at.lo, at.hi - at.lo) : "";
    bool short_one = strchr(text, '/') && strlen(text) < 40 && !strpbrk(text, "[\n\"");
    return short_one ? arena_printf(b->arena, "%s = ", text) : "";
}

bool value_to_int(Build *b, Value v, const char *what, Span at, int64_t *out) {
    if (v.kind == V_POISON)
        return false;
    if (v.kind == V_NUMBER && !v.num.count) {
        *out = v.num.is_int ? v.num.i : 0;
        bool integral = v.num.is_int || (fabs(v.num.f) < 0x1p53 && floor(v.num.f) == v.num.f);
        if (integral && !v.num.is_int)
            *out = (int64_t)v.num.f;
        if (integral)
            return true;
        build_error(b, at, "%s must be an integer, found %s%s", what, division_text(b, at),
                    value_text(b, v));
        return false;
    }
    build_error(b, at, "%s must be an integer that is known when nnc runs, found %s%s", what,
                value_text(b, v),
                v.kind == V_HOST ? "; make it a const (nnc -D changes it)" : "");
    return false;
}

bool value_to_dim(Build *b, Value v, const char *what, Span at, Dim *out) {
    if (v.kind == V_NUMBER && v.num.count) {
        *out = (Dim){v.num.i, v.num.count};
        return true;
    }
    int64_t n;
    if (!value_to_int(b, v, what, at, &n))
        return false;
    if (n < 1) {
        build_error(b, at, "%s must be at least 1, found %lld", what, (long long)n);
        return false;
    }
    *out = (Dim){n, NULL};
    return true;
}

/* Ruling A17: one run-time size in a shape. */
/* Subscripts are i32 in what a trainer runs. */
static bool elements_check(Build *b, const Shape *s, Span at) {
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++)
        if (__builtin_mul_overflow(n, s->dim[i].n, &n) || n > INT32_MAX) {
            build_error(b, at, "a tensor has at most 2^31-1 elements, found %s",
                        shape_text(b->arena, s));
            return false;
        }
    return true;
}

void build_check_sizes(Build *b) {
    for (int i = 0; i < b->g->nodes.n; i++)
        if (!elements_check(b, &b->g->nodes.at[i]->shape, b->g->nodes.at[i]->span))
            return;
}

bool shape_check(Build *b, const Shape *s, Span at) {
    if (!elements_check(b, s, at))
        return false;
    int counts = 0;
    for (int i = 0; i < s->rank; i++)
        counts += s->dim[i].count != NULL;
    if (counts < 2)
        return true;
    build_error(b, at,
                "%s has two sizes that are known only at run time (batches(…, last=\"drop\") makes "
                "them constants)",
                shape_text(b->arena, s));
    return false;
}

bool value_to_shape(Build *b, Value v, Span at, Shape *out) {
    *out = (Shape){0};
    if (v.kind == V_NUMBER)
        v = value_list(b, &v, 1, false);
    if (v.kind != V_LIST) {
        if (v.kind != V_POISON)
            build_error(b, at, "expected a shape, such as [64, 10], found %s", value_text(b, v));
        return false;
    }
    if (v.list->n > MAX_RANK) {
        build_error(b, at, "a tensor has at most %d dimensions, found %d", MAX_RANK, v.list->n);
        return false;
    }
    for (int i = 0; i < v.list->n; i++)
        if (!value_to_dim(b, v.list->at[i], "a dimension", at, &out->dim[out->rank++]))
            return false;
    return shape_check(b, out, at);
}

bool value_to_bool(Build *b, Value v, const char *what, Span at, bool *out) {
    if (v.kind == V_BOOL) {
        *out = v.boolean;
        return true;
    }
    if (v.kind != V_POISON)
        build_error(b, at, "%s must be true or false and known when nnc runs, found %s", what,
                    value_text(b, v));
    return false;
}

bool value_to_axis(Build *b, Value v, int rank, Span at, int *out) {
    int64_t i;
    if (!value_to_int(b, v, "an axis", at, &i))
        return false;
    if (i < -rank || i >= rank) {
        if (rank == 0)
            build_error(b, at, "axis %lld: a scalar has no axes", (long long)i);
        else
            build_error(b, at, "axis %lld is out of range: the tensor has %d dimension%s",
                        (long long)i, rank, rank == 1 ? "" : "s");
        return false;
    }
    *out = (int)(i < 0 ? i + rank : i);
    return true;
}

bool value_to_axes(Build *b, Value v, int rank, Span at, unsigned *out) {
    *out = 0;
    if (v.kind == V_NONE || (v.kind == V_STRING && strcmp(v.string, "*") == 0)) {
        int n = v.kind == V_NONE ? rank : rank - 1;
        *out = n > 0 ? (1u << n) - 1 : 0;
        return true;
    }
    if (v.kind != V_LIST)
        v = value_list(b, &v, 1, false);
    for (int i = 0; i < v.list->n; i++) {
        int axis;
        if (!value_to_axis(b, v.list->at[i], rank, at, &axis))
            return false;
        if (*out & 1u << axis) {
            build_error(b, at, "axis %d stands twice in %s", axis, value_text(b, v));
            return false;
        }
        *out |= 1u << axis;
    }
    return true;
}
