"""`sapwood repack`, `slim` and `skim`: a file in another layout, with fewer branches, with fewer entries."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ._options import Entries, entry_range
from ._run import command, exit_code
from ._several import expanded, for_each_output
from ._writing import Branches, Follow, Layout, MainTree, Output, Sources, Targets, Trees


@command
def repack(
    sources: Sources,
    target: Targets,
    *,
    layout: Layout,
    branches: Branches,
    entries: Entries = None,
    tree: MainTree = None,
    only_tree: Trees = None,
    output: Output,
) -> None:
    """Write a file in another layout.

    \b
    sapwood repack in.root out.root --compression zstd:5 --basket-size 256k --cluster-size 20MB

    Everything in the file is copied, including classes of any experiment. Settings that you do not change
    stay as they are. If OUT is a directory, each input gets a file in it, as with `cp`.
    """
    options = {**layout.arguments(), "tree": tree, "trees": only_tree or None}
    _write(sources, target, output, branches, entries, **options)


@command
def slim(
    sources: Sources, target: Targets, *, branches: Branches, tree: MainTree = None, output: Output
) -> None:
    """Write a file with fewer branches. Baskets are copied unchanged.

    \b
    sapwood slim nano.root muons.root --keep 'Muon_*' --keep event
    """
    from ..errors import UsageError

    if not branches.keep and not branches.drop:
        raise UsageError("name the branches to --keep or to --drop, as in --keep 'Muon_*'")
    _write(sources, target, output, branches, tree=tree)


@command
def skim(
    sources: Sources,
    target: Targets,
    *,
    cut: Annotated[str, typer.Option(metavar="CUT", help="Only entries for which this expression is true.")],
    layout: Layout,
    branches: Branches,
    entries: Entries = None,
    follow: Follow = False,
    tree: MainTree = None,
    output: Output,
) -> None:
    """Write a file with the entries that pass a cut. Other trees, such as Runs, are copied whole.

    \b
    sapwood skim nano.root dimuons.root --cut 'nMuon >= 2' --cluster-size 20MB

    Clusters stay as they are, with the entries that pass, unless you ask for another size.
    """
    options = {**layout.arguments(), "cut": cut, "follow": follow, "tree": tree}
    _write(sources, target, output, branches, entries, **options)


def _write(
    sources: list[str],
    target: str,
    output: Output,
    branches: Branches,
    entries: str | None = None,
    **options: Any,
) -> None:
    from ..query.filters import text_filter
    from ..writing.repacking import repack as write

    start, stop = entry_range(entries)
    patterns = branches.arguments()
    if any(patterns.values()) and len(names := expanded(sources, output)) > 1:
        _require_matches(names, patterns, options.get("tree"), output)
        # Functions need not match in each of the files.
        patterns = {option: text_filter(texts) for option, texts in patterns.items()}
    chosen = {"entry_start": start, "entry_stop": stop, **patterns, **options}

    def write_one(source: str, place: str) -> dict[str, Any]:
        return output.write(place, write, source, **chosen)

    for_each_output(sources, target, output, ".root", write_one)


def _require_matches(names: list[str], patterns: dict[str, Any], tree: str | None, output: Output) -> None:
    """Refuses patterns that match no branch in any of several files.

    Files that cannot be read are reported later, when it is their turn; such a file may have the branch.
    """
    from ..errors import UsageError
    from ..writing.repacking import main_tree
    from ..writing.selecting import unmatched

    missing: set[tuple[str, str]] | None = None
    for name in names:
        try:
            with main_tree(name, tree, **output.open_options) as found:
                here = set(unmatched(found, patterns["keep"], patterns["drop"]))
        except Exception as error:
            if exit_code(error) is None:
                raise
            return
        missing = here if missing is None else missing & here
        if not missing:
            return
    for option, pattern in sorted(missing or ()):
        hint = "'sapwood show' lists the names"
        raise UsageError(
            f"'{option}' names no branch of the inputs: none matches {pattern!r}; {hint}", hint=hint
        )
