"""Inputs of the Python tests: small files that uproot writes, and real files, if the corpus is there."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import postgres_server
import pytest
import root_peer
import s3_server

REPOSITORY = Path(__file__).resolve().parents[2]
CORPUS = Path(os.environ.get("SAPWOOD_CORPUS", REPOSITORY.parent / "shared" / "corpus"))
# As `make test-python` builds it.
os.environ.setdefault("SAPWOOD_TESTKIT", str(REPOSITORY / "target" / "debug" / "sapwood-testkit"))


@pytest.fixture(scope="session")
def events_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,000 entries in four clusters: flat, jagged, fixed-size and text branches, and a directory."""
    ak = pytest.importorskip("awkward")
    uproot = pytest.importorskip("uproot")
    random = np.random.default_rng(1)
    path = tmp_path_factory.mktemp("files") / "events.root"
    with uproot.recreate(path, compression=uproot.ZSTD(3)) as file:
        types = {
            "run": "uint32",
            "met": "float32",
            "weight": "float64",
            "isGood": "bool",
            "Muon": "var * {pt: float32, eta: float32, charge: int32}",
            "Jet_pt": "var * float64",
            "vertex": ("f8", (3,)),
            "name": "string",
        }
        tree = file.mktree("Events", types, title="the events")
        small = file.mktree("dir/sub/Runs", {"run": "int64"}, title="the runs")
        for cluster in range(4):
            counts, jets = random.integers(0, 4, 250), random.integers(0, 3, 250)
            total = int(counts.sum())
            muons = ak.zip(
                {
                    "pt": random.exponential(20, total).astype("f4"),
                    "eta": random.normal(0, 1.5, total).astype("f4"),
                    "charge": random.choice(np.array([-1, 1], dtype="i4"), total),
                }
            )
            tree.extend(
                {
                    "run": np.arange(250, dtype="u4") + 250 * cluster,
                    "met": random.exponential(30, 250).astype("f4"),
                    "weight": random.normal(1, 0.1, 250),
                    "isGood": random.random(250) < 0.5,
                    "Muon": ak.unflatten(muons, counts),
                    "Jet_pt": ak.unflatten(random.exponential(50, int(jets.sum())), jets),
                    "vertex": random.normal(0, 1, (250, 3)),
                    "name": [f"event {i % 7}{'é' * (i % 3)}" for i in range(250)],
                }
            )
        small.extend({"run": np.arange(5)})
    return path


@pytest.fixture
def switch() -> Iterator[Callable[[bool], None]]:
    """Turns sapwood on or off under uproot's names."""
    names = pytest.importorskip("sapwood.uproot")
    yield lambda on: names.switch_on() if on else names.switch_off()
    names.switch_off()


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of the corpus of real files."""
    if not (CORPUS / "files").is_dir():
        pytest.skip(f"no corpus in {CORPUS} (set SAPWOOD_CORPUS)")
    return CORPUS / "files"


@pytest.fixture(scope="session")
def postgres() -> Iterator[postgres_server.Server]:
    """A PostgreSQL server."""
    pytest.importorskip("psycopg")
    if lack := postgres_server.missing():
        pytest.skip(lack)
    with postgres_server.postgres_server() as server:
        yield server


@pytest.fixture
def no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment without credentials other than those that the test sets."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "S3_", "BEARER_TOKEN", "X509_", "XDG_RUNTIME_DIR")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def s3(no_credentials: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[s3_server.Server]:
    """An S3 server, and an environment with its address and keys."""
    with s3_server.s3_server() as server:
        for name, value in server.variables.items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
def silent_server() -> Iterator[str]:
    """Host and port of a server that accepts connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def few_layouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps of `tune` with few settings each: every measurement is a process, and most would be alike."""
    from sapwood.studies.tune import points

    few = {"COMPRESSIONS": ("zlib:1", "zstd:5"), "BASKETS": (1 << 16,), "CLUSTER_ENTRIES": (10, 1000)}
    few |= {"CLUSTER_BYTES": (2_000_000,), "SHARES": (1.0, 0.1), "STEPS": ("5 MB", "100 MB")}
    for name, chosen in few.items():
        assert set(chosen) < set(getattr(points, name))
        monkeypatch.setattr(points, name, chosen)


@pytest.fixture(scope="module")
def judge() -> Iterator[root_peer.Judge]:
    """ROOT, which compares all branches, entry by entry."""
    judge = root_peer.Judge(root_peer.needs_root())
    yield judge
    judge.close()
