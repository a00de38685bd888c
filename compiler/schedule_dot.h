/* schedule_dot.h: what the files that schedule a contraction share. */
#ifndef NNC_SCHEDULE_DOT_H
#define NNC_SCHEDULE_DOT_H

#include "schedule.h"

enum { PANEL = 16, LANES = 8 };

/* One of the two operands, seen as [b, m, k] or [b, k, n]. */
typedef struct DotOperand {
    const Node *node;
    bool flip;            /* it lies transposed: the last two subscripts change places */
    const Buffer *packed; /* where the packing kernel puts it, or NULL */
    int64_t along_k;      /* elements from one k to the next; 0: no fixed distance */
    int64_t along_other;  /* … from one row m, or from one column n inside a panel */
    bool padded;          /* whole vectors may be read past the last column */
} DotOperand;

/* What a tile does: all in one, or with sums that wait in memory. */
typedef enum DotPart { DOT_ALL, DOT_CLEAR, DOT_ADD, DOT_FINISH } DotPart;

/* Rows are cut into `tall` tiles of `height` rows and then `low` tiles of `low_height` rows;
 * columns into panels of 16 and a last, narrow one. A block is a number of row tiles and panels;
 * blocks are what threads share. */
typedef struct Dot {
    Sched *s;
    const Node *n;
    Dim b, m, k, cols;
    Dim k_run[MAX_RANK]; /* extents whose product is k, along each of which the left operand is
                            linear */
    int k_runs;
    int k_outer;           /* so many of them, the outermost, run outside of the tiles; then */
    const Buffer *partial; /* the sums between their rounds, in rows of whole panels, */
    const Ix *k_base;      /* and what the rounds give of k */
    DotPart part;
    DotOperand left, right;
    int64_t height, tall, low_height, low;
    int64_t panels, narrow;          /* whole panels; columns of the last one, 0: none */
    int64_t row_blocks, block_tiles; /* blocks of tall tiles, tiles in one */
    int64_t col_blocks, block_panels;
    bool long_epilogue; /* it goes through memory, so that the machine code has it once */
} Dot;

/* Element (b, i, k) of the left operand; `tile` is the row tile that holds row i, `in_tile` its
 * place there. */
const Expr *dot_left(Dot *d, const Ix *b, const Ix *i, const Ix *k, const Ix *tile,
                     const Ix *in_tile);
/* Element (b, k, 16*panel + first + lane) of the right operand. */
const Expr *dot_right(Dot *d, const Ix *b, const Ix *k, const Ix *panel, int64_t first,
                      const Ix *lane);
/* Opens the loops over k, which run in its order; gives k. */
const Ix *dot_open_k(Dot *d, int unroll);
/* The run-time extent as an i32. */
const Expr *dot_extent(Dot *d, Dim dim);

/* One tile of results: `height` rows from `row`, `width` columns of panel `panel`; the chain over
 * k, then the epilogue. */
void dot_tile(Dot *d, const Ix *b, const Ix *row, const Ix *tile, int64_t height, const Ix *panel,
              int64_t width);

#endif
