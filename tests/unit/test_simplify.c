/* simplify keeps every value and finds what it should; ranges finds the fields that are indices.
 */
#include "oracle.h"
#include "random_graph.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>
#include <time.h>

static void run(Oracle *o, void (*pass)(Compiler *)) {
    Compiler c = {.arena = o->arena, .program = o->program};
    pass(&c);
    graph_verify(o->graph);
}

/* ---- values ---- */

typedef struct Result {
    const Home *home; /* NULL: an output */
    Tensor value;
} Result;

typedef struct Results {
    VEC(Result) all;
} Results;

static Tensor copied(Arena *a, const Tensor *t) {
    Tensor c = {.shape = t->shape};
    size_t bytes = sizeof *t->at * (size_t)shape_elements(&t->shape);
    c.at = arena_alloc(a, bytes);
    memcpy(c.at, t->at, bytes);
    return c;
}

static Results evaluate(Oracle *o) {
    Results r = {0};
    Interp *in = interp_new(o->arena, &o->env, o->single);
    for (int i = 0; i < o->program->regions.n; i++) {
        const Region *region = o->program->regions.at[i];
        for (int k = 0; k < region->writes.n; k++) {
            const Write w = region->writes.at[k];
            vec_push(o->arena, &r.all,
                     (Result){w.home, copied(o->arena, interp_value(in, w.value))});
        }
        for (int k = 0; k < region->outputs.n; k++)
            vec_push(o->arena, &r.all,
                     (Result){NULL, copied(o->arena, interp_value(in, region->outputs.at[k]))});
    }
    interp_forget(in);
    return r;
}

static void results_are_equal(const Results *x, const Results *y, uint64_t seed) {
    cr_assert_eq(x->all.n, y->all.n);
    for (int i = 0; i < x->all.n; i++) {
        const Result *a = &x->all.at[i], *b = &y->all.at[i];
        cr_assert_eq(a->home, b->home);
        cr_assert(shape_equal(&a->value.shape, &b->value.shape));
        for (int64_t e = 0; e < shape_elements(&a->value.shape); e++) {
            double u = a->value.at[e], v = b->value.at[e];
            cr_assert(isfinite(u), "seed %d: result %d is not finite", (int)seed, i);
            cr_assert(u == v, "seed %d: result %d[%d] was %.17g, is %.17g", (int)seed, i, (int)e, u,
                      v);
        }
    }
}

static void random_programs(DType real, int n) {
    int before = 0, after = 0;
    for (uint64_t seed = 0; seed < (uint64_t)n; seed++) {
        Oracle *o = oracle_new(real, seed);
        memset(&o->program->regions, 0, sizeof o->program->regions);
        random_graph(o->arena, o->program, seed);
        graph_verify(o->graph);
        o->count = 1 + (int64_t)(seed / 4 % 8);
        Results was = evaluate(o);
        before += o->graph->nodes.n;
        run(o, simplify);
        after += o->graph->nodes.n;
        Results is = evaluate(o);
        results_are_equal(&was, &is, seed);
        int once = o->graph->nodes.n;
        run(o, simplify);
        cr_assert_leq(o->graph->nodes.n, once);
        oracle_free(o);
    }
    cr_assert_lt(after * 10, before * 9);
}

Test(simplify, keeps_values_of_random_programs_in_f32) {
    random_programs(DT_F32, 200);
}

Test(simplify, keeps_values_of_random_programs_in_f64) {
    random_programs(DT_F64, 100);
}

