/* loop_index.c: subscripts as linear forms over atoms, and the folding of div and mod that reshapes
 * bring.
 *
 * (d*q + r) / d = q + r/d, and r/d = 0 where 0 <= r < d by the bounds of the loops; d*(x/d) + x%d =
 * x. With these a reshape and its inverse cancel, and a load sees the loop variables it would have
 * seen without them.
 */
#include "loop.h"

static bool atom_equal(const Atom *x, const Atom *y) {
    if (x == y)
        return true;
    if (x->kind != y->kind || x->by != y->by)
        return false;
    switch (x->kind) {
    case ATOM_VAR:
        return x->var == y->var;
    case ATOM_DATA:
        return expr_equal(x->data, y->data);
    default:
        return ix_equal(x->of, y->of);
    }
}

/* With room for so many terms, in one piece: there are many of these. */
static Ix *ix_new(Arena *a, int terms) {
    Ix *x = arena_alloc(a, sizeof(Ix) + (size_t)terms * sizeof(Term));
    x->term = (const Term *)(x + 1);
    return x;
}

/* x += k * atom; x has room. */
static void add_term(Ix *x, const Atom *atom, int64_t k) {
    Term *term = (Term *)x->term;
    int i = 0;
    while (i < x->n && !atom_equal(term[i].atom, atom))
        i++;
    if (i == x->n)
        term[x->n++] = (Term){atom, 0};
    term[i].k += k;
    if (term[i].k)
        return;
    for (; i + 1 < x->n; i++)
        term[i] = term[i + 1];
    x->n--;
}

const Ix *ix_const(Arena *a, int64_t c) {
    static const Ix small[] = {{.c = 0}, {.c = 1}, {.c = 2}, {.c = 3},
                               {.c = 4}, {.c = 5}, {.c = 6}, {.c = 7}};
    if (c >= 0 && c < COUNT_OF(small))
        return &small[c];
    Ix *x = ix_new(a, 0);
    x->c = c;
    return x;
}

static const Ix *ix_atom(Arena *a, Atom atom) {
    Atom *p = NEW(a, Atom);
    *p = atom;
    Ix *x = ix_new(a, 1);
    add_term(x, p, 1);
    return x;
}

const Ix *ix_var(Arena *a, const LoopVar *v) {
    if (v->extent.n == 1 && !v->extent.count) /* its only value */
        return ix_const(a, 0);
    return ix_atom(a, (Atom){.kind = ATOM_VAR, .var = v});
}

const Ix *ix_data(Arena *a, const Expr *e, int64_t extent) {
    return ix_atom(a, (Atom){.kind = ATOM_DATA, .data = e, .by = extent});
}

/* What mod leaves over: x/d of x%d, as far as it is one atom; NULL: it is none. Of (x/e)%d it is
 * x/(d*e), which may have folded where x/e has not. */
static const Atom *left_over(Arena *a, const Atom *mod) {
    const Ix *of = mod->of;
    bool nested = of->n == 1 && of->c == 0 && of->term[0].k == 1 &&
                  of->term[0].atom->kind == ATOM_DIV;
    if (!nested) {
        Atom *div = NEW(a, Atom);
        *div = (Atom){.kind = ATOM_DIV, .of = of, .by = mod->by};
        return div;
    }
    const Atom *inner = of->term[0].atom;
    const Ix *q = ix_div(a, inner->of, inner->by * mod->by);
    return q->n == 1 && q->c == 0 && q->term[0].k == 1 ? q->term[0].atom : NULL;
}

/* k*d * (x/d) + k * (x%d) = k*x */
static const Ix *join_div_mod(Arena *a, const Ix *x) {
    for (int j = 0; j < x->n && x->n > 1; j++) {
        const Atom *mod = x->term[j].atom;
        int64_t k = x->term[j].k;
        const Atom *div = mod->kind == ATOM_MOD ? left_over(a, mod) : NULL;
        int i = 0;
        while (div && i < x->n &&
               !(x->term[i].k == k * mod->by && atom_equal(x->term[i].atom, div)))
            i++;
        if (!div || i == x->n)
            continue;
        Ix *rest = ix_new(a, x->n);
        rest->c = x->c;
        for (int t = 0; t < x->n; t++)
            if (t != i && t != j)
                add_term(rest, x->term[t].atom, x->term[t].k);
        return ix_add(a, rest, ix_scale(a, mod->of, k));
    }
    return x;
}

static bool is_zero(const Ix *x) {
    return x->n == 0 && x->c == 0;
}

