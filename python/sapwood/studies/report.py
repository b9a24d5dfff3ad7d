"""Reports of studies: one HTML page that needs no network, or a JSON document."""

from __future__ import annotations

import contextlib
import json
import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

from .. import _core
from ..display.markup import escape
from ..options.outputs import REPORT, check_output
from ..options.whole_file import write_whole
from .charts import DARK_STYLE
from .charts import STYLE as CHART_STYLE

STYLE = """
:root{color-scheme:light dark;--ink:#222;--faint:#666;--line:#d8dde2;--page:#fff;--shade:#f2f4f6}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:1320px;
margin:2rem auto;padding:0 1.2rem}
h1{font-size:1.5rem;margin-bottom:.2rem;overflow-wrap:anywhere}h2{font-size:1.15rem;margin:2.2rem 0 .4rem}
p{margin:.3rem 0;max-width:75ch}.small{color:var(--faint);font-size:.86rem}
.goals{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,290px),1fr));gap:1rem}
.goal{border:1px solid var(--line);border-radius:8px;padding:.8rem 1rem}.goal h3{margin:0;font-size:1rem}
.goal b{display:block;margin:.2rem 0}
code{background:var(--shade);border-radius:4px;padding:.1rem .3rem;font-size:.85rem}
.goal code{display:block;padding:.5rem;margin:.5rem 0}
.goal code span{display:inline-block;overflow-wrap:anywhere;max-width:100%}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,460px),1fr));gap:1.6rem 2rem}
figure{margin:0;overflow-x:auto}figcaption{margin-bottom:.4rem}figcaption b{display:block}
table{border-collapse:collapse;font-size:.84rem;font-variant-numeric:tabular-nums}
td,th{padding:.22rem .6rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th{white-space:normal;vertical-align:bottom}
td:first-child,th:first-child{text-align:left;position:sticky;left:0;background:var(--page)}
table.texts td,table.texts th{text-align:left;white-space:normal;vertical-align:top;min-width:3rem}
tr.today td{font-weight:600}.wide{overflow-x:auto}
@media(max-width:560px){figure svg{max-width:none;width:540px}figcaption{position:sticky;left:0}}
"""
DARK = ":root{--ink:#d5d9de;--faint:#9aa1a9;--line:#363c43;--page:#16191d;--shade:#23282e}"


class Saveable(Protocol):
    """Results that can be saved."""

    def to_dict(self) -> dict[str, Any]:
        """All results, fit for JSON."""

    def to_html(self) -> str:
        """The page."""


def html_page(title: str, body: Iterable[str]) -> str:
    """A complete document with the title and the styles of pages and charts."""
    style = f"{CHART_STYLE}{STYLE}@media(prefers-color-scheme:dark){{{DARK}{DARK_STYLE}}}"
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<title>{escape(title)}</title><style>{style}</style></head><body>",
            *body,
            "</body></html>\n",
        ]
    )


def cells(texts: Iterable[str], kind: str = "td") -> str:
    """The cells of a row of a table."""
    return "".join(f"<{kind}>{escape(text)}</{kind}>" for text in texts)


def save_report(
    study: Saveable, path: str | os.PathLike[str], inputs: Iterable[Any], *, overwrite: bool = False
) -> None:
    """Writes the page, or a JSON document if the name ends with ".json".

    Args:
        study: the results.
        path: a local path.
        inputs: the files that were measured, which must not be replaced.
        overwrite: whether an existing file is replaced.

    Raises:
        UsageError: if the file exists without ``overwrite``, is an input, or has the suffix of another
            format.
    """
    place = check_output(path, REPORT, inputs=list(inputs), overwrite=overwrite)
    is_json = place.lower().endswith(".json")
    text = json.dumps(study.to_dict(), indent=1, allow_nan=False) + "\n" if is_json else study.to_html()
    write_whole(place, text, overwrite=overwrite)


def machine(threads: int) -> dict[str, Any]:
    """The machine, sapwood's version, and the number of threads."""
    name = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    return {"sapwood": _core.__version__, "processor": name, "cores": os.cpu_count() or 1, "threads": threads}
