/* emit_buffers.c: struct nn's members, the accessors of buffers and sources, the table of values.
 */
#include "emit_c.h"
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

int c_value_of_scalar(const CEmit *x, int scalar) {
    return x->l->buffers.n + scalar;
}

int c_value_of_count(const CEmit *x, int count) {
    return x->l->buffers.n + x->p->scalars.n + count;
}

int c_count_values(const CEmit *x) {
    return x->l->buffers.n + x->p->scalars.n + x->p->counts.n;
}

const char *c_buffer_value(const CEmit *x, const Buffer *b) {
    return arena_printf(x->arena, "VALUE_%s", b->name);
}

const char *c_value_name(const CEmit *x, int value) {
    int scalar = value - x->l->buffers.n, count = scalar - x->p->scalars.n;
    if (scalar < 0)
        return c_buffer_value(x, x->l->buffers.at[value]);
    if (count < 0)
        return arena_printf(x->arena, "SCALAR_%s", x->p->scalars.at[scalar]->name);
    return arena_printf(x->arena, "COUNT_%s", x->p->counts.at[count]->name);
}

/* ---- sizes ---- */

static int most_batches(const CEmit *x) {
    int most = 0;
    for (int i = 0; i < x->p->regions.n; i++)
        most = MAX(most, c_count_batches(x, x->p->regions.at[i]));
    return most;
}

static bool is_parallel(const CEmit *x) {
    for (int i = 0; i < x->l->kernels.n; i++)
        if (x->l->kernels.at[i]->tiles > 1)
            return true;
    return false;
}

