"""Makes the inputs of the benchmarks with real ROOT: NanoAOD-like (four compressions, also as RNTuples, and
20 small files, and a shorter one in LZMA-9), H1-like (two layouts), trees of many branches (`wide_…`),
MiniAOD-like (`edm_…`) and xAOD-like, RAW- to AOD-like (`…_like`), and a pool of background events
(`minbias_…`) with signal for them.

    python bench/generate.py --out DIR [--events 100000] [--only nano_zstd5,h1_new]

Needs ROOT 6.40 from PyPI and g++. Each nano file has 1,491 branches and, with 100,000 events, 1,050 MB of
uncompressed baskets, which compress to 321 (LZMA-9) to 606 MB (LZ4). The files with objects
(objects/README.md) have 113 products, and 1,058 branches. Existing files are kept.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import time
from pathlib import Path

from rootbuild import HERE, compiled, dictionary

COMPRESSIONS = {"nano_zstd5": 505, "nano_lz4": 404, "nano_zlib1": 101, "nano_lzma9": 209}
# RNTuples of the same events, by ROOT's importer.
RNTUPLES = {name.replace("nano", "rntuple"): number for name, number in COMPRESSIONS.items()}
# Files of a loop, of one cluster each.
LOOPS = {f"loops_{number:02}": 5000 for number in range(20)}
# For decoding ahead: fewer events, because LZMA-9 takes so long to write.
SHORT = {"short_lzma9": (209, 40_000)}
# Wide trees, and a file of many: the branches of a tree, the trees, and the entries of each.
WIDE = {
    "wide_small": (40, 1, 1000),
    "wide_3500": (3500, 1, 1000),
    "wide_10000": (10_000, 1, 1000),
    "wide_20000": (20_000, 1, 1000),
    "wide_trees": (50, 200, 1000),
}
LAYOUTS = {"h1_new": "new", "h1_old": "old"}
H1_ENTRIES = 283_000
# Name: the generator, the compression, the events, and further arguments of the generator.
OBJECTS = {
    "edm_zlib5": ("edm", 105, 6000),
    "edm_lzma4": ("edm", 204, 6000),
    "edm_split": ("edm", 105, 2000, 99),
    "edm_small": ("edm", 105, 20),
    "xaod_zlib5": ("xaod", 105, 12_000),
    "xaod_study": ("xaod", 105, 20_000),
    "xaod_small": ("xaod", 105, 50),
    "edm_level0": ("edm", 209, 6, 0),
    "edm_level1": ("edm", 209, 6, 1),
    "edm_level99": ("edm", 209, 6, 99),
    "edm_test": ("edm", 209, 6),
    "xaod_test": ("xaod", 209, 8),
}
# The same for data tiers of CMS: the compression that each has there.
TIERS = {
    "raw_like": ("tiers", 204, 300, "raw"),
    "gensim_like": ("tiers", 201, 250, "gensim"),
    "reco_like": ("tiers", 504, 250, "reco"),
    "aod_like": ("tiers", 204, 300, "aod"),
}
# With a few events, to compare values.
OBJECTS |= TIERS | {f"{name}_small": (*made[:2], 4, made[3]) for name, made in TIERS.items()}


# Name: the seed, the events, and the mean number of hits of an event.
POOL = {"signal": (8, 2000, 400), **{f"minbias_{number}": (number, 10_000, 150) for number in range(8)}}


def command_for(name: str, out: Path, events: int, build: Path) -> list[str]:
    """The command that writes the input `name` to `out`."""
    generators = HERE / "generators"
    if name in COMPRESSIONS or name in LOOPS or name in SHORT:
        program, schema = compiled(generators / "nano.cpp", build), generators / "nano.schema"
        usual = COMPRESSIONS.get(name, 505), LOOPS.get(name, events)
        compression, entries = SHORT.get(name, usual)
        return [str(program), str(out), str(schema), str(compression), str(entries)]
    if name in RNTUPLES:
        source = out.with_name("nano_zstd5.root")
        if not source.exists():
            raise SystemExit(f"{name} is made from {source.name}: make that first")
        program = compiled(generators / "rntuple.cpp", build)
        return [str(program), str(out), str(source), "Events", str(RNTUPLES[name])]
    if name in OBJECTS:
        generator, *arguments = map(str, OBJECTS[name])
        program = object_program(generator, generator, build)
        return [str(program), str(out), *arguments]
    if name in WIDE:
        program = compiled(generators / "wide.cpp", build)
        return [str(program), str(out), *map(str, WIDE[name])]
    if name in POOL:
        program = compiled(generators / "minbias.cpp", build)
        return [str(program), str(out), *map(str, POOL[name])]
    program = compiled(generators / "h1.cpp", build)
    return [str(program), str(out), LAYOUTS[name], str(H1_ENTRIES)]


def object_program(name: str, classes: str, build: Path) -> Path:
    """A program of bench/objects, with the dictionary of the header `classes`."""
    folder = HERE / "objects"
    library = dictionary(folder / f"{classes}.h", build)
    return compiled(folder / f"{name}.cpp", build, library)


def main() -> None:
    names = [*COMPRESSIONS, *RNTUPLES, *LOOPS, *SHORT, *LAYOUTS, *OBJECTS, *POOL, *WIDE]
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    default = os.environ.get("SAPWOOD_BENCH_DATA")
    parser.add_argument(
        "--out", type=Path, default=default, required=not default, help="folder for the files"
    )
    parser.add_argument("--events", type=int, default=100_000, help="events in each nano file")
    parser.add_argument("--only", default=",".join(names), help=f"some of {', '.join(names)}")
    options = parser.parse_args()

    wanted = options.only.split(",")
    if unknown := set(wanted) - set(names):
        parser.error(f"unknown inputs: {', '.join(sorted(unknown))}; use {', '.join(names)}")
    options.out.mkdir(parents=True, exist_ok=True)
    for name in wanted:
        path = options.out / f"{name}.root"
        if path.exists():
            print(f"{path}: exists", flush=True)
            continue
        begin = time.monotonic()
        part = path.with_suffix(".part.root")
        command = command_for(name, part, options.events, options.out / "build")
        written = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        part.rename(path)
        print(f"{path}: {written}, {time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
