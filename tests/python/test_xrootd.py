"""Reading over root:// from real servers: right arrays, few round trips, deadlines, typed errors."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import testkit
import xrootd_server
from numpy.testing import assert_array_equal
from report_sums import assert_adds_up
from same_arrays import assert_same_arrays
from testkit import Running
from timing import within

import sapwood
from sapwood import _core, errors

SHIMS = list(Path(_core.__file__ or "").parent.glob("_xrdcl*.so"))
NEEDED = xrootd_server.missing() or (None if SHIMS else "no XRootD client (make servers build)")
# What is said without the client is in test_xrootd_missing.py.
pytestmark = pytest.mark.skipif(NEEDED is not None, reason=f"root:// is not tested: {NEEDED}")

ENTRIES = 800_000


@pytest.fixture(scope="module")
def folder(events_file: Path) -> Iterator[Path]:
    """The events and a larger file, where the servers' own user can read them."""
    uproot = pytest.importorskip("uproot")
    with tempfile.TemporaryDirectory(prefix="sapwood-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copyfile(events_file, folder / "events.root")
        with uproot.recreate(folder / "large.root", compression=None) as file:
            tree = file.mktree("t", {"x": "f8", "y": "f8", "z": "f4"})
            for start in (0, ENTRIES // 2):
                values = np.arange(start, start + ENTRIES // 2, dtype="f8")
                tree.extend({"x": values, "y": -values, "z": values.astype("f4")})
            # Its class descriptions go to the end of the file, as do those of files that ROOT writes.
            file["histogram"] = np.histogram(np.arange(10))
        yield folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[xrootd_server.Server]:
    with xrootd_server.data_server(folder) as server:
        yield server


@pytest.fixture
def own_server(folder: Path) -> Iterator[Callable[..., xrootd_server.Server]]:
    """Starts servers that a test may ill-treat."""
    with contextlib.ExitStack() as stack:
        yield lambda **settings: stack.enter_context(xrootd_server.data_server(folder, **settings))


@pytest.fixture
def far(server: xrootd_server.Server) -> Iterator[Callable[..., Running]]:
    """The server behind a link; takes the options of `sapwood-testkit proxy`."""
    with testkit.proxies(f"127.0.0.1:{server.port}", "root://{}/") as start:
        yield start


def run(code: str, *, seconds: float, **environment: str) -> str:
    """What a fresh process prints."""
    finished = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=seconds,
        env={**os.environ, **environment},
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.strip()


def test_the_same_arrays_as_from_disk(server: xrootd_server.Server, folder: Path) -> None:
    url = f"{server.url}//events.root"
    with sapwood.open(f"{url}:Events") as tree, sapwood.open(f"{folder}/events.root:Events") as local:
        assert_same_arrays(local, tree)
        report = tree.file.report()
        assert report.unplanned_reads == 0
        assert list(report.by_server) == [url.split("/")[2]]
        assert_adds_up(report)
        assert tree.file.file_path == url


def test_opening_and_three_columns_take_six_round_trips(far: Callable[..., Running]) -> None:
    link = far("--rtt-ms", "240")
    code = f"""
        import sapwood
        from urllib.request import urlopen
        with sapwood.open("{link.url}/large.root:t") as tree:
            tree.arrays(["x", "y", "z"], library="np")
            print(tree.file.report().round_trips)
            print(urlopen("{link.control}/__stats__").read().decode())
    """
    reported, counted = run(code, seconds=60).splitlines()
    counts = json.loads(counted)
    # The link does not count the handshake of TCP, which costs a round trip, too.
    assert counts["round_trips"] + counts["connections"] == 6
    assert int(reported) == 3  # open, head and tail, columns


def test_connections_are_added_while_they_gain_something(far: Callable[..., Running], folder: Path) -> None:
    values = np.random.default_rng(3).random(1 << 20)
    with sapwood.recreate(folder / "window.root", compression=None) as file:
        tree = file.mktree("t", {"x": "f8"})
        for part in np.split(values, 8):
            tree.extend({"x": part})
    seconds: dict[str, float] = {}
    connections: dict[str, int] = {}
    for name, fixed in (("one", {"SAPWOOD_ROOT_CONNECTIONS": "1"}), ("by need", {})):
        link = far("--rtt-ms", "20", "--window", "32768")
        code = f"""
            import sapwood, time
            begin = time.perf_counter()
            with sapwood.open("{link.url}/window.root:t") as tree:
                print(float(tree["x"].array(library="np").sum()))
            print(time.perf_counter() - begin)
        """
        total, seconds[name] = map(float, run(code, seconds=60, **fixed).split())
        assert total == pytest.approx(values.sum())
        connections[name] = link.counts()["connections"]
    # One carries 1.6 MB/s.
    assert seconds["one"] > 4
    assert seconds["by need"] < seconds["one"] / 2
    assert connections["one"] == 1 and 4 <= connections["by need"] <= 16
    (folder / "window.root").unlink()


def test_large_remote_reads_use_several_connections(far: Callable[..., Running], folder: Path) -> None:
    uproot = pytest.importorskip("uproot")
    values = np.arange(8 << 20, dtype="f8")
    with uproot.recreate(folder / "much.root", compression=None) as file:
        tree = file.mktree("t", {"x": "f8"})
        for part in np.split(values, 8):
            tree.extend({"x": part})
    link = far("--rtt-ms", "20", "--mbit", "2000")
    with sapwood.open(f"{link.url}/much.root:t") as tree:
        tree.arrays(["x"], library="np", entry_stop=1 << 20)
        assert link.counts()["connections"] == 1, "8 MB are little"
        # Connections come up while others carry what was asked for, on a busy machine later.
        for turn in range(20):
            assert_array_equal(tree.arrays(["x"], library="np")["x"], values)
            if turn >= 3 and link.counts()["connections"] >= 2:
                break
        assert 2 <= link.counts()["connections"] <= 4
        assert tree.file.report().retries == 0
    (folder / "much.root").unlink()


def test_limits_of_vector_reads_are_the_server_s(own_server: Callable[..., xrootd_server.Server]) -> None:
    def ranges(server: xrootd_server.Server) -> int:
        with sapwood.open(f"{server.url}//large.root:t", deadline=30) as tree:
            before = tree.file.report().ranges
            assert_array_equal(tree["x"].array(library="np"), np.arange(ENTRIES, dtype="f8"))
            return tree.file.report().ranges - before

    usual, large = own_server(), own_server(settings="xrd.buffers maxbsz 8m\n")
    # On a busy machine a server may seem far away: what is read from there comes in batches, in more ranges.
    assert any(ranges(usual) == 4 for _ in range(5))  # two baskets of 3.2 MB, where 2 MB fit in a chunk
    assert any(ranges(large) == 2 for _ in range(5))


def test_a_missing_file(server: xrootd_server.Server) -> None:
    url = f"{server.url}//nothing.root"
    with pytest.raises(FileNotFoundError) as caught:
        sapwood.open(url)
    assert caught.value.url == url


def test_files_without_read_permission(server: xrootd_server.Server, folder: Path) -> None:
    (folder / "secret.root").write_bytes(b"root")
    (folder / "secret.root").chmod(0)
    with pytest.raises(PermissionError):
        sapwood.open(f"{server.url}//secret.root")


def test_directories_and_relative_paths_are_reported(server: xrootd_server.Server, folder: Path) -> None:
    (folder / "sub.root").mkdir(mode=0o755, exist_ok=True)
    with pytest.raises(errors.UsageError):
        sapwood.open(f"{server.url}//sub.root")
    with pytest.raises(errors.SapwoodError, match="two slashes after the host"):
        sapwood.open(f"{server.url}/events.root")


def test_a_wrong_port_is_reported_at_once() -> None:
    with within(8), pytest.raises(errors.NetworkError):
        sapwood.open(f"root://127.0.0.1:{xrootd_server.free_port()}//f.root")


def test_an_unknown_host_is_reported() -> None:
    with within(20), pytest.raises(errors.NetworkError):
        sapwood.open("root://no-such-host.invalid//f.root", deadline=15)


def test_a_deadline_holds_where_a_server_never_answers(silent_server: str) -> None:
    url = f"root://{silent_server}//events.root"
    with within(4), pytest.raises(errors.DeadlineError) as caught:
        sapwood.open(url, deadline=1)
    assert isinstance(caught.value, TimeoutError) and caught.value.url == url


def test_a_deadline_holds_where_answers_stop(far: Callable[..., Running]) -> None:
    link = far("--stall-after", "600000")
    with sapwood.open(f"{link.url}/large.root:t") as tree, within(4), pytest.raises(errors.DeadlineError):
        tree.arrays(library="np", deadline=1)


def test_a_deadline_holds_where_a_server_stands_still(
    own_server: Callable[..., xrootd_server.Server],
) -> None:
    server = own_server()
    with sapwood.open(f"{server.url}//large.root:t") as tree:
        for process in server.processes:
            process.send_signal(signal.SIGSTOP)
        try:
            with within(4), pytest.raises(errors.DeadlineError):
                tree["x"].array(library="np", deadline=1)
        finally:
            for process in server.processes:
                process.send_signal(signal.SIGCONT)
        assert len(tree["y"].array(library="np", deadline=30)) == ENTRIES


def test_broken_answers_are_requested_again_and_then_reported(far: Callable[..., Running]) -> None:
    link = far("--close-after", "600000")
    with sapwood.open(f"{link.url}/large.root:t") as tree, within(20), pytest.raises(errors.NetworkError):
        tree.arrays(library="np", deadline=18)
    assert link.counts()["connections"] >= 4


def test_a_server_that_died_is_reported(own_server: Callable[..., xrootd_server.Server]) -> None:
    server = own_server()
    with sapwood.open(f"{server.url}//large.root:t") as tree:
        server.kill()
        with within(11), pytest.raises((errors.NetworkError, errors.DeadlineError)):
            tree.arrays(library="np", deadline=10)


def test_a_server_that_comes_back_is_found(folder: Path) -> None:
    port = xrootd_server.free_port()
    with xrootd_server.data_server(folder, port=port) as server:
        tree = sapwood.open(f"{server.url}//large.root:t")
        server.kill()
    with xrootd_server.data_server(folder, port=port):
        assert len(tree["x"].array(library="np", deadline=30)) == ENTRIES
    tree.file.close()


def test_a_file_that_changes_is_reported(server: xrootd_server.Server, folder: Path) -> None:
    path = folder / "changing.root"
    shutil.copyfile(folder / "large.root", path)
    with sapwood.open(f"{server.url}//changing.root:t") as tree:
        with open(path, "r+b") as file:
            file.seek(ENTRIES * 8)
            file.write(b"other")
        os.utime(path, (1, 1))
        with pytest.raises(errors.FileChangedError):
            tree.arrays(library="np")


def test_a_redirector_leads_to_the_servers(folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="sapwood-") as name:
        other = Path(name)
        other.chmod(0o755)
        (other / "more").mkdir(mode=0o755)
        shutil.copyfile(folder / "events.root", other / "more" / "b.root")
        (folder / "more").mkdir(mode=0o755, exist_ok=True)
        shutil.copyfile(folder / "events.root", folder / "more" / "a.root")
        with xrootd_server.redirector([folder, other]) as head:
            for file in ("a.root", "b.root"):
                with sapwood.open(f"{head.url}//more/{file}:Events", deadline=60) as tree:
                    assert tree.num_entries == 1000
                    assert tree.file.file_path == f"{head.url}//more/{file}"
                    # The data server, not the redirector.
                    assert head.url.split("/")[2] not in tree.file.report().by_server
            both = sapwood.concatenate(f"{head.url}//more/*.root:Events", "run", library="np", deadline=60)
            assert len(both["run"]) == 2000
        with within(4), pytest.raises(errors.SapwoodError):
            sapwood.open(f"{head.url}//more/a.root", deadline=3)


def test_a_server_that_says_wait_is_left_at_the_deadline() -> None:
    with xrootd_server.redirector([]) as head, within(3), pytest.raises(errors.DeadlineError):
        sapwood.open(f"{head.url}//f.root", deadline=2)


def test_globs(server: xrootd_server.Server, folder: Path) -> None:
    for name in ("g/one/a1.root", "g/one/a2.root", "g/two/a3.root", "g/two/b.txt"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / "events.root", path)
    for directory in (folder / "g").glob("*"):
        directory.chmod(0o755)

    def entries(pattern: str) -> list[str]:
        found = sapwood.num_entries(f"{server.url}{pattern}:Events", deadline=30)
        return [path.removeprefix(server.url) for path, _, _ in found]

    assert entries("//g/*/a[13].root") == ["//g/one/a1.root", "//g/two/a3.root"]
    assert entries("//g/{two,one}/a*.root") == ["//g/two/a3.root", "//g/one/a1.root", "//g/one/a2.root"]
    with pytest.raises(FileNotFoundError):
        entries("//g/*/c*.root")
    with pytest.raises(FileNotFoundError):
        entries("//nowhere/*.root")


def test_secrets_are_not_shown(server: xrootd_server.Server) -> None:
    url = f"{server.url}//events.root?authz=sesame"
    with sapwood.open({url: "Events"}) as tree:
        shown = [tree.file.file_path, repr(tree), repr(tree.file), str(tree.file.report())]
    with pytest.raises(errors.SapwoodError) as caught:
        sapwood.open({url.replace("events", "nothing"): None})
    shown += [str(caught.value), repr(caught.value), repr(vars(caught.value))]
    assert not [text for text in shown if "sesame" in text]


def test_the_end_of_the_process_closes_files_and_does_not_hang(
    server: xrootd_server.Server, far: Callable[..., Running]
) -> None:
    stalled = far("--stall-after", "600000")
    code = """
        import sapwood
        tree = sapwood.open("{}:t")
        try:
            print(len(tree["x"].array(library="np", deadline=1)))
        except sapwood.errors.DeadlineError:
            print("late")
    """
    assert run(code.format(f"{server.url}//large.root"), seconds=10) == str(ENTRIES)
    assert run(code.format(f"{stalled.url}/large.root"), seconds=10) == "late"


def test_a_forked_process_reads_on_its_own(server: xrootd_server.Server) -> None:
    code = f"""
        import os, sapwood
        url = "{server.url}//large.root:t"
        tree = sapwood.open(url)
        first = tree["x"].array(library="np")
        if (child := os.fork()) == 0:
            fresh = sapwood.open(url, deadline=20)["x"].array(library="np")
            os._exit(0 if (fresh == first).all() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert (tree["y"].array(library="np") == -first).all()
        print("both")
    """
    assert run(code, seconds=60) == "both"


def test_many_threads_read_one_file(server: xrootd_server.Server) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with sapwood.open(f"{server.url}//large.root:t") as tree, ThreadPoolExecutor(8) as pool:
        starts = range(0, ENTRIES, ENTRIES // 32)
        parts = pool.map(
            lambda start: tree["x"].array(entry_start=start, entry_stop=start + 100, library="np"), starts
        )
        assert [part[0] for part in parts] == list(starts)
