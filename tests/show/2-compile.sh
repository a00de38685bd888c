#!/bin/bash
# nvcc takes the text for sm_80 and sm_90 without a warning; without a GPU the trainer says so in
# one line, exit code 2, and the file for both targets trains on the CPU, with multiply-adds and the
# bits of target c, also after a plain `nvcc FILE` and as nnc build makes it.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
nvcc=$CUDA/bin/nvcc
[ -x "$nvcc" ] || skip "no nvcc in $CUDA"
model=models/digits.nn
strict=(-std=c++17 -O2 -fmad=false -ftz=true -Werror all-warnings -Wdefault-stream-launch
    -Wmissing-launch-bounds -Xcompiler "-Wall,-Wextra,-Werror" -Xptxas "-warn-spills,-Werror")
for arch in 80 90; do strict+=(-gencode "arch=compute_$arch,code=sm_$arch"); done
fma_of() { # PROGRAM NAME: multiply-adds, for the CPU, of functions with this in their name
    objdump -d --no-show-raw-insn "$1" | awk -v kernel="$2" '
        /^[0-9a-f]+ </ { inside = index($0, kernel) }
        inside && /vfmadd/ { n++ }
        END { print n + 0 }'
}

small_of $model
for target in cuda cuda,c; do
    name=$work/${target/,/_}
    "$NNC" $model "${small[@]}" --target $target -o "$name.cu" || wrong "--target $target"
    together 2 "$nvcc" "${strict[@]}" -o "$name" "$name.cu" -lz
done
together 2 "$nvcc" -o "$work/plain" "$work/cuda_c.cu" -lz
NVCC=$nvcc together 2 "$NNC" build $model "${small[@]}" --target cuda,c -o "$work/built"
emit $model "$work/c.c" && compile "$work/c" "$work/c.c" "$CC" -O2 -w
wait
for name in cuda cuda_c plain built; do
    [ -x "$work/$name" ] || wrong "$name does not compile"
done
[ $failures = 0 ] || finish

fma=$(fma_of "$work/plain" make_)
[ "$fma" -gt 0 ] || wrong "the CPU's kernels have no multiply-adds"
train "$work/one" "$work/c" $model --epochs 2 --log log
rm "$work/one/err"
for name in cuda_c plain built; do
    train "$work/$name.run" "$work/$name" $model --epochs 2 --log log --device cpu
    diff -rq -x err "$work/one" "$work/$name.run" || wrong "$name: the CPU gives other bits"
done
said="this machine has a GPU: make gpu-check"
if [ ! -e /dev/nvidia0 ]; then
    status=0
    "$work/cuda" >"$work/out" 2>"$work/err" || status=$?
    said=$(cat "$work/err")
    [ $status = 2 ] && [ "$(wc -l <"$work/err")" = 1 ] && grep -q 'no NVIDIA' "$work/err" ||
        wrong "without a GPU: exit code $status, $said"
    train "$work/auto" "$work/cuda_c" $model --epochs 2 --log log || wrong "no fall-back to the CPU"
    grep -q 'runs on the CPU' "$work/auto/err" || wrong "the fall-back is silent"
    diff -rq -x err "$work/one" "$work/auto" || wrong "the fall-back gives other bits"
fi
echo "digits.cu: no warning for sm_80 and sm_90; '$said'; on the CPU the bits of target c," \
    "$fma multiply-adds in its kernels after a plain nvcc"
finish
