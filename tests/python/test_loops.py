"""Loops over many files: events, lazy arrays and steps, with losses counted and a place to go on from."""

from __future__ import annotations

import gc
import json
import random
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import testkit

import sapwood
from sapwood import Caching, Profile, errors, stripe
from sapwood.lazy.reader import LazyReader
from sapwood.opening.ahead import FilesAhead
from sapwood.options.paths import FileSpec
from sapwood.options.reading import OpenOptions

ak = pytest.importorskip("awkward")
uproot = pytest.importorskip("uproot")

FILES, CLUSTERS, CLUSTER = 4, 3, 200
ENTRIES = CLUSTERS * CLUSTER


def write(path: Path, first: int, types: dict[str, str], clusters: int = CLUSTERS) -> Path:
    """A file with a tree "Events": x counts from ``first`` on, n = x % 3, and y has n items."""
    with uproot.recreate(path, compression=uproot.ZSTD(3)) as file:
        tree = file.mktree("Events", types)
        # uproot has no word for it: a cluster ends after this many entries.
        tree._cascading._metadata["fAutoFlush"] = CLUSTER
        for cluster in range(clusters):
            x = np.arange(CLUSTER) + first + cluster * CLUSTER
            items = ak.unflatten(np.arange((x % 3).sum()) + 0.5, x % 3)
            values = {"x": x, "y": items, "z": -x, "run": np.full(CLUSTER, 7)}
            tree.extend({name: values[name] for name in types})
    return path


