/* ref_data.c: the oracle's data, text, files and command line: the trainers' own runtime, so that
 * rows, splits, shuffles and formats are the same. The only file of the compiler that includes it.
 */
#define RT_BASELINE 1 /* nnc runs on processors without AVX2 */
#define RT_GZ 1
#include "../runtime/rt_base.h"

#include "../runtime/rt_batch.h"
#include "../runtime/rt_cli.h"
#include "../runtime/rt_csv.h"
#include "../runtime/rt_npy.h"
#include "../runtime/rt_store.h"
#include "emit.h"
#include "ref.h"

struct RefData {
    struct rt rt; /* first: the hooks find the oracle through rt.host */
    struct rt_cli cli;
    struct rt_buf text;
    struct rt_field *fields; /* by source */
    struct rt_source *sources;
    struct rt_rows *rows;       /* by split */
    struct rt_batches *batches; /* by loop */
    uint32_t *entries;          /* how often each loop was entered */
};

const char *ref_common_option(const char *name) {
    for (int i = 0; i < RT_CLI_COMMON; i++)
        if (rt_cli_same(rt_cli_common(i)->name, name, strlen(name)))
            return rt_cli_common(i)->help;
    return NULL;
}

/* ---- hooks ---- */

static void *hook_alloc(struct rt *rt, size_t bytes) {
    const Ref *r = rt->host;
    uintptr_t at = (uintptr_t)arena_alloc(r->arena, bytes + 64);
    return (void *)((at + 63) / 64 * 64);
}

static void hook_release(struct rt *rt, void *memory) { /* goes with the arena */
    (void)rt, (void)memory;
}

static void hook_write(struct rt *rt, int stream, const char *text, size_t n) {
    Ref *r = rt->host;
    fwrite(text, 1, n, stream == 1 ? stdout : stderr);
    if (stream == 1 && fflush(stdout) != 0 && !r->message)
        ref_fail(r, REF_ENVIRONMENT, "cannot write standard output: %s", strerror(errno));
}

/* Takes a status of the runtime and its message. */
static bool done(Ref *r, enum rt_status status) {
    return status == RT_OK || ref_fail(r, (int)status, "%s", r->data->rt.message);
}

/* ---- numbers in memory ---- */

static enum rt_type memory_type(DType t) {
    static const enum rt_type types[DT_N] = {
        [DT_F32] = RT_F32, [DT_F64] = RT_F64, [DT_I32] = RT_I32,
        [DT_I64] = RT_I64, [DT_U8] = RT_U8,   [DT_BOOL] = RT_BOOL,
    };
    return types[t];
}

static double from_memory(enum rt_type type, const void *data, int64_t i) {
    bool real = type == RT_F32 || type == RT_F64;
    return real ? rt_real_at(data, type, i) : (double)rt_int_at(data, type, i);
}

static void to_memory(DType type, void *data, int64_t i, double x) {
    switch (type) {
    case DT_F32:
        ((float *)data)[i] = (float)x;
        return;
    case DT_F64:
        ((double *)data)[i] = x;
        return;
    case DT_I32:
        ((int32_t *)data)[i] = (int32_t)x;
        return;
    case DT_I64:
        ((int64_t *)data)[i] = (int64_t)x;
        return;
    case DT_U8:
    case DT_BOOL:
        ((uint8_t *)data)[i] = (uint8_t)x;
        return;
    case DT_N:
        break;
    }
    bug("oracle: type %d in memory", (int)type);
}

static void *memory_of(Ref *r, const Tensor *t, DType type) {
    int64_t n = shape_elements(&t->shape);
    void *memory = arena_alloc(r->arena, (size_t)n * (size_t)dtype_size(type) + 1);
    for (int64_t i = 0; i < n; i++)
        to_memory(type, memory, i, t->at[i]);
    return memory;
}

/* ---- tables of the program ---- */

static struct rt_field field_of(const Ref *r, const DataSource *s) {
    struct rt_field f = {.name = s->name, .type = memory_type(s->dtype), .rank = s->row.rank};
    for (int i = 0; i < s->row.rank; i++)
        f.dims[i] = s->row.dim[i].n;
    f.range = s->limit;
    f.range_why = s->limit ? ref_where(r, s->limit_span) : NULL;
    return f;
}

