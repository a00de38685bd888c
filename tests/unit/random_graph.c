/* random_graph.c: a pool of nodes of the open region grows by random ops on its members.
 */
#include "random_graph.h"

typedef struct Gen {
    Arena *arena;
    Program *p;
    Graph *g;
    uint64_t state;
    const Count *count;
    VEC(Node *) pool; /* real nodes */
} Gen;

static int64_t pick(Gen *r, int64_t n) {
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = (r->state ^ r->state >> 31) * 0x9e3779b97f4a7c15u;
    return (int64_t)((x >> 33) % (uint64_t)n);
}

static bool chance(Gen *r, int percent) {
    return pick(r, 100) < percent;
}

static double number(Gen *r) {
    return (double)pick(r, 4001) / 1000 - 2;
}

/* ---- inputs ---- */

static Home *new_home(Gen *r, DType t, const Shape *s) {
    Home *h = NEW(r->arena, Home);
    h->id = r->p->homes.n;
    h->kind = shape_count(s) ? HOME_ARG : HOME_PARAM;
    h->name = h->path = arena_printf(r->arena, "x%d", h->id);
    h->dtype = t;
    h->shape = *s;
    h->model = -1;
    vec_push(r->arena, &r->p->homes, h);
    return h;
}

static Shape random_shape(Gen *r, int rank) {
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 8, 17, 33};
    Shape s = {.rank = rank};
    for (int i = 0; i < rank; i++)
        s.dim[i].n = sizes[pick(r, rank > 2 ? 6 : COUNT_OF(sizes))];
    if (rank && r->count && chance(r, 60))
        s.dim[0] = (Dim){r->count->bound * (1 + pick(r, 2)), r->count};
    return s;
}

static Node *input(Gen *r, const Shape *s) {
    return graph_read(r->g, new_home(r, r->g->real, s));
}

static Node *any(Gen *r) {
    int n = r->pool.n, back = chance(r, 60) ? MIN(n, 6) : n;
    return r->pool.at[n - 1 - pick(r, back)];
}

static Node *constant(Gen *r, const Shape *s) {
    static const double plain[] = {0, 1, -1, 0.5, 2};
    if (chance(r, 50) || shape_count(s))
        return graph_constant(r->g, r->g->real, s, chance(r, 60) ? plain[pick(r, 5)] : number(r));
    int64_t n = shape_elements(s);
    double *at = NEW_ARRAY(r->arena, double, n);
    for (int64_t i = 0; i < n; i++)
        at[i] = number(r);
    return graph_data(r->g, r->g->real, s, at);
}

/* Something of this shape: of the pool, spread from the pool, constant or new. */
static Node *of_shape(Gen *r, const Shape *s) {
    for (int i = 0; i < 8; i++) {
        Node *x = any(r);
        if (shape_equal(&x->shape, s))
            return x;
        bool fits = x->shape.rank <= s->rank;
        for (int k = 1; fits && k <= x->shape.rank; k++) {
            Dim d = x->shape.dim[x->shape.rank - k];
            fits = dim_equal(d, s->dim[s->rank - k]) || (d.n == 1 && !d.count);
        }
        if (fits)
            return graph_broadcast_to(r->g, x, s);
    }
    return chance(r, 50) ? constant(r, s) : input(r, s);
}

/* ---- maps ---- */

static Node *map1(Gen *r, Op op, Node *x) {
    return graph_unary(r->g, op, x);
}

static Node *map2(Gen *r, Op op, Node *x, Node *y) {
    return graph_binary(r->g, op, x, y);
}

static Node *like(Gen *r, Node *x, double value) {
    return graph_constant(r->g, x->dtype, &x->shape, value);
}

/* At least 0.5. */
static Node *positive(Gen *r, Node *x) {
    return map2(r, OP_add, map1(r, OP_abs, x), like(r, x, 0.5));
}

static Node *unary(Gen *r) {
    static const Op tame[] = {OP_neg, OP_abs, OP_sin, OP_cos, OP_tanh, OP_sigmoid, OP_erf, OP_atan};
    static const Op poles[] = {OP_log, OP_sqrt, OP_rsqrt, OP_log1p};
    Node *x = any(r);
    if (chance(r, 60))
        return map1(r, tame[pick(r, COUNT_OF(tame))], x);
    if (chance(r, 60))
        return map1(r, poles[pick(r, COUNT_OF(poles))], positive(r, x));
    return map1(r, chance(r, 50) ? OP_exp : OP_expm1, map1(r, OP_sin, x));
}

/* A condition on inputs: it does not hang on rounding. */
static Node *condition(Gen *r, const Shape *s) {
    Node *c = map2(r, chance(r, 50) ? OP_lt : OP_le, input(r, s), like(r, input(r, s), number(r)));
    if (chance(r, 30))
        c = map1(r, OP_not, c);
    return chance(r, 30) ? map2(r, chance(r, 50) ? OP_and : OP_or, c,
                                graph_constant(r->g, DT_BOOL, s, pick(r, 2) != 0))
                         : c;
}

