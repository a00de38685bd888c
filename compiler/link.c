/* link.c: puts the output together. What was emitted stays whole. Of the embedded files, whose
 * items tools/embed has cut and joined by what they use, those stay that the emitted text reaches.
 */
#include "link.h"
#include "ctoken.h"
#include "embed.h"
#include <stdlib.h>

/* A stretch of the output: of an item, or of what was emitted. */
typedef struct Piece {
    const EmbedItem *item; /* NULL: emitted */
    const char *at;        /* of an item: where this piece of it begins */
    size_t from, n;        /* of emitted text: where */
    bool gap;              /* an empty line stands before it */
} Piece;

struct Link {
    Emit *e;
    Arena *arena;
    VEC(Piece) pieces;
    size_t done;   /* emitted text that is in a piece */
    bool *reached; /* of each item */
    bool *used;    /* of each file: something that has a name */
    VEC(int) open; /* items reached whose needs are not */
};

const Embedded *embedded(const char *name) {
    for (int i = 0; i < embed.nfiles; i++)
        if (strcmp(embed.files[i].name, name) == 0)
            return &embed.files[i];
    return NULL;
}

Link *link_new(Emit *e) {
    Link *l = NEW(e->text.arena, Link);
    l->e = e;
    l->arena = e->text.arena;
    l->reached = NEW_ARRAY(l->arena, bool, embed.nitems);
    l->used = NEW_ARRAY(l->arena, bool, embed.nfiles);
    return l;
}

/* ---- pieces ---- */

/* What was emitted since the last piece becomes one, without empty lines around it. */
static void add_emitted(Link *l, const EmbedItem *item, bool gap) {
    const Text *t = &l->e->text;
    size_t from = l->done, end = t->n;
    l->done = end;
    for (; from < end && t->at[from] == '\n'; from++)
        gap = true;
    while (end > from + 1 && t->at[end - 2] == '\n')
        end--;
    if (end > from)
        vec_push(l->arena, &l->pieces, (Piece){item, NULL, from, end - from, gap});
}

/* Fills the slot of the line; true when it is one. */
static bool fill_slot(Link *l, const char *line, size_t n, void (*fill)(void *, const char *),
                      void *arg) {
    const char *word = line + strspn(line, " ");
    if (strncmp(word, "//@ ", 4) != 0)
        return false;
    l->e->depth = (int)(word - line) / 4;
    fill(arg, arena_strndup(l->arena, word + 4, n - (size_t)(word + 4 - line)));
    l->e->depth = 0;
    return true;
}

/* An item with slots inside: a piece for the lines between two slots. */
static void add_parts(Link *l, const EmbedItem *it, const char *text,
                      void (*fill)(void *, const char *), void *arg) {
    const char *from = text;
    bool gap = it->gap;
    for (const char *line = text; line < text + it->size;) {
        size_t n = strcspn(line, "\n");
        size_t before = (size_t)(line - from);
        if (fill_slot(l, line, n, fill, arg)) {
            vec_push(l->arena, &l->pieces, (Piece){it, from, 0, before, gap});
            add_emitted(l, it, false);
            from = line + n + 1;
            gap = false;
        }
        line += n + 1;
    }
    vec_push(l->arena, &l->pieces, (Piece){it, from, 0, (size_t)(text + it->size - from), gap});
}

void link_file(Link *l, const char *file, void (*fill)(void *arg, const char *slot), void *arg) {
    const Embedded *f = embedded(file);
    if (!f)
        bug("link: no file '%s'", file);
    add_emitted(l, NULL, true);
    for (int i = f->first; i < f->first + f->count; i++) {
        const EmbedItem *it = &embed.items[i];
        const char *text = f->text + it->at;
        bool gap = it->gap || i == f->first;
        if (it->kind == EMBED_SLOT) {
            fill_slot(l, text, it->size - 1, fill, arg);
            add_emitted(l, NULL, gap);
        } else if (it->slots) {
            add_parts(l, it, text, fill, arg);
        } else {
            vec_push(l->arena, &l->pieces, (Piece){it, text, 0, it->size, gap});
        }
    }
}

/* ---- what is reached ---- */

static void reach(Link *l, int item) {
    if (l->reached[item])
        return;
    l->reached[item] = true;
    l->used[embed.items[item].file] |= embed.items[item].kind == EMBED_NAMED;
    vec_push(l->arena, &l->open, item);
}

