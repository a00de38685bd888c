#!/bin/bash
# Step times beside PyTorch's in one run, two threads each, as ratios: the cubic (sine.nn), case (b)
# a small and case (c) a large perceptron; bars 100, 2 and 1. Each side is measured twice, in turn;
# the better of each counts. Before that the share of the multiply-add peak of contractions.
# A trainer's step is (time of 3 S steps - time of S steps) / (2 S), start and data apart.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
python=/usr/bin/python3 peer=../shared/bench/peers/bench_torch.py
[ -f $peer ] || skip "no $peer"
$python -c 'import torch' 2>/dev/null || skip "no PyTorch for $python"
TIMEFORMAT=%R
threads=2
blas=$(readlink -f /etc/alternatives/libblas.so.3-x86_64-linux-gnu)
echo "PyTorch $($python -c 'import torch; print(torch.__version__)'), BLAS ${blas:-unknown}"

seconds() {
    { time "$@" >/dev/null 2>&1; } 2>&1
}

# ours CASE STEPS: ms a step
ours() {
    local few many
    few=$(seconds "$work/$1" --quiet --threads $threads --steps "$2")
    many=$(seconds "$work/$1" --quiet --threads $threads --steps $((3 * $2)))
    awk -v a="$few" -v b="$many" -v n="$2" 'BEGIN { printf "%.6f\n", 1000 * (b - a) / (2 * n) }'
}

theirs() {
    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE $python $peer --case "$1" --threads $threads \
        --seconds 3 | sed -n 's/.*"ms_median": \([0-9.e-]*\).*/\1/p'
}

# compare FILE CASE OF THE PEER STEPS BAR
compare() {
    local name=$1 case=$2 steps=$3 bar=$4 round nnc torch ratio
    "$NNC" "bench/$name.nn" --target c -o "$work/$name.c" &&
        compile "$work/$name" "$work/$name.c" "$CC" -O2 || {
        wrong "$name"
        return
    }
    rm -f "$work"/nnc.ms "$work"/torch.ms
    for round in 1 2; do
        ours "$name" "$steps" >>"$work/nnc.ms"
        theirs "$case" >>"$work/torch.ms"
    done
    nnc=$(sort -g "$work/nnc.ms" | head -n 1) torch=$(sort -g "$work/torch.ms" | head -n 1)
    ratio=$(awk -v a="$torch" -v b="$nnc" 'BEGIN { printf "%.2f", a / b }')
    echo "$name: nnc $nnc ms, PyTorch $torch ms a step: ratio $ratio (bar: $bar)"
    under "$ratio" "$bar" && wrong "$name is below its bar"
}

bench/gemm/run.sh >"$work/gemm" || wrong "bench/gemm"
cat "$work/gemm"
compare sine poly 400000 100
compare mlp_small mlp-small 2000 2
compare mlp_large mlp-large 40 1
awk -F'[(%]' 'NF > 3 { n++; one += $2; two += $4 }
    END { printf "contractions: %.0f %% of the peak on 1 thread, %.0f %% on 2 (mean of %d)\n",
              one / n, two / n, n }' "$work/gemm"
finish
