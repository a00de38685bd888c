/* emit_device.h: the parts of the output that only target cuda has. */
#ifndef NNC_CUDA_EMIT_DEVICE_H
#define NNC_CUDA_EMIT_DEVICE_H

#include "../c/emit_c.h"

typedef struct Layers Layers;

/* ---- values: what outlives a region has one number, whoever computes ---- */
void cuda_prepare(CEmit *x);
const char *cuda_value(const CEmit *x, const Buffer *b); /* VALUE_dev_h1 */
/* "4096, ": where the buffer lies on the device; "0, " where it does not. */
const char *cuda_offset(const CEmit *x, const Buffer *b);
/* Adds what the device's kernels of a region read and leave. */
void cuda_note_region(CEmit *x, const Region *r, bool *before, bool *after);

void cuda_emit_sizes(CEmit *x);
void cuda_emit_state(CEmit *x); /* templates/device_state.cu */
void cuda_emit_block(CEmit *x); /* members of struct nn_block */
void cuda_emit_accessors(CEmit *x);
void cuda_emit_kernels(CEmit *x);
void cuda_emit_regions(CEmit *x);
void cuda_emit_tables(CEmit *x);
RegionKernels cuda_kernels_of(const CEmit *x, const Region *r);
/* --device and --devices, from this place in the list of options on. */
void cuda_emit_options(CEmit *x, int first);
int cuda_count_indexes(const CEmit *x); /* index buffers that loops fill */
/* nn_indexes: which row an index buffer has. */
int cuda_index(const CEmit *x, const Home *h);

/* ---- emit_fetch.c: host statements that need what is on the device ---- */
/* Lines that copy to the host what these read. `shows`: the statement has an effect that must not
 * come before a fault is known. Any of the arguments may be NULL. */
void cuda_emit_fetch(CEmit *x, const HExpr *a, const HExpr *b, const Format *f, bool shows);
void cuda_emit_fetch_expect(CEmit *x, const HStmt *s); /* all that it compares and shows */
/* What a region is given. */
void cuda_emit_fetch_scalars(CEmit *x, const Region *r);
/* The buffer whose only element `record` and `print` show as it is, so that they need not wait for
 * it; NULL: there is none. */
const Buffer *cuda_taken(const CEmit *x, const HExpr *h);
/* The most numbers that a statement shows so; -1: no statement shows anything later. */
int cuda_most_taken(const CEmit *x);
/* A print that need not wait; false: it must, and nothing was emitted. */
bool cuda_emit_print(CEmit *x, const HStmt *s);

#endif