const Ix *ix_add(Arena *a, const Ix *x, const Ix *y) {
    if (is_zero(x) || is_zero(y))
        return join_div_mod(a, is_zero(x) ? y : x);
    Ix *z = ix_new(a, x->n + y->n);
    z->c = x->c + y->c;
    for (int i = 0; i < x->n; i++)
        add_term(z, x->term[i].atom, x->term[i].k);
    for (int i = 0; i < y->n; i++)
        add_term(z, y->term[i].atom, y->term[i].k);
    return join_div_mod(a, z);
}

const Ix *ix_offset(Arena *a, const Ix *x, int64_t c) {
    return c ? ix_add(a, x, ix_const(a, c)) : x;
}

const Ix *ix_scale(Arena *a, const Ix *x, int64_t k) {
    if (k == 1)
        return x;
    Ix *z = ix_new(a, x->n);
    z->c = x->c * k;
    for (int i = 0; i < x->n && k; i++)
        add_term(z, x->term[i].atom, x->term[i].k * k);
    return z;
}

static int64_t floor_div(int64_t x, int64_t d) {
    return x / d - (x % d < 0);
}

static int64_t gcd(int64_t x, int64_t y) {
    while (y) {
        int64_t t = x % y;
        x = y;
        y = t;
    }
    return x < 0 ? -x : x;
}

/* x = d*multiple + rest; rest holds the terms whose coefficient d does not divide. */
static void split_multiples(Arena *a, const Ix *x, int64_t d, const Ix **multiple,
                            const Ix **rest) {
    Ix *q = ix_new(a, x->n), *r = ix_new(a, x->n);
    q->c = floor_div(x->c, d);
    r->c = x->c - q->c * d;
    for (int i = 0; i < x->n; i++) {
        int64_t k = x->term[i].k;
        if (k % d == 0)
            add_term(q, x->term[i].atom, k / d);
        else
            add_term(r, x->term[i].atom, k);
    }
    *multiple = q;
    *rest = r;
}

/* A common factor g of d and of all of x but a part that stays in 0..g-1: x = g*big + small. */
static int64_t common_factor(Arena *a, const Ix *x, int64_t d, const Ix **big, const Ix **small) {
    for (int i = 0; i < x->n; i++) {
        int64_t g = gcd(d, x->term[i].k), lo, hi;
        if (g <= 1)
            continue;
        split_multiples(a, x, g, big, small);
        ix_range(*small, &lo, &hi);
        if (lo >= 0 && hi < g)
            return g;
    }
    return 1;
}

const Ix *ix_div(Arena *a, const Ix *x, int64_t d) {
    if (d == 1)
        return x;
    const Ix *q, *r, *big, *small;
    int64_t lo, hi;
    split_multiples(a, x, d, &q, &r);
    ix_range(r, &lo, &hi);
    if (lo < 0) { /* keep what is divided at 0 or above */
        int64_t shift = -floor_div(lo, d);
        r = ix_offset(a, r, shift * d);
        q = ix_offset(a, q, -shift);
        ix_range(r, &lo, &hi);
    }
    if (hi < d)
        return q;
    int64_t g = common_factor(a, r, d, &big, &small);
    if (g > 1)
        return ix_add(a, q, ix_div(a, big, d / g));
    if (r->n == 1 && r->c == 0 && r->term[0].k == 1 && r->term[0].atom->kind == ATOM_DIV) {
        const Atom *inner = r->term[0].atom;
        return ix_add(a, q, ix_div(a, inner->of, inner->by * d));
    }
    return ix_add(a, q, ix_atom(a, (Atom){.kind = ATOM_DIV, .of = r, .by = d}));
}

const Ix *ix_mod(Arena *a, const Ix *x, int64_t d) {
    if (d == 1)
        return ix_const(a, 0);
    const Ix *q, *r, *big, *small;
    int64_t lo, hi;
    split_multiples(a, x, d, &q, &r);
    ix_range(r, &lo, &hi);
    if (lo < 0) {
        r = ix_offset(a, r, -floor_div(lo, d) * d);
        ix_range(r, &lo, &hi);
    }
    if (hi < d)
        return r;
    int64_t g = common_factor(a, r, d, &big, &small);
    if (g > 1)
        return ix_add(a, ix_scale(a, ix_mod(a, big, d / g), g), small);
    return ix_atom(a, (Atom){.kind = ATOM_MOD, .of = r, .by = d});
}

bool ix_equal(const Ix *x, const Ix *y) {
    if (x == y)
        return true;
    if (x->c != y->c || x->n != y->n)
        return false;
    for (int i = 0; i < x->n; i++) {
        int j = 0;
        while (j < y->n &&
               !(x->term[i].k == y->term[j].k && atom_equal(x->term[i].atom, y->term[j].atom)))
            j++;
        if (j == y->n)
            return false;
    }
    return true;
}

bool ix_is_const(const Ix *x, int64_t *value) {
    *value = x->c;
    return x->n == 0;
}