/* The gradient of a program is a program. */
Test(simplify, keeps_values_of_gradients) {
    for (uint64_t seed = 1000; seed < 1060; seed++) {
        Oracle *o = oracle_new(DT_F64, seed);
        memset(&o->program->regions, 0, sizeof o->program->regions);
        random_graph(o->arena, o->program, seed);
        o->count = 3;
        Region *last = o->program->regions.at[o->program->regions.n - 1];
        Node *loss = NULL, *inputs[64], *grads[64], *blame;
        int n = 0;
        for (int i = 0; i < o->graph->nodes.n && n < 64; i++) {
            Node *x = o->graph->nodes.at[i];
            if (x->op == OP_read && x->dtype == DT_F64)
                inputs[n++] = x;
        }
        o->graph->region = last;
        for (int i = 0; i < last->writes.n; i++) {
            Node *x = last->writes.at[i].value;
            Node *part = graph_reduce(o->graph, OP_sum, x, (1u << x->shape.rank) - 1);
            loss = loss ? graph_binary(o->graph, OP_add, loss, part) : part;
        }
        if (!loss || !grad_build(o->graph, loss, inputs, n, grads, &blame)) {
            oracle_free(o);
            continue;
        }
        for (int i = 0; i < n; i++)
            if (grads[i])
                vec_push(o->arena, &last->outputs, grads[i]);
        Results was = evaluate(o);
        run(o, simplify);
        Results is = evaluate(o);
        results_are_equal(&was, &is, seed);
        oracle_free(o);
    }
}

/* ---- structure ---- */

static int count_op(const Oracle *o, Op op) {
    int n = 0;
    for (int i = 0; i < o->graph->nodes.n; i++)
        n += o->graph->nodes.at[i]->op == op;
    return n;
}

static void output(Oracle *o, Node *n) {
    vec_push(o->arena, &n->region->outputs, n);
}

static Node *first_output(const Oracle *o) {
    return o->program->regions.at[0]->outputs.at[0];
}

static Node *matrix(Oracle *o, int64_t rows, int64_t columns) {
    const Shape s = shape_of(2, (int64_t[]){rows, columns});
    return oracle_input(o, DT_F32, &s, -1, 1);
}

static Node *like(Oracle *o, const Node *x, double value) {
    return graph_constant(o->graph, x->dtype, &x->shape, value);
}

Test(simplify, identities) {
    Oracle *o = oracle_new(DT_F32, 1);
    Graph *g = o->graph;
    Node *x = matrix(o, 3, 4), *one = like(o, x, 1), *zero = like(o, x, 0);
    Node *y = graph_binary(g, OP_mul, one, graph_binary(g, OP_add, x, zero));
    y = graph_binary(g, OP_div, graph_binary(g, OP_sub, y, zero), one);
    y = graph_unary(g, OP_stop, graph_unary(g, OP_neg, graph_unary(g, OP_neg, y)));
    y = graph_where(g, graph_constant(g, DT_BOOL, &x->shape, 1), y, zero);
    y = graph_cast(g, graph_cast(g, y, DT_F64), DT_F32);
    output(o, y);
    run(o, simplify);
    cr_assert_eq(g->nodes.n, 1);
    cr_assert_eq(first_output(o)->op, OP_read);
    oracle_free(o);
}

Test(simplify, casts_that_lose_something_stay) {
    static const DType ways[][2] = {
        {DT_F32, DT_I32}, {DT_F64, DT_F32}, {DT_I32, DT_F32}, {DT_I32, DT_U8}, {DT_F32, DT_BOOL}};
    for (int i = 0; i < COUNT_OF(ways); i++) {
        Oracle *o = oracle_new(DT_F32, 1);
        const Shape s = shape_of(1, (int64_t[]){50});
        Node *x = oracle_input(o, ways[i][0], &s, 0, 400);
        Node *y = graph_cast(o->graph, graph_cast(o->graph, x, ways[i][1]), DT_I64);
        for (int k = 0; k < 50; k++) { /* with digits that a float does not have */
            double value = oracle_contents(o, x)->at[k];
            value = ways[i][0] == DT_I32   ? 16777217 + k
                    : ways[i][0] == DT_F64 ? value + 1e9
                                           : value;
            oracle_contents(o, x)->at[k] = value;
        }
        output(o, y);
        Results was = evaluate(o);
        run(o, simplify);
        Results is = evaluate(o);
        results_are_equal(&was, &is, (uint64_t)i);
        cr_assert_eq(count_op(o, OP_cast), 2);
        oracle_free(o);
    }
}

