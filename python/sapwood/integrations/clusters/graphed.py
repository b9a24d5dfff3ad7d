"""Deferred arrays of graphed (``sapwood.graphed``): a source that sapwood reads, partition by partition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

try:
    import awkward as ak
    import graphed
    from graphed.awkward import AwkwardBackend, AwkwardForm
    from graphed.awkward.projection import project_buffers_many
    from graphed.core import Partition
except ImportError as error:
    raise ImportError(f"sapwood.graphed needs graphed: pip install 'sapwood[graphed]' ({error})") from error

from ...display.printable import shows_printable
from ...display.units import counted
from ...errors import UsageError
from .tasks import EntryTask, Plan, plan, read_task

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ...options.keywords import OpenKeywords

__all__ = ["Source", "open_files"]


def open_files(
    files: Any,
    columns: Any = None,
    *,
    tree: str | None = None,
    form: Any = None,
    name: str = "events",
    threads: int | None = 1,
    deadline: float | None = None,
    **options: Unpack[OpenKeywords],
) -> Any:
    """Presents files as one deferred array, for ``graphed.aggregate_plan`` and the runners of graphed.

    >>> events = sapwood.graphed.open_files("nano/*.root", ["Jet_pt"], tree="Events")      # doctest: +SKIP

    Only the columns that a plan uses are read. A process opens each file once. A task holds the place of its
    file and two numbers.

    Args:
        files, columns, tree, threads, deadline, options: as in :func:`sapwood.dask.from_files`.
        form: the ``ak.forms.Form`` of the events. Default: that of the first file, which is opened.
        name: the name of the source in graphed.

    Returns:
        A ``graphed`` array, recorded on the backend for Awkward Array.
    """
    planned = plan(files, columns, tree=tree, threads=threads, deadline=deadline, **options)
    if form is None:
        first = planned.files[0]
        form = read_task(EntryTask(first.file, first.object_path, 0, 0), planned.reading).layout.form
    deferred = ak.typetracer.typetracer_from_form(form, highlevel=True)
    source = Source(planned, name, form.fields)
    return graphed.Session(AwkwardBackend()).source(name, form=AwkwardForm(deferred), data=source)


class Source:
    """Files as a ``PartitionedSource`` of graphed: see :func:`open_files`."""

    def __init__(self, plan: Plan, name: str, columns: Sequence[str]) -> None:
        self._plan, self._name, self._columns = plan, name, tuple(columns)

    def partitions(self, steps_per_file: int = 1) -> tuple[Partition, ...]:
        """The partitions: the given steps of files, or equal parts of each file. No file is opened."""
        if not self._plan.files:
            raise UsageError("the copy of a source on a worker only reads: plan where the source was made")
        tasks = replace(self._plan, steps_per_file=steps_per_file).tasks()
        return tuple(
            Partition(task.url, task.tree or "", task.first, task.last)
            if task.parts is None
            else Partition.blind(task.url, task.tree or "", task.first, task.parts)
            for task in tasks
        )

    def read_partition(self, partition: Partition, columns: Sequence[str] | None, resources: Any) -> ak.Array:
        """The events of a partition, with the given columns, or all."""
        reading = self._plan.reading
        if columns is not None:
            # Without any column, the number of events is still needed: the first column gives it.
            reading = replace(reading, columns=list(columns) or list(self._columns[:1]))
        first, last, parts = partition.entry_start, partition.entry_stop, None
        if partition.is_blind:
            first, parts = partition.blind_step, partition.blind_n_steps
            last = first + 1
        return read_task(EntryTask(partition.uri, partition.tree or None, first, last, parts), reading)

    def projected_columns(self, outputs: Sequence[Any], *, on_fail: str = "pass") -> tuple[str, ...]:
        """The columns that some outputs of a plan need."""
        found = project_buffers_many(list(outputs), on_fail=on_fail).read_buffers.get(self._name, {})
        return tuple(
            name for name in self._columns if any(f"{path}.".startswith(f"{name}.") for path in found)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Workers get the names of files from their tasks.
        return (Source, (replace(self._plan, files=()), self._name, self._columns))

    @shows_printable
    def __repr__(self) -> str:
        return f"<Source of {counted(len(self._plan.files), 'file')}>"
