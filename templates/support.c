#define NN_TRY(call)                                                                               \
    do {                                                                                           \
        enum rt_status status_ = (call);                                                           \
        if (status_)                                                                               \
            return status_;                                                                        \
    } while (0)

/* The row of a value; among copies that share it, which one it is (else -1), and how far it lies
 * from the first. */
struct nn_row {
    int row, copy;
    int64_t ahead;
};

RT_FN struct nn_row nn_row_of(int value) {
    struct nn_row r = {value, -1, 0};
    //@ copies: int copy = value - NN_VALUES;
    //@ copies: if (copy < 0)
    //@ copies:     return r;
    //@ copies: r.row = NN_VALUES;
    //@ copies: for (const struct nn_copies *c = nn_copies; c->n; copy -= c->n, c++, r.row++)
    //@ copies:     if (copy < c->n) {
    //@ copies:         r.copy = copy;
    //@ copies:         r.ahead = (copy + c->shift) % c->rotate * c->stride;
    //@ copies:         return r;
    //@ copies:     }
    //@ copies: r.row += copy;
    return r;
}

/* A scalar or a count of struct nn. */
RT_FN bool nn_is_given(int row) {
    //@ given: return row >= NN_GIVEN && row < NN_VALUES;
    //@ not given: return row < 0;
}

/* NULL: all extents of the row are those of the plan. */
RT_FN const struct nn_counted *nn_counted_of(int row) {
    const struct nn_counted *c = nn_counted;
    while (c->row >= 0 && c->row != row)
        c++;
    return c->row < 0 ? NULL : c;
}

/* Value i with its memory and its extents of this moment. */
RT_FN struct rt_tensor nn_tensor(struct nn *nn, int i) {
    const struct nn_row r = nn_row_of(i);
    const struct nn_counted *c = nn_counted_of(r.row);
    struct rt_tensor t = nn_values[r.row].tensor;
    t.data = (nn_is_given(r.row) ? (unsigned char *)nn : nn->arena) + nn_values[r.row].offset +
             r.ahead;
    if (c) {
        int64_t count;
        memcpy(&count, (const unsigned char *)nn + c->count, sizeof count);
        t.dims[c->axis] = c->per * count;
    }
    return t;
}

RT_FN int64_t nn_elements(const struct rt_tensor *t) {
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->dims[i];
    return n;
}

/* ---- what is not finite ---- */

RT_FN double nn_element(const struct rt_tensor *t, int64_t i) {
    if (t->layout == RT_PANELS16) {
        int64_t row = i / t->dims[1], column = i % t->dims[1];
        i = (column / 16 * t->dims[0] + row) * 16 + column % 16;
    }
    return t->type == RT_F32 ? (double)((const float *)t->data)[i] : ((const double *)t->data)[i];
}

/* Where along the counted axis element k (of the extents of the plan) lies within the count. */
RT_FN bool nn_counts(const struct nn_counted *c, const struct rt_tensor *plan,
                     const struct rt_tensor *now, int64_t k) {
    int64_t inner = 1;
    for (int i = c->axis + 1; i < plan->rank; i++)
        inner *= plan->dims[i];
    return k / inner % plan->dims[c->axis] < now->dims[c->axis];
}

RT_FN void nn_look(struct nn *nn, int i) {
    const int row = nn_row_of(i).row;
    const struct nn_counted *c = nn_counted_of(row);
    struct rt_tensor now = nn_tensor(nn, i), t = nn_values[row].tensor;
    t.data = now.data;
    if (t.type != RT_F32 && t.type != RT_F64)
        return;
    int64_t n = nn_elements(&t);
    //@ cuda: if (!nn_bring(nn, i, &t))
    //@ cuda:     return;
    for (int64_t k = 0; k < n; k++) {
        double x = nn_element(&t, k);
        bool bad = x - x != 0 && (!c || nn_counts(c, &t, &now, k));
        if (bad && isnan(x)) {
            nn->bad_nan = i;
            return;
        }
        if (bad && nn->bad_inf < 0)
            nn->bad_inf = i;
    }
}

RT_FN void nn_look_at(struct nn *nn, int group, int layer) {
    for (const struct nn_written *w = nn_written; w->group >= 0; w++)
        if (w->group == group && nn->bad_nan < 0)
            nn_look(nn, w->value + w->step * layer);
}

