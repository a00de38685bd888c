#!/bin/bash
# No report of ThreadSanitizer from four trainers at 7 threads with random delays, nor of the
# address and undefined-behaviour checks from all models.
cd "$(dirname "$0")/../.." || exit 2
status=0
tests/tools/races.sh models/digits.nn models/autoencoder.nn models/two_optimizers.nn \
    bench/mlp_small.nn || status=1
tests/tools/memory.sh models/*.nn tests/corpus/train_forms.nn tests/corpus/tensors.nn || status=1
exit $status
