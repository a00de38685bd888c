/* build_arith.c: arithmetic on values of any kind: promotion, broadcasting, folding of constants.
 */
#include "build_host.h"
#include "op_rules.h"
#include <math.h>

/* ---- element types (ruling A8) ---- */

/* The type a value has as a tensor; weak ones (literals, host scalars) take the type of what they
 * meet. */
typedef struct Element {
    DType type;
    bool weak;
} Element;

static bool element_of(Build *b, Value v, Element *out) {
    static const DType host[] = {[HT_INT] = DT_I32, [HT_REAL] = DT_N, [HT_BOOL] = DT_BOOL};
    switch (v.kind) {
    case V_TENSOR:
        *out = (Element){v.node->dtype, false};
        return true;
    case V_NUMBER:
        *out = (Element){v.num.is_int ? DT_I32 : b->g->real, true};
        return true;
    case V_BOOL:
        *out = (Element){DT_BOOL, true};
        return true;
    case V_HOST:
        if (v.host->type == HT_STRING)
            return false;
        *out = (Element){v.host->type == HT_REAL ? b->g->real : host[v.host->type], true};
        return true;
    default:
        return false;
    }
}

DType dtype_promote(Build *b, DType x, DType y, bool *ok) {
    (void)b;
    *ok = true;
    if (x == y)
        return x;
    if (dtype_is_real(x) || dtype_is_real(y)) {
        *ok = !(dtype_is_real(x) && dtype_is_real(y));
        return dtype_is_real(x) ? x : y;
    }
    return x == DT_I64 || y == DT_I64 ? DT_I64 : DT_I32;
}

static Element join(Build *b, Element x, Element y, bool *ok) {
    *ok = true;
    if (x.weak && !y.weak)
        return join(b, y, x, ok);
    if (x.weak == y.weak) {
        Element e = {dtype_promote(b, x.type, y.type, ok), x.weak};
        return e;
    }
    if (dtype_is_real(y.type) && !dtype_is_real(x.type))
        return (Element){b->g->real, false};
    bool grows = y.type == DT_I32 && (x.type == DT_BOOL || x.type == DT_U8);
    return (Element){grows ? DT_I32 : x.type, false};
}

/* v in the given type; literals are made in it. */
static Node *typed_node(Build *b, Value v, DType t, Span at) {
    Node *n = value_to_node(b, v, t, at);
    return n ? graph_cast(b->g, n, t) : NULL;
}

/* Lists of anything but constants become tensors first, so that their type is known. */
static bool settle(Build *b, Value *v, Span at) {
    if (v->kind == V_LIST)
        *v = value_node(value_to_node(b, *v, DT_N, at));
    return v->kind != V_POISON;
}

static Element list_element(Build *b, Value v) {
    Element e = {DT_BOOL, true}, item;
    bool ok;
    for (int i = 0; i < v.list->n; i++) {
        const Value x = v.list->at[i];
        item = (Element){DT_BOOL, true};
        if (x.kind == V_LIST)
            item = list_element(b, x);
        else
            element_of(b, x, &item);
        e = join(b, e, item, &ok);
    }
    return e;
}

/* The common type of all; false with an error when there is none. */
static bool common_type(Build *b, Value *v, int n, Span at, const char *what, Element *out) {
    for (int i = 0; i < n; i++) {
        Element e;
        if (v[i].kind == V_POISON)
            return false;
        if (v[i].kind == V_LIST && value_is_known(v[i]))
            e = list_element(b, v[i]);
        else if (!settle(b, &v[i], at))
            return false;
        else if (!element_of(b, v[i], &e)) {
            build_error(b, at, "cannot %s %s", what, value_text(b, v[i]));
            return false;
        }
        bool ok = true;
        DType before = out->type;
        *out = i ? join(b, *out, e, &ok) : e;
        if (!ok) {
            build_error(b, at, "cannot %s %s and %s: convert one of them, as in cast(x, %s)", what,
                        dtype_name(before), dtype_name(e.type), dtype_name(before));
            return false;
        }
    }
    return true;
}

