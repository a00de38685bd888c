/* cut.c: C files cut into items (build time only).
 *
 * It reads the code as the house style lays it out: what stands at file scope begins in column 1,
 * comments are of the old form. A name is whatever a definition, a declaration or a macro
 * introduces; a macro called at file scope is expanded to find what it defines.
 */
#include "cut.h"
#include "ctoken.h"
#include <stdio.h>
#include <stdlib.h>

void *cut_grow(void *at, int n, size_t item) {
    if (n & (n - 1))
        return at;
    void *grown = realloc(at, item * (size_t)(n ? 2 * n : 1));
    if (!grown) {
        fprintf(stderr, "embed: out of memory\n");
        exit(1);
    }
    return grown;
}

void cut_push(Ints *list, int value) {
    for (int i = 0; i < list->n; i++)
        if (list->at[i] == value)
            return;
    list->at = cut_grow(list->at, list->n, sizeof *list->at);
    list->at[list->n++] = value;
}

static int name_of(Cut *c, const CToken *t, bool tag) {
    for (int i = 0; i < c->nnames; i++)
        if (c->names[i].tag == tag && c->names[i].n == t->n &&
            memcmp(c->names[i].text, t->at, t->n) == 0)
            return i;
    c->names = cut_grow(c->names, c->nnames, sizeof *c->names);
    c->names[c->nnames] = (Name){.text = t->at, .n = t->n, .tag = tag};
    return c->nnames++;
}

static bool is_name(const CToken *t, const char *word) {
    return t->kind == 'n' && t->n == strlen(word) && memcmp(t->at, word, t->n) == 0;
}

/* The item that is being made is the last one. */
static void define(Cut *c, const CToken *t, bool tag) {
    cut_push(&c->names[name_of(c, t, tag)].defined, c->nitems - 1);
}

static void use_names(Cut *c, const char *s, const char *end) {
    for (CToken t = {0}; ctoken_next(&t, s, end);)
        if (t.kind == 'n' && !t.member)
            cut_push(&c->items[c->nitems - 1].uses, name_of(c, &t, t.tag));
}

/* ---- units: what stands at file scope -------------------------------------------------------- */

typedef enum UnitKind { U_COMMENT, U_SLOT, U_BLOCK, U_DIRECTIVE, U_CALL, U_CODE } UnitKind;

typedef struct Unit {
    UnitKind kind;
    const char *from, *code, *end; /* with the comment before it; code: without */
    bool gap;
} Unit;

static bool starts(const char *s, const char *end, const char *word) {
    size_t n = strlen(word);
    return (size_t)(end - s) >= n && memcmp(s, word, n) == 0;
}

static const char *line_end(const char *s, const char *end) {
    const char *nl = memchr(s, '\n', (size_t)(end - s));
    return nl ? nl + 1 : end;
}

/* A directive goes on where a line ends with a backslash. */
static const char *directive_end(const char *s, const char *end) {
    s = line_end(s, end);
    while (s < end && s[-2] == '\\')
        s = line_end(s, end);
    return s;
}

static const char *comment_end(const char *s, const char *end) {
    while (s + 1 < end && !(s[0] == '*' && s[1] == '/'))
        s++;
    return line_end(s, end);
}

/* From "#if" to the end of its "#endif" line. */
static const char *block_end(const char *s, const char *end) {
    int depth = 0;
    while (s < end) {
        const char *word = s + strspn(s, " ");
        depth += starts(word, end, "#if") ? 1 : starts(word, end, "#endif") ? -1 : 0;
        s = directive_end(s, end);
        if (!depth)
            return s;
    }
    return end;
}

