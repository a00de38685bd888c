/* Index maps: which element goes where, and that gradients find the way back.
 */
#include "oracle.h"
#include <criterion/criterion.h>
#include <math.h>

/* First and second gradient of a map of x; the second one is that of its square. */
static void check_gradients(Oracle *o, Node *y, Node *const *x, int n, const char *what) {
    double error = oracle_gradient_error(o, oracle_project(o, y), x, n);
    cr_assert_lt(error, 1e-6, "%s: %g", what, error);
    Node *square = graph_binary(o->graph, OP_mul, y, y);
    error = oracle_second_error(o, oracle_project(o, square), x, n);
    cr_assert_lt(error, 1e-6, "%s, second: %g", what, error);
}

/* x[i] is i everywhere in these: what comes out says where it was. */
static Node *numbered(Oracle *o, int rank, const int64_t *n, Node **input) {
    const Shape s = shape_of(rank, n);
    *input = oracle_input(o, DT_F64, &s, -2, 2);
    double *at = NEW_ARRAY(o->arena, double, shape_elements(&s));
    for (int64_t i = 0; i < shape_elements(&s); i++)
        at[i] = (double)i;
    return graph_data(o->graph, DT_F64, &s, at);
}

static void value_is(Oracle *o, const Node *y, const double *want, const char *what) {
    const Tensor *t = oracle_value(o, y);
    for (int64_t i = 0; i < shape_elements(&t->shape); i++)
        cr_assert_eq(t->at[i], want[i], "%s: [%d] = %g", what, (int)i, t->at[i]);
}

