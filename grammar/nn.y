/* nn.y: the grammar of .nn files, LALR(1) without conflicts. The scanner (nn.l) ends every
 * statement with SEP: a newline that counts, `;`, and before each `}` and the end of the file. */

%require "3.8"
%define api.pure full
%define api.prefix {nn}
%define api.location.type {Span}
%define parse.error custom
%define parse.lac full
%locations
%expect 0
%parse-param {Parse *p}
%lex-param {Parse *p}

%code requires {
#include "ast.h"

enum { MAX_SYNTAX_ERRORS = 20 }; /* of a file; what follows is likely to be nonsense */

/* An open ( [ { or a { inside a string, written as ". */
typedef struct Bracket {
    char open;
    Span at;
} Bracket;

/* State of one parse, shared by scanner and parser. */
typedef struct Parse {
    Arena *arena;
    Interner *names;
    Diag *diag;
    uint32_t file;
    const char *text;
    size_t size;
    Ast *tree;
    int errors;
    /* the scanner's */
    void *scanner;
    uint32_t lo, offset; /* the piece of text matched last; the next one starts at offset */
    int last;            /* the last token */
    bool last_ends;      /* it can end a statement */
    uint32_t last_hi;    /* and where it ended */
    uint32_t indent;     /* of the line, in bytes */
    bool recovering;     /* an error was found in this statement, */
    uint32_t error_indent; /* in a line indented so far */
    const char *sep;     /* what the last SEP stood for: "the end of the line" */
    VEC(Bracket) brackets;
    Bracket unclosed;    /* a ( or [ given up at the last SEP; open is 0 for none */
    int holes;           /* of the brackets, those inside strings */
    Span string_at;      /* the opening quote of the string being read */
    Text piece;          /* its text so far */
    uint32_t piece_lo;
} Parse;
}

%code provides {
enum { MAX_TOKEN = NOT_A_TOKEN };

/* Found where one of the tokens in wants, by code, was expected. */
typedef struct SyntaxError {
    Span at;
    int found;
    bool wants[MAX_TOKEN];
} SyntaxError;

/* parse.c: the message, once for each mistake. */
void explain_syntax_error(Parse *p, SyntaxError *e);
const char *token_name(int token); /* "a name", "'+'", "let" */

int nnparse(Parse *p);
int nnlex(NNSTYPE *value, Span *at, Parse *p);
/* nn.l: makes and frees p->scanner. */
void scan_open(Parse *p);
void scan_close(Parse *p);
}

