#!/bin/sh
# Builds a wheel that carries the shims for root://:  wheel.sh FOLDER [portable]
# As it is, the wheel runs on systems like this one, and takes little time after `make build`. `portable` links with
# zig, so that the wheel runs wherever glibc is 2.28 or newer, and adds the source distribution. ARCHITECTURE (x86_64 or
# aarch64) is this machine's unless set; the other one needs Rust's target (`rustup target add`) and a cross compiler for
# the shims: on Debian and Ubuntu, g++-aarch64-linux-gnu, or what CXX names.
set -eu
cd "$(dirname "$0")/.."
folder=$1 portable=${2:-}
python=${PYTHON:-.venv/bin/python}
architecture=${ARCHITECTURE:-$(uname -m)}
target=$architecture-unknown-linux-gnu
if [ "$architecture" != "$(uname -m)" ]; then export CXX="${CXX:-$architecture-linux-gnu-g++}"; fi
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
    "$python" -m maturin build --release --locked --out "$work" --zig --target "$target" \
        --compatibility manylinux_2_28
else
    "$python" -m maturin build --release --locked --out "$work"
fi
PYTHON=$python sh native/xrdcl/wheel.sh "$work/shims" "$architecture"
"$python" -m wheel unpack --dest "$work/unpacked" "$work"/sapwood-*.whl
cp "$work"/shims/_xrdcl*.so "$work"/unpacked/sapwood-*/sapwood/
"$python" scripts/third_party.py "$target" "$(echo "$work"/unpacked/sapwood-*/*.dist-info/licenses)/THIRDPARTY.txt"
sed -i 's/^License-File: LICENSE$/&\nLicense-File: THIRDPARTY.txt/' "$work"/unpacked/sapwood-*/*.dist-info/METADATA
"$python" -m wheel pack --dest-dir "$folder" "$work"/unpacked/sapwood-*
rm -rf "$work"
