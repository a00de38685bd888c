/* ref.c: the oracle's run of a program: what homes hold, regions, faults.
 *
 * A region sees the homes as they were when it began: all its values are computed first, then all
 * writes are made. Values of earlier regions are kept as they were and never computed again.
 */
#include "ref.h"
#include <math.h>
#include <string.h>

Tensor *ref_tensor_new(Arena *a, const Shape *bounds) {
    Tensor *t = NEW(a, Tensor);
    t->shape = *bounds;
    for (int i = 0; i < bounds->rank; i++)
        t->shape.dim[i].count = NULL;
    t->at = NEW_ARRAY(a, double, shape_elements(bounds));
    return t;
}

void ref_store(Tensor *to, const Tensor *from) {
    to->shape = from->shape;
    if (to->at != from->at)
        memcpy(to->at, from->at, sizeof *to->at * (size_t)shape_elements(&from->shape));
}

bool ref_fail(Ref *r, int status, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    if (!r->message)
        r->message = arena_vprintf(r->arena, fmt, ap);
    va_end(ap);
    r->status = status;
    return false;
}

const char *ref_where(const Ref *r, Span at) {
    const char *place = diag_place(r->c->diag, r->arena, at);
    return place ? place : r->p->file;
}

/* ---- what the graph asks for ---- */

static const Tensor *env_home(void *context, const Home *h) {
    const Ref *r = context;
    return r->home[h->id];
}

static double env_scalar(void *context, const Scalar *s) {
    const Ref *r = context;
    return r->scalar[s->id];
}

static int64_t env_count(void *context, const Count *c) {
    const Ref *r = context;
    return r->count[c->id];
}

Ref *ref_new(Arena *a, const Compiler *c, bool single) {
    const Program *p = c->program;
    Ref *r = NEW(a, Ref);
    r->c = c;
    r->p = p;
    r->arena = a;
    r->env = (InterpEnv){r, env_home, env_scalar, env_count, ref_data_row, 0};
    r->interp = interp_new(a, &r->env, single);
    r->home = NEW_ARRAY(a, Tensor *, p->homes.n);
    for (int i = 0; i < p->homes.n; i++)
        r->home[i] = ref_tensor_new(a, &p->homes.at[i]->shape);
    r->kept = NEW_ARRAY(a, Tensor *, p->graph->nodes.n);
    r->scalar = NEW_ARRAY(a, double, p->scalars.n);
    r->count = NEW_ARRAY(a, int64_t, p->counts.n);
    for (int i = 0; i < p->counts.n; i++)
        r->count[i] = p->counts.at[i]->bound;
    r->option = NEW_ARRAY(a, HValue, p->options.n);
    r->var = NEW_ARRAY(a, HValue, p->vars.n);
    for (int i = 0; i < p->vars.n; i++)
        r->var[i].s = "";
    r->runs = NEW_ARRAY(a, int64_t, p->regions.n);
    r->data = ref_data_new(r);
    return r;
}

/* ---- regions ---- */

/* A whole number as tensors have them. */
static bool fits_tensor(Ref *r, const Scalar *s, int64_t x) {
    if (s->dtype != DT_I32 || (x >= INT32_MIN && x <= INT32_MAX))
        return true;
    return ref_fail(r, REF_USAGE, "%s: '%s' is %lld: in a tensor it must fit in 32 bits",
                    ref_where(r, s->span), s->called, (long long)x);
}

static bool set_scalars(Ref *r, const Region *region) {
    for (int i = 0; i < r->p->scalars.n; i++) {
        const Scalar *s = r->p->scalars.at[i];
        if (s->region != region)
            continue;
        HValue v = ref_value(r, s->value);
        r->scalar[s->id] = s->value->type == HT_REAL   ? v.f
                           : s->value->type == HT_BOOL ? (double)v.b
                                                       : (double)v.i;
        if (s->value->type == HT_INT && !fits_tensor(r, s, v.i))
            return false;
    }
    return !r->message;
}

