/* emit_device.c: what a file for the GPU has beside that for the CPU: accessors, the block that
 * kernels read, kernels, the functions that put them into a stream, tables about data. */
#include "layers.h"
#include <string.h>

/* ---- values ---- */

/* With both targets the table of values has the buffers of the CPU first. */
static bool is_local(const CEmit *x, const Buffer *b) {
    return x->gpu != x->l && b->region;
}

/* Beside kernels for the CPU, which have the same names. */
static void rename_kernels(CEmit *x) {
    for (int i = 0; i < x->gpu->kernels.n; i++)
        x->gpu->kernels.at[i]->name = arena_printf(x->arena, "gpu_%s", x->gpu->kernels.at[i]->name);
}

void cuda_prepare(CEmit *x) {
    if (x->cpu)
        rename_kernels(x);
    for (int i = 0; i < x->gpu->buffers.n; i++) {
        const Buffer *b = x->gpu->buffers.at[i];
        if (is_local(x, b) && !b->family)
            vec_push(x->arena, &x->values.locals, b);
    }
    for (int i = 0; i < x->gpu->families.n; i++) {
        const Family *f = x->gpu->families.at[i];
        if (!is_local(x, f->copies.at[0]))
            continue;
        vec_push(x->arena, &x->values.families, f);
        x->values.all += f->copies.n;
    }
}

/* The buffer that holds the same in the other target; it outlives a region. */
static const Buffer *twin(const Lowered *l, const Buffer *b) {
    const Buffer *other = b->home ? lower_buffer_of_home(l, b->home)
                                  : lower_buffer_of_node(l, b->node);
    if (!other || other->layout != b->layout || other->bytes != b->bytes)
        bug("emit: '%s' is not stored alike for the CPU and for the GPU", b->name);
    return other;
}

static const Buffer *on_host(const CEmit *x, const Buffer *b) {
    return x->gpu == x->l ? b : twin(x->l, b);
}

const char *cuda_value(const CEmit *x, const Buffer *b) {
    if (!is_local(x, b))
        return c_buffer_value(x, on_host(x, b));
    if (!b->family)
        return arena_printf(x->arena, "VALUE_dev_%s", b->name);
    return b->copy ? arena_printf(x->arena, "VALUE_dev_%s + %d", b->family->name, b->copy)
                   : arena_printf(x->arena, "VALUE_dev_%s", b->family->name);
}

static bool is_of_device(const CEmit *x, const Buffer *b) {
    return b->id < x->gpu->buffers.n && x->gpu->buffers.at[b->id] == b;
}

const char *cuda_offset(const CEmit *x, const Buffer *b) {
    if (!is_of_device(x, b) && b->region)
        return "0, ";
    const Buffer *there = is_of_device(x, b) ? b : twin(x->gpu, b);
    bool shared = there->family && there->region; /* the row of all copies */
    return arena_printf(x->arena, "%lld, ",
                        (long long)(shared ? there->family->offset : there->offset));
}

static void note(const CEmit *x, int n, const Access *list, bool *set) {
    for (int i = 0; i < n; i++)
        if (!list[i].buffer->region)
            set[x->values.number[on_host(x, list[i].buffer)->id]] = true;
}

void cuda_note_region(CEmit *x, const Region *r, bool *before, bool *after) {
    for (int i = 0; i < x->gpu->kernels.n; i++) {
        const Kernel *k = x->gpu->kernels.at[i];
        if (k->region != r)
            continue;
        note(x, k->reads.n, k->reads.at, before);
        note(x, k->writes.n, k->writes.at, after);
    }
}

/* ---- index buffers ---- */

/* The data set whose rows it chooses. */
static const DataSet *set_of_index(const CEmit *x, const Home *h) {
    for (int i = 0; i < x->p->loops.n; i++)
        if (x->p->loops.at[i]->index == h)
            return x->p->loops.at[i]->split->set;
    return NULL;
}

static bool is_index(const CEmit *x, const Home *h) {
    return h && h->kind == HOME_INDEX && set_of_index(x, h) && lower_buffer_of_home(x->gpu, h);
}

