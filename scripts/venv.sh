#!/bin/sh
# Creates the virtual environment with the pinned tools:  venv.sh PYTHON FOLDER REQUIREMENTS
set -eu
python=$1 folder=$2 requirements=$3

if ! command -v "$python" >/dev/null; then
    echo "error: $python is not installed; on Debian and Ubuntu: apt install python3 python3-venv" >&2
    exit 1
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
    echo "error: $("$python" --version) is too old; sapwood needs Python 3.10 or newer: make PYTHON=python3.12 ..." >&2
    exit 1
fi

if [ ! -x "$folder/bin/python" ] || ! "$folder/bin/python" -c 'import pip' 2>/dev/null; then
    # On Debian, the part of venv that installs pip is in a separate package; an installed pip is a substitute.
    "$python" -m venv --clear "$folder" >/dev/null 2>&1 ||
        { "$python" -m venv --clear --without-pip "$folder" &&
            "$python" -m pip --python "$folder/bin/python" install --quiet pip; } >/dev/null 2>&1 ||
        {
            rm -rf "$folder"
            version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
            echo "error: $python cannot create a virtual environment; on Debian and Ubuntu: apt install python$version-venv" >&2
            exit 1
        }
fi
echo "installing the tools of $requirements into $folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$requirements"
