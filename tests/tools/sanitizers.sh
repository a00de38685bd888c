#!/bin/bash
# sanitizers.sh FILE.nn…: CUDA text under the two builds of the shim that check what a kernel does
# (tests/cuda_shim/README.md): `race` the order of accesses and reads of what nobody has written,
# `memory` addresses and undefined behaviour. Every task of every program runs a few steps, in a
# random order of blocks and threads with streams that work late, and leaves no report.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
need_cuda_headers
ways=(race memory)
export CUDA_SHIM_ORDER=random CUDA_SHIM_STREAMS=late
export ASAN_OPTIONS=exitcode=99 UBSAN_OPTIONS=exitcode=99:print_stacktrace=1

# few_steps TRAINER: the arguments (0 or 2 words) of a run as short as its options allow
few_steps() {
    case $("$1" --help) in
    *--epochs*) echo --epochs 1 ;;
    *--steps*) echo --steps 5 ;;
    esac
}

# kernels_of REPORT…: that ran
kernels_of() {
    awk '$1 == "launches" || $1 == "graph_kernels" { n += $2 } END { print n + 0 }' "$@"
}

# One line in FOLDER/result: how many kernels ran, or what is wrong.
check() { # FILE WAY FOLDER
    local file=$1 way=$2 folder=$3 task short
    small_of "$file"
    if ! "$NNC" "$file" "${small[@]}" --target cuda -o "$folder/t.cu" >"$folder/err" 2>&1 ||
        ! shim_program "$folder/t" "$folder/t.cu" "$way" >"$folder/err" 2>&1; then
        echo "does not compile" >"$folder/result"
        return
    fi
    read -ra short <<<"$(few_steps "$folder/t")"
    for task in $(tasks_of "$folder/t"); do
        CUDA_SHIM_REPORT=$folder/report-$task train "$folder" "$folder/t" "$file" "$task" \
            --untrained "${short[@]}" && continue
        echo "task $task ends with code $?" >"$folder/result"
        return
    done
    kernels_of "$folder"/report-* >"$folder/result"
    rm "$folder/t"
}

programs=() kernels=0 clean=0
for file in "$@"; do
    has_data "$file" || continue
    programs+=("$file")
    for way in "${ways[@]}"; do
        mkdir -p "$work/$way/$file"
        together 2 check "$file" "$way" "$work/$way/$file"
    done
done
wait
for file in "${programs[@]}"; do
    for way in "${ways[@]}"; do
        folder=$work/$way/$file
        case $(cat "$folder/result") in
        0) wrong "$file, $way: no kernel has run" ;;
        *[a-z]* | "")
            wrong "$file, $way: $(cat "$folder/result")"
            head -n 12 "$folder/err"
            ;;
        *) clean=$((clean + 1)) kernels=$((kernels + $(cat "$folder/result"))) ;;
        esac
    done
done
echo "${#programs[@]} programs x ${#ways[@]} builds (${ways[*]}): $clean clean after $kernels" \
    "kernels, $failures with reports"
[ ${#programs[@]} -gt 0 ] || skip "no data"
finish
