/* Reductions, argmax and argmin, running sums: over every set of axes.
 */
#include "oracle.h"
#include <criterion/criterion.h>
#include <math.h>

static double add_up(double a, double b) {
    return a + b;
}

static double multiply(double a, double b) {
    return a * b;
}

typedef struct Row {
    Op op;
    double start;
    double (*join)(double, double);
} Row;

static const Row rows[] = {{OP_sum, 0, add_up},
                           {OP_prod, 1, multiply},
                           {OP_max, -INFINITY, fmax},
                           {OP_min, INFINITY, fmin}};

static const int64_t sizes[][3] = {{3, 5, 7}, {1, 1, 1}, {4, 1, 3}};

/* out[outer of the kept axes] by three plain loops */
static void plain(const Row *r, const double *x, const int64_t *n, unsigned axes, double *out) {
    int64_t k[3];
    for (int i = 0; i < 3; i++)
        k[i] = axes >> i & 1 ? 1 : n[i];
    for (int64_t i = 0; i < k[0] * k[1] * k[2]; i++)
        out[i] = r->start;
    for (int64_t a = 0; a < n[0]; a++)
        for (int64_t b = 0; b < n[1]; b++)
            for (int64_t c = 0; c < n[2]; c++) {
                int64_t to = ((a % k[0]) * k[1] + b % k[1]) * k[2] + c % k[2];
                out[to] = r->join(out[to], x[(a * n[1] + b) * n[2] + c]);
            }
}

Test(ops_reduce, values_and_gradients) {
    for (int i = 0; i < COUNT_OF(rows); i++)
        for (int k = 0; k < COUNT_OF(sizes); k++)
            for (unsigned axes = 1; axes < 8; axes++) {
                Oracle *o = oracle_new(DT_F64, axes);
                const Shape s = shape_of(3, sizes[k]);
                Node *x = oracle_input(o, DT_F64, &s, -2, 2);
                Node *y = graph_reduce(o->graph, rows[i].op, x, axes);
                const Tensor *got = oracle_value(o, y);
                double want[105];
                plain(&rows[i], oracle_contents(o, x)->at, sizes[k], axes, want);
                for (int64_t e = 0; e < shape_elements(&y->shape); e++)
                    cr_assert_float_eq(got->at[e], want[e], 1e-12 * (1 + fabs(want[e])));
                Node *loss = oracle_project(o, y);
                double error = oracle_gradient_error(o, loss, &x, 1);
                cr_assert_lt(error, 1e-6, "%s over %x: %g", op_info[rows[i].op].name, axes, error);
                error = oracle_second_error(o, loss, &x, 1);
                cr_assert_lt(error, 1e-6, "%s over %x, second: %g", op_info[rows[i].op].name, axes,
                             error);
                oracle_free(o);
            }
}

Test(ops_reduce, sums_of_products) {
    const Row add = {OP_sum, 0, add_up};
    for (unsigned axes = 1; axes < 8; axes++) {
        Oracle *o = oracle_new(DT_F64, axes);
        const Shape s = shape_of(3, sizes[0]);
        const Attr attr = {.axes = axes};
        Node *x[2] = {oracle_input(o, DT_F64, &s, -2, 2), oracle_input(o, DT_F64, &s, -2, 2)};
        Node *y = graph_node(o->graph, OP_sum_mul, 2, x, &attr, DT_F64, NULL);
        const Tensor *got = oracle_value(o, y);
        double want[105], product[105];
        for (int i = 0; i < 105; i++)
            product[i] = oracle_contents(o, x[0])->at[i] * oracle_contents(o, x[1])->at[i];
        plain(&add, product, sizes[0], axes, want);
        for (int64_t e = 0; e < shape_elements(&y->shape); e++)
            cr_assert_float_eq(got->at[e], want[e], 1e-12 * (1 + fabs(want[e])));
        Node *loss = oracle_project(o, y);
        cr_assert_lt(oracle_gradient_error(o, loss, x, 2), 1e-6, "over %x", axes);
        cr_assert_lt(oracle_second_error(o, loss, x, 2), 1e-6, "over %x, second", axes);
        oracle_free(o);
    }
}

/* ---- run-time extents ---- */

Test(ops_reduce, over_a_count) {
    for (int i = 0; i < COUNT_OF(rows); i++) {
        Oracle *o = oracle_new(DT_F64, 4);
        const Count count = {.name = "B", .called = "B", .bound = 8};
        o->count = 3;
        const Shape s = {.rank = 2, .dim = {{16, &count}, {5, NULL}}}; /* 6 x 5 when it runs */
        Node *x = oracle_input(o, DT_F64, &s, -2, 2);
        Node *y = graph_reduce(o->graph, rows[i].op, x, 1);
        double want[5];
        const Tensor *got = oracle_value(o, y);
        plain(&rows[i], oracle_contents(o, x)->at, (int64_t[]){1, 6, 5}, 2, want);
        for (int e = 0; e < 5; e++)
            cr_assert_float_eq(got->at[e], want[e], 1e-12 * (1 + fabs(want[e])));
        double error = oracle_gradient_error(o, oracle_project(o, y), &x, 1);
        cr_assert_lt(error, 1e-6, "%s: %g", op_info[rows[i].op].name, error);
        oracle_free(o);
    }
}

