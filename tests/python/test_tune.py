"""`tune`: measurements, resuming, comparisons, recommendations, and the report."""

from __future__ import annotations

import itertools
import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

import sapwood
from sapwood.cli._app import app
from sapwood.errors import UsageError
from sapwood.studies.charts import Axis, Mark, Series, bars, chart, standalone
from sapwood.studies.tune.goals import GOALS, combined, recommend
from sapwood.studies.tune.harness import Harness
from sapwood.studies.tune.journal import Journal
from sapwood.studies.tune.points import (
    ALL,
    Point,
    Sweep,
    Workload,
    analysis_of,
    chosen_sweeps,
    sweeps,
    workloads_by_point,
)
from sapwood.studies.tune.results import Measured, front, measured_points
from sapwood.studies.tune.studies import STUDIES, study_named
from sapwood.studies.tune.tuning import Tuning, chosen_goals

SVG = "{http://www.w3.org/2000/svg}"
ANALYSIS = analysis_of(())
TODAY = Point("zlib:5")


def record(point: Point, workload: Workload | None, number: int, **result: Any) -> dict[str, Any]:
    chosen = workload.to_dict() if workload else None
    return {"point": point.to_dict(), "workload": chosen, "round": number, "result": result}


def made_up(point: Point, size: float, write: float, read: float, memory: float = 1e8) -> Measured:
    """A layout as if it had been measured."""
    wrote = {"compressed_bytes": size, "seconds": write, "peak_bytes": memory, "entries": 1000, "clusters": 4}
    seconds = {"peak_bytes": memory, "fetched_bytes": size, "decompressed_bytes": 1e9}
    reads: dict[Workload, tuple[dict[str, Any], ...]] = {
        ALL: ({"seconds": read, **seconds},),
        ANALYSIS: ({"seconds": read / 10, **seconds, "fetched_bytes": size / 10},),
        replace(ANALYSIS, over="WAN"): ({"seconds": read / 10 + size / 125e6, **seconds},),
    }
    return Measured(point, (wrote,), reads)


LAYOUTS = [
    made_up(TODAY, size=100e6, write=10, read=5),
    made_up(Point("lzma:9"), size=70e6, write=100, read=20),
    made_up(Point("lzma:4"), size=70.3e6, write=60, read=19),
    made_up(Point("lz4:1"), size=150e6, write=2, read=2),
    made_up(Point("zstd:5"), size=90e6, write=5, read=2.5),
]


def test_points_have_keys_that_stay() -> None:
    assert Point("zstd:5", basket_size=16384).key == Point("zstd:5", basket_size=16384).key
    keys = {point.key for point in workloads_by_point(sweeps(TODAY, (), 20_000))}
    assert len(keys) == len(workloads_by_point(sweeps(TODAY, (), 20_000)))
    assert Workload.from_dict(json.loads(json.dumps(ALL.to_dict()))) == ALL


def test_sweeps_change_one_thing_at_a_time() -> None:
    base = TODAY.to_dict()
    for sweep in sweeps(TODAY, ("Muon_*",), 20_000):
        for point in sweep.points:
            assert sum(point.to_dict()[name] != base[name] for name in base) <= 1
    columns = {each.columns for each in workloads_by_point(sweeps(TODAY, ("Muon_*",), 20_000))[TODAY]}
    assert columns == {(), ("Muon_*",)}


def test_a_journal_goes_on_where_it_was(tmp_path: Path) -> None:
    path, subject = tmp_path / "journal.jsonl", {"file": "a.root"}
    journal = Journal(path, subject)
    journal.add({"key": "a", "result": {"seconds": 1.0}})
    journal.add({"key": "b", "error": "no room"})
    with path.open("a") as file:
        file.write('{"key": "c", "resu')  # torn, as by a kill
    again = Journal(path, subject)
    assert list(again.records) == ["a"]
    again.add({"key": "c", "result": {}})
    assert "c" in Journal(path, subject)
    assert not Journal(path, {"file": "b.root"}).records


def test_figures_have_a_spread() -> None:
    records = [record(TODAY, None, i, seconds=float(i), compressed_bytes=7) for i in range(3)]
    found = measured_points([*records, {**record(TODAY, ALL, 0), "error": "not done after 5 s"}])[TODAY]
    assert found.write("seconds") == (0, 1, 2, 3)
    assert found.errors == ("not done after 5 s",) and not found.is_whole


def test_the_front_has_what_nothing_beats() -> None:
    best = front(LAYOUTS, lambda one: one.size, lambda one: one.reads[ALL][0]["seconds"])
    assert [one.point.compression for one in best] == ["lzma:9", "lzma:4", "zstd:5", "lz4:1"]


