/* emit_region.c: kernels, the functions that call them in order, and the tables about both.
 *
 * A region's function runs on every thread of the team. A kernel of several tiles is called by all,
 * each does its part; a kernel of one tile is called by thread 0. The plan says where all threads
 * wait, and where each looks at the fault word: that is what keeps the parameters of the last good
 * step. A run of equal calls is a loop over layers.
 */
#include "../cuda/emit_device.h"
#include <stdlib.h>
#include <string.h>

void c_emit_kernels(CEmit *x) {
    for (int i = 0; i < x->cpu->kernels.n; i++) {
        const Kernel *k = x->cpu->kernels.at[i];
        if (k->same_as != k->id)
            continue;
        c_print_kernel(&x->e.text, k);
        emit_gap(&x->e);
    }
}

/* ---- region functions ---- */

/* A region function being written. */
typedef struct Calls {
    CEmit *x;
    bool threads; /* some kernel of the region runs on all of them */
    bool serial;  /* the block of thread 0 is open */
    int next_run; /* in Lowered.runs */
    /* of the loop that is open, else copies == 0 */
    Run run;
    const char *var; /* the loop variable: lead + step * number of the copy */
    int lead, step;
    int kernel; /* that is being called, in the first copy */
    Names *tables; /* of numbers, in this function */
    int replay_end;
} Calls;

static void open_serial(Calls *c) {
    if (c->threads && !c->serial)
        emit_begin(&c->x->e, "if (t == 0)");
    c->serial = true;
}

static void close_serial(Calls *c) {
    if (c->threads && c->serial)
        emit_end(&c->x->e, "");
    c->serial = false;
}

static void emit_inspection(Calls *c) {
    c_emit_inspection(c->x, c->run.copies ? c->var : "0");
}

static void emit_wait(Calls *c) {
    close_serial(c);
    if (c->threads)
        emit_line(&c->x->e, "nn_wait(nn, t);");
}

/* All threads see the same fault word here. */
static void emit_decision(Calls *c, const Kernel *next) {
    emit_inspection(c);
    close_serial(c);
    emit_line(&c->x->e, "if (rt_faulted(&nn->rt))");
    emit_line(&c->x->e, "    return; /* nothing is updated */");
    if (next->check)
        emit_wait(c);
}

/* ---- what a call is handed in a loop ---- */

static const Kernel *next_copy(const Calls *c) {
    return c->x->cpu->kernels.at[c->kernel + c->run.period];
}

/* The same buffer of the same call in the next copy. */
static const Buffer *in_next_copy(const Calls *c, const Buffer *b) {
    const Kernel *k = c->x->cpu->kernels.at[c->kernel], *next = next_copy(c);
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

static CopyOfLayer copy_of_layer(const Calls *c, const Buffer *b) {
    int sign = in_next_copy(c, b)->copy - b->copy == c->step ? 1 : -1;
    return (CopyOfLayer){sign, b->copy - sign * c->lead};
}

static const char *in_terms_of(const Calls *c, const char *what, int rest) {
    return !rest ? what
                 : arena_printf(c->x->arena, "%s %c %d", what, rest < 0 ? '-' : '+', abs(rest));
}

/* "layer", "layer + 1", "11 - layer" */
static const char *layer_of(const Calls *c, const Buffer *b) {
    CopyOfLayer of = copy_of_layer(c, b);
    if (of.sign < 0)
        return arena_printf(c->x->arena, "%d - %s", of.rest, c->var);
    return in_terms_of(c, c->var, of.rest);
}

static bool varies(const Calls *c, const Buffer *b) {
    return c->run.copies && in_next_copy(c, b) != b;
}

static const char *call_buffer(void *arg, const Buffer *b) {
    const Calls *c = arg;
    if (!varies(c, b) || !b->family->stride)
        return c_at(c->x, b);
    return arena_printf(c->x->arena, "at_%s(nn, %s)", b->family->name, layer_of(c, b));
}

/* `static const TYPE WHAT_of_KERNEL[] = {…};` of the numbers of all copies, by layer. Returns what
 * stands for the one of the copy, or for the number when all are equal. */
static const char *number_in_loop(Calls *c, const char *type, const char *what, const char *format,
                                  const int64_t *of_copy) {
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
                                    c->x->cpu->kernels.at[c->kernel]->name);
    name = names_unique(c->tables, name, "_");
    emit_words(&c->x->e, arena_printf(c->x->arena, "static const %s %s[] = {", type, name), all.at,
               "};");
    return low ? arena_printf(c->x->arena, "%s[%s - %d]", name, c->var, low)
               : arena_printf(c->x->arena, "%s[%s]", name, c->var);
}

