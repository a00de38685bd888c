/* layout.c: how buffers lie in memory: one decision a buffer from all its readers and writers.
 *
 * A matrix [k][n] of f32 lies in panels of 16 columns when a contraction reads it as its right
 * operand, so that the operand need not be copied and its vectors lie on lines of their own, and
 * when nothing else would lose by it. What loses is every use but these:
 *   - a contraction's right operand, in either orientation (the other one is packed from panels);
 *   - the elements of a map or of a contraction's epilogue, each for the element at its own place;
 *   - the sums of its columns, 16 at a time;
 *   - the host: saving, loading, traces, printing go through the layout.
 * Reductions of rows add in row-major order, so what they read keeps its rows, as does what is
 * sliced, gathered or read in another shape. Matrices that meet in maps (a parameter, the state of
 * its optimizer, its gradient) follow each other, so that one loop runs through all.
 *
 * Every access goes through the index function: a wrong decision costs time and never a bit.
 */
#include "target.h"

typedef VEC(Buffer *) BufferVec;

typedef struct Layouts {
    Compiler *c;
    Arena *arena, *scratch; /* subscripts are forgotten after each group */
    const Fusion *fusion;
    const Group *group;  /* being looked at */
    LoopVar *element;    /* a symbol: the number of an element that the group computes or sums */
    BufferVec *meets;    /* by group: matrices used at its own elements */
    bool *rows, *panels; /* by buffer: must keep its rows; a contraction wants panels */
} Layouts;

/* ---- which matrices, and when panels pay ---- */

static bool is_matrix(const Buffer *b) {
    const Home *h = b->home;
    if (b->id < 0 || b->dtype != DT_F32 || b->shape.rank != 2 || shape_count(&b->shape))
        return false;
    return !h || (h->kind != HOME_ARG && h->kind != HOME_INDEX);
}

/* Rows of 16 or fewer numbers are a panel already, or would grow for the worse; with one row there
 * is nothing to part. */
static bool panels_pay(const Buffer *b) {
    return b->shape.dim[1].n > 16 && b->shape.dim[0].n > 1;
}

/* ---- uses ---- */

/* Sums of whole columns. */
static bool sums_columns(const Group *g) {
    return g->kind == GROUP_COLUMN && g->rows == g->inner && !g->length_count;
}

static int64_t elements_of(const Group *g) {
    return sums_columns(g) ? g->rows * g->length : g->rows;
}

/* Does the group go through the rows of the matrix, or through its storage? */
static bool takes_panels(const Group *g, const Buffer *b) {
    if (g->count || shape_elements(&b->shape) != elements_of(g))
        return false;
    if (g->kind == GROUP_DOT)
        return g->anchor->shape.dim[g->anchor->shape.rank - 1].n == b->shape.dim[1].n;
    return g->kind == GROUP_MAP || (sums_columns(g) && g->inner == b->shape.dim[1].n);
}

/* The group uses b at `flat`; NULL: somewhere. */
static void use_element(Layouts *l, Buffer *b, const Ix *flat) {
    if (!is_matrix(b))
        return;
    bool own = flat && ix_equal(flat, ix_var(l->scratch, l->element)) && takes_panels(l->group, b);
    BufferVec *meets = &l->meets[l->group->id];
    if (own && meets->n) /* one loop for all of them */
        own = shape_equal(&meets->at[0]->shape, &b->shape);
    if (own)
        vec_push(l->arena, meets, b);
    else
        l->rows[b->id] = true;
}

/* The memory that the group's kernel reads for the value; NULL: it is computed there. */
static Buffer *memory_of(const Layouts *l, const Node *n) {
    bool mine = l->fusion->group_of[n->id] == l->group;
    if (n->op == OP_read && (mine || !l->fusion->buffer_of[n->id]))
        return lower_buffer_of_home(l->c->lowered, n->attr.home);
    return mine ? NULL : l->fusion->buffer_of[n->id];
}

static void walk_inputs(Layouts *l, const Node *n, const Ix *const *sub);

/* Element `sub` of n (NULL: unknown) is needed. */
static void walk(Layouts *l, const Node *n, const Ix *const *sub) {
    Buffer *b = memory_of(l, n);
    if (b)
        use_element(l, b, sub ? ix_flat(l->scratch, &n->shape, sub) : NULL);
    else if (l->fusion->group_of[n->id] != l->group)
        walk_inputs(l, n, sub);
}

static void walk_inputs(Layouts *l, const Node *n, const Ix *const *sub) {
    for (int i = 0; i < n->nin; i++) {
        const Ix *at[MAX_RANK];
        bool known = sub && input_subscripts(l->scratch, n, i, sub, at);
        walk(l, n->in[i], known ? at : NULL);
    }
}