/* A call of a macro ends with its parenthesis, a function with its body, all else with ";". */
static const char *code_end(const char *s, const char *end, bool call) {
    int depth = 0;
    bool body = false;
    char last = 0;
    for (CToken t = {0}; ctoken_next(&t, s, end); last = t.kind) {
        if (t.kind == '{' && depth == 0)
            body = last == ')';
        if (strchr("({[", t.kind))
            depth++;
        else if (strchr(")}]", t.kind))
            depth--;
        if (depth == 0 && (t.kind == ';' || (body && t.kind == '}') || (call && t.kind == ')'))) {
            const char *rest = t.at + t.n;
            while (rest < end && *rest == ' ')
                rest++;
            return starts(rest, end, "/*") ? comment_end(rest, end)
                   : *rest == '\n'         ? rest + 1
                                           : rest;
        }
    }
    return end;
}

static UnitKind kind_of(const char *s, const char *end) {
    if (starts(s, end, "//@ "))
        return U_SLOT;
    if (starts(s, end, "#if"))
        return U_BLOCK;
    if (*s == '#')
        return U_DIRECTIVE;
    CToken t = {0};
    ctoken_next(&t, s, end);
    const char *after = t.at + t.n;
    return t.kind == 'n' && *after == '(' && !is_name(&t, "__attribute__") ? U_CALL : U_CODE;
}

/* The unit at or after s; false when there is none. */
static bool next_unit(Unit *u, const char *s, const char *end) {
    *u = (Unit){0};
    for (; s < end && (*s == '\n' || *s == ' '); s++)
        u->gap = u->gap || *s == '\n';
    if (s >= end)
        return false;
    u->from = u->code = s;
    if (starts(s, end, "/*")) {
        u->code = u->end = comment_end(s, end);
        if (u->code >= end || *u->code == '\n' || starts(u->code, end, "/*"))
            return true; /* stands alone: U_COMMENT */
    }
    s = u->code;
    u->kind = kind_of(s, end);
    switch (u->kind) {
    case U_BLOCK:
        u->end = block_end(s, end);
        break;
    case U_DIRECTIVE:
        u->end = directive_end(s, end);
        break;
    case U_SLOT:
        u->end = line_end(s, end);
        break;
    default:
        u->end = code_end(s, end, u->kind == U_CALL);
    }
    return true;
}

/* ---- what code defines ----------------------------------------------------------------------- */

static void define_enumerators(Cut *c, const char *s, const char *end) {
    CToken t = {0}, last = {0};
    int depth = 0;
    while (ctoken_next(&t, s, end)) {
        if (depth == 1 && t.kind == 'n' && (last.kind == '{' || last.kind == ','))
            define(c, &t, false);
        depth += strchr("({[", t.kind) ? 1 : strchr(")}]", t.kind) ? -1 : 0;
        last = t;
    }
}

/* The last name outside of brackets: typedef float v8 __attribute__((…)); */
static void define_typedef(Cut *c, const char *s, const char *end) {
    CToken t = {0}, last = {0};
    int depth = 0;
    while (ctoken_next(&t, s, end)) {
        if (depth == 0 && t.kind == 'n' && !is_name(&t, "__attribute__"))
            last = t;
        depth += strchr("({[", t.kind) ? 1 : strchr(")}]", t.kind) ? -1 : 0;
    }
    define(c, &last, false);
}

/* A function, or a table: the first name before "(", or before "[", "=" or ";". */
static void define_object(Cut *c, const char *s, const char *end) {
    CToken t = {0}, last = {0};
    int depth = 0;
    while (ctoken_next(&t, s, end)) {
        bool bounds = is_name(&last, "__launch_bounds__"); /* of a kernel: its name follows */
        if (depth == 0 && strchr("([=;", t.kind) && last.kind == 'n' && !bounds &&
            !is_name(&last, "__attribute__")) {
            define(c, &last, false);
            return;
        }
        depth += strchr("({[", t.kind) ? 1 : strchr(")}]", t.kind) ? -1 : 0;
        last = t;
    }
}