int cuda_count_indexes(const CEmit *x) {
    int n = 0;
    for (int i = 0; i < x->p->homes.n; i++)
        n += is_index(x, x->p->homes.at[i]);
    return n;
}

int cuda_index(const CEmit *x, const Home *h) {
    int n = 0;
    for (int i = 0; i < x->p->homes.n && x->p->homes.at[i] != h; i++)
        n += is_index(x, x->p->homes.at[i]);
    return n;
}

static const char *index_name(const CEmit *x, const Home *h) {
    return lower_buffer_of_home(x->gpu, h)->name;
}

static int64_t index_rows(const Home *h) {
    return h->shape.dim[0].n;
}

/* Does the region read rows that this index buffer chooses? */
static bool region_reads(const CEmit *x, const Region *r, const Home *h) {
    for (int i = 0; i < x->gpu->kernels.n; i++) {
        const Kernel *k = x->gpu->kernels.at[i];
        for (int j = 0; k->region == r && j < k->reads.n; j++)
            if (k->reads.at[j].buffer->home == h)
                return true;
    }
    return false;
}

/* ---- sizes, state ---- */

void cuda_emit_sizes(CEmit *x) {
    emit_line(&x->e, "#define NN_DEVICE_ARENA ((size_t)%lld)",
              (long long)MAX(x->gpu->arena_bytes, 64));
    emit_line(&x->e, "/* Of the host's arena: what outlives a region. */");
    emit_line(&x->e, "#define NN_KEPT ((size_t)%lld)", (long long)MAX(x->l->kept_bytes, 64));
    emit_begin(&x->e, "enum");
    emit_line(&x->e, "NN_CPU = %d, /* there are kernels for the CPU too */", x->cpu != NULL);
    emit_line(&x->e, "NN_NUMBERS = %d, /* of values, with all copies */",
              x->values.all + x->values.locals.n);
    emit_line(&x->e, "NN_SETS = %d,", x->p->sets.n);
    emit_line(&x->e, "NN_TAKEN = %d, /* numbers that a record or print shows */",
              MAX(x->most_taken, 0));
    emit_line(&x->e, "NN_INDEXES = %d /* index buffers that loops fill */", cuda_count_indexes(x));
    emit_end(&x->e, ";");
}

void cuda_emit_block(CEmit *x) {
    c_emit_given(x);
    int n = 0;
    for (int i = 0; i < x->p->homes.n; i++) {
        const Home *h = x->p->homes.at[i];
        if (!is_index(x, h))
            continue;
        if (n++ == 0)
            emit_begin(&x->e, "struct");
        emit_line(&x->e, "struct rt_walk %s;", index_name(x, h));
    }
    if (n)
        emit_end(&x->e, " walks; /* the batches whose rows it reads */");
}

static void add_member(CEmit *x, const char *member, const char *cast) {
    emit_line(&x->e, "to->%s = %snn_plus(to->%s, by->%s, sign);", member, cast, member, member);
}

/* How a block changes from run to run: only what is a whole number. */
static void emit_add(CEmit *x) {
    emit_line(&x->e, "/* to += sign * by */");
    emit_begin(&x->e, "RT_FN RT_BOTH void nn_add(struct nn_block *to, const struct nn_block *by, "
                      "int sign)");
    add_member(x, "step", "");
    for (int i = 0; i < x->p->scalars.n; i++)
        if (dtype_is_int(x->p->scalars.at[i]->dtype))
            add_member(x, arena_printf(x->arena, "scalars.%s", x->p->scalars.at[i]->name),
                       arena_printf(x->arena, "(%s)", c_type(x->p->scalars.at[i]->dtype)));
    for (int i = 0; i < x->p->counts.n; i++)
        add_member(x, arena_printf(x->arena, "counts.%s", x->p->counts.at[i]->name), "");
    for (int i = 0; i < x->p->homes.n; i++)
        if (is_index(x, x->p->homes.at[i]))
            add_member(x, arena_printf(x->arena, "walks.%s.round",
                                       index_name(x, x->p->homes.at[i])),
                       "");
    emit_end(&x->e, "");
    emit_gap(&x->e);
}

