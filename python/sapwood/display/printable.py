"""Makes text from files and servers safe to show: control and invisible characters are written out."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Callable
from typing import ParamSpec

P = ParamSpec("P")


def printable(text: str) -> str:
    r"""The text with control characters, line breaks and invisible characters escaped, as ``repr`` does.

    Letters, symbols and spaces of all languages stay. Applying the function twice changes nothing. Use it
    only for display, because programs compare names exactly. The core escapes its messages in the same way.

    >>> print(printable("\x1b[2J caf\u00e9 \u202etxt"))
    \x1b[2J café \u202etxt
    """
    if text.isprintable():
        return text
    return "".join(char if _is_shown(char) else repr(char)[1:-1] for char in text)


def printable_lines(text: str) -> str:
    r"""Like :func:`printable`, but line breaks stay.

    Use it only for text that sapwood composed: elsewhere, a line break may be part of a name.

    >>> print(printable_lines("a\n\x07"))
    a
    \x07
    """
    return "\n".join(map(printable, text.split("\n")))


def shows_printable(function: Callable[P, str]) -> Callable[P, str]:
    """Decorates ``__repr__`` and ``__str__``: their results are made :func:`printable`."""

    @functools.wraps(function)
    def shown(*args: P.args, **kwargs: P.kwargs) -> str:
        return printable(function(*args, **kwargs))

    return shown


def _is_shown(char: str) -> bool:
    # Python does not count spaces such as U+00A0 and U+3000 as printable, but people can read them.
    return char.isprintable() or unicodedata.category(char) == "Zs"
