/* print.h: kernels as CUDA text.
 *
 * A kernel is a __global__ function of its own; one thread does what is one lane of target c. Its
 * parameters are, in this order:
 *   its buffers (each once; a pointer to device memory, typed as c_print_buffer_type has it),
 *   the stored rows of its data sources (const T *),
 *   `const struct nn_block *block` when it uses scalars, counts, the seed or the step: it reads
 *       block->scalars.<name>, block->counts.<name>, block->seed, block->step,
 *   `uint32_t place` for each place of random numbers, in the order of kernel->places,
 *   `struct rt_fault *fault` when it may set the fault word (kernel->check) or must obey it
 *       (kernel->obeys: it then returns at once when the word is set),
 *   `int node` for each node whose faults it reports, in the order of kernel->faults,
 *   `int64_t x_step` for each buffer x that moves where layers are launched together (layers.h).
 * A launch passes dev_<buffer>(nn), dev_src_<source>(nn), its_block(nn), numbers for places,
 * its_fault(nn) and numbers for nodes: nothing that changes from one run of a region to the next.
 */
#ifndef NNC_CUDA_PRINT_H
#define NNC_CUDA_PRINT_H

#include "../c/print.h"

/* A launch for several layers; of buffers, in the order of parameters, which move from one layer to
 * the next, and how many bytes. */
typedef struct LaunchLayers {
    int copies;
    const bool *moves;
    const int64_t *step;
} LaunchLayers;

/* The function's text with its comment; moves: as above, NULL: none. */
void cuda_print_kernel(Text *out, const Kernel *k, const bool *moves);
/* RT_LAUNCH(name, grid, block, 0, stream, …): an expression of type cudaError_t, without
 * semicolon; names NULL: all plain; layers NULL: one. */
void cuda_print_launch(Text *out, const Kernel *k, const char *stream, const CallNames *names,
                       const LaunchLayers *layers);

#endif
