"""The loggers of monitoring: a message quotes packets, servers and files, and stays one harmless line."""

from __future__ import annotations

import logging

from ..display.printable import printable


def logger(name: str) -> logging.Logger:
    """The logger of that name, whose messages are :func:`~sapwood.display.printable.printable`."""
    found = logging.getLogger(name)
    # Adding it again changes nothing.
    found.addFilter(_make_printable)
    return found


def _make_printable(record: logging.LogRecord) -> bool:
    record.msg, record.args = printable(record.getMessage()), ()
    return True
