/* diag.c: keeps messages, finds lines and columns, prints the line with a caret under the span. */
#include "diag.h"

#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 120, /* characters of a source line that are shown; a longer one is cut at its ends */
    BEFORE = 60  /* characters shown before the caret of a line that is cut */
};

typedef struct Message Message;
struct Message {
    const char *what; /* "error", "warning", "note" */
    const char *text;
    Span at;
    int order;
    VEC(Message *) notes;
};

typedef struct File {
    SourceFile source;
    VEC(uint32_t) lines; /* offset of the first byte of each line */
} File;

struct Diag {
    Arena *arena;
    VEC(File *) files;
    VEC(Message *) messages;
    Message *last; /* what a note is added to; NULL when the message was dropped */
    int errors;
};

Diag *diag_new(Arena *a) {
    Diag *d = NEW(a, Diag);
    d->arena = a;
    return d;
}

uint32_t diag_add_file(Diag *d, const char *path, const char *text, size_t size, bool library) {
    File *f = NEW(d->arena, File);
    f->source = (SourceFile){path, text, size, library};
    vec_push(d->arena, &f->lines, 0);
    const char *end = text + size;
    for (const char *at = text; at < end && (at = memchr(at, '\n', (size_t)(end - at)));)
        vec_push(d->arena, &f->lines, (uint32_t)(++at - text));
    vec_push(d->arena, &d->files, f);
    return (uint32_t)d->files.n;
}

static const File *find_file(const Diag *d, uint32_t file) {
    if (file == 0 || file > (uint32_t)d->files.n)
        return NULL;
    return d->files.at[file - 1];
}

const SourceFile *diag_file(const Diag *d, uint32_t file) {
    const File *f = find_file(d, file);
    return f ? &f->source : NULL;
}

/* ---- positions ------------------------------------------------------------------------------- */

