#!/bin/bash
# What a training step of digits costs the host, counted by the shim: the difference between two
# runs of one trainer on data sets of which one gives a few steps more and nothing else.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
need_cuda_headers
model=models/digits.nn
small_of $model
"$NNC" $model "${small[@]}" --target cuda -o "$work/digits.cu" &&
    shim_program "$work/digits" "$work/digits.cu" plain || exit 1

# Rows of both give 2 batches for validation and 3 for the test.
for rows in 1410 1797; do
    mkdir "$work/$rows"
    zcat data/digits.csv.gz | head -n $rows | gzip >"$work/$rows/digits.csv.gz"
done

# run WAY ROWS [ARGS…]: leaves WAY-ROWS.report
run() {
    local name=$1-$2 rows=$2 status=0
    shift 2
    (cd "$work/$rows" && CUDA_SHIM_REPORT=$work/$name.report \
        "$work/digits" --data . --epochs 1 --quiet "$@" >"$work/out" 2>"$work/err") || status=$?
    [ $status = 0 ] || [ $status = 4 ] || wrong "$name: exit code $status: $(cat "$work/err")"
}

# per_step WAY NAME: of the difference
per_step() {
    awk -v name="$2" -v steps=$steps '$1 == name { n[FILENAME] = $2 }
        END { printf "%g", (n[ARGV[2]] - n[ARGV[1]]) / steps }' \
        "$work/$1-1410.report" "$work/$1-1797.report"
}

# at_most WAY NAME MOST
at_most() {
    local n
    n=$(per_step "$1" "$2")
    awk -v n="$n" -v most="$3" 'BEGIN { exit !(n <= most) }' || wrong "$1: $n $2 a step, at most $3"
}

for rows in 1410 1797; do
    run resident $rows
    CUDA_SHIM_MEMORY=1400K run staged $rows
    run logged $rows --log log
done
steps=$(($(grep -c '"loss"' "$work/1797/log") - $(grep -c '"loss"' "$work/1410/log")))
[ $steps -gt 5 ] || wrong "$steps steps more"

echo "digits, of each step    kernels  host: launches  waits  allocations  uploads  copies back"
for way in resident staged logged; do
    at_most $way graph_kernels 20
    at_most $way graph_launches 1
    at_most $way allocations 0
    [ $way = staged ] || at_most $way copies_to_device 0
    printf '  %-20s %8s %15s %6s %12s %8s %12s\n' $way "$(per_step $way graph_kernels)" \
        "$(per_step $way graph_launches) + $(per_step $way launches)" \
        "$(per_step $way synchronisations)" "$(per_step $way allocations)" \
        "$(per_step $way copies_to_device)" "$(per_step $way copies_to_host)"
done
at_most resident launches 0
at_most resident synchronisations 0
at_most resident copies_to_host 0
at_most staged copies_to_device 2
# Of the 387 rows that are more, 3 in 10 are for validation and test, and are copied there.
at_most staged bytes_to_device $(((32 * steps + 387 * 3 / 10 + 1) * 65 * 4 / steps + 1))
finish
