/* ---- waiting for the device ------------------------------------------------------------------ */

RT_FN void *nn_on_device(struct nn *nn, int value) {
    return nn->device.rt.memory + nn_values[nn_row_of(value).row].device;
}

/* Bytes of a value with the extents of the plan. */
RT_FN size_t nn_value_bytes(int value) {
    return rt_tensor_bytes(&nn_values[nn_row_of(value).row].tensor);
}

RT_FN unsigned char *nn_on_host(struct nn *nn, int value) {
    return nn->arena + nn_values[value].offset; /* what outlives a region has a row of its own */
}

RT_FN void nn_put_number(struct rt_buf *b, double x, enum rt_type type, const char *format) {
    if (rt_type_is_real(type))
        rt_print_real(b, x, type == RT_F32, format);
    else if (type == RT_BOOL)
        rt_print_bool(b, x != 0, format);
    else
        rt_print_int(b, (int64_t)x, format);
}

/* The text of a print, with its values. */
RT_FN enum rt_status nn_print_waiting(struct nn *nn, const struct nn_waiting *w) {
    const char *text = nn->device.text.text;
    size_t from = w->from;
    rt_buf_clear(&nn->text);
    for (int i = 0; i < w->n; i++) {
        rt_put(&nn->text, text + from, w->at[i] - from);
        from = w->at[i];
        nn_put_number(&nn->text, w->value[i], nn_values[w->of[i]].tensor.type, w->format[i]);
    }
    rt_put(&nn->text, text + from, w->end - from);
    nn_clear_progress(nn);
    return rt_flush(&nn->text, w->stream);
}

/* Shows what was recorded and printed, in order, as far as its values are known. */
RT_FN enum rt_status nn_show_waiting(struct nn *nn) {
    struct nn_device *d = &nn->device;
    const int64_t step = nn->step;
    enum rt_status status = RT_OK;
    for (; d->n_shown < d->n_put && !status; d->n_shown++) {
        struct nn_waiting *w = &d->waiting[d->n_shown % NN_RING];
        const struct nn_taken_values *v = d->rt.on ? &d->pinned->ring[d->n_shown % NN_RING] : NULL;
        if (v && v->number != d->n_shown + 1)
            break; /* a fault came before */
        for (int i = 0; v && i < w->n; i++)
            if (w->of[i] >= 0)
                w->value[i] = v->value[i];
        for (int i = 0; w->which && i < w->n; i++)
            nn->record[w->which[i]] = w->value[i];
        nn->step = w->step;
        //@ records: if (w->which)
        //@ records:     nn_recorded(nn, w->which, w->n);
        if (!w->which)
            status = nn_print_waiting(nn, w);
    }
    nn->step = step;
    if (d->n_shown == d->n_put)
        rt_buf_clear(&d->text);
    return status;
}

/* The device has seen a fault, and nothing was updated since. */
RT_FN enum rt_status nn_halted(struct nn *nn) {
    struct nn_device *d = &nn->device;
    size_t most = 1;
    for (int i = 0; i < NN_NUMBERS; i++)
        most = nn_value_bytes(i) > most ? nn_value_bytes(i) : most;
    NN_CUDA(nn, cudaHostAlloc((void **)&d->look, most, cudaHostAllocDefault));
    nn->rt.fault = d->pinned->halt.fault;
    nn->step = d->pinned->halt.block.step;
    return nn_faulted(nn, &nn_regions[d->pinned->halt.region]);
}

RT_FN enum rt_status nn_settle(struct nn *nn) {
    struct nn_device *d = &nn->device;
    if (!d->rt.on || !d->busy)
        return RT_OK;
    NN_CUDA(nn, cudaMemcpyAsync(&d->pinned->halt, d->halt, sizeof(struct nn_halt),
                                cudaMemcpyDeviceToHost, d->rt.stream));
    //@ shows: if (d->n_put > d->n_shown)
    //@ shows:     NN_CUDA(nn, cudaMemcpyAsync(d->pinned->ring, d->ring, sizeof d->pinned->ring,
    //@ shows:                                 cudaMemcpyDeviceToHost, d->rt.stream));
    NN_CUDA(nn, cudaStreamSynchronize(d->rt.stream));
    d->busy = false;
    d->settled = rt_now();
    //@ shows: NN_TRY(nn_show_waiting(nn));
    return d->pinned->halt.fault.node < 0 ? RT_OK : nn_halted(nn);
}

