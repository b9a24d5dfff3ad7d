"""`sapwood profile`: shows, lists, merges and deletes profiles of the columns that an analysis uses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from ..display.units import counted
from ._options import Json
from ._output import Column, numbers, print_json, print_line, print_table
from ._run import command

ProfileName: TypeAlias = Annotated[
    str, typer.Argument(metavar="PROFILE", help="The name or path of a profile.")
]
ProfileNames: TypeAlias = Annotated[
    list[str], typer.Argument(metavar="PROFILE...", help="The names or paths of profiles.")
]

app = typer.Typer(
    help="Manage profiles of the columns that an analysis uses.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
@command
def show(profile: ProfileName, as_json: Json = False) -> None:
    """Show the columns in a profile, most used first."""
    from ..lazy.profile import Profile, by_share

    found = Profile.load(_existing(profile))
    if as_json:
        trees = [{"tree": use.tree, "schema": use.schema, "columns": use.columns} for use in found.trees]
        print_json({"name": found.name, "path": str(found.path), "trees": trees})
        return
    rows = [
        [f"{share:.1%}", f"{windows:,}", column, use.tree, use.schema]
        for use in found.trees
        for column, share, windows in by_share(use)
    ]
    titles = [Column("column", last=1), Column("tree"), Column("schema")]
    print_table([*numbers("used", "of windows"), *titles], rows)


@app.command()
@command
def ls(as_json: Json = False) -> None:
    """List the named profiles."""
    from ..lazy.profile import Profile, saved_profiles

    found = [Profile.load(path) for path in saved_profiles()]
    counts = [(one, len(one.trees), sum(len(use.columns) for use in one.trees)) for one in found]
    if as_json:
        profiles = [
            {"name": one.name, "path": str(one.path), "trees": trees, "columns": columns}
            for one, trees, columns in counts
        ]
        print_json({"profiles": profiles})
        return
    rows = [[one.name, f"{trees:,}", f"{columns:,}", str(one.path)] for one, trees, columns in counts]
    print_table([Column("profile"), *numbers("trees", "columns"), Column("file", last=1)], rows)


@app.command()
@command
def merge(
    profiles: ProfileNames,
    into: Annotated[str, typer.Option("--into", metavar="PROFILE", help="The profile to add them to.")],
) -> None:
    """Add several profiles to another one."""
    from ..lazy.profile import Profile, TreeUse, check_profile, profile_path
    from ..options.outputs import refuse_inputs

    path = profile_path(into)
    refuse_inputs(str(path), [_existing(name) for name in profiles])
    if path.exists():
        check_profile(path)
    target = Profile.load(into)
    for name in profiles:
        target.merge(Profile.load(_existing(name)))
    target.save()
    known: list[TreeUse] = target.trees
    columns = sum(len(use.columns) for use in known)
    print_line(f"{target.name}: {counted(len(known), 'tree')}, {counted(columns, 'column')}")


@app.command()
@command
def forget(profiles: ProfileNames) -> None:
    """Delete profiles."""
    from ..lazy.profile import check_profile, profile_folder

    found = [_existing(name) for name in profiles]
    for path in found:
        # Only profiles are in the profile folder, so a damaged one may be deleted there.
        if path.parent != profile_folder():
            check_profile(path)
    for path in found:
        path.unlink()
        path.with_name(path.name + ".lock").unlink(missing_ok=True)


def _existing(where: str) -> Path:
    """The file of a profile, which must exist."""
    from ..errors import FileNotFoundError
    from ..lazy.profile import profile_path

    path = profile_path(where)
    if not path.is_file():
        raise FileNotFoundError(f"no profile {where!r} ({path}); 'sapwood profile ls' lists all")
    return path
