"""`sapwood repack`, `slim` and `skim`: a file in another layout, with fewer branches, with fewer entries."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ._options import Deadline, Entries, Force, Json, Threads, entry_range
from ._run import command
from ._writing import (
    BasketSize,
    ClusterEntries,
    ClusterSize,
    Compression,
    Drop,
    Follow,
    Keep,
    MainTree,
    Source,
    Target,
    Trees,
    size,
    tell,
)


@command
def repack(
    source: Source,
    target: Target,
    compression: Compression = None,
    basket_size: BasketSize = None,
    cluster_size: ClusterSize = None,
    cluster_entries: ClusterEntries = None,
    keep: Keep = None,
    drop: Drop = None,
    entries: Entries = None,
    tree: MainTree = None,
    only_tree: Trees = None,
    force: Force = False,
    as_json: Json = False,
    deadline: Deadline = None,
    threads: Threads = None,
) -> None:
    """Write a file in another layout; any file, with classes of any experiment.

    \b
    sapwood repack in.root out.root --compression zstd:5 --basket-size 256k --cluster-size 20MB

    Everything in the file comes along. What is not asked for stays as it is.
    """
    _repack(
        source,
        target,
        force,
        as_json,
        compression=compression,
        basket_size=size(basket_size),
        cluster_size=size(cluster_size),
        cluster_entries=cluster_entries,
        keep=keep or None,
        drop=drop or None,
        entries=None if entries is None else entry_range(entries),
        tree=tree,
        trees=only_tree or None,
        deadline=deadline,
        threads=threads,
    )


@command
def slim(
    source: Source,
    target: Target,
    keep: Keep = None,
    drop: Drop = None,
    tree: MainTree = None,
    force: Force = False,
    as_json: Json = False,
    deadline: Deadline = None,
    threads: Threads = None,
) -> None:
    """Write a file with fewer branches. Baskets are copied as they are.

    \b
    sapwood slim nano.root muons.root --keep 'Muon_*' --keep event
    """
    from ..errors import UsageError

    if not keep and not drop:
        raise UsageError("say which branches to --keep or to --drop")
    chosen = {"keep": keep or None, "drop": drop or None, "tree": tree}
    _repack(source, target, force, as_json, **chosen, deadline=deadline, threads=threads)


@command
def skim(
    source: Source,
    target: Target,
    cut: Annotated[str, typer.Option(help="Only entries for which this expression is true.")],
    keep: Keep = None,
    drop: Drop = None,
    entries: Entries = None,
    compression: Compression = None,
    follow: Follow = False,
    tree: MainTree = None,
    force: Force = False,
    as_json: Json = False,
    deadline: Deadline = None,
    threads: Threads = None,
) -> None:
    """Write a file with the entries that pass a cut. Other trees, such as Runs, come along whole.

    \b
    sapwood skim nano.root dimuons.root --cut 'nMuon >= 2'
    """
    _repack(
        source,
        target,
        force,
        as_json,
        cut=cut,
        keep=keep or None,
        drop=drop or None,
        entries=None if entries is None else entry_range(entries),
        compression=compression,
        follow=follow,
        tree=tree,
        deadline=deadline,
        threads=threads,
    )


def _repack(source: str, target: str, force: bool, as_json: bool, **options: Any) -> None:
    from ..writing.repacking import repack as write

    tell(target, as_json, lambda: write(source, target, overwrite=force, **options))