RT_FN enum rt_status nn_pull(struct nn *nn, int value) {
    struct nn_device *d = &nn->device;
    if (!d->rt.on || !d->stale[value])
        return RT_OK;
    d->stale[value] = false;
    d->busy = true;
    NN_CUDA(nn, cudaMemcpyAsync(nn_on_host(nn, value), nn_on_device(nn, value),
                                nn_value_bytes(value), cudaMemcpyDeviceToHost, d->rt.stream));
    return RT_OK;
}

RT_FN enum rt_status nn_push(struct nn *nn, int value) {
    struct nn_device *d = &nn->device;
    if (!d->rt.on)
        return RT_OK;
    d->stale[value] = false;
    NN_CUDA(nn, cudaMemcpyAsync(nn_on_device(nn, value), nn_on_host(nn, value),
                                nn_value_bytes(value), cudaMemcpyHostToDevice, d->rt.stream));
    NN_CUDA(nn, cudaStreamSynchronize(d->rt.stream)); /* the host may write it again */
    return RT_OK;
}

RT_FN enum rt_status nn_fetch(struct nn *nn, const struct nn_range *range, int n) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < range[i].n; k++)
            NN_TRY(nn_pull(nn, range[i].first + k)); /* what is the host's own is never stale */
    return nn_settle(nn);
}

RT_FN bool nn_bring(struct nn *nn, int value, struct rt_tensor *t) {
    struct nn_device *d = &nn->device;
    if (!d->rt.on || nn_is_given(nn_row_of(value).row))
        return true;
    size_t bytes = nn_value_bytes(value);
    t->data = d->look;
    return !cudaMemcpyAsync(d->look, nn_on_device(nn, value), bytes, cudaMemcpyDeviceToHost,
                            d->rt.stream) &&
           !cudaStreamSynchronize(d->rt.stream);
}

/* ---- running regions ------------------------------------------------------------------------- */

/* The device gets the block of the next run, and the change from the last one as that of each run
 * to come. In a steady loop the guess holds, and nothing is sent. */
RT_FN enum rt_status nn_send_block(struct nn *nn, int region, const struct nn_block *want) {
    struct nn_device *d = &nn->device;
    struct nn_known *k = &d->known[region];
    int place = (int)(d->n_sent++ % NN_SENDING);
    if (d->n_sent > NN_SENDING)
        NN_CUDA(nn, cudaEventSynchronize(d->sent[place]));
    k->steps.now = *want;
    k->steps.by = *want;
    nn_add(&k->steps.by, &k->last, -1);
    d->pinned->sending[place] = k->steps;
    NN_CUDA(nn, cudaMemcpyAsync(&d->steps[region], &d->pinned->sending[place],
                                sizeof(struct nn_steps), cudaMemcpyHostToDevice, d->rt.stream));
    NN_CUDA(nn, cudaEventRecord(d->sent[place], d->rt.stream));
    k->sent = true;
    return RT_OK;
}

RT_FN enum rt_status nn_launch(struct nn *nn, int region) {
    struct nn_device *d = &nn->device;
    NN_TRY(nn_regions[region].device(nn, d->rt.stream));
    NN_CUDA(nn, RT_LAUNCH(nn_tick, 1, 32, 0, d->rt.stream, &d->steps[region], region, d->halt));
    return RT_OK;
}

/* Into a graph instead of the stream. */
RT_FN enum rt_status nn_capture(struct nn *nn, int region) {
    struct nn_device *d = &nn->device;
    cudaGraph_t graph;
    NN_CUDA(nn, cudaStreamBeginCapture(d->rt.stream, cudaStreamCaptureModeThreadLocal));
    enum rt_status status = nn_launch(nn, region);
    NN_CUDA(nn, cudaStreamEndCapture(d->rt.stream, &graph));
    if (!status)
        NN_CUDA(nn, cudaGraphInstantiate(&d->known[region].graph, graph, 0));
    NN_CUDA(nn, cudaGraphDestroy(graph));
    return status;
}

