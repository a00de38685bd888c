/* emit_host.c: the statements of tasks as C. Every function made here returns a status; NN_TRY
 * leaves it early. */
#include "../cuda/emit_device.h"
#include <string.h>

static void emit_stmt(CEmit *x, const HStmt *s);

void c_emit_block(CEmit *x, const HBlock *b) {
    for (int i = 0; b && i < b->stmts.n; i++)
        emit_stmt(x, b->stmts.at[i]);
}

/* ---- arithmetic that stops the run ---- */

/* Behind what computes h (NULL: nothing). */
static void emit_computed(CEmit *x, const HExpr *h) {
    if (h && host_may_stop(h))
        emit_line(&x->e, "NN_TRY(nn_computed(nn));");
}

static void emit_format_computed(CEmit *x, const Format *f) {
    emit_computed(x, &(HExpr){.kind = HX_FORMAT, .format = (Format *)f});
}

/* A condition: by name where computing it may stop the run. */
static const char *emit_condition(CEmit *x, const HExpr *h) {
    if (!host_may_stop(h))
        return c_condition(x, h);
    const char *name = arena_printf(x->arena, "holds_%d", x->temporaries++);
    emit_line(&x->e, "const bool %s = %s;", name, c_condition(x, h));
    emit_computed(x, h);
    return name;
}

/* ---- regions and assignments ---- */

void c_emit_scalars(CEmit *x, const Region *r) {
    for (int i = 0; i < x->p->scalars.n; i++) {
        const Scalar *s = x->p->scalars.at[i];
        if (s->region != r)
            continue;
        const char *value = c_expr(x, s->value);
        if (s->dtype == DT_I32 && s->value->type == HT_INT)
            emit_line(&x->e, "nn->scalars.%s = nn_int32(nn, %s, %s, %s);", s->name,
                      c_condition(x, s->value), emit_string(x->arena, s->called),
                      emit_string(x->arena, c_where(x, s->span)));
        else if (s->dtype == DT_F64 && s->value->type == HT_REAL)
            emit_line(&x->e, "nn->scalars.%s = %s;", s->name, value);
        else
            emit_line(&x->e, "nn->scalars.%s = (%s)%s;", s->name, c_type(s->dtype), value);
    }
}

static void emit_region_run(CEmit *x, const Region *r) {
    cuda_emit_fetch_scalars(x, r);
    c_emit_scalars(x, r);
    emit_line(&x->e, "NN_TRY(nn_run(nn, REGION_%s));", r->name);
}

/* Text goes to nn->text first and from there to the memory of the variable. */
static void emit_set_string(CEmit *x, const char *name, const HExpr *value) {
    emit_line(&x->e, "rt_buf_clear(&nn->text);");
    c_emit_put(x, value, NULL);
    emit_line(&x->e, "rt_puts(&nn->text, \"\");");
    emit_line(&x->e, "rt_buf_clear(&nn->strings.%s);", name);
    emit_line(&x->e, "rt_puts(&nn->strings.%s, nn->text.text);", name);
    emit_line(&x->e, "nn->vars.%s = nn->strings.%s.text;", name, name);
}

static void emit_set(CEmit *x, const HStmt *s) {
    const char *name = emit_name(x->arena, s->var->name);
    cuda_emit_fetch(x, s->value, NULL, NULL, false);
    if (s->var->type == HT_STRING)
        emit_set_string(x, name, s->value);
    else
        emit_line(&x->e, "nn->vars.%s = %s;", name, c_condition(x, s->value));
    emit_computed(x, s->value);
}

/* ---- loops ---- */

