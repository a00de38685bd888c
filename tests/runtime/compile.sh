#!/bin/sh
# The whole runtime in one file, as a generated trainer has it, compiles without a warning as C17
# and as C++17, with and without vector instructions; the suites compile as C++ too.
# tier: test
set -u
cd "$(dirname "$0")/../.." || exit 2
include="-Iruntime -I${BUILD:-build}"
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
passed=0 failed=0 skipped=0
for h in base math rng lanes team text array file data csv npy batch store cli end; do
    echo "#include \"rt_$h.h\""
done >"$dir/all.c"
echo 'int main(void) { return rt_cpu_missing() != 0; }' >>"$dir/all.c"
clean() { # FILE COMPILER FLAGS…
    file=$1
    shift
    if ! command -v "$1" >/dev/null; then
        skipped=$((skipped + 1))
    elif "$@" -Wall -Wextra -Werror $include -Itests/runtime -c -o "$dir/all.o" "$file"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $* $file"
    fi
}
for gz in "" -DRT_GZ; do
    clean "$dir/all.c" gcc -O2 -std=c17 -Wshadow -Wconversion $gz
    clean "$dir/all.c" clang -O2 -std=gnu17 -Wshadow -Wconversion $gz
    clean "$dir/all.c" g++ -O2 -std=c++17 -x c++ $gz
    clean "$dir/all.c" clang++ -O1 -std=c++17 -x c++ $gz
done
clean "$dir/all.c" gcc -O2 -DRT_BASELINE
clean "$dir/all.c" clang -O1 -DRT_BASELINE
clean "$dir/all.c" clang-19 -O1
for suite in tests/runtime/test_*.c; do
    clean "$suite" g++ -O0 -std=gnu++17 -x c++
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
