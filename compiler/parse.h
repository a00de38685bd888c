/* parse.h: .nn text to syntax tree; the scanner is grammar/nn.l, the parser grammar/nn.y. */
#ifndef NNC_PARSE_H
#define NNC_PARSE_H

#include "ast.h"

/* The tree of a file that was added to d: a FILE node, never NULL. Errors go to d; the declarations
 * and statements they are in are ERROR nodes. Names of nodes are interned in names. */
Ast *parse_file(Arena *a, Interner *names, Diag *d, uint32_t file);

/* The tree of a part of a file, as of a whole one. The part is UTF-8 text without a zero. */
Ast *parse_part(Arena *a, Interner *names, Diag *d, Span part);

/* A declaration and where it stands, from its name's line to before the next declaration. */
typedef struct OutlineItem {
    const char *name; /* interned */
    Span part;
} OutlineItem;

typedef VEC(OutlineItem) Outline;

/* The declarations of a file that starts each in the first column, as `KIND NAME`, and nothing else
 * there but comments and closing brackets: what std.nn is. Nothing is parsed. */
Outline parse_outline(Arena *a, Interner *names, const Diag *d, uint32_t file);

#endif
