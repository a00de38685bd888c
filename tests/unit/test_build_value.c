/* What expressions of the language mean: values by the oracle, shapes, and the messages for wrong
 * ones. */
#include "front.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Built {
    Compiler c;
    Program *p;
    const char *path;
} Built;

static Built *run_text(const char *text) {
    Arena *a = arena_new();
    Built *r = NEW(a, Built);
    r->path = arena_printf(a, "/tmp/nnc-value-%d.nn", (int)getpid());
    cr_assert(write_file(r->path, text, strlen(text)));
    r->c.arena = a;
    r->c.names = interner_new(a);
    r->c.diag = diag_new(a);
    r->c.settings.input = r->path;
    r->c.settings.real64 = true;
    bool unreadable;
    r->p = front_end(&r->c, &unreadable);
    unlink(r->path);
    cr_assert(!unreadable);
    return r;
}

static Built *run_expression(const char *setup, const char *e) {
    Arena *a = arena_new();
    return run_text(arena_printf(a, "%s\nlet r = %s\ntask train { print \"{r}\" }\n", setup, e));
}

static char *messages(Built *r) {
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    diag_flush(r->c.diag, f, false);
    fclose(f);
    return text;
}

typedef struct Oracle {
    Interp *in;
    const Program *p;
} Oracle;

/* Contents of a constant of the program: computed from the write to its home. */
static const Tensor *home_contents(void *context, const Home *h) {
    Interp *in = ((Oracle *)context)->in;
    const Program *p = ((Oracle *)context)->p;
    for (int i = 0; i < p->regions.n; i++)
        for (int k = 0; k < p->regions.at[i]->writes.n; k++)
            if (p->regions.at[i]->writes.at[k].home == h)
                return interp_value(in, p->regions.at[i]->writes.at[k].value);
    return NULL;
}

/* The graph holds its invariants; the value of r. */
static const Tensor *result(Built *r) {
    Oracle *o = NEW(r->c.arena, Oracle);
    InterpEnv *env = NEW(r->c.arena, InterpEnv);
    *env = (InterpEnv){.context = o, .home = home_contents, .seed = 1};
    o->in = interp_new(r->c.arena, env, false);
    o->p = r->p;
    graph_verify(r->p->graph);
    for (int i = 0; i < r->p->homes.n; i++)
        if (strcmp(r->p->homes.at[i]->name, "r") == 0)
            return home_contents(o, r->p->homes.at[i]);
    return NULL;
}

static DType result_type(const Built *r) {
    for (int i = 0; i < r->p->homes.n; i++)
        if (strcmp(r->p->homes.at[i]->name, "r") == 0)
            return r->p->homes.at[i]->dtype;
    return DT_N;
}

static const char setup[] = "let a = 1.0 * [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]\n"
                            "let i = 1 * [[1, 2, 3], [4, 5, 6]]\n"
                            "let v = 1.0 * [10.0, 20.0, 30.0]\n"
                            "let c = reshape(iota(24), [2, 3, 4])\n"
                            "let k = iota(3)\n"
                            "let one = sum([[1]], axis=[0, 1])\n";

typedef struct Case {
    const char *e, *shape;
    DType type;
    double want[24];
} Case;

static void check_cases(const Case *cases, int n) {
    for (int i = 0; i < n; i++) {
        const Case *t = &cases[i];
        Built *r = run_expression(setup, t->e);
        cr_assert(r->p, "%s: %s", t->e, messages(r));
        const Tensor *got = result(r);
        cr_assert(got, "%s gives no tensor", t->e);
        const char *shape = shape_text(r->c.arena, &got->shape);
        cr_expect_str_eq(shape, t->shape, "%s: %s instead of %s", t->e, shape, t->shape);
        cr_expect_eq(result_type(r), t->type, "%s: type %s", t->e, dtype_name(result_type(r)));
        for (int64_t k = 0; k < shape_elements(&got->shape) && k < 24; k++) {
            double d = got->at[k] - t->want[k];
            cr_expect(d < 1e-9 && d > -1e-9, "%s: element %d is %g instead of %g", t->e, (int)k,
                      got->at[k], t->want[k]);
        }
    }
}

