"""Other names of modules: old ones, so that old imports and old pickles still work, and short public ones.

The table of old names contains only names that users could depend on: modules that the documentation named,
and modules with classes whose instances are pickled. Both names refer to the same module.
"""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from importlib.abc import Loader
    from types import ModuleType

NOW = {
    "_blocks": "options.blocks",
    "_lazy_reader": "lazy.reader",
    "_paths": "options.paths",
    "_replicas": "options.replicas",
    "background": "opening.background",
    "branch": "model.branch",
    "branches": "model.branches",
    "cache": "options.cache",
    "catalog._log": "history.database_log",
    "chain": "studies.chain",
    "compression": "options.compression",
    "directory": "model.directory",
    "edm": "integrations.edm",
    "events": "lazy.events",
    "file": "model.file",
    "layout": "report.layout",
    "lazy_use": "report.lazy_use",
    "multi": "opening.many",
    "profile": "lazy.profile",
    "repacking": "writing.repacking",
    "replaying": "report.replaying",
    "sources": "report.sources",
    "story": "errors.log",
    "tracing": "report.tracing",
    "tree": "model.tree",
    "tune": "studies.tune",
    "verifying": "report.verifying",
    "xaod": "integrations.xaod",
}
"""Old name to new name, both within the package. The modules inside a package moved with it."""

PUBLIC = {
    "dask": "integrations.clusters.dask",
    "graphed": "integrations.clusters.graphed",
}
"""The short public names of modules, as in ``import sapwood.dask``."""


def name_now(name: str) -> str | None:
    """The present full name of a module, or None if that is its name.

    >>> name_now("sapwood.tree"), name_now("sapwood.edm.names"), name_now("sapwood.errors")
    ('sapwood.model.tree', 'sapwood.integrations.edm.names', None)
    """
    package, _, inside = name.partition(".")
    parts = inside.split(".") if package == __package__ else []
    for count in range(len(parts), 0, -1):
        name = ".".join(parts[:count])
        moved = NOW.get(name) or PUBLIC.get(name)
        if moved is not None:
            return ".".join((package, moved, *parts[count:]))
    return None


def spec_of(name: str) -> ModuleSpec | None:
    """The import spec of a module with an old name, or None for any other name."""
    now = name_now(name)
    return None if now is None else ModuleSpec(name, cast("Loader", _Alias(now)))


class _Alias:
    """Loads a module that has another name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def create_module(self, spec: ModuleSpec) -> None:
        """Creates no module, so that the import machinery makes an empty one."""

    def exec_module(self, module: ModuleType) -> None:
        """Replaces the empty module by the one with the new name."""
        sys.modules[module.__name__] = importlib.import_module(self._name)
