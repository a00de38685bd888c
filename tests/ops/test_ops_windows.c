/* Windows and their transpose, fold: which element goes where, that gradients find the way back, and
 * that the gradients of a contraction of windows are contractions of windows.
 */
#include "oracle.h"
#include <criterion/criterion.h>
#include <math.h>

static void check_gradients(Oracle *o, Node *y, Node *const *x, int n, const char *what) {
    double error = oracle_gradient_error(o, oracle_project(o, y), x, n);
    cr_assert_lt(error, 1e-6, "%s: %g", what, error);
    Node *square = graph_binary(o->graph, OP_mul, y, y);
    error = oracle_second_error(o, oracle_project(o, square), x, n);
    cr_assert_lt(error, 1e-6, "%s, second: %g", what, error);
}

/* x[i] is i everywhere: what comes out says where it was. */
static Node *numbered(Oracle *o, int rank, const int64_t *n) {
    const Shape s = shape_of(rank, n);
    double *at = NEW_ARRAY(o->arena, double, shape_elements(&s));
    for (int64_t i = 0; i < shape_elements(&s); i++)
        at[i] = (double)i;
    return graph_data(o->graph, DT_F64, &s, at);
}

static void value_is(Oracle *o, const Node *y, int n, const double *want, const char *what) {
    const Tensor *t = oracle_value(o, y);
    cr_assert_eq(shape_elements(&t->shape), n, "%s: %d elements", what, n);
    for (int64_t i = 0; i < n; i++)
        cr_assert_eq(t->at[i], want[i], "%s: [%d] = %g", what, (int)i, t->at[i]);
}

Test(ops_windows, values) {
    Oracle *o = oracle_new(DT_F64, 1);
    static const struct {
        int64_t start, step, apart, out, length;
        double want[9];
    } cuts[] = {
        {0, 2, 1, 3, 3, {0, 1, 2, 2, 3, 4, 4, 5, 6}},
        {1, 1, 3, 3, 2, {1, 4, 2, 5, 3, 6}},
        {4, 1, -2, 2, 3, {4, 2, 0, 5, 3, 1}},
        {6, 1, -1, 1, 7, {6, 5, 4, 3, 2, 1, 0}},
    };
    Node *x = numbered(o, 1, (int64_t[]){7});
    for (int i = 0; i < COUNT_OF(cuts); i++) {
        const Windows w = {.n = 1, .start = {cuts[i].start}, .step = {cuts[i].step},
                           .apart = {cuts[i].apart}};
        Node *y = graph_windows(o->graph, x, &w, &cuts[i].out, &cuts[i].length);
        cr_assert_eq(y->op, OP_windows);
        value_is(o, y, (int)(cuts[i].out * cuts[i].length), cuts[i].want, "windows");
    }
    oracle_free(o);
}

Test(ops_windows, of_two_axes) {
    Oracle *o = oracle_new(DT_F64, 1);
    Node *x = numbered(o, 4, (int64_t[]){1, 3, 3, 2});
    const Windows w = {.axis = 1, .n = 2, .step = {1, 1}, .apart = {1, 1}};
    const double want[] = {0, 1, 2, 3, 6,  7,  8,  9,  2, 3, 4,  5,  8,  9,  10, 11,
                           6, 7, 8, 9, 12, 13, 14, 15, 8, 9, 10, 11, 14, 15, 16, 17};
    Node *y = graph_windows(o->graph, x, &w, (int64_t[]){2, 2}, (int64_t[]){2, 2});
    value_is(o, y, 32, want, "windows of two axes");
    oracle_free(o);
}

