"""Reading over HTTP: right arrays, few round trips, deadlines, and no secrets in output."""

from __future__ import annotations

import contextlib
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import testkit
from report_sums import assert_adds_up
from same_arrays import assert_same_arrays

import sapwood
from sapwood import errors
from sapwood.report import timeline as _timeline

Serve = Callable[..., str]


@pytest.fixture
def serve(events_file: Path) -> Iterator[Serve]:
    """Serves the folder of the events over HTTP; takes the options of `sapwood-testkit serve`."""
    with contextlib.ExitStack() as stack:

        def start(*options: str) -> str:
            server = stack.enter_context(testkit.serving(events_file.parent, *options))
            return f"{server.url}/events.root"

        yield start


@pytest.mark.parametrize("behaviour", ["multi", "single", "single-first", "single-416", "ignore"])
def test_the_same_arrays_from_every_kind_of_server(serve: Serve, events_file: Path, behaviour: str) -> None:
    url = serve("--behaviour", behaviour)
    with sapwood.open(f"{url}:Events") as tree, sapwood.open(f"{events_file}:Events") as local:
        assert_same_arrays(local, tree)
        assert tree.file.report().unplanned_reads == 0
        assert_adds_up(tree.file.report())
        assert_adds_up(tree.file.report() + local.file.report())


def test_opening_and_reading_costs_few_round_trips(serve: Serve) -> None:
    with sapwood.open(f"{serve()}:Events") as tree:
        tree.arrays(["run", "met", "Muon_pt"], library="np")
        assert tree.file.report().round_trips <= 4
        again = tree.file.report()
        assert again.requests >= again.round_trips >= 1


def test_the_report_knows_the_server_and_when_nothing_was_in_flight(serve: Serve, tmp_path: Path) -> None:
    url = serve("--rtt-ms", "20")
    with sapwood.open(f"{url}:Events") as tree:
        time.sleep(0.2)
        tree.arrays(["run", "Jet_pt"], library="np")
        report = tree.file.report()
    assert list(report.by_server) == [url.split("/")[2]]
    assert report.unplanned_reads == 0
    first = report.timeline[0]
    assert first.asked == 0 and first.answered >= 0.02
    assert sum(fetched.nbytes for fetched in report.timeline) <= report.fetched_bytes
    report.save(tmp_path / "report.svg")
    assert url.split("/")[2] in (tmp_path / "report.svg").read_text()


def test_steps_over_http(serve: Serve) -> None:
    with sapwood.open(f"{serve()}:Events") as tree:
        runs = [run for step in tree.iterate("run", step_size=130, library="np") for run in step["run"]]
        assert runs == list(range(1000))


def test_many_files_over_http(serve: Serve) -> None:
    url = serve()
    assert len(sapwood.concatenate([f"{url}:Events"] * 6, "run", library="np")["run"]) == 6000
    assert pickle.loads(pickle.dumps(sapwood.open(f"{url}:Events"))).num_entries == 1000


def test_a_missing_file(serve: Serve) -> None:
    url = serve().replace("events", "nothing")
    with pytest.raises(FileNotFoundError) as caught:
        sapwood.open(url)
    assert caught.value.url == url


@pytest.mark.parametrize("secret", ["http://user:sesame@{}", "http://{}?token=sesame"])
def test_secrets_are_not_shown(serve: Serve, secret: str) -> None:
    url = secret.format(serve().removeprefix("http://"))
    with sapwood.open({url: "Events"}) as tree:
        shown: list[Any] = [
            tree.file.file_path,
            repr(tree),
            repr(tree.file),
            str(tree.file.report()),
            repr(tree.file.report()),
            tree.file.report().to_json(),
            _timeline.document(tree.file.report()),
            tree.object_path,
        ]
        for failing in (lambda: tree["x"], lambda: tree.file["x"], lambda: pickle.dumps(tree)):
            with pytest.raises(errors.SapwoodError) as caught:
                failing()
            shown += [str(caught.value), repr(caught.value), repr(vars(caught.value))]
        _, report = next(tree.iterate("run", report=True))
        shown.append(repr(report))
        assert not [text for text in shown if "sesame" in text]
    with pytest.raises(errors.SapwoodError) as caught:
        sapwood.open({url.replace("events", "nothing"): None})
    assert "sesame" not in str(caught.value) + repr(vars(caught.value))


def test_a_deadline_holds_where_a_server_never_answers(silent_server: str) -> None:
    url = f"http://{silent_server}/events.root"
    start = time.monotonic()
    with pytest.raises(errors.DeadlineError) as caught:
        sapwood.open(url, deadline=0.5)
    assert 0.4 < time.monotonic() - start < 4
    assert isinstance(caught.value, TimeoutError) and caught.value.url == url


def test_a_deadline_of_one_read(serve: Serve, events_file: Path) -> None:
    uproot = pytest.importorskip("uproot")
    with uproot.recreate(events_file.with_name("large.root"), compression=None) as file:
        for _ in range(2):
            file.mktree("t", {"x": "f8", "y": "f8"}).extend({"x": np.zeros(200_000), "y": np.zeros(200_000)})
    url = serve("--rtt-ms", "400").replace("events", "large")
    with sapwood.open(f"{url}:t") as tree:
        with pytest.raises(errors.DeadlineError):
            tree.arrays(library="np", deadline=0.1)
        assert len(tree["x"].array(library="np", deadline=30)) == 200_000


def test_narrow_windows_are_read_over_many_connections(tmp_path: Path) -> None:
    values = np.random.default_rng(3).random(1 << 20)
    with sapwood.recreate(tmp_path / "window.root", compression=None) as file:
        tree = file.mktree("t", {"x": "f8"})
        for part in np.split(values, 8):
            tree.extend({"x": part})
    with (
        testkit.serving(tmp_path) as server,
        testkit.proxying(server.url.removeprefix("http://"), "--rtt-ms", "20", "--window", "32768") as link,
    ):
        start = time.monotonic()
        with sapwood.open(f"http://{link.url}/window.root:t") as tree:
            np.testing.assert_array_equal(tree["x"].array(library="np"), values)
        # One connection carries 1.6 MB/s.
        assert time.monotonic() - start < 2.5
        assert 4 <= link.counts()["connections"] <= 64


@pytest.mark.parametrize("call", ["open(url, deadline=60)", "concatenate([url + ':t'] * 9, deadline=60)"])
def test_ctrl_c_ends_a_wait(silent_server: str, call: str) -> None:
    url = f"http://{silent_server}/events.root"
    code = f"""
        import sapwood, signal, sys
        # Jobs in the background of a shell, such as a whole test run may be, are started with Ctrl-C ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        # Python may lose a Ctrl-C that comes while it imports a module, as the first use of these names does.
        sapwood.open, sapwood.concatenate
        url = {url!r}
        print("ready", flush=True)
        try:
            sapwood.{call}
        except KeyboardInterrupt:
            sys.exit(7)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            start = time.monotonic()
            _, said = process.communicate(timeout=10)
        finally:
            process.kill()
    assert process.returncode == 7 and said == ""
    assert time.monotonic() - start < 8
