/* ast.h: the syntax tree that the parser makes of a .nn file.
 *
 * Shape of a node: in each struct of the union the Ast * members come first, then the AstList
 * members, then plain values; the table AST_KINDS says how many there are of each, so a walk over
 * all children needs no switch (ast_kids, ast_lists). Members that may be NULL say so. A tree is at
 * most AST_MAX_DEPTH deep: walks may recurse.
 *
 * A statement is any of the statement nodes or an expression. if, each, scan, `mean for` are both.
 */
#ifndef NNC_AST_H
#define NNC_AST_H

#include "diag.h"

#define AST_MAX_DEPTH 400

/*  kind          Ast * members, AstList members */
#define AST_KINDS(K)       \
    K(FILE, 0, 1)          \
    /* expressions */      \
    K(NUMBER, 0, 0)        \
    K(STRING, 0, 1)        \
    K(TEXT, 0, 0)          \
    K(HOLE, 1, 0)          \
    K(BOOL, 0, 0)          \
    K(NONE, 0, 0)          \
    K(NAME, 0, 0)          \
    K(UNARY, 1, 0)         \
    K(BINARY, 2, 0)        \
    K(PIPE, 2, 0)          \
    K(CALL, 1, 1)          \
    K(ARG, 1, 0)           \
    K(INDEX, 1, 1)         \
    K(SLICE, 3, 0)         \
    K(ELLIPSIS, 0, 0)      \
    K(FIELD, 1, 0)         \
    K(IF, 3, 0)            \
    K(LIST, 0, 1)          \
    K(TUPLE, 0, 1)         \
    K(RANGE, 2, 0)         \
    K(BLOCK, 0, 1)         \
    K(REDUCE_FOR, 3, 0)    \
    K(SUM_EACH, 3, 0)      \
    K(SCAN, 4, 0)          \
    K(COPY, 1, 0)          \
    /* types */            \
    K(TYPE, 0, 0)          \
    K(TENSOR, 0, 1)        \
    K(STAR, 0, 0)          \
    K(TUPLE_TYPE, 0, 1)    \
    /* declarations */     \
    K(IMPORT, 1, 0)        \
    K(CONST, 1, 0)         \
    K(OPTION, 2, 0)        \
    K(PARAM, 2, 1)         \
    K(STATE, 2, 1)         \
    K(LET, 3, 0)           \
    K(VAR, 3, 0)           \
    K(FORMAL, 2, 0)        \
    K(FN, 3, 1)            \
    K(LAYER, 3, 1)         \
    K(EXPORT, 3, 1)        \
    K(MODEL, 2, 0)         \
    K(SUB, 2, 0)           \
    K(DATA, 1, 2)          \
    K(SECTION, 0, 1)       \
    K(SPLIT, 0, 1)         \
    K(PART, 1, 0)          \
    K(STANDARDIZE, 0, 1)   \
    K(OPTIMIZER, 1, 2)     \
    K(SCHEDULE, 1, 2)      \
    K(TASK, 1, 0)          \
    /* statements */       \
    K(ASSIGN, 2, 0)        \
    K(FOR, 3, 0)           \
    K(WHILE, 2, 0)         \
    K(BREAK, 0, 0)         \
    K(CONTINUE, 0, 0)      \
    K(EVERY, 2, 0)         \
    K(YIELD, 0, 1)         \
    K(MINIMIZE, 3, 1)      \
    K(USE, 1, 1)           \
    K(UPDATE, 4, 0)        \
    K(EVAL, 1, 0)          \
    K(PRINT, 1, 0)         \
    K(WRITE, 1, 0)         \
    K(RECORD, 0, 1)        \
    K(SAVE, 1, 1)          \
    K(LOAD, 1, 1)          \
    K(RESET, 0, 1)         \
    K(EACH, 3, 0)          \
    K(EXPECT, 2, 0)        \
    /* a declaration or statement that was wrong; a message was given */ \
    K(ERROR, 0, 0)

