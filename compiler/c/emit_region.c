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
    RunLoop loop;
    bool threads; /* some kernel of the region runs on all of them */
    bool serial;  /* the block of thread 0 is open */
    int next_run; /* in Lowered.runs */
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
    c_emit_inspection(c->x, run_loop_layer(&c->loop));
}

static void emit_wait(Calls *c) {
    close_serial(c);
    if (c->threads)
        emit_line(&c->x->e, "nn_wait(nn, t);");
}

/* All threads see the same fault word here. */
static void emit_decision(Calls *c) {
    emit_inspection(c);
    close_serial(c);
    emit_line(&c->x->e, "if (rt_faulted(&nn->rt))");
    emit_line(&c->x->e, "    return; /* nothing is updated */");
}

static void emit_call(Calls *c, int i) {
    CEmit *x = c->x;
    const Kernel *k = x->cpu->kernels.at[i];
    const CallNames names = run_loop_names(&c->loop, i);
    Text call = {.arena = x->arena};
    if (k->tiles == 1)
        open_serial(c);
    else
        close_serial(c);
    if (c_needs_inspection(x, x->cpu, i, c->loop.run))
        emit_inspection(c);
    c_print_call(&call, k, &names);
    emit_words(&x->e, "", call.at, "");
    if (i < c->replay_end)
        run_loop_note_written(&c->loop, k);
}

/* ---- loops ---- */

static void emit_kernels(Calls *c, int from, int to);

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
    run_loop_open(&c->loop, run);
    bool serial = c->serial;
    if (run_waits_first(x->cpu, run))
        emit_wait(c);
    emit_kernels(c, run.first, run.first + run.period);
    if (!serial)
        close_serial(c);
    emit_inspection(c);
    run_loop_close(&c->loop);
}

static bool begins_run(const Calls *c, int i) {
    const Lowered *l = c->x->cpu;
    return !c->loop.run.copies && c->next_run < l->runs.n && l->runs.at[c->next_run].first == i;
}

/* Kernels from … to - 1, in a loop or out of it. */
static void emit_kernels(Calls *c, int from, int to) {
    const Lowered *l = c->x->cpu;
    for (int i = from; i < to; i++) {
        bool run = begins_run(c, i);
        Run here = run ? l->runs.at[c->next_run] : (Run){0};
        bool first = c->loop.run.copies && i == from;
        bool elsewhere =
            (run && run_decides_first(l, here)) || (first && !run_decides_first(l, c->loop.run));
        if (l->decide_before[i] && !elsewhere)
            emit_decision(c);
        if (run) {
            c->next_run++;
            emit_run(c, here);
            i += here.period * here.copies - 1;
        } else {
            emit_call(c, i);
        }
        bool waits = l->barrier_after[i] && !(run && l->barrier_after[i - here.period]);
        bool next_waits =
            i + 1 < to && begins_run(c, i + 1) && run_waits_first(l, l->runs.at[c->next_run]);
        if (waits && !next_waits)
            emit_wait(c);
    }
}

static void emit_region(CEmit *x, const Region *r) {
    const RegionKernels *own = &x->regions[r->id];
    Calls c = {.x = x, .threads = own->parallel, .replay_end = c_replay_end(x->cpu, own)};
    c.loop = run_loop_new(x, x->cpu, "at");
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
    for (int i = 0; i < x->values.scalars; i++) /* what it computes comes not from outside */
        before[i] = before[i] && (!after[i] || x->values.buffers.at[i]->home);
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
        int64_t run = loss ? 0 : graph_run(f->node);
        emit_line(&x->e, "{%d, '%c', %s, %s, %lld, %lld},", f->node->id, loss ? 'l' : 'i',
                  emit_string(x->arena, name), emit_string(x->arena, c_where(x, f->node->span)),
                  (long long)(loss ? 0 : f->size + run - 1), (long long)run);
    }
    emit_line(&x->e, "{-1, 0, \"a tensor\", NN_PROGRAM, 0, 0},");
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