static Node *binary(Gen *r) {
    static const Op ops[] = {OP_add, OP_sub, OP_mul, OP_minimum, OP_maximum, OP_mul_zero};
    Node *x = any(r), *y = of_shape(r, &x->shape);
    switch (pick(r, 5)) {
    case 0:
        return map2(r, OP_div, x, positive(r, y));
    case 1:
        return graph_where(r->g, condition(r, &x->shape), x, y);
    case 2:
        return graph_fma(r->g, map1(r, OP_tanh, x), map1(r, OP_tanh, y), x);
    default:
        return map2(r, ops[pick(r, COUNT_OF(ops))], map1(r, OP_tanh, x), map1(r, OP_sin, y));
    }
}

/* What simplify is for. */
static Node *redundant(Gen *r) {
    Node *x = any(r);
    switch (pick(r, 8)) {
    case 0:
        return map2(r, OP_mul, x, like(r, x, 1));
    case 1:
        return map2(r, OP_add, like(r, x, 0), x);
    case 2:
        return map2(r, OP_div, x, like(r, x, 4));
    case 3:
        return map2(r, OP_sub, x, map1(r, OP_neg, of_shape(r, &x->shape)));
    case 4:
        return graph_cast(r->g, graph_cast(r->g, x, DT_F64), r->g->real);
    case 5:
        return map2(r, OP_add, map1(r, OP_cos, x), map1(r, OP_cos, x));
    case 6:
        return map2(r, OP_mul_zero, like(r, x, (double)pick(r, 2)), x);
    default:
        map1(r, OP_neg, x); /* dead */
        return map1(r, OP_stop, x);
    }
}

/* ---- movement ---- */

static Node *permuted(Gen *r, Node *x) {
    int perm[MAX_RANK], rank = x->shape.rank;
    for (int i = 0; i < rank; i++) {
        int k = (int)pick(r, i + 1);
        perm[i] = perm[k];
        perm[k] = i;
    }
    return graph_permute(r->g, x, perm);
}

/* Two neighbouring axes merged, an axis of 1 put in or taken out. */
static Node *reshaped(Gen *r, Node *x) {
    Shape s = x->shape;
    int axis = s.rank ? (int)pick(r, s.rank) : 0;
    if (s.rank >= 2 && axis + 1 < s.rank && chance(r, 50) && !s.dim[axis + 1].count) {
        s.dim[axis].n *= s.dim[axis + 1].n;
        for (int i = axis + 1; i + 1 < s.rank; i++)
            s.dim[i] = s.dim[i + 1];
        s.rank--;
    } else if (s.rank < 4) {
        for (int i = s.rank; i > axis; i--)
            s.dim[i] = s.dim[i - 1];
        s.dim[axis] = (Dim){.n = 1};
        s.rank++;
    }
    return graph_reshape(r->g, x, &s);
}

static Node *sliced(Gen *r, Node *x) {
    int64_t start[MAX_RANK] = {0}, step[MAX_RANK];
    Shape s = x->shape;
    for (int i = 0; i < s.rank; i++) {
        step[i] = 1;
        if (s.dim[i].count || chance(r, 40))
            continue;
        int64_t n = s.dim[i].n, first = pick(r, n), last = pick(r, n), stride = 1 + pick(r, 2);
        start[i] = first;
        step[i] = last < first ? -stride : stride;
        s.dim[i].n = (last < first ? first - last : last - first) / stride + 1;
    }
    return graph_slice(r->g, x, start, step, &s);
}

static Node *padded(Gen *r, Node *x) {
    int64_t lo[MAX_RANK] = {0};
    Shape s = x->shape;
    for (int i = 0; i < s.rank; i++) {
        if (s.dim[i].count)
            continue;
        lo[i] = pick(r, 3);
        s.dim[i].n += lo[i] + pick(r, 2);
    }
    return graph_pad(r->g, x, lo, &s, chance(r, 60) ? 0 : number(r));
}

static Node *joined(Gen *r, Node *x) {
    int axis = x->shape.rank ? (int)pick(r, x->shape.rank) : 0;
    if (!x->shape.rank || x->shape.dim[axis].count)
        return reshaped(r, x);
    Shape s = x->shape;
    s.dim[axis].n = 1 + pick(r, 3);
    Node *both[] = {x, of_shape(r, &s)};
    Node *y = graph_concat(r->g, 2, both, axis);
    return chance(r, 40) ? sliced(r, y) : y;
}

