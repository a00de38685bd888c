/* test_fuse.c: what is one kernel, what is stored, what is updated in place. Values are
 * test_kernels.c's business. */
#include "kernel_case.h"
#include "schedule.h"
#include <criterion/criterion.h>
#include <string.h>

#define SHAPE(...) shape_of(COUNT_OF(((int64_t[]){__VA_ARGS__})), (const int64_t[]){__VA_ARGS__})

static int own_buffers(const KernelCase *c) {
    int n = 0;
    for (int i = 0; i < c->compiler.lowered->buffers.n; i++)
        n += !c->compiler.lowered->buffers.at[i]->home;
    return n;
}

static void expect(KernelCase *c, int kernels, int buffers) {
    int n = case_lower(c);
    cr_expect_eq(n, kernels, "%d kernels, %d wanted", n, kernels);
    cr_expect_eq(own_buffers(c), buffers, "%d buffers, %d wanted", own_buffers(c), buffers);
    case_free(c);
}

static Node *constant_like(Graph *g, Node *x, double v) {
    return graph_constant(g, x->dtype, &x->shape, v);
}

Test(fuse, chain_of_maps_is_one_kernel) {
    KernelCase *c = case_new(DT_F32);
    Node *x = case_input(c, "x", DT_F32, SHAPE(50), -1, 1);
    for (int i = 0; i < 5; i++)
        x = graph_binary(c->g, OP_mul, graph_unary(c->g, OP_exp, x), x);
    case_output(c, x);
    expect(c, 1, 1);
}

Test(fuse, moments_and_weight_are_one_stream) {
    KernelCase *c = case_new(DT_F32);
    Home *w = case_home(c, "w", DT_F32, SHAPE(50), -1, 1),
         *m = case_home(c, "m", DT_F32, SHAPE(50), -1, 1);
    Home *v = case_home(c, "v", DT_F32, SHAPE(50), 0, 1);
    Node *grad = case_input(c, "grad", DT_F32, SHAPE(50), -1, 1),
         *k = constant_like(c->g, grad, 0.9);
    Node *m1 = graph_fma(c->g, graph_read(c->g, m), k, grad);
    Node *v1 = graph_fma(c->g, graph_read(c->g, v), k, graph_binary(c->g, OP_mul, grad, grad));
    Node *step = graph_binary(c->g, OP_div, m1, graph_unary(c->g, OP_sqrt, v1));
    case_write(c, m, m1);
    case_write(c, v, v1);
    case_write(c, w, graph_binary(c->g, OP_sub, graph_read(c->g, w), step));
    expect(c, 1, 0);
}

Test(fuse, sums_of_the_same_rows_share_a_loop) {
    KernelCase *c = case_new(DT_F32);
    Node *x = case_input(c, "x", DT_F32, SHAPE(30, 40), -1, 1);
    case_output(c, graph_reduce(c->g, OP_sum, x, 2));
    case_output(c, graph_reduce(c->g, OP_max, graph_unary(c->g, OP_abs, x), 2));
    expect(c, 1, 2);
}

Test(fuse, rows_and_columns_are_two_kernels) {
    KernelCase *c = case_new(DT_F32);
    Node *x = case_input(c, "x", DT_F32, SHAPE(30, 40), -1, 1);
    case_output(c, graph_reduce(c->g, OP_sum, x, 2));
    case_output(c, graph_reduce(c->g, OP_sum, x, 1));
    expect(c, 2, 2);
}

/* 2 * count numbers in one row are not the same as 2 rows of `count`. */
Test(fuse, counted_rows_are_not_one_row) {
    KernelCase *c = case_new(DT_F32);
    Node *x = case_count_home(c, "x", 8, 2, 5);
    Node *least = graph_reduce(c->g, OP_min, x, 3);
    const Shape turned = {.rank = 2, .dim = {{2, NULL}, x->shape.dim[0]}};
    case_output(c, least);
    case_output(c, graph_unary(c->g, OP_sin, graph_broadcast_to(c->g, least, &turned)));
    expect(c, 2, 2);
}

