#!/bin/sh
# rt_team under ThreadSanitizer at 2 and 7 threads with random delays: no race, no stale value. With
# a barrier dropped on purpose the same program must be caught.
set -u
cd "$(dirname "$0")/../.." || exit 2
include="-Iruntime -I${BUILD:-build}"
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
passed=0 failed=0
build() {
    ${CC:-gcc} -std=gnu17 -O1 -g -fsanitize=thread -DRT_DELAY $include -Itests/runtime "$@"
}
check() { # TEXT EXPECTED-STATUS COMMAND…
    text=$1 want=$2
    shift 2
    "$@" >"$dir/log" 2>&1
    got=$?
    if [ "$got" -eq "$want" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $text (exit $got, wanted $want)"
        head -20 "$dir/log"
    fi
}
build -o "$dir/races" tests/runtime/races.c -pthread -lm || exit 2
build -DDROP_BARRIER -o "$dir/dropped" tests/runtime/races.c -pthread -lm || exit 2
check "2 threads" 0 "$dir/races" 2
check "7 threads" 0 "$dir/races" 7
check "a dropped barrier is seen" 66 "$dir/dropped" 2
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
