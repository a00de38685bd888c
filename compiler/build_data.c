/* build_data.c: data declarations: sections and splits, and the batches that loops walk. */
#include "build_data.h"
#include "build_call.h"
#include "build_host.h"
#include <math.h>

DataInfo *data_info(Build *b, const DataSet *set) {
    for (int i = 0; i < b->datas.n; i++)
        if (b->datas.at[i]->set == set)
            return b->datas.at[i];
    bug("data set '%s' is not registered", set->name);
}

void data_use(Build *b, DataSet *set) {
    set->used = true;
    if (!b->task)
        return;
    for (int i = 0; i < b->task->sets.n; i++)
        if (b->task->sets.at[i] == set)
            return;
    vec_push(b->arena, &b->task->sets, set);
}

/* ---- declaration ---- */

static bool decimal(double x, int64_t *num, int64_t *den) {
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

static Split *split_new(Build *b, DataInfo *info, const char *name, int section, int group,
                        Span at) {
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

static int section_index(const DataSet *set, const char *name) {
    for (int i = 0; i < set->nsections; i++)
        if (set->sections[i].name == name)
            return i;
    return -1;
}

static bool part_amount(Build *b, const DataInfo *info, Ast *part, Split *s, double *sum) {
    Value v = build_expr(b, info->env, part->part.value);
    if (v.kind != V_NUMBER) {
        if (v.kind != V_POISON)
            build_error(b, part->span, "a part is a fraction or a number of rows, found %s",
                        value_text(b, v));
        return false;
    }
    s->amount = v.num.i;
    s->of = 0;
    if (v.num.is_int)
        return true;
    *sum += v.num.f;
    if (v.num.f < 0 || !decimal(v.num.f, &s->amount, &s->of)) {
        build_error(b, part->span, "a part is a fraction with at most 6 decimals, found %.9g",
                    v.num.f);
        return false;
    }
    if (*sum > 1 + 1e-9) {
        build_error(b, part->span, "the parts of a split sum to at most 1, found %g so far", *sum);
        return false;
    }
    return true;
}

/* split all { folds: 5 } */
static void declare_folds(Build *b, const DataInfo *info, const Ast *item, const Ast *part,
                          int64_t *folds) {
    Value v = build_expr(b, info->env, part->part.value);
    if (!value_to_int(b, v, "the number of folds", part->span, folds))
        return;
    if (*folds < 2 || *folds > 10000)
        build_error(b, part->span, "the number of folds must be 2 to 10000, found %lld",
                    (long long)*folds);
    if (item->split.parts.n > 1)
        build_error(b, item->span, "a split is in folds or in parts, not both");
}

static void declare_split(Build *b, DataInfo *info, Ast *item) {
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
            declare_folds(b, info, item, part, &g->folds);
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

static const char *field_list(Build *b, const DataSet *set) {
    Text list = {.arena = b->arena};
    for (int i = 0; i < set->nfields; i++)
        text_printf(&list, "%s%s", i ? ", " : "", set->fields[i]);
    return list.n ? list.at : "none";
}

static void declare_sections(Build *b, DataInfo *info) {
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
        bool slip = false;
        for (int k = 0; k < item->section.assigns.n; k++) {
            const Ast *a = item->section.assigns.at[k];
            bool known = false;
            for (int f = 0; f < set->nfields; f++)
                known |=
                    a->assign.target->kind == AST_NAME && a->assign.target->name == set->fields[f];
            if (!known)
                build_error(b, a->assign.target->span,
                            "'%s' has no field of this name (its fields: %s)", set->name,
                            field_list(b, set));
            slip = slip || !known;
        }
        for (int f = 0; f < set->nfields && !slip; f++)
            if (!field_expr(info, set->nsections - 1, set->fields[f]))
                build_error(b, item->span, "section '%s' says nothing about the field '%s'",
                            item->name, set->fields[f]);
    }
    if (!set->nsections)
        build_error(b, info->decl->span, "'%s' has no section: expected all { field = csv(…) … }",
                    set->name);
}

static void declare_rows(Build *b, DataInfo *info) {
    Ast *rows = info->decl->data.rows;
    int64_t n;
    if (!rows ||
        !value_to_int(b, build_expr(b, info->env, rows), "the number of rows", rows->span, &n))
        return;
    if (n < 1 || n >= INT32_MAX)
        build_error(b, rows->span, "rows must be 1 to 2^31-2, found %lld", (long long)n);
    else
        info->set->rows = n;
    info->set->rows_span = rows->span;
}

static void no_split(Build *b, const DataSet *set, const char *name, Span at) {
    Text list = {.arena = b->arena};
    DataInfo *info = data_info(b, set);
    for (int i = 0; i < info->splits.n; i++)
        text_printf(&list, "%s%s", i ? ", " : "", info->splits.at[i]->name + strlen(set->name) + 1);
    build_error(b, at, "'%s' has no split '%s' (its splits: %s)", set->name, name,
                list.n ? list.at : "none");
}

/* build: false when an earlier error leaves nothing to compute from */
static void declare_standardize(Build *b, DataInfo *info, Ast *item, bool build) {
    Split *split = data_split(b, info->set, item->name);
    if (!split) {
        no_split(b, info->set, item->name, item->name_span);
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
            build_error(b, f->span, "'%s' has no field '%s' (its fields: %s)", info->set->name,
                        f->name, field_list(b, info->set));
        else if (build)
            field_standardize(b, info, field, split, item->span);
    }
}

/* Every field is looked at once, so that faults show where they stand and all sources are known. */
static void dry_run(Build *b, DataInfo *info) {
    HBlock nowhere = {0};
    Place old = place_enter(b, &nowhere);
    int64_t two = 2;
    Shape s = shape_of(1, &two);
    const char *name = arena_printf(b->arena, "%s_rows", info->set->name);
    Home *index = home_new(b, HOME_INDEX, name, DT_I32, &s, info->decl->span);
    b->dry = true;
    for (int k = 0; k < info->set->nsections; k++)
        for (int f = 0; f < info->set->nfields; f++) {
            FieldUse use = {
                .set = info->set, .section = k, .field = f, .index = index, .batch = {2, NULL}};
            field_raw(b, info, &use);
        }
    b->dry = false;
    if (b->p->homes.at[index->id] == index && b->p->homes.n == index->id + 1)
        b->p->homes.n--;             /* no loop fills it */
    b->region_start = b->g->nodes.n; /* forget the region */
    b->region->writes.n = 0;
    place_leave(b, &old);
}

static void section_sources(Build *b, DataInfo *info) {
    for (int k = 0; k < info->set->nsections; k++) {
        Section *s = &info->set->sections[k];
        s->sources = NEW_ARRAY(b->arena, DataSource *, info->sources.n + 1);
        for (int i = 0; i < info->sources.n; i++)
            if (info->sources.at[i]->section == k)
                s->sources[s->nsources++] = info->sources.at[i];
    }
}

void build_data(Build *b, Env *env, Ast *decl, DataSet **out) {
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
    declare_rows(b, info);
    for (int i = 0; i < decl->data.items.n; i++)
        if (decl->data.items.at[i]->kind == AST_SPLIT)
            declare_split(b, info, decl->data.items.at[i]);
    dry_run(b, info);
    section_sources(b, info);
    for (int i = 0; i < decl->data.items.n; i++)
        if (decl->data.items.at[i]->kind == AST_STANDARDIZE)
            declare_standardize(b, info, decl->data.items.at[i], diag_errors(b->diag) == errors);
    if (diag_errors(b->diag) != errors)
        return;
    vec_push(b->arena, &b->p->sets, set);
    *out = set;
}

/* ---- use ---- */

Split *data_split(Build *b, const DataSet *set, const char *name) {
    DataInfo *info = data_info(b, set);
    size_t n = strlen(set->name) + 1;
    for (int i = 0; i < info->splits.n; i++)
        if (strcmp(info->splits.at[i]->name + n, name) == 0)
            return info->splits.at[i];
    return NULL;
}

/* The rows of fold k, or the rest. */
static Value fold_side(Build *b, const FoldValue *f, const char *side, Span at) {
    bool test = strcmp(side, "test") == 0;
    if (!test && strcmp(side, "train") != 0) {
        build_error(b, at, "a fold has no '%s': it has train and test", side);
        return value_poison;
    }
    const char *name = arena_printf(b->arena, "fold[%d].%s", f->k, side);
    Split *s = data_split(b, f->set, name);
    if (!s) {
        int section = f->set->groups[f->group].section;
        s = split_new(b, data_info(b, f->set), name, section, f->group, at);
        s->part = f->k;
        s->fold_test = test;
    }
    return (Value){.kind = V_SPLIT, .split = s};
}

/* The number of rows as far as the program says it; 0: it is known when the file is read. */
static int64_t known_rows(const Split *s) {
    if (s->group >= 0)
        return s->set->groups[s->group].folds || s->of ? 0 : s->amount;
    return s->set->rows;
}

static bool in_task(Build *b, const Split *s, Span at) {
    if (!b->task)
        build_error(b, at, "data is read when a task starts: use '%s' in a task", s->name);
    return b->task;
}

/* digits.all.image: all rows as one tensor (C3) */
static Value whole_field(Build *b, Split *s, int field, Span at) {
    int64_t n = known_rows(s);
    if (!in_task(b, s, at))
        return value_poison;
    if (n < 1) {
        build_error(b, at,
                    "the rows of '%s' are counted when the file is read; for a tensor of all say "
                    "how many, as in data %s(…) rows 144",
                    s->name, s->set->name);
        return value_poison;
    }
    data_use(b, s->set);
    Home *h = field_whole(b, data_info(b, s->set), s, field, n, at);
    return h ? value_node(home_value(b, h)) : value_poison;
}

/* Rows are counted where a source is read: one must be. */
static Value split_rows(Build *b, Split *s, Span at) {
    if (!in_task(b, s, at))
        return value_poison;
    const Section *section = &s->set->sections[s->section];
    bool read = false;
    for (int i = 0; i < section->nsources; i++)
        read |= section->sources[i]->used;
    if (!read && section->nsources)
        section->sources[0]->used = true;
    s->used = true;
    data_use(b, s->set);
    return value_host(host_rows(b, s));
}

Value data_field(Build *b, Value base, const char *name, Span at) {
    if (base.kind == V_DATA) {
        Split *s = data_split(b, base.data, name);
        if (s)
            return (Value){.kind = V_SPLIT, .split = s};
        no_split(b, base.data, name, at);
        return value_poison;
    }
    if (base.kind == V_FOLD)
        return fold_side(b, base.fold, name, at);
    Split *s = base.split;
    if (strcmp(name, "rows") == 0)
        return split_rows(b, s, at);
    for (int i = 0; i < s->set->nfields; i++)
        if (strcmp(s->set->fields[i], name) == 0) {
            return whole_field(b, s, i, at);
        }
    build_error(b, at, "'%s' has no '%s': it has rows, batches(…) and %s", s->name, name,
                field_list(b, s->set));
    return value_poison;
}

static int fold_group(const DataSet *set) {
    for (int i = 0; i < set->ngroups; i++)
        if (set->groups[i].folds)
            return i;
    return -1;
}

/* digits.fold(k), k a constant */
Value data_fold(Build *b, Env *env, Value data, Ast *call) {
    if (data.kind == V_POISON)
        return data;
    int group = data.kind == V_DATA ? fold_group(data.data) : -1;
    if (group < 0 || call->call.args.n != 1) {
        build_error(b, call->span,
                    group < 0 ? "%s has no folds: 'split all { folds: 5 }' makes them"
                              : "%s has folds by number: fold(0)",
                    data.kind == V_DATA ? data.data->name : value_text(b, data));
        return value_poison;
    }
    const Ast *arg = call->call.args.at[0];
    Value v = build_expr(b, env, arg->arg.value);
    int64_t k, n = data.data->groups[group].folds;
    if (v.kind == V_HOST) {
        build_error(b, arg->span,
                    "the number of a fold is known when nnc runs: walk a list, for k in [0, 1, 2]");
        return value_poison;
    }
    if (!value_to_int(b, v, "the number of a fold", arg->span, &k))
        return value_poison;
    if (k < 0 || k >= n) {
        build_error(b, arg->span, "fold %lld is out of range: there are %lld", (long long)k,
                    (long long)n);
        return value_poison;
    }
    FoldValue *f = NEW(b->arena, FoldValue);
    *f = (FoldValue){data.data, group, (int)k};
    return (Value){.kind = V_FOLD, .fold = f};
}

enum { BATCH_N, BATCH_SHUFFLE, BATCH_STEPS, BATCH_LAST };
static const char *const batch_names[] = {"n", "shuffle", "steps", "last", NULL};

static bool batches_arg(Build *b, Env *env, BatchesValue *v, Ast *a, DataArguments *known) {
    int position = __builtin_popcount(known->given);
    const char *name = a->name ? a->name : position <= BATCH_LAST ? batch_names[position] : "";
    int which = data_argument(b, known, name, a->span);
    if (which < 0)
        return false;
    Value x = build_expr(b, env, a->arg.value);
    if (x.kind == V_POISON)
        return false;
    switch (which) {
    case BATCH_N:
        if (x.kind == V_HOST) {
            build_error(
                b, a->span,
                "the size of a batch is known when nnc runs: make it a const (nnc -D changes it)");
            return false;
        }
        return value_to_int(b, x, "the size of a batch", a->span, &v->sizes[0]);
    case BATCH_SHUFFLE:
        return value_to_bool(b, x, "shuffle", a->span, &v->shuffle[0]);
    case BATCH_STEPS:
        v->steps[0] = value_to_host(b, x, a->span);
        return v->steps[0] != NULL;
    }
    bool keep = x.kind == V_STRING && strcmp(x.string, "keep") == 0;
    if (!keep && (x.kind != V_STRING || strcmp(x.string, "drop") != 0)) {
        build_error(b, a->span, "last is \"keep\" or \"drop\", found %s", value_text(b, x));
        return false;
    }
    v->keep_last[0] = keep;
    return true;
}

Value data_batches(Build *b, Env *env, Value split, Ast *call) {
    if (split.kind == V_POISON)
        return split;
    if (split.kind != V_SPLIT) {
        build_error(b, call->span,
                    "batches are taken of a split (digits.train.batches(64)), found %s",
                    value_text(b, split));
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
    DataArguments known = {"batches", batch_names, 0};
    for (int i = 0; i < call->call.args.n; i++)
        if (!batches_arg(b, env, v, call->call.args.at[i], &known))
            return value_poison;
    if (!call->call.args.n)
        build_error(b, call->span, "batches needs the number of rows of a batch: batches(64)");
    else if (v->sizes[0] < 1 || v->sizes[0] > 1 << 30)
        build_error(b, call->span, "a batch has 1 to 2^30 rows, found %lld",
                    (long long)v->sizes[0]);
    if (v->sizes[0] < 1 || v->sizes[0] > 1 << 30)
        return value_poison;
    if (!(known.given & 1u << BATCH_LAST))
        v->keep_last[0] = !v->shuffle[0];
    return (Value){.kind = V_BATCHES, .batches = v};
}

Value data_zip(Build *b, Env *env, Ast *call) {
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
                build_error(b, a->span, "zip walks batches side by side, found %s",
                            value_text(b, x));
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

const char *split_word(Build *b, const Split *s) {
    return arena_identifier(b->arena, s->name + strlen(s->set->name) + 1);
}

static BatchLoop *loop_new(Build *b, const BatchesValue *v, int i, Span at) {
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
        const char *name = arena_printf(b->arena, "%s_rows", split_word(b, l->split));
        *c = (Count){b->p->counts.n, build_identifier(b, name), "rows", l->size};
        vec_push(b->arena, &b->p->counts, c);
        l->count = c;
        d.count = c;
    }
    Shape s = {1, {d}};
    const char *name = arena_identifier(b->arena, l->split->name);
    l->index = home_new(b, HOME_INDEX, arena_printf(b->arena, "%s_rows", name), DT_I32, &s, at);
    vec_push(b->arena, &b->p->loops, l);
    return l;
}

/* Makes the loops of the statement; the use of `field` in the first of them. */
FieldUse *data_loops(Build *b, const BatchesValue *v, HStmt *stmt, int field, Span at) {
    stmt->nloops = v->n;
    stmt->loops = NEW_ARRAY(b->arena, BatchLoop *, v->n);
    for (int i = 0; i < v->n; i++)
        stmt->loops[i] = loop_new(b, v, i, at);
    FieldUse *f = NEW(b->arena, FieldUse);
    *f = (FieldUse){v->splits[0]->set,
                    v->splits[0]->section,
                    field,
                    stmt->loops[0]->index,
                    stmt->loops[0]->index->shape.dim[0],
                    NULL,
                    NULL};
    return f;
}

void data_bind(Build *b, Env *env, BatchesValue *v, Ast *pattern, HStmt *stmt) {
    int total = 0, names = pattern->kind == AST_TUPLE ? pattern->list.items.n : 1;
    data_loops(b, v, stmt, 0, pattern->span);
    for (int i = 0; i < v->n; i++)
        total += v->splits[i]->set->nfields;
    if (total != names) {
        Text list = {.arena = b->arena};
        for (int i = 0; i < v->n; i++)
            for (int k = 0; k < v->splits[i]->set->nfields; k++)
                text_printf(&list, "%s%s", list.n ? ", " : "", v->splits[i]->set->fields[k]);
        build_error(b, pattern->span,
                    "%d name%s for %d field%s (%s); '_' takes one that is not used", names,
                    names == 1 ? "" : "s", total, total == 1 ? "" : "s", list.at);
    }
    for (int i = 0, at = 0; i < v->n; i++) {
        DataSet *set = v->splits[i]->set;
        for (int k = 0; k < set->nfields && at < names; k++, at++) {
            Ast *name = pattern->kind == AST_TUPLE ? pattern->list.items.at[at] : pattern;
            FieldUse *f = NEW(b->arena, FieldUse);
            *f = (FieldUse){set,
                            v->splits[i]->section,
                            k,
                            stmt->loops[i]->index,
                            stmt->loops[i]->index->shape.dim[0],
                            NULL,
                            NULL};
            if (name->kind == AST_NAME && strcmp(name->name, "_") != 0)
                env_add(b, env, name->name, BIND_FIELD, value_none, name->span)->field = f;
        }
    }
    for (int i = total; i < names && pattern->kind == AST_TUPLE; i++)
        build_pattern(b, env, pattern->list.items.at[i], value_poison, BIND_LET);
}
