/* emit_c.c: the whole output of target c: the frame, its head, the runtime's parts. */
#include "emit_c.h"
#include <string.h>

const char *c_where(const CEmit *x, Span s) {
    const char *place = diag_place(x->c->diag, x->arena, s);
    return place ? place : x->p->file;
}

const char *c_rt_type(DType t) {
    static const char *const names[DT_N] = {
        [DT_F32] = "RT_F32", [DT_F64] = "RT_F64", [DT_I32] = "RT_I32",
        [DT_I64] = "RT_I64", [DT_U8] = "RT_U8",   [DT_BOOL] = "RT_BOOL",
    };
    return names[t];
}

const char *c_dims(const CEmit *x, const Shape *s) {
    Text t = {.arena = x->arena};
    text_add(&t, "{");
    for (int i = 0; i < s->rank; i++)
        text_printf(&t, "%s%lld", i ? ", " : "", (long long)s->dim[i].n);
    text_add(&t, s->rank ? "}" : "0}");
    return t.at;
}

/* ---- head ---- */

static const char *amount(const CEmit *x, double n) {
    static const char *const unit[] = {"", " k", " M", " G", " T"};
    int i = 0;
    while (n >= 1000 && i + 1 < COUNT_OF(unit)) {
        n /= 1000;
        i++;
    }
    return arena_printf(x->arena, n < 10 && i ? "%.2f%s" : "%.0f%s", n, unit[i]);
}

static void head_command(CEmit *x) {
    const Settings *s = &x->c->settings;
    const char *out =
        s->output ? path_base(s->output) : arena_printf(x->arena, "%s.c", x->p->name);
    Text t = {.arena = x->arena};
    text_printf(&t, "nnc %s --target c", x->p->file);
    for (int i = 0; i < s->ndefines; i++)
        text_printf(&t, " -D %s", s->defines[i]);
    if (s->real64)
        text_add(&t, " --real f64");
    if (s->cpu)
        text_printf(&t, " --cpu %s", s->cpu);
    emit_line(&x->e, "/* %s: a trainer, made by nnc " NNC_VERSION " from %s", out, x->p->file);
    emit_line(&x->e, " *");
    emit_line(&x->e, " *   %s -o %s", t.at, out);
    /* vectors wider than the processor's: GCC has a note about calls, of which there are none */
    const char *quiet = s->cpu && strcmp(s->cpu, "baseline") == 0 ? " -Wno-psabi" : "";
    emit_line(&x->e, " *   cc -O2%s -o %s %s -lm -pthread%s", quiet, x->p->name, out,
              x->p->uses_gz ? " -lz" : "");
    emit_line(&x->e, " *   ./%s --help", x->p->name);
}

/* A buffer, or all copies of a family in one line. */
static void head_buffer(CEmit *x, const Buffer *b, const char *name, const char *kernels) {
    emit_line(&x->e, " *   %-36s %-4s %-22s %10lld%s", name, dtype_name(b->dtype),
              shape_text(x->arena, &b->shape), (long long)b->offset, kernels);
}

static void head_family(CEmit *x, const Family *f, const char *kernels) {
    const Buffer *first = f->copies.at[0];
    const char *step = arena_printf(x->arena, " +%lld%s", (long long)f->stride, kernels);
    head_buffer(x, first, arena_printf(x->arena, "%s[%d]", f->name, f->copies.n), step);
}

/* Of a family only the first stands for all. */
static bool is_listed(const Buffer *b) {
    return !b->family || b == b->family->copies.at[0];
}

static void head_kept(CEmit *x, bool weights) {
    for (int i = 0; i < x->l->buffers.n; i++) {
        const Buffer *b = x->l->buffers.at[i];
        if (b->region || c_is_weight(b) != weights)
            continue;
        if (weights || !b->family)
            head_buffer(x, b, b->home ? b->home->path : b->name, "");
        else if (is_listed(b))
            head_family(x, b->family, "");
    }
}

typedef struct Uses {
    int *first, *last; /* kernels that touch a buffer, by the id of the first of its family */
} Uses;

static void note_uses(const Uses *u, int kernel, int n, const Access *list) {
    for (int i = 0; i < n; i++) {
        const Buffer *b = list[i].buffer;
        int id = b->family ? b->family->copies.at[0]->id : b->id;
        u->first[id] = u->first[id] < 0 ? kernel : u->first[id];
        u->last[id] = kernel;
    }
}

static void head_values(CEmit *x) {
    const Lowered *l = x->l;
    int n = l->buffers.n;
    Uses u = {NEW_ARRAY(x->arena, int, n + 1), NEW_ARRAY(x->arena, int, n + 1)};
    for (int i = 0; i < n; i++)
        u.first[i] = -1;
    for (int k = 0; k < l->kernels.n; k++) {
        note_uses(&u, k, l->kernels.at[k]->reads.n, l->kernels.at[k]->reads.at);
        note_uses(&u, k, l->kernels.at[k]->writes.n, l->kernels.at[k]->writes.at);
    }
    for (int i = 0; i < l->buffers.n; i++) {
        const Buffer *b = l->buffers.at[i];
        if (!b->region || !is_listed(b) || u.first[i] < 0)
            continue;
        const char *kernels = arena_printf(x->arena, "  %d-%d", u.first[i], u.last[i]);
        if (b->family)
            head_family(x, b->family, kernels);
        else
            head_buffer(x, b, b->name, kernels);
    }
}

