"""Jobs on dask clusters (``sapwood.dask``), over plain ``distributed``: dask-awkward is not needed."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

try:
    from distributed import Client, Future, WorkerPlugin, as_completed
except ImportError as error:
    raise ImportError(f"sapwood.dask needs distributed: pip install 'sapwood[dask]' ({error})") from error

from ...display.printable import shows_printable
from ...display.units import counted
from ...errors import UsageError
from .tasks import EntryTask, Plan, Reading, plan, read_task

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ...options.keywords import OpenKeywords

__all__ = ["EntryTasks", "WorkerEnvironment", "from_files", "map_entries"]

_BRANCHING = 8
"""Results that one task of a reduction combines."""

_SECRET_VARIABLE = re.compile(
    r"(?!.*_(FILE|PATH|DIR|URI)$).*(SECRET|PASSWORD|TOKEN|ACCESS_KEY|STORAGE_KEY|ACCOUNT_KEY)", re.IGNORECASE
)
"""Names of variables that hold secrets, not the places of secrets."""


def map_entries(
    client: Client,
    function: Callable[[Any], Any],
    files: Any,
    columns: Any = None,
    *,
    combine: Callable[[Any, Any], Any] | None = operator.add,
    retries: int = 3,
    progress: Callable[[int, int], None] | None = None,
    **arguments: Any,
) -> Any:
    """Applies a function to the entries of many files on a cluster, and combines the results.

    >>> def jets(events):                                                     # doctest: +SKIP
    ...     return hist.Hist.new.Reg(50, 0, 500).Double().fill(ak.flatten(events.Jet_pt))
    >>> total = sapwood.dask.map_entries(client, jets, "nano/*.root:Events", ["Jet_pt"])   # doctest: +SKIP

    Results are combined in an order that depends only on the files and steps. They are the same, bit by bit,
    on any number of workers, and after a worker was lost.

    Args:
        client: a ``distributed.Client``.
        function: takes the arrays of a task, and returns a value that can be pickled.
        combine: takes two results and returns one. None to return all results as a list, in order.
        retries: how often a failed task is repeated. (Tasks of a lost worker are repeated anyway, as often as
            the setting ``distributed.scheduler.allowed-failures`` says.)
        progress: called with the number of tasks done, and of all tasks, whenever one is done.

    The other arguments are those of :func:`from_files`.

    Raises:
        UsageError: there are no entries, or the options have secrets.
        SapwoodError: a file cannot be read; the message names it.
    """
    tasks = from_files(files, columns, **arguments)
    if combine is None:
        return tasks.results(client, function, retries=retries, progress=progress)
    return tasks.reduce(client, function, combine, retries=retries, progress=progress)


def from_files(
    files: Any,
    columns: Any = None,
    *,
    tree: str | None = None,
    cut: str | None = None,
    step_size: int | str = "100 MB",
    steps_per_file: int | None = None,
    library: str = "ak",
    how: Any = None,
    spread: float = 0.0,
    threads: int | None = 1,
    deadline: float | None = None,
    **options: Unpack[OpenKeywords],
) -> EntryTasks:
    """Divides files into tasks that workers read.

    A task is a URL, a tree and two numbers. What to read is sent once per worker, and the structure of a tree
    not at all: a worker finds it in the file, which stays open for its next task.

    Args:
        files: as in :func:`sapwood.iterate`, but no open files. Relative paths are relative to this process.
        columns: names or expressions, as in :meth:`sapwood.Tree.arrays`. Name them: the default is all.
        tree: the path of the tree, for files that are named without one. Default: the only tree of each file.
        cut: an expression; only entries that pass it are kept.
        step_size: entries per task, or the memory of its arrays, such as ``"100 MB"``. To find the steps,
            workers open each file.
        steps_per_file: divide each file into this many equal parts instead. No file is opened to plan.
        library, how: as in :meth:`sapwood.Tree.arrays`.
        spread: seconds over which the first tasks of all workers are spread, at random, so that thousands of
            workers do not open files in the same moment.
        threads: threads that decompress and decode in one task. Default: 1, because a worker runs as many
            tasks as it has threads.
        deadline: seconds that opening a file, or reading a task, may take.
        options: as in :func:`sapwood.open`, without secrets. Workers find their own credentials.

    Returns:
        The tasks, which nothing has read yet.

    Raises:
        FileNotFoundError: no file matches.
        UsageError: the options or URLs have secrets.
    """
    chosen: dict[str, Any] = {"tree": tree, "cut": cut, "library": library, "how": how, "spread": spread}
    chosen |= {"step_size": step_size, "steps_per_file": steps_per_file}
    return EntryTasks(plan(files, columns, threads=threads, deadline=deadline, **chosen, **options))


class EntryTasks:
    """Tasks that read entries of files: see :func:`from_files`."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    @property
    def reading(self) -> Reading:
        """What the tasks read."""
        return self._plan.reading

    def tasks(self, client: Client | None = None) -> list[EntryTask]:
        """The tasks, in order. Workers of ``client``, if given, open the files if that is needed."""
        if client is None or not self._plan.needs_opening:
            return self._plan.tasks()
        small = Plan((), self._plan.reading, self._plan.step_size, self._plan.steps_per_file)
        shared = client.submit(_same, small, pure=False)
        futures = client.map(_tasks_of, self._plan.files, plan=shared, pure=False, retries=3)
        return [task for tasks in client.gather(futures) for task in tasks]

    def map(self, client: Client, function: Callable[[Any], Any], *, retries: int = 3) -> list[Future]:
        """A future for each task, in order: the function applied to its arrays."""
        shared = client.submit(_Work, function, self.reading, pure=False)
        tasks = self.tasks(client)
        futures: list[Future] = client.map(_run, tasks, work=shared, pure=False, retries=retries)
        return futures

    def results(
        self,
        client: Client,
        function: Callable[[Any], Any],
        *,
        retries: int = 3,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Any]:
        """The results of all tasks, in order."""
        futures = self.map(client, function, retries=retries)
        if progress is not None:
            _follow(futures, progress)
        return list(client.gather(futures))

    def reduce(
        self,
        client: Client,
        function: Callable[[Any], Any],
        combine: Callable[[Any, Any], Any] = operator.add,
        *,
        retries: int = 3,
        progress: Callable[[int, int], None] | None = None,
    ) -> Any:
        """The results of all tasks, combined as a tree; workers keep no more of them than needed."""
        futures = self.map(client, function, retries=retries)
        if not futures:
            raise UsageError("the files have no entries, so there is nothing to combine")
        leaves, combining = futures, client.submit(_same, combine, pure=False)
        while len(futures) > 1:
            groups = [futures[at : at + _BRANCHING] for at in range(0, len(futures), _BRANCHING)]
            futures = client.map(_combined, groups, combine=combining, pure=False, retries=retries)
        root = futures[0]
        del futures
        if progress is not None:
            _follow(leaves, progress)
        # From here on, a result lives only until it is combined.
        leaves.clear()
        return root.result()

    @shows_printable
    def __repr__(self) -> str:
        return f"<EntryTasks of {counted(len(self._plan.files), 'file')}>"


