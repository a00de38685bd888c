#!/bin/sh
# The suites under the address and undefined-behaviour sanitizers.
# tier: test
set -u
cd "$(dirname "$0")/../.." || exit 2
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
passed=0 failed=0
for suite in tests/runtime/test_*.c; do
    name=$(basename "$suite" .c)
    if ${CC:-gcc} -std=gnu17 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined \
        -Iruntime -I"$BUILD" -o "$dir/$name" "$suite" -lcriterion -lz -pthread -lm &&
        timeout 300 "$dir/$name" >"$dir/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $name"
        tail -30 "$dir/log"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
