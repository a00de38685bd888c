/* build_data.c: data declarations, their sources, splits and batches.
 *
 * A field's expression has two parts: the source call, which becomes a DataSource that the trainer reads and keeps in
 * its stored type, and the rest, which is a graph over a batch of rows. An expression without a source is a tensor
 * computed at start.
 */
#include "build.h"
#include <math.h>

/* One field of one section, seen through the batches of one loop. */
typedef struct FieldUse {
    DataSet *set;
    int section, field;
    Home *index;
    Dim batch;
    Node *made; /* its value in the region it was made in */
    Region *region;
} FieldUse;

/* What build knows of a data set beyond Program's view. */
typedef struct DataInfo {
    DataSet *set;
    Ast *decl;
    Env *env;
    VEC(Split *) splits;
    VEC(DataSource *) sources;
    VEC(const Ast *) calls; /* the call that each source was made from */
    Home **mean, **scale;   /* by field: standardize; NULL: not */
} DataInfo;

static DataInfo *info_of(Build *b, const DataSet *set)
{
    for (int i = 0; i < b->datas.n; i++)
        if (b->datas.at[i]->set == set)
            return b->datas.at[i];
    bug("data set '%s' is not registered", set->name);
}

void data_use(Build *b, DataSet *set)
{
    set->used = true;
    if (!b->task)
        return;
    for (int i = 0; i < b->task->sets.n; i++)
        if (b->task->sets.at[i] == set)
            return;
    vec_push(b->arena, &b->task->sets, set);
}

/* ---- sources ---- */

static const struct {
    const char *name;
    SourceKind kind;
    bool supported;
} source_kinds[] = {
    {"csv", SRC_CSV, true},          {"idx", SRC_IDX, true},      {"npy", SRC_NPY, true},       {"raw", SRC_RAW, true},
    {"npz", SRC_NPY, false},         {"text", SRC_RAW, false},    {"lines", SRC_RAW, false},    {"chars", SRC_RAW, false},
    {"bpe", SRC_RAW, false},         {"tokens", SRC_RAW, false},  {"images", SRC_RAW, false},   {"safetensors", SRC_RAW, false},
    {"windows", SRC_RAW, false},
};

static int source_index(const char *name)
{
    for (int i = 0; i < COUNT_OF(source_kinds); i++)
        if (strcmp(source_kinds[i].name, name) == 0)
            return i;
    return -1;
}

bool data_is_source(const Ast *call)
{
    return call->kind == AST_CALL && call->call.callee->kind == AST_NAME && source_index(call->call.callee->name) >= 0;
}

static bool has_source(Ast *e)
{
    if (!e)
        return false;
    if (data_is_source(e))
        return true;
    Ast **kids;
    int nk = ast_kids(e, &kids);
    for (int i = 0; i < nk; i++)
        if (has_source(kids[i]))
            return true;
    AstList *lists;
    int nl = ast_lists(e, &lists);
    for (int i = 0; i < nl; i++)
        for (int k = 0; k < lists[i].n; k++)
            if (has_source(lists[i].at[k]))
                return true;
    return false;
}

static void add_column(Build *b, DataSource *s, int64_t index, const char *name)
{
    int n = s->ncolumns++;
    int64_t *columns = NEW_ARRAY(b->arena, int64_t, n + 1);
    const char **names = NEW_ARRAY(b->arena, const char *, n + 1);
    if (n) {
        memcpy(columns, s->columns, sizeof *columns * (size_t)n);
        memcpy(names, s->column_names, sizeof *names * (size_t)n);
    }
    columns[n] = index;
    names[n] = name;
    s->columns = columns;
    s->column_names = names;
}

static bool column_range(Build *b, DataSource *s, Env *env, Ast *lo, Ast *hi, bool inclusive, Span at)
{
    int64_t from = 0, to = 0;
    if (lo && !value_to_int(b, build_expr(b, env, lo), "the first column", lo->span, &from))
        return false;
    if (!hi || !value_to_int(b, build_expr(b, env, hi), "the last column", hi->span, &to)) {
        if (!hi)
            build_error(b, at, "a range of columns needs both ends, as columns=0:64");
        return false;
    }
    to += inclusive;
    if (from < 0 || to <= from || to - from > 1 << 20) {
        build_error(b, at, "columns %lld up to %lld: expected 0 <= first < last", (long long)from, (long long)to);
        return false;
    }
    for (int64_t i = from; i < to; i++)
        add_column(b, s, i, NULL);
    return true;
}

