/* emit.h: lines of the output. Indentation, braces and line ends are made here and stand in no
 * format string. */
#ifndef NNC_EMIT_H
#define NNC_EMIT_H

#include "util.h"

#define NNC_VERSION "0.1"

typedef struct Emit {
    Text text;
    int depth; /* of open blocks */
} Emit;

/* An empty line. */
void emit_gap(Emit *e);
/* One line; what is longer than 100 columns is broken behind a comma or an operator. */
void emit_line(Emit *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "LINE {" and one step to the right; nothing before the brace when the line is empty. */
void emit_begin(Emit *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "} LINE {" in place of the end: else. */
void emit_turn(Emit *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "}", with what follows it: "" or ";". */
void emit_end(Emit *e, const char *after);
/* One line, broken at 100 columns between words: a list in braces, the arguments of a call. */
void emit_words(Emit *e, const char *first, const char *words, const char *rest);
/* Text of several lines, each put at the current depth. */
void emit_lines(Emit *e, const char *text);

/* Text as a C string literal with its quotes; no trigraphs, no byte outside ASCII. */
const char *emit_string(Arena *a, const char *s);
/* A double as a C constant that reads back equal: 0.5, -1e-08, HUGE_VAL, (-HUGE_VAL), NAN. */
const char *emit_double(Arena *a, double x);
/* A name that is no keyword of C or C++ and no macro of the headers: the name itself or with '_'.
 */
const char *emit_name(Arena *a, const char *name);

#endif
