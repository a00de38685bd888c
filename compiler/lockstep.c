/* lockstep.c: compares traced executions of regions with the oracle, each from the same state.
 *
 * A trainer run with --trace DIR writes REGION-STEP-before.safetensors (homes, results of earlier
 * regions, scalars, counts and batch rows that the region reads) and -after (what it leaves
 * behind). The oracle evaluates the region of the program as it was built, before any pass, in f64
 * and f32. A tensor is right when it is no further from the f64 values than three times what the
 * f32 values are, plus the rounding that storing it makes. One sample of rounding may be luckily
 * small, above all where large numbers cancel: a tensor that is wrong by this rule is looked at
 * once more by oracles whose f32 results are moved at random by a unit in the last place, and may
 * be twice as far off as those.
 *
 * Tensors that are no homes have the names of the trainer's buffers; they are found through the
 * region's list of outputs, whose order no pass changes.
 */
#include "front.h"
#include "ref.h"
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One execution of one region. */
typedef struct Step {
    int region;
    int64_t number;
    Trace before, after;
} Step;

typedef struct Lockstep {
    Arena *arena; /* of one execution */
    const Compiler *c;
    Program *raw; /* as built */
    const char *folder;
    uint64_t seed;
    FILE *out;
    const Step *step;
    const char *problem; /* the first thing that the oracle asked for and the trace has not so */
} Lockstep;

/* The tensor that is worst in an execution. */
typedef struct Worst {
    const char *key;
    double error, bound; /* the pair with the largest quotient */
    int64_t at;
    int compared;
} Worst;

/* The oracles of an execution: f64, f32, and f32 with noise. */
enum { NOISY = 4 };
typedef struct Oracles {
    Interp *exact, *rounded, *noisy[NOISY];
} Oracles;

/* ---- what the oracle asks for ---- */

static void problem(Lockstep *l, const char *text) {
    if (!l->problem)
        l->problem = text;
}

static int64_t count_of(Lockstep *l, const Count *c);

/* The shape in this execution. */
static Shape shape_now(Lockstep *l, const Shape *bounds) {
    Shape s = *bounds;
    for (int i = 0; i < s.rank; i++)
        if (s.dim[i].count) {
            int64_t per = s.dim[i].n / s.dim[i].count->bound;
            s.dim[i] = (Dim){.n = per * count_of(l, s.dim[i].count)};
        }
    return s;
}

/* What the trace has under the key, in the shape that the program has for it (passes may have
 * changed how its elements are arranged in extents, never their number). NULL: it lacks it or is of
 * another program. */
static const Tensor *stored(Lockstep *l, const Trace *trace, const char *key, const Shape *bounds) {
    const Tensor *t = trace_find(trace, key);
    if (!t)
        return NULL;
    Tensor *out = NEW(l->arena, Tensor);
    *out = (Tensor){.shape = shape_now(l, bounds), .at = t->at};
    if (shape_elements(&t->shape) == shape_elements(&out->shape))
        return out;
    problem(l, arena_printf(l->arena, "'%s' is %s in the trace, %s in the program", key,
                            shape_text(l->arena, &t->shape), shape_text(l->arena, &out->shape)));
    return NULL;
}

static const Tensor *needed(Lockstep *l, const char *key, const Shape *bounds) {
    const Tensor *t = stored(l, &l->step->before, key, bounds);
    if (!t)
        problem(l, arena_printf(l->arena, "the trace lacks '%s'", key));
    return t;
}

static double needed_number(Lockstep *l, const char *group, const char *name, double otherwise) {
    const Shape one = shape_scalar();
    const Tensor *t = needed(l, arena_printf(l->arena, "%s.%s", group, name), &one);
    return t ? t->at[0] : otherwise;
}

static int64_t count_of(Lockstep *l, const Count *c) {
    double n = needed_number(l, "counts", c->name, (double)c->bound);
    if (n >= 0 && n <= (double)c->bound)
        return (int64_t)n;
    problem(l, arena_printf(l->arena, "'counts.%s' is %g in the trace, at most %lld in the program",
                            c->name, n, (long long)c->bound));
    return c->bound;
}

static const Tensor *env_home(void *context, const Home *h) {
    Lockstep *l = context;
    const Tensor *t = needed(l, h->path, &h->shape);
    Shape s = shape_now(l, &h->shape);
    return t ? t : ref_tensor_new(l->arena, &s);
}

