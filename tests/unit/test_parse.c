/* test_parse.c: every construct parses and survives printing; messages for wrong text are goldens.
 * Run from the root of the tree. BLESS=1 writes the expected messages anew. */
#include "parse.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#define SYNTAX "tests/golden/syntax/"

typedef struct World {
    Arena *arena;
    Interner *names;
    Diag *diag;
} World;

static World world_new(void) {
    Arena *a = arena_new();
    return (World){a, interner_new(a), diag_new(a)};
}

static Ast *parse(World *w, const char *path, const char *text, size_t size) {
    return parse_file(w->arena, w->names, w->diag, diag_add_file(w->diag, path, text, size, false));
}

static Ast *parse_text(World *w, const char *text) {
    return parse(w, "text.nn", text, strlen(text));
}

static char *load(World *w, const char *path, size_t *size) {
    char *text = read_file(w->arena, path, size);
    cr_assert(text, "cannot read %s", path);
    return text;
}

/* All messages as they would be printed; in the arena. */
static char *messages(World *w) {
    char *buffer = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&buffer, &size);
    diag_flush(w->diag, f, false);
    fclose(f);
    char *copy = arena_strndup(w->arena, buffer, size);
    free(buffer);
    return copy;
}

static void for_files(const char *pattern, int least, void (*check)(const char *path)) {
    glob_t found;
    cr_assert(glob(pattern, 0, NULL, &found) == 0, "no files %s", pattern);
    cr_assert((int)found.gl_pathc >= least, "%zu files %s", found.gl_pathc, pattern);
    for (size_t i = 0; i < found.gl_pathc; i++)
        check(found.gl_pathv[i]);
    globfree(&found);
}

/* ---- goldens --------------------------------------------------------------------------------- */

static void check_golden(const char *path) {
    World w = world_new();
    size_t size, expected_size;
    char *text = load(&w, path, &size);
    parse(&w, strrchr(path, '/') + 1, text, size);
    cr_expect(diag_errors(w.diag) > 0, "%s has no error", path);
    char *found = messages(&w);
    char *golden = arena_printf(w.arena, "%.*s.err", (int)strlen(path) - 3, path);
    if (getenv("BLESS"))
        cr_assert(write_file(golden, found, strlen(found)));
    char *expected = load(&w, golden, &expected_size);
    cr_expect(strcmp(found, expected) == 0, "%s: found\n%s\nexpected\n%s", path, found, expected);
    arena_free(w.arena);
}

Test(parse, wrong_text_is_explained) {
    for_files(SYNTAX "*.nn", 12, check_golden);
}

/* ---- round trip ------------------------------------------------------------------------------ */

static void check_round_trip(const char *path) {
    World w = world_new();
    size_t size;
    char *text = load(&w, path, &size);
    Ast *tree = parse(&w, path, text, size);
    cr_assert(diag_errors(w.diag) == 0, "%s", messages(&w));
    Text printed = {.arena = w.arena};
    ast_print(&printed, tree);
    Ast *again = parse(&w, "printed", printed.at, printed.n);
    cr_assert(diag_errors(w.diag) == 0, "%s", messages(&w));
    cr_expect(ast_equal(tree, again), "%s: printed, it is another program:\n%s", path, printed.at);
    arena_free(w.arena);
}

Test(parse, printed_text_parses_to_the_same_tree) {
    for_files(SYNTAX "valid/*.nn", 2, check_round_trip);
    for_files("models/*.nn", 1, check_round_trip);
    for_files("compiler/std.nn", 1, check_round_trip);
}

/* ---- parts ----------------------------------------------------------------------------------- */

