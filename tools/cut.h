/* cut.h: C files cut into items that a program needs or does not need (see compiler/embed.h). */
#ifndef CUT_H
#define CUT_H

#include "embed.h"

typedef struct Ints {
    int *at;
    int n, cap;
} Ints;

/* A name that some item defines or uses. */
typedef struct Name {
    const char *text;
    size_t n;
    bool tag;
    Ints defined; /* items */
} Name;

typedef struct Item {
    size_t at, size; /* in the text of its file */
    EmbedKind kind;
    int level, file;
    bool gap, slots;
    Ints uses; /* names */
} Item;

/* A macro with arguments that makes items. */
typedef struct Macro {
    const char *name, *body, *end; /* body begins at "(" of the arguments */
    size_t n;
} Macro;

typedef struct Cut {
    Item *items;
    Name *names;
    Macro *macros;
    int nitems, nnames, nmacros;
} Cut;

/* Adds the items of a file; the text must live on. */
void cut_file(Cut *c, int file, const char *text, size_t size);

void *cut_grow(void *at, int n, size_t item); /* room for one more */
void cut_push(Ints *list, int value);         /* unless it is in the list */

#endif
