/* emit_c.c: the whole output of target c: the frame, its head, the runtime's parts. */
#include "../cuda/emit_device.h"
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
        s->output ? path_base(s->output)
                  : arena_printf(x->arena, "%s%s", x->p->name, x->gpu ? ".cu" : ".c");
    Text t = {.arena = x->arena};
    text_printf(&t, "nnc %s --target %s", x->p->file, s->target);
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
    const char *compile = x->gpu ? "nvcc -O2 -arch=sm_80 -fmad=false -ftz=true"
                                 : arena_printf(x->arena, "cc -O2%s", quiet);
    emit_line(&x->e, " *   %s -o %s %s%s%s", compile, x->p->name, out,
              x->gpu ? "" : " -lm -pthread", x->p->uses_gz ? " -lz" : "");
    emit_line(&x->e, " *   ./%s --help", x->p->name);
}

static void head_weights(CEmit *x) {
    for (int i = 0; i < x->values.weights; i++) {
        const Buffer *b = x->values.buffers.at[i];
        emit_line(&x->e, " *   %-36s %-4s %s", b->home->path, dtype_name(b->dtype),
                  shape_text(x->arena, &b->shape));
    }
}

static void head_kernel(CEmit *x, const Lowered *l, int i, int copies) {
    const Kernel *k = l->kernels.at[i];
    bool threads = l == x->cpu;
    const char *tiles = !threads || k->tiles == 1 ? "" : arena_printf(x->arena, "%d", k->tiles);
    const char *layers = copies ? arena_printf(x->arena, "  x %d", copies) : "";
    emit_line(&x->e, " *   %4d %-36s %8s %10s %10s%s%s", i, k->name, tiles, amount(x, k->flops),
              amount(x, k->bytes), threads && l->barrier_after[i] ? "  wait" : "", layers);
}

static void head_kernels(CEmit *x, const Lowered *l) {
    int runs = 0;
    for (int i = 0; i < l->kernels.n; i++) {
        const Kernel *k = l->kernels.at[i];
        if (!i || k->region != l->kernels.at[i - 1]->region)
            emit_line(&x->e, " *  %s", k->region->name);
        if (runs == l->runs.n || l->runs.at[runs].first != i) {
            head_kernel(x, l, i, 0);
            continue;
        }
        Run run = l->runs.at[runs++];
        for (int q = 0; q < run.period; q++)
            head_kernel(x, l, i + q, run.copies);
        i += run.period * run.copies - 1;
    }
}

/* The columns, and what stands behind them. */
static void head_columns(CEmit *x, const Lowered *l, const char *where) {
    bool threads = l == x->cpu;
    emit_line(&x->e, " *");
    emit_line(&x->e, " * %-43s %8s %10s %10s", arena_printf(x->arena, "kernels by region%s", where),
              threads ? "tiles" : "", "FLOPs", "bytes");
    if (threads)
        emit_line(&x->e, " * threads share the tiles of a kernel; wait: here all wait for all");
    if (l->runs.n)
        emit_line(&x->e, " * x 12: so in each of 12 layers");
}

static void head_all_kernels(CEmit *x) {
    if (x->cpu) {
        head_columns(x, x->cpu, x->gpu ? " on the CPU" : "");
        head_kernels(x, x->cpu);
    }
    if (x->gpu) {
        head_columns(x, x->gpu, " on the GPU");
        head_kernels(x, x->gpu);
    }
}

static void head_constants(CEmit *x) {
    enum { WIDTH = 96 };
    Text t = {.arena = x->arena};
    const char *before = " * constants: ";
    for (int i = 0; i < x->p->constants.n; i++, before = ", ") {
        const char *one = x->p->constants.at[i];
        if (t.n && t.n + strlen(one) > WIDTH) {
            emit_line(&x->e, "%s,", t.at);
            t = (Text){.arena = x->arena};
            before = " *   ";
        }
        text_printf(&t, "%s%s", before, one);
    }
    if (t.n)
        emit_line(&x->e, "%s", t.at);
}

static void emit_head(CEmit *x) {
    head_command(x);
    emit_line(&x->e, " *");
    head_constants(x);
    emit_line(&x->e, " * memory: %s bytes, and what the data takes",
              amount(x, (double)x->l->arena_bytes));
    if (x->values.weights) {
        emit_line(&x->e, " * parameters and states:");
        head_weights(x);
    }
    head_all_kernels(x);
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
    if (x->gpu) {
        link_file(x->link, "rt_cuda.h", NULL, NULL);
        link_file(x->link, "rt_warp.h", NULL, NULL);
        link_file(x->link, "rt_device.h", NULL, NULL);
    }
}