Test(ops_reduce, mean_divides_by_the_count) {
    Oracle *o = oracle_new(DT_F64, 4);
    const Count count = {.name = "B", .called = "B", .bound = 8};
    const Shape s = {.rank = 2, .dim = {{16, &count}, {5, NULL}}};
    o->count = 3;
    cr_assert_eq(oracle_value(o, graph_size(o->graph, &s, 3, DT_F64))->at[0], 30);
    cr_assert_eq(oracle_value(o, graph_size(o->graph, &s, 2, DT_F64))->at[0], 5);
    oracle_free(o);
}

/* ---- corners ---- */

static Node *vector(Oracle *o, int64_t n, const double *x, Home **home) {
    const Shape s = shape_of(1, &n);
    Node *read = oracle_input(o, DT_F64, &s, 0, 1);
    Tensor *t = oracle_contents(o, read);
    for (int64_t i = 0; i < n; i++)
        t->at[i] = x[i];
    *home = read->attr.home;
    return read;
}

static void gradient_is(Op op, int64_t n, const double *x, const double *want) {
    Oracle *o = oracle_new(DT_F64, 1);
    Home *h;
    Node *in = vector(o, n, x, &h), *dx, *blame;
    cr_assert(grad_build(o->graph, graph_reduce(o->graph, op, in, 1), &in, 1, &dx, &blame));
    const Tensor *got = oracle_value(o, dx);
    for (int64_t i = 0; i < n; i++)
        cr_assert_eq(got->at[i], want[i], "%s: d[%d] = %g", op_info[op].name, (int)i, got->at[i]);
    oracle_free(o);
}

Test(ops_reduce, ties_go_to_the_first) {
    gradient_is(OP_max, 4, (double[]){1, 3, 3, 2}, (double[]){0, 1, 0, 0});
    gradient_is(OP_min, 4, (double[]){2, 1, 3, 1}, (double[]){0, 1, 0, 0});
}

Test(ops_reduce, prod_is_exact_with_zeros) {
    gradient_is(OP_prod, 4, (double[]){2, 0, 3, 5}, (double[]){0, 30, 0, 0});
    gradient_is(OP_prod, 4, (double[]){2, 0, 3, 0}, (double[]){0, 0, 0, 0});
    gradient_is(OP_prod, 1, (double[]){0}, (double[]){1});
}

Test(ops_reduce, second_gradient_of_prod_at_two_zeros) {
    Oracle *o = oracle_new(DT_F64, 1);
    Home *h;
    Node *x = vector(o, 4, (double[]){0, 3, 5, 0}, &h), *d, *dd, *blame;
    cr_assert(grad_build(o->graph, graph_reduce(o->graph, OP_prod, x, 1), &x, 1, &d, &blame));
    const Shape one = shape_of(1, (int64_t[]){1});
    Node *first = graph_slice(o->graph, d, (int64_t[]){0}, (int64_t[]){1}, &one);
    cr_assert(grad_build(o->graph, graph_reduce(o->graph, OP_sum, first, 1), &x, 1, &dd, &blame));
    cr_assert_eq(oracle_value(o, dd)->at[3], 15); /* of x0 x1 x2 x3 by x0 and x3 */
    oracle_free(o);
}

Test(ops_reduce, argmax_and_argmin) {
    Oracle *o = oracle_new(DT_F64, 1);
    const Shape s = shape_of(2, (int64_t[]){3, 4});
    const double x[] = {1, 5, 5, 2, NAN, 1, 7, 0, -1, -1, NAN, -1};
    Node *n = graph_data(o->graph, DT_F64, &s, x);
    static const double by_row[2][3] = {{1, 0, 2}, {0, 3, 0}};
    static const double by_column[2][4] = {{1, 0, 2, 0}, {2, 2, 0, 2}};
    for (int k = 0; k < 2; k++) {
        Op op = k ? OP_argmin : OP_argmax;
        const Tensor *row = oracle_value(o, graph_argreduce(o->graph, op, n, 1));
        const Tensor *column = oracle_value(o, graph_argreduce(o->graph, op, n, 0));
        for (int i = 0; i < 3; i++)
            cr_assert_eq(row->at[i], by_row[k][i], "%d %d: %g", k, i, row->at[i]);
        for (int i = 0; i < 4; i++)
            cr_assert_eq(column->at[i], by_column[k][i], "%d %d: %g", k, i, column->at[i]);
    }
    oracle_free(o);
}

Test(ops_reduce, cumsum) {
    for (int k = 0; k < COUNT_OF(sizes); k++)
        for (int way = 0; way < 6; way++) {
            Oracle *o = oracle_new(DT_F64, 1);
            int axis = way / 2;
            bool reverse = way % 2;
            const Shape s = shape_of(3, sizes[k]);
            Node *x = oracle_input(o, DT_F64, &s, -2, 2);
            Node *y = graph_cumsum(o->graph, x, axis, reverse);
            const double *in = oracle_contents(o, x)->at, *got = oracle_value(o, y)->at;
            int64_t inner = axis == 2 ? 1 : axis == 1 ? sizes[k][2] : sizes[k][1] * sizes[k][2];
            for (int64_t i = 0; i < shape_elements(&s); i++) {
                int64_t at = i / inner % sizes[k][axis];
                int64_t before = i - (reverse ? -inner : inner);
                bool start = reverse ? at == sizes[k][axis] - 1 : at == 0;
                cr_assert_float_eq(got[i], in[i] + (start ? 0 : got[before]), 1e-12);
            }
            double error = oracle_gradient_error(o, oracle_project(o, y), &x, 1);
            cr_assert_lt(error, 1e-6, "axis %d: %g", axis, error);
            oracle_free(o);
        }
}