TYPES = {"x": "int64", "y": "var * float32", "z": "int32", "run": "uint32"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Files of 600 entries in three clusters, in which x counts from 0 to 2399."""
    folder = tmp_path_factory.mktemp("loops")
    return [str(write(folder / f"{i}.root", i * ENTRIES, TYPES)) for i in range(FILES)]


def damage(source: str, target: Path, cluster: int) -> str:
    """A copy of a file whose basket of x in a cluster is damaged."""
    with sapwood.open(f"{source}:Events") as tree:
        first, entries, offset, size, _ = tree["x"]._core.baskets()[cluster]
        assert (first, entries) == (cluster * CLUSTER, CLUSTER)
    content = bytearray(Path(source).read_bytes())
    # Behind the key and the header of the compressed block.
    content[offset + size - 40 : offset + size - 10] = b"\xff" * 30
    target.write_bytes(content)
    return str(target)


def by_steps(files: Any, **options: Any) -> tuple[list[int], sapwood.LoopReport]:
    loop = sapwood.iterate(files, ["x"], step_size=CLUSTER, library="np", **options)
    return [int(x) for step in loop for x in step["x"]], loop.report()


def by_events(files: Any, **options: Any) -> tuple[list[int], sapwood.LoopReport]:
    loop = sapwood.events(files, ["x"], **options)
    return [int(event.x) for event in loop], loop.report()


def by_event_chunks(files: Any, **options: Any) -> tuple[list[int], sapwood.LoopReport]:
    loop = sapwood.events(files, ["x"], **options)
    return [int(x) for chunk in loop.chunks() for x in chunk.x], loop.report()


def by_lazy_arrays(files: Any, **options: Any) -> tuple[list[int], sapwood.LoopReport]:
    loop = sapwood.lazy(files, ["x"], **options)
    return [int(x) for chunk in loop for x in chunk.x], loop.report()


Way = Callable[..., tuple[list[int], sapwood.LoopReport]]
WAYS: list[Way] = [by_steps, by_events, by_event_chunks, by_lazy_arrays]
every_way = pytest.mark.parametrize("way", WAYS)


@every_way
def test_many_files_are_one(way: Way, files: list[str]) -> None:
    found, report = way([f"{file}:Events" for file in files])
    assert found == list(range(FILES * ENTRIES))
    assert (report.files, report.done_files, report.entries, report.lost) == (4, 4, 2400, ())
    assert report.fetched_bytes > 0 and report.seconds >= report.wait_seconds > 0
    assert "2,400 entries of 4 of 4 files" in str(report)


@pytest.mark.parametrize("loop", [sapwood.events, sapwood.lazy])
def test_a_field_of_all_files_names_what_to_use(loop: Any, files: list[str]) -> None:
    with pytest.raises(TypeError, match=r"'MET_pt': .* sapwood\.concatenate"):
        loop(files)["MET_pt"]
    with pytest.raises(AttributeError, match=r"'MET_pt': .* sapwood\.concatenate"):
        _ = loop(files).MET_pt


@every_way
def test_files_of_all_kinds_are_mixed(way: Way, files: list[str], tmp_path: Path) -> None:
    stripe.create(tmp_path / "dataset", f"{files[1]}:Events")
    with sapwood.open(f"{files[3]}:Events") as tree:
        found, _ = way(
            [
                {files[0]: {"object_path": "Events", "steps": [[0, 10], [590, 700], [5, 6]]}},
                tmp_path / "dataset",
                str(Path(files[2]).with_name("[2].root")),
                Path(files[2]).read_bytes(),
                tree,
            ]
        )
        assert found == [*range(10), *range(590, 600), 5, *range(600, 1800), *range(1200, 2400)]
        assert not tree.file.closed


def test_events_have_the_values_of_arrays(files: list[str]) -> None:
    arrays = sapwood.concatenate(files, ["x", "y", "z"])
    loop = sapwood.events(files)
    count = 0
    for count, event in enumerate(loop, 1):
        expected = arrays[count - 1]
        assert (event.x, event["z"], event.y.tolist()) == (expected.x, expected.z, expected.y.to_list())
        assert isinstance(event.x, np.int64) and event.y.dtype == np.float32
        assert event.entry == (count - 1) % ENTRIES and loop.tree is not None
        if count % 500 == 0:
            assert event.run == 7
            with pytest.raises(AttributeError):
                event.x = 5
            with pytest.raises(AttributeError, match="did you mean"):
                _ = event.runs
    assert count == 2400 and loop.tree is None
    with pytest.raises(errors.UsageError, match="used once"):
        iter(loop)


def test_chunks_of_events_have_whole_arrays(files: list[str]) -> None:
    arrays = sapwood.concatenate(files, ["x", "y"])
    parts = []
    for chunk in sapwood.events(files).chunks():
        assert isinstance(chunk.x, np.ndarray) and isinstance(chunk.y, ak.Array)
        assert "x" in chunk and "w" not in chunk and {"x", "entries"} <= set(dir(chunk))
        assert chunk.x[0] % ENTRIES == chunk.entries[0] and len(chunk) == len(chunk["y"])
        with pytest.raises(ValueError, match="read-only"):
            chunk.x[0] = 1
        parts.append(chunk.y)
    assert ak.array_equal(ak.concatenate(parts), arrays.y)
    with sapwood.open(f"{files[0]}:Events") as tree:
        chunks = tree.events()[[5, 3, 599]].chunks()
        assert [x for chunk in chunks for x in chunk.x.tolist()] == [5, 3, 599]


@every_way
def test_a_damaged_file_ends_the_loop(way: Way, files: list[str], tmp_path: Path) -> None:
    broken = damage(files[1], tmp_path / "broken.root", 1)
    with pytest.raises(errors.CorruptFileError, match="broken"):
        way([files[0], broken, files[2]])
    with pytest.raises(errors.FileNotFoundError):
        way([files[0], str(tmp_path / "nothing.root"), files[2]])


@every_way
def test_lost_entries_are_counted(way: Way, files: list[str], tmp_path: Path) -> None:
    broken, missing = damage(files[1], tmp_path / "broken.root", 1), str(tmp_path / "nothing.root")
    (tmp_path / "text.root").write_text("this is not a ROOT file" * 100)
    with pytest.warns(errors.FileSkippedWarning) as said:
        found, report = way([files[0], broken, missing, tmp_path / "text.root", files[3]], on_error="skip")
    assert len(said) == 3
    lost = [(Path(one.file_path).name, one.entries, one.code) for one in report.lost]
    assert lost[1:] == [("nothing.root", None, "not-found"), ("text.root", None, "not-root")]
    assert lost[0][0] == "broken.root" and lost[0][2] == "corrupt"
    assert report.lost_entries == lost[0][1] and report.unknown_files == 2
    # Windows may be longer than clusters, and what was read of the file is not given twice.
    assert report.entries == len(found) == 3 * ENTRIES - report.lost_entries
    assert found[:ENTRIES] == list(range(600)) and found[-ENTRIES:] == list(range(1800, 2400))
    assert found[ENTRIES:-ENTRIES] == list(range(600, 1200 - report.lost_entries))
    assert report.done_files == 5 and "lost" in str(report) and "nothing.root" in str(report)
    assert json.loads(json.dumps(report.to_dict()))["unknown_files"] == 2
    if way is by_steps:
        assert report.lost_entries == 2 * CLUSTER


def test_mistakes_are_no_losses(files: list[str]) -> None:
    with pytest.raises(errors.KeyInFileError):
        by_steps([f"{file}:Nothing" for file in files], on_error="skip")
    with pytest.raises(errors.UsageError, match="on_error"):
        sapwood.iterate(files, on_error="ignore")
    with pytest.raises(TypeError, match="progress"):
        sapwood.iterate(files, progress=1)
    with pytest.raises(TypeError, match="resume"):
        sapwood.events(files, resume=5)


def test_another_replica_is_read_before_anything_is_lost(files: list[str], tmp_path: Path) -> None:
    folder = f"{Path(files[0]).parent}/"
    found, report = by_events(
        [f"{tmp_path}/{i}.root" for i in range(FILES)],
        on_error="skip",
        replicas={f"{tmp_path}/": [folder]},
    )
    assert found == list(range(2400)) and report.lost == ()


@pytest.fixture
def schemas(files: list[str], tmp_path: Path) -> list[str]:
    """A file as the others, one that lacks z and has w, and one with another type of z."""
    return [
        files[0],
        str(write(tmp_path / "b.root", 600, {"x": "int64", "y": "var * float32", "run": "uint32"})),
        str(write(tmp_path / "c.root", 1200, {**TYPES, "z": "float64"})),
    ]


def test_schemas_may_differ(schemas: list[str]) -> None:
    loop = sapwood.events(schemas)
    kinds = set()
    for event in loop:
        kinds.add(type(event.x if "z" not in event else event.z).__name__)
    assert kinds == {"int32", "int64", "float64"}
    report = loop.report()
    assert list((report.schemas or {}).values()) == [1, 1, 1]
    without, retyped = report.differences
    assert "b.root" in without and "lacks 'z'" in without
    assert "c.root" in retyped and "has 'z' as double, not int32_t" in retyped
    assert "3 schemas" in str(report)


def test_a_file_without_a_column(schemas: list[str]) -> None:
    with pytest.raises(AttributeError, match=r"b\.root"):
        for event in sapwood.events(schemas):
            _ = event.z
    for make in (sapwood.events, sapwood.lazy):
        with pytest.raises(errors.KeyInFileError, match=r"b\.root"):
            list(make(schemas, ["z"]))
        loop = make(schemas, ["z"], allow_missing=True)
        assert sum(1 if make is sapwood.events else len(one) for one in loop) == 1200
        assert (loop.report().missing_files, loop.report().lost) == (1, ())
    assert len(sapwood.concatenate(schemas, ["z"], allow_missing=True)) == 1200


@every_way
def test_a_loop_is_resumed(way: Way, files: list[str], tmp_path: Path) -> None:
    place = tmp_path / "loop.json"
    found, report = way(files, resume=place)
    assert found == list(range(2400)) and json.loads(place.read_text())["file"] == 4
    again, report = way(files, resume=place)
    assert again == [] and report.entries == 2400
    place.write_text(place.read_text().replace('"file": 4', '"file": 2').replace('"done": 0', '"done": 250'))
    with pytest.raises(errors.FileChangedError, match="start again"):
        way(files, resume=place)


def test_a_loop_goes_on_within_a_window(files: list[str], tmp_path: Path) -> None:
    place, found, runs = tmp_path / "loop.json", [], 0
    while len(found) < 2400:
        loop = sapwood.events(files, resume=place)
        runs += 1
        for count, event in enumerate(loop, 1):
            found.append(int(event.x))
            if count == 37 * runs:
                loop.save()
                break
        loop.close()
    assert found == list(range(2400)) and runs > 5


def test_the_state_is_kept_with_the_position(files: list[str], tmp_path: Path) -> None:
    place = tmp_path / "loop.json"
    with sapwood.iterate(files, ["x"], step_size=250, resume=place) as loop:
        for number, step in enumerate(loop):
            if number == 5:
                break
            loop.state["sum"] = loop.state.get("sum", 0) + int(ak.sum(step.x))
    # The step that was left is done again.
    loop = sapwood.iterate(files, ["x"], step_size=100, resume=place)
    assert loop.report().entries == 1100 and loop.state["sum"] < 2400 * 2399 // 2
    for step in loop:
        loop.state["sum"] += int(ak.sum(step.x))
    assert loop.state["sum"] == 2400 * 2399 // 2
    loop = sapwood.iterate(files, ["x"], resume=tmp_path / "other.json")
    with pytest.raises(errors.UsageError, match="cannot be stored"):
        for step in loop:
            loop.state["step"] = step


def test_a_checkpoint_needs_a_directory(files: list[str], tmp_path: Path) -> None:
    with pytest.raises(sapwood.errors.FileNotFoundError, match=r"there is no directory .*; create it first"):
        sapwood.iterate(files, resume=tmp_path / "nowhere" / "loop.json")
    with pytest.raises(sapwood.errors.UsageError, match="is a directory"):
        sapwood.iterate(files, resume=tmp_path)


def test_a_checkpoint_must_fit(files: list[str], tmp_path: Path) -> None:
    place = tmp_path / "loop.json"
    by_steps(files, resume=place)
    with pytest.raises(errors.UsageError, match="other files"):
        by_steps(files[:3], resume=place)
    for text in ("{}", "[1, 2", '{"format": "sapwood loop", "version": 99}'):
        place.write_text(text)
        with pytest.raises(errors.UsageError, match="cannot resume from"):
            by_steps(files, resume=place)
        assert place.read_text() == text
    with pytest.raises(errors.UsageError, match="checkpoint"):
        sapwood.iterate(files, resume=tmp_path / "loop.root")


JOB = """
import sys, time, sapwood
kind, place, steps, *files = sys.argv[1:]

def tell(step):
    # The loop does one more step after the one that it is killed at: the kill hits that step, or the sleep.
    print(step, flush=True)
    if step > int(steps):
        time.sleep(120)

if kind == "iterate":
    loop = sapwood.iterate(files, ["x"], step_size=70, library="np", resume=place)
    for number, step in enumerate(loop):
        loop.state.setdefault("x", []).extend(step["x"].tolist())
        tell(number)
else:
    loop = sapwood.events(files, resume=place)
    for number, event in enumerate(loop):
        loop.state.setdefault("x", []).append(int(event.x))
        if number % 41 == 40:
            loop.save()
            tell(number // 41)
print("done")
"""


@pytest.mark.parametrize("kind", ["iterate", "events"])
def test_a_killed_loop_reads_every_entry_once(kind: str, files: list[str], tmp_path: Path) -> None:
    place, moments = tmp_path / "loop.json", random.Random(5)

    def command(steps: int) -> list[str]:
        return [sys.executable, "-c", JOB, kind, str(place), str(steps), *files]

    for _ in range(10):
        steps = moments.randint(0, 2)
        with subprocess.Popen(command(steps), stdout=subprocess.PIPE, text=True) as job:
            assert job.stdout is not None
            for line in job.stdout:
                if int(line) == steps:
                    time.sleep(moments.uniform(0, 0.004))
                    break
            assert job.poll() is None
            job.kill()
    before = json.loads(place.read_text())["state"]["x"]
    assert before == list(range(len(before))) and 0 < len(before) < 2400
    last = subprocess.run(command(100), capture_output=True, text=True, check=True)
    assert last.stdout.endswith("done\n")
    assert json.loads(place.read_text())["state"]["x"] == list(range(2400))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[testkit.Running, list[str]]]:
    """A server of files of one cluster with 30 columns each, and their URLs."""
    folder = tmp_path_factory.mktemp("served")
    names = [f"c{i:02}" for i in range(30)]
    for number in range(6):
        with uproot.recreate(folder / f"{number}.root", compression=None) as file:
            values = {name: np.random.default_rng(i).random((500, 100)) for i, name in enumerate(names)}
            file.mktree("Events", dict.fromkeys(names, ("f8", (100,)))).extend(values)
    with testkit.serving(folder, "--rtt-ms", "2") as server:
        yield server, [f"{server.url}/{number}.root:Events" for number in range(6)]


def test_the_columns_in_use_are_carried_over(served: tuple[testkit.Running, list[str]]) -> None:
    _, urls = served
    loop, uses, reports = sapwood.events(urls), [], []
    for event in loop:
        assert event.c03.shape == event.c17.shape == (100,)
        if event.entry == 499 and loop.tree is not None:
            reports.append(loop.tree.file.report())
            uses.append(reports[-1].lazy[-1])
    # The first file teaches: its first window is fetched with all columns. The others are read at once.
    assert uses[0].kinds["startup"].fetches == 1
    for use, report in zip(uses[1:], reports[1:], strict=True):
        assert set(use.columns) == {"c03", "c17"} and use.total_fetches == 1 and use.wasted_bytes == 0
        assert report.fetched_bytes < 0.2 * report.size
        assert report.round_trips <= reports[0].round_trips


def test_a_column_of_later_files_is_found(served: tuple[testkit.Running, list[str]]) -> None:
    _, urls = served
    profile = Profile()
    sums = [0.0, 0.0]
    loop = sapwood.events(urls, profile=profile)
    for event in loop:
        sums[0] += float(event.c01[0])
        if loop.report().done_files >= 2 and event.entry % 100 == 5:
            sums[1] += float(event.c09[0])
    assert sums[0] == pytest.approx(6 * np.random.default_rng(1).random((500, 100))[:, 0].sum())
    assert sums[1] == pytest.approx(4 * np.random.default_rng(9).random((500, 100))[5::100, 0].sum())
    [use] = profile.trees
    assert set(use.columns) == {"c01", "c09"}


def test_columns_that_come_into_use_late_in_a_file_are_waited_for_once(
    served: tuple[testkit.Running, list[str]],
) -> None:
    """The next files are prepared before: they were read column by column."""
    _, urls = served
    rare, sums, trips = [f"c{i:02}" for i in range(10, 20)], [0.0] * 10, []
    loop = sapwood.events(urls)
    for event in loop:
        assert event.c03.shape == (100,)
        if event.entry % 100 == 70:
            sums = [total + float(event[name][0]) for total, name in zip(sums, rare, strict=True)]
        if event.entry == 499 and loop.tree is not None:
            trips.append(loop.tree.file.report().round_trips)
    values = [np.random.default_rng(i).random((500, 100))[70::100, 0] for i in range(10, 20)]
    assert sums == pytest.approx([6 * each.sum() for each in values])
    # Opening, the columns in use at the begin of the first file, and the others together.
    assert max(trips[1:]) <= 4
    assert loop.report().wait_seconds > 0


def test_columns_that_come_into_use_late_are_read_before_the_turn_of_the_next_file(
    served: tuple[testkit.Running, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, urls = served
    rare, touched = {f"c{i:02}" for i in range(10, 20)}, []
    touch = LazyReader.touch

    def noted(self: LazyReader, names: Iterable[str], window: int) -> None:
        if set(names) == rare:
            touched.append((self.tree.file.file_path, threading.current_thread().name))
        touch(self, names, window)

    monkeypatch.setattr(LazyReader, "touch", noted)
    total = 0.0
    for event in sapwood.events(urls[:2], caching=Caching(startup_entries=100)):
        assert event.c03.shape == (100,)
        if event.entry == 50:
            time.sleep(0.3)  # The next file is prepared.
        if event.entry % 100 == 70:
            total += sum(float(event[name][0]) for name in rare)
        if event.entry == 150:
            time.sleep(0.3)
    values = [np.random.default_rng(i).random((500, 100))[70::100, 0] for i in range(10, 20)]
    assert total == pytest.approx(2 * sum(each.sum() for each in values))
    assert touched == [(urls[1].removesuffix(":Events"), "sapwood-background")]


def test_few_files_are_open_at_once(files: list[str]) -> None:
    specs = [FileSpec(files[0])] * 40
    most = 0
    ahead = FilesAhead(specs, OpenOptions())
    for file in ahead:
        assert file.source.tree.num_entries == 600
        most = max(most, len(ahead.following))
    assert 1 <= most <= 15
    slow = FilesAhead(specs, OpenOptions())
    for number, file in enumerate(slow):
        _ = file.source
        time.sleep(0.02)
        assert number < 3 or len(slow.following) <= 3


def test_a_loop_that_is_left_closes_its_files(files: list[str]) -> None:
    for make in (sapwood.events, sapwood.lazy, lambda files: sapwood.iterate(files, ["x"])):
        loop = make(files)
        for _ in loop:
            break
        file = loop.tree.file
        assert not file.closed
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            del loop, _
            gc.collect()
        assert file.closed


def test_what_you_keep_of_a_loop_reads_on(files: list[str]) -> None:
    first = sapwood.open(files[0])["Events"].arrays(["x"]).x
    assert next(iter(sapwood.events(files))).x == first[0]
    assert next(sapwood.lazy(files)).x[0] == first[0]
    assert next(sapwood.events(files).chunks()).x[0] == first[0]
    for event in sapwood.events(files):
        if event.entry == 5:
            break
    assert event.x == first[5]
    kept = [event for event in sapwood.events(files) if event.entry == 7]
    values = sapwood.concatenate(files, ["x"]).x
    assert [event.x for event in kept] == [values[7 + i * ENTRIES] for i in range(FILES)]


def test_files_close_with_the_last_of_what_you_keep(files: list[str]) -> None:
    loop = sapwood.events(files[:1] * 40)
    kept, opened = [], []
    for event in loop:
        if event.entry == 0:
            kept.append(event)
            opened.append(loop.tree.file)
    del event
    gc.collect()
    assert [file.closed for file in opened] == [True] * 25 + [False] * 15
    with pytest.raises(errors.ClosedFileError, match="open it again"):
        _ = kept[0].x
    del kept[30]
    gc.collect()
    assert [file.closed for file in opened[25:]] == [i == 5 for i in range(15)]
    loop.close()
    assert all(file.closed for file in opened)


def test_a_loop_shows_how_far_it_is(files: list[str]) -> None:
    loop = sapwood.lazy(files)
    assert repr(loop) == "<FileChunks: 0 of 4 files, 0 entries done>"
    for _ in loop:
        pass
    assert repr(loop) == "<FileChunks: 4 of 4 files, 2,400 entries done>"


def test_progress_is_shown(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for _ in sapwood.events(files, progress=True):
        pass
    assert "4/4 files, 2,400 entries" in capsys.readouterr().err
    by_steps(files)
    assert capsys.readouterr().err == ""


def test_modules_do_not_hide_the_functions(files: list[str]) -> None:
    import sapwood.events

    import sapwood.lazy.events

    assert callable(sapwood.events) and callable(sapwood.lazy)
    assert len(list(sapwood.events(files[:1]))) == 600
