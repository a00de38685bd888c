/* kernel_cuda.c: the graph of a case lowered to CUDA, run by the shim, gives the bits of target c.
 *
 * kernel_cases_on_cuda (tests/lib.sh) sets CASE_CUDA, how g++ makes objects and, behind a '|',
 * programs of them with one build of the shim; and CASE_ORDERS, the orders of threads in which each
 * is run once.
 */
#include "cuda/print.h"
#include "kernel_case.h"
#include "target.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void print_state(KernelCase *c, Text *out) {
    text_add(out, "struct nn_block {\n    uint64_t seed;\n");
    case_print_given(c, out);
    text_add(out, "};\nstruct nn {\n    void *buffer[");
    text_printf(out, "%d];\n    struct nn_block *block;\n    struct rt_fault *fault;\n};\n",
                c->compiler.lowered->buffers.n + 1);
}

static void print_accessors(KernelCase *c, Text *out) {
    const Lowered *l = c->compiler.lowered;
    text_add(out, "#define its_block(nn) ((nn)->block)\n#define its_fault(nn) ((nn)->fault)\n");
    for (int i = 0; i < l->buffers.n; i++) {
        Text type = {.arena = c->arena};
        c_print_buffer_type(&type, l->buffers.at[i], "");
        text_printf(out, "#define dev_%s(nn) ((%s)(nn)->buffer[%d])\n", l->buffers.at[i]->name,
                    type.at, i);
    }
}

/* Every value of the host passes through `staged`, page-locked. */
static void print_helpers(Text *out, int64_t most) {
    text_printf(out, "enum { MOST = %lld };\n", (long long)most);
    text_add(out,
             "static char *staged;\nstatic cudaStream_t stream;\n"
             "static void must(cudaError_t e, const char *what) {\n"
             "    if (e != cudaSuccess) {\n"
             "        fprintf(stderr, \"%s: %s\\n\", what, cudaGetErrorString(e));\n"
             "        exit(9);\n    }\n}\n"
             "static void *fresh(size_t n) {\n    void *p;\n"
             "    must(cudaMalloc(&p, n), \"malloc\");\n    return p;\n}\n"
             "static void push(void *to, size_t n) {\n"
             "    must(cudaMemcpyAsync(to, staged, n, cudaMemcpyHostToDevice, stream), \"copy\");\n"
             "    must(cudaStreamSynchronize(stream), \"copy\");\n}\n"
             "static void pull(const void *from, size_t n) {\n"
             "    must(cudaMemcpyAsync(staged, from, n, cudaMemcpyDeviceToHost, stream), "
             "\"copy\");\n"
             "    must(cudaStreamSynchronize(stream), \"copy\");\n}\n");
}

/* Rows past a count may be copied, with a slice of a contraction, but nobody computes with them:
 * they are there, and not numbers. */
static void print_buffer(const Buffer *b, Text *out) {
    text_printf(out, "    nn->buffer[%d] = fresh(%lld);\n", b->id, (long long)b->bytes);
    if (shape_count(&b->shape))
        text_printf(out,
                    "    memset(staged, 255, %lld);\n    push(nn->buffer[%d], %lld);\n"
                    "    memset(staged, 0, %lld);\n",
                    (long long)b->bytes, b->id, (long long)b->bytes, (long long)b->bytes);
}

static void print_start(KernelCase *c, Text *out) {
    const Lowered *l = c->compiler.lowered;
    const Program *p = c->compiler.program;
    text_add(out, "int main(int argc, char **argv) {\n    struct nn state, *nn = &state;\n"
                  "    struct nn_block *b;\n    double x;\n    FILE *f = fopen(argv[argc - 2], "
                  "\"rb\");\n"
                  "    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "
                  "\"stream\");\n"
                  "    must(cudaMallocHost((void **)&staged, MOST), \"memory\");\n"
                  "    memset(staged, 0, MOST);\n"
                  "    nn->block = (struct nn_block *)fresh(sizeof *nn->block);\n"
                  "    nn->fault = (struct rt_fault *)fresh(sizeof *nn->fault);\n"
                  "    ((struct rt_fault *)staged)->node = -1;\n"
                  "    push(nn->fault, sizeof *nn->fault);\n"
                  "    b = (struct nn_block *)staged;\n    b->seed = 42;\n    b->step = 7;\n");
    for (int i = 0; i < c->scalars.n; i++)
        text_printf(out, "    b->scalars.%s = %.17g;\n", p->scalars.at[i]->name,
                    c->scalars.at[i]);
    for (int i = 0; i < p->counts.n; i++)
        text_printf(out, "    b->counts.%s = %lld;\n", p->counts.at[i]->name, (long long)c->count);
    text_add(out, "    push(nn->block, sizeof *b);\n");
    for (int i = 0; i < l->buffers.n; i++)
        print_buffer(l->buffers.at[i], out);
    for (int i = 0; i < p->homes.n; i++) {
        const Buffer *b = lower_buffer_of_home(l, p->homes.at[i]);
        text_printf(out,
                    "    for (int i = 0; i < %lld; i++)\n        if (fread(&x, 8, 1, f))\n"
                    "            ((%s *)staged)[i] = (%s)x;\n    push(nn->buffer[%d], %lld);\n",
                    (long long)shape_elements(&b->shape), c_type(b->dtype), c_type(b->dtype),
                    b->id, (long long)b->bytes);
    }
    text_add(out, "    fclose(f);\n");
}

