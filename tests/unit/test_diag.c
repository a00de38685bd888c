/* test_diag.c: messages as a person sees them, and the memory and strings below them. */
#include "diag.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static Arena *arena;

static void setup(void) {
    arena = arena_new();
}

static void teardown(void) {
    arena_free(arena);
}

TestSuite(diag, .init = setup, .fini = teardown);
TestSuite(util, .init = setup, .fini = teardown);

static char *flushed(Diag *d, bool colour) {
    char *buffer = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&buffer, &size);
    diag_flush(d, f, colour);
    fclose(f);
    char *copy = arena_strndup(arena, buffer, size);
    free(buffer);
    return copy;
}

static uint32_t add(Diag *d, const char *path, const char *text) {
    return diag_add_file(d, path, text, strlen(text), false);
}

/* ---- messages -------------------------------------------------------------------------------- */

Test(diag, the_caret_stands_under_the_whole_span) {
    Diag *d = diag_new(arena);
    uint32_t f = add(d, "a.nn", "let a = 1\nx |> linear(10)\n");
    diag_error(d, (Span){f, 15, 25}, "no %s of %d", "layer", 3);
    diag_note(d, (Span){f, 4, 5}, "see here");
    cr_expect_str_eq(flushed(d, false), "a.nn:2:6: error: no layer of 3\n"
                                        "    2 | x |> linear(10)\n"
                                        "      |      ^~~~~~~~~~\n"
                                        "a.nn:1:5: note: see here\n"
                                        "    1 | let a = 1\n"
                                        "      |     ^\n");
    cr_expect_str_eq(flushed(d, false), "", "messages are printed once");
    cr_expect(diag_errors(d) == 1);
}

Test(diag, columns_count_characters_and_tabs_stay) {
    Diag *d = diag_new(arena);
    uint32_t f = add(d, "a.nn", "\t\"äö\" + ü\r\n");
    diag_warning(d, (Span){f, 10, 12}, "odd");
    cr_expect_str_eq(flushed(d, false), "a.nn:1:9: warning: odd\n"
                                        "    1 | \t\"äö\" + ü\n"
                                        "      | \t       ^\n");
    cr_expect(diag_errors(d) == 0);
}

Test(diag, order_is_that_of_the_text_and_places_speak_once) {
    Diag *d = diag_new(arena);
    uint32_t f = add(d, "a.nn", "a\nb\n"), g = add(d, "b.nn", "c\n");
    diag_error(d, (Span){g, 0, 1}, "third");
    diag_error(d, (Span){f, 2, 3}, "second");
    diag_warning(d, (Span){f, 0, 1}, "first");
    diag_error(d, (Span){f, 2, 3}, "dropped");
    diag_note(d, (Span){f, 0, 1}, "dropped too");
    cr_expect_str_eq(flushed(d, false), "a.nn:1:1: warning: first\n    1 | a\n      | ^\n"
                                        "a.nn:2:1: error: second\n    2 | b\n      | ^\n"
                                        "b.nn:1:1: error: third\n    1 | c\n      | ^\n");
}

Test(diag, places_at_the_edges) {
    Diag *d = diag_new(arena);
    uint32_t f = add(d, "a.nn", "ab\nc");
    diag_error(d, (Span){f, 4, 4}, "end");
    diag_error(d, (Span){f, 1, 4}, "over two lines");
    diag_error(d, (Span){0, 0, 0}, "nowhere");
    cr_expect_str_eq(flushed(d, false), "nnc: error: nowhere\n"
                                        "a.nn:1:2: error: over two lines\n    1 | ab\n      |  ^\n"
                                        "a.nn:2:2: error: end\n    2 | c\n      |  ^\n");
    int line, column;
    diag_position(d, (Span){f, 3, 4}, &line, &column);
    cr_expect(line == 2 && column == 1);
    cr_expect_null(diag_file(d, 9));
    cr_expect_str_eq(diag_file(d, f)->path, "a.nn");
}

