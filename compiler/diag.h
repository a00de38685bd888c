/* diag.h: source files, positions in them, and messages to the person who wrote them.
 *
 * A message is kept until diag_flush, so that errors come in the order of the text. One place gets
 * one error: a second error with the same span is dropped. Text: lower case, no full stop, what was
 * expected and what was found.
 */
#ifndef NNC_DIAG_H
#define NNC_DIAG_H

#include "util.h"
#include <stdio.h>

typedef struct SourceFile {
    const char *path; /* as given by the user, or "std.nn" */
    const char *text;
    size_t size;
    bool library; /* std.nn: sees only itself */
} SourceFile;

/* Bytes lo..hi-1 of file number `file`; file 0 stands for "nowhere". */
typedef struct Span {
    uint32_t file, lo, hi;
} Span;

typedef struct Diag Diag;

Diag *diag_new(Arena *a);
/* Adds a file; its number counts from 1. */
uint32_t diag_add_file(Diag *d, const char *path, const char *text, size_t size, bool library);
const SourceFile *diag_file(const Diag *d, uint32_t file);
/* Line and column (in characters), both from 1. */
void diag_position(const Diag *d, Span s, int *line, int *column);
/* "digits.nn:14": for text that is read away from the file; NULL: nowhere, or no d. */
const char *diag_place(const Diag *d, Arena *a, Span s);
/* The line where it begins, cut to `most` bytes; NULL: nowhere, or no text for a comment of C. */
const char *diag_line(const Diag *d, Arena *a, Span s, size_t most);
Span span_join(Span a, Span b);

void diag_error(Diag *d, Span at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void diag_warning(Diag *d, Span at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Adds to the message made last (nothing when that was dropped). */
void diag_note(Diag *d, Span at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

int diag_errors(const Diag *d);
/* Prints all messages, sorted by place, as "file:line:col: error: what", source line, caret; and
 * forgets them. */
void diag_flush(Diag *d, FILE *to, bool colour);

/* The name nearest to `name` in `names` (n of them) if close enough to be a slip, else NULL. */
const char *diag_nearest(const char *name, const char *const *names, int n);

#endif
