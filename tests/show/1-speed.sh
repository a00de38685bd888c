#!/bin/bash
# nnc on digits.nn takes under 20 ms (median of 20), and gcc -O2 on what it made under 5 s of
# processor time (the median of 3; wall time says little where others compute).
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
TIMEFORMAT=%U
bar_nnc=20 bar_cc=5
for _ in $(seq 20); do
    start=$EPOCHREALTIME
    "$NNC" models/digits.nn --target c -o "$work/digits.c" || wrong "nnc"
    awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { print 1000 * (b - a) }' >>"$work/nnc"
done
for _ in 1 2 3; do
    { time gcc -O2 -o "$work/digits" "$work/digits.c" -lm -pthread -lz; } 2>>"$work/cc" ||
        wrong "gcc"
done
nnc=$(median <"$work/nnc") cc=$(median <"$work/cc")
echo "nnc: $nnc ms (bar: $bar_nnc); gcc -O2: $cc s (bar: $bar_cc);" \
    "$(wc -l <"$work/digits.c") lines of C"
under "$nnc" $bar_nnc || wrong "nnc is too slow"
under "$cc" $bar_cc || wrong "the text takes too long to compile"
finish
