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
 *   `int node` for each node whose faults it reports, in the order of kernel->faults.
 * A launch passes dev_<buffer>(nn), dev_src_<source>(nn), its_block(nn), numbers for places,
 * its_fault(nn) and numbers for nodes: nothing that changes from one run of a region to the next.
 */
#ifndef NNC_CUDA_PRINT_H
#define NNC_CUDA_PRINT_H

#include "../loop.h"

/* The function's text with its comment. */
void cuda_print_kernel(Text *out, const Kernel *k);
/* RT_LAUNCH(name, grid, block, 0, stream, …): an expression of type cudaError_t, without
 * semicolon. */
void cuda_print_launch(Text *out, const Kernel *k, const char *stream);

#endif
