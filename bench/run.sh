#!/bin/sh
# All benchmarks, or those that are named (local, over_http, memory, objects): makes the inputs that are missing,
# measures, writes the tables to build/bench and the documents.
set -eu
cd "$(dirname "$0")/.."
python=${SAPWOOD_BENCH_PYTHON:-.venv/bin/python}
results=build/bench
export SAPWOOD_BENCH_DATA="${SAPWOOD_BENCH_DATA:-$PWD/build/bench/data}"
mkdir -p "$results"

if ! "$python" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("ROOT") is None)'; then
    echo "installing ROOT, the peer that also writes the inputs"
    "$python" -m pip install --quiet --disable-pip-version-check --pre ROOT==0.1a12
fi
# The names of the inputs that are made of objects begin with edm and xaod.
if [ "$*" = objects ]; then
    "$python" bench/generate.py --only edm_zlib5,edm_lzma4,edm_small,xaod_zlib5,xaod_small
else
    "$python" bench/generate.py
fi
for part in ${*:-local over_http memory objects}; do
    "$python" "bench/$part.py" --markdown "$results/$part.md" --json "$results/$part.json"
done
"$python" bench/paste.py docs/benchmarks.md "$results"
