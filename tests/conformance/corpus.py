"""The corpus of real files, and its comparison with the oracle.

The corpus is a folder with `compare.py`, `files/` and `oracle/`. It is found through SAPWOOD_CORPUS, default
`../shared/corpus` beside the repository.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CORPUS = Path(os.environ.get("SAPWOOD_CORPUS", HERE.parents[2] / "shared" / "corpus"))
SECONDS = 1800

GOOD = {"equal", "equal-values", "almost", "root-equal"}
WRONG = {"differs", "root-differs", "cand-crash"}
REFUSED = {"cand-raises", "cand-missing", "both-raise"}

# A branch and what compare.py says about it: file, tree, branch, family, verdict, cand_err, ref_err.
Verdict = dict[str, Any]


def compare(folder: Path) -> list[Verdict]:
    """The verdict of compare.py on every branch of every file; `folder` is for its results."""
    folder.mkdir(parents=True, exist_ok=True)
    # The largest first, so that none is left at the end.
    files = sorted((CORPUS / "files").glob("*.root"), key=lambda path: -path.stat().st_size)
    found, adapter = folder / "verdicts.json", HERE / "sapwood_adapter.py"
    command = [HERE / "forked.py", CORPUS, adapter, found, *files]
    subprocess.run([sys.executable, *map(str, command)], cwd=folder, timeout=SECONDS, check=True)
    by_file = json.loads(found.read_text())
    return [{"file": path.name, **branch} for path in files for branch in by_file[path.name]]


def is_of_epoch_0(one: Verdict) -> bool:
    """Whether it is of a release candidate of RNTuple, which ROOT does not read either."""
    return "the format's epoch 0" in (one.get("cand_err") or "")


def of_ntuples(verdicts: list[Verdict]) -> list[Verdict]:
    """Only the fields of RNTuples."""
    return [one for one in verdicts if (one["family"] or "").startswith("RNTuple")]


def of_trees(verdicts: list[Verdict]) -> list[Verdict]:
    """Only the branches of TTrees."""
    return [one for one in verdicts if not (one["family"] or "").startswith("RNTuple")]


@cache
def oracle(file: str) -> dict[str, Any]:
    """What the oracle holds about a file."""
    with gzip.open(CORPUS / "oracle" / f"{file}.json.gz", "rt") as text:
        found: dict[str, Any] = json.load(text)
    return found


def facts(one: Verdict) -> dict[str, Any]:
    """What the oracle holds about a branch."""
    found: dict[str, Any] = oracle(one["file"])["trees"][one["tree"]]["branches"][one["branch"]]
    return found


def only_root_knows(one: Verdict) -> bool:
    """Whether uproot cannot read a branch, or not rightly, and the oracle has values to judge by."""
    known = facts(one)
    root = known.get("root") or {}
    values = any(root.get(each) for each in ("alts", "flat_sha", "str_sha", "members", "leafs"))
    judged = root.get("read") == "ok" and not root.get("unreliable") and values
    return known["status"] != "ok" and bool(known.get("truth") or judged)
