/* plan_runs.c: the repeated calls of a region (fusion rule 8): the layers of a deep net, forward
 * and back, and the updates of their parameters.
 *
 * A run is a sequence of kernels that repeats with a period. For each pair of neighbouring copies
 * the buffers of a call are linked with those of the same call in the next copy. Links make chains:
 * the output of layer 1, 2, 3 …; a link that would fork a chain or close it ends the run. Chains of
 * buffers become families with one name, which plan.c lays out in equal steps. Runs are taken
 * greedily from the left, the longest at each place.
 */
#include "plan.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PERIOD = 256, LEAST_COPIES = 3, MOST_TRIES = 4 };

/* ---- chains of items: buffers by id ---- */

typedef struct Item {
    int next[2], n; /* neighbours in its chain */
    int end;        /* of the end of a chain: the other one */
} Item;

typedef struct Link {
    int a, b, end_a, end_b;
} Link;

typedef struct Chains {
    Arena *arena;
    Item *item;
    VEC(Link) made; /* in order, so that they can be taken back */
} Chains;

static bool add_link(Chains *c, int a, int b) {
    Item *x = &c->item[a], *y = &c->item[b];
    for (int i = 0; i < x->n; i++)
        if (x->next[i] == b)
            return true;
    if (x->n == 2 || y->n == 2 || x->end == b)
        return false;
    Link made = {a, b, x->end, y->end};
    x->next[x->n++] = b;
    y->next[y->n++] = a;
    c->item[made.end_a].end = made.end_b;
    c->item[made.end_b].end = made.end_a;
    vec_push(c->arena, &c->made, made);
    return true;
}

static void undo_links(Chains *c, int keep) {
    while (c->made.n > keep) {
        Link l = c->made.at[--c->made.n];
        c->item[l.a].n--;
        c->item[l.b].n--;
        c->item[l.end_a].end = l.a;
        c->item[l.end_b].end = l.b;
    }
}

/* ---- equal calls ---- */

static bool same_call(const Kernel *a, const Kernel *b) {
    if (a->same_as != b->same_as || a->tiles != b->tiles || a->region != b->region ||
        a->reads.n != b->reads.n || a->writes.n != b->writes.n)
        return false;
    for (int i = 0; i < a->scalars.n; i++)
        if (a->scalars.at[i] != b->scalars.at[i])
            return false;
    for (int i = 0; i < a->counts.n; i++)
        if (a->counts.at[i] != b->counts.at[i])
            return false;
    for (int i = 0; i < a->sources.n; i++)
        if (a->sources.at[i] != b->sources.at[i])
            return false;
    return true;
}

/* repeats[p * (n + 1) + i]: how many kernels from i on are like those p later. */
static int *count_repeats(const Lowered *l, Arena *arena, int periods) {
    int n = l->kernels.n, *mark = NEW_ARRAY(arena, int, n + 1); /* what most kernels differ in */
    for (int i = 0; i < n; i++)
        mark[i] = l->kernels.at[i]->same_as * 4 + l->barrier_after[i] * 2 + l->decide_before[i];
    int *repeats = NEW_ARRAY(arena, int, (periods + 1) * (n + 1));
    for (int p = 1; p <= periods; p++)
        for (int i = n - p - 1; i >= 0; i--) {
            int *at = &repeats[p * (n + 1) + i];
            bool same =
                mark[i] == mark[i + p] && same_call(l->kernels.at[i], l->kernels.at[i + p]);
            *at = same ? at[1] + 1 : 0;
        }
    return repeats;
}

/* Copies from kernel i on with period p. The first may have a decision before it that the others
 * lack; behind the last there may be a barrier more or less. */
static int count_copies(const Lowered *l, const int *repeats, int p, int i) {
    const int *same = &repeats[p * (l->kernels.n + 1)];
    int n = same[i];
    if (!n && i + p < l->kernels.n && !l->decide_before[i + p] &&
        l->barrier_after[i] == l->barrier_after[i + p] &&
        same_call(l->kernels.at[i], l->kernels.at[i + p]))
        n = 1 + same[i + 1];
    int end = i + n + p; /* the first kernel that is not like the one before */
    if (n && (n + 1) % p == 0 && end < l->kernels.n &&
        l->decide_before[end] == l->decide_before[end - p] &&
        same_call(l->kernels.at[end], l->kernels.at[end - p]))
        n++;
    return n ? n / p + 1 : 1;
}

/* ---- linking copies ---- */

