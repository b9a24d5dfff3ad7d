"""Repacking, slimming, skimming and merging files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapwood
from sapwood.errors import CorruptFileError, KeyInFileError, SapwoodError, UnsupportedTypeError, UsageError

ak = pytest.importorskip("awkward")
uproot = pytest.importorskip("uproot")

COMMAND = str(Path(sys.executable).with_name("sapwood"))
LAYOUTS: list[dict[str, Any]] = [
    {},
    {"compression": "lzma:1"},
    {"compression": "none", "basket_size": 1000},
    {"basket_size": "64 KiB", "cluster_entries": 100},
    {"compression": "zstd:5", "cluster_size": "5 kB"},
]


def arrays(path: Path, tree: str = "Events") -> Any:
    with sapwood.open(f"{path}:{tree}") as found:
        return found.arrays()


def by_uproot(path: Path, tree: str = "Events") -> Any:
    with uproot.open(f"{path}:{tree}") as found:
        return found.arrays()


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_values_stay_in_any_layout(events_file: Path, tmp_path: Path, layout: dict[str, Any]) -> None:
    target = tmp_path / "out.root"
    report = sapwood.repack(events_file, target, **layout)
    assert report.trees == {"Events": 1000, "dir/sub/Runs": 5}
    assert report.bytes == target.stat().st_size
    for tree in report.trees:
        assert ak.array_equal(arrays(events_file, tree), arrays(target, tree))
        assert ak.array_equal(by_uproot(events_file, tree), by_uproot(target, tree))


def test_the_file_has_the_requested_layout(events_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.root"
    report = sapwood.repack(events_file, target, compression="lz4:4", basket_size=2000, cluster_entries=64)
    assert (report.copied_baskets, report.recompressed_baskets) == (0, 0)
    with sapwood.open(f"{target}:Events") as tree:
        assert tree.cluster_starts == [*range(0, 1000, 64), 1000]
        assert {str(branch.compression) for branch in tree.tree.branches if branch.num_baskets} == {"LZ4-4"}
        assert all(branch.num_baskets >= 1000 // 64 for branch in tree.tree.branches if branch.num_baskets)


def test_a_plain_copy_decompresses_nothing(events_file: Path, tmp_path: Path) -> None:
    report = sapwood.repack(events_file, tmp_path / "out.root")
    assert report.copied_baskets > 0
    assert (report.recompressed_baskets, report.cut_baskets, report.decompress_seconds) == (0, 0, 0.0)


@pytest.mark.parametrize(("start", "stop"), [(0, 250), (100, 600), (999, 1000), (5, 5), (-10, None)])
@pytest.mark.parametrize("layout", [{}, {"compression": "lz4"}, {"basket_size": 3000, "cluster_entries": 70}])
def test_a_range_of_entries(
    events_file: Path, tmp_path: Path, start: int, stop: int | None, layout: dict[str, Any]
) -> None:
    target = tmp_path / "out.root"
    sapwood.repack(events_file, target, entry_start=start, entry_stop=stop, **layout)
    assert ak.array_equal(arrays(events_file)[start:stop], arrays(target))
    assert ak.array_equal(arrays(events_file, "dir/sub/Runs"), arrays(target, "dir/sub/Runs"))


def test_branches_come_with_those_that_count_them(events_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.root"
    sapwood.repack(events_file, target, keep=["Muon_*", "run"], drop="*charge")
    with sapwood.open(f"{target}:Events") as tree:
        assert set(tree.keys()) == {"nMuon", "Muon_pt", "Muon_eta", "run"}
    fields = ["Muon_pt", "Muon_eta", "run"]
    assert ak.array_equal(arrays(events_file)[fields], arrays(target)[fields])
    assert ak.array_equal(by_uproot(events_file)[fields], by_uproot(target)[fields])


def test_a_skim_holds_what_passes(events_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.root"
    before = arrays(events_file)
    report = sapwood.repack(events_file, target, cut="(nMuon >= 2) & (met > 20)")
    expected = before[(before.nMuon >= 2) & (before.met > 20)]
    assert 0 < len(expected) < 500
    assert report.trees["Events"] == len(expected)
    assert ak.array_equal(expected, arrays(target))
    assert ak.array_equal(expected.name, by_uproot(target).name)
    assert len(arrays(target, "dir/sub/Runs")) == 5


def test_a_skim_without_entries(events_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.root"
    sapwood.repack(events_file, target, cut="met < 0")
    assert len(arrays(target)) == 0
    assert by_uproot(target).fields == by_uproot(events_file).fields


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_trees_are_joined(events_file: Path, tmp_path: Path, layout: dict[str, Any]) -> None:
    target, part = tmp_path / "out.root", tmp_path / "part.root"
    sapwood.repack(events_file, part, entry_start=30, entry_stop=777, compression="zlib:1")
    sapwood.merge([events_file, part, events_file], target, **layout)
    whole, less = arrays(events_file), arrays(part)
    assert ak.array_equal(ak.concatenate([whole, less, whole]), arrays(target))
    assert ak.array_equal(ak.concatenate([whole, less, whole]).Muon_pt, by_uproot(target).Muon_pt)
    assert len(arrays(target, "dir/sub/Runs")) == 15


def test_the_longest_list_of_all_inputs_is_recorded(tmp_path: Path) -> None:
    """Readers take no more items than fMaximum of the counter says."""
    parts = []
    for number, longest in enumerate((2, 9, 5)):
        parts.append(tmp_path / f"{number}.root")
        with uproot.recreate(parts[-1]) as file:
            file.mktree("t", {"x": "var * float32"})
            file["t"].extend({"x": ak.Array([list(range(longest)), []])})
    target = tmp_path / "out.root"
    sapwood.merge(parts, target)
    with uproot.open(f"{target}:t") as tree:
        assert tree["nx"].member("fLeaves")[0].member("fMaximum") == 9


def test_trees_that_differ(events_file: Path, tmp_path: Path) -> None:
    less, target = tmp_path / "less.root", tmp_path / "out.root"
    sapwood.repack(events_file, less, drop="Muon_eta")
    with pytest.raises(UnsupportedTypeError, match="Muon_eta is missing"):
        sapwood.merge([events_file, less], target)
    with pytest.raises(UnsupportedTypeError, match="Muon_eta is new"):
        sapwood.merge([less, events_file], target)
    assert not target.exists()
    for sources in ([events_file, less], [less, events_file]):
        report = sapwood.merge(sources, target, schema="intersection", overwrite=True)
        assert any("Muon_eta" in note for note in report.notes)
        assert set(arrays(target).fields) == set(arrays(less).fields)
        assert len(arrays(target)) == 2000


def test_a_type_that_differs(tmp_path: Path) -> None:
    for name, dtype in (("a", "f4"), ("b", "f8")):
        with uproot.recreate(tmp_path / f"{name}.root") as file:
            file.mktree("t", {"x": dtype, "y": "i4"})
            file["t"].extend({"x": np.ones(3, dtype), "y": np.ones(3, "i4")})
    sources = [tmp_path / "a.root", tmp_path / "b.root"]
    with pytest.raises(UnsupportedTypeError, match="x is double, not float "):
        sapwood.merge(sources, tmp_path / "out.root")
    sapwood.merge(sources, tmp_path / "out.root", schema="intersection")
    assert arrays(tmp_path / "out.root", "t").fields == ["y"]


def test_nothing_is_written_over_what_is_read(events_file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.root"
    link.symlink_to(events_file)
    before = events_file.read_bytes()
    with pytest.raises(UsageError, match="is an input"):
        sapwood.repack(events_file, link, overwrite=True)
    with pytest.raises(UsageError, match="is an input"):
        sapwood.merge([link, events_file], events_file, overwrite=True)
    assert events_file.read_bytes() == before


def test_names_that_are_not_there(events_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.root"
    with pytest.raises(UsageError, match="leave no branch of"):
        sapwood.repack(events_file, target, keep="Muon_*", drop="*")
    with pytest.raises(KeyInFileError):
        sapwood.repack(events_file, target, trees=["Nothing"])
    with pytest.raises(UsageError, match="whole"):
        sapwood.repack(f"{events_file}:Events", target)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "chosen", [{"keep": "Photon_*"}, {"drop": ["Muon_*", "Photon_*"]}, {"keep": "run", "drop": "Photon_*"}]
)
def test_patterns_that_match_no_branch_are_refused(
    events_file: Path, tmp_path: Path, chosen: dict[str, Any]
) -> None:
    with pytest.raises(UsageError, match=r"none matches 'Photon_\*'.*'sapwood show'"):
        sapwood.repack(events_file, tmp_path / "out.root", **chosen)
    with pytest.raises(UsageError, match=r"none matches 'Photon_\*'"):
        sapwood.stripe.create(tmp_path / "set", f"{events_file}:Events", **chosen)
    assert list(tmp_path.iterdir()) == []


def test_a_part_of_a_field_is_neither_kept_nor_dropped(tmp_path: Path) -> None:
    source = tmp_path / "in.root"
    with sapwood.recreate(source) as file:
        file.mkrntuple("t", {"Muon": ak.Array([[{"pt": 1.0, "q": 1}], []]), "run": np.arange(2)})
    for option, name in (("keep", "Muon.pt"), ("drop", "Muon.q")):
        with pytest.raises(UsageError, match=f"only whole branches .* part of 'Muon'; {option} 'Muon'"):
            sapwood.repack(source, tmp_path / "out.root", **{option: name})
    with pytest.raises(UsageError, match=r"none matches 'Muon\.x'"):
        sapwood.repack(source, tmp_path / "out.root", drop="Muon.x")


def test_of_several_inputs_one_must_have_the_branches(events_file: Path, tmp_path: Path) -> None:
    other, folder = tmp_path / "other.root", tmp_path / "out"
    folder.mkdir()
    with sapwood.recreate(other) as file:
        file.mktree("t", {"run": np.arange(3), "x": np.arange(3)})
    app = pytest.importorskip("sapwood.cli._app").app
    invoke = pytest.importorskip("typer.testing").CliRunner().invoke
    words = ["slim", str(other), str(events_file), str(folder), "--drop", "Muon_*"]
    assert invoke(app, words).exit_code == 0
    with sapwood.open(f"{folder / events_file.name}:Events") as tree:
        assert not tree.keys(filter_name="Muon_*")
    refused = invoke(app, [*words, "--drop", "Photon_*", "--force"])
    assert refused.exit_code == 2 and "none matches 'Photon_*'" in refused.output


def test_a_tree_that_is_not_there_without_a_selection(events_file: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyInFileError, match="Foo"):
        sapwood.repack(events_file, tmp_path / "out.root", tree="Foo")
    assert sapwood.repack(events_file, tmp_path / "out.root", tree="Events").copied_baskets > 0


def test_one_tree_of_several(events_file: Path, tmp_path: Path) -> None:
    report = sapwood.repack(events_file, tmp_path / "out.root", trees=["dir/sub/Runs"])
    assert report.trees == {"dir/sub/Runs": 5}


def test_a_source_that_is_cut_off(events_file: Path, tmp_path: Path) -> None:
    """The old target stays as it was, and nothing lies beside it."""
    target, broken = tmp_path / "out.root", tmp_path / "broken.root"
    target.write_bytes(b"old")
    whole = bytearray(events_file.read_bytes())
    with sapwood.open(f"{events_file}:Events") as tree:
        where = tree.core.branches[3].baskets()[1][2]
    whole[where : where + 60] = bytes(60)
    broken.write_bytes(whole)
    with pytest.raises(SapwoodError) as caught:
        sapwood.repack(broken, target, compression="zstd:1", overwrite=True)
    assert isinstance(caught.value, CorruptFileError)
    assert caught.value.branch is not None
    assert target.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.root", "out.root"]


def test_a_process_that_is_killed_leaves_the_target(events_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.root"
    target.write_bytes(b"old")
    merging = "sapwood.merge([sys.argv[1]] * 300, sys.argv[2], compression='lzma:9', overwrite=True)"
    code = f"import sys, sapwood; {merging}"
    child = subprocess.Popen([sys.executable, "-c", code, str(events_file), str(target)])
    deadline = time.monotonic() + 60
    while not any(path.name.endswith(".part") for path in tmp_path.iterdir()):
        assert time.monotonic() < deadline and child.poll() is None
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert target.read_bytes() == b"old"
    sapwood.merge([events_file, events_file], target, overwrite=True)
    assert len(arrays(target)) == 2000


def test_an_object_as_the_target(events_file: Path, tmp_path: Path) -> None:
    with open(tmp_path / "out.root", "wb") as target:
        sapwood.repack(events_file, target, compression="lz4")
    assert ak.array_equal(arrays(events_file), arrays(tmp_path / "out.root"))


def test_many_inputs_few_open_files(events_file: Path, tmp_path: Path) -> None:
    parts = []
    for number in range(60):
        parts.append(tmp_path / f"{number:02}.root")
        os.link(events_file, parts[-1])
    code = (
        "import resource, sys, sapwood;"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (50, 50));"
        "print(sapwood.merge(sys.argv[2:], sys.argv[1]).trees)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "out.root"), *map(str, parts)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "60000" in done.stdout


@pytest.mark.parametrize("layout", [{"cluster_size": "1 MB", "cluster_entries": 10}, {"cluster_entries": 0}])
def test_a_cluster_has_one_size(events_file: Path, tmp_path: Path, layout: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="cluster"):
        sapwood.repack(events_file, tmp_path / "out.root", **layout)


@pytest.mark.parametrize(
    "arguments",
    [
        ["repack", "{source}", "{target}", "--compression", "zstd:3", "--cluster-entries", "100"],
        ["repack", "{source}", "{target}", "--basket-size", "2k", "--keep", "Muon_*", "--entries", "0:100"],
        ["slim", "{source}", "{target}", "--drop", "Muon_*"],
        ["skim", "{source}", "{target}", "--cut", "nMuon == 1", "-j", "1"],
        ["merge", "{target}", "{source}", "{source}", "--compression", "lz4"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_commands(events_file: Path, tmp_path: Path, arguments: list[str]) -> None:
    target = tmp_path / "out.root"
    command = [text.format(source=events_file, target=target) for text in arguments]

    def run(more: list[str]) -> Any:
        return subprocess.run([COMMAND, *command, *more], capture_output=True, text=True, check=False)

    done = run(["--json"])
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["bytes"] == target.stat().st_size
    assert len(arrays(target)) == document["trees"]["Events"]
    again = run([])
    assert again.returncode == 2
    assert "--force" in again.stderr


def test_histograms_are_added(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    samples = [random.normal(0, 1, (200, 3)) for _ in range(3)]
    paths = []
    for number, sample in enumerate(samples):
        paths.append(tmp_path / f"{number}.root")
        with uproot.recreate(paths[-1]) as file:
            file["one"] = np.histogram(sample[:, 0], bins=10, range=(-3, 3))
            file["dir/two"] = np.histogram2d(
                sample[:, 0], sample[:, 1], bins=(4, 5), range=((-3, 3), (-2, 2))
            )
            file["other"] = np.histogram(sample[:, 0], bins=5 + number // 2, range=(-3, 3))
            file["text"] = f"text {number}"
    report = sapwood.merge(paths, tmp_path / "out.root")
    assert report.sums == 3
    assert sum("other" in note for note in report.notes) == 1
    assert sum("text" in note for note in report.notes) == 1
    every = np.concatenate(samples)
    with uproot.open(tmp_path / "out.root") as file:
        one, two = file["one"], file["dir/two"]
        assert one.values().tolist() == np.histogram(every[:, 0], bins=10, range=(-3, 3))[0].tolist()
        expected = np.histogram2d(every[:, 0], every[:, 1], bins=(4, 5), range=((-3, 3), (-2, 2)))[0]
        assert two.values().tolist() == expected.tolist()
        assert one.member("fEntries") == sum(uproot.open(path)["one"].member("fEntries") for path in paths)
        assert str(file["text"]) == "text 0"


def test_texts_of_any_length_are_joined(tmp_path: Path) -> None:
    parts = [["a", "bb", ""], ["the longest of all", "c"], ["dd"]]
    paths = [tmp_path / f"{number}.root" for number in range(len(parts))]
    for path, texts in zip(paths, parts, strict=True):
        with uproot.recreate(path) as file:
            file.mktree("Events", {"text": "string"}).extend({"text": ak.Array(texts)})
    sapwood.merge(paths, tmp_path / "out.root")
    expected = [text for texts in parts for text in texts]
    assert arrays(tmp_path / "out.root")["text"].to_list() == expected
    assert by_uproot(tmp_path / "out.root")["text"].to_list() == expected
    # ROOT reads no more of a text than this.
    with uproot.open(f"{tmp_path}/out.root:Events/text") as branch:
        assert branch.member("fLeaves")[0].member("fLen") == len("the longest of all") + 1