Test(parse, the_outline_of_the_library_is_what_it_declares) {
    World w = world_new();
    size_t size;
    char *text = load(&w, "compiler/std.nn", &size);
    AstList decls = parse(&w, "whole", text, size)->file.decls;
    uint32_t file = diag_add_file(w.diag, "parts", text, size, true);
    Outline outline = parse_outline(w.arena, w.names, w.diag, file);
    cr_assert(outline.n == decls.n, "%d items for %d declarations", outline.n, decls.n);
    for (int i = 0; i < decls.n; i++) {
        OutlineItem item = outline.at[i];
        cr_expect(item.name == decls.at[i]->name, "%s for %s", item.name, decls.at[i]->name);
        Ast *part = parse_part(w.arena, w.names, w.diag, item.part);
        cr_assert(part->file.decls.n == 1, "%s: %s", item.name, messages(&w));
        Ast *found = part->file.decls.at[0];
        cr_expect(ast_equal(found, decls.at[i]), "%s is another declaration", item.name);
        cr_expect(found->span.lo == decls.at[i]->span.lo, "%s stands elsewhere", item.name);
    }
    arena_free(w.arena);
}

static void count_kinds(Ast *n, int *count) {
    count[n->kind]++;
    Ast **kids;
    int kids_n = ast_kids(n, &kids);
    for (int i = 0; i < kids_n; i++)
        if (kids[i])
            count_kinds(kids[i], count);
    AstList *lists;
    int lists_n = ast_lists(n, &lists);
    for (int i = 0; i < lists_n; i++)
        for (int k = 0; k < lists[i].n; k++)
            count_kinds(lists[i].at[k], count);
}

Test(parse, the_valid_files_hold_every_kind_of_node) {
    static const char *const files[] = {SYNTAX "valid/language.nn", SYNTAX "valid/rulings.nn"};
    World w = world_new();
    int count[AST_N] = {0};
    for (int i = 0; i < COUNT_OF(files); i++) {
        size_t size;
        char *text = load(&w, files[i], &size);
        count_kinds(parse(&w, files[i], text, size), count);
    }
    for (int kind = 0; kind < AST_N; kind++)
        cr_expect((count[kind] > 0) == (kind != AST_ERROR), "%s: %d", ast_kind_name((AstKind)kind),
                  count[kind]);
    arena_free(w.arena);
}

/* ---- structure ------------------------------------------------------------------------------- */

Test(parse, operators_bind_as_the_page_says) {
    static const char *const same[][2] = {
        {"a + b * c", "a + (b * c)"},
        {"a - b - c", "(a - b) - c"},
        {"a ^ b ^ c", "a ^ (b ^ c)"},
        {"-a ^ 2", "-(a ^ 2)"},
        {"2 ^ -a", "2 ^ (-a)"},
        {"-a * b", "(-a) * b"},
        {"not a == b and c or d", "((not (a == b)) and c) or d"},
        {"a + b < c * d", "(a + b) < (c * d)"},
        {"a @ b + c", "(a @ b) + c"},
        {"x |> f or g |> h", "(x |> (f or g)) |> h"},
        {"a // b % c", "(a // b) % c"},
        {"-a.b[0](c)", "-(((a.b)[0])(c))"},
        {"0..n + 1", "0..(n + 1)"},
        {"copy nets[2]", "copy (nets[2])"},
    };
    World w = world_new();
    for (int i = 0; i < COUNT_OF(same); i++) {
        Ast *a = parse_text(&w, arena_printf(w.arena, "let x = %s", same[i][0]));
        Ast *b = parse_text(&w, arena_printf(w.arena, "let x = %s", same[i][1]));
        cr_expect(diag_errors(w.diag) == 0 && ast_equal(a, b), "%s", same[i][0]);
    }
    Ast *a = parse_text(&w, "let x = a - (b - c)"), *b = parse_text(&w, "let x = a - b - c");
    cr_expect(!ast_equal(a, b));
    arena_free(w.arena);
}