Test(build_value, constants_fold) {
    static const Case cases[] = {
        {"stack(7 // 2, -7 // 2, 7 // -2, -7 % 3)", "[4]", DT_I32, {3, -4, -4, 2}},
        {"stack(7 / 2)", "[1]", DT_F64, {3.5}},
        {"stack(2^10, 7 - 9, 3 * 4)", "[3]", DT_I32, {1024, -2, 12}},
        {"stack(2^-1, -7.5 // 2, -7.5 % 2)", "[3]", DT_F64, {0.5, -4, 0.5}},
        {"stack(1 < 2, 2 <= 1, 3 == 3.0, \"a\" != \"b\")", "[4]", DT_BOOL, {1, 0, 1, 1}},
        {"stack(1 > 2, 2 >= 1, not true, true and false, false or true)",
         "[5]",
         DT_BOOL,
         {0, 1, 0, 0, 1}},
        {"stack(abs(-3), sign(-2), floor(4), minimum(3, 2), max(1, 5, 2))",
         "[5]",
         DT_I32,
         {3, -1, 4, 2, 5}},
        {"stack(sqrt(16), exp(0), round(2.5), floor(-0.5))", "[4]", DT_F64, {4, 1, 2, -1}},
        {"stack(prod(shape(c)), size(c), size(c, axis=1), rank(c), len([1, 2]))",
         "[5]",
         DT_I32,
         {24, 24, 3, 3, 2}},
        {"zeros([4 / 2, 3.0])", "[2, 3]", DT_F64, {0}},
        {"stack(cast(2.9, int), cast(true, int))", "[2]", DT_I32, {2, 1}},
        {"stack(where(true, 3, 0.5))", "[1]", DT_F64, {3}},
    };
    check_cases(cases, COUNT_OF(cases));
}

Test(build_value, types_meet) {
    static const Case cases[] = {
        {"i + 1", "[2, 3]", DT_I32, {2, 3, 4, 5, 6, 7}},
        {"i * 0.5", "[2, 3]", DT_F64, {0.5, 1, 1.5, 2, 2.5, 3}},
        {"i / 2", "[2, 3]", DT_F64, {0.5, 1, 1.5, 2, 2.5, 3}},
        {"a * i", "[2, 3]", DT_F64, {1, 4, 9, 16, 25, 36}},
        {"(i > 2) + (i > 4)", "[2, 3]", DT_I32, {0, 0, 1, 1, 2, 2}},
        {"sum(i > 2)", "[]", DT_I32, {4}},
        {"mean(i > 2)", "[]", DT_F64, {4.0 / 6}},
        {"cast(i, u8) + cast(i, u8)", "[2, 3]", DT_I32, {2, 4, 6, 8, 10, 12}},
        {"cast(i, i64) + i", "[2, 3]", DT_I64, {2, 4, 6, 8, 10, 12}},
        {"exp(i - i)", "[2, 3]", DT_F64, {1, 1, 1, 1, 1, 1}},
        {"i^2", "[2, 3]", DT_I32, {1, 4, 9, 16, 25, 36}},
        {"(-a)^3", "[2, 3]", DT_F64, {-1, -8, -27, -64, -125, -216}},
        {"a^0 + a^-1", "[2, 3]", DT_F64, {2, 1.5, 4.0 / 3, 1.25, 1.2, 7.0 / 6}},
        {"4.0^(a / 2)", "[2, 3]", DT_F64, {2, 4, 8, 16, 32, 64}},
        {"i // 2 % 2", "[2, 3]", DT_I32, {0, 1, 1, 0, 0, 1}},
        {"[1, 2] * [0.5, k[2]]", "[2]", DT_F64, {0.5, 4}},
        {"not (i > 2) or i == 6", "[2, 3]", DT_BOOL, {1, 1, 0, 0, 0, 1}},
        {"where(i > 2, a, 0)", "[2, 3]", DT_F64, {0, 0, 3, 4, 5, 6}},
        {"where(v > 15, i, 0.5)", "[2, 3]", DT_F64, {0.5, 2, 3, 0.5, 5, 6}},
    };
    check_cases(cases, COUNT_OF(cases));
}

