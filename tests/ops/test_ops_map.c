/* Maps: the value against a formula in plain C, the gradient and its gradient against differences.
 */
#include "oracle.h"
#include <criterion/criterion.h>
#include <math.h>

typedef struct Row {
    Op op;
    double (*formula)(double a, double b, double c);
    Range range[3];
} Row;

#define FORMULA(name, e)                                                                           \
    static double name##_is(double a, double b, double c) {                                        \
        (void)a, (void)b, (void)c;                                                                 \
        return e;                                                                                  \
    }
FORMULA(stop, a)
FORMULA(neg, 0 - a)
FORMULA(abs, a < 0 ? -a : a)
FORMULA(sign, (a > 0) - (a < 0))
FORMULA(floor, a < 0 && a != (double)(long)a ? (double)((long)a - 1) : (double)(long)a)
FORMULA(ceil, a > 0 && a != (double)(long)a ? (double)((long)a + 1) : (double)(long)a)
FORMULA(round, (double)lrint(a))
FORMULA(exp, pow(2.718281828459045, a))
FORMULA(log, log2(a) * 0.6931471805599453)
FORMULA(log1p, log2(a + 1) * 0.6931471805599453)
FORMULA(expm1, 2 * sinh(a / 2) * exp(a / 2))
FORMULA(sqrt, pow(a, 0.5))
FORMULA(rsqrt, pow(a, -0.5))
FORMULA(sin, 2 * sin(a / 2) * cos(a / 2))
FORMULA(cos, 1 - 2 * sin(a / 2) * sin(a / 2))
FORMULA(tan, sin(a) / cos(a))
FORMULA(asin, atan2(a, sqrt((1 - a) * (1 + a))))
FORMULA(acos, atan2(sqrt((1 - a) * (1 + a)), a))
FORMULA(atan, atan2(a, 1))
FORMULA(sinh, (exp(a) - exp(-a)) / 2)
FORMULA(cosh, (exp(a) + exp(-a)) / 2)
FORMULA(tanh, 1 - 2 / (exp(2 * a) + 1))
FORMULA(sigmoid, (1 + tanh(a / 2)) / 2)
FORMULA(erf, 1 - erfc(a))
FORMULA(add, b + a)
FORMULA(sub, -(b - a))
FORMULA(mul, b *a)
FORMULA(mul_zero, b *a)
FORMULA(div, a *(1 / b))
FORMULA(floordiv, floor(a / b))
FORMULA(mod, a - b * floor(a / b))
FORMULA(minimum, fmin(a, b))
FORMULA(maximum, fmax(a, b))
FORMULA(pow, exp(b *log(a)))
FORMULA(atan2, 2 * atan(a / (sqrt(a * a + b * b) + b)))
FORMULA(fma, a *b + c)