Test(simplify, not_of_a_comparison) {
    static const Op ops[] = {OP_eq, OP_ne, OP_lt, OP_le};
    for (int i = 0; i < COUNT_OF(ops); i++) {
        Oracle *o = oracle_new(DT_F32, 1);
        const Shape s = shape_of(1, (int64_t[]){5});
        Node *x = oracle_input(o, DT_F32, &s, 0, 1), *y = oracle_input(o, DT_F32, &s, 0, 1);
        static const double xs[] = {1, 2, 3, NAN, 5}, ys[] = {1, 3, 2, 4, NAN};
        memcpy(oracle_contents(o, x)->at, xs, sizeof xs);
        memcpy(oracle_contents(o, y)->at, ys, sizeof ys);
        output(o, graph_unary(o->graph, OP_not, graph_binary(o->graph, ops[i], x, y)));
        Results was = evaluate(o);
        run(o, simplify);
        Results is = evaluate(o);
        results_are_equal(&was, &is, (uint64_t)i);
        cr_assert_eq(count_op(o, OP_not), i >= 2); /* a < b is no opposite of b <= a: NaN */
        oracle_free(o);
    }
}

Test(simplify, a_division_by_a_power_of_two_is_a_product) {
    Oracle *o = oracle_new(DT_F32, 1);
    Node *x = matrix(o, 3, 4);
    output(o, graph_binary(o->graph, OP_div, x, like(o, x, 8)));
    output(o, graph_binary(o->graph, OP_div, x, like(o, x, 10)));
    run(o, simplify);
    cr_assert_eq(count_op(o, OP_div), 1);
    cr_assert_eq(first_output(o)->op, OP_mul);
    oracle_free(o);
}

Test(simplify, equal_nodes_become_one_and_reads_of_a_home_too) {
    Oracle *o = oracle_new(DT_F32, 1);
    Graph *g = o->graph;
    Node *x = matrix(o, 3, 4), *again = graph_read(g, x->attr.home), *y = matrix(o, 3, 4);
    Node *a = graph_binary(g, OP_add, x, y), *b = graph_binary(g, OP_add, y, again);
    output(o, graph_binary(g, OP_mul, graph_unary(g, OP_exp, a), graph_unary(g, OP_exp, b)));
    output(o, graph_binary(g, OP_sub, x, y));
    output(o, graph_binary(g, OP_sub, y, x)); /* not commutative */
    run(o, simplify);
    cr_assert_eq(count_op(o, OP_read), 2);
    cr_assert_eq(count_op(o, OP_exp), 1);
    cr_assert_eq(count_op(o, OP_sub), 2);
    oracle_free(o);
}

/* Among equals, infinities, zeros of both signs and NaNs, alone or not. */
Test(simplify, first_places_are_two_reductions) {
    static const DType types[] = {DT_F32, DT_F64, DT_I32};
    const Shape s = shape_of(2, (int64_t[]){8, 4});
    const double x[] = {1,   5,   5,    2, NAN, 1,    7,   0,        -1,        -1,       NAN,
                        -1,  NAN, NAN,  NAN, NAN, NAN, INFINITY, NAN, INFINITY,  -INFINITY,
                        NAN, NAN, -INFINITY, 0.0, -0.0, 0.0, -0.0, -0.0, 0.0,    -0.0,     -0.0};
    double whole[COUNT_OF(x)];
    for (int i = 0; i < COUNT_OF(x); i++)
        whole[i] = i * 7 % 5 - 2;
    for (int t = 0; t < COUNT_OF(types); t++) {
        Oracle *o = oracle_new(types[t] == DT_I32 ? DT_F32 : types[t], 1);
        Node *n = oracle_input(o, types[t], &s, 0, 1);
        memcpy(oracle_contents(o, n)->at, types[t] == DT_I32 ? whole : x, sizeof x);
        for (int k = 0; k < 4; k++)
            output(o, graph_argreduce(o->graph, k / 2 ? OP_argmin : OP_argmax, n, k % 2));
        Results was = evaluate(o);
        run(o, simplify);
        Results is = evaluate(o);
        results_are_equal(&was, &is, (uint64_t)t);
        cr_assert_eq(count_op(o, OP_argmax) + count_op(o, OP_argmin), 0);
        cr_assert_eq(count_op(o, OP_max), 2);
        oracle_free(o);
    }
}

