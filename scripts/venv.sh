#!/bin/sh
# Makes the virtual environment with the pinned tools:  venv.sh PYTHON FOLDER REQUIREMENTS
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
    # Debian keeps the part of venv that brings pip in a package of its own; a pip that is already there will do.
    "$python" -m venv --clear "$folder" >/dev/null 2>&1 ||
        { "$python" -m venv --clear --without-pip "$folder" &&
            "$python" -m pip --python "$folder/bin/python" install --quiet pip; } >/dev/null 2>&1 ||
        {
            rm -rf "$folder"
            version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
            echo "error: $python can make no virtual environment; on Debian and Ubuntu: apt install python$version-venv" >&2
            exit 1
        }
fi
echo "installing the tools of $requirements into $folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$requirements"