/* columns = 3, 0:64, 0..64, "name", or a list of these; *single: one column without brackets */
static bool csv_columns(Build *b, DataSource *s, Env *env, Ast *e, bool *single)
{
    *single = false;
    if (e->kind == AST_SLICE)
        return column_range(b, s, env, e->slice.lo, e->slice.hi, false, e->span);
    if (e->kind == AST_RANGE)
        return column_range(b, s, env, e->range.lo, e->range.hi, e->range.inclusive, e->span);
    if (e->kind == AST_LIST || e->kind == AST_TUPLE) {
        bool one;
        for (int i = 0; i < e->list.items.n; i++)
            if (!csv_columns(b, s, env, e->list.items.at[i], &one))
                return false;
        return true;
    }
    Value v = build_expr(b, env, e);
    if (v.kind == V_LIST) {
        for (int i = 0; i < v.list->n; i++)
            add_column(b, s, v.list->at[i].kind == V_NUMBER ? v.list->at[i].num.i : -1, v.list->at[i].kind == V_STRING ? v.list->at[i].string : NULL);
        return true;
    }
    *single = true;
    if (v.kind == V_STRING) {
        add_column(b, s, -1, v.string);
        return true;
    }
    int64_t i;
    if (v.kind == V_POISON || !value_to_int(b, v, "a column", e->span, &i))
        return false;
    add_column(b, s, i, NULL);
    return true;
}

static bool csv_classes(Build *b, DataSource *s, Value v, Span at)
{
    if (v.kind != V_LIST || !v.list->n) {
        build_error(b, at, "classes is a list of names, found %s", value_text(b, v));
        return false;
    }
    s->nclasses = v.list->n;
    s->classes = NEW_ARRAY(b->arena, const char *, v.list->n);
    for (int i = 0; i < v.list->n; i++) {
        if (v.list->at[i].kind != V_STRING) {
            build_error(b, at, "classes is a list of names, found %s in it", value_text(b, v.list->at[i]));
            return false;
        }
        s->classes[i] = v.list->at[i].string;
    }
    return true;
}

static bool csv_option(Build *b, DataSource *s, const char *name, Value v, Span at)
{
    if (strcmp(name, "header") == 0) {
        bool header;
        if (!value_to_bool(b, v, "header", at, &header))
            return false;
        s->header = header;
    } else if (strcmp(name, "skip") == 0) {
        return value_to_int(b, v, "skip", at, &s->skip);
    } else if (strcmp(name, "separator") == 0) {
        if (v.kind != V_STRING || strlen(v.string) != 1) {
            build_error(b, at, "separator is one character, found %s", value_text(b, v));
            return false;
        }
        s->separator = v.string[0];
    } else if (strcmp(name, "missing") == 0) {
        if (v.kind != V_NUMBER) {
            build_error(b, at, "missing is the number that stands for an empty cell, found %s", value_text(b, v));
            return false;
        }
        s->has_missing = true;
        s->missing = v.num.f;
    } else if (strcmp(name, "classes") == 0) {
        return csv_classes(b, s, v, at);
    } else {
        build_error(b, at, "csv has no parameter '%s' (its parameters: path, columns, header, skip, separator, missing, classes)", name);
        return false;
    }
    return true;
}

static bool csv_args(Build *b, DataSource *s, Env *env, Ast *call)
{
    bool single = false, any = false;
    s->header = -1;
    s->separator = ',';
    for (int i = 1; i < call->call.args.n; i++) {
        Ast *a = call->call.args.at[i];
        const char *name = a->name ? a->name : i == 1 ? "columns" : "";
        if (strcmp(name, "columns") == 0) {
            any = true;
            if (!csv_columns(b, s, env, a->arg.value, &single))
                return false;
            continue;
        }
        Value v = build_expr(b, env, a->arg.value);
        if (v.kind == V_POISON || !csv_option(b, s, name, v, a->span))
            return false;
    }
    if (!any) {
        build_error(b, call->span, "csv needs columns=…: an index, a range, a name or a list of them");
        return false;
    }
    s->row = shape_scalar();
    if (!single) {
        int64_t n = s->ncolumns;
        s->row = shape_of(1, &n);
    }
    return true;
}

/* What a row of a file other than csv holds is what the field declares. */
static bool file_args(Build *b, DataSource *s, Env *env, Ast *call, const Shape *row)
{
    s->row = *row;
    for (int i = 1; i < call->call.args.n; i++) {
        Ast *a = call->call.args.at[i];
        const char *name = a->name ? a->name : i == 1 ? "type" : "shape";
        Value v = build_expr(b, env, a->arg.value);
        if (v.kind == V_POISON)
            return false;
        if (s->kind == SRC_RAW && strcmp(name, "type") == 0 && v.kind == V_TYPE) {
            s->dtype = v.type;
        } else if (s->kind == SRC_RAW && strcmp(name, "shape") == 0) {
            if (!value_to_shape(b, v, a->span, &s->row))
                return false;
        } else {
            build_error(b, a->span, "'%s' is no argument of this source, or of the wrong kind (%s)", name, value_text(b, v));
            return false;
        }
    }
    return true;
}

static DType stored_type(const DataSource *s, DType field)
{
    switch (s->kind) {
    case SRC_IDX:
        return DT_U8;
    case SRC_CSV:
        if (s->nclasses)
            return DT_I32;
        return field == DT_I64 ? DT_I64 : dtype_is_real(field) ? field : DT_I32;
    default:
        return dtype_is_real(field) ? field : field == DT_U8 || field == DT_I64 ? field : DT_I32;
    }
}

