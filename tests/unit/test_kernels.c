/* test_kernels.c: graphs lowered to kernels give the oracle's values, the same bits for any number
 * of threads. */
#include "kernel_case.h"
#include <criterion/criterion.h>
#include <string.h>

#define SHAPE(...) shape_of(COUNT_OF(((int64_t[]){__VA_ARGS__})), (const int64_t[]){__VA_ARGS__})

#ifndef RANDOM_GRAPHS
#define RANDOM_GRAPHS 12
#endif

static void check(KernelCase *c) {
    const char *wrong = case_check(c);
    cr_assert_null(wrong, "%s", wrong);
    case_free(c);
}

/* ---- maps ---- */

static Node *apply(Graph *g, Op op, Node *x, Node *positive) {
    switch (op_info[op].args) {
    case 1:
        return graph_unary(
            g, op,
            op == OP_log || op == OP_sqrt || op == OP_rsqrt || op == OP_log1p ? positive : x);
    case 2:
        return graph_binary(g, op, op == OP_pow ? positive : x, op == OP_pow ? x : positive);
    default:
        return graph_fma(g, x, positive, x);
    }
}

static void all_maps(DType t) {
    KernelCase *c = case_new(t);
    Node *x = case_input(c, "x", t, SHAPE(3, 13), -0.95, 0.95);
    Node *p = case_input(c, "p", t, SHAPE(3, 13), 0.1, 3);
    for (int op = 0; op < OP_N; op++) {
        if (op_info[op].kind != KIND_MAP || op == OP_cast || op == OP_not || op == OP_and ||
            op == OP_or || op == OP_where)
            continue;
        Node *y = apply(c->g, (Op)op, x, p);
        case_output(c, y->dtype == DT_BOOL ? graph_where(c->g, y, x, p) : y);
    }
    Node *lt = graph_binary(c->g, OP_lt, x, p), *ne = graph_binary(c->g, OP_ne, x, p);
    case_output(c, graph_binary(c->g, OP_and, graph_unary(c->g, OP_not, lt), ne));
    case_output(c, graph_cast(c->g, graph_binary(c->g, OP_or, lt, ne), DT_I32));
    case_output(c, graph_cast(c->g, graph_cast(c->g, graph_binary(c->g, OP_mul, x, p), DT_I32), t));
    c->tolerance = t == DT_F32 ? 3e-6 : 0;
    check(c);
}

Test(kernels, maps) {
    all_maps(DT_F32);
}

Test(kernels, maps_f64) {
    all_maps(DT_F64);
}

Test(kernels, maps_of_integers) {
    KernelCase *c = case_new(DT_F32);
    static const Op op[] = {OP_add, OP_sub, OP_mul, OP_floordiv, OP_mod, OP_minimum, OP_maximum};
    Node *x = case_input(c, "x", DT_I32, SHAPE(29), -20, 20),
         *y = case_input(c, "y", DT_I32, SHAPE(29), 1, 9);
    for (int i = 0; i < COUNT_OF(op); i++)
        case_output(c, graph_binary(c->g, op[i], x, y));
    case_output(c, graph_unary(c->g, OP_abs, graph_unary(c->g, OP_neg, x)));
    case_output(c, graph_unary(c->g, OP_sign, x));
    Node *u = case_input(c, "u", DT_U8, SHAPE(29), 0, 255);
    case_output(c, graph_cast(c->g, u, DT_F32));
    case_output(c, graph_cast(c->g, x, DT_BOOL));
    check(c);
}

Test(kernels, large_map_in_tiles) {
    KernelCase *c = case_new(DT_F32);
    Node *x = case_input(c, "x", DT_F32, SHAPE(129, 301), -2, 2);
    case_output(c, graph_unary(c->g, OP_tanh, graph_unary(c->g, OP_exp, x)));
    cr_assert_eq(case_lower(c), 1);
    cr_assert_gt(c->compiler.lowered->kernels.at[0]->tiles, 1);
    check(c);
}

/* On cuda a thread has four neighbours, in memory or not. */
Test(kernels, large_map_of_neighbours) {
    KernelCase *c = case_new(DT_F32);
    Node *x = case_input(c, "x", DT_F32, SHAPE(96, 172), -2, 2),
         *y = case_input(c, "y", DT_F32, SHAPE(172, 96), -2, 2);
    Home *m = case_home(c, "m", DT_F32, SHAPE(96, 172), -2, 2);
    Node *back = graph_permute(c->g, y, (const int[]){1, 0});
    Node *sum = graph_binary(c->g, OP_add, graph_read(c->g, m), x);
    case_output(c, graph_binary(c->g, OP_mul, x, back));
    case_write(c, m, graph_unary(c->g, OP_sin, sum));
    check(c);
}

/* ---- movement ---- */

