#!/bin/bash
# tests/corpus/*.nn: programs that check themselves by `expect`, here compiled by one C compiler, at
# -O1, without a warning, a pedantic one or one of C++ neither; no line is over 100 columns.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
count=0

build_one() {
    emit "$1" "$2.c" 2>"$2.log" && ! grep -nE '^.{101}' "$2.c" >>"$2.log" &&
        g++ -x c++ -std=gnu++17 -fsyntax-only -Wall -Wextra -Werror "$2.c" 2>>"$2.log" &&
        compile "$2" "$2.c" "$CC" -O1 -Wall -Wextra -Wpedantic -Werror 2>>"$2.log"
}

for file in tests/corpus/*.nn; do
    together 2 build_one "$file" "$work/$(basename "$file" .nn)"
done
wait
for file in tests/corpus/*.nn; do
    name=$(basename "$file" .nn) count=$((count + 1))
    mkdir "$work/$name.run"
    if [ ! -x "$work/$name" ]; then
        wrong "$name does not compile"
        head -n 10 "$work/$name.log"
    elif ! (cd "$work/$name.run" && timeout 60 "$work/$name" --quiet --data "$ROOT/data") \
        >"$work/$name.log" 2>&1; then
        wrong "$name"
        grep -v '^ok' "$work/$name.log" | head -n 10
    fi
done
echo "$count programs, $failures fail"
finish