static const Ast *field_decl(Build *b, const FieldUse *f)
{
    return info_of(b, f->set)->decl->data.fields.at[f->field];
}

static Shape field_row(Build *b, const FieldUse *f)
{
    Shape row;
    DataInfo *info = info_of(b, f->set);
    build_dims(b, info->env, field_decl(b, f)->formal.type, &row);
    return row;
}

static DType field_type(Build *b, const FieldUse *f)
{
    const Ast *type = field_decl(b, f)->formal.type;
    return type_element(b, type ? type->name : NULL);
}

static DataSource *source_new(Build *b, DataInfo *info, Env *env, Ast *call)
{
    FieldUse *f = b->field;
    int k = source_index(call->call.callee->name);
    Ast *first = call->call.args.n ? call->call.args.at[0] : NULL;
    if (!source_kinds[k].supported) {
        build_error(b, call->span, "not supported yet: the source %s", source_kinds[k].name);
        return NULL;
    }
    Value path = first && !first->name ? build_expr(b, env, first->arg.value) : value_none;
    if (path.kind != V_STRING) {
        if (path.kind != V_POISON)
            build_error(b, call->span, "%s needs a path as its first argument", source_kinds[k].name);
        return NULL;
    }
    DataSource *s = NEW(b->arena, DataSource);
    s->kind = source_kinds[k].kind;
    s->name = arena_printf(b->arena, "%s.%s", f->set->name, f->set->fields[f->field]);
    s->path = path.string;
    s->set = f->set;
    s->section = f->section;
    s->field = f->field;
    s->span = call->span;
    s->dtype = DT_N;
    Shape row = field_row(b, f);
    bool ok = s->kind == SRC_CSV ? csv_args(b, s, env, call) : file_args(b, s, env, call, &row);
    if (!ok)
        return NULL;
    if (s->dtype == DT_N)
        s->dtype = stored_type(s, field_type(b, f));
    s->row_elements = shape_elements(&s->row);
    s->id = b->p->sources.n;
    size_t n = strlen(s->path);
    b->p->uses_gz |= n > 3 && strcmp(s->path + n - 3, ".gz") == 0;
    vec_push(b->arena, &b->p->sources, s);
    vec_push(b->arena, &info->sources, s);
    vec_push(b->arena, &info->calls, call);
    return s;
}

static DataSource *source_of(const DataInfo *info, const Ast *call, const FieldUse *f)
{
    for (int i = 0; i < info->calls.n; i++) {
        DataSource *s = info->sources.at[i];
        if (info->calls.at[i] == call && s->section == f->section && s->field == f->field)
            return s;
    }
    return NULL;
}

Value data_source(Build *b, Env *env, Ast *call)
{
    FieldUse *f = b->field;
    if (!f) {
        build_error(b, call->span, "%s(…) belongs into a data declaration", call->call.callee->name);
        return value_poison;
    }
    DataInfo *info = info_of(b, f->set);
    DataSource *s = source_of(info, call, f);
    if (!s)
        s = source_new(b, info, env, call);
    if (!s)
        return value_poison;
    s->used = s->used || !b->dry;
    Node *n = graph_batch(b->g, s, home_value(b, f->index), &s->row);
    return value_node(n);
}

/* ---- fields ---- */

static Ast *field_expr(DataInfo *info, int section, const char *field)
{
    for (int i = 0, k = 0; i < info->decl->data.items.n; i++) {
        Ast *item = info->decl->data.items.at[i];
        if (item->kind != AST_SECTION || k++ != section)
            continue;
        for (int j = 0; j < item->section.assigns.n; j++) {
            Ast *a = item->section.assigns.at[j];
            if (a->assign.target->kind == AST_NAME && a->assign.target->name == field)
                return a->assign.value;
        }
    }
    return NULL;
}

typedef struct TensorField {
    DataInfo *info;
    FieldUse *use;
    Ast *expr;
    DataSource *source;
} TensorField;

static void run_tensor_field(Build *b, void *arg)
{
    TensorField *t = (TensorField *)arg;
    Value v = build_expr(b, t->info->env, t->expr);
    Node *n = v.kind == V_POISON ? NULL : value_to_node(b, v, field_type(b, t->use), t->expr->span);
    if (!n)
        return;
    if (!n->shape.rank || shape_count(&n->shape)) {
        build_error(b, t->expr->span, "a field is a tensor with one row for each sample, found %s", value_text(b, v));
        return;
    }
    Home *h = home_new(b, HOME_CONST, t->use->set->fields[t->use->field], n->dtype, &n->shape, t->expr->span);
    h->path = t->source->name;
    home_write(b, h, graph_unary(b->g, OP_stop, n));
    t->source->tensor = h;
    t->source->rows = n->shape.dim[0].n;
    t->source->row = shape_without(&n->shape, 1);
    t->source->row_elements = shape_elements(&t->source->row);
    t->source->dtype = n->dtype;
}