/* ---- frame ---- */

static void fill(void *arg, const char *slot);

static void emit_state(CEmit *x) {
    link_file(x->link, "state.c", fill, x);
}

static void emit_buffers(CEmit *x) {
    link_file(x->link, "buffers.c", fill, x);
    if (x->gpu)
        link_file(x->link, "device_buffers.cu", fill, x);
}

static void emit_tables(CEmit *x) {
    c_emit_values(x);
    c_emit_region_tables(x);
    c_emit_record_names(x);
    if (x->gpu)
        cuda_emit_tables(x);
}

static void emit_cpu(CEmit *x) {
    if (x->cpu)
        link_file(x->link, "cpu.c", fill, x);
}

static void emit_device(CEmit *x) {
    link_file(x->link, "device.cu", fill, x);
}

static void emit_device_state(CEmit *x) {
    if (x->gpu)
        link_file(x->link, "device_state.cu", fill, x);
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

/* A line that stands in the output where there is something it is for. */
static bool line_for(CEmit *x, const char *slot, const char *what, bool there) {
    size_t n = strlen(what);
    if (strncmp(slot, what, n) != 0)
        return false;
    if (there)
        emit_line(&x->e, "%s", slot + n);
    return true;
}

static void fill(void *arg, const char *slot) {
    static const struct {
        const char *slot;
        void (*run)(CEmit *x);
    } parts[] = {
        {"head", emit_head},         {"runtime", emit_runtime},   {"state", emit_state},
        {"sizes", c_emit_sizes},     {"members", c_emit_members}, {"buffers", emit_buffers},
        {"kernels", c_emit_kernels}, {"regions", c_emit_regions}, {"tables", emit_tables},
        {"support", emit_support},   {"data", c_emit_data},       {"tasks", emit_tasks},
        {"end", emit_end_of_code},   {"main", emit_program_main},
        {"accessors", c_emit_accessors},
        {"device accessors", cuda_emit_accessors},
        {"cpu", emit_cpu},
        {"device", emit_device},     {"device state", emit_device_state},
        {"block", cuda_emit_block},  {"device kernels", cuda_emit_kernels},
        {"device regions", cuda_emit_regions},
    };
    CEmit *x = arg;
    if (line_for(x, slot, "cuda: ", x->gpu != NULL) || line_for(x, slot, "c: ", x->cpu != NULL) ||
        line_for(x, slot, "only cuda: ", x->cpu == NULL) ||
        line_for(x, slot, "only c: ", x->gpu == NULL) ||
        line_for(x, slot, "both: ", x->cpu && x->gpu) ||
        line_for(x, slot, "copies: ", c_has_copies(x)) ||
        line_for(x, slot, "given: ", x->values.rows > x->values.scalars) ||
        line_for(x, slot, "not given: ", x->values.rows == x->values.scalars) ||
        line_for(x, slot, "records: ", x->records.n > 0) ||
        line_for(x, slot, "shows: ", x->most_taken >= 0) ||
        line_for(x, slot, "batches: ", x->gpu && cuda_count_indexes(x) > 0) ||
        line_for(x, slot, "wait: ", !mutated(x->p->graph, "cuda_wait")))
        return;
    for (int i = 0; i < COUNT_OF(parts); i++)
        if (strcmp(parts[i].slot, slot) == 0) {
            parts[i].run(x);
            return;
        }
    bug("emit: no such slot '%s'", slot);
}

const char *emit_c(Compiler *c) {
    CEmit x = {.c = c,
               .arena = c->arena,
               .cpu = c->cpu,
               .gpu = c->gpu,
               .l = c->cpu ? c->cpu : c->gpu,
               .p = c->program,
               .e = {.text = {.arena = c->arena}}};
    c_number_values(&x);
    c_collect_regions(&x);
    c_collect_records(&x);
    c_collect_arguments(&x);
    x.most_taken = cuda_most_taken(&x);
    x.link = link_new(&x.e);
    link_file(x.link, x.gpu ? "frame.cu" : "frame.c", fill, &x);
    return link_text(x.link, "main");
}
