"""Builds HTML that is safe by construction: text is escaped, and only elements built here are not."""

from __future__ import annotations

from collections.abc import Iterable

from ...display.markup import escape


class Html(str):
    """HTML that is already escaped."""

    __slots__ = ()


Content = str | int | Html | Iterable["Content"] | None


def safe(content: Content) -> Html:
    """Converts content to HTML: escapes texts, keeps elements, and concatenates lists.

    >>> safe(["<b>", tag("b", "&")])
    '&lt;b&gt;<b>&amp;</b>'
    """
    if isinstance(content, Html):
        return content
    if content is None:
        return Html("")
    if isinstance(content, (str, int)):
        return Html(escape(str(content)))
    return Html("".join(safe(one) for one in content))


def tag(element: str, content: Content = None, /, **attributes: str | int | None) -> Html:
    """Builds an element. Attributes that are None are omitted; ``class_`` stands for ``class``.

    >>> tag("a", "A & B", href='?q="x"', class_="name", id=None)
    '<a href="?q=&quot;x&quot;" class="name">A &amp; B</a>'
    """
    written = "".join(
        f' {name.rstrip("_")}="{escape(str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    end = "" if element in ("input", "meta") else f"</{element}>"
    return Html(f"<{element}{written}>{safe(content)}{end}")


def table(titles: Iterable[tuple[str, str]], rows: Iterable[Iterable[Content]]) -> Html:
    """Builds a table. Each column has a title and a CSS class for its cells."""
    columns = list(titles)
    head = [tag("th", title, class_=kind or None, scope="col") for title, kind in columns]
    lines = ([(cell, kind) for cell, (_, kind) in zip(row, columns, strict=True)] for row in rows)
    body = [tag("tr", [tag("td", cell, class_=kind or None) for cell, kind in line]) for line in lines]
    return tag("div", tag("table", [tag("thead", tag("tr", head)), tag("tbody", body)]), class_="scroll")
