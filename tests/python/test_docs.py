"""Examples in docstrings are correct."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import numpy as np
import pytest

import sapwood
from sapwood import stripe, writing

# Compiled: the core, and the shim that reads root://, which is a library and no module.
MODULES = [
    module.name
    for module in pkgutil.iter_modules(sapwood.__path__)
    if module.name not in ("_core", "cli") and not module.name.startswith("_xrdcl")
]
MODULES += [f"writing.{module.name}" for module in pkgutil.iter_modules(writing.__path__)]
MODULES += [f"stripe.{module.name}" for module in pkgutil.iter_modules(stripe.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = {"sapwood": sapwood, "np": np, "ak": pytest.importorskip("awkward")}
    result = doctest.testmod(importlib.import_module(f"sapwood.{name}"), extraglobs=given)
    assert result.failed == 0
