/* emit_data.c: what tasks read: tables of fields, and one function a data set that loads and splits
 * it. */
#include "emit_c.h"
#include <string.h>

static const char *where_limit(const CEmit *x, const DataSource *s) {
    return s->limit ? emit_string(x->arena, c_where(x, s->limit_span)) : "NULL";
}

static void emit_fields(CEmit *x) {
    emit_begin(&x->e, "static const struct rt_field nn_fields[NN_SOURCES + 1] =");
    for (int i = 0; i < x->p->sources.n; i++) {
        const DataSource *s = x->p->sources.at[i];
        emit_line(&x->e, "{%s, %s, %d, %s, %s, %lld},", emit_string(x->arena, s->name),
                  c_rt_type(s->dtype), s->row.rank, c_dims(x, &s->row), where_limit(x, s),
                  (long long)s->limit);
    }
    emit_line(&x->e, "{NULL, RT_F32, 0, {0}, NULL, 0},");
    emit_end(&x->e, ";");
    emit_begin(&x->e, "static const char *const nn_data_names[] =");
    for (const char *const *name = program_data_names(x->arena, x->p); *name; name++)
        emit_line(&x->e, "%s,", emit_string(x->arena, *name));
    emit_line(&x->e, "NULL,");
    emit_end(&x->e, ";");
    emit_begin(&x->e, "static const bool nn_source_is_home[NN_SOURCES + 1] =");
    for (int i = 0; i < x->p->sources.n; i++)
        emit_line(&x->e, "%s,", x->p->sources.at[i]->kind == SRC_TENSOR ? "true" : "false");
    emit_line(&x->e, "false,");
    emit_end(&x->e, ";");
    emit_gap(&x->e);
}

/* ---- sources ---- */

/* Neighbouring numbers become one range. */
static int emit_columns(CEmit *x, const DataSource *s) {
    int n = 0;
    emit_begin(&x->e, "static const struct rt_column columns_%d[] =", s->id);
    for (int i = 0; i < s->ncolumns; n++) {
        if (s->columns[i] < 0) {
            emit_line(&x->e, "{%s, 0, 1},", emit_string(x->arena, s->column_names[i++]));
            continue;
        }
        int first = i++;
        while (i < s->ncolumns && s->columns[i] == s->columns[i - 1] + 1)
            i++;
        emit_line(&x->e, "{NULL, %lld, %d},", (long long)s->columns[first], i - first);
    }
    emit_end(&x->e, ";");
    return n;
}

static void emit_csv(CEmit *x, const DataSource *s) {
    static const char *const header[] = {"RT_HEADER_AUTO", "RT_HEADER_NO", "RT_HEADER_YES"};
    int columns = emit_columns(x, s);
    if (s->nclasses) {
        emit_begin(&x->e, "static const char *const classes_%d[] =", s->id);
        for (int i = 0; i < s->nclasses; i++)
            emit_line(&x->e, "%s,", emit_string(x->arena, s->classes[i]));
        emit_end(&x->e, ";");
    }
    char separator[] = {s->separator ? s->separator : ',', 0};
    const char *quoted = separator[0] == '\'' ? "\\'" : emit_string(x->arena, separator) + 1;
    int width = (int)strlen(quoted) - (separator[0] == '\'' ? 0 : 1);
    emit_begin(&x->e, "static const struct rt_csv csv_%d =", s->id);
    emit_line(&x->e, "%s, %s, columns_%d, %d, %s, %lld,", emit_string(x->arena, s->set->name),
              emit_string(x->arena, s->path), s->id, columns, header[s->header + 1],
              (long long)s->skip);
    emit_line(&x->e, "'%.*s', %s, %s, %s, %d,", width, quoted, s->has_missing ? "true" : "false",
              emit_double(x->arena, s->missing),
              s->nclasses ? arena_printf(x->arena, "classes_%d", s->id) : "NULL", s->nclasses);
    emit_end(&x->e, ";");
    emit_line(&x->e, "NN_TRY(rt_csv_read(&nn->rt, &nn_fields[%d], &csv_%d, &nn->sources[%d]));",
              s->id, s->id, s->id);
}

static void emit_file(CEmit *x, const DataSource *s, const char *function) {
    emit_line(&x->e, "NN_TRY(%s(&nn->rt, &nn_fields[%d], %s, %s, &nn->sources[%d]));", function,
              s->id, emit_string(x->arena, s->set->name), emit_string(x->arena, s->path), s->id);
}

static void emit_raw(CEmit *x, const DataSource *s) {
    Text shape = {.arena = x->arena};
    text_add(&shape, "{-1");
    for (int i = 0; i < s->row.rank; i++)
        text_printf(&shape, ", %lld", (long long)s->row.dim[i].n);
    emit_line(&x->e, "static const int64_t shape_%d[] = %s};", s->id, shape.at);
    emit_line(&x->e, "NN_TRY(rt_raw_read(&nn->rt, &nn_fields[%d], %s, %s, %s, %d, shape_%d,", s->id,
              emit_string(x->arena, s->set->name), emit_string(x->arena, s->path),
              c_rt_type(s->dtype), s->row.rank + 1, s->id);
    emit_line(&x->e, "                   &nn->sources[%d]));", s->id);
}