RefData *ref_data_new(Ref *r) {
    const Program *p = r->p;
    RefData *d = NEW(r->arena, RefData);
    d->rt.alloc = hook_alloc;
    d->rt.release = hook_release;
    d->rt.write = hook_write;
    d->rt.host = r;
    rt_init(&d->rt);
    rt_buf_init(&d->text, &d->rt, (size_t)1 << 30);
    d->fields = NEW_ARRAY(r->arena, struct rt_field, p->sources.n);
    for (int i = 0; i < p->sources.n; i++)
        d->fields[i] = field_of(r, p->sources.at[i]);
    d->sources = NEW_ARRAY(r->arena, struct rt_source, p->sources.n);
    d->rows = NEW_ARRAY(r->arena, struct rt_rows, p->splits.n);
    d->batches = NEW_ARRAY(r->arena, struct rt_batches, p->loops.n);
    d->entries = NEW_ARRAY(r->arena, uint32_t, p->loops.n);
    return d;
}

/* ---- command line ---- */

static bool is_weight(const Home *h) {
    return h->kind == HOME_PARAM || h->kind == HOME_STATE;
}

/* A row of the table that save and load take; data: a copy of what the home holds. */
static struct rt_tensor tensor_of(Ref *r, const Home *h) {
    struct rt_tensor t = {.key = h->path, .type = memory_type(h->dtype), .rank = h->shape.rank};
    for (int i = 0; i < h->shape.rank; i++)
        t.dims[i] = h->shape.dim[i].n;
    t.data = memory_of(r, r->home[h->id], h->dtype);
    return t;
}

static struct rt_tensor *weights_of(Ref *r, int *n) {
    struct rt_tensor *t = NEW_ARRAY(r->arena, struct rt_tensor, r->p->homes.n);
    *n = 0;
    for (int i = 0; i < r->p->homes.n; i++)
        if (is_weight(r->p->homes.at[i]))
            t[(*n)++] = tensor_of(r, r->p->homes.at[i]);
    return t;
}

static struct rt_option option_of(Ref *r, int i) {
    const Option *o = r->p->options.at[i];
    HValue *v = &r->option[i];
    *v = (HValue){.i = o->i, .f = o->f, .b = o->i != 0, .s = o->s};
    struct rt_option out = {.name = o->name, .help = o->help};
    switch (o->type) {
    case HT_INT:
        out.kind = RT_OPT_INT;
        out.value = &v->i;
        break;
    case HT_REAL:
        out.kind = RT_OPT_REAL;
        out.value = &v->f;
        break;
    case HT_BOOL:
        out.kind = RT_OPT_BOOL;
        out.value = &v->b;
        break;
    case HT_STRING:
        out.kind = RT_OPT_STRING;
        out.value = &v->s;
        break;
    }
    return out;
}

bool ref_data_command_line(Ref *r, int argc, char **argv, const Task **task, bool *stop) {
    const Program *p = r->p;
    RefData *d = r->data;
    struct rt_option *options = NEW_ARRAY(r->arena, struct rt_option, p->options.n);
    struct rt_task *tasks = NEW_ARRAY(r->arena, struct rt_task, p->tasks.n);
    for (int i = 0; i < p->options.n; i++)
        options[i] = option_of(r, i);
    for (int i = 0; i < p->tasks.n; i++)
        tasks[i] = (struct rt_task){p->tasks.at[i]->name,
                                    p->tasks.at[i]->training ? "trains" : NULL};
    d->cli.program = p->name;
    d->cli.version = "the oracle of nnc " NNC_VERSION;
    d->cli.tasks = tasks;
    d->cli.n_tasks = p->tasks.n;
    d->cli.options = options;
    d->cli.n_options = p->options.n;
    d->cli.tensors = weights_of(r, &d->cli.n_tensors);
    d->cli.fields = d->fields;
    d->cli.n_fields = p->sources.n;
    d->cli.data = program_data_names(r->arena, p);
    if (!done(r, rt_cli_parse(&d->rt, &d->cli, argc, argv)))
        return false;
    *stop = d->cli.stop || !p->tasks.n;
    *task = *stop ? NULL : p->tasks.at[d->cli.task];
    r->env.seed = d->rt.seed;
    return true;
}

