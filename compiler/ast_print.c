/* ast_print.c: the syntax tree as canonical .nn text. One statement a line, four spaces a level,
 * only the parentheses that are needed; parsing the text gives an equal tree. */
#include "ast.h"

#include <stdlib.h>
#include <string.h>

/* How tightly an expression binds; one that binds looser than its place asks gets parentheses. */
typedef enum Level {
    LEVEL_ANY, /* ranges, steps of slices: where nothing follows */
    LEVEL_PIPE,
    LEVEL_OR,
    LEVEL_AND,
    LEVEL_NOT,
    LEVEL_COMPARE,
    LEVEL_SUM,
    LEVEL_PRODUCT,
    LEVEL_UNARY,
    LEVEL_POWER,
    LEVEL_POSTFIX
} Level;

typedef struct Printer {
    Text *to;
    int depth;
} Printer;

static void put_expr(Printer *pr, Ast *n, Level least);
static void put_block(Printer *pr, Ast *n);
static void put_line(Printer *pr, Ast *n);

static void put(Printer *pr, const char *s) {
    text_add(pr->to, s);
}

static void put_list(Printer *pr, AstList list, void (*item)(Printer *, Ast *)) {
    for (int i = 0; i < list.n; i++) {
        if (i > 0)
            put(pr, ", ");
        item(pr, list.at[i]);
    }
}

static void put_any(Printer *pr, Ast *n) {
    put_expr(pr, n, LEVEL_ANY);
}

/* before, then the expression; nothing at all when there is none. */
static void put_optional(Printer *pr, const char *before, Ast *n) {
    if (!n)
        return;
    put(pr, before);
    put_any(pr, n);
}

/* ---- leaves ---------------------------------------------------------------------------------- */

static void put_number(Printer *pr, const Ast *n) {
    if (n->number.is_int) {
        text_printf(pr->to, "%lld", (long long)n->number.integer);
        return;
    }
    char *s = NULL;
    for (int digits = 15; digits <= 17; digits++) { /* the fewest that give the number back */
        s = arena_printf(pr->to->arena, "%.*g", digits, n->number.value);
        if (strtod(s, NULL) == n->number.value)
            break;
    }
    put(pr, s);
    if (!strpbrk(s, ".e"))
        put(pr, ".0");
}

static void put_text(Printer *pr, const Ast *n) {
    for (size_t i = 0; i < n->text.size; i++) {
        char c = n->text.text[i];
        switch (c) {
        case '\n': put(pr, "\\n"); break;
        case '\t': put(pr, "\\t"); break;
        case '"': put(pr, "\\\""); break;
        case '\\': put(pr, "\\\\"); break;
        case '{': put(pr, "\\{"); break;
        default: text_addn(pr->to, &c, 1);
        }
    }
}

/* A string is one line, so a block inside a hole would have to be one; its newlines become `;`. */
static void put_hole(Printer *pr, Ast *n) {
    Text t = {.arena = pr->to->arena};
    Printer inner = {&t, 0};
    put_any(&inner, n->hole.value);
    put(pr, "{");
    for (size_t i = 0; i < t.n; i++) {
        bool after_brace = t.at[i] == '\n' && i > 0 && t.at[i - 1] == '{';
        text_add(pr->to, t.at[i] == '\n' ? (after_brace ? " " : "; ") : "");
        if (t.at[i] != '\n')
            text_addn(pr->to, &t.at[i], 1);
    }
    if (n->hole.format)
        text_printf(pr->to, ":%s", n->hole.format);
    put(pr, "}");
}

static void put_string(Printer *pr, Ast *n) {
    put(pr, "\"");
    for (int i = 0; i < n->string.parts.n; i++) {
        Ast *part = n->string.parts.at[i];
        if (part->kind == AST_TEXT)
            put_text(pr, part);
        else
            put_hole(pr, part);
    }
    put(pr, "\"");
}

/* ---- expressions ----------------------------------------------------------------------------- */

static Level binary_level(BinaryOp op) {
    switch (op) {
    case BINARY_OR: return LEVEL_OR;
    case BINARY_AND: return LEVEL_AND;
    case BINARY_ADD:
    case BINARY_SUB: return LEVEL_SUM;
    case BINARY_POW: return LEVEL_POWER;
    default: return op <= BINARY_GE ? LEVEL_COMPARE : LEVEL_PRODUCT;
    }
}