static void emit_for(CEmit *x, const HStmt *s) {
    const char *v = emit_name(x->arena, s->var->name);
    int id = x->temporaries++;
    cuda_emit_fetch(x, s->value, s->limit, NULL, false);
    bool stops = host_may_stop(s->value) || host_may_stop(s->limit);
    const char *from = c_condition(x, s->value), *limit = c_condition(x, s->limit);
    if (stops || s->reverse) {
        emit_line(&x->e, "const int64_t from_%d = %s;", id, from);
        from = arena_printf(x->arena, "from_%d", id);
    }
    if (stops || !s->reverse) {
        emit_line(&x->e, "const int64_t limit_%d = %s;", id, limit);
        limit = arena_printf(x->arena, "limit_%d", id);
    }
    if (stops)
        emit_line(&x->e, "NN_TRY(nn_computed(nn));");
    if (s->reverse) {
        emit_begin(&x->e, "for (nn->vars.%s = %s; nn->vars.%s > %s;)", v, limit, v, from);
        emit_line(&x->e, "nn->vars.%s--;", v);
    } else {
        emit_begin(&x->e, "for (nn->vars.%s = %s; nn->vars.%s < %s; nn->vars.%s++)", v, from, v,
                   limit, v);
    }
    c_emit_block(x, s->body);
    emit_end(&x->e, "");
}

static void emit_batches_start(CEmit *x, const BatchLoop *b) {
    cuda_emit_fetch(x, b->steps, NULL, NULL, false);
    uint32_t place = hash_bytes(HASH_START, b->split->name, strlen(b->split->name));
    place = hash_bytes(place, &b->id, sizeof b->id);
    const char *shuffle = b->shuffle ? "true" : "false";
    const char *drop_last = b->keep_last ? "false" : "true";
    Text given = {.arena = x->arena};
    text_printf(&given, "&nn->rt, &nn->loops[%d], &nn->rows[%s], %lld, %s, %s, %s, 0x%08xu, ",
                b->id, c_split_name(x, b->split), (long long)b->size, shuffle, drop_last,
                b->steps ? c_condition(x, b->steps) : "0", place);
    text_printf(&given, "nn->entries[%d]++", b->id);
    emit_words(&x->e, "NN_TRY(rt_batches_start(", given.at, "));");
    emit_computed(x, b->steps);
}

/* Some loop has no count that takes the number of its rows at once: on the GPU it comes as 0 behind
 * the last batch, and the count keeps that of the batch. */
static bool needs_rows(const CEmit *x, const HStmt *s) {
    bool all = !x->gpu;
    for (int i = 0; i < s->nloops; i++)
        all = all && s->loops[i]->count;
    return !all;
}

/* A shared index home is filled once: zip gives each loop its own. */
static void emit_batches(CEmit *x, const HStmt *s) {
    for (int i = 0; i < s->nloops; i++)
        emit_batches_start(x, s->loops[i]);
    emit_begin(&x->e, "for (;;)");
    int id = x->temporaries++;
    const char *rows = arena_printf(x->arena, "rows_%d", id);
    if (needs_rows(x, s))
        emit_line(&x->e, "int64_t %s;", rows);
    for (int i = 0; i < s->nloops; i++) {
        const BatchLoop *b = s->loops[i];
        if (x->gpu) {
            emit_line(&x->e, "NN_TRY(nn_next(nn, %d, %d, &rows_%d));", b->id,
                      cuda_index(x, b->index), id);
            emit_line(&x->e, "if (!rows_%d)", id);
        } else {
            emit_line(&x->e, "if (!rt_batches_next(&nn->loops[%d], %s, &%s))", b->id,
                      c_at(x, "at", c_home_buffer(x, b->index)),
                      b->count ? arena_printf(x->arena, "nn->counts.%s", b->count->name) : rows);
        }
        emit_line(&x->e, "    break;");
        if (b->count && x->gpu)
            emit_line(&x->e, "nn->counts.%s = rows_%d;", b->count->name, id);
    }
    c_emit_block(x, s->body);
    emit_end(&x->e, "");
}

