/* schedule_value.c: the element of a node as an expression: inlining of maps and movement.
 *
 * Movement ops only change subscripts, so they cost nothing here. A value that is used more than
 * once, or is costly, becomes a let in the outermost block where its loop variables exist: what
 * does not change in a loop is computed before it, but not before a GPU's threads part.
 */
#include "target.h"

/* ---- accesses of the kernel ---- */

static void note_read(Sched *s, const Buffer *b) {
    for (int i = 0; i < s->kernel->reads.n; i++)
        if (s->kernel->reads.at[i].buffer == b)
            return;
    vec_push(s->arena, &s->kernel->reads, (Access){.buffer = (Buffer *)b});
}

static void note_write(Sched *s, const Buffer *b) {
    for (int i = 0; i < s->kernel->writes.n; i++)
        if (s->kernel->writes.at[i].buffer == b)
            return;
    vec_push(s->arena, &s->kernel->writes, (Access){.buffer = (Buffer *)b});
}

static void note_scalar(Sched *s, Scalar *x) {
    for (int i = 0; i < s->kernel->scalars.n; i++)
        if (s->kernel->scalars.at[i] == x)
            return;
    vec_push(s->arena, &s->kernel->scalars, x);
}

static void note_source(Sched *s, DataSource *x) {
    for (int i = 0; i < s->kernel->sources.n; i++)
        if (s->kernel->sources.at[i] == x)
            return;
    vec_push(s->arena, &s->kernel->sources, x);
}

/* ---- subscripts ---- */

static void reshape_subscripts(Arena *a, const Shape *from, const Ix *const *sub, const Shape *to,
                               const Ix **out) {
    ix_unflat(a, to, ix_flat(a, from, sub), out);
}

void value_subscripts(Sched *s, const Shape *from, const Ix *const *sub, const Node *n,
                      const Ix **out) {
    reshape_subscripts(s->arena, from, sub, &n->shape, out);
}

bool input_subscripts(Arena *a, const Node *n, int i, const Ix *const *sub, const Ix **out) {
    OpKind kind = op_info[n->op].kind;
    if (kind != KIND_MAP && kind != KIND_EFFECT)
        return kind == KIND_MOVE && op_info[n->op].index(a, n, sub, out);
    for (int d = 0; d < n->in[i]->shape.rank; d++)
        out[d] = sub[d];
    return true;
}

/* ---- bindings ---- */

static bool binding_is_open(const Sched *s, const Binding *b) {
    return b->depth <= s->nest->depth && s->nest->open[b->depth] == b->block;
}

static const Expr *find_binding(const Sched *s, const Node *n, const Ix *const *sub) {
    for (int i = s->bindings.n - 1; i >= 0; i--) {
        const Binding *b = &s->bindings.at[i];
        if (b->n != n || !binding_is_open(s, b))
            continue;
        int d = 0;
        while (d < n->shape.rank && ix_equal(b->sub[d], sub[d]))
            d++;
        if (d == n->shape.rank)
            return b->e;
    }
    return NULL;
}

static void bind_at(Sched *s, int depth, const Node *n, const Ix *const *sub, const Expr *e) {
    const Ix **copy = NEW_ARRAY(s->arena, const Ix *, n->shape.rank + 1);
    for (int d = 0; d < n->shape.rank; d++)
        copy[d] = sub[d];
    vec_push(s->arena, &s->bindings, (Binding){n, copy, e, s->nest->open[depth], depth});
}

void value_bind(Sched *s, const Node *n, const Ix *const *sub, const Expr *e) {
    bind_at(s, s->nest->depth, n, sub, e);
}

/* Nothing is computed outside of the loop that the grid shares: each thread comes by it once, and
 * more threads would come by what stands before it. */
static int outermost_depth(const Sched *s) {
    const LoopVar *v = s->nest->depth ? nest_var_at(s->nest, 1) : NULL;
    return s->target->threads && v && v->kind != LOOP_SEQ ? 1 : 0;
}

/* The outermost depth at which everything in e exists. */
static int depth_of_ix(const Sched *s, const Ix *x);

static int depth_of_expr(const Sched *s, const Expr *e) {
    int depth = e->kind == EX_LOCAL ? e->local->depth : 0;
    if (e->kind == EX_LOCAL && e->local->changes)
        return s->nest->depth;
    for (int i = 0; i < e->nin; i++)
        depth = MAX(depth, depth_of_expr(s, e->in[i]));
    if (e->ix)
        depth = MAX(depth, depth_of_ix(s, e->ix));
    int rank = expr_rank(e);
    for (int i = 0; i < rank; i++)
        depth = MAX(depth, e->sub[i] ? depth_of_ix(s, e->sub[i]) : 0);
    return depth;
}

