#!/bin/sh
# Builds a wheel that carries the shims for root://:  wheel.sh FOLDER [portable]
# As it is, the wheel runs on systems like this one, and takes little time after `make build`. `portable` links with
# zig, so that the wheel runs wherever glibc is 2.28 or newer, and adds the source distribution. ARCHITECTURE (x86_64 or
# aarch64) is this machine's unless set; for the other, set CXX to a compiler of it.
set -eu
cd "$(dirname "$0")/.."
folder=$1 portable=${2:-}
python=${PYTHON:-.venv/bin/python}
architecture=${ARCHITECTURE:-$(uname -m)}
work=build/wheel
rm -rf "$work"
mkdir -p "$work" "$folder"

# install MODULE PACKAGE: unless it is there.
install() {
    "$python" -c "import $1" 2>/dev/null || "$python" -m pip install --quiet --disable-pip-version-check "$2"
}

install wheel wheel==0.48.0
if [ "$portable" = portable ]; then
    install ziglang ziglang==0.17.1
    # Without it, maturin looks for the Python that has zig in PATH.
    CARGO_ZIGBUILD_PYTHON_PATH=$("$python" -c 'import sys; print(sys.executable)')
    export CARGO_ZIGBUILD_PYTHON_PATH
    "$python" -m maturin sdist --out "$folder"
    "$python" -m maturin build --release --locked --out "$work" --zig --target "$architecture-unknown-linux-gnu" \
        --compatibility manylinux_2_28
else
    "$python" -m maturin build --release --locked --out "$work"
fi
PYTHON=$python sh native/xrdcl/wheel.sh "$work/shims" "$architecture"
"$python" -m wheel unpack --dest "$work/unpacked" "$work"/sapwood-*.whl
cp "$work"/shims/_xrdcl*.so "$work"/unpacked/sapwood-*/sapwood/
"$python" -m wheel pack --dest-dir "$folder" "$work"/unpacked/sapwood-*
rm -rf "$work"
