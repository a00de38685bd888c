/* fuse_names.c: what buffers are called.
 *
 * A home is called by its path. A value is called as the program calls it: by a `let`, by the
 * function or layer that gave it, else by what it is made from or what it is for. Where two regions
 * have a value of one name, each puts a word of its own before it (valid_relu, test_relu); a number
 * comes last, and only within a region: of the layer, else among values of the name, from 0.
 */
#include "fuse.h"
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 3, LONG = 32 };

typedef struct Namer {
    Fuser *f;
    Arena *arena;
    const Node **user; /* by node: the first that is made from it */
    const Node *named; /* the value with a place that the last name comes from; NULL: none */
} Namer;

static const char *derived(Namer *m, const Node *n, int depth);

static bool is_constant(const Node *n) {
    while (op_info[n->op].kind == KIND_MOVE && n->nin == 1)
        n = n->in[0];
    return n->op == OP_constant;
}

/* What is the same value to a reader; one with an edge around it is, too. */
static bool keeps_value(const Node *n) {
    return graph_keeps_numbers(n) || n->op == OP_pad;
}

/* The value that n is for: its user, past views. */
static const Node *purpose(Namer *m, const Node *n) {
    const Node *user = m->user[n->id];
    while (user && !user->name && keeps_value(user))
        user = m->user[user->id];
    return user && user->name ? user : NULL;
}

static const char *join(Namer *m, const char *first, const char *second) {
    return arena_printf(m->arena, "%s_%s", first, second);
}

static const char *word_of(Op op) {
    switch (op) {
    case OP_lt: return "below";
    case OP_le: return "at_most";
    case OP_eq: return "equal";
    case OP_ne: return "other_than";
    case OP_dot: return "product";
    default: return op_info[op].name;
    }
}

/* x / 16 is x_scaled, 1 / x is x_inverse, x < best is x_below_best. */
static const char *of_two(Namer *m, const Node *n, int depth) {
    bool scales = n->op == OP_mul || n->op == OP_div, shifts = n->op == OP_add || n->op == OP_sub;
    const char *x = derived(m, n->in[0], depth - 1), *y = derived(m, n->in[1], depth - 1);
    bool alone = is_constant(n->in[0]) || is_constant(n->in[1]);
    if (!x && !y)
        return NULL;
    if (alone && n->op == OP_div && !x)
        return join(m, y, "inverse");
    if (alone && (scales || shifts))
        return join(m, x ? x : y, scales ? "scaled" : "shifted");
    if (x && y && op_info[n->op].flags & OPF_CMP)
        return join(m, join(m, x, word_of(n->op)), y);
    return join(m, x ? x : y, word_of(n->op));
}

static const char *of_inputs(Namer *m, const Node *n, int depth) {
    if (n->nin == 2 && op_info[n->op].kind == KIND_MAP)
        return of_two(m, n, depth);
    for (int leaves = 0; leaves < 2; leaves++) /* what is computed says more than a parameter */
        for (int i = 0; i < n->nin; i++) {
            bool leaf = op_info[n->in[i]->op].kind == KIND_LEAF;
            const char *x = leaf == leaves ? derived(m, n->in[i], depth - 1) : NULL;
            if (x)
                return join(m, x, word_of(n->op));
        }
    return NULL;
}

static const char *called(Namer *m, const Node *n) {
    if (n->name && n->place && !m->named)
        m->named = n;
    return n->name;
}

/* NULL: nothing is known that says something. */
static const char *derived(Namer *m, const Node *n, int depth) {
    if (n->name || n->op == OP_constant || depth == 0)
        return called(m, n);
    if (n->op == OP_scalar)
        return n->attr.scalar->name;
    const Node *user = m->user[n->id], *whose = purpose(m, n);
    if (user && user->op == OP_reshape && user->name)
        return called(m, user);
    if (n->nin > 0 && keeps_value(n))
        return derived(m, n->in[0], depth);
    if (whose && whose->op == OP_where && n->dtype == DT_BOOL)
        return join(m, called(m, whose), "mask");
    if (whose && n->op == OP_dot)
        return join(m, called(m, whose), "product");
    const char *name = of_inputs(m, n, depth);
    return name && strlen(name) > LONG ? NULL : name;
}

static const char *value_name(Namer *m, const Node *n) {
    const Program *p = m->f->compiler->program;
    for (int r = 0; r < p->regions.n && !n->name; r++) {
        const Region *region = p->regions.at[r];
        for (int i = 0; i < region->writes.n; i++)
            if (region->writes.at[i].value == n)
                return join(m, region->writes.at[i].home->name, "next");
    }
    const char *name = derived(m, n, DEPTH);
    return name ? name : word_of(n->op);
}

