/* Value NUMBER is NAME: VALUE_NAME is its row in nn_values, at_NAME(nn) its memory, OFFSET bytes
 * into the arena: numbers of TYPE, or rows of them with the extents DIMS. */
#define NN_AT(number, type, name, dims, offset)                                                    \
    enum { VALUE_##name = (number) };                                                              \
    typedef type rows_of_##name dims;                                                              \
    RT_INLINE rows_of_##name *at_##name(struct nn *nn) {                                           \
        return (rows_of_##name *)(void *)(nn->arena + (offset));                                   \
    }

/* The same of every layer: at_NAME(nn, i) is that of layer i, VALUE_NAME + i its number. */
#define NN_AT_LAYER(number, type, name, dims, offset)                                              \
    enum { VALUE_##name = (number) };                                                              \
    typedef type rows_of_##name dims;                                                              \
    RT_INLINE rows_of_##name *at_##name(struct nn *nn, int i) {                                    \
        return (rows_of_##name *)(void *)(nn->arena + (offset));                                   \
    }

/* Rows of a source of data. */
#define NN_SOURCE(number, type, name)                                                              \
    RT_INLINE const type *at_src_##name(struct nn *nn) {                                           \
        return (const type *)nn->sources[number].data;                                             \
    }

//@ accessors