class WorkerEnvironment(WorkerPlugin):  # type: ignore[misc]
    """Sets environment variables of all workers, now and later, so that they find credentials.

    >>> client.register_plugin(sapwood.dask.WorkerEnvironment(             # doctest: +SKIP
    ...     {"BEARER_TOKEN_FILE": "/etc/tokens/cms", "X509_USER_PROXY": "/shared/x509up"}))

    Args:
        variables: values by name; None removes a variable. Name *files* that a worker can read.
        secrets: True to allow variables that are secrets themselves, such as ``BEARER_TOKEN``. They pass
            through the scheduler: use this only with TLS (``distributed.Security``).

    Raises:
        UsageError: a variable is a secret, and ``secrets`` is not set.
    """

    name = "sapwood-environment"

    def __init__(self, variables: Mapping[str, str | None], *, secrets: bool = False) -> None:
        given = sorted(filter(_SECRET_VARIABLE.match, variables))
        if given and not secrets:
            raise UsageError(
                f"{', '.join(given)} would pass through the scheduler: name a file that workers can read "
                "instead (BEARER_TOKEN_FILE, AWS_SHARED_CREDENTIALS_FILE), or set secrets=True on a "
                "cluster with TLS"
            )
        self._variables = dict(variables)

    def setup(self, worker: Any) -> None:
        """Sets the variables in the process of a worker."""
        for name, value in self._variables.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    @shows_printable
    def __repr__(self) -> str:
        return f"<WorkerEnvironment {', '.join(self._variables)}>"


@dataclass(frozen=True)
class _Work:
    """What all tasks of a job have in common."""

    function: Callable[[Any], Any]
    reading: Reading


def _same(value: Any) -> Any:
    return value


def _tasks_of(spec: Any, plan: Plan) -> list[EntryTask]:
    return plan.tasks_of(spec)


def _run(task: EntryTask, work: _Work) -> Any:
    arrays = read_task(task, work.reading)
    try:
        return work.function(arrays)
    except Exception as error:
        place = f"{task.url}:{task.tree or ''}, {task.first} to {task.last}"
        error.__notes__ = [*getattr(error, "__notes__", ()), f"in the task of {place}"]
        raise


def _combined(results: Sequence[Any], combine: Callable[[Any, Any], Any]) -> Any:
    first, *others = results
    for other in others:
        first = combine(first, other)
    return first


def _follow(futures: Sequence[Future], progress: Callable[[int, int], None]) -> None:
    """Reports how many are done, until all are, or one has failed."""
    for done, future in enumerate(as_completed(futures), 1):
        if future.status != "finished":
            return
        progress(done, len(futures))
