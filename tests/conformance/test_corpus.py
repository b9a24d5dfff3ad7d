"""Every branch of the corpus of real files, against its oracle.

The corpus is a folder with `compare.py`, `files/` and `oracle/`. It is found through SAPWOOD_CORPUS, default
`../shared/corpus` beside the repository. Where it is absent, the generated inputs of tests/python are what is
compared (with uproot and, where it is installed, ROOT), and the run says so.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sapwood

HERE = Path(__file__).resolve().parent
CORPUS = Path(os.environ.get("SAPWOOD_CORPUS", HERE.parents[2] / "shared" / "corpus"))
SHARDS = max(2, os.cpu_count() or 2)

# What this version reads. Other families are refused with UnsupportedTypeError.
FAMILIES = {
    "leaf number, flat",
    "leaf number, jagged (leaf count)",
    "leaf number, fixed-size array",
    "leaf number, fixed-size array multi-dim",
    "leaf number, jagged (leaf count) x fixed dims",
    "leaf bool, flat",
    "leaf bool, jagged (leaf count)",
    "leaf bool, fixed-size array",
    "leaf bool, fixed-size array multi-dim",
    "leaf bool, jagged (leaf count) x fixed dims",
    "leaf Float16/Double32, jagged (leaf count)",
    "leaf Float16/Double32, jagged (leaf count) x fixed dims",
    "leaflist (struct of leaves)",
    "char* string (TLeafC)",
    "std::string",
    "TString",
    "number member",
    "bool member",
    "enum member",
    "fixed array member",
    "Double32/Float16 member",
    "vector<number>",
    "vector<bool>",
    "vector<string>",
    "vector<collection<number>> (nested)",
    "vector<collection<string>> (nested)",
}
GOOD = {"equal", "equal-values", "almost", "root-equal"}
WRONG = {"differs", "root-differs", "cand-crash"}

pytestmark = pytest.mark.skipif(
    not (CORPUS / "compare.py").is_file(),
    reason=f"no corpus in {CORPUS} (set SAPWOOD_CORPUS): only generated inputs are compared",
)


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The verdict of compare.py on every branch of every file."""
    folder = tmp_path_factory.mktemp("verdicts")
    files = sorted((CORPUS / "files").glob("*.root"), key=lambda path: path.stat().st_size)
    running = []
    for shard in range(SHARDS):
        out = folder / f"{shard}.json"
        command = [
            sys.executable,
            str(CORPUS / "compare.py"),
            str(HERE / "sapwood_adapter.py"),
            *map(str, files[shard::SHARDS]),
            *("--oracle", str(CORPUS), "--json", str(out), "-q"),
        ]
        running.append((out, subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder)))
    found = []
    for out, process in running:
        said, _ = process.communicate(timeout=1800)
        assert out.is_file(), said
        for file, branches in json.loads(out.read_text())["files"].items():
            found += [{"file": file, **branch} for branch in branches]
    return found


def lines(branches: list[dict[str, Any]]) -> str:
    columns = ("file", "tree", "branch", "family", "verdict", "cand_err")
    return "\n".join(" | ".join(str(one.get(column, "")) for column in columns) for one in branches)


def test_the_corpus_was_compared(verdicts: list[dict[str, Any]]) -> None:
    assert len(verdicts) > 10_000
    assert sum(one["verdict"] in GOOD for one in verdicts) > 0.8 * len(verdicts)


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_family_is_equal(verdicts: list[dict[str, Any]], family: str) -> None:
    """Every branch that a reference can judge is equal; none that the reference reads is refused."""
    members = [one for one in verdicts if one["family"] == family]
    bad = [one for one in members if one["verdict"] not in GOOD | {"ref-raises", "both-raise"}]
    assert not bad, lines(bad)
    if not members:
        pytest.skip("the corpus has no such branch")


def test_nothing_is_silently_different(verdicts: list[dict[str, Any]]) -> None:
    wrong = [one for one in verdicts if one["verdict"] in WRONG and not same_after_all(one)]
    assert not wrong, lines(wrong)


def same_after_all(one: dict[str, Any]) -> bool:
    """Whether ROOT's values, as the oracle took them, show less than there is, and agree in what they show.

    TTreeFormula shows one text per entry, the first (or "") where an entry is a list of them; an unordered
    set comes in the order of a hash table in memory, not in that of the file.
    """
    if one["verdict"] != "root-differs":
        return False
    with gzip.open(CORPUS / "oracle" / f"{one['file']}.json.gz", "rt") as file:
        root = json.load(file)["trees"][one["tree"]]["branches"][one["branch"]]["root"]
    branch = sapwood.open(CORPUS / "files" / one["file"])[one["tree"]][f"/{one['branch']}"]
    if "str_sha" not in root or branch.interpretation.form != ("list", ("string",)):
        return False
    entries = branch.array(library="np", entry_stop=root["n"])
    if root["str_n"] == root["n"]:
        first = [entry[0] if len(entry) else "" for entry in entries]
        return hashlib.sha256("\0".join(first).encode()).hexdigest() == root["str_sha"]
    if "unordered_set" in branch.typename and "json" in root:
        shown = [sorted(json.loads(text)) for text in root["json"]]
        return shown == [sorted(entry) for entry in entries[: len(shown)]]
    return False


def test_what_is_refused_is_refused_by_name(verdicts: list[dict[str, Any]]) -> None:
    refused = [one for one in verdicts if one["verdict"] == "cand-raises"]
    odd = [one for one in refused if not one["cand_err"].startswith("UnsupportedTypeError")]
    assert not odd, lines(odd)
    assert not [one for one in verdicts if one["verdict"] == "cand-missing"]
