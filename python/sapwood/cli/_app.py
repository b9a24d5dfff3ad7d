"""The collection of all commands. `--help` imports only Typer: commands import the rest when they run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from ..display.printable import printable_lines
from ._help import SectionedCommand, SectionedGroup
from ._output import complain, print_line
from ._run import USAGE
from .bench import app as bench
from .cache import app as cache
from .catalog import app as catalog
from .convert import convert
from .diff import diff
from .doctor import doctor
from .example import example
from .head import head
from .hist import hist
from .layout import layout
from .ls import ls
from .merge import merge
from .mix import mix
from .monitor import monitor
from .profile import app as profile
from .repack import repack, skim, slim
from .replay import replay
from .report import report
from .show import show
from .stripe import app as stripe
from .trace import trace
from .tune import tune
from .verify import verify

EXIT_CODES = """\b
Exit codes:
  0  done
  1  any other failure
  2  wrong usage
  3  no such file, tree or branch
  4  the file is damaged, not a ROOT file, or of an unsupported kind
  5  the server or the network failed, or the deadline passed"""


class Commands(SectionedGroup):
    """The group of commands, which prints Typer's messages."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _messages_in_one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with _messages_in_one_line():
            return super().invoke(ctx)


# Click's class. Some versions of Typer vendor a copy of Click, so it cannot be imported from there.
_USAGE_ERROR: Any = typer.BadParameter.__mro__[1]


@contextlib.contextmanager
def _messages_in_one_line() -> Iterator[None]:
    """Prints Typer's messages about wrong arguments as all other failures are printed."""
    try:
        yield
    except _USAGE_ERROR as error:
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


_SECTIONS: dict[str, tuple[Callable[..., None], ...]] = {
    "Look": (ls, show, head, hist, diff),
    "Convert and rewrite": (convert, repack, slim, skim, merge, mix, example),
    "Measure": (report, layout, trace, replay, tune, monitor),
    "Find faults": (doctor, verify),
}
for _title, _commands in _SECTIONS.items():
    for _command in _commands:
        app.command(cls=SectionedCommand, rich_help_panel=_title)(_command)
for _name, _group in {
    "stripe": stripe,
    "catalog": catalog,
    "profile": profile,
    "cache": cache,
    "bench": bench,
}.items():
    for _one in _group.registered_commands:
        _one.cls = SectionedCommand
    app.add_typer(_group, name=_name, rich_help_panel="Groups of commands")
