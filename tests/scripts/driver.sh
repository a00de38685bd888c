#!/bin/bash
# What nnc does with its command line and with files: nothing is overwritten or left half done, and
# each wrong command says what is wrong.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
cd "$work" || exit 2

# says STATUS TEXT COMMAND…: nnc COMMAND ends with STATUS and its message has TEXT
says() {
    local status=$1 text=$2 found
    shift 2
    found=$("$NNC" "$@" 2>&1)
    [ $? = "$status" ] || wrong "nnc $*: another exit code than $status"
    case $found in
    *"$text"*) ;;
    *) wrong "nnc $*: '$found', wanted '$text'" ;;
    esac
}

program='task train { print "done" }'
echo "$program" >d.nn
cp d.nn part.nn
ln -s d.nn link.nn
ln d.nn hard.nn
echo 'import "part.nn"' >whole.nn
for output in d.nn link.nn hard.nn ./d.nn; do
    says 1 "is the source 'd.nn'" d.nn -o "$output"
    says 1 "is the source 'd.nn'" build d.nn -o "$output"
done
says 1 "is the source 'link.nn'" link.nn -o d.nn
says 1 "is the source 'part.nn'" whole.nn -o part.nn
for file in d.nn part.nn; do
    [ "$(cat $file)" = "$program" ] || wrong "$file was overwritten"
done

# Where nothing can be written is said before a compiler is started, and nothing is left there.
cat >cc <<'END'
#!/bin/sh
touch started
END
chmod +x cc
mkdir taken
echo kept >plain
for command in "d.nn" "d.nn --target cuda" "build d.nn" "build d.nn --target cuda"; do
    # shellcheck disable=SC2086 # words
    for at in "nowhere/x:there is no folder 'nowhere'" "taken:it is there and not a file" \
        "plain/x:Not a directory" ":No such file" "$(printf '%0256d' 0):File name too long"; do
        CC=./cc NVCC=./cc says 2 "nnc: cannot write '${at%%:*}': ${at#*:}" $command -o "${at%%:*}"
    done
done
CC=./cc says 2 "'/dev/null': it is there and not a file" build d.nn -o /dev/null
(cd taken && mkdir d d.c && CC=../cc says 2 "cannot write 'd'" build ../d.nn &&
    says 2 "cannot write 'd.c'" ../d.nn) || wrong "a default output that is a folder"
[ ! -e started ] && [ ! -e taken/started ] || wrong "a compiler ran for an output that cannot be"
[ "$(cat plain)" = kept ] || wrong "a file that is no folder was changed"
[ "$(ls taken)" = "$(printf 'd\nd.c')" ] || wrong "left behind: $(ls taken)"
[ -z "$(ls ./*.tmp 2>/dev/null)" ] || wrong "left behind: $(ls ./*.tmp)"
says 1 "write a file: -o 'x'" check d.nn -o x
says 1 "write a file: -o 'x'" run d.nn -o x
says 1 "before any pass: '--dump'" run d.nn --target ref --dump build
says 1 "before any pass: '--stop-after'" run d.nn --target ref --stop-after build
says 1 "no pass is called 'fold'" check d.nn --dump fold
says 1 "--stop-after simplify does not get to --dump fuse" check d.nn --dump fuse \
    --stop-after simplify
says 0 "" check d.nn --dump build --stop-after build
says 1 "with --stop-after nothing is written: -o 'x.c'" d.nn -o x.c --stop-after fuse
XDG_CACHE_HOME=$work/plain says 2 "cannot make the cache '$work/plain/nnc'" run d.nn
"$NNC" d.nn -o /dev/stdout | grep -q '^int main' || wrong "no text on standard output"

# 2 is for files that are not there, the input or one that it imports, 1 for what they say.
echo 'import "absent.nn"' >lacks.nn
echo 'import "lacks.nn"' >deeper.nn
says 2 "cannot open 'absent.nn'" check absent.nn
says 2 "lacks.nn:1:1: error: cannot open 'absent.nn'" check lacks.nn
says 2 "lacks.nn:1:1: error: cannot open 'absent.nn'" run deeper.nn --target ref
says 2 "cannot open 'taken': Is a directory" check taken

