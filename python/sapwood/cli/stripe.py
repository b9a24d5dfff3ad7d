"""`sapwood stripe`: datasets of products in an object store or a directory, in versions."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, TypeAlias

import typer

from ..display.units import human_bytes
from ._dataset import print_done, print_version
from ._options import Deadline, Entries, Force, Json, Log, Threads, entry_range
from ._output import Column, complain, print_json, print_table
from ._run import FAILED, command
from ._writing import Drop, Follow, Keep

Where: TypeAlias = Annotated[
    str, typer.Argument(metavar="DATASET", help="A directory, or a place in a bucket: s3://bucket/name.")
]
From: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--from", metavar="FILE:TREE", help="A file, URL or glob, or another dataset; may be repeated."
    ),
]
Compression: TypeAlias = Annotated[
    str | None, typer.Option(metavar="ALGORITHM[:LEVEL]", help="Of all baskets; by default zstd:5.")
]
StripeSize: TypeAlias = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Bytes of an object in the source; by default 1 MiB.")
]
Batch: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Entries of a batch; by default chosen.")
]
Base: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Where objects go: another place of the dataset, see 'base'."),
]
Who: TypeAlias = Annotated[str | None, typer.Option(metavar="NAME", help="Who does it, to be remembered.")]
Version: TypeAlias = Annotated[
    str | None, typer.Option(metavar="VERSION", help="v12, or a tag; by default the newest version.")
]
Cut: TypeAlias = Annotated[
    str | None, typer.Option(metavar="CUT", help="Only entries for which this expression is true.")
]
Really: TypeAlias = Annotated[bool, typer.Option("--yes", help="Do it, rather than say what would be done.")]

app = typer.Typer(
    help="Keep datasets as stripes of products: in versions, with products that are replaced alone.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
@command
def create(
    dataset: Where,
    sources: From,
    keep: Keep = None,
    drop: Drop = None,
    cut: Cut = None,
    compression: Compression = None,
    stripe_size: StripeSize = None,
    batch: Batch = None,
    who: Who = None,
    log: Log = None,
    deadline: Deadline = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Make a dataset of the trees of files.

    \b
    sapwood stripe create s3://bucket/ttbar --from 'data/*.root:Events'
    sapwood stripe create s3://bucket/dimuons --from s3://bucket/ttbar --cut 'nMuon >= 2'
    """
    from .. import stripe

    made = stripe.create(
        dataset,
        sources,
        keep=keep or None,
        drop=drop or None,
        cut=cut,
        compression=compression,
        stripe_size=stripe_size,
        batch=batch,
        who=who,
        log=log,
        deadline=deadline,
        threads=threads,
    )
    print_version(made.describe(sizes=True), as_json)