/* Nodes that differ in one attribute only. */
Test(simplify, attributes_tell_nodes_apart) {
    Oracle *o = oracle_new(DT_F32, 1);
    Graph *g = o->graph;
    Node *x = matrix(o, 6, 6);
    const Shape s = shape_of(2, (int64_t[]){2, 2}), eight = shape_of(2, (int64_t[]){8, 8});
    const Shape scalar = shape_scalar(), cube = shape_of(3, (int64_t[]){1, 6, 6});
    const Count two = {.name = "B", .called = "B", .bound = 2};
    Node *y = graph_reshape(g, x, &cube), *at = graph_count(g, &two);
    Node *nodes[] = {
        graph_slice(g, x, (int64_t[]){1, 1}, (int64_t[]){1, 1}, &s),
        graph_slice(g, x, (int64_t[]){1, 1}, (int64_t[]){1, 2}, &s),
        graph_slice(g, x, (int64_t[]){1, 2}, (int64_t[]){1, 1}, &s),
        graph_pad(g, x, (int64_t[]){1, 1}, &eight, 0),
        graph_pad(g, x, (int64_t[]){1, 2}, &eight, 0),
        graph_pad(g, x, (int64_t[]){1, 1}, &eight, 1),
        graph_cumsum(g, x, 0, false),
        graph_cumsum(g, x, 0, true),
        graph_cumsum(g, x, 1, false),
        graph_reduce(g, OP_sum, x, 1),
        graph_reduce(g, OP_sum, x, 2),
        graph_argreduce(g, OP_argmax, x, 0),
        graph_argreduce(g, OP_argmax, x, 1),
        graph_iota(g, &s, 0),
        graph_iota(g, &s, 1),
        graph_dot(g, y, y, false, false),
        graph_dot(g, y, y, true, false),
        graph_dot(g, y, y, false, true),
        graph_random(g, OP_rand, at, 1, DT_F32, &s, 0, 0),
        graph_random(g, OP_rand, at, 2, DT_F32, &s, 0, 0),
        graph_random(g, OP_randint, at, 1, DT_I32, &s, 0, 5),
        graph_random(g, OP_randint, at, 1, DT_I32, &s, 0, 6),
        graph_random(g, OP_randint, at, 1, DT_I32, &s, -1, 5),
        graph_constant(g, DT_F32, &scalar, 1),
        graph_constant(g, DT_F32, &scalar, 2),
        graph_constant(g, DT_F64, &scalar, 1),
        graph_slice_at(g, x, at, 0, 6),
        graph_slice_at(g, x, at, 1, 6),
    };
    for (int i = 0; i < COUNT_OF(nodes); i++)
        output(o, nodes[i]);
    run(o, simplify);
    const Region *r = o->program->regions.at[0];
    for (int i = 0; i < r->outputs.n; i++)
        for (int k = 0; k < i; k++)
            cr_assert_neq(r->outputs.at[i], r->outputs.at[k], "%d and %d", i, k);
    oracle_free(o);
}

