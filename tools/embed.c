/* embed.c: turns text files into C byte arrays, and the items of C files into tables (build time
 * only).
 *
 * embed FILE… > embedded.c: the definitions behind compiler/embed.h. A file is found by its base
 * name, so two files of the same base name are an error. Arrays of numbers rather than strings,
 * because C compilers need to accept no string above 4095 characters.
 */
#include "ctoken.h"
#include "cut.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The text of a file, NULL with a message when it cannot be read. */
static char *read_text(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    *size = 0;
    for (size_t room = 0; f && !feof(f) && !ferror(f);) {
        if (*size + 1 >= room && !(text = realloc(text, room = 2 * room + 4096)))
            break;
        *size += fread(text + *size, 1, room - *size - 1, f);
        text[*size] = 0;
    }
    if (!text || ferror(f)) {
        fprintf(stderr, "embed: cannot read '%s': %s\n", path, strerror(errno));
        return NULL;
    }
    fclose(f);
    return text;
}

static void print_array(const char *text, size_t size, int index) {
    printf("static const char text_%d[] = {", index);
    for (size_t i = 0; i <= size; i++)
        printf("%s%d,", i % 20 == 0 ? "\n    " : " ", text[i]);
    printf("\n};\n");
}

static int has_duplicates(int n, char **paths) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(base_name(paths[i]), base_name(paths[j])) == 0) {
                fprintf(stderr, "embed: '%s' and '%s' have one name\n", paths[j], paths[i]);
                return 1;
            }
    return 0;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void print_ints(const Ints *list) {
    for (int i = 0; i < list->n; i++)
        printf("%d,%s", list->at[i], i % 20 == 19 ? "\n    " : " ");
}

/* The items that define what an item uses. */
static Ints needs(const Cut *c, int item) {
    Ints of = {0};
    const Ints *uses = &c->items[item].uses;
    for (int i = 0; i < uses->n; i++) {
        const Ints *by = &c->names[uses->at[i]].defined;
        for (int j = 0; j < by->n; j++)
            if (by->at[j] != item)
                cut_push(&of, by->at[j]);
    }
    return of;
}

static void print_items(const Cut *c) {
    int first = 0;
    printf("static const unsigned short needs[] = {\n    ");
    for (int i = 0; i < c->nitems; i++) {
        Ints of = needs(c, i);
        print_ints(&of);
    }
    printf("0,\n};\nstatic const EmbedItem items[] = {\n");
    for (int i = 0; i < c->nitems; i++) {
        const Item *it = &c->items[i];
        int n = needs(c, i).n;
        printf("    {%zu, %zu, %d, %d, %d, %d, %d, %d, %d},\n", it->at, it->size, (int)it->kind,
               it->level, it->gap, it->slots, it->file, first, n);
        first += n;
    }
    printf("    {0},\n};\n");
}

static unsigned find_slot(const unsigned short *slots, unsigned n, const Name *name) {
    unsigned i = ctoken_hash(name->text, name->n, name->tag) & (n - 1);
    while (slots[i])
        i = (i + 1) & (n - 1);
    return i;
}

/* Names that an item defines, and where their hashes find them; gives the number of slots. */
static unsigned print_names(const Cut *c) {
    int first = 0, n = 0;
    unsigned nslots = 1024;
    while (nslots < 4 * (unsigned)c->nnames)
        nslots *= 2;
    unsigned short *slots = calloc(nslots, sizeof *slots);
    if (!slots)
        exit(1);
    printf("static const unsigned short defined[] = {\n    ");
    for (int i = 0; i < c->nnames; i++)
        print_ints(&c->names[i].defined);
    printf("0,\n};\nstatic const EmbedName names[] = {\n");
    for (int i = 0; i < c->nnames; i++) {
        const Name *name = &c->names[i];
        if (!name->defined.n)
            continue;
        printf("    {\"%.*s\", %zu, %d, %d, %d},\n", (int)name->n, name->text, name->n, name->tag,
               first, name->defined.n);
        first += name->defined.n;
        slots[find_slot(slots, nslots, name)] = (unsigned short)++n;
    }
    printf("    {0},\n};\nstatic const unsigned short slots[] = {\n    ");
    for (unsigned i = 0; i < nslots; i++)
        printf("%d,%s", slots[i], i % 20 == 19 ? "\n    " : " ");
    printf("\n};\n");
    return nslots;
}

static bool is_c(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot && (strcmp(dot, ".h") == 0 || strcmp(dot, ".c") == 0 || strcmp(dot, ".cu") == 0);
}

int main(int argc, char **argv) {
    int n = argc - 1, *first = calloc((size_t)argc + 1, sizeof *first);
    Cut cut = {0};
    if (!first || has_duplicates(n, argv + 1))
        return 1;
    printf("/* Made by tools/embed.c. */\n#include \"embed.h\"\n\n");
    for (int i = 0; i < n; i++) {
        size_t size;
        const char *text = read_text(argv[i + 1], &size);
        if (!text)
            return 1;
        print_array(text, size, i);
        if (is_c(argv[i + 1]))
            cut_file(&cut, i, text, size);
        first[i + 1] = cut.nitems;
    }
    if (cut.nitems > 65535 || cut.nnames > 65535) {
        fprintf(stderr, "embed: more items than the tables count\n");
        return 1;
    }
    print_items(&cut);
    unsigned nslots = print_names(&cut);
    printf("static const Embedded files[] = {\n");
    for (int i = 0; i < n; i++)
        printf("    {\"%s\", text_%d, sizeof text_%d - 1, %d, %d},\n", base_name(argv[i + 1]), i, i,
               first[i], first[i + 1] - first[i]);
    printf("};\n\nconst Embed embed = {files, %d, items, %d, names, needs, defined, slots, %u};\n",
           n, cut.nitems, nslots);
    return fflush(stdout) || ferror(stdout) ? 1 : 0;
}
