#!/bin/bash
# gpu_check.sh without a GPU says so in one line and ends with code 2; with a stand-in for nvcc,
# which compiles for the shim, it finds two programs as they should be and one that is not.
# tier: test
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
! nvidia-smi -L >/dev/null 2>&1 || skip "this machine has a GPU: make gpu-check"
need_cuda_headers
tools/gpu_check.sh >"$work/out" 2>&1
[ $? = 2 ] || wrong "exit code, wanted 2"
[ "$(wc -l <"$work/out")" = 1 ] || wrong "more than one line: $(cat "$work/out")"
grep -q "^gpu-check: this machine has no NVIDIA GPU" "$work/out" || wrong "$(cat "$work/out")"

mkdir "$work/bin" "$work/build"
echo 'echo "GPU 0: none, the shim"' >"$work/bin/nvidia-smi"
cat >"$work/bin/nvcc" <<END
#!/bin/bash
flags=()
while [ \$# -gt 1 ]; do
    case \$1 in
    -o) to=\$2 && shift ;;
    -D*) flags+=("\$1") ;;
    esac
    shift
done
cd "$ROOT" && . tests/lib.sh &&
    shim_program "\$to" "$work/build/gpu-pack/\$1" plain -O0 "\${flags[@]}"
END
chmod +x "$work"/bin/*
export PATH=$work/bin:$PATH
programs=(tests/corpus/control.nn models/sine.nn)
NNC=$NNC BUILD=$work/build tools/gpu_pack.sh "${programs[@]}" || wrong "no pack"
sed -i 's/1/2/' "$work/build/gpu-pack/expected/control/out-train"
NVCC=nvcc "$work/build/gpu-pack/gpu_check.sh" >"$work/out" 2>&1
[ $? = 1 ] || wrong "exit code, wanted 1"
grep -q '^sine  *equal  *-  *-  *-  *-  *[0-9]' "$work/out" || wrong "sine"
grep -q '^control  *differ  *-  *-' "$work/out" || wrong "control"
grep -q '^2 programs, 1 are not as they should be' "$work/out" || wrong "the last line"
[ $failures = 0 ] || cat "$work/out"
finish
