#!/bin/bash
# races.sh FILE.nn…: each trainer, built with ThreadSanitizer and with random delays at barriers,
# runs 100 steps on 7 threads without a report.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
runs=0 kernels=0

check() {
    local file=$1 name folder short parallel
    name=$(basename "$file" .nn) folder=$work/$name
    mkdir -p "$folder"
    small_of "$file"
    parallel=$("$NNC" "$file" "${small[@]}" --dump schedule --stop-after schedule |
        grep '^kernel' | grep -vc ': 1 tiles')
    emit "$file" "$folder/t.c" && compile "$folder/plain" "$folder/t.c" "$CC" -O1 -w &&
        compile "$folder/t" "$folder/t.c" "$CC" -O1 -g -fsanitize=thread -DRT_DELAY -w || {
        wrong "$name does not compile"
        return
    }
    read -ra short <<<"$(short_run "$folder/plain" "$file" 100)"
    TSAN_OPTIONS=exitcode=66 train "$folder/run" "$folder/t" "$file" --threads 7 "${short[@]}" || {
        wrong "$name ends with an error"
        head -n 40 "$folder/run/err"
    }
    runs=$((runs + 1)) kernels=$((kernels + parallel))
    echo "$name: $parallel kernels shared by threads"
}

for file in "$@"; do
    if has_data "$file"; then check "$file"; else echo "$file: its data is not here"; fi
done
echo "$runs trainers, $kernels shared kernels, $failures with reports"
[ $kernels -gt 0 ] || wrong "nothing was shared"
finish