Test(kernels, movement_folds_into_loads) {
    KernelCase *c = case_new(DT_F32);
    Node *x = case_input(c, "x", DT_F32, SHAPE(4, 6, 10), -2, 2);
    Node *row = case_input(c, "row", DT_F32, SHAPE(1, 10), -2, 2);
    Shape flat = SHAPE(24, 10), swapped = SHAPE(10, 24), part = SHAPE(3, 3, 4),
          wide = SHAPE(24, 10);
    Node *y = graph_reshape(c->g, x, &flat);
    case_output(c, graph_binary(c->g, OP_add, y, graph_broadcast(c->g, row, &wide)));
    Node *back = graph_permute(c->g, x, (const int[]){2, 0, 1});
    case_output(c, graph_unary(c->g, OP_neg, graph_reshape(c->g, back, &swapped)));
    Node *cut =
        graph_slice(c->g, x, (const int64_t[]){1, 5, 2}, (const int64_t[]){1, -2, 2}, &part);
    case_output(c, graph_unary(c->g, OP_abs, cut));
    case_output(c, back);
    check(c);
}

Test(kernels, concat_and_pad) {
    KernelCase *c = case_new(DT_F32);
    Node *x = case_input(c, "x", DT_F32, SHAPE(3, 5), -2, 2),
         *y = case_input(c, "y", DT_F32, SHAPE(3, 11), -2, 2);
    case_output(c, graph_concat(c->g, 3, (Node *[]){x, graph_unary(c->g, OP_neg, y), x}, 1));
    Shape padded = SHAPE(6, 9);
    case_output(c, graph_pad(c->g, x, (const int64_t[]){2, 1}, &padded, 7));
    Node *t = case_input(c, "t", DT_F32, SHAPE(2, 5), -2, 2);
    case_output(c, graph_concat(c->g, 2, (Node *[]){x, t}, 0));
    check(c);
}

Test(kernels, leaves) {
    KernelCase *c = case_new(DT_F32);
    static const double list[] = {3, 1, 4, 1, 5, 9};
    Shape s = SHAPE(2, 3);
    Node *lr = case_scalar(c, "lr", DT_F32, 0.25);
    Node *table = graph_data(c->g, DT_F32, &s, list);
    case_output(c, graph_binary(c->g, OP_mul, table, graph_broadcast_to(c->g, lr, &s)));
    case_output(c, graph_iota(c->g, &s, 1));
    case_output(c, graph_constant(c->g, DT_F32, &s, 0.1));
    check(c);
}

/* ---- reductions ---- */

static Node *keep(Graph *g, Op op, Node *x) {
    Shape one = x->shape;
    one.dim[x->shape.rank - 1] = (Dim){.n = 1};
    Node *r = graph_reduce(g, op, x, 1u << (x->shape.rank - 1));
    return graph_broadcast(g, graph_reshape(g, r, &one), &x->shape);
}

static Node *sum_of_products(Graph *g, Node *x, Node *y, unsigned axes) {
    const Attr attr = {.axes = axes};
    return graph_node(g, OP_sum_mul, 2, (Node *[]){x, y}, &attr, x->dtype, NULL);
}

static void reductions(DType t, int64_t rows, int64_t length) {
    KernelCase *c = case_new(t);
    Node *x = case_input(c, "x", t, SHAPE(rows, length), -2, 2);
    static const Op op[] = {OP_sum, OP_max, OP_min};
    for (int i = 0; i < COUNT_OF(op); i++)
        for (unsigned axes = 1; axes < 4; axes++)
            case_output(c, graph_reduce(c->g, op[i], graph_unary(c->g, OP_abs, x), axes));
    Node *root = graph_unary(c->g, OP_sqrt, graph_unary(c->g, OP_abs, x));
    for (unsigned axes = 1; axes < 4; axes++)
        case_output(c, sum_of_products(c->g, x, root, axes));
    check(c);
}

/* Equals, and values that are none: the first one counts, argmin takes no NaN. */
static void first_of_equals(DType t, int64_t rows, int64_t length) {
    KernelCase *c = case_new(t);
    Node *x = case_input(c, "x", t, SHAPE(rows, length), -2, 4);
    Node *whole = graph_unary(c->g, OP_floor, x), *some = graph_unary(c->g, OP_sqrt, whole);
    Node *n = case_input(c, "n", DT_I32, SHAPE(rows, length), -3, 3);
    static const Op op[] = {OP_argmax, OP_argmin};
    for (int i = 0; i < COUNT_OF(op); i++) {
        case_output(c, graph_argreduce(c->g, op[i], whole, 1));
        case_output(c, graph_argreduce(c->g, op[i], some, 1));
        case_output(c, graph_argreduce(c->g, op[i], n, 1));
        case_output(c, graph_argreduce(c->g, op[i], graph_cast(c->g, n, DT_BOOL), 1));
    }
    check(c);
}

Test(kernels, first_of_equals) {
    first_of_equals(DT_F32, 6, 10);
    first_of_equals(DT_F32, 3, 70);
    first_of_equals(DT_F32, 2, 3001);
    first_of_equals(DT_F64, 2, 1030);
}

