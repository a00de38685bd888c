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
#include <stdlib.h>

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
            bool same = mark[i] == mark[i + p] && same_call(l->kernels.at[i], l->kernels.at[i + p]);
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

/* ---- homes that are alike ---- */

/* What a buffer is, is a copy or the gradient of; NULL: it belongs to no home. */
static const Home *home_behind(const Buffer *b) {
    return b->home ? b->home : b->packed_of ? b->packed_of : b->node ? b->node->gradient_of : NULL;
}

/* A step of a path with those that repeat it: a layer that calls itself. */
typedef struct Stride {
    PathStep step;
    int times;
} Stride;

/* The stride that begins at step *i, which moves behind it. */
static Stride next_stride(const Home *h, int *i) {
    Stride s = {h->steps.at[*i], 0};
    for (; *i < h->steps.n && h->steps.at[*i].name == s.step.name &&
           h->steps.at[*i].place == s.step.place;
         ++*i)
        s.times++;
    return s;
}

/* In what two paths differ: the stride, and by how much its number or its times grow. */
typedef struct Difference {
    int stride, by;
} Difference;

/* The same layer or the same place of the program, but for numbers in their paths and for how often
 * a layer called itself: how many differ; -1: they are not alike. *last: the last that does. */
static int count_differences(const Home *a, const Home *b, Difference *last) {
    int n = 0, i = 0, k = 0;
    if (a->kind != b->kind || a->name != b->name || !a->of != !b->of)
        return -1;
    for (int stride = 0; i < a->steps.n && k < b->steps.n; stride++) {
        Stride x = next_stride(a, &i), y = next_stride(b, &k);
        if (x.step.name != y.step.name)
            return -1;
        int differ = (x.step.place != y.step.place) + (x.times != y.times);
        if (differ)
            *last = (Difference){stride, y.step.place - x.step.place + y.times - x.times};
        n += differ;
    }
    if (i < a->steps.n || k < b->steps.n)
        return -1;
    if (a->of)
        return n ? -1 : count_differences(a->of, b->of, last);
    return a->steps.n || (a->span.file == b->span.file && a->span.lo == b->span.lo) ? n : -1;
}

/* net.block[0].w and net.block[1].w; a place of the program that is met twice */
static bool homes_alike(const Home *a, const Home *b) {
    Difference last;
    if (!a || !b)
        return a == b;
    int n = count_differences(a, b, &last);
    return n == 0 || n == 1;
}