/* A field that is computed, not read. */
static Value tensor_field(Build *b, DataInfo *info, FieldUse *f, Ast *e)
{
    DataSource *s = source_of(info, e, f);
    if (!s) {
        s = NEW(b->arena, DataSource);
        s->kind = SRC_TENSOR;
        s->name = arena_printf(b->arena, "%s.%s", f->set->name, f->set->fields[f->field]);
        s->set = f->set;
        s->section = f->section;
        s->field = f->field;
        s->span = e->span;
        s->id = b->p->sources.n;
        s->used = true;
        TensorField t = {info, f, e, s};
        build_at_start(b, run_tensor_field, &t);
        if (!s->tensor)
            return value_poison;
        vec_push(b->arena, &b->p->sources, s);
        vec_push(b->arena, &info->sources, s);
        vec_push(b->arena, &info->calls, e);
    }
    return value_node(graph_gather(b->g, home_value(b, s->tensor), home_value(b, f->index)));
}

/* [B, what the expression gives] as [B, declared]; the same numbers in the same order. */
static Node *field_shape(Build *b, FieldUse *f, Node *n, Span at)
{
    Shape row = field_row(b, f), want = {row.rank + 1, {f->batch}};
    for (int i = 0; i < row.rank; i++)
        want.dim[i + 1] = row.dim[i];
    const char *name = f->set->fields[f->field];
    if (!n->shape.rank || !dim_equal(n->shape.dim[0], f->batch) || shape_elements(&n->shape) != shape_elements(&want)) {
        Shape have = n->shape.rank ? shape_without(&n->shape, 1) : n->shape;
        build_error(b, at, "'%s' is declared %s, its expression gives %s for a row", name, shape_text(b->arena, &row), shape_text(b->arena, &have));
        return NULL;
    }
    n = graph_reshape(b->g, n, &want);
    DType t = field_type(b, f);
    if (n->dtype != t && dtype_is_real(n->dtype) && !dtype_is_real(t)) {
        build_error(b, at, "'%s' is declared %s, its expression gives %s", name, dtype_name(t), dtype_name(n->dtype));
        return NULL;
    }
    return graph_cast(b->g, n, t);
}

static Node *standardized(Build *b, DataInfo *info, FieldUse *f, Node *n)
{
    if (!info->mean[f->field])
        return n;
    Node *mean = graph_broadcast_to(b->g, home_value(b, info->mean[f->field]), &n->shape);
    Node *scale = graph_broadcast_to(b->g, home_value(b, info->scale[f->field]), &n->shape);
    return graph_binary(b->g, OP_mul, graph_binary(b->g, OP_sub, n, mean), scale);
}

/* The field before it is standardized. */
static Node *field_raw(Build *b, DataInfo *info, FieldUse *f)
{
    Ast *e = field_expr(info, f->section, f->set->fields[f->field]);
    if (!e)
        return NULL;
    FieldUse *outer = b->field;
    Frame *frame = b->frame;
    b->field = f;
    b->frame = NULL;
    Value v = has_source(e) ? build_expr(b, info->env, e) : tensor_field(b, info, f, e);
    b->field = outer;
    b->frame = frame;
    Node *n = v.kind == V_POISON ? NULL : value_to_node(b, v, field_type(b, f), e->span);
    return n ? field_shape(b, f, n, e->span) : NULL;
}

Value field_value(Build *b, FieldUse *f, Span at)
{
    (void)at;
    if (f->made && f->region == b->region)
        return value_node(f->made);
    DataInfo *info = info_of(b, f->set);
    Node *n = field_raw(b, info, f);
    if (!n)
        return value_poison;
    n = standardized(b, info, f, n);
    if (!n->name)
        n->name = f->set->fields[f->field];
    f->made = n;
    f->region = b->region;
    return value_node(n);
}

/* ---- declaration ---- */

static bool decimal(double x, int64_t *num, int64_t *den)
{
    for (int64_t d = 1; d <= 1000000; d *= 10) {
        double r = nearbyint(x * (double)d);
        if (fabs(r - x * (double)d) < 1e-9 * (double)d) {
            *num = (int64_t)r;
            *den = d;
            return true;
        }
    }
    return false;
}

static Split *split_new(Build *b, DataInfo *info, const char *name, int section, int group, Span at)
{
    Split *s = NEW(b->arena, Split);
    s->id = b->p->splits.n;
    s->name = arena_printf(b->arena, "%s.%s", info->set->name, name);
    s->set = info->set;
    s->section = section;
    s->group = group;
    s->span = at;
    vec_push(b->arena, &b->p->splits, s);
    vec_push(b->arena, &info->splits, s);
    return s;
}

static int section_index(const DataSet *set, const char *name)
{
    for (int i = 0; i < set->nsections; i++)
        if (set->sections[i].name == name)
            return i;
    return -1;
}

static bool part_amount(Build *b, const DataInfo *info, Ast *part, Split *s, double *sum)
{
    Value v = build_expr(b, info->env, part->part.value);
    if (v.kind != V_NUMBER) {
        if (v.kind != V_POISON)
            build_error(b, part->span, "a part is a fraction or a number of rows, found %s", value_text(b, v));
        return false;
    }
    s->amount = v.num.i;
    s->of = 0;
    if (v.num.is_int)
        return true;
    *sum += v.num.f;
    if (v.num.f < 0 || *sum > 1 + 1e-9 || !decimal(v.num.f, &s->amount, &s->of)) {
        build_error(b, part->span, "parts are fractions with at most 6 decimals that sum to at most 1, found %g", v.num.f);
        return false;
    }
    return true;
}