%code {
#include "parse.h"

#include <string.h>

#define YYLLOC_DEFAULT(result, rhs, n)                                                             \
    do {                                                                                           \
        if (n)                                                                                     \
            (result) = span_join(YYRHSLOC(rhs, 1), YYRHSLOC(rhs, n));                              \
        else                                                                                       \
            (result) = span_end(YYRHSLOC(rhs, 0));                                                 \
    } while (0)

/* A node: kind, span, member of the union, its values. NAMED takes the name and its span too. */
#define NODE(kind_, at, member, ...)                                                               \
    ast_make(p->arena, &(Ast){.kind = AST_##kind_, .span = at, .member = {__VA_ARGS__}})
#define NAMED(kind_, at, name_, name_at, member, ...)                                              \
    ast_make(p->arena, &(Ast){.kind = AST_##kind_, .span = at, .name = name_,                      \
                              .name_span = name_at, .member = {__VA_ARGS__}})
#define BARE(kind_, at) ast_new(p->arena, AST_##kind_, at)
#define WORD(kind_, at, name_)                                                                     \
    ast_make(p->arena, &(Ast){.kind = AST_##kind_, .span = at, .name = name_, .name_span = at})

static Span span_end(Span s);
static void nnerror(const Span *at, Parse *p, const char *message);
static AstList append(Parse *p, AstList list, Ast *n);
static Ast *reduction(Parse *p, const char *name, Span name_at, Ast *n);
static Ast *check_target(Parse *p, Ast *target);
static const char *check_type(Parse *p, const char *name, Span at);
}

%union {
    const char *name;
    Ast *ast;
    AstList list;
    AssignOp assign;
    bool flag;
    struct { double value; int64_t integer; bool is_int; } number;
    struct { const char *text; size_t size; } piece;
}

%token END 0 "the end of the file"
%token SEP "the end of the statement"
%token <name> NAME "a name" TYPE "a type" GIVEN "a built-in name" FORMAT "a format"
%token <number> NUMBER "a number"
%token STRING_BEGIN "a string" STRING_END "the end of the string"
%token <piece> PIECE "text"
%token HOLE_BEGIN "'{' in a string" HOLE_END "the '}' of the string"

/* reserved words */
%token <name> IMPORT "import" CONST "const" OPTION "option" PARAM "param" STATE "state"
%token <name> LET "let" VAR "var"
%token <name> FN "fn" LAYER "layer" MODEL "model" SUB "sub" COPY "copy" DATA "data"
%token <name> OPTIMIZER "optimizer" SCHEDULE "schedule" TASK "task" EXPORT "export"
%token <name> FOR "for" IN "in" WHILE "while" IF "if" ELSE "else"
%token <name> BREAK "break" CONTINUE "continue" EVERY "every" SCAN "scan" YIELD "yield"
%token <name> MINIMIZE "minimize" UPDATE "update" WITH "with"
%token <name> EVAL "eval" PRINT "print" WRITE "write" RECORD "record" SAVE "save" LOAD "load"
%token <name> RESET "reset" EACH "each" EXPECT "expect" TRUE "true" FALSE "false" NONE "none"
%token <name> AND "and" OR "or" NOT "not"

/* words that mean something in their statement only; ordinary names elsewhere */
%token <name> OVER "over" CLIP "clip" ACCUMULATE "accumulate" AXIS "axis"
%token <name> TO "to" FROM "from" BY "by"
%token <name> ORDER "order" SPLIT "split" STANDARDIZE "standardize" REVERSE "reverse" ROWS "rows"

%token PIPE "'|>'" ARROW "'->'" EQ "'=='" NE "'!='" LE "'<='" GE "'>='" FLOORDIV "'//'"
%token DOTS "'..'" DOTS_EQ "'..='" ELLIPSIS "'...'"
%token <assign> ASSIGN_OP "'+='"
%token NOT_A_TOKEN "nothing" /* the last: no token has a greater code */
%token '(' "'('" ')' "')'" '[' "'['" ']' "']'" '{' "'{'" '}' "'}'" ',' "','" ':' "':'" '.' "'.'"
%token '=' "'='" '<' "'<'" '>' "'>'"
%token '+' "'+'" '-' "'-'" '*' "'*'" '/' "'/'" '%' "'%'" '@' "'@'" '^' "'^'"

%type <name> name word reserved
%type <ast> decl variable function rule block stmt minimize use scan arg
%type <ast> type scalar dim formal pattern data data_item section split part part_end
%type <ast> expr range pipe or and not compare sum product unary power postfix primary
%type <ast> cond else string hole item body split_body
%type <ast> type_opt result_opt default_opt count_opt rows_opt help_opt from_opt clip_opt
%type <ast> accumulate_opt axis_opt expr_opt
%type <list> decls stmts data_items assigns parts names exprs exprs2 items types types2 dims formals
%type <list> formals_or_none formal_list arg_list args patterns uses over_opt pieces
%type <assign> assign_op
%type <flag> reverse_opt

%%

file:
    decls { p->tree->file.decls = $1; }
;

/* ---- declarations ---- */

decls:
    %empty { $$ = (AstList){0}; }
  | decls decl SEP { $$ = append(p, $1, $2); }
  | decls SEP
  | decls error SEP { $$ = append(p, $1, BARE(ERROR, @2)); yyerrok; }
  | decls error block SEP { $$ = append(p, $1, BARE(ERROR, @2)); yyerrok; }
  | decls DATA error '{' data_items '}' SEP
    { $$ = append(p, $1, BARE(ERROR, span_join(@2, @3))); yyerrok; }
;

decl:
    IMPORT string { $$ = NODE(IMPORT, @$, import, $2); }
  | CONST name '=' expr { $$ = NAMED(CONST, @$, $2, @2, constant, $4); }
  | OPTION name '=' expr help_opt { $$ = NAMED(OPTION, @$, $2, @2, option, $4, $5); }
  | MODEL name count_opt '=' expr { $$ = NAMED(MODEL, @$, $2, @2, model, $3, $5); }
  | TASK name block { $$ = NAMED(TASK, @$, $2, @2, task, $3); }
  | variable
  | function
  | rule
  | data
;

help_opt:
    %empty { $$ = NULL; }
  | string
;

count_opt:
    %empty { $$ = NULL; }
  | '[' expr ']' { $$ = $2; }
;

variable:
    PARAM names type_opt '=' expr { $$ = NODE(PARAM, @$, param, $3, $5, $2); }
  | STATE names type_opt '=' expr { $$ = NODE(STATE, @$, param, $3, $5, $2); }
  | LET pattern type_opt '=' expr { $$ = NODE(LET, @$, let, $2, $3, $5); }
  | VAR pattern type_opt '=' expr { $$ = NODE(VAR, @$, let, $2, $3, $5); }
;

names:
    name { $$ = append(p, (AstList){0}, WORD(NAME, @1, $1)); }
  | names ',' name { $$ = append(p, $1, WORD(NAME, @3, $3)); }
;

function:
    FN name formals result_opt body { $$ = NAMED(FN, @$, $2, @2, fn, $4, $5, NULL, $3); }
  | LAYER name formals result_opt body { $$ = NAMED(LAYER, @$, $2, @2, fn, $4, $5, NULL, $3); }
  | EXPORT FN name formals result_opt from_opt body
    { $$ = NAMED(EXPORT, @$, $3, @3, fn, $5, $7, $6, $4); }
;

result_opt:
    %empty { $$ = NULL; }
  | ARROW type { $$ = $2; }
;

from_opt:
    %empty { $$ = NULL; }
  | FROM string { $$ = $2; }
;

body:
    '=' expr { $$ = $2; }
  | block
;

rule:
    OPTIMIZER name formals formals block { $$ = NAMED(OPTIMIZER, @$, $2, @2, rule, $5, $3, $4); }
  | SCHEDULE name formals formals body { $$ = NAMED(SCHEDULE, @$, $2, @2, rule, $5, $3, $4); }
;

formals:
    '(' formals_or_none ')' { $$ = $2; }
;

formals_or_none:
    %empty { $$ = (AstList){0}; }
  | formal_list
  | formal_list ','
;

formal_list:
    formal { $$ = append(p, (AstList){0}, $1); }
  | formal_list ',' formal { $$ = append(p, $1, $3); }
;

formal:
    name type_opt default_opt { $$ = NAMED(FORMAL, @$, $1, @1, formal, $2, $3); }
;

default_opt:
    %empty { $$ = NULL; }
  | '=' expr { $$ = $2; }
;

/* ---- types ---- */

type_opt:
    %empty { $$ = NULL; }
  | ':' type { $$ = $2; }
;

type:
    scalar
  | FN { $$ = WORD(TYPE, @$, $1); }
  | NAME { $$ = WORD(TYPE, @$, check_type(p, $1, @1)); }
  | '[' dims ']' { $$ = NODE(TENSOR, @$, tensor, $2); }
  | TYPE '[' dims ']' { $$ = NAMED(TENSOR, @$, $1, @1, tensor, $3); }
  | '(' types2 ')' { $$ = NODE(TUPLE_TYPE, @$, tuple_type, $2); }
;

scalar:
    TYPE { $$ = WORD(TYPE, @$, $1); }
;

types2:
    types ',' type { $$ = append(p, $1, $3); }
;

types:
    type { $$ = append(p, (AstList){0}, $1); }
  | types ',' type { $$ = append(p, $1, $3); }
;

dims:
    %empty { $$ = (AstList){0}; }
  | dim { $$ = append(p, (AstList){0}, $1); }
  | dims ',' dim { $$ = append(p, $1, $3); }
;

dim:
    expr
  | '*' { $$ = BARE(STAR, @$); }
;

/* ---- data ---- */

data:
    DATA name formals rows_opt '{' data_items '}'
    { $$ = NAMED(DATA, @$, $2, @2, data, $4, $3, $6); }
;

rows_opt:
    %empty { $$ = NULL; }
  | ROWS expr { $$ = $2; }
;

data_items:
    %empty { $$ = (AstList){0}; }
  | data_items data_item SEP { $$ = append(p, $1, $2); }
  | data_items SEP
  | data_items error SEP { $$ = $1; yyerrok; }
  | data_items error skipped_block SEP { $$ = $1; yyerrok; }
;

/* Braces after an error in a data block: what they hold is not known. */
skipped_block:
    '{' skipped '}'
;

skipped:
    %empty
  | skipped SEP
  | skipped error SEP
  | skipped error skipped_block SEP
;

data_item:
    section
  | split
  | STANDARDIZE names FROM word { $$ = NAMED(STANDARDIZE, @$, $4, @4, standardize, $2); }
;

section:
    word '{' assigns '}' { $$ = NAMED(SECTION, @$, $1, @1, section, $3); }
;

assigns:
    %empty { $$ = (AstList){0}; }
  | assigns name '=' expr SEP
    {
        Ast *target = WORD(NAME, @2, $2);
        $$ = append(p, $1, NODE(ASSIGN, span_join(@2, @4), assign, target, $4, ASSIGN_SET));
    }
  | assigns SEP
  | assigns error SEP { $$ = $1; yyerrok; }
;

split:
    SPLIT word split_body
    { $$ = $3; $$->name = $2; $$->name_span = @2; $$->span = @$; }
;

split_body:
    '{' parts '}' { $$ = NODE(SPLIT, @$, split, $2, false); }
  | IN ORDER '{' parts '}' { $$ = NODE(SPLIT, @$, split, $4, true); }
;

parts:
    part_end { $$ = append(p, (AstList){0}, $1); }
  | error SEP { $$ = (AstList){0}; yyerrok; }
  | parts part_end { $$ = append(p, $1, $2); }
  | parts error SEP { $$ = $1; yyerrok; }
  | parts SEP
;

part_end:
    part ','
  | part SEP
;

part:
    word ':' expr { $$ = NAMED(PART, @$, $1, @1, part, $3); }
;

/* ---- statements ---- */

block:
    '{' stmts '}' { $$ = NODE(BLOCK, @$, block, $2); }
;

stmts:
    %empty { $$ = (AstList){0}; }
  | stmts stmt SEP { $$ = append(p, $1, $2); }
  | stmts SEP
  | stmts error SEP { $$ = append(p, $1, BARE(ERROR, @2)); yyerrok; }
  | stmts error block SEP { $$ = append(p, $1, BARE(ERROR, @2)); yyerrok; }
;

stmt:
    variable
  | SUB name count_opt '=' expr { $$ = NAMED(SUB, @$, $2, @2, model, $3, $5); }
  | expr
  | expr assign_op expr { $$ = NODE(ASSIGN, @$, assign, check_target(p, $1), $3, $2); }
  | FOR pattern IN expr block { $$ = NODE(FOR, @$, loop, $2, $4, $5); }
  | WHILE expr block { $$ = NODE(WHILE, @$, whilst, $2, $3); }
  | BREAK { $$ = BARE(BREAK, @$); }
  | CONTINUE { $$ = BARE(CONTINUE, @$); }
  | EVERY expr block { $$ = NODE(EVERY, @$, every, $2, $3); }
  | YIELD exprs { $$ = NODE(YIELD, @$, yield, $2); }
  | minimize
  | UPDATE expr BY expr WITH expr clip_opt { $$ = NODE(UPDATE, @$, update, $2, $4, $6, $7); }
  | EVAL block { $$ = NODE(EVAL, @$, eval, $2); }
  | PRINT expr { $$ = NODE(PRINT, @$, print, $2); }
  | WRITE expr { $$ = NODE(WRITE, @$, print, $2); }
  | RECORD args { $$ = NODE(RECORD, @$, record, $2); }
  | SAVE exprs TO expr { $$ = NODE(SAVE, @$, store, $4, $2); }
  | LOAD exprs FROM expr { $$ = NODE(LOAD, @$, store, $4, $2); }
  | RESET exprs { $$ = NODE(RESET, @$, reset, $2); }
  | EXPECT expr ',' expr { $$ = NODE(EXPECT, @$, expect, $2, $4); }
;

assign_op:
    '=' { $$ = ASSIGN_SET; }
  | ASSIGN_OP
;

minimize:
    MINIMIZE expr uses clip_opt accumulate_opt
    { $$ = NODE(MINIMIZE, @$, minimize, $2, $4, $5, $3); }
;

uses:
    use { $$ = append(p, (AstList){0}, $1); }
  | uses use { $$ = append(p, $1, $2); }
;

use:
    WITH expr over_opt { $$ = NODE(USE, @$, use, $2, $3); }
;

over_opt:
    %empty { $$ = (AstList){0}; }
  | OVER exprs { $$ = $2; }
;

clip_opt:
    %empty { $$ = NULL; }
  | CLIP expr { $$ = $2; }
;

accumulate_opt:
    %empty { $$ = NULL; }
  | ACCUMULATE expr { $$ = $2; }
;

pattern:
    name { $$ = WORD(NAME, @$, $1); }
  | '(' patterns ')' { $$ = NODE(TUPLE, @$, list, $2); }
;

patterns:
    pattern { $$ = append(p, (AstList){0}, $1); }
  | patterns ',' pattern { $$ = append(p, $1, $3); }
;

/* ---- expressions, loosest first ---- */

expr:
    pipe
  | range
;

range:
    pipe DOTS pipe reverse_opt { $$ = NODE(RANGE, @$, range, $1, $3, false, $4); }
  | pipe DOTS_EQ pipe reverse_opt { $$ = NODE(RANGE, @$, range, $1, $3, true, $4); }
;

reverse_opt:
    %empty { $$ = false; }
  | REVERSE { $$ = true; }
;

pipe:
    or
  | pipe PIPE or { $$ = NODE(PIPE, @$, pipe, $1, $3); }
;

or:
    and
  | or OR and { $$ = NODE(BINARY, @$, binary, $1, $3, BINARY_OR); }
;

and:
    not
  | and AND not { $$ = NODE(BINARY, @$, binary, $1, $3, BINARY_AND); }
;

not:
    compare
  | NOT not { $$ = NODE(UNARY, @$, unary, $2, UNARY_NOT); }
;

compare:
    sum
  | sum EQ sum { $$ = NODE(BINARY, @$, binary, $1, $3, BINARY_EQ); }
  | sum NE sum { $$ = NODE(BINARY, @$, binary, $1, $3, BINARY_NE); }
  | sum '<' sum { $$ = NODE(BINARY, @$, binary, $1, $3, BINARY_LT); }
  | sum LE sum { $$ = NODE(BINARY, @$, binary, $1, $3, BINARY_LE); }
  | sum '>' sum { $$ = NODE(BINARY, @$, binary, $1, $3, BINARY_GT); }
  | sum GE sum { $$ = NODE(BINARY, @$, binary, $1, $3, BINARY_GE); }
;

sum:
    product
  | sum '+' product { $$ = NODE(BINARY, @$, binary, $1, $3, BINARY_ADD); }
  | sum '-' product { $$ = NODE(BINARY, @$, binary, $1, $3, BINARY_SUB); }
;

product:
    unary
  | product '*' unary { $$ = NODE(BINARY, @$, binary, $1, $3, BINARY_MUL); }
  | product '/' unary { $$ = NODE(BINARY, @$, binary, $1, $3, BINARY_DIV); }
  | product FLOORDIV unary { $$ = NODE(BINARY, @$, binary, $1, $3, BINARY_FLOORDIV); }
  | product '%' unary { $$ = NODE(BINARY, @$, binary, $1, $3, BINARY_MOD); }
  | product '@' unary { $$ = NODE(BINARY, @$, binary, $1, $3, BINARY_MATMUL); }
;

unary:
    power
  | '-' unary { $$ = NODE(UNARY, @$, unary, $2, UNARY_NEG); }
  | COPY postfix { $$ = NODE(COPY, @$, copy, $2); }
;

power:
    postfix
  | postfix '^' unary { $$ = NODE(BINARY, @$, binary, $1, $3, BINARY_POW); }
;

postfix:
    primary
  | postfix '(' arg_list ')' { $$ = NODE(CALL, @$, call, $1, $3); }
  | postfix '[' items ']' { $$ = NODE(INDEX, @$, index, $1, $3); }
  | postfix '.' NAME { $$ = NAMED(FIELD, @$, $3, @3, field, $1); }
;

primary:
    NUMBER { $$ = NODE(NUMBER, @$, number, $1.value, $1.integer, $1.is_int); }
  | string
  | TRUE { $$ = NODE(BOOL, @$, boolean, true); }
  | FALSE { $$ = NODE(BOOL, @$, boolean, false); }
  | NONE { $$ = BARE(NONE, @$); }
  | name { $$ = WORD(NAME, @$, $1); }
  | GIVEN { $$ = WORD(NAME, @$, $1); }
  | scalar
  | '(' expr ')' { $$ = $2; $$->span = @$; }
  | '(' expr ',' ')' { $$ = NODE(TUPLE, @$, list, append(p, (AstList){0}, $2)); }
  | '(' exprs2 ')' { $$ = NODE(TUPLE, @$, list, $2); }
  | '(' exprs2 ',' ')' { $$ = NODE(TUPLE, @$, list, $2); }
  | '[' ']' { $$ = BARE(LIST, @$); }
  | '[' exprs ']' { $$ = NODE(LIST, @$, list, $2); }
  | '[' exprs ',' ']' { $$ = NODE(LIST, @$, list, $2); }
  | cond
  | scan
  | name FOR pattern IN expr block
    { $$ = reduction(p, $1, @1, NODE(REDUCE_FOR, @$, reduce, $3, $5, $6, REDUCE_SUM)); }
  | name EACH pattern IN expr block
    { $$ = reduction(p, $1, @1, NODE(SUM_EACH, @$, each, $3, $5, $6)); }
  | EACH pattern IN expr block { $$ = NODE(EACH, @$, each, $2, $4, $5); }
;

exprs:
    expr { $$ = append(p, (AstList){0}, $1); }
  | exprs ',' expr { $$ = append(p, $1, $3); }
;

exprs2:
    expr ',' expr { $$ = append(p, append(p, (AstList){0}, $1), $3); }
  | exprs2 ',' expr { $$ = append(p, $1, $3); }
;

cond:
    IF expr block { $$ = NODE(IF, @$, cond, $2, $3, NULL); }
  | IF expr block ELSE else { $$ = NODE(IF, @$, cond, $2, $3, $5); }
;

else:
    block
  | cond
;

scan:
    SCAN pattern IN pipe axis_opt reverse_opt block
    { $$ = NODE(SCAN, @$, scan, $2, $4, $5, $7, $6); }
  | SCAN pattern IN range block { $$ = NODE(SCAN, @$, scan, $2, $4, NULL, $5, false); }
;

axis_opt:
    %empty { $$ = NULL; }
  | AXIS pipe { $$ = $2; }
;

arg_list:
    %empty { $$ = (AstList){0}; }
  | args
  | args ','
;

args:
    arg { $$ = append(p, (AstList){0}, $1); }
  | args ',' arg { $$ = append(p, $1, $3); }
;

arg:
    item { $$ = NODE(ARG, @$, arg, $1); }
  | name '=' item { $$ = NAMED(ARG, @$, $1, @1, arg, $3); }
  | name '=' '*' { $$ = NAMED(ARG, @$, $1, @1, arg, BARE(STAR, @3)); }
;

items:
    item { $$ = append(p, (AstList){0}, $1); }
  | items ',' item { $$ = append(p, $1, $3); }
;

item:
    expr
  | ELLIPSIS { $$ = BARE(ELLIPSIS, @$); }
  | expr_opt ':' expr_opt { $$ = NODE(SLICE, @$, slice, $1, $3, NULL); }
  | expr_opt ':' expr_opt ':' expr_opt { $$ = NODE(SLICE, @$, slice, $1, $3, $5); }
;

expr_opt:
    %empty { $$ = NULL; }
  | expr
;

string:
    STRING_BEGIN pieces STRING_END { $$ = NODE(STRING, @$, string, $2); }
;

pieces:
    %empty { $$ = (AstList){0}; }
  | pieces PIECE { $$ = append(p, $1, NODE(TEXT, @2, text, $2.text, $2.size)); }
  | pieces hole { $$ = append(p, $1, $2); }
;

hole:
    HOLE_BEGIN expr HOLE_END { $$ = NODE(HOLE, @$, hole, $2, NULL); }
  | HOLE_BEGIN expr FORMAT HOLE_END { $$ = NODE(HOLE, @$, hole, $2, $3); }
;

/* ---- words ---- */

name:
    NAME | OVER | CLIP | ACCUMULATE | AXIS | TO | FROM | BY | ORDER | SPLIT | STANDARDIZE | REVERSE
  | ROWS
;

/* names of sections and splits */
word:
    name
  | reserved
;

reserved:
    TYPE | GIVEN | IMPORT | CONST | OPTION | PARAM | STATE | LET | VAR | FN | LAYER | MODEL | SUB
  | COPY | DATA | OPTIMIZER | SCHEDULE | TASK | EXPORT | FOR | IN | WHILE | IF | ELSE | BREAK
  | CONTINUE | EVERY | SCAN | YIELD | MINIMIZE | UPDATE | WITH | EVAL | PRINT | WRITE | RECORD
  | SAVE | LOAD | RESET | EACH | EXPECT | TRUE | FALSE | NONE | AND | OR | NOT
;

%%

/* The empty place behind s. */
static Span span_end(Span s) {
    return (Span){s.file, s.hi, s.hi};
}

static AstList append(Parse *p, AstList list, Ast *n) {
    vec_push(p->arena, &list, n);
    return list;
}

/* `mean for …`, `sum each …`: n is the node for `sum`; other names change its op or are refused. */
static Ast *reduction(Parse *p, const char *name, Span name_at, Ast *n) {
    bool each = n->kind == AST_SUM_EACH;
    for (int op = REDUCE_MEAN; op <= REDUCE_MIN && !each; op++)
        if (strcmp(name, ast_reduce_text((ReduceOp)op)) == 0) {
            n->reduce.op = (ReduceOp)op;
            return n;
        }
    if (!each)
        diag_error(p->diag, name_at,
                   "expected 'mean', 'sum', 'max' or 'min' before 'for', found '%s'", name);
    else if (strcmp(name, "sum") != 0)
        diag_error(p->diag, name_at, "expected 'sum' before 'each', found '%s'", name);
    return n;
}

static Ast *check_target(Parse *p, Ast *target) {
    AstKind k = target->kind;
    if (k != AST_NAME && k != AST_INDEX && k != AST_FIELD)
        diag_error(p->diag, target->span,
                   "this cannot be assigned to: expected a name, an element or a field");
    return target;
}

/* Two types are no reserved words: a list that is known when compiling (a shape), and a string. */
static const char *check_type(Parse *p, const char *name, Span at) {
    if (strcmp(name, "list") != 0 && strcmp(name, "string") != 0)
        diag_error(p->diag, at, "expected a type, found '%s'", name);
    return name;
}

/* ---- syntax errors --------------------------------------------------------------------------- */

const char *token_name(int token) {
    return yysymbol_name(YYTRANSLATE(token));
}

static int yyreport_syntax_error(const yypcontext_t *context, Parse *p) {
    yysymbol_kind_t expected[YYNTOKENS];
    int n = yypcontext_expected_tokens(context, expected, YYNTOKENS);
    SyntaxError e = {.at = *yypcontext_location(context)};
    for (int token = 0; token < MAX_TOKEN; token++) {
        if (YYTRANSLATE(token) == yypcontext_token(context))
            e.found = token;
        for (int i = 0; i < n; i++)
            e.wants[token] |= YYTRANSLATE(token) == expected[i];
    }
    explain_syntax_error(p, &e);
    return 0;
}

/* Bison calls this only when its stack has reached its limit. */
static void nnerror(const Span *at, Parse *p, const char *message) {
    (void)message;
    diag_error(p->diag, *at, "this is nested too deeply");
}
