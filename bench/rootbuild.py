"""Finds the ROOT of this Python's environment and compiles programs and dictionaries against it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIBRARIES = (
    "Core RIO Tree TreePlayer ROOTDataFrame ROOTVecOps ROOTNTuple ROOTNTupleUtil Hist MathCore Physics "
    "Thread Imt"
)


def root_folder() -> Path | None:
    """The folder of the package `ROOT`, without importing it; None if it is not installed."""
    spec = importlib.util.find_spec("ROOT")
    return Path(spec.origin).parent if spec and spec.origin else None


def installed_root() -> Path:
    """The folder of the package `ROOT`, which must be installed."""
    root = root_folder()
    if root is None:
        raise SystemExit("this Python has no ROOT: pip install --pre ROOT==0.1a12")
    return root


def library_path(root: Path) -> str:
    """The folders of ROOT's libraries, and of those in its package."""
    return f"{root / 'lib'}:{root.parent / 'root.libs'}"


def is_fresh(made: Path, sources: Path) -> bool:
    """Whether `made` is newer than everything in the folder `sources`, and than all headers."""
    paths = [*sources.iterdir(), *HERE.glob("*/*.h")]
    return made.exists() and made.stat().st_mtime > max(path.stat().st_mtime for path in paths)


def link_options(root: Path) -> list[str]:
    libraries = [f"-l{name}" for name in LIBRARIES.split()]
    return [f"-L{root / 'lib'}", "-Wl,--as-needed", *libraries, f"-Wl,-rpath,{library_path(root)}:$ORIGIN"]


def compiled(source: Path, build: Path, dictionary: Path | None = None) -> Path:
    """The program of `source` (C++17, optimized), recompiled if a source is newer.

    The program loads the `dictionary`, a library beside it, when it starts.
    """
    root = installed_root()
    program = build / source.stem
    if is_fresh(program, source.parent):
        return program
    build.mkdir(parents=True, exist_ok=True)
    compile_ = ["g++", "-O2", "-std=c++17", f"-I{root / 'include'}", str(source), "-o", str(program)]
    loaded = ["-Wl,--no-as-needed", str(dictionary)] if dictionary else []
    subprocess.run([*compile_, *link_options(root), *loaded], check=True)
    return program


def dictionary(header: Path, build: Path) -> Path:
    """The library with dictionaries for the classes of `header` that its `…_linkdef.h` selects."""
    root = installed_root()
    library = build / f"lib{header.stem}.so"
    if is_fresh(library, header.parent):
        return library
    build.mkdir(parents=True, exist_ok=True)
    source = build / f"{header.stem}_dictionary.cxx"
    selection = header.with_name(f"{header.stem}_linkdef.h")
    cling = [str(root / "bin" / "rootcling"), "-f", source.name, "-s", library.name, f"-I{header.parent}"]
    environment = {**os.environ, "LD_LIBRARY_PATH": library_path(root)}
    subprocess.run([*cling, header.name, str(selection)], cwd=build, env=environment, check=True)
    includes = [f"-I{root / 'include'}", f"-I{header.parent}"]
    compile_ = ["g++", "-O2", "-std=c++17", "-fPIC", "-shared", *includes, str(source), "-o", str(library)]
    subprocess.run([*compile_, *link_options(root)], check=True)
    return library