Test(kernels, products_over_scattered_axes) {
    KernelCase *c = case_new(DT_F32);
    Node *x = case_input(c, "x", DT_F32, SHAPE(3, 4, 5, 6), -1, 1),
         *y = case_input(c, "y", DT_F32, SHAPE(3, 4, 5, 6), -1, 1);
    Node *centred = graph_binary(c->g, OP_sub, x, keep(c->g, OP_max, x));
    case_output(c, sum_of_products(c->g, x, y, 1 | 4));
    case_output(c, sum_of_products(c->g, centred, y, 2 | 8));
    case_output(c, sum_of_products(c->g, centred, y, 8));
    check(c);
}

Test(kernels, reductions) {
    reductions(DT_F32, 7, 10);
    reductions(DT_F32, 3, 1);
    reductions(DT_F32, 150, 70);
}

/* Chunks of rows: some in a block, more than a block takes, columns that do not fill a warp, of
 * several blocks and of one. */
Test(kernels, columns_in_chunks) {
    KernelCase *c = case_new(DT_F32);
    Node *x = case_input(c, "x", DT_F32, SHAPE(300, 70), -2, 2),
         *y = case_input(c, "y", DT_F32, SHAPE(2500, 9), -2, 2),
         *z = case_input(c, "z", DT_F32, SHAPE(3, 130, 32), -2, 2),
         *few = case_input(c, "few", DT_F32, SHAPE(1900, 2), -2, 2);
    case_output(c, graph_reduce(c->g, OP_sum, few, 1));
    case_output(c, graph_reduce(c->g, OP_sum, graph_unary(c->g, OP_sin, x), 1));
    case_output(c, sum_of_products(c->g, x, graph_unary(c->g, OP_abs, x), 1));
    case_output(c, graph_reduce(c->g, OP_max, y, 1));
    case_output(c, graph_unary(c->g, OP_neg, graph_reduce(c->g, OP_sum, y, 1)));
    case_output(c, graph_reduce(c->g, OP_sum, z, 2));
    check(c);
}

Test(kernels, reductions_f64) {
    reductions(DT_F64, 70, 43);
}

Test(kernels, long_rows) {
    reductions(DT_F32, 2, 2500);
    reductions(DT_F32, 3, 40000);
}

Test(kernels, products_and_integers) {
    KernelCase *c = case_new(DT_F32);
    Node *x = case_input(c, "x", DT_F32, SHAPE(5, 37), 0.8, 1.2),
         *y = case_input(c, "y", DT_I32, SHAPE(5, 37), -9, 9);
    case_output(c, graph_reduce(c->g, OP_prod, x, 2));
    case_output(c, graph_reduce(c->g, OP_sum, y, 2));
    case_output(c, graph_reduce(c->g, OP_max, y, 1));
    check(c);
}

Test(kernels, reduction_over_scattered_axes) {
    KernelCase *c = case_new(DT_F32);
    Node *x = case_input(c, "x", DT_F32, SHAPE(4, 5, 6, 7), -1, 1);
    case_output(c, graph_reduce(c->g, OP_sum, x, 1 | 4));
    case_output(c, graph_reduce(c->g, OP_max, x, 1 | 8));
    case_output(c, graph_reduce(c->g, OP_sum, x, 2 | 4));
    check(c);
}

/* ---- rows ---- */

Test(kernels, softmax_is_one_kernel) {
    static const int64_t length[] = {5, 10, 64, 333, 1500};
    for (int i = 0; i < COUNT_OF(length); i++) {
        KernelCase *c = case_new(DT_F32);
        Node *x = case_input(c, "x", DT_F32, SHAPE(9, length[i]), -3, 3);
        Node *e = graph_unary(c->g, OP_exp, graph_binary(c->g, OP_sub, x, keep(c->g, OP_max, x)));
        case_output(c, graph_binary(c->g, OP_div, e, keep(c->g, OP_sum, e)));
        cr_assert_eq(case_lower(c), 1);
        check(c);
    }
}

/* Only what is one number anyway has 64 bits: the row is still added with vectors. */
Test(kernels, total_in_64_bits) {
    KernelCase *c = case_new(DT_F32);
    c->count = 5;
    Node *x = case_count_home(c, "x", 12, 9, 5);
    Home *total = case_home(c, "total", DT_F64, shape_scalar(), 0, 9);
    Node *sum = graph_cast(c->g, graph_reduce(c->g, OP_sum, x, 3), DT_F64);
    case_write(c, total, graph_binary(c->g, OP_add, graph_read(c->g, total), sum));
    cr_assert_eq(case_lower(c), 1);
    Text text = {.arena = c->arena};
    c_print_kernel(&text, c->compiler.lowered->kernels.at[0]);
    cr_assert(strstr(text.at, "v8 total_lanes") && strstr(text.at, "(double)"), "%s", text.at);
    check(c);
}

static Node *constant_like(Graph *g, Node *x, double v) {
    return graph_constant(g, x->dtype, &x->shape, v);
}

/* -log softmax(z)[label], mean over the rows */
static Node *cross_entropy(Graph *g, Node *z, Node *label) {
    Node *shifted = graph_binary(g, OP_sub, z, keep(g, OP_max, z));
    Node *sum = graph_reduce(g, OP_sum, graph_unary(g, OP_exp, shifted), 2);
    Node *loss =
        graph_binary(g, OP_sub, graph_unary(g, OP_log, sum), graph_pick(g, shifted, label));
    Node *total = graph_reduce(g, OP_sum, loss, 1);
    return graph_binary(g, OP_div, total, constant_like(g, total, (double)z->shape.dim[0].n));
}

