"""Text as content of HTML and SVG."""

from __future__ import annotations

import html

from .printable import printable


def escape(text: str) -> str:
    r"""The text for an element or an attribute: it opens no tag, and has no character that XML forbids.

    >>> print(escape("<b>\x00 & 'c'"))
    &lt;b&gt;\x00 &amp; &#x27;c&#x27;
    """
    return html.escape(printable(text))
