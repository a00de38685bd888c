/* kernel_case.c: see kernel_case.h. Each run of the compiled file writes every output and written
 * home as doubles. */
#include "kernel_case.h"
#include "schedule.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

KernelCase *case_new(DType real) {
    Arena *a = arena_new();
    KernelCase *c = NEW(a, KernelCase);
    char folder[] = "/tmp/nnc-kernel-" "XX" "XX" "XX";
    c->arena = c->compiler.arena = a;
    c->compiler.program = NEW(a, Program);
    c->compiler.program->arena = a;
    c->compiler.diag = c->compiler.program->diag = diag_new(a);
    c->g = c->compiler.program->graph = graph_new(a, real);
    c->g->mutate = getenv("NNC_MUTATE");
    c->folder = arena_printf(a, "%s", mkdtemp(folder));
    c->count = 1;
    case_region(c);
    return c;
}

void case_free(KernelCase *c) {
    static const char *const name[] = {"k.c", "k", "in", "out", "log", "k.cu", "ku", "outu"};
    for (int i = 0; i < COUNT_OF(name) && !getenv("KEEP_KERNELS"); i++)
        unlink(arena_printf(c->arena, "%s/%s", c->folder, name[i]));
    rmdir(c->folder);
    arena_free(c->arena);
}

void case_region(KernelCase *c) {
    Program *p = c->compiler.program;
    c->region = NEW(c->arena, Region);
    c->region->id = p->regions.n;
    c->region->name = arena_printf(c->arena, "region_%d", p->regions.n);
    c->region->used = true;
    vec_push(c->arena, &p->regions, c->region);
    c->g->region = c->region;
}

static double seeded(uint64_t i, double lo, double hi) {
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return lo + (hi - lo) * (double)(x >> 40) / 16777216.0;
}

Home *case_home(KernelCase *c, const char *name, DType t, Shape s, double lo, double hi) {
    Program *p = c->compiler.program;
    Home *h = NEW(c->arena, Home);
    h->id = p->homes.n;
    h->kind = HOME_PARAM;
    h->name = h->path = name;
    h->dtype = t;
    h->shape = s;
    vec_push(c->arena, &p->homes, h);
    Tensor *x = NEW(c->arena, Tensor);
    x->shape = s;
    for (int d = 0; d < s.rank; d++) {
        x->shape.dim[d].count = NULL;
        if (s.dim[d].count)
            x->shape.dim[d].n = c->count * (s.dim[d].n / s.dim[d].count->bound);
    }
    int64_t n = shape_elements(&s);
    x->at = NEW_ARRAY(c->arena, double, n + 1);
    for (int64_t i = 0; i < n; i++) {
        double v = seeded((uint64_t)(i + 1000003 * (h->id + 1)), lo, hi);
        x->at[i] = dtype_is_real(t) ? t == DT_F32 ? (double)(float)v : v : floor(v);
    }
    vec_push(c->arena, &c->contents, x);
    return h;
}

Node *case_input(KernelCase *c, const char *name, DType t, Shape s, double lo, double hi) {
    return graph_read(c->g, case_home(c, name, t, s, lo, hi));
}

Node *case_scalar(KernelCase *c, const char *name, DType t, double value) {
    Program *p = c->compiler.program;
    Scalar *s = NEW(c->arena, Scalar);
    s->id = p->scalars.n;
    s->name = name;
    s->dtype = t;
    s->region = c->region;
    vec_push(c->arena, &p->scalars, s);
    vec_push(c->arena, &c->scalars, value);
    return graph_scalar(c->g, s);
}

Node *case_count_home(KernelCase *c, const char *name, int64_t bound, int64_t rest, int64_t value) {
    Program *p = c->compiler.program;
    if (p->counts.n == 0) {
        Count *count = NEW(c->arena, Count);
        count->name = count->called = "rows";
        count->bound = bound;
        vec_push(c->arena, &p->counts, count);
    }
    c->count = value;
    Shape s = shape_of(2, (const int64_t[]){bound, rest});
    s.dim[0].count = p->counts.at[0];
    return case_input(c, name, c->g->real, s, -1, 1);
}

void case_output(KernelCase *c, Node *n) {
    vec_push(c->arena, &c->region->outputs, n);
}

