/* Differentiation beyond single ops: what depends on what, kinks, poles behind a branch, whole
 * losses.
 */
#include "oracle.h"
#include <criterion/criterion.h>
#include <math.h>

static Node *vector(Oracle *o, const double *x, int64_t n) {
    const Shape s = shape_of(1, &n);
    Node *read = oracle_input(o, DT_F64, &s, 0, 1);
    for (int64_t i = 0; i < n; i++)
        oracle_contents(o, read)->at[i] = x[i];
    return read;
}

static Node *like(Oracle *o, const Node *x, double value) {
    return graph_constant(o->graph, x->dtype, &x->shape, value);
}

static Node *sum(Oracle *o, Node *x) {
    return graph_reduce(o->graph, OP_sum, x, (1u << x->shape.rank) - 1);
}

static Node *gradient(Oracle *o, Node *loss, Node *x) {
    Node *dx = NULL, *blame = NULL;
    cr_assert(grad_build(o->graph, loss, &x, 1, &dx, &blame));
    graph_verify(o->graph);
    return dx;
}

static void value_is(Oracle *o, const Node *n, const double *want) {
    const Tensor *t = oracle_value(o, n);
    for (int64_t i = 0; i < shape_elements(&t->shape); i++)
        cr_assert_float_eq(t->at[i], want[i], 1e-12, "[%d] = %g, not %g", (int)i, t->at[i],
                           want[i]);
}

Test(grad, of_what_the_loss_does_not_see) {
    Oracle *o = oracle_new(DT_F64, 1);
    Node *x = vector(o, (double[]){1, 2}, 2), *y = vector(o, (double[]){3, 4}, 2);
    Node *loss = sum(o, graph_binary(o->graph, OP_mul, x, x));
    Node *late = vector(o, (double[]){5, 6}, 2);
    Node *floor = sum(o, graph_unary(o->graph, OP_floor, x));
    cr_assert_null(gradient(o, loss, y));
    cr_assert_null(gradient(o, loss, late));
    cr_assert_null(gradient(o, floor, x));
    cr_assert_null(gradient(o, sum(o, graph_unary(o->graph, OP_stop, x)), x));
    value_is(o, gradient(o, loss, x), (double[]){2, 4});
    oracle_free(o);
}

Test(grad, targets_may_be_inner_nodes_and_depend_on_each_other) {
    Oracle *o = oracle_new(DT_F64, 1);
    Node *x = vector(o, (double[]){1, 2}, 2), *h = graph_binary(o->graph, OP_mul, x, x);
    h->name = "h";
    Node *loss = sum(o, graph_binary(o->graph, OP_mul, h, x)); /* x^3 */
    Node *targets[] = {x, h, loss}, *out[3], *blame;
    cr_assert(grad_build(o->graph, loss, targets, 3, out, &blame));
    value_is(o, out[0], (double[]){3, 12});
    value_is(o, out[1], (double[]){1, 2});
    value_is(o, out[2], (double[]){1});
    cr_assert_str_eq(out[1]->name, "d_h");
    oracle_free(o);
}

Test(grad, at_kinks) {
    Oracle *o = oracle_new(DT_F64, 1);
    Node *x = vector(o, (double[]){-1, 0, 2}, 3), *zero = like(o, x, 0);
    Graph *g = o->graph;
    Node *relu = graph_where(g, graph_binary(g, OP_lt, zero, x), x, zero);
    value_is(o, gradient(o, sum(o, relu), x), (double[]){0, 0, 1});
    value_is(o, gradient(o, sum(o, graph_unary(g, OP_abs, x)), x), (double[]){-1, 0, 1});
    value_is(o, gradient(o, sum(o, graph_binary(g, OP_maximum, x, zero)), x), (double[]){0, 1, 1});
    value_is(o, gradient(o, sum(o, graph_binary(g, OP_maximum, zero, x)), x), (double[]){0, 0, 1});
    value_is(o, gradient(o, sum(o, graph_binary(g, OP_minimum, x, zero)), x), (double[]){1, 1, 0});
    value_is(o, gradient(o, sum(o, graph_binary(g, OP_minimum, zero, x)), x), (double[]){1, 0, 0});
    oracle_free(o);
}

/* where(x > 0, f(x), 0) at and below 0, where f or its derivative is infinite or NaN. */
Test(grad, nothing_comes_back_through_a_branch_not_taken) {
    static const Op ops[] = {OP_log, OP_sqrt, OP_rsqrt, OP_asin, OP_acos, OP_log1p};
    for (int i = 0; i < COUNT_OF(ops); i++) {
        Oracle *o = oracle_new(DT_F64, 1);
        Graph *g = o->graph;
        Node *x = vector(o, (double[]){0, -1, -2, 0.5}, 4), *zero = like(o, x, 0);
        Node *y = graph_unary(g, ops[i], x);
        y = graph_binary(g, OP_mul, y,
                         graph_binary(g, OP_div, y, x)); /* and 0/0, inf*inf further on */
        Node *loss = sum(o, graph_where(g, graph_binary(g, OP_lt, zero, x), y, zero));
        Node *dx = gradient(o, loss, x), *ddx = gradient(o, sum(o, dx), x);
        for (int k = 0; k < 3; k++) {
            cr_assert_eq(oracle_value(o, dx)->at[k], 0, "%s at %d", op_info[ops[i]].name, k);
            cr_assert_eq(oracle_value(o, ddx)->at[k], 0, "%s at %d, second", op_info[ops[i]].name,
                         k);
        }
        cr_assert(isfinite(oracle_value(o, dx)->at[3]) && oracle_value(o, dx)->at[3] != 0);
        oracle_free(o);
    }
}

