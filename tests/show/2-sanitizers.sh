#!/bin/bash
# No report of the shim's race and memory builds from any model or corpus program.
cd "$(dirname "$0")/../.." || exit 2
exec tests/tools/sanitizers.sh models/*.nn tests/corpus/*.nn
