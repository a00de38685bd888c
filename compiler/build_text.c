/* build_text.c: strings with holes, print, write, record, save, load, expect. */
#include "build_call.h"
#include "build_host.h"
#include "build_stmt.h"

/* ---- format specifications (ruling D1) ---- */

typedef enum Shown { SHOWN_INT, SHOWN_REAL, SHOWN_BOOL, SHOWN_STRING } Shown;

static bool spec_ok(const char *f) {
    if (f[0] && f[1] && strchr("<>^", f[1]))
        f += 2;
    else if (*f && strchr("<>^", *f))
        f++;
    if (*f && strchr("+- ", *f))
        f++;
    while (*f >= '0' && *f <= '9')
        f++;
    if (*f == ',')
        f++;
    if (*f == '.') {
        f++;
        if (*f < '0' || *f > '9')
            return false;
        while (*f >= '0' && *f <= '9')
            f++;
    }
    return !*f || (strchr("defgs%", *f) && !f[1]);
}

static bool check_spec(Build *b, const char *spec, Shown shown, Span at) {
    if (!spec)
        return true;
    size_t n = strlen(spec);
    if (!n || !spec_ok(spec)) {
        build_error(
            b, at,
            "bad format '%s': expected [[fill]align][sign][0][width][,][.digits][d e f g %% s]",
            spec);
        return false;
    }
    char last = spec[n - 1];
    if (last == 'd' && shown == SHOWN_REAL) {
        build_error(b, at, "format '%s' is for integers, this is a real number", spec);
        return false;
    }
    bool number = strchr("defg%", last) != NULL;
    if (number && shown == SHOWN_STRING) {
        build_error(b, at, "format '%s' is for numbers, this is text", spec);
        return false;
    }
    return true;
}

static Shown shown_as(HType t) {
    return t == HT_INT    ? SHOWN_INT
           : t == HT_REAL ? SHOWN_REAL
           : t == HT_BOOL ? SHOWN_BOOL
                          : SHOWN_STRING;
}

/* ---- strings ---- */

static bool hole_part(Build *b, Value v, const Ast *hole, TextPart *out) {
    Span at = hole->span;
    if (v.kind == V_POISON)
        return false;
    out->format = hole->hole.format;
    if (v.kind == V_LIST && !(v = value_node(value_to_node(b, v, DT_N, at))).node)
        return false;
    if (v.kind == V_TENSOR && v.node->shape.rank) {
        out->tensor = v.node;
        region_output(b, out->tensor);
        return check_spec(b, out->format, dtype_is_real(v.node->dtype) ? SHOWN_REAL : SHOWN_INT,
                          at);
    }
    out->value = value_to_host(b, v, at);
    return out->value && check_spec(b, out->format, shown_as(out->value->type), at);
}

/* Known parts become text now. */
static bool fold_part(Build *b, Value v, const Ast *hole, Text *text) {
    if (hole->hole.format)
        return false;
    if (v.kind == V_STRING)
        text_add(text, v.string);
    else if (v.kind == V_NUMBER && v.num.is_int && !v.num.count)
        text_printf(text, "%lld", (long long)v.num.i);
    else if (v.kind == V_BOOL)
        text_add(text, v.boolean ? "true" : "false");
    else
        return false;
    (void)b;
    return true;
}

static void flush_text(Build *b, Text *text, TextPart *parts, int *n) {
    if (!text->n)
        return;
    parts[*n] = (TextPart){.text = text->at};
    ++*n;
    *text = (Text){.arena = b->arena};
}

Value build_string(Build *b, Env *env, Ast *e) {
    const AstList *list = &e->string.parts;
    Format *f = NEW(b->arena, Format);
    f->parts = NEW_ARRAY(b->arena, TextPart, 2 * list->n + 2);
    Text text = {.arena = b->arena};
    bool ok = true;
    for (int i = 0; i < list->n; i++) {
        Ast *p = list->at[i];
        if (p->kind == AST_TEXT) {
            text_addn(&text, p->text.text, p->text.size);
            continue;
        }
        Value v = build_expr(b, env, p->hole.value);
        if (fold_part(b, v, p, &text))
            continue;
        flush_text(b, &text, f->parts, &f->n);
        ok = hole_part(b, v, p, &f->parts[f->n++]) && ok;
    }
    if (!ok)
        return value_poison;
    if (!f->n)
        return value_string(intern_str(b->c->names, text.n ? text.at : ""));
    flush_text(b, &text, f->parts, &f->n);
    if (!b->task) {
        build_error(b, e->span, "text with values that are known at run time belongs into a task");
        return value_poison;
    }
    return value_host(host_format(b, f));
}

