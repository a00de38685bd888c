#!/bin/bash
# Text grows with distinct kernels, not with depth: 48 equal layers take no more lines than 12 but
# for the tables that name parameters and states. And a deep net takes nnc no time to speak of.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh

# Lines without those that name a parameter, its moments or a place of random numbers.
lines() {
    grep -vcE '"?(net|late|adamw\.[mv]\.net|adamw\.[mv]\.late)\.block|VALUE_|0x[0-9a-f]{8}u,' "$1"
}

for depth in 12 48; do
    "$NNC" tests/corpus/deep.nn -D depth=$depth --target c -o "$work/$depth.c" ||
        wrong "depth $depth does not compile"
done
small=$(lines "$work/12.c") large=$(lines "$work/48.c")
echo "$small lines with 12 layers, $large with 48"
[ "$large" -le $((small + small / 50)) ] || wrong "text grows with depth"
grep -q 'for (int layer = 0; layer < 4[678]; layer++)' "$work/48.c" || wrong "no loop over layers"
finish