static void head_kernel(CEmit *x, int i, int copies) {
    const Kernel *k = x->l->kernels.at[i];
    const char *tiles = k->tiles == 1 ? "" : arena_printf(x->arena, "%d", k->tiles);
    const char *layers = copies ? arena_printf(x->arena, "  x %d", copies) : "";
    emit_line(&x->e, " *   %4d %-36s %8s %10s %10s%s%s", i, k->name, tiles, amount(x, k->flops),
              amount(x, k->bytes), x->l->barrier_after[i] ? "  wait" : "", layers);
}

static void head_kernels(CEmit *x) {
    int runs = 0;
    for (int i = 0; i < x->l->kernels.n; i++) {
        const Kernel *k = x->l->kernels.at[i];
        if (!i || k->region != x->l->kernels.at[i - 1]->region)
            emit_line(&x->e, " *  %s", k->region->name);
        if (runs == x->l->runs.n || x->l->runs.at[runs].first != i) {
            head_kernel(x, i, 0);
            continue;
        }
        Run run = x->l->runs.at[runs++];
        for (int q = 0; q < run.period; q++)
            head_kernel(x, i + q, run.copies);
        i += run.period * run.copies - 1;
    }
}

static void emit_head(CEmit *x) {
    head_command(x);
    emit_line(&x->e, " *");
    emit_line(&x->e, " * parameters and states: key, shape, offset in the arena (%s bytes in all)",
              amount(x, (double)x->l->arena_bytes));
    head_kept(x, true);
    emit_line(&x->e, " *");
    emit_line(&x->e, " * what else outlives a region: optimizers, batches, variables, results");
    head_kept(x, false);
    emit_line(&x->e, " *");
    emit_line(&x->e, " * values of one region, and the kernels from the first to the last that");
    emit_line(&x->e, " * touches them: two whose kernels do not overlap may have the same memory");
    head_values(x);
    emit_line(&x->e, " *");
    emit_line(&x->e, " * kernels by region: number, tiles, FLOPs, bytes, where all threads wait,");
    emit_line(&x->e, " * for how many layers");
    head_kernels(x);
    emit_line(&x->e, " */");
}

/* ---- runtime ---- */

/* In this order, which is that of their includes; of each file stands what the program needs. */
static void emit_runtime(CEmit *x) {
    static const char *const files[] = {
        "rt_base.h", "rt_one.h",   "rt_math_1.h", "rt_math.h", "rt_rng.h",
        "rt_lanes.h", "rt_team.h", "rt_text.h",   "rt_array.h", "rt_file.h",
        "rt_data.h", "rt_csv.h",   "rt_npy.h",    "rt_batch.h", "rt_store.h",
        "rt_cli.h",
    };
    const char *cpu = x->c->settings.cpu;
    if (x->p->uses_gz)
        emit_line(&x->e, "#define RT_GZ 1");
    if (cpu && strcmp(cpu, "baseline") == 0)
        emit_line(&x->e, "#define RT_BASELINE 1");
    for (int i = 0; i < COUNT_OF(files); i++)
        link_file(x->link, files[i], NULL, NULL);
}

/* ---- frame ---- */

static void fill(void *arg, const char *slot);

static void emit_state(CEmit *x) {
    link_file(x->link, "state.c", fill, x);
}

static void emit_tables(CEmit *x) {
    c_emit_values(x);
    c_emit_region_tables(x);
    c_emit_record_names(x);
}

static void emit_support(CEmit *x) {
    link_file(x->link, "support.c", fill, x);
}

static void emit_tasks(CEmit *x) {
    link_file(x->link, "export.c", fill, x);
    emit_gap(&x->e);
    c_emit_exports(x);
    c_emit_tasks(x);
    link_file(x->link, "trainer.c", fill, x);
}

static void emit_end_of_code(CEmit *x) {
    link_file(x->link, "rt_end.h", NULL, NULL);
}

static void emit_program_main(CEmit *x) {
    link_file(x->link, "main.c", fill, x);
}

static void fill(void *arg, const char *slot) {
    static const struct {
        const char *slot;
        void (*run)(CEmit *x);
    } parts[] = {
        {"head", emit_head},         {"runtime", emit_runtime},   {"state", emit_state},
        {"sizes", c_emit_sizes},     {"members", c_emit_members}, {"buffers", c_emit_accessors},
        {"kernels", c_emit_kernels}, {"regions", c_emit_regions}, {"tables", emit_tables},
        {"support", emit_support},   {"data", c_emit_data},       {"tasks", emit_tasks},
        {"end", emit_end_of_code},   {"main", emit_program_main},
    };
    for (int i = 0; i < COUNT_OF(parts); i++)
        if (strcmp(parts[i].slot, slot) == 0) {
            parts[i].run(arg);
            return;
        }
    bug("emit: no such slot '%s'", slot);
}

const char *emit_c(Compiler *c) {
    CEmit x = {.c = c,
               .arena = c->arena,
               .l = c->lowered,
               .p = c->program,
               .e = {.text = {.arena = c->arena}}};
    c_number_values(&x);
    c_collect_regions(&x);
    c_collect_records(&x);
    c_collect_arguments(&x);
    x.link = link_new(&x.e);
    link_file(x.link, "frame.c", fill, &x);
    return link_text(x.link, "main");
}