/* A region that runs more than once is captured the second time, and replayed from then on. */
RT_FN enum rt_status nn_run_device(struct nn *nn, int region) {
    struct nn_device *d = &nn->device;
    struct nn_known *k = &d->known[region];
    const struct nn_region *r = &nn_regions[region];
    struct nn_block want;
    memset((void *)&want, 0, sizeof want);
    //@ shows: if (d->text.size && rt_now() - d->settled >= NN_SEEN)
    //@ shows:     NN_TRY(nn_settle(nn));
    r->want(nn, &want);
    if (!k->sent || memcmp(&want, &k->steps.now, sizeof want) != 0)
        NN_TRY(nn_send_block(nn, region, &want));
    k->last = want;
    d->block = &d->steps[region].now;
    d->busy = true;
    if (k->runs++ == 0) {
        NN_TRY(nn_launch(nn, region));
    } else {
        if (!k->graph)
            NN_TRY(nn_capture(nn, region));
        NN_CUDA(nn, cudaGraphLaunch(k->graph, d->rt.stream));
    }
    nn_add(&k->steps.now, &k->steps.by, 1);
    for (int i = 0; i < r->n_after; i++)
        for (int j = 0; j < r->after[i].n; j++)
            d->stale[r->after[i].first + j] = true;
    return RT_OK;
}

/* ---- what is recorded and printed ------------------------------------------------------------ */

RT_FN double nn_number(struct nn *nn, int value) {
    struct rt_tensor t = nn_tensor(nn, value);
    return rt_type_is_real(t.type) ? rt_real_at(t.data, t.type, 0)
                                   : (double)rt_int_at(t.data, t.type, 0);
}

/* Ends the statement in the making. What it shows is put aside on the device, and nobody waits,
 * unless there is no room for another, or nothing was shown for so many seconds. */
RT_FN enum rt_status nn_put_off(struct nn *nn, double patience) {
    struct nn_device *d = &nn->device;
    const int place = (int)(d->n_put % NN_RING);
    struct nn_waiting *w = &d->waiting[place];
    struct nn_taken taken;
    taken.n = 0;
    w->step = nn->step;
    for (int i = 0; i < w->n; i++) {
        if (w->of[i] < 0)
            continue;
        if (!d->rt.on)
            w->value[i] = nn_number(nn, w->of[i]);
        taken.place[taken.n] = i;
        taken.type[taken.n] = (int)nn_values[w->of[i]].tensor.type;
        taken.at[taken.n++] = nn_on_device(nn, w->of[i]);
    }
    d->n_put++;
    d->waiting[d->n_put % NN_RING].n = 0;
    if (!d->rt.on)
        return nn_show_waiting(nn);
    NN_CUDA(nn, RT_LAUNCH(nn_take, 1, 32, 0, d->rt.stream, &d->ring[place], d->n_put, taken,
                          d->halt));
    d->busy = true;
    bool full = d->n_put - d->n_shown == NN_RING - 1;
    return full || rt_now() - d->settled >= patience ? nn_settle(nn) : RT_OK;
}

/* A `record` of n names; of[i] is the value of number i, or -1 where it stands in nn->record. */
RT_FN enum rt_status nn_record(struct nn *nn, const int *which, const int *of, int n) {
    struct nn_waiting *w = &nn->device.waiting[nn->device.n_put % NN_RING];
    if (!nn->log && !nn->progress)
        return RT_OK;
    w->which = which;
    w->n = n;
    for (int i = 0; i < n; i++) {
        w->of[i] = of[i];
        w->value[i] = nn->record[which[i]];
    }
    return nn_put_off(nn, nn->progress ? NN_SEEN : NN_LOGGED);
}

/* Here in nn->text comes a value. */
RT_FN void nn_put_later(struct nn *nn, int value, const char *format) {
    struct nn_waiting *w = &nn->device.waiting[nn->device.n_put % NN_RING];
    w->of[w->n] = value;
    w->format[w->n] = format;
    w->at[w->n++] = nn->text.size;
}