Test(fuse, epilogue_stays_with_its_contraction) {
    KernelCase *c = case_new(DT_F32);
    Node *x = case_input(c, "x", DT_F32, SHAPE(1, 30, 40), -1, 1),
         *w = case_input(c, "w", DT_F32, SHAPE(1, 40, 20), -1, 1);
    Node *b = case_input(c, "b", DT_F32, SHAPE(20), -1, 1);
    Shape s = SHAPE(30, 20);
    Node *y = graph_reshape(c->g, graph_dot(c->g, x, w, false, false), &s);
    y = graph_binary(c->g, OP_add, y, graph_broadcast_to(c->g, b, &s));
    case_output(c, graph_binary(c->g, OP_maximum, y, constant_like(c->g, y, 0)));
    case_lower(c);
    const Lowered *l = c->compiler.lowered;
    cr_expect_eq(c->compiler.fusion->groups.n, 1);
    cr_expect_eq(l->kernels.at[l->kernels.n - 1]->writes.n, 1);
    case_free(c);
}

Test(fuse, old_version_is_read_before_the_update) {
    KernelCase *c = case_new(DT_F32);
    Home *w = case_home(c, "w", DT_F32, SHAPE(30, 40), -1, 1);
    Node *old = graph_read(c->g, w);
    case_write(c, w, graph_unary(c->g, OP_neg, old));
    case_output(c, graph_reduce(c->g, OP_sum, old, 1));
    case_lower(c);
    const Lowered *l = c->compiler.lowered;
    cr_assert_eq(l->kernels.n, 2);
    cr_expect(l->kernels.at[1]->writes.at[0].buffer->home == w, "the update comes last");
    case_free(c);
}

Test(fuse, copy_where_an_update_would_overtake_a_reader) {
    KernelCase *c = case_new(DT_F32);
    Home *w = case_home(c, "w", DT_F32, SHAPE(40), -1, 1);
    Node *old = graph_read(c->g, w), *next = graph_unary(c->g, OP_exp, old);
    Node *total = graph_reduce(c->g, OP_sum, next, 1);
    /* needs the new version's sum and the old version */
    case_output(c, graph_binary(c->g, OP_mul, old, graph_broadcast_to(c->g, total, &old->shape)));
    case_write(c, w, next);
    case_lower(c);
    const Lowered *l = c->compiler.lowered;
    bool written = false;
    for (int i = 0; i < l->kernels.n; i++) {
        for (int r = 0; r < l->kernels.at[i]->reads.n; r++)
            cr_expect(!written || l->kernels.at[i]->reads.at[r].buffer->home != w,
                      "reads w after its update");
        for (int r = 0; r < l->kernels.at[i]->writes.n; r++)
            written |= l->kernels.at[i]->writes.at[r].buffer->home == w;
    }
    cr_expect(written);
    case_free(c);
}

Test(fuse, updates_come_after_checks) {
    KernelCase *c = case_new(DT_F32);
    Home *w = case_home(c, "w", DT_F32, SHAPE(40), -1, 1);
    Node *old = graph_read(c->g, w), *loss = graph_reduce(c->g, OP_sum, old, 1);
    case_write(c, w, graph_binary(c->g, OP_sub, old, graph_broadcast_to(c->g, loss, &old->shape)));
    case_output(c, graph_check(c->g, loss));
    case_lower(c);
    const Lowered *l = c->compiler.lowered;
    for (int i = 0, checked = 0; i < l->kernels.n; i++) {
        bool updates = false;
        for (int r = 0; r < l->kernels.at[i]->writes.n; r++)
            updates |= l->kernels.at[i]->writes.at[r].buffer->home != NULL;
        cr_expect(!updates || (checked && !l->kernels.at[i]->check));
        checked |= l->kernels.at[i]->check;
    }
    case_free(c);
}

/* However the blocks come, one that finds an index out of range leaves the whole home as it was. */
Test(fuse, what_looks_at_an_index_writes_no_home) {
    KernelCase *c = case_new(DT_F32);
    Home *w = case_home(c, "w", DT_F32, SHAPE(40), -1, 1);
    Home *v = case_home(c, "v", DT_F32, SHAPE(9), -1, 1);
    Node *index = case_input(c, "index", DT_I32, SHAPE(40), 0, 8);
    Node *found = graph_gather(c->g, graph_read(c->g, v), index);
    case_write(c, w, graph_binary(c->g, OP_add, graph_read(c->g, w), found));
    case_write(c, v, graph_unary(c->g, OP_neg, graph_read(c->g, v)));
    case_lower(c);
    const Lowered *l = c->compiler.lowered;
    cr_expect_eq(l->kernels.n, 3);
    for (int i = 0; i < l->kernels.n; i++) {
        const Kernel *k = l->kernels.at[i];
        cr_expect_eq(k->check, i == 0, "the first looks, the others write");
        cr_expect_eq(kernel_writes_home(k), i != 0);
    }
    case_free(c);
}

