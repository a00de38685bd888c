/* An argument of an export, read from a .npy file. */
struct nn_argument {
    struct rt_field field; /* one row, where `rows`; else what follows the first axis */
    int option;            /* of option_list: the path */
    int value;             /* where a chunk of it goes */
    bool rows;             /* any number of rows; else exactly `fixed` */
    int64_t fixed;
};

/* A function of the program that is a sub-command. It is worked through in chunks of rows. */
struct nn_export {
    int region;
    const struct nn_argument *arguments;
    int n_arguments;
    const int *outputs; /* values */
    int n_outputs;
    int64_t chunk; /* rows at a time; 0: nothing has free rows */
    size_t count;  /* offset of the count of rows in struct nn */
    void (*scalars)(struct nn *nn); /* sets those of the region; NULL: it has none */
};

enum { NN_ARGUMENTS = 16 };

/* What a run of an export holds. */
struct nn_io {
    struct rt_source in[NN_ARGUMENTS];
    unsigned char *out[NN_ARGUMENTS];
    int64_t rows;
};

/* Its first axis has as many rows as the arguments. */
RT_FN bool nn_has_free_rows(int value) {
    const struct nn_counted *c = nn_counted_of(value);
    return c && c->axis == 0;
}

RT_FN size_t nn_row_bytes(const struct rt_tensor *t) {
    int64_t n = 1;
    for (int i = 1; i < t->rank; i++)
        n *= t->dims[i];
    return (size_t)n * rt_type_size(t->type);
}

RT_FN enum rt_status nn_read_argument(struct nn *nn, const struct nn_argument *a, struct nn_io *io,
                                      int which) {
    struct rt_source *s = &io->in[which];
    const char *path = *(const char *const *)nn->option_list[a->option].value;
    const char *name = nn->option_list[a->option].name;
    if (!path || !*path)
        return rt_fail(&nn->rt, RT_USAGE, "which file? --%s FILE.npy", name);
    NN_TRY(rt_npy_read(&nn->rt, &a->field, "", path, s));
    if (!a->rows && s->rows != a->fixed)
        return rt_fail(&nn->rt, RT_USAGE, "--%s '%s' has %lld rows, wanted %lld", name, path,
                       (long long)s->rows, (long long)a->fixed);
    if (a->rows && io->rows >= 0 && s->rows != io->rows)
        return rt_fail(&nn->rt, RT_USAGE, "--%s '%s' has %lld rows, the argument before has %lld",
                       name, path, (long long)s->rows, (long long)io->rows);
    if (a->rows)
        io->rows = s->rows;
    return RT_OK;
}

/* Rows from … from+n-1 of every argument go to the arena. */
RT_FN enum rt_status nn_put_chunk(struct nn *nn, const struct nn_export *e, const struct nn_io *io,
                                  int64_t from) {
    for (int i = 0; i < e->n_arguments; i++) {
        struct rt_tensor t = nn_tensor(nn, e->arguments[i].value);
        size_t skip = e->arguments[i].rows ? (size_t)from * nn_row_bytes(&t) : 0;
        rt_tensor_import(&t, (const unsigned char *)io->in[i].data + skip);
        //@ cuda: NN_TRY(nn_push(nn, e->arguments[i].value));
    }
    return RT_OK;
}

RT_FN enum rt_status nn_run_chunks(struct nn *nn, const struct nn_export *e, struct nn_io *io) {
    int64_t from = 0;
    do {
        int64_t n = e->chunk && io->rows - from > e->chunk ? e->chunk : io->rows - from;
        if (e->chunk)
            memcpy((unsigned char *)nn + e->count, &n, sizeof n);
        NN_TRY(nn_put_chunk(nn, e, io, from));
        if (e->scalars)
            e->scalars(nn);
        NN_TRY(nn_run(nn, e->region));
        //@ cuda: for (int i = 0; i < e->n_outputs; i++)
        //@ cuda:     NN_TRY(nn_pull(nn, e->outputs[i]));
        //@ cuda: NN_TRY(nn_settle(nn));
        for (int i = 0; i < e->n_outputs; i++) {
            struct rt_tensor t = nn_tensor(nn, e->outputs[i]);
            bool rows = nn_has_free_rows(e->outputs[i]);
            rt_tensor_export(&t, io->out[i] + (rows ? (size_t)from * nn_row_bytes(&t) : 0));
        }
        from += n;
    } while (from < io->rows);
    return RT_OK;
}

/* Output i as a whole: with all rows. */
RT_FN struct rt_tensor nn_output(struct nn *nn, const struct nn_export *e, const struct nn_io *io,
                                 int i) {
    struct rt_tensor t = nn_tensor(nn, e->outputs[i]);
    if (nn_has_free_rows(e->outputs[i]))
        t.dims[0] = io->rows;
    t.layout = RT_ROW_MAJOR;
    t.data = io->out[i];
    return t;
}