static double env_scalar(void *context, const Scalar *s) {
    return needed_number(context, "scalars", s->name, 0);
}

static int64_t env_count(void *context, const Count *c) {
    return count_of(context, c);
}

/* Rows come with the batch (give_batches). */
static void env_row(void *context, const DataSource *s, int64_t row, double *out) {
    Lockstep *l = context;
    (void)row, (void)out;
    problem(l, arena_printf(l->arena, "the trace lacks rows of '%s'", s->name));
}

/* ---- names of the trainer's values ---- */

static bool is_batch_of(const Node *n, const Region *r) {
    return n->op == OP_batch && n->region == r && n->in[0]->op == OP_read;
}

/* Rows of a batch are called after their source and the place among the region's batches. */
static const char *batch_key(const Lockstep *l, const Node *batch) {
    const Region *r = l->c->program->regions.at[l->step->region];
    const DataSource *s = batch->attr.batch.source;
    int place = 0;
    for (int i = 0; i < l->c->program->graph->nodes.n; i++) {
        const Node *n = l->c->program->graph->nodes.at[i];
        if (!is_batch_of(n, r) || !lower_buffer_of_home(l->c->lowered, n->in[0]->attr.home))
            continue;
        if (n->attr.batch.source->id == s->id &&
            n->in[0]->attr.home->id == batch->in[0]->attr.home->id)
            return arena_printf(l->arena, "batch.%s.%d", s->name, place);
        place++;
    }
    return NULL;
}

/* NULL: the trainer stores no such value (a constant). */
static const char *output_key(const Lockstep *l, const Region *raw, int output) {
    const Node *n = l->c->program->regions.at[raw->id]->outputs.at[output];
    if (n->op == OP_scalar)
        return arena_printf(l->arena, "scalars.%s", n->attr.scalar->name);
    const Buffer *b = lower_buffer_of_node(l->c->lowered, n);
    return !b ? NULL : b->home ? b->home->path : b->name;
}

/* ---- one evaluation ---- */

static void give_batches(Lockstep *l, Interp *in, const Region *r) {
    for (int i = 0; i < l->raw->graph->nodes.n; i++) {
        const Node *n = l->raw->graph->nodes.at[i];
        const char *key = is_batch_of(n, r) ? batch_key(l, n) : NULL;
        const Tensor *rows = key ? stored(l, &l->step->before, key, &n->shape) : NULL;
        if (rows)
            interp_give(in, n, rows);
    }
}

static void give_earlier(Lockstep *l, Interp *in, const Region *r) {
    for (int i = 0; i < l->raw->regions.n; i++) {
        const Region *earlier = l->raw->regions.at[i];
        for (int k = 0; k < earlier->outputs.n && earlier != r; k++) {
            const Node *n = earlier->outputs.at[k];
            const char *key = n->op == OP_constant ? NULL : output_key(l, earlier, k);
            const Tensor *t = key ? stored(l, &l->step->before, key, &n->shape) : NULL;
            if (t)
                interp_give(in, n, t);
        }
    }
}

static Interp *oracle(Lockstep *l, const InterpEnv *env, bool single) {
    const Region *r = l->raw->regions.at[l->step->region];
    Interp *in = interp_new(l->arena, env, single);
    give_batches(l, in, r);
    give_earlier(l, in, r);
    return in;
}

/* ---- comparison ---- */

static bool same_kind(double a, double b) {
    return isnan(a) ? isnan(b) : a == b;
}

/* How far x is from the exact value; what is not finite must be so in one of the oracles. */
static double error_of(double x, double exact, double rounded) {
    if (isfinite(x) && isfinite(exact))
        return fabs(x - exact);
    return same_kind(x, exact) || same_kind(x, rounded) ? 0 : (double)INFINITY;
}

static double largest(const Tensor *t, const Tensor *less) {
    double most = 0;
    for (int64_t i = 0; i < shape_elements(&t->shape); i++) {
        double x = fabs(t->at[i] - (less ? less->at[i] : 0));
        if (isfinite(x) && x > most)
            most = x;
    }
    return most;
}

/* Trainers draw normal numbers in f32 whatever the program's type; sums in f64 are compared without
 * a sample of their rounding. */
static double unit_of(const Lockstep *l) {
    if (l->raw->graph->real == DT_F32)
        return 0x1p-23;
    for (int i = 0; i < l->raw->graph->nodes.n; i++) {
        const Node *n = l->raw->graph->nodes.at[i];
        if (n->op == OP_randn && n->region->id == l->step->region)
            return 0x1p-23;
    }
    return 0x1p-48;
}