void case_write(KernelCase *c, Home *h, Node *value) {
    vec_push(c->arena, &c->region->writes, (Write){h, value});
}

int case_lower(KernelCase *c) {
    if (!c->compiler.fusion) /* the second time for another target */
        simplify(&c->compiler);
    fuse(&c->compiler);
    layout(&c->compiler);
    schedule(&c->compiler);
    return c->compiler.lowered->kernels.n;
}

/* ---- the oracle's side ---- */

static const Tensor *home_contents(void *context, const Home *h) {
    return ((KernelCase *)context)->contents.at[h->id];
}

static double scalar_value(void *context, const Scalar *s) {
    return ((KernelCase *)context)->scalars.at[s->id];
}

static int64_t count_value(void *context, const Count *count) {
    (void)count;
    return ((KernelCase *)context)->count;
}

typedef struct Expected {
    const char *name;
    const Buffer *buffer;
    const Tensor *value, *rough; /* f64 and f32 */
    DType dtype;
    const Node *node;
    const Home *home; /* of a write */
} Expected;
typedef VEC(Expected) ExpectedVec;

static void run_oracle(KernelCase *c, bool single, ExpectedVec *out) {
    InterpEnv env = {c, home_contents, scalar_value, count_value, NULL, 42};
    Interp *in = interp_new(c->arena, &env, single);
    Program *p = c->compiler.program;
    Tensor **saved = NEW_ARRAY(c->arena, Tensor *, c->contents.n + 1);
    memcpy(saved, c->contents.at, sizeof *saved * (size_t)c->contents.n);
    int at = 0;
    for (int r = 0; r < p->regions.n; r++) {
        Region *region = p->regions.at[r];
        for (int i = 0; i < region->outputs.n + region->writes.n; i++) {
            bool write = i >= region->outputs.n;
            const Write *w = write ? &region->writes.at[i - region->outputs.n] : NULL;
            Node *n = write ? w->value : region->outputs.at[i];
            const Buffer *b = write ? lower_buffer_of_home(c->compiler.lowered, w->home)
                                    : lower_buffer_of_node(c->compiler.lowered, n);
            const Tensor *v = interp_value(in, n);
            if (single)
                out->at[at++].rough = v;
            else
                vec_push(c->arena, out, (Expected){b ? b->name : "?", b, v, NULL, n->dtype, n,
                                                   write ? w->home : NULL});
        }
        for (int i = 0; i < region->writes.n; i++)
            c->contents.at[region->writes.at[i].home->id] =
                (Tensor *)interp_value(in, region->writes.at[i].value);
    }
    memcpy(c->contents.at, saved, sizeof *saved * (size_t)c->contents.n);
}

/* ---- the compiled side ---- */

void case_print_given(KernelCase *c, Text *out) {
    const Program *p = c->compiler.program;
    text_add(out, "    int64_t step;\n    struct { int none;\n");
    for (int i = 0; i < p->scalars.n; i++)
        text_printf(out, "        %s %s;\n", c_type(p->scalars.at[i]->dtype),
                    p->scalars.at[i]->name);
    text_add(out, "    } scalars;\n    struct { int none;\n");
    for (int i = 0; i < p->counts.n; i++)
        text_printf(out, "        int64_t %s;\n", p->counts.at[i]->name);
    text_add(out, "    } counts;\n");
}

static void print_storage(KernelCase *c, Text *out) {
    const Lowered *l = c->compiler.lowered;
    text_add(out, "struct nn {\n    struct rt rt;\n");
    case_print_given(c, out);
    for (int i = 0; i < l->buffers.n; i++) {
        const Buffer *b = l->buffers.at[i];
        text_printf(out, "    %s b%d[%lld] __attribute__((aligned(64)));\n", c_type(b->dtype), i,
                    (long long)(b->bytes / dtype_size(b->dtype)));
    }
    text_add(out, "};\n");
    for (int i = 0; i < l->buffers.n; i++) {
        const Buffer *b = l->buffers.at[i];
        Text head = {.arena = c->arena}, type = {.arena = c->arena};
        c_print_buffer_type(&head, b, arena_printf(c->arena, "at_%s(struct nn *nn)", b->name));
        c_print_buffer_type(&type, b, "");
        text_printf(out, "RT_FN %s {\n    return (%s)nn->b%d;\n}\n", head.at, type.at, i);
    }
}

