/* link.h: puts the output together from embedded files and the text made for their slots, and
 * leaves out what nothing needs. */
#ifndef NNC_LINK_H
#define NNC_LINK_H

#include "emit.h"

typedef struct Link Link;

Link *link_new(Emit *e);

/* Adds an embedded C file. A line of it that is a slot ("//@ NAME") is replaced by what `fill`
 * emits for NAME, which may add files too; NULL where a file has no slots. */
void link_file(Link *l, const char *file, void (*fill)(void *arg, const char *slot), void *arg);

/* The whole: all that was emitted, and of the files what that text and `root` use, by name, or what
 * is used by that. */
const char *link_text(Link *l, const char *root);

#endif
