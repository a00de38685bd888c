#!/bin/bash
# Without a GPU, gpu_check.sh says so in one line and ends with code 2.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
! nvidia-smi -L >/dev/null 2>&1 || skip "this machine has a GPU: make gpu-check"
tools/gpu_check.sh >"$work/out" 2>&1
[ $? = 2 ] || wrong "exit code, wanted 2"
[ "$(wc -l <"$work/out")" = 1 ] || wrong "more than one line: $(cat "$work/out")"
grep -q "^gpu-check: this machine has no NVIDIA GPU" "$work/out" || wrong "$(cat "$work/out")"
finish
