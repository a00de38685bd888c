/* bits.c: prints a hash of the bits of every function of rt_math and rt_rng over many inputs, one
 * line a function. bits.sh builds it with several compilers, levels and both lane counts; all must
 * agree. */
#include "rt_math.h"
#include "rt_rng.h"

enum { N = 1 << 20 };

RT_FN uint64_t mix(uint64_t hash, float x) {
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    if (x != x)
        b = 0x7fc00000u; /* which NaN it is carries no meaning */
    return (hash ^ b) * 1099511628211u;
}

/* Input i of N: bit patterns spread over all floats, then numbers around zero. */
RT_FN float input(uint32_t i) {
    if (i % 2)
        return ((float)(int32_t)(i * 2654435761u)) * 0x1p-28f;
    uint32_t b = i * 4093u + (i >> 7);
    float x;
    memcpy(&x, &b, sizeof x);
    return x;
}

#ifndef ONE
#define APPLY(out, name, args) st8(out, name##_v args(ld8))
#define STEP                   8
#else
#define APPLY(out, name, args) *(out) = name##_1 args(*)
#define STEP                   1
#endif
#define OF1(load) (load(x))
#define OF2(load) (load(x), load(y))

#define HASH(name, args)                                                                           \
    {                                                                                              \
        uint64_t hash = 14695981039346656037u;                                                     \
        for (uint32_t i = 0; i < N; i += STEP) {                                                   \
            float x[8], y[8], z[8];                                                                \
            for (uint32_t k = 0; k < STEP; k++) {                                                  \
                x[k] = input(i + k);                                                               \
                y[k] = input((i + k) * 7u + 3u);                                                   \
            }                                                                                      \
            (void)y;                                                                               \
            APPLY(z, name, args);                                                                  \
            for (uint32_t k = 0; k < STEP; k++)                                                    \
                hash = mix(hash, z[k]);                                                            \
        }                                                                                          \
        printf("%-8s %016llx\n", #name, (unsigned long long)hash);                                 \
    }

RT_FN void functions(void){HASH(exp, OF1) HASH(expm1, OF1) HASH(sigmoid, OF1) HASH(tanh, OF1)
                               HASH(sinh, OF1) HASH(cosh, OF1) HASH(erf, OF1) HASH(log, OF1)
                                   HASH(log1p, OF1) HASH(sin, OF1) HASH(cos, OF1) HASH(tan, OF1)
                                       HASH(asin, OF1) HASH(acos, OF1) HASH(atan, OF1)
                                           HASH(pow, OF2) HASH(atan2, OF2)}

RT_FN void numbers(void) {
    const struct rt_place at = {20240229, 1, 2, 3};
    uint64_t hash = 14695981039346656037u;
    for (int64_t i = 0; i < N / 16; i++) {
        hash = mix(hash, rt_uniform1(&at, i));
        hash = mix(hash, rt_normal1(&at, i));
        hash = mix(hash, (float)rt_permute((uint64_t)i, N / 16, rt_key(&at)));
    }
    printf("random   %016llx\n", (unsigned long long)hash);
}

/* A product and a sum that stay two roundings, in scalars and in lanes. */
RT_FN void plain(void) {
    uint64_t hash = 14695981039346656037u;
    for (uint32_t i = 0; i < N / 16; i++) {
        float x = input(2 * i + 1), y = input(2 * i + 3), z = -x * y * 0.99999f;
        hash = mix(hash, x * y + z);
        hash = mix(hash, z - x * y);
        hash = mix(hash, (bc8(x) * bc8(y) + bc8(z))[3]);
    }
    printf("plain    %016llx\n", (unsigned long long)hash);
}

#include "rt_end.h"

int main(void) {
    functions();
    numbers();
    plain();
    return 0;
}
