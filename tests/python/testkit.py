"""Starts `sapwood-testkit`: an HTTP server, a proxy that adds latency and faults, or a slow mount."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
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
    """The URL of a server, without a slash at the end; the host and port of a proxy."""
    control: str

    def counts(self) -> dict[str, int]:
        """What was counted so far."""
        return self._ask("__stats__")

    def counts_since(self) -> dict[str, int]:
        """What was counted since the last such call."""
        return self._ask("__reset__")

    def set_fault(self, name: str) -> None:
        """Sets what reads of a mount do: none, hang, eio or estale."""
        self._ask(f"__fault__/{name}")

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
def proxies(address: str, url: str) -> Iterator[Callable[..., Running]]:
    """Starts proxies in front of a server; `url` makes the URL of one from its host and port."""
    with contextlib.ExitStack() as stack:

        def start(*options: str) -> Running:
            proxy = stack.enter_context(proxying(address, *options))
            return Running(url.format(proxy.url), proxy.control)

        yield start


@contextlib.contextmanager
def mounting(files: Path, at: Path, *options: str) -> Iterator[Running]:
    """Mounts a folder, with options of `sapwood-testkit mount`; skips the test where that is not possible."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("this process may not use /dev/fuse")
    at.mkdir()
    with contextlib.ExitStack() as stack:
        try:
            ready = stack.enter_context(_running("mount", "--files", str(files), "--at", str(at), *options))
        except json.JSONDecodeError:
            # It ended without an address, and said why on standard error.
            pytest.skip("this process may not mount through FUSE")
        try:
            yield Running(ready["mount"], ready["control"])
        finally:
            # Even if a file there is still open: otherwise a dead mount stays in the folder of the test.
            helper = shutil.which("fusermount3") or shutil.which("fusermount")
            command = [helper, "-u", "-z"] if helper else ["umount", "-l"]
            subprocess.run([*command, str(at)], check=True)


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
