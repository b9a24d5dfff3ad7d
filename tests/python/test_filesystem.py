"""fsspec's protocol "sapwood": other libraries read any file through sapwood's transport."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import xrootd_server
from testkit import Running, needs_testkit, serving

from sapwood.opening.raw import RAW_POOL
from sapwood.options.reading import open_options

fsspec = pytest.importorskip("fsspec")
pq = pytest.importorskip("pyarrow.parquet")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
uproot = pytest.importorskip("uproot")

from sapwood.integrations.filesystem import SapwoodFileSystem  # noqa: E402

pytestmark = needs_testkit


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    """As the entry point does where sapwood is installed from a wheel."""
    fsspec.register_implementation("sapwood", SapwoodFileSystem, clobber=True)


@pytest.fixture(scope="module")
def server(events_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "events.root").write_bytes(events_file.read_bytes())
    numbers = pa.table({"a": np.arange(300_000), "b": np.random.default_rng(2).random(300_000)})
    pq.write_table(numbers, folder / "t.parquet", row_group_size=30_000)
    (folder / "large.bin").write_bytes(np.arange(2_000_000, dtype="u4").tobytes())
    with serving(folder) as running:
        yield running


@pytest.mark.parametrize("prefix", ["sapwood::", "sapwood://"])
def test_pandas_arrow_and_uproot_read_through_it(prefix: str, server: Running) -> None:
    frame = pd.read_parquet(f"{prefix}{server.url}/t.parquet", columns=["a"])
    assert frame["a"].sum() == 300_000 * 299_999 // 2
    fs, path = fsspec.core.url_to_fs(f"{prefix}{server.url}/t.parquet")
    assert isinstance(fs, SapwoodFileSystem)
    assert pq.read_table(path, filesystem=fs, columns=["b"]).num_rows == 300_000
    with uproot.open(f"{prefix}{server.url}/events.root:Events") as tree:
        expected = uproot.open(f"{server.url}/events.root:Events")["met"].array(library="np")
        assert np.array_equal(tree["met"].array(library="np"), expected)


def test_ranges_of_one_file_are_one_vector_read(tmp_path: Path) -> None:
    (tmp_path / "large.bin").write_bytes(np.arange(2_000_000, dtype="u4").tobytes())
    # Without latency, one request could be answered before the next one is sent.
    with serving(tmp_path, "--rtt-ms", "100") as server:
        fs = fsspec.filesystem("sapwood", skip_instance_cache=True)
        path = f"{server.url}/large.bin"
        assert fs.info(path) == {"name": path, "size": 8_000_000, "type": "file"}
        starts = [1_000_000 + 400_000 * at for at in range(10)]
        server.counts_since()
        parts = fs.cat_ranges([path] * 10, starts, [start + 8 for start in starts])
        counts = server.counts_since()
    assert [np.frombuffer(part, "u4")[0] for part in parts] == [start // 4 for start in starts]
    # The ten ranges go out together, however the server groups them.
    assert counts["round_trips"] == 1 and counts["bytes_sent"] < 1_000_000


def test_positions_are_those_of_slices(server: Running) -> None:
    fs, path = fsspec.core.url_to_fs(f"sapwood::{server.url}/large.bin")
    whole = np.arange(2_000_000, dtype="u4").tobytes()
    for start, end in ((None, 5), (-5, None), (7_999_990, 9_000_000), (10, 10), (20, 10), (9_000_000, None)):
        assert fs.cat_file(path, start, end) == whole[start:end]
    with fsspec.open(f"sapwood::{server.url}/large.bin") as file:
        file.seek(-8, 2)
        assert (file.size, file.read(100)) == (8_000_000, whole[-8:])


def test_a_missing_file_takes_its_place_among_the_ranges(server: Running) -> None:
    fs = fsspec.filesystem("sapwood")
    good, bad = f"{server.url}/large.bin", f"{server.url}/none.bin"
    first, second = fs.cat_ranges([bad, good], [0, 4], [4, 8])
    assert isinstance(first, FileNotFoundError) and second == b"\x01\0\0\0"
    with pytest.raises(FileNotFoundError, match=r"none\.bin"):
        fs.cat_ranges([bad, good], [0, 4], [4, 8], on_error="raise")
    assert not fs.exists(bad) and fs.exists(good) and fs.isfile(good)


def test_local_directories_are_listed(tmp_path: Path) -> None:
    for name in ("a.bin", "b.bin", "c.txt"):
        (tmp_path / name).write_bytes(b"x")
    fs = fsspec.filesystem("sapwood")
    assert fs.glob(f"{tmp_path}/*.bin") == [f"{tmp_path}/a.bin", f"{tmp_path}/b.bin"]
    assert sorted(fs.ls(str(tmp_path), detail=False)) == [f"{tmp_path}/{name}" for name in ("a.bin", "b.bin", "c.txt")]  # fmt: skip # noqa: E501
    assert fs.isdir(str(tmp_path)) and not fs.isdir(f"{tmp_path}/a.bin")
    (tmp_path / "a.bin").write_bytes(b"longer")
    assert fs.cat_file(f"{tmp_path}/a.bin") == b"longer"


def test_replicas_and_deadlines_are_options(server: Running, silent_server: str) -> None:
    url = f"{server.url}/large.bin"
    fs = fsspec.filesystem("sapwood", replicas=[f"{server.url}/"], deadline=20)
    assert fs.cat_file("large.bin", 4, 8) == b"\x01\0\0\0"
    with pytest.raises(TimeoutError):
        fsspec.filesystem("sapwood", deadline=0.5).cat_file(f"http://{silent_server}/x")
    with pytest.raises(TypeError, match="no option 'deadlin'"):
        fsspec.filesystem("sapwood", deadlin=3)
    assert pickle.loads(pickle.dumps(fs)).cat_file(url, 8, 12) == b"\x02\0\0\0"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that the server may read, which runs as another user."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def test_files_of_xrootd_are_read_and_listed(open_folder: Path) -> None:
    if lack := xrootd_server.missing():
        pytest.skip(lack)
    data = open_folder / "data"
    data.mkdir()
    data.chmod(0o755)
    numbers = pa.table({"a": np.arange(100_000), "b": np.arange(100_000) / 7})
    pq.write_table(numbers, data / "t.parquet", row_group_size=10_000)
    (data / "large.bin").write_bytes(np.arange(2_000_000, dtype="u4").tobytes())
    with xrootd_server.data_server(open_folder) as server:
        place = f"{server.url}//data"
        assert pd.read_parquet(f"sapwood://{place}/t.parquet", columns=["a"])["a"].sum() == 4_999_950_000
        fs = fsspec.filesystem("sapwood")
        assert fs.ls(place, detail=False) == [f"{place}/large.bin", f"{place}/t.parquet"]
        assert fs.glob(f"{place}/*.parquet") == [f"{place}/t.parquet"] and fs.isdir(place)
        starts = [1_000_000 + 400_000 * at for at in range(10)]
        path = f"{place}/large.bin"
        fs.info(path)
        with RAW_POOL.borrow(path, open_options(None, None, {})) as file:
            before = file.counters()["requests"]
            parts = fs.cat_ranges([path] * 10, starts, [start + 4 for start in starts])
            assert file.counters()["requests"] == before + 1
        assert [np.frombuffer(part, "u4")[0] for part in parts] == [start // 4 for start in starts]


@pytest.mark.parametrize(
    ("url", "opened"),
    [
        ("sapwood::https://host/f.root", "https://host/f.root"),
        ("sapwood://root://host:1094//store/f.root", "root://host:1094//store/f.root"),
        ("sapwood::file:///data/f.root", "/data/f.root"),
        ("sapwood:///data/f.root", "/data/f.root"),
    ],
)
def test_the_inner_url_is_the_one_that_was_given(url: str, opened: str) -> None:
    fs, path = fsspec.core.url_to_fs(url)
    assert fs._url(path) == opened
    again, same = fsspec.core.url_to_fs(fs.unstrip_protocol(path))
    assert again._url(same) == opened


def test_the_url_of_another_filesystem_for_xrootd_is_put_together_again() -> None:
    # As fsspec-xrootd splits it.
    fs = SapwoodFileSystem("root", {"hostid": "host:1094"}, "/store/f.root")
    assert fs._url("/store/f.root") == "root://host:1094//store/f.root"
    assert SapwoodFileSystem("s3", {"anon": True}, "bucket/f")._url("bucket/f") == "s3://bucket/f"


def test_it_only_reads(server: Running) -> None:
    with pytest.raises(NotImplementedError, match="only reads"):
        fsspec.filesystem("sapwood").open(f"{server.url}/new.bin", "wb")


def test_secrets_are_never_pickled() -> None:
    fs = fsspec.filesystem("sapwood", headers={"Authorization": "Bearer s3cr3t"})
    for dump in (pickle.dumps, lambda one: one.to_json(), lambda one: one.to_dict()):
        with pytest.raises(ValueError, match="BEARER_TOKEN_FILE") as found:
            dump(fs)
        assert "s3cr3t" not in str(found.value)
    fs, _ = fsspec.core.url_to_fs("sapwood::https://example.org/f.root?authz=s3cr3t")
    with pytest.raises(ValueError, match="never pickled"):
        pickle.dumps(fs)
