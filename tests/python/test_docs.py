"""Examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import sapwood

MODULES = [
    module.name for module in pkgutil.iter_modules(sapwood.__path__) if module.name not in ("_core", "cli")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"sapwood.{name}"))
    assert result.failed == 0
