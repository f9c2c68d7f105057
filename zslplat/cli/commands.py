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
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, TypeVar, cast, get_args, get_type_hints, is_typeddict

import typer
from typer.core import TyperCommand, TyperGroup

from zslplat.cli import completion
from zslplat.cli.guidance import OTHERS, SECTIONS, meaning_of, print_next
from zslplat.cli.invocation import EVERYTHING, echo, json_callback, with_common_options
from zslplat.errors import UnknownNameError, UsageError, ZslplatError, near_names
from zslplat.front.habits import argument_hint, same_argument
from zslplat.front.schema import (
    EXPERIMENT,
    OUTPUT,
    PLACES,
    REQUIRED,
    SEARCH,
    WORK,
    Option,
    cli_type_of,
    complete_options,
    is_list,
    options_of,
)
from zslplat.names import counted

_Function = TypeVar("_Function", bound=Callable[..., Any])
_WHOLE = 10_000  # characters: no summary is cut, it is wrapped
_USUAL = Option("")
# That of zslplat.registry, which takes longer to load than help may take.
COMMAND_GROUP = "zslplat.commands"
_FOR_ALL = ("debug", "help_all", "show_completion")  # options of all commands that --help-all alone shows
_HEADINGS = ("Arguments", EXPERIMENT, SEARCH, WORK, "Options", PLACES, OUTPUT)
_POSITION = "_by_position"  # the end of the name of an argument that stands for an option
# The text by which help shows what an option takes.
_METAVARS = {int: "N", float: "NUMBER", Path: "PATH"}


class _Page:
    """What commands and groups have in common: options under the headings that their declarations name.

    ``--help`` leaves out the advanced ones, and ``--help-all`` shows them.
    """

    options: Mapping[str, Option] = MappingProxyType({})

    def format_help_text(self: Any, ctx: Any, formatter: Any) -> None:
        """Write what the command does: the first paragraph and the lines of an example, or all of it."""
        text = inspect.cleandoc(self.help or "").partition("\f")[0]
        first, *others = text.split("\n\n")
        shown = [part for part in others if ctx.meta.get(EVERYTHING) or part.startswith("    ")]
        lines = [f"\b\n{part}" if part.startswith("    ") else part for part in (first, *shown)]
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text("\n\n".join(lines))

    def format_options(self: Any, ctx: Any, formatter: Any) -> None:
        """Write the arguments, and the options heading by heading."""
        panels: dict[str, list[tuple[str, str]]] = {heading: [] for heading in _HEADINGS}
        left_out = 0
        for parameter in self.get_params(ctx):
            option = self.options.get(parameter.name.removesuffix(_POSITION), _USUAL)
            if (option.advanced or parameter.name in _FOR_ALL) and not ctx.meta.get(EVERYTHING):
                left_out += 1
            elif parameter.name == "help":
                continue
            elif parameter.name.endswith(_POSITION):
                default = "" if option.default in (None, REQUIRED) else f"default: {option.default}; "
                text = f"{option.help} [{default}or {', '.join(_flags(parameter.name, option))}]"
                panels["Arguments"].append((_metavar(parameter.name), text))
            elif option.positional:
                panels["Arguments"].append((option.metavar or _metavar(parameter.name), option.help))
            elif not option.by_position:
                usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
                panels[getattr(parameter, "rich_help_panel", None) or usual].append(parameter.get_help_record(ctx))
        more = f"; --help-all shows {counted(left_out, 'more option')}" if left_out else ""
        panels[OUTPUT].append(("-h, --help", f"Show this page{more}."))
        for heading in _HEADINGS:
            _write(formatter, heading, panels[heading])
        if isinstance(self, TyperGroup):
            self.format_commands(ctx, formatter)


