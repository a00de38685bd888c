/* build_source.c: source calls of data fields: csv(…), idx(…), npy(…), raw(…). */
#include "build_call.h"
#include "build_data.h"
#include "build_host.h"
#include <math.h>

static const struct {
    const char *name;
    SourceKind kind;
    bool supported;
} source_kinds[] = {
    {"csv", SRC_CSV, true},      {"idx", SRC_IDX, true},     {"npy", SRC_NPY, true},
    {"raw", SRC_RAW, true},      {"npz", SRC_NPY, false},    {"text", SRC_RAW, false},
    {"lines", SRC_RAW, false},   {"chars", SRC_RAW, false},  {"bpe", SRC_RAW, false},
    {"tokens", SRC_RAW, false},  {"images", SRC_RAW, false}, {"safetensors", SRC_RAW, false},
    {"windows", SRC_RAW, false},
};

int data_argument(Build *b, DataArguments *all, const char *name, Span at) {
    Text list = {.arena = b->arena};
    for (int i = 0; all->names[i]; i++) {
        uint32_t bit = 1u << i;
        if (strcmp(all->names[i], name) == 0 && !(all->given & bit)) {
            all->given |= bit;
            return i;
        }
        if (strcmp(all->names[i], name) == 0) {
            build_error(b, at, "%s got '%s' twice", all->callee, name);
            return -1;
        }
        text_printf(&list, "%s%s", i ? ", " : "", all->names[i]);
    }
    build_error(b, at,
                *name ? "%s has no parameter '%s' (its parameters: %s)"
                      : "%s takes no more arguments without a name%s (its parameters: %s)",
                all->callee, name, list.at);
    return -1;
}

static int source_index(const char *name) {
    for (int i = 0; i < COUNT_OF(source_kinds); i++)
        if (strcmp(source_kinds[i].name, name) == 0)
            return i;
    return -1;
}

bool data_is_source(const Ast *call) {
    return call->kind == AST_CALL && call->call.callee->kind == AST_NAME &&
           source_index(call->call.callee->name) >= 0;
}

bool data_has_source(Ast *e) {
    if (!e)
        return false;
    if (data_is_source(e))
        return true;
    Ast **kids;
    int nk = ast_kids(e, &kids);
    for (int i = 0; i < nk; i++)
        if (data_has_source(kids[i]))
            return true;
    AstList *lists;
    int nl = ast_lists(e, &lists);
    for (int i = 0; i < nl; i++)
        for (int k = 0; k < lists[i].n; k++)
            if (data_has_source(lists[i].at[k]))
                return true;
    return false;
}

enum { MAX_COLUMN = 1 << 20 };