static void declare_split(Build *b, DataInfo *info, Ast *item)
{
    DataSet *set = info->set;
    int section = section_index(set, item->name);
    if (section < 0) {
        build_error(b, item->name_span, "'%s' has no section '%s' to split", set->name, item->name);
        return;
    }
    SplitGroup *g = &set->groups[set->ngroups];
    *g = (SplitGroup){.section = section, .in_order = item->split.in_order};
    g->parts = NEW_ARRAY(b->arena, Split *, item->split.parts.n + 1);
    double sum = 0;
    int rows = 0;
    for (int i = 0; i < item->split.parts.n; i++) {
        Ast *part = item->split.parts.at[i];
        if (strcmp(part->name, "folds") == 0) {
            value_to_int(b, build_expr(b, info->env, part->part.value), "the number of folds", part->span, &g->folds);
            continue;
        }
        if (data_split(b, set, part->name)) {
            build_error(b, part->name_span, "'%s.%s' is declared twice", set->name, part->name);
            continue;
        }
        Split *s = split_new(b, info, part->name, section, set->ngroups, part->span);
        s->part = g->nparts;
        if (!part_amount(b, info, part, s, &sum))
            continue;
        rows += s->of == 0;
        g->parts[g->nparts++] = s;
    }
    if (rows && rows != g->nparts)
        build_error(b, item->span, "a split is in fractions (0.8) or in rows (1000), not both");
    set->ngroups++;
}

static void declare_sections(Build *b, DataInfo *info)
{
    DataSet *set = info->set;
    const AstList *items = &info->decl->data.items;
    set->sections = NEW_ARRAY(b->arena, Section, items->n + 1);
    set->groups = NEW_ARRAY(b->arena, SplitGroup, items->n + 1);
    for (int i = 0; i < items->n; i++) {
        Ast *item = items->at[i];
        if (item->kind != AST_SECTION)
            continue;
        set->sections[set->nsections].name = item->name;
        split_new(b, info, item->name, set->nsections++, -1, item->span);
        for (int k = 0; k < item->section.assigns.n; k++) {
            const Ast *a = item->section.assigns.at[k];
            bool known = false;
            for (int f = 0; f < set->nfields; f++)
                known |= a->assign.target->kind == AST_NAME && a->assign.target->name == set->fields[f];
            if (!known)
                build_error(b, a->assign.target->span, "'%s' has no field of this name in its header", set->name);
        }
        for (int f = 0; f < set->nfields; f++)
            if (!field_expr(info, set->nsections - 1, set->fields[f]))
                build_error(b, item->span, "section '%s' says nothing about the field '%s'", item->name, set->fields[f]);
    }
    if (!set->nsections)
        build_error(b, info->decl->span, "'%s' has no section: expected all { field = csv(…) … }", set->name);
}

/* ---- standardize: mean and deviation of a split, two passes in f64, when the set is read ---- */

typedef struct Stat {
    DataInfo *info;
    int field;
    Split *split;
    Home *total, *rows;
    Span span;
} Stat;

/* One pass over the split: total += the sum over the batch of x, or of (x - mean)^2. */
static void stat_pass(Build *b, Stat *s, Home *mean)
{
    enum { ROWS = 256 };
    Shape scalar = shape_scalar();
    home_write(b, s->total, graph_constant(b->g, DT_F64, &s->total->shape, 0));
    home_write(b, s->rows, graph_constant(b->g, DT_F64, &scalar, 0));
    LoopInfo loop = {0};
    loop_begin(b, &loop, HS_BATCHES, s->span);
    BatchesValue one = {.n = 1};
    Split *split = s->split;
    int64_t size = ROWS;
    bool no = false, yes = true;
    HExpr *steps = NULL;
    one.splits = &split;
    one.sizes = &size;
    one.shuffle = &no;
    one.keep_last = &yes;
    one.steps = &steps;
    FieldUse *use = data_loops(b, &one, loop.stmt, s->field, s->span);
    Node *x = field_raw(b, s->info, use);
    if (x) {
        x = graph_cast(b->g, x, DT_F64);
        if (mean) {
            x = graph_binary(b->g, OP_sub, x, graph_broadcast_to(b->g, graph_cast(b->g, home_value(b, mean), DT_F64), &x->shape));
            x = graph_binary(b->g, OP_mul, x, x);
        }
        home_write(b, s->total, graph_binary(b->g, OP_add, home_value(b, s->total), graph_reduce(b->g, OP_sum, x, 1)));
        Node *n = graph_cast(b->g, graph_count(b->g, use->batch.count), DT_F64);
        home_write(b, s->rows, graph_binary(b->g, OP_add, home_value(b, s->rows), n));
    }
    loop_end(b, &loop);
}

