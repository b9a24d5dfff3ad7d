"""Escapes text for HTML and SVG."""

from __future__ import annotations

from .printable import printable


def escape(text: str) -> str:
    r"""The text for use in an element or attribute: without tags and without characters that XML forbids.

    >>> print(escape("<b>\x00 & 'c'"))
    &lt;b&gt;\x00 &amp; &#x27;c&#x27;
    """
    import html  # Large, and needed only by drawings.

    return html.escape(printable(text))