#define ROW(name, ...)                                                                             \
    {                                                                                              \
        OP_##name, name##_is, {                                                                    \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
static const Row rows[] = {
    ROW(stop, {-2, 2}),
    ROW(neg, {-2, 2}),
    ROW(abs, {-2, 2}),
    ROW(sign, {-2, 2}),
    ROW(floor, {-3, 3}),
    ROW(ceil, {-3, 3}),
    ROW(round, {-3, 3}),
    ROW(exp, {-3, 3}),
    ROW(log, {0.1, 4}),
    ROW(log1p, {-0.8, 4}),
    ROW(expm1, {-2, 2}),
    ROW(sqrt, {0.1, 4}),
    ROW(rsqrt, {0.2, 4}),
    ROW(sin, {-4, 4}),
    ROW(cos, {-4, 4}),
    ROW(tan, {-1.2, 1.2}),
    ROW(asin, {-0.9, 0.9}),
    ROW(acos, {-0.9, 0.9}),
    ROW(atan, {-4, 4}),
    ROW(sinh, {-3, 3}),
    ROW(cosh, {-3, 3}),
    ROW(tanh, {-3, 3}),
    ROW(sigmoid, {-5, 5}),
    ROW(erf, {-2, 2}),
    ROW(add, {-2, 2}, {-2, 2}),
    ROW(sub, {-2, 2}, {-2, 2}),
    ROW(mul, {-2, 2}, {-2, 2}),
    ROW(mul_zero, {-2, 2}, {-2, 2}),
    ROW(div, {-2, 2}, {0.4, 2}),
    ROW(floordiv, {-5, 5}, {0.4, 2}),
    ROW(mod, {-5, 5}, {0.4, 2}),
    ROW(minimum, {-2, 2}, {-2, 2}),
    ROW(maximum, {-2, 2}, {-2, 2}),
    ROW(pow, {0.2, 3}, {-2, 3}),
    ROW(atan2, {-2, 2}, {0.1, 2}),
    ROW(fma, {-2, 2}, {-2, 2}, {-2, 2}),
};

static const int64_t sizes[][2] = {{5, 7}, {1, 1}, {3, 1}};

static Node *make(Oracle *o, const Row *r, const Shape *s, Node **inputs) {
    int args = op_info[r->op].args;
    for (int i = 0; i < args; i++)
        inputs[i] = oracle_input(o, o->graph->real, s, r->range[i].lo, r->range[i].hi);
    return graph_node(o->graph, r->op, args, inputs, NULL, o->graph->real, NULL);
}

static void value_is_formula(const Row *r, DType real, double tolerance) {
    for (int k = 0; k < COUNT_OF(sizes); k++) {
        Oracle *o = oracle_new(real, 100 + (uint64_t)k);
        Shape s = shape_of(2, sizes[k]);
        Node *in[3];
        Node *y = make(o, r, &s, in);
        const Tensor *got = oracle_value(o, y);
        for (int64_t i = 0; i < shape_elements(&s); i++) {
            double x[3] = {0};
            for (int j = 0; j < y->nin; j++)
                x[j] = oracle_contents(o, in[j])->at[i];
            double want = r->formula(x[0], x[1], x[2]);
            cr_assert(fabs(got->at[i] - want) <= tolerance * (1 + fabs(want)),
                      "%s(%.17g, %.17g, %.17g) = %.17g, not %.17g", op_info[r->op].name, x[0], x[1],
                      x[2], got->at[i], want);
        }
        oracle_free(o);
    }
}

Test(ops_map, values_in_f64) {
    for (int i = 0; i < COUNT_OF(rows); i++)
        value_is_formula(&rows[i], DT_F64, 1e-13);
}

Test(ops_map, values_in_f32_are_rounded) {
    for (int i = 0; i < COUNT_OF(rows); i++)
        value_is_formula(&rows[i], DT_F32, 2e-6);
}

Test(ops_map, f32_results_are_floats) {
    Oracle *o = oracle_new(DT_F32, 5);
    int64_t n = 100;
    Shape s = shape_of(1, &n);
    Node *x = oracle_input(o, DT_F32, &s, 0.5, 2);
    const Tensor *t =
        oracle_value(o, graph_unary(o->graph, OP_log, graph_binary(o->graph, OP_div, x, x)));
    const Tensor *e = oracle_value(o, graph_unary(o->graph, OP_exp, x));
    for (int i = 0; i < n; i++) {
        cr_assert_eq(t->at[i], 0);
        cr_assert_eq(e->at[i], (double)(float)e->at[i]);
    }
    oracle_free(o);
}

Test(ops_map, gradients) {
    for (int i = 0; i < COUNT_OF(rows); i++)
        for (int k = 0; k < COUNT_OF(sizes); k++) {
            Oracle *o = oracle_new(DT_F64, 7 + (uint64_t)k);
            Shape s = shape_of(2, sizes[k]);
            Node *in[3];
            Node *y = make(o, &rows[i], &s, in);
            /* stop is what its name says: the differences do not know that */
            bool flat = rows[i].op == OP_stop;
            double error = flat ? 0 : oracle_gradient_error(o, oracle_project(o, y), in, y->nin);
            cr_assert_lt(error, 1e-6, "%s: relative error %g", op_info[rows[i].op].name, error);
            oracle_free(o);
        }
}

Test(ops_map, second_gradients) {
    for (int i = 0; i < COUNT_OF(rows); i++) {
        Oracle *o = oracle_new(DT_F64, 11);
        Shape s = shape_of(2, sizes[0]);
        Node *in[3];
        Node *y = make(o, &rows[i], &s, in);
        double error =
            rows[i].op == OP_stop ? 0 : oracle_second_error(o, oracle_project(o, y), in, y->nin);
        cr_assert_lt(error, 1e-6, "%s: relative error %g", op_info[rows[i].op].name, error);
        oracle_free(o);
    }
}

/* ---- whole numbers, comparisons, selection, types ---- */

static double one(Oracle *o, Op op, DType t, int n, const double *x) {
    const Shape s = shape_scalar();
    Node *in[3];
    for (int i = 0; i < n; i++)
        in[i] = graph_constant(o->graph, t, &s, x[i]);
    return oracle_value(o, graph_node(o->graph, op, n, in, NULL, t, NULL))->at[0];
}

static double two(Oracle *o, Op op, DType t, double a, double b) {
    return one(o, op, t, 2, (double[]){a, b});
}

Test(ops_map, whole_numbers) {
    Oracle *o = oracle_new(DT_F32, 1);
    cr_assert_eq(two(o, OP_floordiv, DT_I32, -7, 2), -4);
    cr_assert_eq(two(o, OP_mod, DT_I32, -7, 2), 1);
    cr_assert_eq(two(o, OP_mod, DT_I32, 7, -2), -1);
    cr_assert_eq(two(o, OP_add, DT_I32, 2147483647, 1), -2147483648.0);
    cr_assert_eq(two(o, OP_mul, DT_I32, 65536, 32769), 2147549184.0 - 4294967296.0);
    cr_assert_eq(two(o, OP_sub, DT_U8, 3, 5), 254);
    cr_assert_eq(two(o, OP_maximum, DT_I64, -3, -5), -3);
    /* more digits than a float has */
    cr_assert_eq(two(o, OP_add, DT_I32, 16777217, 16777216), 33554433);
    oracle_free(o);
}

Test(ops_map, comparisons_and_logic) {
    Oracle *o = oracle_new(DT_F64, 1);
    static const struct {
        Op op;
        int want; /* bits: 1 < 2, 2 < 1, 1 and 1 */
    } table[] = {{OP_eq, 1}, {OP_ne, 6}, {OP_lt, 4}, {OP_le, 5}};
    for (int i = 0; i < COUNT_OF(table); i++) {
        double got = 4 * two(o, table[i].op, DT_F64, 1, 2) + 2 * two(o, table[i].op, DT_F64, 2, 1) +
                     two(o, table[i].op, DT_F64, 1, 1);
        cr_assert_eq(got, table[i].want, "%s", op_info[table[i].op].name);
        cr_assert_eq(two(o, table[i].op, DT_F64, NAN, 1), table[i].op == OP_ne);
    }
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 2; b++) {
            cr_assert_eq(two(o, OP_and, DT_BOOL, a, b), a && b);
            cr_assert_eq(two(o, OP_or, DT_BOOL, a, b), a || b);
        }
    cr_assert_eq(one(o, OP_not, DT_BOOL, 1, (double[]){1}), 0);
    cr_assert_eq(one(o, OP_not, DT_BOOL, 1, (double[]){0}), 1);
    cr_assert_eq(one(o, OP_isfinite, DT_F64, 1, (double[]){INFINITY}), 0);
    cr_assert_eq(one(o, OP_isfinite, DT_F64, 1, (double[]){NAN}), 0);
    cr_assert_eq(one(o, OP_isfinite, DT_F64, 1, (double[]){1e300}), 1);
    oracle_free(o);
}

