/* interp_ops.h: the oracle's arithmetic, included once with REAL double and once with REAL float.
 *
 * Before: REAL, RULE(name) (the name of the function for an op) and M(f) (libm's f for REAL). Whole
 * numbers and bools go through the version for double.
 */
#include "interp.h"
#include <math.h>

/* a, b, c: elements at one place of the inputs; e: the element of the result. */
#define MAP1(name, e)                                                                              \
    void RULE(name)(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {              \
        (void)in, (void)n;                                                                         \
        WALK(w, &out->shape) {                                                                     \
            REAL a = (REAL)x[0]->at[w.at];                                                         \
            out->at[w.at] = (double)(e);                                                           \
        }                                                                                          \
    }
#define MAP2(name, e)                                                                              \
    void RULE(name)(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {              \
        (void)in, (void)n;                                                                         \
        WALK(w, &out->shape) {                                                                     \
            REAL a = (REAL)x[0]->at[w.at], b = (REAL)x[1]->at[w.at];                               \
            out->at[w.at] = (double)(e);                                                           \
        }                                                                                          \
    }
#define MAP3(name, e)                                                                              \
    void RULE(name)(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {              \
        (void)in, (void)n;                                                                         \
        WALK(w, &out->shape) {                                                                     \
            REAL a = (REAL)x[0]->at[w.at], b = (REAL)x[1]->at[w.at];                               \
            REAL c = (REAL)x[2]->at[w.at];                                                         \
            out->at[w.at] = (double)(e);                                                           \
        }                                                                                          \
    }

/* ---- maps ---- */

/* Toward 0 for whole numbers; bool: is it not 0. */
static REAL as_type(DType t, REAL a) {
    if (t == DT_BOOL)
        return a != 0;
    if (dtype_is_int(t))
        return isfinite(a) ? M(trunc)(a) : 0;
    return a;
}

/* Python's: the sign of the divisor. */
static REAL floor_mod(REAL a, REAL b) {
    REAL r = M(fmod)(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* NaN in either gives NaN; of equal values the first. */
static REAL larger(REAL a, REAL b) {
    return a >= b || a != a ? a : b;
}

static REAL smaller(REAL a, REAL b) {
    return a <= b || a != a ? a : b;
}

MAP1(cast, as_type(n->dtype, a))
MAP1(stop, a)
MAP1(neg, -a)
MAP1(abs, M(fabs)(a))
MAP1(sign, a > 0 ? 1 : a < 0 ? -1 : a)
MAP1(floor, M(floor)(a))
MAP1(ceil, M(ceil)(a))
MAP1(round, M(nearbyint)(a))
MAP1(exp, M(exp)(a))
MAP1(log, M(log)(a))
MAP1(log1p, M(log1p)(a))
MAP1(expm1, M(expm1)(a))
MAP1(sqrt, M(sqrt)(a))
MAP1(rsqrt, 1 / M(sqrt)(a))
MAP1(sin, M(sin)(a))
MAP1(cos, M(cos)(a))
MAP1(tan, M(tan)(a))
MAP1(asin, M(asin)(a))
MAP1(acos, M(acos)(a))
MAP1(atan, M(atan)(a))
MAP1(sinh, M(sinh)(a))
MAP1(cosh, M(cosh)(a))
MAP1(tanh, M(tanh)(a))
MAP1(sigmoid, 1 / (1 + M(exp)(-a)))
MAP1(erf, M(erf)(a))
MAP1(not, a == 0)
MAP1(isfinite, isfinite(a))

MAP2(add, a + b)
MAP2(sub, a - b)
MAP2(mul, a * b)
MAP2(mul_zero, a == 0 ? 0 : a * b)
MAP2(div, a / b)
MAP2(floordiv, M(floor)(a / b))
MAP2(mod, floor_mod(a, b))
MAP2(minimum, smaller(a, b))
MAP2(maximum, larger(a, b))
MAP2(pow, M(pow)(a, b))
MAP2(atan2, M(atan2)(a, b))
MAP2(eq, a == b)
MAP2(ne, a != b)
MAP2(lt, a < b)
MAP2(le, a <= b)
MAP2(and, a != 0 && b != 0)
MAP2(or, a != 0 || b != 0)

MAP3(where, a != 0 ? b : c)
MAP3(fma, M(fma)(a, b, c))

/* ---- reductions ---- */

/* The place in the result of an element of the input. */
static int64_t reduced_place(const Walk *w, unsigned axes) {
    int64_t at = 0;
    for (int i = 0; i < w->shape->rank; i++)
        if (!(axes >> i & 1))
            at = at * w->shape->dim[i].n + w->sub[i];
    return at;
}

#define REDUCE(name, start, e)                                                                     \
    void RULE(name)(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {              \
        (void)in;                                                                                  \
        WALK(w, &out->shape)                                                                       \
        out->at[w.at] = start;                                                                     \
        WALK(w, &x[0]->shape) {                                                                    \
            int64_t at = reduced_place(&w, n->attr.axes);                                          \
            REAL a = (REAL)out->at[at], b = (REAL)x[0]->at[w.at];                                  \
            out->at[at] = (double)(e);                                                             \
        }                                                                                          \
    }

REDUCE(sum, 0, a + b)
REDUCE(prod, 1, a * b)
REDUCE(max, (double)-INFINITY, larger(a, b))
REDUCE(min, (double)INFINITY, smaller(a, b))

void RULE(sum_mul)(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    (void)in;
    WALK(w, &x[0]->shape) {
        double *sum = &out->at[reduced_place(&w, n->attr.axes)];
        *sum = (double)M(fma)((REAL)x[0]->at[w.at], (REAL)x[1]->at[w.at], (REAL)*sum);
    }
}

/* The first subscript along the axis that no later one beats; beats: does b win over a. */
#define ARGREDUCE(name, beats)                                                                     \
    void RULE(name)(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {              \
        (void)in;                                                                                  \
        int axis = n->attr.axis;                                                                   \
        WALK(w, &x[0]->shape) {                                                                    \
            int64_t at = reduced_place(&w, 1u << axis), sub[MAX_RANK];                             \
            for (int i = 0; i < MAX_RANK; i++)                                                     \
                sub[i] = i == axis ? (int64_t)out->at[at] : w.sub[i];                              \
            REAL a = (REAL)x[0]->at[shape_place(&x[0]->shape, sub)];                               \
            REAL b = (REAL)x[0]->at[w.at];                                                         \
            if (beats)                                                                             \
                out->at[at] = (double)w.sub[axis];                                                 \
        }                                                                                          \
    }

ARGREDUCE(argmax, b > a || (b != b && a == a))
ARGREDUCE(argmin, b < a || (b == b && a != a))

void RULE(cumsum)(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    (void)in;
    int axis = n->attr.cumsum.axis;
    int64_t length = out->shape.dim[axis].n;
    WALK(w, &out->shape) { /* the k-th along the axis, counted from the end when reversed */
        int64_t sub[MAX_RANK], k = w.sub[axis];
        for (int i = 0; i < MAX_RANK; i++)
            sub[i] = w.sub[i];
        sub[axis] = n->attr.cumsum.reverse ? length - 1 - k : k;
        int64_t at = shape_place(&out->shape, sub);
        sub[axis] += n->attr.cumsum.reverse ? 1 : -1;
        REAL before = k ? (REAL)out->at[shape_place(&out->shape, sub)] : 0;
        out->at[at] = (double)(before + (REAL)x[0]->at[at]);
    }
}

/* Each element of a window to where it was taken from. */
void RULE(fold)(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    (void)in;
    WALK(w, &out->shape)
    out->at[w.at] = 0;
    WALK(w, &x[0]->shape) {
        int64_t sub[MAX_RANK];
        windows_place(&n->attr.windows, out->shape.rank, w.sub, sub);
        double *sum = &out->at[shape_place(&out->shape, sub)];
        *sum = (double)((REAL)*sum + (REAL)x[0]->at[w.at]);
    }
}

/* ---- contraction: one chain of fused multiply-adds for each element, k ascending ---- */

void RULE(dot)(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    (void)in;
    bool ta = n->attr.dot.ta, tb = n->attr.dot.tb;
    int64_t K = x[0]->shape.dim[ta ? 1 : 2].n, m = out->shape.dim[1].n, N = out->shape.dim[2].n;
    WALK(w, &out->shape) {
        const double *a = x[0]->at + w.sub[0] * m * K + w.sub[1] * (ta ? 1 : K);
        const double *b = x[1]->at + w.sub[0] * K * N + w.sub[2] * (tb ? K : 1);
        REAL acc = 0;
        for (int64_t k = 0; k < K; k++)
            acc = M(fma)((REAL)a[k * (ta ? m : 1)], (REAL)b[k * (tb ? 1 : N)], acc);
        out->at[w.at] = (double)acc;
    }
}

/* ---- indices from data ---- */

/* Rows are source->row_elements long; a row that is not there is a fault of whoever keeps the data.
 */
void RULE(batch)(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    const DataSource *source = n->attr.batch.source;
    WALK(w, &x[0]->shape) {
        double *row = out->at + w.at * source->row_elements;
        in->env->source_row(in->env->context, source, (int64_t)x[0]->at[w.at], row);
    }
}

static int64_t row_length(const Tensor *x) {
    Shape row = shape_without(&x->shape, 1);
    return shape_elements(&row);
}

void RULE(gather)(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    int64_t length = row_length(x[0]);
    WALK(w, &x[1]->shape) {
        int64_t row = interp_index(in, n, x[1]->at[w.at], x[0]->shape.dim[0].n);
        for (int64_t i = 0; i < length; i++)
            out->at[w.at * length + i] = x[0]->at[row * length + i];
    }
}

void RULE(pick)(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    int64_t extent = x[0]->shape.dim[x[0]->shape.rank - 1].n;
    WALK(w, &out->shape)
    out->at[w.at] = x[0]->at[w.at * extent + interp_index(in, n, x[1]->at[w.at], extent)];
}

void RULE(scatter_add)(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    int64_t length = row_length(x[0]);
    WALK(w, &out->shape)
    out->at[w.at] = x[0]->at[w.at];
    WALK(w, &x[1]->shape) {
        double *row = out->at + length * interp_index(in, n, x[1]->at[w.at], out->shape.dim[0].n);
        for (int64_t i = 0; i < length; i++)
            row[i] = (double)((REAL)row[i] + (REAL)x[2]->at[w.at * length + i]);
    }
}

void RULE(slice_at)(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    int axis = n->attr.axis;
    int64_t starts = x[0]->shape.dim[axis].n - out->shape.dim[axis].n + 1;
    int64_t start = interp_index(in, n, x[1]->at[0], starts);
    WALK(w, &out->shape) {
        int64_t sub[MAX_RANK];
        for (int i = 0; i < MAX_RANK; i++)
            sub[i] = w.sub[i] + (i == axis ? start : 0);
        out->at[w.at] = x[0]->at[shape_place(&x[0]->shape, sub)];
    }
}

void RULE(put_at)(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    int axis = n->attr.axis;
    int64_t starts = x[0]->shape.dim[axis].n - x[1]->shape.dim[axis].n + 1;
    int64_t start = interp_index(in, n, x[2]->at[0], starts);
    WALK(w, &out->shape)
    out->at[w.at] = x[0]->at[w.at];
    WALK(w, &x[1]->shape) {
        int64_t sub[MAX_RANK];
        for (int i = 0; i < MAX_RANK; i++)
            sub[i] = w.sub[i] + (i == axis ? start : 0);
        out->at[shape_place(&out->shape, sub)] = x[1]->at[w.at];
    }
}
