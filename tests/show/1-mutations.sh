#!/bin/bash
# Deliberate faults turn the suites red.
cd "$(dirname "$0")/../.." || exit 2
exec tests/scripts/mutations.sh
