#!/bin/bash
# nnc on digits.nn takes under 20 ms and gcc -O2 on what it made under 5 s, both of processor time
# (user and system; the median of 20 runs and of 3): wall time, printed beside it, says little where
# others compute.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
TIMEFORMAT='%R %U %S'
bar_nnc=0.020 bar_cc=5

# measure N NAME COMMAND…: sets wall and cpu, in seconds
measure() {
    local n=$1 name=$2
    shift 2
    rm -f "$work/times"
    for _ in $(seq "$n"); do
        { time "$@" >"$work/log" 2>&1; } 2>>"$work/times" || wrong "$name"
    done
    wall=$(cut -d' ' -f1 "$work/times" | median)
    cpu=$(awk '{ print $2 + $3 }' "$work/times" | median)
}

measure 20 nnc "$NNC" models/digits.nn --target c -o "$work/digits.c"
echo "nnc: $cpu s (bar: $bar_nnc), wall $wall s"
under "$cpu" $bar_nnc || wrong "nnc is too slow"
measure 3 gcc gcc -O2 -o "$work/digits" "$work/digits.c" -lm -pthread -lz
echo "gcc -O2: $cpu s (bar: $bar_cc), wall $wall s; $(wc -l <"$work/digits.c") lines of C"
under "$cpu" $bar_cc || wrong "the text takes too long to compile"
finish