@app.command()
@command
def append(
    dataset: Where,
    sources: From,
    keep: Keep = None,
    drop: Drop = None,
    cut: Cut = None,
    compression: Compression = None,
    stripe_size: StripeSize = None,
    batch: Batch = None,
    base: Base = None,
    receipt: Annotated[
        str | None, typer.Option(metavar="OUT.json", help="Commit nothing; write a receipt for `commit`.")
    ] = None,
    force: Force = False,
    job: Annotated[
        str | None, typer.Option(metavar="NAME", help="The job: what it did is committed once.")
    ] = None,
    attempt: Annotated[int, typer.Option(metavar="N", min=1, help="Which attempt of the job it is.")] = 1,
    who: Who = None,
    log: Log = None,
    deadline: Deadline = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Append the entries of files, whose trees are like that of the dataset."""
    opened = _open(dataset, log, deadline, threads)
    writing = {
        "keep": keep or None,
        "drop": drop or None,
        "cut": cut,
        "compression": compression,
        "stripe_size": stripe_size,
        "batch": batch,
        "base": base,
        "who": who,
        "job": None if job is None else (job, attempt),
    }
    print_done(asdict(opened.append(sources, receipt=receipt, overwrite=force, **writing)), as_json)


@app.command()
@command
def commit(
    dataset: Where,
    receipts: Annotated[list[str], typer.Argument(metavar="RECEIPT...", help="Files of `append --receipt`.")],
    who: Who = None,
    log: Log = None,
    deadline: Deadline = None,
    as_json: Json = False,
) -> None:
    """Commit what many workers have stored, as one version; each job once.

    \b
    sapwood stripe append s3://bucket/ttbar --from a.root:Events --receipt a.json --job a
    sapwood stripe commit s3://bucket/ttbar a.json b.json
    """
    print_done(asdict(_open(dataset, log, deadline).commit(receipts, who)), as_json)


@app.command()
@command
def consolidate(
    dataset: Where,
    target: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Bytes of an object in the source; by default 1 MiB.")
    ] = None,
    product: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this product; all else stays as it is. May be repeated."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say only what would be done.")] = False,
    compression: Compression = None,
    who: Who = None,
    log: Log = None,
    deadline: Deadline = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Write entries that lie in many small objects again, in fewer larger ones."""
    opened = _open(dataset, log, deadline, threads)
    told = opened.consolidate(
        target, products=product or None, dry_run=dry_run, compression=compression, who=who
    )
    done = asdict(told)
    if not as_json:
        for name in ("segments", "objects"):
            done[name] = f"{done[name][0]} to {done[name][1]}"
    print_done(done, as_json)


@app.command()
@command
def add(
    dataset: Where,
    source: Annotated[str, typer.Argument(metavar="FILE:TREE", help="The file with the new columns.")],
    product: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this product; may be repeated.")
    ] = None,
    by_position: Annotated[
        bool, typer.Option("--by-position", help="Match entries by position, not by event.")
    ] = False,
    compression: Compression = None,
    stripe_size: StripeSize = None,
    base: Base = None,
    who: Who = None,
    log: Log = None,
    deadline: Deadline = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Add products of the same events, or replace those of the same names.

    \b
    sapwood stripe add s3://bucket/ttbar new_jets.root:Events --product Jet
    """
    opened = _open(dataset, log, deadline, threads)
    writing = {"compression": compression, "stripe_size": stripe_size, "base": base, "who": who}
    print_done(asdict(opened.add(source, product or None, by_position=by_position, **writing)), as_json)


@app.command()
@command
def ls(
    dataset: Where, version: Version = None, log: Log = None, deadline: Deadline = None, as_json: Json = False
) -> None:
    """List the products of a version."""
    told = _open(dataset, log, deadline).describe(version)
    if as_json:
        print_json({"products": told["products"]})
        return
    titles = [Column("product"), Column("branches", right=True), Column("entries", right=True)]
    titles += [Column("bytes", right=True), Column("objects", right=True), Column("since", right=True)]
    rows = [
        [
            one["name"],
            str(one["branches"]),
            f"{one['entries']:,}",
            human_bytes(one["bytes"]),
            str(one["objects"]),
            f"v{one['version']}",
        ]
        for one in told["products"]
    ]
    print_table(titles, rows)


@app.command()
@command
def show(
    dataset: Where,
    product: Annotated[
        str | None, typer.Option(metavar="NAME", help="Also the least and greatest values of its branches.")
    ] = None,
    cut: Annotated[
        str | None, typer.Option(metavar="CUT", help="Also how many entries this cut passes over by them.")
    ] = None,
    version: Version = None,
    log: Log = None,
    deadline: Deadline = None,
    as_json: Json = False,
) -> None:
    """Show what a version holds, and how it came to be.

    \b
    sapwood stripe show s3://bucket/ttbar --product MET --cut 'MET_pt > 200'
    """
    opened = _open(dataset, log, deadline)
    told = opened.describe(version)
    if product is not None:
        told["statistics"] = [asdict(one) for one in opened.statistics(product, version)]
    if cut is not None:
        entries, batches = opened.excluded(cut, version)
        told["excluded"] = {"cut": cut, "entries": entries, "batches": batches}
    print_version(told, as_json)


@app.command()
@command
def log(
    dataset: Where,
    after: Annotated[int, typer.Option(metavar="N", help="Only versions after this one.")] = 0,
    database: Log = None,
    deadline: Deadline = None,
    as_json: Json = False,
) -> None:
    """List the versions."""
    from datetime import datetime, timezone

    entries = _open(dataset, database, deadline).log(after)
    if as_json:
        print_json({"versions": entries})
        return
    titles = [Column("version", right=True), Column("time"), Column("operation")]
    titles += [Column("what", breaks=True), Column("who")]
    rows = []
    for one in entries:
        time = datetime.fromtimestamp(one["time_ms"] / 1000, timezone.utc)
        what = [one["operation"], one.get("what") or "", one.get("who") or ""]
        rows.append([f"v{one['n']}", f"{time:%Y-%m-%d %H:%M}", *what])
    print_table(titles, rows)


@app.command()
@command
def verify(
    dataset: Where,
    version: Version = None,
    fraction: Annotated[
        float, typer.Option(metavar="PART", min=0.0, max=1.0, help="The part of the objects that is read.")
    ] = 1.0,
    log: Log = None,
    deadline: Deadline = None,
    as_json: Json = False,
) -> None:
    """Compare all checksums of a version. Fails (1) if an object is lost or damaged."""
    done = _open(dataset, log, deadline).verify(version, fraction=fraction)
    document = asdict(done)
    print_done(document if as_json else document | {"wrong": len(done.wrong)}, as_json)
    for one in done.wrong if not as_json else ():
        span = f"entries {one.entries[0]} to {one.entries[1]}"
        complain(f"{one.object}: {one.product or 'no product'}, {span}: {one.error}")
    if done.wrong:
        raise typer.Exit(FAILED)


@app.command()
@command
def tag(
    dataset: Where,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name.")],
    version: Version = None,
    delete: Annotated[bool, typer.Option("--delete", help="Take the name away, for ever.")] = False,
    log: Log = None,
    deadline: Deadline = None,
    as_json: Json = False,
) -> None:
    """Give a version a name, by which it is kept."""
    opened = _open(dataset, log, deadline)
    if delete:
        opened.untag(name)
        print_done({"tag": name, "version": None}, as_json)
    else:
        print_done({"tag": name, "version": opened.tag(name, version)}, as_json)


@app.command()
@command
def base(
    dataset: Where,
    url: Annotated[str, typer.Argument(metavar="URL", help="A directory, or a place in a bucket.")],
    who: Who = None,
    log: Log = None,
    deadline: Deadline = None,
    as_json: Json = False,
) -> None:
    """Name another place where objects of the dataset may lie. Its credentials are not stored."""
    print_done({"version": _open(dataset, log, deadline).add_base(url, who)}, as_json)


@app.command()
@command
def drop(
    dataset: Where,
    products: Annotated[list[str], typer.Argument(metavar="PRODUCT...", help="Their names.")],
    who: Who = None,
    log: Log = None,
    deadline: Deadline = None,
    as_json: Json = False,
) -> None:
    """Make a version without some products; earlier versions keep them."""
    print_done({"version": _open(dataset, log, deadline).drop(*products, who=who)}, as_json)


@app.command()
@command
def expire(
    dataset: Where,
    newest: Annotated[int | None, typer.Option(metavar="N", min=1, help="Keep so many versions.")] = None,
    days: Annotated[
        float | None, typer.Option(metavar="DAYS", min=0, help="Keep those of the last so many days.")
    ] = None,
    really: Really = False,
    log: Log = None,
    deadline: Deadline = None,
    as_json: Json = False,
) -> None:
    """Let old versions expire, which `gc` may clear up then. Says only what it would do, without --yes."""
    oldest = _open(dataset, log, deadline).expire(newest=newest, days=days, dry_run=not really)
    print_done({"oldest": oldest, "done": really}, as_json)


@app.command()
@command
def gc(
    dataset: Where,
    really: Really = False,
    grace_days: Annotated[
        float | None, typer.Option(metavar="DAYS", min=0, help="Objects that are younger stay; by default 7.")
    ] = None,
    alone: Annotated[
        bool, typer.Option("--alone", help="Nobody else reads or writes: grace may be 0.")
    ] = False,
    log: Log = None,
    deadline: Deadline = None,
    as_json: Json = False,
) -> None:
    """Delete objects that no version needs. Says only what it would delete, without --yes."""
    done = _open(dataset, log, deadline).gc(dry_run=not really, grace_days=grace_days, alone=alone)
    objects: Any = list(done.objects) if as_json else len(done.objects)
    print_done({"objects": objects, "bytes": done.bytes, "kept": done.kept, "done": really}, as_json)


@app.command()
@command
def export(
    dataset: Where,
    target: Annotated[str, typer.Argument(metavar="OUT", help="The new ROOT file.")],
    version: Version = None,
    keep: Keep = None,
    drop: Drop = None,
    cut: Cut = None,
    entries: Entries = None,
    follow: Follow = False,
    force: Force = False,
    log: Log = None,
    deadline: Deadline = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Write a version to a ROOT file, with all that came with its entries.

    \b
    sapwood stripe export s3://bucket/ttbar dimuons.root --cut 'nMuon >= 2' --keep 'Muon_*'
    """
    done = _open(dataset, log, deadline, threads).export(
        target,
        version=version,
        keep=keep or None,
        drop=drop or None,
        cut=cut,
        entries=None if entries is None else entry_range(entries),
        follow=follow,
        overwrite=force,
    )
    print_done({"output": target, **asdict(done), "notes": list(done.notes)}, as_json)


@app.command()
@command
def restore(
    dataset: Where,
    version: Annotated[str, typer.Argument(metavar="VERSION", help="v12, or a tag.")],
    who: Who = None,
    log: Log = None,
    deadline: Deadline = None,
    as_json: Json = False,
) -> None:
    """Make a version that is as an earlier one was."""
    print_done({"version": _open(dataset, log, deadline).restore(version, who)}, as_json)


@app.command()
@command
def copy(
    dataset: Where,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The other place.")],
    log: Log = None,
    deadline: Deadline = None,
    as_json: Json = False,
) -> None:
    """Copy all versions to another place; what is there already is not sent again."""
    objects, size = _open(dataset, log, deadline).copy_to(target)
    print_done({"objects": objects, "bytes": size}, as_json)


def _open(dataset: str, log: str | None, deadline: float | None, threads: int | None = None) -> Any:
    from .. import stripe

    return stripe.open(dataset, log=log, deadline=deadline, threads=threads)
