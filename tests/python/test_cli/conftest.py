"""A small file of real baskets, and a way to run the command line on it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot
from typer.testing import CliRunner

from sapwood.cli._app import app

ENTRIES, STEP = 1000, 250


def columns() -> dict[str, Any]:
    """What is in the tree `Events`."""
    random = np.random.default_rng(7)
    counts = random.integers(0, 4, ENTRIES)
    return {
        "run": np.arange(ENTRIES, dtype=np.int32),
        "MET_pt": random.exponential(30, ENTRIES).astype(np.float32),
        "matrix": random.normal(size=(ENTRIES, 2, 3)),
        "Muon_pt": ak.unflatten(random.exponential(20, counts.sum()).astype(np.float32), counts),
    }


@pytest.fixture(scope="session")
def events() -> dict[str, Any]:
    return columns()


@pytest.fixture(scope="session")
def path(tmp_path_factory: pytest.TempPathFactory, events: dict[str, Any]) -> Path:
    """A file with the tree `Events` in four clusters, the tree `dir/small`, and a directory."""
    path = tmp_path_factory.mktemp("cli") / "nano.root"
    with uproot.recreate(path, compression=uproot.ZSTD(5)) as file:
        kinds = {
            "run": "int32",
            "MET_pt": "float32",
            "matrix": ("float64", (2, 3)),
            "Muon_pt": "var * float32",
        }
        tree = file.mktree("Events", kinds, title="the events")
        for start in range(0, ENTRIES, STEP):
            tree.extend({name: values[start : start + STEP] for name, values in events.items()})
        file.mktree("dir/small", {"x": "int64"}).extend({"x": np.arange(3)})
    return path


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as the one JSON document that it is to be."""
        return json.loads(self.out)


@pytest.fixture(scope="session")
def sapwood() -> Callable[..., Outcome]:
    """Runs the command line with arguments."""

    def run(*arguments: object) -> Outcome:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Outcome(result.exit_code, result.stdout, result.stderr)

    return run
