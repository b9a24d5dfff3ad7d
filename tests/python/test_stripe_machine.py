"""Whatever is done to datasets, in whatever order, with processes that are killed and databases that fail:
every version that is kept reads back exactly. In a directory, with the log there or in a database, and in a
bucket; `stripe_machine.py` does it for long, as SAPWOOD_TEST_LONG=1 does here.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import testkit

pytest.importorskip("awkward")
import s3_server
from stripe_database_faults import Faults
from stripe_machine import Home, Machine

STEPS = 15
EVERYTHING = "SAPWOOD_TEST_LONG" in os.environ
"""Every fault at every place; else some of them."""


@pytest.fixture(params=["objects", "sqlite", "postgresql", "s3"])
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    place = tmp_path / "ttbar"
    if request.param == "s3":
        if lack := s3_server.missing():
            pytest.skip(lack)
        with s3_server.s3_server() as server:
            for name, value in server.variables.items():
                monkeypatch.setenv(name, value)
            yield Home("s3://data/ttbar", Path(server.command[-1], server.bucket, "ttbar"))
    elif request.param == "objects":
        yield Home(str(place), place)
    else:
        pytest.importorskip("sqlalchemy")
        if request.param == "sqlite":
            yield Home(str(place), place, str(tmp_path / "log.sqlite"))
        else:
            server = request.getfixturevalue("postgres")
            with server.database() as url:
                yield Home(str(place), place, url)


def test_every_version_that_is_kept_reads_back_exactly(home: Home, tmp_path: Path) -> None:
    Machine(home, tmp_path, seed=8).run(10 * STEPS if EVERYTHING else STEPS)


@pytest.fixture
def machine(home: Home, tmp_path: Path) -> Machine:
    """A dataset of small pieces, with a tag, and versions that have expired."""
    machine = Machine(home, tmp_path, seed=1)
    for operation in (Machine.replace, Machine.append, Machine.add, Machine.tag, Machine.append):
        machine.do(operation(machine))
    machine.home.open().expire(newest=2)
    machine.versions.append(machine.tip)
    machine.oldest = machine.home.open().log()[-1]["oldest"]
    machine.check()
    return machine


@pytest.mark.parametrize("home", ["sqlite", "postgresql"], indirect=True)
def test_every_call_of_the_database_may_fail(machine: Machine) -> None:
    numbers = itertools.count()
    ways = [(False, False), (True, False), (True, True)]
    for place, make in enumerate(Machine.OPERATIONS):
        twin = machine.twin(next(numbers))
        calls = twin.calls(make(twin))
        # Where an entry is made, or the last question of who makes none.
        decisive = calls.index("INSERT") + 1 if "INSERT" in calls else len(calls) - 1
        for call in range(len(calls)) if EVERYTHING else [decisive]:
            for after, ever in ways if EVERYTHING else [ways[1 + place % 2]]:
                twin = machine.twin(next(numbers))
                twin.fail(make(twin), Faults(at=call, after=after, ever=ever))
                twin.check()


@testkit.needs_testkit
@pytest.mark.parametrize("home", ["postgresql"], indirect=True)
def test_connections_to_the_database_may_end_in_the_midst_of_answers(machine: Machine) -> None:
    from sapwood.catalog import DatabaseLog

    server = machine.home.database.rpartition("@")[2].partition("/")[0]
    for number, limit in enumerate(range(300, 6000, 30 if EVERYTHING else 900)):
        with testkit.proxying(server, "--close-after", str(limit)) as proxy:
            twin = machine.twin(number)
            operation = twin.lottery.choice(Machine.OPERATIONS)(twin)
            log = DatabaseLog(twin.home.database.replace(server, proxy.url), twin.home.name)
            twin.through(log, operation, f"answers of {limit} bytes")
            twin.check()


# With the log in a database, the machine does all of this, too, at random.
@pytest.mark.parametrize(
    "home", ["objects", "sqlite", "postgresql", "s3"] if EVERYTHING else ["objects"], indirect=True
)
def test_a_killed_process_leaves_nothing_half_done(machine: Machine) -> None:
    numbers, killed = itertools.count(), 0
    for make in Machine.OPERATIONS:
        after = 1
        while (twin := machine.twin(next(numbers))).kill(make(twin), after):
            twin.check()
            killed += 1
            if EVERYTHING or after == 3:
                twin.clean()
            after += 1 if EVERYTHING else 2 * after
    # How often depends on who is faster.
    assert killed