Test(ops_move, reshape) {
    Oracle *o = oracle_new(DT_F64, 1);
    Node *x, *n = numbered(o, 2, (int64_t[]){3, 4}, &x);
    const Shape s = shape_of(3, (int64_t[]){2, 1, 6});
    const double want[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    value_is(o, graph_reshape(o->graph, n, &s), want, "reshape");
    check_gradients(o, graph_reshape(o->graph, x, &s), &x, 1, "reshape");
    oracle_free(o);
}

Test(ops_move, permute) {
    Oracle *o = oracle_new(DT_F64, 1);
    Node *x, *n = numbered(o, 3, (int64_t[]){2, 3, 2}, &x);
    const int perm[] = {2, 0, 1}, identity[] = {0, 1, 2};
    Node *y = graph_permute(o->graph, n, perm);
    const double want[] = {0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11};
    cr_assert_eq(y->shape.dim[1].n, 2);
    cr_assert_eq(y->shape.dim[2].n, 3);
    value_is(o, y, want, "permute");
    cr_assert_eq(graph_permute(o->graph, n, identity), n);
    check_gradients(o, graph_permute(o->graph, x, perm), &x, 1, "permute");
    oracle_free(o);
}

Test(ops_move, broadcast) {
    Oracle *o = oracle_new(DT_F64, 1);
    Node *x, *n = numbered(o, 2, (int64_t[]){2, 1}, &x);
    const Shape s = shape_of(3, (int64_t[]){2, 2, 3});
    const double want[] = {0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1};
    value_is(o, graph_broadcast_to(o->graph, n, &s), want, "broadcast");
    check_gradients(o, graph_broadcast_to(o->graph, x, &s), &x, 1, "broadcast");
    oracle_free(o);
}

Test(ops_move, slice) {
    Oracle *o = oracle_new(DT_F64, 1);
    Node *x, *n = numbered(o, 2, (int64_t[]){3, 7}, &x);
    static const struct {
        int64_t start[2], step[2], n[2];
        double want[6];
    } cuts[] = {
        {{1, 2}, {1, 1}, {2, 3}, {9, 10, 11, 16, 17, 18}},
        {{0, 0}, {2, 3}, {2, 3}, {0, 3, 6, 14, 17, 20}},
        {{2, 5}, {-1, -2}, {2, 3}, {19, 17, 15, 12, 10, 8}},
        {{2, 6}, {-2, -6}, {2, 2}, {20, 14, 6, 0}},
        {{1, 4}, {1, -3}, {1, 1}, {11}},
    };
    for (int i = 0; i < COUNT_OF(cuts); i++) {
        const Shape s = shape_of(2, cuts[i].n);
        const char *what = arena_printf(o->arena, "slice %d", i);
        value_is(o, graph_slice(o->graph, n, cuts[i].start, cuts[i].step, &s), cuts[i].want, what);
        check_gradients(o, graph_slice(o->graph, x, cuts[i].start, cuts[i].step, &s), &x, 1, what);
    }
    oracle_free(o);
}

Test(ops_move, pad) {
    Oracle *o = oracle_new(DT_F64, 1);
    Node *x, *n = numbered(o, 2, (int64_t[]){2, 2}, &x);
    const Shape s = shape_of(2, (int64_t[]){3, 5});
    const int64_t lo[] = {1, 2};
    const double want[] = {9, 9, 9, 9, 9, 9, 9, 0, 1, 9, 9, 9, 2, 3, 9};
    value_is(o, graph_pad(o->graph, n, lo, &s, 9), want, "pad");
    check_gradients(o, graph_pad(o->graph, x, lo, &s, 9), &x, 1, "pad");
    oracle_free(o);
}

Test(ops_move, concat) {
    for (int axis = 0; axis < 2; axis++) {
        Oracle *o = oracle_new(DT_F64, 1);
        Node *x[3], *n[3];
        n[0] = numbered(o, 2, (int64_t[]){2, 2}, &x[0]);
        n[1] = numbered(o, 2, axis ? (int64_t[]){2, 1} : (int64_t[]){1, 2}, &x[1]);
        n[2] = numbered(o, 2, (int64_t[]){2, 2}, &x[2]);
        static const double want[2][10] = {{0, 1, 2, 3, 0, 1, 0, 1, 2, 3},
                                           {0, 1, 0, 0, 1, 2, 3, 1, 2, 3}};
        value_is(o, graph_concat(o->graph, 3, n, axis), want[axis], "concat");
        check_gradients(o, graph_concat(o->graph, 3, x, axis), x, 3, "concat");
        oracle_free(o);
    }
}

/* The leading extent is known at run time only. */
Test(ops_move, of_run_time_extents) {
    Oracle *o = oracle_new(DT_F64, 1);
    const Count count = {.name = "B", .called = "B", .bound = 8};
    const Shape s = {.rank = 3, .dim = {{8, &count}, {3, NULL}, {2, NULL}}};
    const Shape flat = {.rank = 2, .dim = {{24, &count}, {2, NULL}}};
    const Shape cut = {.rank = 3, .dim = {{8, &count}, {2, NULL}, {2, NULL}}};
    const Shape wide = {.rank = 3, .dim = {{8, &count}, {3, NULL}, {5, NULL}}};
    const Shape row = {.rank = 3, .dim = {{1, NULL}, {3, NULL}, {2, NULL}}};
    const int64_t start[] = {0, 1, 0}, step[] = {1, 1, 1}, none[] = {0, 0, 2};
    const int perm[] = {2, 0, 1};
    o->count = 3;
    Graph *g = o->graph;
    Node *x = oracle_input(o, DT_F64, &s, -2, 2), *r = oracle_input(o, DT_F64, &row, -2, 2);
    cr_assert_eq(oracle_value(o, graph_reshape(g, x, &flat))->shape.dim[0].n, 9);
    check_gradients(o, graph_reshape(g, x, &flat), &x, 1, "reshape");
    check_gradients(o, graph_permute(g, x, perm), &x, 1, "permute");
    check_gradients(o, graph_slice(g, x, start, step, &cut), &x, 1, "slice");
    check_gradients(o, graph_slice(g, x, (int64_t[]){0, 0, 0}, step, &row), &x, 1, "first row");
    check_gradients(o, graph_pad(g, x, none, &wide, 3), &x, 1, "pad");
    check_gradients(o, graph_concat(g, 2, (Node *[]){x, x}, 1), &x, 1, "concat");
    check_gradients(o, graph_broadcast(g, r, &s), &r, 1, "broadcast");
    oracle_free(o);
}

/* slice_at and put_at stand here: they are slices whose start comes from data. */
Test(ops_move, slice_at_and_put_at) {
    Oracle *o = oracle_new(DT_F64, 1);
    Node *x, *p, *n = numbered(o, 2, (int64_t[]){2, 5}, &x),
                 *piece = numbered(o, 2, (int64_t[]){2, 2}, &p);
    const Shape scalar = shape_scalar();
    Node *at = graph_constant(o->graph, DT_I32, &scalar, 2);
    value_is(o, graph_slice_at(o->graph, n, at, 1, 3), (double[]){2, 3, 4, 7, 8, 9}, "slice_at");
    check_gradients(o, graph_slice_at(o->graph, x, at, 1, 3), &x, 1, "slice_at");
    const double put[] = {0, 1, 0, 1, 4, 5, 6, 2, 3, 9};
    value_is(o, graph_put_at(o->graph, n, piece, at, 1), put, "put_at");
    check_gradients(o, graph_put_at(o->graph, x, p, at, 1), (Node *[]){x, p}, 2, "put_at");
    oracle_free(o);
}

Test(ops_move, slice_at_out_of_range_is_a_fault) {
    Oracle *o = oracle_new(DT_F64, 1);
    Node *x, *n = numbered(o, 2, (int64_t[]){2, 5}, &x);
    const Shape scalar = shape_scalar();
    Node *at = graph_constant(o->graph, DT_I32, &scalar, 3);
    Node *y = graph_slice_at(o->graph, n, at, 1, 3);
    Interp *in = interp_new(o->arena, &o->env, false);
    interp_value(in, y);
    cr_assert_eq(interp_fault(in), y);
    interp_forget(in);
    oracle_free(o);
}
