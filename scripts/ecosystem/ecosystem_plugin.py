"""A plugin of pytest that writes what each test did, and whether sapwood read its trees, as lines of JSON.

The file is named by the variable ECOSYSTEM_RESULTS. Sapwood is switched on by SAPWOOD_UPROOT.
"""

from __future__ import annotations

import importlib
import json
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

COUNTS: Counter[str] = Counter()
if os.environ.get("SAPWOOD_UPROOT"):
    COUNTS = importlib.import_module("sapwood.uproot._log").COUNTS


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: Any) -> Iterator[None]:
    """Counts what one test adds."""
    before = dict(COUNTS)
    yield
    counts = {name: COUNTS[name] - before.get(name, 0) for name in COUNTS}
    _write({"test": item.nodeid, "counts": counts})


def pytest_runtest_logreport(report: Any) -> None:
    """Writes the outcome of a test, or of the part of it that failed."""
    if report.when == "call" or report.outcome != "passed":
        text = "" if report.outcome == "passed" else str(report.longrepr)[-2000:]
        _write({"test": report.nodeid, "outcome": report.outcome, "when": report.when, "text": text})


def _write(record: dict[str, Any]) -> None:
    with open(os.environ["ECOSYSTEM_RESULTS"], "a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
