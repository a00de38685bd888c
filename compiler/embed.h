/* embed.h: the text files inside nnc: runtime/ and templates/ (pasted into the output), std.nn.
 *
 * C files come cut into items: a function, a type, a table, a macro, a whole #if block, each with
 * the comment before it, and for each item the items that it needs. All is made when nnc is built,
 * by tools/embed; link.c reads it.
 */
#ifndef NNC_EMBED_H
#define NNC_EMBED_H

#include <stdbool.h>
#include <stddef.h>

typedef enum EmbedKind {
    EMBED_NAMED,   /* defines names: stands in the output when one of them is used */
    EMBED_ALWAYS,  /* defines none (#pragma, #error), or one that the system's headers ask for */
    EMBED_INCLUDE, /* of system headers: stands there when something of its file does */
    EMBED_RULER,   /* a comment that stands alone: over what comes up to the next of its level */
    EMBED_SLOT     /* a line "//@ NAME" */
} EmbedKind;

typedef struct EmbedItem {
    unsigned at, size; /* in the text of the file; it begins and ends with a line's end */
    unsigned char kind;
    unsigned char level; /* of a ruler: 1 "====", 2 the head of a file, 3 "----", 4 other */
    bool gap;            /* an empty line stands before it */
    bool slots;          /* lines of it are slots */
    unsigned short file;
    unsigned short first, count; /* in embed.needs: items */
} EmbedItem;

typedef struct EmbedName {
    const char *text;
    unsigned short n;
    bool tag;                    /* of a struct, enum or union */
    unsigned short first, count; /* in embed.defined: items */
} EmbedName;

typedef struct Embedded {
    const char *name; /* base name of the file: "rt_base.h", "std.nn" */
    const char *text; /* terminated by a zero that size does not count */
    size_t size;
    int first, count; /* in embed.items */
} Embedded;

typedef struct Embed {
    const Embedded *files;
    int nfiles;
    const EmbedItem *items;
    int nitems;
    const EmbedName *names;
    const unsigned short *needs, *defined;
    /* Names by hash (ctoken_hash), the next free slot where two meet: 1 + index, 0 for none. */
    const unsigned short *slots;
    unsigned nslots; /* a power of two */
} Embed;

extern const Embed embed;

/* The file with that base name, NULL when there is none. */
const Embedded *embedded(const char *name);

#endif