Test(build_value, broadcasting) {
    static const Case cases[] = {
        {"a + v", "[2, 3]", DT_F64, {11, 22, 33, 14, 25, 36}},
        {"v[:, None] - v", "[3, 3]", DT_F64, {0, -10, -20, 10, 0, -10, 20, 10, 0}},
        {"maximum(a, [3])", "[2, 3]", DT_F64, {3, 3, 3, 4, 5, 6}},
        {"broadcast_to(v, [2, 3])", "[2, 3]", DT_F64, {10, 20, 30, 10, 20, 30}},
    };
    check_cases(cases, COUNT_OF(cases));
}

Test(build_value, reductions) {
    static const Case cases[] = {
        {"sum(a)", "[]", DT_F64, {21}},
        {"sum(a, axis=0)", "[3]", DT_F64, {5, 7, 9}},
        {"sum(a, axis=-1, keepdims=true)", "[2, 1]", DT_F64, {6, 15}},
        {"sum(c, axis=(0, 2))", "[3]", DT_I32, {60, 92, 124}},
        {"sum(c, axis=*)", "[4]", DT_I32, {60, 66, 72, 78}},
        {"prod(a, axis=1)", "[2]", DT_F64, {6, 120}},
        {"max(a, axis=0) - min(a, axis=0)", "[3]", DT_F64, {3, 3, 3}},
        {"max(a, v, 12)", "[2, 3]", DT_F64, {12, 20, 30, 12, 20, 30}},
        {"argmax(a)", "[2]", DT_I32, {2, 2}},
        {"argmin(a, axis=0, keepdims=true)", "[1, 3]", DT_I32, {0, 0, 0}},
        {"any(a > 5, axis=1)", "[2]", DT_BOOL, {0, 1}},
        {"all(a > 0)", "[]", DT_BOOL, {1}},
        {"cumsum(a)", "[2, 3]", DT_F64, {1, 3, 6, 4, 9, 15}},
    };
    check_cases(cases, COUNT_OF(cases));
}

Test(build_value, movement) {
    static const Case cases[] = {
        {"reshape(a, [3, -1])", "[3, 2]", DT_F64, {1, 2, 3, 4, 5, 6}},
        {"transpose(a)", "[3, 2]", DT_F64, {1, 4, 2, 5, 3, 6}},
        {"transpose(c, 0, 2)[3]", "[3, 2]", DT_I32, {3, 15, 7, 19, 11, 23}},
        {"permute(c, [2, 0, 1])[0]", "[2, 3]", DT_I32, {0, 4, 8, 12, 16, 20}},
        {"concat(a, 2 * a, axis=0)", "[4, 3]", DT_F64, {1, 2, 3, 4, 5, 6, 2, 4, 6, 8, 10, 12}},
        {"concat([k, k], axis=0)", "[6]", DT_I32, {0, 1, 2, 0, 1, 2}},
        {"stack(v, v + 1, axis=-1)", "[3, 2]", DT_F64, {10, 11, 20, 21, 30, 31}},
        {"split(a, 3)[1]", "[2, 1]", DT_F64, {2, 5}},
        {"split(v, [1, 2])[1]", "[2]", DT_F64, {20, 30}},
        {"flip(a, axis=0)", "[2, 3]", DT_F64, {4, 5, 6, 1, 2, 3}},
        {"pad(v, [(1, 2)], 7)", "[6]", DT_F64, {7, 10, 20, 30, 7, 7}},
        {"roll(v, 1)", "[3]", DT_F64, {30, 10, 20}},
        {"repeat(k, 2)", "[6]", DT_I32, {0, 0, 1, 1, 2, 2}},
        {"tile(k, 2)", "[6]", DT_I32, {0, 1, 2, 0, 1, 2}},
        {"linspace(0, 1, 5)", "[5]", DT_F64, {0, 0.25, 0.5, 0.75, 1}},
        {"tril(a, 0) + eye(2, 3)", "[2, 3]", DT_F64, {2, 0, 0, 4, 6, 0}},
        {"full([2], 3) + ones([2]) + zeros_like(v[:2])", "[2]", DT_F64, {4, 4}},
        {"zeros([2], int)", "[2]", DT_I32, {0, 0}},
    };
    check_cases(cases, COUNT_OF(cases));
}

