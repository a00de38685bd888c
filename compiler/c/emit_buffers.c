/* emit_buffers.c: struct nn's members, the accessors of buffers and sources, the table of values.
 */
#include "../cuda/emit_device.h"
#include <string.h>

Buffer *c_home_buffer(const CEmit *x, const Home *h) {
    Buffer *b = lower_buffer_of_home(x->l, h);
    if (!b)
        bug("emit: home '%s' has no buffer", h->path);
    return b;
}

Buffer *c_node_buffer(const CEmit *x, const Node *n) {
    Buffer *b = lower_buffer_of_node(x->l, n);
    if (!b)
        bug("emit: node %d (%s) is read by the host and was never stored", n->id,
            op_info[n->op].name);
    return b;
}

/* ---- numbers of values ---- */

int c_value_of_scalar(const CEmit *x, const Scalar *s) {
    return x->values.scalars + s->id;
}

int c_value_of_count(const CEmit *x, const Count *c) {
    return x->values.counts + c->id;
}

static const bool *touched_buffers(const CEmit *x) {
    bool *touched = NEW_ARRAY(x->arena, bool, x->l->buffers.n + 1);
    for (int i = 0; i < x->l->kernels.n; i++) {
        const Kernel *k = x->l->kernels.at[i];
        for (int j = 0; j < k->reads.n; j++)
            touched[k->reads.at[j].buffer->id] = true;
        for (int j = 0; j < k->writes.n; j++)
            touched[k->writes.at[j].buffer->id] = true;
    }
    return touched;
}

static bool has_own_row(const Buffer *b) {
    return !b->region || !b->family;
}

/* The buffer, or all of its family where it is the first of them. */
static void number_buffer(CEmit *x, const Buffer *b, int *number) {
    Values *v = &x->values;
    int n = b->family ? b->family->copies.n : 1;
    if (b->family && b != b->family->copies.at[0])
        return;
    for (int i = 0; i < n; i++) {
        const Buffer *copy = b->family ? b->family->copies.at[i] : b;
        number[copy->id] = v->buffers.n;
        vec_push(x->arena, &v->buffers, copy);
    }
}

void c_number_values(CEmit *x) {
    const Lowered *l = x->l;
    Values *v = &x->values;
    int *number = NEW_ARRAY(x->arena, int, l->buffers.n + 1);
    v->touched = touched_buffers(x);
    v->number = number;
    for (int i = 0; i < l->buffers.n; i++)
        if (c_is_weight(l->buffers.at[i]))
            number_buffer(x, l->buffers.at[i], number);
    v->weights = v->buffers.n;
    for (int i = 0; i < l->buffers.n; i++) {
        const Buffer *b = l->buffers.at[i];
        if (!c_is_weight(b) && has_own_row(b) && (b->home || v->touched[i]))
            number_buffer(x, b, number);
    }
    v->scalars = v->buffers.n;
    v->counts = v->scalars + x->p->scalars.n;
    v->rows = v->counts + x->p->counts.n;
    int next = v->rows;
    for (int i = 0; i < l->families.n; i++) {
        const Family *f = l->families.at[i];
        if (has_own_row(f->copies.at[0]))
            continue;
        vec_push(x->arena, &v->families, f);
        for (int k = 0; k < f->copies.n; k++)
            number[f->copies.at[k]->id] = next++;
    }
    v->all = next;
    if (x->gpu)
        cuda_prepare(x);
}

static const char *buffer_name(const Buffer *b) {
    return b->family ? b->family->name : b->name;
}

const char *c_buffer_value(const CEmit *x, const Buffer *b) {
    if (b->family && b->copy)
        return arena_printf(x->arena, "VALUE_%s + %d", b->family->name, b->copy);
    return arena_printf(x->arena, "VALUE_%s", buffer_name(b));
}

const char *c_at(const CEmit *x, const char *at, const Buffer *b) {
    if (b->family && b->family->stride)
        return arena_printf(x->arena, "%s_%s(nn, %d)", at, b->family->name, b->copy);
    return arena_printf(x->arena, "%s_%s(nn)", at, buffer_name(b));
}