static int depth_of_ix(const Sched *s, const Ix *x) {
    int depth = 0;
    for (int i = 0; i < x->n; i++) {
        const Atom *atom = x->term[i].atom;
        int d = 0;
        if (atom->kind == ATOM_DATA)
            d = depth_of_expr(s, atom->data);
        else if (atom->kind == ATOM_VAR)
            while (d < s->nest->depth && nest_var_at(s->nest, d) != atom->var)
                d++;
        else
            d = depth_of_ix(s, atom->of);
        depth = MAX(depth, d);
    }
    return depth;
}

/* A let for e in the outermost possible block; not outside an open if. Threads of a tile that have
 * no element read nothing of what others of them may update. */
static const Expr *hoist(Sched *s, const Node *n, const Ix *const *sub, const Expr *e,
                         const char *name) {
    int depth = MAX(depth_of_expr(s, e), outermost_depth(s));
    bool updated = s->target->threads && e->kind == EX_LOAD && e->buffer->home;
    for (int d = depth + 1; d <= s->nest->depth; d++) {
        const LoopVar *v = nest_var_at(s->nest, d);
        if (!v || (updated && v->kind == LOOP_AT))
            depth = d;
    }
    bool named = e->kind == EX_LOCAL && !e->local->changes;
    const Expr *local =
        named ? e : expr_local(s->arena, nest_let_at(s->nest, depth, name, e), NULL);
    if (n)
        bind_at(s, depth, n, sub, local);
    return local;
}

/* ---- values ---- */

static const Expr *load(Sched *s, const Buffer *b, const Shape *shape, const Ix *const *sub) {
    const Ix *at[MAX_RANK];
    if (shape_equal(shape, &b->shape))
        return note_read(s, b), expr_load(s->arena, b, sub);
    reshape_subscripts(s->arena, shape, sub, &b->shape, at);
    note_read(s, b);
    return expr_load(s->arena, b, at);
}

static Expr *leaf(Sched *s, ExprKind kind, DType t) {
    Expr *e = NEW(s->arena, Expr);
    e->kind = kind;
    e->dtype = t;
    return e;
}

static const Expr *constant_at(Sched *s, const Node *n, const Ix *const *sub) {
    if (!n->attr.constant.data)
        return expr_const(s->arena, n->dtype, n->attr.constant.value);
    const Buffer *table = s->fusion->buffer_of[n->id];
    const Ix *at[1] = {ix_flat(s->arena, &n->shape, sub)};
    return expr_load(s->arena, table, at); /* no read: the table stands in the text */
}

static const Expr *leaf_at(Sched *s, const Node *n, const Ix *const *sub) {
    Expr *e;
    switch (n->op) {
    case OP_constant:
        return constant_at(s, n, sub);
    case OP_read: /* a version kept in a buffer of its own */
        return load(s, lower_buffer_of_home(s->compiler->lowered, n->attr.home), &n->shape, sub);
    case OP_scalar:
        e = leaf(s, EX_SCALAR, n->dtype);
        e->scalar = n->attr.scalar;
        note_scalar(s, n->attr.scalar);
        return e;
    case OP_count:
        e = leaf(s, EX_COUNT, DT_I32);
        e->count = n->attr.count;
        sched_count(s, n->attr.count);
        return expr_cast(s->arena, e, n->dtype);
    case OP_iota:
        return expr_cast(s->arena, expr_index(s->arena, sub[n->attr.axis]), n->dtype);
    default:
        bug("leaf %s has no value", op_info[n->op].name);
    }
}

void sched_count(Sched *s, const Count *c) {
    for (int i = 0; i < s->kernel->counts.n; i++)
        if (s->kernel->counts.at[i] == c)
            return;
    vec_push(s->arena, &s->kernel->counts, c);
}

/* Where `bad` holds, the node of the fault reports `with`. */
static void fault(Sched *s, Fault f, const Expr *bad, const Expr *with) {
    Lowered *l = s->compiler->lowered;
    int node = f.node->id;
    nest_fault(s->nest, bad, node, with);
    if (kernel_fault(s->kernel, node) < 0)
        vec_push(s->arena, &s->kernel->faults, node);
    if (!lower_fault(l, node))
        vec_push(s->arena, &l->faults, f);
    s->kernel->check = true;
}

