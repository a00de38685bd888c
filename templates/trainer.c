#include <sys/stat.h>

/* ---- a whole run ---- */

RT_FN enum rt_status nn_command_line(struct nn *nn, int argc, char **argv) {
    struct rt_cli *cli = &nn->cli;
    nn_options(nn);
    for (int i = 0; i < NN_WEIGHTS; i++)
        nn->chosen[i] = nn_values[i].tensor;
    cli->program = NN_PROGRAM;
    cli->version = NN_VERSION;
    cli->tasks = nn_task_names;
    cli->n_tasks = NN_TASKS;
    cli->options = nn->option_list;
    cli->n_options = NN_OPTIONS;
    cli->tensors = nn->chosen;
    cli->n_tensors = NN_WEIGHTS;
    cli->fields = nn_fields;
    cli->n_fields = NN_SOURCES;
    cli->data = nn_data_names;
    return rt_cli_parse(&nn->rt, cli, argc, argv);
}

/* The arena and the threads. */
RT_FN enum rt_status nn_start(struct nn *nn) {
    struct rt *rt = &nn->rt;
    //@ both: const size_t bytes = nn->device.rt.on ? NN_KEPT : NN_ARENA;
    //@ both: void *const memory = nn->device.rt.on ? nn_mirror(nn) : rt->alloc(rt, bytes);
    //@ only cuda: const size_t bytes = NN_KEPT;
    //@ only cuda: void *const memory = nn_mirror(nn);
    //@ only c: const size_t bytes = NN_ARENA;
    //@ only c: void *const memory = rt->alloc(rt, bytes);
    nn->n = NN_PARALLEL ? rt->threads : 1;
    nn->arena = (unsigned char *)memory;
    //@ c: nn->team_memory = rt->alloc(rt, rt_team_bytes(nn->n) + 1);
    //@ c: if (!nn->arena || !nn->team_memory)
    //@ only cuda: if (!nn->arena)
        return rt_fail(rt, RT_ENV, "no memory: %.1f MB are needed", (double)bytes / 1e6);
    memset(nn->arena, 0, bytes);
    //@ c: return rt_team_start(rt, &nn->team, nn->n, nn->team_memory);
    //@ only cuda: return RT_OK;
}

/* Does an option name the file of the log, an argument of an export, say? */
RT_FN bool nn_log_is_option(struct nn *nn, const struct rt_option *o) {
    char path[4096];
    const char *text = o->kind == RT_OPT_STRING ? *(const char *const *)o->value : NULL;
    if (!text || !*text)
        return false;
    return strcmp(text, nn->cli.log) == 0 || rt_same_file(text, nn->cli.log) ||
           (rt_data_path(&nn->rt, "", text, path, sizeof path) == RT_OK &&
            rt_same_file(path, nn->cli.log));
}

/* The log is no file that was or will be read: it would be emptied. */
RT_FN enum rt_status nn_log_spares_inputs(struct nn *nn) {
    bool read = rt_file_held(&nn->rt, nn->cli.log);
    for (int i = 0; i < nn->cli.n_load; i++)
        read |= rt_same_file(nn->cli.load[i].path, nn->cli.log);
    if (read)
        return rt_fail(&nn->rt, RT_USAGE, "--log '%s': this file is read", nn->cli.log);
    for (int i = 0; i < NN_OPTIONS; i++)
        if (nn_log_is_option(nn, &nn->option_list[i]))
            return rt_fail(&nn->rt, RT_USAGE, "--log '%s': --%s has the same file", nn->cli.log,
                           nn->option_list[i].name);
    return RT_OK;
}

/* Closes the log; a full disk is an error where the task had none. */
RT_FN enum rt_status nn_log_end(struct nn *nn, enum rt_status status) {
    errno = 0;
    if (nn->log && fclose(nn->log) != 0 && !nn->log_error)
        nn->log_error = errno ? errno : EIO;
    nn->log = NULL;
    if (nn->log_error && !status)
        return rt_fail(&nn->rt, RT_ENV, "cannot write '%s': %s", nn->cli.log,
                       strerror(nn->log_error));
    return RT_OK;
}

