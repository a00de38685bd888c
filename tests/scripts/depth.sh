#!/bin/bash
# Text grows with distinct kernels, not with depth: 48 equal layers take no more lines than 12 but
# for the tables that name parameters and states, also where a layer calls itself. And a deep net
# takes nnc no time to speak of.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh

# Lines without those that name a parameter, its moments or a place of random numbers, or say where
# a parameter lies.
lines() {
    grep -vE '"?(net|late|adamw\.[mv]\.net|adamw\.[mv]\.late)\.block|VALUE_|0x[0-9a-f]{8}u,' "$1" |
        grep -vcE '^ *"(deep|recursion)[.]nn:'
}

# loops TEXT PATTERN
loops() {
    grep -q "for (int layer = $2" "$1" || wrong "no loop over layers in $(basename "$1"): $2"
}

for target in c cuda cuda,c; do
    for depth in 12 48; do
        "$NNC" tests/corpus/deep.nn -D depth=$depth --target $target -o "$work/$target.$depth" ||
            wrong "depth $depth does not compile for $target"
    done
    small=$(lines "$work/$target.12") large=$(lines "$work/$target.48")
    echo "$target: $small lines with 12 layers, $large with 48"
    [ "$large" -le $((small + small / 50)) ] || wrong "text grows with depth"
    loops "$work/$target.48" '0; layer < 4[678]; layer++)'
done
loops "$work/cuda.48" '47; layer >= 1; layer--)'
grep -q 'RT_LAUNCH(update_.*, dim3([0-9]*, 1, 48)' "$work/cuda.48" ||
    wrong "no launch that updates all layers"

# Layers by recursion: their paths grow instead of a number in them.
lines() {
    grep -vE '"?(net|lion\.m\.net)\.deep|VALUE_' "$1" | grep -vcE '^ *"(deep|recursion)[.]nn:'
}
for target in c cuda; do
    for depth in 12 48; do
        "$NNC" tests/corpus/recursion.nn -D n=$depth --target $target -o "$work/$target.$depth" ||
            wrong "recursion $depth does not compile for $target"
    done
    small=$(lines "$work/$target.12") large=$(lines "$work/$target.48")
    echo "$target: $small lines with 12 calls, $large with 48"
    [ "$large" -le $((small + small / 50)) ] || wrong "text grows with recursion"
    loops "$work/$target.48" '0; layer < 4[78]; layer++)'
done
finish
