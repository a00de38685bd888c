/* schedule_share.c: kernels that differ only in what a call hands over share one function
 * (fusion rule 8): buffers, scalars, run-time counts, stored rows, places of random numbers and
 * nodes of faults.
 *
 * Two nests are walked side by side; loops and locals are matched where they are declared, what a
 * call hands over by its position in the kernels' lists. Only kernels of equal shape (a hash of
 * what is cheap to see) are compared.
 */
#include "target.h"
#include <string.h>

typedef struct Pair {
    const void *a, *b;
} Pair;

typedef struct Match {
    Arena *arena;
    bool block; /* scalars and counts are read from the block by name, not handed over */
    const Kernel *a, *b;
    VEC(Pair) pairs; /* loop variables and locals */
} Match;

static bool same_expr(const Match *m, const Expr *x, const Expr *y);

static bool is_pair(const Match *m, const void *a, const void *b) {
    for (int i = 0; i < m->pairs.n; i++)
        if (m->pairs.at[i].a == a)
            return m->pairs.at[i].b == b;
    return false;
}

static int position(int n, const void *const *list, const void *of) {
    int i = 0;
    while (i < n && list[i] != of)
        i++;
    return i;
}

static bool same_count(const Match *m, const Count *x, const Count *y) {
    if (!x || !y || m->block)
        return x == y;
    return x->bound == y->bound &&
           position(m->a->counts.n, (const void *const *)m->a->counts.at, x) ==
               position(m->b->counts.n, (const void *const *)m->b->counts.at, y);
}

static bool same_dim(const Match *m, Dim x, Dim y) {
    return x.n == y.n && same_count(m, x.count, y.count);
}

static bool same_shape(const Match *m, const Shape *x, const Shape *y) {
    if (x->rank != y->rank)
        return false;
    for (int i = 0; i < x->rank; i++)
        if (!same_dim(m, x->dim[i], y->dim[i]))
            return false;
    return true;
}

static bool same_source(const Match *m, const DataSource *x, const DataSource *y) {
    if (!x || !y)
        return x == y;
    return x->dtype == y->dtype && x->row_elements == y->row_elements &&
           position(m->a->sources.n, (const void *const *)m->a->sources.at, x) ==
               position(m->b->sources.n, (const void *const *)m->b->sources.at, y);
}

static bool same_place(const Match *m, uint32_t x, uint32_t y) {
    return kernel_place(m->a, x) == kernel_place(m->b, y);
}

static bool same_ix(const Match *m, const Ix *x, const Ix *y) {
    if (!x || !y)
        return x == y;
    if (x->c != y->c || x->n != y->n)
        return false;
    for (int i = 0; i < x->n; i++) {
        const Atom *p = x->term[i].atom, *q = y->term[i].atom;
        if (x->term[i].k != y->term[i].k || p->kind != q->kind || p->by != q->by)
            return false;
        if (p->kind == ATOM_VAR    ? !is_pair(m, p->var, q->var)
            : p->kind == ATOM_DATA ? !same_expr(m, p->data, q->data)
                                   : !same_ix(m, p->of, q->of))
            return false;
    }
    return true;
}

static int place_of(int n, const Access *list, const Buffer *b) {
    for (int i = 0; i < n; i++)
        if (list[i].buffer == b)
            return i;
    return -1;
}

static bool same_buffer(const Match *m, const Buffer *x, const Buffer *y) {
    if (!x || !y)
        return x == y;
    int read = place_of(m->a->reads.n, m->a->reads.at, x),
        write = place_of(m->a->writes.n, m->a->writes.at, x);
    if (read < 0 && write < 0)
        return x == y;
    return x->dtype == y->dtype && x->layout == y->layout && same_shape(m, &x->shape, &y->shape) &&
           read == place_of(m->b->reads.n, m->b->reads.at, y) &&
           write == place_of(m->b->writes.n, m->b->writes.at, y);
}

static bool same_scalar(const Match *m, const Scalar *x, const Scalar *y) {
    if (!x || !y || m->block)
        return x == y;
    return x->dtype == y->dtype &&
           position(m->a->scalars.n, (const void *const *)m->a->scalars.at, x) ==
               position(m->b->scalars.n, (const void *const *)m->b->scalars.at, y);
}

static bool same_subscripts(const Match *m, int n, const Ix *const *x, const Ix *const *y) {
    for (int i = 0; i < n; i++)
        if (!same_ix(m, x[i], y[i]))
            return false;
    return true;
}