Test(build_value, indexing) {
    static const Case cases[] = {
        {"a[1]", "[3]", DT_F64, {4, 5, 6}},
        {"a[-1, -2]", "[]", DT_F64, {5}},
        {"a[:, 1:]", "[2, 2]", DT_F64, {2, 3, 5, 6}},
        {"a[::-1, ::2]", "[2, 2]", DT_F64, {4, 6, 1, 3}},
        {"c[..., -1]", "[2, 3]", DT_I32, {3, 7, 11, 15, 19, 23}},
        {"c[1, ..., None, 0]", "[3, 1]", DT_I32, {12, 16, 20}},
        {"v[0:100]", "[3]", DT_F64, {10, 20, 30}},
        {"v[[2, 0, -1]]", "[3]", DT_F64, {30, 10, 30}},
        {"c[:, [2, 0], 1]", "[2, 2]", DT_I32, {9, 1, 21, 13}},
        {"a[:, i[0] - 1]", "[2, 3]", DT_F64, {1, 2, 3, 4, 5, 6}},
        {"v[one]", "[]", DT_F64, {20}},
        {"v[one:one + 2]", "[2]", DT_F64, {20, 30}},
        {"a[one, one*2 - 1:2*(one + 1) - 2]", "[1]", DT_F64, {5}},
        {"stack([4, 5, 6][1], [1, 2, 3][-1])", "[2]", DT_I32, {5, 3}},
        {"zeros(shape(c)[1:])", "[3, 4]", DT_F64, {0}},
        {"take(a, [2, 1], axis=1)", "[2, 2]", DT_F64, {3, 2, 6, 5}},
        {"pick(a, [2, 0])", "[2]", DT_F64, {3, 4}},
        {"pick(a, -1)", "[2]", DT_F64, {3, 6}},
        {"scatter_add(v, [0, 0, 2], 1)", "[3]", DT_F64, {12, 20, 31}},
        {"one_hot([1, 0], 3)", "[2, 3]", DT_F64, {0, 1, 0, 1, 0, 0}},
    };
    check_cases(cases, COUNT_OF(cases));
}

Test(build_value, assigned_elements) {
    static const char functions[] =
        "let a = 1.0 * [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]\nlet one = sum([[1]], axis=[0, 1])\n"
        "fn row(x) {\n var y = x\n y[1] = 0\n y }\n"
        "fn corner(x) {\n var y = x\n y[0, 1:] = [8, 9]\n y }\n"
        "fn late(x, i) {\n var y = x\n y[:, i:i+2] += 10\n y }\n"
        "fn listed() {\n var l = [1, 2, 3]\n l[1] = 5\n stack(l) }\n";
    static const Case cases[] = {
        {"row(a)", "[2, 3]", DT_F64, {1, 2, 3, 0, 0, 0}},
        {"corner(a)", "[2, 3]", DT_F64, {1, 8, 9, 4, 5, 6}},
        {"late(a, one)", "[2, 3]", DT_F64, {1, 12, 13, 4, 15, 16}},
        {"listed()", "[3]", DT_I32, {1, 5, 3}},
    };
    for (int i = 0; i < COUNT_OF(cases); i++) {
        Built *r = run_expression(functions, cases[i].e);
        cr_assert(r->p, "%s: %s", cases[i].e, messages(r));
        const Tensor *got = result(r);
        for (int64_t k = 0; k < shape_elements(&got->shape); k++)
            cr_expect_float_eq(got->at[k], cases[i].want[k], 1e-9, "%s: element %d", cases[i].e,
                               (int)k);
    }
}