static void define_code(Cut *c, const char *s, const char *end) {
    CToken first = {0}, tag, after;
    ctoken_next(&first, s, end);
    tag = first;
    ctoken_next(&tag, s, end);
    after = tag;
    ctoken_next(&after, s, end);
    if (is_name(&first, "typedef")) {
        define_typedef(c, s, end);
    } else if (tag.tag && (after.kind == '{' || after.kind == ';')) {
        define(c, &tag, true);
        if (is_name(&first, "enum"))
            define_enumerators(c, s, end);
    } else if (is_name(&first, "enum")) {
        define_enumerators(c, s, end);
    } else {
        define_object(c, s, end);
    }
}

/* ---- macros ---------------------------------------------------------------------------------- */

static void note_macro(Cut *c, const CToken *name, const char *end) {
    if (name->at[name->n] != '(')
        return;
    c->macros = cut_grow(c->macros, c->nmacros, sizeof *c->macros);
    c->macros[c->nmacros++] = (Macro){name->at, name->at + name->n, end, name->n};
}

enum { MOST_ARGUMENTS = 8 };

/* Splits "(a, b)" at s; gives what follows. */
static const char *arguments(const char *s, const char *end, CToken arg[MOST_ARGUMENTS], int *n) {
    int depth = 0;
    const char *from = s + 1;
    *n = 0;
    for (CToken t = {0}; ctoken_next(&t, s, end);) {
        depth += strchr("({[", t.kind) ? 1 : strchr(")}]", t.kind) ? -1 : 0;
        if ((depth == 1 && t.kind == ',') || depth == 0) {
            from += strspn(from, " ");
            if (*n < MOST_ARGUMENTS)
                arg[(*n)++] = (CToken){.at = from, .n = (size_t)(t.at - from)};
            from = t.at + 1;
        }
        if (depth == 0)
            return t.at + 1;
    }
    return end;
}

/* What a call makes, for its names: lines of the body with the arguments put in and ## done. */
static char *expand(const Macro *m, const char *call, const char *end, size_t *size) {
    CToken of[MOST_ARGUMENTS], to[MOST_ARGUMENTS];
    int n, given;
    const char *body = arguments(m->body, m->end, of, &n);
    arguments(call, end, to, &given);
    char *out = malloc((size_t)(m->end - m->body) * (size_t)(end - call + 1) + 1);
    *size = 0;
    if (!out)
        exit(1);
    const char *last = body;
    for (CToken t = {0}; ctoken_next(&t, body, m->end);) {
        if (t.kind == '\\')
            continue;
        if (t.kind == '#') {
            last = t.at + t.n;
            continue;
        }
        if (t.at > last && last > body && last[-1] != '#')
            out[(*size)++] = memchr(last, '\n', (size_t)(t.at - last)) ? '\n' : ' ';
        CToken word = t;
        for (int i = 0; i < n && i < given; i++)
            if (t.n == of[i].n && memcmp(t.at, of[i].at, t.n) == 0)
                word = to[i];
        memcpy(out + *size, word.at, word.n);
        *size += word.n;
        last = t.at + t.n;
    }
    out[*size] = 0;
    return out;
}

/* ---- names of a unit ------------------------------------------------------------------------- */

static bool add_names(Cut *c, const Unit *u);

/* Of all units in a piece of text; true when it is includes and conditions only. */
static bool add_all(Cut *c, const char *s, const char *end) {
    bool only = true;
    for (Unit u; next_unit(&u, s, end); s = u.end)
        only = add_names(c, &u) && only;
    return only;
}

static void add_call(Cut *c, const Unit *u) {
    CToken name = {0};
    size_t size;
    ctoken_next(&name, u->code, u->end);
    use_names(c, u->code, u->end);
    for (int i = 0; i < c->nmacros; i++)
        if (c->macros[i].n == name.n && memcmp(c->macros[i].name, name.at, name.n) == 0) {
            const char *text = expand(&c->macros[i], name.at + name.n, u->end, &size);
            add_all(c, text, text + size);
            return;
        }
}