def test_goals_weigh_differently() -> None:
    chosen = {}
    for goal in GOALS:
        found = recommend(goal, LAYOUTS, LAYOUTS[0], ANALYSIS, "in.root")
        assert found is not None
        chosen[goal.name] = found.best.point.compression
        assert found.command == found.best.point.command("in.root", "out.root")
        assert "Changes: size" in found.reason
    # Of two that are equally small, the archive takes the one that is written faster.
    assert chosen == {"archive": "lzma:4", "derivation": "lz4:1", "disk": "zstd:5", "wan": "zstd:5"}


def test_the_best_layout_stays() -> None:
    best = LAYOUTS[-1]
    found = recommend(GOALS[3], LAYOUTS, best, ANALYSIS, "in.root")
    assert found is not None and found.best is best
    assert found.command == "" and "better than the current one" in found.reason


def test_memory_and_failures_rule_layouts_out() -> None:
    hungry = made_up(Point("none"), size=1e6, write=0.1, read=0.1, memory=2e9)
    failed = replace(made_up(Point("none", basket_size=1), size=1, write=0.1, read=0.1), errors=("no room",))
    part = made_up(Point("none", entries=10), size=1, write=0.1, read=0.1)
    for goal in GOALS:
        found = recommend(goal, [*LAYOUTS, hungry, failed, part], LAYOUTS[0], ANALYSIS, "in.root")
        assert found is not None and found.best not in (hungry, failed, part)


def test_the_best_of_each_sweep_together() -> None:
    baskets = [
        made_up(Point("zlib:5", basket_size=1 << 14), size=120e6, write=11, read=6),
        made_up(Point("zlib:5", basket_size=1 << 18), size=95e6, write=9, read=4),
    ]
    point = combined(GOALS[0], [LAYOUTS, baskets], LAYOUTS[0], ANALYSIS)
    assert point == Point("lzma:9", basket_size=1 << 18)


def test_goals_have_names() -> None:
    assert [goal.name for goal in chosen_goals(["wan"])] == ["wan"]
    assert chosen_goals([]) == list(GOALS)
    with pytest.raises(UsageError, match="archive, derivation, disk, wan"):
        chosen_goals(["speed"])


def test_charts_show_every_mark() -> None:
    marks = [Mark(10.0**i, 2.0 + i, 1.0, 4.0 + i, f"point {i} <a & b>") for i in range(4)]
    svg = chart(Axis("entries", is_log=True), Axis("s"), [Series("one", marks, True), Series("two", [])])
    root = ElementTree.fromstring(svg)
    circles = list(root.iter(f"{SVG}circle"))
    assert len(circles) == 4
    places = [float(circle.get("cx", 0)) for circle in circles]
    steps = [right - left for left, right in itertools.pairwise(places)]
    assert max(steps) - min(steps) < 0.3
    assert float(circles[0].get("cy", 0)) > float(circles[3].get("cy", 0))
    ElementTree.fromstring(standalone(svg, "a & b"))
    assert chart(Axis("x"), Axis("y"), [Series("", [])]) == ""


def test_labels_of_curves_keep_clear_of_their_lines() -> None:
    marks = [Mark(10.0**i, 5.0, 5.0, 5.0, "", f"{i} ms") for i in range(3)]
    svg = chart(Axis("", is_log=True), Axis("", from_zero=True), [Series("", marks, True)])
    root = ElementTree.fromstring(svg)
    line = float(next(root.iter(f"{SVG}circle")).get("cy", 0))
    texts = [text for text in root.iter(f"{SVG}text") if (text.text or "").endswith(" ms")]
    assert len(texts) == 3
    # A text stands on its baseline, and is some 10 units high.
    assert all(not line - 2 < float(text.get("y", 0)) < line + 12 for text in texts)


def test_a_single_value_is_a_chart_too() -> None:
    for is_log in (False, True):
        axis = Axis("x", is_log=is_log)
        svg = chart(axis, axis, [Series("", [Mark(5, 5, 5, 5, "")])])
        circle = next(ElementTree.fromstring(svg).iter(f"{SVG}circle"))
        assert 0 < float(circle.get("cx", 0)) < 620


def test_bars_are_as_long_as_their_parts() -> None:
    svg = bars(["a", "b"], [("all", [1.0, 3.0]), ("none", [0.0, 0.0])], lambda value: f"{value:g} s")
    widths = [float(rect.get("width", 0)) for rect in ElementTree.fromstring(svg).iter(f"{SVG}rect")]
    assert widths[1] == pytest.approx(3 * widths[0], rel=0.01)
    assert widths[2] == widths[3] == 0


