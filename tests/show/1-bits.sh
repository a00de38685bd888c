#!/bin/bash
# Same bits after 200 steps for every model and corpus program: compilers, levels, threads, runs.
cd "$(dirname "$0")/../.." || exit 2
exec tests/tools/bits.sh models/*.nn tests/corpus/*.nn