/* ---- sources ---- */

static struct rt_column *columns_of(Ref *r, const DataSource *s) {
    struct rt_column *c = NEW_ARRAY(r->arena, struct rt_column, s->ncolumns);
    for (int i = 0; i < s->ncolumns; i++)
        c[i] = s->columns[i] < 0 ? (struct rt_column){s->column_names[i], 0, 1}
                                 : (struct rt_column){NULL, (int32_t)s->columns[i], 1};
    return c;
}

static enum rt_status read_csv(Ref *r, const DataSource *s) {
    const struct rt_csv csv = {
        .set = s->set->name,
        .path = s->path,
        .columns = columns_of(r, s),
        .n_columns = s->ncolumns,
        .header = s->header < 0 ? RT_HEADER_AUTO : s->header ? RT_HEADER_YES : RT_HEADER_NO,
        .skip = s->skip,
        .separator = s->separator ? s->separator : ',',
        .has_missing = s->has_missing,
        .missing = s->missing,
        .classes = s->nclasses ? s->classes : NULL,
        .n_classes = s->nclasses,
    };
    return rt_csv_read(&r->data->rt, &r->data->fields[s->id], &csv, &r->data->sources[s->id]);
}

static enum rt_status read_raw(Ref *r, const DataSource *s) {
    int64_t shape[MAX_RANK + 1] = {-1};
    for (int i = 0; i < s->row.rank; i++)
        shape[i + 1] = s->row.dim[i].n;
    return rt_raw_read(&r->data->rt, &r->data->fields[s->id], s->set->name, s->path,
                       memory_type(s->dtype), s->row.rank + 1, shape, &r->data->sources[s->id]);
}

/* The rows are those of a home that the start block has computed. */
static enum rt_status rows_of_home(Ref *r, const DataSource *s) {
    struct rt_source *at = &r->data->sources[s->id];
    at->field = &r->data->fields[s->id];
    at->type = memory_type(s->dtype);
    at->rows = s->rows;
    at->row_elements = s->row_elements;
    return RT_OK;
}

static enum rt_status read_source(Ref *r, const DataSource *s) {
    RefData *d = r->data;
    switch (s->kind) {
    case SRC_CSV:
        return read_csv(r, s);
    case SRC_IDX:
        return rt_idx_read(&d->rt, &d->fields[s->id], s->set->name, s->path, &d->sources[s->id]);
    case SRC_NPY:
        return rt_npy_read(&d->rt, &d->fields[s->id], s->set->name, s->path, &d->sources[s->id]);
    case SRC_RAW:
        return read_raw(r, s);
    case SRC_TENSOR:
        return rows_of_home(r, s);
    }
    bug("oracle: data source of kind %d", (int)s->kind);
}

void ref_data_row(void *ref, const DataSource *s, int64_t row, double *out) {
    const Ref *r = ref;
    const struct rt_source *at = &r->data->sources[s->id];
    if (row < 0 || row >= at->rows)
        bug("oracle: row %lld of %s, which has %lld", (long long)row, s->name, (long long)at->rows);
    for (int64_t i = 0; i < s->row_elements; i++)
        out[i] = s->kind == SRC_TENSOR ? r->home[s->tensor->id]->at[row * s->row_elements + i]
                                       : from_memory(at->type, at->data, row * s->row_elements + i);
}

/* ---- splits; the places of shuffles are those that emit_data.c writes into trainers ---- */

static uint32_t split_place(const char *section, int group) {
    uint32_t h = hash_bytes(HASH_START, section, strlen(section));
    return hash_bytes(h, &group, sizeof group);
}