Test(kernels, cross_entropy_and_its_gradient) {
    KernelCase *c = case_new(DT_F32);
    Node *z = case_input(c, "z", DT_F32, SHAPE(64, 10), -3, 3),
         *label = case_input(c, "label", DT_I32, SHAPE(64), 0, 10);
    Node *loss = cross_entropy(c->g, z, label), *dz, *blame;
    cr_assert(grad_build(c->g, loss, &z, 1, &dz, &blame));
    case_output(c, graph_check(c->g, loss));
    case_output(c, dz);
    check(c);
}

Test(kernels, layernorm_and_its_gradient) {
    KernelCase *c = case_new(DT_F32);
    Node *x = case_input(c, "x", DT_F32, SHAPE(12, 96), -3, 3),
         *gamma = case_input(c, "gamma", DT_F32, SHAPE(96), 0, 2);
    Node *n = graph_constant(c->g, DT_F32, &x->shape, 96);
    Node *d = graph_binary(c->g, OP_sub, x, graph_binary(c->g, OP_div, keep(c->g, OP_sum, x), n));
    Node *var = graph_binary(c->g, OP_div, keep(c->g, OP_sum, graph_binary(c->g, OP_mul, d, d)), n);
    Node *y =
        graph_binary(c->g, OP_mul, d,
                     graph_unary(c->g, OP_rsqrt,
                                 graph_binary(c->g, OP_add, var, constant_like(c->g, var, 1e-5))));
    y = graph_binary(c->g, OP_mul, y, graph_broadcast_to(c->g, gamma, &x->shape));
    case_output(c, y);
    Node *loss = graph_reduce(c->g, OP_sum, graph_unary(c->g, OP_sin, y), 3), *dx[2], *blame;
    cr_assert(grad_build(c->g, loss, (Node *[]){x, gamma}, 2, dx, &blame));
    case_output(c, dx[0]);
    case_output(c, dx[1]);
    c->tolerance = 1e-5;
    check(c);
}

/* ---- indices ---- */

Test(kernels, gather_pick_scatter) {
    KernelCase *c = case_new(DT_F32);
    Node *table = case_input(c, "table", DT_F32, SHAPE(11, 6), -1, 1);
    Node *index = case_input(c, "index", DT_I32, SHAPE(4, 5), 0, 11);
    Node *rows = graph_gather(c->g, table, index);
    case_output(c, graph_unary(c->g, OP_neg, rows));
    Node *column = case_input(c, "column", DT_I32, SHAPE(11), 0, 6);
    case_output(c, graph_pick(c->g, table, column));
    case_output(c, graph_scatter_add(c->g, table, index, graph_unary(c->g, OP_abs, rows)));
    Node *flat = case_input(c, "flat", DT_F32, SHAPE(11), -1, 1),
         *more = case_input(c, "more", DT_F32, SHAPE(4, 5), 0, 1);
    case_output(c, graph_scatter_add(c->g, flat, index, more));
    case_output(c, graph_gather(c->g, flat, index));
    check(c);
}

/* More positions than a warp has lanes, several in a row of the table, a run-time count of them. */
Test(kernels, scatter_of_many) {
    KernelCase *c = case_new(DT_F32);
    Node *table = case_input(c, "table", DT_F32, SHAPE(13, 40), -1, 1);
    Node *index = case_input(c, "index", DT_I32, SHAPE(150), 0, 13);
    Node *more = case_input(c, "more", DT_F32, SHAPE(150, 40), -1, 1);
    case_output(c, graph_scatter_add(c->g, table, index, graph_unary(c->g, OP_sin, more)));
    Node *x = case_count_home(c, "x", 50, 3, 29), *flat = case_input(c, "flat", DT_F32, SHAPE(13),
                                                                     -1, 1);
    Node *wide = graph_binary(c->g, OP_mul, x, constant_like(c->g, x, 12.5));
    Node *rows = graph_cast(c->g, graph_unary(c->g, OP_abs, wide), DT_I32);
    case_output(c, graph_scatter_add(c->g, flat, rows, graph_unary(c->g, OP_sin, x)));
    check(c);
}

Test(kernels, run_time_slices) {
    KernelCase *c = case_new(DT_F32);
    Node *x = case_input(c, "x", DT_F32, SHAPE(9, 7), -1, 1), *at = case_scalar(c, "at", DT_I32, 3);
    Node *cut = graph_slice_at(c->g, x, at, 0, 4);
    case_output(c, cut);
    case_output(c, graph_slice_at(c->g, x, at, 1, 2));
    case_output(c, graph_put_at(c->g, x, graph_unary(c->g, OP_neg, cut), at, 0));
    check(c);
}