/* x and y in neighbouring copies, w in the copy before (-1: none): the same all along, or links of
 * one chain. */
static bool link_items(Chains *c, int w, int x, int y) {
    if (w >= 0 && ((w == x) != (x == y) || (w == y && x != y)))
        return false;
    return x == y || add_link(c, x, y);
}

/* Compares names without their numbers; with `numbers`, where they are equal, also by these. */
static int compare_names(const char *x, const char *y, bool numbers) {
    int order = 0;
    for (; *x || *y; x++, y++) {
        long a = isdigit((unsigned char)*x) ? strtol(x, (char **)&x, 10) : -1;
        long b = isdigit((unsigned char)*y) ? strtol(y, (char **)&y, 10) : -1;
        if (!order && a != b)
            order = a < b ? -1 : 1;
        if (*x != *y)
            return *x < *y ? -1 : 1;
        if (!*x)
            break;
    }
    return numbers ? order : 0;
}

/* net.block[0].w and net.block[1].w */
static bool same_home(const Home *a, const Home *b) {
    if (!a || !b)
        return a == b;
    return a->kind == b->kind && compare_names(a->path, b->path, false) == 0;
}

static bool same_form(const Runs *r, const Buffer *a, const Buffer *b) {
    return a->bytes == b->bytes && a->dtype == b->dtype && a->layout == b->layout &&
           shape_equal(&a->shape, &b->shape) && same_home(a->home, b->home) &&
           r->persist[a->id] == r->persist[b->id] &&
           (r->persist[a->id] || a->region == b->region);
}

static bool link_buffers(const Runs *r, Chains *c, const Buffer *w, const Buffer *x,
                         const Buffer *y) {
    return link_items(c, w ? w->id : -1, x->id, y->id) && (x == y || same_form(r, x, y));
}

static bool link_kernels(const Runs *r, Chains *c, const Kernel *w, const Kernel *x,
                         const Kernel *y) {
    for (int i = 0; i < x->reads.n; i++)
        if (!link_buffers(r, c, w ? w->reads.at[i].buffer : NULL, x->reads.at[i].buffer,
                          y->reads.at[i].buffer))
            return false;
    for (int i = 0; i < x->writes.n; i++)
        if (!link_buffers(r, c, w ? w->writes.at[i].buffer : NULL, x->writes.at[i].buffer,
                          y->writes.at[i].buffer))
            return false;
    return true;
}

/* How many of the run's copies can be linked; fewer than a run needs: none is. */
static int link_copies(const Runs *r, Chains *c, Run run) {
    Kernel *const *k = r->l->kernels.at;
    int before = c->made.n, copies = 1;
    for (; copies < run.copies; copies++) {
        int last = c->made.n;
        bool ok = true;
        for (int q = 0; q < run.period && ok; q++) {
            int at = run.first + copies * run.period + q;
            ok = link_kernels(r, c, copies > 1 ? k[at - 2 * run.period] : NULL, k[at - run.period],
                              k[at]);
        }
        if (!ok) {
            undo_links(c, last);
            break;
        }
    }
    if (copies < LEAST_COPIES)
        undo_links(c, before);
    return copies;
}

/* The longest run that begins at kernel i; copies < LEAST_COPIES: none. */
static Run find_run(const Runs *r, Chains *c, const int *repeats, int periods, int i) {
    Run best = {i, 0, 0};
    int limit = INT32_MAX;
    for (int tries = 0; tries < MOST_TRIES; tries++) {
        best = (Run){i, 0, 0};
        for (int p = 1; p <= periods && i + LEAST_COPIES * p <= r->l->kernels.n; p++) {
            int copies = count_copies(r->l, repeats, p, i);
            if (copies >= LEAST_COPIES && copies * p > best.copies * best.period &&
                copies * p < limit)
                best = (Run){i, p, copies};
        }
        limit = best.copies * best.period;
        if (!best.period)
            return best;
        best.copies = link_copies(r, c, best);
        if (best.copies >= LEAST_COPIES)
            return best;
    }
    return best;
}

/* Copies that wait for each other all wait at their start or all at their end. */
static void add_run(Runs *r, Run run) {
    Lowered *l = r->l;
    int last = run.first + run.period * run.copies - 1;
    vec_push(r->arena, &l->runs, run);
    if (l->barrier_after[last - run.period] && !run_waits_first(l, run))
        l->barrier_after[last] = true;
}

/* ---- the first and the last layer ---- */

