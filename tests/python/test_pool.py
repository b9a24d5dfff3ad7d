"""A pool of open files opens each file once, closes it when idle, and never returns a stale or broken one."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path

import pytest
from testkit import needs_testkit, serving

import sapwood
from sapwood.opening.pool import FilePool
from sapwood.options.reading import open_options


def options(**given: object) -> sapwood.options.reading.OpenOptions:
    return open_options(None, None, given)


def wait_until(condition: object, seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.01)


def test_a_file_is_opened_once_for_many_uses(events_file: Path) -> None:
    pool = FilePool()
    found = set()
    for _ in range(5):
        with pool.borrow(str(events_file), options()) as file:
            found.add(id(file))
            assert file["Events"].num_entries == 1000
    assert (len(found), pool.opened, len(pool)) == (1, 1, 1)
    pool.close()
    assert file.closed and len(pool) == 0


@needs_testkit
def test_threads_that_ask_at_once_share_one_open(events_file: Path) -> None:
    pool = FilePool()
    read: list[float] = []
    with serving(events_file.parent) as server:
        url = f"{server.url}/{events_file.name}"

        def work() -> None:
            with pool.borrow(url, options()) as file:
                read.append(file["Events"]["met"].array(library="np").sum())

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert len(read) == 8 and len(set(read)) == 1 and pool.opened == 1
    pool.close()


def test_other_options_open_another_file(events_file: Path) -> None:
    pool = FilePool()
    for given in ({"headers": {"a": "b"}}, {"headers": {"a": "c"}}, {"headers": {"a": "b"}}, {"sources": 3}):
        with pool.borrow(str(events_file), options(**given)):
            pass
    assert pool.opened == 3
    pool.close()


def test_an_idle_file_is_closed_in_time_and_a_used_one_is_not(events_file: Path) -> None:
    pool = FilePool(idle=0.05)
    with pool.borrow(str(events_file), options()) as file:
        time.sleep(0.2)
        assert not file.closed
    wait_until(lambda: file.closed)
    assert len(pool) == 0


def test_no_more_files_stay_open_than_the_limit(events_file: Path, tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.root" for number in range(4)]
    for path in paths:
        shutil.copy(events_file, path)
    pool, files = FilePool(limit=2), []
    for path in paths:
        with pool.borrow(str(path), options()) as file:
            files.append(file)
    assert [file.closed for file in files] == [True, True, False, False] and len(pool) == 2
    pool.close()


def test_a_replaced_local_file_is_opened_again(events_file: Path, tmp_path: Path) -> None:
    path, other = tmp_path / "a.root", tmp_path / "b.root"
    shutil.copy(events_file, path)
    with sapwood.recreate(other) as made:
        made["Events"] = {"met": [1.0, 2.0]}
    pool = FilePool()
    with pool.borrow(str(path), options()) as file:
        assert file["Events"].num_entries == 1000
    os.replace(other, path)
    with pool.borrow(str(path), options()) as file:
        assert file["Events"].num_entries == 2
    pool.close()


def test_a_missing_file_is_an_error_each_time_until_it_appears(events_file: Path, tmp_path: Path) -> None:
    path, pool = tmp_path / "late.root", FilePool()
    for _ in range(2):
        with pytest.raises(FileNotFoundError, match=r"late\.root"), pool.borrow(str(path), options()):
            pass
    assert len(pool) == 0
    shutil.copy(events_file, path)
    with pool.borrow(str(path), options()) as file:
        assert not file.closed
    pool.close()


def test_a_file_in_whose_use_something_failed_is_opened_again(events_file: Path) -> None:
    pool = FilePool()
    with pytest.raises(RuntimeError), pool.borrow(str(events_file), options()) as first:
        raise RuntimeError("for example a lost connection")
    with pool.borrow(str(events_file), options()) as second:
        assert first.closed and second is not first
    second.close()
    with pool.borrow(str(events_file), options()) as third:
        assert not third.closed
    pool.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_opens_its_own_files(events_file: Path) -> None:
    pool = FilePool()
    with pool.borrow(str(events_file), options()):
        pass
    child = os.fork()
    if child == 0:
        os._exit(0 if len(pool) == 0 and pool.opened == 0 else 1)
    assert os.waitpid(child, 0)[1] == 0 and len(pool) == 1
    pool.close()


def test_wrong_limits_are_refused() -> None:
    with pytest.raises(TypeError, match="'limit' must be a whole number"):
        FilePool(limit=1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must not be negative"):
        FilePool(idle=-1)
