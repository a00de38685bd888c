/* gen_dot.c: writes C files of contractions as the compiler makes them, with a table of what they compute.
 *
 *   gen_dot check SEED COUNT   small random shapes of every kind, each with an epilogue
 *   gen_dot large              a few big ones
 *   gen_dot bench              the shapes of bench/gemm
 *
 * The text goes to standard output; dot_check.h or bench/gemm/gemm_main.h is the program around it.
 */
#include "c/print.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What follows the product; E_NONE and E_UPDATE alone have no bias. */
typedef enum Epilogue {
    E_NONE,
    E_RELU,   /* max(c + bias, 0) */
    E_TANH,   /* pre = c + bias and tanh(pre), both stored */
    E_UPDATE, /* old - 0.5 * c, in place */
    E_MASK,   /* c where old > 0, else 0 */
    E_N
} Epilogue;

typedef struct Case {
    int64_t b, m, n, k;
    bool ta, tb;
    Epilogue epilogue;
    bool panels;         /* the right operand lies in panels */
    bool few_m, few_k;   /* m, k: fewer than the bound at run time */
    const char *name;
    Home *left, *right, *bias, *old, *out, *pre;
    Region *region;
    const Count *count;
} Case;

typedef struct Gen {
    Arena *arena;
    Compiler c;
    Program program;
    VEC(Case *) cases;
    uint64_t random;
} Gen;

static int64_t draw(Gen *g, int64_t n) {
    g->random = g->random * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((g->random >> 33) % (uint64_t)n);
}

static Home *home(Gen *g, const Case *c, const char *what, int rank, const Dim *dim) {
    Home *h = NEW(g->arena, Home);
    *h = (Home){.id = g->program.homes.n, .kind = HOME_VAR, .model = -1};
    h->name = what;
    h->path = arena_printf(g->arena, "%s_%s", c->name, what);
    h->shape.rank = rank;
    memcpy(h->shape.dim, dim, sizeof *dim * (size_t)rank);
    vec_push(g->arena, &g->program.homes, h);
    return h;
}

/* [b, x, y], without a leading 1 so that layouts of matrices apply. */
static Home *matrix(Gen *g, const Case *c, const char *what, Dim x, Dim y) {
    const Dim dim[3] = {{c->b, NULL}, x, y};
    return c->b == 1 ? home(g, c, what, 2, dim + 1) : home(g, c, what, 3, dim);
}

static Node *as_batch(Graph *graph, Node *n) {
    Shape s = n->shape;
    if (s.rank == 3)
        return n;
    s = (Shape){3, {{1, NULL}, s.dim[0], s.dim[1]}};
    return graph_reshape(graph, n, &s);
}

static void write_home(Gen *g, Case *c, Home *h, Node *value) {
    vec_push(g->arena, &c->region->writes,
             (Write){h, graph_reshape(g->program.graph, value, &h->shape)});
}

static void epilogue(Gen *g, Case *c, Node *dot, Dim m, Dim n) {
    Graph *graph = g->program.graph;
    const Shape *s = &dot->shape;
    Node *zero = graph_constant(graph, DT_F32, s, 0);
    if (c->epilogue == E_RELU || c->epilogue == E_TANH) {
        c->bias = home(g, c, "bias", 1, &n);
        dot = graph_binary(graph, OP_add, dot,
                           graph_broadcast_to(graph, graph_read(graph, c->bias), s));
    }
    if (c->epilogue == E_TANH) {
        c->pre = matrix(g, c, "pre", m, n);
        write_home(g, c, c->pre, dot);
        dot = graph_unary(graph, OP_tanh, dot);
    }
    if (c->epilogue == E_RELU)
        dot = graph_binary(graph, OP_maximum, dot, zero);
    c->out = matrix(g, c, "out", m, n);
    if (c->epilogue == E_UPDATE || c->epilogue == E_MASK) {
        c->old = c->epilogue == E_MASK ? matrix(g, c, "old", m, n) : c->out;
        Node *old = as_batch(graph, graph_read(graph, c->old));
        Node *half = graph_constant(graph, DT_F32, s, 0.5);
        if (c->epilogue == E_MASK)
            dot = graph_where(graph, graph_binary(graph, OP_lt, zero, old), dot, zero);
        else
            dot = graph_binary(graph, OP_sub, old, graph_binary(graph, OP_mul, half, dot));
    }
    write_home(g, c, c->out, dot);
}

static Dim extent(Gen *g, Case *c, int64_t n, bool few) {
    if (!few)
        return (Dim){n, NULL};
    Count *count = NEW(g->arena, Count);
    *count = (Count){g->program.counts.n, arena_printf(g->arena, "rows_%s", c->name), "rows", n};
    vec_push(g->arena, &g->program.counts, count);
    c->count = count;
    return (Dim){n, count};
}