Test(simplify, regions_are_not_merged) {
    Oracle *o = oracle_new(DT_F32, 1);
    Graph *g = o->graph;
    Node *x = matrix(o, 3, 4), *y = graph_unary(g, OP_exp, x);
    output(o, y);
    Region *r = NEW(o->arena, Region);
    r->name = "second";
    r->used = true;
    vec_push(o->arena, &o->program->regions, r);
    g->region = r;
    Node *z = graph_unary(g, OP_exp, graph_read(g, x->attr.home)); /* the home may have changed */
    output(o, graph_binary(g, OP_add, graph_binary(g, OP_add, z, like(o, z, 0)),
                           graph_permute(g, graph_permute(g, y, (int[]){1, 0}), (int[]){1, 0})));
    run(o, simplify);
    cr_assert_eq(count_op(o, OP_read), 2);
    cr_assert_eq(count_op(o, OP_exp), 2);
    cr_assert_eq(count_op(o, OP_permute), 0);
    cr_assert_eq(first_output(o)->region, o->program->regions.at[0]);
    oracle_free(o);
}

Test(simplify, constants_are_computed) {
    Oracle *o = oracle_new(DT_F32, 1);
    Graph *g = o->graph;
    const Shape big = shape_of(2, (int64_t[]){1000, 1000}), small = shape_of(2, (int64_t[]){2, 2});
    Node *half = graph_constant(g, DT_F32, &big, 0.5),
         *d = graph_data(g, DT_F32, &small, (double[]){1, 2, 3, 4});
    Node *x = oracle_input(o, DT_F32, &big, -1, 1), *y = matrix(o, 2, 2);
    output(o,
           graph_binary(g, OP_mul, x, graph_unary(g, OP_exp, graph_binary(g, OP_mul, half, half))));
    output(o, graph_binary(g, OP_mul, y,
                           graph_binary(g, OP_add, d, graph_permute(g, d, (int[]){1, 0}))));
    run(o, simplify);
    cr_assert_eq(g->nodes.n, 6);
    const Node *table = o->program->regions.at[0]->outputs.at[1]->in[1];
    cr_assert_eq(table->op, OP_constant);
    cr_assert(table->attr.constant.data[0] == 2 && table->attr.constant.data[1] == 5);
    oracle_free(o);
}

Test(simplify, a_division_by_zero_is_left_to_the_run) {
    Oracle *o = oracle_new(DT_F32, 1);
    const Shape s = shape_scalar();
    Node *one = graph_constant(o->graph, DT_I32, &s, 1),
         *zero = graph_constant(o->graph, DT_I32, &s, 0);
    output(o, graph_binary(o->graph, OP_floordiv, one, zero));
    run(o, simplify);
    cr_assert_eq(first_output(o)->op, OP_floordiv);
    oracle_free(o);
}

Test(simplify, movement_is_merged) {
    Oracle *o = oracle_new(DT_F32, 1);
    Graph *g = o->graph;
    const Shape cube = shape_of(3, (int64_t[]){2, 3, 4}), flat = shape_of(1, (int64_t[]){24}),
                row = shape_of(3, (int64_t[]){2, 1, 12});
    const Shape part = shape_of(3, (int64_t[]){1, 2, 2}), less = shape_of(3, (int64_t[]){1, 1, 2});
    Node *x = oracle_input(o, DT_F32, &cube, -1, 1);
    output(o, graph_reshape(g, graph_reshape(g, x, &flat), &row));
    output(o, graph_permute(g, graph_permute(g, x, (int[]){1, 2, 0}),
                            (int[]){2, 0, 1})); /* there and back */
    Node *s = graph_slice(g, x, (int64_t[]){1, 2, 3}, (int64_t[]){1, -1, -2}, &part);
    output(o, graph_slice(g, s, (int64_t[]){0, 1, 0}, (int64_t[]){1, 1, 1}, &less));
    output(o, graph_permute(g, graph_reshape(g, x, &row),
                            (int[]){1, 0, 2})); /* moves an extent of 1 */
    Results was = evaluate(o);
    run(o, simplify);
    Results is = evaluate(o);
    results_are_equal(&was, &is, 0);
    cr_assert_eq(count_op(o, OP_permute), 0);
    cr_assert_eq(count_op(o, OP_slice), 1);
    cr_assert_eq(count_op(o, OP_reshape), 2);
    oracle_free(o);
}