def test_the_study_of_atlas_varies_all_levels_of_the_original() -> None:
    sweep = next(one for one in study_named("atlas2018").sweeps([]) if one.name == "compression")
    levels: dict[str, list[int]] = {}
    for point in sweep.points:
        name, level = str(point.compression).split(":")
        levels.setdefault(name, []).append(int(level))
    assert levels == {"zlib": [1, 3, 5, 7, 9], "lzma": [1, 2, 3, 5], "lz4": [1, 3, 5, 7, 9]}


def study_run(name: str, cost: Callable[[Point, Workload], float]) -> Tuning:
    """A study as if it had been run, `cost` being the time of reading."""
    study, points = study_named(name), []
    for point, workloads in workloads_by_point(study.sweeps(["split"])).items():
        wrote = {
            "compressed_bytes": 100.0,
            "entries": 1000,
            "clusters": 1000 / (point.cluster_entries or 100),
        }
        figures = {"peak_bytes": 1e8, "cpu_seconds": 1.0, "seconds": 1.0, "wall_seconds": 1.0, "baskets": 9}
        figures |= {f"{part}_seconds": 0.1 for part in ("wait", "decompress", "decode", "compress")}
        reads = {
            one: (
                {
                    **figures,
                    "cpu_seconds": cost(point, one),
                    "baskets": cost(point, one),
                    "decompressed_bytes": 1e6,
                },
            )
            for one in workloads
        }
        points.append(Measured(point, ({**figures, **wrote},), reads))
    subject = {"entries": 1000, "num_entries": 1000, "uncompressed_bytes": 10**6}
    where = {"sapwood": "0", "processor": "p", "cores": 2, "threads": 2}
    today, sweeps = points[0], study.sweeps(["split"])
    return Tuning("in.root", subject, where, today, points, sweeps, ANALYSIS, (), title=study.title)


def test_skipping_events_pays_below_one_event_of_a_cluster() -> None:
    def cost(point: Point, workload: Workload) -> float:
        touched = 1 - (1 - workload.events) ** (point.cluster_entries or 0)
        return max(touched, 0.01) * workload.branches if workload.events < 1 else workload.branches

    by_name = {one.then: one for one in study_named("atlas2018").findings(study_run("atlas2018", cost))}
    skipping = next(one for name, one in by_name.items() if name.startswith("skipping events"))
    assert (
        skipping.holds == "yes" and "clusters of 10: below 10.0%; clusters of 100: below 1.0%" in skipping.now
    )
    assert by_name["skipping branches pays in proportion"].holds == "yes"

    small = study_run(
        "atlas2018", lambda point, work: 1 + (work.cache == "30 MB") * (point.cluster_entries == 1000)
    )
    cache = next(one for one in study_named("atlas2018").findings(small) if "30 MB" in one.then)
    assert cache.holds == "differently" and "+100.0 % (clusters of 1,000)" in cache.now
    assert "decompress more baskets: +100.0 % (clusters of 1,000);" in cache.why

    always = study_run("atlas2018", lambda _, workload: workload.events)
    finding = next(one for one in study_named("atlas2018").findings(always) if "skipping events" in one.then)
    assert finding.holds == "no"


def test_baskets_and_compressions_are_compared_as_cms_did() -> None:
    def cost(point: Point, _: Workload) -> float:
        return (1.3 if point.algorithm == "lzma" else 1.0) * (0.91 if point.basket_size == 1 << 18 else 1.0)

    run = study_run("cms2015", cost)
    baskets, *others = study_named("cms2015").findings(run)
    assert baskets.now == "size +0.0 %, CPU time of reading -9.0 %"
    reading = next(one for one in others if one.then.startswith("LZMA reads"))
    assert baskets.holds == "differently", "reading is as then, but the size is not"
    assert reading.holds == "yes" and "1.3 to 1.3 times" in reading.now
    slow = study_run("cms2015", lambda point, _: 3.0 if point.algorithm == "lzma" else 1.0)
    reading = next(one for one in study_named("cms2015").findings(slow) if one.then.startswith("LZMA reads"))
    assert reading.holds == "differently", "LZMA is slower, but by more than then"
    fast = study_run("cms2015", lambda *_: 1.0)
    reading = next(one for one in study_named("cms2015").findings(fast) if one.then.startswith("LZMA reads"))
    assert reading.holds == "no"
    html = replace(run, findings=[baskets, *others]).to_html()
    assert "Findings, then and now" in html and "Recommendations" not in html


