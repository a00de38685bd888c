/* lower.h: what is left of a program once its graph has become kernels over buffers: the contract
 * between the kernel side (fuse, layout, schedule) and the program side (order of calls, barriers,
 * memory plan, emission).
 */
#ifndef NNC_LOWER_H
#define NNC_LOWER_H

#include "program.h"

/* Where element (i, j, …) of a buffer lies. Every access goes through it; a layout is a choice for
 * speed, never for meaning. */
typedef enum Layout {
    LAYOUT_ROWS,    /* row-major */
    LAYOUT_PANELS16 /* rank 2 [k][n]: [(n + 15) / 16][k][16]; the padding columns of the last panel
                       hold anything */
} Layout;

typedef struct Family Family;

typedef struct Buffer {
    int id;
    const char *name; /* C identifier, unique in the program: h1, d_h1, net_linear0_w */
    const char *base;  /* the name before a number made it unique; NULL: it is the name */
    const char *plain; /* without the word of its region: relu of valid_relu; NULL: the name */
    DType dtype;
    Shape shape;
    Layout layout;
    Home *home;     /* its storage, or NULL */
    Home *packed_of; /* of what it is a copy in another order, or NULL */
    Node *node;     /* the value it holds, when it is no home */
    Region *region; /* the only region that uses it; NULL: persistent */
    int64_t bytes;  /* with padding, multiple of 64 */
    int64_t offset; /* in the arena, set by plan */
    Family *family; /* of which it is copy number `copy`; NULL: none; set by plan */
    int copy;
} Buffer;

/* The buffers that have one role in the copies of a repeated body: the output of each layer. Copy i
 * lies at offset + (i + shift) % rotate * stride, so that a loop over layers can name them. */
struct Family {
    const char *name; /* C identifier, unique among buffers and families */
    VEC(Buffer *) copies;
    int64_t offset, stride;
    int rotate, shift;
};

/* Kernels first … first + period * copies - 1 are `copies` times the same calls: the same
 * functions, barriers and decisions; what a call is handed is the same each time or one copy
 * further in its family, or a number of the call's own (a place, a fault). The decision before
 * `first` is outside when the other copies have none. */
typedef struct Run {
    int first, period, copies;
} Run;

/* The bytes of a buffer that a kernel's tile reads or writes. `owner`: tile t of T touches only
 * subscripts t * part … (t + 1) * part - 1 of `axis` (the last tile: to the end). No barrier is
 * needed between two kernels of equal T for accesses with the same axis and part. */
typedef struct Access {
    Buffer *buffer;
    bool owner;
    int axis;     /* owner */
    int64_t part;
    const char *called; /* in a function that several kernels share; NULL: as the buffer */
} Access;

typedef struct Nest Nest; /* loop.h */

typedef struct Kernel {
    int id;
    const char *name;  /* C identifier of the function: "make_valid_relu" */
    const char *plain; /* what kernels of other regions that do the same have too: "make_relu" */
    Region *region;
    Op op; /* the last that it does */
    Span span;
    const char *note; /* comment above the function: place, what it stores, by way of what */
    const char *line; /* the program's line at that place, or NULL */
    VEC(Access) reads;
    VEC(Access) writes; /* a buffer in both is updated in place */
    VEC(Scalar *) scalars;
    VEC(const Count *) counts;
    VEC(DataSource *) sources; /* whose stored rows it reads */
    VEC(uint32_t) places;      /* of random numbers it draws, each once */
    VEC(int) faults;           /* nodes whose faults it reports, each once */
    bool seed;                 /* draws random numbers */
    int tiles;                 /* 1: runs on one thread */
    double flops, bytes;
    Nest *nest;
    int same_as; /* id of the earlier kernel with the same text (then only calls differ), or its own
                    id */
    bool check;  /* sets the fault word; no home may be written after it when it is set */
    bool obeys;  /* target cuda: writes homes, and does nothing once the fault word is set */
} Kernel;

/* What a node says that sets the fault word. */
typedef struct Fault {
    const Node *node;
    enum { FAULT_LOSS, FAULT_INDEX } kind; /* a value is not finite; an index is out of range */
    int64_t size;                          /* indices must be 0 … size-1 */
} Fault;

typedef struct Lowered {
    Program *program;
    VEC(Buffer *) buffers;
    Names *names; /* of buffers */
    VEC(Kernel *) kernels; /* by region, in the order of execution */
    VEC(Fault) faults;     /* each node once */
    VEC(Family *) families; /* set by plan */
    VEC(Run) runs;          /* ascending, set by plan */
    int64_t arena_bytes; /* set by plan */
    int64_t kept_bytes;  /* set by plan: of it, those in front, of buffers that outlive a region */
    bool *barrier_after; /* per kernel, set by plan */
    bool *decide_before; /* per kernel, set by plan: a fault by now ends the region here; before a
                            kernel that checks, all threads wait once more */
} Lowered;

/* Appends a buffer like this one (name, type, shape, whose value it is) in rows, with its number
 * and its bytes. */
Buffer *lower_buffer(Arena *a, Lowered *l, Buffer like);
/* Elements with padding. */
int64_t layout_elements(const Buffer *b);
/* Sets the layout and what follows from it. */
void layout_set(Buffer *b, Layout layout);

/* The buffer a node's value is read from by the host or by a later region; NULL when it was never
 * stored. */
Buffer *lower_buffer_of_node(const Lowered *l, const Node *n);
Buffer *lower_buffer_of_home(const Lowered *l, const Home *h);

/* The barrier between the copies of a run stands before each of them, else behind each. */
bool run_waits_first(const Lowered *l, Run run);
/* The decision before the first kernel is that of every copy; else it is outside. */
bool run_decides_first(const Lowered *l, Run run);

bool kernel_writes_home(const Kernel *k);
/* Does a write a buffer that b reads or writes? */
bool kernel_writes_touched(const Kernel *a, const Kernel *b);

/* Which of the kernel's places or faults it is; the parameters of its function follow that order.
 */
int kernel_place(const Kernel *k, uint32_t place);
int kernel_fault(const Kernel *k, int node);
/* What the node with this number says; NULL: nothing. */
const Fault *lower_fault(const Lowered *l, int node);

#endif