bool value_unify(Build *b, const Value *v, int n, DType want, Span at, const char *what,
                 Node **out) {
    Value *own = NEW_ARRAY(b->arena, Value, n + 1);
    memcpy(own, v, sizeof(Value) * (size_t)n);
    Element e = {DT_BOOL, true};
    if (!common_type(b, own, n, at, what, &e))
        return false;
    bool takes = e.weak && want != DT_N && e.type != DT_BOOL &&
                 (dtype_is_real(want) || dtype_is_int(e.type));
    for (int i = 0; i < n; i++)
        if (!(out[i] = typed_node(b, own[i], takes ? want : e.type, at)))
            return false;
    return true;
}

/* ---- broadcasting ---- */

static const char *extent_text(Build *b, Dim d) {
    return arena_printf(b->arena, d.count ? "up to %lld" : "%lld", (long long)d.n);
}

static bool is_one(Dim d) {
    return d.n == 1 && !d.count;
}

static void no_broadcast(Build *b, const Shape *x, const Shape *y, int back, Span at,
                         const char *what) {
    Dim dx = x->dim[x->rank - back], dy = y->dim[y->rank - back];
    build_error(b, at, "cannot %s %s and %s: dimension %d is %s in the first and %s in the second",
                what, shape_text(b->arena, x), shape_text(b->arena, y),
                -back, extent_text(b, dx),
                extent_text(b, dy));
    if (dx.n == dy.n)
        diag_note(b->diag, at,
                  "the last batch may be smaller; batches(…, last=\"drop\") makes all alike");
}

/* NumPy's rule: aligned at the last dimension, equal or 1. */
static bool broadcast_shape(Build *b, const Shape *x, const Shape *y, Span at, const char *what,
                            Shape *out) {
    *out = x->rank >= y->rank ? *x : *y;
    for (int back = 1; back <= x->rank && back <= y->rank; back++) {
        Dim dx = x->dim[x->rank - back], dy = y->dim[y->rank - back];
        if (!dim_equal(dx, dy) && !is_one(dx) && !is_one(dy)) {
            no_broadcast(b, x, y, back, at, what);
            return false;
        }
        out->dim[out->rank - back] = is_one(dx) ? dy : dx;
    }
    return shape_check(b, out, at);
}

/* n in the given shape; constants are made in it. */
static Node *spread(Build *b, Node *n, const Shape *s) {
    if (n->op == OP_constant && !n->attr.constant.data)
        return graph_constant(b->g, n->dtype, s, n->attr.constant.value);
    return graph_broadcast_to(b->g, n, s);
}

static bool meet_as(Build *b, Value *v, DType t, Span at, const char *what, Node **nx, Node **ny) {
    *nx = typed_node(b, v[0], t, at);
    *ny = *nx ? typed_node(b, v[1], t, at) : NULL;
    Shape s;
    if (!*ny || !broadcast_shape(b, &(*nx)->shape, &(*ny)->shape, at, what, &s))
        return false;
    *nx = spread(b, *nx, &s);
    *ny = spread(b, *ny, &s);
    return true;
}

bool value_meet(Build *b, Value x, Value y, Span at, const char *what, Node **nx, Node **ny) {
    Value v[2] = {x, y};
    Element e;
    return common_type(b, v, 2, at, what, &e) && meet_as(b, v, e.type, at, what, nx, ny);
}

/* ---- what an operator accepts and gives ---- */

typedef enum Class {
    ARITHMETIC, /* int with int gives int, bool counts 0 or 1 */
    REAL,       /* integers become the program's float */
    COMPARE,    /* gives bool */
    ORDER,      /* gives bool; bool counts 0 or 1 */
    LOGIC       /* bool only */
} Class;

typedef struct Operator {
    Op op;
    Class class;
    const char *verb;
} Operator;

/* What the row of the op says. */
static Operator operator_of(Build *b, Op op) {
    static const struct {
        Op op;
        const char *verb;
    } verbs[] = {
        {OP_add, "add"},         {OP_sub, "subtract"}, {OP_mul, "multiply"},
        {OP_floordiv, "divide"}, {OP_div, "divide"},   {OP_mod, "take the remainder of"},
        {OP_pow, "take the power of"},
    };
    const OpInfo *info = &op_info[op];
    bool compares = info->flags & OPF_CMP, logic = info->shape == shape_rule_boolean;
    Operator o = {.op = op, .verb = compares ? "compare" : logic ? "combine" : NULL};
    o.class = compares                         ? ORDER
              : logic                          ? LOGIC
              : info->shape == shape_rule_real ? REAL
                                               : ARITHMETIC;
    if (compares && info->flags & OPF_COMM) /* = and ≠ */
        o.class = COMPARE;
    for (int i = 0; i < COUNT_OF(verbs) && !o.verb; i++)
        if (verbs[i].op == op)
            o.verb = verbs[i].verb;
    if (!o.verb)
        o.verb = arena_printf(b->arena, "take the %s of", info->name);
    return o;
}

