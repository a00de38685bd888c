#include <sys/mman.h>

/* Memory for the runtime: large pages for what is large, so that fewer addresses are translated. */
static void *main_alloc(struct rt *rt, size_t bytes) {
    (void)rt;
    const size_t large = (size_t)2 << 20;
    void *memory = NULL;
    if (posix_memalign(&memory, bytes >= large ? large : 64, bytes))
        return NULL;
#ifdef MADV_HUGEPAGE
    if (bytes >= large)
        madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return memory;
}

static void main_release(struct rt *rt, void *memory) {
    (void)rt;
    free(memory);
}

/* What standard output does not take is an error of the run: main keeps its errno. */
static void main_write(struct rt *rt, int stream, const char *text, size_t n) {
    while (n > 0) {
        ssize_t wrote = write(stream, text, n);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0) {
            if (stream == STDOUT_FILENO)
                *(int *)rt->host = errno;
            return;
        }
        text += wrote;
        n -= (size_t)wrote;
    }
}

int main(int argc, char **argv) {
    const char *missing = rt_cpu_missing();
    if (missing) {
        fprintf(stderr, NN_PROGRAM ": this processor lacks %s; compile with -DRT_BASELINE\n",
                missing);
        return RT_ENV;
    }
    struct nn *nn = (struct nn *)main_alloc(NULL, sizeof(struct nn));
    if (!nn) {
        fprintf(stderr, NN_PROGRAM ": no memory\n");
        return RT_ENV;
    }
    memset((void *)nn, 0, sizeof *nn);
    nn->rt.alloc = main_alloc;
    nn->rt.release = main_release;
    nn->rt.write = main_write;
    int lost = 0;
    nn->rt.host = &lost;
    nn->progress = isatty(STDERR_FILENO) == 1;
    enum rt_status status = nn_trainer(nn, argc, argv);
    if (status && nn->rt.message[0])
        fprintf(stderr, NN_PROGRAM ": %s\n", nn->rt.message);
    if (!status && lost) {
        fprintf(stderr, NN_PROGRAM ": cannot write standard output: %s\n", strerror(lost));
        status = RT_ENV;
    }
    free(nn);
    return (int)status;
}
