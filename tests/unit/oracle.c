/* oracle.c: random contents for the homes of a graph, evaluation, and differentiation by
 * differences.
 */
#include "oracle.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

double random_real(Oracle *o, double lo, double hi) {
    o->state = o->state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = o->state ^ o->state >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    return lo + (hi - lo) * (double)(x >> 11) * 0x1p-53;
}

int64_t random_int(Oracle *o, int64_t lo, int64_t hi) {
    return lo + (int64_t)floor(random_real(o, 0, (double)(hi - lo + 1)));
}

/* ---- what the interpreter asks ---- */

static Shape run_time(const Oracle *o, const Shape *s) {
    Shape out = *s;
    for (int i = 0; i < s->rank; i++)
        if (s->dim[i].count)
            out.dim[i] = (Dim){.n = o->count * (s->dim[i].n / s->dim[i].count->bound)};
    return out;
}

static Tensor *draw(Oracle *o, const Home *h) {
    Tensor *t = NEW(o->arena, Tensor);
    t->shape = run_time(o, &h->shape);
    int64_t n = shape_elements(&t->shape);
    t->at = NEW_ARRAY(o->arena, double, n);
    for (int64_t i = 0; i < n; i++) {
        double x = random_real(o, o->ranges.at[h->id].lo, o->ranges.at[h->id].hi);
        t->at[i] = h->dtype == DT_F64 ? x : h->dtype == DT_F32 ? (double)(float)x : floor(x);
    }
    return t;
}

static void make_room(Oracle *o, int id) {
    while (o->homes.n <= id) {
        vec_push(o->arena, &o->homes, NULL);
        vec_push(o->arena, &o->ranges, (Range){-2, 2});
    }
}

static const Tensor *home_value(void *context, const Home *h) {
    Oracle *o = context;
    make_room(o, h->id);
    if (!o->homes.at[h->id])
        o->homes.at[h->id] = draw(o, h);
    return o->homes.at[h->id];
}

static double scalar_value(void *context, const Scalar *s) {
    return ((Oracle *)context)->scalar[s->id];
}

static int64_t count_value(void *context, const Count *c) {
    (void)c;
    return ((Oracle *)context)->count;
}

/* Element k of row r of source s is known from the numbers alone. */
static void source_row(void *context, const DataSource *s, int64_t row, double *out) {
    (void)context;
    for (int64_t k = 0; k < s->row_elements; k++)
        out[k] = (double)((s->id * 31 + row * 7 + k * 3) % 11) - 5;
}

/* ---- making ---- */

Oracle *oracle_new(DType real, uint64_t seed) {
    Arena *a = arena_new();
    Oracle *o = NEW(a, Oracle);
    o->arena = a;
    o->state = seed * 2 + 1;
    o->count = 3;
    o->single = real == DT_F32;
    o->program = NEW(a, Program);
    o->program->arena = a;
    o->program->graph = o->graph = graph_new(a, real);
    o->graph->mutate = getenv("NNC_MUTATE"); /* tests/scripts/mutations.sh */
    Region *r = NEW(a, Region);
    r->name = "test";
    r->used = true;
    vec_push(a, &o->program->regions, r);
    o->graph->region = r;
    o->env = (InterpEnv){.context = o,
                         .home = home_value,
                         .scalar = scalar_value,
                         .count = count_value,
                         .source_row = source_row,
                         .seed = seed};
    return o;
}

void oracle_free(Oracle *o) {
    arena_free(o->arena);
}

Home *oracle_home(Oracle *o, HomeKind kind, DType t, const Shape *s) {
    Home *h = NEW(o->arena, Home);
    h->id = o->program->homes.n;
    h->kind = kind;
    h->name = h->path = arena_printf(o->arena, "x%d", h->id);
    h->dtype = t;
    h->shape = *s;
    h->model = -1;
    vec_push(o->arena, &o->program->homes, h);
    make_room(o, h->id);
    return h;
}

Node *oracle_input(Oracle *o, DType t, const Shape *s, double lo, double hi) {
    Home *h = oracle_home(o, HOME_PARAM, t, s);
    o->ranges.at[h->id] = (Range){lo, hi};
    return graph_read(o->graph, h);
}

Tensor *oracle_contents(Oracle *o, const Node *input) {
    return (Tensor *)home_value(o, input->attr.home);
}

void oracle_redraw(Oracle *o) {
    for (int i = 0; i < o->homes.n; i++)
        o->homes.at[i] = NULL;
}