Test(build_value, products) {
    static const Case cases[] = {
        {"a @ v", "[2]", DT_F64, {140, 320}},
        {"v @ v", "[]", DT_F64, {1400}},
        {"v @ transpose(a)", "[2]", DT_F64, {140, 320}},
        {"a @ transpose(a)", "[2, 2]", DT_F64, {14, 32, 32, 77}},
        {"reshape(a, [2, 1, 3]) @ transpose(a)", "[2, 1, 2]", DT_F64, {14, 32, 32, 77}},
        {"a @ reshape(c, [2, 3, 4])",
         "[2, 2, 4]",
         DT_F64,
         {32, 38, 44, 50, 68, 83, 98, 113, 104, 110, 116, 122, 248, 263, 278, 293}},
        {"reshape(a, [2, 1, 3]) @ (1.0 * c)",
         "[2, 1, 4]",
         DT_F64,
         {32, 38, 44, 50, 248, 263, 278, 293}},
        {"einsum(\"ij,kj->ik\", a, a)", "[2, 2]", DT_F64, {14, 32, 32, 77}},
        {"einsum(\"ij,j\", a, v)", "[2]", DT_F64, {140, 320}},
        {"einsum(\"ij->ji\", a)", "[3, 2]", DT_F64, {1, 4, 2, 5, 3, 6}},
        {"einsum(\"ij->\", a)", "[]", DT_F64, {21}},
        {"einsum(\"ii->i\", a[:, 1:])", "[2]", DT_F64, {2, 6}},
        {"einsum(\"ii\", a[:, :2])", "[]", DT_F64, {6}},
        {"einsum(\"i,j->ji\", v, [1.0, 2.0])", "[2, 3]", DT_F64, {10, 20, 30, 20, 40, 60}},
        {"einsum(\"...ij,jk->...ik\", reshape(a, [1, 2, 3]), transpose(a))",
         "[1, 2, 2]",
         DT_F64,
         {14, 32, 32, 77}},
        {"einsum(\"bij,bkj->bik\", 1.0 * c, 1.0 * c)[0]",
         "[3, 3]",
         DT_F64,
         {14, 38, 62, 38, 126, 214, 62, 214, 366}},
        {"einsum(\"ij,jk,k->i\", a, transpose(a), [1.0, 2.0])", "[2]", DT_F64, {78, 186}},
    };
    check_cases(cases, COUNT_OF(cases));
}

/* Sizes known only at run time (ruling A17). */
static Built *run_in_batches(const char *e) {
    Arena *a = arena_new();
    return run_text(arena_printf(a,
                                 "data d(x: [3]) { all { x = 1.0 * reshape(iota(30), [10, 3]) } }\n"
                                 "option rate = 0.5\n"
                                 "task train {\n for x in d.all.batches(8) {\n let r = %s\n"
                                 " print \"{r} {rate}\"\n } }\n",
                                 e));
}

Test(build_value, run_time_sizes) {
    static const struct {
        const char *e, *shape;
    } cases[] = {
        {"x * 2 + x[0] + [1, 2, 3]", "[rows, 3]"},
        {"reshape(x, [-1])", "[3*rows]"},
        {"reshape(x, [shape(x)[0] * 3, 1])", "[3*rows, 1]"},
        {"reshape(x, [3, -1])", "[3, rows]"},
        {"x[-1]", "[3]"},
        {"x[0:2]", "[2, 3]"},
        {"x[:, 1:] @ [1.0, 2.0]", "[rows]"},
        {"x - mean(x, axis=0)", "[rows, 3]"},
        {"einsum(\"bi,bi->b\", x, x)", "[rows]"},
        {"einsum(\"bi,bj->ij\", x, x)", "[3, 3]"},
        {"zeros_like(x) * rate", "[rows, 3]"},
        {"one_hot(iota(shape(x)[0]) % 3, 3)", "[rows, 3]"},
        {"x[0] * (shape(x)[0] / 4)", "[3]"},
    };
    for (int i = 0; i < COUNT_OF(cases); i++) {
        Built *r = run_in_batches(cases[i].e);
        cr_assert(r->p, "%s: %s", cases[i].e, messages(r));
        graph_verify(r->p->graph);
        const Node *found = NULL;
        for (int k = 0; k < r->p->graph->nodes.n; k++) {
            const Node *n = r->p->graph->nodes.at[k];
            if (n->name && strcmp(n->name, "r") == 0)
                found = n;
        }
        cr_assert(found, "%s: no node is named r", cases[i].e);
        const char *shape = shape_text(r->c.arena, &found->shape);
        cr_expect_str_eq(shape, cases[i].shape, "%s: %s", cases[i].e, shape);
    }
}