/* A `print` of nn->text and the values that come in it. */
RT_FN enum rt_status nn_print_later(struct nn *nn, int stream) {
    struct nn_device *d = &nn->device;
    struct nn_waiting *w = &d->waiting[d->n_put % NN_RING];
    w->which = NULL;
    w->stream = stream;
    w->from = d->text.size;
    for (int i = 0; i < w->n; i++)
        w->at[i] += w->from;
    rt_put(&d->text, nn->text.text, nn->text.size);
    w->end = d->text.size;
    if (d->text.failed || nn->text.failed)
        return rt_fail(&nn->rt, RT_ENV, "no memory for a printed text");
    return nn_put_off(nn, NN_SEEN);
}

/* ---- data ------------------------------------------------------------------------------------ */

/* Begins to copy the rows that stand in an index buffer to one of its places on the device. */
RT_FN enum rt_status nn_send_rows(struct nn *nn, const struct nn_index *x, int place, int64_t rows,
                                  cudaStream_t stream) {
    struct nn_device *d = &nn->device;
    const int32_t *chosen = (const int32_t *)(void *)nn_on_host(nn, x->value);
    for (int i = 0; i < x->n_sources; i++) {
        const struct rt_source *s = &nn->sources[x->sources[i]];
        size_t row = (size_t)s->row_elements * rt_type_size(s->type);
        size_t at = (size_t)(x->first + place * x->batch) * row;
        unsigned char *to = d->staging[x->sources[i]] + at;
        for (int64_t k = 0; k < rows; k++)
            memcpy(to + (size_t)k * row, (const unsigned char *)s->data + (size_t)chosen[k] * row,
                   row);
        NN_CUDA(nn, cudaMemcpyAsync(d->source[x->sources[i]] + at, to, (size_t)rows * row,
                                    cudaMemcpyHostToDevice, stream));
    }
    return RT_OK;
}

/* The batch that was just chosen goes to its place on the device, while the one before is worked
 * on. */
RT_FN enum rt_status nn_stage_batch(struct nn *nn, int index, int loop, int64_t rows) {
    struct nn_device *d = &nn->device;
    const struct nn_index *x = &nn_indexes[index];
    struct nn_stage *stage = &d->stage[index];
    int64_t round = nn->loops[loop].round - 1;
    int place = (int)(round & 1);
    for (int i = 0; i < x->n_sources; i++) {
        const int home = nn_data[x->sources[i]].value;
        if (home >= 0 && d->stale[home]) {
            NN_TRY(nn_pull(nn, home));
            NN_TRY(nn_settle(nn));
        }
    }
    if (stage->begun)
        NN_CUDA(nn, cudaEventSynchronize(stage->copied[place]));
    stage->begun = true;
    NN_CUDA(nn, cudaEventRecord(stage->used[1 - place], d->rt.stream));
    if (round == 0) /* of a loop that may be entered again */
        NN_CUDA(nn, cudaEventRecord(stage->used[place], d->rt.stream));
    NN_CUDA(nn, cudaStreamWaitEvent(d->rt.copies, stage->used[place], 0));
    NN_TRY(nn_send_rows(nn, x, place, rows, d->rt.copies));
    NN_CUDA(nn, cudaEventRecord(stage->copied[place], d->rt.copies));
    //@ wait: NN_CUDA(nn, cudaStreamWaitEvent(d->rt.stream, stage->copied[place], 0));
    return RT_OK;
}

/* The batches of a step that is run again: those that the host has sent since then lie where they
 * were. */
RT_FN enum rt_status nn_stage_again(struct nn *nn, const struct nn_block *block) {
    struct nn_device *d = &nn->device;
    NN_CUDA(nn, cudaStreamSynchronize(d->rt.copies));
    for (int i = 0; i < NN_INDEXES; i++) {
        const struct nn_index *x = &nn_indexes[i];
        struct rt_walk walk;
        memcpy((void *)&walk, (const char *)block + x->walk, sizeof walk);
        if (!walk.staged)
            continue;
        int32_t *const chosen = (int32_t *)(void *)nn_on_host(nn, x->value);
        walk.staged = false;
        for (int k = 0; k < x->batch; k++)
            chosen[k] = rt_walk_row(&walk, k);
        NN_TRY(nn_send_rows(nn, x, (int)(walk.round & 1), x->batch, d->rt.stream));
    }
    return RT_OK;
}