/* Large enough for threads: pieces of rows, and rows that no piece touches. */
Test(kernels, pieces_for_threads) {
    KernelCase *c = case_new(DT_F32);
    Node *x = case_input(c, "x", DT_F32, SHAPE(120, 83), -2, 2),
         *y = case_input(c, "y", DT_F32, SHAPE(120, 70), -2, 2),
         *z = case_input(c, "z", DT_F32, SHAPE(30, 83), -2, 2),
         *at = case_scalar(c, "at", DT_I32, 13);
    const Shape padded = SHAPE(150, 101), cube = SHAPE(1, 120, 83);
    case_output(c, graph_concat(c->g, 3, (Node *[]){y, graph_unary(c->g, OP_neg, x), y}, 1));
    case_output(c, graph_concat(c->g, 3, (Node *[]){z, x, z}, 0));
    case_output(c, graph_pad(c->g, x, (const int64_t[]){17, 9}, &padded, 7));
    case_output(c, graph_put_at(c->g, x, graph_unary(c->g, OP_neg, z), at, 0));
    Node *box = graph_reshape(c->g, x, &cube);
    case_output(c, graph_put_at(c->g, x, y, at, 1));
    case_output(c, graph_concat(c->g, 2, (Node *[]){box, box}, 2));
    Node *index = case_input(c, "index", DT_I32, SHAPE(20, 15), 0, 120),
         *more = case_input(c, "more", DT_F32, SHAPE(20, 15, 83), -2, 2);
    case_output(c, graph_scatter_add(c->g, x, index, more));
    int shared = 0;
    for (int i = case_lower(c) - 1; i >= 0; i--)
        shared += c->compiler.lowered->kernels.at[i]->tiles > 1;
    cr_assert_eq(shared, 7);
    check(c);
}

Test(kernels, running_sums) {
    KernelCase *c = case_new(DT_F32);
    Node *x = case_input(c, "x", DT_F32, SHAPE(5, 6, 7), -1, 1);
    for (int axis = 0; axis < 3; axis++)
        case_output(c, graph_cumsum(c->g, x, axis, axis == 1));
    check(c);
}

Test(kernels, random_numbers) {
    KernelCase *c = case_new(DT_F32);
    Node *count = case_scalar(c, "count", DT_I32, 5);
    Shape s = SHAPE(5, 7), n = SHAPE(50);
    case_output(c, graph_random(c->g, OP_rand, count, 77, DT_F32, &s, 0, 0));
    case_output(c, graph_random(c->g, OP_randn, count, 78, DT_F32, &s, 0, 0));
    case_output(c, graph_random(c->g, OP_randint, count, 79, DT_I32, &s, -3, 12));
    case_output(c, graph_random(c->g, OP_permutation, count, 80, DT_I32, &n, 0, 0));
    check(c);
}

/* The mask is drawn behind the product, the one for the gradient is stored there. */
static void dropout_of_columns(int64_t columns) {
    KernelCase *c = case_new(DT_F32);
    Shape s = SHAPE(1, 24, columns);
    Node *count = case_scalar(c, "count", DT_I32, 5);
    Node *x = case_input(c, "x", DT_F32, SHAPE(1, 24, 20), -1, 1),
         *w = case_input(c, "w", DT_F32, SHAPE(1, 20, columns), -1, 1),
         *v = case_input(c, "v", DT_F32, SHAPE(1, columns, 20), -1, 1);
    Node *zero = graph_constant(c->g, DT_F32, &s, 0), *part = graph_constant(c->g, DT_F32, &s, 0.8);
    Node *mask = graph_binary(c->g, OP_lt,
                              graph_random(c->g, OP_rand, count, 77, DT_F32, &s, 0, 0), part);
    Node *y = graph_binary(c->g, OP_maximum, graph_dot(c->g, x, w, false, false), zero);
    y = graph_where(c->g, mask, graph_binary(c->g, OP_div, y, part), zero);
    Node *z = graph_dot(c->g, y, v, false, false);
    case_output(c, z);
    case_output(c, graph_where(c->g, mask, graph_dot(c->g, z, w, false, false), zero));
    cr_assert_eq(case_lower(c), 3, "a kernel for each product");
    check(c);
}

Test(kernels, dropout_behind_products) {
    dropout_of_columns(48);
    dropout_of_columns(13);
}

/* ---- homes ---- */

Test(kernels, update_in_place_after_readers) {
    KernelCase *c = case_new(DT_F32);
    Home *w = case_home(c, "w", DT_F32, SHAPE(40), -1, 1);
    Node *old = graph_read(c->g, w);
    Node *next = graph_binary(c->g, OP_add, old, graph_unary(c->g, OP_exp, old));
    case_output(c, graph_reduce(c->g, OP_sum, graph_unary(c->g, OP_sin, old), 1));
    case_write(c, w, next);
    cr_assert_eq(case_lower(c), 2, "no copy is needed");
    check(c);
}

Test(kernels, homes_change_places) {
    KernelCase *c = case_new(DT_F32);
    Home *a = case_home(c, "a", DT_F32, SHAPE(40), -1, 1),
         *b = case_home(c, "b", DT_F32, SHAPE(40), -1, 1);
    Node *x = graph_read(c->g, a), *y = graph_read(c->g, b);
    case_write(c, a, y);
    case_write(c, b, x);
    check(c);
}