static void add(Gen *g, Case shape) {
    Case *c = NEW(g->arena, Case);
    *c = shape;
    c->name = arena_printf(g->arena, "case%d", g->cases.n);
    c->region = NEW(g->arena, Region);
    c->region->id = g->program.regions.n;
    c->region->name = c->name;
    c->region->used = true;
    vec_push(g->arena, &g->program.regions, c->region);
    vec_push(g->arena, &g->cases, c);
    Graph *graph = g->program.graph;
    graph->region = c->region;
    Dim m = extent(g, c, c->m, c->few_m), k = extent(g, c, c->k, c->few_k), n = {c->n, NULL};
    c->left = matrix(g, c, "left", c->ta ? k : m, c->ta ? m : k);
    c->right = matrix(g, c, "right", c->tb ? n : k, c->tb ? k : n);
    Node *left = as_batch(graph, graph_read(graph, c->left));
    Node *right = as_batch(graph, graph_read(graph, c->right));
    epilogue(g, c, graph_dot(graph, left, right, c->ta, c->tb), m, n);
}

/* ---- shapes ---- */

static void random_cases(Gen *g, int count) {
    static const int64_t some[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40};
    for (int i = 0; i < count; i++) {
        Case c = {.b = draw(g, 4) ? 1 : 1 + draw(g, 4)};
        c.m = draw(g, 2) ? some[draw(g, COUNT_OF(some))] : 1 + draw(g, 40);
        c.n = draw(g, 2) ? some[draw(g, COUNT_OF(some))] : 1 + draw(g, 40);
        c.k = draw(g, 2) ? some[draw(g, COUNT_OF(some))] : 1 + draw(g, 40);
        c.ta = i & 1;
        c.tb = i >> 1 & 1;
        c.epilogue = (Epilogue)draw(g, E_N);
        c.panels = c.b == 1 && draw(g, 4) == 0;
        int few = (int)draw(g, 6);
        c.few_m = few == 0 && c.m > 1;
        c.few_k = few == 1 && c.k > 1;
        add(g, c);
    }
}

static void large_cases(Gen *g) {
    static const int64_t shape[][4] = {{1, 64, 128, 784}, {1, 256, 512, 256}, {1, 130, 100, 1024},
                                       {1, 512, 48, 64},  {6, 64, 64, 32},    {1, 1, 300, 200},
                                       {1, 1000, 1, 70},  {1, 77, 10, 512},   {24, 33, 20, 16}};
    for (int i = 0; i < COUNT_OF(shape); i++)
        for (int t = 0; t < 4; t++) {
            const int64_t *s = shape[i];
            Case c = {.b = s[0], .m = s[1], .n = s[2], .k = s[3], .ta = t & 1, .tb = t >> 1};
            c.epilogue = (Epilogue)((i + t) % E_N);
            c.panels = s[0] == 1 && (i + t) % 3 == 0;
            c.few_m = i == 1 && t < 2;
            c.few_k = i == 1 && t >= 2;
            add(g, c);
        }
}

static void bench_cases(Gen *g) {
    static const int64_t shape[][5] = {
        {64, 128, 784, 0, 0},   {64, 10, 128, 0, 0},    {784, 128, 64, 1, 0},
        {128, 10, 64, 1, 0},    {64, 128, 10, 0, 1},    {256, 1024, 1024, 0, 0},
        {1024, 1024, 256, 1, 0}, {256, 1024, 1024, 0, 1}, {512, 3072, 768, 0, 0},
        {768, 3072, 512, 1, 0}, {512, 768, 3072, 0, 1}, {2048, 1536, 384, 0, 0},
        {384, 1536, 2048, 1, 0}, {2048, 384, 1536, 0, 1}, {1024, 1024, 1024, 0, 0},
        {1024, 1024, 1024, 1, 0}, {1024, 1024, 1024, 0, 1}, {16, 512, 128, 0, 0},
        {32, 512, 128, 0, 0},   {128, 512, 1600, 1, 0}, {64, 120, 400, 0, 0},
        {400, 120, 64, 1, 0},   {256, 256, 64, 0, 1},   {256, 64, 256, 0, 0}};
    for (int i = 0; i < COUNT_OF(shape); i++)
        for (int panels = 0; panels < 2; panels++) {
            const int64_t *s = shape[i];
            Case c = {.b = 1, .m = s[0], .n = s[1], .k = s[2], .ta = s[3], .tb = s[4]};
            c.panels = panels;
            add(g, c);
        }
}

/* ---- text ---- */

static void lay_out_panels(const Gen *g) {
    for (int i = 0; i < g->cases.n; i++) {
        Case *c = g->cases.at[i];
        Buffer *b = lower_buffer_of_home(g->c.lowered, c->right);
        if (c->panels) {
            b->layout = LAYOUT_PANELS16;
            b->bytes = (layout_elements(b) * 4 + 63) / 64 * 64;
        }
    }
}

