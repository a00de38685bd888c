/* util.c: arenas, growing strings, the interner, files. The only file that allocates. */
#include "util.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void bug_at(const char *file, int line, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "nnc: bug at %s:%d: ", file, line);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    abort();
}

/* ---- arena: a list of chunks, the first is the one that is filled ---------------------------- */

typedef struct Chunk {
    struct Chunk *next;
    size_t used, size;
    _Alignas(16) char data[];
} Chunk;

enum { ALIGN = 16, SMALL = 64 * 1024 - sizeof(Chunk), HUGE = 2 * 1024 * 1024, OWN = HUGE / 4 };

struct Arena {
    Chunk *chunks;
};

static void *need(void *p) {
    if (!p) {
        fputs("nnc: out of memory\n", stderr);
        exit(2);
    }
    return p;
}

Arena *arena_new(void) {
    return need(calloc(1, sizeof(Arena)));
}

static void *from_system(size_t bytes, int flags) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return need(p == MAP_FAILED ? NULL : p);
}

/* Straight from the system, which zeroes it, and in one piece: a page at a time costs more than the
 * work that is done in it. */
static Chunk *chunk_new(size_t size) {
    Chunk *c = from_system(sizeof(Chunk) + size, MAP_POPULATE);
    c->size = size;
    return c;
}

/* A chunk that is one huge page, where the system has them: 512 times fewer page faults. */
static Chunk *chunk_huge(void) {
    char *p = from_system(2 * HUGE, MAP_NORESERVE);
    size_t before = (HUGE - (uintptr_t)p % HUGE) % HUGE;
    if (before)
        munmap(p, before);
    munmap(p + before + HUGE, HUGE - before);
    madvise(p + before, HUGE, MADV_HUGEPAGE);
    Chunk *c = (Chunk *)(void *)(p + before);
    c->size = HUGE - sizeof(Chunk);
    return c;
}

static void chunk_free(Chunk *c) {
    munmap(c, sizeof(Chunk) + c->size);
}

void *arena_alloc(Arena *a, size_t bytes) {
    if (bytes > SIZE_MAX / 2)
        need(NULL);
    bytes = (MAX(bytes, 1) + ALIGN - 1) / ALIGN * ALIGN;
    Chunk *c = a->chunks;
    if (bytes > OWN) { /* a chunk of its own, behind the one that is being filled */
        Chunk *big = chunk_new(bytes);
        big->used = bytes;
        big->next = c ? c->next : NULL;
        if (c)
            c->next = big;
        else
            a->chunks = big;
        return big->data;
    }
    if (!c || c->size - c->used < bytes) {
        Chunk *fresh = c || bytes > SMALL ? chunk_huge() : chunk_new(SMALL);
        fresh->next = c;
        a->chunks = c = fresh;
    }
    void *p = c->data + c->used;
    c->used += bytes;
    return p;
}

/* One chunk is kept; what was used of it is zeroed again. */
void arena_reset(Arena *a) {
    Chunk *kept = NULL;
    for (Chunk *c = a->chunks, *next; c; c = next) {
        next = c->next;
        if (kept || c->size > HUGE) {
            chunk_free(c);
            continue;
        }
        kept = c;
        memset(c->data, 0, c->used);
        c->used = 0;
    }
    if (kept)
        kept->next = NULL;
    a->chunks = kept;
}

void arena_free(Arena *a) {
    if (!a)
        return;
    for (Chunk *c = a->chunks, *next; c; c = next) {
        next = c->next;
        chunk_free(c);
    }
    free(a);
}

/* ---- printing: as vsnprintf, which took a quarter of all instructions ----------------------- */

typedef struct Line {
    char *to;
    size_t room, n; /* n counts what did not fit too */
} Line;

static void line_put(Line *l, const char *s, size_t n) {
    if (l->n < l->room)
        memcpy(l->to + l->n, s, MIN(n, l->room - l->n));
    l->n += n;
}

static void line_number(Line *l, long long x) {
    char digits[24], *p = digits + sizeof digits;
    unsigned long long rest = x < 0 ? 0 - (unsigned long long)x : (unsigned long long)x;
    do
        *--p = (char)('0' + rest % 10);
    while (rest /= 10);
    if (x < 0)
        *--p = '-';
    line_put(l, p, (size_t)(digits + sizeof digits - p));
}

/* Nothing but %s, %d and %lld, of which nearly all text is made. */
static bool is_plain(const char *fmt) {
    while ((fmt = strchr(fmt, '%'))) {
        if (fmt[1] != 's' && fmt[1] != 'd' && strncmp(fmt, "%lld", 4) != 0)
            return false;
        fmt += 2;
    }
    return true;
}

