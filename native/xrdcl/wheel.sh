#!/bin/sh
# Builds the shims that wheels carry, for XRootD's client 5 and 6:  wheel.sh FOLDER [ARCHITECTURE]
# The headers come from the source of the Python package `xrootd`, the libraries to link against from its wheel. An
# installed shim finds the client in that package beside it (its extra: sapwood[xrootd]), or else the system's.
# CXX names a compiler for another architecture. It has to use libstdc++, as the client does.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$1 architecture=${2:-$(uname -m)}
python=${PYTHON:-python3}
work=$here/../../build/xrdcl
mkdir -p "$folder" "$work"

# fetch VERSION FORMAT OPTIONS…: a file of the package, unless it is there. Prints its name.
fetch() {
    version=$1 format=$2
    shift 2
    found() { find "$work" -name "xrootd-$version$format" | head -n 1; }
    [ -n "$(found)" ] || "$python" -m pip download --quiet --disable-pip-version-check --no-deps --dest "$work" "$@" \
        "xrootd==$version"
    found
}

for version in 5.9.9 6.2.1; do
    major=${version%%.*}
    source=$(fetch "$version" .tar.gz --no-binary xrootd)
    wheel=$(fetch "$version" "*_$architecture.whl" --only-binary xrootd --python-version 3.11 \
        --platform "manylinux_2_28_$architecture")
    unpacked=$work/$version-$architecture
    rm -rf "$unpacked"
    mkdir "$unpacked"
    tar -xzf "$source" -C "$unpacked" --strip-components 1
    "$python" -m zipfile -e "$wheel" "$unpacked/wheel"
    # What XRootD's own build fills in. Only the major version counts: plug-ins are looked for by it.
    sed -e "s/@XRootD_VERSION_MAJOR@/$major/; s/@XRootD_VERSION_NUMBER@/${major}0000/" \
        -e "s/@XRootD_VERSION_STRING@/v$version/" "$unpacked/src/XrdVersion.hh.in" >"$unpacked/src/XrdVersion.hh"
    library=$(find "$unpacked/wheel/pyxrootd" -name 'libXrdCl.so.?')
    ${CXX:-c++} -std=c++17 -O2 -Wall -Wextra -fPIC -shared -fvisibility=hidden -fvisibility-inlines-hidden -s \
        -isystem "$unpacked/src" "$here/shim.cc" -o "$folder/_xrdcl$major.so" "$library" \
        -Wl,-rpath,'$ORIGIN/../pyxrootd' -Wl,-z,now -Wl,--allow-shlib-undefined
    rm -rf "$unpacked"
done
