/* test_layout.c: which matrices lie in panels, and that no bit depends on it. */
#include "kernel_case.h"
#include "schedule.h"
#include <criterion/criterion.h>
#include <string.h>

#define SHAPE(...) shape_of(COUNT_OF(((int64_t[]){__VA_ARGS__})), (const int64_t[]){__VA_ARGS__})

/* A layer y = relu(x w), its gradients from dy, and an update of w with a moment m. */
typedef struct Step {
    KernelCase *c;
    Home *w, *m;
    Node *read_w, *dw;
} Step;

static Node *product(Graph *g, Node *x, Node *y, bool ta, bool tb) {
    Shape sx = SHAPE(1, x->shape.dim[0].n, x->shape.dim[1].n);
    Shape sy = SHAPE(1, y->shape.dim[0].n, y->shape.dim[1].n);
    Node *d = graph_dot(g, graph_reshape(g, x, &sx), graph_reshape(g, y, &sy), ta, tb);
    Shape s = SHAPE(d->shape.dim[1].n, d->shape.dim[2].n);
    return graph_reshape(g, d, &s);
}

static Node *filled(Graph *g, const Shape *s, double value) {
    return graph_constant(g, DT_F32, s, value);
}

static Node *times(Graph *g, Node *x, double value) {
    return graph_binary(g, OP_mul, x, filled(g, &x->shape, value));
}

/* The moment is read and written in one kernel with w. `random`: w is made of random numbers by a
 * region before, and is not updated. */
static Step step_make(int64_t rows, int64_t in, int64_t out, bool random) {
    Step s = {.c = case_new(DT_F32)};
    KernelCase *c = s.c;
    Graph *g = c->g;
    const Shape shape = SHAPE(in, out), scalar = shape_scalar();
    s.w = case_home(c, "w", DT_F32, shape, -1, 1);
    s.m = case_home(c, "m", DT_F32, shape, -1, 1);
    s.m->kind = HOME_OPT;
    if (random) {
        Node *execution = graph_constant(g, DT_I32, &scalar, 3);
        case_write(c, s.w, graph_random(g, OP_randn, execution, 77, DT_F32, &shape, 0, 0));
        case_region(c);
    }
    Node *x = case_input(c, "x", DT_F32, SHAPE(rows, in), -1, 1);
    Node *dy = case_input(c, "dy", DT_F32, SHAPE(rows, out), -1, 1);
    s.read_w = graph_read(g, s.w);
    case_output(c, graph_unary(g, OP_tanh, product(g, x, s.read_w, false, false)));
    case_output(c, product(g, dy, s.read_w, false, true));
    s.dw = product(g, x, dy, true, false);
    Node *m = graph_binary(g, OP_add, times(g, graph_read(g, s.m), 0.875), times(g, s.dw, 0.125));
    Node *w = graph_binary(g, OP_sub, s.read_w, times(g, m, 0.25));
    case_write(c, s.m, m);
    if (random)
        case_output(c, w);
    else
        case_write(c, s.w, w);
    return s;
}

static Step step_new(int64_t rows, int64_t in, int64_t out) {
    return step_make(rows, in, out, false);
}

static Layout layout_of(const Step *s, const Home *h) {
    return lower_buffer_of_home(s->c->compiler.lowered, h)->layout;
}

/* ---- decisions ---- */

Test(layout, parameters_and_their_state_lie_in_panels) {
    Step s = step_new(9, 21, 40);
    case_lower(s.c);
    cr_assert_eq(layout_of(&s, s.w), LAYOUT_PANELS16);
    cr_assert_eq(layout_of(&s, s.m), LAYOUT_PANELS16);
    cr_assert_eq(lower_buffer_of_home(s.c->compiler.lowered, s.w)->bytes, 21 * 48 * 4);
    case_free(s.c);
}

Test(layout, one_panel_stays_row_major) {
    Step s = step_new(9, 21, 16);
    case_lower(s.c);
    cr_assert_eq(layout_of(&s, s.w), LAYOUT_ROWS);
    case_free(s.c);
}