/* Windows side by side repeat nothing. */
Test(ops_windows, side_by_side) {
    Oracle *o = oracle_new(DT_F64, 1);
    Node *x = numbered(o, 3, (int64_t[]){2, 4, 2});
    const Windows w = {.axis = 0, .n = 2, .step = {1, 2}, .apart = {1, 1}};
    const double want[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    Node *y = graph_windows(o->graph, x, &w, (int64_t[]){2, 2}, (int64_t[]){1, 2});
    cr_assert_eq(y->op, OP_permute);
    cr_assert_eq(y->shape.rank, 5);
    value_is(o, y, 16, want, "side by side");
    oracle_free(o);
}

Test(ops_windows, fold) {
    Oracle *o = oracle_new(DT_F64, 1);
    Node *x = numbered(o, 2, (int64_t[]){3, 3});
    const Windows w = {.n = 1, .start = {1}, .step = {2}, .apart = {1}};
    const double want[] = {0, 0, 1, 2 + 3, 4, 5 + 6, 7, 8, 0};
    const Shape s = shape_of(1, (int64_t[]){9});
    Node *y = graph_fold(o->graph, x, &w, &s);
    cr_assert_eq(y->op, OP_fold);
    value_is(o, y, 9, want, "fold");
    oracle_free(o);
}

Test(ops_windows, gradients) {
    static const Windows ways[] = {
        {.axis = 1, .n = 2, .start = {0, 1}, .step = {1, 2}, .apart = {2, 1}},
        {.axis = 0, .n = 2, .start = {1, 2}, .step = {1, 1}, .apart = {-1, -2}},
        {.axis = 1, .n = 3, .start = {0, 0, 0}, .step = {1, 3, 1}, .apart = {1, 1, 1}},
    };
    const int64_t out[] = {2, 2, 2}, length[] = {2, 2, 1};
    for (int i = 0; i < COUNT_OF(ways); i++) {
        Oracle *o = oracle_new(DT_F64, 1);
        const Shape s = shape_of(4, (int64_t[]){3, 4, 5, 2});
        Node *x = oracle_input(o, DT_F64, &s, -2, 2);
        Node *y = graph_windows(o->graph, x, &ways[i], out, length);
        check_gradients(o, y, &x, 1, arena_printf(o->arena, "windows %d", i));
        Node *z = oracle_input(o, DT_F64, &y->shape, -2, 2);
        z = graph_fold(o->graph, z, &ways[i], &s);
        check_gradients(o, z, &z->in[0], 1, arena_printf(o->arena, "fold %d", i));
        oracle_free(o);
    }
}

/* ---- contractions of windows ---- */

typedef struct Conv {
    int64_t size, channels, length, step, apart, out, features;
    bool groups; /* each channel by itself */
} Conv;

static const Conv convs[] = {
    {5, 3, 3, 1, 1, 3, 2, false},
    {6, 2, 2, 2, 2, 2, 3, false}, /* the last row and column are in no window */
    {7, 1, 3, 3, 1, 2, 2, false}, /* steps that are long */
    {5, 2, 2, 1, 2, 3, 1, true},
};

/* [n, h, w, c] by [k, l, c, f], or for groups [c, n, …] by [c, k, l, f] */
static Node *convolve(Oracle *o, const Conv *z, Node *x, Node *w) {
    Graph *g = o->graph;
    const int64_t out[] = {z->out, z->out}, length[] = {z->length, z->length};
    const Windows ways = {
        .axis = 1, .n = 2, .step = {z->step, z->step}, .apart = {z->apart, z->apart}};
    Node *p = graph_windows(g, x, &ways, out, length);
    if (z->groups)
        p = graph_permute(g, p, (int[]){5, 0, 1, 2, 3, 4});
    Dim batch = {.n = z->groups ? z->channels : 1}, k = w->shape.dim[1], rows = x->shape.dim[0];
    rows.n *= z->out * z->out;
    const Shape s = {.rank = 3, .dim = {batch, rows, k}};
    return graph_dot(g, graph_reshape(g, p, &s), w, false, false);
}

static void check_conv(const Conv *z, const Count *count) {
    Oracle *o = oracle_new(DT_F64, 1);
    int64_t inner = z->length * z->length * (z->groups ? 1 : z->channels);
    const Shape w = shape_of(3, (int64_t[]){z->groups ? z->channels : 1, inner, z->features});
    const Shape x = {.rank = 4,
                     .dim = {{count ? count->bound : 2, count},
                             {z->size, NULL},
                             {z->size, NULL},
                             {z->channels, NULL}}};
    o->count = 2;
    Node *in[] = {oracle_input(o, DT_F64, &x, -2, 2), oracle_input(o, DT_F64, &w, -2, 2)};
    Node *y = convolve(o, z, in[0], in[1]), *grad[2], *blame;
    cr_assert(grad_build(o->graph, oracle_project(o, y), in, 2, grad, &blame));
    int folds = 0;
    for (int i = 0; i < o->graph->nodes.n; i++)
        folds += o->graph->nodes.at[i]->op == OP_fold;
    cr_assert_eq(folds, z->step > 2, "%d folds", folds);
    check_gradients(o, y, in, 2, "convolution");
    oracle_free(o);
}

Test(ops_windows, contractions) {
    const Count count = {.name = "B", .bound = 3};
    for (int i = 0; i < COUNT_OF(convs); i++) {
        check_conv(&convs[i], NULL);
        check_conv(&convs[i], &count);
    }
}