typedef enum AstKind {
#define K(name, kids, lists) AST_##name,
    AST_KINDS(K)
#undef K
        AST_N
} AstKind;

typedef enum UnaryOp { UNARY_NEG, UNARY_NOT } UnaryOp;

/* loosest first; from EQ to GE: comparisons */
typedef enum BinaryOp {
    BINARY_OR,
    BINARY_AND,
    BINARY_EQ,
    BINARY_NE,
    BINARY_LT,
    BINARY_LE,
    BINARY_GT,
    BINARY_GE,
    BINARY_ADD,
    BINARY_SUB,
    BINARY_MUL,
    BINARY_DIV,
    BINARY_FLOORDIV,
    BINARY_MOD,
    BINARY_MATMUL,
    BINARY_POW
} BinaryOp;

typedef enum AssignOp { ASSIGN_SET, ASSIGN_ADD, ASSIGN_SUB, ASSIGN_MUL, ASSIGN_DIV } AssignOp;

typedef enum ReduceOp { REDUCE_MEAN, REDUCE_SUM, REDUCE_MAX, REDUCE_MIN } ReduceOp;

typedef struct Ast Ast;

/* Also a VEC: vec_push(arena, &list, node). */
typedef struct AstList {
    Ast **at;
    int n, cap;
} AstList;

/* A pattern is a NAME (perhaps "_") or a TUPLE of patterns. A body is a BLOCK unless something else
 * is said. The text of a name is interned, so names are compared by pointer.
 * Nodes with a name: NAME FIELD TYPE ARG FORMAL CONST OPTION FN LAYER EXPORT MODEL SUB DATA SECTION
 * SPLIT PART STANDARDIZE OPTIMIZER SCHEDULE TASK; TENSOR (its element type, or NULL). */
struct Ast {
    AstKind kind;
    Span span;
    Span name_span; /* of the name alone */
    const char *name;
    union {
        struct { AstList decls; } file;

        /* expressions */
        struct { double value; int64_t integer; bool is_int; } number; /* integer: when is_int */
        struct { AstList parts; } string;                /* TEXT and HOLE; no parts: "" */
        struct { const char *text; size_t size; } text;  /* escapes resolved */
        struct { Ast *value; const char *format; } hole; /* {value:format}; format may be NULL */
        struct { bool value; } boolean;                  /* BOOL */
        struct { Ast *x; UnaryOp op; } unary;
        struct { Ast *left, *right; BinaryOp op; } binary;
        struct { Ast *left, *right; } pipe;            /* left |> right */
        struct { Ast *callee; AstList args; } call;    /* ARG */
        struct { Ast *value; } arg;                    /* name NULL: positional; value: expression,
                                                          SLICE (0:64) or STAR (axis=*) */
        struct { Ast *base; AstList items; } index;    /* expression (NONE: a new axis),
                                                          SLICE, ELLIPSIS */
        struct { Ast *lo, *hi, *step; } slice;         /* each may be NULL */
        struct { Ast *base; } field;                   /* base.name */
        struct { Ast *cond, *then, *other; } cond;     /* IF; other: BLOCK, IF or NULL */
        struct { AstList items; } list;                /* LIST and TUPLE */
        struct { Ast *lo, *hi; bool inclusive, reverse; } range;
        struct { AstList stmts; } block;               /* value: the last one, if an expression */
        struct { Ast *pattern, *iter, *body; ReduceOp op; } reduce; /* REDUCE_FOR */
        struct { Ast *pattern, *iter, *body; } each;   /* EACH and SUM_EACH; iter may be a TUPLE */
        struct { Ast *pattern, *iter, *axis, *body; bool reverse; } scan; /* iter: RANGE (which
                                                          then has the reverse) or tensors; axis may
                                                          be NULL */
        struct { Ast *x; } copy;

        /* types; the scalar ones and fn are TYPE, told by their name */
        struct { AstList dims; } tensor;               /* expressions and STARs */
        struct { AstList items; } tuple_type;

