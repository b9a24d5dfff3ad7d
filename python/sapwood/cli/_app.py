"""All commands. Each is imported when it is called or listed; what it needs, when it runs."""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer
import typer.main

from ..display.printable import printable_lines
from ._help import USAGE_ERROR, SectionedCommand, SectionedGroup
from ._output import complain, print_line
from ._run import USAGE

_SECTIONS = {
    "Look": ("ls", "show", "head", "hist", "diff"),
    "Convert and rewrite": ("convert", "repack", "slim", "skim", "merge", "mix", "example"),
    "Measure": ("report", "layout", "trace", "replay", "tune", "monitor"),
    "Find faults": ("doctor", "verify"),
    "Groups of commands": ("stripe", "catalog", "profile", "cache", "bench"),
}
"""The titles of the sections in which `--help` lists the commands, with the names of the commands."""

_MODULES = {"slim": "repack", "skim": "repack"}
"""The modules of commands whose module has another name than the command."""

EXIT_CODES = """\b
Exit codes:
  0  done
  1  any other failure
  2  wrong usage
  3  no such file, tree or branch
  4  the file is damaged, not a ROOT file, or of an unsupported kind
  5  the server or the network failed, or the deadline passed"""


class CommandsByName(Mapping[str, Any]):
    """The commands by their names. A command is imported when it is looked up, for the sake of all others."""

    def __getitem__(self, name: str) -> Any:
        return _command(name)

    def __iter__(self) -> Iterator[str]:
        return itertools.chain.from_iterable(_SECTIONS.values())

    def __len__(self) -> int:
        return sum(map(len, _SECTIONS.values()))


@functools.cache
def _command(name: str) -> Any:
    """The command or group of commands with a name; raises a KeyError for an unknown name."""
    titles = {one: title for title, names in _SECTIONS.items() for one in names}
    title = titles[name]
    module = importlib.import_module(f".{_MODULES.get(name, name)}", __package__)
    parent = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    if hasattr(module, "app"):
        for one in module.app.registered_commands:
            one.cls = SectionedCommand
        parent.add_typer(module.app, name=name, rich_help_panel=title)
    else:
        parent.command(cls=SectionedCommand, rich_help_panel=title)(getattr(module, name))
    return typer.main.get_group(parent).commands[name]


class Commands(SectionedGroup):
    """The group of all commands, which prints Typer's messages."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands: Any = CommandsByName()

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _messages_in_one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with _messages_in_one_line():
            return super().invoke(ctx)


@contextlib.contextmanager
def _messages_in_one_line() -> Iterator[None]:
    """Prints Typer's messages about wrong arguments as all other failures are printed."""
    try:
        yield
    except USAGE_ERROR as error:
        if "\n" in error.message:
            # The help of a group without a command.
            error.message = printable_lines(error.message)
            raise
        path = "sapwood" if error.ctx is None else error.ctx.command_path
        complain(f"sapwood: {_message(error)} (see '{path} --help')")
        raise typer.Exit(USAGE) from None


def _message(error: Any) -> str:
    """What is wrong. Click gives a single argument to OUT, and then misses IN: name both."""
    missing = getattr(error, "param", None)
    if missing is not None and missing.nargs == -1 and missing.required:
        arguments = [one.metavar for one in error.ctx.command.params if one.param_type_name == "argument"]
        if len(arguments) > 1:
            return f"Missing argument: give {' '.join(arguments)}"
    return str(error.format_message())


app = typer.Typer(
    cls=Commands,
    help="Inspect, read, convert and rewrite ROOT files, from disk or from a URL.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    # Rich would double the time that help takes to appear.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from .._core import __version__

        print_line(f"sapwood {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The options of `sapwood` itself."""
