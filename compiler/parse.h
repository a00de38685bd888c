/* parse.h: .nn text to syntax tree; the scanner is grammar/nn.l, the parser grammar/nn.y. */
#ifndef NNC_PARSE_H
#define NNC_PARSE_H

#include "ast.h"

/* The tree of a file that was added to d: a FILE node, never NULL. Errors go to d; the declarations
 * and statements they are in are ERROR nodes. Names of nodes are interned in names. */
Ast *parse_file(Arena *a, Interner *names, Diag *d, uint32_t file);

#endif
