#!/bin/bash
# The gates that generated text goes through, on text of the tests: nvcc_gate.sh and check_text.sh
# let correct text pass and name each fault of resources.cu, warnings.cu and rules.cu.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
gates=0

says() { # TEXT…: each is in the gate's output
    for text in "$@"; do
        grep -q -- "$text" "$work/out" || wrong "the gate does not say: $text"
    done
}

# Everything that is found is expected: the output has N lines that begin with PREFIX
finds() { # N PREFIX
    local n
    n=$(grep -c "^$2" "$work/out")
    [ "$n" = "$1" ] || {
        wrong "$n findings, wanted $1"
        cat "$work/out"
    }
}

nvcc() {
    tests/tools/nvcc_gate.sh tests/shim/kernels.cu tests/shim/host.cu >"$work/out" 2>&1
    [ $? != 77 ] || return
    gates=$((gates + 1))
    finds 0 FAILED
    says "sm_80 .* block  256 registers  .*" "sm_90  k_softmax  .* block  128" \
        "k_norm .* shared   128"
    tests/tools/nvcc_gate.sh tests/shim/resources.cu tests/shim/warnings.cu >"$work/out" 2>&1
    finds 5 FAILED
    says "k_stack (sm_80): 400 bytes of stack" "k_stack (sm_90): 400 bytes of stack" \
        "k_promoted (sm_80): double arithmetic, and no double in memory: cvt" \
        "warnings.cu does not compile" "no __launch_bounds__ specified" "explicit stream argument"
}

text() {
    tests/tools/check_text.sh tests/shim/kernels.cu tests/shim/host.cu >"$work/out" 2>&1
    [ $? != 77 ] || return
    ! grep -q "left out" "$work/out" || return
    gates=$((gates + 1))
    finds 3 'tests/shim.*[0-9]: '
    says "k_reverse: a barrier where threads" "run_limits: a launch whose kernel or size of block"
    tests/tools/check_text.sh tests/shim/rules.cu >"$work/out" 2>&1
    finds 14 'tests/shim.*[0-9]: '
    says "rules.cu:4: a global that can be written" "conversion increases .* to 'double'" \
        "k_constant: a double constant" "array index 4 is past the end" "jump: goto" \
        "unused function .k_forgotten." "k_forgotten: nothing uses it" \
        "k_parted: a pointer that is not restrict" \
        "k_parted: a barrier where threads of the block have parted" \
        "rules.cu:36: .* the status of a CUDA call" \
        "k_promoted is launched with 256 threads, its __launch_bounds__ has 128" \
        "k_parted is launched with 256 threads" "device_step reaches free by device_step"
}

nvcc
text
[ $gates != 0 ] || skip "neither nvcc nor libclang with CUDA headers is here"
echo "$gates of 2 gates tried"
finish
