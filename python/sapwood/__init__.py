"""Sapwood reads ROOT files into arrays, fast, from disk and over any distance.

>>> import sapwood
>>> with sapwood.open("file.root:Events") as tree:          # doctest: +SKIP
...     events = tree.arrays(["Muon_pt", "Muon_eta"])
"""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

    from . import catalog as catalog
    from . import errors, monitoring, stripe
    from ._core import __version__
    from .errors import SapwoodError
    from .integrations import edm, xaod
    from .integrations.nanoevents import nanoevents
    from .integrations.tables.dataset import arrow_dataset
    from .lazy.profile import Profile
    from .lazy.reader import Caching
    from .model.branch import Branch
    from .model.directory import Directory
    from .model.file import File
    from .model.tree import Tree
    from .opening.background import Background
    from .opening.many import Iteration, concatenate, iterate, num_entries
    from .opening.single import open
    from .opening.touched import FileChunks, FileEvents, events, lazy
    from .options import cache as cache
    from .options.compression import LZ4, LZMA, ZLIB, ZSTD, Compression
    from .options.retry import RetryPolicy
    from .query.batch import Report
    from .report import layout as layout
    from .report.cost import ReadReport
    from .report.loop import LoopReport
    from .report.replaying import replay
    from .report.tracing import trace
    from .report.verifying import VerifyReport, verify
    from .studies import chain as chain
    from .studies import tune
    from .writing import (
        WritableDirectory,
        WritableFile,
        WritableRNTuple,
        WritableTree,
        create,
        recreate,
        update,
    )
    from .writing.example import example
    from .writing.repacking import RepackReport, merge, repack

# Names are imported on first use, so that the command line's --help does not wait for NumPy.
_HOMES = {
    "Background": "opening.background",
    "Branch": "model.branch",
    "Caching": "lazy.reader",
    "Compression": "options.compression",
    "Directory": "model.directory",
    "File": "model.file",
    "FileChunks": "opening.touched",
    "FileEvents": "opening.touched",
    "Iteration": "opening.many",
    "LZ4": "options.compression",
    "LZMA": "options.compression",
    "LoopReport": "report.loop",
    "Profile": "lazy.profile",
    "ReadReport": "report.cost",
    "RepackReport": "writing.repacking",
    "Report": "query.batch",
    "RetryPolicy": "options.retry",
    "SapwoodError": "errors",
    "Tree": "model.tree",
    "VerifyReport": "report.verifying",
    "WritableDirectory": "writing",
    "WritableFile": "writing",
    "WritableRNTuple": "writing",
    "WritableTree": "writing",
    "ZLIB": "options.compression",
    "ZSTD": "options.compression",
    "__version__": "_core",
    "arrow_dataset": "integrations.tables.dataset",
    "concatenate": "opening.many",
    "create": "writing",
    "events": "opening.touched",
    "example": "writing.example",
    "iterate": "opening.many",
    "lazy": "opening.touched",
    "merge": "writing.repacking",
    "nanoevents": "integrations.nanoevents",
    "num_entries": "opening.many",
    "open": "opening.single",
    "recreate": "writing",
    "repack": "writing.repacking",
    "replay": "report.replaying",
    "trace": "report.tracing",
    "update": "writing",
    "verify": "report.verifying",
}
_MODULES = {
    "cache": "options.cache",
    "catalog": "catalog",
    "chain": "studies.chain",
    "dask": "integrations.clusters.dask",
    "edm": "integrations.edm",
    "errors": "errors",
    "graphed": "integrations.clusters.graphed",
    "layout": "report.layout",
    "monitoring": "monitoring",
    "stripe": "stripe",
    "tune": "studies.tune",
    "xaod": "integrations.xaod",
}

__all__ = [
    "LZ4",
    "LZMA",
    "ZLIB",
    "ZSTD",
    "Background",
    "Branch",
    "Caching",
    "Compression",
    "Directory",
    "File",
    "FileChunks",
    "FileEvents",
    "Iteration",
    "LoopReport",
    "Profile",
    "ReadReport",
    "RepackReport",
    "Report",
    "RetryPolicy",
    "SapwoodError",
    "Tree",
    "VerifyReport",
    "WritableDirectory",
    "WritableFile",
    "WritableRNTuple",
    "WritableTree",
    "__version__",
    "arrow_dataset",
    "cache",
    "concatenate",
    "create",
    "edm",
    "errors",
    "events",
    "example",
    "iterate",
    "lazy",
    "merge",
    "monitoring",
    "nanoevents",
    "num_entries",
    "open",
    "recreate",
    "repack",
    "replay",
    "stripe",
    "trace",
    "tune",
    "update",
    "verify",
    "xaod",
]


def __getattr__(name: str) -> Any:
    home = _MODULES.get(name) or _HOMES.get(name)
    if home is None:
        if _OldNames.find_spec(f"{__name__}.{name}") is not None:
            return importlib.import_module(f".{name}", __name__)
        raise AttributeError(f"module 'sapwood' has no attribute {name!r}")
    module = importlib.import_module(f".{home}", __name__)
    value = module if name in _MODULES else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    # Modules that need an extra are left out: tools import whatever is listed.
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


class _Package(ModuleType):
    """Keeps ``sapwood.lazy`` and ``sapwood.events`` the functions if modules of these names are imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


class _OldNames:
    """Finds modules by their former names: see :mod:`sapwood._moved`."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The specification that loads a module by its old name; None for any other module."""
        if not name.startswith(f"{__name__}.") or name == f"{__name__}._moved":
            return None
        # Imported only when a submodule is looked up, so that ``import sapwood`` alone stays fast.
        from ._moved import spec_of

        return spec_of(name)


# This finder comes first: the others would find a submodule of a moved package there, and load it twice.
sys.meta_path.insert(0, _OldNames)

if os.environ.get("SAPWOOD_TRACE"):
    from .report.tracing import follow_environment

    follow_environment()
