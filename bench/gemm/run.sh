#!/bin/sh
# Times contractions as the compiler makes them beside the multiply-add peak: run.sh [PART OF A SHAPE [1]]
# "1024  1024" keeps the shapes whose row holds it; 1: one thread only. CC chooses the C compiler.
cd "$(dirname "$0")/../.." || exit 1
work=build/bench
mkdir -p $work
${CC:-gcc} -std=gnu17 -O1 -Icompiler -o $work/gen_dot tests/kernels/gen_dot.c build/libnnc.a -lm &&
    $work/gen_dot bench >$work/gemm.c &&
    ${CC:-gcc} -std=gnu17 -O2 -Iruntime -Ibuild -Itests/kernels -Ibench/gemm -o $work/gemm $work/gemm.c \
        -lm -pthread && $work/gemm "${1:-}" "${2:-2}"