/* Runs the region once more from the same state (a fault has kept it) and finds the tensor that the
 * loss got its value from: the first that is infinite for an infinite loss, whose gradients may be
 * NaN; else the first NaN, for infinite values before it may be meant (masks). */
RT_FN int nn_first_bad(struct nn *nn, const struct nn_region *r, double loss) {
    int threads = nn->n;
    nn->n = 1;
    nn->replay = true;
    nn->rt.fault.node = -1;
    nn->bad_nan = nn->bad_inf = -1;
    for (int i = 0; i < r->n_before; i++)
        for (int k = 0; k < r->before[i].n && nn->bad_nan < 0; k++)
            nn_look(nn, r->before[i].first + k);
    if (nn->bad_nan < 0) {
        //@ both: if (nn->device.rt.on)
        //@ both:     (void)nn_run_again(nn, r);
        //@ both: else
        //@ both:     r->run(nn, 0);
        //@ only cuda: (void)nn_run_again(nn, r);
        //@ only c: r->run(nn, 0);
    }
    nn->replay = false;
    nn->n = threads;
    bool infinite = nn->bad_inf >= 0 && (isinf(loss) || nn->bad_nan < 0);
    return infinite ? nn->bad_inf : nn->bad_nan;
}

RT_FN enum rt_status nn_diverged(struct nn *nn, const struct nn_region *r,
                                 const struct nn_place *p) {
    double x = nn->rt.fault.value;
    const char *what = isnan(x) ? "nan" : x < 0 ? "-inf" : "inf";
    int bad = nn_first_bad(nn, r, x);
    if (bad < 0)
        return rt_fail(&nn->rt, RT_DIVERGED, "%s is %s at step %lld (%s)", p->name, what,
                       (long long)nn->step, p->where);
    const struct nn_row of = nn_row_of(bad);
    const struct nn_value *v = &nn_values[of.row];
    char layer[16] = "";
    if (of.copy >= 0)
        snprintf(layer, sizeof layer, "[%d]", of.copy);
    return rt_fail(&nn->rt, RT_DIVERGED, "%s is %s at step %lld; first bad tensor: %s%s (%s)",
                   p->name, what, (long long)nn->step, v->tensor.key, layer, v->where);
}

RT_FN enum rt_status nn_faulted(struct nn *nn, const struct nn_region *r) {
    const struct nn_place *p = nn_places;
    while (p->kind && p->node != nn->rt.fault.node)
        p++;
    if (p->kind == 'l')
        return nn_diverged(nn, r, p);
    char what[64];
    if (p->run == 1)
        snprintf(what, sizeof what, "index %.0f", nn->rt.fault.value);
    else
        snprintf(what, sizeof what, "a slice of %lld at %.0f", (long long)p->run,
                 nn->rt.fault.value);
    return rt_fail(&nn->rt, RT_USAGE, "%s: %s is out of range: %s has %lld (step %lld)", p->where,
                   what, p->name, (long long)p->size, (long long)nn->step);
}

/* ---- traces ---- */

RT_FN bool nn_traced(const struct nn *nn) {
    for (int i = 0; nn->cli.trace_dir && i < nn->cli.n_trace_steps; i++)
        if (nn->cli.trace_steps[i] == nn->step)
            return true;
    return false;
}

/* Copies the rows of a batch to where chosen[at] can name them. */
RT_FN enum rt_status nn_trace_batch(struct nn *nn, const struct nn_batch *b, int at) {
    struct rt_tensor index = nn_tensor(nn, b->index);
    const struct rt_source *s = &nn->sources[b->source];
    size_t size = (size_t)s->row_elements * rt_type_size(s->type);
    unsigned char *rows = (unsigned char *)nn->rt.alloc(&nn->rt, (size_t)index.dims[0] * size + 1);
    struct rt_tensor *t = &nn->chosen[at];
    if (!rows)
        return rt_fail(&nn->rt, RT_ENV, "no memory for a trace");
    for (int64_t i = 0; i < index.dims[0]; i++) {
        int64_t row = ((const int32_t *)index.data)[i];
        if (row >= 0 && row < s->rows)
            memcpy(rows + (size_t)i * size, (const unsigned char *)s->data + (size_t)row * size,
                   size);
    }
    t->key = b->key;
    t->type = s->type;
    t->layout = RT_ROW_MAJOR;
    t->rank = 1 + s->field->rank;
    t->dims[0] = index.dims[0];
    for (int i = 0; i < s->field->rank && i + 1 < RT_MAX_RANK; i++)
        t->dims[i + 1] = s->field->dims[i];
    t->data = rows;
    return RT_OK;
}