const char *c_value_name(const CEmit *x, int value) {
    const Values *v = &x->values;
    if (value < v->scalars)
        return c_buffer_value(x, v->buffers.at[value]);
    if (value < v->counts)
        return arena_printf(x->arena, "SCALAR_%s", x->p->scalars.at[value - v->scalars]->name);
    return arena_printf(x->arena, "COUNT_%s", x->p->counts.at[value - v->counts]->name);
}

/* ---- sizes ---- */

static int most_batches(const CEmit *x) {
    int most = 0;
    for (int i = 0; i < x->p->regions.n; i++)
        most = MAX(most, x->regions[i].batches.n);
    return most;
}

static bool is_parallel(const CEmit *x) {
    for (int i = 0; i < x->p->regions.n; i++)
        if (x->regions[i].parallel)
            return true;
    return false;
}

static void emit_enum(CEmit *x, const Text *names) {
    if (names->n)
        emit_words(&x->e, "enum { ", names->at, " };");
}

/* Enumerators in one list: splits and regions by name. */
static void emit_numbers(CEmit *x, int n, const char *(*name)(const CEmit *, int)) {
    Text t = {.arena = x->arena};
    for (int i = 0; i < n; i++)
        text_printf(&t, "%s%s", i ? ", " : "", name(x, i));
    emit_enum(x, &t);
}

/* One enumerator: "VALUE_h", behind others "VALUE_h = 12". Returns the number of the next. */
static int add_number(Text *t, const char *name, int number, int next) {
    text_printf(t, "%s%s", t->n ? ", " : "", name);
    if (number != next)
        text_printf(t, " = %d", number);
    return number + 1;
}

/* Memory of the host's arena, where NN_AT names it. */
static bool has_accessor(const CEmit *x, const Buffer *b) {
    return (x->cpu || !b->region) && (b->home || x->values.touched[b->id]) && !b->copy;
}

/* A value of a region of the CPU. */
static bool is_on_host(const CEmit *x, const Buffer *b) {
    return x->cpu && b->id < x->cpu->buffers.n && x->cpu->buffers.at[b->id] == b;
}

/* Of the values that no NN_AT numbers. */
static void emit_value_numbers(CEmit *x) {
    const Values *v = &x->values;
    Text t = {.arena = x->arena};
    int next = 0;
    for (int i = 0; i < v->rows; i++)
        if (i >= v->scalars || (!v->buffers.at[i]->copy && !has_accessor(x, v->buffers.at[i])))
            next = add_number(&t, c_value_name(x, i), i, next);
    for (int i = 0, number = v->rows; i < v->families.n; i++) {
        const Buffer *first = v->families.at[i]->copies.at[0];
        if (!is_on_host(x, first))
            next = add_number(&t, cuda_value(x, first), number, next);
        number += v->families.at[i]->copies.n;
    }
    for (int i = 0; i < v->locals.n; i++)
        next = add_number(&t, cuda_value(x, v->locals.at[i]), v->all + i, next);
    emit_enum(x, &t);
}

const char *c_split_name(const CEmit *x, const Split *s) {
    return arena_printf(x->arena, "ROWS_%s", arena_identifier(x->arena, s->name));
}

static const char *split_name(const CEmit *x, int i) {
    return c_split_name(x, x->p->splits.at[i]);
}

static const char *region_name(const CEmit *x, int i) {
    return arena_printf(x->arena, "REGION_%s", x->p->regions.at[i]->name);
}

static const char *record_name(const CEmit *x, int i) {
    return c_record_name(x, x->records.at[i]);
}

