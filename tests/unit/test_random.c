/* test_random.c: random programs through all passes. After each pass the oracle, rounding to f32,
 * gives the same values as before the first: the same bits until fuse, which merges products and
 * sums. The plan is proved; the kernels, compiled and run, agree with the oracle for any number of
 * threads.
 *
 * NNC_RANDOM is the number of programs (40), NNC_RANDOM_FROM the first seed (1). The programs of a
 * test share one C file. Memory that nobody has written is NaN, rows behind a run-time count too.
 */
#include "c/print.h"
#include "random_graph.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCHES = 8, COUNT_VALUE = 5, GRAPH_PASSES = 2, SAMPLES = 3 };

typedef VEC(const Tensor *) Values;

typedef struct Case {
    int number;
    uint64_t seed;
    Compiler compiler;
    Values homes;
    Values exact, rough; /* results by the oracle in f64 and f32, before the first pass */
    Values moved[SAMPLES]; /* the same in f32 with every rounding moved at random */
} Case;

typedef VEC(Case *) Cases;

/* ---- the oracle's side ---- */

static int64_t extent_now(Dim d) {
    return d.count ? COUNT_VALUE * (d.n / d.count->bound) : d.n;
}

static double drawn(uint64_t i, bool whole) {
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    double y = (double)(x >> 40) / 16777216.0;
    return whole ? floor(200 * y) - 100 : (double)(float)(4 * y - 2);
}

static void fill_homes(Case *c) {
    const Program *p = c->compiler.program;
    for (int i = 0; i < p->homes.n; i++) {
        const Home *h = p->homes.at[i];
        Tensor *x = NEW(p->arena, Tensor);
        x->shape = h->shape;
        for (int d = 0; d < h->shape.rank; d++)
            x->shape.dim[d] = (Dim){extent_now(h->shape.dim[d]), NULL};
        int64_t n = shape_elements(&x->shape);
        x->at = NEW_ARRAY(p->arena, double, n + 1);
        for (int64_t k = 0; k < n; k++)
            x->at[k] = drawn((uint64_t)(k + 1000003 * (i + 1)) + c->seed, !dtype_is_real(h->dtype));
        vec_push(p->arena, &c->homes, x);
    }
}

static const Tensor *home_contents(void *context, const Home *h) {
    return ((Case *)context)->homes.at[h->id];
}

static int64_t count_value(void *context, const Count *count) {
    (void)context, (void)count;
    return COUNT_VALUE;
}

/* A result of the program: an output or a written value of a region. */
static Node *result_at(const Region *r, int i) {
    return i < r->outputs.n ? r->outputs.at[i] : r->writes.at[i - r->outputs.n].value;
}

static int results_of(const Region *r) {
    return r->outputs.n + r->writes.n;
}

/* jitter: see interp_jitter; 0: none */
static void evaluate(Case *c, bool single, uint32_t jitter, Values *out) {
    const Program *p = c->compiler.program;
    const InterpEnv env = {c, home_contents, NULL, count_value, NULL, 42};
    Interp *in = interp_new(p->arena, &env, single);
    if (jitter)
        interp_jitter(in, jitter);
    for (int r = 0; r < p->regions.n; r++)
        for (int i = 0; i < results_of(p->regions.at[r]); i++)
            vec_push(p->arena, out, interp_value(in, result_at(p->regions.at[r], i)));
}

