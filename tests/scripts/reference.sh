#!/bin/bash
# Values and gradients beside those of PyTorch in float64, to 1e-9: the programs of tests/reference,
# which tools/reference.py writes, as trainers in float64.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
cases=0 wanted=0

for file in tests/reference/*.nn; do
    name=$(basename "$file" .nn)
    if ! emit "$file" "$work/$name.c" --real f64 ||
        ! compile "$work/$name" "$work/$name.c" "$CC" -O1; then
        wrong "$name does not compile"
        continue
    fi
    (cd tests/reference && "$work/$name" --quiet) >"$work/$name.log" 2>&1 || wrong "$name"
    grep -v '^ok: ' "$work/$name.log"
    cases=$((cases + $(grep -c '^ok: ' "$work/$name.log")))
    wanted=$((wanted + $(grep -c 'expect ' "$file")))
done
bytes=$(cat tests/reference/* | wc -c)
echo "$cases of $wanted cases agree with PyTorch in float64 to 1e-9; the files have $bytes bytes"
[ "$wanted" -ge 33 ] && [ "$cases" = "$wanted" ] || wrong "a case is missing"
[ "$bytes" -le 2000000 ] || wrong "the files are too large"
finish
