#!/bin/sh
# Builds the shim beside the Python package, if the headers of XRootD's client are there:  build.sh FOLDER
# XROOTD_PREFIX names an installation of XRootD elsewhere than in /usr.
set -eu
here=$(dirname "$0") folder=$1
prefix=${XROOTD_PREFIX:-/usr}
include=$prefix/include/xrootd

if [ ! -f "$include/XrdCl/XrdClFile.hh" ] || ! command -v "${CXX:-c++}" >/dev/null; then
    echo "root:// is left out: its client or a C++ compiler is missing; on Debian and Ubuntu:" \
        "apt install libxrootd-client-dev g++" >&2
    exit 0
fi
major=$(sed -nE 's/.*define +XRDPLUGIN_SOVERSION +"([0-9]+)".*/\1/p' "$include/XrdVersion.hh")
shim=$folder/_xrdcl$major.so
if [ -f "$shim" ] && [ -z "$(find "$here" "$include/XrdVersion.hh" -newer "$shim" -type f)" ]; then exit 0; fi
library=
for candidate in "$prefix/lib" "$prefix/lib64"; do
    if [ "$prefix" != /usr ] && [ -d "$candidate" ]; then library="$library -L$candidate -Wl,-rpath,$candidate"; fi
done
if [ "$(uname -s)" = Linux ]; then library="$library -Wl,--no-undefined -Wl,-z,now"; fi
# shellcheck disable=SC2086 # several words on purpose
${CXX:-c++} -std=c++17 -O2 -Wall -Wextra -fPIC -shared -fvisibility=hidden -fvisibility-inlines-hidden \
    -isystem "$include" "$here/shim.cc" -o "$shim.new" $library -lXrdCl
mv "$shim.new" "$shim" # a process that has the old one loaded keeps it