static Level level_of(const Ast *n) {
    switch (n->kind) {
    case AST_RANGE: return LEVEL_ANY;
    case AST_PIPE: return LEVEL_PIPE;
    case AST_UNARY: return n->unary.op == UNARY_NOT ? LEVEL_NOT : LEVEL_UNARY;
    case AST_COPY: return LEVEL_UNARY;
    case AST_BINARY: return binary_level(n->binary.op);
    default: return LEVEL_POSTFIX;
    }
}

static void put_binary(Printer *pr, Ast *n) {
    BinaryOp op = n->binary.op;
    Level level = binary_level(op), left = level, right = level + 1;
    if (level == LEVEL_COMPARE) /* they do not chain */
        left = LEVEL_SUM;
    if (op == BINARY_POW) {
        left = LEVEL_POSTFIX;
        right = LEVEL_UNARY;
    }
    put_expr(pr, n->binary.left, left);
    text_printf(pr->to, op == BINARY_POW ? "%s" : " %s ", ast_binary_text(op));
    put_expr(pr, n->binary.right, right);
}

static void put_unary(Printer *pr, Ast *n) {
    bool negation = n->unary.op == UNARY_NEG;
    put(pr, negation ? "-" : "not ");
    put_expr(pr, n->unary.x, negation ? LEVEL_UNARY : LEVEL_NOT);
}

static void put_tuple(Printer *pr, Ast *n) {
    put(pr, "(");
    put_list(pr, n->list.items, put_any);
    put(pr, n->list.items.n == 1 ? ",)" : ")");
}

/* A pattern of one name in parentheses has no comma. */
static void put_pattern(Printer *pr, Ast *n) {
    if (n->kind == AST_NAME) {
        put(pr, n->name);
        return;
    }
    put(pr, "(");
    put_list(pr, n->list.items, put_pattern);
    put(pr, ")");
}

static void put_arg(Printer *pr, Ast *n) {
    if (n->name)
        text_printf(pr->to, "%s=", n->name);
    put_any(pr, n->arg.value);
}

static void put_if(Printer *pr, Ast *n) {
    put_optional(pr, "if ", n->cond.cond);
    put(pr, " ");
    put_block(pr, n->cond.then);
    if (!n->cond.other)
        return;
    put(pr, " else ");
    if (n->cond.other->kind == AST_IF)
        put_if(pr, n->cond.other);
    else
        put_block(pr, n->cond.other);
}

static void put_range(Printer *pr, Ast *n) {
    put_expr(pr, n->range.lo, LEVEL_PIPE);
    put(pr, n->range.inclusive ? "..=" : "..");
    put_expr(pr, n->range.hi, LEVEL_PIPE);
    if (n->range.reverse)
        put(pr, " reverse");
}

static void put_slice(Printer *pr, Ast *n) {
    put_optional(pr, "", n->slice.lo);
    put(pr, ":");
    put_optional(pr, "", n->slice.hi);
    put_optional(pr, ":", n->slice.step);
}

/* `for` and its kin: head, pattern, "in", what is walked over. */
static void put_walk(Printer *pr, const char *head, Ast *pattern, Ast *iter) {
    text_printf(pr->to, "%s ", head);
    put_pattern(pr, pattern);
    put_optional(pr, " in ", iter);
}

static void put_scan(Printer *pr, Ast *n) {
    put_walk(pr, "scan", n->scan.pattern, n->scan.iter);
    put_optional(pr, " axis ", n->scan.axis);
    put(pr, n->scan.reverse ? " reverse " : " ");
    put_block(pr, n->scan.body);
}

static void put_reduction(Printer *pr, Ast *n) {
    if (n->kind == AST_REDUCE_FOR) {
        text_printf(pr->to, "%s ", ast_reduce_text(n->reduce.op));
        put_walk(pr, "for", n->reduce.pattern, n->reduce.iter);
        put(pr, " ");
        put_block(pr, n->reduce.body);
        return;
    }
    put_walk(pr, n->kind == AST_EACH ? "each" : "sum each", n->each.pattern, n->each.iter);
    put(pr, " ");
    put_block(pr, n->each.body);
}

