#!/bin/bash
# Deliberate faults in kernels and in the host's order of streams turn the suites red under the
# shim; without one they are green. Products of sizes with rests see the five of kernels, digits
# with batches that are copied to the device sees the wait that is left out.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
need_cuda_headers
kernel_cases_on_cuda plain "forward reverse random"
model=models/digits.nn
small_of $model
red=0

products() { # FAULT
    NNC_MUTATE=$1 "$BUILD/tests/unit/test_kernels" \
        --filter 'kernels/products_with_rests' >"$work/log-$1" 2>&1
}

trainer() { # FAULT
    local fault=(--mutate "$1")
    [ -n "$1" ] || fault=()
    "$NNC" $model "${small[@]}" "${fault[@]}" --target cuda -o "$work/t$1.cu" &&
        shim_program "$work/t$1" "$work/t$1.cu" plain -O0
}

# Too little memory for the data, and copies that are as late as they may be
staged() { # FAULT
    CUDA_SHIM_MEMORY=1800K CUDA_SHIM_STREAMS=late \
        train "$work/run$1" "$work/t$1" $model --epochs 1 --log log &&
        diff -rq "$work/first" "$work/run$1" >"$work/log-$1"
}

emit $model "$work/c.c" && compile "$work/c" "$work/c.c" "$CC" -O1 -w || exit 1
train "$work/first" "$work/c" $model --epochs 1 --log log || wrong "target c"
for fault in "" cuda_wait; do together 2 trainer "$fault"; done
wait
for fault in "" cuda_barrier cuda_guard cuda_index cuda_order cuda_rows; do
    together 2 products "$fault"
done
wait
grep -q 'Passing: 1 | Failing: 0' "$work/log-" || wrong "products are red without a fault"
staged "" || wrong "staged batches are red without a fault"
for fault in cuda_barrier cuda_guard cuda_index cuda_order cuda_rows; do
    if grep -q 'other bits on cuda' "$work/log-$fault"; then
        red=$((red + 1))
        echo "fault '$fault' is seen in products"
    else
        wrong "fault '$fault' is not seen"
    fi
done
if staged cuda_wait; then
    wrong "fault 'cuda_wait' is not seen"
else
    red=$((red + 1))
    echo "fault 'cuda_wait' is seen in staged batches"
fi
echo "$red of 6 faults turn a suite red; without a fault both are green"
finish