static const char *call_place(void *arg, int which) {
    Calls *c = arg;
    int64_t *of_copy = NEW_ARRAY(c->x->arena, int64_t, MAX(c->run.copies, 1));
    Kernel *const *k = &c->x->cpu->kernels.at[c->kernel];
    if (!c->run.copies)
        return arena_printf(c->x->arena, "0x%08xu", k[0]->places.at[which]);
    for (int i = 0; i < c->run.copies; i++)
        of_copy[i] = k[i * c->run.period]->places.at[which];
    return number_in_loop(c, "uint32_t", "places", "0x%08xu", of_copy);
}

static const char *call_fault(void *arg, int which) {
    Calls *c = arg;
    int64_t *of_copy = NEW_ARRAY(c->x->arena, int64_t, MAX(c->run.copies, 1));
    Kernel *const *k = &c->x->cpu->kernels.at[c->kernel];
    if (!c->run.copies)
        return arena_printf(c->x->arena, "%d", k[0]->faults.at[which]);
    for (int i = 0; i < c->run.copies; i++)
        of_copy[i] = k[i * c->run.period]->faults.at[which];
    return number_in_loop(c, "int", "faults", "%u", of_copy);
}

/* What a replay will look at. */
static void note_written(Calls *c, const Kernel *k) {
    for (int i = 0; i < k->writes.n; i++) {
        const Buffer *b = k->writes.at[i].buffer;
        Written w = {.kernel = c->kernel, .write = i, .value = c_buffer_value(c->x, b)};
        if (varies(c, b)) {
            CopyOfLayer of = copy_of_layer(c, b);
            w.step = of.sign;
            w.value = in_terms_of(c, arena_printf(c->x->arena, "VALUE_%s", b->family->name),
                                  of.rest);
        }
        c_add_written(c->x, w);
    }
}

static void emit_call(Calls *c, int i) {
    CEmit *x = c->x;
    const Kernel *k = x->cpu->kernels.at[i];
    const CallNames names = {c, call_buffer, call_place, call_fault};
    Text call = {.arena = x->arena};
    c->kernel = i;
    if (k->tiles == 1)
        open_serial(c);
    else
        close_serial(c);
    if (c_needs_inspection(x, x->cpu, i, c->run))
        emit_inspection(c);
    c_print_call(&call, k, &names);
    emit_words(&x->e, "", call.at, "");
    if (i < c->replay_end)
        note_written(c, k);
}

/* ---- loops ---- */

static void emit_kernels(Calls *c, int from, int to);

static int rank_of(const Buffer *b) {
    return !b->home ? 0 : b->home->kind != HOME_PARAM ? 1 : 2;
}

/* The layer of a run is that of the first parameter that goes with it; a run without is no layer
 * but a time step or the like, and counts as its first value does. */
