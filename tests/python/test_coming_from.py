"""The guide for users of uproot says what is so: its tables are run against both libraries."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pandas as pd
import pytest
import uproot

import sapwood

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "coming-from-uproot.md"
CODE = re.compile(r"`([^`]+)`")


def calls(mark: str) -> list[str]:
    """The calls in the last column of the table after a mark."""
    table = PAGE.read_text().split(f"<!-- {mark} -->\n\n")[1].split("\n\n")[0]
    # Patterns of names have "|", too.
    cells = [line.strip("|").split("|", 1)[1] for line in table.splitlines()[2:]]
    return [call for cell in cells for call in CODE.findall(cell)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("coming")
    sapwood.example(folder / "nano.root")
    return folder


def names(lib: Any) -> dict[str, Any]:
    file = lib.open("nano.root")
    tree = file["Events"]
    python = uproot.language.python.python_language
    return {"lib": lib, "file": file, "tree": tree, "branch": tree["Muon_pt"], "python": python}


def plain(value: Any) -> Any:
    if isinstance(value, pd.DataFrame):
        return value.to_dict("list")
    if isinstance(value, ak.Array):
        return (str(value.type), value.to_list())
    if isinstance(value, np.ndarray):
        return [each.tolist() if isinstance(each, np.ndarray) else each for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


@pytest.mark.parametrize("call", calls("same"))
def test_calls_are_the_same_in_both(call: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    found, expected = (plain(eval(call, names(lib))) for lib in (sapwood, uproot))
    assert found == expected


@pytest.mark.parametrize("call", calls("missing"))
def test_missing_calls_raise(call: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises((AttributeError, TypeError, sapwood.errors.SapwoodError)):
        eval(call, names(sapwood))
