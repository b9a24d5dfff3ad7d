"""``SAPWOOD_MONITORING``: exporters for programs that nobody wants to change."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import UsageError
from . import every, jsonl, opentelemetry, serve, textfile, udp
from ._log import logger

VARIABLE = "SAPWOOD_MONITORING"
LOG = logger("sapwood.monitoring")


def begin(wishes: str) -> None:
    """Adds what the variable asks for. What it says in error is logged, and changes nothing else."""
    for wish in filter(None, map(str.strip, wishes.split(","))):
        try:
            _begin(wish)
        except Exception as error:
            LOG.warning("%s: %s: %s", VARIABLE, wish, error)


def _begin(wish: str) -> None:
    kind, _, rest = wish.partition(":")
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
            "it should be udp://HOST:PORT, jsonl:PATH, textfile:PATH, prometheus:PORT, opentelemetry "
            "or every:SECONDS"
        )
    begins[kind](rest)