static int print_into(char *to, size_t room, const char *fmt, va_list ap) {
    if (!is_plain(fmt))
        return vsnprintf(to, room, fmt, ap);
    Line l = {to, room, 0};
    for (const char *next; *fmt; fmt = next) {
        size_t n = strcspn(fmt, "%");
        next = fmt + n;
        line_put(&l, fmt, n);
        if (*next == 0)
            break;
        if (next[1] == 's') {
            const char *s = va_arg(ap, const char *);
            line_put(&l, s, strlen(s));
        } else {
            line_number(&l, next[1] == 'd' ? va_arg(ap, int) : va_arg(ap, long long));
        }
        next += next[1] == 'l' ? 4 : 2;
    }
    if (room)
        to[MIN(l.n, room - 1)] = 0;
    return l.n < INT_MAX ? (int)l.n : -1;
}

/* Prints where the next allocation would lie; only what does not fit there is printed twice. */
char *arena_vprintf(Arena *a, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    Chunk *c = a->chunks;
    size_t room = c ? c->size - c->used : 0;
    char *here = room ? c->data + c->used : NULL;
    int n = print_into(here, room, fmt, again);
    va_end(again);
    if (n < 0)
        bug("format \"%s\"", fmt);
    size_t bytes = (size_t)n + 1;
    if (bytes <= room && bytes <= OWN)
        return arena_alloc(a, bytes); /* is here */
    if (room)
        memset(here, 0, MIN(bytes, room));
    char *s = arena_alloc(a, bytes);
    print_into(s, bytes, fmt, ap);
    return s;
}

char *arena_printf(Arena *a, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    char *s = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return s;
}

char *arena_strndup(Arena *a, const char *s, size_t n) {
    char *copy = arena_alloc(a, n + 1);
    if (n)
        memcpy(copy, s, n);
    return copy;
}

static bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

const char *path_base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *arena_identifier(Arena *a, const char *path) {
    char *name = arena_printf(a, "%s%s", path[0] >= '0' && path[0] <= '9' ? "x" : "", path);
    char *to = name;
    for (const char *from = name; *from; from++) {
        bool word = is_letter_or_digit(*from) || *from == '_';
        if (word || (to > name && to[-1] != '_'))
            *to++ = word ? *from : '_';
    }
    while (to > name + 1 && to[-1] == '_')
        to--;
    *to = 0;
    return name;
}

const char *arena_fold_words(Arena *a, const char *name) {
    Text t = {.arena = a};
    for (const char *at = name; *at;) {
        size_t n = strcspn(at, "_");
        const char *next = at + n;
        int times = 1;
        while (n && *next == '_' && strncmp(next + 1, at, n) == 0 &&
               (next[n + 1] == '_' || !next[n + 1])) {
            next += n + 1;
            times++;
        }
        if (times < 3)
            text_addn(&t, at, (size_t)(next - at));
        else
            text_printf(&t, "%.*s_%d", (int)n, at, times);
        text_addn(&t, next, *next != 0);
        at = next + (*next != 0);
    }
    return t.n ? t.at : name;
}

const char *arena_replace_word(Arena *a, const char *text, const char *word, const char *with) {
    size_t n = strlen(word);
    Text t = {.arena = a};
    for (const char *p = text; *p;) {
        size_t k = 0;
        while (is_letter_or_digit(p[k]) || p[k] == '_')
            k++;
        bool is_word = k == n && n && strncmp(p, word, n) == 0;
        text_addn(&t, is_word ? with : p, is_word ? strlen(with) : MAX(k, 1));
        p += MAX(k, 1);
    }
    return t.at ? t.at : "";
}