/* ---- accessors ---- */

static void emit_accessor(CEmit *x, const Buffer *b) {
    const Family *f = b->family && b->family->stride ? b->family : NULL;
    const char *name = b->family ? b->family->name : b->name;
    const char *all = "";
    if (f)
        all = arena_printf(x->arena, ", %lld, %lld", (long long)f->offset,
                           (long long)((f->rotate - 1) * f->stride + b->bytes));
    const char *at =
        arena_printf(x->arena, "NN_DEVICE_AT%s(%s, %s, %s, %s, %lld%s)", f ? "_LAYER" : "",
                     c_type(b->dtype), name, c_print_buffer_rows(x->arena, b), c_place_of(x, b),
                     (long long)b->bytes, all);
    emit_line(&x->e, "%-62s /* %s */", at, shape_text(x->arena, &b->shape));
}

void cuda_emit_accessors(CEmit *x) {
    for (int i = 0; i < x->gpu->buffers.n; i++)
        if (!x->gpu->buffers.at[i]->copy)
            emit_accessor(x, x->gpu->buffers.at[i]);
    for (int i = 0; i < x->p->sources.n; i++) {
        const DataSource *s = x->p->sources.at[i];
        if (!s->used)
            continue;
        emit_line(&x->e, "NN_DEVICE_SOURCE(%d, %s, %s)", s->id, c_type(s->dtype),
                  c_source_name(x->arena, s));
    }
}

/* ---- kernels and regions ---- */

void cuda_emit_kernels(CEmit *x) {
    cuda_find_layers(x);
    emit_add(x);
    link_file(x->link, "device_kernels.cu", NULL, NULL);
    emit_gap(&x->e);
    for (int i = 0; i < x->gpu->kernels.n; i++) {
        const Kernel *k = x->gpu->kernels.at[i];
        if (k->same_as != k->id)
            continue;
        cuda_print_kernel(&x->e.text, k, cuda_moves(x, k));
        emit_gap(&x->e);
    }
}

RegionKernels cuda_kernels_of(const CEmit *x, const Region *r) {
    RegionKernels own = {0};
    for (int i = 0; i < x->gpu->kernels.n; i++)
        if (x->gpu->kernels.at[i]->region == r) {
            own.first = own.end ? own.first : i;
            own.end = i + 1;
        }
    return own;
}

/* What a launch for all layers is handed: the first layer's, though it uses every layer's. */
static const char *buffer_of_all(void *arg, const Buffer *b) {
    const RunLoop *c = arg;
    return c_at(c->x, b->family && b->family->stride ? "every" : "dev", b);
}

/* Kernel i; in a loop that of the first copy, as is that of a launch for a whole run. */
static void emit_launch(RunLoop *c, int i, Run together, int replay_end) {
    CEmit *x = c->x;
    const Kernel *k = x->gpu->kernels.at[i];
    CallNames names = run_loop_names(c, i);
    const LaunchLayers layers = cuda_layers_of(x, together, i);
    Text launch = {.arena = x->arena};
    if (together.copies)
        names.buffer = buffer_of_all;
    if (c_needs_inspection(x, x->gpu, i, c->run))
        c_emit_inspection(x, run_loop_layer(c));
    cuda_print_launch(&launch, k, "stream", &names, &layers);
    emit_words(&x->e, "NN_CUDA(nn, ", launch.at, ");");
    if (i < replay_end)
        run_loop_note_written(c, k);
}

/* Can a replay name what a loop writes? With both targets the CPU's families number what outlives a
 * region. */
static bool has_numbers_in_line(const CEmit *x, Run run) {
    for (int q = 0; q < run.period; q++) {
        const Kernel *k = x->gpu->kernels.at[run.first + q];
        for (int i = 0; i < k->writes.n; i++) {
            const Family *f = k->writes.at[i].buffer->family;
            for (int copy = 0; f && !is_local(x, f->copies.at[0]) && copy < f->copies.n; copy++)
                if (x->values.number[on_host(x, f->copies.at[copy])->id] !=
                    x->values.number[on_host(x, f->copies.at[0])->id] + copy)
                    return false;
        }
    }
    return true;
}

