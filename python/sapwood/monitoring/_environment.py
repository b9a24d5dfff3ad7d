"""Adds the exporters that the environment variable ``SAPWOOD_MONITORING`` lists."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import UsageError
from . import every, jsonl, opentelemetry, serve, textfile, udp
from ._log import logger

VARIABLE = "SAPWOOD_MONITORING"
LOG = logger("sapwood.monitoring")


def begin(exporters: str) -> None:
    """Adds the exporters in a comma-separated list; invalid ones are logged and skipped."""
    for exporter in filter(None, map(str.strip, exporters.split(","))):
        try:
            _begin(exporter)
        except Exception as error:
            LOG.warning("%s: %s: %s", VARIABLE, exporter, error)


def _begin(exporter: str) -> None:
    kind, _, rest = exporter.partition(":")
    begins: dict[str, Callable[[str], object]] = {
        "udp": lambda rest: udp(rest.removeprefix("//")),
        "jsonl": jsonl,
        "textfile": textfile,
        "prometheus": lambda rest: serve(int(rest)),
        "opentelemetry": lambda _: opentelemetry(),
        "every": lambda rest: every(float(rest)),
    }
    if kind not in begins or not (rest or kind == "opentelemetry"):
        raise UsageError(
            "expected udp://HOST:PORT, jsonl:PATH, textfile:PATH, prometheus:PORT, opentelemetry "
            "or every:SECONDS"
        )
    begins[kind](rest)
