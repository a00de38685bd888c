/* emit_run.c: the copies of a run as a loop over layers: its head, and what a call in it is handed.
 */
#include "../cuda/emit_device.h"
#include <stdlib.h>

/* ---- what a call is handed in a loop ---- */

static const Kernel *next_copy(const RunLoop *c) {
    return c->l->kernels.at[c->kernel + c->run.period];
}

/* The same buffer of the same call in the next copy. */
static const Buffer *in_next_copy(const RunLoop *c, const Buffer *b) {
    const Kernel *k = c->l->kernels.at[c->kernel], *next = next_copy(c);
    for (int i = 0; i < k->reads.n; i++)
        if (k->reads.at[i].buffer == b)
            return next->reads.at[i].buffer;
    for (int i = 0; i < k->writes.n; i++)
        if (k->writes.at[i].buffer == b)
            return next->writes.at[i].buffer;
    bug("emit: kernel '%s' has no buffer '%s'", k->name, b->name);
}

/* Copy rest + sign * the loop variable of a family. */
typedef struct CopyOfLayer {
    int sign, rest;
} CopyOfLayer;

static CopyOfLayer copy_of_layer(const RunLoop *c, const Buffer *b) {
    int sign = in_next_copy(c, b)->copy - b->copy == c->step ? 1 : -1;
    return (CopyOfLayer){sign, b->copy - sign * c->lead};
}

static const char *in_terms_of(const RunLoop *c, const char *what, int rest) {
    return !rest ? what
                 : arena_printf(c->x->arena, "%s %c %d", what, rest < 0 ? '-' : '+', abs(rest));
}

/* "layer", "layer + 1", "11 - layer" */
static const char *layer_of(const RunLoop *c, const Buffer *b) {
    CopyOfLayer of = copy_of_layer(c, b);
    if (of.sign < 0)
        return arena_printf(c->x->arena, "%d - %s", of.rest, c->var);
    return in_terms_of(c, c->var, of.rest);
}

static bool varies(const RunLoop *c, const Buffer *b) {
    return c->run.copies && in_next_copy(c, b) != b;
}

static const char *call_buffer(void *arg, const Buffer *b) {
    const RunLoop *c = arg;
    if (!varies(c, b) || !b->family->stride)
        return c_at(c->x, c->at, b);
    return arena_printf(c->x->arena, "%s_%s(nn, %s)", c->at, b->family->name, layer_of(c, b));
}

/* `static const TYPE WHAT_of_KERNEL[] = {…};` of the numbers of all copies, by layer. Returns what
 * stands for the one of the copy, or for the number when all are equal. */
static const char *number_in_loop(RunLoop *c, const char *type, const char *what,
                                  const char *format, const int64_t *of_copy) {
    int n = c->run.copies, low = c->step > 0 ? c->lead : c->lead - n + 1;
    Text all = {.arena = c->x->arena};
    bool equal = true;
    for (int i = 0; i < n; i++) {
        text_add(&all, i ? ", " : "");
        text_printf(&all, format, (unsigned)of_copy[c->step > 0 ? i : n - 1 - i]);
        equal &= of_copy[i] == of_copy[0];
    }
    if (equal)
        return arena_printf(c->x->arena, format, (unsigned)of_copy[0]);
    const char *name = arena_printf(c->x->arena, "%s_of_%s", what,
                                    c->l->kernels.at[c->kernel]->name);
    name = names_unique(c->tables, name, "_");
    emit_words(&c->x->e, arena_printf(c->x->arena, "static const %s %s[] = {", type, name), all.at,
               "};");
    return low ? arena_printf(c->x->arena, "%s[%s - %d]", name, c->var, low)
               : arena_printf(c->x->arena, "%s[%s]", name, c->var);
}

