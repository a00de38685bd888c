/* host_range.c: what the whole numbers of host expressions can be, and which of them may stop the
 * run: a division by zero, a result that does not fit in 64 bits. */
#include "program.h"

/* Wide enough for a product of two 64-bit numbers. */
typedef struct Bounds {
    __extension__ __int128 lo, hi;
} Bounds;

static Bounds sorted(Bounds b) {
    return b.lo < b.hi ? b : (Bounds){b.hi, b.lo};
}

static Bounds union_of(Bounds x, Bounds y) {
    return (Bounds){x.lo < y.lo ? x.lo : y.lo, x.hi > y.hi ? x.hi : y.hi};
}

static const Bounds all_of_int64 = {INT64_MIN, INT64_MAX}, all_of_int32 = {INT32_MIN, INT32_MAX};

static bool is_whole_op(const HExpr *h, Op op) {
    return h->kind == HX_OP && h->type == HT_INT && h->op == op;
}

static bool fits(Bounds b) {
    return b.lo >= INT64_MIN && b.hi <= INT64_MAX;
}

static Bounds bounds_of(const HExpr *h);

static Bounds product_bounds(Bounds x, Bounds y) {
    return union_of(sorted((Bounds){x.lo * y.lo, x.lo * y.hi}),
                    sorted((Bounds){x.hi * y.lo, x.hi * y.hi}));
}

/* Before the result is cut to 64 bits. */
static Bounds op_bounds(const HExpr *h) {
    Bounds x = bounds_of(h->args[0]), y = {0, 0};
    if (h->nargs > 1)
        y = bounds_of(h->args[1]);
    switch (h->op) {
    case OP_add:
        return (Bounds){x.lo + y.lo, x.hi + y.hi};
    case OP_sub:
        return (Bounds){x.lo - y.hi, x.hi - y.lo};
    case OP_neg:
        return (Bounds){-x.hi, -x.lo};
    case OP_mul:
        return product_bounds(x, y);
    case OP_abs:
        return (Bounds){0, union_of(x, (Bounds){-x.hi, -x.lo}).hi};
    case OP_minimum:
        return (Bounds){union_of(x, y).lo, x.hi < y.hi ? x.hi : y.hi};
    case OP_maximum:
        return (Bounds){x.lo > y.lo ? x.lo : y.lo, union_of(x, y).hi};
    case OP_floordiv: /* the quotient is no larger than what is divided, but for INT64_MIN // -1 */
        return y.lo > 0 ? union_of(x, (Bounds){0, 0}) : all_of_int64;
    case OP_mod:
        return y.lo > 0 ? (Bounds){0, y.hi - 1} : all_of_int64;
    case OP_cast:
        return h->args[0]->type == HT_BOOL ? (Bounds){0, 1} : all_of_int64;
    default:
        return all_of_int64;
    }
}

static Bounds bounds_of(const HExpr *h) {
    if (h->type != HT_INT)
        return all_of_int64;
    switch (h->kind) {
    case HX_CONST:
        return (Bounds){h->i, h->i};
    case HX_ROWS:
        return (Bounds){0, INT32_MAX};
    case HX_NODE:
    case HX_HOME: /* whole numbers in tensors have 32 bits */
        return all_of_int32;
    case HX_OP: {
        Bounds b = op_bounds(h);
        return fits(b) ? b : all_of_int64;
    }
    default:
        return all_of_int64;
    }
}

/* What nnc adds itself, at no place of the program, counts rounds: it does not get that far. */
bool host_may_overflow(const HExpr *h) {
    if (!h->span.file)
        return false;
    static const Op ops[] = {OP_add, OP_sub, OP_mul, OP_neg, OP_abs};
    for (int i = 0; i < COUNT_OF(ops); i++)
        if (is_whole_op(h, ops[i]))
            return !fits(op_bounds(h));
    return false;
}

bool host_may_stop(const HExpr *h) {
    bool divides = is_whole_op(h, OP_floordiv) || is_whole_op(h, OP_mod);
    if (h->kind == HX_OP && h->op == OP_abs && h->s)
        return true;
    if (divides && bounds_of(h->args[1]).lo <= 0)
        return true;
    if (host_may_overflow(h))
        return true;
    for (int i = 0; i < h->nargs; i++)
        if (host_may_stop(h->args[i]))
            return true;
    for (int i = 0; h->kind == HX_FORMAT && i < h->format->n; i++)
        if (h->format->parts[i].value && host_may_stop(h->format->parts[i].value))
            return true;
    return false;
}
