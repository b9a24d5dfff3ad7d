#!/bin/sh
# Runs all benchmarks, or the named ones (local, memory, objects, rntuple, remote, links, learned, loops, wide, columns, mounts, mix, sources, write, repack, threads, stripe, studies):
# installs the peers, makes missing inputs, measures, and writes tables to docs/benchmarks/results and raw figures to build/bench.
set -eu
cd "$(dirname "$0")/.."
python=${SAPWOOD_BENCH_PYTHON:-.venv/bin/python}
results=build/bench
tables=docs/benchmarks/results
parts=${*:-local memory objects rntuple remote links learned loops wide columns mounts mix sources write repack threads stripe studies}
export SAPWOOD_BENCH_DATA="${SAPWOOD_BENCH_DATA:-$PWD/build/bench/data}"
# Another Python than that of .venv also needs this package.
export PYTHONPATH="$PWD/python${PYTHONPATH:+:$PYTHONPATH}"
mkdir -p "$results"

# install MODULE PACKAGE…: installs the packages unless the module is available.
install() {
    module=$1
    shift
    if ! "$python" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)' "$module"; then
        echo "installing $module for the benchmarks"
        "$python" -m pip install --quiet --disable-pip-version-check "$@"
    fi
}

install ROOT --pre ROOT==0.1a12  # a peer, which also writes the inputs
inputs=
for part in $parts; do
    case $part in
    local) inputs=$inputs,nano_zstd5,nano_lz4,nano_zlib1,nano_lzma9 ;;
    objects) inputs=$inputs,edm_zlib5,edm_lzma4,edm_small,xaod_zlib5,xaod_small ;;
    links) install XRootD xrootd ;;
    rntuple)
        inputs=$inputs,nano_zstd5,rntuple_zstd5,rntuple_lz4,rntuple_zlib1,rntuple_lzma9,edm_split,xaod_zlib5
        install XRootD xrootd fsspec-xrootd
        install s3fs s3fs
        ;;
    remote)
        inputs=$inputs,h1_old,h1_new,nano_zstd5
        install XRootD xrootd fsspec-xrootd
        install s3fs s3fs
        install matplotlib matplotlib
        ;;
    stripe)
        inputs=$inputs,nano_zstd5,edm_zlib5,xaod_zlib5,$(seq -f loops_%02g -s , 0 10)
        install XRootD xrootd
        install matplotlib matplotlib
        install sqlalchemy 'sqlalchemy>=2' 'psycopg[binary]'
        install pyarrow pyarrow
        install h5py h5py
        SAPWOOD_RADOSGW=${SAPWOOD_RADOSGW:-1} sh scripts/radosgw.sh
        ;;
    write | repack) inputs=$inputs,nano_zstd5 ;;
    threads) inputs=$inputs,nano_zstd5,nano_lz4,rntuple_zstd5,rntuple_lz4 ;;
    mounts)
        inputs=$inputs,nano_zstd5
        (. scripts/apt.sh && install_packages "the benchmarks of mounts" sshfs openssh-server)
        ;;
    studies) inputs=$inputs,nano_zstd5,edm_zlib5,edm_split,xaod_study,xaod_zlib5 ;;
    sources)
        inputs=$inputs,nano_zstd5
        install XRootD xrootd fsspec-xrootd
        install matplotlib matplotlib
        ;;
    loops)
        inputs=$inputs,nano_zstd5,short_lzma9,$(seq -f loops_%02g -s , 0 19)
        install XRootD xrootd fsspec-xrootd
        install s3fs s3fs
        ;;
    wide)
        inputs=$inputs,nano_zstd5,wide_small,wide_3500,wide_10000,wide_20000,wide_trees
        for tier in raw gensim reco aod; do inputs=$inputs,${tier}_like,${tier}_like_small; done
        ;;
    mix)
        inputs=$inputs,signal,minbias_0,minbias_1,minbias_2,minbias_3,minbias_4,minbias_5,minbias_6,minbias_7
        install matplotlib matplotlib
        ;;
    learned)
        inputs=$inputs,nano_zstd5
        install XRootD xrootd fsspec-xrootd
        # coffea has many dependencies, so it gets a separate environment.
        coffea=${SAPWOOD_BENCH_COFFEA:-$results/coffea/bin/python}
        if [ ! -x "$coffea" ]; then
            echo "installing coffea, a peer, into $results/coffea"
            "$python" -m venv "$results/coffea"
            "$coffea" -m pip install --quiet --disable-pip-version-check coffea fsspec-xrootd xrootd aiohttp
        fi
        export SAPWOOD_BENCH_COFFEA="$coffea"
        ;;
    esac
done
[ -z "$inputs" ] || "$python" bench/generate.py --only "${inputs#,}"
for part in $parts; do
    plot=
    [ "$part" != learned ] || plot="--plot docs/images/learned.svg"
    [ "$part" != mix ] || plot="--plot docs/images/mixing.svg"
    [ "$part" != studies ] || plot="--plots docs/images --only ${STUDIES:-nano,cms2015,atlas2018}"
    "$python" "bench/$part.py" $plot --markdown "$tables/$part.md" --json "$results/$part.json"
done
case " $parts " in
*" stripe "*)
    for more in races layouts cuts scale metadata pools; do
        "$python" "bench/stripe_$more.py" --markdown "$tables/stripe_$more.md" --json "$results/stripe_$more.json"
    done
    "$python" bench/chain.py --markdown "$tables/chain.md" --json "$results/chain.json" --plot docs/images/chain.svg
    "$python" bench/chain_formats.py --markdown "$tables/chain_formats.md" --json "$results/chain_formats.json"
    ;;
esac
case " $parts " in
*" loops "*)
    "$python" bench/ahead.py --markdown "$tables/ahead.md" --json "$results/ahead.json" --plot docs/images/ahead.svg
    "$python" bench/together.py --markdown "$tables/together.md" --json "$results/together.json"
    ;;
esac
case " $parts " in
*" wide "*) "$python" bench/tiers.py --markdown "$tables/tiers.md" --json "$results/tiers.json" ;;
esac
case " $parts " in
*" studies "*)
    "$python" bench/jobs.py --events 2000 --markdown "$tables/jobs.md" --json "$results/jobs.json"
    "$python" bench/access.py --markdown "$tables/access.md" --json "$results/access.json"
    ;;
esac
case " $parts " in
*" rntuple "*) "$python" bench/formats.py --markdown "$tables/formats.md" --json "$results/formats.json" ;;
esac
case " $parts " in
*" remote "*) "$python" bench/remote_plot.py "$results/remote.json" docs/images/remote.svg ;;
esac
case " $parts " in
*" sources "*) "$python" bench/sources_plot.py "$results/sources.json" docs/images/sources.svg ;;
esac
