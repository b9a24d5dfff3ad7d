"""`--help` in sections: commands by topic, and the options for servers after all others."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

# Click's class. Some versions of Typer vendor a copy of Click, so it cannot be imported from there.
USAGE_ERROR: Any = typer.BadParameter.__mro__[1]


class SectionedCommand(TyperCommand):
    """A command whose options with a ``rich_help_panel`` have a section of their own.

    Typer has sections only with Rich, which would double the time that help takes to appear.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except USAGE_ERROR as error:
            # Click's parser does not know the command whose help to point to.
            error.ctx = error.ctx or ctx
            raise

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        options, arguments = ["[OPTIONS]"], []
        for parameter in self.get_params(ctx):
            if parameter.param_type_name == "argument":
                name = parameter.metavar or parameter.name.upper()
                arguments.append(name if parameter.required else f"[{name}]")
        return options + arguments

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[Any]] = {"Arguments": [], "Options": []}
        parameter: Any
        for parameter in self.get_params(ctx):
            record: Any = parameter.get_help_record(ctx)
            if record is not None:
                usual = "Options"
                if parameter.param_type_name == "argument":
                    # The usage line shows which arguments are required, and all of them are text.
                    usual, record = "Arguments", (parameter.metavar, parameter.help)
                title = getattr(parameter, "rich_help_panel", None) or usual
                sections.setdefault(title, []).append(record)
        _write(formatter, sections)


class SectionedGroup(TyperGroup):
    """A group whose commands are listed below the title of their ``rich_help_panel``."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        named = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        shown: list[tuple[str, Any]] = [(name, one) for name, one in named if one and not one.hidden]
        room = formatter.width - 6 - max(len(name) for name, _ in shown)
        sections: dict[str, list[Any]] = {}
        for name, one in shown:
            title = getattr(one, "rich_help_panel", None) or "Commands"
            sections.setdefault(title, []).append((name, one.get_short_help_str(room)))
        # In one table, all columns of text begin at the same place.
        width = max(len(name) for name, _ in shown)
        _write(
            formatter,
            {title: [(name.ljust(width), text) for name, text in rows] for title, rows in sections.items()},
        )


def _write(formatter: Any, sections: dict[str, list[Any]]) -> None:
    for title, rows in sections.items():
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)
