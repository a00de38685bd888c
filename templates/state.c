//@ sizes

struct nn;
//@ cuda: struct nn_block;

/* A piece of memory that has a name outside: a buffer of the arena, or a scalar of struct nn. */
struct nn_value {
    struct rt_tensor tensor; /* key, type, layout, extents; data is set by nn_tensor */
    size_t offset;           /* in the arena; from row NN_GIVEN to NN_VALUES - 1 in struct nn */
    //@ cuda: size_t device; /* in the device's arena */
    const char *where; /* "digits.nn:14" */
};

/* The copies of a value of every layer share a row, the first of them row NN_VALUES; their numbers
 * follow each other. Copy i lies (i + shift) % rotate * stride further on. */
struct nn_copies {
    int n, shift, rotate;
    int64_t stride;
};

/* A row with an axis whose extent is known at run time: per * count. */
struct nn_counted {
    int row, axis;
    int64_t per;
    size_t count; /* where it is in struct nn */
};

/* Values first … first + n - 1. */
struct nn_range {
    int first, n;
};

/* A value that a replay looks at, in the order of writing; in a loop `value` is that of layer 0, of
 * layer i it is value + step * i. */
struct nn_written {
    int group, value, step;
};

/* A value and the name it has in a file. */
struct nn_key {
    int value;
    const char *key;
};

/* Rows of a source that the index buffer `index` names. */
struct nn_batch {
    const char *key;
    int source, index;
};

/* A place of the program that may set the fault word. */
struct nn_place {
    int node;
    char kind;        /* 'l' loss, 'i' index */
    const char *name; /* the loss, or what is indexed */
    const char *where;
    int64_t size; /* 'i': of the axis that is indexed */
    int64_t run;  /* 'i': how many of it are taken from the index on */
};

/* A sub-command: what it reads first, what it does. */
struct nn_task {
    const char *name;
    enum rt_status (*data)(struct nn *nn);    /* looks where it saves, reads its data */
    enum rt_status (*prepare)(struct nn *nn); /* computes what is made of it */
    enum rt_status (*run)(struct nn *nn);
    bool needs_weights; /* uses trained parameters and does not train or load them */
};

/* Tensor work between two decisions of the host. */
struct nn_region {
    const char *name;
    void (*run)(void *nn, int t); /* once on each thread; `parallel`: on more than one */
    bool parallel;
    const struct nn_range *before, *after; /* values it reads from outside, values it leaves */
    int n_before, n_after;
    const struct nn_batch *batches;
    int n_batches;
    //@ cuda: /* puts it into a stream; what its run is given now */
    //@ cuda: enum rt_status (*device)(struct nn *nn, cudaStream_t stream);
    //@ cuda: void (*want)(const struct nn *nn, struct nn_block *block);
};

//@ device state

struct nn {
    struct rt rt; /* first */
    //@ c: struct rt_team team;
    //@ c: void *team_memory;
    int n; /* threads that run a region */
    unsigned char *arena;
    struct rt_buf text; /* what is being printed */
    struct rt_cli cli;
    struct rt_option option_list[NN_OPTIONS + 1];
    int64_t step;                 /* executions of the region that runs, from 1 */
    int64_t runs[NN_REGIONS + 1]; /* of each region */
    bool replay;                  /* one thread runs a region again to look at every tensor */
    int bad_nan, bad_inf;         /* values found so, -1: none yet */
    enum rt_status failed;        /* arithmetic of the host, an `expect` */
    bool progress;                /* standard error is a terminal that shows a progress line */
    double shown;                 /* when it was written last */
    double record[NN_RECORDS + 1];
    FILE *log; /* of --log, or NULL */
    int log_error; /* why it has not taken a line, or 0 */
    struct rt_source sources[NN_SOURCES + 1];
    struct rt_rows rows[NN_SPLITS + 1];
    struct rt_batches loops[NN_LOOPS + 1];
    uint32_t entries[NN_LOOPS + 1]; /* how often each was entered */
    struct rt_tensor chosen[NN_VALUES + NN_BATCHES + 1];
    //@ cuda: struct nn_device device;
    //@ members
};

RT_FN void nn_look_at(struct nn *nn, int group, int layer);

/* All threads meet here; a replay has only one. */
RT_INLINE void nn_wait(struct nn *nn, int t) {
    if (!nn->replay)
        rt_barrier(&nn->team, t);
}

/* The memory of this group of values (nn_written) may be used again: a replay looks at them now,
 * until it has found a NaN. */
RT_INLINE void nn_inspect(struct nn *nn, int group, int layer) {
    if (nn->replay && nn->bad_nan < 0)
        nn_look_at(nn, group, layer);
}