static bool same_expr(const Match *m, const Expr *x, const Expr *y) {
    if (!x || !y)
        return x == y;
    if (x->kind != y->kind || x->dtype != y->dtype || x->nin != y->nin || x->op != y->op)
        return false;
    if (memcmp(&x->value, &y->value, sizeof x->value) != 0 || !same_count(m, x->count, y->count) ||
        !same_source(m, x->source, y->source))
        return false;
    if ((x->kind == EX_RANDOM && !same_place(m, x->place, y->place)) || x->lo != y->lo ||
        x->hi != y->hi)
        return false;
    for (int i = 0; i < x->nin; i++)
        if (!same_expr(m, x->in[i], y->in[i]))
            return false;
    if (!same_buffer(m, x->buffer, y->buffer) || !same_scalar(m, x->scalar, y->scalar) ||
        !same_ix(m, x->ix, y->ix))
        return false;
    if (x->kind == EX_LOAD)
        return same_subscripts(m, x->buffer->shape.rank, x->sub, y->sub);
    if (x->kind == EX_LOCAL) /* a variable has no subscripts though its local may have rank 0 */
        return is_pair(m, x->local, y->local) && same_subscripts(m, x->local->rank, x->sub, y->sub);
    return true;
}

static bool same_local(const Local *x, const Local *y) {
    if (x->dtype != y->dtype || x->lanes != y->lanes || x->by_four != y->by_four ||
        x->shared != y->shared || x->changes != y->changes || x->rank != y->rank)
        return false;
    return memcmp(x->extent, y->extent, sizeof *x->extent * (size_t)x->rank) == 0;
}

static bool same_loop(const Match *m, const LoopVar *x, const LoopVar *y) {
    return x->kind == y->kind && x->unroll == y->unroll && same_dim(m, x->extent, y->extent) &&
           same_dim(m, x->total, y->total) && same_ix(m, x->base, y->base) &&
           same_ix(m, x->at, y->at) && x->promised == y->promised;
}

static bool same_block(Match *m, const Block *x, const Block *y);

static bool declares(const Stmt *st) {
    return st->kind == ST_LET || st->kind == ST_FILL || st->kind == ST_JOIN_LANES;
}

static bool same_statement(Match *m, const Stmt *x, const Stmt *y) {
    if (x->kind != y->kind || x->op != y->op || x->step != y->step || x->from_step != y->from_step)
        return false;
    if (x->kind == ST_FAULT && kernel_fault(m->a, x->node) != kernel_fault(m->b, y->node))
        return false;
    if (!same_expr(m, x->value, y->value) || !same_expr(m, x->with, y->with) ||
        !same_buffer(m, x->buffer, y->buffer))
        return false;
    if (x->var) {
        if (!same_loop(m, x->var, y->var))
            return false;
        vec_push(m->arena, &m->pairs, (Pair){x->var, y->var});
    }
    if (x->from && !is_pair(m, x->from, y->from))
        return false;
    if (declares(x)) {
        if (!same_local(x->local, y->local))
            return false;
        vec_push(m->arena, &m->pairs, (Pair){x->local, y->local});
    } else if (x->local && !is_pair(m, x->local, y->local)) {
        return false;
    }
    bool to_buffer = x->kind == ST_STORE || x->kind == ST_TRANSPOSE;
    int rank = to_buffer ? x->buffer->shape.rank : x->kind == ST_SET ? x->local->rank : 0;
    return same_subscripts(m, rank, x->sub, y->sub) && same_ix(m, x->ix, y->ix) &&
           same_block(m, &x->body, &y->body);
}

static bool same_block(Match *m, const Block *x, const Block *y) {
    if (x->stmts.n != y->stmts.n)
        return false;
    for (int i = 0; i < x->stmts.n; i++)
        if (!same_statement(m, x->stmts.at[i], y->stmts.at[i]))
            return false;
    return true;
}

/* What their tiles own is the plan's business. */
static bool same_kernel(Arena *a, bool block, const Kernel *x, const Kernel *y) {
    Match m = {.arena = a, .block = block, .a = x, .b = y};
    if (x->tiles != y->tiles || x->seed != y->seed || x->check != y->check ||
        x->obeys != y->obeys ||
        x->reads.n != y->reads.n || x->writes.n != y->writes.n || x->scalars.n != y->scalars.n ||
        x->counts.n != y->counts.n || x->sources.n != y->sources.n ||
        x->places.n != y->places.n || x->faults.n != y->faults.n)
        return false;
    return same_block(&m, &x->nest->body, &y->nest->body);
}

/* Equal for kernels that are the same. */
static uint32_t kernel_hash(const Kernel *k) {
    int facts[] = {k->tiles,     k->seed,     k->check,    k->reads.n,  k->writes.n,
                   k->scalars.n, k->counts.n, k->places.n, k->faults.n, k->nest->body.stmts.n};
    uint32_t h = hash_bytes(HASH_START, facts, sizeof facts);
    for (int i = 0; i < k->reads.n; i++) {
        const Shape *s = &k->reads.at[i].buffer->shape;
        for (int d = 0; d < s->rank; d++)
            h = hash_bytes(h, &s->dim[d].n, sizeof s->dim[d].n);
    }
    return h;
}