Test(build_value, run_time_sizes_do_not_fit) {
    static const struct {
        const char *e, *message;
    } cases[] = {
        {"x @ transpose(x)", "[rows, rows] has two sizes that are known only at run time"},
        {"x + zeros([8, 3])", "dimension -2 is up to 8 in the first and 8 in the second"},
        {"x[1:]", "this slice needs the size of a dimension that is known only at run time"},
        {"reshape(x, [8, 3])", "cannot reshape [rows, 3] to [8, 3]"},
        {"concat(x, x, axis=0)", "cannot concatenate along axis 0"},
        {"zeros([rate])", "must be an integer that is known when nnc runs, found a run-time real"},
    };
    for (int i = 0; i < COUNT_OF(cases); i++) {
        Built *r = run_in_batches(cases[i].e);
        char *text = messages(r);
        cr_expect(!r->p && strstr(text, cases[i].message), "%s: found\n%s", cases[i].e, text);
        free(text);
    }
}

Test(build_value, mistakes_are_named) {
    static const struct {
        const char *e, *message;
    } cases[] = {
        {"a + zeros([2, 4])",
         "cannot add [2, 3] and [2, 4]: dimension -1 is 3 in the first and 4 in the second"},
        {"a + zeros([2])", "cannot add [2, 3] and [2]: dimension -1 is 3 in the first and 2 in"},
        {"stack(1 // 0)", "division of 1 by zero"},
        {"i % 0", "division of integers by zero"},
        {"stack(9223372036854775807 + 1)", "too large for an integer"},
        {"a + cast(a, f32)", "cannot add f64 and f32: convert one of them"},
        {"a + \"x\"", "cannot add \"x\""},
        {"a and a", "'and' combines bools, found f64[2, 3]"},
        {"not a", "'not' takes a bool, found f64[2, 3]"},
        {"zeros([2.5])", "a dimension must be an integer, found 2.5"},
        {"zeros([0])", "a dimension must be at least 1, found 0"},
        {"reshape(a, [4, -1])", "cannot reshape [2, 3] to [4, -1]: it has 6 elements"},
        {"sum(a, axis=2)", "axis 2 is out of range: the tensor has 2 dimensions"},
        {"sum(a, 1)", "sum takes"},
        {"sum(a, axes=1)", "sum has no parameter 'axes'"},
        {"concat(a, v)", "concat needs its argument 'axis'"},
        {"concat(a, v, axis=0)", "cannot concatenate [2, 3] and [3] along axis 0"},
        {"split(a, 2)", "cannot split 3 into 2 equal parts"},
        {"a[2]", "index 2 is out of range: the dimension has 2"},
        {"v[[0, 3]]", "index 3 is out of range: the dimension has 3"},
        {"v[1:1]", "this slice is empty: the dimension has 3"},
        {"v[one:]", "a slice with a run-time bound needs a constant length"},
        {"a[0, 0, 0]", "3 indices for f64[2, 3]"},
        {"v[v]", "an index must be an integer, found f64[3]"},
        {"v[v > 15]", "a bool tensor cannot be an index"},
        {"a @ a", "cannot multiply [2, 3] @ [2, 3]: the last dimension on the left must be"},
        {"i @ k", "'@' multiplies real tensors, found i32[2, 3] and i32[3]"},
        {"einsum(\"ij,ij->ik\", a, a)", "'k' stands only after '->'"},
        {"einsum(\"ij,jk->ik\", a, a)", "einsum: 'j' is 3 in [2, 3] and 2 in [2, 3]"},
        {"pick(a, [0, 1, 2])", "pick from [2, 3] needs an index [2], found [3]"},
    };
    for (int i = 0; i < COUNT_OF(cases); i++) {
        Built *r = run_expression(setup, cases[i].e);
        char *text = messages(r);
        cr_expect(!r->p && strstr(text, cases[i].message), "%s: found\n%s", cases[i].e, text);
        int errors = 0;
        for (const char *at = text; (at = strstr(at, ": error:")); at++)
            errors++;
        cr_expect_eq(errors, 1, "%s: %d errors\n%s", cases[i].e, errors, text);
        free(text);
    }
}
