"""The guide for users of uproot says what is so: its tables are run against both libraries."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pandas as pd
import pytest
import uproot

import sapwood

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "coming-from-uproot.md"
DATA = Path(__file__).parents[1] / "data" / "objects"
CODE = re.compile(r"`([^`]+)`")


def rows(mark: str) -> list[list[str]]:
    """The cells of the table after a mark, without its head."""
    table = PAGE.read_text().split(f"<!-- {mark} -->\n\n")[1].split("\n\n")[0]
    # Patterns of names have "|", too.
    return [[cell.strip() for cell in line.strip("|").split("|", 1)] for line in table.splitlines()[2:]]


def calls(mark: str) -> list[str]:
    """The calls in the last column of a table, except those of other libraries."""
    found = [call for _, cell in rows(mark) for call in CODE.findall(cell)]
    return [call for call in found if not call.startswith("mplhep.") and "…" not in call]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("coming")
    sapwood.example(folder / "nano.root")
    for name, file in {"plots": "histograms", "things": "objects"}.items():
        shutil.copy(DATA / f"{file}.root", folder / f"{name}.root")
    return folder


def names(lib: Any) -> dict[str, Any]:
    file = lib.open("nano.root")
    tree = file["Events"]
    python = uproot.language.python.python_language
    found = {"lib": lib, "file": file, "tree": tree, "branch": tree["Muon_pt"], "python": python}
    return found | {"plots": lib.open("plots.root"), "things": lib.open("things.root")}


def write(lib: Any, call: str) -> None:
    """Makes a new file with one call."""
    with lib.recreate("new.root") as new:
        eval(call, {"new": new, "np": np, "ak": ak, "file": lib.open("nano.root")})


def content(path: str) -> dict[str, Any]:
    """Everything in a file, as uproot reads it."""

    def described(found: Any) -> Any:
        if hasattr(found, "typenames"):
            return found.title, found.typenames(), plain(found.arrays())
        return plain(found.to_numpy()) if hasattr(found, "to_numpy") else str(found)

    with uproot.open(path) as file:
        keys = file.classnames(cycle=False)
        return {key: (kind, kind != "TDirectory" and described(file[key])) for key, kind in keys.items()}


def plain(value: Any) -> Any:
    if isinstance(value, pd.DataFrame):
        return value.to_dict("list")
    if isinstance(value, ak.Array):
        return (str(value.type), value.to_list())
    if hasattr(value, "sum") and hasattr(value, "axes"):
        return plain(value.values())
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
        write(sapwood, call) if call.startswith("new.") else eval(call, names(sapwood))


@pytest.mark.parametrize("call", calls("written"))
def test_both_write_the_same(call: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    found = []
    for lib in (sapwood, uproot):
        write(lib, call)
        found.append(content("new.root"))
    assert found[0] == found[1] != {}


def timeouts() -> None:
    assert sapwood.open("nano.root", timeout=7).file.options.deadline == 7


def steps() -> None:
    tree = sapwood.open("nano.root:Events")
    size = f"{tree.uncompressed_bytes // 3} B"
    ends = [report.tree_entry_stop for _, report in tree.iterate(step_size=size, report=True)]
    assert len(ends) > 1 and set(ends) <= set(tree.cluster_starts)
    assert {len(step) for step in tree.iterate(["nMuon"], step_size=12_500)} == {12_500}


def expressions() -> None:
    tree, other = sapwood.open("nano.root:Events"), uproot.open("nano.root:Events")
    theirs = set(uproot.language.python.PythonLanguage().functions)
    for name in {*theirs, "max", "min", "pow"}:
        with pytest.raises(sapwood.errors.UsageError) as refused:
            tree.arrays([f"{name}()"])
        assert "unknown function" not in str(refused.value), name
    assert len(other.arrays(["{0: nMuon}[0]"], entry_stop=3)) == 3
    with pytest.raises(sapwood.errors.ExpressionError):
        tree.arrays(["{0: nMuon}[0]"])


def interpretations() -> None:
    found = sapwood.open("nano.root:Events")["Muon_pt"].interpretation
    assert found.form and found.awkward_form() and not hasattr(found, "final_array")


def jagged_pandas() -> None:
    found = sapwood.open("nano.root:Events").arrays(["Muon_pt"], library="pd", entry_stop=3)
    has_them = importlib.util.find_spec("awkward_pandas") is not None
    assert (found["Muon_pt"].dtype == object) != has_them


def options() -> None:
    sapwood.open("nano.root", anon=True, key=None, headers={})
    with pytest.raises(sapwood.errors.ArgumentTypeError):
        sapwood.open("nano.root", unknown=1)


def compressions() -> None:
    for lib, expected in ((sapwood, uproot.ZSTD(5)), (uproot, uproot.ZLIB(1))):
        with lib.recreate("new.root") as new:
            assert new.compression.code == expected.code
    for given in (uproot.ZSTD(5), sapwood.ZSTD(5), "zstd:5"):
        with sapwood.recreate("new.root", compression=given) as new:
            assert new.compression.code == uproot.ZSTD(5).code


def levels() -> None:
    for name in ("ZLIB", "LZMA", "LZ4", "ZSTD"):
        ours, theirs = getattr(sapwood, name), getattr(uproot, name)
        assert [ours(level).code for level in range(10)] == [theirs(level).code for level in range(10)]
    assert uproot.ZSTD(10).level == 10
    with pytest.raises(sapwood.errors.UsageError, match="a level from 1 to 9"):
        sapwood.ZSTD(10)


def collections() -> None:
    ours, theirs = (lib.open("things.root")["list"] for lib in (sapwood, uproot))
    assert isinstance(ours, list) and ours[0].member("fName") == "first"
    assert not isinstance(theirs, list)


def weighted_counts() -> None:
    ours, theirs = (lib.open("plots.root")["weighted"] for lib in (sapwood, uproot))
    assert theirs.counts().tolist() == theirs.values().tolist() == ours.values().tolist()
    np.testing.assert_allclose(ours.counts(), ours.values() ** 2 / ours.variances())


def counters() -> None:
    corpus = Path(os.environ.get("SAPWOOD_CORPUS") or Path(__file__).parents[3] / "shared" / "corpus")
    path = corpus / "files" / "skhep__uproot-issue431.root"
    if not path.exists():
        pytest.skip(f"no corpus in {corpus} (set SAPWOOD_CORPUS)")
    frames = "KM3NETDAQ::JDAQTimeslice/vector<KM3NETDAQ::JDAQSuperFrame>"
    branch = f"km3net_timeslice_L1/{frames}/vector<KM3NETDAQ::JDAQSuperFrame>.numberOfHits"
    ours, theirs = (lib.open(path)["KM3NET_TIMESLICE_L1"][branch] for lib in (sapwood, uproot))
    assert (ours.typename, theirs.typename) == ("int32_t[]", "uint32_t[]")


def cycles() -> None:
    with uproot.recreate("new.root") as new:
        new["text"] = "first"
        new["text"] = "second"
    for lib, expected in ((sapwood, "second"), (uproot, "first")):
        with lib.open("new.root") as file:
            assert [str(text) for _, text in file.items(cycle=False)] == [expected]
            assert str(file["text"]) == "second"


def trees() -> None:
    for lib, expected in ((sapwood, "TTree"), (uproot, "ROOT::RNTuple")):
        with lib.recreate("new.root") as new:
            new["t"] = {"x": np.arange(3)}
        with uproot.open("new.root") as file:
            assert file.classname_of("t") == expected


def added_branches() -> None:
    steps = [{"x": np.arange(3.0)}, {"x": np.arange(2.0)}]
    for lib, added in ((sapwood, True), (uproot, False)):
        with lib.recreate("new.root") as new:
            tree = new.mktree("t", {"x": "float64"})
            for step in steps:
                tree.extend(step)
        with lib.update("new.root") as new:
            refused = contextlib.nullcontext() if added else pytest.raises(NotImplementedError)
            with refused:
                new["t"].add_branches({"y": np.arange(5.0)})
        with lib.open("new.root:t") as tree:
            assert ("y" in tree) == added


def appearances() -> None:
    for lib, there in ((sapwood, False), (uproot, True)):
        Path("new.root").unlink(missing_ok=True)
        with lib.recreate("new.root") as new:
            new["h"] = np.histogram([1.0])
            assert Path("new.root").exists() == there
        assert Path("new.root").exists()


def exceptions() -> None:
    for lib, error in ((sapwood, sapwood.errors.KeyInFileError), (uproot, uproot.KeyInFileError)):
        with pytest.raises(error):
            lib.open("nano.root:none")
        assert issubclass(error, KeyError)


def costs() -> None:
    assert uproot.open("nano.root").file.source.num_requested_bytes > 0
    report = sapwood.open("nano.root").report()
    assert report.requests and report.fetched_bytes and not report.round_trips


def engines(module: str, theirs: str, name: str) -> Callable[[], None]:
    def check() -> None:
        pytest.importorskip(module)
        assert hasattr(uproot, theirs) and callable(getattr(getattr(sapwood, theirs), name))

    return check


def sub_fields() -> None:
    with uproot.recreate("new.root") as new:
        new.mkrntuple("t", {"Muon": ak.Array([[{"pt": 1.0}], []])})
    ours, theirs = (lib.open("new.root:t") for lib in (sapwood, uproot))
    assert (ours.keys(), theirs.keys()) == (["Muon"], ["Muon", "Muon.pt"])
    assert ours.keys(filter_name="Muon.*") == ["Muon.pt"]


OTHERWISE = {
    "`keys()`": sub_fields,
    "`timeout=`": timeouts,
    "`step_size=": steps,
    "expressions": expressions,
    "`branch.interpretation`": interpretations,
    "jagged": jagged_pandas,
    "options": options,
    "`recreate`": compressions,
    "levels": levels,
    "maps": collections,
    "`histogram.counts()`": weighted_counts,
    "counters": counters,
    "`file.items": cycles,
    '`file["t"]': trees,
    "`add_branches`": added_branches,
    "a new file": appearances,
    "errors": exceptions,
    "`file.file.source": costs,
    "`uproot.dask": engines("distributed", "dask", "from_files"),
    "`uproot.graphed": engines("graphed", "graphed", "open_files"),
}
"""What shows each difference, by the first words of its row."""


@pytest.mark.parametrize("row", [row for row, _ in rows("otherwise")])
def test_both_differ_as_the_page_says(row: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (check,) = [check for words, check in OTHERWISE.items() if row.startswith(words)]
    check()
