#!/bin/bash
# check_text.sh FILE…: rules that generated .c and .cu keep (check_text.c); exit code 77 without
# libclang. A .cu is left out, and said, without the CUDA headers.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
llvm=${LLVM:-/usr/lib/llvm-19}
[ -f "$llvm/include/clang-c/Index.h" ] || skip "no libclang-19-dev"
tool=$BUILD/check_text
left_out=0
if [ ! -f "$CUDA/include/cuda_runtime.h" ]; then
    for file in "$@"; do case $file in *.cu) left_out=$((left_out + 1)) ;; esac; done
fi

if [ ! -x "$tool" ] || [ tests/tools/check_text.c -nt "$tool" ]; then
    "$CC" -std=gnu17 -O1 -I"$llvm/include" -o "$tool.$$" tests/tools/check_text.c \
        -L"$llvm/lib" -Wl,-rpath,"$llvm/lib" -lclang-19 || exit 2
    mv "$tool.$$" "$tool"
fi

# i32 values are computed as int64_t and stored: the compiler of the program knows their ranges.
warnings=(-Wall -Wextra -Wconversion -Wno-shorten-64-to-32 -Wdouble-promotion -Wshadow -Iruntime)
# clang 19 wants a header that CUDA 13 has no longer.
touch "$work/texture_fetch_functions.h"
cuda=(-x cuda -isystem "$work" --cuda-path="$CUDA" --cuda-gpu-arch=sm_80 --cuda-host-only)
# It knows __grid_constant__ in device text only.
cuda+=(-std=c++17 -Wno-unknown-cuda-version -Wno-unknown-attributes)

check() {
    case $1 in
    *.cu)
        [ ! -f "$CUDA/include/cuda_runtime.h" ] ||
            "$tool" "$1" "${cuda[@]}" "${warnings[@]}" -Wno-unknown-pragmas
        ;;
    *) "$tool" "$1" -x c -std=gnu17 "${warnings[@]}" ;;
    esac
}

check_to() {
    local to=$1
    shift
    check "$@" >"$to.out" 2>&1
    echo $? >"$to.status"
}

# One after the other in the output, two at a time.
for i in $(seq $#); do
    together 2 check_to "$work/$i" "${!i}"
done
wait
for i in $(seq $#); do
    cat "$work/$i.out"
    [ "$(cat "$work/$i.status")" = 0 ] || wrong "$(basename "${!i}") breaks rules"
done
[ $left_out = 0 ] || echo "$left_out files left out: no CUDA headers in $CUDA"
finish
