#!/bin/sh
# All benchmarks: makes the inputs that are missing, measures, writes the tables to build/bench and the documents.
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
"$python" bench/generate.py
"$python" bench/local.py --markdown "$results/local.md" --json "$results/local.json"
"$python" bench/over_http.py --markdown "$results/http.md" --json "$results/http.json"
"$python" bench/memory.py --markdown "$results/memory.md" --json "$results/memory.json"
"$python" bench/paste.py docs/benchmarks.md "$results"