/* The error of storing a number of the tensor's size, and of a short chain of operations on what
 * was added to it (on the whole, if it was not there before). */
static double rounding_floor(const Tensor *exact, const Tensor *before, double unit) {
    if (before && shape_elements(&before->shape) != shape_elements(&exact->shape))
        before = NULL;
    return unit * largest(exact, NULL) + 32 * unit * largest(exact, before) + 0x1p-126;
}

/* The largest error of x, and where it is; infinite where the shapes differ. */
static double tensor_error(const Tensor *x, const Tensor *exact, const Tensor *rounded,
                           int64_t *at) {
    int64_t n = shape_elements(&x->shape);
    double error = n == shape_elements(&exact->shape) ? 0 : (double)INFINITY;
    *at = 0;
    for (int64_t i = 0; i < n && error < (double)INFINITY; i++) {
        double e = error_of(x->at[i], exact->at[i], rounded->at[i]);
        if (e > error) {
            error = e;
            *at = i;
        }
    }
    return error;
}

/* The largest error that the noise makes. */
static double noisy_error(const Oracles *o, const Node *n, const Tensor *exact) {
    double error = 0;
    int64_t at;
    for (int i = 0; i < NOISY; i++) {
        const Tensor *x = interp_value(o->noisy[i], n);
        error = fmax(error, tensor_error(x, exact, x, &at));
    }
    return error;
}

static void compare_node(Lockstep *l, const Oracles *o, const char *key, const Node *n, Worst *w) {
    const Tensor *x = stored(l, &l->step->after, key, &n->shape);
    if (!x) {
        problem(l, arena_printf(l->arena, "the trace lacks '%s'", key));
        return;
    }
    const Tensor *exact = interp_value(o->exact, n), *rounded = interp_value(o->rounded, n);
    int64_t at, ignored;
    double error = tensor_error(x, exact, rounded, &at);
    double bound = 3 * tensor_error(rounded, exact, rounded, &ignored) +
                   rounding_floor(exact, trace_find(&l->step->before, key), unit_of(l));
    if (error > bound && isfinite(error))
        bound = fmax(bound, 2 * noisy_error(o, n, exact));
    w->compared++;
    if (!w->key || error * w->bound > w->error * bound || isinf(error))
        *w = (Worst){key, error, bound, at, w->compared};
}

static bool keeps(const Write *w) {
    return w->value->op == OP_read && w->value->attr.home == w->home;
}

/* Does the region compute this output in the trainer; else it lies in a home, was computed by an
 * earlier region or is a constant. */
static bool is_computed(const Lockstep *l, const Region *raw, int output) {
    const Region *r = l->c->program->regions.at[raw->id];
    const Node *n = r->outputs.at[output];
    while (n->op == OP_reshape)
        n = n->in[0];
    return n->region == r && op_info[n->op].kind != KIND_LEAF;
}

static void compare_all(Lockstep *l, const Oracles *o, Worst *w) {
    const Region *r = l->raw->regions.at[l->step->region];
    for (int i = 0; i < r->writes.n; i++)
        if (!keeps(&r->writes.at[i]))
            compare_node(l, o, r->writes.at[i].home->path, r->writes.at[i].value, w);
    for (int i = 0; i < r->outputs.n; i++) {
        const char *key = is_computed(l, r, i) ? output_key(l, r, i) : NULL;
        if (key)
            compare_node(l, o, key, r->outputs.at[i], w);
    }
}

/* ---- one execution ---- */

static bool report(Lockstep *l, const Worst *w) {
    const char *name = l->raw->regions.at[l->step->region]->name;
    fprintf(l->out, "%-24s step %4lld: ", name, (long long)l->step->number);
    if (l->problem) {
        fprintf(l->out, "WRONG: %s\n", l->problem);
        return false;
    }
    if (!w->key) {
        fprintf(l->out, "nothing to compare\n");
        return true;
    }
    bool right = w->error <= w->bound;
    fprintf(l->out, "%s %d of %d tensors, worst %s[%lld]: error %.2e, bound %.2e\n",
            right ? "ok," : "WRONG:", w->compared, l->step->after.n, w->key, (long long)w->at,
            w->error, w->bound);
    return right;
}

