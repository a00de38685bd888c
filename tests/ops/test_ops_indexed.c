/* gather, pick, scatter_add, batch: indices that come from data.
 */
#include "oracle.h"
#include <criterion/criterion.h>
#include <math.h>

static Node *index_of(Oracle *o, int rank, const int64_t *n, const double *at) {
    const Shape s = shape_of(rank, n);
    return graph_data(o->graph, DT_I32, &s, at);
}

static void check_gradients(Oracle *o, Node *y, Node *const *x, int n, const char *what) {
    double error = oracle_gradient_error(o, oracle_project(o, y), x, n);
    cr_assert_lt(error, 1e-6, "%s: %g", what, error);
    Node *square = graph_binary(o->graph, OP_mul, y, y);
    error = oracle_second_error(o, oracle_project(o, square), x, n);
    cr_assert_lt(error, 1e-6, "%s, second: %g", what, error);
}

Test(ops_indexed, gather) {
    Oracle *o = oracle_new(DT_F64, 1);
    const Shape s = shape_of(3, (int64_t[]){4, 3, 2});
    const double at[] = {3, 0, 3, 1, 1, 2};
    Node *index = index_of(o, 2, (int64_t[]){2, 3}, at);
    Node *x = oracle_input(o, DT_F64, &s, -2, 2), *y = graph_gather(o->graph, x, index);
    cr_assert_eq(y->shape.rank, 4);
    const double *got = oracle_value(o, y)->at, *from = oracle_contents(o, x)->at;
    for (int i = 0; i < 6; i++)
        for (int e = 0; e < 6; e++)
            cr_assert_eq(got[i * 6 + e], from[(int)at[i] * 6 + e]);
    check_gradients(o, y, &x, 1, "gather");
    oracle_free(o);
}

Test(ops_indexed, pick) {
    Oracle *o = oracle_new(DT_F64, 1);
    const Shape s = shape_of(3, (int64_t[]){2, 3, 5});
    const double at[] = {4, 0, 1, 3, 3, 2};
    Node *index = index_of(o, 2, (int64_t[]){2, 3}, at);
    Node *x = oracle_input(o, DT_F64, &s, -2, 2), *y = graph_pick(o->graph, x, index);
    const double *got = oracle_value(o, y)->at, *from = oracle_contents(o, x)->at;
    for (int i = 0; i < 6; i++)
        cr_assert_eq(got[i], from[i * 5 + (int)at[i]]);
    check_gradients(o, y, &x, 1, "pick");
    oracle_free(o);
}

Test(ops_indexed, scatter_add_repeats_a_row) {
    Oracle *o = oracle_new(DT_F64, 1);
    const Shape base = shape_of(2, (int64_t[]){4, 3}), update = shape_of(2, (int64_t[]){5, 3});
    const double at[] = {1, 3, 1, 0, 1};
    Node *index = index_of(o, 1, (int64_t[]){5}, at);
    Node *x[] = {oracle_input(o, DT_F64, &base, -2, 2), oracle_input(o, DT_F64, &update, -2, 2)};
    Node *y = graph_scatter_add(o->graph, x[0], index, x[1]);
    const double *got = oracle_value(o, y)->at;
    const double *b = oracle_contents(o, x[0])->at, *u = oracle_contents(o, x[1])->at;
    for (int e = 0; e < 12; e++) {
        double want = b[e];
        for (int i = 0; i < 5; i++)
            want += at[i] == e / 3 ? u[i * 3 + e % 3] : 0;
        cr_assert_float_eq(got[e], want, 1e-14);
    }
    check_gradients(o, y, x, 2, "scatter_add");
    oracle_free(o);
}

Test(ops_indexed, out_of_range_is_a_fault) {
    Oracle *o = oracle_new(DT_F64, 1);
    const Shape s = shape_of(2, (int64_t[]){4, 4});
    Node *x = oracle_input(o, DT_F64, &s, -2, 2);
    Node *index = index_of(o, 1, (int64_t[]){4}, (double[]){0, 4, 1, -1});
    Node *faulty[] = {graph_gather(o->graph, x, index), graph_pick(o->graph, x, index),
                      graph_scatter_add(o->graph, x, index, x)};
    for (int i = 0; i < COUNT_OF(faulty); i++) {
        Interp *in = interp_new(o->arena, &o->env, false);
        interp_value(in, faulty[i]);
        cr_assert_eq(interp_fault(in), faulty[i]);
        interp_forget(in);
    }
    oracle_free(o);
}

Test(ops_indexed, division_of_whole_numbers_by_zero_is_a_fault) {
    Oracle *o = oracle_new(DT_F64, 1);
    const Shape s = shape_scalar();
    Node *one = graph_constant(o->graph, DT_I32, &s, 1),
         *zero = graph_constant(o->graph, DT_I32, &s, 0);
    Node *faulty[] = {graph_binary(o->graph, OP_floordiv, one, zero),
                      graph_binary(o->graph, OP_mod, one, zero)};
    for (int i = 0; i < COUNT_OF(faulty); i++) {
        Interp *in = interp_new(o->arena, &o->env, false);
        interp_value(in, faulty[i]);
        cr_assert_eq(interp_fault(in), faulty[i]);
        interp_forget(in);
    }
    oracle_free(o);
}

Test(ops_indexed, batch_reads_the_rows_of_a_count) {
    Oracle *o = oracle_new(DT_F64, 1);
    const Count count = {.name = "B", .called = "B", .bound = 4};
    o->count = 3;
    DataSource source = {.id = 2, .name = "s.x", .dtype = DT_U8, .row_elements = 6};
    const Shape row = shape_of(2, (int64_t[]){2, 3}), rows = {.rank = 1, .dim = {{4, &count}}};
    Node *index = oracle_input(o, DT_I32, &rows, 0, 9);
    Node *y = graph_batch(o->graph, &source, index, &row);
    cr_assert_eq(y->dtype, DT_U8);
    const Tensor *got = oracle_value(o, y), *at = oracle_contents(o, index);
    cr_assert_eq(got->shape.dim[0].n, 3);
    for (int i = 0; i < 3; i++) {
        double want[6];
        o->env.source_row(o, &source, (int64_t)at->at[i], want);
        for (int e = 0; e < 6; e++)
            cr_assert_eq(got->at[i * 6 + e], want[e] < 0 ? want[e] + 256 : want[e]); /* wraps: u8 */
    }
    oracle_free(o);
}
