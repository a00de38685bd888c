#!/bin/sh
# Installs the Debian packages that are missing: deps.sh build | test | bench
#   build  what `make` and `make demo` need
#   test   that, and what the tests need (default)
#   bench  that, and PyTorch to compare with
# Does nothing, in milliseconds, when all is there.
set -eu

build='gcc libc6-dev make flex bison zlib1g-dev'
test="$build g++ clang-19 libclang-19-dev libcriterion-dev python3 python3-numpy"
bench="$test python3-torch"

case ${1:-test} in
build) want=$build ;;
test) want=$test ;;
bench) want=$bench ;;
*)
    echo "usage: deps.sh build|test|bench" >&2
    exit 1
    ;;
esac

if ! command -v dpkg-query >/dev/null; then
    echo "deps: not a Debian system; needed here under their Debian names: $want"
    exit 0
fi

have=" $(dpkg-query -W -f '${db:Status-Abbrev}:${Package} ' $want 2>/dev/null || true) "
missing=
for p in $want; do
    case $have in
    *" ii :$p "*) ;;
    *) missing="$missing $p" ;;
    esac
done
[ -n "$missing" ] || exit 0

sudo=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || {
        echo "deps: missing, and only root can install:$missing" >&2
        exit 1
    }
    sudo=sudo
fi
echo "deps: installing$missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { $sudo apt-get -q update &&
    $sudo apt-get -qy install --no-install-recommends $missing; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "deps: could not install$missing" >&2
    exit 1
fi
echo "deps: done"
