#!/bin/sh
# Builds the documents in strict mode, or serves them:  docs.sh build|serve
set -eu
if [ ! -x .venv/bin/zensical ]; then
    echo "documents: skipped, because their tools need Python 3.11 or newer" >&2
    exit 0
fi
.venv/bin/python scripts/cli_reference.py
.venv/bin/python scripts/tutorial.py --run
case $1 in
build) .venv/bin/zensical build --strict --clean ;;
serve) .venv/bin/zensical serve ;;
esac