Test(kernels, reversed_in_its_own_home) {
    KernelCase *c = case_new(DT_F32);
    Home *a = case_home(c, "a", DT_F32, SHAPE(40), -1, 1);
    Shape s = SHAPE(40);
    Node *x =
        graph_slice(c->g, graph_read(c->g, a), (const int64_t[]){39}, (const int64_t[]){-1}, &s);
    case_write(c, a, graph_unary(c->g, OP_neg, x));
    check(c);
}

Test(kernels, values_cross_regions) {
    KernelCase *c = case_new(DT_F32);
    Home *a = case_home(c, "a", DT_F32, SHAPE(4, 10), -1, 1);
    Node *old = graph_read(c->g, a), *twice = graph_binary(c->g, OP_add, old, old);
    Node *e = graph_unary(c->g, OP_exp, twice);
    case_output(c, graph_reduce(c->g, OP_sum, e, 2));
    case_write(c, a, e);
    case_region(c);
    case_output(c, graph_binary(c->g, OP_add, old, graph_read(c->g, a)));
    case_output(c, graph_binary(c->g, OP_mul, twice, e));
    check(c);
}

/* y = a + b x + c x^2 + d x^3 fitted to sin x: gradients and update */
Test(kernels, polynomial_step_is_two_kernels) {
    KernelCase *c = case_new(DT_F32);
    static const char *const name[] = {"a", "b", "c", "d"};
    Node *x = case_input(c, "x", DT_F32, SHAPE(1500), -3.14, 3.14), *p[4], *dp[4], *blame;
    Home *home[4];
    Node *y = NULL, *power = constant_like(c->g, x, 1);
    for (int i = 0; i < 4; i++) {
        home[i] = case_home(c, name[i], DT_F32, shape_scalar(), -1, 1);
        p[i] = graph_read(c->g, home[i]);
        Node *term = graph_binary(c->g, OP_mul, graph_broadcast_to(c->g, p[i], &x->shape), power);
        y = y ? graph_binary(c->g, OP_add, y, term) : term;
        power = graph_binary(c->g, OP_mul, power, x);
    }
    Node *d = graph_binary(c->g, OP_sub, y, graph_unary(c->g, OP_sin, x));
    Node *loss = graph_reduce(c->g, OP_sum, graph_binary(c->g, OP_mul, d, d), 1);
    cr_assert(grad_build(c->g, loss, p, 4, dp, &blame));
    case_output(c, graph_check(c->g, loss));
    for (int i = 0; i < 4; i++) {
        Node *step = graph_binary(c->g, OP_mul, constant_like(c->g, p[i], 1e-6), dp[i]);
        case_write(c, home[i], graph_binary(c->g, OP_sub, p[i], step));
    }
    cr_assert_leq(case_lower(c), 3);
    check(c);
}

/* ---- run-time counts ---- */

Test(kernels, run_time_rows) {
    KernelCase *c = case_new(DT_F32);
    c->count = 5;
    Node *x = case_count_home(c, "x", 12, 9, 5);
    Node *e = graph_unary(c->g, OP_exp, x);
    case_output(c, e);
    case_output(c, graph_reduce(c->g, OP_sum, e, 2));
    case_output(c, graph_reduce(c->g, OP_sum, e, 1));
    case_output(c, graph_reduce(c->g, OP_sum, x, 3));
    check(c);
}

/* ---- a training step ---- */

typedef struct Layer {
    Home *w, *b;
} Layer;

static Node *two_dims(Graph *g, Node *x, Node *y, bool ta, bool tb) {
    Shape sx = shape_of(3, (const int64_t[]){1, x->shape.dim[0].n, x->shape.dim[1].n});
    Shape sy = shape_of(3, (const int64_t[]){1, y->shape.dim[0].n, y->shape.dim[1].n});
    sx.dim[1].count = x->shape.dim[0].count;
    Node *d = graph_dot(g, graph_reshape(g, x, &sx), graph_reshape(g, y, &sy), ta, tb);
    Shape s = d->shape;
    s.rank = 2;
    s.dim[0] = d->shape.dim[1];
    s.dim[1] = d->shape.dim[2];
    return graph_reshape(g, d, &s);
}

static Node *linear(KernelCase *c, Node *x, Layer *l, int64_t out, const char *name) {
    int64_t in = x->shape.dim[1].n;
    l->w =
        case_home(c, arena_printf(c->arena, "%s_w", name), c->g->real, SHAPE(in, out), -0.3, 0.3);
    l->b = case_home(c, arena_printf(c->arena, "%s_b", name), c->g->real, SHAPE(out), -0.3, 0.3);
    Node *y = two_dims(c->g, x, graph_read(c->g, l->w), false, false);
    return graph_binary(c->g, OP_add, y,
                        graph_broadcast_to(c->g, graph_read(c->g, l->b), &y->shape));
}

