"""Sapwood reads ROOT files into arrays, fast, from disk and over any distance.

>>> import sapwood
>>> with sapwood.open("file.root:Events") as tree:          # doctest: +SKIP
...     events = tree.arrays(["Muon_pt", "Muon_eta"])
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import edm, errors, monitoring, tune, xaod
    from ._core import __version__
    from ._lazy_reader import Caching
    from ._nanoevents import nanoevents
    from .background import Background
    from .branch import Branch
    from .compression import Compression
    from .directory import Directory
    from .file import File
    from .multi import concatenate, iterate, num_entries
    from .opening import open
    from .profile import Profile
    from .repacking import RepackReport, merge, repack
    from .replaying import replay
    from .report import ReadReport, Report
    from .tracing import trace
    from .tree import Tree
    from .verifying import VerifyReport, verify
    from .writing import WritableFile, WritableTree, create, recreate, update

# Names are imported when they are first used: the command line's --help should not wait for NumPy.
_HOMES = {
    "Background": "background",
    "Branch": "branch",
    "Caching": "_lazy_reader",
    "Compression": "compression",
    "Directory": "directory",
    "File": "file",
    "Profile": "profile",
    "ReadReport": "report",
    "RepackReport": "repacking",
    "Report": "report",
    "Tree": "tree",
    "VerifyReport": "verifying",
    "WritableFile": "writing",
    "WritableTree": "writing",
    "__version__": "_core",
    "concatenate": "multi",
    "create": "writing",
    "edm": "edm",
    "errors": "errors",
    "iterate": "multi",
    "merge": "repacking",
    "monitoring": "monitoring",
    "nanoevents": "_nanoevents",
    "num_entries": "multi",
    "open": "opening",
    "recreate": "writing",
    "repack": "repacking",
    "replay": "replaying",
    "trace": "tracing",
    "tune": "tune",
    "update": "writing",
    "verify": "verifying",
    "xaod": "xaod",
}

__all__ = [
    "Background",
    "Branch",
    "Caching",
    "Compression",
    "Directory",
    "File",
    "Profile",
    "ReadReport",
    "RepackReport",
    "Report",
    "Tree",
    "VerifyReport",
    "WritableFile",
    "WritableTree",
    "__version__",
    "concatenate",
    "create",
    "edm",
    "errors",
    "iterate",
    "merge",
    "monitoring",
    "nanoevents",
    "num_entries",
    "open",
    "recreate",
    "repack",
    "replay",
    "trace",
    "tune",
    "update",
    "verify",
    "xaod",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'sapwood' has no attribute {name!r}")
    module = importlib.import_module(f".{home}", __name__)
    value = module if home == name else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if os.environ.get("SAPWOOD_TRACE"):
    from .tracing import follow_environment

    follow_environment()