static void emit_run(RunLoop *c, Run run, int replay_end) {
    c_emit_inspection(c->x, "0");
    if (cuda_is_layers(c->x, run, replay_end)) {
        for (int q = 0; q < run.period; q++)
            emit_launch(c, run.first + q, run, replay_end);
        return;
    }
    if (run.first < replay_end && !has_numbers_in_line(c->x, run)) {
        for (int i = 0; i < run.period * run.copies; i++)
            emit_launch(c, run.first + i, (Run){0}, replay_end);
        return;
    }
    run_loop_open(c, run);
    for (int q = 0; q < run.period; q++)
        emit_launch(c, run.first + q, (Run){0}, replay_end);
    c_emit_inspection(c->x, run_loop_layer(c));
    run_loop_close(c);
}

static void emit_launches(CEmit *x, const RegionKernels *own) {
    const Lowered *l = x->gpu;
    RunLoop c = run_loop_new(x, l, "dev");
    int replay_end = c_replay_end(l, own), next = 0;
    for (int i = own->first; i < own->end; i++) {
        while (next < l->runs.n && l->runs.at[next].first < i)
            next++;
        if (next < l->runs.n && l->runs.at[next].first == i) {
            emit_run(&c, l->runs.at[next], replay_end);
            i += l->runs.at[next].period * l->runs.at[next].copies - 1;
        } else {
            emit_launch(&c, i, (Run){0}, replay_end);
        }
    }
    c_emit_inspection(x, "0");
}

/* Which rows a batch has is found on the device, by whoever reads it. */
static void emit_fill(CEmit *x, const Region *r) {
    for (int i = 0; i < x->p->homes.n; i++) {
        const Home *h = x->p->homes.at[i];
        if (!is_index(x, h) || !region_reads(x, r, h))
            continue;
        int64_t rows = index_rows(h);
        Text launch = {.arena = x->arena};
        text_printf(&launch,
                    "RT_LAUNCH(nn_fill_rows, %lld, 128, 0, stream, %s, %lld, "
                    "&its_block(nn)->walks.%s)",
                    (long long)(rows + 127) / 128,
                    c_at(x, "dev", lower_buffer_of_home(x->gpu, h)), (long long)rows,
                    index_name(x, h));
        emit_words(&x->e, "NN_CUDA(nn, ", launch.at, ");");
    }
}

static void emit_device(CEmit *x, const Region *r) {
    emit_line(&x->e, "/* %s: %s */", r->name, c_where(x, r->span));
    emit_begin(&x->e, "RT_FN enum rt_status device_%s(struct nn *nn, cudaStream_t stream)",
               r->name);
    RegionKernels own = cuda_kernels_of(x, r);
    if (own.first == own.end)
        emit_line(&x->e, "(void)nn, (void)stream;");
    emit_fill(x, r);
    emit_launches(x, &own);
    emit_line(&x->e, "return RT_OK;");
    emit_end(&x->e, "");
    emit_gap(&x->e);
}

typedef struct Wanted {
    bool seed, *scalar, *count;
} Wanted;

static Wanted wanted_by(const CEmit *x, const Region *r) {
    Wanted w = {.scalar = NEW_ARRAY(x->arena, bool, x->p->scalars.n + 1),
                .count = NEW_ARRAY(x->arena, bool, x->p->counts.n + 1)};
    for (int i = 0; i < x->gpu->kernels.n; i++) {
        const Kernel *k = x->gpu->kernels.at[i];
        if (k->region != r)
            continue;
        w.seed |= k->seed;
        for (int j = 0; j < k->scalars.n; j++)
            w.scalar[k->scalars.at[j]->id] = true;
        for (int j = 0; j < k->counts.n; j++)
            w.count[k->counts.at[j]->id] = true;
    }
    return w;
}