/* The next batch of a loop; 0 rows: there is none. The device finds its rows itself. */
RT_FN enum rt_status nn_next(struct nn *nn, int loop, int index, int64_t *rows) {
    struct nn_device *d = &nn->device;
    const struct nn_index *x = &nn_indexes[index];
    const bool staged = d->rt.on && d->staged[x->set];
    const bool wanted = !d->rt.on || staged || nn->cli.trace_dir;
    void *chosen = nn_on_host(nn, x->value);
    if (!rt_batches_next(&nn->loops[loop], wanted ? (int32_t *)chosen : NULL, rows))
        *rows = 0;
    d->walking[index] = loop;
    return staged && *rows ? nn_stage_batch(nn, index, loop, *rows) : RT_OK;
}

RT_FN void nn_walk(const struct nn *nn, int index, struct rt_walk *to) {
    const struct nn_index *x = &nn_indexes[index];
    rt_batches_now(&nn->loops[nn->device.walking[index]], to);
    to->staged = nn->device.staged[x->set];
    to->first = x->first;
}

RT_FN enum rt_status nn_run_again(struct nn *nn, const struct nn_region *r) {
    struct nn_device *d = &nn->device;
    struct nn_halt *halt = &d->pinned->halt;
    struct nn_block *now = &d->steps[halt->region].now;
    const struct rt_fault none = {-1, 0, 0, 0};
    halt->fault = none;
    d->block = now;
    //@ batches: NN_TRY(nn_stage_again(nn, &halt->block));
    NN_CUDA(nn, cudaMemcpyAsync(now, &halt->block, sizeof *now, cudaMemcpyHostToDevice,
                                d->rt.stream));
    NN_CUDA(nn, cudaMemcpyAsync(d->halt, halt, sizeof *halt, cudaMemcpyHostToDevice,
                                d->rt.stream));
    NN_TRY(r->device(nn, d->rt.stream));
    NN_CUDA(nn, cudaStreamSynchronize(d->rt.stream));
    return RT_OK;
}

/* ---- choice of a device ---------------------------------------------------------------------- */

RT_FN struct nn_parts nn_parts_of_memory(void) {
    struct nn_parts p;
    size_t size = 0;
    rt_part_of(&size, NN_DEVICE_ARENA);
    p.steps = rt_part_of(&size, sizeof(struct nn_steps) * (NN_REGIONS + 1));
    p.halt = rt_part_of(&size, sizeof(struct nn_halt));
    p.ring = rt_part_of(&size, sizeof(struct nn_taken_values) * NN_RING);
    p.end = size;
    return p;
}

/* What memory is needed for, without data that stays on the device. */
RT_FN void nn_least_needs(struct rt_need need[NN_CLASSES]) {
    memcpy(need, nn_needs, sizeof nn_needs);
    need[NN_KEEP].bytes += nn_parts_of_memory().end - NN_DEVICE_ARENA;
}

RT_FN enum rt_status nn_choose_device(struct nn *nn) {
    struct nn_device *d = &nn->device;
    struct rt_need need[NN_CLASSES];
    rt_buf_init(&d->text, &nn->rt, (size_t)1 << 30);
    nn_least_needs(need);
    if (!d->list)
        return rt_device_choose(&nn->rt, &d->rt, d->name, NN_CPU, NN_PROGRAM, need, NN_CLASSES);
    nn->cli.stop = true;
    rt_device_list(&nn->text);
    return rt_flush(&nn->text, 1);
}

/* ---- start and end --------------------------------------------------------------------------- */

RT_FN size_t nn_source_bytes(const struct nn *nn, int i) {
    const struct rt_source *s = &nn->sources[i];
    return (size_t)s->rows * (size_t)s->row_elements * rt_type_size(s->type);
}

/* Bytes of what is read for a data set; tensors of the program are on the device anyway. */
RT_FN size_t nn_set_bytes(const struct nn *nn, int set) {
    size_t bytes = 0;
    for (int i = 0; i < NN_SOURCES; i++)
        if (nn_data[i].set == set && nn_data[i].value < 0 && nn->sources[i].data)
            bytes += nn_source_bytes(nn, i);
    return bytes;
}

