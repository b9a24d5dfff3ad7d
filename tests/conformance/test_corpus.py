"""Every branch of the corpus of real files, against its oracle.

The corpus is a folder with `compare.py`, `files/` and `oracle/`. It is found through SAPWOOD_CORPUS, default
`../shared/corpus` beside the repository. Where it is absent, the generated inputs of tests/python are what is
compared (with uproot and, where it is installed, ROOT), and the run says so.
"""

from __future__ import annotations

import pytest
from corpus import CORPUS, GOOD, WRONG, Verdict, compare, same_after_all

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
pytestmark = pytest.mark.skipif(
    not (CORPUS / "compare.py").is_file(),
    reason=f"no corpus in {CORPUS} (set SAPWOOD_CORPUS): only generated inputs are compared",
)


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> list[Verdict]:
    """The verdict of compare.py on every branch of every file."""
    return compare(tmp_path_factory.mktemp("verdicts"))


def lines(branches: list[Verdict]) -> str:
    columns = ("file", "tree", "branch", "family", "verdict", "cand_err")
    return "\n".join(" | ".join(str(one.get(column, "")) for column in columns) for one in branches)


def test_the_corpus_was_compared(verdicts: list[Verdict]) -> None:
    assert len(verdicts) > 10_000
    assert sum(one["verdict"] in GOOD for one in verdicts) > 0.8 * len(verdicts)


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_family_is_equal(verdicts: list[Verdict], family: str) -> None:
    """Every branch that a reference can judge is equal; none that the reference reads is refused."""
    members = [one for one in verdicts if one["family"] == family]
    bad = [one for one in members if one["verdict"] not in GOOD | {"ref-raises", "both-raise"}]
    assert not bad, lines(bad)
    if not members:
        pytest.skip("the corpus has no such branch")


def test_nothing_is_silently_different(verdicts: list[Verdict]) -> None:
    wrong = [one for one in verdicts if one["verdict"] in WRONG and not same_after_all(one)]
    assert not wrong, lines(wrong)


def test_what_is_refused_is_refused_by_name(verdicts: list[Verdict]) -> None:
    refused = [one for one in verdicts if one["verdict"] == "cand-raises"]
    odd = [one for one in refused if not one["cand_err"].startswith("UnsupportedTypeError")]
    assert not odd, lines(odd)
    assert not [one for one in verdicts if one["verdict"] == "cand-missing"]
