/* Leaves, check, and random numbers against the trainers' own generator.
 */
#define _GNU_SOURCE 1
#include "oracle.h"
#include <criterion/criterion.h>
#include <math.h>

#include "../../runtime/rt_rng.h"

#include "../../runtime/rt_end.h"

Test(ops_leaf, constant_iota_scalar_count_read) {
    Oracle *o = oracle_new(DT_F32, 1);
    Graph *g = o->graph;
    const Count count = {.name = "B", .called = "B", .bound = 4};
    const Shape s = shape_of(2, (int64_t[]){2, 3}),
                counted = {.rank = 2, .dim = {{3, NULL}, {8, &count}}};
    o->count = 2;
    Scalar lr = {.id = 5, .name = "lr", .dtype = DT_F32};
    o->scalar[5] = 0.1;
    const Tensor *c = oracle_value(o, graph_constant(g, DT_F32, &counted, 0.1));
    cr_assert_eq(shape_elements(&c->shape), 12);
    cr_assert_eq(c->at[11], (double)0.1f);
    const Tensor *d = oracle_value(o, graph_data(g, DT_F32, &s, (double[]){1, 2, 3, 4, 5, 6}));
    const Tensor *rows = oracle_value(o, graph_iota(g, &s, 0)),
                 *columns = oracle_value(o, graph_iota(g, &counted, 1));
    for (int i = 0; i < 6; i++) {
        cr_assert_eq(d->at[i], i + 1);
        cr_assert_eq(rows->at[i], i / 3);
    }
    for (int i = 0; i < 12; i++)
        cr_assert_eq(columns->at[i], i % 4);
    cr_assert_eq(oracle_value(o, graph_scalar(g, &lr))->at[0], (double)0.1f);
    cr_assert_eq(oracle_value(o, graph_count(g, &count))->at[0], 2);
    Node *x = oracle_input(o, DT_F32, &s, -1, 1);
    cr_assert_eq(oracle_value(o, x)->at[4], oracle_contents(o, x)->at[4]);
    oracle_free(o);
}

Test(ops_leaf, check_passes_value_and_gradient_and_sees_faults) {
    Oracle *o = oracle_new(DT_F64, 1);
    const Shape s = shape_scalar();
    Node *x = oracle_input(o, DT_F64, &s, 0.5, 2);
    Node *loss = graph_check(o->graph, graph_binary(o->graph, OP_mul, x, x));
    cr_assert_lt(oracle_gradient_error(o, loss, &x, 1), 1e-6);
    Interp *in = interp_new(o->arena, &o->env, false);
    interp_value(in, loss);
    cr_assert_null(interp_fault(in));
    interp_forget(in);
    oracle_contents(o, x)->at[0] = INFINITY;
    interp_value(in, loss);
    cr_assert_eq(interp_fault(in), loss);
    interp_forget(in);
    oracle_free(o);
}

/* ---- random numbers ---- */

static const Tensor *draw(Oracle *o, Op op, const Shape *s, int64_t lo, int64_t hi) {
    const Shape scalar = shape_scalar();
    DType t = op == OP_randint || op == OP_permutation ? DT_I32 : o->graph->real;
    Node *execution = graph_constant(o->graph, DT_I32, &scalar, 7);
    return oracle_value(o, graph_random(o->graph, op, execution, 0xabcdef01u, t, s, lo, hi));
}

static const struct rt_place place = {
    .seed = 0x123456789abcdefu, .step = 0, .count = 7, .place = 0xabcdef01u};
enum { N = 1001 };

Test(ops_leaf, rand_and_randint_are_the_runtimes) {
    Oracle *o = oracle_new(DT_F32, 0);
    o->env.seed = place.seed;
    const Shape s = shape_of(2, (int64_t[]){7, N / 7});
    const Tensor *u = draw(o, OP_rand, &s, 0, 0), *k = draw(o, OP_randint, &s, -5, 12);
    for (int i = 0; i < N; i++) {
        cr_assert_eq(u->at[i], (double)rt_uniform1(&place, i));
        cr_assert_eq(k->at[i], rt_integer1(&place, i, -5, 12));
    }
    oracle_free(o);
}

Test(ops_leaf, randn_is_the_runtimes_up_to_rounding) {
    Oracle *o = oracle_new(DT_F32, 0);
    o->env.seed = place.seed;
    const Shape s = shape_of(1, (int64_t[]){N});
    const Tensor *z = draw(o, OP_randn, &s, 0, 0);
    double sum = 0, squares = 0;
    for (int i = 0; i < N; i++) {
        cr_assert_float_eq(z->at[i], (double)rt_normal1(&place, i), 2e-6);
        sum += z->at[i];
        squares += z->at[i] * z->at[i];
    }
    cr_assert_lt(fabs(sum / N), 0.15);
    cr_assert_lt(fabs(squares / N - 1), 0.2);
    oracle_free(o);
}

Test(ops_leaf, permutation_is_the_runtimes) {
    static const int64_t sizes[] = {1, 2, 3, 64, 65, 1001};
    for (int k = 0; k < COUNT_OF(sizes); k++) {
        Oracle *o = oracle_new(DT_F32, 0);
        o->env.seed = place.seed;
        bool seen[N] = {false};
        const Shape s = shape_of(1, &sizes[k]);
        const Tensor *p = draw(o, OP_permutation, &s, 0, 0);
        for (int64_t i = 0; i < sizes[k]; i++) {
            cr_assert_eq(p->at[i],
                         (double)rt_permute((uint64_t)i, (uint64_t)sizes[k], rt_key(&place)));
            cr_assert_not(seen[(int)p->at[i]]);
            seen[(int)p->at[i]] = true;
        }
        oracle_free(o);
    }
}

Test(ops_leaf, a_smaller_batch_draws_the_numbers_of_a_full_one) {
    Oracle *o = oracle_new(DT_F32, 0);
    const Count count = {.name = "B", .called = "B", .bound = 4};
    const Shape s = {.rank = 2, .dim = {{4, &count}, {5, NULL}}},
                turned = {.rank = 2, .dim = {{5, NULL}, {4, &count}}};
    const Shape *shapes[] = {&s, &turned};
    for (int k = 0; k < 2; k++) {
        o->count = 4;
        const Tensor *full = draw(o, OP_rand, shapes[k], 0, 0);
        o->count = 3;
        const Tensor *part = draw(o, OP_rand, shapes[k], 0, 0);
        int64_t columns = full->shape.dim[1].n, fewer = part->shape.dim[1].n;
        for (int64_t i = 0; i < shape_elements(&part->shape); i++)
            cr_assert_eq(part->at[i], full->at[i / fewer * columns + i % fewer]);
    }
    oracle_free(o);
}