static void put_after(Printer *pr, Ast *base, const char *open, AstList items,
                      void (*item)(Printer *, Ast *), const char *close) {
    put_expr(pr, base, LEVEL_POSTFIX);
    put(pr, open);
    put_list(pr, items, item);
    put(pr, close);
}

/* A number would run into the dot. */
static void put_field(Printer *pr, Ast *n) {
    bool number = n->field.base->kind == AST_NUMBER;
    put(pr, number ? "(" : "");
    put_expr(pr, n->field.base, LEVEL_POSTFIX);
    text_printf(pr->to, number ? ").%s" : ".%s", n->name);
}

static void put_inside(Printer *pr, Ast *n) {
    switch (n->kind) {
    case AST_NUMBER: put_number(pr, n); break;
    case AST_STRING: put_string(pr, n); break;
    case AST_BOOL: put(pr, n->boolean.value ? "true" : "false"); break;
    case AST_NONE: put(pr, "none"); break;
    case AST_STAR: put(pr, "*"); break;
    case AST_ELLIPSIS: put(pr, "..."); break;
    case AST_NAME:
    case AST_TYPE: put(pr, n->name); break;
    case AST_UNARY: put_unary(pr, n); break;
    case AST_BINARY: put_binary(pr, n); break;
    case AST_PIPE:
        put_expr(pr, n->pipe.left, LEVEL_PIPE);
        put(pr, " |> ");
        put_expr(pr, n->pipe.right, LEVEL_OR);
        break;
    case AST_COPY:
        put(pr, "copy ");
        put_expr(pr, n->copy.x, LEVEL_POSTFIX);
        break;
    case AST_CALL: put_after(pr, n->call.callee, "(", n->call.args, put_arg, ")"); break;
    case AST_INDEX: put_after(pr, n->index.base, "[", n->index.items, put_any, "]"); break;
    case AST_FIELD: put_field(pr, n); break;
    case AST_SLICE: put_slice(pr, n); break;
    case AST_RANGE: put_range(pr, n); break;
    case AST_TUPLE: put_tuple(pr, n); break;
    case AST_LIST:
        put(pr, "[");
        put_list(pr, n->list.items, put_any);
        put(pr, "]");
        break;
    case AST_IF: put_if(pr, n); break;
    case AST_SCAN: put_scan(pr, n); break;
    case AST_REDUCE_FOR:
    case AST_SUM_EACH:
    case AST_EACH: put_reduction(pr, n); break;
    default: bug("no expression: %s", ast_kind_name(n->kind));
    }
}

static void put_expr(Printer *pr, Ast *n, Level least) {
    bool parentheses = level_of(n) < least;
    put(pr, parentheses ? "(" : "");
    put_inside(pr, n);
    put(pr, parentheses ? ")" : "");
}

/* ---- types and formals ----------------------------------------------------------------------- */

static void put_type(Printer *pr, Ast *n) {
    switch (n->kind) {
    case AST_TYPE: put(pr, n->name); break;
    case AST_TENSOR:
        put(pr, n->name ? n->name : "");
        put(pr, "[");
        put_list(pr, n->tensor.dims, put_any);
        put(pr, "]");
        break;
    case AST_TUPLE_TYPE:
        put(pr, "(");
        put_list(pr, n->tuple_type.items, put_type);
        put(pr, ")");
        break;
    default: bug("no type: %s", ast_kind_name(n->kind));
    }
}

static void put_type_after(Printer *pr, const char *before, Ast *type) {
    if (!type)
        return;
    put(pr, before);
    put_type(pr, type);
}

static void put_formal(Printer *pr, Ast *n) {
    put(pr, n->name);
    put_type_after(pr, ": ", n->formal.type);
    put_optional(pr, " = ", n->formal.value);
}

static void put_formals(Printer *pr, AstList formals) {
    put(pr, "(");
    put_list(pr, formals, put_formal);
    put(pr, ")");
}

/* ---- declarations ---------------------------------------------------------------------------- */

static void put_body(Printer *pr, Ast *body) {
    if (body->kind == AST_BLOCK) {
        put(pr, " ");
        put_block(pr, body);
    } else {
        put_optional(pr, " = ", body);
    }
}

