/* emit_region.c: kernels, the functions that call them in order, and the tables about both.
 *
 * A region's function runs on every thread of the team. A kernel of several tiles is called by all,
 * each does its part; a kernel of one tile is called by thread 0. The plan says where all threads
 * wait, and where each looks at the fault word: that is what keeps the parameters of the last good
 * step.
 */
#include "emit_c.h"
#include <string.h>

bool c_region_parallel(const CEmit *x, const Region *r) {
    for (int i = 0; i < x->l->kernels.n; i++)
        if (x->l->kernels.at[i]->region == r && x->l->kernels.at[i]->tiles > 1)
            return true;
    return false;
}

void c_emit_kernels(CEmit *x) {
    for (int i = 0; i < x->l->kernels.n; i++) {
        const Kernel *k = x->l->kernels.at[i];
        if (k->same_as != k->id)
            continue;
        c_print_kernel(&x->e.text, k);
        emit_gap(&x->e);
    }
}

/* ---- region functions ---- */

static bool is_last(const CEmit *x, int i) {
    return i + 1 == x->l->kernels.n ||
           x->l->kernels.at[i + 1]->region != x->l->kernels.at[i]->region;
}

static void emit_call(CEmit *x, int i) {
    const Kernel *k = x->l->kernels.at[i];
    Text call = {.arena = x->arena};
    c_print_call(&call, k);
    emit_words(&x->e, "", call.at, "");
    for (int j = 0; j < k->writes.n; j++)
        emit_line(&x->e, "nn_wrote(nn, %s);", c_buffer_value(x, k->writes.at[j].buffer));
}

/* Kernels i … j-1 of one tile, up to the next wait. */
static int emit_serial_run(CEmit *x, int i) {
    emit_begin(&x->e, "if (t == 0)");
    for (;; i++) {
        emit_call(x, i);
        if (x->l->barrier_after[i] || is_last(x, i) || x->l->decide_before[i + 1] ||
            x->l->kernels.at[i + 1]->tiles != 1)
            return i;
    }
}

/* All threads see the same fault word here. */
static void emit_decision(CEmit *x, int i, bool threads) {
    if (!x->l->decide_before[i])
        return;
    emit_line(&x->e, "if (rt_faulted(&nn->rt))");
    emit_line(&x->e, "    return; /* nothing is updated */");
    if (threads && x->l->kernels.at[i]->check)
        emit_line(&x->e, "nn_wait(nn, t);");
}

static void emit_parallel_body(CEmit *x, const Region *r) {
    for (int i = 0; i < x->l->kernels.n; i++) {
        const Kernel *k = x->l->kernels.at[i];
        if (k->region != r)
            continue;
        emit_decision(x, i, true);
        bool serial = k->tiles == 1;
        if (serial)
            i = emit_serial_run(x, i);
        else
            emit_call(x, i);
        if (serial)
            emit_end(&x->e, "");
        if (x->l->barrier_after[i])
            emit_line(&x->e, "nn_wait(nn, t);");
    }
}

static void emit_serial_body(CEmit *x, const Region *r) {
    for (int i = 0; i < x->l->kernels.n; i++) {
        if (x->l->kernels.at[i]->region != r)
            continue;
        emit_decision(x, i, false);
        emit_call(x, i);
    }
}

static bool has_kernels(const CEmit *x, const Region *r) {
    for (int i = 0; i < x->l->kernels.n; i++)
        if (x->l->kernels.at[i]->region == r)
            return true;
    return false;
}

static void emit_region(CEmit *x, const Region *r) {
    bool parallel = c_region_parallel(x, r);
    emit_line(&x->e, "/* %s: %s */", r->name, c_where(x, r->span));
    emit_begin(&x->e, "static void region_%s(void *arg, int t)", r->name);
    if (has_kernels(x, r))
        emit_line(&x->e, "struct nn *nn = (struct nn *)arg;");
    else
        emit_line(&x->e, "(void)arg;");
    if (parallel)
        emit_line(&x->e, "const int n = nn->n;");
    else
        emit_line(&x->e, "(void)t;");
    if (parallel)
        emit_parallel_body(x, r);
    else
        emit_serial_body(x, r);
    emit_end(&x->e, "");
    emit_gap(&x->e);
}

void c_emit_regions(CEmit *x) {
    for (int i = 0; i < x->p->regions.n; i++)
        emit_region(x, x->p->regions.at[i]);
}

/* ---- counts ---- */

static bool is_batch_of(const Node *n, const Region *r) {
    return n->op == OP_batch && n->region == r && n->in[0]->op == OP_read;
}

int c_count_batches(const CEmit *x, const Region *r) {
    int n = 0;
    for (int i = 0; i < x->p->graph->nodes.n; i++)
        n += is_batch_of(x->p->graph->nodes.at[i], r);
    return n;
}

/* ---- tables ---- */

static bool outlives(const Buffer *b) {
    return b->home || !b->region;
}

/* `static const int NAME[] = {…};` of the values whose bit is set; returns how many. */
static int emit_value_list(CEmit *x, const char *name, const bool *in, int n) {
    Text t = {.arena = x->arena};
    int count = 0;
    for (int i = 0; i < n; i++)
        if (in[i])
            text_printf(&t, "%s%s", count++ ? ", " : "", c_value_name(x, i));
    text_add(&t, count ? "" : "-1");
    emit_words(&x->e, arena_printf(x->arena, "static const int %s[] = {", name), t.at, "};");
    return count;
}