/* Windows along some axes of known extent, or x folded as if it were such windows. */
static Node *windowed(Gen *r, Node *x) {
    int most = x->shape.rank < MAX_RANK - 2 ? x->shape.rank : 0, first = 0, last;
    while (first < most && x->shape.dim[first].count)
        first++;
    for (last = first; last < most && last < first + 2 && !x->shape.dim[last].count; last++)
        ;
    if (first >= most)
        return reshaped(r, x);
    Windows w = {.axis = first, .n = last - first};
    int64_t out[MAX_WINDOWED], length[MAX_WINDOWED];
    for (int i = 0; i < w.n; i++) {
        int64_t n = x->shape.dim[first + i].n;
        length[i] = 1 + pick(r, MIN(n, 3));
        w.apart[i] = 1 + (length[i] > 1 ? pick(r, MIN((n - 1) / (length[i] - 1), 2)) : 0);
        w.step[i] = 1 + pick(r, 3);
        int64_t reach = (length[i] - 1) * w.apart[i];
        out[i] = (n - 1 - reach) / w.step[i] + 1;
        if (chance(r, 30)) {
            w.start[i] = reach;
            w.apart[i] = -w.apart[i];
        }
    }
    Node *y = graph_windows(r->g, x, &w, out, length);
    if (y->op != OP_windows || chance(r, 50))
        return y;
    Node *all = chance(r, 50) ? y : of_shape(r, &y->shape);
    return all->dtype == DT_BOOL ? y : graph_fold(r->g, all, &w, &x->shape);
}

static Node *movement(Gen *r) {
    Node *x = any(r);
    switch (pick(r, 7)) {
    case 5:
        return windowed(r, x);
    case 0:
        return permuted(r, chance(r, 40) ? permuted(r, x) : x);
    case 1:
        return reshaped(r, chance(r, 40) ? reshaped(r, x) : x);
    case 2:
        return sliced(r, chance(r, 30) ? sliced(r, x) : x);
    case 3:
        return padded(r, x);
    case 4:
        return joined(r, x);
    default:
        return of_shape(r, &any(r)->shape);
    }
}

/* ---- the rest ---- */

static Node *reduction(Gen *r) {
    static const Op ops[] = {OP_sum, OP_sum, OP_max, OP_min, OP_prod};
    Node *x = any(r);
    if (!x->shape.rank)
        return map1(r, OP_sin, x);
    if (chance(r, 15) && !shape_count(&x->shape))
        return graph_cumsum(r->g, x, (int)pick(r, x->shape.rank), chance(r, 50));
    unsigned axes = 1 + (unsigned)pick(r, (1 << x->shape.rank) - 1);
    Op op = ops[pick(r, COUNT_OF(ops))];
    Node *y = graph_reduce(r->g, op, op == OP_prod ? map1(r, OP_cos, x) : x, axes);
    return op == OP_sum ? map2(r, OP_div, y,
                               graph_broadcast_to(r->g, graph_size(r->g, &x->shape, axes, x->dtype),
                                                  &y->shape))
                        : y;
}

/* One factor of shape [rows, columns] or, transposed, [columns, rows], as [1, …]. */
static Node *factor(Gen *r, Dim rows, Dim columns, bool transposed) {
    bool turned = chance(r, 40);
    bool swap = transposed != turned;
    const Shape flat = {.rank = 2, .dim = {swap ? columns : rows, swap ? rows : columns}};
    Node *x = map1(r, OP_tanh, of_shape(r, &flat));
    if (turned)
        x = graph_permute(r->g, x, (int[]){1, 0});
    const Shape s = {.rank = 3, .dim = {{1, NULL}, x->shape.dim[0], x->shape.dim[1]}};
    return graph_reshape(r->g, x, &s);
}

static Node *contraction(Gen *r) {
    Shape s = random_shape(r, 2);
    Dim k = {1 + pick(r, 20), NULL};
    bool ta = chance(r, 40), tb = chance(r, 40);
    Node *a = factor(r, s.dim[0], k, ta), *b = factor(r, k, s.dim[1], tb);
    Node *y = graph_dot(r->g, a, b, ta, tb);
    if (chance(r, 30))
        y = graph_permute(r->g, y, (int[]){0, 2, 1});
    return map2(r, OP_mul, y, like(r, y, 0.25));
}

/* Whole numbers below the extent, from a home that holds any. */
static Node *index_below(Gen *r, int64_t extent, const Shape *s) {
    Node *raw = graph_read(r->g, new_home(r, DT_I32, s));
    return map2(r, OP_mod, raw, graph_constant(r->g, DT_I32, s, (double)extent));
}

