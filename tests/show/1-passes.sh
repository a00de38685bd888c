#!/bin/bash
# 200 random programs: each pass keeps the oracle's values, the plan is proved, and the compiled
# kernels agree with the oracle.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
programs=200
NNC_RANDOM=$programs "$BUILD/tests/unit/test_random" --tap="$work/tap" >"$work/log" 2>&1 || {
    wrong "test_random"
    tail -n 30 "$work/log"
}
passed=$(grep -c '^ok ' "$work/tap")
echo "$programs random programs in 8 batches, $passed batches passed; after each of 6 passes"
[ "$passed" = 8 ] || wrong "$passed of 8 batches passed"
finish