/* Where element i of a buffer lies, as C. */
static const char *element_place(KernelCase *c, const Buffer *b) {
    if (b->layout == LAYOUT_ROWS)
        return "i";
    long long rows = (long long)b->shape.dim[0].n, columns = (long long)b->shape.dim[1].n;
    return arena_printf(c->arena, "(i %% %lld / 16 * %lld + i / %lld) * 16 + i %% %lld %% 16",
                        columns, rows, columns, columns);
}

static void print_runs(KernelCase *c, Text *out, const ExpectedVec *want) {
    const Lowered *l = c->compiler.lowered;
    text_add(out,
             "RT_FN void run(struct nn *nn, int n) {\n    int t = 0;\n    (void)t, (void)n;\n");
    for (int i = 0; i < l->kernels.n; i++) {
        const Kernel *k = l->kernels.at[i];
        text_add(out, k->tiles > 1 ? "    for (t = 0; t < n; t++)\n        " : "    ");
        c_print_call(out, k, NULL);
        text_add(out, "\n");
        /* what it leaves is kept where a later kernel may overwrite it: outputs are read at the end
         */
    }
    text_add(out, "}\n#include \"runtime/rt_end.h\"\nstatic struct nn state;\n");
    text_add(out, "int main(int argc, char **argv) {\n    struct nn *nn = &state;\n    FILE *f = "
                  "fopen(argv[argc - 2], \"rb\");\n"
                  "    double x;\n    rt_flush_denormals();\n    nn->rt.seed = 42;\n"
                  "    nn->rt.fault.node = -1;\n");
    for (int i = 0; i < c->scalars.n; i++)
        text_printf(out, "    nn->scalars.%s = %.17g;\n", c->compiler.program->scalars.at[i]->name,
                    c->scalars.at[i]);
    for (int i = 0; i < c->compiler.program->counts.n; i++)
        text_printf(out, "    nn->counts.%s = %lld;\n", c->compiler.program->counts.at[i]->name,
                    (long long)c->count);
    for (int i = 0; i < l->buffers.n; i++) /* what lies between columns must not matter */
        if (l->buffers.at[i]->layout == LAYOUT_PANELS16)
            text_printf(out, "    memset(nn->b%d, 255, sizeof nn->b%d);\n", i, i);
    for (int i = 0; i < c->compiler.program->homes.n; i++) {
        const Home *h = c->compiler.program->homes.at[i];
        const Buffer *b = lower_buffer_of_home(l, h);
        text_printf(out,
                    "    for (int i = 0; i < %lld; i++)\n        if (fread(&x, 8, 1, f))\n         "
                    "   nn->b%d[%s] = (%s)x;\n",
                    (long long)shape_elements(&h->shape), b->id, element_place(c, b),
                    c_type(b->dtype));
    }
    text_add(
        out,
        "    fclose(f);\n    run(nn, atoi(argv[1]));\n    f = fopen(argv[argc - 1], \"wb\");\n");
    for (int i = 0; i < want->n; i++) {
        int64_t n = shape_elements(&want->at[i].value->shape);
        text_printf(out,
                    "    for (int i = 0; i < %lld; i++) {\n        x = (double)nn->b%d[%s];\n      "
                    "  fwrite(&x, 8, 1, f);\n    }\n",
                    (long long)n, want->at[i].buffer->id, element_place(c, want->at[i].buffer));
    }
    text_add(out, "    fclose(f);\n    return 0;\n}\n");
}

static bool write_program(KernelCase *c, const ExpectedVec *want) {
    Text out = {.arena = c->arena}, in = {.arena = c->arena};
    const Lowered *l = c->compiler.lowered;
    text_add(&out, "#include \"runtime/rt_lanes.h\"\n");
    print_storage(c, &out);
    for (int i = 0; i < l->kernels.n; i++)
        if (l->kernels.at[i]->same_as == i) {
            text_add(&out, "\n");
            c_print_kernel(&out, l->kernels.at[i]);
        }
    print_runs(c, &out, want);
    for (int i = 0; i < c->contents.n; i++)
        text_addn(&in, (const char *)c->contents.at[i]->at,
                  sizeof(double) *
                      (size_t)shape_elements(&c->compiler.program->homes.at[i]->shape));
    return write_file(arena_printf(c->arena, "%s/k.c", c->folder), out.at, out.n) &&
           write_file(arena_printf(c->arena, "%s/in", c->folder), in.at ? in.at : "", in.n);
}