/* The folder of a trace, made where it is not there. */
RT_FN enum rt_status nn_trace_folder(struct nn *nn, const char *path) {
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return rt_fail(&nn->rt, RT_ENV, "cannot make '%s': %s", path, strerror(errno));
    if (rt_is_folder(path))
        return RT_OK;
    return rt_fail(&nn->rt, RT_ENV, "--trace '%s': it is there and no folder", path);
}

RT_FN enum rt_status nn_run_task(struct nn *nn, const struct nn_task *task) {
    struct rt *rt = &nn->rt;
    if (task->needs_weights && !nn->cli.n_load && !rt->untrained)
        return rt_fail(rt, RT_USAGE, "%s needs weights: --load FILE (or --untrained)", task->name);
    if (nn->cli.trace_dir)
        NN_TRY(nn_trace_folder(nn, nn->cli.trace_dir));
    if (nn->cli.log)
        NN_TRY(rt_out_check(rt, nn->cli.log));
    if (task->data)
        NN_TRY(task->data(nn));
    if (nn->cli.log)
        NN_TRY(nn_log_spares_inputs(nn));
    rt_files_drop(rt);
    //@ cuda: NN_TRY(nn_start_device(nn));
    NN_TRY(nn_first(nn));
    if (task->prepare)
        NN_TRY(task->prepare(nn));
    for (int i = 0; i < nn->cli.n_load; i++)
        NN_TRY(nn_load_weights(nn, &nn->cli.load[i]));
    if (nn->cli.log && !(nn->log = fopen(nn->cli.log, "w")))
        return rt_fail(rt, RT_ENV, "cannot write '%s': %s", nn->cli.log, strerror(errno));
    if (nn->log) /* a line is there when its step is done, whatever ends the run */
        setvbuf(nn->log, NULL, _IOLBF, BUFSIZ);
    enum rt_status status = task->run(nn);
    //@ cuda: const enum rt_status late = rt_faulted(&nn->rt) ? RT_OK : nn_settle(nn);
    //@ cuda: status = late ? late : status; /* a fault that nobody saw came first */
    nn_clear_progress(nn);
    NN_TRY(nn_log_end(nn, status));
    return status ? status : nn->failed;
}

RT_FN void nn_stop(struct nn *nn) {
    //@ cuda: nn_stop_device(nn);
    //@ c: if (nn->team_memory)
    //@ c:     rt_team_stop(&nn->team);
    rt_files_drop(&nn->rt);
    for (int i = 0; i < NN_SOURCES; i++)
        if (nn->sources[i].data && !nn_source_is_home[i])
            rt_source_free(&nn->rt, &nn->sources[i]);
    rt_buf_free(&nn->text);
    nn_free_strings(nn);
    //@ c: nn->rt.release(&nn->rt, nn->team_memory);
    nn->rt.release(&nn->rt, nn->arena);
}

/* Everything: a status, and where it is not RT_OK a message in nn->rt (an `expect` has printed). */
RT_FN enum rt_status nn_trainer(struct nn *nn, int argc, char **argv) {
    rt_init(&nn->rt);
    rt_flush_denormals();
    rt_buf_init(&nn->text, &nn->rt, (size_t)1 << 30);
    nn_init_strings(nn);
    enum rt_status status = nn_command_line(nn, argc, argv);
    if (status || nn->cli.stop)
        return status;
    nn->progress = nn->progress && !nn->rt.quiet;
    //@ cuda: NN_TRY(nn_choose_device(nn));
    //@ cuda: if (nn->cli.stop)
    //@ cuda:     return RT_OK;
    status = nn_start(nn);
    if (!status)
        status = nn_run_task(nn, &nn_tasks[nn->cli.task]);
    nn_stop(nn);
    return status;
}