        /* declarations */
        struct { Ast *path; } import;                  /* STRING */
        struct { Ast *value; } constant;               /* CONST */
        struct { Ast *value, *help; } option;          /* help: STRING or NULL */
        struct { Ast *type, *init; AstList names; } param; /* PARAM, STATE; NAMEs; type
                                                          may be NULL */
        struct { Ast *pattern, *type, *value; } let;   /* LET and VAR; type may be NULL */
        struct { Ast *type, *value; } formal;          /* both may be NULL; value: the default */
        struct { Ast *result, *body, *from; AstList formals; } fn; /* FN, LAYER, EXPORT; result and
                                                          from (a STRING, EXPORT's weights) may be
                                                          NULL; body: BLOCK or expression */
        struct { Ast *count, *value; } model;          /* MODEL and SUB; count: `nets[5]` or NULL */
        struct { Ast *rows; AstList fields, items; } data; /* rows may be NULL; FORMALs; SECTION,
                                                          SPLIT, STANDARDIZE */
        struct { AstList assigns; } section;           /* ASSIGNs to NAMEs */
        struct { AstList parts; bool in_order; } split; /* name: of the section; PARTs */
        struct { Ast *value; } part;                   /* `{ folds: 5 }` is a PART named folds */
        struct { AstList fields; } standardize;        /* NAMEs; name: the split after `from` */
        struct { Ast *body; AstList formals, inner; } rule; /* OPTIMIZER, SCHEDULE; inner: FORMALs
                                                          (p, g), (step); body of a schedule: also
                                                          an expression */
        struct { Ast *body; } task;

        /* statements */
        struct { Ast *target, *value; AssignOp op; } assign; /* target: NAME, INDEX or FIELD */
        struct { Ast *pattern, *iter, *body; } loop;   /* FOR; iter: RANGE or expression */
        struct { Ast *cond, *body; } whilst;           /* WHILE */
        struct { Ast *n, *body; } every;
        struct { AstList values; } yield;
        struct { Ast *loss, *clip, *accumulate; AstList uses; } minimize; /* clip, accumulate: may
                                                          be NULL; USEs */
        struct { Ast *optimizer; AstList targets; } use; /* with optimizer [over targets] */
        struct { Ast *target, *by, *with, *clip; } update; /* clip may be NULL */
        struct { Ast *body; } eval;
        struct { Ast *value; } print;                  /* PRINT and WRITE */
        struct { AstList args; } record;               /* ARG */
        struct { Ast *path; AstList items; } store; /* save, load */
        struct { AstList items; } reset;
        struct { Ast *cond, *text; } expect;
    };
};

Ast *ast_new(Arena *a, AstKind kind, Span span);
/* A copy of *node in the arena; its children stay the same. */
Ast *ast_make(Arena *a, const Ast *node);
const char *ast_kind_name(AstKind kind); /* "MINIMIZE"; for dumps and bugs */

/* The children: *kids gets the Ast * members (some may be NULL), *lists the AstList members. */
int ast_kids(Ast *n, Ast ***kids);
int ast_lists(Ast *n, AstList **lists);

/* Same tree, spans aside; both made with one interner. */
bool ast_equal(Ast *a, Ast *b);
/* A node on a level below `limit` (the root is on level 1), NULL when there is none. */
const Ast *ast_too_deep(Ast *n, int limit);

/* The text of a STRING without holes, terminated, in a; NULL for one with holes and other nodes. */
const char *ast_plain_string(Arena *a, const Ast *n);

const char *ast_unary_text(UnaryOp op);   /* "-", "not" */
const char *ast_binary_text(BinaryOp op); /* "+", "//", "and" */
const char *ast_assign_text(AssignOp op); /* "+=" */
const char *ast_reduce_text(ReduceOp op); /* "mean" */

/* ast_print.c: the tree as canonical .nn text; parsing that gives an equal tree. */
void ast_print(Text *to, Ast *n);

#endif