Test(ops_map, ties_and_nan_of_minimum_and_maximum) {
    Oracle *o = oracle_new(DT_F64, 1);
    cr_assert(signbit(two(o, OP_maximum, DT_F64, -0.0, 0.0)), "ties go to the first");
    cr_assert_not(signbit(two(o, OP_minimum, DT_F64, 0.0, -0.0)), "ties go to the first");
    cr_assert(isnan(two(o, OP_maximum, DT_F64, NAN, 1)) &&
              isnan(two(o, OP_minimum, DT_F64, 1, NAN)));
    oracle_free(o);
}

Test(ops_map, mul_zero_of_infinity) {
    Oracle *o = oracle_new(DT_F64, 1);
    cr_assert_eq(two(o, OP_mul_zero, DT_F64, 0, INFINITY), 0);
    cr_assert_eq(two(o, OP_mul_zero, DT_F64, 0, NAN), 0);
    cr_assert(isnan(two(o, OP_mul_zero, DT_F64, INFINITY, 0)));
    oracle_free(o);
}

Test(ops_map, fma_rounds_once) {
    Oracle *o = oracle_new(DT_F32, 1);
    double a = 1 + 0x1p-23, tail = one(o, OP_fma, DT_F32, 3, (double[]){a, a, -(1 + 0x1p-22)});
    cr_assert_eq(tail, 0x1p-46);
    oracle_free(o);
}

