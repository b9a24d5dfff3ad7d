"""Stands in for scikit-hep-testdata: finds its files in the corpus, and downloads nothing."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

FILES = Path(os.environ["SAPWOOD_CORPUS"]) / "files"
_CACHE = Path(tempfile.gettempdir()) / "no-scikit-hep-testdata"


def _found(name: str) -> Path | None:
    """The file of this name: the newest version, or an older one, whose name has a hash."""
    newest, stem = FILES / f"skhep__{name}", name.removesuffix(".root")
    older = sorted(FILES.glob(f"skhep-hist__{stem}__*.root"))
    return newest if newest.is_file() else next(iter(older), None)


def data_path(filename: str, raise_missing: bool = True, cache_dir: Any = None) -> str:
    """The path of a file of scikit-hep-testdata."""
    found = _found(filename)
    if found is None and raise_missing:
        raise FileNotFoundError(f"the corpus has no file {filename} of scikit-hep-testdata")
    return str(found or _CACHE / filename)


class _Known:
    def __contains__(self, name: str) -> bool:
        return _found(name) is not None


def _cache_path() -> Path:
    _CACHE.mkdir(exist_ok=True)
    return _CACHE


known_files = _Known()
data = SimpleNamespace(cache_path=_cache_path)
local_files = SimpleNamespace(_cache_path=_cache_path)
