#define NN_CUDA(nn, call) RT_CUDA(&(nn)->rt, call, "the GPU failed")

/* ---- kernels of the trainer itself ----------------------------------------------------------- */

/* Ends a region: its block becomes that of the next run. After a fault nothing moves, and the block
 * of the step that had it is kept. */
__global__ void __launch_bounds__(32) nn_tick(struct nn_steps *steps, int region,
                                              struct nn_halt *halt) {
    if (threadIdx.x != 0)
        return;
    if (halt->fault.node < 0) {
        nn_add(&steps->now, &steps->by, 1);
    } else if (halt->region < 0) {
        halt->region = region;
        halt->block = steps->now;
    }
}

/* The rows of a batch. */
__global__ void __launch_bounds__(128) nn_fill_rows(int32_t *rt_restrict index, int n,
                                                    const struct rt_walk *walk) {
    int i = (int)(blockIdx.x * 128 + threadIdx.x);
    if (i < n)
        index[i] = rt_walk_row(walk, i);
}

__device__ static double nn_number_at(const void *at, int type) {
    switch (type) {
    case RT_F32:
        return (double)*(const float *)at;
    case RT_F64:
        return *(const double *)at;
    case RT_I32:
        return (double)*(const int32_t *)at;
    case RT_I64:
        return (double)*(const int64_t *)at;
    default:
        return (double)*(const uint8_t *)at;
    }
}

/* Values are put where the host will fetch them, unless a fault came before. The table stays where
 * arguments are: a copy of it would be on the stack. */
__global__ void __launch_bounds__(32) nn_take(struct nn_taken_values *to, int64_t number,
                                              const __grid_constant__ struct nn_taken taken,
                                              const struct nn_halt *halt) {
    if (threadIdx.x != 0 || halt->fault.node >= 0)
        return;
    for (int i = 0; i < taken.n; i++)
        to->value[taken.place[i]] = nn_number_at(taken.at[i], taken.type[i]);
    to->number = number;
}