static bool add_directive(Cut *c, const Unit *u) {
    CToken t = {0};
    ctoken_next(&t, u->code, u->end); /* # */
    ctoken_next(&t, u->code, u->end);
    bool makes = is_name(&t, "define"), known = makes || is_name(&t, "undef");
    if (is_name(&t, "include"))
        return true;
    use_names(c, t.at + t.n, u->end);
    if (known && ctoken_next(&t, u->code, u->end) && t.at[0] != '_')
        define(c, &t, false);
    if (makes)
        note_macro(c, &t, u->end);
    return starts(u->code, u->end, "#el");
}

static bool add_names(Cut *c, const Unit *u) {
    switch (u->kind) {
    case U_BLOCK: {
        const char *in = directive_end(u->code, u->end), *out = u->end - 1;
        while (out[-1] != '\n')
            out--;
        use_names(c, u->code + 3, in);
        return add_all(c, in, out);
    }
    case U_DIRECTIVE:
        return add_directive(c, u);
    case U_CALL:
        add_call(c, u);
        return false;
    case U_CODE:
        use_names(c, u->code, u->end);
        define_code(c, u->code, u->end);
        return false;
    default:
        return true;
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static Item *add_item(Cut *c, int file, const char *text, const Unit *u) {
    c->items = cut_grow(c->items, c->nitems, sizeof *c->items);
    Item *it = &c->items[c->nitems++];
    *it = (Item){.at = (size_t)(u->from - text), .size = (size_t)(u->end - u->from)};
    it->file = file;
    it->gap = u->gap;
    return it;
}

static bool defines_any(const Cut *c) {
    for (int i = 0; i < c->nnames; i++) {
        const Ints *by = &c->names[i].defined;
        if (by->n && by->at[by->n - 1] == c->nitems - 1)
            return true;
    }
    return false;
}

static void add_unit(Cut *c, int file, const char *text, const Unit *u) {
    if (u->kind == U_DIRECTIVE && starts(u->code, u->end, "#include \""))
        return; /* linking knows what is needed */
    Item *it = add_item(c, file, text, u);
    if (u->kind == U_COMMENT) {
        it->kind = EMBED_RULER;
        it->level = starts(u->from, u->end, "/* ====")   ? 1
                    : starts(u->from, u->end, "/* ----") ? 3
                                                         : 4;
        return;
    }
    if (u->kind == U_SLOT) {
        it->kind = EMBED_SLOT;
        return;
    }
    for (const char *s = u->code; s < u->end; s = line_end(s, u->end))
        it->slots = it->slots || starts(s + strspn(s, " "), u->end, "//@ ");
    bool only = add_names(c, u);
    it = &c->items[c->nitems - 1];
    it->kind = defines_any(c) ? EMBED_NAMED : only ? EMBED_INCLUDE : EMBED_ALWAYS;
}

/* The guard against a second include is not part of what the file says: steps over it. */
static const char *past_guard(const char *s, const char **end) {
    static const char start[] = "#ifndef ";
    size_t n = strcspn(s, "\n");
    if (!starts(s, *end, start) || memcmp(s + n - 2, "_H", 2) != 0)
        return s;
    const char *last = *end - 1;
    while (last[-1] != '\n')
        last--;
    *end = last;
    return line_end(s + n + 1, *end);
}

void cut_file(Cut *c, int file, const char *text, size_t size) {
    const char *s = text, *end = text + size;
    Unit head = {U_COMMENT, s, s, s, false};
    if (starts(s, end, "/*"))
        head.end = comment_end(s, end);
    s = past_guard(head.end, &end);
    if (s > head.end && head.end > head.from) {
        Item *it = add_item(c, file, text, &head);
        it->kind = EMBED_RULER;
        it->level = 2;
    } else if (s == head.end) {
        s = text;
    }
    for (Unit u; next_unit(&u, s, end); s = u.end)
        add_unit(c, file, text, &u);
}