static DType operand_type(Build *b, Class class, DType t) {
    if (class == REAL)
        return dtype_is_real(t) ? t : b->g->real;
    bool small = t == DT_BOOL || t == DT_U8;
    return small && (class == ARITHMETIC || (class == ORDER && t == DT_BOOL)) ? DT_I32 : t;
}

static Value tensor_binary(Build *b, const Operator *o, Value x, Value y, Span at) {
    Value v[2] = {x, y};
    Element e;
    Node *nx, *ny;
    if (!common_type(b, v, 2, at, o->verb, &e))
        return value_poison;
    if (o->class == LOGIC && e.type != DT_BOOL) {
        build_error(b, at, "'%s' combines bools, found %s and %s", op_info[o->op].name,
                    value_text(b, x), value_text(b, y));
        return value_poison;
    }
    if (!meet_as(b, v, operand_type(b, o->class, e.type), at, o->verb, &nx, &ny))
        return value_poison;
    return value_node(graph_binary(b->g, o->op, nx, ny));
}

/* ---- constants ---- */

static Value fold_real(Op op, double x, double y) {
    bool truth = op_info[op].flags & OPF_CMP;
    double z = interp_number(op, truth ? DT_BOOL : DT_F64, 2, (const double[]){x, y});
    return truth ? value_bool(z != 0) : value_real(z);
}

static bool int_power(int64_t x, int64_t n, int64_t *out) {
    *out = 1;
    for (int64_t i = 0; i < n; i++) {
        if (__builtin_mul_overflow(*out, x, out))
            return false;
        if (x == 0 || x == 1)
            return true;
    }
    return true;
}

/* Integer division rounds towards minus infinity, the remainder has the sign of the divisor. */
static int64_t floor_div(int64_t x, int64_t y) {
    return x / y - (x % y != 0 && (x < 0) != (y < 0));
}

/* By the oracle, which is exact up to 2^53; false: beyond. */
static bool fold_exact(Op op, int n, int64_t x, int64_t y, int64_t *z) {
    const int64_t exact = (int64_t)1 << 53;
    double r = interp_number(op, DT_I64, n, (const double[]){(double)x, (double)y});
    *z = fabs(r) < (double)exact ? (int64_t)r : 0;
    return x > -exact && x < exact && y > -exact && y < exact && fabs(r) < (double)exact;
}

/* Integer result in *z; false: overflow. */
static bool fold_int(Op op, int64_t x, int64_t y, int64_t *z) {
    switch (op) {
    case OP_add:
        return !__builtin_add_overflow(x, y, z);
    case OP_sub:
        return !__builtin_sub_overflow(x, y, z);
    case OP_mul:
        return !__builtin_mul_overflow(x, y, z);
    case OP_floordiv:
        *z = y == -1 ? 0 : floor_div(x, y);
        return y != -1 || !__builtin_sub_overflow((int64_t)0, x, z);
    case OP_mod:
        *z = y == -1 ? 0 : x - y * floor_div(x, y);
        return true;
    case OP_minimum:
        *z = MIN(x, y);
        return true;
    case OP_maximum:
        *z = MAX(x, y);
        return true;
    case OP_pow:
        return int_power(x, y, z);
    default:
        return fold_exact(op, 2, x, y, z);
    }
}