/* Data sets stay on the device while they fill no more than a part of it, one in
 * RT_RESIDENT_SHARE, and there is room. Of others two batches are there at a time. */
RT_FN enum rt_status nn_place_data(struct nn *nn) {
    struct nn_device *d = &nn->device;
    const size_t rest = nn_parts_of_memory().end + nn_needs[NN_DATA].bytes;
    size_t unused, total, resident = 0;
    NN_CUDA(nn, cudaMemGetInfo(&unused, &total));
    size_t room = unused > rest ? unused - rest : 0;
    if (room > total / RT_RESIDENT_SHARE)
        room = total / RT_RESIDENT_SHARE;
    for (int set = 0; set < NN_SETS; set++) {
        size_t bytes = nn_set_bytes(nn, set);
        d->staged[set] = bytes && resident + bytes > room;
        for (int i = 0; d->staged[set] && i < NN_SOURCES; i++)
            if (nn_data[i].set == set && nn_data[i].whole)
                d->staged[set] = false; /* not only batches of it are read */
        if (!d->staged[set])
            resident += bytes;
    }
    return RT_OK;
}

RT_FN size_t nn_placed_bytes(const struct nn *nn, int i) {
    const struct rt_source *s = &nn->sources[i];
    if (!s->data)
        return 0;
    if (nn->device.staged[nn_data[i].set])
        return (size_t)nn_stage_rows[nn_data[i].set] * (size_t)s->row_elements *
               rt_type_size(s->type);
    return nn_data[i].value < 0 ? nn_source_bytes(nn, i) : 0;
}

/* Rows go to the device in pieces, through memory that it can copy from. */
RT_FN enum rt_status nn_upload(struct nn *nn, unsigned char *to, const void *from, size_t bytes) {
    struct nn_device *d = &nn->device;
    for (size_t at = 0, n; at < bytes; at += n) {
        n = bytes - at < sizeof d->pinned->chunk ? bytes - at : sizeof d->pinned->chunk;
        memcpy(d->pinned->chunk, (const unsigned char *)from + at, n);
        NN_CUDA(nn, cudaMemcpyAsync(to + at, d->pinned->chunk, n, cudaMemcpyHostToDevice,
                                    d->rt.stream));
        NN_CUDA(nn, cudaStreamSynchronize(d->rt.stream));
    }
    return RT_OK;
}

RT_FN enum rt_status nn_upload_data(struct nn *nn) {
    struct nn_device *d = &nn->device;
    for (int i = 0; i < NN_SOURCES; i++) {
        const struct rt_source *s = &nn->sources[i];
        const bool staged = d->staged[nn_data[i].set];
        if (s->data && !staged && nn_data[i].value >= 0)
            d->source[i] = (unsigned char *)nn_on_device(nn, nn_data[i].value);
        else if (s->data && !staged)
            NN_TRY(nn_upload(nn, d->source[i], s->data, nn_source_bytes(nn, i)));
        else if (s->data)
            NN_CUDA(nn, cudaHostAlloc((void **)&d->staging[i], nn_placed_bytes(nn, i) + 1,
                                      cudaHostAllocDefault));
    }
    return RT_OK;
}

RT_FN enum rt_status nn_make_events(struct nn *nn) {
    struct nn_device *d = &nn->device;
    for (int i = 0; i < NN_SENDING; i++)
        NN_CUDA(nn, cudaEventCreateWithFlags(&d->sent[i], cudaEventDisableTiming));
    for (int i = 0; i < 2 * NN_INDEXES; i++) {
        NN_CUDA(nn, cudaEventCreateWithFlags(&d->stage[i / 2].copied[i % 2],
                                             cudaEventDisableTiming));
        NN_CUDA(nn, cudaEventCreateWithFlags(&d->stage[i / 2].used[i % 2], cudaEventDisableTiming));
    }
    return RT_OK;
}

