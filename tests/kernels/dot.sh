#!/bin/sh
# Contractions as the compiler makes them against one plain chain, bit by bit: random small shapes
# with gcc and with clang, some without optimisation, and big ones; each with 1, 2 and 7 threads.
# SEED and COUNT choose the random ones.
seed=${SEED:-1} count=${COUNT:-60}
work=$BUILD/tests/kernels
mkdir -p "$work"
include="-Iruntime -I$BUILD"
warn='-Wall -Wextra -Werror'
${CC:-gcc} -std=gnu17 -O1 -Icompiler -o "$work/gen_dot" tests/kernels/gen_dot.c \
    "$BUILD/libnnc.a" -lm || exit 1

# try COMPILER LEVEL MODE…
try() {
    compiler=$1 level=$2
    shift 2
    command -v "$compiler" >/dev/null || return 0
    echo "$compiler $level, $*"
    "$work/gen_dot" "$@" >"$work/dot.c" || exit 1
    "$compiler" -std=gnu17 "$level" $warn $include -Itests/kernels -o "$work/dot" "$work/dot.c" \
        -lm -pthread || exit 1
    "$work/dot" || exit 1
}

try gcc -O2 check "$seed" "$count"
try clang -O2 check $((seed + 1)) "$count"
try gcc -O0 check $((seed + 2)) "$count"
try gcc -O2 large
