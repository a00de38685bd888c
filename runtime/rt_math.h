/* rt_math.h: elementary functions, eight lanes or one from the same text with the same bits. */
#ifndef RT_MATH_H
#define RT_MATH_H
#include "rt_base.h"
/* vf f32 lanes, vi i32 lanes: v8 and v8i, or float and int32_t where RT_LANES is 1. */
typedef v8 vf;
typedef v8i vi;
/* exp_v log_v log1p_v expm1_v tanh_v sigmoid_v erf_v sin_v cos_v tan_v asin_v acos_v atan_v sinh_v
 * cosh_v: vf -> vf; atan2_v(y, x), pow_v(x, y). For one number the same names end in _1:
 * float exp_1(float), pow_1(float, float) … with the bits of a lane. */
#define RT_MATH_1(name)              \
    RT_INLINE vf name##_v(vf x);     \
    RT_INLINE float name##_1(float x);
RT_MATH_1(exp) RT_MATH_1(log) RT_MATH_1(log1p) RT_MATH_1(expm1) RT_MATH_1(tanh) RT_MATH_1(sigmoid)
RT_MATH_1(erf) RT_MATH_1(sin) RT_MATH_1(cos) RT_MATH_1(tan) RT_MATH_1(asin) RT_MATH_1(acos)
RT_MATH_1(atan) RT_MATH_1(sinh) RT_MATH_1(cosh)
RT_INLINE vf atan2_v(vf y, vf x);
RT_INLINE vf pow_v(vf x, vf y);
RT_INLINE float atan2_1(float y, float x);
RT_INLINE float pow_1(float x, float y);
#endif
