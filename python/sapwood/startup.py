"""What Python runs when it starts, if you installed it: with SAPWOOD_UPROOT=1, uproot reads with sapwood.

It imports neither uproot nor the rest of sapwood before the program imports uproot.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import sysconfig
from importlib.abc import Loader, MetaPathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

VARIABLE = "SAPWOOD_UPROOT"
_FILE = "sapwood_uproot.pth"
START_LINE = f"import os; os.environ.get({VARIABLE!r}) and __import__('sapwood.startup').startup.watch()\n"


def is_on() -> bool:
    """Whether the environment asks that uproot reads with sapwood."""
    return os.environ.get(VARIABLE, "").casefold() not in ("", "0", "off", "no", "false")


def install() -> str:
    """Writes the file that Python runs at its start; returns its path.

    Raises:
        OSError: the folder of this Python's packages cannot be written.
    """
    _path().write_text(START_LINE, encoding="utf-8")
    return str(_path())


def uninstall() -> str:
    """Removes the file that Python runs at its start, if it is there; returns its path."""
    _path().unlink(missing_ok=True)
    return str(_path())


def _path() -> Path:
    return Path(sysconfig.get_path("purelib")) / _FILE


def watch() -> None:
    """Imports :mod:`sapwood.uproot` once the program has imported uproot, if the environment asks for it."""
    if is_on() and "uproot" not in sys.modules:
        sys.meta_path.insert(0, _Watch())


class _Watch(MetaPathFinder):
    """Finds uproot once, and does something after it was imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "uproot":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Then(spec.loader)
        return spec


class _Then(Loader):
    """Loads a module as another loader does, then imports :mod:`sapwood.uproot`."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        importlib.import_module("sapwood.uproot")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