static Node *relu(Graph *g, Node *x) {
    return graph_binary(g, OP_maximum, x, constant_like(g, x, 0));
}

/* The reads of homes that the loss was made with. */
static Node *read_of(Graph *g, const Home *h) {
    for (int i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i]->op == OP_read && g->nodes.at[i]->attr.home == h)
            return g->nodes.at[i];
    return NULL;
}

static void train_step(DType t, int64_t batch, int64_t in, int64_t hidden, int64_t out,
                       int kernels) {
    KernelCase *c = case_new(t);
    Layer layer[2];
    Node *x = case_input(c, "x", t, SHAPE(batch, in), -1, 1),
         *label = case_input(c, "label", DT_I32, SHAPE(batch), 0, (double)out);
    Node *h = relu(c->g, linear(c, x, &layer[0], hidden, "l0"));
    Node *z = linear(c, h, &layer[1], out, "l1");
    h->name = "h";
    z->name = "z";
    Node *loss = cross_entropy(c->g, z, label), *p[4], *dp[4], *blame;
    for (int i = 0; i < 2; i++) {
        p[2 * i] = read_of(c->g, layer[i].w);
        p[2 * i + 1] = read_of(c->g, layer[i].b);
    }
    cr_assert(grad_build(c->g, loss, p, 4, dp, &blame));
    case_output(c, graph_check(c->g, loss));
    Node *lr = case_scalar(c, "lr", t, 0.5);
    for (int i = 0; i < 4; i++) {
        Node *step = graph_binary(c->g, OP_mul, graph_broadcast_to(c->g, lr, &p[i]->shape), dp[i]);
        case_write(c, (Home *)p[i]->attr.home, graph_binary(c->g, OP_sub, p[i], step));
    }
    int n = case_lower(c);
    cr_assert_leq(n, kernels, "%d kernels", n);
    check(c);
}

/* Over rows that are counted when it runs, and with extents that no tile divides. */
Test(kernels, products_with_rests) {
    KernelCase *c = case_new(DT_F32);
    Node *x = case_count_home(c, "x", 40, 37, 29), *y = case_count_home(c, "y", 40, 43, 29);
    Shape s = x->shape, t = y->shape, u = SHAPE(1, 50, 43);
    s.rank = t.rank = 3;
    for (int d = 2; d > 0; d--) {
        s.dim[d] = s.dim[d - 1];
        t.dim[d] = t.dim[d - 1];
    }
    s.dim[0] = t.dim[0] = dim_fixed(1);
    x = graph_reshape(c->g, x, &s);
    case_output(c, graph_dot(c->g, x, graph_reshape(c->g, y, &t), true, false));
    Node *a = case_input(c, "a", DT_F32, SHAPE(1, 50, 37), -2, 2),
         *b = case_input(c, "b", DT_F32, u, -2, 2);
    case_output(c, graph_dot(c->g, x, a, false, true));
    case_output(c, graph_dot(c->g, a, b, true, false));
    check(c);
}

/* As large as each size of tiles that a target has, with a rest. */
Test(kernels, large_products) {
    static const int64_t size[][3] = {
        {1153, 9, 1281}, {700, 17, 650}, {300, 33, 310}, {6200, 5, 10}};
    KernelCase *c = case_new(DT_F32);
    for (int i = 0; i < COUNT_OF(size); i++) {
        Node *x = case_input(c, "x", DT_F32, SHAPE(1, size[i][0], size[i][1]), -2, 2),
             *y = case_input(c, "y", DT_F32, SHAPE(1, size[i][1], size[i][2]), -2, 2);
        case_output(c, graph_unary(c->g, OP_neg, graph_dot(c->g, x, y, false, false)));
    }
    check(c);
}

Test(kernels, step_of_a_perceptron) {
    train_step(DT_F32, 64, 64, 48, 10, 16);
    train_step(DT_F32, 64, 784, 128, 10, 16);
    train_step(DT_F32, 7, 13, 5, 3, 16);
}

/* A total in f64 of a contraction in f32: vectors and numbers of 64 bits are two kernels. */
Test(kernels, total_of_contractions) {
    KernelCase *c = case_new(DT_F32);
    Node *x = case_input(c, "x", DT_F32, SHAPE(1, 8, 20), -1, 1);
    Home *total = case_home(c, "total", DT_F64, SHAPE(1, 20, 20), -1, 1);
    Node *gram = graph_dot(c->g, x, x, true, false);
    Node *wide = graph_cast(c->g, graph_unary(c->g, OP_tanh, gram), DT_F64);
    case_write(c, total, graph_binary(c->g, OP_add, graph_read(c->g, total), wide));
    case_output(c, graph_cast(c->g, graph_unary(c->g, OP_sin, wide), DT_F32));
    cr_assert_eq(case_lower(c), 2);
    check(c);
}

Test(kernels, step_of_a_perceptron_f64) {
    train_step(DT_F64, 16, 24, 20, 10, 16);
}

/* ---- random graphs ---- */

typedef struct Random {
    uint64_t state;
} Random;

static int draw(Random *r, int n) {
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return (int)((r->state >> 33) % (uint64_t)n);
}

