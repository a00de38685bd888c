/* interp.c: the oracle: evaluates a graph node by node, as the definitions of the ops say and no
 * faster.
 *
 * It is constant folding, the reference of the tests, and `nnc run --target ref`. Every value is an
 * array of double. Whole numbers wrap at the width of their type, as far as the result before
 * wrapping fits 53 bits.
 */
#include "interp.h"
#include <math.h>
#include <string.h>

Interp *interp_new(Arena *a, const InterpEnv *env, bool single) {
    Interp *in = NEW(a, Interp);
    in->arena = a;
    in->values = arena_new();
    in->env = env;
    in->single = single;
    return in;
}

void interp_forget(Interp *in) {
    arena_free(in->values);
    in->values = arena_new();
    in->value = NULL;
    in->n = 0;
}

const Node *interp_fault(const Interp *in) {
    return in->fault;
}

void interp_fault_at(Interp *in, const Node *n) {
    if (!in->fault)
        in->fault = n;
}

int64_t interp_index(Interp *in, const Node *n, double index, int64_t extent) {
    int64_t i = (int64_t)index;
    if (i >= 0 && i < extent)
        return i;
    interp_fault_at(in, n);
    return i < 0 ? 0 : extent - 1;
}

/* ---- walking ---- */

Walk walk_start(const Shape *s) {
    return (Walk){.shape = s, .left = shape_elements(s)};
}

void walk_next(Walk *w) {
    w->at++;
    w->left--;
    for (int i = w->shape->rank - 1; i >= 0; i--) {
        if (++w->sub[i] < w->shape->dim[i].n)
            return;
        w->sub[i] = 0;
    }
}

int64_t shape_place(const Shape *s, const int64_t *sub) {
    int64_t at = 0;
    for (int i = 0; i < s->rank; i++)
        at = at * s->dim[i].n + sub[i];
    return at;
}

/* ---- one node ---- */

typedef struct Rules {
    InterpFn *f64, *f32;
} Rules;

#undef INTERP_MAP
#undef INTERP_LEAF
#define INTERP_MAP(name)  {interp_f64_##name, interp_f32_##name},
#define INTERP_LEAF(name) {interp_##name, interp_##name},
static const Rules rules[OP_N] = {
#define OP(name, args, kind, ...) INTERP_##kind(name)
#include "ops.h"
#undef OP
};

double interp_number(Op op, DType t, int n, const double *x) {
    double at[3], result = 0;
    Tensor arg[3], out = {.shape = shape_scalar(), .at = &result};
    const Tensor *in[3];
    if (op_info[op].kind != KIND_MAP)
        bug("oracle: op '%s' on single numbers", op_info[op].name);
    for (int i = 0; i < n; i++) {
        at[i] = x[i];
        arg[i] = (Tensor){.shape = shape_scalar(), .at = &at[i]};
        in[i] = &arg[i];
    }
    const Node node = {.op = op, .dtype = t, .nin = n};
    rules[op].f64(NULL, &node, in, &out);
    return result;
}

static Shape run_time_shape(const Interp *in, const Shape *s) {
    Shape out = *s;
    for (int i = 0; i < s->rank; i++) {
        const Count *c = s->dim[i].count;
        if (c)
            out.dim[i] = (Dim){.n = in->env->count(in->env->context, c) * (s->dim[i].n / c->bound)};
    }
    return out;
}

/* The type the arithmetic is done in. */
static DType working_type(const Node *n) {
    return n->dtype == DT_BOOL && n->nin ? n->in[0]->dtype : n->dtype;
}

static double wrapped(Interp *in, const Node *n, double x) {
    if (!isfinite(x)) { /* a division of whole numbers by 0 */
        interp_fault_at(in, n);
        return 0;
    }
    double width = n->dtype == DT_U8 ? 0x1p8 : n->dtype == DT_I32 ? 0x1p32 : 0x1p64;
    double low = n->dtype == DT_U8 ? 0 : -width / 2;
    return x >= low && x < low + width ? x : x - floor((x - low) / width) * width;
}

static bool is_arithmetic(const Node *n) {
    OpKind kind = op_info[n->op].kind;
    return kind == KIND_MAP || kind == KIND_REDUCE || kind == KIND_CONTRACT || kind == KIND_SCAN;
}