static bool run_step(Lockstep *l, const Step *s) {
    Arena *whole = l->arena;
    l->arena = arena_new();
    l->step = s;
    l->problem = NULL;
    const InterpEnv env = {l, env_home, env_scalar, env_count, env_row, l->seed};
    Oracles o = {.exact = oracle(l, &env, false), .rounded = oracle(l, &env, true)};
    for (uint32_t i = 0; i < NOISY; i++) {
        o.noisy[i] = oracle(l, &env, true);
        interp_jitter(o.noisy[i], i + 1);
    }
    Worst w = {0};
    compare_all(l, &o, &w);
    bool right = report(l, &w);
    interp_forget(o.exact);
    interp_forget(o.rounded);
    for (int i = 0; i < NOISY; i++)
        interp_forget(o.noisy[i]);
    arena_free(l->arena);
    l->arena = whole;
    return right;
}

/* ---- the folder ---- */

typedef VEC(Step) Steps;

/* REGION-STEP-before.safetensors; names of regions are C identifiers. */
static bool parse_name(const Program *p, const char *file, Step *out) {
    size_t n = strcspn(file, "-");
    char *end;
    if (file[n] != '-')
        return false;
    long long number = strtoll(file + n + 1, &end, 10);
    if (strcmp(end, "-before.safetensors") != 0)
        return false;
    for (int i = 0; i < p->regions.n; i++) {
        const char *name = p->regions.at[i]->name;
        if (strlen(name) == n && strncmp(name, file, n) == 0) {
            *out = (Step){.region = i, .number = number};
            return true;
        }
    }
    return false;
}

static int by_number(const void *a, const void *b) {
    const Step *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->region - y->region;
}

static bool list_steps(Lockstep *l, Steps *steps) {
    DIR *d = opendir(l->folder);
    if (!d) {
        fprintf(stderr, "nnc: cannot open '%s': %s\n", l->folder, strerror(errno));
        return false;
    }
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        Step s;
        if (parse_name(l->raw, e->d_name, &s))
            vec_push(l->arena, steps, s);
    }
    closedir(d);
    if (!steps->n && l->raw->regions.n) {
        fprintf(stderr, "nnc: no trace of %s in '%s'\n", l->raw->file, l->folder);
        return false;
    }
    if (steps->n)
        qsort(steps->at, (size_t)steps->n, sizeof *steps->at, by_number);
    return true;
}

/* An exit code. */
static int read_side(Lockstep *l, const Step *s, const char *side, Trace *out) {
    const char *why;
    const char *name = l->raw->regions.at[s->region]->name;
    const char *path = arena_printf(l->arena, "%s/%s-%lld-%s.safetensors", l->folder, name,
                                    (long long)s->number, side);
    int status = trace_read(l->arena, path, out, &why);
    if (status)
        fprintf(stderr, "nnc: cannot read '%s': %s\n", path, why);
    return status;
}

/* ---- the program as built ---- */

static Program *build_again(const Compiler *c, Arena *a) {
    Compiler again = {.arena = a,
                      .names = interner_new(a),
                      .diag = diag_new(a),
                      .settings = c->settings,
                      .lowered = NEW(a, Lowered)};
    bool unreadable;
    Program *p = front_end(&again, &unreadable);
    if (!p || diag_errors(again.diag))
        bug("lockstep: '%s' was right a moment ago", c->settings.input);
    if (p->regions.n != c->program->regions.n)
        bug("lockstep: a pass changed the number of regions");
    for (int i = 0; i < p->regions.n; i++)
        if (p->regions.at[i]->outputs.n != c->program->regions.at[i]->outputs.n)
            bug("lockstep: a pass changed the outputs of %s", p->regions.at[i]->name);
    return p;
}

int lockstep(const Compiler *c, const char *folder, uint64_t seed, FILE *out) {
    Lockstep l = {.arena = c->arena, .c = c, .folder = folder, .seed = seed, .out = out};
    l.raw = build_again(c, c->arena);
    Steps steps = {0};
    if (!list_steps(&l, &steps))
        return 2;
    int wrong = 0;
    for (int i = 0; i < steps.n; i++) {
        Step *s = &steps.at[i];
        int status = read_side(&l, s, "before", &s->before);
        if (!status)
            status = read_side(&l, s, "after", &s->after);
        if (status)
            return status;
        wrong += !run_step(&l, s);
    }
    fprintf(out, "%d executions, %d wrong\n", steps.n, wrong);
    return wrong ? 1 : 0;
}