static Value fold_numbers(Build *b, const Operator *o, Value x, Value y, Span at) {
    Op op = o->op;
    bool ints = x.num.is_int && y.num.is_int;
    bool divides = op == OP_div || op == OP_floordiv || op == OP_mod;
    if (ints && divides && y.num.i == 0) {
        build_error(b, at, "division of %lld by zero", (long long)x.num.i);
        return value_poison;
    }
    if (ints && op_info[op].flags & OPF_CMP) {
        int64_t d = (x.num.i > y.num.i) - (x.num.i < y.num.i);
        return fold_real(op, (double)d, 0);
    }
    bool stays_int = o->class == ARITHMETIC || (op == OP_pow && y.num.i >= 0);
    if (!ints || !stays_int)
        return fold_real(op, x.num.f, y.num.f);
    int64_t z;
    if (fold_int(op, x.num.i, y.num.i, &z))
        return value_int(z);
    static const char *const signs[] = {[OP_add] = "+", [OP_sub] = "-",       [OP_mul] = "*",
                                        [OP_pow] = "^", [OP_floordiv] = "//", [OP_mod] = "%"};
    const char *sign = (int)op < COUNT_OF(signs) && signs[op] ? signs[op] : op_info[op].name;
    build_error(b, at, "%lld %s %lld is too large for an integer", (long long)x.num.i, sign,
                (long long)y.num.i);
    return value_poison;
}

static Value fold_bools(Op op, bool x, bool y) {
    return value_bool(interp_number(op, DT_BOOL, 2, (const double[]){x, y}) != 0);
}

/* Sizes known only at run time: what stays a size, or is known in spite of that. */
static bool fold_sizes(Op op, Value x, Value y, Value *out) {
    bool same = x.num.count == y.num.count;
    bool constant = x.num.count && !y.num.count && y.num.is_int && y.num.i > 0;
    int64_t n = x.num.i, m = y.num.i, bound = x.num.count ? x.num.count->bound : 1;
    *out = x;
    if (op == OP_mul && !x.num.count && x.num.is_int)
        return fold_sizes(op, y, x, out);
    if (op == OP_mul && constant && !__builtin_mul_overflow(n, m, &n)) {
        *out = value_dim((Dim){n, x.num.count});
        return true;
    }
    if (op == OP_floordiv && constant && n / bound % m == 0) {
        *out = value_dim((Dim){n / m, x.num.count});
        return true;
    }
    if (!same)
        return false;
    switch (op) {
    case OP_add:
        *out = value_dim((Dim){n + m, x.num.count});
        return true;
    case OP_sub:
        *out = n > m ? value_dim((Dim){n - m, x.num.count}) : value_int(0);
        return n >= m;
    case OP_div:
        *out = value_real((double)n / (double)m);
        return true;
    case OP_floordiv:
        *out = value_int(n / m);
        return true;
    default:
        *out = fold_real(op, (double)n, (double)m);
        return op_info[op].flags & OPF_CMP;
    }
}

/* ---- host scalars ---- */

static Value host_result(Build *b, Op op, HType t, HExpr *x, HExpr *y, Span at) {
    HExpr *h = host_op(b, op, t, x, y, NULL);
    h->span = build_place(b, at);
    return value_host(h);
}

static HExpr *host_cast(Build *b, HExpr *h, HType t) {
    if (h->kind == HX_CONST && h->type == HT_INT && t == HT_REAL)
        return host_const_real(b, (double)h->i);
    return h->type == t ? h : host_op(b, OP_cast, t, h, NULL, NULL);
}

static bool is_host_constant(const HExpr *h, int64_t n) {
    if (h->kind != HX_CONST || (h->type != HT_REAL && h->type != HT_INT))
        return false;
    return h->type == HT_REAL ? h->f == (double)n && !signbit(h->f) : h->i == n;
}

/* x - 0, x * 1, 1 * x and x / 1 are x, bit by bit; x + 0 is not: -0 + 0 is 0. NULL: something
 * is to be computed. */
static HExpr *host_unchanged(Op op, HExpr *x, HExpr *y) {
    if (op == OP_sub && is_host_constant(y, 0))
        return x;
    if ((op == OP_mul || op == OP_div) && is_host_constant(y, 1))
        return x;
    return op == OP_mul && is_host_constant(x, 1) ? y : NULL;
}