static void add_column(Build *b, DataSource *s, int64_t index, const char *name) {
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

/* A column by its number, which the file counts from 0. */
static bool number_column(Build *b, DataSource *s, Value v, Span at) {
    int64_t i;
    if (!value_to_int(b, v, "a column", at, &i))
        return false;
    if (i < 0 || i > MAX_COLUMN) {
        build_error(b, at, "a column is a name or 0 to %d, found %lld", MAX_COLUMN, (long long)i);
        return false;
    }
    add_column(b, s, i, NULL);
    return true;
}

static bool value_column(Build *b, DataSource *s, Value v, Span at) {
    if (v.kind != V_STRING)
        return number_column(b, s, v, at);
    add_column(b, s, -1, v.string);
    return true;
}

static bool column_range(Build *b, DataSource *s, Env *env, Ast *lo, Ast *hi, bool inclusive,
                         Span at) {
    int64_t from = 0, to = 0;
    if (lo && !value_to_int(b, build_expr(b, env, lo), "the first column", lo->span, &from))
        return false;
    if (!hi || !value_to_int(b, build_expr(b, env, hi), "the last column", hi->span, &to)) {
        if (!hi)
            build_error(b, at, "a range of columns needs both ends, as columns=0:64");
        return false;
    }
    if (from < 0 || to > MAX_COLUMN || to + inclusive <= from) {
        build_error(b, at, "columns %lld up to %lld: expected 0 <= first < last <= %d",
                    (long long)from, (long long)to, MAX_COLUMN);
        return false;
    }
    for (int64_t i = from; i < to + inclusive; i++)
        add_column(b, s, i, NULL);
    return true;
}

/* columns = 3, 0:64, 0..64, "name", or a list of these; *single: one column without brackets */
static bool csv_columns(Build *b, DataSource *s, Env *env, Ast *e, bool *single) {
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
    *single = v.kind != V_LIST;
    if (*single)
        return value_column(b, s, v, e->span);
    for (int i = 0; i < v.list->n; i++)
        if (!value_column(b, s, v.list->at[i], e->span))
            return false;
    return true;
}

static bool csv_classes(Build *b, DataSource *s, Value v, Span at) {
    if (v.kind != V_LIST || !v.list->n) {
        build_error(b, at, "classes is a list of names, found %s", value_text(b, v));
        return false;
    }
    s->nclasses = v.list->n;
    s->classes = NEW_ARRAY(b->arena, const char *, v.list->n);
    for (int i = 0; i < v.list->n; i++) {
        if (v.list->at[i].kind != V_STRING) {
            build_error(b, at, "classes is a list of names, found %s in it",
                        value_text(b, v.list->at[i]));
            return false;
        }
        s->classes[i] = v.list->at[i].string;
        if (!*s->classes[i]) {
            build_error(b, at, "a class has a name: an empty cell is what missing= stands for");
            return false;
        }
        for (int k = 0; k < i; k++)
            if (strcmp(s->classes[k], s->classes[i]) == 0) {
                build_error(b, at, "classes %d and %d are both called \"%s\"", k, i, s->classes[i]);
                return false;
            }
    }
    return true;
}

enum { CSV_PATH, CSV_COLUMNS, CSV_HEADER, CSV_SKIP, CSV_SEPARATOR, CSV_MISSING, CSV_CLASSES };

static bool csv_option(Build *b, DataSource *s, int which, Value v, Span at) {
    if (which == CSV_HEADER) {
        bool header;
        if (!value_to_bool(b, v, "header", at, &header))
            return false;
        s->header = header;
    } else if (which == CSV_SKIP) {
        if (!value_to_int(b, v, "skip", at, &s->skip))
            return false;
        if (s->skip < 0)
            build_error(b, at, "skip is a number of lines, found %lld", (long long)s->skip);
        return s->skip >= 0;
    } else if (which == CSV_SEPARATOR) {
        if (v.kind != V_STRING || strlen(v.string) != 1) {
            build_error(b, at, "separator is one character, found %s", value_text(b, v));
            return false;
        }
        if (strchr("\"\n\r+-.0123456789eE", v.string[0])) {
            build_error(b, at,
                        "separator is no quote, no end of a line and nothing that numbers "
                        "have, found %s",
                        value_text(b, v));
            return false;
        }
        s->separator = v.string[0];
    } else if (which == CSV_MISSING) {
        if (v.kind != V_NUMBER) {
            build_error(b, at, "missing is the number that stands for an empty cell, found %s",
                        value_text(b, v));
            return false;
        }
        s->has_missing = true;
        s->missing = v.num.f;
    } else {
        return csv_classes(b, s, v, at);
    }
    return true;
}

static bool csv_args(Build *b, DataSource *s, Env *env, Ast *call) {
    static const char *const names[] = {"path",      "columns", "header",  "skip",
                                        "separator", "missing", "classes", NULL};
    DataArguments known = {"csv", names, 1};
    bool single = false, any = false;
    s->header = -1;
    s->separator = ',';
    for (int i = 1; i < call->call.args.n; i++) {
        Ast *a = call->call.args.at[i];
        const char *name = a->name ? a->name : i == 1 ? "columns" : "";
        int which = data_argument(b, &known, name, a->span);
        if (which < 0)
            return false;
        if (which == CSV_COLUMNS) {
            any = true;
            if (!csv_columns(b, s, env, a->arg.value, &single))
                return false;
            continue;
        }
        Value v = build_expr(b, env, a->arg.value);
        if (v.kind == V_POISON || !csv_option(b, s, which, v, a->span))
            return false;
    }
    if (!any) {
        build_error(b, call->span,
                    "csv needs columns=…: an index, a range, a name or a list of them");
        return false;
    }
    for (int i = 0; i < s->ncolumns && s->header == 0; i++)
        if (s->columns[i] < 0) {
            build_error(b, call->span, "header=false says that no column has a name, as \"%s\" has",
                        s->column_names[i]);
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
static bool file_args(Build *b, DataSource *s, Env *env, Ast *call, const Shape *row) {
    static const char *const raw[] = {"path", "type", "shape", NULL};
    static const char *const other[] = {"path", NULL};
    DataArguments known = {call->call.callee->name, s->kind == SRC_RAW ? raw : other, 1};
    s->row = *row;
    for (int i = 1; i < call->call.args.n; i++) {
        Ast *a = call->call.args.at[i];
        const char *name = a->name ? a->name : i == 1 ? "type" : i == 2 ? "shape" : "";
        if (data_argument(b, &known, name, a->span) < 0)
            return false;
        Value v = build_expr(b, env, a->arg.value);
        if (v.kind == V_POISON)
            return false;
        if (strcmp(name, "type") == 0 && v.kind == V_TYPE) {
            const char *type = a->arg.value->kind == AST_TYPE ? a->arg.value->name : "";
            if (strcmp(type, "f16") == 0 || strcmp(type, "bf16") == 0) {
                build_error(b, a->span, "not supported yet: raw numbers of type %s", type);
                return false;
            }
            s->dtype = v.type;
        } else if (strcmp(name, "shape") == 0) {
            if (!value_to_shape(b, v, a->span, &s->row))
                return false;
        } else {
            build_error(b, a->span, "raw takes an element type and a shape, found %s for %s",
                        value_text(b, v), name);
            return false;
        }
    }
    return true;
}

static DType stored_type(const DataSource *s, DType field) {
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

/* What stands for an empty cell is a number of the type that cells have. */
static bool missing_fits(Build *b, const DataSource *s) {
    double x = s->missing;
    double most = s->dtype == DT_F32   ? 3.4028235677973366e38
                  : s->dtype == DT_F64 ? INFINITY
                  : s->dtype == DT_I64 ? 0x1p63
                                       : 0x1p31;
    bool fits = dtype_is_real(s->dtype) ? fabs(x) < most : x >= -most && x < most && floor(x) == x;
    if (!s->has_missing || fits)
        return true;
    build_error(b, s->span, "missing=%g does not fit '%s': its cells are %s", x, s->name,
                dtype_name(s->dtype));
    return false;
}

static const Ast *field_decl(Build *b, const FieldUse *f) {
    return data_info(b, f->set)->decl->data.fields.at[f->field];
}

Shape field_row(Build *b, const FieldUse *f) {
    Shape row;
    DataInfo *info = data_info(b, f->set);
    build_dims(b, info->env, field_decl(b, f)->formal.type, &row);
    return row;
}

DType field_type(Build *b, const FieldUse *f) {
    const Ast *type = field_decl(b, f)->formal.type;
    return type_element(b, type ? type->name : NULL);
}

static DataSource *source_new(Build *b, DataInfo *info, Env *env, Ast *call) {
    FieldUse *f = b->field;
    int k = source_index(call->call.callee->name);
    Ast *first = call->call.args.n ? call->call.args.at[0] : NULL;
    if (!source_kinds[k].supported) {
        build_error(b, call->span, "not supported yet: the source %s", source_kinds[k].name);
        return NULL;
    }
    Value path = first && !first->name ? build_expr(b, env, first->arg.value) : value_none;
    if (path.kind != V_STRING || !*path.string) {
        if (path.kind != V_POISON)
            build_error(b, call->span, "%s needs a path as its first argument",
                        source_kinds[k].name);
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
    if (s->kind == SRC_CSV && !missing_fits(b, s))
        return NULL;
    s->row_elements = shape_elements(&s->row);
    s->id = b->p->sources.n;
    size_t n = strlen(s->path);
    b->p->uses_gz |= n > 3 && strcmp(s->path + n - 3, ".gz") == 0;
    vec_push(b->arena, &b->p->sources, s);
    vec_push(b->arena, &info->sources, s);
    vec_push(b->arena, &info->calls, call);
    return s;
}

DataSource *data_source_of(const DataInfo *info, const Ast *call, const FieldUse *f) {
    for (int i = 0; i < info->calls.n; i++) {
        DataSource *s = info->sources.at[i];
        if (info->calls.at[i] == call && s->section == f->section && s->field == f->field)
            return s;
    }
    return NULL;
}

Value data_source(Build *b, Env *env, Ast *call) {
    FieldUse *f = b->field;
    if (!f) {
        build_error(b, call->span, "%s(…) belongs into a data declaration",
                    call->call.callee->name);
        return value_poison;
    }
    DataInfo *info = data_info(b, f->set);
    DataSource *s = data_source_of(info, call, f);
    if (!s)
        s = source_new(b, info, env, call);
    if (!s)
        return value_poison;
    s->used = s->used || !b->dry;
    Node *n = graph_batch(b->g, s, home_value(b, f->index), &s->row);
    return value_node(n);
}
