/* The oracle as a whole: what is kept, what is forgotten, rounding, faults.
 */
#include "oracle.h"
#include <criterion/criterion.h>
#include <math.h>

/* Rounding happens at every node of an f32 program, and not in the f64 run of the same graph. */
Test(interp, single_rounds_every_node) {
    Oracle *o = oracle_new(DT_F32, 1);
    const Shape s = shape_scalar();
    Node *tenth = graph_constant(o->graph, DT_F32, &s, 0.1), *sum = tenth;
    float want = 0.1f;
    for (int i = 0; i < 9; i++) {
        sum = graph_binary(o->graph, OP_add, sum, tenth);
        want += 0.1f;
    }
    cr_assert_eq(oracle_value(o, sum)->at[0], (double)want);
    o->single = false;
    cr_assert_float_eq(oracle_value(o, sum)->at[0], 1, 1e-15);
    oracle_free(o);
}

/* An f64 node in an f32 program (metrics add up in f64) keeps its digits. */
Test(interp, single_leaves_f64_nodes_alone) {
    Oracle *o = oracle_new(DT_F32, 1);
    const Shape s = shape_scalar();
    Node *x = graph_cast(o->graph, graph_constant(o->graph, DT_F32, &s, 16777216), DT_F64);
    Node *y = graph_binary(o->graph, OP_add, x, graph_constant(o->graph, DT_F64, &s, 1));
    cr_assert_eq(oracle_value(o, y)->at[0], 16777217);
    cr_assert_eq(oracle_value(o, graph_cast(o->graph, y, DT_F32))->at[0], 16777216);
    oracle_free(o);
}

Test(interp, sums_of_f32_add_in_f32) {
    Oracle *o = oracle_new(DT_F32, 1);
    const Shape s = shape_of(1, (int64_t[]){1000});
    Node *sum = graph_reduce(o->graph, OP_sum, graph_constant(o->graph, DT_F32, &s, 0.1), 1);
    float want = 0;
    for (int i = 0; i < 1000; i++)
        want += 0.1f;
    cr_assert_eq(oracle_value(o, sum)->at[0], (double)want);
    oracle_free(o);
}

Test(interp, values_are_kept_until_forgotten) {
    Oracle *o = oracle_new(DT_F64, 1);
    const Shape s = shape_of(1, (int64_t[]){3});
    Node *x = oracle_input(o, DT_F64, &s, -1, 1), *y = graph_unary(o->graph, OP_neg, x);
    Interp *in = interp_new(o->arena, &o->env, false);
    const Tensor *first = interp_value(in, y);
    cr_assert_eq(interp_value(in, y), first);
    oracle_contents(o, x)->at[0] = 42;
    cr_assert_neq(interp_value(in, y)->at[0], -42);
    interp_forget(in);
    cr_assert_eq(interp_value(in, y)->at[0], -42);
    interp_forget(in);
    oracle_free(o);
}

Test(interp, deep_graphs_do_not_recurse) {
    Oracle *o = oracle_new(DT_F64, 1);
    const Shape s = shape_scalar();
    Node *one = graph_constant(o->graph, DT_F64, &s, 1), *x = one;
    for (int i = 0; i < 100000; i++)
        x = graph_binary(o->graph, OP_add, x, one);
    cr_assert_eq(oracle_value(o, x)->at[0], 100001);
    oracle_free(o);
}

Test(interp, the_first_fault_stays) {
    Oracle *o = oracle_new(DT_F64, 1);
    const Shape s = shape_scalar();
    Node *bad = graph_check(o->graph, graph_constant(o->graph, DT_F64, &s, NAN));
    Node *worse = graph_check(o->graph, graph_unary(o->graph, OP_neg, bad));
    Interp *in = interp_new(o->arena, &o->env, false);
    interp_value(in, worse);
    cr_assert_eq(interp_fault(in), bad);
    interp_forget(in);
    oracle_free(o);
}
