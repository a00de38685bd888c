#!/bin/bash
# memory.sh FILE.nn…: trainers built with address and undefined-behaviour checks run clean.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
runs=0

check() {
    local file=$1 name folder short
    name=$(basename "$file" .nn) folder=$work/$name
    mkdir -p "$folder"
    emit "$file" "$folder/t.c" &&
        compile "$folder/t" "$folder/t.c" "$CC" -O1 -g -w -fsanitize=address,undefined \
            -fno-sanitize-recover=undefined || {
        wrong "$name does not compile"
        return
    }
    read -ra short <<<"$(short_run "$folder/t" "$file" 2)"
    train "$folder/run" "$folder/t" "$file" --threads 2 "${short[@]}" || {
        wrong "$name ends with an error"
        head -n 40 "$folder/run/err"
    }
    runs=$((runs + 1))
}

for file in "$@"; do
    if has_data "$file"; then check "$file"; else echo "$file: its data is not here"; fi
done
echo "$runs trainers with checked memory, $failures with reports"
finish
