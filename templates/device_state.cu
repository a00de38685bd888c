/* ---- the device ------------------------------------------------------------------------------ */

/* An index buffer that loops fill, and where its batches lie where data is staged. */
struct nn_index {
    int value, set;
    int64_t batch, first; /* rows; the first row in the places of its set */
    size_t walk;          /* where in struct nn_block it is said which batch */
    const int *sources;   /* what it chooses rows of */
    int n_sources;
};

/* A source's data set; the value that holds its rows, -1: they are read from a file; `whole`: not
 * only batches of it are read. */
struct nn_datum {
    int set, value;
    bool whole;
};

/* What the kernels of a region are given beside buffers. Each region has one on the device, so that
 * a captured region has no argument that changes. */
struct nn_block {
    int64_t step; /* executions of the region, from 1 */
    uint64_t seed;
    //@ block
};

/* A block, and by how much each run of the region changes its whole numbers. */
struct nn_steps {
    struct nn_block now, by;
};

/* What the host knows of a region's block on the device. */
struct nn_known {
    struct nn_steps steps; /* now: as the next run will find it */
    struct nn_block last;  /* what the last run was given */
    bool sent;
    int64_t runs;
    cudaGraphExec_t graph; /* NULL: not captured yet */
};

/* The first fault, and the block of the step that had it. */
struct nn_halt {
    struct rt_fault fault;
    int64_t region; /* -1: none */
    struct nn_block block;
};

/* Values that one `record` or `print` shows, as the device leaves them. */
struct nn_taken_values {
    int64_t number; /* of the statement, from 1: what has another was never written */
    double value[NN_TAKEN + 1];
};

/* Where a kernel finds them. */
struct nn_taken {
    int n;
    int place[NN_TAKEN + 1]; /* in `value` */
    int type[NN_TAKEN + 1];
    const void *at[NN_TAKEN + 1];
};

/* A `record` or `print` whose values are on the device still. */
struct nn_waiting {
    int64_t step;
    const int *which; /* record: the numbers of its names */
    int stream;       /* print: 1 or 2 */
    size_t from, end; /* print: its text in nn_device.text, without values */
    int n;
    int of[NN_TAKEN + 1];             /* number i is of this value; -1: is in `value` */
    double value[NN_TAKEN + 1];
    size_t at[NN_TAKEN + 1];          /* print: where in its text number i comes */
    const char *format[NN_TAKEN + 1]; /* print */
};

enum { NN_SENDING = 16, NN_RING = 256 };

/* Seconds after which what is put aside on the device is to be seen, or in the log. */
#define NN_SEEN 0.1
#define NN_LOGGED 1.0

/* What memory is needed for: nn_needs. NN_KEEP: beside what outlives a region the trainer's own.
 * NN_DATA: there for batches on their way, until what is read is known. */
enum { NN_KEEP = 3, NN_DATA = 4, NN_CLASSES = 5 };

/* Where the trainer's own parts lie in the memory of the device, behind the arena; data comes at
 * `end`. */
struct nn_parts {
    size_t steps, halt, ring, end;
};

/* Memory of the host that the device copies to and from while both go on. */
struct nn_pinned {
    struct nn_steps sending[NN_SENDING];
    struct nn_halt halt;
    struct nn_taken_values ring[NN_RING];
    unsigned char chunk[1 << 20]; /* of data, on its way */
};

/* The rows that the batches of one index buffer name, where data does not stay on the device: two
 * places that take turns. */
struct nn_stage {
    bool begun;
    cudaEvent_t copied[2]; /* the batch is there */
    cudaEvent_t used[2];   /* the kernels that read it are done */
};

struct nn_device {
    struct rt_device rt;
    struct nn_block *block; /* of the region that goes into the stream */
    /* on the device, in rt.memory behind the arena: */
    struct nn_steps *steps; /* [NN_REGIONS] */
    struct nn_halt *halt;
    struct nn_taken_values *ring;          /* [NN_RING] */
    unsigned char *source[NN_SOURCES + 1]; /* rows, or staged batches */
    /* on the host: */
    struct nn_known known[NN_REGIONS + 1];
    bool stale[NN_VALUES + 1]; /* the device has a newer value */
    bool busy;                 /* the device was given work since the host waited for it */
    struct nn_pinned *pinned;
    cudaEvent_t sent[NN_SENDING];
    int64_t n_sent;
    struct nn_waiting waiting[NN_RING]; /* of statements n_shown … n_put - 1; n_put: in the making */
    int64_t n_put, n_shown;
    struct rt_buf text; /* what waiting prints show */
    double settled;     /* when the host waited last */
    bool staged[NN_SETS + 1];
    struct nn_stage stage[NN_INDEXES + 1];
    unsigned char *staging[NN_SOURCES + 1]; /* pinned twins of staged sources */
    int walking[NN_INDEXES + 1];            /* the loop that set it last */
    unsigned char *look;                    /* a value that a replay looks at; pinned */
    const char *name;                       /* --device */
    bool list;                              /* --devices */
};

/* What stands further down in this file. Of values, only those that outlive a region are meant. */

/* Begins to copy a value to the host, where the device has a newer one. */
RT_FN enum rt_status nn_pull(struct nn *nn, int value);
/* Copies a value that the host has set to the device. */
RT_FN enum rt_status nn_push(struct nn *nn, int value);
/* Waits until the device has done all it was given, then hands on what was recorded and reports a
 * fault. Whatever the program shows comes after this. */
RT_FN enum rt_status nn_settle(struct nn *nn);
/* nn_pull for several, and nn_settle. */
RT_FN enum rt_status nn_fetch(struct nn *nn, const struct nn_range *range, int n);
/* A value, of a region too, for nn_look. */
RT_FN bool nn_bring(struct nn *nn, int value, struct rt_tensor *t);
/* Where the walk stands that set an index buffer last. */
RT_FN void nn_walk(const struct nn *nn, int index, struct rt_walk *to);
RT_FN enum rt_status nn_run_device(struct nn *nn, int region);
/* Bytes that source i takes on the device, 0 where its rows lie in the arena. */
RT_FN size_t nn_placed_bytes(const struct nn *nn, int i);
/* The step that had a fault once more: its kernels one by one, with the block of that step. */
RT_FN enum rt_status nn_run_again(struct nn *nn, const struct nn_region *r);
RT_FN enum rt_status nn_choose_device(struct nn *nn);
RT_FN void *nn_mirror(struct nn *nn);
RT_FN enum rt_status nn_start_device(struct nn *nn);
RT_FN void nn_stop_device(struct nn *nn);

RT_INLINE RT_BOTH int64_t nn_plus(int64_t a, int64_t b, int sign) {
    return (int64_t)((uint64_t)a + (uint64_t)(int64_t)sign * (uint64_t)b);
}
