"""Databases of catalogues: concurrency, older and newer tables, failures, and logs of datasets."""

from __future__ import annotations

import os
import pickle
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sapwood import _core
from sapwood.catalog import Catalog, DatabaseLog
from sapwood.errors import (
    CorruptFileError,
    DeadlineError,
    NetworkError,
    PermissionError,
    ReadError,
    UnsupportedTypeError,
    UsageError,
)
from sapwood.history import database as _database
from sapwood.history import schema as _schema

DATA = "s3://bucket/data"
AT_ONCE = 8
GOLDEN = Path(__file__).resolve().parents[2] / "data" / "catalog" / "version-1.sql"


def together(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Results of several threads that begin at the same moment."""
    barrier = threading.Barrier(count)

    def run(number: int) -> Any:
        barrier.wait(20)
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


class TestManyAtOnce:
    def test_one_dataset_is_added_once(self, datasets: Any, database: str) -> None:
        datasets.commit(DATA, "create", {"Muon": 1})

        def add(_: int) -> str:
            with Catalog(database) as catalogue:
                return catalogue.add(DATA).name

        assert together(AT_ONCE, add) == ["data"] * AT_ONCE
        with Catalog(database) as catalogue:
            assert [one.name for one in catalogue.datasets()] == ["data"]
            assert len(catalogue.versions("data")) == 1

    def test_refreshes_record_every_version_once(self, datasets: Any, database: str) -> None:
        datasets.commit(DATA, "create", {"Muon": 1, "Jet": 1})
        with Catalog(database) as catalogue:
            catalogue.add(DATA)
            for round_ in range(3):
                for _ in range(3):
                    newest = len(datasets.histories[DATA])
                    datasets.commit(DATA, "replace", {"Muon": 1, "Jet": newest + 1})

                def refresh(_: int) -> Exception | None:
                    with Catalog(database) as another:
                        return another.refresh("data")[0].error

                assert together(AT_ONCE, refresh) == [None] * AT_ONCE
                numbers = [one.version for one in catalogue.versions("data")]
                assert numbers == list(range(4 + 3 * round_, 0, -1))
            spans = [(one.since, one.until) for one in catalogue.products("data", history=True)]
            assert sorted(spans, key=lambda span: span[0])[-1] == (len(datasets.histories[DATA]), None)
            assert Counter(until for _, until in spans)[None] == 2

    def test_processes_share_one(self, datasets: Any, database: str) -> None:
        # Each creates the tables, if nobody has yet, and writes its own log.
        code = """
import sys
from sapwood.catalog import DatabaseLog
log = DatabaseLog(sys.argv[1], "dataset " + sys.argv[2])
print(sum(log.create(number, b"entry") for number in range(1, 6)))
"""
        running = [
            subprocess.Popen([sys.executable, "-c", code, database, str(number)], stdout=subprocess.PIPE)
            for number in range(4)
        ]
        assert [process.communicate(timeout=60)[0].strip() for process in running] == [b"5"] * 4


class TestTables:
    def test_older_ones_become_those_of_today(self, tmp_path: Path, datasets: Any) -> None:
        path = tmp_path / "old.sqlite"
        with sqlite3.connect(path) as old:
            old.executescript(GOLDEN.read_text())
        old.close()
        with Catalog(path) as catalogue:
            assert [one.name for one in catalogue.datasets()] == ["data", "skim"]
            assert [one.dataset for one in catalogue.descendants("data")] == ["skim"]
        log = DatabaseLog(path, "x")
        assert log.create(1, b"first") and log.read(1) == b"first"
        with sqlite3.connect(path) as new:
            assert new.execute("SELECT version FROM sapwood_catalog").fetchall() == [(_schema.VERSION,)]
        new.close()

    def test_those_that_were_upgraded_are_like_those_that_were_made(self, tmp_path: Path) -> None:
        upgraded, made = tmp_path / "old.sqlite", tmp_path / "new.sqlite"
        with sqlite3.connect(upgraded) as old:
            old.executescript(GOLDEN.read_text())
        old.close()
        described = []
        for path in (upgraded, made):
            with Catalog(path) as catalogue:
                catalogue.count()
            with sqlite3.connect(path) as file:
                found = file.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
                described.append(sorted(" ".join(sql.split()) for (sql,) in found))
            file.close()
        assert described[0] == described[1]

    def test_every_version_has_a_way_to_the_next(self) -> None:
        assert sorted(_schema.STEPS) == list(range(1, _schema.VERSION))

    def test_older_ones_are_upgraded_once(self, datasets: Any, database: str) -> None:
        with Catalog(database) as catalogue:
            catalogue.count()
        opened = _database.Database(database)
        with opened.writing() as connection:
            _schema.commits.drop(connection)
            for column in ("log_url", "log_name"):
                connection.exec_driver_sql(f"ALTER TABLE {_schema.locations.name} DROP COLUMN {column}")
            connection.execute(_schema.state.update().values(version=1))
        opened.close()

        def count(_: int) -> int:
            with Catalog(database) as catalogue:
                return catalogue.count()

        assert together(AT_ONCE, count) == [0] * AT_ONCE
        assert DatabaseLog(database, "x").newest() is None

    def test_newer_ones_are_left_alone(self, database: str) -> None:
        with Catalog(database) as catalogue:
            catalogue.count()
        opened = _database.Database(database)
        with opened.writing() as connection:
            connection.execute(_schema.state.update().values(version=_schema.VERSION + 1))
        opened.close()
        with (
            pytest.raises(UnsupportedTypeError, match="has version"),
            Catalog(database) as newer,
        ):
            newer.count()


class TestFailures:
    def test_others_that_write_for_too_long(
        self, datasets: Any, database: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_database, "WAIT_SECONDS", 1)
        first, second = _database.Database(database), _database.Database(database)
        with first.reading(), second.reading():
            pass
        with first.writing(), pytest.raises(DeadlineError), second.writing():
            pass
        with second.writing():
            pass

    def test_failed_refreshes_change_nothing(self, family: Any, catalogue: Catalog) -> None:
        family.commit(DATA, "append", {"Muon": 1, "Jet": 3, "run": 1})
        family.histories[DATA][-1][1]["segments"] = [{"id": 9, "entries": None, "batch": 1}]
        failed = catalogue.refresh("data")[0]
        assert failed.error is not None and failed.version == 3
        assert len(catalogue.versions("data")) == 3

    def test_a_server_that_is_not_there(self) -> None:
        with (
            pytest.raises(NetworkError) as caught,
            Catalog("postgresql://ada:hunter2@127.0.0.1:9/x") as catalogue,
        ):
            catalogue.count()
        assert "hunter2" not in str(caught.value) and "ada" not in str(caught.value)

    def test_a_wrong_password(self, postgres: Any) -> None:
        wrong = postgres.url.replace(postgres.password, "hunter2")
        with pytest.raises((PermissionError, NetworkError)) as caught, Catalog(wrong) as catalogue:
            catalogue.count()
        assert "hunter2" not in str(caught.value)

    @pytest.mark.parametrize("database", ["postgresql"], indirect=True)
    def test_read_only_users_can_read(self, family: Any, database: str, postgres: Any) -> None:
        import psycopg

        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("DROP ROLE IF EXISTS reader")
            connection.execute("CREATE ROLE reader LOGIN PASSWORD 'reading'")
            connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
        own = f"catalogue:{postgres.password}"
        with Catalog(database.replace(own, "reader:reading")) as reader:
            assert reader.count() == 3 and len(reader.descendants("data")) == 3
            with pytest.raises(PermissionError):
                reader.forget("data")

    def test_a_file_that_is_none(self, tmp_path: Path) -> None:
        path = tmp_path / "x.sqlite"
        path.write_bytes(os.urandom(8192))
        with pytest.raises(CorruptFileError), Catalog(path) as catalogue:
            catalogue.count()
        with pytest.raises(ReadError), Catalog(path / "below") as catalogue:
            catalogue.count()

    @pytest.mark.parametrize("url", ["mysql://u:hunter2@h/x", "sqlite://", "x://"])
    def test_urls_that_name_no_catalogue(self, url: str) -> None:
        with pytest.raises(UsageError) as caught:
            Catalog(url)
        assert "hunter2" not in str(caught.value)

    def test_the_password_is_in_no_text(self) -> None:
        catalogue = Catalog("postgresql://ada:hunter2@db.example.org:5432/cms?sslpassword=hunter2")
        assert repr(catalogue) == "<Catalog postgresql://db.example.org:5432/cms>"


class TestLog:
    def test_entries_are_made_once(self, database: str) -> None:
        log, other = DatabaseLog(database, "a"), DatabaseLog(database, "b")
        assert log.newest() is None and log.read(1) is None
        assert log.create(1, b"first") and not log.create(1, b"second")
        assert log.read(1) == b"first" and log.newest() == (1, b"first")
        assert other.newest() is None and other.create(1, b"of another dataset")
        assert log.create(2, bytes(range(256))) and log.newest() == (2, bytes(range(256)))

    def test_one_of_many_writers_of_an_entry_succeeds(self, database: str) -> None:
        logs = [DatabaseLog(database, "a") for _ in range(AT_ONCE)]
        for number in range(1, 6):

            def make(which: int, number: int = number) -> bool:
                return logs[which].create(number, f"by {which}".encode())

            made = together(AT_ONCE, make)
            assert made.count(True) == 1
            assert logs[0].read(number) == f"by {made.index(True)}".encode()
        for log in logs:
            log.close()

    def test_it_keeps_what_logs_have_to_keep(self, database: str) -> None:
        # The same that logs in object stores are asked.
        with DatabaseLog(database, "a") as log:
            _core.check_log(log, 60)
            with pytest.raises(_core.CoreError, match="not empty"):
                _core.check_log(log, 60)

    def test_a_copy_is_of_the_same_log_and_has_no_password(self, tmp_path: Path) -> None:
        with DatabaseLog(tmp_path / "c.sqlite", "a") as log:
            log.create(1, b"first")
            with pickle.loads(pickle.dumps(log)) as copy:
                assert copy.read(1) == b"first"
        with DatabaseLog("postgresql://ada:hunter2@h/x", "a") as log, pytest.raises(UsageError) as caught:
            pickle.dumps(log)
        assert "hunter2" not in str(caught.value)

    def test_failures_of_the_database_are_those_of_the_log(self) -> None:
        with DatabaseLog("postgresql://127.0.0.1:9/x", "a") as log, pytest.raises(_core.CoreError) as caught:
            _core.check_log(log, 60)
        assert caught.value.args[0] == "network" and "127.0.0.1:9" in caught.value.args[1]