def test_studies_have_names() -> None:
    assert [one.name for one in STUDIES] == ["cms2015", "atlas2018"]
    with pytest.raises(UsageError, match="cms2015, atlas2018"):
        study_named("lhcb")


def test_dimensions_are_chosen_by_name() -> None:
    planned = sweeps(TODAY, (), 1000, ["other"], levels=(0, 99))
    assert chosen_sweeps(planned, []) == planned
    assert [one.name for one in chosen_sweeps(planned, ["split", "basket-size"])] == [
        "as it is",
        "split",
        "basket size",
    ]
    with pytest.raises(UsageError, match="unknown dimension 'baskets'; use compression, basket-size"):
        chosen_sweeps(planned, ["baskets"])
    with pytest.raises(UsageError, match="the dimension 'split' is given twice"):
        chosen_sweeps(planned, ["split", "split"])
    # Without another file there is nothing that is split differently.
    with pytest.raises(UsageError, match="unknown dimension 'split'"):
        chosen_sweeps(sweeps(TODAY, (), 1000), ["split"])
    # Nor are there split levels without objects.
    with pytest.raises(UsageError, match="unknown dimension 'split-level'"):
        chosen_sweeps(sweeps(TODAY, (), 1000), ["split-level"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--dimension", "speed"], "unknown dimension 'speed'"),
        (["--dimension", "events", "--dimension", "events"], "'events' is given twice"),
        (["--goal", "wan", "--goal", "wan"], "the goal 'wan' is given twice"),
        (["--study", "lhcb"], "unknown study 'lhcb'"),
        (["--variant", "a=x.root", "--variant", "a=y.root"], "two variants are named 'a'"),
        (["--variant", "=x.root"], "is not NAME=FILE"),
        (["--columns", "no_such_column"], "no_such_column"),
    ],
)
def test_names_are_looked_at_before_anything_is_measured(
    tmp_path: Path, options: list[str], words: str
) -> None:
    report = tmp_path / "report.html"
    done = CliRunner().invoke(app, ["tune", str(SPLIT), "-o", str(report), *options])
    assert done.exit_code != 0
    message = " ".join(f"{done.output} {done.exception}".replace("│", " ").split())
    assert words in message
    assert not list(tmp_path.iterdir())


SPLIT = Path(__file__).parents[1] / "data" / "trees" / "split.root"


def test_layouts_are_written_and_read_in_processes_of_their_own(tmp_path: Path) -> None:
    point = Point("zstd:1", basket_size=4096, cluster_entries=7)
    sweep = Sweep("one", (point,), (ALL, Workload(branches=0.1)))
    with sapwood.open(SPLIT) as file:
        tree = next(iter(file.keys(filter_classname="TTree", cycle=False)))
        entries = file[tree].num_entries
    journal = Journal(tmp_path / "journal.jsonl", {})
    harness = Harness({"": SPLIT}, tree, tmp_path / "layouts", journal)
    assert harness.run([sweep], rounds=1)
    found = measured_points(journal.records.values())[point]
    assert not found.errors and found.is_whole
    assert found.writes[0]["entries"] == entries and found.writes[0]["clusters"] == -(-entries // 7)
    assert found.reads[ALL][0]["entries"] == entries and found.reads[ALL][0]["peak_bytes"] > 1e6
    assert found.reads[Workload(branches=0.1)][0]["branches"] < found.reads[ALL][0]["branches"]
    assert not list((tmp_path / "layouts").iterdir())
    # What is measured already is not measured again.
    assert harness.run([sweep], rounds=1) and harness._made == 3


def test_the_command_that_is_recommended_can_be_run(tmp_path: Path) -> None:
    target = tmp_path / "out.root"
    for point in (Point("zstd:1", 4096, cluster_entries=7), Point("none", cluster_bytes=2_000_000)):
        words = shlex.split(point.command(str(SPLIT), str(target)))
        done = CliRunner().invoke(app, [*words[1:], "--force"])
        assert done.exit_code == 0, done.output
        assert target.exists()


def test_a_failure_is_reported_and_measured_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl", {})
    harness = Harness({"": tmp_path / "gone.root"}, "tree", tmp_path / "layouts", journal)
    harness.run([Sweep("one", (TODAY,), (ALL,))], rounds=1)
    (found,) = measured_points(journal.records.values()).values()
    assert "gone.root" in found.errors[0] and not found.is_whole
    assert not Journal(tmp_path / "journal.jsonl", {}).records