/* Where output i goes with -o: FILE.npy, the others FILE.npy.1 … */
RT_FN enum rt_status nn_output_path(struct nn *nn, int i, char *out, size_t room) {
    int n = snprintf(out, room, i ? "%s.%d" : "%s", nn->options_output, i);
    if (n < 0 || (size_t)n >= room)
        return rt_fail(&nn->rt, RT_USAGE, "the path is too long: '%.200s…'", nn->options_output);
    return RT_OK;
}

/* Before anything is computed: the results can be written, and over nothing that was read. */
RT_FN enum rt_status nn_check_outputs(struct nn *nn, const struct nn_export *e) {
    char path[4096];
    for (int i = 0; i < e->n_outputs && *nn->options_output; i++) {
        NN_TRY(nn_output_path(nn, i, path, sizeof path));
        bool read = rt_file_held(&nn->rt, path);
        for (int k = 0; k < nn->cli.n_load; k++)
            read |= rt_same_file(nn->cli.load[k].path, path);
        if (read)
            return rt_fail(&nn->rt, RT_USAGE,
                           "-o '%s': this file is read, and would be replaced by the result", path);
        NN_TRY(rt_out_check(&nn->rt, path));
    }
    return RT_OK;
}

RT_FN enum rt_status nn_write_npy(struct nn *nn, const char *path, const struct rt_tensor *t) {
    static const char *const types[] = {"<f4", "<f8", "<i4", "<i8", "|u1",
                                        "|i1", "<i2", "<u2", "|b1"};
    rt_buf_clear(&nn->text);
    rt_putf(&nn->text, "{'descr': '%s', 'fortran_order': False, 'shape': (", types[t->type]);
    for (int i = 0; i < t->rank; i++)
        rt_putf(&nn->text, "%lld,%s", (long long)t->dims[i], i + 1 < t->rank ? " " : "");
    rt_puts(&nn->text, "), }");
    while ((nn->text.size + 11) % 64)
        rt_puts(&nn->text, " ");
    rt_puts(&nn->text, "\n");
    const unsigned char size[] = {(unsigned char)(nn->text.size & 255),
                                  (unsigned char)(nn->text.size >> 8)};
    size_t bytes = (size_t)nn_elements(t) * rt_type_size(t->type);
    struct rt_out out;
    NN_TRY(rt_out_open(&out, &nn->rt, path));
    rt_out_write(&out, "\223NUMPY\1\0", 8);
    rt_out_write(&out, size, 2);
    rt_out_write(&out, nn->text.text, nn->text.size);
    rt_out_write(&out, t->data, bytes);
    return rt_out_close(&out);
}

/* To --output FILE.npy (several: FILE.npy, FILE.npy.1 …), else printed. */
RT_FN enum rt_status nn_write_outputs(struct nn *nn, const struct nn_export *e,
                                      const struct nn_io *io) {
    char path[4096];
    for (int i = 0; i < e->n_outputs; i++) {
        struct rt_tensor t = nn_output(nn, e, io, i);
        if (*nn->options_output) {
            NN_TRY(nn_output_path(nn, i, path, sizeof path));
            NN_TRY(nn_write_npy(nn, path, &t));
            continue;
        }
        rt_buf_clear(&nn->text);
        rt_print_tensor(&nn->text, t.data, t.type, t.rank, t.dims, NULL);
        rt_puts(&nn->text, "\n");
        NN_TRY(nn_print(nn));
    }
    return RT_OK;
}

RT_FN enum rt_status nn_export_with(struct nn *nn, const struct nn_export *e, struct nn_io *io) {
    for (int i = 0; i < e->n_arguments; i++)
        NN_TRY(nn_read_argument(nn, &e->arguments[i], io, i));
    NN_TRY(nn_check_outputs(nn, e));
    if (io->rows < 0)
        io->rows = 1;
    for (int i = 0; i < e->n_outputs; i++) {
        struct rt_tensor t = nn_output(nn, e, io, i);
        size_t bytes = (size_t)nn_elements(&t) * rt_type_size(t.type);
        io->out[i] = (unsigned char *)nn->rt.alloc(&nn->rt, bytes + 64);
        if (!io->out[i])
            return rt_fail(&nn->rt, RT_ENV, "no memory for the result");
    }
    if (io->rows > 0)
        NN_TRY(nn_run_chunks(nn, e, io));
    return nn_write_outputs(nn, e, io);
}

RT_FN enum rt_status nn_export(struct nn *nn, const struct nn_export *e) {
    struct nn_io io;
    memset(&io, 0, sizeof io);
    io.rows = -1;
    enum rt_status status = nn_export_with(nn, e, &io);
    for (int i = 0; i < e->n_arguments; i++)
        if (io.in[i].data)
            rt_source_free(&nn->rt, &io.in[i]);
    for (int i = 0; i < e->n_outputs; i++)
        if (io.out[i])
            nn->rt.release(&nn->rt, io.out[i]);
    return status;
}
