"""Commands made of declared options, and their help as plain text, in groups and under headings.

A command is a function of the options that it declares (:mod:`zslplat.front.schema`), and of Typer's context where it
asks for that, too::

    app = Commands(help="Studies.")

    class ShowOptions(TypedDict, total=False):
        study: Annotated[str, Option("Name of a study.", REQUIRED, positional=True)]

    @app.command()
    def show(options: ShowOptions) -> None:
        ...

Typer makes a command of it when it is called or explained, and not before: most calls need one command. Functions with
a parameter for each option, as Typer has them, are commands as well. Help is plain, because the libraries that colour
it take longer to load than all else that help needs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeVar, get_type_hints, is_typeddict

import typer
from typer.core import TyperCommand, TyperGroup

from zslplat.cli import completion
from zslplat.cli.invocation import json_callback, with_debug
from zslplat.front.schema import REQUIRED, Option, cli_type_of, complete_options, options_of

# A command that stands nowhere here is shown at the end, above those of plugins.
SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Experiments", ("tune", "run", "rerun", "sweep", "cross-validate", "bench")),
    ("Results", ("compare", "report", "explain")),
    ("Models", ("models", "predict", "query", "export")),
    ("Data", ("data",)),
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


class _Built(dict[str, Any]):
    """The commands of a group by name, each made when it is used."""

    def __init__(self, functions: Mapping[str, Any], groups: Mapping[str, Any]) -> None:
        super().__init__({**dict.fromkeys(functions), **groups})
        self.functions = functions

    def __getitem__(self, name: str) -> Any:
        command = super().__getitem__(name)
        if command is None:
            command = self[name] = make_command(name, self.functions[name])
        return command

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default  # noqa: SIM401

    def values(self) -> Any:
        return [self[name] for name in self]

    def items(self) -> Any:
        return [(name, self[name]) for name in self]


class Group(_Page, TyperGroup):
    """A group of commands whose help has headings, and a whole sentence for each command."""

    declared: Commands

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = _Built(self.declared.functions, self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, each with its summary."""
        _write(formatter, "Commands", self.summaries(ctx, self.list_commands(ctx)))

    def summaries(self, ctx: Any, names: Iterable[str]) -> list[tuple[str, str]]:
        """Return commands of the group with the first sentence of their help."""
        return [(name, text) for name in names if (text := self.summary(ctx, name)) is not None]

    def summary(self, ctx: Any, name: str) -> str | None:
        """Return the first sentence of a command's help; None for a command that is not shown."""
        if name in self.declared.functions:
            function = self.declared.functions[name]
            return Command(name, help=inspect.getdoc(function)).get_short_help_str(_WHOLE)
        command = self.get_command(ctx, name)
        return None if command is None or command.hidden else command.get_short_help_str(_WHOLE)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)

    def format_sections(self, ctx: Any, formatter: Any, names: Sequence[str], of_plugins: Mapping[str, str]) -> None:
        """Write the commands of the program by :data:`SECTIONS`, then those of plugins with their summaries."""
        placed = {name for _, members in SECTIONS for name in members}
        sections = [(heading, [name for name in members if name in names]) for heading, members in SECTIONS]
        sections.append((OTHERS, [name for name in names if name not in placed]))
        for heading, members in sections:
            _write(formatter, heading, self.summaries(ctx, members))
        _write(formatter, FROM_PLUGINS, list(of_plugins.items()))


def _write(formatter: Any, heading: str, rows: Sequence[tuple[str, str]]) -> None:
    if rows:
        with formatter.section(heading):
            formatter.write_dl(rows)


class Commands(typer.Typer):
    """An application or group: functions that become commands when they are used."""

    def __init__(self, *, cls: type[Group] = Group, **options: Any) -> None:
        self.functions: dict[str, Callable[..., Any]] = {}
        usual = {"rich_markup_mode": None, "no_args_is_help": True, "add_completion": False}
        super().__init__(cls=type(cls.__name__, (cls,), {"declared": self}), **{**usual, **options})
        self.callback()(_no_callback)

    def command(self, name: str | None = None, **options: Any) -> Callable[[_Function], _Function]:
        """Declare a command; it is called like its function unless it has a name of its own."""

        def decorate(function: _Function) -> _Function:
            self.functions[name or function.__name__.strip("_").replace("_", "-")] = function
            return function

        return decorate


def _no_callback() -> None:
    return


def make_command(name: str, function: Callable[..., Any]) -> Any:
    """Return the command of a function, with ``--debug``."""
    single = typer.Typer(rich_markup_mode=None, add_completion=False)
    single.command(name, cls=Command)(_with_parameters(function))
    return with_debug(typer.main.get_command(single))


def _with_parameters(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with a parameter for each option, as Typer reads it, for one that takes them as one object."""
    declaration = _declaration_of(function)
    if declaration is None:
        return function
    with_context = len(inspect.signature(function).parameters) > 1

    def call(context: typer.Context, **values: Any) -> Any:
        options = options_of(declaration)
        values = {
            name: value if (parse_cli := options[name].parse_cli) is None else parse_cli(value)
            for name, value in values.items()
            if context.get_parameter_source(name).name != "DEFAULT"  # type: ignore[union-attr]
        }
        complete = complete_options(declaration, values, context.command_path)
        if complete.get("json") and "quiet" in complete:
            complete["quiet"] = True
        return function(complete, context) if with_context else function(complete)

    parameters = [_parameter(declaration, name, option) for name, option in options_of(declaration).items()]
    parameters.sort(key=lambda parameter: parameter.default is not REQUIRED)
    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    call.__signature__ = inspect.Signature([context, *parameters])  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in (context, *parameters)}
    call.__doc__, call.__name__, call.__module__ = function.__doc__, function.__name__, function.__module__
    return call


def _declaration_of(function: Callable[..., Any]) -> Any:
    """Return the declared options that a function takes; None for one with a parameter for each."""
    parameters = list(inspect.signature(function).parameters)
    declaration = get_type_hints(function).get(parameters[0]) if parameters else None
    return declaration if is_typeddict(declaration) else None


def _parameter(declaration: Any, name: str, option: Option) -> inspect.Parameter:
    words = option.complete
    complete: Any = (
        None if not words else getattr(completion, words) if isinstance(words, str) else completion.of(*words)
    )
    common: dict[str, Any] = {
        "help": option.help,
        "autocompletion": complete,
        "metavar": option.metavar,
        "rich_help_panel": option.panel,
        "show_default": option.show_default,
        "min": option.least,
        "max": option.most,
    }
    if option.positional:
        declared: Any = typer.Argument(**common)
    else:
        flags = [option.flag or f"--{name.replace('_', '-')}", *([option.short] if option.short else [])]
        if name == "json":
            common |= {"callback": json_callback, "is_eager": True}
        declared = typer.Option(*flags, **common)
    annotation: Any = Annotated[cli_type_of(declaration, name), declared]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, kind, default=option.default, annotation=annotation)
