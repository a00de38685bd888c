/* parse.c: a file to its tree, and the words for a syntax error. The grammar itself is nn.y. */
#include "parse.h"

#include "nn.tab.h"

#include <string.h>

/* ---- syntax errors: "expected a, b or c, found d" -------------------------------------------- */

static const int expression_starts[] = {NUMBER, STRING_BEGIN, TRUE, FALSE, NONE, GIVEN,
                                        TYPE,   NAME,         IF,   SCAN,  EACH, COPY,
                                        NOT,    '(',          '[',  '-',   0};
/* After `f(` and `x[`; nobody who forgot an expression there meant these. */
static const int item_starts[] = {ELLIPSIS, ':', 0};
static const int operators[] = {PIPE, OR,  AND,  EQ,      NE,       '<',  LE,      '>', GE,
                                '+',  '-', '*',  '/',     FLOORDIV, '%',  '@',     '^', '(',
                                '[',  '.', DOTS, DOTS_EQ, FOR,      EACH, REVERSE, 0};
static const int own_words[] = {OVER,  CLIP,  ACCUMULATE,  AXIS,    TO,   FROM, BY,
                                ORDER, SPLIT, STANDARDIZE, REVERSE, ROWS, 0};
static const int after_value[] = {ASSIGN_OP, '=', ',', WITH, STRING_BEGIN, FORMAT, 0};
static const int type_starts[] = {TYPE, FN, NAME, '(', '[', 0};

static bool has(const int *tokens, int token) {
    for (; *tokens; tokens++)
        if (*tokens == token)
            return true;
    return false;
}

static void drop(SyntaxError *e, const int *tokens) {
    for (; *tokens; tokens++)
        e->wants[*tokens] = false;
}

static bool after_expression(const SyntaxError *e) {
    return e->wants['^'] || e->wants['+'];
}

/* Drops what may follow an expression but is rarely what was forgotten. */
static void drop_continuations(SyntaxError *e) {
    static const int rare[] = {'=', ':', FOR, 0};
    drop(e, operators);
    if (e->wants[SEP]) {
        drop(e, own_words);
        drop(e, after_value);
    } else if (e->wants[')'] || e->wants[']']) {
        drop(e, rare);
    }
}

/* The phrase that stands for many of the wanted tokens, NULL for none; leaves the others. */
static const char *summarize(SyntaxError *e) {
    if (e->wants[TASK] || e->wants[MINIMIZE]) {
        const char *phrase = e->wants[TASK] ? "a declaration" : "a statement";
        if (e->wants[ELSE]) /* where any word may stand: the name of a section */
            phrase = "a name";
        bool closing = e->wants['}'];
        memset(e->wants, 0, sizeof e->wants);
        e->wants['}'] = closing;
        return phrase;
    }
    if (e->wants[NUMBER]) {
        drop(e, expression_starts);
        drop(e, item_starts);
        drop(e, own_words);
        return "an expression";
    }
    if (after_expression(e)) {
        drop_continuations(e);
        return NULL;
    }
    if (e->wants[TYPE] && e->wants[FN]) {
        drop(e, type_starts);
        return "a type";
    }
    if (e->wants[NAME]) {
        e->wants[NAME] = false;
        drop(e, own_words);
        return "a name";
    }
    return NULL;
}

/* "a name, ')' or ','"; NULL when there is nothing to say or too much. */
static const char *expected_text(Parse *p, SyntaxError *e) {
    enum { MOST = 5 };
    const char *names[MOST], *phrase = summarize(e);
    int n = 0;
    if (phrase)
        names[n++] = phrase;
    for (int token = 0; token < MAX_TOKEN; token++) {
        if (!e->wants[token])
            continue;
        if (n == MOST)
            return NULL;
        names[n++] = token_name(token);
    }
    if (n == 0)
        return NULL;
    Text t = {.arena = p->arena};
    for (int i = 0; i < n; i++) {
        bool word = names[i][0] >= 'a' && names[i][0] <= 'z' && !strchr(names[i], ' ');
        text_add(&t, i == 0 ? "" : i == n - 1 ? " or " : ", ");
        text_printf(&t, word ? "'%s'" : "%s", names[i]);
    }
    return t.at;
}

static const char *found_text(Parse *p, const SyntaxError *e) {
    static const int not_quoted[] = {STRING_BEGIN, STRING_END, PIECE, FORMAT, 0};
    if (e->found == SEP)
        return p->sep;
    if (e->found == END || has(not_quoted, e->found))
        return token_name(e->found);
    int n = (int)MIN(e->at.hi - e->at.lo, 60);
    return arena_printf(p->arena, "'%.*s'", n, p->text + e->at.lo);
}

/* Advice for slips that are common, "" for none. */
static const char *advice(const SyntaxError *e) {
    static const int comparisons[] = {EQ, NE, '<', LE, '>', GE, 0};
    bool word = (e->found >= IMPORT && e->found <= NOT) || e->found == GIVEN || e->found == TYPE;
    if (e->found == '=' && e->wants[EQ])
        return " (to compare, write '==')";
    if (e->found == OVER && e->wants[SEP])
        return " (every optimizer is named after a 'with' of its own)";
    if (after_expression(e) && !e->wants[EQ] && has(comparisons, e->found))
        return " (comparisons do not chain: join them with 'and')";
    if (word && e->wants[NAME] && !e->wants[NUMBER])
        return ", a reserved word";
    return "";
}

