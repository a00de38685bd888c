/* emit_replay.c: where the replay of a region after a NaN looks at what kernels have written.
 *
 * A replay is one thread that runs the region once more. It must see each value before its memory
 * is used again; so values are looked at in groups, a line a group, which ends where a kernel would
 * write over one of its values, at both ends of a loop, and where the replay may end: at a decision
 * on the fault word. What comes behind the last decision never runs in a replay.
 */
#include "emit_c.h"

static bool may_begin_replay(const Lowered *l, const Kernel *k) {
    for (int i = 0; i < k->faults.n; i++)
        if (lower_fault(l, k->faults.at[i])->kind == FAULT_LOSS)
            return true;
    return false;
}

int c_replay_end(const Lowered *l, const RegionKernels *own) {
    int last = own->end - 1;
    while (last >= own->first && !may_begin_replay(l, l->kernels.at[last]))
        last--;
    if (last < own->first)
        return own->first;
    for (int i = last + 1; i < own->end; i++)
        if (l->decide_before[i])
            return i;
    return own->end;
}

static bool overlap(const Buffer *a, const Buffer *b) {
    return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static bool writes_over(const Lowered *l, const Written *w, const Kernel *k, int ahead) {
    const Buffer *old = l->kernels.at[w->kernel + ahead]->writes.at[w->write].buffer;
    for (int i = 0; i < k->writes.n; i++)
        if (overlap(old, k->writes.at[i].buffer))
            return true;
    return false;
}

bool c_needs_inspection(const CEmit *x, const Lowered *l, int i, Run run) {
    for (int j = x->written.n - 1; j >= 0 && x->written.at[j].group == x->groups; j--)
        for (int copy = 0; copy < MAX(run.copies, 1); copy++) {
            int ahead = copy * run.period;
            if (writes_over(l, &x->written.at[j], l->kernels.at[i + ahead], ahead))
                return true;
        }
    return false;
}

void c_add_written(CEmit *x, Written w) {
    w.group = x->groups;
    vec_push(x->arena, &x->written, w);
}

void c_emit_inspection(CEmit *x, const char *layer) {
    if (!x->written.n || x->written.at[x->written.n - 1].group != x->groups)
        return;
    emit_line(&x->e, "nn_inspect(nn, %d, %s);", x->groups++, layer);
}

void c_emit_written(CEmit *x) {
    Text t = {.arena = x->arena};
    if (!x->written.n) /* nothing asks for it */
        return;
    for (int i = 0; i < x->written.n; i++) {
        const Written *w = &x->written.at[i];
        text_printf(&t, "{%d, %s, %d}, ", w->group, w->value, w->step);
    }
    text_add(&t, "{-1, 0, 0}");
    emit_words(&x->e, "static const struct nn_written nn_written[] = {", t.at, "};");
}