/* An index from data as a subscript in 0..extent-1; one out of range sets the fault word and is
 * taken into the range. */
const Ix *sched_index(Sched *s, const Node *n, const Node *index, const Ix *const *sub,
                      int64_t extent) {
    Arena *a = s->arena;
    const Expr *i = expr_cast(a, value_at(s, index, sub), DT_I32);
    if (s->fusion->proved[n->id])
        return ix_data(a, i, extent);
    i = hoist(s, NULL, NULL, i, "index");
    const Expr *zero = expr_const(a, DT_I32, 0),
               *last = expr_const(a, DT_I32, (double)(extent - 1));
    const Expr *bad =
        expr_binary(a, OP_or, expr_binary(a, OP_lt, i, zero), expr_binary(a, OP_lt, last, i));
    fault(s, (Fault){n, FAULT_INDEX, extent}, bad, i);
    return ix_data(a, expr_binary(a, OP_minimum, expr_binary(a, OP_maximum, i, zero), last),
                   extent);
}

static const Expr *indexed_at(Sched *s, const Node *n, const Ix *const *sub) {
    const Node *x = n->in[0];
    const Ix *at[MAX_RANK];
    int rank = x->shape.rank;
    if (op_info[n->op].flags & OPF_FIRST) {
        int ni = n->in[1]->shape.rank;
        at[0] = sched_index(s, n, n->in[1], sub, x->shape.dim[0].n);
        for (int d = 1; d < rank; d++)
            at[d] = sub[ni + d - 1];
    } else if (op_info[n->op].flags & OPF_LAST) {
        for (int d = 0; d + 1 < rank; d++)
            at[d] = sub[d];
        at[rank - 1] = sched_index(s, n, n->in[1], sub, x->shape.dim[rank - 1].n);
    } else { /* slice_at */
        int axis = n->attr.axis;
        int64_t starts = x->shape.dim[axis].n - n->shape.dim[axis].n + 1;
        for (int d = 0; d < rank; d++)
            at[d] = sub[d];
        at[axis] = ix_add(s->arena, sub[axis], sched_index(s, n, n->in[1], NULL, starts));
    }
    return value_at(s, x, at);
}

static const Expr *batch_at(Sched *s, const Node *n, const Ix *const *sub) {
    DataSource *source = n->attr.batch.source;
    Shape row = n->shape;
    row.rank--;
    for (int d = 0; d < row.rank; d++)
        row.dim[d] = n->shape.dim[d + 1];
    const Expr *index = value_at(s, n->in[0], sub);
    const Ix *at = ix_scale(s->arena, ix_data(s->arena, index, INT32_MAX), source->row_elements);
    at = ix_add(s->arena, at, ix_flat(s->arena, &row, sub + 1));
    Expr *e = leaf(s, EX_SOURCE, source->dtype);
    e->source = source;
    e->ix = at;
    note_source(s, source);
    return expr_cast(s->arena, e, n->dtype);
}

static const Expr *random_at(Sched *s, const Node *n, const Ix *const *sub) {
    Expr *e = leaf(s, EX_RANDOM, n->dtype == DT_F64 ? DT_F32 : n->dtype);
    e->op = n->op;
    e->nin = 1;
    e->in[0] = value_at(s, n->in[0], NULL);
    e->ix = ix_flat(s->arena, &n->shape, sub);
    e->place = n->attr.random.place;
    e->lo = n->attr.random.lo;
    e->hi = n->op == OP_permutation ? shape_elements(&n->shape) : n->attr.random.hi;
    if (kernel_place(s->kernel, e->place) < 0)
        vec_push(s->arena, &s->kernel->places, e->place);
    s->kernel->seed = true;
    return expr_cast(s->arena, e, n->dtype);
}

static const Expr *map_at(Sched *s, const Node *n, const Ix *const *sub) {
    const Expr *in[3];
    for (int i = 0; i < n->nin; i++)
        in[i] = value_at(s, n->in[i], sub);
    if (n->op == OP_stop)
        return in[0];
    if (n->op == OP_cast)
        return expr_cast(s->arena, in[0], n->dtype);
    return expr_op(s->arena, n->op, n->dtype, n->nin, in);
}