static void note_unclosed(Parse *p, int found) {
    Bracket b = p->unclosed;
    if (!b.open && p->brackets.n > 0)
        b = p->brackets.at[p->brackets.n - 1];
    bool end = found == END || (found == SEP && b.open != '{');
    if (b.open && b.open != '"' && end)
        diag_note(p->diag, b.at, "this '%c' is not closed", b.open);
}

void explain_syntax_error(Parse *p, SyntaxError *e) {
    p->recovering = true;
    p->error_indent = p->indent;
    if (p->errors++ >= MAX_SYNTAX_ERRORS)
        return;
    const char *hint = advice(e), *found = found_text(p, e), *want = expected_text(p, e);
    if (want)
        diag_error(p->diag, e->at, "expected %s, found %s%s", want, found, hint);
    else
        diag_error(p->diag, e->at, "%s is not expected here%s", found, hint);
    note_unclosed(p, e->found);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Offset of the first byte that is not UTF-8 (overlong forms, surrogates), size if all is. */
static size_t find_bad_utf8(const char *text, size_t size) {
    const unsigned char *s = (const unsigned char *)text;
    size_t i = 0;
    while (i < size) {
        unsigned char c = s[i];
        size_t n = c < 0x80 ? 1 : c < 0xC2 ? 0 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : c < 0xF5 ? 4 : 0;
        if (n == 0 || n > size - i)
            return i;
        for (size_t k = 1; k < n; k++)
            if ((s[i + k] & 0xC0) != 0x80)
                return i;
        if ((c == 0xE0 && s[i + 1] < 0xA0) || (c == 0xED && s[i + 1] > 0x9F) ||
            (c == 0xF0 && s[i + 1] < 0x90) || (c == 0xF4 && s[i + 1] > 0x8F))
            return i;
        i += n;
    }
    return size;
}

static void drop_deep(Parse *p) {
    AstList kept = {0};
    AstList decls = p->tree->file.decls;
    for (int i = 0; i < decls.n; i++) {
        const Ast *deep = ast_too_deep(decls.at[i], AST_MAX_DEPTH - 1);
        if (deep)
            diag_error(p->diag, deep->span, "this is nested too deeply (more than %d levels)",
                       AST_MAX_DEPTH);
        Ast *n = decls.at[i];
        vec_push(p->arena, &kept, deep ? ast_new(p->arena, AST_ERROR, n->span) : n);
    }
    p->tree->file.decls = kept;
}

static const SourceFile *source_of(const Diag *d, uint32_t file) {
    const SourceFile *source = diag_file(d, file);
    if (!source)
        bug("no file %u", file);
    return source;
}

Ast *parse_part(Arena *a, Interner *names, Diag *d, Span part) {
    Parse p = {.arena = a,
               .names = names,
               .diag = d,
               .file = part.file,
               .text = source_of(d, part.file)->text,
               .offset = part.lo,
               .size = part.hi,
               .tree = ast_new(a, AST_FILE, part),
               .piece.arena = a};
    scan_open(&p);
    nnparse(&p);
    scan_close(&p);
    drop_deep(&p);
    return p.tree;
}

Ast *parse_file(Arena *a, Interner *names, Diag *d, uint32_t file) {
    const SourceFile *source = source_of(d, file);
    Span whole = {file, 0, (uint32_t)source->size};
    if (source->size >= INT32_MAX) {
        diag_error(d, (Span){file, 0, 0}, "the file is too large");
        return ast_new(a, AST_FILE, whole);
    }
    size_t bad = find_bad_utf8(source->text, source->size);
    if (bad < source->size) {
        Span at = {file, (uint32_t)bad, (uint32_t)bad + 1};
        diag_error(d, at, "this byte is not UTF-8 text");
        return ast_new(a, AST_FILE, whole);
    }
    const char *nul = memchr(source->text, 0, source->size);
    if (nul) { /* the scanner tells those outside of strings and comments; a string would end */
        uint32_t at = (uint32_t)(nul - source->text);
        diag_error(d, (Span){file, at, at + 1}, "a control character (code 0) stands here");
    }
    return parse_part(a, names, d, whole);
}

Outline parse_outline(Arena *a, Interner *names, const Diag *d, uint32_t file) {
    const SourceFile *source = source_of(d, file);
    const char *text = source->text, *end = text + source->size;
    Outline found = {0};
    for (const char *line = text, *next; line < end; line = next) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        next = stop ? stop + 1 : end;
        if (*line < 'a' || *line > 'z')
            continue;
        const char *name = line + strcspn(line, " ");
        name += strspn(name, " ");
        uint32_t lo = (uint32_t)(line - text);
        if (found.n)
            found.at[found.n - 1].part.hi = lo;
        OutlineItem item = {intern(names, name, strcspn(name, " (=:{\n")),
                            {file, lo, (uint32_t)source->size}};
        vec_push(a, &found, item);
    }
    return found;
}