static void print_main(KernelCase *c, Text *out, int n, const CaseValue *want) {
    const Lowered *l = c->compiler.lowered;
    int64_t most = 4096;
    for (int i = 0; i < l->buffers.n; i++)
        most = MAX(most, l->buffers.at[i]->bytes);
    print_accessors(c, out);
    print_helpers(out, most);
    print_start(c, out);
    for (int i = 0; i < l->kernels.n; i++) {
        text_add(out, "    must(");
        cuda_print_launch(out, l->kernels.at[i], "stream", NULL, NULL);
        text_printf(out, ", \"%s\");\n", l->kernels.at[i]->name);
    }
    text_add(out, "    f = fopen(argv[argc - 1], \"wb\");\n");
    for (int i = 0; i < n; i++) {
        const Buffer *b = want[i].home ? lower_buffer_of_home(l, want[i].home)
                                       : lower_buffer_of_node(l, want[i].node);
        text_printf(out,
                    "    pull(nn->buffer[%d], %lld);\n    for (int i = 0; i < %lld; i++) {\n"
                    "        x = (double)((%s *)staged)[i];\n        fwrite(&x, 8, 1, f);\n    }\n",
                    b->id, (long long)b->bytes, (long long)want[i].elements, c_type(b->dtype));
    }
    text_add(out, "    fclose(f);\n    return 0;\n}\n");
}

/* For nvcc: the case as a namespace of its own, in the folder CASE_TEXTS. */
static bool keep_text(KernelCase *c, const char *text) {
    const char *folder = getenv("CASE_TEXTS");
    if (!folder)
        return true;
    const char *from = strchr(text, '\n') + 1, *to = strstr(text, "#include \"runtime/rt_end.h\"");
    const char *name = strrchr(c->folder, '-') + 1;
    const char *all = arena_printf(c->arena, "namespace case_%s {\n%.*s}\n", name,
                                   (int)(to - from), from);
    return write_file(arena_printf(c->arena, "%s/%s.cu", folder, name), all, strlen(all));
}

static void lower_again(KernelCase *c) {
    c->compiler.target = &target_cuda;
    c->compiler.lowered = NEW(c->arena, Lowered);
    case_lower(c);
    c->compiler.target = NULL;
}

/* NULL: it runs in all orders of threads and gives the bits of target c. */
static const char *run_text(const KernelCase *c, const char *how, const char *build) {
    const char *link = strchr(how, '|'), *orders = getenv("CASE_ORDERS");
    if (!link || !orders)
        return "CASE_CUDA or CASE_ORDERS is not set as tests/kernels/cuda.sh sets them";
    const char *compile = arena_printf(
        c->arena, "g++ %.*s -I. -I%s -x c++ -c -o %s/ku.o %s/k.cu && g++ -o %s/ku %s/ku.o %s",
        (int)(link - how), how, build, c->folder, c->folder, c->folder, c->folder, link + 1);
    if (system(compile) != 0)
        return arena_printf(c->arena, "%s/k.cu does not compile", c->folder);
    const char *run = arena_printf(c->arena,
                                   "for order in %s; do CUDA_SHIM_ORDER=$order %s/ku %s/in %s/outu "
                                   "&& cmp %s/out %s/outu || exit 1; done",
                                   orders, c->folder, c->folder, c->folder, c->folder, c->folder);
    return system(run) == 0 ? NULL : arena_printf(c->arena, "other bits on cuda (%s)", c->folder);
}

const char *case_check_cuda(KernelCase *c, const char *how, const char *build, int n,
                            const CaseValue *want) {
    Text out = {.arena = c->arena};
    Lowered *was = c->compiler.lowered;
    lower_again(c);
    const Lowered *l = c->compiler.lowered;
    text_add(&out, "#include \"runtime/rt_warp.h\"\n");
    print_state(c, &out);
    for (int i = 0; i < l->kernels.n; i++)
        if (l->kernels.at[i]->same_as == i) {
            text_add(&out, "\n");
            cuda_print_kernel(&out, l->kernels.at[i], NULL);
        }
    text_add(&out, "\n#include \"runtime/rt_end.h\"\n");
    print_main(c, &out, n, want);
    c->compiler.lowered = was;
    if (!write_file(arena_printf(c->arena, "%s/k.cu", c->folder), out.at, out.n) ||
        !keep_text(c, out.at))
        return strerror(errno);
    return run_text(c, how, build);
}