static int by_name(const void *a, const void *b) {
    const Buffer *x = *(Buffer *const *)a, *y = *(Buffer *const *)b;
    int order = compare_names(x->name, y->name, true);
    return order ? order : x->id - y->id;
}

/* A run may leave out the first layer or the last. What is called like the end of a chain and has
 * the next number joins it, so that copies are counted as layers are. */
static void link_by_name(const Runs *r, Chains *c) {
    int n = r->l->buffers.n;
    Buffer **sorted = NEW_ARRAY(r->arena, Buffer *, n + 1);
    for (int i = 0; i < n; i++)
        sorted[i] = r->l->buffers.at[i];
    qsort(sorted, (size_t)n, sizeof *sorted, by_name);
    for (int i = 0; i + 1 < n; i++) {
        const Buffer *a = sorted[i], *b = sorted[i + 1];
        bool one_chain = (c->item[a->id].n > 0) != (c->item[b->id].n > 0);
        int before = c->made.n;
        if (one_chain && compare_names(a->name, b->name, false) == 0 &&
            !link_buffers(r, c, NULL, a, b))
            undo_links(c, before);
    }
}

/* ---- families ---- */

/* The items of a chain from one of its ends. */
static int chain_from(const Chains *c, int end, int *out) {
    int n = 0, before = -1;
    for (int at = end;;) {
        const Item *x = &c->item[at];
        out[n++] = at;
        int to = x->n > 0 && x->next[0] != before   ? x->next[0]
                 : x->n > 1 && x->next[1] != before ? x->next[1]
                                                    : -1;
        if (to < 0)
            return n;
        before = at;
        at = to;
    }
}

static bool begins_chain(const Chains *c, int item) {
    return c->item[item].n == 1 && item < c->item[item].end;
}

static void make_families(Runs *r, const Chains *c) {
    Lowered *l = r->l;
    int *items = NEW_ARRAY(r->arena, int, l->buffers.n + 1);
    for (int i = 0; i < l->buffers.n; i++) {
        if (!begins_chain(c, i))
            continue;
        Family *f = NEW(r->arena, Family);
        int n = chain_from(c, i, items);
        for (int k = 0; k < n; k++)
            vec_push(r->arena, &f->copies, l->buffers.at[items[k]]);
        vec_push(r->arena, &l->families, f);
    }
}

static void number_copies(const Family *f) {
    for (int i = 0; i < f->copies.n; i++) {
        f->copies.at[i]->family = (Family *)f;
        f->copies.at[i]->copy = i;
    }
}

static void turn_round(Family *f) {
    for (int i = 0, j = f->copies.n - 1; i < j; i++, j--) {
        Buffer *b = f->copies.at[i];
        f->copies.at[i] = f->copies.at[j];
        f->copies.at[j] = b;
    }
    number_copies(f);
}

typedef struct Roles {
    VEC(Buffer *) now, then; /* of the first copy, of the second */
} Roles;

static Roles roles_of(const Runs *r, Run run) {
    Roles roles = {0};
    for (int q = 0; q < run.period; q++) {
        const Kernel *x = r->l->kernels.at[run.first + q],
                     *y = r->l->kernels.at[run.first + q + run.period];
        for (int i = 0; i < x->reads.n + x->writes.n; i++) {
            int w = i - x->reads.n;
            Buffer *a = w < 0 ? x->reads.at[i].buffer : x->writes.at[w].buffer;
            Buffer *b = w < 0 ? y->reads.at[i].buffer : y->writes.at[w].buffer;
            if (a == b)
                continue;
            vec_push(r->arena, &roles.now, a);
            vec_push(r->arena, &roles.then, b);
        }
    }
    return roles;
}

static int leading_role(const Roles *roles) {
    for (int i = 0; i < roles->now.n; i++)
        if (roles->now.at[i]->home && roles->now.at[i]->home->kind == HOME_PARAM)
            return i;
    return 0;
}

/* What goes with a parameter counts as it does, also where the run goes back. */
static void turn_families(Runs *r) {
    bool *fixed = NEW_ARRAY(r->arena, bool, r->l->buffers.n + 1); /* by first buffer's id */
    for (int i = 0; i < r->l->runs.n; i++) {
        Roles roles = roles_of(r, r->l->runs.at[i]);
        int lead = leading_role(&roles);
        for (int j = 0; j < roles.now.n; j++) {
            Family *f = roles.now.at[j]->family;
            int key = MIN(f->copies.at[0]->id, f->copies.at[f->copies.n - 1]->id);
            bool same = (roles.now.at[j]->copy < roles.then.at[j]->copy) ==
                        (roles.now.at[lead]->copy < roles.then.at[lead]->copy);
            if (!same && !fixed[key] && j != lead)
                turn_round(f);
            fixed[key] = true;
        }
    }
}

