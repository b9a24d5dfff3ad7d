"""Files from which uproot returns wrong values without an error: docs/guides/uproot-wrong.md."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapwood

pytest.importorskip("awkward")
uproot = pytest.importorskip("uproot")
if not uproot.__version__.startswith("5.7."):
    pytest.skip("only uproot 5.7 is known to be wrong", allow_module_level=True)

REPOSITORY = Path(__file__).parents[2]
CORPUS = Path(os.environ.get("SAPWOOD_CORPUS", REPOSITORY.parent / "shared" / "corpus"))
PAGE = REPOSITORY / "docs" / "guides" / "uproot-wrong.md"
DATA = REPOSITORY / "tests" / "data"
CHECKSUMS = "pages that do not match their checksums"


@dataclass(frozen=True)
class Case:
    """A branch, the first entries that it holds, and whether sapwood reads it under uproot's names."""

    path: Path
    tree: str
    branch: str
    truth: list[Any]
    is_read_under_uproot: bool = True


REFERENCED = 50331664
CASES = {
    "lists of objects written member by member": Case(
        CORPUS / "files" / "coffea__PHYSLITE_example.root",
        "CollectionTree",
        "METAssoc_AnalysisMETAux./METAssoc_AnalysisMETAux.jetLink",
        # The key of a container and positions in it, then a link to nothing.
        [
            [
                *({"m_persKey": 452794649, "m_persIndex": at} for at in range(8)),
                {"m_persKey": 0, "m_persIndex": 2**32 - 1},
            ]
        ],
    ),
    "versioned objects nested in objects": Case(
        CORPUS / "files" / "skhep__uproot-issue-513.root",
        "TrkAnaNeg/trkana",
        "demc/_opos",
        # As ROOT prints them.
        [
            {
                "fCoordinates": {
                    "fX": np.float32(-24.909077),
                    "fY": np.float32(25.264332),
                    "fZ": np.float32(-4388.8916),
                }
            }
        ],
    ),
    "`fBits` of objects that are referred to": Case(
        CORPUS / "files" / "skhep__uproot-issue513.root",
        "Delphes",
        "Track/Track.fBits",
        # As many as Track.PID has; uproot returns the numbers of processes between them, too.
        [[REFERENCED] * 110],
    ),
    "numbers in objects that are not split": Case(
        DATA / "edm" / "edm_plain.root",
        "Events",
        "double_fixedGridRhoAll__RECO.",
        [{"present": True, "obj": 0.5 * entry} for entry in range(3)],
    ),
    "texts in split lists": Case(
        DATA / "trees" / "split.root",
        "tree",
        "split./split.labels/split.labels.fName",
        [[], ["label 0"]],
        is_read_under_uproot=False,
    ),
    "variants in RNTuples of several clusters": Case(
        CORPUS.parent / "corpus-rntuple" / "gen640__var.root",
        "t",
        "v",
        [0, 1.0, [2.0, 4.0], 3, 4.0, [5.0, 10.0]],
        is_read_under_uproot=False,
    ),
}


@pytest.fixture
def under_uproot() -> Iterator[Callable[[bool], None]]:
    """Turns sapwood on or off under uproot's names."""
    names = pytest.importorskip("sapwood.uproot")
    names.switch_off()
    yield lambda on: names.switch_on() if on else names.switch_off()
    names.switch_off()


def read(library: Any, case: Case) -> list[Any]:
    with library.open(case.path) as file:
        found: list[Any] = file[case.tree][case.branch].array().to_list()
    return found


@pytest.mark.parametrize("name", CASES)
def test_sapwood_is_right_where_uproot_is_silently_wrong(
    name: str, under_uproot: Callable[[bool], None]
) -> None:
    case = CASES[name]
    if not case.path.is_file():
        pytest.skip(f"{case.path.name} is not here")
    found = read(sapwood, case)
    assert found[: len(case.truth)] == case.truth
    assert read(uproot, case) != found
    under_uproot(True)
    assert (read(uproot, case) == found) == case.is_read_under_uproot


def test_sapwood_finds_damage_to_the_pages_of_rntuples(tmp_path: Path) -> None:
    path, numbers = tmp_path / "events.root", np.arange(1000.0)
    with sapwood.recreate(path, compression=None) as file:
        file.mkrntuple("events", {"x": "float64"}).extend({"x": numbers})
    content = bytearray(path.read_bytes())
    at = content.index(numbers[500:].tobytes())
    content[at + 1] ^= 1
    path.write_bytes(content)
    with uproot.open(path) as file:
        wrong = file["events"].arrays()["x"].to_numpy()
    assert np.flatnonzero(wrong != numbers).tolist() == [500]
    with sapwood.open(path) as file, pytest.raises(sapwood.errors.ChecksumError, match="'x'"):
        file["events"].arrays()


def test_the_page_lists_these_cases() -> None:
    rows = re.findall(r"^\| (?!what|---)([^|]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(rows) == {*CASES, CHECKSUMS}
