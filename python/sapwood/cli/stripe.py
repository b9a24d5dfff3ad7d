"""`sapwood stripe`: datasets of products in an object store or a directory, with versions."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from ..display.units import counted, human_bytes
from ._dataset import print_done, print_version, print_written
from ._options import Connection, Cut, Entries, Force, Json, Log, StoreAccess, Threads, entry_range
from ._output import Column, complain, numbers, print_json, print_table
from ._run import FAILED, command
from ._writing import Branches, Follow, Layout

if TYPE_CHECKING:
    from ..stripe import Dataset as StripeDataset

Dataset: TypeAlias = Annotated[
    str, typer.Argument(metavar="DATASET", help="A directory, or a prefix in a bucket: s3://bucket/name.")
]
From: TypeAlias = Annotated[
    list[str],
    typer.Option("--from", metavar="FILE:TREE", help="A file, URL, glob or other dataset. Repeatable."),
]
Base: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Where to put objects: another location of the dataset, see 'base'."),
]
Batch: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Entries of a batch; by default chosen automatically.")
]
Who: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="The author, which the version records.")
]
Version: TypeAlias = Annotated[
    str | None, typer.Option(metavar="VERSION", help="v12, or a tag; by default the newest version.")
]
Compression: TypeAlias = Annotated[
    str | None, typer.Option(metavar="ALGORITHM[:LEVEL]", help="Compression of baskets; by default zstd:5.")
]
ObjectSize: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Size of an object, in bytes of the source; by default 1 MiB."),
]
Really: TypeAlias = Annotated[
    bool, typer.Option("--yes", help="Make the change, instead of printing what it would be.")
]


@dataclass(frozen=True)
class Access(StoreAccess):
    """How a dataset is opened, and whether the result is printed as JSON."""

    log: Log = None
    as_json: Json = False

    @property
    def open_options(self) -> dict[str, Any]:
        """The arguments of :func:`sapwood.stripe.open`."""
        return {**super().open_options, "log": self.log}

    def open(self, dataset: str, threads: int | None = None) -> StripeDataset:
        """The dataset."""
        from .. import stripe

        return stripe.open(dataset, threads=threads, **self.open_options)


@dataclass(frozen=True)
class SourceAccess(Access, Connection):
    """The same, and how the files that become part of it are reached."""


@dataclass(frozen=True)
class Writing:
    """How products are written."""

    compression: Compression = None
    stripe_size: ObjectSize = None
    who: Who = None


app = typer.Typer(
    help="Manage datasets: products in stripes, with versions.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
@command
def create(
    dataset: Dataset,
    *,
    sources: From,
    branches: Branches,
    cut: Cut = None,
    writing: Writing,
    batch: Batch = None,
    access: SourceAccess,
    threads: Threads = None,
) -> None:
    """Create a dataset from the trees of files.

    \b
    sapwood stripe create s3://bucket/ttbar --from 'data/*.root:Events'
    sapwood stripe create s3://bucket/dimuons --from s3://bucket/ttbar --cut 'nMuon >= 2'
    """
    from .. import stripe

    options = {**branches.arguments(), **asdict(writing), "cut": cut, "batch": batch}
    made = stripe.create(dataset, sources, **options, **access.open_options, threads=threads)
    note = " (v1 is the empty dataset, before its first entries)"
    print_version(made.describe(sizes=True), access.as_json, note)


@app.command()
@command
def append(
    dataset: Dataset,
    *,
    sources: From,
    branches: Branches,
    cut: Cut = None,
    writing: Writing,
    batch: Batch = None,
    base: Base = None,
    receipt: Annotated[
        str | None, typer.Option(metavar="OUT.json", help="Do not commit; write a receipt for `commit`.")
    ] = None,
    force: Force = False,
    job: Annotated[
        str | None, typer.Option(metavar="NAME", help="The job. Its result is committed only once.")
    ] = None,
    attempt: Annotated[int, typer.Option(metavar="N", min=1, help="The number of the job's attempt.")] = 1,
    access: SourceAccess,
    threads: Threads = None,
) -> None:
    """Append the entries of files with the same tree."""
    done = access.open(dataset, threads).append(
        sources,
        receipt=receipt,
        overwrite=force,
        cut=cut,
        batch=batch,
        base=base,
        job=None if job is None else (job, attempt),
        **branches.arguments(),
        **asdict(writing),
    )
    print_written(done, access.as_json, receipt)


@app.command()
@command
def commit(
    dataset: Dataset,
    receipts: Annotated[
        list[str], typer.Argument(metavar="RECEIPT...", help="Files written by `append --receipt`.")
    ],
    who: Who = None,
    *,
    access: Access,
) -> None:
    """Commit the results of many workers as one version.

    \b
    sapwood stripe append s3://bucket/ttbar --from a.root:Events --receipt a.json --job a
    sapwood stripe commit s3://bucket/ttbar a.json b.json

    Each job is committed only once.
    """
    print_written(access.open(dataset).commit(receipts, who), access.as_json)


@app.command()
@command
def consolidate(
    dataset: Dataset,
    stripe_size: ObjectSize = None,
    product: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this product; all others stay unchanged. Repeatable."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what the command would do.")] = False,
    compression: Compression = None,
    who: Who = None,
    *,
    access: Access,
    threads: Threads = None,
) -> None:
    """Rewrite many small objects into fewer, larger ones."""
    opened = access.open(dataset, threads)
    done = asdict(
        opened.consolidate(
            stripe_size, products=product or None, dry_run=dry_run, compression=compression, who=who
        )
    )
    if not access.as_json:
        for name in ("segments", "objects"):
            done[name] = f"{done[name][0]} to {done[name][1]}"
    print_done(done, access.as_json)


@app.command()
@command
def add(
    dataset: Dataset,
    source: Annotated[str, typer.Argument(metavar="FILE:TREE", help="The file with the new columns.")],
    product: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this product. Repeatable.")
    ] = None,
    by_position: Annotated[
        bool, typer.Option("--by-position", help="Match entries by position, not by event.")
    ] = False,
    *,
    writing: Writing,
    base: Base = None,
    access: Access,
    threads: Threads = None,
) -> None:
    """Add or replace products for the same events.

    \b
    sapwood stripe add s3://bucket/ttbar new_jets.root:Events --product Jet
    """
    opened = access.open(dataset, threads)
    done = opened.add(source, product or None, by_position=by_position, base=base, **asdict(writing))
    print_written(done, access.as_json)


@app.command()
@command
def ls(dataset: Dataset, version: Version = None, *, access: Access) -> None:
    """List the products of a version."""
    products = access.open(dataset).describe(version)["products"]
    if access.as_json:
        print_json({"products": products})
        return
    rows = [
        [
            one["name"],
            str(one["branches"]),
            f"{one['entries']:,}",
            human_bytes(one["bytes"]),
            str(one["objects"]),
            f"v{one['version']}",
        ]
        for one in products
    ]
    print_table([Column("product"), *numbers("branches", "entries", "bytes", "objects", "since")], rows)


@app.command()
@command
def show(
    dataset: Dataset,
    product: Annotated[
        str | None, typer.Option(metavar="NAME", help="Also show the value ranges of its branches.")
    ] = None,
    cut: Annotated[
        str | None, typer.Option(metavar="CUT", help="Also show how many entries this cut skips unread.")
    ] = None,
    version: Version = None,
    *,
    access: Access,
) -> None:
    """Show the content of a version, and how it was made.

    \b
    sapwood stripe show s3://bucket/ttbar --product MET --cut 'MET_pt > 200'
    """
    opened = access.open(dataset)
    found = opened.describe(version)
    if product is not None:
        found["statistics"] = [asdict(one) for one in opened.statistics(product, version)]
    if cut is not None:
        entries, batches = opened.excluded(cut, version)
        found["excluded"] = {"cut": cut, "entries": entries, "batches": batches}
    print_version(found, access.as_json)


@app.command()
@command
def log(
    dataset: Dataset,
    after: Annotated[int, typer.Option(metavar="N", help="Only versions after this one.")] = 0,
    *,
    access: Access,
) -> None:
    """List the versions."""
    from datetime import datetime, timezone

    entries = access.open(dataset).log(after)
    if access.as_json:
        print_json({"versions": entries})
        return
    rows = []
    for one in entries:
        time = datetime.fromtimestamp(one["time_ms"] / 1000, timezone.utc)
        what = [one["operation"], one.get("what") or "", one.get("who") or ""]
        rows.append([f"v{one['n']}", f"{time:%Y-%m-%d %H:%M}", *what])
    titles = [Column("time"), Column("operation"), Column("details", last=1), Column("who")]
    print_table([*numbers("version"), *titles], rows)


@app.command()
@command
def verify(
    dataset: Dataset,
    version: Version = None,
    fraction: Annotated[
        float, typer.Option(metavar="PART", min=0.0, max=1.0, help="The fraction of objects to read.")
    ] = 1.0,
    *,
    access: Access,
) -> None:
    """Compare all checksums of a version. Fails (1) if an object is lost or damaged."""
    done = access.open(dataset).verify(version, fraction=fraction)
    document = asdict(done)
    print_done(document if access.as_json else document | {"wrong": len(done.wrong)}, access.as_json)
    for one in done.wrong if not access.as_json else ():
        span = f"entries {one.entries[0]} to {one.entries[1]}"
        complain(f"{one.object}: {one.product or 'no product'}, {span}: {one.error}")
    if done.wrong:
        raise typer.Exit(FAILED)


@app.command()
@command
def tag(
    dataset: Dataset,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name.")],
    version: Version = None,
    delete: Annotated[
        bool, typer.Option("--delete", help="Delete the tag. Its name cannot be used again.")
    ] = False,
    *,
    access: Access,
) -> None:
    """Give a version a name. A tagged version does not expire."""
    opened = access.open(dataset)
    if delete:
        opened.untag(name)
        print_done({"tag": name, "version": None}, access.as_json)
    else:
        print_done({"tag": name, "version": opened.tag(name, version)}, access.as_json)


@app.command()
@command
def base(
    dataset: Dataset,
    url: Annotated[str, typer.Argument(metavar="URL", help="A directory, or a prefix in a bucket.")],
    who: Who = None,
    *,
    access: Access,
) -> None:
    """Add another location for objects of the dataset. Its credentials are not stored."""
    print_done({"version": access.open(dataset).add_base(url, who)}, access.as_json)


@app.command()
@command
def drop(
    dataset: Dataset,
    products: Annotated[list[str], typer.Argument(metavar="PRODUCT...", help="The names of the products.")],
    who: Who = None,
    *,
    access: Access,
) -> None:
    """Make a version without some products. Earlier versions keep them."""
    print_done({"version": access.open(dataset).drop(*products, who=who)}, access.as_json)


@app.command()
@command
def expire(
    dataset: Dataset,
    newest: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="The number of versions to keep.")
    ] = None,
    days: Annotated[
        float | None, typer.Option(metavar="DAYS", min=0, help="Keep the versions of the last days.")
    ] = None,
    really: Really = False,
    *,
    access: Access,
) -> None:
    """Expire old versions, so that `gc` may delete their objects. Without --yes, it changes nothing."""
    oldest = access.open(dataset).expire(newest=newest, days=days, dry_run=not really)
    line = f"the oldest remaining version is v{oldest}"
    if not really:
        line = f"the oldest remaining version would be v{oldest}; to expire older ones, add --yes"
    print_done({"oldest": oldest, "done": really}, access.as_json, line)


@app.command()
@command
def gc(
    dataset: Dataset,
    really: Really = False,
    grace_days: Annotated[
        float | None,
        typer.Option(metavar="DAYS", min=0, help="Keep younger objects; by default 7."),
    ] = None,
    alone: Annotated[
        bool,
        typer.Option(
            "--alone", help="Assert that no other process is using the dataset, so that grace may be 0."
        ),
    ] = False,
    *,
    access: Access,
) -> None:
    """Delete objects that no version needs. Without --yes, it deletes nothing."""
    done = access.open(dataset).gc(dry_run=not really, grace_days=grace_days, alone=alone)
    objects = list(done.objects)
    deleted, kept = counted(len(done.objects), "object"), counted(done.kept, "object")
    line = f"deleted {deleted} ({human_bytes(done.bytes)}), kept {kept}"
    if not really:
        line = f"would delete {deleted} ({human_bytes(done.bytes)}), keep {kept}; to delete them, add --yes"
    document = {"objects": objects, "bytes": done.bytes, "kept": done.kept, "done": really}
    print_done(document, access.as_json, line)


@app.command()
@command
def export(
    dataset: Dataset,
    target: Annotated[str, typer.Argument(metavar="OUT", help="The new ROOT file.")],
    version: Version = None,
    *,
    layout: Layout,
    branches: Branches,
    cut: Cut = None,
    entries: Entries = None,
    follow: Follow = False,
    force: Force = False,
    access: Access,
    threads: Threads = None,
) -> None:
    """Write a version to a ROOT file.

    \b
    sapwood stripe export s3://bucket/ttbar dimuons.root --cut 'nMuon >= 2' --keep 'Muon_*'
    sapwood stripe export s3://bucket/ttbar ttbar.root --format rntuple

    The file includes the other objects that came with the entries.
    """
    start, stop = entry_range(entries)
    done = access.open(dataset, threads).export(
        target,
        version=version,
        cut=cut,
        entry_start=start,
        entry_stop=stop,
        follow=follow,
        overwrite=force,
        **layout.arguments(),
        **branches.arguments(),
    )
    print_done({"output": target, **asdict(done), "notes": list(done.notes)}, access.as_json)


@app.command()
@command
def restore(
    dataset: Dataset,
    version: Annotated[str, typer.Argument(metavar="VERSION", help="v12, or a tag.")],
    who: Who = None,
    *,
    access: Access,
) -> None:
    """Make a new version with the content of an earlier one."""
    print_done({"version": access.open(dataset).restore(version, who)}, access.as_json)


@app.command()
@command
def copy(
    dataset: Dataset,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The new location.")],
    *,
    access: Access,
) -> None:
    """Copy all versions to another location. Existing objects are not sent again."""
    objects, nbytes = access.open(dataset).copy_to(target)
    print_done({"objects": objects, "bytes": nbytes}, access.as_json)
