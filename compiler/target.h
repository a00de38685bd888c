/* target.h: what a target says about the kernels that are made for it. */
#ifndef NNC_TARGET_H
#define NNC_TARGET_H

#include "schedule.h"

struct Target {
    const char *name;
    bool panels;  /* matrices may lie in panels of 16 columns */
    bool threads; /* a thread is one lane: rows belong to warps, kernels run one after the other */
    void (*schedule[GROUP_KINDS])(Sched *s);
    void (*finish)(Compiler *c); /* orders kernels, and makes one of several; NULL: nothing */
};

extern const Target target_c, target_cuda;

#endif
