/* emit_main.c: what the command line knows: parameters, options, tasks. */
#include "../cuda/emit_device.h"
#include <string.h>

bool c_is_weight(const Buffer *b) {
    return b->home && (b->home->kind == HOME_PARAM || b->home->kind == HOME_STATE);
}

void c_emit_record_names(CEmit *x) {
    if (!x->records.n)
        return;
    emit_begin(&x->e, "static const char *const nn_record_names[NN_RECORDS + 1] =");
    for (int i = 0; i < x->records.n; i++)
        emit_line(&x->e, "%s,", emit_string(x->arena, x->records.at[i]));
    emit_line(&x->e, "NULL,");
    emit_end(&x->e, ";");
}

/* ---- options ---- */

static const char *default_of(CEmit *x, const Option *o) {
    switch (o->type) {
    case HT_INT:
        return arena_printf(x->arena, "%lldLL", (long long)o->i);
    case HT_REAL:
        return emit_double(x->arena, o->f);
    case HT_BOOL:
        return o->i ? "true" : "false";
    case HT_STRING:
        return emit_string(x->arena, o->s);
    }
    bug("emit: option of type %d", (int)o->type);
}

static void emit_options(CEmit *x) {
    static const char *const kinds[] = {[HT_INT] = "RT_OPT_INT",
                                        [HT_REAL] = "RT_OPT_REAL",
                                        [HT_BOOL] = "RT_OPT_BOOL",
                                        [HT_STRING] = "RT_OPT_STRING"};
    emit_line(&x->e, "/* Defaults, and where the command line puts what it is given. */");
    emit_begin(&x->e, "RT_FN void nn_options(struct nn *nn)");
    if (!c_count_options(x))
        emit_line(&x->e, "(void)nn;");
    for (int i = 0; i < x->p->options.n; i++) {
        const Option *o = x->p->options.at[i];
        const char *name = emit_name(x->arena, o->name);
        emit_line(&x->e, "nn->options.%s = %s;", name, default_of(x, o));
        emit_line(&x->e, "nn->option_list[%d].name = %s;", i, emit_string(x->arena, o->name));
        emit_line(&x->e, "nn->option_list[%d].kind = %s;", i, kinds[o->type]);
        if (o->help)
            emit_line(&x->e, "nn->option_list[%d].help = %s;", i, emit_string(x->arena, o->help));
        emit_line(&x->e, "nn->option_list[%d].value = (void *)&nn->options.%s;", i, name);
    }
    c_emit_export_options(x);
    emit_end(&x->e, "");
    emit_gap(&x->e);
}

static void emit_strings(CEmit *x, const char *function, bool init) {
    emit_begin(&x->e, "RT_FN void %s(struct nn *nn)", function);
    emit_line(&x->e, "(void)nn;");
    for (int i = 0; i < x->p->vars.n; i++) {
        const HostVar *v = x->p->vars.at[i];
        if (v->type != HT_STRING)
            continue;
        const char *name = emit_name(x->arena, v->name);
        if (init) {
            emit_line(&x->e, "rt_buf_init(&nn->strings.%s, &nn->rt, (size_t)1 << 20);", name);
            emit_line(&x->e, "nn->vars.%s = \"\";", name);
        } else {
            emit_line(&x->e, "rt_buf_free(&nn->strings.%s);", name);
        }
    }
    emit_end(&x->e, "");
    emit_gap(&x->e);
}

/* ---- tasks ---- */

static bool has_prologue(const DataSet *d) {
    return d->prologue && d->prologue->stmts.n;
}

static bool is_prepared(const Task *t) {
    for (int i = 0; i < t->sets.n; i++)
        if (has_prologue(t->sets.at[i]))
            return true;
    return false;
}

static void emit_task(CEmit *x, const Task *t) {
    emit_begin(&x->e, "RT_FN enum rt_status data_%s(struct nn *nn)", t->name);
    SavePaths paths = {0};
    program_save_paths(x->arena, t->body, &paths);
    if (!t->sets.n && !paths.n)
        emit_line(&x->e, "(void)nn;");
    for (int i = 0; i < paths.n; i++)
        emit_line(&x->e, "NN_TRY(rt_out_check(&nn->rt, %s));", c_expr(x, paths.at[i]));
    for (int i = 0; i < t->sets.n; i++)
        emit_line(&x->e, "NN_TRY(load_%s(nn));", t->sets.at[i]->name);
    emit_line(&x->e, "return RT_OK;");
    emit_end(&x->e, "");
    emit_gap(&x->e);
    if (is_prepared(t)) {
        emit_begin(&x->e, "static enum rt_status ready_%s(struct nn *nn)", t->name);
        for (int i = 0; i < t->sets.n; i++)
            if (has_prologue(t->sets.at[i]))
                emit_line(&x->e, "NN_TRY(prepare_%s(nn));", t->sets.at[i]->name);
        emit_line(&x->e, "return RT_OK;");
        emit_end(&x->e, "");
        emit_gap(&x->e);
    }
    c_emit_block_function(x, arena_printf(x->arena, "task_%s", t->name), t->body);
}

static void emit_task_tables(CEmit *x) {
    emit_begin(&x->e, "static const struct nn_task nn_tasks[NN_TASKS + 1] =");
    for (int i = 0; i < x->p->tasks.n; i++) {
        const Task *t = x->p->tasks.at[i];
        emit_line(&x->e, "{%s, data_%s, %s, task_%s, %s},", emit_string(x->arena, t->name), t->name,
                  is_prepared(t) ? arena_printf(x->arena, "ready_%s", t->name) : "NULL", t->name,
                  t->needs_weights ? "true" : "false");
    }
    for (int i = 0; i < x->p->exports.n; i++) {
        const Export *e = x->p->exports.at[i];
        emit_line(&x->e, "{%s, NULL, NULL, export_%s, %s},", emit_string(x->arena, e->name),
                  e->name, c_export_needs_weights(x, e) ? "true" : "false");
    }
    emit_line(&x->e, "{NULL, NULL, NULL, NULL, false},");
    emit_end(&x->e, ";");
    emit_begin(&x->e, "static const struct rt_task nn_task_names[NN_TASKS + 1] =");
    for (int i = 0; i < x->p->tasks.n; i++) {
        const Task *t = x->p->tasks.at[i];
        emit_line(&x->e, "{%s, %s},", emit_string(x->arena, t->name),
                  t->training ? "\"trains\"" : "NULL");
    }
    for (int i = 0; i < x->p->exports.n; i++)
        emit_line(&x->e, "{%s, \"a function\"},", emit_string(x->arena, x->p->exports.at[i]->name));
    emit_line(&x->e, "{NULL, NULL},");
    emit_end(&x->e, ";");
    emit_gap(&x->e);
}

void c_emit_tasks(CEmit *x) {
    c_emit_block_function(x, "nn_first", x->p->start);
    for (int i = 0; i < x->p->tasks.n; i++)
        emit_task(x, x->p->tasks.at[i]);
    emit_task_tables(x);
    emit_options(x);
    emit_strings(x, "nn_init_strings", true);
    emit_strings(x, "nn_free_strings", false);
}