Test(ops_map, where_takes_and_differentiates_one_side) {
    Oracle *o = oracle_new(DT_F64, 3);
    const Shape s = shape_of(1, (int64_t[]){9});
    Node *in[2] = {oracle_input(o, DT_F64, &s, -2, 2), oracle_input(o, DT_F64, &s, -2, 2)};
    Node *c = graph_binary(o->graph, OP_lt, in[0], graph_constant(o->graph, DT_F64, &s, 0.3));
    Node *y = graph_where(o->graph, c, graph_binary(o->graph, OP_mul, in[0], in[1]), in[1]);
    const Tensor *t = oracle_value(o, y);
    for (int i = 0; i < 9; i++) {
        double a = oracle_contents(o, in[0])->at[i], b = oracle_contents(o, in[1])->at[i];
        cr_assert_eq(t->at[i], a < 0.3 ? a * b : b);
    }
    cr_assert_lt(oracle_gradient_error(o, oracle_project(o, y), in, 2), 1e-6);
    oracle_free(o);
}

Test(ops_map, cast) {
    Oracle *o = oracle_new(DT_F64, 3);
    const Shape s = shape_of(1, (int64_t[]){5});
    const double x[] = {-2.7, 0, 3.9, 1e-9, 300.5};
    Node *n = graph_data(o->graph, DT_F64, &s, x);
    const double whole[] = {-2, 0, 3, 0, 300}, truth[] = {1, 0, 1, 1, 1};
    const Tensor *i = oracle_value(o, graph_cast(o->graph, n, DT_I32));
    const Tensor *b = oracle_value(o, graph_cast(o->graph, n, DT_BOOL));
    for (int k = 0; k < 5; k++) {
        cr_assert_eq(i->at[k], whole[k]);
        cr_assert_eq(b->at[k], truth[k]);
    }
    cr_assert_eq(graph_cast(o->graph, n, DT_F64), n);
    Node *f = oracle_input(o, DT_F64, &s, -2, 2);
    Node *there =
        graph_cast(o->graph, graph_cast(o->graph, f, DT_F32), DT_F64); /* exact in an f64 run */
    cr_assert_lt(oracle_gradient_error(o, oracle_project(o, there), &f, 1), 1e-6);
    oracle_free(o);
}