static Value host_binary(Build *b, const Operator *o, Value x, Value y, Span at) {
    HExpr *hx = value_to_host(b, x, at), *hy = value_to_host(b, y, at);
    if (!hx || !hy)
        return value_poison;
    HType tx = hx->type, ty = hy->type;
    bool strings = tx == HT_STRING && ty == HT_STRING && o->class == COMPARE;
    bool bools = tx == HT_BOOL && ty == HT_BOOL && (o->class == LOGIC || o->class == COMPARE);
    if (strings || bools)
        return host_result(b, o->op, HT_BOOL, hx, hy, at);
    if (o->class == LOGIC || tx == HT_STRING || ty == HT_STRING) {
        build_error(b, at, o->class == LOGIC ? "cannot %s %s and %s: both must be bool"
                                             : "cannot %s %s and %s",
                    o->verb, value_text(b, x), value_text(b, y));
        return value_poison;
    }
    HType t = o->class == REAL || tx == HT_REAL || ty == HT_REAL ? HT_REAL : HT_INT;
    HType result = o->class == COMPARE || o->class == ORDER ? HT_BOOL : t;
    hx = host_cast(b, hx, t);
    hy = host_cast(b, hy, t);
    HExpr *same = result == t ? host_unchanged(o->op, hx, hy) : NULL;
    return same ? value_host(same) : host_result(b, o->op, result, hx, hy, at);
}

/* ---- two operands ---- */

static bool is_zero(Value v) {
    return v.kind == V_NUMBER && v.num.is_int && v.num.i == 0;
}

static bool is_integer(Build *b, Value v) {
    Element e;
    if (v.kind == V_LIST)
        return value_is_known(v) && !dtype_is_real(list_element(b, v).type);
    return element_of(b, v, &e) && !dtype_is_real(e.type);
}

/* x^0, of the type that x * x has */
static Value ones_like(Build *b, Value x, Span at) {
    Value square = value_binary(b, OP_mul, x, x, at);
    if (square.kind == V_HOST)
        return square.host->type == HT_INT ? value_int(1) : value_real(1);
    if (square.kind != V_TENSOR)
        return square;
    const Node *n = square.node;
    return value_node(graph_constant(b->g, n->dtype, &n->shape, 1));
}

/* x^n for a small constant n is repeated multiplication (ruling D5). */
static Value small_power(Build *b, Value x, int64_t n, Span at) {
    if (n < 0)
        return value_binary(b, OP_div, value_int(1), small_power(b, x, -n, at), at);
    if (n == 0)
        return ones_like(b, x, at);
    if (n == 1)
        return value_binary(b, OP_mul, x, value_int(1), at);
    Value half = n == 2 || n == 3 ? x : small_power(b, x, n / 2, at);
    Value square = value_binary(b, OP_mul, half, half, at);
    return n % 2 ? value_binary(b, OP_mul, square, x, at) : square;
}

enum { MAX_MULTIPLIED_POWER = 64 };

static bool logic_known(Build *b, Op op, Value x, Value y, Value *out) {
    if (op != OP_and && op != OP_or)
        return false;
    if (x.kind != V_BOOL)
        return y.kind == V_BOOL && logic_known(b, op, y, x, out);
    bool other_scalar = y.kind == V_BOOL || (y.kind == V_HOST && y.host->type == HT_BOOL);
    bool other_tensor = y.kind == V_TENSOR && y.node->dtype == DT_BOOL;
    bool decides = x.boolean == (op == OP_or);
    *out = decides ? x : y;
    return other_scalar || (other_tensor && !decides);
}

static Value known_number(Value v) {
    return v.kind == V_BOOL ? value_int(v.boolean) : v;
}

/* Both are numbers or bools. */
static bool fold_binary(Build *b, const Operator *o, Value x, Value y, Span at, Value *out) {
    if (x.kind == V_BOOL && y.kind == V_BOOL && (o->class == LOGIC || o->class == COMPARE)) {
        *out = fold_bools(o->op, x.boolean, y.boolean);
        return true;
    }
    if (o->class == LOGIC)
        return false;
    x = known_number(x);
    y = known_number(y);
    if (x.num.count || y.num.count)
        return fold_sizes(o->op, x, y, out);
    *out = fold_numbers(b, o, x, y, at);
    return true;
}

/* Equality of things that are no numbers and known now. */
static bool known_equality(const Operator *o, Value x, Value y, Value *out) {
    if (o->op != OP_eq && o->op != OP_ne)
        return false;
    bool none = x.kind == V_NONE || y.kind == V_NONE;
    bool strings = x.kind == V_STRING && y.kind == V_STRING;
    bool lists = x.kind == V_LIST && y.kind == V_LIST;
    *out = value_bool(value_equal(x, y) == (o->op == OP_eq));
    return none || strings || lists;
}