static Node *stat_mean(Build *b, const Stat *s)
{
    Node *t = home_value(b, s->total);
    return graph_binary(b->g, OP_div, t, graph_broadcast_to(b->g, home_value(b, s->rows), &t->shape));
}

static void standardize_field(Build *b, DataInfo *info, int field, Split *split, Span at)
{
    FieldUse use = {.set = info->set, .section = split->section, .field = field};
    Shape row = field_row(b, &use), scalar = shape_scalar();
    const char *name = info->set->fields[field];
    if (!dtype_is_real(field_type(b, &use))) {
        build_error(b, at, "'%s' is not real: only real fields are standardized", name);
        return;
    }
    Stat s = {info, field, split, NULL, NULL, at};
    s.total = home_new(b, HOME_VAR, arena_printf(b->arena, "%s_total", name), DT_F64, &row, at);
    s.rows = home_new(b, HOME_VAR, arena_printf(b->arena, "%s_rows", name), DT_F64, &scalar, at);
    Home *mean = home_new(b, HOME_CONST, arena_printf(b->arena, "%s_mean", name), b->g->real, &row, at);
    Home *scale = home_new(b, HOME_CONST, arena_printf(b->arena, "%s_scale", name), b->g->real, &row, at);
    mean->path = arena_printf(b->arena, "%s.%s.mean", info->set->name, name);
    scale->path = arena_printf(b->arena, "%s.%s.scale", info->set->name, name);
    Place old = place_enter(b, info->set->prologue);
    b->region->name = arena_printf(b->arena, "standardize_%s", name);
    stat_pass(b, &s, NULL);
    home_write(b, mean, graph_cast(b->g, stat_mean(b, &s), b->g->real));
    region_close(b);
    stat_pass(b, &s, mean);
    Node *variance = stat_mean(b, &s);
    Node *zero = graph_constant(b->g, DT_F64, &variance->shape, 0), *one = graph_constant(b->g, DT_F64, &variance->shape, 1);
    Node *flat = graph_binary(b->g, OP_le, variance, zero); /* a column without spread is only centred */
    Node *d = graph_where(b->g, flat, one, graph_unary(b->g, OP_sqrt, variance));
    home_write(b, scale, graph_cast(b->g, graph_binary(b->g, OP_div, one, d), b->g->real));
    place_leave(b, &old);
    info->mean[field] = mean;
    info->scale[field] = scale;
}

static void declare_standardize(Build *b, DataInfo *info, Ast *item)
{
    Split *split = data_split(b, info->set, item->name);
    if (!split) {
        build_error(b, item->name_span, "'%s' has no split '%s'", info->set->name, item->name);
        return;
    }
    split->used = true;
    for (int i = 0; i < item->standardize.fields.n; i++) {
        Ast *f = item->standardize.fields.at[i];
        int field = -1;
        for (int k = 0; k < info->set->nfields; k++)
            if (info->set->fields[k] == f->name)
                field = k;
        if (field < 0)
            build_error(b, f->span, "'%s' has no field '%s'", info->set->name, f->name);
        else
            standardize_field(b, info, field, split, item->span);
    }
}

/* Every field is looked at once, so that faults show where they stand and all sources are known. */
static void dry_run(Build *b, DataInfo *info)
{
    HBlock nowhere = {0};
    Place old = place_enter(b, &nowhere);
    int64_t two = 2;
    Shape s = shape_of(1, &two);
    Home *index = home_new(b, HOME_INDEX, "rows", DT_I32, &s, info->decl->span);
    b->dry = true;
    for (int k = 0; k < info->set->nsections; k++)
        for (int f = 0; f < info->set->nfields; f++) {
            FieldUse use = {.set = info->set, .section = k, .field = f, .index = index, .batch = {2, NULL}};
            field_raw(b, info, &use);
        }
    b->dry = false;
    b->region_start = b->g->nodes.n; /* forget the region */
    b->region->writes.n = 0;
    place_leave(b, &old);
}

static void section_sources(Build *b, DataInfo *info)
{
    for (int k = 0; k < info->set->nsections; k++) {
        Section *s = &info->set->sections[k];
        s->sources = NEW_ARRAY(b->arena, DataSource *, info->sources.n + 1);
        for (int i = 0; i < info->sources.n; i++)
            if (info->sources.at[i]->section == k)
                s->sources[s->nsources++] = info->sources.at[i];
    }
}