RT_FN enum rt_status nn_trace(struct nn *nn, const struct nn_region *r, bool before) {
    int ranges = before ? r->n_before : r->n_after, batches = before ? r->n_batches : 0;
    const struct nn_range *range = before ? r->before : r->after;
    int n = 0, made = 0;
    enum rt_status status = RT_OK;
    for (int i = 0; i < ranges; i++)
        for (int k = 0; k < range[i].n; k++)
            nn->chosen[n++] = nn_tensor(nn, range[i].first + k);
    //@ cuda: NN_TRY(nn_fetch(nn, range, ranges));
    for (; made < batches && !status; made++)
        status = nn_trace_batch(nn, &r->batches[made], n + made);
    rt_buf_clear(&nn->text);
    rt_putf(&nn->text, "%s/%s-%lld-%s.safetensors", nn->cli.trace_dir, r->name, (long long)nn->step,
            before ? "before" : "after");
    if (!status)
        status = rt_save(&nn->rt, nn->text.text, nn->chosen, n + made, NULL);
    for (int i = 0; i < made; i++)
        nn->rt.release(&nn->rt, nn->chosen[n + i].data);
    rt_buf_clear(&nn->text);
    return status;
}

/* ---- regions ---- */

RT_FN enum rt_status nn_run(struct nn *nn, int region) {
    const struct nn_region *r = &nn_regions[region];
    if (nn->failed == RT_USAGE)
        return nn->failed;
    nn->step = ++nn->runs[region];
    const bool traced = nn_traced(nn);
    if (traced)
        NN_TRY(nn_trace(nn, r, true));
    //@ both: if (nn->device.rt.on)
    //@ both:     NN_TRY(nn_run_device(nn, region));
    //@ both: else if (r->parallel && nn->n > 1)
    //@ only cuda: NN_TRY(nn_run_device(nn, region));
    //@ only c: if (r->parallel && nn->n > 1)
    //@ c:     rt_team_run(&nn->team, r->run, nn);
    //@ c: else
    //@ c:     r->run(nn, 0);
    if (rt_faulted(&nn->rt))
        return nn_faulted(nn, r);
    return traced ? nn_trace(nn, r, false) : RT_OK;
}

/* ---- arithmetic of the host, with the language's rules ---- */

RT_FN int64_t nn_zero(struct nn *nn, const char *where) {
    if (nn->failed != RT_USAGE)
        rt_fail(&nn->rt, RT_USAGE, "%s: integer division by zero", where);
    nn->failed = RT_USAGE;
    return 0;
}

/* Stops a task whose arithmetic has failed. */
RT_FN enum rt_status nn_computed(const struct nn *nn) {
    return nn->failed == RT_USAGE ? RT_USAGE : RT_OK;
}

/* What the arithmetic of a and b gives has more than 64 bits. */
RT_FN int64_t nn_large(struct nn *nn, int64_t a, const char *sign, int64_t b, const char *where) {
    if (nn->failed != RT_USAGE)
        rt_fail(&nn->rt, RT_USAGE, "%s: %lld %s %lld is too large for an integer", where,
                (long long)a, sign, (long long)b);
    nn->failed = RT_USAGE;
    return 0;
}

RT_FN int64_t nn_add(struct nn *nn, int64_t a, int64_t b, const char *where) {
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? nn_large(nn, a, "+", b, where) : sum;
}

RT_FN int64_t nn_sub(struct nn *nn, int64_t a, int64_t b, const char *where) {
    int64_t difference;
    return __builtin_sub_overflow(a, b, &difference) ? nn_large(nn, a, "-", b, where) : difference;
}

RT_FN int64_t nn_mul(struct nn *nn, int64_t a, int64_t b, const char *where) {
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? nn_large(nn, a, "*", b, where) : product;
}

