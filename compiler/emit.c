/* emit.c: lines, literals, names. */
#include "emit.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void indent(Emit *e) {
    for (int i = 0; i < e->depth; i++)
        text_add(&e->text, "    ");
}

/* ---- long lines ---- */

enum { COLUMNS = 100, FULL = 96, LEAST = 12 }; /* FULL: of words, with room for what ends them */

/* How well a line ends behind this character: commas and assignments before operators, those that
 * bind least first; -1: badly. */
static int break_cost(const char *s, size_t i) {
    static const char *const classes[] = {",;=", "?:", "&|", "<>!", "+-", "*/%"};
    bool compares = s[i] == '=' && strchr("=<>!", s[i - 1]);
    for (int c = 0; c < COUNT_OF(classes); c++)
        if (strchr(classes[c], s[i]))
            return compares ? 3 : c;
    return -1;
}

/* Where a line may end before column `limit`: behind an operator or a comma, as far outside of
 * brackets as there is one, as late as there; else behind the first bracket or at any space; not
 * before a comment, which speaks of its own line. 0: nowhere. */
static size_t break_at(const char *s, size_t start, size_t limit) {
    static const signed char brackets[256] = {
        ['('] = 1, ['['] = 1, ['{'] = 1, [')'] = -1, [']'] = -1, ['}'] = -1};
    size_t at = 0, space = 0, bracket = 0;
    int depth = 0, best = 0;
    bool quoted = false;
    for (size_t i = start; s[i] && i <= limit; i++) {
        if (s[i] == ' ' && s[i + 1] == '/' && s[i + 2] == '*')
            break;
        if (s[i] == '"' && (i == start || s[i - 1] != '\\'))
            quoted = !quoted;
        if (quoted)
            continue;
        depth += brackets[(unsigned char)s[i]];
        if (s[i] == '(' && !bracket)
            bracket = i + 1;
        if (s[i] != ' ' || s[i + 1] == '{' || i < start + LEAST)
            continue;
        space = i;
        int cost = break_cost(s, i - 1);
        if (cost < 0)
            continue;
        cost += depth * 8;
        if (!at || cost <= best)
            at = i, best = cost;
    }
    return at ? at : bracket ? bracket : space;
}

/* The same in a comment: the last space outside of brackets. */
static size_t break_comment(const char *s, size_t start, size_t limit) {
    size_t at = 0;
    int depth = 0;
    for (size_t i = start; s[i] && i <= limit; i++) {
        depth += (s[i] == '[') - (s[i] == ']');
        if (s[i] == ' ' && depth == 0 && i >= start + LEAST && s[i + 1] != '*')
            at = i;
    }
    return at;
}

/* Breaks the line that begins at `from` while it is longer than COLUMNS; what follows stands one
 * step to the right, in a comment behind a star. */
static void break_line(Emit *e, size_t from) {
    Text *t = &e->text;
    size_t first = from;
    while (t->at[first] == ' ')
        first++;
    if (t->n - from <= COLUMNS || t->at[first] == '#')
        return;
    bool comment = strncmp(t->at + first, "/*", 2) == 0;
    const char *rest = arena_strndup(t->arena, t->at + from, t->n - from);
    size_t start = first - from;
    t->n = from;
    for (int depth = e->depth; strlen(rest) > COLUMNS;) {
        size_t at = comment ? break_comment(rest, start, COLUMNS) : break_at(rest, start, COLUMNS);
        if (at == 0)
            break;
        text_addn(t, rest, at);
        text_add(t, "\n");
        const char *margin =
            arena_printf(t->arena, "%*s%s", depth * 4, "", comment ? " * " : "    ");
        depth += rest[at - 1] == '='; /* what is broken behind it again */
        rest = arena_printf(t->arena, "%s%s", margin, rest + at + (rest[at] == ' '));
        start = strlen(margin);
    }
    text_add(t, rest);
}

void emit_line(Emit *e, const char *fmt, ...) {
    va_list ap;
    size_t from = e->text.n;
    va_start(ap, fmt);
    indent(e);
    text_vprintf(&e->text, fmt, ap);
    va_end(ap);
    break_line(e, from);
    text_add(&e->text, "\n");
}

void emit_gap(Emit *e) {
    text_add(&e->text, "\n");
}

void emit_begin(Emit *e, const char *fmt, ...) {
    va_list ap;
    size_t from = e->text.n;
    va_start(ap, fmt);
    indent(e);
    size_t before = e->text.n;
    text_vprintf(&e->text, fmt, ap);
    va_end(ap);
    text_add(&e->text, e->text.n > before ? " {" : "{");
    break_line(e, from);
    text_add(&e->text, "\n");
    e->depth++;
}

