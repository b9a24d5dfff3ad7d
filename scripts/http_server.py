"""Starts `sapwood-testkit serve`: a folder over HTTP on a local port, at any latency."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]


def program() -> Path | None:
    """The program: SAPWOOD_TESTKIT, or what `make` built; None if there is neither."""
    built = [REPOSITORY / "target" / profile / "sapwood-testkit" for profile in ("release", "debug")]
    named = [Path(os.environ["SAPWOOD_TESTKIT"])] if os.environ.get("SAPWOOD_TESTKIT") else []
    return next((one for one in (*named, *built) if one.is_file()), None)


@contextmanager
def serving(folder: Path, *, rtt_ms: int = 0) -> Iterator[tuple[str, str]]:
    """Serves a folder; gives the URL of the server, and the URL of its counts."""
    if (binary := program()) is None:
        raise RuntimeError("no sapwood-testkit (make build)")
    command = [str(binary), "serve", "--root", str(folder), "--rtt-ms", str(rtt_ms)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            ready = json.loads(process.stdout.readline())
            yield ready["url"].rstrip("/"), ready["control"].rstrip("/")
        finally:
            process.stdin.close()
            process.wait(timeout=10)
