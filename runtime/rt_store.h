/* rt_store.h: parameters and states as safetensors files. */
#ifndef RT_STORE_H
#define RT_STORE_H
#include "rt_data.h"

enum rt_layout { RT_ROW_MAJOR, RT_PANELS16 }; /* panels: [K][N] kept as [(N+15)/16][K][16] */

/* A tensor of the model; a table of these in the generated file, `data` set at start. */
struct rt_tensor {
    const char *key; /* "net.linear[0].w" */
    enum rt_type type;
    enum rt_layout layout;
    int rank;
    int64_t dims[RT_MAX_RANK];
    void *data;
};
/* Row-major copies of a tensor in its memory layout, either way. Padding lanes are kept 0 on import. */
RT_FN void rt_tensor_export(const struct rt_tensor *t, void *row_major);
RT_FN void rt_tensor_import(const struct rt_tensor *t, const void *row_major);
/* All tensors whose key starts with one of `prefixes` (NULL: all) in table order. */
RT_FN enum rt_status rt_save(struct rt *rt, const char *path, const struct rt_tensor *tensors, int n,
                             const char *prefix);
/* Reads them back: RT_USAGE with the missing, unexpected and misshapen keys all named, and then
 * nothing is changed; RT_ENV when the file cannot be read. */
RT_FN enum rt_status rt_load(struct rt *rt, const char *path, const struct rt_tensor *tensors, int n,
                             const char *prefix);
#endif