static bool is_plain(Value v) {
    return v.kind == V_NUMBER || v.kind == V_BOOL;
}

static bool is_hosted(Value v) {
    return v.kind == V_HOST || v.kind == V_BOOL || v.kind == V_STRING ||
           (v.kind == V_NUMBER && !v.num.count);
}

Value value_binary(Build *b, Op op, Value x, Value y, Span at) {
    const Operator found = operator_of(b, op), *o = &found;
    Value known;
    if (x.kind == V_POISON || y.kind == V_POISON)
        return value_poison;
    if (known_equality(o, x, y, &known) || logic_known(b, op, x, y, &known))
        return known;
    if (is_plain(x) && is_plain(y) && fold_binary(b, o, x, y, at, &known))
        return known;
    bool small = y.kind == V_NUMBER && y.num.is_int && !y.num.count &&
                 llabs(y.num.i) <= MAX_MULTIPLIED_POWER;
    if (op == OP_pow && small)
        return small_power(b, x, y.num.i, at);
    if ((op == OP_floordiv || op == OP_mod) && is_zero(y) && is_integer(b, x)) {
        build_error(b, at, "division of integers by zero");
        return value_poison;
    }
    if (is_hosted(x) && is_hosted(y) && (x.kind == V_HOST || y.kind == V_HOST))
        return host_binary(b, o, x, y, at);
    return tensor_binary(b, o, x, y, at);
}

/* ---- one operand ---- */

/* Of an integer it gives an integer; the others turn integers into the program's float. */
static bool keeps_int(Op op) {
    return op_info[op].shape == shape_rule_same || op_info[op].flags & OPF_WHOLE;
}

static bool rounds(Op op) {
    return op_info[op].flags & OPF_WHOLE;
}

static Value fold_unary(Build *b, Op op, Value x, Span at) {
    if (!x.num.is_int || !keeps_int(op))
        return value_real(interp_number(op, DT_F64, 1, &x.num.f));
    if (rounds(op))
        return x;
    int64_t i = x.num.i, z = (i > 0) - (i < 0);
    bool negates = op == OP_neg || (op == OP_abs && i < 0), large = false;
    if (negates)
        large = __builtin_sub_overflow((int64_t)0, i, &z);
    else if (op == OP_abs)
        z = i;
    else if (op != OP_sign)
        large = !fold_exact(op, 1, i, 0, &z);
    if (!large)
        return value_int(z);
    build_error(b, at, "'%s' of %lld is too large for an integer", op_info[op].name, (long long)i);
    return value_poison;
}

static Value host_unary(Build *b, Op op, HExpr *h, Span at) {
    if (h->type == HT_STRING) {
        build_error(b, at, "'%s' takes a number, found a string", op_info[op].name);
        return value_poison;
    }
    HType t = keeps_int(op) && h->type != HT_REAL ? HT_INT : HT_REAL;
    h = host_cast(b, h, t);
    return rounds(op) && t == HT_INT ? value_host(h) : host_result(b, op, t, h, NULL, at);
}

static Value value_not(Build *b, Value x, Span at) {
    if (x.kind == V_BOOL)
        return value_bool(!x.boolean);
    if (x.kind == V_HOST && x.host->type == HT_BOOL)
        return host_result(b, OP_not, HT_BOOL, x.host, NULL, at);
    if (x.kind == V_LIST)
        x = value_node(value_to_node(b, x, DT_N, at));
    if (x.kind == V_TENSOR && x.node->dtype == DT_BOOL)
        return value_node(graph_unary(b->g, OP_not, node_here(b, x.node)));
    if (x.kind != V_POISON)
        build_error(b, at, "'not' takes a bool, found %s", value_text(b, x));
    return value_poison;
}

static Value value_stop(Build *b, Value x, Span at) {
    if (is_plain(x) || x.kind == V_HOST)
        return x;
    Node *n = value_to_node(b, x, DT_N, at);
    return n ? value_node(graph_unary(b->g, OP_stop, n)) : value_poison;
}

