#!/bin/bash
# Same bits for two small models; tests/show/1-bits.sh takes all.
cd "$(dirname "$0")/../.." || exit 2
exec tests/tools/bits.sh models/iris.nn tests/corpus/train_forms.nn