static const char *run_program(KernelCase *c, int threads, double **values, size_t *n) {
    const char *command =
        arena_printf(c->arena, "%s/k %d %s/in %s/out", c->folder, threads, c->folder, c->folder);
    size_t bytes;
    if (system(command) != 0)
        return arena_printf(c->arena, "the program ends with an error (%s)", c->folder);
    *values =
        (double *)(void *)read_file(c->arena, arena_printf(c->arena, "%s/out", c->folder), &bytes);
    *n = bytes / sizeof(double);
    return NULL;
}

/* Error at most three times that of the oracle in f32, plus a floor relative to the largest
 * element. */
static const char *compare(KernelCase *c, const ExpectedVec *want, const double *got) {
    for (int i = 0; i < want->n; i++) {
        const Expected *w = &want->at[i];
        int64_t n = shape_elements(&w->value->shape);
        double size = 0, rough = 0;
        for (int64_t k = 0; k < n; k++) {
            if (isfinite(w->value->at[k]))
                size = fmax(size, fabs(w->value->at[k]));
            rough = fmax(rough, fabs(w->value->at[k] - w->rough->at[k]));
        }
        double floor_ = c->tolerance         ? c->tolerance * size
                        : w->dtype == DT_F64 ? 1e-12 * size
                                             : 1e-6 * size;
        if (!dtype_is_real(w->dtype))
            floor_ = rough = 0;
        for (int64_t k = 0; k < n; k++) {
            double a = w->value->at[k], b = got[k];
            if (a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= floor_ + 3 * rough)
                continue;
            return arena_printf(c->arena, "%s[%lld]: %.9g, the oracle has %.9g (%s)", w->name,
                                (long long)k, b, a, c->folder);
        }
        got += n;
    }
    return NULL;
}

static const char *build_folder(void) {
    const char *folder = getenv("BUILD");
    return folder ? folder : "build";
}

static const char *check_cuda(KernelCase *c, const ExpectedVec *want) {
    CaseValue *value = NEW_ARRAY(c->arena, CaseValue, want->n + 1);
    for (int i = 0; i < want->n; i++)
        value[i] = (CaseValue){want->at[i].node, want->at[i].home,
                               shape_elements(&want->at[i].value->shape)};
    return case_check_cuda(c, getenv("CASE_CUDA"), build_folder(), want->n, value);
}

const char *case_check(KernelCase *c) {
    static const int threads[] = {1, 2, 7};
    ExpectedVec want = {0};
    double *first = NULL, *values = NULL;
    size_t n = 0;
    if (!c->compiler.lowered)
        case_lower(c);
    run_oracle(c, false, &want);
    run_oracle(c, true, &want);
    for (int i = 0; i < want.n; i++)
        if (!want.at[i].buffer)
            return "an output has no buffer";
    if (!write_program(c, &want))
        return strerror(errno);
    if (system(arena_printf(c->arena,
                            "gcc -O1 -Wall -Wextra -Werror -I. -I%s -o %s/k %s/k.c -lm -pthread",
                            build_folder(), c->folder, c->folder)) != 0)
        return arena_printf(c->arena, "%s/k.c does not compile", c->folder);
    for (int i = 0; i < COUNT_OF(threads); i++) {
        const char *wrong = run_program(c, threads[i], &values, &n);
        if (wrong)
            return wrong;
        if (!first) {
            first = values;
            wrong = compare(c, &want, values);
            if (wrong)
                return wrong;
        }
        if (memcmp(first, values, n * sizeof *values) != 0)
            return arena_printf(c->arena, "other bits with %d threads (%s)", threads[i], c->folder);
    }
    return getenv("CASE_CUDA") ? check_cuda(c, &want) : NULL;
}
