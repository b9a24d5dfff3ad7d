"""Runs a reader or a writer in a process of its own, which prints its measurements as JSON."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any


def measured(command: Sequence[str], variables: Mapping[str, str] | None, seconds: float) -> dict[str, Any]:
    """What the last printed line says; ``{"error": …}`` if the process fails or takes too long."""
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    try:
        done = subprocess.run(command, **pipes, env=variables, timeout=seconds)
    except subprocess.TimeoutExpired:
        return {"error": f"not finished after {seconds:.0f} s"}
    if done.returncode or not done.stdout.strip():
        return {"error": what_failed(done.stderr)}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def must_be_measured(command: Sequence[str], variables: Mapping[str, str], seconds: float) -> dict[str, Any]:
    """The same for a process that must not fail."""
    found = measured(command, variables, seconds)
    if "error" in found:
        raise SystemExit(f"{' '.join(command)[:300]}: {found['error']}")
    return found


def what_failed(stderr: str) -> str:
    """The most informative line of a client's error output."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()] or ["failed silently"]
    return next((line for line in lines if line.startswith("Error in")), lines[-1])[:200]
