/* Batched contractions in all four transpositions.
 */
#include "oracle.h"
#include <criterion/criterion.h>
#include <math.h>

typedef struct Sizes {
    int64_t b, m, k, n;
} Sizes;

static const Sizes sizes[] = {{1, 5, 7, 3}, {3, 2, 4, 5}, {1, 1, 1, 1}, {2, 1, 9, 1}, {1, 3, 1, 4}};

static Node *operand(Oracle *o, Dim b, Dim rows, Dim columns, bool transposed) {
    const Shape s = {.rank = 3,
                     .dim = {b, transposed ? columns : rows, transposed ? rows : columns}};
    return oracle_input(o, o->graph->real, &s, -2, 2);
}

static void value_is_product(Oracle *o, const Node *y, Sizes z, double tolerance) {
    const double *a = oracle_contents(o, y->in[0])->at, *b = oracle_contents(o, y->in[1])->at;
    const double *got = oracle_value(o, y)->at;
    bool ta = y->attr.dot.ta, tb = y->attr.dot.tb;
    for (int64_t i = 0; i < z.b * z.m * z.n; i++) {
        int64_t batch = i / (z.m * z.n), row = i / z.n % z.m, column = i % z.n;
        double sum = 0, size = 0;
        for (int64_t k = 0; k < z.k; k++) {
            double p = a[batch * z.m * z.k + (ta ? k * z.m + row : row * z.k + k)] *
                       b[batch * z.k * z.n + (tb ? column * z.k + k : k * z.n + column)];
            sum += p;
            size += fabs(p);
        }
        cr_assert_leq(fabs(got[i] - sum), tolerance * size, "[%d]: %g, not %g", (int)i, got[i],
                      sum);
    }
}

static void check(DType real, Sizes z, int way, const Count *count) {
    Oracle *o = oracle_new(real, (uint64_t)way);
    bool ta = way & 1, tb = way & 2;
    const Dim b = {z.b, NULL}, k = {z.k, NULL}, n = {z.n, NULL};
    Dim m = {z.m, NULL};
    if (count) {
        m = (Dim){count->bound, count};
        o->count = z.m;
    }
    Node *in[] = {operand(o, b, m, k, ta), operand(o, b, k, n, tb)};
    Node *y = graph_dot(o->graph, in[0], in[1], ta, tb);
    value_is_product(o, y, z, real == DT_F64 ? 1e-14 : 1e-6);
    if (real == DT_F64) {
        double error = oracle_gradient_error(o, oracle_project(o, y), in, 2);
        cr_assert_lt(error, 1e-6, "way %d: %g", way, error);
        error = oracle_second_error(o, oracle_project(o, y), in, 2);
        cr_assert_lt(error, 1e-6, "way %d, second: %g", way, error);
    }
    oracle_free(o);
}

Test(ops_dot, values_and_gradients) {
    for (int i = 0; i < COUNT_OF(sizes); i++)
        for (int way = 0; way < 4; way++)
            check(DT_F64, sizes[i], way, NULL);
}

Test(ops_dot, values_in_f32) {
    for (int i = 0; i < COUNT_OF(sizes); i++)
        for (int way = 0; way < 4; way++)
            check(DT_F32, sizes[i], way, NULL);
}

/* The gradient of the second operand contracts over the count. */
Test(ops_dot, run_time_rows) {
    const Count count = {.name = "B", .called = "B", .bound = 8};
    for (int way = 0; way < 4; way++)
        check(DT_F64, (Sizes){1, 3, 4, 5}, way, &count);
}