static bool same_number(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

/* ---- passes ---- */

static double largest_error(const Tensor *exact, const Tensor *rough) {
    const int64_t n = shape_elements(&exact->shape);
    double error = 0;
    for (int64_t k = 0; k < n; k++)
        if (isfinite(rough->at[k]))
            error = fmax(error, fabs(exact->at[k] - rough->at[k]));
    return error;
}

/* Three times the error of the oracle in f32, in samples of how far rounding may carry a value, and
 * a floor relative to the largest element; a mean of numbers near 1 may be near 0. */
static double room_of(const Case *c, int i) {
    const Tensor *exact = c->exact.at[i];
    const int64_t n = shape_elements(&exact->shape);
    double size = 0.5, rough = largest_error(exact, c->rough.at[i]);
    for (int64_t k = 0; k < n; k++)
        if (isfinite(exact->at[k]))
            size = fmax(size, fabs(exact->at[k]));
    for (int k = 0; k < SAMPLES; k++)
        rough = fmax(rough, largest_error(exact, c->moved[k].at[i]));
    return 3 * rough + 3e-6 * size;
}

static void check_kept(Case *c, const char *pass, bool exactly) {
    Values now = {0};
    evaluate(c, true, 0, &now);
    cr_assert_eq(now.n, c->rough.n, "seed %llu: %s changes the number of results",
                 (unsigned long long)c->seed, pass);
    for (int i = 0; i < now.n; i++) {
        int64_t n = shape_elements(&now.at[i]->shape);
        cr_assert_eq(n, shape_elements(&c->rough.at[i]->shape));
        double room = exactly ? 0 : room_of(c, i);
        for (int64_t k = 0; k < n; k++)
            cr_assert(same_number(now.at[i]->at[k], c->rough.at[i]->at[k]) ||
                          fabs(now.at[i]->at[k] - c->rough.at[i]->at[k]) <= room,
                      "seed %llu: after %s result %d[%lld] is %.9g, it was %.9g",
                      (unsigned long long)c->seed, pass, i, (long long)k, now.at[i]->at[k],
                      c->rough.at[i]->at[k]);
    }
}

static void run_passes(Case *c) {
    static const struct {
        const char *name;
        void (*run)(Compiler *c);
    } passes[] = {{"simplify", simplify}, {"ranges", ranges}, {"products", products},
                  {"fuse", fuse},         {"layout", layout}, {"schedule", schedule},
                  {"plan", plan}};
    for (int i = 0; i < COUNT_OF(passes); i++) {
        passes[i].run(&c->compiler);
        graph_verify(c->compiler.program->graph);
        check_kept(c, passes[i].name, i < GRAPH_PASSES);
    }
    const char *fault = plan_check(c->compiler.lowered);
    cr_assert_null(fault, "seed %llu: %s", (unsigned long long)c->seed, fault);
}

static Case *case_of(Arena *a, int number, uint64_t seed) {
    Case *c = NEW(a, Case);
    c->number = number;
    c->seed = seed;
    c->compiler.arena = a;
    c->compiler.program = NEW(a, Program);
    c->compiler.program->arena = a;
    c->compiler.diag = c->compiler.program->diag = diag_new(a);
    c->compiler.lowered = NEW(a, Lowered);
    random_graph(a, c->compiler.program, seed);
    fill_homes(c);
    evaluate(c, false, 0, &c->exact);
    evaluate(c, true, 0, &c->rough);
    for (int i = 0; i < SAMPLES; i++)
        evaluate(c, true, (uint32_t)i + 1, &c->moved[i]);
    run_passes(c);
    return c;
}

/* ---- text ---- */

static const char prelude[] =
    "#include \"runtime/rt_lanes.h\"\n"
    "struct nn {\n    struct rt rt;\n    int64_t step;\n    unsigned char *arena;\n"
    "    struct { int64_t B; } counts;\n};\n"
    "struct piece { long long offset, bytes; };\n"
    "struct program { void (*run)(struct nn *nn, int n); long long bytes;\n"
    "    const struct piece *in, *out; };\n";

/* in and out are lists of pieces that end with one of no bytes. Exit code 1: a program gave other
 * bits when its tiles were cut into more parts; argv: file to read, file to write. */
static const char epilogue[] =
    "#include \"runtime/rt_end.h\"\n"
    "static struct nn state;\n"
    "static int same;\n"
    "static unsigned char *run(const struct program *p, FILE *in, long start, int n) {\n"
    "    unsigned char *m = (unsigned char *)aligned_alloc(64, (size_t)p->bytes + 64);\n"
    "    memset(m, 0xff, (size_t)p->bytes + 64);\n"
    "    fseek(in, start, SEEK_SET);\n"
    "    for (const struct piece *q = p->in; q->bytes; q++)\n"
    "        if (fread(m + q->offset, (size_t)q->bytes, 1, in) != 1)\n"
    "            abort();\n"
    "    state.arena = m;\n    state.counts.B = 5;\n    state.rt.fault.node = -1;\n"
    "    p->run(&state, n);\n"
    "    return m;\n}\n"
    "int main(int argc, char **argv) {\n"
    "    FILE *in = fopen(argv[argc - 2], \"rb\"), *out = fopen(argv[argc - 1], \"wb\");\n"
    "    same = 1;\n"
    "    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {\n"
    "        const struct program *p = &programs[i];\n"
    "        long start = ftell(in);\n"
    "        unsigned char *more = run(p, in, start, 7), *m = run(p, in, start, 1);\n"
    "        for (const struct piece *q = p->out; q->bytes; q++) {\n"
    "            same &= memcmp(m + q->offset, more + q->offset, (size_t)q->bytes) == 0;\n"
    "            fwrite(m + q->offset, (size_t)q->bytes, 1, out);\n"
    "        }\n"
    "        free(m);\n        free(more);\n"
    "    }\n"
    "    fclose(out);\n    return !same;\n}\n";

/* Kernels and buffers of different programs need different names. */
static void rename_parts(Case *c) {
    Lowered *l = c->compiler.lowered;
    for (int i = 0; i < l->kernels.n; i++)
        l->kernels.at[i]->name =
            arena_printf(c->compiler.arena, "p%d_%s", c->number, l->kernels.at[i]->name);
    for (int i = 0; i < l->buffers.n; i++)
        l->buffers.at[i]->name =
            arena_printf(c->compiler.arena, "p%d_%s", c->number, l->buffers.at[i]->name);
}

static void print_accessors(const Case *c, Text *out) {
    const Lowered *l = c->compiler.lowered;
    for (int i = 0; i < l->buffers.n; i++) {
        const Buffer *b = l->buffers.at[i];
        Text head = {.arena = out->arena}, type = {.arena = out->arena};
        c_print_buffer_type(&head, b, arena_printf(out->arena, "at_%s(struct nn *nn)", b->name));
        c_print_buffer_type(&type, b, "");
        text_printf(out, "RT_FN %s {\n    return (%s)(void *)(nn->arena + %lld);\n}\n", head.at,
                    type.at, (long long)b->offset);
    }
}

static void print_kernels(const Case *c, Text *out) {
    const Lowered *l = c->compiler.lowered;
    for (int i = 0; i < l->kernels.n; i++)
        if (l->kernels.at[i]->same_as == i)
            c_print_kernel(out, l->kernels.at[i]);
    text_printf(out, "RT_FN void run_%d(struct nn *nn, int n) {\n    int t = 0;\n", c->number);
    text_add(out, "    (void)nn, (void)t, (void)n;\n");
    for (int i = 0; i < l->kernels.n; i++) {
        bool parts = l->kernels.at[i]->tiles > 1;
        text_add(out, parts ? "    for (t = 0; t < n; t++)\n        " : "    ");
        c_print_call(out, l->kernels.at[i], NULL);
        text_add(out, "\n");
    }
    text_add(out, "}\n");
}

/* NULL: a constant, which is written out where it is used. */
static const Buffer *result_buffer(const Case *c, const Region *r, int i) {
    if (i < r->outputs.n && r->outputs.at[i]->op == OP_constant)
        return NULL;
    const Buffer *b =
        i < r->outputs.n
            ? lower_buffer_of_node(c->compiler.lowered, r->outputs.at[i])
            : lower_buffer_of_home(c->compiler.lowered, r->writes.at[i - r->outputs.n].home);
    cr_assert_not_null(b, "seed %llu: result %d of '%s' has no memory", (unsigned long long)c->seed,
                       i, r->name);
    return b;
}

static void print_piece(Text *out, const Buffer *b) {
    if (b)
        text_printf(out, "    {%lld, %lld},\n", (long long)b->offset, (long long)b->bytes);
}

static void print_pieces(const Case *c, Text *out) {
    const Program *p = c->compiler.program;
    text_printf(out, "static const struct piece in_%d[] = {\n", c->number);
    for (int i = 0; i < p->homes.n; i++)
        print_piece(out, lower_buffer_of_home(c->compiler.lowered, p->homes.at[i]));
    text_printf(out, "    {0, 0}};\nstatic const struct piece out_%d[] = {\n", c->number);
    for (int r = 0; r < p->regions.n; r++)
        for (int i = 0; i < results_of(p->regions.at[r]); i++)
            print_piece(out, result_buffer(c, p->regions.at[r], i));
    text_add(out, "    {0, 0}};\n");
}

/* ---- memory ---- */

/* Bytes before element k, k counting in run-time extents. */
static int64_t place_of(const Buffer *b, int64_t k) {
    int64_t sub[MAX_RANK], at = 0;
    const int rank = b->shape.rank;
    for (int d = rank - 1; d >= 0; d--) {
        sub[d] = k % extent_now(b->shape.dim[d]);
        k /= extent_now(b->shape.dim[d]);
    }
    if (b->layout == LAYOUT_PANELS16)
        at = (sub[1] / 16 * b->shape.dim[0].n + sub[0]) * 16 + sub[1] % 16;
    else
        for (int d = 0; d < rank; d++)
            at = at * b->shape.dim[d].n + sub[d];
    return at * dtype_size(b->dtype);
}

static void put_number(unsigned char *to, DType t, double x) {
    const float f = (float)x;
    const int32_t i = t == DT_I32 ? (int32_t)x : 0;
    const void *from = t == DT_F64 ? (const void *)&x : t == DT_I32 ? (const void *)&i : &f;
    memcpy(to, from, (size_t)dtype_size(t));
}

static double number_at(const unsigned char *from, DType t) {
    double x;
    float f;
    int32_t i;
    if (t == DT_BOOL)
        return *from;
    if (t == DT_F64)
        return memcpy(&x, from, sizeof x), x;
    memcpy(&f, from, 4);
    memcpy(&i, from, 4);
    return t == DT_I32 ? (double)i : (double)f;
}

static void add_homes(const Case *c, Text *in) {
    const Program *p = c->compiler.program;
    for (int h = 0; h < p->homes.n; h++) {
        const Buffer *b = lower_buffer_of_home(c->compiler.lowered, p->homes.at[h]);
        if (!b)
            continue;
        unsigned char *image = NEW_ARRAY(in->arena, unsigned char, b->bytes);
        memset(image, 0xff, (size_t)b->bytes);
        int64_t n = shape_elements(&c->homes.at[h]->shape);
        for (int64_t k = 0; k < n; k++)
            put_number(image + place_of(b, k), b->dtype, c->homes.at[h]->at[k]);
        text_addn(in, (const char *)image, (size_t)b->bytes);
    }
}

static void check_result(const Case *c, int i, const Buffer *b, const unsigned char *image) {
    const Tensor *exact = c->exact.at[i];
    const int64_t n = shape_elements(&exact->shape);
    double room = dtype_is_real(b->dtype) ? room_of(c, i) : 0;
    for (int64_t k = 0; k < n; k++) {
        double x = number_at(image + place_of(b, k), b->dtype);
        cr_assert(same_number(x, exact->at[k]) || fabs(x - exact->at[k]) <= room,
                  "seed %llu: '%s'[%lld] is %.9g, the oracle has %.9g (room %.2g)",
                  (unsigned long long)c->seed, b->name, (long long)k, x, exact->at[k], room);
    }
}

static const unsigned char *check_results(const Case *c, const unsigned char *image,
                                          const unsigned char *end) {
    const Program *p = c->compiler.program;
    int number = 0;
    for (int r = 0; r < p->regions.n; r++)
        for (int i = 0; i < results_of(p->regions.at[r]); i++, number++) {
            const Buffer *b = result_buffer(c, p->regions.at[r], i);
            if (!b)
                continue;
            cr_assert_leq(b->bytes, end - image);
            check_result(c, number, b, image);
            image += b->bytes;
        }
    return image;
}

/* ---- batches ---- */

static void write_files(Arena *a, const char *folder, const Cases *cases) {
    Text out = {.arena = a}, in = {.arena = a}, list = {.arena = a};
    text_add(&out, prelude);
    for (int i = 0; i < cases->n; i++) {
        Case *c = cases->at[i];
        rename_parts(c);
        print_accessors(c, &out);
        print_kernels(c, &out);
        print_pieces(c, &out);
        add_homes(c, &in);
        text_printf(&list, "    {run_%d, %lld, in_%d, out_%d},\n", i,
                    (long long)c->compiler.lowered->arena_bytes, i, i);
    }
    text_printf(&out, "static const struct program programs[] = {\n%s};\n%s", list.at, epilogue);
    cr_assert(write_file(arena_printf(a, "%s/r.c", folder), out.at, out.n));
    cr_assert(write_file(arena_printf(a, "%s/in", folder), in.at ? in.at : "", in.n));
}

static void check_compiled(Arena *a, const char *folder, const Cases *cases) {
    write_files(a, folder, cases);
    const char *made = getenv("BUILD"); /* has what is made of runtime files */
    const char *build =
        arena_printf(a, "gcc -O1 -Wall -Wextra -Werror -I. -I%s -o %s/r %s/r.c -lm -pthread",
                     made ? made : "build", folder, folder);
    cr_assert_eq(system(build), 0, "%s/r.c does not compile", folder);
    const char *run = arena_printf(a, "%s/r %s/in %s/out", folder, folder, folder);
    cr_assert_eq(system(run), 0, "other bits with seven parts (%s)", folder);
    size_t bytes;
    const unsigned char *image =
        (const unsigned char *)read_file(a, arena_printf(a, "%s/out", folder), &bytes);
    const unsigned char *end = image + bytes;
    for (int i = 0; i < cases->n; i++)
        image = check_results(cases->at[i], image, end);
}

static long setting(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text ? atol(text) : otherwise;
}

static void check_batch(int batch) {
    static const char *const name[] = {"r.c", "r", "in", "out"};
    Arena *a = arena_new();
    char folder[] = "/tmp/nnc-random-XX" "XX" "XX";
    Cases cases = {0};
    long count = setting("NNC_RANDOM", 40), from = setting("NNC_RANDOM_FROM", 1);
    cr_assert_not_null(mkdtemp(folder));
    for (long i = batch; i < count; i += BATCHES) {
        Case *c = case_of(a, cases.n, (uint64_t)(from + i));
        vec_push(a, &cases, c);
    }
    if (cases.n)
        check_compiled(a, folder, &cases);
    for (int i = 0; i < COUNT_OF(name); i++)
        unlink(arena_printf(a, "%s/%s", folder, name[i]));
    rmdir(folder);
    arena_free(a);
}

#define BATCH(n)                                                                                   \
    Test(random, programs_##n) {                                                                   \
        check_batch(n);                                                                            \
    }
BATCH(0)
BATCH(1)
BATCH(2)
BATCH(3)
BATCH(4)
BATCH(5)
BATCH(6)
BATCH(7)