static float jittered(Interp *in, float x) {
    in->jitter ^= in->jitter << 13; /* Marsaglia's xorshift */
    in->jitter ^= in->jitter >> 17;
    in->jitter ^= in->jitter << 5;
    if (!isfinite(x) || in->jitter >> 31)
        return x;
    return nextafterf(x, in->jitter >> 30 ? INFINITY : -INFINITY);
}

void interp_jitter(Interp *in, uint32_t seed) {
    in->jitter = seed;
}

/* Brings what a rule left into the type of the node. */
static void settle(Interp *in, const Node *n, Tensor *t) {
    int64_t elements = shape_elements(&t->shape);
    bool moves = in->jitter && is_arithmetic(n);
    for (int64_t i = 0; i < elements; i++) {
        if (n->dtype == DT_F32 && in->single)
            t->at[i] = (double)(moves ? jittered(in, (float)t->at[i]) : (float)t->at[i]);
        else if (dtype_is_int(n->dtype))
            t->at[i] = wrapped(in, n, t->at[i]);
    }
}

static Tensor *compute(Interp *in, const Node *n) {
    const Tensor **x = NEW_ARRAY(in->values, const Tensor *, n->nin);
    for (int i = 0; i < n->nin; i++)
        x[i] = in->value[n->in[i]->id];
    Tensor *t = NEW(in->values, Tensor);
    t->shape = run_time_shape(in, &n->shape);
    t->at = NEW_ARRAY(in->values, double, shape_elements(&t->shape));
    bool f32 = in->single && working_type(n) == DT_F32;
    (f32 ? rules[n->op].f32 : rules[n->op].f64)(in, n, x, t);
    settle(in, n, t);
    return t;
}

/* ---- a node with all it needs ---- */

static void make_room(Interp *in, int n) {
    if (n <= in->n)
        return;
    n += n / 2;
    const Tensor **value = NEW_ARRAY(in->values, const Tensor *, n);
    if (in->n)
        memcpy(value, in->value, sizeof *value * (size_t)in->n);
    in->value = value;
    in->n = n;
}

void interp_give(Interp *in, const Node *n, const Tensor *t) {
    make_room(in, n->id + 1);
    in->value[n->id] = t;
}

const Tensor *interp_value(Interp *in, const Node *n) {
    VEC(const Node *) stack = {0};
    make_room(in, n->id + 1);
    vec_push(in->values, &stack, n);
    while (stack.n) {
        const Node *top = stack.at[stack.n - 1];
        int waiting = stack.n;
        for (int i = 0; i < top->nin && !in->value[top->id]; i++)
            if (!in->value[top->in[i]->id])
                vec_push(in->values, &stack, top->in[i]);
        if (stack.n > waiting)
            continue;
        if (!in->value[top->id])
            in->value[top->id] = compute(in, top);
        stack.n--;
    }
    return in->value[n->id];
}

/* ---- leaves and effects ---- */

void interp_constant(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    (void)in, (void)x;
    WALK(w, &out->shape)
    out->at[w.at] = n->attr.constant.data ? n->attr.constant.data[w.at] : n->attr.constant.value;
}

void interp_read(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    (void)x;
    const Tensor *home = in->env->home(in->env->context, n->attr.home);
    if (shape_elements(&home->shape) != shape_elements(&out->shape))
        bug("contents of %s have another shape", n->attr.home->name);
    memcpy(out->at, home->at, sizeof *out->at * (size_t)shape_elements(&out->shape));
}

void interp_scalar(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    (void)x;
    out->at[0] = in->env->scalar(in->env->context, n->attr.scalar);
}

void interp_count(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    (void)x;
    out->at[0] = (double)in->env->count(in->env->context, n->attr.count);
}

void interp_iota(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    (void)in, (void)x;
    WALK(w, &out->shape)
    out->at[w.at] = (double)w.sub[n->attr.axis];
}

void interp_check(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    WALK(w, &out->shape) {
        out->at[w.at] = x[0]->at[w.at];
        if (!isfinite(out->at[w.at]))
            interp_fault_at(in, n);
    }
}