static void emit_while(CEmit *x, const HStmt *s) {
    emit_begin(&x->e, "for (;;)");
    c_emit_block(x, s->cond);
    cuda_emit_fetch(x, s->value, NULL, NULL, false);
    emit_line(&x->e, "if (!(%s))", emit_condition(x, s->value));
    emit_line(&x->e, "    break;");
    c_emit_block(x, s->body);
    emit_end(&x->e, "");
}

static void emit_if(CEmit *x, const HStmt *s) {
    cuda_emit_fetch(x, s->value, NULL, NULL, false);
    emit_begin(&x->e, "if (%s)", emit_condition(x, s->value));
    c_emit_block(x, s->body);
    if (s->other && s->other->stmts.n) {
        emit_turn(&x->e, "else");
        c_emit_block(x, s->other);
    }
    emit_end(&x->e, "");
}

/* ---- effects ---- */

static void emit_print(CEmit *x, const HStmt *s) {
    if (cuda_emit_print(x, s))
        return;
    cuda_emit_fetch(x, NULL, NULL, s->format, true);
    emit_line(&x->e, "rt_buf_clear(&nn->text);");
    c_emit_format(x, s->format, s->newline ? "\n" : "");
    emit_format_computed(x, s->format);
    emit_line(&x->e, s->warning ? "NN_TRY(nn_warn(nn));" : "NN_TRY(nn_print(nn));");
}

const char *c_record_name(const CEmit *x, const char *name) {
    return arena_printf(x->arena, "RECORD_%s", arena_identifier(x->arena, name));
}

static void emit_record(CEmit *x, const HStmt *s) {
    Text which = {.arena = x->arena}, of = {.arena = x->arena};
    int n = 0;
    for (int i = 0; i < s->format->n; i++) {
        const TextPart *part = &s->format->parts[i];
        if (!part->value)
            continue;
        const Buffer *taken = cuda_taken(x, part->value);
        if (!taken) /* all of them first: to wait shows what was recorded before */
            cuda_emit_fetch(x, part->value, NULL, NULL, false);
        text_printf(&which, "%s%s", n ? ", " : "", c_record_name(x, part->text));
        text_printf(&of, "%s%s", n++ ? ", " : "", taken ? c_buffer_value(x, taken) : "-1");
    }
    if (!n)
        return;
    emit_begin(&x->e, "%s", "");
    emit_line(&x->e, "static const int which[] = {%s};", which.at);
    if (x->gpu)
        emit_line(&x->e, "static const int of[] = {%s};", of.at);
    for (int i = 0; i < s->format->n; i++) {
        const TextPart *part = &s->format->parts[i];
        if (part->value && !cuda_taken(x, part->value))
            emit_line(&x->e, "nn->record[%s] = %s%s;", c_record_name(x, part->text),
                      part->value->type == HT_REAL ? "" : "(double)", c_expr(x, part->value));
    }
    emit_format_computed(x, s->format);
    if (x->gpu)
        emit_line(&x->e, "NN_TRY(nn_record(nn, which, of, %d));", n);
    else
        emit_line(&x->e, "nn_recorded(nn, which, %d);", n);
    emit_end(&x->e, "");
}

/* A path that is put together stands in nn->text. */
static const char *emit_path(CEmit *x, const HExpr *path) {
    if (path->kind != HX_FORMAT)
        return c_expr(x, path);
    emit_line(&x->e, "rt_buf_clear(&nn->text);");
    c_emit_format(x, path->format, "");
    return "nn->text.text";
}

static void emit_file(CEmit *x, const HStmt *s) {
    cuda_emit_fetch(x, s->value, NULL, NULL, true); /* the path is in the way of other text */
    emit_begin(&x->e, "%s", "");
    emit_begin(&x->e, "static const struct nn_key keys[] =");
    for (int i = 0; i < s->nhomes; i++)
        emit_line(&x->e, "{%s, %s},", c_buffer_value(x, c_home_buffer(x, s->homes[i])),
                  emit_string(x->arena, s->homes[i]->path));
    emit_end(&x->e, ";");
    const char *path = emit_path(x, s->value);
    emit_computed(x, s->value);
    if (s->kind == HS_LOAD)
        emit_line(&x->e, "NN_TRY(nn_load(nn, %s, keys, %d, %s));", path, s->nhomes,
                  emit_string(x->arena, s->prefix));
    else
        emit_line(&x->e, "NN_TRY(nn_save(nn, %s, keys, %d));", path, s->nhomes);
    emit_end(&x->e, "");
}