Test(simplify, transpositions_go_into_the_contraction) {
    for (int way = 0; way < 8; way++) {
        Oracle *o = oracle_new(DT_F32, 1);
        Graph *g = o->graph;
        Node *a = way & 1 ? graph_permute(g, matrix(o, 5, 3), (int[]){1, 0}) : matrix(o, 3, 5);
        Node *b = way & 2 ? graph_permute(g, matrix(o, 4, 5), (int[]){1, 0}) : matrix(o, 5, 4);
        const Shape as = shape_of(3, (int64_t[]){1, 3, 5}), bs = shape_of(3, (int64_t[]){1, 5, 4});
        Node *y = graph_dot(g, graph_reshape(g, a, &as), graph_reshape(g, b, &bs), false, false);
        output(o, way & 4 ? graph_permute(g, y, (int[]){0, 2, 1}) : y);
        Results was = evaluate(o);
        run(o, simplify);
        Results is = evaluate(o);
        results_are_equal(&was, &is, (uint64_t)way);
        cr_assert_eq(count_op(o, OP_permute), 0, "way %d", way);
        oracle_free(o);
    }
}

Test(simplify, what_two_homes_get_stays_two_nodes) {
    Oracle *o = oracle_new(DT_F32, 1);
    Graph *g = o->graph;
    Region *r = g->region;
    Node *x = matrix(o, 3, 4), *y = graph_unary(g, OP_exp, x), *same = matrix(o, 3, 4);
    Home *p = oracle_home(o, HOME_PARAM, DT_F32, &x->shape),
         *q = oracle_home(o, HOME_PARAM, DT_F32, &x->shape);
    Home *copy = oracle_home(o, HOME_PARAM, DT_F32, &x->shape);
    vec_push(o->arena, &r->writes, (Write){p, graph_unary(g, OP_stop, y)});
    vec_push(o->arena, &r->writes, (Write){q, graph_unary(g, OP_exp, x)});
    vec_push(o->arena, &r->writes, (Write){copy, graph_unary(g, OP_stop, x)});
    vec_push(o->arena, &r->writes, (Write){same->attr.home, graph_unary(g, OP_stop, same)});
    Results was = evaluate(o);
    was.all.n--; /* a home that keeps its value is not written */
    run(o, simplify);
    Results is = evaluate(o);
    results_are_equal(&was, &is, 0);
    cr_assert_eq(count_op(o, OP_exp), 1);
    cr_assert_neq(r->writes.at[0].value, r->writes.at[1].value);
    cr_assert_neq(r->writes.at[2].value->op, OP_read);
    oracle_free(o);
}

Test(simplify, checks_stay) {
    Oracle *o = oracle_new(DT_F32, 1);
    const Shape s = shape_scalar();
    graph_check(o->graph, graph_unary(o->graph, OP_exp, oracle_input(o, DT_F32, &s, 0, 1)));
    run(o, simplify);
    cr_assert_eq(o->graph->nodes.n, 3);
    oracle_free(o);
}

Test(simplify, host_references_follow) {
    Oracle *o = oracle_new(DT_F32, 1);
    Graph *g = o->graph;
    const Shape s = shape_scalar();
    Node *x = oracle_input(o, DT_F32, &s, 0, 1);
    graph_unary(g, OP_sin, x); /* dead: numbers change */
    Node *y = graph_binary(g, OP_mul, graph_unary(g, OP_exp, x), graph_constant(g, DT_F32, &s, 1));
    output(o, y);
    HExpr e = {.kind = HX_NODE, .node = y}, neg = {.kind = HX_OP, .nargs = 2, .args = {&e, &e}};
    HStmt set = {.kind = HS_SET, .value = &neg};
    HBlock body = {0};
    Task t = {.name = "t", .body = &body};
    vec_push(o->arena, &body.stmts, &set);
    vec_push(o->arena, &o->program->tasks, &t);
    run(o, simplify);
    cr_assert_eq(e.node, first_output(o));
    cr_assert_eq(e.node->op, OP_exp);
    cr_assert_eq(e.node->id, 1);
    oracle_free(o);
}

