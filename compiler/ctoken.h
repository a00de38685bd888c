/* ctoken.h: the words of C text, as far as one must tell them apart to see which names a text uses:
 * comments, strings and numbers are passed over. Shared by nnc and tools/embed. */
#ifndef NNC_CTOKEN_H
#define NNC_CTOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct CToken {
    const char *at;
    size_t n;
    char kind;   /* n a name, 0 a number, " a string or character, else the character itself */
    bool tag;    /* a name after struct, enum or union */
    bool member; /* a name after . or -> */
} CToken;

static inline bool ctoken_starts_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static inline bool ctoken_goes_on(char c) {
    return ctoken_starts_name(c) || (c >= '0' && c <= '9');
}

/* The first character that is neither blank nor in a comment. */
static inline const char *ctoken_skip(const char *s, const char *end) {
    for (;;) {
        while (s < end && (*s == ' ' || *s == '\n'))
            s++;
        if (end - s >= 2 && s[0] == '/' && s[1] == '/') { /* a slot: //@ NAME */
            while (s < end && *s != '\n')
                s++;
            continue;
        }
        if (end - s < 4 || s[0] != '/' || s[1] != '*')
            return s;
        for (s += 2; s + 1 < end && !(s[0] == '*' && s[1] == '/'); s++)
            ;
        s += 2;
    }
}

/* Where the string or character that begins at s ends. */
static inline const char *ctoken_quoted(const char *s, const char *end) {
    char quote = *s;
    for (s++; s < end && *s != quote; s++)
        s += *s == '\\';
    return s < end ? s + 1 : end;
}

/* Steps to the next token, which must be zero at the start; false at the end of the text. */
static inline bool ctoken_next(CToken *t, const char *s, const char *end) {
    bool tag = t->kind == 'n' && ((t->n == 6 && memcmp(t->at, "struct", 6) == 0) ||
                                  (t->n == 4 && memcmp(t->at, "enum", 4) == 0) ||
                                  (t->n == 5 && memcmp(t->at, "union", 5) == 0));
    bool member = t->kind == '.' || (t->kind == '>' && t->at[-1] == '-');
    s = ctoken_skip(t->at ? t->at + t->n : s, end);
    if (s >= end)
        return false;
    *t = (CToken){.at = s, .kind = *s};
    const char *p = s + 1;
    if (ctoken_starts_name(*s)) {
        while (p < end && ctoken_goes_on(*p))
            p++;
        t->kind = 'n';
        t->tag = tag;
        t->member = member;
    } else if (*s >= '0' && *s <= '9') {
        while (p < end && (ctoken_goes_on(*p) || *p == '.'))
            p++;
        t->kind = '0';
    } else if (*s == '"' || *s == '\'') {
        p = ctoken_quoted(s, end);
        t->kind = '"';
    }
    t->n = (size_t)(p - s);
    return true;
}

/* FNV-1a of a name; tags have names of their own. */
static inline uint32_t ctoken_hash(const char *s, size_t n, bool tag) {
    uint32_t h = tag ? 2166136261u ^ 1u : 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 16777619u;
    return h;
}

#endif