static const Expr *check_at(Sched *s, const Node *n, const Ix *const *sub) {
    const Expr *x = hoist(s, n, sub, value_at(s, n->in[0], sub), n->name ? n->name : "checked");
    const Expr *finite = expr_op(s->arena, OP_isfinite, DT_BOOL, 1, &x);
    fault(s, (Fault){n, FAULT_LOSS, 0}, expr_op(s->arena, OP_not, DT_BOOL, 1, &finite), x);
    return x;
}

static const Expr *compute(Sched *s, const Node *n, const Ix *const *sub) {
    const Ix *at[MAX_RANK];
    switch (op_info[n->op].kind) {
    case KIND_LEAF:
        return leaf_at(s, n, sub);
    case KIND_MAP:
        return map_at(s, n, sub);
    case KIND_RANDOM:
        return random_at(s, n, sub);
    case KIND_INDEXED:
        if (n->op == OP_batch)
            return batch_at(s, n, sub);
        if (!(op_info[n->op].flags & OPF_OWN))
            return indexed_at(s, n, sub);
        break;
    case KIND_MOVE:
        if (input_subscripts(s->arena, n, 0, sub, at))
            return value_at(s, n->in[0], at);
        break;
    case KIND_EFFECT:
        return check_at(s, n, sub);
    default:
        break;
    }
    bug("%s is inlined, node %d of kernel %s", op_info[n->op].name, n->id, s->kernel->name);
}

static bool worth_a_let(const Sched *s, const Node *n, const Expr *e) {
    if (e->kind == EX_CONST || e->kind == EX_SCALAR || e->kind == EX_COUNT || e->kind == EX_LOCAL)
        return false;
    if (op_info[n->op].kind == KIND_RANDOM)
        return true;
    if (e->kind == EX_LOAD || e->kind == EX_SOURCE)
        return s->fusion->uses[n->id] > 1;
    return op_info[n->op].kind == KIND_MAP &&
           (s->fusion->uses[n->id] > 1 || (op_info[n->op].flags & OPF_COSTLY));
}

/* By the program, by where it goes, by what it is made from. */
static const char *value_name(const Sched *s, const Node *n) {
    const Buffer *b = s->fusion->buffer_of[n->id];
    if (n->name)
        return n->name;
    if (b)
        return b->home ? b->home->name : b->name;
    if (op_info[n->op].kind == KIND_RANDOM)
        return "random";
    if (n->nin == 1 && op_info[n->op].flags & OPF_COSTLY)
        return arena_printf(s->arena, "%s_%s", op_info[n->op].name,
                            n->in[0]->name ? n->in[0]->name : "value");
    return "value";
}

const Expr *value_at(Sched *s, const Node *n, const Ix *const *sub) {
    const Expr *e = find_binding(s, n, sub);
    if (e)
        return e;
    const Buffer *b = s->fusion->buffer_of[n->id];
    if (b && n->op != OP_constant && s->fusion->group_of[n->id] != s->group) {
        e = load(s, b, &n->shape, sub);
        /* one let for several uses also keeps the old value past an update in place */
        if (s->fusion->uses[n->id] > 1 || n->shape.rank == 0)
            return hoist(s, n, sub, e, n->op == OP_read ? n->attr.home->name : b->name);
        return e;
    }
    e = compute(s, n, sub);
    return worth_a_let(s, n, e) ? hoist(s, n, sub, e, value_name(s, n)) : e;
}

const Expr *sched_load(Sched *s, const Node *n, const Ix *const *sub) {
    const Ix *at[MAX_RANK];
    while (!s->fusion->buffer_of[n->id]) {
        if (op_info[n->op].kind != KIND_MOVE || !input_subscripts(s->arena, n, 0, sub, at))
            bug("operand node %d (%s) of %s is not stored", n->id, op_info[n->op].name,
                s->kernel->name);
        const Ix **copy = NEW_ARRAY(s->arena, const Ix *, MAX_RANK);
        for (int d = 0; d < n->in[0]->shape.rank; d++)
            copy[d] = at[d];
        sub = copy;
        n = n->in[0];
    }
    if (n->op == OP_constant && n->attr.constant.data)
        return constant_at(s, n, sub);
    return load(s, s->fusion->buffer_of[n->id], &n->shape, sub);
}

/* ---- stores ---- */