/* ---- one name a buffer ---- */

typedef struct Wish {
    Buffer *buffer;
    const char *word; /* of its region */
    bool counted;     /* its number is among values of its name */
    bool prefixed;    /* by it */
} Wish;

static const char *identifier(Namer *m, const char *path) {
    return arena_fold_words(m->arena, arena_identifier(m->arena, path));
}

static Wish wish_of(Namer *m, Buffer *b) {
    const Node *n = b->node;
    m->named = NULL;
    const char *plain = identifier(m, value_name(m, n));
    b->plain =
        m->named ? arena_printf(m->arena, "%s_%d", plain, m->named->place - 1) : plain;
    b->base = plain;
    const char *word = n->region->word ? n->region->word : "other";
    return (Wish){b, word, m->named && m->named->counted, false};
}

static int by_name(const void *x, const void *y) {
    const Wish *a = x, *b = y;
    int order = strcmp(a->buffer->plain, b->buffer->plain);
    return order ? order : (a->buffer->id > b->buffer->id) - (a->buffer->id < b->buffer->id);
}

static int by_buffer(const void *x, const void *y) {
    const Wish *a = x, *b = y;
    return (a->buffer->id > b->buffer->id) - (a->buffer->id < b->buffer->id);
}

static int by_base(const void *x, const void *y) {
    const Wish *a = x, *b = y;
    const Region *r = a->buffer->node->region, *s = b->buffer->node->region;
    int order = strcmp(a->buffer->base, b->buffer->base);
    return order ? order : (r->id > s->id) - (r->id < s->id);
}

/* Of values of a name that are equal one is left: it needs no number. */
static void drop_lone_numbers(Wish *w, int n) {
    qsort(w, (size_t)n, sizeof *w, by_base);
    for (int i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && by_base(&w[i], &w[end]) == 0;)
            end++;
        if (end == i + 1 && w[i].counted)
            w[i].buffer->plain = w[i].buffer->base;
    }
}

/* Values of one name in several regions get the words of these, and so does one whose name a home
 * has. */
static void tell_apart(Wish *w, int n, Names *names) {
    qsort(w, (size_t)n, sizeof *w, by_name);
    for (int i = 0, end; i < n; i = end) {
        bool several = false;
        for (end = i + 1; end < n && strcmp(w[end].buffer->plain, w[i].buffer->plain) == 0; end++)
            several |= strcmp(w[end].word, w[i].word) != 0;
        for (int k = i; k < end; k++)
            w[k].prefixed = several || names_has(names, w[k].buffer->plain);
    }
    qsort(w, (size_t)n, sizeof *w, by_buffer);
}

/* What outlives its region comes first. */
static void settle(Namer *m, Wish *w, int n, Names *names) {
    for (int kept = 1; kept >= 0; kept--)
        for (int i = 0; i < n; i++) {
            Buffer *b = w[i].buffer;
            if ((b->region == NULL) != kept)
                continue;
            const char *name = w[i].prefixed ? join(m, w[i].word, b->plain) : b->plain;
            b->base = w[i].prefixed ? join(m, w[i].word, b->base) : b->base;
            b->name = names_unique(names, name, "_");
        }
}

void fuse_name_buffers(Fuser *f) {
    Lowered *l = f->compiler->lowered;
    Namer m = {.f = f, .arena = f->arena};
    m.user = NEW_ARRAY(f->arena, const Node *, f->graph->nodes.n + 1);
    Wish *wishes = NEW_ARRAY(f->arena, Wish, l->buffers.n + 1);
    int n = 0;
    l->names = names_new(f->arena);
    for (int op = 0; op < OP_N; op++)
        names_reserve(l->names, op_info[op].name);
    for (int i = f->graph->nodes.n - 1; i >= 0; i--)
        for (int k = 0; k < f->graph->nodes.at[i]->nin && f->live[i]; k++)
            m.user[f->graph->nodes.at[i]->in[k]->id] = f->graph->nodes.at[i];
    for (int i = 0; i < l->buffers.n; i++) {
        Buffer *b = l->buffers.at[i];
        if (!b->home) {
            wishes[n++] = wish_of(&m, b);
            continue;
        }
        b->base = identifier(&m, b->home->path ? b->home->path : b->home->name);
        b->name = names_unique(l->names, b->base, "_");
    }
    drop_lone_numbers(wishes, n);
    tell_apart(wishes, n, l->names);
    settle(&m, wishes, n, l->names);
}
