"""Loggers of monitoring, whose messages are made safe to print: they quote packets, servers and files."""

from __future__ import annotations

import logging

from ..display.printable import printable


def logger(name: str) -> logging.Logger:
    """A logger whose messages pass through :func:`~sapwood.display.printable.printable`."""
    found = logging.getLogger(name)
    # Adding the same filter again has no effect.
    found.addFilter(_make_printable)
    return found


def _make_printable(record: logging.LogRecord) -> bool:
    record.msg, record.args = printable(record.getMessage()), ()
    return True