/* There is no limit to what a node may be made from. */
Test(fuse, many_producers_are_one_kernel) {
    KernelCase *c = case_new(DT_F32);
    Node *x = case_input(c, "x", DT_F32, SHAPE(50), -1, 1), *sum = x;
    for (int i = 0; i < 40; i++) {
        Node *y = graph_binary(c->g, OP_mul, x, constant_like(c->g, x, i));
        y = graph_unary(c->g, OP_exp, y);
        case_output(c, y);
        sum = graph_binary(c->g, OP_add, sum, y);
    }
    case_output(c, sum);
    expect(c, 1, 41);
}

/* What one kernel cannot add up in registers, several do. */
Test(fuse, many_sums_of_columns_are_a_few_kernels) {
    KernelCase *c = case_new(DT_F32);
    Node *x = case_input(c, "x", DT_F32, SHAPE(30, 40), -1, 1);
    for (int i = 0; i < 40; i++)
        case_output(c, graph_reduce(c->g, OP_sum,
                                    graph_binary(c->g, OP_mul, x, constant_like(c->g, x, i)), 1));
    expect(c, 2, 40);
}

Test(fuse, equal_kernels_share_a_function) {
    KernelCase *c = case_new(DT_F32);
    static const char *const name[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        Home *h = case_home(c, name[i], DT_F32, SHAPE(40 + (i == 2)), -1, 1);
        case_write(c, h, graph_unary(c->g, OP_exp, graph_read(c->g, h)));
    }
    case_lower(c);
    const Lowered *l = c->compiler.lowered;
    cr_assert_eq(l->kernels.n, 3);
    cr_expect_eq(l->kernels.at[1]->same_as, 0);
    cr_expect_str_eq(l->kernels.at[1]->name, l->kernels.at[0]->name);
    cr_expect_eq(l->kernels.at[2]->same_as, 2, "another extent is another function");
    case_free(c);
}

Test(fuse, scalars_are_one_kernel) {
    KernelCase *c = case_new(DT_F32);
    static const char *const name[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        Home *h = case_home(c, name[i], DT_F32, shape_scalar(), -1, 1);
        case_write(c, h, graph_unary(c->g, OP_exp, graph_read(c->g, h)));
    }
    expect(c, 1, 0);
}

static const Access *access_of(const Kernel *k, const char *buffer, bool write) {
    for (int i = 0; i < (write ? k->writes.n : k->reads.n); i++) {
        const Access *a = write ? &k->writes.at[i] : &k->reads.at[i];
        if (strcmp(a->buffer->name, buffer) == 0)
            return a;
    }
    cr_assert_fail("kernel '%s' does not touch '%s'", k->name, buffer);
    return NULL;
}

/* Rows of a product of few columns go straight into a kernel of rows; a sum of columns is cut the
 * other way, and what a contraction reads as a whole is owned by nobody. */
Test(fuse, kernels_of_the_same_rows_own_the_same_parts) {
    KernelCase *c = case_new(DT_F32);
    Node *x = case_input(c, "x", DT_F32, SHAPE(1, 256, 200), -1, 1);
    Node *w = case_input(c, "w", DT_F32, SHAPE(1, 200, 12), -1, 1);
    Node *y = graph_dot(c->g, x, w, false, false), *e = graph_unary(c->g, OP_exp, y);
    Node *total = graph_reduce(c->g, OP_sum, e, 4);
    y->name = "y";
    total->name = "total";
    case_output(c, y);
    case_output(c, total);
    case_lower(c);
    const Lowered *l = c->compiler.lowered;
    cr_assert_eq(l->kernels.n, 2);
    const Access *made = access_of(l->kernels.at[0], "y", true),
                 *used = access_of(l->kernels.at[1], "y", false);
    cr_expect_eq(l->kernels.at[0]->tiles, l->kernels.at[1]->tiles);
    cr_expect(made->owner && used->owner);
    cr_expect(made->axis == 1 && used->axis == 1, "cut along %d and %d", made->axis, used->axis);
    cr_expect(made->part == 4 && used->part == 4);
    cr_expect_not(access_of(l->kernels.at[0], "w", false)->owner);
    case_free(c);
}
