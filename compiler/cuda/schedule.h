/* schedule.h: what the files share that schedule kernels of target cuda. */
#ifndef NNC_CUDA_SCHEDULE_H
#define NNC_CUDA_SCHEDULE_H

#include "../target.h"

void schedule_cuda_dot(Sched *s);
/* Barriers before updates in place that other threads read. */
void cuda_order(Arena *a, Kernel *k);
void cuda_bundle(Compiler *c);

#endif