void *vec_grow(Arena *a, const void *at, size_t item, int n, int *cap) {
    int grown = *cap ? *cap * 2 : 8;
    if (*cap > INT32_MAX / 2)
        need(NULL);
    void *fresh = arena_alloc(a, item * (size_t)grown);
    if (n)
        memcpy(fresh, at, item * (size_t)n);
    *cap = grown;
    return fresh;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* The last allocation of the chunk that is being filled grows where it is. */
static bool grow_in_place(Arena *a, const char *at, size_t old, size_t bytes) {
    Chunk *c = a->chunks;
    size_t was = (old + ALIGN - 1) / ALIGN * ALIGN, grown = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (!c || !at || c->used < was || at != c->data + c->used - was ||
        grown - was > c->size - c->used)
        return false;
    c->used += grown - was;
    return true;
}

/* Room for n more characters and the end. */
static void text_room(Text *t, size_t n) {
    if (t->n + n + 1 <= t->cap)
        return;
    size_t cap = MAX(MAX(t->cap * 2, t->n + n + 1), 64);
    if (!grow_in_place(t->arena, t->at, t->cap, cap)) {
        char *fresh = arena_alloc(t->arena, cap);
        if (t->n)
            memcpy(fresh, t->at, t->n);
        t->at = fresh;
    }
    t->cap = cap;
}

void text_addn(Text *t, const char *s, size_t n) {
    text_room(t, n);
    if (n)
        memcpy(t->at + t->n, s, n);
    t->n += n;
    t->at[t->n] = 0;
}

void text_add(Text *t, const char *s) {
    text_addn(t, s, strlen(s));
}

void text_vprintf(Text *t, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    text_room(t, 0);
    int n = print_into(t->at + t->n, t->cap - t->n, fmt, ap);
    if (n < 0)
        bug("format \"%s\"", fmt);
    if ((size_t)n >= t->cap - t->n) { /* did not fit: once more, with room */
        text_room(t, (size_t)n);
        print_into(t->at + t->n, t->cap - t->n, fmt, again);
    }
    va_end(again);
    t->n += (size_t)n;
}

void text_printf(Text *t, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(t, fmt, ap);
    va_end(ap);
}

/* ---- interner: open addressing, a power of two of slots, at most half full ------------------- */

typedef struct Slot {
    const char *text; /* NULL: free */
    size_t n;
    uint32_t hash;
    int number; /* of Names: the last one given to this text; 0: the text itself is free */
} Slot;

struct Interner {
    Arena *arena;
    Slot *slots;
    size_t size, used;
};

uint32_t hash_bytes(uint32_t h, const void *p, size_t n) {
    const unsigned char *c = p;
    for (size_t i = 0; i < n; i++)
        h = (h ^ c[i]) * 16777619u;
    return h;
}

Interner *interner_new(Arena *a) {
    Interner *in = NEW(a, Interner);
    in->arena = a;
    in->size = 1024;
    in->slots = NEW_ARRAY(a, Slot, in->size);
    return in;
}

static Slot *find_slot(const Interner *in, const char *s, size_t n, uint32_t hash) {
    for (size_t i = hash & (in->size - 1);; i = (i + 1) & (in->size - 1)) {
        Slot *slot = &in->slots[i];
        if (!slot->text)
            return slot;
        if (slot->hash == hash && slot->n == n && (n == 0 || memcmp(slot->text, s, n) == 0))
            return slot;
    }
}

static void rehash(Interner *in) {
    Slot *old = in->slots;
    size_t n = in->size;
    in->size *= 2;
    in->slots = NEW_ARRAY(in->arena, Slot, in->size);
    for (size_t i = 0; i < n; i++)
        if (old[i].text)
            *find_slot(in, old[i].text, old[i].n, old[i].hash) = old[i];
}

static Slot *intern_slot(Interner *in, const char *s, size_t n) {
    uint32_t hash = hash_bytes(HASH_START, s, n);
    Slot *slot = find_slot(in, s, n, hash);
    if (slot->text)
        return slot;
    if (in->used * 2 >= in->size) {
        rehash(in);
        slot = find_slot(in, s, n, hash);
    }
    *slot = (Slot){arena_strndup(in->arena, s, n), n, hash, 0};
    in->used++;
    return slot;
}

const char *intern(Interner *in, const char *s, size_t n) {
    return intern_slot(in, s, n)->text;
}

const char *intern_str(Interner *in, const char *s) {
    return intern(in, s, strlen(s));
}

/* ---- names: an interner whose entries know the last number that was joined to them ---------- */

struct Names {
    Interner set;
};

Names *names_new(Arena *a) {
    Names *names = NEW(a, Names);
    names->set = *interner_new(a);
    return names;
}

void names_reserve(Names *names, const char *name) {
    Slot *slot = intern_slot(&names->set, name, strlen(name));
    slot->number = MAX(slot->number, 1);
}

bool names_has(Names *names, const char *name) {
    return intern_slot(&names->set, name, strlen(name))->number > 0;
}

const char *names_unique(Names *names, const char *wanted, const char *joint) {
    Slot *slot = intern_slot(&names->set, wanted, strlen(wanted));
    if (!slot->number) {
        slot->number = 1;
        return slot->text;
    }
    for (int i = slot->number + 1;; i++) {
        char *name = arena_printf(names->set.arena, "%s%s%d", wanted, joint, i);
        Slot *other = intern_slot(&names->set, name, strlen(name));
        if (other->number)
            continue;
        other->number = 1;
        intern_slot(&names->set, wanted, strlen(wanted))->number = i;
        return other->text;
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

char *read_file(Arena *a, const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    Text t = {.arena = a};
    text_addn(&t, "", 0);
    char part[16384];
    for (size_t got; (got = fread(part, 1, sizeof part, f)) > 0;)
        text_addn(&t, part, got);
    int failed = ferror(f) ? (errno ? errno : EIO) : 0;
    fclose(f);
    if (failed) {
        errno = failed;
        return NULL;
    }
    *n = t.n;
    return t.at;
}

static bool write_all(FILE *f, const char *text, size_t n) {
    bool ok = fwrite(text, 1, n, f) == n;
    int why = errno;
    if (fclose(f) != 0 && ok) {
        ok = false;
        why = errno;
    }
    errno = why;
    return ok;
}

bool write_file(const char *path, const char *text, size_t n) {
    Arena *a = arena_new();
    struct stat st;
    bool direct = stat(path, &st) == 0 && !S_ISREG(st.st_mode);
    const char *temporary = direct ? path : arena_printf(a, "%s.%ld.tmp", path, (long)getpid());
    FILE *f = fopen(temporary, "wb");
    bool ok = f && write_all(f, text, n) && (direct || rename(temporary, path) == 0);
    int why = errno;
    if (f && !ok && !direct)
        remove(temporary);
    arena_free(a);
    errno = why;
    return ok;
}