static enum rt_status cut_parts(Ref *r, const SplitGroup *g, const char *section, int group,
                                const struct rt_rows *all) {
    struct rt_part *parts = NEW_ARRAY(r->arena, struct rt_part, g->nparts);
    struct rt_rows *out = NEW_ARRAY(r->arena, struct rt_rows, g->nparts);
    for (int i = 0; i < g->nparts; i++)
        parts[i] = (struct rt_part){g->parts[i]->name, g->parts[i]->amount, g->parts[i]->of};
    enum rt_status status = rt_split(&r->data->rt, all, g->in_order, split_place(section, group),
                                     parts, g->nparts, out);
    for (int i = 0; i < g->nparts && !status; i++)
        r->data->rows[g->parts[i]->id] = out[i];
    return status;
}

static enum rt_status cut_fold(Ref *r, const SplitGroup *g, const char *section, const Split *s,
                               const struct rt_rows *all) {
    struct rt_rows train, test;
    enum rt_status status =
        rt_fold(&r->data->rt, all, g->in_order, split_place(section, s->group), s->part,
                (int)g->folds, &train, &test);
    if (!status)
        r->data->rows[s->id] = s->fold_test ? test : train;
    return status;
}

static enum rt_status cut_section(Ref *r, const DataSet *set, int section, const char *name,
                                  const struct rt_rows *all) {
    enum rt_status status = RT_OK;
    for (int i = 0; i < set->ngroups && !status; i++) {
        const SplitGroup *g = &set->groups[i];
        if (g->section == section && g->nparts && !g->folds)
            status = cut_parts(r, g, name, i, all);
    }
    for (int i = 0; i < r->p->splits.n && !status; i++) {
        const Split *s = r->p->splits.at[i];
        if (s->set != set || s->section != section)
            continue;
        if (s->group < 0)
            r->data->rows[s->id] = *all;
        else if (set->groups[s->group].folds)
            status = cut_fold(r, &set->groups[s->group], name, s, all);
    }
    return status;
}

static enum rt_status load_section(Ref *r, const DataSet *set, int section) {
    const Section *s = &set->sections[section];
    const struct rt_source **fields = NEW_ARRAY(r->arena, const struct rt_source *, s->nsources);
    int n = 0;
    for (int i = 0; i < s->nsources; i++)
        if (s->sources[i]->used)
            fields[n++] = &r->data->sources[s->sources[i]->id];
    if (!n)
        return RT_OK;
    const char *name = arena_printf(r->arena, "%s.%s", set->name, s->name);
    struct rt_rows *all = NEW(r->arena, struct rt_rows);
    enum rt_status status = rt_section(&r->data->rt, name, fields, n, all);
    if (!status && set->rows)
        status = rt_rows_are(&r->data->rt, all, set->rows, ref_where(r, set->rows_span));
    return status ? status : cut_section(r, set, section, name, all);
}

bool ref_data_load(Ref *r, const DataSet *set) {
    enum rt_status status = RT_OK;
    for (int i = 0; i < set->nsections; i++)
        for (int j = 0; j < set->sections[i].nsources && !status; j++)
            if (set->sections[i].sources[j]->used)
                status = read_source(r, set->sections[i].sources[j]);
    for (int i = 0; i < set->nsections && !status; i++)
        status = load_section(r, set, i);
    rt_files_drop(&r->data->rt);
    return done(r, status);
}

int64_t ref_data_rows(const Ref *r, const Split *s) {
    return r->data->rows[s->id].count;
}

/* ---- batches ---- */

bool ref_data_batches_start(Ref *r, const BatchLoop *loop, int64_t steps) {
    RefData *d = r->data;
    uint32_t place = hash_bytes(HASH_START, loop->split->name, strlen(loop->split->name));
    place = hash_bytes(place, &loop->id, sizeof loop->id);
    return done(r, rt_batches_start(&d->rt, &d->batches[loop->id], &d->rows[loop->split->id],
                                    loop->size, loop->shuffle, !loop->keep_last, steps, place,
                                    d->entries[loop->id]++));
}

