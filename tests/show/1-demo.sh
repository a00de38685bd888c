#!/bin/bash
# `make demo` in a clean clone, with the packages there: under a minute, digits at 97 % or more.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
git clone -q . "$work/clone" 2>"$work/log" || skip "not a git repository"
start=$EPOCHREALTIME
(unset MAKEFLAGS MAKELEVEL && cd "$work/clone" && make demo) >"$work/log" 2>&1 || {
    wrong "make demo"
    tail -n 30 "$work/log"
}
seconds=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
grep -v '^epoch' "$work/log"
accuracy=$(sed -n 's/^test accuracy \([0-9.]*\)%.*/\1/p' "$work/log")
echo "$seconds s (bar: 60); test accuracy ${accuracy:-not printed} % (bar: 97)"
under "$seconds" 60 || wrong "too slow"
[ -n "$accuracy" ] && ! under "$accuracy" 97 || wrong "accuracy"
finish
