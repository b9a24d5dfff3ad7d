"""Examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import sapwood

# Compiled: the core, and the shim that reads root://, which is a library and no module.
MODULES = [
    module.name
    for module in pkgutil.iter_modules(sapwood.__path__)
    if module.name not in ("_core", "cli") and not module.name.startswith("_xrdcl")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"sapwood.{name}"))
    assert result.failed == 0
