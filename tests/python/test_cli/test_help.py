"""`--help` of every command: whole sentences, the usual metavars, and the same options everywhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import typer

from sapwood.cli._app import app

READ = ("ls", "show", "head", "hist", "diff", "convert", "report", "layout", "doctor", "verify")
WRITE = ("repack", "slim", "skim", "merge", "mix")
CONNECTION = {"--header", "--profile", "--endpoint", "--anonymous", "--cache", "--replica", "--deadline"}


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in getattr(group, "commands", {}).items():
        yield (*path, name), command
        yield from commands(command, (*path, name))


ALL = dict(commands(typer.main.get_command(app)))


def options(command: Any) -> dict[str, Any]:
    return {
        name: one
        for one in command.params
        for name in one.opts
        if getattr(one, "param_type_name", "") == "option"
    }


@pytest.mark.parametrize("name", [*READ, *WRITE])
def test_every_command_that_reads_files_takes_all_options_for_servers(name: str) -> None:
    assert set(options(ALL[(name,)])) >= CONNECTION


@pytest.mark.parametrize("path", [path for path in ALL if path[0] == "stripe" and len(path) == 2])
def test_every_command_for_datasets_takes_the_options_of_stores(path: tuple[str, ...]) -> None:
    assert set(options(ALL[path])) >= {"--profile", "--endpoint", "--anonymous", "--deadline"}


@pytest.mark.parametrize("name", ["create", "append"])
def test_datasets_are_made_from_files_that_are_reached_like_all_others(name: str) -> None:
    assert set(options(ALL[("stripe", name)])) >= CONNECTION


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_is_in_whole_sentences(path: tuple[str, ...]) -> None:
    command = ALL[path]
    assert (command.help or "").split("\n\n")[0].rstrip().endswith("."), path
    for one in command.params:
        assert (one.help or "").rstrip().endswith((".", "sqlite]")), (path, one.name)


def test_entries_is_always_a_range() -> None:
    for path, command in ALL.items():
        one = options(command).get("--entries")
        assert one is None or one.metavar == "START:STOP", path


def test_lists_are_shown_by_ls_and_sizes_of_stripes_have_one_name() -> None:
    assert {path for path, command in ALL.items() if path[-1] == "list"} == set()
    assert {("profile", "ls"), ("catalog", "ls"), ("stripe", "ls"), ("cache", "ls")} <= set(ALL)
    assert "--target" not in {name for command in ALL.values() for name in options(command)}
    assert all("--stripe-size" in options(ALL[("stripe", name)]) for name in ("create", "consolidate"))


def test_commands_are_listed_by_topic(sapwood: Callable[..., Any]) -> None:
    shown = sapwood("--help").out
    places = [
        shown.index(f"\n{title}:\n") for title in ("Look", "Convert and rewrite", "Measure", "Find faults")
    ]
    assert places == sorted(places)
    assert shown.index("  ls ") < places[1] < shown.index("  repack ") < places[2]
    assert "..." not in shown[shown.index("\nLook:") :]


def test_usage_names_arguments_as_other_tools_do(sapwood: Callable[..., Any]) -> None:
    assert " head [OPTIONS] FILE[:TREE]... [COLUMN...]\n" in sapwood("head", "--help").out
    assert " merge [OPTIONS] OUT IN...\n" in sapwood("merge", "--help").out
    assert " convert [OPTIONS] FILE[:TREE]... OUT [COLUMN...]\n" in sapwood("convert", "--help").out
    for path in ALL:
        assert not re.search(r"<(str|int|float|text)( range)?>", sapwood(*path, "--help").out), path


@pytest.mark.parametrize("words", ["head a.root -n", "stripe create d --from", "convert a.root --cut"])
def test_an_option_without_its_value_points_to_the_help_of_its_command(
    sapwood: Callable[..., Any], words: str
) -> None:
    done = sapwood(*words.split())
    *command, _, option = words.split()
    assert done.code == 2
    assert f"Option {option!r} requires an argument" in done.err
    assert done.err.endswith(f" {' '.join(command)} --help')\n")