/* The host's copy of what outlives a region, where the device copies to and from. */
RT_FN void *nn_mirror(struct nn *nn) {
    void *memory = NULL;
    cudaError_t error = cudaSetDevice(nn->device.rt.id);
    if (!error)
        error = cudaHostAlloc(&memory, NN_KEPT, cudaHostAllocDefault);
    return error ? NULL : memory;
}

/* Where the rows of each source begin; the size of the whole. RT_ENV: so much is not free. */
RT_FN enum rt_status nn_measure(struct nn *nn, size_t at[NN_SOURCES + 1], size_t *size) {
    const size_t first = nn_parts_of_memory().end;
    struct rt_need need[NN_CLASSES];
    char why[RT_WHY];
    *size = first;
    for (int i = 0; i < NN_SOURCES; i++)
        at[i] = rt_part_of(size, nn_placed_bytes(nn, i));
    nn_least_needs(need);
    need[NN_DATA].bytes = *size - first;
    if (!rt_device_fits(nn->device.rt.id, need, NN_CLASSES, why))
        return rt_fail(&nn->rt, RT_ENV, "%s", why);
    return RT_OK;
}

/* After data is read: memory and streams. */
RT_FN enum rt_status nn_start_device(struct nn *nn) {
    struct nn_device *d = &nn->device;
    const struct nn_parts parts = nn_parts_of_memory();
    size_t size, at[NN_SOURCES + 1];
    if (!d->rt.on)
        return RT_OK;
    NN_TRY(nn_place_data(nn));
    NN_TRY(nn_measure(nn, at, &size));
    NN_TRY(rt_device_start(&nn->rt, &d->rt, size));
    for (int i = 0; i < NN_SOURCES; i++)
        d->source[i] = d->rt.memory + at[i];
    d->steps = (struct nn_steps *)(void *)(d->rt.memory + parts.steps);
    d->halt = (struct nn_halt *)(void *)(d->rt.memory + parts.halt);
    d->ring = (struct nn_taken_values *)(void *)(d->rt.memory + parts.ring);
    /* All of these: a number in the ring says that its values were written. */
    NN_CUDA(nn, cudaMemsetAsync(d->steps, 0, parts.end - parts.steps, d->rt.stream));
    NN_CUDA(nn, cudaHostAlloc((void **)&d->pinned, sizeof *d->pinned, cudaHostAllocDefault));
    memset((void *)d->pinned, 0, sizeof *d->pinned);
    d->pinned->halt.fault.node = -1;
    d->pinned->halt.region = -1;
    NN_CUDA(nn, cudaMemcpyAsync(d->halt, &d->pinned->halt, sizeof *d->halt, cudaMemcpyHostToDevice,
                                d->rt.stream));
    NN_CUDA(nn, cudaStreamSynchronize(d->rt.stream)); /* it will be written */
    NN_TRY(nn_make_events(nn));
    return nn_upload_data(nn);
}

/* What fails here has no consequence, and why the trainer ends is said already. */
RT_FN void nn_stop_device(struct nn *nn) {
    struct nn_device *d = &nn->device;
    if (d->rt.stream)
        (void)cudaStreamSynchronize(d->rt.stream);
    for (int i = 0; i < NN_REGIONS; i++)
        if (d->known[i].graph)
            (void)cudaGraphExecDestroy(d->known[i].graph);
    for (int i = 0; i < NN_SENDING; i++)
        if (d->sent[i])
            (void)cudaEventDestroy(d->sent[i]);
    for (int i = 0; i < 2 * NN_INDEXES; i++) {
        if (d->stage[i / 2].copied[i % 2])
            (void)cudaEventDestroy(d->stage[i / 2].copied[i % 2]);
        if (d->stage[i / 2].used[i % 2])
            (void)cudaEventDestroy(d->stage[i / 2].used[i % 2]);
    }
    for (int i = 0; i < NN_SOURCES; i++)
        if (d->staging[i])
            (void)cudaFreeHost(d->staging[i]);
    if (d->pinned)
        (void)cudaFreeHost(d->pinned);
    if (d->look)
        (void)cudaFreeHost(d->look);
    rt_buf_free(&d->text);
    if (d->rt.on && nn->arena) {
        (void)cudaFreeHost(nn->arena);
        nn->arena = NULL;
    }
    rt_device_stop(&d->rt);
}
