"""Every branch of the corpus of real files, against its oracle.

Where the corpus is absent (corpus.py says where it is looked for), the generated inputs of tests/python and
the files of test_objects.py are what is compared, and the run says so.
"""

from __future__ import annotations

import pytest
from artefacts import same_after_all
from corpus import CORPUS, GOOD, WRONG, Verdict, compare, is_of_epoch_0, of_ntuples, only_root_knows

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
    assert sum(one["verdict"] in GOOD for one in verdicts) > 0.9 * len(verdicts)


def test_branches_that_uproot_reads(verdicts: list[Verdict]) -> None:
    refused = [one for one in verdicts if one["verdict"] in {"cand-raises", "cand-missing"}]
    refused = [one for one in refused if not is_of_epoch_0(one)]
    assert not refused, lines(refused)


def test_nothing_is_silently_different(verdicts: list[Verdict]) -> None:
    wrong = [one for one in verdicts if one["verdict"] in WRONG and not same_after_all(one)]
    assert not wrong, lines(wrong)


def test_most_of_what_only_root_reads_is_read(verdicts: list[Verdict]) -> None:
    known = [one for one in verdicts if only_root_knows(one)]
    missed = [one for one in known if one["verdict"] != "root-equal" and not same_after_all(one)]
    assert len(missed) <= 0.2 * len(known), lines(missed)


def test_refusals_name_their_subject(verdicts: list[Verdict]) -> None:
    refused = [one for one in verdicts if one["verdict"] in {"cand-raises", "both-raise"}]
    odd = [one for one in refused if not one["cand_err"].startswith("UnsupportedTypeError")]
    assert not odd, lines(odd)


def test_every_field_of_ntuples_is_read(verdicts: list[Verdict]) -> None:
    fields = [one for one in of_ntuples(verdicts) if not is_of_epoch_0(one)]
    assert len(fields) > 1_000
    other = [one for one in fields if one["verdict"] not in GOOD and not same_after_all(one)]
    assert not other, lines(other)
