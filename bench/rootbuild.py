"""Finds the ROOT of this Python's environment and compiles programs against it."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIBRARIES = "Core RIO Tree TreePlayer ROOTDataFrame ROOTVecOps Hist MathCore Thread Imt"


def root_folder() -> Path | None:
    """The folder of the installed package `ROOT`, without importing it."""
    spec = importlib.util.find_spec("ROOT")
    return Path(spec.origin).parent if spec and spec.origin else None


def compiled(source: Path, build: Path) -> Path:
    """The program made from `source` (C++17, optimised), compiled anew if a source is younger than it."""
    root = root_folder()
    if root is None:
        raise SystemExit("this Python has no ROOT: pip install --pre ROOT==0.1a12")
    program = build / source.stem
    youngest = max(path.stat().st_mtime for path in source.parent.iterdir())
    if program.exists() and program.stat().st_mtime > youngest:
        return program
    build.mkdir(parents=True, exist_ok=True)
    rpath = f"-Wl,-rpath,{root / 'lib'}:{root.parent / 'root.libs'}"
    compile_ = ["g++", "-O2", "-std=c++17", f"-I{root / 'include'}", str(source), "-o", str(program)]
    link = [f"-L{root / 'lib'}", "-Wl,--as-needed", *(f"-l{name}" for name in LIBRARIES.split()), rpath]
    subprocess.run([*compile_, *link], check=True)
    return program