void build_data(Build *b, Env *env, Ast *decl, DataSet **out)
{
    DataSet *set = NEW(b->arena, DataSet);
    DataInfo *info = NEW(b->arena, DataInfo);
    int errors = diag_errors(b->diag);
    info->set = set;
    info->decl = decl;
    info->env = env;
    set->id = b->p->sets.n;
    set->name = decl->name;
    set->span = decl->span;
    set->prologue = NEW(b->arena, HBlock);
    set->nfields = decl->data.fields.n;
    set->fields = NEW_ARRAY(b->arena, const char *, set->nfields + 1);
    info->mean = NEW_ARRAY(b->arena, Home *, set->nfields + 1);
    info->scale = NEW_ARRAY(b->arena, Home *, set->nfields + 1);
    for (int i = 0; i < set->nfields; i++)
        set->fields[i] = decl->data.fields.at[i]->name;
    vec_push(b->arena, &b->datas, info);
    declare_sections(b, info);
    for (int i = 0; i < decl->data.items.n; i++)
        if (decl->data.items.at[i]->kind == AST_SPLIT)
            declare_split(b, info, decl->data.items.at[i]);
    if (diag_errors(b->diag) != errors)
        return;
    dry_run(b, info);
    section_sources(b, info);
    for (int i = 0; i < decl->data.items.n && diag_errors(b->diag) == errors; i++)
        if (decl->data.items.at[i]->kind == AST_STANDARDIZE)
            declare_standardize(b, info, decl->data.items.at[i]);
    if (diag_errors(b->diag) != errors)
        return;
    vec_push(b->arena, &b->p->sets, set);
    *out = set;
}

/* ---- use ---- */

Split *data_split(Build *b, const DataSet *set, const char *name)
{
    DataInfo *info = info_of(b, set);
    size_t n = strlen(set->name) + 1;
    for (int i = 0; i < info->splits.n; i++)
        if (strcmp(info->splits.at[i]->name + n, name) == 0)
            return info->splits.at[i];
    return NULL;
}

Value data_field(Build *b, Value base, const char *name, Span at)
{
    if (base.kind == V_DATA) {
        Split *s = data_split(b, base.data, name);
        if (s)
            return (Value){.kind = V_SPLIT, .split = s};
        Text list = {.arena = b->arena};
        DataInfo *info = info_of(b, base.data);
        for (int i = 0; i < info->splits.n; i++)
            text_printf(&list, "%s%s", i ? ", " : "", info->splits.at[i]->name);
        build_error(b, at, "'%s' has no split '%s' (it has %s)", base.data->name, name, list.n ? list.at : "none");
        return value_poison;
    }
    Split *s = base.split;
    if (strcmp(name, "rows") == 0) {
        s->used = true;
        data_use(b, s->set);
        return value_host(host_rows(b, s));
    }
    for (int i = 0; i < s->set->nfields; i++)
        if (strcmp(s->set->fields[i], name) == 0) {
            build_error(b, at, "not supported yet: whole data as a tensor; walk it in batches");
            return value_poison;
        }
    build_error(b, at, "'%s' has no '%s': it has rows, batches(…) and its fields", s->name, name);
    return value_poison;
}

Value data_fold(Build *b, Env *env, Value data, Ast *call)
{
    (void)env;
    if (data.kind != V_POISON)
        build_error(b, call->span, "not supported yet: folds");
    return value_poison;
}

static bool batches_arg(Build *b, Env *env, BatchesValue *v, Ast *a, int position, bool *last_given)
{
    static const char *const order[] = {"n", "shuffle", "steps", "last"};
    const char *name = a->name ? a->name : position < 4 ? order[position] : "";
    Value x = build_expr(b, env, a->arg.value);
    if (x.kind == V_POISON)
        return false;
    if (strcmp(name, "n") == 0) {
        if (x.kind == V_HOST) {
            build_error(b, a->span, "the size of a batch is known when nnc runs: make it a const (nnc -D changes it)");
            return false;
        }
        return value_to_int(b, x, "the size of a batch", a->span, &v->sizes[0]);
    }
    if (strcmp(name, "shuffle") == 0)
        return value_to_bool(b, x, "shuffle", a->span, &v->shuffle[0]);
    if (strcmp(name, "steps") == 0) {
        v->steps[0] = value_to_host(b, x, a->span);
        return v->steps[0] != NULL;
    }
    if (strcmp(name, "last") == 0) {
        bool keep = x.kind == V_STRING && strcmp(x.string, "keep") == 0;
        if (!keep && (x.kind != V_STRING || strcmp(x.string, "drop") != 0)) {
            build_error(b, a->span, "last is \"keep\" or \"drop\", found %s", value_text(b, x));
            return false;
        }
        v->keep_last[0] = keep;
        *last_given = true;
        return true;
    }
    build_error(b, a->span, "batches has no parameter '%s' (its parameters: n, shuffle, steps, last)", name);
    return false;
}

Value data_batches(Build *b, Env *env, Value split, Ast *call)
{
    if (split.kind == V_POISON)
        return split;
    if (split.kind != V_SPLIT) {
        build_error(b, call->span, "batches are taken of a split (digits.train.batches(64)), found %s", value_text(b, split));
        return value_poison;
    }
    BatchesValue *v = NEW(b->arena, BatchesValue);
    v->n = 1;
    v->span = call->span;
    v->splits = NEW(b->arena, Split *);
    v->sizes = NEW(b->arena, int64_t);
    v->shuffle = NEW(b->arena, bool);
    v->keep_last = NEW(b->arena, bool);
    v->steps = NEW(b->arena, HExpr *);
    v->splits[0] = split.split;
    bool last_given = false;
    for (int i = 0; i < call->call.args.n; i++)
        if (!batches_arg(b, env, v, call->call.args.at[i], i, &last_given))
            return value_poison;
    if (v->sizes[0] < 1 || v->sizes[0] > 1 << 30) {
        build_error(b, call->span, "a batch has at least one row");
        return value_poison;
    }
    if (!last_given)
        v->keep_last[0] = !v->shuffle[0];
    return (Value){.kind = V_BATCHES, .batches = v};
}