Test(parse, newlines_end_statements_where_they_should) {
    static const struct {
        const char *text;
        int statements;
    } cases[] = {
        {"let a = 1\nlet b = 2", 2},
        {"let a = 1; let b = 2;", 2},
        {"let a = f(1,\n  2\n  , 3)", 1},
        {"let a = 1 +\n  2", 1},
        {"let a = b\n\n  # comment\n  |> f", 1},
        {"let a = if b { 1 }\n# comment\nelse { 2 }", 1},
        {"let a = [1,\n\n 2]\r\nlet b = x.test\r\nlet c = 0..n\r\n", 3},
        {"\n\n# nothing\n", 0},
        {"", 0},
    };
    World w = world_new();
    for (int i = 0; i < COUNT_OF(cases); i++) {
        Ast *f = parse_text(&w, cases[i].text);
        cr_expect(diag_errors(w.diag) == 0, "%s\n%s", cases[i].text, messages(&w));
        cr_expect(f->file.decls.n == cases[i].statements, "%s", cases[i].text);
    }
    arena_free(w.arena);
}

static void expect_source(const Ast *n, const char *text, const char *expected) {
    cr_expect(n->span.hi - n->span.lo == strlen(expected)
                  && memcmp(text + n->span.lo, expected, strlen(expected)) == 0,
              "'%.*s' is not '%s'", (int)(n->span.hi - n->span.lo), text + n->span.lo, expected);
}

Test(parse, spans_are_those_of_the_text) {
    const char *text = "let y = x |> linear(10) # c\nlet s = \"é {a + b:.2f}.\"\n";
    World w = world_new();
    Ast *f = parse_text(&w, text);
    Ast *pipe = f->file.decls.at[0]->let.value;
    expect_source(f->file.decls.at[0], text, "let y = x |> linear(10)");
    expect_source(pipe->pipe.right, text, "linear(10)");
    const Ast *string = f->file.decls.at[1]->let.value;
    cr_assert(string->string.parts.n == 3);
    const Ast *hole = string->string.parts.at[1];
    expect_source(string->string.parts.at[0], text, "é ");
    expect_source(hole, text, "{a + b:.2f}");
    expect_source(hole->hole.value, text, "a + b");
    cr_expect_str_eq(hole->hole.format, ".2f");
    cr_expect_null(ast_plain_string(w.arena, string));
    arena_free(w.arena);
}

Test(parse, literals_have_their_values) {
    World w = world_new();
    Ast *f = parse_text(&w, "const a = 1_000\nconst b = 2.5e-1\n"
                            "const c = \"a\\n\\{\\\"\\\\\"\n"
                            "const d = 9223372036854775807\nconst e = \"\"");
    cr_assert(diag_errors(w.diag) == 0);
    Ast **at = f->file.decls.at;
    const Ast *a = at[0]->constant.value, *b = at[1]->constant.value;
    cr_expect(a->number.is_int && a->number.integer == 1000);
    cr_expect(!b->number.is_int && b->number.value == 0.25);
    cr_expect_str_eq(ast_plain_string(w.arena, at[2]->constant.value), "a\n{\"\\");
    cr_expect(at[3]->constant.value->number.integer == INT64_MAX);
    cr_expect_str_eq(ast_plain_string(w.arena, at[4]->constant.value), "");
    arena_free(w.arena);
}

/* Cut anywhere, or with a byte changed, the text gives a tree, a shallow one, and no crash. */
Test(parse, broken_text_is_survived) {
    World w = world_new();
    size_t size;
    char *text = load(&w, SYNTAX "valid/rulings.nn", &size);
    static const char changes[] = "(){}[]\"\n,:=;.#\\";
    uint32_t h = HASH_START;
    for (int i = 0; i < 600; i++) {
        World v = world_new();
        char *copy = arena_strndup(v.arena, text, size);
        h = hash_bytes(h, &i, sizeof i);
        size_t at = h % size;
        copy[at] = changes[h / size % (sizeof changes - 1)];
        Ast *tree = parse(&v, "broken", copy, i % 2 ? size : at + 1);
        cr_expect(tree->kind == AST_FILE && !ast_too_deep(tree, AST_MAX_DEPTH));
        arena_free(v.arena);
    }
    arena_free(w.arena);
}
