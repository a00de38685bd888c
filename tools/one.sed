# one.sed: makes rt_math_1.h, functions of one number, from runtime/rt_math.h, where vf and vi stand
# for eight lanes: sed -n -f tools/one.sed runtime/rt_math.h
1i\
/* rt_math_1.h: the functions of rt_math.h on one number, with the bits of a lane, from the same\
 * text. After rt_one.h. */\
#ifndef RT_MATH_1_H\
#define RT_MATH_1_H\

/^\/\* ---- signs/,$ {
    s/^\/\* ---- signs: .* \(-*\)$/\/* ---- signs \1----------------------------------------------/
    s/\bbc_v(\([^()]*\))/\1/g
    s/\bvf\b/float/g
    s/\bvi\b/int32_t/g
    s/_v(/_1(/g
    s/\bRT_MATH_INLINE\b/RT_BOTH RT_INLINE/
    s/\bRT_MATH_FN\b/RT_BOTH RT_HOT/
    p
}
