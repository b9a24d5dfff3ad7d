"""Written histograms are read by sapwood, uproot and ROOT."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot
from root_peer import read_by_root

import sapwood

hist = pytest.importorskip("hist")


def histograms() -> dict[str, Any]:
    """One of each kind, filled."""
    random = np.random.default_rng(3)
    x, y, z, weight = random.normal(0.5, 0.4, (4, 500))
    labels = random.choice(["e", "mu"], 500)
    new = hist.Hist.new
    return {
        "counts": new.Reg(10, 0, 1, label="x").Int64().fill(x),
        "doubles": new.Var([0, 0.1, 0.5, 2], flow=False).Double().fill(x),
        "weighted": new.Reg(10, 0, 1).Reg(5, 0, 2, label="y").Weight().fill(x, y, weight=weight),
        "labelled": new.StrCat(["e", "mu"]).Reg(3, -1, 1).Reg(2, 0, 1).Weight().fill(labels, x, z),
        "mean": new.Reg(4, 0, 1).Mean().fill(x, sample=y),
        "means": new.Reg(4, 0, 1).Reg(3, 0, 1).WeightedMean().fill(x, y, sample=z, weight=weight**2),
        "integers": new.Integer(0, 5).Int64().fill((10 * x).astype(int)),
    }


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("written") / "out.root"
    with sapwood.recreate(path) as file:
        for name, histogram in histograms().items():
            file[f"dir/{name}"] = histogram
        file["numpy"] = np.histogram([0.1, 0.2, 0.9], bins=4, range=(0, 1))
        file["numpy2"] = np.histogram2d([0.1, 0.2, 0.9], [1, 2, 3], bins=(4, 2))
    return path


def in_cells(values: Any, paddings: list[tuple[int, int]]) -> list[float]:
    """The values of all bins as ROOT counts them, with empty ones for what has no under- or overflow."""
    return np.pad(np.asarray(values, dtype=float), paddings).T.reshape(-1).tolist()


def paddings_of(histogram: Any) -> list[tuple[int, int]]:
    traits = [axis.traits for axis in histogram.axes]
    return [(int(not trait.underflow), int(not trait.overflow)) for trait in traits]


def test_sapwood_and_uproot_read_them(written: Path) -> None:
    with sapwood.open(written) as ours, uproot.open(written) as theirs:
        for name, histogram in histograms().items():
            paddings = paddings_of(histogram)
            values = np.pad(histogram.values(flow=True), paddings)
            variances = histogram.variances(flow=True)
            for read in (ours[f"dir/{name}"], theirs[f"dir/{name}"]):
                np.testing.assert_allclose(read.values(flow=True), values, rtol=1e-12)
                assert read.kind == str(getattr(histogram.kind, "value", histogram.kind))
                for axis, original in zip(read.axes, histogram.axes, strict=True):
                    np.testing.assert_allclose(axis.edges(), original.edges)
            if name == "weighted":
                expected = np.pad(variances, paddings)
                np.testing.assert_allclose(ours[f"dir/{name}"].variances(flow=True), expected)
        assert ours["dir/labelled"].axis(0).labels() == ["e", "mu"]
        assert ours["dir/counts"].axis(0).title == "x"
        assert ours["numpy"].values().tolist() == [2, 0, 0, 1]
        assert ours["numpy2"].class_name == "TH2D"


def test_root_reads_them(written: Path) -> None:
    (found,) = read_by_root(written)
    for name, histogram in histograms().items():
        read = found[f"dir/{name}"]
        cells = in_cells(histogram.values(flow=True), paddings_of(histogram))
        np.testing.assert_allclose(read["cells"], cells, rtol=1e-9, atol=1e-12)
    weighted = histograms()["weighted"]
    errors = np.sqrt(in_cells(weighted.variances(flow=True), paddings_of(weighted)))
    np.testing.assert_allclose(found["dir/weighted"]["errors"], errors, rtol=1e-9)
    assert found["dir/weighted"]["titles"] == ["Axis 0", "y"]
    assert found["dir/labelled"]["labels"][0] == "e"
    assert found["dir/mean"]["class"] == "TProfile"
    assert found["numpy"]["mean"] == pytest.approx((2 * 0.125 + 0.875) / 3)


def test_histograms_are_written_as_they_were_read(written: Path, tmp_path: Path) -> None:
    with sapwood.open(written) as read, sapwood.recreate(tmp_path / "copy.root") as file:
        names = [key for key in read.keys(cycle=False) if key not in ("dir",)]
        for name in names:
            file[name] = read[name]
    with sapwood.open(written) as one, sapwood.open(tmp_path / "copy.root") as other:
        for name in names:
            assert one[name] == other[name]


def test_histograms_that_root_does_not_have(tmp_path: Path) -> None:
    four = hist.Hist.new.Reg(2, 0, 1).Reg(2, 0, 1).Reg(2, 0, 1).Reg(2, 0, 1).Double()
    with sapwood.recreate(tmp_path / "out.root") as file:
        with pytest.raises(sapwood.errors.UnsupportedTypeError, match="4 axes"):
            file["four"] = four
        with pytest.raises(sapwood.errors.UsageError, match="edges, not"):
            file["wrong"] = (np.zeros(3), np.zeros(3))
        with pytest.raises(sapwood.errors.UsageError, match="must increase"):
            file["falling"] = (np.zeros(2), np.array([0.0, 2.0, 1.0]))