/* Panels serve a right operand of one matrix product that is the whole matrix. */
static void walk_right(Layouts *l, const Node *dot) {
    const Node *n = dot->in[1];
    const Shape *s = &n->shape;
    Buffer *b = memory_of(l, n);
    while (!b && n->op == OP_reshape) {
        n = n->in[0];
        b = memory_of(l, n);
    }
    bool whole = b && is_matrix(b) && s->dim[0].n == 1 && s->dim[1].n == b->shape.dim[0].n &&
                 s->dim[2].n == b->shape.dim[1].n;
    if (!whole)
        walk(l, dot->in[1], NULL);
    else if (!dot->attr.dot.tb && panels_pay(b))
        l->panels[b->id] = true;
}

static void walk_member(Layouts *l, const Node *n) {
    const Ix *sub[MAX_RANK];
    bool sums = sums_columns(l->group) && op_info[n->op].kind == KIND_REDUCE;
    const Node *like = sums ? n->in[0] : n; /* whose elements the group goes through */
    bool known = shape_elements(&like->shape) == elements_of(l->group);
    if (n->op == OP_dot) {
        walk(l, n->in[0], NULL);
        walk_right(l, n);
        return;
    }
    if (known)
        ix_unflat(l->scratch, &like->shape, ix_var(l->scratch, l->element), sub);
    if (n->op == OP_read)
        walk(l, n, known ? sub : NULL);
    for (int i = 0; sums && i < n->nin; i++)
        walk(l, n->in[i], known ? sub : NULL);
    if (!sums && n->op != OP_read)
        walk_inputs(l, n, known ? sub : NULL);
}

static void walk_store(Layouts *l, const GroupStore *st) {
    const Ix *own = ix_var(l->scratch, l->element), *sub[MAX_RANK];
    const Node *n = st->node;
    bool known = shape_elements(&n->shape) == elements_of(l->group);
    if (known)
        ix_unflat(l->scratch, &n->shape, own, sub);
    if (l->fusion->group_of[n->id] != l->group)
        walk(l, n, known ? sub : NULL);
    use_element(l, st->buffer, known ? own : NULL);
}

static void walk_group(Layouts *l, const Group *g) {
    l->group = g;
    l->element->extent = dim_fixed(MAX(elements_of(g), 1));
    for (int i = 0; i < g->nodes.n; i++)
        walk_member(l, g->nodes.at[i]);
    for (int i = 0; i < g->stores.n; i++)
        walk_store(l, &g->stores.at[i]);
    arena_reset(l->scratch);
}

/* ---- decisions ---- */

/* Matrices that meet one in panels follow it; true when one did. */
static bool follow(Layouts *l, const BufferVec *meets) {
    bool any = false, changed = false;
    for (int i = 0; i < meets->n; i++)
        any |= l->panels[meets->at[i]->id] && !l->rows[meets->at[i]->id];
    for (int i = 0; any && i < meets->n; i++) {
        changed |= !l->panels[meets->at[i]->id];
        l->panels[meets->at[i]->id] = true;
    }
    return changed;
}

/* Rows of a table of data are read where they lie. */
static void keep_tables(Layouts *l) {
    const Program *p = l->c->program;
    for (int i = 0; i < p->sources.n; i++)
        if (p->sources.at[i]->tensor)
            l->rows[lower_buffer_of_home(l->c->lowered, p->sources.at[i]->tensor)->id] = true;
}

/* What outlives a region lies alike for all targets, and another one has no panels. */
static void keep_shared(Layouts *l) {
    const Lowered *low = l->c->lowered;
    for (int i = 0; i < low->buffers.n; i++)
        l->rows[i] |= !low->buffers.at[i]->region;
}

void layout(Compiler *c) {
    Lowered *low = c->lowered;
    const Fusion *f = c->fusion;
    if (c->target && !c->target->panels)
        return;
    Layouts l = {.c = c, .arena = c->arena, .scratch = arena_new(), .fusion = f};
    l.element = NEW(c->arena, LoopVar);
    l.rows = NEW_ARRAY(c->arena, bool, low->buffers.n + 1);
    l.panels = NEW_ARRAY(c->arena, bool, low->buffers.n + 1);
    l.meets = NEW_ARRAY(c->arena, BufferVec, f->groups.n + 1);
    keep_tables(&l);
    if (c->gpu)
        keep_shared(&l);
    for (int i = 0; i < f->groups.n; i++)
        walk_group(&l, f->groups.at[i]);
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < f->groups.n; i++)
            changed |= follow(&l, &l.meets[i]);
    }
    for (int i = 0; i < low->buffers.n; i++)
        if (l.panels[i] && !l.rows[i])
            layout_set(low->buffers.at[i], LAYOUT_PANELS16);
    arena_free(l.scratch);
}