Test(diag, long_lines_are_cut_around_the_caret) {
    Diag *d = diag_new(arena);
    char *line = arena_alloc(arena, 10001);
    memset(line, 'x', 10000);
    uint32_t f = add(d, "a.nn", line);
    diag_error(d, (Span){f, 5000, 5002}, "here");
    char *text = flushed(d, false);
    cr_expect(strlen(text) < 400);
    char *source = strchr(text, '\n') + 1, *caret = strchr(source, '\n') + 1;
    cr_expect(strncmp(source, "    1 | ...xxx", 14) == 0);
    cr_expect(caret[strlen(caret) - 3] == '^' && caret[strlen(caret) - 2] == '~');
}

Test(diag, colours_only_when_asked) {
    Diag *d = diag_new(arena);
    uint32_t f = add(d, "a.nn", "a");
    diag_error(d, (Span){f, 0, 1}, "x");
    cr_expect(strchr(flushed(d, true), '\033') != NULL);
    diag_error(d, (Span){f, 0, 1}, "x");
    cr_expect(strchr(flushed(d, false), '\033') == NULL);
}

Test(diag, spans_join) {
    Span s = span_join((Span){1, 8, 9}, (Span){1, 2, 3});
    cr_expect(s.file == 1 && s.lo == 2 && s.hi == 9);
    cr_expect(span_join((Span){0}, (Span){2, 2, 3}).file == 2);
    cr_expect(span_join((Span){1, 0, 1}, (Span){2, 2, 3}).file == 1);
}

Test(diag, slips_find_the_nearest_name) {
    static const char *const names[] = {"kernel", "stride", "padding", "bias", "x"};
    cr_expect_str_eq(diag_nearest("kernal", names, 5), "kernel");
    cr_expect_str_eq(diag_nearest("pading", names, 5), "padding");
    cr_expect_str_eq(diag_nearest("bais", names, 5), "bias");
    cr_expect_null(diag_nearest("dilation", names, 5));
    cr_expect_null(diag_nearest("y", names, 5));
}

/* ---- util ------------------------------------------------------------------------------------ */

Test(util, interned_strings_are_compared_by_pointer) {
    Interner *in = interner_new(arena);
    const char *a = intern_str(in, "alpha");
    for (int i = 0; i < 5000; i++) /* grows the table several times */
        intern_str(in, arena_printf(arena, "name%d", i));
    cr_expect(intern(in, "alphabet", 5) == a);
    cr_expect(intern_str(in, "alphabet") != a);
    cr_expect(intern_str(in, "name4999") == intern_str(in, "name4999"));
    cr_expect_str_eq(intern(in, "", 0), "");
}

Test(util, memory_is_zeroed_aligned_and_apart) {
    unsigned char *last = NULL;
    for (size_t n = 1; n < 2000000; n = n * 3 + 1) {
        unsigned char *p = arena_alloc(arena, n);
        cr_expect((uintptr_t)p % 16 == 0);
        cr_expect(p[0] == 0 && p[n - 1] == 0 && memcmp(p, p + 1, n - 1) == 0);
        memset(p, 0xAA, n);
        cr_expect(!last || last[0] == 0xAA);
        last = p;
    }
}

Test(util, texts_and_vectors_grow) {
    Text t = {.arena = arena};
    VEC(int) v = {0};
    for (int i = 0; i < 1000; i++) {
        text_printf(&t, "%d,", i);
        vec_push(arena, &v, i * i);
    }
    cr_expect(t.n == 10 * 2 + 90 * 3 + 900 * 4 && strlen(t.at) == t.n);
    cr_expect(strncmp(t.at, "0,1,2,", 6) == 0 && strcmp(t.at + t.n - 4, "999,") == 0);
    cr_expect(v.n == 1000 && v.at[0] == 0 && v.at[999] == 999 * 999);
}

Test(util, files_are_written_whole_or_not) {
    char *path = arena_printf(arena, "/tmp/nnc-test-util-%ld", (long)getpid());
    size_t n;
    cr_assert(write_file(path, "a\0b", 3));
    char *text = read_file(arena, path, &n);
    cr_expect(n == 3 && memcmp(text, "a\0b", 4) == 0);
    remove(path);
    errno = 0;
    cr_expect(read_file(arena, path, &n) == NULL && errno == ENOENT);
    cr_expect(!write_file("/nonexistent/file", "a", 1) && errno == ENOENT);
    cr_expect(read_file(arena, "/tmp", &n) == NULL && errno == EISDIR);
}