/* ---- names ---- */

static bool is_number(const char *word, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isdigit((unsigned char)word[i]))
            return false;
    return n > 0;
}

/* net_block_0_w and net_block_1_w: net_block_w; h, h_2: h. */
static const char *family_name(const Runs *r, const Family *f) {
    const char *a = f->copies.at[f->copies.n - 2]->name, *b = f->copies.at[f->copies.n - 1]->name;
    Text t = {.arena = r->arena};
    while (*a) {
        size_t n = strcspn(a, "_"), m = strcspn(b, "_");
        bool same = n == m && strncmp(a, b, n) == 0;
        if (same || !is_number(a, n))
            text_printf(&t, "%s%.*s", t.n ? "_" : "", (int)n, a);
        a += n + (a[n] == '_');
        b += m + (b[m] == '_');
    }
    return t.n ? t.at : f->copies.at[0]->name;
}

static void name_families(Runs *r) {
    Names *names = names_new(r->arena);
    for (int i = 0; i < r->l->buffers.n; i++)
        if (!r->l->buffers.at[i]->family)
            names_unique(names, r->l->buffers.at[i]->name, "_");
    for (int i = 0; i < r->l->families.n; i++)
        r->l->families.at[i]->name = names_unique(names, family_name(r, r->l->families.at[i]), "_");
}

void plan_find_runs(Runs *r) {
    Lowered *l = r->l;
    int items = l->buffers.n, periods = MIN(MOST_PERIOD, l->kernels.n / LEAST_COPIES);
    Chains c = {.arena = r->arena, .item = NEW_ARRAY(r->arena, Item, items + 1)};
    for (int i = 0; i < items; i++)
        c.item[i].end = i;
    const int *repeats = count_repeats(l, r->arena, periods);
    for (int i = 0; i < l->kernels.n;) {
        Run run = find_run(r, &c, repeats, periods, i);
        bool found = run.copies >= LEAST_COPIES;
        if (found)
            add_run(r, run);
        i += found ? run.period * run.copies : 1;
    }
    link_by_name(r, &c);
    make_families(r, &c);
    for (int i = 0; i < l->families.n; i++)
        number_copies(l->families.at[i]);
    turn_families(r);
    name_families(r);
}

/* ---- where they lie ---- */

/* All copies in equal steps. */
static bool settle_in_line(Family *f) {
    Buffer *const *b = f->copies.at;
    f->offset = b[0]->offset;
    f->stride = b[1]->offset - b[0]->offset;
    f->rotate = f->copies.n;
    for (int i = 2; i < f->copies.n; i++)
        if (b[i]->offset != f->offset + i * f->stride)
            return false;
    return true;
}

/* In equal steps that begin again after `rotate` copies. */
static bool settle_in_turn(Family *f, int rotate) {
    Buffer *const *b = f->copies.at;
    int64_t low = b[0]->offset;
    for (int i = 1; i < MIN(rotate, f->copies.n); i++)
        low = MIN(low, b[i]->offset);
    f->rotate = rotate;
    f->offset = low;
    f->stride = b[0]->bytes;
    f->shift = (int)((b[0]->offset - low) / f->stride);
    for (int i = 0; i < f->copies.n; i++)
        if (b[i]->offset != f->offset + (i + f->shift) % f->rotate * f->stride)
            return false;
    return true;
}

static bool has_families(const Runs *r, Run run) {
    Roles roles = roles_of(r, run);
    for (int i = 0; i < roles.now.n; i++)
        if (!roles.now.at[i]->family || !roles.then.at[i]->family)
            return false;
    return true;
}

void plan_settle_families(Runs *r, const int *rotate_of) {
    Lowered *l = r->l;
    int kept = 0;
    for (int i = 0; i < l->families.n; i++) {
        Family *f = l->families.at[i];
        if (settle_in_line(f) || settle_in_turn(f, rotate_of[f->copies.at[0]->id])) {
            l->families.at[kept++] = f;
            continue;
        }
        for (int k = 0; k < f->copies.n; k++)
            f->copies.at[k]->family = NULL;
    }
    l->families.n = kept;
    kept = 0;
    for (int i = 0; i < l->runs.n; i++)
        if (has_families(r, l->runs.at[i]))
            l->runs.at[kept++] = l->runs.at[i];
    l->runs.n = kept;
}
