#!/bin/bash
# CUDA text without races, unwritten reads and wrong addresses: two small programs;
# tests/show/2-sanitizers.sh takes all.
cd "$(dirname "$0")/../.." || exit 2
exec tests/tools/sanitizers.sh models/iris.nn tests/corpus/training.nn
