/* embed.h: the text files inside nnc: runtime/ and templates/ (pasted into the output), std.nn.
 *
 * The arrays are made when nnc is built, by tools/embed.c.
 */
#ifndef NNC_EMBED_H
#define NNC_EMBED_H

#include <stddef.h>

typedef struct Embedded {
    const char *name; /* base name of the file: "rt_base.h", "std.nn" */
    const char *text; /* terminated by a zero that size does not count */
    size_t size;
} Embedded;

/* The file with that base name, NULL when there is none. */
const Embedded *embedded(const char *name);

#endif