/* Values, splits and regions by name: ROWS_digits_train. */
static void emit_numbers(CEmit *x, int n, const char *(*name)(const CEmit *, int)) {
    Text t = {.arena = x->arena};
    for (int i = 0; i < n; i++)
        text_printf(&t, "%s%s%s", i ? " " : "", name(x, i), i + 1 < n ? "," : "");
    if (n)
        emit_words(&x->e, "enum {", t.at, "};");
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

void c_emit_sizes(CEmit *x) {
    const Program *p = x->p;
    Emit *e = &x->e;
    emit_line(e, "#define NN_PROGRAM %s", emit_string(x->arena, p->name));
    emit_line(
        e, "#define NN_VERSION %s",
        emit_string(x->arena, arena_printf(x->arena, "%s, made by nnc " NNC_VERSION " from %s",
                                           p->name, p->file)));
    emit_line(e, "#define NN_ARENA ((size_t)%lld)", (long long)MAX(x->l->arena_bytes, 64));
    emit_gap(e);
    emit_begin(e, "enum");
    emit_line(e, "NN_PARALLEL = %d, /* some region runs on more than one thread */",
              is_parallel(x));
    emit_line(e, "NN_VALUES = %d,", c_count_values(x));
    emit_line(e, "NN_WEIGHTS = %d, /* parameters and states */", c_count_weights(x));
    emit_line(e, "NN_REGIONS = %d,", p->regions.n);
    emit_line(e, "NN_BATCHES = %d,", most_batches(x));
    emit_line(e, "NN_SOURCES = %d,", p->sources.n);
    emit_line(e, "NN_SPLITS = %d,", p->splits.n);
    emit_line(e, "NN_LOOPS = %d,", p->loops.n);
    emit_line(e, "NN_OPTIONS = %d,", c_count_options(x));
    emit_line(e, "NN_TASKS = %d,", p->tasks.n + p->exports.n);
    emit_line(e, "NN_RECORDS = %d", x->records.n);
    emit_end(e, ";");
    emit_numbers(x, c_count_values(x), c_value_name);
    emit_numbers(x, p->regions.n, region_name);
    emit_numbers(x, p->splits.n, split_name);
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
    const Program *p = x->p;
    members_of_options(x);
    members_of_vars(x);
    c_emit_export_members(x);
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

static void emit_buffer_accessor(CEmit *x, const Buffer *b) {
    Text type = {.arena = x->arena}, cast = {.arena = x->arena};
    c_print_buffer_type(&type, b, arena_printf(x->arena, "at_%s(struct nn *nn)", b->name));
    c_print_buffer_type(&cast, b, "");
    emit_begin(&x->e, "RT_INLINE %s", type.at);
    emit_line(&x->e, "return (%s)(void *)(nn->arena + %lld);", cast.at, (long long)b->offset);
    emit_end(&x->e, "");
}

static void emit_source_accessor(CEmit *x, const DataSource *s) {
    Text name = {.arena = x->arena};
    c_print_source_accessor(&name, s);
    emit_begin(&x->e, "RT_INLINE const %s *%s(struct nn *nn)", c_type(s->dtype), name.at);
    emit_line(&x->e, "return (const %s *)nn->sources[%d].data;", c_type(s->dtype), s->id);
    emit_end(&x->e, "");
}

void c_emit_accessors(CEmit *x) {
    for (int i = 0; i < x->l->buffers.n; i++)
        emit_buffer_accessor(x, x->l->buffers.at[i]);
    for (int i = 0; i < x->p->sources.n; i++)
        if (x->p->sources.at[i]->used)
            emit_source_accessor(x, x->p->sources.at[i]);
}

/* ---- the table of values ---- */

static int counted_axis(const Shape *s) {
    for (int i = 0; i < s->rank; i++)
        if (s->dim[i].count)
            return i;
    return -1;
}

static void emit_buffer_value(CEmit *x, const Buffer *b) {
    const char *key = b->home ? b->home->path : b->name;
    Span span = b->home ? b->home->span : b->node ? b->node->span : (Span){0};
    const char *count = "-1, 0, 0";
    int axis = counted_axis(&b->shape);
    if (axis >= 0) {
        Dim d = b->shape.dim[axis];
        count = arena_printf(x->arena, "%d, %lld, offsetof(struct nn, counts.%s)", axis,
                             (long long)(d.n / d.count->bound), d.count->name);
    }
    emit_line(&x->e, "{{%s, %s, %s, %d, %s, NULL},", emit_string(x->arena, key),
              c_rt_type(b->dtype), b->layout == LAYOUT_ROWS ? "RT_ROW_MAJOR" : "RT_PANELS16",
              b->shape.rank, c_dims(x, &b->shape));
    emit_line(&x->e, " %s, %lld, false, %s}, /* %s */", emit_string(x->arena, c_where(x, span)),
              (long long)b->offset, count, c_buffer_value(x, b));
}

static void emit_host_value(CEmit *x, const char *key, const char *type, const char *member,
                            int row) {
    emit_line(&x->e, "{{%s, %s, RT_ROW_MAJOR, 0, {0}, NULL},", emit_string(x->arena, key), type);
    emit_line(&x->e, " \"\", offsetof(struct nn, %s), true, -1, 0, 0}, /* %s */", member,
              c_value_name(x, row));
}

void c_emit_values(CEmit *x) {
    const Program *p = x->p;
    emit_begin(&x->e, "static const struct nn_value nn_values[NN_VALUES + 1] =");
    for (int i = 0; i < x->l->buffers.n; i++)
        emit_buffer_value(x, x->l->buffers.at[i]);
    for (int i = 0; i < p->scalars.n; i++) {
        const char *member = arena_printf(x->arena, "scalars.%s", p->scalars.at[i]->name);
        emit_host_value(x, member, c_rt_type(p->scalars.at[i]->dtype), member,
                        c_value_of_scalar(x, i));
    }
    for (int i = 0; i < p->counts.n; i++) {
        const char *member = arena_printf(x->arena, "counts.%s", p->counts.at[i]->name);
        emit_host_value(x, member, "RT_I64", member, c_value_of_count(x, i));
    }
    emit_line(&x->e, "{{NULL, RT_F32, RT_ROW_MAJOR, 0, {0}, NULL}, NULL, 0, false, -1, 0, 0},");
    emit_end(&x->e, ";");
}