static int find_line(const File *f, uint32_t offset) {
    int lo = 0, hi = f->lines.n; /* the line starts at or before offset, the one at hi after it */
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;
        if (f->lines.at[mid] <= offset)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static bool starts_character(char c) {
    return ((unsigned char)c & 0xC0) != 0x80;
}

static int count_characters(const char *s, size_t n) {
    int count = 0;
    for (size_t i = 0; i < n; i++)
        count += starts_character(s[i]);
    return count;
}

void diag_position(const Diag *d, Span s, int *line, int *column) {
    const File *f = find_file(d, s.file);
    *line = *column = 1;
    if (!f)
        return;
    uint32_t lo = MIN(s.lo, (uint32_t)f->source.size);
    int l = find_line(f, lo);
    uint32_t start = f->lines.at[l];
    *line = l + 1;
    *column = 1 + count_characters(f->source.text + start, lo - start);
}

const char *diag_place(const Diag *d, Arena *a, Span s) {
    if (!d || !s.file)
        return NULL;
    int line, column;
    diag_position(d, s, &line, &column);
    return arena_printf(a, "%s:%d", path_base(diag_file(d, s.file)->path), line);
}

static bool suits_comment(const char *s) {
    for (const char *c = s; *c; c++)
        if ((unsigned char)*c < ' ')
            return false;
    return *s && !strstr(s, "*/") && !strstr(s, "/*") && !strstr(s, "??");
}

const char *diag_line(const Diag *d, Arena *a, Span s, size_t most) {
    if (!d || !s.file)
        return NULL;
    const SourceFile *f = diag_file(d, s.file);
    size_t lo = s.lo, hi = s.lo;
    while (lo > 0 && f->text[lo - 1] != '\n')
        lo--;
    while (hi < f->size && f->text[hi] != '\n')
        hi++;
    while (lo < hi && f->text[lo] == ' ')
        lo++;
    while (hi > lo && (f->text[hi - 1] == ' ' || f->text[hi - 1] == '\r'))
        hi--;
    bool cut = hi - lo > most;
    for (hi = cut ? lo + most : hi; cut && ((unsigned char)f->text[hi] & 0xc0) == 0x80;)
        hi--;
    const char *line = arena_printf(a, "%.*s%s", (int)(hi - lo), f->text + lo, cut ? "…" : "");
    return suits_comment(line) ? line : NULL;
}

Span span_join(Span a, Span b) {
    if (a.file == 0)
        return b;
    if (b.file != a.file)
        return a;
    return (Span){a.file, MIN(a.lo, b.lo), MAX(a.hi, b.hi)};
}

/* ---- keeping messages ------------------------------------------------------------------------ */

static Message *message_new(Diag *d, const char *what, Span at, const char *fmt, va_list ap) {
    Message *m = NEW(d->arena, Message);
    m->what = what;
    m->at = at;
    m->text = arena_vprintf(d->arena, fmt, ap);
    return m;
}

static void keep(Diag *d, Message *m) {
    m->order = d->messages.n;
    vec_push(d->arena, &d->messages, m);
    d->last = m;
}

static bool same_place(Span a, Span b) {
    return a.file == b.file && a.lo == b.lo && a.hi == b.hi;
}

static bool has_message_at(const Diag *d, Span at, char kind) {
    for (int i = 0; i < d->messages.n; i++) {
        const Message *m = d->messages.at[i];
        if (m->what[0] == kind && same_place(m->at, at))
            return true;
    }
    return false;
}

void diag_error(Diag *d, Span at, const char *fmt, ...) {
    d->last = NULL;
    d->errors++;
    if (at.file != 0 && has_message_at(d, at, 'e'))
        return;
    va_list ap;
    va_start(ap, fmt);
    keep(d, message_new(d, "error", at, fmt, ap));
    va_end(ap);
}

void diag_warning(Diag *d, Span at, const char *fmt, ...) {
    d->last = NULL;
    if (at.file != 0 && has_message_at(d, at, 'w'))
        return;
    va_list ap;
    va_start(ap, fmt);
    keep(d, message_new(d, "warning", at, fmt, ap));
    va_end(ap);
}

void diag_note(Diag *d, Span at, const char *fmt, ...) {
    if (!d->last)
        return;
    va_list ap;
    va_start(ap, fmt);
    vec_push(d->arena, &d->last->notes, message_new(d, "note", at, fmt, ap));
    va_end(ap);
}

int diag_errors(const Diag *d) {
    return d->errors;
}

/* ---- printing -------------------------------------------------------------------------------- */

typedef struct Look {
    FILE *to;
    bool colour;
} Look;

static const char *paint(const Look *k, const char *what) {
    if (!k->colour)
        return "";
    switch (what[0]) {
    case 'e': return "\033[1;31m";
    case 'w': return "\033[1;35m";
    default: return "\033[1;36m";
    }
}

/* The part of a line that is shown, in bytes of the file; cut says which ends were left out. */
typedef struct Window {
    uint32_t lo, hi;
    bool cut_before, cut_after;
} Window;

static uint32_t skip_characters(const char *text, uint32_t from, uint32_t end, int n) {
    uint32_t at = from;
    while (at < end && n > 0) {
        at++;
        while (at < end && !starts_character(text[at]))
            at++;
        n--;
    }
    return at;
}

static Window line_window(const File *f, int line, uint32_t caret) {
    const char *text = f->source.text;
    uint32_t lo = f->lines.at[line];
    uint32_t hi = line + 1 < f->lines.n ? f->lines.at[line + 1] - 1 : (uint32_t)f->source.size;
    if (hi > lo && text[hi - 1] == '\r')
        hi--;
    Window w = {lo, hi, false, false};
    caret = MIN(caret, hi);
    int before = count_characters(text + lo, caret - lo);
    if (count_characters(text + lo, hi - lo) <= WIDTH)
        return w;
    if (before > BEFORE) {
        w.lo = skip_characters(text, lo, hi, before - BEFORE);
        w.cut_before = true;
    }
    w.hi = skip_characters(text, w.lo, hi, WIDTH);
    w.cut_after = w.hi < hi;
    return w;
}

static void put_source(FILE *to, const char *text, Window w) {
    if (w.cut_before)
        fputs("...", to);
    /* control characters of a broken file must not reach the terminal */
    for (uint32_t i = w.lo; i < w.hi; i++) {
        unsigned char c = (unsigned char)text[i];
        fputc((c < 0x20 && c != '\t') || c == 0x7F ? '?' : c, to);
    }
    fputs(w.cut_after ? "...\n" : "\n", to);
}

static void put_caret(const Look *k, const Message *m, const char *text, Window w) {
    fputs("      | ", k->to);
    if (w.cut_before)
        fputs("   ", k->to);
    uint32_t lo = MIN(m->at.lo, w.hi);
    for (uint32_t i = w.lo; i < lo; i++)
        if (starts_character(text[i]))
            fputc(text[i] == '\t' ? '\t' : ' ', k->to);
    fprintf(k->to, "%s^", paint(k, m->what));
    uint32_t hi = MIN(m->at.hi, w.hi);
    int length = hi > lo ? count_characters(text + lo, hi - lo) : 1;
    for (int i = 1; i < length; i++)
        fputc('~', k->to);
    fputs(k->colour ? "\033[0m\n" : "\n", k->to);
}

static void put_message(const Diag *d, const Look *k, const Message *m) {
    const File *f = find_file(d, m->at.file);
    const char *bold = k->colour ? "\033[1m" : "", *off = k->colour ? "\033[0m" : "";
    int line, column;
    diag_position(d, m->at, &line, &column);
    if (f)
        fprintf(k->to, "%s%s:%d:%d: ", bold, f->source.path, line, column);
    else
        fprintf(k->to, "%snnc: ", bold);
    fprintf(k->to, "%s%s:%s %s%s%s\n", paint(k, m->what), m->what, off, bold, m->text, off);
    if (!f)
        return;
    Window w = line_window(f, line - 1, m->at.lo);
    fprintf(k->to, "%5d | ", line);
    put_source(k->to, f->source.text, w);
    put_caret(k, m, f->source.text, w);
}

/* Files in the order they were added, then the place, then the order in which the messages came. */
static int compare(const void *a, const void *b) {
    const Message *x = *(Message *const *)a, *y = *(Message *const *)b;
    if (x->at.file != y->at.file)
        return x->at.file < y->at.file ? -1 : 1;
    if (x->at.lo != y->at.lo)
        return x->at.lo < y->at.lo ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

void diag_flush(Diag *d, FILE *to, bool colour) {
    Look k = {to, colour};
    if (d->messages.n)
        qsort(d->messages.at, (size_t)d->messages.n, sizeof *d->messages.at, compare);
    for (int i = 0; i < d->messages.n; i++) {
        const Message *m = d->messages.at[i];
        put_message(d, &k, m);
        for (int j = 0; j < m->notes.n; j++)
            put_message(d, &k, m->notes.at[j]);
    }
    d->messages.n = 0;
    d->last = NULL;
}

/* ---- slips ----------------------------------------------------------------------------------- */

/* Edit distance with swaps of neighbours (optimal string alignment). Longer names never match. */
enum { SHORT = 40 };

static int distance(const char *a, const char *b) {
    int n = (int)strlen(a), m = (int)strlen(b);
    if (n > SHORT || m > SHORT)
        return SHORT;
    int cost[SHORT + 1][SHORT + 1];
    for (int i = 0; i <= n; i++)
        cost[i][0] = i;
    for (int j = 0; j <= m; j++)
        cost[0][j] = j;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            int c = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            c = MIN(c, MIN(cost[i - 1][j], cost[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                c = MIN(c, cost[i - 2][j - 2] + 1);
            cost[i][j] = c;
        }
    return cost[n][m];
}

const char *diag_nearest(const char *name, const char *const *names, int n) {
    int length = (int)strlen(name);
    int best = length <= 2 ? 2 : length <= 5 ? 2 : 3; /* less than this counts as a slip */
    const char *found = NULL;
    for (int i = 0; i < n; i++) {
        int c = distance(name, names[i]);
        if (c > 0 && c < best && c < length) {
            best = c;
            found = names[i];
        }
    }
    return found;
}
