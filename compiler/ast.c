/* ast.c: makes, walks and compares nodes of the syntax tree. */
#include "ast.h"

#include <string.h>

typedef struct KindInfo {
    const char *name;
    int kids, lists;
} KindInfo;

static const KindInfo kind_info[AST_N] = {
#define K(name, kids, lists) [AST_##name] = {#name, kids, lists},
    AST_KINDS(K)
#undef K
};

Ast *ast_new(Arena *a, AstKind kind, Span span) {
    Ast *n = NEW(a, Ast);
    n->kind = kind;
    n->span = span;
    return n;
}

Ast *ast_make(Arena *a, const Ast *node) {
    Ast *n = NEW(a, Ast);
    *n = *node;
    return n;
}

const char *ast_kind_name(AstKind kind) {
    return kind_info[kind].name;
}

/* The members of a union all start at the same place: where `file` starts. */
int ast_kids(Ast *n, Ast ***kids) {
    *kids = (Ast **)(void *)&n->file;
    return kind_info[n->kind].kids;
}

int ast_lists(Ast *n, AstList **lists) {
    Ast **kids;
    int count = ast_kids(n, &kids);
    *lists = (AstList *)(void *)(kids + count);
    return kind_info[n->kind].lists;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool same_text(const Ast *a, const Ast *b) {
    return a->text.size == b->text.size && memcmp(a->text.text, b->text.text, a->text.size) == 0;
}

/* The plain values of two nodes of one kind. */
static bool same_values(const Ast *a, const Ast *b) {
    switch (a->kind) {
    case AST_NUMBER:
        return a->number.is_int == b->number.is_int && a->number.value == b->number.value
               && a->number.integer == b->number.integer;
    case AST_TEXT: return same_text(a, b);
    case AST_HOLE: return a->hole.format == b->hole.format;
    case AST_BOOL: return a->boolean.value == b->boolean.value;
    case AST_UNARY: return a->unary.op == b->unary.op;
    case AST_BINARY: return a->binary.op == b->binary.op;
    case AST_ASSIGN: return a->assign.op == b->assign.op;
    case AST_REDUCE_FOR: return a->reduce.op == b->reduce.op;
    case AST_SCAN: return a->scan.reverse == b->scan.reverse;
    case AST_SPLIT: return a->split.in_order == b->split.in_order;
    case AST_RANGE:
        return a->range.inclusive == b->range.inclusive && a->range.reverse == b->range.reverse;
    default: return true;
    }
}

static bool same_lists(AstList a, AstList b) {
    if (a.n != b.n)
        return false;
    for (int i = 0; i < a.n; i++)
        if (!ast_equal(a.at[i], b.at[i]))
            return false;
    return true;
}

bool ast_equal(Ast *a, Ast *b) {
    if (!a || !b)
        return a == b;
    if (a->kind != b->kind || a->name != b->name || !same_values(a, b))
        return false;
    Ast **x, **y;
    int n = ast_kids(a, &x);
    ast_kids(b, &y);
    for (int i = 0; i < n; i++)
        if (!ast_equal(x[i], y[i]))
            return false;
    AstList *u, *v;
    n = ast_lists(a, &u);
    ast_lists(b, &v);
    for (int i = 0; i < n; i++)
        if (!same_lists(u[i], v[i]))
            return false;
    return true;
}

/* ---- depth ----------------------------------------------------------------------------------- */

const Ast *ast_too_deep(Ast *n, int limit) {
    if (limit <= 0)
        return n;
    Ast **kids;
    int count = ast_kids(n, &kids);
    for (int i = 0; i < count; i++) {
        const Ast *deep = kids[i] ? ast_too_deep(kids[i], limit - 1) : NULL;
        if (deep)
            return deep;
    }
    AstList *lists;
    count = ast_lists(n, &lists);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < lists[i].n; k++) {
            const Ast *deep = ast_too_deep(lists[i].at[k], limit - 1);
            if (deep)
                return deep;
        }
    return NULL;
}

/* ---- texts ----------------------------------------------------------------------------------- */

const char *ast_plain_string(Arena *a, const Ast *n) {
    if (n->kind != AST_STRING)
        return NULL;
    Text t = {.arena = a};
    text_add(&t, "");
    for (int i = 0; i < n->string.parts.n; i++) {
        const Ast *part = n->string.parts.at[i];
        if (part->kind != AST_TEXT)
            return NULL;
        text_addn(&t, part->text.text, part->text.size);
    }
    return t.at;
}

const char *ast_unary_text(UnaryOp op) {
    return op == UNARY_NEG ? "-" : "not";
}

const char *ast_binary_text(BinaryOp op) {
    static const char *const text[] = {
        [BINARY_OR] = "or",   [BINARY_AND] = "and", [BINARY_EQ] = "==",  [BINARY_NE] = "!=",
        [BINARY_LT] = "<",    [BINARY_LE] = "<=",   [BINARY_GT] = ">",   [BINARY_GE] = ">=",
        [BINARY_ADD] = "+",   [BINARY_SUB] = "-",   [BINARY_MUL] = "*",  [BINARY_DIV] = "/",
        [BINARY_FLOORDIV] = "//", [BINARY_MOD] = "%", [BINARY_MATMUL] = "@", [BINARY_POW] = "^",
    };
    return text[op];
}

const char *ast_assign_text(AssignOp op) {
    static const char *const text[] = {"=", "+=", "-=", "*=", "/="};
    return text[op];
}

const char *ast_reduce_text(ReduceOp op) {
    static const char *const text[] = {"mean", "sum", "max", "min"};
    return text[op];
}
