"""Tables and text for notebooks: what ``_repr_html_`` returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from .markup import escape

MOST_ROWS = 60
"""The most rows of a table in a notebook."""

# The colors are those of the page, so that the table fits light and dark ones.
_STYLE = (
    "<style>.sapwood table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.3em 0}"
    ".sapwood th,.sapwood td{text-align:left;padding:.15em .8em .15em 0;border:0;vertical-align:top}"
    ".sapwood thead th{border-bottom:1px solid;opacity:.75;font-weight:600}"
    ".sapwood .number{text-align:right}.sapwood td:nth-child(2),.sapwood td:nth-child(3){white-space:nowrap}"
    ".sapwood code,.sapwood pre{font-family:ui-monospace,monospace;background:none;color:inherit}"
    ".sapwood tr{background:none}</style>"
)


def notebook_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str | int]], note: str = ""
) -> str:
    """A table for notebooks, as returned by ``_repr_html_``. Everything is escaped; numbers are aligned.

    Rows beyond :data:`MOST_ROWS` are counted, and not shown.
    """
    found = list(rows)
    lines = [f"<tr>{''.join(map(_cell, row))}</tr>" for row in found[:MOST_ROWS]]
    if len(found) > MOST_ROWS:
        more = f"… and {len(found) - MOST_ROWS:,} more"
        lines.append(f'<tr><td colspan="{len(columns)}">{escape(more)}</td></tr>')
    numeric = [bool(found) and isinstance(cell, int) for cell in (found[0] if found else columns)]
    heads = "".join(
        f'<th class="number">{escape(name)}</th>' if number else f"<th>{escape(name)}</th>"
        for name, number in zip(columns, numeric, strict=True)
    )
    table = (
        f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>" if columns else ""
    )
    below = f"<div>{escape(note)}</div>" if note else ""
    return f'<div class="sapwood">{_STYLE}<strong>{escape(title)}</strong>{table}{below}</div>'


def notebook_text(text: str) -> str:
    """Lines of text that sapwood composed, for notebooks."""
    lines = "\n".join(map(escape, text.split("\n")))
    return f'<div class="sapwood">{_STYLE}<pre>{lines}</pre></div>'


def table_or_text(value: object, table: Callable[[], str], failures: type[Exception]) -> str:
    """The table of a value or, if it cannot be had, its ``repr``: a display must not fail."""
    try:
        return table()
    except failures:
        return notebook_text(repr(value))


def _cell(value: str | int) -> str:
    if isinstance(value, int):
        return f'<td class="number">{value:,}</td>'
    return f"<td>{escape(value)}</td>"
