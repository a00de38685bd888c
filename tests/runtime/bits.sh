#!/bin/sh
# The functions of rt_math and rt_rng give the same bits whatever the compiler, its level, the
# language standard and the number of lanes; so does a plain a*b+c, which no level may fuse.
set -u
cd "$(dirname "$0")/../.." || exit 2
include="-Iruntime -I${BUILD:-build}"
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
passed=0 failed=0 skipped=0
same() { # COMPILER FLAGS…
    if ! command -v "$1" >/dev/null; then
        skipped=$((skipped + 1))
        return
    fi
    "$@" -Wall -Wextra $include -o "$dir/bits" tests/runtime/bits.c -lm && "$dir/bits" >"$dir/got"
    [ -f "$dir/want" ] || cp "$dir/got" "$dir/want"
    if cmp -s "$dir/want" "$dir/got"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $* gives other bits:"
        diff "$dir/want" "$dir/got"
    fi
}
same gcc -O2
same gcc -O0
same gcc -O3 -march=native
same gcc -O2 -std=c17
same gcc -O2 -DONE
same g++ -O2 -x c++
same clang -O2
same clang -O0 -DONE
same clang-19 -O3
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