static void emit_want(CEmit *x, const Region *r) {
    Wanted w = wanted_by(x, r);
    emit_begin(&x->e, "RT_FN void want_%s(const struct nn *nn, struct nn_block *block)", r->name);
    emit_line(&x->e, "block->step = nn->step;");
    if (w.seed)
        emit_line(&x->e, "block->seed = nn->rt.seed;");
    for (int i = 0; i < x->p->scalars.n; i++)
        if (w.scalar[i])
            emit_line(&x->e, "block->scalars.%s = nn->scalars.%s;", x->p->scalars.at[i]->name,
                      x->p->scalars.at[i]->name);
    for (int i = 0; i < x->p->counts.n; i++)
        if (w.count[i])
            emit_line(&x->e, "block->counts.%s = nn->counts.%s;", x->p->counts.at[i]->name,
                      x->p->counts.at[i]->name);
    for (int i = 0; i < x->p->homes.n; i++) {
        const Home *h = x->p->homes.at[i];
        if (is_index(x, h) && region_reads(x, r, h))
            emit_line(&x->e, "nn_walk(nn, %d, &block->walks.%s);", cuda_index(x, h),
                      index_name(x, h));
    }
    emit_end(&x->e, "");
    emit_gap(&x->e);
}

void cuda_emit_regions(CEmit *x) {
    for (int i = 0; i < x->p->regions.n; i++) {
        emit_device(x, x->p->regions.at[i]);
        emit_want(x, x->p->regions.at[i]);
    }
}

void cuda_emit_options(CEmit *x, int first) {
    static const struct {
        const char *name, *kind, *help, *member;
    } options[] = {
        {"device", "STRING", "what computes: auto, cpu or cuda:N", "name"},
        {"devices", "BOOL", "lists the GPUs of this machine and ends", "list"},
    };
    for (int i = 0; i < COUNT_OF(options); i++) {
        int n = first + i;
        emit_line(&x->e, "nn->option_list[%d].name = %s;", n,
                  emit_string(x->arena, c_option_name(x, options[i].name, "_")));
        emit_line(&x->e, "nn->option_list[%d].kind = RT_OPT_%s;", n, options[i].kind);
        emit_line(&x->e, "nn->option_list[%d].help = %s;", n,
                  emit_string(x->arena, options[i].help));
        emit_line(&x->e, "nn->option_list[%d].value = (void *)&nn->device.%s;", n,
                  options[i].member);
    }
    emit_line(&x->e, "nn->device.name = \"auto\";");
}

/* ---- tables about data ---- */

static bool chooses(const CEmit *x, const Home *h, const DataSource *s) {
    for (int i = 0; i < x->p->graph->nodes.n; i++) {
        const Node *n = x->p->graph->nodes.at[i];
        if (n->op == OP_batch && n->attr.batch.source == s && n->in[0]->op == OP_read &&
            n->in[0]->attr.home == h)
            return true;
    }
    return false;
}

static bool read_whole(const CEmit *x, const DataSource *s) {
    for (int i = 0; i < x->p->graph->nodes.n; i++) {
        const Node *n = x->p->graph->nodes.at[i];
        if (n->op == OP_batch && n->attr.batch.source == s &&
            (n->in[0]->op != OP_read || n->in[0]->attr.home->kind != HOME_INDEX))
            return true;
    }
    return false;
}

static int emit_index_sources(CEmit *x, const Home *h) {
    Text t = {.arena = x->arena};
    int n = 0;
    for (int i = 0; i < x->p->sources.n; i++)
        if (chooses(x, h, x->p->sources.at[i]))
            text_printf(&t, "%s%d", n++ ? ", " : "", i);
    emit_words(&x->e, arena_printf(x->arena, "static const int sources_%s[] = {", index_name(x, h)),
               n ? t.at : "-1", "};");
    return n;
}