static void atom_range(const Atom *atom, int64_t *lo, int64_t *hi) {
    *lo = 0;
    switch (atom->kind) {
    case ATOM_VAR:
        *hi = atom->var->extent.n - 1;
        return;
    case ATOM_DIV:
        ix_range(atom->of, lo, hi);
        *lo /= atom->by;
        *hi /= atom->by;
        return;
    default:
        *hi = atom->by - 1;
    }
}

static int64_t coefficient_of(const Ix *x, const Atom *atom) {
    for (int i = 0; i < x->n; i++)
        if (atom_equal(x->term[i].atom, atom))
            return x->term[i].k;
    return 0;
}

/* A term k*v with base + v < total, where x holds k*base too: the two together stay below k*total.
 */
static const LoopVar *limited(const Ix *x) {
    for (int i = 0; i < x->n; i++) {
        const LoopVar *v = x->term[i].atom->kind == ATOM_VAR ? x->term[i].atom->var : NULL;
        if (!v || !v->base || v->base->n == 0)
            continue;
        int b = 0;
        while (b < v->base->n &&
               coefficient_of(x, v->base->term[b].atom) == x->term[i].k * v->base->term[b].k)
            b++;
        if (b == v->base->n)
            return v;
    }
    return NULL;
}

static bool is_in(const Ix *x, const Atom *atom) {
    return coefficient_of(x, atom) != 0;
}

void ix_range(const Ix *x, int64_t *lo, int64_t *hi) {
    const LoopVar *v = limited(x);
    *lo = *hi = x->c;
    for (int i = 0; i < x->n; i++) {
        if (v && x->term[i].atom->kind == ATOM_VAR && x->term[i].atom->var == v) {
            int64_t k = x->term[i].k, all = k * (v->total.n - 1) - k * v->base->c;
            *lo += MIN(0, all);
            *hi += MAX(0, all);
            continue;
        }
        if (v && is_in(v->base, x->term[i].atom))
            continue;
        int64_t l, h, k = x->term[i].k;
        atom_range(x->term[i].atom, &l, &h);
        *lo += k > 0 ? k * l : k * h;
        *hi += k > 0 ? k * h : k * l;
    }
}

static bool atom_uses(const Atom *atom, const LoopVar *v) {
    switch (atom->kind) {
    case ATOM_VAR:
        return atom->var == v;
    case ATOM_DATA:
        return expr_uses(atom->data, v);
    default:
        return ix_uses(atom->of, v);
    }
}

bool ix_uses(const Ix *x, const LoopVar *v) {
    for (int i = 0; i < x->n; i++)
        if (atom_uses(x->term[i].atom, v))
            return true;
    return false;
}

int64_t ix_coefficient(const Ix *x, const LoopVar *v, bool *linear) {
    int64_t k = 0;
    *linear = true;
    for (int i = 0; i < x->n; i++) {
        if (x->term[i].atom->kind == ATOM_VAR)
            k += x->term[i].atom->var == v ? x->term[i].k : 0;
        else if (atom_uses(x->term[i].atom, v))
            *linear = false;
    }
    return k;
}

const Ix *ix_flat(Arena *a, const Shape *s, const Ix *const *sub) {
    const Ix *flat = ix_const(a, 0);
    for (int i = 0; i < s->rank; i++)
        flat = ix_add(a, ix_scale(a, flat, s->dim[i].n), sub[i]);
    return flat;
}

void ix_unflat(Arena *a, const Shape *s, const Ix *flat, const Ix **sub) {
    for (int i = s->rank - 1; i >= 0; i--) {
        sub[i] = i ? ix_mod(a, flat, s->dim[i].n) : flat;
        flat = ix_div(a, flat, s->dim[i].n);
    }
}

/* ---- layouts ---- */

int layout_subscripts(Arena *a, const Buffer *b, const Ix *const *sub, const Ix **out,
                      int64_t *extent) {
    const Shape *s = &b->shape;
    if (b->layout == LAYOUT_PANELS16) {
        out[0] = ix_div(a, sub[1], 16);
        out[1] = sub[0];
        out[2] = ix_mod(a, sub[1], 16);
        extent[0] = (s->dim[1].n + 15) / 16;
        extent[1] = s->dim[0].n;
        extent[2] = 16;
        return 3;
    }
    int64_t last = 1, all = MAX(shape_elements(s), 1);
    for (int i = s->rank - 1; i >= 0 && last == 1; i--)
        last = s->dim[i].n;
    const Ix *flat = ix_flat(a, s, sub);
    if (last == 1 || last == all) {
        out[0] = flat;
        extent[0] = all;
        return 1;
    }
    out[0] = ix_div(a, flat, last);
    out[1] = ix_mod(a, flat, last);
    extent[0] = all / last;
    extent[1] = last;
    return 2;
}
