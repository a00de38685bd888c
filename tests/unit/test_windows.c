/* test_windows.c: contractions of windows and their gradients as kernels: the oracle's values, the
 * same bits for any number of threads, and no buffer that holds windows.
 */
#include "kernel_case.h"
#include <criterion/criterion.h>

#define SHAPE(...) shape_of(COUNT_OF(((int64_t[]){__VA_ARGS__})), (const int64_t[]){__VA_ARGS__})

static void check(KernelCase *c) {
    const char *wrong = case_check(c);
    cr_assert_null(wrong, "%s", wrong);
    case_free(c);
}

typedef struct Conv {
    int64_t batch, size, channels, length, step, apart, features, groups;
} Conv;

static int64_t windows_along(const Conv *z) {
    return (z->size - 1 - (z->length - 1) * z->apart) / z->step + 1;
}

/* [n, h, w, c] by [g, k l c, f] -> [g, n o p, f] */
static Node *convolve(KernelCase *c, const Conv *z, Node *x, Node *w) {
    int64_t o = windows_along(z), each = z->channels / z->groups;
    const int64_t out[] = {o, o}, length[] = {z->length, z->length};
    const Windows ways = {
        .axis = 1, .n = 2, .step = {z->step, z->step}, .apart = {z->apart, z->apart}};
    Node *p = graph_windows(c->g, x, &ways, out, length);
    if (z->groups > 1) {
        Shape s = p->shape;
        s.rank = 7;
        s.dim[5] = dim_fixed(z->groups);
        s.dim[6] = dim_fixed(each);
        p = graph_permute(c->g, graph_reshape(c->g, p, &s), (int[]){5, 0, 1, 2, 3, 4, 6});
    }
    Dim rows = x->shape.dim[0];
    rows.n *= o * o;
    const Shape s = {
        .rank = 3,
        .dim = {dim_fixed(z->groups), rows, dim_fixed(z->length * z->length * each)}};
    return graph_dot(c->g, graph_reshape(c->g, p, &s), w, false, false);
}

/* The value, the gradients, and that no buffer is as large as the windows. */
static void check_conv(DType t, const Conv *z, bool counted) {
    KernelCase *c = case_new(t);
    c->count = z->batch - 1;
    int64_t o = windows_along(z), inner = z->length * z->length * z->channels / z->groups;
    Node *x = case_input(c, "x", t, SHAPE(z->batch, z->size, z->size, z->channels), -1, 1);
    if (counted) {
        int64_t rest = z->size * z->size * z->channels;
        Node *rows = case_count_home(c, "rows", z->batch, rest, c->count);
        Shape s = x->shape;
        s.dim[0] = rows->shape.dim[0];
        x = graph_reshape(c->g, rows, &s);
    }
    Node *in[] = {x, case_input(c, "w", t, SHAPE(z->groups, inner, z->features), -1, 1)};
    Node *y = convolve(c, z, in[0], in[1]), *square = graph_binary(c->g, OP_mul, y, y), *d[2];
    Node *loss = graph_reduce(c->g, OP_sum, square, 7), *blame;
    cr_assert(grad_build(c->g, loss, in, 2, d, &blame));
    case_output(c, y);
    case_output(c, d[0]);
    case_output(c, d[1]);
    case_lower(c);
    int64_t most = MAX(z->channels, z->features * z->groups);
    int64_t all = z->batch * o * o * z->length * z->length * most;
    for (int i = 0; i < c->compiler.lowered->buffers.n; i++) {
        const Buffer *b = c->compiler.lowered->buffers.at[i];
        cr_assert_lt(shape_elements(&b->shape), all, "%s is as large as the windows", b->name);
    }
    check(c);
}

static const Conv convs[] = {
    {4, 9, 3, 3, 1, 1, 20, 1},   /* tiles that run across rows */
    {3, 14, 8, 3, 1, 1, 32, 1},
    {3, 12, 1, 5, 1, 1, 6, 1},   /* one channel */
    {4, 11, 4, 3, 2, 1, 17, 1},
    {3, 13, 16, 3, 1, 2, 16, 1}, /* dilated */
    {3, 10, 8, 3, 1, 1, 9, 2},   /* groups */
    {6, 35, 3, 3, 1, 1, 17, 1},  /* k of the gradient in w is long: in parts */
};

Test(windows, contractions) {
    for (int i = 0; i < COUNT_OF(convs); i++)
        check_conv(DT_F32, &convs[i], false);
}

Test(windows, contractions_of_counted_rows) {
    check_conv(DT_F32, &convs[0], true);
    check_conv(DT_F32, &convs[3], true);
    check_conv(DT_F32, &convs[6], true);
}

Test(windows, contractions_f64) {
    check_conv(DT_F64, &convs[0], false);
    check_conv(DT_F64, &convs[3], false);
}

/* Maxima and means of windows that overlap, and their gradients. */
Test(windows, pooling) {
    KernelCase *c = case_new(DT_F32);
    Node *x = case_input(c, "x", DT_F32, SHAPE(3, 9, 11, 10), -1, 1);
    const Windows w = {.axis = 1, .n = 2, .step = {2, 3}, .apart = {1, 2}};
    Node *p = graph_windows(c->g, x, &w, (int64_t[]){4, 3}, (int64_t[]){3, 2});
    static const Op ops[] = {OP_max, OP_sum, OP_prod};
    for (int i = 0; i < COUNT_OF(ops); i++) {
        Node *y = graph_reduce(c->g, ops[i], p, 1u << 3 | 1u << 4), *dx, *blame;
        Node *sum = graph_reduce(c->g, OP_sum, graph_unary(c->g, OP_sin, y), 15);
        cr_assert(grad_build(c->g, sum, &x, 1, &dx, &blame));
        case_output(c, y);
        case_output(c, dx);
    }
    check(c);
}
