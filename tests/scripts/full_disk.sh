#!/bin/bash
# A disk that is full, wherever nnc, the oracle and a trainer write: exit code 2, and why.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
[ -c /dev/full ] || skip "no /dev/full"
cd "$work" || exit 2
export XDG_CACHE_HOME=$work/cache

# full NAME COMMAND…: its standard output is on the full disk
full() {
    local name=$1 status=0
    shift
    "$@" >/dev/full 2>err || status=$?
    [ $status = 2 ] || wrong "$name $*: exit code $status"
    grep -q "^$name: cannot write .*: No space left on device" err || wrong "$name $*: $(cat err)"
}

cat >net.nn <<'END'
option out = "net.safetensors"
model net = linear(2)
task train {
    for i in 0..3 {
        let loss = mean(net(rand([4, 8]))^2)
        minimize loss with sgd(0.1)
        record loss
    }
    save net to out
}
task show {
    print "{sum(net(rand([4, 8])))}"
}
export fn two(x: [N, 8]) = (net(x), x)
END
for command in "-o net.c --dump plan" "-o net.c --dump build" "-o /dev/full"; do
    # shellcheck disable=SC2086 # words
    full nnc "$NNC" net.nn $command
done
full nnc "$NNC" check net.nn --dump build
full nnc "$NNC" run net.nn --dump build
full nnc "$NNC" --help
full nnc "$NNC" --version
full net "$NNC" run net.nn --target ref -- show --untrained

"$NNC" build net.nn -o net || wrong "net.nn"
{
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' \
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 8), }"
    head -c 64 /dev/zero
} >x.npy
full net ./net show --untrained
full net ./net --help
full net ./net two --untrained --x x.npy
# on_disk ARGS…: the trainer writes a file there
on_disk() {
    local status=0
    ./net "$@" >out 2>err || status=$?
    [ $status = 2 ] || wrong "net $*: exit code $status"
    grep -q "cannot write '/dev/full': No space left on device" err || wrong "net $*: $(cat err)"
}
on_disk --log /dev/full
on_disk --out /dev/full
on_disk two --untrained --x x.npy -o /dev/full
"$NNC" run net.nn --target ref -- --out /dev/full 2>err
[ $? = 2 ] || wrong "the oracle saves on a full disk"
grep -q "cannot write '/dev/full': No space left on device" err || wrong "oracle: $(cat err)"
finish
