"""Starts `sapwood-testkit`: a file server over HTTP, or a proxy that adds latency and faults."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
TESTKIT = Path(os.environ.get("SAPWOOD_TESTKIT", REPOSITORY / "target" / "release" / "sapwood-testkit"))
needs_testkit = pytest.mark.skipif(not TESTKIT.is_file(), reason=f"no {TESTKIT} (make build)")


@dataclass(frozen=True)
class Running:
    """Where a running server or proxy is, and where it can be asked what it did."""

    url: str
    """Of a server, without a slash at the end; of a proxy, its host and port."""
    control: str

    def counts(self) -> dict[str, int]:
        """What was counted so far."""
        return self._ask("__stats__")

    def counts_since(self) -> dict[str, int]:
        """What was counted since the last such call."""
        return self._ask("__reset__")

    def _ask(self, what: str) -> dict[str, int]:
        with urlopen(f"{self.control}/{what}", timeout=10) as answer:
            return dict(json.load(answer))


@contextlib.contextmanager
def serving(folder: Path, *options: str) -> Iterator[Running]:
    """Serves a folder, with options of `sapwood-testkit serve`."""
    with _running("serve", "--root", str(folder), *options) as ready:
        yield Running(ready["url"].rstrip("/"), ready["control"])


@contextlib.contextmanager
def proxying(address: str, *options: str) -> Iterator[Running]:
    """Forwards to a server, with options of `sapwood-testkit proxy`."""
    with _running("proxy", "--server", address, *options) as ready:
        yield Running(ready["address"], ready["control"])


@contextlib.contextmanager
def _running(*arguments: str) -> Iterator[dict[str, Any]]:
    if not TESTKIT.is_file():
        pytest.skip(f"no {TESTKIT} (make build)")
    command = [str(TESTKIT), *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.stdin.close()
            process.stdout.close()
            process.wait(10)