RT_FN int64_t nn_floordiv(struct nn *nn, int64_t a, int64_t b, const char *where) {
    if (b == 0)
        return nn_zero(nn, where);
    if (b == -1)
        return a == INT64_MIN ? nn_large(nn, a, "//", b, where) : -a;
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

RT_FN int64_t nn_mod(struct nn *nn, int64_t a, int64_t b, const char *where) {
    if (b == 0)
        return nn_zero(nn, where);
    int64_t r = b == -1 ? 0 : a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* round mod n for a statement that has its turn every n rounds. */
RT_FN int64_t nn_turn(struct nn *nn, int64_t round, int64_t n, const char *what,
                      const char *where) {
    if (n >= 1)
        return round % n;
    if (nn->failed != RT_USAGE)
        rt_fail(&nn->rt, RT_USAGE, "%s: '%s' takes at least 1, found %lld", where, what,
                (long long)n);
    nn->failed = RT_USAGE;
    return 0;
}

/* x for a statement that takes only numbers above 0. */
RT_FN double nn_positive(struct nn *nn, double x, const char *what, const char *where) {
    if (x > 0)
        return x;
    if (nn->failed != RT_USAGE)
        rt_fail(&nn->rt, RT_USAGE, "%s: '%s' takes a number above 0, found %g", where, what, x);
    nn->failed = RT_USAGE;
    return 1;
}

/* A whole number as tensors have them. */
RT_FN int32_t nn_int32(struct nn *nn, int64_t x, const char *name, const char *where) {
    if (x >= INT32_MIN && x <= INT32_MAX)
        return (int32_t)x;
    if (nn->failed != RT_USAGE)
        rt_fail(&nn->rt, RT_USAGE, "%s: '%s' is %lld: in a tensor it must fit in 32 bits", where,
                name, (long long)x);
    nn->failed = RT_USAGE;
    return 0;
}

RT_FN int64_t nn_int(double x) {
    return x >= -9.2e18 && x <= 9.2e18 ? (int64_t)x : 0;
}

/* ---- printing ---- */

RT_FN void nn_clear_progress(struct nn *nn) {
    if (nn->shown > 0)
        nn->rt.write(&nn->rt, 2, "\r\033[K", 4);
    nn->shown = 0;
}

RT_FN enum rt_status nn_print(struct nn *nn) {
    nn_clear_progress(nn);
    return rt_flush(&nn->text, 1);
}

RT_FN enum rt_status nn_warn(struct nn *nn) {
    nn_clear_progress(nn);
    return rt_flush(&nn->text, 2);
}

/* An `expect`: what it says is put between the two. */
RT_FN void nn_begin_expect(struct nn *nn, bool holds) {
    rt_buf_clear(&nn->text);
    rt_puts(&nn->text, holds ? "ok: " : "failed: ");
}

RT_FN enum rt_status nn_end_expect(struct nn *nn, bool holds) {
    rt_puts(&nn->text, "\n");
    NN_TRY(nn_print(nn));
    if (!holds)
        nn->failed = RT_EXPECT;
    return RT_OK;
}

RT_FN void nn_put_tensor(struct nn *nn, int value, const char *format) {
    struct rt_tensor t = nn_tensor(nn, value);
    void *rows = t.data;
    if (t.layout != RT_ROW_MAJOR) {
        rows = nn->rt.alloc(&nn->rt, (size_t)nn_elements(&t) * rt_type_size(t.type) + 1);
        if (!rows) {
            nn->text.failed = true;
            return;
        }
        rt_tensor_export(&t, rows);
    }
    rt_print_tensor(&nn->text, rows, t.type, t.rank, t.dims, format);
    if (rows != t.data)
        nn->rt.release(&nn->rt, rows);
}

/* A number of JSON, where NaN and infinities are null. */
RT_FN void nn_put_json(struct nn *nn, double x) {
    if (x - x != 0)
        rt_puts(&nn->text, "null");
    else if (fabs(x) < 1e15 && x == (double)(int64_t)x)
        rt_putf(&nn->text, "%lld", (long long)x);
    else
        rt_print_real(&nn->text, x, (double)(float)x == x, NULL);
}

/* {"step": 12, "loss": 0.25}: a line of --log. */
RT_FN void nn_log(struct nn *nn, const int *which, int n) {
    bool counts = true; /* unless the program records its own `step` */
    for (int i = 0; i < n; i++)
        counts = counts && strcmp(nn_record_names[which[i]], "step") != 0;
    rt_buf_clear(&nn->text);
    if (counts)
        rt_putf(&nn->text, "{\"step\": %lld", (long long)nn->step);
    for (int i = 0; i < n; i++) {
        rt_putf(&nn->text, "%s\"%s\": ", i || counts ? ", " : "{", nn_record_names[which[i]]);
        nn_put_json(nn, nn->record[which[i]]);
    }
    rt_puts(&nn->text, "}\n");
    if (fwrite(nn->text.text, 1, nn->text.size, nn->log) != nn->text.size && !nn->log_error)
        nn->log_error = errno;
    rt_buf_clear(&nn->text);
}

/* After a `record`, whose n values stand in nn->record: a line of the log and, ten times a second
 * and where standard error is a terminal, all values there. */
RT_FN void nn_recorded(struct nn *nn, const int *which, int n) {
    if (nn->log)
        nn_log(nn, which, n);
    if (!nn->progress)
        return;
    double now = rt_now();
    if (now - nn->shown < 0.1)
        return;
    rt_buf_clear(&nn->text);
    rt_putf(&nn->text, "\rstep %lld", (long long)nn->step);
    for (int i = 0; i < NN_RECORDS; i++) {
        rt_putf(&nn->text, "  %s ", nn_record_names[i]);
        rt_print_real(&nn->text, nn->record[i], true, ".5g");
    }
    rt_puts(&nn->text, "\033[K");
    rt_flush(&nn->text, 2);
    nn->shown = now;
}

/* ---- files ---- */

RT_FN enum rt_status nn_save(struct nn *nn, const char *path, const struct nn_key *keys, int n) {
    for (int i = 0; i < n; i++) {
        //@ cuda: NN_TRY(nn_pull(nn, keys[i].value));
        nn->chosen[i] = nn_tensor(nn, keys[i].value);
        nn->chosen[i].key = keys[i].key;
    }
    //@ cuda: NN_TRY(nn_settle(nn));
    return rt_save(&nn->rt, path, nn->chosen, n, NULL);
}

RT_FN enum rt_status nn_load(struct nn *nn, const char *path, const struct nn_key *keys, int n,
                             const char *prefix) {
    for (int i = 0; i < n; i++) {
        //@ cuda: NN_TRY(nn_pull(nn, keys[i].value));
        nn->chosen[i] = nn_tensor(nn, keys[i].value);
        nn->chosen[i].key = keys[i].key;
    }
    //@ cuda: NN_TRY(nn_settle(nn));
    NN_TRY(rt_load(&nn->rt, path, nn->chosen, n, prefix));
    //@ cuda: for (int i = 0; i < n; i++)
    //@ cuda:     NN_TRY(nn_push(nn, keys[i].value));
    return RT_OK;
}

/* --load [MODEL=]FILE */
RT_FN enum rt_status nn_load_weights(struct nn *nn, const struct rt_pair *from) {
    rt_buf_clear(&nn->text);
    if (from->name) {
        rt_put(&nn->text, from->name, from->name_size);
        rt_puts(&nn->text, ".");
    }
    bool known = !from->name;
    for (int i = 0; i < NN_WEIGHTS; i++) {
        //@ cuda: NN_TRY(nn_pull(nn, i));
        nn->chosen[i] = nn_tensor(nn, i);
        known = known || !strncmp(nn->chosen[i].key, nn->text.text, nn->text.size);
    }
    if (!known)
        return rt_fail(&nn->rt, RT_USAGE, "--load %.*s=…: nothing has this name (--list)",
                       (int)from->name_size, from->name);
    //@ cuda: NN_TRY(nn_settle(nn));
    NN_TRY(rt_load(&nn->rt, from->path, nn->chosen, NN_WEIGHTS, from->name ? nn->text.text : NULL));
    //@ cuda: for (int i = 0; i < NN_WEIGHTS; i++)
    //@ cuda:     NN_TRY(nn_push(nn, i));
    return RT_OK;
}
