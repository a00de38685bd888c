/* geometry.h: how a kernel's loops are shared among blocks and threads. */
#ifndef NNC_CUDA_GEOMETRY_H
#define NNC_CUDA_GEOMETRY_H

#include "print.h"

typedef struct Geometry {
    const LoopVar *tile[3];   /* outermost first */
    const LoopVar *thread[2]; /* outermost first */
    int tiles, threads;
    int warps; /* of a block, where rows belong to warps; else 0 */
    int parts; /* 0: one */
    bool one;  /* all is done by one thread */
    int64_t grid[3];
    int block[3];
} Geometry;

Geometry geometry_of(const Kernel *k);
/* Of the part of a kernel: blocks are counted along x, and have as many threads as those of all
 * parts. */
Geometry geometry_of_part(const Block *b);

#endif