/* The text a statement prints: a string's parts, or one value. */
static Format *format_of(Build *b, Env *env, Ast *e) {
    Value v = build_expr(b, env, e);
    if (v.kind == V_POISON)
        return NULL;
    if (v.kind == V_HOST && v.host->kind == HX_FORMAT)
        return v.host->format;
    Format *f = NEW(b->arena, Format);
    f->n = 1;
    f->parts = NEW(b->arena, TextPart);
    if (v.kind == V_STRING) {
        f->parts[0].text = v.string;
        return f;
    }
    Ast hole = {.kind = AST_HOLE, .span = e->span};
    return hole_part(b, v, &hole, &f->parts[0]) ? f : NULL;
}

void build_print(Build *b, Env *env, Ast *s) {
    Format *f = format_of(b, env, s->print.value);
    if (!f)
        return;
    HStmt *st = host_stmt(b, HS_PRINT, s->span);
    st->format = f;
    st->newline = s->kind == AST_PRINT;
}

static const char *record_name(Build *b, const Ast *arg) {
    if (arg->name)
        return arg->name;
    if (arg->arg.value->kind == AST_NAME)
        return arg->arg.value->name;
    build_error(b, arg->span, "record needs a name for this: record name=value");
    return NULL;
}

void build_record(Build *b, Env *env, Ast *s) {
    Format *f = NEW(b->arena, Format);
    f->parts = NEW_ARRAY(b->arena, TextPart, s->record.args.n + 1);
    bool ok = true;
    for (int i = 0; i < s->record.args.n; i++) {
        Ast *a = s->record.args.at[i];
        const char *name = record_name(b, a);
        Value v = name ? build_expr(b, env, a->arg.value) : value_poison;
        HExpr *h = v.kind == V_POISON ? NULL : value_to_host(b, v, a->span);
        f->parts[f->n++] = (TextPart){.text = name, .value = h};
        ok = ok && h;
    }
    if (ok)
        host_stmt(b, HS_RECORD, s->span)->format = f;
}

/* ---- save, load ---- */

static bool store_item(Build *b, Env *env, Ast *item, StoreItem *out) {
    Value v = build_expr(b, env, item);
    *out = (StoreItem){.at = item->span};
    if (v.kind == V_MODEL)
        out->model = v.model;
    Home *h = v.kind == V_TENSOR ? home_of_version(b, v.node) : NULL;
    if (h && (h->kind == HOME_PARAM || h->kind == HOME_STATE))
        out->home = h;
    if (out->model || out->home)
        return true;
    if (v.kind != V_POISON)
        build_error(b, item->span, "models and parameters can be saved and loaded, found %s",
                    value_text(b, v));
    return false;
}

static void item_homes(Build *b, const StoreItem *item, ParamSet *out) {
    if (item->model) {
        instance_params(b, item->model, true, out);
        return;
    }
    out->homes = NEW(b->arena, Home *);
    out->homes[0] = item->home;
    out->n = 1;
}

/* One statement saves all; each item is loaded by its own, for the keys outside of it are those of
 * others. */
void build_save_load(Build *b, Env *env, Ast *s) {
    bool save = s->kind == AST_SAVE;
    Ast *path = s->store.path;
    int n = s->store.items.n;
    StoreItem *items = NEW_ARRAY(b->arena, StoreItem, n + 1);
    bool ok = true;
    for (int i = 0; i < n; i++)
        ok = store_item(b, env, s->store.items.at[i], &items[i]) && ok;
    Value v = build_expr(b, env, path);
    HExpr *p = v.kind == V_POISON ? NULL : value_to_host(b, v, path->span);
    if (p && p->type != HT_STRING)
        build_error(b, path->span, "a path is text, found %s", value_text(b, v));
    if (!ok || !p || p->type != HT_STRING)
        return;
    HStmt *st = NULL;
    for (int i = 0; i < n; i++) {
        if (!st || !save) {
            st = host_stmt(b, save ? HS_SAVE : HS_LOAD, s->span);
            st->value = p;
        }
        items[i].stmt = st;
        vec_push(b->arena, &b->stores, items[i]);
        ParamSet set = {0};
        item_homes(b, &items[i], &set);
        for (int k = 0; !save && k < set.n; k++)
            home_changed(b, set.homes[k], s->span);
    }
}