static Value value_isfinite(Build *b, Value x, Span at) {
    if (x.kind == V_BOOL || (x.kind == V_NUMBER && !x.num.count))
        return value_bool(x.kind == V_BOOL || x.num.is_int || isfinite(x.num.f));
    if (x.kind == V_HOST && x.host->type != HT_STRING)
        return x.host->type == HT_REAL ? host_result(b, OP_isfinite, HT_BOOL, x.host, NULL, at)
                                       : value_bool(true);
    Node *n = value_to_node(b, x, DT_N, at);
    if (!n)
        return value_poison;
    if (!dtype_is_real(n->dtype))
        n = graph_cast(b->g, n, b->g->real);
    return value_node(graph_unary(b->g, OP_isfinite, n));
}

Value value_unary(Build *b, Op op, Value x, Span at) {
    if (x.kind == V_POISON)
        return x;
    if (op == OP_not)
        return value_not(b, x, at);
    if (op == OP_stop)
        return value_stop(b, x, at);
    if (op == OP_isfinite)
        return value_isfinite(b, x, at);
    if (is_plain(x) && !known_number(x).num.count)
        return fold_unary(b, op, known_number(x), at);
    if (x.kind == V_HOST)
        return host_unary(b, op, x.host, at);
    Node *n = value_to_node(b, x, DT_N, at);
    if (!n)
        return value_poison;
    DType t = n->dtype;
    if (!dtype_is_real(t))
        t = !keeps_int(op) ? b->g->real : t == DT_I64 ? DT_I64 : DT_I32;
    n = graph_cast(b->g, n, t);
    return value_node(rounds(op) && !dtype_is_real(t) ? n : graph_unary(b->g, op, n));
}

/* ---- choosing per element ---- */

static Value where_known(Build *b, bool c, Value x, Value y, Span at) {
    bool scalars = value_is_scalar(x) && value_is_scalar(y);
    if (scalars && is_plain(x) && is_plain(y)) {
        Value zero = value_real(0); /* of an int and a real both sides are real */
        Value v = c ? x : y;
        bool mixed = x.kind == V_NUMBER && y.kind == V_NUMBER && x.num.is_int != y.num.is_int;
        return mixed && !v.num.count ? value_binary(b, OP_add, v, zero, at) : v;
    }
    Node *nx, *ny;
    if (!value_meet(b, x, y, at, "choose between", &nx, &ny))
        return value_poison;
    return value_node(c ? nx : ny);
}

static Value where_host(Build *b, Value c, Value x, Value y, Span at) {
    HExpr *hx = value_to_host(b, x, at), *hy = value_to_host(b, y, at);
    if (!hx || !hy)
        return value_poison;
    bool string = hx->type == HT_STRING, bools = hx->type == HT_BOOL && hy->type == HT_BOOL;
    if (string != (hy->type == HT_STRING)) {
        build_error(b, at, "cannot choose between %s and %s", value_text(b, x), value_text(b, y));
        return value_poison;
    }
    HType t = string                                       ? HT_STRING
              : bools                                      ? HT_BOOL
              : hx->type == HT_REAL || hy->type == HT_REAL ? HT_REAL
                                                           : HT_INT;
    return value_host(host_op(b, OP_where, t, c.host, host_cast(b, hx, t), host_cast(b, hy, t)));
}

Value value_where(Build *b, Value c, Value x, Value y, Span at) {
    if (c.kind == V_POISON || x.kind == V_POISON || y.kind == V_POISON)
        return value_poison;
    if (c.kind == V_BOOL)
        return where_known(b, c.boolean, x, y, at);
    if (c.kind == V_HOST && c.host->type == HT_BOOL && is_hosted(x) && is_hosted(y))
        return where_host(b, c, x, y, at);
    Node *nc = value_to_node(b, c, DT_BOOL, at), *nx, *ny;
    if (!nc)
        return value_poison;
    if (nc->dtype != DT_BOOL) {
        build_error(b, at, "the condition of 'where' must be a bool tensor, found %s",
                    value_text(b, c));
        return value_poison;
    }
    Shape s;
    if (!value_meet(b, x, y, at, "choose between", &nx, &ny) ||
        !broadcast_shape(b, &nc->shape, &nx->shape, at, "choose by", &s))
        return value_poison;
    nx = spread(b, nx, &s);
    ny = spread(b, ny, &s);
    return value_node(graph_where(b->g, spread(b, nc, &s), nx, ny));
}