void c_emit_sizes(CEmit *x) {
    const Program *p = x->p;
    Emit *e = &x->e;
    emit_line(e, "#define NN_PROGRAM %s", emit_string(x->arena, p->name));
    emit_line(
        e, "#define NN_VERSION %s",
        emit_string(x->arena, arena_printf(x->arena, "%s, made by nnc " NNC_VERSION " from %s",
                                           p->name, p->file)));
    if (x->cpu)
        emit_line(e, "#define NN_ARENA ((size_t)%lld)", (long long)MAX(x->l->arena_bytes, 64));
    if (x->gpu)
        cuda_emit_sizes(x);
    emit_gap(e);
    emit_begin(e, "enum");
    emit_line(e, "NN_PARALLEL = %d, /* some region runs on more than one thread */",
              is_parallel(x));
    emit_line(e, "NN_VALUES = %d,", x->values.rows);
    emit_line(e, "NN_WEIGHTS = %d, /* the first of them: parameters and states */",
              x->values.weights);
    emit_line(e, "NN_GIVEN = %d, /* from here on: scalars and counts of struct nn */",
              x->values.scalars);
    emit_line(e, "NN_REGIONS = %d,", p->regions.n);
    emit_line(e, "NN_BATCHES = %d,", most_batches(x));
    emit_line(e, "NN_SOURCES = %d,", p->sources.n);
    emit_line(e, "NN_SPLITS = %d,", p->splits.n);
    emit_line(e, "NN_LOOPS = %d,", p->loops.n);
    emit_line(e, "NN_OPTIONS = %d,", c_count_options(x));
    emit_line(e, "NN_TASKS = %d,", p->tasks.n + p->exports.n);
    emit_line(e, "NN_RECORDS = %d", x->records.n);
    emit_end(e, ";");
    emit_value_numbers(x);
    emit_numbers(x, p->regions.n, region_name);
    emit_numbers(x, p->splits.n, split_name);
    emit_numbers(x, x->records.n, record_name);
}

/* ---- members ---- */

static const char *host_type(HType t) {
    static const char *const names[] = {[HT_INT] = "int64_t ",
                                        [HT_REAL] = "double ",
                                        [HT_BOOL] = "bool ",
                                        [HT_STRING] = "const char *"};
    return names[t];
}

static void members_of_options(CEmit *x) {
    if (!x->p->options.n)
        return;
    emit_begin(&x->e, "struct");
    for (int i = 0; i < x->p->options.n; i++) {
        const Option *o = x->p->options.at[i];
        emit_line(&x->e, "%s%s;", host_type(o->type), emit_name(x->arena, o->name));
    }
    emit_end(&x->e, " options;");
}

static void members_of_vars(CEmit *x) {
    const Program *p = x->p;
    if (!p->vars.n)
        return;
    int strings = 0;
    emit_begin(&x->e, "struct");
    for (int i = 0; i < p->vars.n; i++) {
        const HostVar *v = p->vars.at[i];
        emit_line(&x->e, "%s%s;", host_type(v->type), emit_name(x->arena, v->name));
        strings += v->type == HT_STRING;
    }
    emit_end(&x->e, " vars; /* of tasks; the counters of their loops */");
    if (!strings)
        return;
    emit_begin(&x->e, "struct");
    for (int i = 0; i < p->vars.n; i++)
        if (p->vars.at[i]->type == HT_STRING)
            emit_line(&x->e, "struct rt_buf %s;", emit_name(x->arena, p->vars.at[i]->name));
    emit_end(&x->e, " strings; /* memory of the vars that hold text */");
}

void c_emit_members(CEmit *x) {
    members_of_options(x);
    members_of_vars(x);
    c_emit_export_members(x);
    c_emit_given(x);
}

void c_emit_given(CEmit *x) {
    const Program *p = x->p;
    if (p->scalars.n) {
        emit_begin(&x->e, "struct");
        for (int i = 0; i < p->scalars.n; i++)
            emit_line(&x->e, "%s %s;", c_type(p->scalars.at[i]->dtype), p->scalars.at[i]->name);
        emit_end(&x->e, " scalars; /* given to regions */");
    }
    if (p->counts.n) {
        emit_begin(&x->e, "struct");
        for (int i = 0; i < p->counts.n; i++)
            emit_line(&x->e, "int64_t %s; /* at most %lld */", p->counts.at[i]->name,
                      (long long)p->counts.at[i]->bound);
        emit_end(&x->e, " counts; /* extents known at run time */");
    }
}

/* ---- accessors ---- */

const char *c_place_of(const CEmit *x, const Buffer *b) {
    const Family *f = b->family;
    long long offset = (long long)(f ? f->offset : b->offset);
    if (!f || !f->stride)
        return arena_printf(x->arena, "%lld", offset);
    const char *i = f->shift ? arena_printf(x->arena, "(i + %d)", f->shift) : "i";
    if (f->rotate < f->copies.n)
        i = arena_printf(x->arena, "%s %% %d", i, f->rotate);
    return arena_printf(x->arena, "%lld + %s * %lldLL", offset, i, (long long)f->stride);
}