void sched_store(Sched *s, const GroupStore *store, const Ix *const *sub) {
    const Expr *e = value_at(s, store->node, sub);
    const Buffer *b = store->buffer;
    const Ix *at[MAX_RANK];
    reshape_subscripts(s->arena, &store->node->shape, sub, &b->shape, at);
    note_write(s, b);
    nest_store(s->nest, b, at, e);
}

static int count_ops(const Expr *e) {
    int n = e->kind == EX_OP;
    for (int i = 0; i < e->nin; i++)
        n += count_ops(e->in[i]);
    return n;
}

void sched_keep(Sched *s, const GroupStore *store, const Ix *const *sub) {
    enum { SHORT = 2 };
    const Node *n = store->node;
    const Expr *e = value_at(s, n, sub);
    if (find_binding(s, n, sub) || e->kind == EX_CONST)
        return;
    if (s->group->stores.n == 1 && count_ops(e) <= SHORT)
        value_bind(s, n, sub, e);
    else
        hoist(s, n, sub, e, n->name ? n->name : store->buffer->name);
}

void sched_checks(Sched *s, const Shape *from, const Ix *const *sub) {
    const Ix *at[MAX_RANK];
    for (int i = 0; i < s->group->nodes.n; i++) {
        const Node *n = s->group->nodes.at[i];
        if (op_info[n->op].kind != KIND_EFFECT ||
            shape_elements(&n->shape) != MAX(shape_elements(from), 1))
            continue;
        value_subscripts(s, from, sub, n, at);
        value_at(s, n, at);
    }
}

void sched_store_all(Sched *s, const Shape *from, const Ix *const *sub) {
    const Ix *at[MAX_RANK];
    sched_checks(s, from, sub);
    /* values first: a store in place must not come before a read of the old value */
    for (int i = 0; i < s->group->stores.n; i++) {
        const Node *n = s->group->stores.at[i].node;
        value_subscripts(s, from, sub, n, at);
        sched_keep(s, &s->group->stores.at[i], at);
    }
    for (int i = 0; i < s->group->stores.n; i++) {
        value_subscripts(s, from, sub, s->group->stores.at[i].node, at);
        sched_store(s, &s->group->stores.at[i], at);
    }
}

void sched_put(Sched *s, const Buffer *b, const Ix *const *sub, const Expr *e) {
    note_write(s, b);
    nest_store(s->nest, b, sub, e);
}

void sched_reads(Sched *s, const Buffer *b) {
    note_read(s, b);
}

/* ---- kernels of a group ---- */

Buffer *sched_buffer(Sched *s, const char *name, DType t, Shape shape) {
    Lowered *l = s->compiler->lowered;
    Buffer like = {.name = names_unique(l->names, name, "_"),
                   .base = name,
                   .dtype = t,
                   .shape = shape,
                   .region = s->group->region};
    return lower_buffer(s->arena, l, like);
}

/* Of one element of n and what is inlined into it; what is the same for all elements costs nothing.
 */
static double node_cost(const Sched *s, const Node *n, bool *seen) {
    bool member = s->fusion->group_of[n->id] == s->group;
    if (seen[n->id] || (s->group->rows > 1 && shape_elements(&n->shape) == 1))
        return 0;
    seen[n->id] = true;
    if (!member && s->fusion->buffer_of[n->id])
        return 0.08; /* a load */
    double ns = op_info[n->op].kind == KIND_MOVE    ? 0
                : op_info[n->op].flags & OPF_COSTLY ? 0.6
                                                    : 0.06;
    for (int i = 0; i < n->nin; i++)
        ns += node_cost(s, n->in[i], seen);
    return ns;
}

double sched_cost(const Sched *s) {
    bool *seen = NEW_ARRAY(s->arena, bool, s->compiler->program->graph->nodes.n);
    double ns = 0.08 * s->group->stores.n;
    for (int i = 0; i < s->group->nodes.n; i++)
        ns += node_cost(s, s->group->nodes.at[i], seen);
    return ns;
}

int64_t sched_rows_a_tile(int64_t rows) {
    enum { GROUP = 4, TILES = 64 };
    int64_t part = (rows + TILES - 1) / TILES;
    return (part + GROUP - 1) / GROUP * GROUP;
}

int sched_tiles(int64_t rounds, double ns) {
    double total = (double)rounds * ns;
    if (total < 1500 || rounds < 2) /* a barrier and its idle time cost about a microsecond */
        return 1;
    int64_t tiles = MIN(rounds, 64);
    while (tiles > 2 && total / (double)tiles < 1000)
        tiles /= 2;
    return (int)tiles;
}
