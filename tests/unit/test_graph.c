/* The graph itself: shapes, verification, dumps.
 */
#include "oracle.h"
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

Test(graph, shapes_as_text) {
    Arena *a = arena_new();
    const Count count = {.name = "B", .called = "B", .bound = 8};
    const Shape s = {.rank = 3, .dim = {{8, &count}, {24, &count}, {5, NULL}}},
                none = shape_scalar();
    cr_assert_str_eq(shape_text(a, &s), "[B, 3*B, 5]");
    cr_assert_str_eq(shape_text(a, &none), "[]");
    arena_free(a);
}

Test(graph, shapes_compare_counts) {
    const Count count = {.name = "B", .called = "B", .bound = 8};
    const Shape s = {.rank = 1, .dim = {{8, &count}}}, t = shape_of(1, (int64_t[]){8});
    cr_assert_not(shape_equal(&s, &t));
    cr_assert_eq(shape_count(&s), &count);
    cr_assert_null(shape_count(&t));
    const Shape u = shape_of(3, (int64_t[]){2, 3, 4}), kept = shape_without(&u, 5);
    cr_assert(kept.rank == 1 && kept.dim[0].n == 3);
    cr_assert_eq(shape_elements(&u), 24);
}

Test(graph, every_op_has_its_rules) {
    for (int i = 0; i < OP_N; i++) {
        const OpInfo *info = &op_info[i];
        cr_assert(info->name && info->shape && info->grad);
        cr_assert_eq(info->form != NULL || info->kind != KIND_MAP || i == OP_cast, true,
                     "%s has no form", info->name);
    }
    cr_assert_str_eq(op_info[OP_scatter_add].name, "scatter_add");
    cr_assert_eq(op_info[OP_dot].kind, KIND_CONTRACT);
}

Test(graph, dump) {
    Oracle *o = oracle_new(DT_F32, 1);
    const Shape s = shape_of(2, (int64_t[]){3, 4});
    Node *x = oracle_input(o, DT_F32, &s, -1, 1);
    Node *y = graph_reduce(o->graph, OP_sum, graph_permute(o->graph, x, (int[]){1, 0}), 2);
    y->name = "total";
    vec_push(o->arena, &o->graph->region->outputs, y);
    Text t = {.arena = o->arena};
    graph_dump(o->graph, &t, NULL);
    cr_assert_str_eq(t.at, "region test\n"
                           "  %0 = read x0 : f32[3, 4]\n"
                           "  %1 = permute %0 perm=(1,0) : f32[4, 3]\n"
                           "  %2 = sum %1 axes=1 : f32[4]  # total\n"
                           "region test leaves\n"
                           "  output %2\n");
    oracle_free(o);
}

/* ---- what verify and the shape rules refuse ---- */

static Oracle *small(Node **x) {
    Oracle *o = oracle_new(DT_F32, 1);
    const Shape s = shape_of(2, (int64_t[]){3, 4});
    *x = oracle_input(o, DT_F32, &s, -1, 1);
    return o;
}

Test(graph, verify_accepts_a_good_graph) {
    Node *x;
    Oracle *o = small(&x);
    graph_unary(o->graph, OP_exp, x);
    graph_verify(o->graph);
    oracle_free(o);
}

Test(graph, verify_refuses_a_wrong_shape, .signal = SIGABRT) {
    Node *x;
    Oracle *o = small(&x);
    graph_unary(o->graph, OP_exp, x)->shape.dim[0].n = 2;
    graph_verify(o->graph);
}

Test(graph, verify_refuses_a_later_input, .signal = SIGABRT) {
    Node *x;
    Oracle *o = small(&x);
    Node *y = graph_unary(o->graph, OP_exp, x);
    y->in[0] = graph_unary(o->graph, OP_exp, y);
    graph_verify(o->graph);
}

Test(graph, rules_refuse_two_types, .signal = SIGABRT) {
    Node *x;
    Oracle *o = small(&x);
    graph_binary(o->graph, OP_add, x, graph_cast(o->graph, x, DT_I32));
}

Test(graph, rules_refuse_whole_numbers_where_reals_are_needed, .signal = SIGABRT) {
    Node *x;
    Oracle *o = small(&x);
    graph_unary(o->graph, OP_exp, graph_cast(o->graph, x, DT_I32));
}

Test(graph, rules_refuse_a_slice_past_the_end, .signal = SIGABRT) {
    Node *x;
    Oracle *o = small(&x);
    const Shape s = shape_of(2, (int64_t[]){2, 4});
    graph_slice(o->graph, x, (int64_t[]){2, 0}, (int64_t[]){1, 1}, &s);
}

Test(graph, rules_refuse_dots_that_do_not_fit, .signal = SIGABRT) {
    Node *x;
    Oracle *o = small(&x);
    const Shape s = shape_of(3, (int64_t[]){1, 3, 4});
    Node *a = graph_reshape(o->graph, x, &s);
    graph_dot(o->graph, a, a, false, false);
}