/* First and last kernel that touches a buffer, by the id of the first of its family. */
typedef struct Uses {
    int *first, *last;
} Uses;

static void note_uses(const Uses *u, int kernel, int n, const Access *list) {
    for (int i = 0; i < n; i++) {
        const Buffer *b = list[i].buffer;
        int id = b->family ? b->family->copies.at[0]->id : b->id;
        u->first[id] = u->first[id] < 0 ? kernel : u->first[id];
        u->last[id] = kernel;
    }
}

static Uses find_uses(const CEmit *x, const Lowered *l) {
    int n = l->buffers.n;
    Uses u = {NEW_ARRAY(x->arena, int, n + 1), NEW_ARRAY(x->arena, int, n + 1)};
    for (int i = 0; i < n; i++)
        u.first[i] = -1;
    for (int k = 0; k < l->kernels.n; k++) {
        note_uses(&u, k, l->kernels.at[k]->reads.n, l->kernels.at[k]->reads.at);
        note_uses(&u, k, l->kernels.at[k]->writes.n, l->kernels.at[k]->writes.at);
    }
    return u;
}

/* NN_AT(30, float, relu, [256], 1088576) and what is known of it in a comment. */
static void emit_buffer_accessor(CEmit *x, const Buffer *b, const Uses *u) {
    const Family *f = b->family;
    const char *layer = f && f->stride ? "_LAYER" : "";
    const char *at =
        arena_printf(x->arena, "NN_AT%s(%d, %s, %s, %s, %s)", layer, x->values.number[b->id],
                     c_type(b->dtype), buffer_name(b), c_print_buffer_rows(x->arena, b),
                     c_place_of(x, b));
    Text note = {.arena = x->arena};
    text_printf(&note, "%s", shape_text(x->arena, &b->shape));
    if (f)
        text_printf(&note, ", %d of them", f->copies.n);
    if (b->region && u->first[b->id] >= 0)
        text_printf(&note, ", kernels %d-%d", u->first[b->id], u->last[b->id]);
    emit_line(&x->e, "%-62s /* %s */", at, note.at);
}

static void emit_buffer_accessors(CEmit *x, const char *title, bool (*is)(const Buffer *b)) {
    const Lowered *l = x->l;
    const Uses u = find_uses(x, l);
    bool any = false;
    for (int i = 0; i < l->buffers.n; i++) {
        const Buffer *b = l->buffers.at[i];
        if (!is(b) || !has_accessor(x, b))
            continue;
        if (!any)
            emit_line(&x->e, "%s", title);
        emit_buffer_accessor(x, b, &u);
        any = true;
    }
    if (any)
        emit_gap(&x->e);
}

static void emit_source_accessor(CEmit *x, const DataSource *s) {
    emit_line(&x->e, "NN_SOURCE(%d, %s, %s)", s->id, c_type(s->dtype), c_source_name(x->arena, s));
}

static bool is_kept(const Buffer *b) {
    return !b->region && !c_is_weight(b);
}

static bool is_of_region(const Buffer *b) {
    return b->region;
}

void c_emit_accessors(CEmit *x) {
    emit_buffer_accessors(x, "/* parameters and states */", c_is_weight);
    emit_buffer_accessors(
        x, "/* what else outlives a region: optimizers, batches, variables, results */", is_kept);
    emit_buffer_accessors(x, "/* values of one region: two that no kernel needs at the same time "
                             "may have the same memory */",
                          is_of_region);
    for (int i = 0; x->cpu && i < x->p->sources.n; i++)
        if (x->p->sources.at[i]->used)
            emit_source_accessor(x, x->p->sources.at[i]);
}

/* ---- the table of values ---- */

typedef VEC(const Buffer *) BufferRows;

static int counted_axis(const Shape *s) {
    for (int i = 0; i < s->rank; i++)
        if (s->dim[i].count)
            return i;
    return -1;
}

