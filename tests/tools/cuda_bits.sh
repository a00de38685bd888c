#!/bin/bash
# Equal bits on two targets: cuda_bits.sh FILE.nn…
# Each program as C and as CUDA, the latter run by the shim: what it prints, logs, saves and traces
# must be equal byte for byte. The CUDA text runs in three orders of threads, with streams that do
# their work at once, late and in any legal order, and once more with data that is not resident.
# Traces list values in the order of their target; the file for both has that of target c.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
need_cuda_headers
compared=0 programs=0

build_all() {
    local file=$1 folder=$2
    emit "$file" "$folder/t.c" && small_of "$file" &&
        "$NNC" "$file" "${small[@]}" --target cuda -o "$folder/t.cu" &&
        "$NNC" "$file" "${small[@]}" --target cuda,c -o "$folder/both.cu" || return 1
    together 3 compile "$folder/c" "$folder/t.c" "$CC" -O1 -w
    together 3 shim_program "$folder/cuda" "$folder/t.cu" plain
    together 3 shim_program "$folder/both" "$folder/both.cu" plain
    grep -q RT_RESIDENT_SHARE "$folder/t.cu" && grep -q '_read(&nn->rt' "$folder/t.cu" &&
        together 3 shim_program "$folder/staged" "$folder/t.cu" plain -DRT_RESIDENT_SHARE=1000000000
    wait
}

run() { # FOLDER TRAINER [ARGS…]: all tasks
    local folder=$1 trainer=$2 task
    shift 2
    for task in $(tasks_of "$work/p/c"); do
        train "$folder" "$trainer" "$file" "$task" --untrained --log "log-$task" "${short[@]}" \
            "$@" || return
        mv "$folder/out" "$folder/out-$task"
    done
}

check() { # LABEL TRAINER [ARGS…]
    local label=$1 trainer=$2 first=$work/first
    shift 2
    [ $# = 0 ] || first=$work/traced
    compared=$((compared + 1))
    rm -rf "$work/run"
    if ! run "$work/run" "$trainer" "$@"; then
        wrong "$name: $label ends with an error"
        head -n 5 "$work/run/err"
    elif ! diff -rq -x err "$first" "$work/run" >"$work/diff" 2>&1; then
        wrong "$name: $label gives other bits"
        head -n 5 "$work/diff"
    fi
}

for file in "$@"; do
    name=$(basename "$file" .nn) p=$work/p
    has_data "$file" || continue
    rm -rf "$p" "$work/first" "$work/traced"
    mkdir "$p"
    if ! build_all "$file" "$p" 2>"$work/log" ||
        ! { [ -x "$p/c" ] && [ -x "$p/cuda" ] && [ -x "$p/both" ]; }; then
        wrong "$name does not compile"
        head -n 10 "$work/log"
        continue
    fi
    programs=$((programs + 1))
    read -ra short <<<"$(short_run "$p/c" "$file" 100)"
    trace=(--trace t --trace-steps 1,2,100)
    run "$work/first" "$p/c" && run "$work/traced" "$p/c" "${trace[@]}" || {
        wrong "$name: target c ends with an error"
        continue
    }
    CUDA_SHIM_ORDER=forward CUDA_SHIM_STREAMS=late check "forward, late" "$p/cuda"
    CUDA_SHIM_ORDER=reverse CUDA_SHIM_STREAMS=eager check "traces" "$p/both" "${trace[@]}"
    for CUDA_SHIM_SEED in 1 2; do
        export CUDA_SHIM_SEED
        CUDA_SHIM_ORDER=random CUDA_SHIM_STREAMS=random check "seed $CUDA_SHIM_SEED" "$p/cuda"
    done
    [ -x "$p/staged" ] && CUDA_SHIM_STREAMS=random check "staged data" "$p/staged"
done
echo "$programs programs, $compared runs compared, $failures differ"
[ "$programs" -gt 0 ] || skip "no data"
finish