static int emit_region_batches(CEmit *x, const Region *r) {
    int n = 0;
    emit_begin(&x->e, "static const struct nn_batch nn_batches_%s[] =", r->name);
    for (int i = 0; i < x->p->graph->nodes.n; i++) {
        const Node *b = x->p->graph->nodes.at[i];
        if (!is_batch_of(b, r))
            continue;
        const DataSource *s = b->attr.batch.source;
        Buffer *index = lower_buffer_of_home(x->l, b->in[0]->attr.home);
        if (!index)
            continue;
        emit_line(&x->e, "{%s, %d, %s},",
                  emit_string(x->arena, arena_printf(x->arena, "batch.%s.%d", s->name, n)), s->id,
                  c_buffer_value(x, index));
        n++;
    }
    emit_line(&x->e, "{NULL, 0, 0},");
    emit_end(&x->e, ";");
    return n;
}

typedef struct RegionFacts {
    int before, after, batches;
} RegionFacts;

static void note_kernel(CEmit *x, const Kernel *k, bool *before, bool *after) {
    for (int i = 0; i < k->reads.n; i++)
        if (outlives(k->reads.at[i].buffer))
            before[k->reads.at[i].buffer->id] = true;
    for (int i = 0; i < k->writes.n; i++) {
        const Buffer *b = k->writes.at[i].buffer;
        if (outlives(b))
            after[b->id] = true;
    }
    for (int i = 0; i < k->scalars.n; i++)
        before[c_value_of_scalar(x, k->scalars.at[i]->id)] = true;
    for (int i = 0; i < k->counts.n; i++)
        before[c_value_of_count(x, k->counts.at[i]->id)] = true;
}

static RegionFacts emit_region_lists(CEmit *x, const Region *r) {
    int n = c_count_values(x);
    bool *before = NEW_ARRAY(x->arena, bool, n + 1), *after = NEW_ARRAY(x->arena, bool, n + 1);
    RegionFacts f = {0};
    for (int i = 0; i < x->l->kernels.n; i++)
        if (x->l->kernels.at[i]->region == r)
            note_kernel(x, x->l->kernels.at[i], before, after);
    f.before = emit_value_list(x, arena_printf(x->arena, "nn_before_%s", r->name), before, n);
    f.after = emit_value_list(x, arena_printf(x->arena, "nn_after_%s", r->name), after, n);
    f.batches = emit_region_batches(x, r);
    return f;
}

/* What a node that can fault says: its kind, the bound of its index (0: none), and whose bound that
 * is. */
static char fault_kind(const Node *n, int64_t *size, const Node **of) {
    *size = 0;
    *of = n->nin ? n->in[0] : n;
    switch (n->op) {
    case OP_check:
        return 'l';
    case OP_gather:
    case OP_scatter_add:
        *size = n->in[0]->shape.dim[0].n;
        return 'i';
    case OP_pick:
        *size = n->in[0]->shape.dim[n->in[0]->shape.rank - 1].n;
        return 'i';
    case OP_slice_at:
        *size = n->in[0]->shape.dim[n->attr.axis].n - n->shape.dim[n->attr.axis].n + 1;
        return 'i';
    case OP_put_at:
        *size = n->in[0]->shape.dim[n->attr.axis].n - n->in[1]->shape.dim[n->attr.axis].n + 1;
        return 'i';
    case OP_floordiv:
    case OP_mod:
        return dtype_is_int(n->dtype) ? 'd' : 0;
    default:
        return 0;
    }
}

static void emit_places(CEmit *x) {
    emit_begin(&x->e, "static const struct nn_place nn_places[] =");
    for (int i = 0; i < x->p->graph->nodes.n; i++) {
        const Node *n = x->p->graph->nodes.at[i], *of;
        int64_t size;
        char kind = fault_kind(n, &size, &of);
        if (!kind)
            continue;
        const char *name = of->name            ? of->name
                           : of->op == OP_read ? of->attr.home->path
                           : kind == 'l'       ? "loss"
                                               : "the tensor";
        emit_line(&x->e, "{%d, '%c', %s, %s, %lld},", n->id, kind, emit_string(x->arena, name),
                  emit_string(x->arena, c_where(x, n->span)), (long long)size);
    }
    emit_line(&x->e, "{-1, 0, \"a tensor\", NN_PROGRAM, 0},");
    emit_end(&x->e, ";");
}

void c_emit_region_tables(CEmit *x) {
    int n = x->p->regions.n;
    RegionFacts *facts = NEW_ARRAY(x->arena, RegionFacts, n + 1);
    if (!n)
        return;
    emit_places(x);
    for (int i = 0; i < n; i++)
        facts[i] = emit_region_lists(x, x->p->regions.at[i]);
    emit_begin(&x->e, "static const struct nn_region nn_regions[NN_REGIONS + 1] =");
    for (int i = 0; i < n; i++) {
        const Region *r = x->p->regions.at[i];
        emit_line(&x->e, "{%s, region_%s, %s, nn_before_%s, %d, nn_after_%s, %d,",
                  emit_string(x->arena, r->name), r->name,
                  c_region_parallel(x, r) ? "true" : "false", r->name, facts[i].before, r->name,
                  facts[i].after);
        emit_line(&x->e, " nn_batches_%s, %d},", r->name, facts[i].batches);
    }
    emit_line(&x->e, "{NULL, NULL, false, NULL, 0, NULL, 0, NULL, 0},");
    emit_end(&x->e, ";");
}