Test(grad, exp_that_overflows_in_the_branch_not_taken) {
    Oracle *o = oracle_new(DT_F64, 1);
    Graph *g = o->graph;
    Node *x = vector(o, (double[]){1000, -1}, 2), *zero = like(o, x, 0);
    Node *y = graph_binary(g, OP_mul, x, graph_unary(g, OP_exp, x));
    Node *loss = sum(o, graph_where(g, graph_binary(g, OP_lt, zero, x), x, y));
    value_is(o, gradient(o, loss, x), (double[]){1, 0}); /* (1 + x) e^x at -1 */
    oracle_free(o);
}

Test(grad, pow_at_zero) {
    Oracle *o = oracle_new(DT_F64, 1);
    Graph *g = o->graph;
    Node *x = vector(o, (double[]){0, 0, 0, 0}, 4), *y = vector(o, (double[]){0, 1, 2, 2.5}, 4);
    Node *loss = sum(o, graph_binary(g, OP_pow, x, y));
    value_is(o, gradient(o, loss, x), (double[]){0, 1, 0, 0});
    Node *dy = gradient(o, loss, y);
    for (int i = 1; i < 4; i++)
        cr_assert_eq(oracle_value(o, dy)->at[i], 0);
    oracle_free(o);
}

/* A constant divisor is no pole: the gradient of a mean is dy / n and needs no guard. */
Test(grad, of_a_mean_has_no_guards) {
    Oracle *o = oracle_new(DT_F64, 1);
    Graph *g = o->graph;
    const Count count = {.name = "B", .called = "B", .bound = 8};
    const Shape s = {.rank = 2, .dim = {{8, &count}, {5, NULL}}};
    Node *x = oracle_input(o, DT_F64, &s, -1, 1);
    Node *mean = graph_binary(g, OP_div, sum(o, graph_binary(g, OP_mul, x, x)),
                              graph_size(g, &s, 3, DT_F64));
    int before = g->nodes.n;
    cr_assert_lt(oracle_gradient_error(o, mean, &x, 1), 1e-7);
    for (int i = before; i < g->nodes.n; i++)
        cr_assert_neq(g->nodes.at[i]->op, OP_mul_zero);
    oracle_free(o);
}

/* cross_entropy(relu(x w1 + b1) w2, label) as the standard library writes it. */
Test(grad, of_a_small_network) {
    Oracle *o = oracle_new(DT_F64, 5);
    Graph *g = o->graph;
    enum { B = 4, I = 5, H = 7, C = 3 };
    const Shape xs = shape_of(3, (int64_t[]){1, B, I}), w1s = shape_of(3, (int64_t[]){1, I, H});
    const Shape b1s = shape_of(3, (int64_t[]){1, 1, H}), w2s = shape_of(3, (int64_t[]){1, H, C});
    const Shape hs = shape_of(3, (int64_t[]){1, B, H}), ls = shape_of(2, (int64_t[]){B, C});
    Node *x = oracle_input(o, DT_F64, &xs, -1, 1), *w1 = oracle_input(o, DT_F64, &w1s, -1, 1);
    Node *b1 = oracle_input(o, DT_F64, &b1s, -1, 1), *w2 = oracle_input(o, DT_F64, &w2s, -1, 1);
    Node *h =
        graph_binary(g, OP_add, graph_dot(g, x, w1, false, false), graph_broadcast(g, b1, &hs));
    h = graph_where(g, graph_binary(g, OP_lt, like(o, h, 0), h), h, like(o, h, 0));
    Node *logits = graph_reshape(g, graph_dot(g, h, w2, false, false), &ls);
    const Shape rows = shape_of(2, (int64_t[]){B, 1});
    Node *top = graph_reshape(g, graph_reduce(g, OP_max, logits, 2), &rows);
    Node *z =
        graph_binary(g, OP_sub, logits, graph_unary(g, OP_stop, graph_broadcast(g, top, &ls)));
    Node *norm = graph_unary(g, OP_log, graph_reduce(g, OP_sum, graph_unary(g, OP_exp, z), 2));
    const Shape labels = shape_of(1, (int64_t[]){B});
    Node *label = graph_data(g, DT_I32, &labels, (double[]){2, 0, 1, 2});
    Node *loss = sum(o, graph_binary(g, OP_sub, norm, graph_pick(g, z, label)));
    Node *in[] = {x, w1, b1, w2};
    cr_assert_lt(oracle_gradient_error(o, loss, in, 4), 1e-6);
    cr_assert_lt(oracle_second_error(o, loss, in, 4), 1e-6);
    graph_verify(g);
    oracle_free(o);
}

Test(grad, of_a_long_chain_is_quick) {
    Oracle *o = oracle_new(DT_F64, 5);
    Node *x = vector(o, (double[]){0.5}, 1), *y = x;
    for (int i = 0; i < 20000; i++)
        y = graph_unary(o->graph, OP_sin, y);
    double want = 1, z = 0.5;
    for (int i = 0; i < 20000; i++) {
        want *= cos(z);
        z = sin(z);
    }
    cr_assert_float_eq(oracle_value(o, gradient(o, sum(o, y), x))->at[0], want, 1e-12 * want);
    oracle_free(o);
}