const Tensor *oracle_value(Oracle *o, const Node *n) {
    Interp *in = interp_new(o->arena, &o->env, o->single);
    const Tensor *t = interp_value(in, n);
    Tensor *copy = NEW(o->arena, Tensor);
    copy->shape = t->shape;
    size_t bytes = sizeof *t->at * (size_t)shape_elements(&t->shape);
    copy->at = arena_alloc(o->arena, bytes);
    memcpy(copy->at, t->at, bytes);
    interp_forget(in);
    return copy;
}

static Node *total(Oracle *o, Node *x) {
    return graph_reduce(o->graph, OP_sum, x, (1u << x->shape.rank) - 1);
}

Node *oracle_project(Oracle *o, Node *y) {
    Graph *g = o->graph;
    if (shape_count(
            &y->shape)) { /* no constant data of a run-time extent: a smooth function of y */
        Node *half = graph_constant(g, y->dtype, &y->shape, 0.5);
        return total(o, graph_binary(g, OP_mul, y, graph_binary(g, OP_add, y, half)));
    }
    int64_t n = shape_elements(&y->shape);
    double *w = NEW_ARRAY(o->arena, double, n);
    for (int64_t i = 0; i < n; i++)
        w[i] = random_real(o, 0.5, 1.5) * (random_real(o, 0, 1) < 0.5 ? -1 : 1);
    return total(o, graph_binary(g, OP_mul, y, graph_data(g, y->dtype, &y->shape, w)));
}

/* ---- differences ---- */

static double loss_at(Oracle *o, const Node *loss, Node *const *inputs, int n, double **v,
                      double h) {
    for (int k = 0; k < n; k++) {
        Tensor *t = oracle_contents(o, inputs[k]);
        for (int64_t i = 0; i < shape_elements(&t->shape); i++)
            t->at[i] += h * v[k][i];
    }
    double y = oracle_value(o, loss)->at[0];
    for (int k = 0; k < n; k++) {
        Tensor *t = oracle_contents(o, inputs[k]);
        for (int64_t i = 0; i < shape_elements(&t->shape); i++)
            t->at[i] -= h * v[k][i];
    }
    return y;
}

static double error_once(Oracle *o, const Node *loss, Node *const *inputs, Node *const *grads,
                         int n) {
    const double h = 1e-5;
    double **v = NEW_ARRAY(o->arena, double *, n);
    double slope = 0, size = 1e-3;
    for (int k = 0; k < n; k++) {
        int64_t elements = shape_elements(&oracle_contents(o, inputs[k])->shape);
        v[k] = NEW_ARRAY(o->arena, double, elements);
        const Tensor *g = grads[k] ? oracle_value(o, grads[k]) : NULL;
        for (int64_t i = 0; i < elements; i++) {
            v[k][i] = random_real(o, -1, 1);
            slope += g ? g->at[i] * v[k][i] : 0;
            size += g ? fabs(g->at[i] * v[k][i]) : 0;
        }
    }
    double up = loss_at(o, loss, inputs, n, v, h), down = loss_at(o, loss, inputs, n, v, -h);
    double error = fabs((up - down) / (2 * h) - slope) / (size + 1e-5 * fabs(up));
    return isnan(error) ? INFINITY : error;
}

static double best_error(Oracle *o, const Node *loss, Node *const *inputs, Node *const *grads,
                         int n) {
    double best = INFINITY;
    for (int round = 0; round < 5 && best > 1e-7; round++) {
        oracle_redraw(o);
        best = fmin(best, error_once(o, loss, inputs, grads, n));
    }
    return best;
}

double oracle_gradient_error(Oracle *o, Node *loss, Node *const *inputs, int n) {
    Node **grads = NEW_ARRAY(o->arena, Node *, n), *blame = NULL;
    if (!grad_build(o->graph, loss, inputs, n, grads, &blame))
        return INFINITY;
    return best_error(o, loss, inputs, grads, n);
}

double oracle_second_error(Oracle *o, Node *loss, Node *const *inputs, int n) {
    Node **grads = NEW_ARRAY(o->arena, Node *, n), *blame = NULL, *sum = NULL;
    if (!grad_build(o->graph, loss, inputs, n, grads, &blame))
        return INFINITY;
    for (int k = 0; k < n; k++) {
        Node *part = grads[k] ? oracle_project(o, grads[k]) : NULL;
        sum = part && sum ? graph_binary(o->graph, OP_add, sum, part) : part ? part : sum;
    }
    return sum ? oracle_gradient_error(o, sum, inputs, n) : 0;
}
