"""The course of measurements of `sapwood tune`: memory and rates over time."""

from __future__ import annotations

import json
import time
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import sapwood
from sapwood.studies import tune
from sapwood.studies.tune import course
from sapwood.studies.tune.figures import charts
from sapwood.studies.tune.points import ALL, Point
from sapwood.studies.tune.results import Measured


def test_samples_follow_memory_and_progress() -> None:
    done = 0
    with course.recorded(lambda: done) as samples:
        held = np.ones(12_000_000)
        done = held.nbytes
        time.sleep(4 * course.PERIOD)
    seconds, memory, progress = zip(*samples, strict=True)
    assert len(samples) >= 4
    assert list(seconds) == sorted(seconds) and seconds[-1] >= 4 * course.PERIOD
    assert memory[-1] - memory[0] > 0.8 * held.nbytes
    assert (progress[0], progress[-1]) == (0, held.nbytes)


def test_long_courses_are_thinned() -> None:
    samples = [[float(number), 0.0, 0.0] for number in range(5000)]
    thin = course.thinned(samples)
    assert len(thin) == course.MOST and thin[0] == samples[0] and thin[-1] == samples[-1]
    assert course.thinned(samples[:5]) == samples[:5]


def test_rates_are_those_between_samples() -> None:
    assert course.rates([[0.0, 1, 0], [0.0, 1, 5], [2.0, 1, 25]]) == [(1.0, 10.0)]
    assert course.rates([]) == []


@pytest.mark.usefixtures("few_layouts")
def test_a_run_draws_memory_and_rates_over_time(tmp_path: Path) -> None:
    values = np.random.default_rng(1).normal(size=50_000).astype("f4")
    with sapwood.recreate(tmp_path / "in.root") as file:
        file["t"] = {f"x{number}": values + number for number in range(4)}
    found = tune.run(
        f"{tmp_path / 'in.root'}:t", dimensions=["compression"], repeats=1, work=tmp_path / "work", budget=60
    )
    assert found.points
    read = found.today.read_course()
    assert read[0][2] == 0 and read[-1][2] == found.today.read("decompressed_bytes").median  # type: ignore[union-attr]
    assert all(memory > 1e7 for _, memory, _ in found.today.write_course())
    document = json.loads(json.dumps(found.today.to_dict()))
    assert document["write"]["course"] == found.today.write_course()
    drawn = {one.title: one.svg for one in charts(found)}
    for title in ("Memory over time", "Reading rate over time"):
        ElementTree.fromstring(drawn[title])
    assert "reader, " in drawn["Memory over time"] and "writer, " in drawn["Memory over time"]


def test_results_of_earlier_versions_have_no_course() -> None:
    written = {"seconds": 1.0, "compressed_bytes": 10, "entries": 1, "clusters": 1}
    measured = Measured(Point("zlib:5"), (written,), {ALL: ({"seconds": 1.0},)})
    assert measured.write_course() == measured.read_course() == []
    assert measured.to_dict()["write"]["course"] == []
