/* emit_expr.c: host expressions and formats as C. Numbers keep the language's rules: // and %
 * floor. */
#include "emit_c.h"
#include <string.h>

/* Whole numbers, where that is more than the text of the op's row. %w: the place in quotes,
 * %s: the word of a statement. */
static const struct {
    Op op;
    const char *form;
} whole_forms[] = {
    {OP_floordiv, "nn_floordiv(nn, %0, %1, %w)"},
    {OP_mod, "nn_mod(nn, %0, %1, %w)"},
    {OP_abs, "(%0 < 0 ? -%0 : %0)"},
    {OP_sign, "((%0 > 0) - (%0 < 0))"},
    {OP_minimum, "(%0 <= %1 ? %0 : %1)"},
    {OP_maximum, "(%0 >= %1 ? %0 : %1)"},
};

/* The same where the result may not fit. */
static const struct {
    Op op;
    const char *form;
} checked_forms[] = {
    {OP_add, "nn_add(nn, %0, %1, %w)"},
    {OP_sub, "nn_sub(nn, %0, %1, %w)"},
    {OP_mul, "nn_mul(nn, %0, %1, %w)"},
    {OP_neg, "nn_sub(nn, 0, %0, %w)"},
    {OP_abs, "(%0 < 0 ? nn_sub(nn, 0, %0, %w) : %0)"},
};

static const char *form_of(const HExpr *h) {
    if (h->op == OP_mod && h->s)
        return "nn_turn(nn, %0, %1, %s, %w)";
    if (h->op == OP_abs && h->s)
        return "nn_positive(nn, %0, %s, %w)";
    for (int i = 0; i < COUNT_OF(checked_forms) && host_may_overflow(h); i++)
        if (checked_forms[i].op == h->op)
            return checked_forms[i].form;
    for (int i = 0; i < COUNT_OF(whole_forms) && h->args[0]->type != HT_REAL; i++)
        if (whole_forms[i].op == h->op)
            return whole_forms[i].form;
    const OpInfo *info = &op_info[h->op];
    return info->form64 ? info->form64 : info->form;
}

static const char *fill_form(CEmit *x, const HExpr *h, const char *form) {
    const char *args[3] = {0};
    for (int i = 0; i < h->nargs; i++)
        args[i] = c_expr(x, h->args[i]);
    Text t = {.arena = x->arena};
    for (; *form; form++) {
        if (*form != '%')
            text_addn(&t, form, 1);
        else if (*++form == 'w')
            text_add(&t, emit_string(x->arena, c_where(x, h->span)));
        else if (*form == 's')
            text_add(&t, emit_string(x->arena, h->s));
        else
            text_add(&t, args[*form - '0']);
    }
    return t.at;
}

static const char *cast_text(CEmit *x, const HExpr *h) {
    const char *arg = c_expr(x, h->args[0]);
    HType from = h->args[0]->type;
    if (from == h->type)
        return arg;
    if (h->type == HT_REAL)
        return arena_printf(x->arena, "(double)%s", arg);
    if (h->type == HT_BOOL)
        return arena_printf(x->arena, "(%s != 0)", arg);
    return arena_printf(x->arena, from == HT_REAL ? "nn_int(%s)" : "(int64_t)%s", arg);
}

static const char *op_text(CEmit *x, const HExpr *h) {
    if (h->op == OP_cast)
        return cast_text(x, h);
    if (h->op == OP_where)
        return fill_form(x, h, "(%0 ? %1 : %2)");
    if (h->args[0]->type == HT_STRING && (h->op == OP_eq || h->op == OP_ne))
        return fill_form(x, h, h->op == OP_eq ? "(strcmp(%0, %1) == 0)" : "(strcmp(%0, %1) != 0)");
    return fill_form(x, h, form_of(h));
}

static const char *integer_text(CEmit *x, int64_t i) {
    if (i == INT64_MIN)
        return "INT64_MIN";
    const char *suffix = i > INT32_MAX || i < -INT32_MAX ? "LL" : "";
    return arena_printf(x->arena, i < 0 ? "(%lld%s)" : "%lld%s", (long long)i, suffix);
}

static const char *signed_double(CEmit *x, double f) {
    const char *s = emit_double(x->arena, f);
    return s[0] == '-' ? arena_printf(x->arena, "(%s)", s) : s;
}

static const char *const_text(CEmit *x, const HExpr *h) {
    switch (h->type) {
    case HT_INT:
        return integer_text(x, h->i);
    case HT_REAL:
        return signed_double(x, h->f);
    case HT_BOOL:
        return h->i ? "true" : "false";
    case HT_STRING:
        return emit_string(x->arena, h->s);
    }
    bug("emit: constant of type %d", (int)h->type);
}

