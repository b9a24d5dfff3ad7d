"""Text from files and servers, fit to be shown: it commands no terminal, breaks no line and hides nothing."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Callable
from typing import ParamSpec

P = ParamSpec("P")


def printable(text: str) -> str:
    r"""The text with control characters, line breaks and invisible characters written out, as ``repr`` does.

    Letters, signs and spaces of all languages stay; a text that has been through this stays as it is. Use it
    for what is shown: names that programs compare stay exact. The core does the same with its messages.

    >>> print(printable("\x1b[2J caf\u00e9 \u202etxt"))
    \x1b[2J café \u202etxt
    """
    if text.isprintable():
        return text
    return "".join(char if _is_shown(char) else repr(char)[1:-1] for char in text)


def printable_lines(text: str) -> str:
    r"""The same for a text of several lines, which stay apart.

    Only for texts that were put together here: in anything else, a line break may be part of a name.

    >>> print(printable_lines("a\n\x07"))
    a
    \x07
    """
    return "\n".join(map(printable, text.split("\n")))


def shows_printable(function: Callable[P, str]) -> Callable[P, str]:
    """For ``__repr__`` and ``__str__``: what they return is :func:`printable`."""

    @functools.wraps(function)
    def shown(*args: P.args, **kwargs: P.kwargs) -> str:
        return printable(function(*args, **kwargs))

    return shown


def _is_shown(char: str) -> bool:
    # Spaces such as U+00A0 and U+3000 are not printable to Python, but they are to everyone else.
    return char.isprintable() or unicodedata.category(char) == "Zs"