/* ---- names that are true of all calls ---- */

enum { MOST_WORDS = 24 };

typedef struct Words {
    int n;
    struct {
        const char *at;
        int n;
    } word[MOST_WORDS]; /* numbers are none */
} Words;

static bool split_words(const char *name, Words *w) {
    w->n = 0;
    while (*name) {
        int n = (int)strcspn(name, "_"), digits = (int)strspn(name, "0123456789");
        if (digits < n || !n) {
            if (w->n == MOST_WORDS)
                return false;
            w->word[w->n].at = name;
            w->word[w->n++].n = n;
        }
        name += n + (name[n] == '_');
    }
    return true;
}

/* Word i of a and word j of b. */
static bool same_word(const Words *a, int i, const Words *b, int j) {
    return a->word[i].n == b->word[j].n &&
           strncmp(a->word[i].at, b->word[j].at, (size_t)a->word[i].n) == 0;
}

/* The words that two names have in common, in order and without numbers: net_linear_w of
 * net_linear_0_w and net_linear_1_w; `otherwise` where the first `lead` words differ
 * or little else is in common: net_w says nothing of adamw_m_net_w. */
static const char *common_name(Arena *arena, const char *first, const char *second, int lead,
                               const char *otherwise) {
    Words a, b;
    int most[MOST_WORDS + 1][MOST_WORDS + 1] = {0}; /* words in common from i and j on */
    Text t = {.arena = arena};
    if (strcmp(first, second) == 0 || !split_words(first, &a) || !split_words(second, &b))
        return strcmp(first, second) == 0 ? first : otherwise;
    for (int i = a.n - 1; i >= 0; i--)
        for (int j = b.n - 1; j >= 0; j--)
            most[i][j] = same_word(&a, i, &b, j) ? 1 + most[i + 1][j + 1]
                                                 : MAX(most[i + 1][j], most[i][j + 1]);
    for (int i = 0; i < lead && (i < a.n || i < b.n); i++)
        if (i >= a.n || i >= b.n || !same_word(&a, i, &b, i))
            return otherwise;
    if (3 * most[0][0] < 2 * MAX(a.n, b.n) && most[0][0] == lead)
        return otherwise;
    for (int i = 0, j = 0; i < a.n && j < b.n;) {
        if (same_word(&a, i, &b, j)) {
            text_printf(&t, "%s%.*s", t.n ? "_" : "", a.word[i].n, a.word[i].at);
            i++, j++;
        } else if (most[i + 1][j] >= most[i][j + 1]) {
            i++;
        } else {
            j++;
        }
    }
    return t.at;
}

static const char *called(const Access *x) {
    return x->called ? x->called : x->buffer->name;
}

static void name_accesses(Arena *a, int n, Access *shared, const Access *other,
                          const char *otherwise) {
    for (int i = 0; i < n; i++) {
        const char *name = called(&shared[i]), *plain = other[i].buffer->plain;
        const char *own = shared[i].called ? name : shared[i].buffer->plain;
        bool same = own && plain && strcmp(own, plain) == 0;
        shared[i].called =
            same ? plain : common_name(a, name, other[i].buffer->name, 1, otherwise);
    }
}

static bool reads(const Kernel *k, const Buffer *b) {
    for (int i = 0; i < k->reads.n; i++)
        if (k->reads.at[i].buffer == b)
            return true;
    return false;
}

/* net.linear[2] of net.linear[2].w: the layer whose parameters both calls use; NULL: none. */
static const char *layer_of_both(Arena *a, const Kernel *x, const Kernel *y) {
    for (int i = 0; i < x->reads.n; i++) {
        const Buffer *b = x->reads.at[i].buffer;
        const char *path = b->home && b->home->kind == HOME_PARAM ? b->home->path : NULL;
        const char *end = path ? strrchr(path, '.') : NULL;
        if (end && reads(y, b))
            return arena_fold_words(
                a, arena_identifier(a, arena_printf(a, "%.*s", (int)(end - path), path)));
    }
    return NULL;
}

/* The word that both names end with, where it is no number; NULL: none. */
static const char *last_word_of_both(const char *x, const char *y) {
    const char *p = strrchr(x, '_'), *q = strrchr(y, '_');
    bool same = p && q && strcmp(p, q) == 0 && p[1] && !(p[1] >= '0' && p[1] <= '9');
    return same ? p + 1 : NULL;
}

