"""Stored histograms in merged files: bins add up by their labels, or the report says why they do not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from root_peer import needs_root

import sapwood

uproot = pytest.importorskip("uproot")
bh = pytest.importorskip("boost_histogram")


def cutflow(labels: list[str], counts: list[int], weighted: bool) -> bh.Histogram:
    storage = bh.storage.Weight() if weighted else bh.storage.Double()
    histogram = bh.Histogram(bh.axis.StrCategory(labels), storage=storage)
    histogram.fill(np.repeat(labels, counts))
    return histogram


def merged(folder: Path, *histograms: bh.Histogram) -> tuple[dict[str, float], sapwood.RepackReport]:
    """The sums by label, and the report."""
    for number, histogram in enumerate(histograms):
        with uproot.recreate(folder / f"{number}.root") as file:
            file["cutflow"] = histogram
    report = sapwood.merge(str(folder / "?.root"), folder / "merged.root")
    found = sapwood.open(folder / "merged.root")["cutflow"]
    return dict(zip(found.axis().labels(), found.values().tolist(), strict=True)), report


@pytest.mark.parametrize("weighted", [False, True])
def test_bins_are_added_by_their_labels(tmp_path: Path, weighted: bool) -> None:
    one = cutflow(["all", "two muons", "opposite charge"], [9, 5, 2], weighted)
    other = cutflow(["opposite charge", "all", "two muons"], [1, 7, 3], weighted)
    found, report = merged(tmp_path, one, other, one)
    assert found == {"all": 25, "two muons": 13, "opposite charge": 5}
    assert report.sums == 1 and not report.notes
    if weighted:
        variances = sapwood.open(tmp_path / "merged.root")["cutflow"].variances()
        assert variances.tolist() == [25, 13, 5]


def test_bins_with_other_labels_are_not_added(tmp_path: Path) -> None:
    found, report = merged(
        tmp_path, cutflow(["all", "muons"], [2, 1], False), cutflow(["all", "electrons"], [3, 2], False)
    )
    assert found == {"all": 2, "muons": 1}
    (note,) = report.notes
    assert "'cutflow' is not the sum over all files: the labels of bins differ" in note


WRITE = """
import ROOT, sys
for number, order in enumerate(("ab", "ba")):
    file = ROOT.TFile(f"{sys.argv[1]}/{number}.root", "recreate")
    two = ROOT.TH2D("two", "", 2, 0, 2, 2, 0, 2)
    plain, average = ROOT.TH1D("plain", "", 2, 0, 2), ROOT.TH1D("average", "", 2, 0, 2)
    average.SetBit(ROOT.TH1.kIsAverage)
    for bin, label in enumerate(order, start=1):
        for one in (two, plain, average):
            one.GetXaxis().SetBinLabel(bin, label)
        plain.SetBinContent(bin, ord(label))
        two.SetBinContent(bin, 1, ord(label))
        average.SetBinContent(bin, bin)
    for one in (two, plain, average):
        one.Write()
    file.Close()
"""


def test_histograms_of_root_are_added_by_label_or_named(tmp_path: Path) -> None:
    subprocess.run([needs_root(), "-W", "ignore", "-c", WRITE, str(tmp_path)], check=True, timeout=120)
    report = sapwood.merge(str(tmp_path / "?.root"), tmp_path / "merged.root")
    with sapwood.open(tmp_path / "merged.root") as file:
        assert file["plain"].values().tolist() == [2 * ord("a"), 2 * ord("b")]
        assert file["two"].values()[:, 0].tolist() == [ord("a"), ord("b")]
    assert sorted(note.partition(" is not")[0] for note in report.notes) == ["'average'", "'two'"]