void emit_turn(Emit *e, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    e->depth--;
    indent(e);
    text_add(&e->text, "} ");
    text_vprintf(&e->text, fmt, ap);
    va_end(ap);
    text_add(&e->text, " {\n");
    e->depth++;
}

void emit_end(Emit *e, const char *after) {
    if (e->depth-- == 0)
        bug("emit: a block too many was closed");
    indent(e);
    text_printf(&e->text, "}%s\n", after);
}

/* Bytes of a word: to a space that stands in no braces and in at most one pair of parentheses,
 * those of the call; *depth: of parentheses, before it and behind it. */
static size_t word_length(const char *words, int *depth) {
    int braces = 0;
    size_t n = 0;
    for (; words[n] && (words[n] != ' ' || braces > 0 || *depth > 1); n++) {
        *depth += words[n] == '(' ? 1 : words[n] == ')' ? -1 : 0;
        braces += words[n] == '{' ? 1 : words[n] == '}' ? -1 : 0;
    }
    return n;
}

void emit_words(Emit *e, const char *first, const char *words, const char *rest) {
    size_t from = e->text.n;
    int depth = 0;
    bool fresh = *first == 0; /* nothing but the margin stands in this line */
    indent(e);
    text_add(&e->text, first);
    for (bool start = true; *words; start = fresh = false) {
        size_t n = word_length(words, &depth);
        if (!fresh && e->text.n - from + n > FULL) {
            break_line(e, from);
            text_add(&e->text, "\n");
            from = e->text.n;
            text_add(&e->text, "    ");
            indent(e);
        } else if (!start) {
            text_add(&e->text, " ");
        }
        text_addn(&e->text, words, n);
        words += n + (words[n] == ' ');
    }
    text_add(&e->text, rest);
    break_line(e, from);
    text_add(&e->text, "\n");
}

void emit_lines(Emit *e, const char *text) {
    while (*text) {
        size_t n = strcspn(text, "\n");
        if (n) {
            indent(e);
            text_addn(&e->text, text, n);
        }
        text_add(&e->text, "\n");
        text += n + (text[n] == '\n');
    }
}

/* ---- literals and names ---- */

const char *emit_string(Arena *a, const char *s) {
    Text t = {.arena = a};
    text_add(&t, "\"");
    for (const unsigned char *p = (const unsigned char *)s; *p; p++) {
        if (*p == '"' || *p == '\\')
            text_printf(&t, "\\%c", *p);
        else if (*p == '\n')
            text_add(&t, "\\n");
        else if (*p == '\t')
            text_add(&t, "\\t");
        else if (*p < 32 || *p >= 127 || (*p == '?' && p[1] == '?'))
            text_printf(&t, "\\%03o", *p);
        else
            text_addn(&t, (const char *)p, 1);
    }
    text_add(&t, "\"");
    return t.at;
}

const char *emit_double(Arena *a, double x) {
    if (isnan(x))
        return "((double)NAN)";
    if (isinf(x))
        return x < 0 ? "(-HUGE_VAL)" : "HUGE_VAL";
    for (int digits = 1; digits <= 17; digits++) {
        const char *s = arena_printf(a, "%.*g", digits, x);
        if (strtod(s, NULL) != x)
            continue;
        if (!strpbrk(s, ".e"))
            s = arena_printf(a, "%s.0", s);
        return s;
    }
    bug("emit: %g has no text", x);
}

/* Keywords of C and C++, then macros of the headers that look like names a person would choose. */
static const char taken[] =
    " "
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t "
    "char32_t char8_t class co_await co_return co_yield compl concept const const_cast "
    "consteval constexpr constinit continue decltype default delete do double "
    "dynamic_cast else enum errno explicit export extern false float for friend goto i386 "
    "if inline int linux long mutable namespace new noexcept not not_eq nullptr operator "
    "or or_eq private protected public register reinterpret_cast requires restrict return "
    "short signed sizeof static static_assert static_cast stderr stdin stdout struct "
    "switch template this thread_local throw true try typedef typeid typename typeof "
    "union unix unsigned using virtual void volatile wchar_t while xor xor_eq "
    "BUFSIZ EOF FILENAME_MAX HUGE_VAL I INFINITY NAN NULL OVERFLOW RAND_MAX UNDERFLOW "
    "DOMAIN SING ";

const char *emit_name(Arena *a, const char *name) {
    if (strstr(taken, arena_printf(a, " %s ", name)))
        return arena_printf(a, "%s_", name);
    return name;
}
