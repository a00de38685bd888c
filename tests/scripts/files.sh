#!/bin/bash
# The files of a trainer: what cannot be written is told before the work, and nothing that is read
# is overwritten.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
cd "$work" || exit 2

cat >net.nn <<'END'
option out = "net.safetensors"
option path = "never"
model net = linear(2)
task train {
    print "begun"
    for i in 0..3 {
        let loss = mean(net(rand([4, 8]))^2)
        minimize loss with sgd(0.1)
        record loss
    }
    if path != "never" { save net to path }
    save net to out
}
export fn two(x: [N, 8]) = (net(x), x)
export fn both(x: [N, 8], y: [N, 8], z: [2, 8]) = x + y + sum(z)
END
"$NNC" build net.nn -o net || wrong "net.nn"

# npy ROWS: zeros [ROWS, 8]
npy() {
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' \
        "{'descr': '<f4', 'fortran_order': False, 'shape': ($1, 8), }"
    head -c $((32 * $1)) /dev/zero
}

# says STATUS TEXT ARGS…: the trainer ends so, says TEXT, and has not begun
says() {
    local wanted=$1 text=$2 status=0
    shift 2
    ./net "$@" >out 2>err || status=$?
    [ $status = "$wanted" ] || wrong "net $*: exit code $status, wanted $wanted"
    grep -qF -- "$text" err || wrong "net $*: '$(cat err)', wanted '$text'"
    [ ! -s out ] || wrong "net $*: it has begun: $(cat out)"
}

echo kept >plain
mkdir folder
npy 2 >x.npy
npy 3 >three.npy
says 2 "cannot write 'nowhere/w': there is no folder 'nowhere'" --out nowhere/w
says 2 "cannot write 'folder': it is a folder" --out folder
says 2 "cannot write 'plain/w': Not a directory" --out plain/w
says 2 "cannot write '': No such file" --out ""
says 2 "cannot write 'nowhere/l': there is no folder 'nowhere'" --log nowhere/l
says 2 "cannot write 'folder': it is a folder" --log folder
says 2 "--trace 'plain': it is there and no folder" --trace plain
says 2 "cannot make 'nowhere/t': No such file" --trace nowhere/t
for how in "" "--target ref"; do
    # shellcheck disable=SC2086 # words
    "$NNC" run net.nn $how -- --out nowhere/w >out 2>err
    [ $? = 2 ] || wrong "run $how: exit code"
    grep -q "there is no folder 'nowhere'" err || wrong "run $how: $(cat err)"
    [ ! -s out ] || wrong "run $how: it has begun"
done
[ "$(cat plain)" = kept ] || wrong "a file that is no folder was changed"
[ -z "$(ls folder)" ] || wrong "left behind: $(ls folder)"
[ -z "$(ls ./*.tmp 2>/dev/null)" ] || wrong "left behind: $(ls ./*.tmp)"
# What may never be saved is no reason to stop.
./net --out w.safetensors >out 2>err || wrong "a whole run: $(cat err)"

cp x.npy kept
cp w.safetensors kept.safetensors
ln x.npy hard.npy
ln -s x.npy link.npy
for file in x.npy ./x.npy hard.npy link.npy; do
    says 1 "-o '$file': this file is read" two --untrained --x x.npy -o $file
    says 1 "--log '$file': --x has the same file" two --untrained --x x.npy --log $file
    says 1 "--log '$file': --x has the same file" two --untrained --data . --x x.npy --log $file
done
cp x.npy z.npy.1
says 1 "-o 'z.npy.1': this file is read" two --untrained --x z.npy.1 -o z.npy
says 1 "-o 'w.safetensors': this file is read" two --load w.safetensors --x x.npy -o w.safetensors
says 1 "--log 'w.safetensors': this file is read" two --load w.safetensors --x x.npy \
    --log w.safetensors
says 1 "--log 'y.npy': --output has the same file" two --untrained --x x.npy -o y.npy --log y.npy
says 2 "cannot write 'nowhere/y': there is no folder" two --untrained --x x.npy -o nowhere/y
cmp -s x.npy kept || wrong "an argument was overwritten"
cmp -s w.safetensors kept.safetensors || wrong "weights were overwritten"
[ ! -e z.npy ] && [ ! -e y.npy ] || wrong "a result that is not whole was written"

says 1 "--output is for two, both, not for train" -o y.npy
says 1 "--y is for both, not for two" two --untrained --x x.npy --y x.npy
says 1 "which file? --x FILE.npy" two --untrained
says 1 "--y 'three.npy' has 3 rows, the argument before has 2" both --x x.npy --y three.npy
says 1 "--z 'three.npy' has 3 rows, wanted 2" both --x x.npy --y x.npy --z three.npy
./net two --untrained --x x.npy -o y.npy || wrong "two results"
[ -s y.npy ] && [ -s y.npy.1 ] || wrong "two results are not there"
finish
