#!/bin/bash
# A trainer holds what its program needs and no more: without the attribute that lets functions
# stand unused, gcc still has nothing to say; a program without data has no reader, one without
# tensors no vectors; no condition is empty and no ruler stands over nothing.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh

lacks() { # PROGRAM NAME…
    local name program=$1
    shift
    for name in "$@"; do
        ! grep -q "$name" "$work/$program.c" || wrong "$program.c has $name"
    done
}

for file in models/{digits,sine,housing}.nn tests/corpus/{control,tensors,folds}.nn; do
    name=$(basename "$file" .nn)
    emit "$file" "$work/$name.c" 2>/dev/null || wrong "$name does not compile"
    sed 's/, unused//; s/__attribute__((unused))//' "$work/$name.c" >"$work/bare.c"
    gcc -fsyntax-only -Wall -Wextra -Werror "$work/bare.c" || wrong "$name.c: unused functions"
    awk -v file="$name.c" '
        /^ *$/ { next }
        (/^#(else|endif)/ && last ~ /^#(if|else)/) || (/^\/\* ====/ && last ~ /^\/\* ====/) {
            print file ":" NR ": nothing between: " last
            bad = 1
        }
        { last = $0 }
        END { exit bad }' "$work/$name.c" || wrong "$name.c: empty parts"
done
lacks control 'rt_csv_read(' 'rt_npy_read(' 'rt_save(' 'rt_philox(' 'v8 ' 'nn_run(' 'nn_export('
lacks sine 'rt_csv_read(' 'rt_npy_read(' 'pow_v(' 'nn_export(' 'nn_recorded('
lacks digits 'tan_v(' 'rt_fold(' 'permutation_1(' 'rt_raw_read('
finish