Value data_zip(Build *b, Env *env, Ast *call)
{
    int n = call->call.args.n;
    BatchesValue *v = NEW(b->arena, BatchesValue);
    v->n = n;
    v->span = call->span;
    v->splits = NEW_ARRAY(b->arena, Split *, n + 1);
    v->sizes = NEW_ARRAY(b->arena, int64_t, n + 1);
    v->shuffle = NEW_ARRAY(b->arena, bool, n + 1);
    v->keep_last = NEW_ARRAY(b->arena, bool, n + 1);
    v->steps = NEW_ARRAY(b->arena, HExpr *, n + 1);
    for (int i = 0; i < n; i++) {
        Ast *a = call->call.args.at[i];
        Value x = build_expr(b, env, a->arg.value);
        if (x.kind != V_BATCHES || x.batches->n != 1) {
            if (x.kind != V_POISON)
                build_error(b, a->span, "zip walks batches side by side, found %s", value_text(b, x));
            return value_poison;
        }
        v->splits[i] = x.batches->splits[0];
        v->sizes[i] = x.batches->sizes[0];
        v->shuffle[i] = x.batches->shuffle[0];
        v->keep_last[i] = x.batches->keep_last[0];
        v->steps[i] = x.batches->steps[0];
    }
    return (Value){.kind = V_BATCHES, .batches = v};
}

static BatchLoop *loop_new(Build *b, const BatchesValue *v, int i, Span at)
{
    BatchLoop *l = NEW(b->arena, BatchLoop);
    l->id = b->p->loops.n;
    l->split = v->splits[i];
    l->split->used = true;
    l->size = v->sizes[i];
    l->shuffle = v->shuffle[i];
    l->keep_last = v->keep_last[i];
    l->steps = v->steps[i];
    data_use(b, l->split->set);
    Dim d = {l->size, NULL};
    if (l->keep_last) {
        Count *c = NEW(b->arena, Count);
        *c = (Count){b->p->counts.n, build_identifier(b, "rows"), l->size};
        vec_push(b->arena, &b->p->counts, c);
        l->count = c;
        d.count = c;
    }
    Shape s = {1, {d}};
    l->index = home_new(b, HOME_INDEX, arena_printf(b->arena, "%s_rows", l->split->set->name), DT_I32, &s, at);
    vec_push(b->arena, &b->p->loops, l);
    return l;
}

/* Makes the loops of the statement; the use of `field` in the first of them. */
FieldUse *data_loops(Build *b, const BatchesValue *v, HStmt *stmt, int field, Span at)
{
    stmt->nloops = v->n;
    stmt->loops = NEW_ARRAY(b->arena, BatchLoop *, v->n);
    for (int i = 0; i < v->n; i++)
        stmt->loops[i] = loop_new(b, v, i, at);
    FieldUse *f = NEW(b->arena, FieldUse);
    *f = (FieldUse){v->splits[0]->set, v->splits[0]->section, field, stmt->loops[0]->index, stmt->loops[0]->index->shape.dim[0], NULL, NULL};
    return f;
}

void data_bind(Build *b, Env *env, BatchesValue *v, Ast *pattern, HStmt *stmt)
{
    int total = 0, names = pattern->kind == AST_TUPLE ? pattern->list.items.n : 1;
    data_loops(b, v, stmt, 0, pattern->span);
    for (int i = 0; i < v->n; i++)
        total += v->splits[i]->set->nfields;
    if (total != names) {
        Text list = {.arena = b->arena};
        for (int i = 0; i < v->n; i++)
            for (int k = 0; k < v->splits[i]->set->nfields; k++)
                text_printf(&list, "%s%s", list.n ? ", " : "", v->splits[i]->set->fields[k]);
        build_error(b, pattern->span, "%d name%s for %d field%s (%s); '_' takes one that is not used", names, names == 1 ? "" : "s",
                    total, total == 1 ? "" : "s", list.at);
    }
    for (int i = 0, at = 0; i < v->n; i++) {
        DataSet *set = v->splits[i]->set;
        for (int k = 0; k < set->nfields && at < names; k++, at++) {
            Ast *name = pattern->kind == AST_TUPLE ? pattern->list.items.at[at] : pattern;
            FieldUse *f = NEW(b->arena, FieldUse);
            *f = (FieldUse){set, v->splits[i]->section, k, stmt->loops[i]->index, stmt->loops[i]->index->shape.dim[0], NULL, NULL};
            if (name->kind == AST_NAME && strcmp(name->name, "_") != 0)
                env_add(b, env, name->name, BIND_FIELD, value_none, name->span)->field = f;
        }
    }
}