static Node *random_move(Graph *g, Random *r, Node *x) {
    int rank = x->shape.rank;
    if (rank < 1)
        return graph_unary(g, OP_neg, x);
    Shape s = x->shape;
    int64_t zero[MAX_RANK] = {0}, one[MAX_RANK];
    int perm[MAX_RANK];
    for (int d = 0; d < rank; d++) {
        one[d] = 1;
        perm[d] = (d + 1) % rank;
    }
    int axis = draw(r, rank);
    switch (draw(r, 5)) {
    case 0:
        return graph_permute(g, x, perm);
    case 1:
        s.dim[axis].n = (s.dim[axis].n + 1) / 2;
        one[axis] = x->shape.dim[axis].n > 1 ? 2 : 1;
        return graph_slice(g, x, zero, one, &s);
    case 2: {
        Shape flat = SHAPE(shape_elements(&x->shape));
        return graph_reshape(g, x, &flat);
    }
    case 3:
        s.dim[axis].n += 3;
        zero[axis] = 1;
        return graph_pad(g, x, zero, &s, 0.5);
    default:
        return graph_concat(g, 2, (Node *[]){x, graph_unary(g, OP_neg, x)}, axis);
    }
}

static Node *random_node(Graph *g, Random *r, Node *const *pool, int n) {
    static const Op unary[] = {OP_neg, OP_abs, OP_tanh, OP_sin, OP_sigmoid},
                    binary[] = {OP_add, OP_sub, OP_mul, OP_maximum};
    Node *x = pool[n - 1 - draw(r, n < 6 ? n : 6)];
    int rank = x->shape.rank;
    switch (draw(r, 8)) {
    case 0:
    case 1:
        return graph_unary(g, unary[draw(r, COUNT_OF(unary))], x);
    case 2:
        return random_move(g, r, x);
    case 3:
    case 4:
        if (rank) {
            unsigned axes = (unsigned)draw(r, (1 << rank) - 1) + 1;
            Node *sum = graph_reduce(g, draw(r, 2) ? OP_sum : OP_max, x, axes);
            Shape kept = x->shape;
            for (int d = 0; d < rank; d++)
                if (axes >> d & 1)
                    kept.dim[d].n = 1;
            sum = graph_unary(g, OP_tanh, sum);
            if (draw(r, 3) == 0)
                return sum;
            return graph_binary(g, OP_sub, x,
                                graph_broadcast(g, graph_reshape(g, sum, &kept), &x->shape));
        }
        return graph_unary(g, OP_sin, x);
    case 5:
        if (rank == 2) {
            Shape s = SHAPE(1, x->shape.dim[0].n, x->shape.dim[1].n);
            Node *y = graph_reshape(g, x, &s);
            bool columns = draw(r, 2);
            return graph_unary(g, OP_tanh, graph_dot(g, y, y, columns, !columns));
        }
        return graph_unary(g, OP_abs, x);
    case 6:
        return rank ? graph_cumsum(g, graph_unary(g, OP_sin, x), draw(r, rank), draw(r, 2) != 0)
                    : x;
    default:
        break;
    }
    for (int i = 0; i < 8; i++) {
        Node *y = pool[draw(r, n)];
        if (shape_equal(&x->shape, &y->shape))
            return graph_binary(g, binary[draw(r, COUNT_OF(binary))], x, y);
    }
    return graph_binary(g, OP_mul, x, x);
}

static void random_case(uint64_t seed) {
    KernelCase *c = case_new(DT_F32);
    Random r = {seed * 7919 + 13};
    VEC(Node *) pool = {0};
    static const char *const name[] = {"a", "b", "c", "d"};
    int64_t rows = 1 + draw(&r, 12), columns = 1 + draw(&r, 40);
    const Shape shapes[] = {SHAPE(rows, columns), SHAPE(rows, columns), SHAPE(3, rows, columns),
                            SHAPE(columns)};
    Home *home[4];
    for (int i = 0; i < 4; i++) {
        home[i] = case_home(c, name[i], DT_F32, shapes[i], -1, 1);
        vec_push(c->arena, &pool, graph_read(c->g, home[i]));
    }
    for (int i = 0; i < 24; i++) {
        Node *n = random_node(c->g, &r, pool.at, pool.n);
        vec_push(c->arena, &pool, n);
    }
    for (int i = 0; i < 4; i++)
        case_output(c, pool.at[pool.n - 1 - 3 * i]);
    for (int i = 0; i < 4; i++) /* the last value that fits is the home's new version */
        for (int k = pool.n - 1 - i; k > 3; k--)
            if (shape_equal(&pool.at[k]->shape, &shapes[i])) {
                case_write(c, home[i], pool.at[k]);
                break;
            }
    c->tolerance = 2e-5;
    const char *wrong = case_check(c);
    cr_expect_null(wrong, "seed %d: %s", (int)seed, wrong);
    case_free(c);
}

Test(kernels, random_graphs) {
    for (uint64_t seed = 0; seed < RANDOM_GRAPHS; seed++)
        random_case(seed);
}
