"""All commands gathered. Only Typer is imported for `--help`: the rest waits inside of the commands."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ..display.printable import printable_lines
from ._output import print_line
from .bench import app as bench
from .cache import app as cache
from .catalog import app as catalog
from .convert import convert
from .doctor import doctor
from .example import example
from .head import head
from .layout import layout
from .ls import ls
from .merge import merge
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
  1  failed for another reason than those below
  2  the command was not understood
  3  no such file, tree or branch
  4  the file is damaged, no ROOT file, or of a kind that cannot be read
  5  the server or the network failed, or the deadline passed"""


class Commands(TyperGroup):
    """The commands. What Typer says about wrong arguments quotes them, and is made printable here."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _printable_complaints():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with _printable_complaints():
            return super().invoke(ctx)


# Click's class; some versions of Typer bring a copy of their own.
_USAGE_ERROR: Any = typer.BadParameter.__mro__[1]


@contextlib.contextmanager
def _printable_complaints() -> Iterator[None]:
    try:
        yield
    except _USAGE_ERROR as error:
        # By lines: the message may also be the whole help.
        error.message = printable_lines(error.message)
        raise


app = typer.Typer(
    cls=Commands,
    help="Look into ROOT files, get arrays out of them, and write them anew, from disk or from a URL.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    # Help that Rich formats would double the time it takes to appear.
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
    """What holds for all commands."""


for _command in (
    ls,
    show,
    head,
    convert,
    repack,
    slim,
    skim,
    merge,
    layout,
    report,
    doctor,
    verify,
    monitor,
    trace,
    replay,
    tune,
    example,
):
    app.command()(_command)
app.add_typer(bench, name="bench")
app.add_typer(cache, name="cache")
app.add_typer(catalog, name="catalog")
app.add_typer(profile, name="profile")
app.add_typer(stripe, name="stripe")
