#!/bin/bash
# nvcc_gate.sh FILE.cu…: each compiles for sm_80 and sm_90 without a warning, its kernels keep
# within the limits of a device and use no stack and no double without need.
# Prints a line for each kernel, then what was found; exit code 77 without nvcc.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
nvcc=$CUDA/bin/nvcc
[ -x "$nvcc" ] || nvcc=$(command -v nvcc) || skip "no nvcc"
archs=(80 90)
flags=(-std=c++17 -O2 -fmad=false -ftz=true -Iruntime)
flags+=(-Werror all-warnings -Wmissing-launch-bounds -Wdefault-stream-launch)
flags+=(-Xcompiler "-Wall,-Wextra,-Werror" -Xptxas "-v,-warn-spills,-Werror")
for arch in "${archs[@]}"; do flags+=(-gencode "arch=compute_$arch,code=sm_$arch"); done

# What a file gives in FILE.report, a folder of its own beside it
gate() {
    local file=$1 name arch
    name=$(basename "$file" .cu)
    mkdir -p "$work/$name"
    if "$nvcc" "${flags[@]}" -keep -keep-dir "$work/$name" -c -o "$work/$name.o" "$file" \
        >"$work/$name.log" 2>&1; then
        for arch in "${archs[@]}"; do
            awk -v arch="sm_$arch" -v file="$name.cu" -f tests/tools/nvcc_gate.awk \
                "$work/$name/$name.compute_$arch.ptx" "$work/$name.log"
        done
    else
        echo "FOUND $name.cu does not compile"
        grep -v "^ptxas info" "$work/$name.log" | head -n 30
    fi >"$work/$name.report"
    rm -r "${work:?}/$name"
}

for file in "$@"; do together 2 gate "$file"; done
wait
for file in "$@"; do
    report=$work/$(basename "$file" .cu).report
    grep -v ^FOUND "$report"
    while read -r _ line; do wrong "$line"; done < <(grep ^FOUND "$report")
done
echo "$# files through nvcc, $failures findings"
finish