/* One row; of a family that shares it: of its first copy. */
static void emit_buffer_value(CEmit *x, const Buffer *b) {
    const char *key = b->home ? b->home->path : buffer_name(b);
    Span span = b->home ? b->home->span : b->node ? b->node->span : (Span){0};
    bool shared = b->family && !has_own_row(b);
    emit_line(&x->e, "{{%s, %s, %s, %d, %s, NULL}, %lld, %s%s},", emit_string(x->arena, key),
              c_rt_type(b->dtype), b->layout == LAYOUT_ROWS ? "RT_ROW_MAJOR" : "RT_PANELS16",
              b->shape.rank, c_dims(x, &b->shape),
              (long long)(shared ? b->family->offset : b->offset), x->gpu ? cuda_offset(x, b) : "",
              emit_string(x->arena, c_where(x, span)));
}

static void emit_host_value(CEmit *x, const char *key, const char *type) {
    emit_line(&x->e, "{{%s, %s, RT_ROW_MAJOR, 0, {0}, NULL}, offsetof(struct nn, %s), %s\"\"},",
              emit_string(x->arena, key), type, key, x->gpu ? "0, " : "");
}

/* All rows in their order; of scalars and counts NULL. */
static void collect_rows(const CEmit *x, BufferRows *rows) {
    const Values *v = &x->values;
    for (int i = 0; i < v->rows; i++)
        vec_push(x->arena, rows, i < v->scalars ? v->buffers.at[i] : NULL);
    for (int i = 0; i < v->families.n; i++)
        vec_push(x->arena, rows, v->families.at[i]->copies.at[0]);
    for (int i = 0; i < v->locals.n; i++)
        vec_push(x->arena, rows, v->locals.at[i]);
}

static void emit_counted(CEmit *x, const BufferRows *rows) {
    emit_begin(&x->e, "static const struct nn_counted nn_counted[] =");
    for (int i = 0; i < rows->n; i++) {
        const Buffer *b = rows->at[i];
        int axis = b ? counted_axis(&b->shape) : -1;
        if (axis < 0)
            continue;
        Dim d = b->shape.dim[axis];
        emit_line(&x->e, "{%d, %d, %lld, offsetof(struct nn, counts.%s)}, /* %s */", i, axis,
                  (long long)(d.n / d.count->bound), d.count->name, buffer_name(b));
    }
    emit_line(&x->e, "{-1, 0, 0, 0},");
    emit_end(&x->e, ";");
}

bool c_has_copies(const CEmit *x) {
    return x->values.families.n;
}

static void emit_copies(CEmit *x) {
    if (!c_has_copies(x))
        return;
    emit_begin(&x->e, "static const struct nn_copies nn_copies[] =");
    for (int i = 0; i < x->values.families.n; i++) {
        const Family *f = x->values.families.at[i];
        emit_line(&x->e, "{%d, %d, %d, %lld}, /* %s */", f->copies.n, f->shift, f->rotate,
                  (long long)f->stride, f->name);
    }
    emit_line(&x->e, "{0, 0, 1, 0},");
    emit_end(&x->e, ";");
}

void c_emit_values(CEmit *x) {
    const Program *p = x->p;
    const Values *v = &x->values;
    BufferRows rows = {0};
    collect_rows(x, &rows);
    emit_begin(&x->e, "static const struct nn_value nn_values[] =");
    for (int i = 0; i < rows.n; i++) {
        const int scalar = i - v->scalars, count = i - v->counts;
        if (rows.at[i])
            emit_buffer_value(x, rows.at[i]);
        else if (count < 0)
            emit_host_value(x, arena_printf(x->arena, "scalars.%s", p->scalars.at[scalar]->name),
                            c_rt_type(p->scalars.at[scalar]->dtype));
        else
            emit_host_value(x, arena_printf(x->arena, "counts.%s", p->counts.at[count]->name),
                            "RT_I64");
    }
    emit_line(&x->e, "{{NULL, RT_F32, RT_ROW_MAJOR, 0, {0}, NULL}, 0, %sNULL},",
              x->gpu ? "0, " : "");
    emit_end(&x->e, ";");
    emit_copies(x);
    emit_counted(x, &rows);
}
