/* rt_end.h: ends what rt_base.h began. After it only `main` follows, which any processor can run.
 */
#ifndef RT_END_H
#define RT_END_H

#if defined(__clang__)
#ifdef RT_AVX2
#pragma clang attribute pop
#endif
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif

#endif