/* The rows are those of a home that the start block has computed. */
static void emit_tensor(CEmit *x, const DataSource *s) {
    const char *at = arena_printf(x->arena, "nn->sources[%d]", s->id);
    emit_line(&x->e, "%s.field = &nn_fields[%d];", at, s->id);
    emit_line(&x->e, "snprintf(%s.file, sizeof %s.file, \"%%s\", NN_PROGRAM);", at, at);
    emit_line(&x->e, "%s.type = %s;", at, c_rt_type(s->dtype));
    emit_line(&x->e, "%s.rows = %lld;", at, (long long)s->rows);
    emit_line(&x->e, "%s.row_elements = %lld;", at, (long long)s->row_elements);
    emit_line(&x->e, "%s.data = %s;", at, c_at(x, "at", c_home_buffer(x, s->tensor)));
}

static void emit_source(CEmit *x, const DataSource *s) {
    switch (s->kind) {
    case SRC_CSV:
        emit_csv(x, s);
        return;
    case SRC_IDX:
        emit_file(x, s, "rt_idx_read");
        return;
    case SRC_NPY:
        emit_file(x, s, "rt_npy_read");
        return;
    case SRC_RAW:
        emit_raw(x, s);
        return;
    case SRC_TENSOR:
        emit_tensor(x, s);
        return;
    }
    bug("emit: data source of kind %d", (int)s->kind);
}

/* ---- splits ---- */

static uint32_t place_of(const char *section, int group) {
    uint32_t h = hash_bytes(HASH_START, section, strlen(section));
    return hash_bytes(h, &group, sizeof group);
}

/* The parts of a split are cut one behind the other. */
static void emit_parts(CEmit *x, const SplitGroup *g, const char *section, int group) {
    emit_begin(&x->e, "static const struct rt_part parts_%d[] =", group);
    for (int i = 0; i < g->nparts; i++)
        emit_line(&x->e, "{%s, %lld, %lld},", emit_string(x->arena, g->parts[i]->name),
                  (long long)g->parts[i]->amount, (long long)g->parts[i]->of);
    emit_end(&x->e, ";");
    emit_line(&x->e, "struct rt_rows split_%d[%d];", group, g->nparts);
    emit_line(&x->e, "NN_TRY(rt_split(&nn->rt, &all, %s, 0x%08xu, parts_%d, %d, split_%d));",
              g->in_order ? "true" : "false", place_of(section, group), group, g->nparts, group);
    for (int i = 0; i < g->nparts; i++)
        emit_line(&x->e, "nn->rows[%s] = split_%d[%d];", c_split_name(x, g->parts[i]), group, i);
}

static void emit_fold(CEmit *x, const SplitGroup *g, const char *section, const Split *s) {
    emit_begin(&x->e, "%s", "");
    emit_line(&x->e, "struct rt_rows train, test;");
    emit_line(&x->e, "NN_TRY(rt_fold(&nn->rt, &all, %s, 0x%08xu, %d, %lld, &train, &test));",
              g->in_order ? "true" : "false", place_of(section, s->group), s->part,
              (long long)g->folds);
    emit_line(&x->e, "nn->rows[%s] = %s;", c_split_name(x, s), s->fold_test ? "test" : "train");
    emit_end(&x->e, "");
}

static void emit_splits(CEmit *x, const DataSet *d, int section, const char *name) {
    for (int i = 0; i < d->ngroups; i++)
        if (d->groups[i].section == section && d->groups[i].nparts)
            emit_parts(x, &d->groups[i], name, i);
    for (int i = 0; i < x->p->splits.n; i++) {
        const Split *s = x->p->splits.at[i];
        if (s->set != d || s->section != section)
            continue;
        if (s->group < 0)
            emit_line(&x->e, "nn->rows[%s] = all;", c_split_name(x, s));
        else if (d->groups[s->group].folds)
            emit_fold(x, &d->groups[s->group], name, s);
    }
}

static void emit_section(CEmit *x, const DataSet *d, int section) {
    const Section *s = &d->sections[section];
    Text fields = {.arena = x->arena};
    int n = 0;
    for (int i = 0; i < s->nsources; i++)
        if (s->sources[i]->used)
            text_printf(&fields, "%s&nn->sources[%d]", n++ ? ", " : "", s->sources[i]->id);
    if (!n)
        return;
    const char *name = arena_printf(x->arena, "%s.%s", d->name, s->name);
    emit_begin(&x->e, "%s", "");
    emit_line(&x->e, "const struct rt_source *const fields[] = {%s};", fields.at);
    emit_line(&x->e, "struct rt_rows all;");
    emit_line(&x->e, "NN_TRY(rt_section(&nn->rt, %s, fields, %d, &all));",
              emit_string(x->arena, name), n);
    if (d->rows)
        emit_line(&x->e, "NN_TRY(rt_rows_are(&nn->rt, &all, %lld, %s));", (long long)d->rows,
                  emit_string(x->arena, c_where(x, d->rows_span)));
    emit_splits(x, d, section, name);
    emit_end(&x->e, "");
}

static void emit_set(CEmit *x, const DataSet *d) {
    emit_begin(&x->e, "RT_FN enum rt_status load_%s(struct nn *nn)", d->name);
    for (int i = 0; i < d->nsections; i++)
        for (int j = 0; j < d->sections[i].nsources; j++)
            if (d->sections[i].sources[j]->used)
                emit_source(x, d->sections[i].sources[j]);
    for (int i = 0; i < d->nsections; i++)
        emit_section(x, d, i);
    emit_line(&x->e, "return RT_OK;");
    emit_end(&x->e, "");
    emit_gap(&x->e);
    if (d->prologue && d->prologue->stmts.n)
        c_emit_block_function(x, arena_printf(x->arena, "prepare_%s", d->name), d->prologue);
}

void c_emit_data(CEmit *x) {
    emit_fields(x);
    for (int i = 0; i < x->p->sets.n; i++)
        if (x->p->sets.at[i]->used)
            emit_set(x, x->p->sets.at[i]);
}
