/* embed.c: turns text files into C byte arrays (build time only).
 *
 * embed FILE… > embedded.c: the definitions behind compiler/embed.h. A file is found by its base
 * name, so two files of the same base name are an error. Arrays of numbers rather than strings,
 * because C compilers need to accept no string above 4095 characters.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Prints the bytes of one file as an array named text_<index>; 0, or -1 with a message. */
static int print_array(const char *path, int index) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        fprintf(stderr, "embed: cannot open '%s': %s\n", path, strerror(errno));
        return -1;
    }
    printf("static const char text_%d[] = {", index);
    int c;
    for (long n = 0; (c = getc(f)) != EOF; n++) {
        if (n % 20 == 0)
            printf("\n   ");
        /* plain char may be signed: -1 and not 255 */
        printf(" %d,", c > 127 ? c - 256 : c);
    }
    printf("\n    0,\n};\n");
    int bad = ferror(f);
    fclose(f);
    if (bad)
        fprintf(stderr, "embed: cannot read '%s'\n", path);
    return bad ? -1 : 0;
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

int main(int argc, char **argv) {
    if (has_duplicates(argc - 1, argv + 1))
        return 1;
    printf("/* Made by tools/embed.c. */\n#include \"embed.h\"\n#include <string.h>\n\n");
    for (int i = 1; i < argc; i++)
        if (print_array(argv[i], i))
            return 1;
    printf("static const Embedded files[] = {\n");
    for (int i = 1; i < argc; i++)
        printf("    {\"%s\", text_%d, sizeof text_%d - 1},\n", base_name(argv[i]), i, i);
    printf("};\n\n"
           "const Embedded *embedded(const char *name) {\n"
           "    for (size_t i = 0; i < sizeof files / sizeof *files; i++)\n"
           "        if (strcmp(files[i].name, name) == 0)\n"
           "            return &files[i];\n"
           "    return NULL;\n"
           "}\n");
    return fflush(stdout) || ferror(stdout) ? 1 : 0;
}
