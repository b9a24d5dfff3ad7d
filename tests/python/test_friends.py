"""Friends, and baskets in other files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import testkit

import sapwood
from sapwood.errors import FileNotFoundError, KeyInFileError, UnsupportedTypeError

REPOSITORY = Path(__file__).resolve().parents[2]
TREES = REPOSITORY / "tests" / "data" / "trees"


@pytest.fixture
def main() -> Iterator[sapwood.Tree]:
    """A tree with friends."""
    with sapwood.open(TREES / "main.root")["main"] as tree:
        yield tree


def test_friends_are_listed_and_opened_when_needed(main: sapwood.Tree) -> None:
    friends = main.friends
    assert {name: (friend.file_name, friend.path) for name, friend in friends.items()} == {
        "ex": ("friend.root", "extra"),
        "other": ("", "other"),
        "lost": ("gone.root", "lost"),
    }
    assert friends["other"].tree.file is main.file
    assert friends["ex"].tree.num_entries == 100


def test_columns_of_friends_stand_beside_those_of_the_tree(main: sapwood.Tree) -> None:
    names = ["number", "ex.score", "ex.score - 10 * number"]
    arrays = main.arrays(names, library="np", entry_start=20, entry_stop=30)
    assert arrays["number"].tolist() == list(range(20, 30))
    assert arrays["ex.score"].tolist() == list(range(200, 300, 10))
    assert not arrays["ex.score - 10 * number"].any()
    steps = [step["ex.score"] for step in main.iterate(names, library="np", step_size=33)]
    assert np.concatenate(steps).tolist() == list(range(0, 1000, 10))
    assert main["other.weight"].array(library="np").tolist() == [-entry for entry in range(50)]
    assert main.keys() == ["number"]


def test_a_shorter_friend_has_fewer_entries(main: sapwood.Tree) -> None:
    arrays = main.arrays(["number", "other.weight"], library="np")
    assert (len(arrays["number"]), len(arrays["other.weight"])) == (100, 50)


def test_a_friend_that_is_lost_is_no_harm_until_it_is_needed(main: sapwood.Tree) -> None:
    assert len(main.arrays(library="np")["number"]) == 100
    with pytest.raises(FileNotFoundError, match=r"gone\.root.*for the friend 'lost' of .*main\.root"):
        main["lost.score"]
    with pytest.raises(KeyInFileError):
        main["ex.nothing"]


def test_closing_a_tree_closes_its_friends() -> None:
    with sapwood.open(TREES / "main.root")["main"] as tree:
        friend = tree.friends["ex"].tree
    assert friend.file.closed


@pytest.fixture
def served() -> Iterator[str]:
    """The URL of a server of the trees."""
    with testkit.serving(TREES) as server:
        yield server.url


def test_friends_and_baskets_are_found_beside_a_remote_file(served: str) -> None:
    with sapwood.open(f"{served}/main.root")["main"] as main:
        assert main["ex.score"].array(library="np").tolist() == list(range(0, 1000, 10))
    check_distributed(f"{served}/away.root?token=secret")


def test_baskets_in_another_file_are_fetched_there() -> None:
    check_distributed(TREES / "away.root")


def check_distributed(path: str | Path) -> None:
    with sapwood.open(path)["tree"] as tree:
        assert tree["far"].array(library="np").tolist() == [entry / 2 for entry in range(100)]
        steps = [step["far"] for step in tree.iterate(["near", "far"], step_size=30, library="np")]
        assert np.concatenate(steps).tolist() == [entry / 2 for entry in range(100)]
        assert tree.file.report().baskets > 0


def test_a_file_of_baskets_that_is_lost_is_named(tmp_path: Path) -> None:
    shutil.copy(TREES / "away.root", tmp_path)
    with sapwood.open(tmp_path / "away.root")["tree"] as tree:
        assert tree["near"].array(library="np").tolist() == list(range(100))
        with pytest.raises(FileNotFoundError, match=r"baskets/far\.root.*away\.root") as caught:
            tree["far"].array()
        assert caught.value.branch == "far"


def test_other_files_are_not_looked_for_from_memory() -> None:
    tree = sapwood.open((TREES / "away.root").read_bytes())["tree"]
    with pytest.raises(UnsupportedTypeError, match="far"):
        tree["far"].array()
    tree = sapwood.open((TREES / "main.root").read_bytes())["main"]
    with pytest.raises(UnsupportedTypeError, match="friend"):
        tree["ex.score"]