static void put_function(Printer *pr, const char *head, Ast *n) {
    text_printf(pr->to, "%s %s", head, n->name);
    put_formals(pr, n->fn.formals);
    put_type_after(pr, " -> ", n->fn.result);
    put_optional(pr, " from ", n->fn.from);
    put_body(pr, n->fn.body);
}

static void put_rule(Printer *pr, const char *head, Ast *n) {
    text_printf(pr->to, "%s %s", head, n->name);
    put_formals(pr, n->rule.formals);
    put_formals(pr, n->rule.inner);
    put_body(pr, n->rule.body);
}

static void put_model(Printer *pr, const char *head, Ast *n) {
    text_printf(pr->to, "%s %s", head, n->name);
    put_optional(pr, "[", n->model.count);
    put(pr, n->model.count ? "]" : "");
    put_optional(pr, " = ", n->model.value);
}

static void put_param(Printer *pr, const char *head, Ast *n) {
    text_printf(pr->to, "%s ", head);
    put_list(pr, n->param.names, put_any);
    put_type_after(pr, ": ", n->param.type);
    put_optional(pr, " = ", n->param.init);
}

static void put_let(Printer *pr, const char *head, Ast *n) {
    text_printf(pr->to, "%s ", head);
    put_pattern(pr, n->let.pattern);
    put_type_after(pr, ": ", n->let.type);
    put_optional(pr, " = ", n->let.value);
}

static void put_lines(Printer *pr, AstList lines) {
    put(pr, "{\n");
    pr->depth++;
    for (int i = 0; i < lines.n; i++)
        put_line(pr, lines.at[i]);
    pr->depth--;
    text_printf(pr->to, "%*s}", 4 * pr->depth, "");
}

static void put_block(Printer *pr, Ast *n) {
    put_lines(pr, n->block.stmts);
}

static void put_part(Printer *pr, Ast *n) {
    text_printf(pr->to, "%s: ", n->name);
    put_any(pr, n->part.value);
}

static void put_data_item(Printer *pr, Ast *n) {
    if (n->kind == AST_SECTION) {
        text_printf(pr->to, "%s ", n->name);
        put_lines(pr, n->section.assigns);
    } else if (n->kind == AST_SPLIT) {
        text_printf(pr->to, "split %s%s { ", n->name, n->split.in_order ? " in order" : "");
        put_list(pr, n->split.parts, put_part);
        put(pr, " }");
    } else {
        put(pr, "standardize ");
        put_list(pr, n->standardize.fields, put_any);
        text_printf(pr->to, " from %s", n->name);
    }
}

static void put_data(Printer *pr, Ast *n) {
    text_printf(pr->to, "data %s", n->name);
    put_formals(pr, n->data.fields);
    put_optional(pr, " rows ", n->data.rows);
    put(pr, " ");
    put_lines(pr, n->data.items);
}

static bool put_declaration(Printer *pr, Ast *n) {
    switch (n->kind) {
    case AST_IMPORT: put_optional(pr, "import ", n->import.path); return true;
    case AST_CONST:
        text_printf(pr->to, "const %s", n->name);
        put_optional(pr, " = ", n->constant.value);
        return true;
    case AST_OPTION:
        text_printf(pr->to, "option %s", n->name);
        put_optional(pr, " = ", n->option.value);
        put_optional(pr, " ", n->option.help);
        return true;
    case AST_PARAM: put_param(pr, "param", n); return true;
    case AST_STATE: put_param(pr, "state", n); return true;
    case AST_LET: put_let(pr, "let", n); return true;
    case AST_VAR: put_let(pr, "var", n); return true;
    case AST_FN: put_function(pr, "fn", n); return true;
    case AST_LAYER: put_function(pr, "layer", n); return true;
    case AST_EXPORT: put_function(pr, "export fn", n); return true;
    case AST_MODEL: put_model(pr, "model", n); return true;
    case AST_SUB: put_model(pr, "sub", n); return true;
    case AST_OPTIMIZER: put_rule(pr, "optimizer", n); return true;
    case AST_SCHEDULE: put_rule(pr, "schedule", n); return true;
    case AST_DATA: put_data(pr, n); return true;
    case AST_SECTION:
    case AST_SPLIT:
    case AST_STANDARDIZE: put_data_item(pr, n); return true;
    case AST_TASK:
        text_printf(pr->to, "task %s ", n->name);
        put_block(pr, n->task.body);
        return true;
    default: return false;
    }
}

