/* The same in the device's arena, BYTES long. */
#define NN_DEVICE_AT(type, name, dims, offset, bytes)                                              \
    typedef type dev_rows_of_##name dims;                                                          \
    RT_INLINE dev_rows_of_##name *dev_##name(struct nn *nn) {                                      \
        return (dev_rows_of_##name *)(void *)RT_BUFFER(nn->device.rt.memory + (offset), bytes);    \
    }

/* The same of every layer: dev_NAME(nn, i) is that of layer i; every_NAME(nn, i) too, for a kernel
 * that uses those of all layers, WHOLE bytes from FIRST on. */
#define NN_DEVICE_AT_LAYER(type, name, dims, offset, bytes, first, whole)                          \
    typedef type dev_rows_of_##name dims;                                                          \
    RT_INLINE dev_rows_of_##name *dev_##name(struct nn *nn, int i) {                               \
        return (dev_rows_of_##name *)(void *)RT_BUFFER(nn->device.rt.memory + (offset), bytes);    \
    }                                                                                              \
    RT_INLINE dev_rows_of_##name *every_##name(struct nn *nn, int i) {                             \
        (void)RT_BUFFER(nn->device.rt.memory + (first), whole);                                    \
        return dev_##name(nn, i);                                                                  \
    }

#define NN_DEVICE_SOURCE(number, type, name)                                                       \
    RT_INLINE const type *dev_src_##name(struct nn *nn) {                                          \
        return (const type *)(const void *)RT_BUFFER(nn->device.source[number],                    \
                                                     nn_placed_bytes(nn, number));                 \
    }

//@ device accessors

RT_INLINE struct nn_block *its_block(struct nn *nn) {
    return RT_BUFFER(nn->device.block, sizeof(struct nn_block));
}

RT_INLINE struct rt_fault *its_fault(struct nn *nn) {
    return RT_BUFFER(&nn->device.halt->fault, sizeof(struct rt_fault));
}