static void find_lead(Calls *c) {
    const Buffer *lead = NULL;
    for (int q = 0; q < c->run.period; q++) {
        const Kernel *k = c->x->cpu->kernels.at[c->run.first + q];
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

static bool is_serial_run(const Lowered *l, Run run) {
    for (int i = run.first; i < run.first + 2 * run.period; i++)
        if (l->kernels.at[i]->tiles != 1 || l->barrier_after[i] ||
            (i > run.first && l->decide_before[i]))
            return false;
    return true;
}

static void emit_run(Calls *c, Run run) {
    CEmit *x = c->x;
    if (is_serial_run(x->cpu, run))
        open_serial(c);
    else
        close_serial(c);
    emit_inspection(c);
    c->run = run;
    find_lead(c);
    bool serial = c->serial;
    int end = c->lead + c->step * run.copies;
    if (c->step > 0)
        emit_begin(&x->e, "for (int %s = %d; %s < %d; %s++)", c->var, c->lead, c->var, end, c->var);
    else
        emit_begin(&x->e, "for (int %s = %d; %s >= %d; %s--)", c->var, c->lead, c->var, end + 1,
                   c->var);
    if (run_waits_first(x->cpu, run))
        emit_wait(c);
    emit_kernels(c, run.first, run.first + run.period);
    if (!serial)
        close_serial(c);
    emit_inspection(c);
    emit_end(&x->e, "");
    c->run = (Run){0};
}

static bool begins_run(const Calls *c, int i) {
    const Lowered *l = c->x->cpu;
    return !c->run.copies && c->next_run < l->runs.n && l->runs.at[c->next_run].first == i;
}

/* Kernels from … to - 1, in a loop or out of it. */
static void emit_kernels(Calls *c, int from, int to) {
    const Lowered *l = c->x->cpu;
    for (int i = from; i < to; i++) {
        bool run = begins_run(c, i);
        Run here = run ? l->runs.at[c->next_run] : (Run){0};
        bool outside = run && !run_decides_first(l, here), inside = c->run.copies && i == from;
        if (l->decide_before[i] && !(run && !outside) && !(inside && !run_decides_first(l, c->run)))
            emit_decision(c, l->kernels.at[i]);
        if (run) {
            c->next_run++;
            emit_run(c, here);
            i += here.period * here.copies - 1;
        } else {
            emit_call(c, i);
        }
        bool waits = l->barrier_after[i] && !(run && l->barrier_after[i - here.period]);
        bool next_waits = i + 1 < to && begins_run(c, i + 1) &&
                          run_waits_first(l, l->runs.at[c->next_run]);
        if (waits && !next_waits)
            emit_wait(c);
    }
}

static void emit_region(CEmit *x, const Region *r) {
    const RegionKernels *own = &x->regions[r->id];
    Calls c = {.x = x, .threads = own->parallel, .replay_end = c_replay_end(x->cpu, own)};
    c.tables = names_new(x->arena);
    emit_line(&x->e, "/* %s: %s */", r->name, c_where(x, r->span));
    emit_begin(&x->e, "static void region_%s(void *arg, int t)", r->name);
    emit_line(&x->e, own->first < own->end ? "struct nn *nn = (struct nn *)arg;" : "(void)arg;");
    emit_line(&x->e, own->parallel ? "const int n = nn->n;" : "(void)t;");
    while (c.next_run < x->cpu->runs.n && x->cpu->runs.at[c.next_run].first < own->first)
        c.next_run++;
    emit_kernels(&c, own->first, own->end);
    emit_inspection(&c);
    close_serial(&c);
    emit_end(&x->e, "");
    emit_gap(&x->e);
}

void c_emit_regions(CEmit *x) {
    for (int i = 0; i < x->p->regions.n; i++)
        emit_region(x, x->p->regions.at[i]);
}

/* ---- what is known of regions ---- */

static bool is_batch(const Node *n) {
    return n->op == OP_batch && n->in[0]->op == OP_read && n->region;
}

void c_collect_regions(CEmit *x) {
    const Lowered *l = x->l;
    RegionKernels *own = NEW_ARRAY(x->arena, RegionKernels, x->p->regions.n + 1);
    for (int i = 0; i < l->kernels.n; i++) {
        RegionKernels *r = &own[l->kernels.at[i]->region->id];
        r->first = r->end ? r->first : i;
        r->end = i + 1;
        r->parallel |= x->cpu && l->kernels.at[i]->tiles > 1;
    }
    for (int i = 0; i < x->p->graph->nodes.n; i++) {
        const Node *n = x->p->graph->nodes.at[i];
        if (is_batch(n) && lower_buffer_of_home(l, n->in[0]->attr.home))
            vec_push(x->arena, &own[n->region->id].batches, n);
    }
    x->regions = own;
}

/* ---- tables ---- */

static bool outlives(const Buffer *b) {
    return b->home || !b->region;
}

/* `static const struct nn_range NAME[] = {…};` of the values that are set; returns how many. */
static int emit_ranges(CEmit *x, const char *name, const bool *in) {
    Text t = {.arena = x->arena};
    int count = 0;
    for (int i = 0, n; i < x->values.rows; i += n) {
        for (n = 1; in[i] && in[i + n];)
            n++;
        if (in[i])
            text_printf(&t, "%s{%s, %d}", count++ ? ", " : "", c_value_name(x, i), n);
    }
    if (count)
        emit_words(&x->e, arena_printf(x->arena, "static const struct nn_range %s[] = {", name),
                   t.at, "};");
    return count;
}

static void emit_region_batches(CEmit *x, const Region *r) {
    const RegionKernels *own = &x->regions[r->id];
    if (!own->batches.n)
        return;
    emit_begin(&x->e, "static const struct nn_batch nn_batches_%s[] =", r->name);
    for (int i = 0; i < own->batches.n; i++) {
        const Node *b = own->batches.at[i];
        const DataSource *s = b->attr.batch.source;
        const char *key = arena_printf(x->arena, "batch.%s.%d", s->name, i);
        emit_line(&x->e, "{%s, %d, %s},", emit_string(x->arena, key), s->id,
                  c_buffer_value(x, c_home_buffer(x, b->in[0]->attr.home)));
    }
    emit_end(&x->e, ";");
}

/* What a kernel reads from outside its region, what it leaves behind. */
static void note_kernel(CEmit *x, const Kernel *k, bool *before, bool *after) {
    for (int i = 0; i < k->reads.n; i++)
        if (outlives(k->reads.at[i].buffer))
            before[x->values.number[k->reads.at[i].buffer->id]] = true;
    for (int i = 0; i < k->writes.n; i++)
        if (outlives(k->writes.at[i].buffer))
            after[x->values.number[k->writes.at[i].buffer->id]] = true;
    for (int i = 0; i < k->scalars.n; i++)
        before[c_value_of_scalar(x, k->scalars.at[i])] = true;
    for (int i = 0; i < k->counts.n; i++)
        before[c_value_of_count(x, k->counts.at[i])] = true;
}

/* "nn_before_train", or NULL where the table is empty and does not stand in the text. */
static const char *table_of(CEmit *x, const char *name, const Region *r, int n) {
    return n ? arena_printf(x->arena, "nn_%s_%s", name, r->name) : "NULL";
}

/* The tables of a region; returns its row in nn_regions. */
static const char *emit_region_tables(CEmit *x, const Region *r) {
    const RegionKernels *own = &x->regions[r->id];
    bool *before = NEW_ARRAY(x->arena, bool, x->values.rows + 1),
         *after = NEW_ARRAY(x->arena, bool, x->values.rows + 1);
    for (int i = own->first; i < own->end; i++)
        note_kernel(x, x->l->kernels.at[i], before, after);
    if (x->gpu && x->gpu != x->l)
        cuda_note_region(x, r, before, after);
    int n_before = emit_ranges(x, arena_printf(x->arena, "nn_before_%s", r->name), before);
    int n_after = emit_ranges(x, arena_printf(x->arena, "nn_after_%s", r->name), after);
    emit_region_batches(x, r);
    const char *run = x->cpu ? arena_printf(x->arena, "region_%s", r->name) : "NULL";
    const char *device =
        x->gpu ? arena_printf(x->arena, ", device_%s, want_%s", r->name, r->name) : "";
    return arena_printf(x->arena, "%s, %s, %s, %s, %s, %d, %d, %s, %d%s",
                        emit_string(x->arena, r->name), run, own->parallel ? "true" : "false",
                        table_of(x, "before", r, n_before), table_of(x, "after", r, n_after),
                        n_before, n_after, table_of(x, "batches", r, own->batches.n),
                        own->batches.n, device);
}

static void emit_places(CEmit *x) {
    emit_begin(&x->e, "static const struct nn_place nn_places[] =");
    for (int i = 0; i < x->l->faults.n; i++) {
        const Fault *f = &x->l->faults.at[i];
        const Node *of = f->node->in[0];
        bool loss = f->kind == FAULT_LOSS;
        const char *name = of->name            ? of->name
                           : of->op == OP_read ? of->attr.home->path
                           : loss              ? "loss"
                                               : "the tensor";
        emit_line(&x->e, "{%d, '%c', %s, %s, %lld},", f->node->id, loss ? 'l' : 'i',
                  emit_string(x->arena, name), emit_string(x->arena, c_where(x, f->node->span)),
                  (long long)f->size);
    }
    emit_line(&x->e, "{-1, 0, \"a tensor\", NN_PROGRAM, 0},");
    emit_end(&x->e, ";");
}

void c_emit_region_tables(CEmit *x) {
    int n = x->p->regions.n;
    const char **row = NEW_ARRAY(x->arena, const char *, n + 1);
    if (!n && !x->gpu)
        return;
    emit_places(x);
    c_emit_written(x);
    for (int i = 0; i < n; i++)
        row[i] = emit_region_tables(x, x->p->regions.at[i]);
    emit_begin(&x->e, "static const struct nn_region nn_regions[NN_REGIONS + 1] =");
    for (int i = 0; i < n; i++)
        emit_words(&x->e, "{", row[i], "},");
    emit_line(&x->e, "{NULL, NULL, false, NULL, NULL, 0, 0, NULL, 0%s},",
              x->gpu ? ", NULL, NULL" : "");
    emit_end(&x->e, ";");
}