static void print_state(const Gen *g, Text *t) {
    text_add(t, "struct nn {\n    struct rt rt;\n    int64_t step;\n    unsigned char *arena;\n");
    text_add(t, "    struct {\n        int64_t none;\n");
    for (int i = 0; i < g->program.counts.n; i++)
        text_printf(t, "        int64_t %s;\n", g->program.counts.at[i]->name);
    text_printf(t, "    } counts;\n};\n\nenum { ARENA = %lld };\n\n",
                (long long)g->c.lowered->arena_bytes);
    for (int i = 0; i < g->c.lowered->buffers.n; i++) {
        const Buffer *b = g->c.lowered->buffers.at[i];
        Text cast = {.arena = g->arena};
        text_add(t, "RT_INLINE ");
        c_print_buffer_type(t, b, arena_printf(g->arena, "at_%s(struct nn *nn)", b->name));
        c_print_buffer_type(&cast, b, "");
        text_printf(t, " {\n    return (%s)(void *)(nn->arena + %lld);\n}\n\n", cast.at,
                    (long long)b->offset);
    }
}

static void print_kernels(const Gen *g, Text *t) {
    for (int i = 0; i < g->c.lowered->kernels.n; i++) {
        const Kernel *k = g->c.lowered->kernels.at[i];
        if (k->same_as == k->id)
            c_print_kernel(t, k);
        text_add(t, "\n");
    }
}

static void print_region(const Gen *g, Text *t, const Case *c) {
    const Lowered *l = g->c.lowered;
    text_printf(t, "static void run_%s(struct nn *nn, struct rt_team *team, int t, int n) {\n",
                c->name);
    for (int i = 0; i < l->kernels.n; i++) {
        if (l->kernels.at[i]->region != c->region)
            continue;
        if (l->kernels.at[i]->tiles == 1)
            text_add(t, "    if (t == 0) {\n");
        c_print_call(t, l->kernels.at[i], NULL);
        text_add(t, l->kernels.at[i]->tiles == 1 ? "\n    }\n" : "\n");
        if (l->barrier_after[i])
            text_add(t, "    rt_barrier(team, t);\n");
    }
    text_add(t, "    (void)nn, (void)team, (void)t, (void)n;\n}\n\n");
}

static long long offset(const Gen *g, const Home *h) {
    return h ? (long long)lower_buffer_of_home(g->c.lowered, h)->offset : -1;
}

static void print_table(const Gen *g, Text *t) {
    text_add(t, "static const struct dot_case cases[] = {\n");
    for (int i = 0; i < g->cases.n; i++) {
        const Case *c = g->cases.at[i];
        text_printf(t, "    {%lld, %lld, %lld, %lld, %d, %d, %d, %d, %d, %d, ", (long long)c->b,
                    (long long)c->m, (long long)c->n, (long long)c->k, c->ta, c->tb,
                    (int)c->epilogue, c->panels, c->few_m, c->few_k);
        text_printf(t, "%lld, %lld, %lld, %lld, %lld, %lld, ", offset(g, c->left),
                    offset(g, c->right), offset(g, c->bias), offset(g, c->old), offset(g, c->out),
                    offset(g, c->pre));
        if (c->count)
            text_printf(t, "offsetof(struct nn, counts.%s), ", c->count->name);
        else
            text_add(t, "offsetof(struct nn, counts.none), ");
        text_printf(t, "run_%s},\n", c->name);
    }
    text_add(t, "};\n");
}

static void print_all(const Gen *g, const char *mode) {
    Text t = {.arena = g->arena};
    text_add(&t, "#include \"dot_case.h\"\n\n");
    print_state(g, &t);
    print_kernels(g, &t);
    for (int i = 0; i < g->cases.n; i++)
        print_region(g, &t, g->cases.at[i]);
    text_add(&t, "struct dot_case {\n    int64_t b, m, n, k;\n");
    text_add(&t, "    int ta, tb, epilogue, panels, few_m, few_k;\n");
    text_add(&t, "    int64_t left, right, bias, old, out, pre;\n    size_t count;\n");
    text_add(&t, "    void (*run)(struct nn *nn, struct rt_team *team, int t, int n);\n};\n\n");
    print_table(g, &t);
    text_printf(&t, "\n#include \"%s\"\n", strcmp(mode, "bench") ? "dot_check.h" : "gemm_main.h");
    fwrite(t.at, 1, t.n, stdout);
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 1;
    Gen g = {.arena = arena_new()};
    g.c = (Compiler){.arena = g.arena, .program = &g.program};
    g.program.arena = g.arena;
    g.program.graph = graph_new(g.arena, DT_F32);
    g.random = argc > 2 ? (uint64_t)atoll(argv[2]) : 1;
    if (strcmp(argv[1], "bench") == 0)
        bench_cases(&g);
    else if (strcmp(argv[1], "large") == 0)
        large_cases(&g);
    else
        random_cases(&g, argc > 3 ? atoi(argv[3]) : 50);
    fuse(&g.c);
    lay_out_panels(&g);
    schedule(&g.c);
    plan(&g.c);
    const char *wrong = plan_check(g.c.lowered);
    if (wrong)
        bug("plan: %s", wrong);
    print_all(&g, argv[1]);
    return 0;
}
