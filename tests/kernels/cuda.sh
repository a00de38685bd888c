#!/bin/bash
# The graphs of the kernel tests as CUDA text: run by the shim in three orders of threads, the bits
# are those of target c; once more with the build of the shim that finds races and reads of what
# nobody wrote; nvcc takes the text without a warning, and kernels in f32 neither spill nor have a
# stack nor compute anything in f64.
# tier: test
. tests/lib.sh
need_cuda_headers
mkdir "$work/texts"

# suites WAY ORDERS: with that build of the shim
suites() {
    local suite
    kernel_cases_on_cuda "$@"
    for suite in test_kernels test_layout test_fuse test_windows; do
        "$BUILD/tests/unit/$suite" >"$work/log" 2>&1 || {
            grep -v '^In file' "$work/log" | tail -n 20
            wrong "$suite on cuda, $1"
        }
    done
}

CASE_TEXTS=$work/texts suites plain "forward reverse random"
suites race random
[ -x "$CUDA/bin/nvcc" ] || {
    echo "no nvcc: the text was not compiled for a GPU"
    finish
}

{
    echo '#include "runtime/rt_warp.h"'
    grep -L '\<double\>' "$work"/texts/*.cu | xargs cat
    echo '#include "runtime/rt_end.h"'
} >"$work/f32.cu"
{
    echo '#include "runtime/rt_warp.h"'
    grep -l '\<double\>' "$work"/texts/*.cu | xargs cat
    echo '#include "runtime/rt_end.h"'
} >"$work/f64.cu"
for real in f32 f64; do
    "$CUDA/bin/nvcc" -std=c++17 -arch=sm_80 -fmad=false -ftz=true -Werror all-warnings -Xptxas -v \
        -I. -I"$BUILD" -keep -keep-dir "$work" -c -o "$work/$real.o" "$work/$real.cu" \
        >"$work/$real.log" 2>&1 || {
        grep -v '^ptxas info' "$work/$real.log" | head -n 20
        wrong "nvcc, kernels in $real"
    }
    [ $real = f32 ] && grep 'bytes stack' "$work/$real.log" |
        grep -v '^ *0 bytes stack frame, 0 bytes spill' &&
        wrong "kernels in $real with a stack or spills"
    echo "$real: $(grep -c 'Used .* registers' "$work/$real.log") kernels," \
        "$(sed -n 's/.*Used \([0-9]*\) registers.*/\1/p' "$work/$real.log" | sort -n | tail -n 1)" \
        "registers at most"
done
for access in ld st; do
    grep -q "$access\.global[a-z.]*\.v4\.f32" "$work/f32.ptx" || wrong "no $access of 16 bytes"
done
grep -q '\.f64' "$work/f32.ptx" && {
    awk '/\.entry/ { name = $0 } /\.f64/ { print name ": " $0 }' "$work/f32.ptx" | head -n 5
    wrong "f64 in kernels in f32"
}
finish
