#!/bin/sh
# Builds ROOT's plugin where ROOT and a C++ compiler are:  build.sh LIBRARY FOLDER
# LIBRARY is sapwood's C library. FOLDER gets it as libsapwood.so, the plugin, XRootD's shim, and `plugins`, the folder for
# ROOT's setting Root.PluginPath. ROOTSYS names an installation of ROOT; else root-config does, or it is that of `make servers`.
set -eu
here=$(dirname "$0") library=$1 folder=$2
compiler=${CXX:-c++}

skip() {
    echo "ROOT's plugin is left out: $1" >&2
    exit 0
}

root=${ROOTSYS:-}
if [ -z "$root" ] && command -v root-config >/dev/null; then root=$(root-config --prefix); fi
for wheel in "$here"/../../build/cern-root/lib/python*/site-packages/ROOT; do
    if [ -z "$root" ] && [ -d "$wheel" ]; then root=$(cd "$wheel" && pwd -P); fi
done
[ -n "$root" ] || skip "there is no ROOT; set ROOTSYS, or run 'make servers'"
command -v "$compiler" >/dev/null || skip "there is no C++ compiler"
include=$root/include lib=$root/lib plugins=$root/etc/plugins
[ -f "$include/TFile.h" ] || skip "$include has no headers of ROOT"
standard=$("$root/bin/root-config" --cflags | tr ' ' '\n' | grep '^-std=' || echo -std=c++17)

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
cp "$library" "$folder/libsapwood.so.new" && mv "$folder/libsapwood.so.new" "$folder/libsapwood.so"

# In the process of ROOT, there must be one XRootD client only: that of ROOT, if it brings one.
LIBRARY_PATH=$lib LD_RUN_PATH=$lib sh "$here/../xrdcl/build.sh" "$folder"

made=$folder/libSapwoodROOT.so
if [ ! -f "$made" ] || [ -n "$(find "$here" "$here/../../crates/c/include" "$include/RVersion.h" -newer "$made" -type f)" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cp "$here"/*.h "$here"/*.cxx "$work"
    # The header becomes a part of the dictionary: ROOT need not find it when it loads the plugin.
    (cd "$work" && LD_LIBRARY_PATH="$lib:$root/../root.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$root/bin/rootcling" -f dictionary.cxx \
        -s libSapwoodROOT.so -rml libSapwoodROOT.so -inlineInputHeader TSapwoodFile.h LinkDef.h)
    "$compiler" "$standard" -O2 -Wall -Wextra -fPIC -shared -isystem "$include" -I"$work" -I"$here/../../crates/c/include" \
        "$work"/*.cxx -o "$made.new" \
        -L"$folder" -lsapwood -L"$lib" -lCore -lRIO -lTree -Wl,-rpath,'$ORIGIN'
    mv "$work/libSapwoodROOT_rdict.pcm" "$folder"
    mv "$made.new" "$made"
fi

# ROOT reads the first folder of its plugin path only: this one has everything of ROOT's own, and two plugins before it.
rm -rf "$folder/plugins"
mkdir -p "$folder/plugins/TFile" "$folder/plugins/ROOT@@Internal@@RRawFile"
for base in "$plugins"/*; do
    name=$(basename "$base")
    case $name in
    TFile | ROOT@@Internal@@RRawFile) ln -s "$base"/*.C "$folder/plugins/$name" ;;
    *) ln -s "$base" "$folder/plugins" ;;
    esac
done
sed "s|@FOLDER@|$folder|" "$here/plugins/P005_TSapwoodFile.C" >"$folder/plugins/TFile/P005_TSapwoodFile.C"
sed "s|@FOLDER@|$folder|" "$here/plugins/P005_RRawFileSapwood.C" \
    >"$folder/plugins/ROOT@@Internal@@RRawFile/P005_RRawFileSapwood.C"
