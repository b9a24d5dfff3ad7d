#!/bin/sh
# Installs ROOT, which checks the files that tests write, as a wheel in a separate environment. It is not needed if
# SAPWOOD_BENCH_PYTHON names a Python with ROOT; if it cannot be installed, these tests are skipped.
set -eu
python=${1:-python3}
folder=${2:-build/cern-root}
[ -z "${SAPWOOD_BENCH_PYTHON:-}" ] || exit 0
if [ -x "$folder/bin/python" ] && "$folder/bin/python" -W ignore -c 'import ROOT' 2>/dev/null; then exit 0; fi
echo "installing ROOT into $folder for the tests of written files"
rm -rf "$folder"
if "$python" -m venv "$folder" &&
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --pre ROOT==0.1a12 2>/dev/null; then exit 0; fi
rm -rf "$folder"
echo "some tests of written files are skipped: there is no wheel of ROOT for this Python or system" >&2
