/* emit_export.c: `export fn` as sub-commands: tables for templates/export.c. */
#include "../cuda/emit_device.h"
#include <string.h>

static bool is_free(const Export *e, const Home *h) {
    return e->rows && h->shape.rank && h->shape.dim[0].count == e->rows;
}

/* Is it an argument of an earlier export too? Then they share one option. */
static bool seen_before(const CEmit *x, int export, int arg) {
    const char *name = x->p->exports.at[export]->args[arg]->name;
    for (int i = 0; i <= export; i++) {
        const Export *e = x->p->exports.at[i];
        for (int j = 0; j < (i < export ? e->nargs : arg); j++)
            if (strcmp(e->args[j]->name, name) == 0)
                return true;
    }
    return false;
}

/* A name that no option of the program has. */
const char *c_option_name(const CEmit *x, const char *wish, const char *else_add) {
    for (int i = 0; i < x->p->options.n; i++)
        if (strcmp(x->p->options.at[i]->name, wish) == 0)
            return c_option_name(x, arena_printf(x->arena, "%s%s", wish, else_add), else_add);
    return wish;
}

void c_collect_arguments(CEmit *x) {
    for (int i = 0; i < x->p->exports.n; i++)
        for (int j = 0; j < x->p->exports.at[i]->nargs; j++)
            if (!seen_before(x, i, j))
                vec_push(x->arena, &x->arguments, x->p->exports.at[i]->args[j]->name);
}

int c_count_options(const CEmit *x) {
    return x->p->options.n + x->arguments.n + (x->p->exports.n > 0) + (x->gpu ? 2 : 0);
}

void c_emit_export_members(CEmit *x) {
    if (!x->p->exports.n)
        return;
    emit_line(&x->e, "const char *options_files[%d]; /* arguments of exports */",
              MAX(x->arguments.n, 1));
    emit_line(&x->e, "const char *options_output;");
}

/* The exports that have this argument; NULL: all exports. */
static const char *takers(const CEmit *x, const char *argument) {
    Text names = {.arena = x->arena};
    for (int i = 0; i < x->p->exports.n; i++) {
        const Export *e = x->p->exports.at[i];
        bool takes = !argument;
        for (int j = 0; j < e->nargs && !takes; j++)
            takes = strcmp(e->args[j]->name, argument) == 0;
        if (takes)
            text_printf(&names, "%s%s", names.n ? ", " : "", e->name);
    }
    return names.at;
}

static void emit_string_option(CEmit *x, int i, const char *name, const char *argument,
                               const char *at) {
    const char *help = argument ? "an argument: a .npy file" : "where a result goes: a .npy file";
    emit_line(&x->e, "nn->option_list[%d].name = %s;", i, emit_string(x->arena, name));
    emit_line(&x->e, "nn->option_list[%d].kind = RT_OPT_STRING;", i);
    emit_line(&x->e, "nn->option_list[%d].help = \"%s\";", i, help);
    emit_line(&x->e, "nn->option_list[%d].value = (void *)&nn->%s;", i, at);
    emit_line(&x->e, "nn->option_list[%d].only = %s;", i,
              emit_string(x->arena, takers(x, argument)));
    emit_line(&x->e, "nn->%s = \"\";", at);
}

void c_emit_export_options(CEmit *x) {
    int n = x->p->options.n;
    for (int i = 0; i < x->arguments.n; i++)
        emit_string_option(x, n + i, c_option_name(x, x->arguments.at[i], "_file"),
                           x->arguments.at[i], arena_printf(x->arena, "options_files[%d]", i));
    if (x->p->exports.n)
        emit_string_option(x, n + x->arguments.n, c_option_name(x, "output", "_file"),
                           NULL, "options_output");
    if (x->gpu)
        cuda_emit_options(x, n + x->arguments.n + (x->p->exports.n > 0));
}

static int option_of(const CEmit *x, const char *name) {
    int i = 0;
    while (strcmp(x->arguments.at[i], name) != 0)
        i++;
    return x->p->options.n + i;
}

static void emit_arguments(CEmit *x, const Export *e) {
    emit_begin(&x->e, "static const struct nn_argument arguments[] =");
    for (int i = 0; i < e->nargs; i++) {
        const Home *h = e->args[i];
        Shape row = h->shape.rank ? shape_without(&h->shape, 1) : h->shape;
        emit_line(&x->e, "{{%s, %s, %d, %s, NULL, 0}, %d, %s, %s, %lld},",
                  emit_string(x->arena, h->name), c_rt_type(h->dtype), row.rank, c_dims(x, &row),
                  option_of(x, h->name), c_buffer_value(x, c_home_buffer(x, h)),
                  is_free(e, h) ? "true" : "false",
                  h->shape.rank ? (long long)h->shape.dim[0].n : 1LL);
    }
    emit_line(&x->e, "{{NULL, RT_F32, 0, {0}, NULL, 0}, 0, 0, false, 0},");
    emit_end(&x->e, ";");
}

static bool has_scalars(const CEmit *x, const Region *r) {
    for (int i = 0; i < x->p->scalars.n; i++)
        if (x->p->scalars.at[i]->region == r)
            return true;
    return false;
}

static void emit_export(CEmit *x, const Export *e) {
    bool scalars = has_scalars(x, e->region);
    if (scalars) {
        emit_begin(&x->e, "RT_FN void scalars_%s(struct nn *nn)", e->name);
        c_emit_scalars(x, e->region);
        emit_end(&x->e, "");
        emit_gap(&x->e);
    }
    emit_begin(&x->e, "RT_FN enum rt_status export_%s(struct nn *nn)", e->name);
    emit_arguments(x, e);
    Text outputs = {.arena = x->arena};
    for (int i = 0; i < e->noutputs; i++)
        text_printf(&outputs, "%s%s", i ? ", " : "",
                    c_buffer_value(x, c_node_buffer(x, e->outputs[i])));
    emit_words(&x->e, "static const int outputs[] = {", outputs.n ? outputs.at : "-1", "};");
    emit_begin(&x->e, "static const struct nn_export self =");
    emit_line(&x->e, "REGION_%s, arguments, %d, outputs, %d, %lld, %s, %s,",
              e->region->name, e->nargs, e->noutputs, e->rows ? (long long)e->rows->bound : 0LL,
              e->rows ? arena_printf(x->arena, "offsetof(struct nn, counts.%s)", e->rows->name)
                      : "0",
              scalars ? arena_printf(x->arena, "scalars_%s", e->name) : "NULL");
    emit_end(&x->e, ";");
    emit_line(&x->e, "return nn_export(nn, &self);");
    emit_end(&x->e, "");
    emit_gap(&x->e);
}

void c_emit_exports(CEmit *x) {
    for (int i = 0; i < x->p->exports.n; i++)
        emit_export(x, x->p->exports.at[i]);
}

/* Does the region read what some task trains? */
bool c_export_needs_weights(const CEmit *x, const Export *e) {
    for (int i = 0; i < x->l->kernels.n; i++) {
        const Kernel *k = x->l->kernels.at[i];
        for (int j = 0; k->region == e->region && j < k->reads.n; j++)
            if (k->reads.at[j].buffer->home && k->reads.at[j].buffer->home->trained)
                return true;
    }
    return false;
}