static const char *call_place(void *arg, int which) {
    RunLoop *c = arg;
    int64_t *of_copy = NEW_ARRAY(c->x->arena, int64_t, MAX(c->run.copies, 1));
    Kernel *const *k = &c->l->kernels.at[c->kernel];
    if (!c->run.copies)
        return arena_printf(c->x->arena, "0x%08xu", k[0]->places.at[which]);
    for (int i = 0; i < c->run.copies; i++)
        of_copy[i] = k[i * c->run.period]->places.at[which];
    return number_in_loop(c, "uint32_t", "places", "0x%08xu", of_copy);
}

static const char *call_fault(void *arg, int which) {
    RunLoop *c = arg;
    int64_t *of_copy = NEW_ARRAY(c->x->arena, int64_t, MAX(c->run.copies, 1));
    Kernel *const *k = &c->l->kernels.at[c->kernel];
    if (!c->run.copies)
        return arena_printf(c->x->arena, "%d", k[0]->faults.at[which]);
    for (int i = 0; i < c->run.copies; i++)
        of_copy[i] = k[i * c->run.period]->faults.at[which];
    return number_in_loop(c, "int", "faults", "%u", of_copy);
}

/* ---- what a replay will look at ---- */

static const char *value_of(const RunLoop *c, const Buffer *b) {
    return c->l == c->x->l ? c_buffer_value(c->x, b) : cuda_value(c->x, b);
}

void run_loop_note_written(RunLoop *c, const Kernel *k) {
    for (int i = 0; i < k->writes.n; i++) {
        const Buffer *b = k->writes.at[i].buffer;
        Written w = {.kernel = c->kernel, .write = i, .value = value_of(c, b)};
        if (varies(c, b)) {
            CopyOfLayer of = copy_of_layer(c, b);
            w.step = of.sign;
            w.value = in_terms_of(c, value_of(c, b->family->copies.at[0]), of.rest);
        }
        c_add_written(c->x, w);
    }
}

/* ---- the loop ---- */

static int rank_of(const Buffer *b) {
    return !b->home ? 0 : b->home->kind != HOME_PARAM ? 1 : 2;
}

/* The layer of a run is that of the first parameter that goes with it; a run without is no layer
 * but a time step or the like, and counts as its first value does. */
static void find_lead(RunLoop *c) {
    const Buffer *lead = NULL;
    for (int q = 0; q < c->run.period; q++) {
        const Kernel *k = c->l->kernels.at[c->run.first + q];
        c->kernel = c->run.first + q;
        for (int i = 0; i < k->reads.n + k->writes.n; i++) {
            int w = i - k->reads.n;
            const Buffer *b = w < 0 ? k->reads.at[i].buffer : k->writes.at[w].buffer;
            if (!varies(c, b) || (lead && rank_of(lead) >= rank_of(b)))
                continue;
            lead = b;
            c->lead = b->copy;
            c->step = in_next_copy(c, b)->copy - b->copy;
        }
    }
    c->var = lead && rank_of(lead) == 2 ? "layer" : "i";
    if (!lead) { /* nothing but numbers differs */
        c->lead = 0;
        c->step = 1;
    }
}

RunLoop run_loop_new(CEmit *x, const Lowered *l, const char *at) {
    return (RunLoop){.x = x, .l = l, .at = at, .tables = names_new(x->arena)};
}

void run_loop_open(RunLoop *c, Run run) {
    Emit *e = &c->x->e;
    c->run = run;
    find_lead(c);
    int end = c->lead + c->step * run.copies;
    if (c->step > 0)
        emit_begin(e, "for (int %s = %d; %s < %d; %s++)", c->var, c->lead, c->var, end, c->var);
    else
        emit_begin(e, "for (int %s = %d; %s >= %d; %s--)", c->var, c->lead, c->var, end + 1,
                   c->var);
}

void run_loop_close(RunLoop *c) {
    emit_end(&c->x->e, "");
    c->run = (Run){0};
}

const char *run_loop_layer(const RunLoop *c) {
    return c->run.copies ? c->var : "0";
}

CallNames run_loop_names(RunLoop *c, int kernel) {
    c->kernel = kernel;
    return (CallNames){c, call_buffer, call_place, call_fault};
}