static bool same_form(const Runs *r, const Buffer *a, const Buffer *b) {
    return a->bytes == b->bytes && a->dtype == b->dtype && a->layout == b->layout &&
           shape_equal(&a->shape, &b->shape) && !a->home == !b->home &&
           !a->packed_of == !b->packed_of && homes_alike(home_behind(a), home_behind(b)) &&
           r->persist[a->id] == r->persist[b->id] && (r->persist[a->id] || a->region == b->region);
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
    int limit = INT32_MAX, tried = 0; /* runs of the same length by period */
    for (int tries = 0; tries < MOST_TRIES; tries++) {
        best = (Run){i, 0, 0};
        for (int p = 1; p <= periods && i + LEAST_COPIES * p <= r->l->kernels.n; p++) {
            int copies = count_copies(r->l, repeats, p, i);
            int length = copies * p;
            if (copies >= LEAST_COPIES && length > best.copies * best.period &&
                (length < limit || (length == limit && p > tried)))
                best = (Run){i, p, copies};
        }
        limit = best.copies * best.period;
        tried = best.period;
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

/* A run may leave out the first layer or the last; what belongs there joins the chain, so that
 * copies are counted as layers are. */
static void join(const Runs *r, Chains *c, const Buffer *end, const Buffer *b) {
    int before = c->made.n;
    if (c->item[end->id].n == 1 && c->item[b->id].n == 0 && !link_buffers(r, c, NULL, end, b))
        undo_links(c, before);
}

/* Does c's home continue the row that a's and b's begin? */
static bool continues(const Home *a, const Home *b, const Home *c) {
    Difference x, y;
    return c && count_differences(a, b, &x) == 1 && count_differences(b, c, &y) == 1 &&
           x.stride == y.stride && x.by == y.by;
}

/* Parameters, their gradients and what optimizers keep of them. */
static void join_homes(const Runs *r, Chains *c) {
    Buffer *const *b = r->l->buffers.at;
    for (int i = 0; i < r->l->buffers.n; i++) {
        int end = i;
        while (end >= 0 && c->item[end].n == 1 && home_behind(b[end])) {
            const Home *last = home_behind(b[end]), *before = home_behind(b[c->item[end].next[0]]);
            int next = -1;
            for (int k = 0; k < r->l->buffers.n && next < 0; k++)
                if (c->item[k].n == 0 && continues(before, last, home_behind(b[k])) &&
                    same_form(r, b[end], b[k]))
                    next = k;
            if (next >= 0)
                join(r, c, b[end], b[next]);
            end = next;
        }
    }
}

/* The same place of the program, in another layer. */
static bool same_value(const Buffer *a, const Buffer *b) {
    return a->node && b->node && a->node->op == b->node->op &&
           a->node->span.file == b->node->span.file && a->node->span.lo == b->node->span.lo;
}

/* What the call beside a copy of a run writes in the place of what the copy writes. */
static void join_values(const Runs *r, Chains *c, int at, int beside) {
    const Lowered *l = r->l;
    if (beside < 0 || beside >= l->kernels.n)
        return;
    const Kernel *x = l->kernels.at[at], *y = l->kernels.at[beside];
    for (int i = 0; i < MIN(x->writes.n, y->writes.n); i++) {
        const Buffer *a = x->writes.at[i].buffer, *b = y->writes.at[i].buffer;
        if (same_value(a, b) && same_form(r, a, b))
            join(r, c, a, b);
    }
}

static void join_ends(const Runs *r, Chains *c) {
    for (int i = 0; i < r->l->runs.n; i++) {
        Run run = r->l->runs.at[i];
        int behind = run.first + run.period * run.copies;
        for (int q = 0; q < run.period; q++) {
            join_values(r, c, run.first + q, run.first + q - run.period);
            join_values(r, c, behind - run.period + q, behind + q);
        }
    }
    join_homes(r, c);
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

/* net.block.w of net.block[0].w and net.block[1].w: without the number that differs, or with the
 * steps that repeat once. */
static const char *path_of_all(const Runs *r, const Home *a, const Home *b) {
    Difference last = {-1, 0};
    Text t = {.arena = r->arena};
    count_differences(a, b, &last);
    for (const Home *h = a; h; h = h->of) {
        for (int i = 0, stride = 0; i < h->steps.n; stride++) {
            Stride s = next_stride(h, &i);
            bool differs = !h->of && stride == last.stride;
            bool numbered = s.step.place >= 0 && !h->of && !differs;
            for (int k = 0; k < (differs ? 1 : s.times); k++)
                text_printf(&t, numbered ? "%s[%d]." : "%s.", s.step.name, s.step.place);
        }
        text_printf(&t, h->of ? "%s." : "%s", h->name);
    }
    return t.at;
}

/* After what all copies hold. The first may be what comes into the first layer: h, block, block. */
static const char *family_name(const Runs *r, const Family *f) {
    const Buffer *b = f->copies.at[f->copies.n - 2];
    const Home *x = home_behind(f->copies.at[0]), *y = home_behind(f->copies.at[1]);
    if (!x || !y)
        return b->base ? b->base : b->name;
    const char *path = arena_identifier(r->arena, path_of_all(r, x, y));
    const char *name = arena_fold_words(r->arena, path);
    if (b->home)
        return name;
    return arena_printf(r->arena, b->packed_of ? "%s_packed" : "d_%s", name);
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
    join_ends(r, &c);
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