static void reach_needs(Link *l) {
    while (l->open.n) {
        const EmbedItem *it = &embed.items[l->open.at[--l->open.n]];
        for (int i = 0; i < it->count; i++)
            reach(l, embed.needs[it->first + i]);
    }
}

static void reach_name(Link *l, const char *s, size_t n, bool tag) {
    unsigned mask = embed.nslots - 1, at = ctoken_hash(s, n, tag) & mask;
    for (int k; (k = embed.slots[at]) != 0; at = (at + 1) & mask) {
        const EmbedName *name = &embed.names[k - 1];
        if (name->n != n || name->tag != tag || memcmp(name->text, s, n) != 0)
            continue;
        for (int i = 0; i < name->count; i++)
            reach(l, embed.defined[name->first + i]);
        return;
    }
}

static void reach_all(Link *l, const char *root) {
    const Text *t = &l->e->text;
    for (int i = 0; i < l->pieces.n; i++) {
        const EmbedItem *it = l->pieces.at[i].item;
        if (it && it->kind == EMBED_ALWAYS)
            reach(l, (int)(it - embed.items));
    }
    reach_name(l, root, strlen(root), false);
    for (CToken w = {0}; ctoken_next(&w, t->at, t->at + t->n);)
        if (w.kind == 'n' && !w.member)
            reach_name(l, w.at, w.n, w.tag);
    reach_needs(l);
}

/* ---- printing ---- */

typedef struct Printer {
    Link *l;
    Text out;
    bool gap;              /* an empty line belongs before what comes next */
    const Piece *ruler[5]; /* of each level: not printed yet */
    bool included;
} Printer;

static void put(Printer *p, const char *s, size_t n) {
    if (p->gap && p->out.n)
        text_add(&p->out, "\n");
    text_addn(&p->out, s, n);
    p->gap = false;
}

static int by_text(const void *a, const void *b) {
    const Piece *p = a, *q = b;
    bool block = p->at[1] == 'i' && p->at[2] == 'f', other = q->at[1] == 'i' && q->at[2] == 'f';
    if (block != other)
        return block - other;
    int order = memcmp(p->at, q->at, MIN(p->n, q->n));
    return order ? order : (p->n > q->n) - (p->n < q->n);
}

/* The includes of all files that are used, each once, conditions last. */
static void put_includes(Printer *p) {
    const Link *l = p->l;
    Piece *found = NEW_ARRAY(l->arena, Piece, l->pieces.n);
    size_t n = 0;
    for (int i = 0; i < l->pieces.n; i++) {
        const Piece *one = &l->pieces.at[i];
        if (one->item && one->item->kind == EMBED_INCLUDE && l->used[one->item->file])
            found[n++] = *one;
    }
    qsort(found, n, sizeof *found, by_text);
    for (size_t i = 0; i < n; i++)
        if (!i || by_text(&found[i - 1], &found[i]) != 0)
            put(p, found[i].at, found[i].n);
    p->included = true;
}

static void put_rulers(Printer *p) {
    for (int level = 1; level < COUNT_OF(p->ruler); level++) {
        if (!p->ruler[level])
            continue;
        p->gap = true;
        put(p, p->ruler[level]->at, p->ruler[level]->n);
        p->ruler[level] = NULL;
        p->gap = true;
    }
}

static void put_piece(Printer *p, const Piece *one) {
    const EmbedItem *it = one->item;
    p->gap = p->gap || one->gap;
    if (it && it->kind == EMBED_RULER) {
        for (int level = it->level; level < COUNT_OF(p->ruler); level++)
            p->ruler[level] = NULL;
        p->ruler[it->level] = one;
    } else if (it && it->kind == EMBED_INCLUDE) {
        if (!p->included) {
            put_rulers(p);
            put_includes(p);
        }
    } else if (!it || p->l->reached[it - embed.items]) {
        put_rulers(p);
        put(p, one->at ? one->at : p->l->e->text.at + one->from, one->n);
    }
}

const char *link_text(Link *l, const char *root) {
    add_emitted(l, NULL, true);
    reach_all(l, root);
    Printer p = {.l = l, .out = {.arena = l->arena}};
    for (int i = 0; i < l->pieces.n; i++)
        put_piece(&p, &l->pieces.at[i]);
    return p.out.at;
}
