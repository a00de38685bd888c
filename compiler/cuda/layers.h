/* layers.h: runs that are one launch. */
#ifndef NNC_CUDA_LAYERS_H
#define NNC_CUDA_LAYERS_H

#include "../c/print_kernel.h"
#include "emit_device.h"
#include "geometry.h"

/* Finds, before kernels are printed, which of them are launched for all layers at once. */
void cuda_find_layers(CEmit *x);
/* Can each kernel of the run be one launch for all its copies? */
bool cuda_is_layers(const CEmit *x, Run run, int replay_end);
/* Which of its buffers the kernel's function is told the steps of; NULL: of none. */
const bool *cuda_moves(const CEmit *x, const Kernel *k);
/* The launch of this kernel of the first copy of a run; copies == 0: of one that is in none. */
LaunchLayers cuda_layers_of(const CEmit *x, Run run, int kernel);

#endif