/* When it fails, a comparison shows both sides: "(found 0.95, wanted >= 0.97)". */
static void emit_expect(CEmit *x, const HStmt *s) {
    int id = x->temporaries++;
    cuda_emit_fetch_expect(x, s);
    emit_line(&x->e, "const bool holds_%d = %s;", id, c_condition(x, s->value));
    emit_computed(x, s->value);
    emit_line(&x->e, "nn_begin_expect(nn, holds_%d);", id);
    c_emit_format(x, s->format, "");
    if (s->relation) {
        emit_begin(&x->e, "if (!holds_%d)", id);
        emit_line(&x->e, "rt_puts(&nn->text, \" (found \");");
        c_emit_put(x, s->left, NULL);
        emit_line(&x->e, "rt_puts(&nn->text, \", wanted %s \");", s->relation);
        c_emit_put(x, s->right, NULL);
        emit_line(&x->e, "rt_puts(&nn->text, \")\");");
        emit_end(&x->e, "");
    }
    emit_format_computed(x, s->format);
    emit_line(&x->e, "NN_TRY(nn_end_expect(nn, holds_%d));", id);
}

static void emit_stmt(CEmit *x, const HStmt *s) {
    switch (s->kind) {
    case HS_REGION:
        emit_region_run(x, s->region);
        return;
    case HS_SET:
        emit_set(x, s);
        return;
    case HS_FOR:
        emit_for(x, s);
        return;
    case HS_BATCHES:
        emit_batches(x, s);
        return;
    case HS_WHILE:
        emit_while(x, s);
        return;
    case HS_IF:
        emit_if(x, s);
        return;
    case HS_BREAK:
        emit_line(&x->e, "break;");
        return;
    case HS_CONTINUE:
        emit_line(&x->e, "continue;");
        return;
    case HS_PRINT:
        emit_print(x, s);
        return;
    case HS_RECORD:
        emit_record(x, s);
        return;
    case HS_SAVE:
    case HS_LOAD:
        emit_file(x, s);
        return;
    case HS_EXPECT:
        emit_expect(x, s);
        return;
    }
    bug("emit: host statement of kind %d", (int)s->kind);
}

/* The names that are recorded anywhere, each once, in order. */
static void collect_records(CEmit *x, const HBlock *b) {
    for (int i = 0; b && i < b->stmts.n; i++) {
        const HStmt *s = b->stmts.at[i];
        for (int j = 0; s->kind == HS_RECORD && j < s->format->n; j++) {
            const char *name = s->format->parts[j].text;
            int k = 0;
            while (k < x->records.n && strcmp(x->records.at[k], name) != 0)
                k++;
            if (k == x->records.n)
                vec_push(x->arena, &x->records, name);
        }
        collect_records(x, s->cond);
        collect_records(x, s->body);
        collect_records(x, s->other);
    }
}

void c_collect_records(CEmit *x) {
    for (int i = 0; i < x->p->tasks.n; i++)
        collect_records(x, x->p->tasks.at[i]->body);
}

void c_emit_block_function(CEmit *x, const char *name, const HBlock *b) {
    x->temporaries = 0;
    emit_begin(&x->e, "RT_FN enum rt_status %s(struct nn *nn)", name);
    if (!b || !b->stmts.n)
        emit_line(&x->e, "(void)nn;");
    c_emit_block(x, b);
    emit_line(&x->e, "return RT_OK;");
    emit_end(&x->e, "");
    emit_gap(&x->e);
}