Test(simplify, ten_thousand_nodes_are_quick) {
    Oracle *o = oracle_new(DT_F32, 1);
    Node *x = matrix(o, 3, 4), *y = x;
    for (int i = 0; i < 10000; i++)
        y = graph_binary(o->graph, i % 2 ? OP_mul : OP_add, y, graph_unary(o->graph, OP_sin, y));
    output(o, y);
    clock_t start = clock();
    run(o, simplify);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    cr_assert_lt(seconds, 0.2, "%g s", seconds);
    oracle_free(o);
}

/* ---- ranges ---- */

Test(ranges, of_fields_that_are_indices) {
    Oracle *o = oracle_new(DT_F32, 1);
    Graph *g = o->graph;
    DataSource label = {.name = "label", .dtype = DT_U8, .row_elements = 1},
               token = {.name = "token", .dtype = DT_I32, .row_elements = 5};
    DataSource other = {.name = "other", .dtype = DT_I32, .row_elements = 1};
    const Shape n = shape_of(1, (int64_t[]){4}), none = shape_scalar(),
                five = shape_of(1, (int64_t[]){5}), four = shape_of(2, (int64_t[]){4, 4});
    Node *index = oracle_input(o, DT_I32, &n, 0, 4), *logits = matrix(o, 4, 10),
         *table = matrix(o, 65, 3), *small = matrix(o, 7, 3);
    Node *l = graph_cast(g, graph_batch(g, &label, index, &none), DT_I32),
         *t = graph_batch(g, &token, index, &five);
    Node *f = graph_batch(g, &other, index, &none);
    g->span = (Span){1, 10, 20};
    graph_pick(g, logits, l);
    graph_gather(g, table, graph_slice(g, t, (int64_t[]){0, 1}, (int64_t[]){1, 1}, &four));
    g->span = (Span){1, 30, 40};
    graph_gather(g, small, graph_permute(g, t, (int[]){1, 0}));
    graph_gather(g, table, t);
    /* one_hot, and an index that is computed: no constraint */
    graph_binary(g, OP_eq, graph_iota(g, &n, 0), f);
    graph_gather(g, table, graph_binary(g, OP_mod, f, graph_constant(g, DT_I32, &n, 65)));
    run(o, ranges);
    cr_assert_eq(label.limit, 10);
    cr_assert_eq(label.limit_span.lo, 10);
    cr_assert_eq(token.limit, 7);
    cr_assert_eq(token.limit_span.lo, 30);
    cr_assert_eq(other.limit, 0);
    oracle_free(o);
}

/* ---- products ---- */

Test(products, a_sum_of_products_is_one_op) {
    Oracle *o = oracle_new(DT_F32, 1);
    Graph *g = o->graph;
    Node *x = matrix(o, 5, 6), *y = matrix(o, 5, 6), *both = graph_binary(g, OP_mul, x, y);
    output(o, both);
    output(o, graph_reduce(g, OP_sum, both, 2));
    output(o, graph_reduce(g, OP_max, both, 2));
    output(o, graph_reduce(g, OP_sum, graph_cast(g, both, DT_I32), 2));
    run(o, products);
    Node *const *out = o->program->regions.at[0]->outputs.at;
    cr_assert_eq(out[1]->op, OP_sum_mul);
    cr_assert(out[1]->in[0] == x && out[1]->in[1] == y);
    cr_assert(out[2]->op == OP_max && out[3]->op == OP_sum);
    oracle_free(o);
}