/* A scalar that a region left behind, in the type the host has it in. */
static const char *as_host(CEmit *x, HType type, const char *at) {
    if (type == HT_BOOL)
        return arena_printf(x->arena, "(%s != 0)", at);
    return arena_printf(x->arena, type == HT_REAL ? "(double)%s" : "(int64_t)%s", at);
}

static const char *node_text(CEmit *x, const Node *n) {
    if (n->op == OP_constant)
        return signed_double(x, n->attr.constant.data ? n->attr.constant.data[0]
                                                      : n->attr.constant.value);
    if (n->op == OP_scalar)
        return arena_printf(x->arena, "nn->scalars.%s", n->attr.scalar->name);
    if (n->op == OP_count)
        return arena_printf(x->arena, "nn->counts.%s", n->attr.count->name);
    return arena_printf(x->arena, "%s[0]", c_at(x, "at", c_node_buffer(x, n)));
}

const char *c_expr(CEmit *x, const HExpr *h) {
    switch (h->kind) {
    case HX_CONST:
        return const_text(x, h);
    case HX_OPTION:
        return arena_printf(x->arena, "nn->options.%s", emit_name(x->arena, h->option->name));
    case HX_VAR:
        return arena_printf(x->arena, "nn->vars.%s", emit_name(x->arena, h->var->name));
    case HX_NODE:
        return as_host(x, h->type, node_text(x, h->node));
    case HX_HOME:
        return as_host(x, h->type,
                       arena_printf(x->arena, "%s[0]", c_at(x, "at", c_home_buffer(x, h->home))));
    case HX_ROWS:
        return arena_printf(x->arena, "nn->rows[%s].count", c_split_name(x, h->split));
    case HX_OP:
        return op_text(x, h);
    case HX_FORMAT: /* put into nn->text by the statement that uses it */
        return "nn->text.text";
    }
    bug("emit: host expression of kind %d", (int)h->kind);
}

const char *c_condition(CEmit *x, const HExpr *h) {
    const char *s = c_expr(x, h);
    size_t n = strlen(s);
    if (s[0] != '(')
        return s;
    int depth = 0;
    for (size_t i = 0; i < n; i++) {
        depth += s[i] == '(' ? 1 : s[i] == ')' ? -1 : 0;
        if (depth == 0 && i + 1 < n)
            return s;
    }
    return arena_strndup(x->arena, s + 1, n - 2);
}

/* ---- text ---- */

static const char *format_text(CEmit *x, const char *format) {
    return format ? emit_string(x->arena, format) : "NULL";
}

static void put_value(CEmit *x, const HExpr *h, const char *format) {
    const char *value = c_condition(x, h), *f = format_text(x, format);
    switch (h->type) {
    case HT_INT:
        emit_line(&x->e, "rt_print_int(&nn->text, %s, %s);", value, f);
        return;
    case HT_REAL: {
        bool single = (h->kind == HX_NODE && h->node->dtype == DT_F32) ||
                      (h->kind == HX_HOME && h->home->dtype == DT_F32);
        emit_line(&x->e, "rt_print_real(&nn->text, %s, %s, %s);", value, single ? "true" : "false",
                  f);
        return;
    }
    case HT_BOOL:
        emit_line(&x->e, "rt_print_bool(&nn->text, %s, %s);", value, f);
        return;
    case HT_STRING:
        emit_line(&x->e, "rt_print_text(&nn->text, %s, %s);", value, f);
        return;
    }
}

void c_emit_put(CEmit *x, const HExpr *h, const char *format) {
    if (h->kind == HX_FORMAT)
        c_emit_format(x, h->format, "");
    else
        put_value(x, h, format);
}

static void put_literal(CEmit *x, const char *text) {
    if (*text)
        emit_line(&x->e, "rt_puts(&nn->text, %s);", emit_string(x->arena, text));
}

void c_emit_format(CEmit *x, const Format *f, const char *after) {
    const char *literal = "";
    for (int i = 0; f && i < f->n; i++) {
        const TextPart *part = &f->parts[i];
        if (!part->value && !part->tensor) {
            literal = arena_printf(x->arena, "%s%s", literal, part->text ? part->text : "");
            continue;
        }
        put_literal(x, literal);
        literal = "";
        if (part->tensor)
            emit_line(&x->e, "nn_put_tensor(nn, %s, %s);",
                      c_buffer_value(x, c_node_buffer(x, part->tensor)),
                      format_text(x, part->format));
        else
            c_emit_put(x, part->value, part->format);
    }
    put_literal(x, arena_printf(x->arena, "%s%s", literal, after));
}
