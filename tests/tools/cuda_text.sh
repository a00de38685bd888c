#!/bin/bash
# cuda_text.sh FILE.nn…: what can be said of generated text without running it, at its own size.
# check_text.sh takes it as C, as CUDA and as the file for both; nvcc_gate.sh takes the CUDA text,
# and the registers and shared memory of the models' kernels are those in tests/golden/resources,
# or it is said which changed. BLESS=1 writes that file anew; the diff is then read. GATED: as
# patterns, names of the programs that nvcc takes (default: all; it needs 8 s a program).
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
golden=tests/golden/resources texts=() gated=() tried=0
read -ra patterns <<<"${GATED:-*}"
nvcc=$CUDA/bin/nvcc

for file in "$@"; do
    name=$(basename "$file" .nn)
    for target in c cuda cuda,c; do
        case $target in
        c) text=$work/$name.c ;;
        cuda) text=$work/$name.cu ;;
        *) text=$work/${name}_both.cu ;;
        esac
        "$NNC" "$file" --target $target -o "$text" 2>"$work/log" || wrong "$name: --target $target"
        texts+=("$text")
    done
    for pattern in "${patterns[@]}"; do
        # shellcheck disable=SC2254 # a pattern
        case $name in $pattern) gated+=("$work/$name.cu") ;; esac
    done
done

# run TOOL FILE…: counts what is found; 77: the tool's compiler is not here
run() {
    local status=0
    "tests/tools/$1.sh" "${@:2}" >"$work/$1.out" 2>&1 || status=$?
    [ $status = 77 ] || tried=$((tried + 1))
    [ $status = 0 ] || [ $status = 77 ] || wrong "$1.sh: exit code $status"
    grep -v "0 findings$\|^sm_" "$work/$1.out"
    return $status
}

# The models among what nvcc took, against the golden table of the same compiler
compare_resources() {
    local version models=()
    version=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
    for file in "${gated[@]}"; do
        file=$(basename "$file" .cu)
        [ ! -f "models/$file.nn" ] || models+=(-e " $file.cu\$")
    done
    [ ${#models[@]} != 0 ] || return
    grep "${models[@]}" "$work/nvcc_gate.out" | awk -f tests/tools/resources.awk >"$work/found"
    if [ -n "$BLESS" ]; then
        { echo "# of models' kernels, by nvcc $version" && cat "$work/found"; } >$golden
    elif [ "$(head -n 1 $golden)" != "# of models' kernels, by nvcc $version" ]; then
        echo "$golden is not of nvcc $version: not compared"
        return
    fi
    awk -v compare=1 -f tests/tools/resources.awk $golden "$work/found" >"$work/changed"
    [ -s "$work/changed" ] || return
    wrong "other resources than in $golden (BLESS=1 writes it anew):"
    cat "$work/changed"
}

run check_text "${texts[@]}"
! run nvcc_gate "${gated[@]}" || compare_resources
[ $tried != 0 ] || skip "neither nvcc nor libclang is here"
echo "$# programs, ${#texts[@]} texts through libclang, ${#gated[@]} through nvcc:" \
    "$(grep -c '^sm_' "$work/nvcc_gate.out") kernels; $failures findings"
finish