Test(layout, what_is_gathered_stays_row_major) {
    Step s = step_new(9, 21, 40);
    Node *at = case_input(s.c, "at", DT_I32, SHAPE(5), 0, 21);
    case_output(s.c, graph_gather(s.c->g, s.read_w, at));
    case_lower(s.c);
    cr_assert_eq(layout_of(&s, s.w), LAYOUT_ROWS);
    case_free(s.c);
}

Test(layout, what_is_sliced_or_reshaped_stays_row_major) {
    Step s = step_new(9, 21, 40), r = step_new(9, 21, 40);
    const Shape part = SHAPE(4, 40), other = SHAPE(42, 20);
    const int64_t start[MAX_RANK] = {3}, one[MAX_RANK] = {1, 1};
    Node *slice = graph_slice(s.c->g, s.read_w, start, one, &part);
    case_output(s.c, graph_unary(s.c->g, OP_sin, slice));
    case_lower(s.c);
    cr_assert_eq(layout_of(&s, s.w), LAYOUT_ROWS);
    Node *x = case_input(r.c, "z", DT_F32, SHAPE(20, 3), -1, 1);
    case_output(r.c, product(r.c->g, graph_reshape(r.c->g, r.read_w, &other), x, false, false));
    case_lower(r.c);
    cr_assert_eq(layout_of(&r, r.w), LAYOUT_ROWS);
    case_free(s.c);
    case_free(r.c);
}

Test(layout, what_a_sum_reads_stays_row_major) {
    Step s = step_new(9, 21, 40);
    Node *squares = graph_binary(s.c->g, OP_mul, s.read_w, s.read_w);
    case_output(s.c, graph_reduce(s.c->g, OP_sum, squares, 3));
    case_lower(s.c);
    cr_assert_eq(layout_of(&s, s.w), LAYOUT_ROWS);
    case_free(s.c);
}

/* ---- bits ---- */

/* What the compiled kernels leave, with the layouts as they are decided or all row-major. */
static const char *results(Step *s, bool rows, size_t *n) {
    Compiler *c = &s->c->compiler;
    fuse(c);
    layout(c);
    int panels = 0;
    for (int i = 0; i < c->lowered->buffers.n; i++) {
        panels += c->lowered->buffers.at[i]->layout == LAYOUT_PANELS16;
        if (rows)
            layout_set(c->lowered->buffers.at[i], LAYOUT_ROWS);
    }
    schedule(c);
    cr_assert_geq(panels, 2);
    const char *wrong = case_check(s->c);
    cr_assert_null(wrong, "%s", wrong);
    return read_file(s->c->arena, arena_printf(s->c->arena, "%s/out", s->c->folder), n);
}

static void compare(int64_t rows, int64_t in, int64_t out, bool random) {
    Step a = step_make(rows, in, out, random), b = step_make(rows, in, out, random);
    size_t na, nb;
    const char *with = results(&a, false, &na), *without = results(&b, true, &nb);
    cr_assert(na > 0 && na == nb);
    cr_assert(memcmp(with, without, na) == 0, "%dx%dx%d: other bits in panels", (int)rows, (int)in,
              (int)out);
    case_free(a.c);
    case_free(b.c);
}

Test(layout, bits_with_a_narrow_panel) {
    compare(9, 21, 40, false);
    compare(5, 3, 17, false);
}

Test(layout, bits_with_whole_panels) {
    compare(8, 48, 64, false);
}

Test(layout, bits_where_threads_share_panels) {
    compare(33, 150, 300, false);
}

Test(layout, bits_of_random_numbers) {
    compare(9, 21, 40, true);
    compare(9, 150, 304, true);
}

/* A gradient that a norm reads keeps its rows beside a parameter in panels. */
Test(layout, bits_where_layouts_meet) {
    size_t n[2];
    const char *got[2];
    Step s[2];
    for (int i = 0; i < 2; i++) {
        s[i] = step_new(9, 21, 40);
        Node *squares = graph_binary(s[i].c->g, OP_mul, s[i].dw, s[i].dw);
        case_output(s[i].c, graph_reduce(s[i].c->g, OP_sum, squares, 3));
        got[i] = results(&s[i], i == 1, &n[i]);
    }
    cr_assert(n[0] > 0 && n[0] == n[1] && memcmp(got[0], got[1], n[0]) == 0);
    case_free(s[0].c);
    case_free(s[1].c);
}
