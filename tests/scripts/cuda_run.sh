#!/bin/bash
# What a CUDA trainer does beside computing, under the shim: which device it takes and what it says
# when there is none, what a step costs the host, faults, functions, and the file for both targets.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
need_cuda_headers
model=models/digits.nn

# says CODE TEXT COMMAND…: ends with the code and one line that holds the text
says() {
    local code=$1 text=$2 status=0
    shift 2
    (cd "$work" && "$@" >out 2>err) || status=$?
    [ $status = "$code" ] || wrong "$*: exit code $status, wanted $code"
    [ "$(wc -l <"$work/err")" = 1 ] && grep -qF -e "$text" "$work/err" ||
        wrong "$* says '$(cat "$work/err")', wanted one line with '$text'"
}

# count NAME FILE: of a report
count() {
    awk -v name="$1" '$1 == name { print $2 }' "$2"
}

small_of $model
for target in cuda cuda,c; do
    name=$work/${target/,/_}
    "$NNC" $model "${small[@]}" --target $target -o "$name.cu" &&
        together 2 shim_program "$name" "$name.cu" plain || wrong "$target does not compile"
done
# The fault: a step does not wait until its batch is on the device.
"$NNC" $model "${small[@]}" --target cuda --mutate cuda_wait -o "$work/no_wait.cu" &&
    together 2 shim_program "$work/no_wait" "$work/no_wait.cu" plain -O0
emit $model "$work/c.c" && compile "$work/c" "$work/c.c" "$CC" -O1 -w
wait
[ -x "$work/cuda" ] && [ -x "$work/cuda_c" ] && [ -x "$work/no_wait" ] && [ -x "$work/c" ] || {
    wrong "no trainers"
    finish
}
cuda=$work/cuda both=$work/cuda_c

# ---- devices ----
short=(--data "$ROOT/data" --epochs 1)
CUDA_SHIM_DEVICES=0 says 2 "no NVIDIA GPU" "$cuda"
CUDA_SHIM_DRIVER=none says 2 "no NVIDIA driver" "$cuda"
CUDA_SHIM_DRIVER=old says 2 "driver is for CUDA 11.4" "$cuda"
CUDA_SHIM_CAPABILITY=7.5 says 2 "compute capability 7.5; 8.0 is needed" "$cuda"
CUDA_SHIM_MEMORY=512K says 2 "are needed (parameters" "$cuda"
says 2 "this machine has 1" "$cuda" --device cuda:1
says 1 "GPUs only" "$cuda" --device cpu
says 1 "auto, cpu or cuda:N" "$cuda" --device gpu
CUDA_SHIM_DEVICES=0 says 2 "no NVIDIA GPU" "$both" --device cuda
CUDA_SHIM_DEVICES=0 says 4 "runs on the CPU" "$both" "${short[@]}"
CUDA_SHIM_DEVICES=2 "$cuda" --devices >"$work/devices"
[ "$(grep -c 'GB, compute capability' "$work/devices")" = 2 ] ||
    wrong "--devices: $(cat "$work/devices")"

# ---- either half of the file for both: the bits of target c ----
# same NAME [ARGS…]
same() {
    rm -rf "$work/run"
    train "$work/run" "$work/$1" $model --epochs 1 --log log "${@:2}" ||
        wrong "$* ends with an error"
    [ -d "$work/first" ] || cp -r "$work/run" "$work/first"
    diff -rq "$work/first" "$work/run" >/dev/null || wrong "$* gives other bits"
}
same c
same cuda_c --device cpu
same cuda_c --device cuda:0

# ---- data that does not fit stays on the host: each batch is copied while the one before is worked
# on; the upload that nobody waits for is seen where streams are late ----
export CUDA_SHIM_MEMORY=1800K
for CUDA_SHIM_STREAMS in eager late random; do
    export CUDA_SHIM_STREAMS
    CUDA_SHIM_REPORT=$work/uploads same cuda
    [ "$(count copies_to_device "$work/uploads")" -gt 80 ] || wrong "the data is on the device"
    [ $CUDA_SHIM_STREAMS != eager ] || continue
    train "$work/run" "$work/no_wait" $model --epochs 1 --log log
    ! diff -rq "$work/first" "$work/run" >/dev/null || wrong "cuda_wait is not seen"
done
unset CUDA_SHIM_MEMORY CUDA_SHIM_STREAMS

# ---- a step: one graph; no wait, no copy, no allocation ----
for epochs in 1 2; do
    train "$work/run" "$cuda" $model --epochs $epochs --log log >/dev/null
    # Without a log, which wants to be written every now and then, however slow the steps are.
    CUDA_SHIM_REPORT=$work/report$epochs train "$work/run" "$cuda" $model --epochs $epochs
done
steps=$(($(grep -c '"loss"' "$work/run/log") / 2))
grown() {
    echo $(($(count "$1" "$work/report2") - $(count "$1" "$work/report1")))
}
[ "$(grown allocations)" = 0 ] || wrong "an epoch allocates $(grown allocations) times"
# An epoch also validates, prints and saves: the waits and copies of that do not grow with steps.
[ "$(grown synchronisations)" -le 12 ] || wrong "$(grown synchronisations) waits in $steps steps"
[ "$(grown copies_to_device)" -le 12 ] || wrong "$(grown copies_to_device) uploads in $steps steps"
[ "$(grown copies_to_host)" -le 24 ] || wrong "$(grown copies_to_host) copies in $steps steps"
echo "an epoch of $steps steps: $(grown graph_launches) graphs, $(grown synchronisations) waits," \
    "$(grown copies_to_device) uploads, $(grown copies_to_host) copies back"

# ---- a loss that is not finite: the same lines, log and weights as target c ----
for way in c cuda; do
    (cd "$work" && mkdir "nan_$way" && cd "nan_$way" &&
        "../$way" --data "$ROOT/data" --lr 1e30 --epochs 1 --log log >out 2>err
        echo "exit code $?" >>err)
done
grep -q 'first bad tensor' "$work/nan_c/err" || wrong "target c does not diverge"
diff -r "$work/nan_c" "$work/nan_cuda" || wrong "a fault ends otherwise"

# ---- a function ----
for way in c cuda; do
    printf '\223NUMPY\001\000v\000%-117s\n' \
        "{'descr': '<f4', 'fortran_order': False, 'shape': (300, 64), }" >"$work/x.npy"
    head -c $((300 * 64 * 4)) "$cuda.cu" >>"$work/x.npy"
    (cd "$work" && "./$way" classify --load first/digits.safetensors --image x.npy -o "$way.npy") ||
        wrong "classify: $way ends with an error"
done
cmp "$work/c.npy" "$work/cuda.npy" || wrong "a function gives other bits"
finish