/* apply_net_linear_2, update_rows, update_sub: whose work it is, else what it is for, else what is
 * done, where it is done to things of different names; zero. */
static const char *neutral_name(Arena *a, const Kernel *x, const Kernel *y) {
    int n = (int)strcspn(x->name, "_");
    bool same = strncmp(x->name, y->name, (size_t)n) == 0;
    const char *verb = same ? arena_printf(a, "%.*s", n, x->name) : "make";
    const char *layer = kernel_writes_home(x) ? NULL : layer_of_both(a, x, y);
    const char *last = same ? last_word_of_both(x->name, y->name) : NULL;
    if (layer)
        return arena_printf(a, "apply_%s", layer);
    if (last)
        return arena_printf(a, "%s_%s", verb, last);
    bool moves = x->op == OP_stop || x->op == OP_constant;
    return moves ? verb : arena_printf(a, "%s_%s", verb, op_info[x->op].name);
}

static Access *access_of(const Kernel *k, int i) {
    return i < k->reads.n ? &k->reads.at[i] : &k->writes.at[i - k->reads.n];
}

/* Buffers that would be called the same are numbered; one that is read and written has one name. */
static void keep_apart(Arena *a, Kernel *k) {
    Names *names = names_new(a);
    for (int i = 0; i < k->reads.n + k->writes.n; i++) {
        Access *x = access_of(k, i);
        int same = 0;
        while (access_of(k, same)->buffer != x->buffer)
            same++;
        x->called = same < i ? access_of(k, same)->called : names_unique(names, called(x), "_");
    }
}

/* The text of a note with the names that buffers have in the function. */
static const char *note_with_names(Arena *a, const Kernel *k, const char *note) {
    for (int i = 0; i < k->reads.n + k->writes.n; i++) {
        const Access *x = access_of(k, i);
        note = x->called ? arena_replace_word(a, note, x->buffer->name, x->called) : note;
    }
    return note;
}

/* Its own note and those of its parts. */
static void name_notes(Arena *a, Kernel *k) {
    const Block *b = &k->nest->body;
    k->note = note_with_names(a, k, k->note);
    for (int i = 0; i < b->stmts.n; i++)
        if (b->stmts.at[i]->kind == ST_LOOP && b->stmts.at[i]->var->kind == LOOP_PART)
            b->stmts.at[i]->var->name = note_with_names(a, k, b->stmts.at[i]->var->name);
}

/* Kernels with a function of their own keep their names; the others are called after what their
 * calls have in common. */
static void name_shared(Compiler *c) {
    Lowered *l = c->lowered;
    Names *names = names_new(c->arena);
    bool *shared = NEW_ARRAY(c->arena, bool, l->kernels.n + 1);
    for (int i = 0; i < l->kernels.n; i++) {
        const Kernel *k = l->kernels.at[i];
        Kernel *f = l->kernels.at[k->same_as];
        if (k == f)
            continue;
        shared[f->id] = true;
        bool same = f->plain && k->plain && strcmp(f->plain, k->plain) == 0;
        f->plain = same ? f->plain : NULL;
        f->name = same ? f->plain
                       : common_name(c->arena, f->name, k->name, 2, neutral_name(c->arena, f, k));
        name_accesses(c->arena, f->reads.n, f->reads.at, k->reads.at, "x");
        name_accesses(c->arena, f->writes.n, f->writes.at, k->writes.at, "y");
    }
    for (int i = 0; i < l->kernels.n; i++)
        if (l->kernels.at[i]->same_as == i && !shared[i])
            names_reserve(names, l->kernels.at[i]->name);
    for (int i = 0; i < l->kernels.n; i++) {
        Kernel *k = l->kernels.at[i];
        if (k->same_as != i) {
            k->name = l->kernels.at[k->same_as]->name;
        } else if (shared[i]) {
            k->name = names_unique(names, k->name, "_");
            keep_apart(c->arena, k);
            name_notes(c->arena, k);
        }
    }
}

void schedule_find_same(Compiler *c) {
    enum { BUCKETS = 1024 };
    typedef VEC(Kernel *) Bucket;
    Bucket *bucket = NEW_ARRAY(c->arena, Bucket, BUCKETS);
    for (int i = 0; i < c->lowered->kernels.n; i++) {
        Kernel *k = c->lowered->kernels.at[i], *same = NULL;
        Bucket *b = &bucket[kernel_hash(k) % BUCKETS];
        for (int j = 0; j < b->n && !same; j++)
            if (same_kernel(c->arena, c->target && c->target->threads, b->at[j], k))
                same = b->at[j];
        if (same)
            k->same_as = same->id;
        else
            vec_push(c->arena, b, k);
    }
}

void schedule_share(Compiler *c) {
    schedule_find_same(c);
    name_shared(c);
}
