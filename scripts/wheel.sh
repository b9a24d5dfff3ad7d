#!/bin/sh
# Builds a wheel:  wheel.sh FOLDER [portable]
# As it is, the wheel runs on systems like this one, and takes little time after `make build`. `portable` adds the source
# distribution, and on Linux links with zig, so that the wheel runs wherever glibc is 2.28 or newer. ARCHITECTURE (x86_64
# or aarch64) is this machine's unless set; the other one needs Rust's target (`rustup target add`) and a cross toolchain,
# g++-aarch64-linux-gnu on Debian and Ubuntu. CXX may name another compiler for the shims.
# Wheels for Linux carry the shims for root://. There are no wheels of XRootD's client for macOS to load them with.
set -eu
cd "$(dirname "$0")/.."
folder=$1 portable=${2:-}
python=${PYTHON:-.venv/bin/python}
architecture=${ARCHITECTURE:-$(uname -m)}
system=$(uname -s)
work=build/wheel
rm -rf "$work"
mkdir -p "$work" "$folder"

# install MODULE PACKAGE: unless it is there.
install() {
    "$python" -c "import $1" 2>/dev/null || "$python" -m pip install --quiet --disable-pip-version-check "$2"
}

case $system in
Linux) target=$architecture-unknown-linux-gnu ;;
*) target=$(rustc -vV | sed -n 's/^host: //p') ;;
esac
if [ "$architecture" != "$(uname -m)" ]; then export CXX="${CXX:-$architecture-linux-gnu-g++}"; fi
if [ "$portable" = portable ]; then "$python" -m maturin sdist --out "$folder"; fi

install wheel wheel==0.48.0
if [ "$portable" = portable ] && [ "$system" = Linux ]; then
    install ziglang ziglang==0.17.1
    # Without it, maturin looks for the Python that has zig in PATH.
    CARGO_ZIGBUILD_PYTHON_PATH=$("$python" -c 'import sys; print(sys.executable)')
    export CARGO_ZIGBUILD_PYTHON_PATH
    "$python" -m maturin build --release --locked --out "$work" --zig --target "$target" --compatibility manylinux_2_28
else
    "$python" -m maturin build --release --locked --out "$work"
fi
"$python" -m wheel unpack --dest "$work/unpacked" "$work"/sapwood-*.whl
if [ "$system" = Linux ]; then
    # What sapwood and the codecs do has names in profiles; those of all other functions would take 1 MB.
    printf '%s\n' '*sapwood*' 'ZSTD_*' 'HUF_*' 'FSE_*' 'LZ4_*' 'LZ4HC_*' 'lzma_*' 'deflate_*' 'libdeflate_*' >"$work/named"
    if [ "$architecture" = "$(uname -m)" ]; then objcopy=objcopy; else objcopy=$architecture-linux-gnu-objcopy; fi
    "$objcopy" --strip-all --wildcard --keep-symbols="$work/named" "$work"/unpacked/sapwood-*/sapwood/_core.abi3.so
    PYTHON=$python sh native/xrdcl/wheel.sh "$work/shims" "$architecture"
    cp "$work"/shims/_xrdcl*.so "$work"/unpacked/sapwood-*/sapwood/
fi
"$python" scripts/third_party.py "$work"/unpacked/sapwood-*/*.dist-info "$target"
"$python" -m wheel pack --dest-dir "$folder" "$work"/unpacked/sapwood-*
rm -rf "$work"