static void give_earlier(Ref *r, const Region *region) {
    interp_forget(r->interp);
    for (int i = 0; i < r->p->graph->nodes.n; i++) {
        const Node *n = r->p->graph->nodes.at[i];
        if (r->kept[n->id] && n->region != region)
            interp_give(r->interp, n, r->kept[n->id]);
    }
}

static void evaluate(Ref *r, const Region *region) {
    for (int i = 0; i < r->p->graph->nodes.n; i++) {
        const Node *n = r->p->graph->nodes.at[i];
        if (n->region == region && op_info[n->op].kind == KIND_EFFECT)
            interp_value(r->interp, n);
    }
    for (int i = 0; i < region->outputs.n; i++)
        interp_value(r->interp, region->outputs.at[i]);
    for (int i = 0; i < region->writes.n; i++)
        interp_value(r->interp, region->writes.at[i].value);
}

static void store_results(Ref *r, const Region *region) {
    for (int i = 0; i < region->outputs.n; i++) {
        const Node *n = region->outputs.at[i];
        if (!r->kept[n->id])
            r->kept[n->id] = ref_tensor_new(r->arena, &n->shape);
        ref_store(r->kept[n->id], interp_value(r->interp, n));
    }
    for (int i = 0; i < region->writes.n; i++)
        ref_store(r->home[region->writes.at[i].home->id],
                  interp_value(r->interp, region->writes.at[i].value));
}

static bool region_fault(Ref *r, const Region *region, const Node *n) {
    long long step = (long long)r->runs[region->id];
    const char *where = ref_where(r, n->span);
    int64_t run = op_info[n->op].kind == KIND_INDEXED ? graph_run(n) : 0;
    if (run > 1)
        return ref_fail(r, REF_USAGE, "%s: a slice of %lld is out of range (step %lld)", where,
                        (long long)run, step);
    if (n->op != OP_check)
        return ref_fail(r, REF_USAGE,
                        op_info[n->op].kind == KIND_INDEXED
                            ? "%s: an index is out of range (step %lld)"
                            : "%s: integer division by zero at step %lld",
                        where, step);
    double loss = interp_value(r->interp, n)->at[0];
    const char *name = n->in[0]->name ? n->in[0]->name : "loss";
    const char *what = isnan(loss) ? "nan" : loss < 0 ? "-inf" : "inf";
    return ref_fail(r, REF_DIVERGED, "%s is %s at step %lld (%s)", name, what, step, where);
}

bool ref_region(Ref *r, const Region *region) {
    r->runs[region->id]++;
    if (!set_scalars(r, region))
        return false;
    give_earlier(r, region);
    evaluate(r, region);
    const Node *fault = interp_fault(r->interp);
    if (fault)
        return region_fault(r, region, fault);
    store_results(r, region);
    return true;
}

/* ---- a run ---- */

static bool run_task(Ref *r, const Task *t) {
    SavePaths paths = {0};
    program_save_paths(r->arena, t->body, &paths);
    for (int i = 0; i < paths.n; i++)
        if (!ref_data_can_save(r, ref_value(r, paths.at[i]).s))
            return false;
    if (!ref_block(r, r->p->start))
        return false;
    for (int i = 0; i < t->sets.n; i++)
        if (!ref_data_load(r, t->sets.at[i]) || !ref_block(r, t->sets.at[i]->prologue))
            return false;
    return ref_data_weights(r, t) && ref_block(r, t->body);
}

int ref_run(Compiler *c, bool single, int argc, char **argv) {
    Ref *r = ref_new(c->arena, c, single);
    const Task *task = NULL;
    bool stop = false;
    if (ref_data_command_line(r, argc, argv, &task, &stop) && !stop)
        run_task(r, task);
    if (r->message)
        fprintf(stderr, "%s: %s\n", argv[0], r->message);
    return r->status;
}