static bool stands_in(Home *const *homes, int n, const Home *h) {
    for (int i = 0; i < n; i++)
        if (homes[i] == h)
            return true;
    return false;
}

/* Gives every save and load its homes: a model may get its sizes below the statement. */
void build_stores_finish(Build *b) {
    for (int i = 0; i < b->stores.n; i++) {
        const StoreItem *item = &b->stores.at[i];
        HStmt *st = item->stmt;
        ParamSet set = {0};
        item_homes(b, item, &set);
        if (!set.n && !diag_errors(b->diag)) /* else what uses it may have failed */
            build_error(b, item->at, "'%s' has no parameters: nothing uses it", item->model->name);
        Home **homes = NEW_ARRAY(b->arena, Home *, st->nhomes + set.n + 1);
        if (st->nhomes)
            memcpy(homes, st->homes, sizeof *homes * (size_t)st->nhomes);
        for (int k = 0; k < set.n; k++) {
            if (stands_in(homes, st->nhomes, set.homes[k])) {
                build_error(b, item->at, "'%s' is saved twice by this statement",
                            set.homes[k]->path);
                break;
            }
            homes[st->nhomes++] = set.homes[k];
            if (st->kind == HS_LOAD)
                home_reached(b, set.homes[k]);
        }
        st->homes = homes;
        st->prefix = item->model ? item->model->path : item->home->path;
    }
}

/* ---- expect ---- */

void build_expect(Build *b, Env *env, Ast *s) {
    Ast *c = s->expect.cond;
    HExpr *left = NULL, *right = NULL;
    HExpr *cond;
    bool compares = c->kind == AST_BINARY && c->binary.op >= BINARY_EQ && c->binary.op <= BINARY_GE;
    if (compares) {
        static const Op ops[] = {[BINARY_EQ] = OP_eq, [BINARY_NE] = OP_ne, [BINARY_LT] = OP_lt,
                                 [BINARY_LE] = OP_le, [BINARY_GT] = OP_lt, [BINARY_GE] = OP_le};
        Value x = build_expr(b, env, c->binary.left), y = build_expr(b, env, c->binary.right);
        if (x.kind == V_POISON || y.kind == V_POISON)
            return;
        if (!value_is_scalar(x) || !value_is_scalar(y)) {
            value_to_condition(b, value_binary(b, ops[c->binary.op], x, y, c->span), "expect",
                               c->span);
            return;
        }
        left = value_to_host(b, x, c->binary.left->span);
        right = value_to_host(b, y, c->binary.right->span);
        if (!left || !right)
            return;
        bool swap = c->binary.op == BINARY_GT || c->binary.op == BINARY_GE;
        Op op = ops[c->binary.op];
        /* Beside a tensor a number takes its type, as everywhere: 0.95 is a float there. */
        if ((x.kind == V_TENSOR) != (y.kind == V_TENSOR))
            cond = value_to_condition(b, value_binary(b, op, swap ? y : x, swap ? x : y, c->span),
                                      "expect", c->span);
        else
            cond = host_op(b, op, HT_BOOL, swap ? right : left, swap ? left : right, NULL);
    } else {
        cond = value_to_condition(b, build_expr(b, env, c), "expect", c->span);
    }
    Format *f = cond ? format_of(b, env, s->expect.text) : NULL;
    if (!f)
        return;
    HStmt *st = host_stmt(b, HS_EXPECT, s->span);
    st->value = cond;
    st->left = left;
    st->right = right;
    st->format = f;
    static const char *const relations[] = {
        [BINARY_EQ] = "==", [BINARY_NE] = "!=", [BINARY_LT] = "<",
        [BINARY_LE] = "<=", [BINARY_GT] = ">",  [BINARY_GE] = ">="};
    st->relation = compares ? relations[c->binary.op] : NULL;
}
