"""A dataset, and beside it in memory what each of its versions should hold, whatever is done to it and fails.

    python stripe_machine.py {objects,sqlite,postgresql,s3} [--runs 50] [--steps 100] [--seed 0]

Operations are drawn at random; processes are killed in their midst, and calls of the database that has the
log fail before and after they took effect. After each step, every version that is kept reads back exactly.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np

import sapwood
from sapwood import errors, stripe

sys.path.append(str(Path(__file__).resolve().parent))
sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts"))
import s3_server
from stripe_database_faults import Faults, faulty_log

PATIENCE = 120.0
"""Seconds after which something hangs that should not."""
LONG_AGO = 30 * 24 * 3600.0
"""Seconds after which every lease has lapsed."""
WRITING: dict[str, Any] = {"batch": 16, "stripe_size": 300}
"""Stripes are small, so that each product has several of them."""


@dataclass(frozen=True)
class State:
    """What a version holds: the numbers of its events; for each product, the seed of each event's values."""

    events: tuple[int, ...] = ()
    products: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def columns(self) -> dict[str, Any]:
        """As they are read, and written."""
        events = np.array(self.events, dtype="i8")
        made = {
            "run": np.full(len(events), 7, dtype="u4"),
            "luminosityBlock": (events // 10).astype("u4"),
            "event": events.astype("u8"),
        }
        for name, seeds in self.products.items():
            made[f"{name}_flat"] = 1000.0 * events + seeds
            lists = np.repeat(1000.0 * events + seeds, events % 3)
            made[f"{name}_list"] = ak.unflatten(lists, events % 3)
        return made

    def seeded(self, name: str, seed: int) -> State:
        """With other values of a product."""
        return replace(self, products={**self.products, name: (seed,) * len(self.events)})


@dataclass
class Home:
    """Where a dataset lies: its objects are files, also those in a bucket; its log may be in a database."""

    place: str
    folder: Path
    database: str = ""
    name: str = "machine"

    @cached_property
    def log(self) -> Any:
        """Its log, if that is in a database."""
        if not self.database:
            return None
        from sapwood.catalog import DatabaseLog

        return DatabaseLog(self.database, self.name)

    def open(self, log: Any = None) -> stripe.Dataset:
        """The dataset."""
        return stripe.open(self.place, log=log or self.log, deadline=PATIENCE)

    def files(self) -> set[tuple[str, int, int]]:
        """Name, size and time of what is there."""
        found = set()
        for folder, _, names in os.walk(self.folder):
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    status = os.stat(os.path.join(folder, name))
                    found.add((os.path.join(folder, name), status.st_size, status.st_mtime_ns))
        return found

    def let_leases_lapse(self) -> None:
        """As time does."""
        for lease in self.folder.glob("lease/*"):
            os.utime(lease, (time.time() - LONG_AGO,) * 2)


@dataclass(frozen=True)
class Operation:
    """What is done to a dataset: some attempt of it, and what it makes."""

    words: str
    work: Callable[[stripe.Dataset, int], Any]
    state: State | None = None
    """What the version holds that it makes."""
    oldest: int | None = None
    """The oldest version that is kept then."""
    tags: dict[str, int] | None = None
    """The tags that are there then."""
    repeatable: bool = False
    """It may be done again, and is done once."""
    optional: bool = False
    """It may find that there is nothing to do."""


class Machine:
    """A dataset that is changed at random, and what it should hold."""

    def __init__(self, home: Home, scratch: Path, seed: int = 0) -> None:
        self.home, self.scratch, self.lottery = home, scratch, random.Random(seed)
        self.versions = [State()]
        self.oldest, self.tags, self.number = 1, dict[str, int](), 0
        self.story: list[str] = []
        first = State(tuple(range(20))).seeded("A", 0).seeded("B", 0)
        stripe.create(home.place, self.write(first), log=home.log, **WRITING, deadline=PATIENCE)
        self.versions.append(first)

    @property
    def tip(self) -> State:
        return self.versions[-1]

    @property
    def kept(self) -> list[int]:
        """Numbers of the versions that are kept; all but the first hold something."""
        return sorted({*range(self.oldest, len(self.versions) + 1), *self.tags.values()} - {1})

    def write(self, state: State) -> str:
        """A file with these events."""
        self.number += 1
        path = self.scratch / f"{self.number}.root"
        with sapwood.recreate(path) as file:
            file["Events"] = state.columns()
        return f"{path}:Events"

    def twin(self, number: int) -> Machine:
        """Another one, of a copy of the dataset as it is."""
        folder, name = (f"{old}-{number}" for old in (self.home.folder, self.home.name))
        # Objects are never changed, and what is in their place later is another file.
        shutil.copytree(self.home.folder, folder, copy_function=os.link)
        other = copy.copy(self)
        other.home = Home(f"{self.home.place}-{number}", Path(folder), self.home.database, name)
        if self.home.database:
            for version in range(1, len(self.versions) + 1):
                other.home.log.create(version, self.home.log.read(version))
        other.versions, other.tags, other.story = [*self.versions], dict(self.tags), []
        other.lottery = random.Random(number)
        return other

    # What may be done.

    def append(self) -> Operation:
        source, state = self._more()
        job = f"job {self.number}"

        def work(dataset: stripe.Dataset, attempt: int) -> Any:
            return dataset.append(source, **WRITING, job=(job, attempt))

        return Operation("append", work, state, repeatable=True)

    def receive(self) -> Operation:
        source, state = self._more()
        job, receipt = f"job {self.number}", self.scratch / f"{self.number}.json"

        def work(dataset: stripe.Dataset, attempt: int) -> Any:
            dataset.append(source, **WRITING, job=(job, attempt), receipt=receipt, overwrite=True)
            return dataset.commit([receipt])

        return Operation("receive", work, state, repeatable=True)

    def _more(self) -> tuple[str, State]:
        first, count = 1 + max(self.tip.events), self.lottery.randrange(1, 40)
        new = State(tuple(range(first, first + count)))
        for name in self.tip.products:
            new = new.seeded(name, self.number)
        products = {name: seeds + new.products[name] for name, seeds in self.tip.products.items()}
        return self.write(new), State(self.tip.events + new.events, products)

    def add(self) -> Operation:
        return self._put("add", f"P{self.number}")

    def replace(self) -> Operation:
        return self._put("replace", self.lottery.choice(sorted(self.tip.products)))

    def _put(self, words: str, name: str) -> Operation:
        state = self.tip.seeded(name, self.number)
        # They come in another order, and are matched.
        source = self.write(State(self.tip.events[::-1], {name: state.products[name]}))
        job = f"job {self.number}"

        def work(dataset: stripe.Dataset, attempt: int) -> Any:
            return dataset.add(source, name, **WRITING, job=(job, attempt))

        return Operation(words, work, state, repeatable=True)

    def drop(self) -> Operation:
        if len(self.tip.products) == 1:
            return self.add()
        name = self.lottery.choice(sorted(self.tip.products))
        left = {other: seeds for other, seeds in self.tip.products.items() if other != name}
        return Operation("drop", lambda dataset, _: dataset.drop(name), State(self.tip.events, left))

    def restore(self) -> Operation:
        version = self.lottery.choice(self.kept)
        state = self.versions[version - 1]
        return Operation("restore", lambda dataset, _: dataset.restore(version), state)

    def consolidate(self) -> Operation:
        def work(dataset: stripe.Dataset, attempt: int) -> Any:
            return dataset.consolidate()

        return Operation("consolidate", work, self.tip, optional=True)

    def tag(self) -> Operation:
        self.number += 1
        name, version = f"tag{self.number}", self.lottery.choice(self.kept)
        tags = {**self.tags, name: version}
        return Operation("tag", lambda dataset, _: dataset.tag(name, version), tags=tags, repeatable=True)

    def untag(self) -> Operation:
        if not self.tags:
            return self.tag()
        name = self.lottery.choice(sorted(self.tags))
        tags = {other: version for other, version in self.tags.items() if other != name}
        return Operation("untag", lambda dataset, _: dataset.untag(name), tags=tags)

    def expire(self) -> Operation:
        newest = self.lottery.randrange(1, 5)
        oldest = self.home.open().expire(newest=newest, dry_run=True)
        state = self.tip if oldest > self.oldest else None
        return Operation(
            "expire", lambda dataset, _: dataset.expire(newest=newest), state, oldest, repeatable=True
        )

    def gc(self) -> Operation:
        return Operation(
            "gc", lambda dataset, _: dataset.gc(grace_days=0, alone=True, dry_run=False), repeatable=True
        )

    OPERATIONS = (append, receive, add, replace, drop, restore, consolidate, tag, untag, expire, gc)

    # How it is done.

    def do(self, operation: Operation) -> None:
        """Does it, undisturbed."""
        self.story.append(operation.words)
        operation.work(self.home.open(), 1)
        self._is_done(operation, self.see(operation))

    def fail(self, operation: Operation, faults: Faults) -> None:
        """Does it while calls of the database fail."""
        log = faulty_log(self.home.database, self.home.name, faults)
        self.through(log, operation, f"faults at {faults.at}, after: {faults.after}, ever: {faults.ever}")

    def through(self, log: Any, operation: Operation, words: str) -> None:
        """Does it with a log that may fail; what was cut off is taken up, or left."""
        self.story.append(f"{operation.words} with {words}")
        error = None
        try:
            operation.work(self.home.open(log), 1)
        except errors.SapwoodError as raised:
            error = raised
        seen = self.see(operation)
        if error is None:
            self._is_done(operation, seen)
        elif seen and operation.tags is None:
            assert isinstance(error, errors.CommitUnknownError), repr(error)
        self._perhaps_again(operation, seen)

    def calls(self, operation: Operation) -> list[str]:
        """Does it; what the database is asked for that."""
        faults = Faults()
        operation.work(self.home.open(faulty_log(self.home.database, self.home.name, faults)), 1)
        return faults.calls

    def kill(self, operation: Operation, after: int) -> bool:
        """Does it in a process that is killed after this many changes of files; whether it was."""
        self.story.append(f"{operation.words}, killed after {after}")
        killed = self._kill(lambda: operation.work(self.home.open(), 1), after)
        seen = self.see(operation)
        if not killed:
            self._is_done(operation, seen)
        self._perhaps_again(operation, seen)
        return killed

    def _kill(self, work: Callable[[], Any], after: int) -> bool:
        before, end = self.home.files(), time.monotonic() + PATIENCE
        with warnings.catch_warnings():
            # The child of a process with threads makes its own.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            status = 1
            with contextlib.suppress(BaseException):
                work()
                status = 0
            os._exit(status)
        while len(self.home.files() - before) + len(before - self.home.files()) < after:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                assert status == 0, "it failed, undisturbed"
                return False
            assert time.monotonic() < end, "it hangs"
            time.sleep(0.0002)
        os.kill(child, signal.SIGKILL)
        return os.waitpid(child, 0)[1] != 0

    def _perhaps_again(self, operation: Operation, done: bool) -> None:
        if (done and not operation.repeatable) or self.lottery.random() < 0.3:
            return
        self.story.append(f"{operation.words} again")
        result = operation.work(self.home.open(), 2)
        if done:
            assert not self.see(operation), "it was done twice"
            assert getattr(result, "already", True)
        else:
            self._is_done(operation, self.see(operation))

    def _is_done(self, operation: Operation, seen: bool) -> None:
        nothing = operation.optional or (operation.state is None and operation.tags is None)
        assert seen or nothing, "it was reported as done"

    def see(self, operation: Operation) -> bool:
        """Whether what is there now is what the operation makes; else it is as it was."""
        dataset = self.home.open()
        entries, tags = dataset.log(after=len(self.versions)), dataset.tags()
        seen = bool(entries) or tags != self.tags
        if entries:
            assert len(entries) == 1 and operation.state is not None
            assert entries[0]["oldest"] == (operation.oldest or self.oldest)
            self.versions.append(operation.state)
            self.oldest = entries[0]["oldest"]
        assert tags in (self.tags, operation.tags)
        self.tags = tags
        return seen

    # What has to be.

    def check(self) -> None:
        """Every version that is kept reads back exactly."""
        dataset = self.home.open()
        assert dataset.version() == len(self.versions) and dataset.tags() == self.tags
        assert [entry["n"] for entry in dataset.log()] == list(range(1, len(self.versions) + 1))
        for version in self.kept:
            arrays, state = dataset.tree(version).arrays(), self.versions[version - 1]
            expected = state.columns()
            counters = {f"n{name}_list" for name in state.products}
            assert set(arrays.fields) == expected.keys() | counters, version
            for name, column in expected.items():
                assert ak.array_equal(arrays[name], column), f"{name} of version {version}"

    def clean(self) -> None:
        """Nothing is left over once leases have lapsed, and all that is kept is there."""
        self.home.let_leases_lapse()
        dataset, end = self.home.open(), time.monotonic() + PATIENCE
        # Clocks of stores may tell seconds: what was written in this one is not deleted.
        while dataset.gc(grace_days=0, alone=True).objects:
            dataset.gc(grace_days=0, alone=True, dry_run=False)
            assert time.monotonic() < end, "there are objects that are never deleted"
        for version in self.kept:
            assert dataset.verify(version).wrong == ()
        self.check()

    def step(self) -> None:
        """A random operation."""
        operation = self.lottery.choice(self.OPERATIONS)(self)
        way = self.lottery.randrange(4)
        if way == 0:
            self.kill(operation, self.lottery.randrange(1, 12))
        elif way == 1 and self.home.database:
            after, ever = self.lottery.random() < 0.5, self.lottery.random() < 0.5
            self.fail(operation, Faults(at=self.lottery.randrange(30), after=after, ever=ever))
        else:
            self.do(operation)
        self.check()

    def run(self, steps: int) -> None:
        """So many steps."""
        try:
            for _ in range(steps):
                self.step()
            self.clean()
        except BaseException:
            print("\n".join(self.story), file=sys.stderr)
            raise


@contextlib.contextmanager
def home_of(where: str, folder: Path) -> Iterator[Home]:
    """A place in a folder, with its log there or in a database; or in a bucket."""
    place = folder / "ttbar"
    with contextlib.ExitStack() as stack:
        if where == "s3":
            server = stack.enter_context(s3_server.s3_server())
            os.environ.update(server.variables)
            yield Home("s3://data/ttbar", Path(server.command[-1], server.bucket, "ttbar"))
        elif where == "postgresql":
            import postgres_server

            server = stack.enter_context(postgres_server.postgres_server())
            yield Home(str(place), place, stack.enter_context(server.database()))
        else:
            yield Home(str(place), place, str(folder / "log.sqlite") if where == "sqlite" else "")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("where", choices=["objects", "sqlite", "postgresql", "s3"], help="where the log is")
    parser.add_argument("--runs", type=int, default=50, help="datasets that are made")
    parser.add_argument("--steps", type=int, default=100, help="steps of each")
    parser.add_argument("--seed", type=int, default=0, help="of the first run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, home_of(options.where, Path(name)) as home:
        for seed in range(options.seed, options.seed + options.runs):
            print(f"seed {seed}", flush=True)
            scratch = Path(name, f"files{seed}")
            scratch.mkdir()
            one = Home(f"{home.place}{seed}", home.folder.with_name(f"{home.folder.name}{seed}"))
            one.database, one.name = home.database, f"machine {seed}"
            Machine(one, scratch, seed).run(options.steps)


if __name__ == "__main__":
    main()