/* first[set] becomes how many rows the places of its index buffers have together. */
static void emit_indexes(CEmit *x, int64_t *first) {
    int *sources = NEW_ARRAY(x->arena, int, x->p->homes.n + 1);
    for (int i = 0; i < x->p->homes.n; i++)
        if (is_index(x, x->p->homes.at[i]))
            sources[i] = emit_index_sources(x, x->p->homes.at[i]);
    emit_begin(&x->e, "static const struct nn_index nn_indexes[NN_INDEXES] =");
    for (int i = 0; i < x->p->homes.n; i++) {
        const Home *h = x->p->homes.at[i];
        if (!is_index(x, h))
            continue;
        int set = set_of_index(x, h)->id;
        const char *row = arena_printf(
            x->arena, "{%s, %d, %lld, %lld, offsetof(struct nn_block, walks.%s), sources_%s, %d},",
            cuda_value(x, lower_buffer_of_home(x->gpu, h)), set, (long long)index_rows(h),
            (long long)first[set], index_name(x, h), index_name(x, h), sources[i]);
        emit_words(&x->e, "", row, "");
        first[set] += 2 * index_rows(h);
    }
    emit_end(&x->e, ";");
}

static void emit_places_of_batches(CEmit *x) {
    int64_t *rows = NEW_ARRAY(x->arena, int64_t, x->p->sets.n + 1);
    if (cuda_count_indexes(x))
        emit_indexes(x, rows);
    emit_line(&x->e, "/* Rows that the places of all index buffers of a set have together. */");
    emit_begin(&x->e, "static const int64_t nn_stage_rows[NN_SETS + 1] =");
    for (int i = 0; i < x->p->sets.n; i++)
        emit_line(&x->e, "%lld, /* %s */", (long long)rows[i], x->p->sets.at[i]->name);
    emit_line(&x->e, "0,");
    emit_end(&x->e, ";");
}

static void emit_data(CEmit *x) {
    emit_begin(&x->e, "static const struct nn_datum nn_data[NN_SOURCES + 1] =");
    for (int i = 0; i < x->p->sources.n; i++) {
        const DataSource *s = x->p->sources.at[i];
        const Buffer *b = s->kind == SRC_TENSOR ? lower_buffer_of_home(x->gpu, s->tensor) : NULL;
        emit_line(&x->e, "{%d, %s, %s}, /* %s */", s->set->id, b ? cuda_value(x, b) : "-1",
                  read_whole(x, s) ? "true" : "false", s->name);
    }
    emit_line(&x->e, "{0, -1, false},");
    emit_end(&x->e, ";");
}

/* Bytes on the device of the batches that are under way, where data stays on the host. */
static int64_t staged_bytes(const CEmit *x, const DataSource *s) {
    int64_t rows = 0;
    for (int i = 0; i < x->p->homes.n; i++)
        if (is_index(x, x->p->homes.at[i]) && chooses(x, x->p->homes.at[i], s))
            rows += 2 * index_rows(x->p->homes.at[i]);
    return rows * s->row_elements * (int64_t)dtype_size(s->dtype);
}

/* What the memory is needed for, in the order of device_state.cu. */
static void emit_needs(CEmit *x) {
    static const char *const names[] = {"parameters", "optimizer state",
                                        "activations and gradients", "batches and results", "data"};
    enum { PARAMETERS, OPTIMIZERS, VALUES, KEPT, DATA, CLASSES };
    int64_t need[CLASSES] = {[VALUES] = x->gpu->arena_bytes - x->gpu->kept_bytes};
    for (int i = 0; i < x->gpu->buffers.n; i++) {
        const Buffer *b = x->gpu->buffers.at[i];
        bool state = b->home && b->home->kind == HOME_OPT;
        if (!b->region)
            need[c_is_weight(b) ? PARAMETERS : state ? OPTIMIZERS : KEPT] += b->bytes;
    }
    for (int i = 0; i < x->p->sources.n; i++)
        need[DATA] += staged_bytes(x, x->p->sources.at[i]);
    emit_begin(&x->e, "static const struct rt_need nn_needs[NN_CLASSES] =");
    for (int i = 0; i < CLASSES; i++)
        emit_line(&x->e, "{%s, (size_t)%lld},", emit_string(x->arena, names[i]),
                  (long long)need[i]);
    emit_end(&x->e, ";");
}

void cuda_emit_tables(CEmit *x) {
    emit_places_of_batches(x);
    emit_data(x);
    emit_needs(x);
}