class Command(_Page, TyperCommand):
    """A command whose help has headings, and which takes other programs' names of its options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; raises :class:`UnknownNameError` for an option that the command does not have."""
        words = list(args)
        while True:
            try:
                self._refuse_repeated(ctx, words)
                rest: list[str] = super().parse_args(ctx, list(words))
                return rest
            except Exception as error:
                missing = self.options.get(getattr(getattr(error, "param", None), "name", ""))
                if type(error).__name__ == "MissingParameter" and missing is not None:
                    name = error.param.name  # type: ignore[attr-defined]
                    raise UsageError(f"{ctx.command_path} needs {_metavar(name)}: {missing.help}") from None
                wrong = getattr(error, "param", None)
                if type(error).__name__ == "BadParameter" and wrong is not None and "valid" in str(error):
                    whole = "integer" in str(error)
                    least = getattr(self.options.get(wrong.name), "least", None) or 0
                    flag, example = wrong.opts[0], 20 if whole or least >= 1 else 0.5
                    expected = f"expected a {'whole ' * whole}number, as in {ctx.command_path} {flag} {example}"
                    raise UsageError(f"{flag}: {expected}") from None
                if type(error).__name__ != "NoSuchOption" or ctx.resilient_parsing:
                    raise
                name = error.option_name  # type: ignore[attr-defined]
                flag = self._flag_for(ctx, name)
                words = [flag + word.removeprefix(name) if word.partition("=")[0] == name else word for word in words]
                echo(f"note: {name} is called {flag} here", err=True)

    def _refuse_repeated(self, ctx: Any, words: list[str]) -> None:
        """Raise :class:`UsageError` for an option of one value that stands in the words twice."""
        parser, options = self.make_parser(ctx), cast("list[Any]", self.params)
        single = [one for one in options if one.param_type_name == "option" and not (one.is_flag or one.multiple)]
        for parameter in map(copy, single):
            parameter.multiple = True  # read like this, it has all its values
            parameter.add_to_parser(parser, ctx)
        values: dict[str, list[str]] = {} if ctx.resilient_parsing else parser.parse_args(list(words))[0]
        for parameter in single:
            texts, flag = list(map(str, values.get(parameter.name, []))), parameter.opts[0]
            if len(texts) > 1:
                many = "," in (parameter.metavar or "")
                fix = f"write {flag} {shlex.quote(','.join(texts))}" if many else "leave one out"
                raise UsageError(f"{flag} takes one value and has {len(texts)}: {' and '.join(texts)}; {fix}")

    def _flag_for(self, ctx: Any, name: str) -> str:
        """Return the flag that stands here for another program's; raises where there is none."""
        key = name.lstrip("-").replace("-", "_")
        key = key if key in self.options else same_argument(key, self.options) or key
        option = self.options.get(key)
        if option is not None and option.study_file_only:
            raise UsageError(
                f"{name} is an option of study files: write {key} = ... into study.toml; "
                f"{ctx.command_path} --config study.toml reads it"
            )
        if option is not None and not option.positional:
            return _flags(key, option)[0]
        flags = [flag for parameter in self.params for flag in parameter.opts if flag.startswith("--")]
        near = near_names(name, flags)
        usual = "" if near else f"{ctx.command_path} --help-all shows all options"
        hint = argument_hint(key, self.options).replace("_", "-") or usual
        if name in ("-q", "--quiet") and "json" in self.options:
            hint = f"leave it out, as no progress is shown; {ctx.command_path} --json is for programs"
        raise UnknownNameError(f"option of {ctx.command_path}", name, flags, hint)


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
    """A group of commands whose help has headings, and a whole sentence for each command.

    Other packages name further commands in ``zslplat.commands``: ``fetch`` is one of the program, ``data.fetch`` one of
    its group ``data``. Names come from the packages' metadata; a module is imported when its command is called.
    """

    declared: Commands

    @property
    def prefix(self) -> str:
        """What the names of entry points begin with that are commands of the group."""
        return f"{self.name}."

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = _Built(self.declared.functions, self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, each with its summary."""
        _write(formatter, "Commands", self.summaries(ctx, self.list_commands(ctx)))

    def summaries(self, ctx: Any, names: Iterable[str]) -> list[tuple[str, str]]:
        """Return commands of the group with the first sentence of their help."""
        return [(name, self.summary(ctx, name)) for name in names]

    def summary(self, ctx: Any, name: str) -> str:
        """Return the first sentence of a command's help, or why it does not load."""
        if name in self.declared.functions:
            function = self.declared.functions[name]
            return str(Command(name, help=inspect.getdoc(function)).get_short_help_str(_WHOLE))
        try:
            command: Any = self.get_command(ctx, name)
            return str(command.get_short_help_str(_WHOLE))
        except ZslplatError as error:
            return str(error)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        points = sorted(point.name for point in plugin_points())
        names = (name.removeprefix(self.prefix) for name in points if name.startswith(self.prefix))
        return list(dict.fromkeys([*self.commands, *(name for name in names if "." not in name)]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a built-in command, or import one of a plugin."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            return command
        for point in plugin_points(name=f"{self.prefix}{cmd_name}"):
            if ctx.find_root().obj is not None:  # there is none where a line is completed
                ctx.find_root().obj.of_plugin = True
            return with_common_options(_plugin_command(point))
        return None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; a group that is called alone, or with options of its default command, calls that."""
        default = self.declared.default
        taken = {flag for parameter in self.get_params(ctx) for flag in parameter.opts}
        if default and not ctx.resilient_parsing and (not args or (args[0][:1] == "-" and args[0] not in taken)):
            args = [default, *args]
        rest: list[str] = super().parse_args(ctx, args)
        return rest

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command; raises :class:`UnknownNameError` that says what may have been meant."""
        if ctx.resilient_parsing or self.get_command(ctx, args[0]) is not None:
            return super().resolve_command(ctx, args)
        names = self.list_commands(ctx)
        if ctx.parent is not None:
            shows = next((name for name in ("show", "info") if name in names), "")
            hint = f"did you mean {ctx.command_path} {shows} {shlex.quote(args[0])}?"
            hint = "" if near_names(args[0], names) or not shows else hint
            raise UnknownNameError(f"command of {ctx.command_path}", args[0], names, hint)
        commands = meaning_of(args[0])
        hint = f"did you mean {' or '.join(commands)}?" if commands else ""
        if not commands and not near_names(args[0], names):
            hint = "zslplat --help shows all commands"
        raise UnknownNameError("command", args[0], names, hint)

    def format_sections(self, ctx: Any, formatter: Any, names: Sequence[str]) -> None:
        """Write the commands of the program by :data:`SECTIONS`, and the others below: their names alone, or all."""
        for heading, members in SECTIONS:
            _write(formatter, heading, self.summaries(ctx, members))
        placed = {name for _, members in SECTIONS for name in members}
        others = [name for name in names if name not in placed]
        if ctx.meta.get(EVERYTHING):
            _write(formatter, OTHERS, self.summaries(ctx, others))
            return
        with formatter.section(f"{OTHERS} (zslplat --help-all explains them)"):
            formatter.write_text(", ".join(others))


def plugin_points(**selection: Any) -> Any:
    """Return the entry points of other packages' commands."""
    from importlib.metadata import entry_points

    return entry_points(group=COMMAND_GROUP, **selection)


def _plugin_command(point: Any) -> Any:
    from zslplat.registry import cause_of, load

    try:
        loaded = load(point)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        source = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
        raise ZslplatError(
            f"command {point.name!r} of {source} does not load: {cause_of(error, point.value)}"
        ) from error
    name = point.name.rpartition(".")[2]
    if isinstance(loaded, typer.Typer):
        command = typer.main.get_command(loaded)
        command.name = name
        return command
    return make_command(name, loaded)


def _write(formatter: Any, heading: str, rows: Sequence[tuple[str, str]]) -> None:
    if rows:
        with formatter.section(heading):
            formatter.write_dl(rows)


class Commands(typer.Typer):
    """An application or group: functions that become commands when they are used.

    ``default`` is the command that is meant where none is named.
    """

    def __init__(self, *, cls: type[Group] = Group, default: str = "", **options: Any) -> None:
        self.functions: dict[str, Callable[..., Any]] = {}
        self.default = default
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
    """Return the command of a function, with the options that every command has."""
    single = typer.Typer(rich_markup_mode=None, add_completion=False)
    single.command(name, cls=Command)(_with_parameters(function))
    command: Any = typer.main.get_command(single)
    declaration = _declaration_of(function)
    command.options = {} if declaration is None else options_of(declaration)
    return with_common_options(command)


def _with_parameters(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with a parameter for each option, as Typer reads it, for one that takes them as one object."""
    declaration = _declaration_of(function)
    if declaration is None:
        return function
    with_context = len(inspect.signature(function).parameters) > 1
    options = {name: option for name, option in options_of(declaration).items() if not option.study_file_only}

    def call(context: typer.Context, **values: Any) -> Any:
        values = {
            name: value
            for name, value in values.items()
            if context.get_parameter_source(name).name != "DEFAULT"  # type: ignore[union-attr]
        }
        for name in [name for name in values if name.endswith(_POSITION)]:
            value, name = values.pop(name), name.removesuffix(_POSITION)
            if name in ("method", "dataset"):
                _check_place(name, value, context.command_path)
            if name in values:
                flag = _flags(name, options[name])[0]
                raise UsageError(f"{name} is given twice, as {value} and by {flag}; leave one out")
            cli_type = cli_type_of(declaration, name)
            values[name] = [value] if is_list(cli_type) else cli_type(value) if cli_type is Path else value
        for name, option in options.items():
            if option.default is REQUIRED and name not in values:
                way = (
                    f"{_metavar(name)}, or {_flags(name, option)[0]}" if option.by_position else _flags(name, option)[0]
                )
                raise UsageError(f"{context.command_path} needs {way}: {option.help}")
            if option.parse_cli is not None and name in values:
                values[name] = option.parse_cli(values[name])
        complete = complete_options(declaration, values, context.command_path)
        if complete.get("json") and "quiet" in complete:
            complete["quiet"] = True
        outcome = function(complete, context) if with_context else function(complete)
        if values.get("data_root") is not None and not values.get("dry_run"):
            _remember(values["data_root"])
        if not complete.get("json") and not complete.get("quiet"):
            print_next(context.command_path.partition(" ")[2], {**complete, **(outcome or {})})

    parameters = []
    for name, option in options.items():
        parameters.append(_parameter(declaration, name, option))
        if option.by_position:
            parameters.append(_argument(name, option))
    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    call.__signature__ = inspect.Signature([context, *parameters])  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in (context, *parameters)}
    call.__doc__, call.__name__, call.__module__ = function.__doc__, function.__name__, function.__module__
    return call


def _check_place(name: str, method: str, command: str) -> None:
    """Raise :class:`UsageError` for a data set or a study file in the place of a method, or a method in that of a data
    set, with the right command.
    """
    from zslplat.registry import registry

    path = Path(method.partition("(")[0])
    is_method = registry().claims("methods", str(path))
    if name == "dataset" and is_method and not path.exists():
        raise UsageError(f"{method!r} is a method, and a data set was expected here; {command} takes one method a time")
    if name == "method" and path.exists() and not is_method:
        form, start = ("study file", "--config") if path.suffix == ".toml" else ("data set", "eszsl")
        hint = f"{command} {start} {shlex.quote(method)}"
        raise UsageError(f"{method!r} is a {form}, and a method was expected here; give {hint}")


def _remember(root: Any) -> None:
    """Keep the data root of a command that succeeded for those that follow, and say so."""
    from zslplat.settings import remember_data_root

    file = remember_data_root(Path(root))
    if file is not None:
        echo(f"data root {root} is written to {file}; later commands here need no --data-root", err=True)


def _declaration_of(function: Callable[..., Any]) -> Any:
    """Return the declared options that a function takes; None for one with a parameter for each."""
    parameters = list(inspect.signature(function).parameters)
    declaration = get_type_hints(function).get(parameters[0]) if parameters else None
    return declaration if is_typeddict(declaration) else None


def _parameter(declaration: Any, name: str, option: Option) -> inspect.Parameter:
    annotation = cli_type_of(declaration, name)
    kind = next((one for one in (annotation, *get_args(annotation)) if one in _METAVARS), str)
    common: dict[str, Any] = {
        "help": option.help,
        "autocompletion": _completion(option),
        "metavar": option.metavar or (_metavar(name) if option.positional else _METAVARS.get(kind, "TEXT")),
        "rich_help_panel": option.panel,
        "show_default": option.show_default and option.default is not REQUIRED,
    }
    if option.positional:
        declared: Any = typer.Argument(**common)
    else:
        if name == "json":
            common |= {"callback": json_callback, "is_eager": True}
        declared = typer.Option(*_flags(name, option), **common)
    missing = option.default is REQUIRED and not option.positional
    default = None if missing else option.default
    return _keyword(name, default, annotation | None if missing else annotation, declared)


def _argument(name: str, option: Option) -> inspect.Parameter:
    """Return the argument that stands for an option."""
    declared = typer.Argument(help=option.help, autocompletion=_completion(option), metavar=_metavar(name))
    return _keyword(name + _POSITION, None, str | None, declared)


def _keyword(name: str, default: Any, annotation: Any, declared: Any) -> inspect.Parameter:
    annotated: Any = Annotated[annotation, declared]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotated)


def _completion(option: Option) -> Any:
    words = option.complete
    if not words:
        return None
    return getattr(completion, words) if isinstance(words, str) else completion.of(*words)


def _flags(name: str, option: Option) -> list[str]:
    name = name.removesuffix(_POSITION)
    return [option.flag or f"--{name.replace('_', '-')}", *([option.short] if option.short else [])]


def _metavar(name: str) -> str:
    return name.removesuffix(_POSITION).upper()