/* ---- statements ------------------------------------------------------------------------------ */

static void put_minimize(Printer *pr, Ast *n) {
    put_optional(pr, "minimize ", n->minimize.loss);
    for (int i = 0; i < n->minimize.uses.n; i++) {
        Ast *use = n->minimize.uses.at[i];
        put_optional(pr, " with ", use->use.optimizer);
        put(pr, use->use.targets.n ? " over " : "");
        put_list(pr, use->use.targets, put_any);
    }
    put_optional(pr, " clip ", n->minimize.clip);
    put_optional(pr, " accumulate ", n->minimize.accumulate);
}

static void put_words(Printer *pr, const char *head, AstList items, const char *tail, Ast *last) {
    put(pr, head);
    put_list(pr, items, put_any);
    put_optional(pr, tail, last);
}

/* head, expression, block */
static void put_nested(Printer *pr, const char *head, Ast *x, Ast *body) {
    put_optional(pr, head, x);
    put(pr, " ");
    put_block(pr, body);
}

static void put_for(Printer *pr, Ast *n) {
    put_walk(pr, "for", n->loop.pattern, n->loop.iter);
    put(pr, " ");
    put_block(pr, n->loop.body);
}

static void put_two(Printer *pr, const char *head, Ast *x, const char *between, Ast *y) {
    put_optional(pr, head, x);
    put_optional(pr, between, y);
}

static void put_update(Printer *pr, Ast *n) {
    put_two(pr, "update ", n->update.target, " by ", n->update.by);
    put_two(pr, " with ", n->update.with, " clip ", n->update.clip);
}

static void put_statement(Printer *pr, Ast *n) {
    switch (n->kind) {
    case AST_ASSIGN:
        put_any(pr, n->assign.target);
        text_printf(pr->to, " %s ", ast_assign_text(n->assign.op));
        put_any(pr, n->assign.value);
        break;
    case AST_FOR: put_for(pr, n); break;
    case AST_WHILE: put_nested(pr, "while ", n->whilst.cond, n->whilst.body); break;
    case AST_EVERY: put_nested(pr, "every ", n->every.n, n->every.body); break;
    case AST_EVAL:
        put(pr, "eval ");
        put_block(pr, n->eval.body);
        break;
    case AST_BREAK: put(pr, "break"); break;
    case AST_CONTINUE: put(pr, "continue"); break;
    case AST_YIELD: put_words(pr, "yield ", n->yield.values, "", NULL); break;
    case AST_MINIMIZE: put_minimize(pr, n); break;
    case AST_UPDATE: put_update(pr, n); break;
    case AST_PRINT: put_optional(pr, "print ", n->print.value); break;
    case AST_WRITE: put_optional(pr, "write ", n->print.value); break;
    case AST_RECORD:
        put(pr, "record ");
        put_list(pr, n->record.args, put_arg);
        break;
    case AST_SAVE: put_words(pr, "save ", n->store.items, " to ", n->store.path); break;
    case AST_LOAD: put_words(pr, "load ", n->store.items, " from ", n->store.path); break;
    case AST_RESET: put_words(pr, "reset ", n->reset.items, "", NULL); break;
    case AST_EXPECT: put_two(pr, "expect ", n->expect.cond, ", ", n->expect.text); break;
    case AST_ERROR: put(pr, "# an error"); break;
    default: put_any(pr, n);
    }
}

static void put_line(Printer *pr, Ast *n) {
    text_printf(pr->to, "%*s", 4 * pr->depth, "");
    if (!put_declaration(pr, n))
        put_statement(pr, n);
    put(pr, "\n");
}

void ast_print(Text *to, Ast *n) {
    Printer pr = {to, 0};
    if (n->kind != AST_FILE) {
        if (n->kind == AST_BLOCK)
            put_block(&pr, n);
        else if (!put_declaration(&pr, n))
            put_statement(&pr, n);
        return;
    }
    text_add(to, "");
    for (int i = 0; i < n->file.decls.n; i++)
        put_line(&pr, n->file.decls.at[i]);
}