static Node *indexed(Gen *r) {
    Node *x = any(r);
    int rank = x->shape.rank;
    if (!rank || rank > 3 || shape_count(&x->shape))
        return map1(r, OP_cos, x);
    int64_t n = x->shape.dim[0].n;
    const Shape some = random_shape(r, 1);
    if (chance(r, 40))
        return graph_gather(r->g, x, index_below(r, n, &some));
    if (chance(r, 50)) {
        const Shape rows = shape_without(&x->shape, 1u << (rank - 1));
        return graph_pick(r->g, x, index_below(r, x->shape.dim[rank - 1].n, &rows));
    }
    Shape update = x->shape;
    update.dim[0] = some.dim[0];
    return graph_scatter_add(r->g, x, index_below(r, n, &some), of_shape(r, &update));
}

/* A stretch in 64 bits; or a total in f64, which is not in the pool: the home that it adds to is
 * its result. */
static Node *precise(Gen *r) {
    Node *x = any(r), *wide = map1(r, OP_cos, graph_cast(r->g, x, DT_F64));
    if (chance(r, 50) && !shape_count(&x->shape)) {
        Home *total = new_home(r, DT_F64, &x->shape);
        Node *sum = map2(r, OP_add, graph_read(r->g, total), wide);
        vec_push(r->arena, &r->g->region->writes, (Write){total, sum});
        return map1(r, OP_neg, x);
    }
    if (x->shape.rank && chance(r, 60))
        wide = graph_reduce(r->g, chance(r, 50) ? OP_sum : OP_max, wide,
                            1 + (unsigned)pick(r, (1 << x->shape.rank) - 1));
    return graph_cast(r->g, map1(r, OP_tanh, wide), r->g->real);
}

static void step(Gen *r) {
    Node *(*const kinds[])(Gen *) = {unary,    unary,    binary,    binary,      binary,  redundant,
                                     movement, movement, reduction, contraction, indexed, precise};
    Node *y = kinds[pick(r, COUNT_OF(kinds))](r);
    if (shape_elements(&y->shape) <= 5000 && y->shape.rank <= 5)
        vec_push(r->arena, &r->pool, y);
}

/* Some nodes of the region become versions of new homes, or outputs. */
static void results(Gen *r, Region *region) {
    int from = MAX(0, r->pool.n - 12);
    for (int i = from; i < r->pool.n; i++) {
        Node *n = r->pool.at[i];
        if (n->region != region || (i + 1 < r->pool.n && chance(r, 50)))
            continue;
        bool taken = false;
        for (int k = 0; k < region->writes.n; k++)
            taken = taken || region->writes.at[k].value == n;
        if (shape_count(&n->shape) || taken || n->op == OP_read)
            vec_push(r->arena, &region->outputs, n);
        else
            vec_push(r->arena, &region->writes, (Write){new_home(r, n->dtype, &n->shape), n});
    }
}

static void fill_region(Gen *r, HBlock *body, int steps) {
    Region *region = NEW(r->arena, Region);
    region->id = r->p->regions.n;
    region->name = arena_printf(r->arena, "part%d", region->id);
    region->used = true;
    region->task = r->p->tasks.at[0];
    vec_push(r->arena, &r->p->regions, region);
    r->g->region = region;
    for (int i = 0; i < 4; i++) {
        Shape s = random_shape(r, 1 + (int)pick(r, 3));
        vec_push(r->arena, &r->pool, input(r, &s));
    }
    for (int i = 0; i < steps; i++)
        step(r);
    results(r, region);
    HStmt *s = NEW(r->arena, HStmt);
    s->kind = HS_REGION;
    s->region = region;
    vec_push(r->arena, &body->stmts, s);
}

/* What a later region uses is an output of its own. */
static void mark_crossing(Gen *r) {
    for (int i = 0; i < r->g->nodes.n; i++) {
        const Node *n = r->g->nodes.at[i];
        for (int k = 0; k < n->nin; k++) {
            Region *from = n->in[k]->region;
            bool known = from == n->region;
            for (int j = 0; j < from->outputs.n && !known; j++)
                known = from->outputs.at[j] == n->in[k];
            if (!known)
                vec_push(r->arena, &from->outputs, n->in[k]);
        }
    }
}

void random_graph(Arena *a, Program *p, uint64_t seed) {
    if (!p->graph)
        p->graph = graph_new(a, DT_F32);
    Gen r = {.arena = a, .p = p, .g = p->graph, .state = seed * 0x9e3779b97f4a7c15u + 1};
    if (seed % 4 == 3) {
        Count *c = NEW(a, Count);
        *c = (Count){.id = p->counts.n, .name = "B", .called = "B", .bound = 8};
        vec_push(a, &p->counts, c);
        r.count = c;
    }
    Task *t = NEW(a, Task);
    t->name = "random";
    t->body = NEW(a, HBlock);
    vec_push(a, &p->tasks, t);
    int regions = 1 + (int)pick(&r, 2);
    for (int i = 0; i < regions; i++)
        fill_region(&r, t->body, 10 + (int)pick(&r, 40));
    mark_crossing(&r);
}
