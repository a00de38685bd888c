#!/bin/bash
# nvcc takes the text without a warning; without a GPU the trainer says so, and the file for both
# targets trains on the CPU, with multiply-adds and the bits of target c.
# tier: test
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
nvcc=$CUDA/bin/nvcc
[ -x "$nvcc" ] || skip "no nvcc in $CUDA"
model=models/digits.nn
strict=(-Werror all-warnings -Wdefault-stream-launch -Wmissing-launch-bounds
    -Xcompiler -Wall,-Wextra,-Werror)

small_of $model
for target in cuda cuda,c; do
    name=$work/${target/,/_}
    "$NNC" $model "${small[@]}" --target $target -o "$name.cu" || wrong "--target $target"
    together 2 "$nvcc" -O2 -arch=sm_80 -fmad=false -ftz=true "${strict[@]}" -o "$name" \
        "$name.cu" -lz
done
together 2 "$nvcc" -o "$work/plain" "$work/cuda_c.cu" -lz
emit $model "$work/c.c" && compile "$work/c" "$work/c.c" "$CC" -O2 -w
wait
for name in cuda cuda_c plain; do
    [ -x "$work/$name" ] || wrong "$name does not compile"
done
[ $failures = 0 ] || finish

objdump -d --no-show-raw-insn "$work/plain" | awk '/^[0-9a-f]+ </ { in_kernel = /make_logits/ }
    in_kernel && /vfmadd/ { n++ } END { exit !n }' ||
    wrong "the CPU's kernels have no multiply-adds"
train "$work/one" "$work/c" $model --epochs 2 --log log
for name in cuda_c plain; do
    train "$work/$name.run" "$work/$name" $model --epochs 2 --log log --device cpu
    diff -rq "$work/one" "$work/$name.run" || wrong "$name: the CPU gives other bits"
done
if [ ! -e /dev/nvidia0 ]; then
    status=0
    "$work/cuda" >"$work/out" 2>"$work/err" || status=$?
    [ $status = 2 ] && [ "$(wc -l <"$work/err")" = 1 ] && grep -q 'no NVIDIA' "$work/err" ||
        wrong "without a GPU: exit code $status, $(cat "$work/err")"
    train "$work/auto" "$work/cuda_c" $model --epochs 2 --log log || wrong "no fall-back to the CPU"
    grep -q 'runs on the CPU' "$work/auto/err" || wrong "the fall-back is silent"
fi
finish