bool ref_data_batches_next(Ref *r, const BatchLoop *loop) {
    int32_t *index = NEW_ARRAY(r->arena, int32_t, loop->size);
    int64_t n;
    if (!rt_batches_next(&r->data->batches[loop->id], index, &n))
        return false;
    Tensor *t = r->home[loop->index->id];
    t->shape = shape_of(1, &n);
    for (int64_t i = 0; i < n; i++)
        t->at[i] = index[i];
    if (loop->count)
        r->count[loop->count->id] = n;
    return true;
}

/* ---- files ---- */

/* Loaded numbers become the homes' contents. */
static bool take_loaded(Ref *r, enum rt_status status, const struct rt_tensor *t,
                        Home *const *homes, int n) {
    for (int i = 0; i < n && !status; i++) {
        Tensor *to = r->home[homes[i]->id];
        for (int64_t k = 0; k < shape_elements(&to->shape); k++)
            to->at[k] = from_memory(t[i].type, t[i].data, k);
    }
    return done(r, status);
}

bool ref_data_can_save(Ref *r, const char *path) {
    return done(r, rt_out_check(&r->data->rt, path));
}

bool ref_data_store(Ref *r, const HStmt *s, const char *path) {
    struct rt *rt = &r->data->rt;
    int n = s->nhomes;
    struct rt_tensor *t = NEW_ARRAY(r->arena, struct rt_tensor, n);
    for (int i = 0; i < n; i++)
        t[i] = tensor_of(r, s->homes[i]);
    if (s->kind == HS_SAVE)
        return done(r, rt_save(rt, path, t, n, NULL));
    return take_loaded(r, rt_load(rt, path, t, n, s->prefix), t, s->homes, n);
}

static bool load_weights(Ref *r, const struct rt_pair *from) {
    Home **homes = NEW_ARRAY(r->arena, Home *, r->p->homes.n);
    int n = 0;
    for (int i = 0; i < r->p->homes.n; i++)
        if (is_weight(r->p->homes.at[i]))
            homes[n++] = r->p->homes.at[i];
    struct rt_tensor *t = weights_of(r, &n);
    const char *model = from->name ? arena_strndup(r->arena, from->name, from->name_size) : NULL;
    const char *prefix = model ? arena_printf(r->arena, "%s.", model) : NULL;
    return take_loaded(r, rt_load(&r->data->rt, from->path, t, n, prefix), t, homes, n);
}

bool ref_data_weights(Ref *r, const Task *t) {
    const RefData *d = r->data;
    if (t->needs_weights && !d->cli.n_load && !d->rt.untrained)
        return ref_fail(r, REF_USAGE, "%s needs weights: --load FILE (or --untrained)", t->name);
    for (int i = 0; i < d->cli.n_load; i++)
        if (!load_weights(r, &d->cli.load[i]))
            return false;
    return true;
}

/* ---- text ---- */

void ref_put_text(Ref *r, const char *s) {
    rt_puts(&r->data->text, s);
}

void ref_put_value(Ref *r, HType type, HValue v, bool is_f32, const char *format) {
    struct rt_buf *text = &r->data->text;
    switch (type) {
    case HT_INT:
        rt_print_int(text, v.i, format);
        return;
    case HT_REAL:
        rt_print_real(text, v.f, is_f32, format);
        return;
    case HT_BOOL:
        rt_print_bool(text, v.b, format);
        return;
    case HT_STRING:
        rt_print_text(text, v.s, format);
        return;
    }
}

void ref_put_tensor(Ref *r, const Tensor *t, DType type, const char *format) {
    int64_t dims[MAX_RANK] = {0};
    for (int i = 0; i < t->shape.rank; i++)
        dims[i] = t->shape.dim[i].n;
    rt_print_tensor(&r->data->text, memory_of(r, t, type), memory_type(type), t->shape.rank, dims,
                    format);
}

const char *ref_take_text(Ref *r) {
    struct rt_buf *text = &r->data->text;
    const char *s = arena_strndup(r->arena, text->text ? text->text : "", text->size);
    rt_buf_clear(text);
    return s;
}

void ref_warn(Ref *r) {
    done(r, rt_flush(&r->data->text, 2));
}

void ref_print(Ref *r) {
    done(r, rt_flush(&r->data->text, 1));
}