says 1 "--seed must be 0 to 9223372036854775807, found '-1'" lockstep d.nn t --seed -1
says 1 "found '99999999999999999999'" lockstep d.nn t --seed 99999999999999999999
says 1 "takes a whole number" lockstep d.nn t --seed 3x
says 1 "no command 'frob'" frob d.nn
says 1 "no command 'frob'" frob
says 1 "stands after --" run d.nn --epochs 1
says 1 "stands after --" run d.nn --seed 3
says 1 "nnc lockstep takes '--seed'" d.nn --seed 3
says 1 "'--ref'" run d.nn --ref f32
says 1 "'--ref'" d.nn --ref f32
says 1 "nnc: error: -D foo=3" check d.nn -D foo=3
says 0 done run d.nn --target ref --ref f32
says 1 "no option '--target'" lockstep d.nn trace --target cuda

# For a GPU the compiler is nvcc, with the flags that bits need. This one makes a program that says
# how it was called.
cat >nvcc <<'END'
#!/bin/sh
echo "$*" >called
while [ "$1" != -o ]; do shift; done
grep -q '^__global__' && printf '#!/bin/sh\necho "on a GPU: $*"\n' >"$2" && chmod +x "$2"
END
chmod +x nvcc
for command in "build d.nn -o gpu" "run d.nn"; do
    # shellcheck disable=SC2086 # words
    XDG_CACHE_HOME=$work/cache NVCC=./nvcc "$NNC" $command --target cuda >out 2>&1 ||
        wrong "nnc $command --target cuda: $(cat out)"
    grep -q -- "-arch=sm_80 -fmad=false -ftz=true .*-x cu -" called || wrong "nvcc $(cat called)"
    rm called
done
grep -q 'on a GPU: --data' out || wrong "nnc run --target cuda runs something else: $(cat out)"
./gpu >/dev/null || wrong "nnc build --target cuda makes no program"
NVCC=./nowhere says 2 "cannot run './nowhere'" build d.nn --target cuda
NVCC=./nowhere says 2 "cannot run './nowhere'" run d.nn --target cuda,c
[ -x /usr/local/cuda/bin/nvcc ] || PATH=/nowhere says 2 "no nvcc on the PATH" run d.nn --target cuda

# A trace is of the program that made it: tensors of other shapes are told, not read.
for width in 3 4; do
    cat >net$width.nn <<END
model net = linear($width)
let x = rand([8, 2])
task train { for i in 0..2 { minimize mean(net(x)^2) with sgd(0.1) } }
END
done
"$NNC" build net3.nn -o net3 && ./net3 --trace trace --trace-steps 1,2 || wrong "no trace"
says 0 "0 wrong" lockstep net3.nn trace
says 2 "cannot open 'nowhere'" lockstep net3.nn nowhere
cp -r trace longer
for file in longer/*-2-after*; do echo more >>"$file"; done
says 1 "bytes follow the last tensor" lockstep net3.nn longer
says 1 "is [2, 3] in the trace, [2, 4] in the program" lockstep net4.nn trace

# The log of a trainer: none of the files that are read, and untouched where a run does not begin.
mkdir rows
printf '1,2\n3,4\n' >rows/rows.csv
cat >log.nn <<'END'
data rows(x: [1], y: [1]) {
    all {
        x = csv("rows.csv", header=false, columns=0:1)
        y = csv("rows.csv", header=false, columns=1:2)
    }
}
param w: [1] = 1
task train {
    for (x, y) in rows.all.batches(2) { minimize mse(x * w, y) with sgd(0.1) }
    print "done"
}
END
"$NNC" build log.nn -o log || wrong "log.nn"
cp rows/rows.csv rows/kept
echo kept >kept.log
./log --data rows --log rows/rows.csv 2>err
[ $? = 1 ] && grep -q 'this file is read' err || wrong "a log over data: $(cat err)"
cmp -s rows/rows.csv rows/kept || wrong "a log destroys data"
./log --data nowhere --log kept.log 2>err
[ $? = 2 ] && grep -q kept kept.log || wrong "a run that does not begin empties a log"

# A compiler that is still at work when nnc is ended: what it leaves is removed.
cat >slow <<'END'
#!/bin/sh
while [ "$1" != -o ]; do shift; done
touch "$2" started
exec sleep 20
END
chmod +x slow
mkdir folder
CC=./slow "$NNC" build d.nn -o folder/d &
for ((i = 0; i < 100; i++)); do
    [ -f started ] && break
    sleep 0.1
done
kill $!
wait $!
[ $? = 143 ] || wrong "nnc is not ended by a signal"
[ -z "$(ls folder)" ] || wrong "an ended nnc leaves $(ls folder)"
finish
