"""Words as a hostile file has them, a file full of them, and how to see that they were made harmless."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import awkward as ak
import numpy as np

import sapwood
from sapwood.studies.tune.goals import GOALS, recommend
from sapwood.studies.tune.points import ALL, Point, Sweep, analysis_of
from sapwood.studies.tune.results import Measured
from sapwood.studies.tune.tuning import Tuning

CONTROLS = "\x1b]0;pwned\x07\x1b[2J\0\x08\r\n\t\x7f\x85\x9b2J"
HIDDEN = "\u202e\u2066\u061c\u200b\ufeff\u2028"
EVIL = f"{CONTROLS}[link=x]{HIDDEN}<script>alert(1)<\"&'"
"""What every name, title and text of the file has in it."""
SHORT = "\x1b[2J\0\x07\u202e".encode()
"""Nine bytes of it, to write over a short name."""
EVIL_FILE = "ev\x1b[2J\x07\u202e\n<script>\"&'"
"""The same for names of files, which have no NUL."""
PROOFS = (r"\x1b[2J", r"\u202e", r"\u200b")
"""Parts of it as they are shown; a narrow table may have room for one of them only."""

# What Rich writes to a terminal: colors, and what a progress bar needs. Nothing in EVIL is like it.
_OF_RICH = re.compile(r"\x1b\[[\d;]*m|\x1b\[\?25[lh]|\r?\x1b\[(?:1A|2K)")


def write(path: Path, *, readable: bool = True) -> Path:
    """A file with a tree and a histogram. If not readable, it lacks the description of a branch's class."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # The writer refuses such names for classes: one of the same length gives way to it.
    placeholder = "C" + "x" * len(EVIL.encode())
    lists = {"a": [[1, 2], [], [3]], "b": [[1.5, 2.5], [], [3.5]]}
    records = ak.with_name(ak.zip(lists), placeholder)
    with sapwood.recreate(path, compression="none", title=f"file{EVIL}") as file:
        file.mktree(f"tree{EVIL}", records="split", title=f"title{EVIL}").extend(
            {
                f"record{EVIL}": records,
                f"x{EVIL}": np.array([1, 2, 3]),
                f"text{EVIL}": [f"value{EVIL}", "é 中文 µ", ""],
            }
        )
        file[f"histogram{EVIL}"] = np.histogram([1, 2, 3])
    before, found, after = path.read_bytes().rpartition(placeholder.encode())
    assert found
    described = f"{'C' if readable else 'D'}{EVIL}".encode()
    path.write_bytes(before.replace(placeholder.encode(), f"C{EVIL}".encode()) + described + after)
    return path


def harmful(text: str) -> str:
    """Where a text has characters that are no line breaks and not visible; empty if it has none."""
    for place, char in enumerate(text):
        if char != "\n" and not char.isprintable() and unicodedata.category(char) != "Zs":
            return f"{char!r} in {text[max(place - 60, 0) : place + 20]!r}"
    return ""


def of_terminal(written: str) -> str:
    """What a command wrote to a terminal, without what Rich adds."""
    return _OF_RICH.sub("", written.replace("\r\n", "\n"))


def tuning(source: str) -> Tuning:
    """What `sapwood tune` would find, had it measured something."""
    analysis = analysis_of((f"x{EVIL}",))
    sizes = ("compressed_bytes", "seconds", "peak_bytes", "entries", "clusters", "baskets")
    wrote = dict.fromkeys(sizes, 1.0)
    read = dict.fromkeys(("seconds", "peak_bytes", "fetched_bytes", "decompressed_bytes", "baskets"), 1.0)
    times = {f"{part}_seconds": 0.1 for part in ("wait", "decompress", "decode", "compress", "cpu", "wall")}
    reads = {workload: ({**read, **times},) for workload in (ALL, analysis)}
    points = [Measured(Point(one), ({**wrote, **times},), reads) for one in ("none", "zstd:5")]
    failed = Measured(Point("lzma:1"), (), {}, errors=(f"it said {EVIL}",))
    found = (recommend(goal, points, points[0], analysis, source) for goal in GOALS)
    subject = {"entries": 3, "num_entries": 3, "uncompressed_bytes": 100, "tree": f"tree{EVIL}"}
    machine = {"sapwood": "0", "processor": f"p{EVIL}", "cores": 2, "threads": 2}
    sweep = Sweep("compression", tuple(one.point for one in points), (ALL, analysis))
    advice = [one for one in found if one is not None]
    title, measured = f"Layouts of {source}:tree{EVIL}", [*points, failed]
    return Tuning(source, subject, machine, points[0], measured, [sweep], analysis, advice, title=title)
