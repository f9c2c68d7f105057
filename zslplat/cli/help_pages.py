"""Help as plain text: options under headings, and the commands of the program in groups.

Plain, because the libraries that colour it take longer to load than all else that help needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

# A command that stands nowhere here is shown at the end, above those of plugins.
SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Experiments", ("tune", "run", "rerun", "sweep", "cross-validate", "bench")),
    ("Results", ("compare", "report", "explain")),
    ("Models", ("models", "predict", "query", "export")),
    ("Data", ("data", "export-split", "score")),
    ("Components and plugins", ("list", "show", "plugins")),
    ("Store", ("studies", "store", "ui")),
    ("Help", ("docs",)),
)
OTHERS = "More commands"
FROM_PLUGINS = "Commands of plugins"
_Function = TypeVar("_Function", bound=Callable[..., Any])
_WHOLE = 10_000  # characters: no summary is cut, it is wrapped


class _Page:
    """What commands and groups have in common: options under the headings that their declarations name."""

    def format_options(self: Any, ctx: Any, formatter: Any) -> None:
        """Write the arguments, and the options heading by heading; options that name none come first."""
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
                panels.setdefault(getattr(parameter, "rich_help_panel", None) or usual, []).append(record)
        # What every command has comes last.
        for heading in sorted(panels, key=lambda heading: heading == "Output"):
            _write(formatter, heading, panels[heading])
        if isinstance(self, TyperGroup):
            self.format_commands(ctx, formatter)


class Command(_Page, TyperCommand):
    """A command whose help has headings."""


class Group(_Page, TyperGroup):
    """A group of commands whose help has headings, and a whole sentence for each command."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, each with its summary."""
        _write(formatter, "Commands", summaries(self, ctx, self.list_commands(ctx)))


def summaries(group: Any, ctx: Any, names: Iterable[str]) -> list[tuple[str, str]]:
    """Return commands of a group with the first sentence of their help; hidden ones are left out."""
    commands = [(name, group.get_command(ctx, name)) for name in names]
    return [(name, c.get_short_help_str(_WHOLE)) for name, c in commands if c is not None and not c.hidden]


def write_sections(group: Any, ctx: Any, formatter: Any, own: Sequence[str], foreign: Sequence[str]) -> None:
    """Write the commands of the program: its ``own`` by :data:`SECTIONS`, then those of plugins."""
    placed = {name for _, names in SECTIONS for name in names}
    sections = [(heading, [name for name in names if name in own]) for heading, names in SECTIONS]
    sections += [(OTHERS, [name for name in own if name not in placed]), (FROM_PLUGINS, list(foreign))]
    for heading, names in sections:
        _write(formatter, heading, summaries(group, ctx, names))


def _write(formatter: Any, heading: str, rows: Sequence[tuple[str, str]]) -> None:
    if rows:
        with formatter.section(heading):
            formatter.write_dl(rows)


class Commands(typer.Typer):
    """A :class:`typer.Typer` of which every command and group has such a help."""

    def __init__(self, *, cls: Any = Group, **options: Any) -> None:
        usual = {"rich_markup_mode": None, "no_args_is_help": True, "add_completion": False}
        super().__init__(cls=cls, **{**usual, **options})

    def command(
        self, name: str | None = None, *, cls: Any = Command, **options: Any
    ) -> Callable[[_Function], _Function]:
        """Declare a command; see :meth:`typer.Typer.command`."""
        return super().command(name, cls=cls, **options)
