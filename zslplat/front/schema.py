"""How an option is declared, and what follows from it: checks of values, the signature of a function, study files.

An option is a key of a ``TypedDict`` with :class:`Option` beside its type. The command line, the keywords of the Python
function, the study file and the pages of the documentation are made of that one line::

    class SearchOptions(TypedDict, total=False):
        trials: Annotated[int | None, Option("Trials in all.", short="-n", least=1)]

Modules that declare options do without ``from __future__ import annotations``: their annotations are read at run time.
Nothing heavy is imported here: a command line is completed and explained from these declarations.
"""

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

from zslplat.errors import UnknownNameError, UsageError, quoted
from zslplat.front.habits import argument_hint

REQUIRED: Any = inspect.Parameter.empty
PLACES, OUTPUT = "Places", "Output"
EXPERIMENT, SEARCH, WORK = "Experiment", "Search", "Work"
_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Option:
    """An option of commands and functions.

    ``short`` is its short flag, ``flag`` its long one where this is not ``--key``; ``least`` and ``most`` bound a
    number. ``complete`` names a function of :mod:`zslplat.cli.completion`, or holds the words themselves.
    ``cli_type`` is its type on the command line where that is another than in Python, and ``parse_cli`` makes the
    Python value of it. ``positional`` arguments have no flag, those with ``by_position`` have one as well.
    ``advanced`` options are shown by ``--help-all`` alone. A ``metavar`` with a comma says that commas join several
    values. ``study_file_only`` options are not on the command line: study files and functions have them.
    ``study_file``: its value is a study file with further options. ``not_in_study_file``: it belongs to one call;
    ``write_even_if_default``: a study file holds it even at its default, as another default would make another
    study of the file.
    """

    help: str
    default: Any = None
    _: KW_ONLY
    short: str = ""
    flag: str = ""
    least: float | None = None
    most: float | None = None
    complete: str | tuple[str, ...] = ()
    panel: str | None = None
    metavar: str | None = None
    cli_type: Any = None
    parse_cli: Callable[[Any], Any] | None = None
    positional: bool = False
    by_position: bool = False
    advanced: bool = False
    study_file_only: bool = False
    show_default: bool = True
    study_file: bool = False
    not_in_study_file: bool = False
    write_even_if_default: bool = False


def options_of(declaration: Any) -> dict[str, Option]:
    """Return the options of a declaration by name, in the order of their groups."""
    return {name: annotation.__metadata__[0] for name, annotation in declaration.__annotations__.items()}


def type_of(declaration: Any, name: str) -> Any:
    """Return the type that an option has in Python."""
    return declaration.__annotations__[name].__origin__


def cli_type_of(declaration: Any, name: str) -> Any:
    """Return the type that an option has on the command line."""
    option, annotation = options_of(declaration)[name], type_of(declaration, name)
    if option.cli_type is not None:
        return option.cli_type
    return Path | None if Path in get_args(annotation) and type(None) in get_args(annotation) else annotation


def is_list(kind: Any) -> bool:
    """Tell whether a type is a list, or one or nothing."""
    return any(getattr(one, "__origin__", None) is list for one in (kind, *get_args(kind)))


def complete_options(declaration: Any, values: Mapping[str, Any], function: str) -> Any:
    """Return all options of a declaration: those of a call, those of its study file, and the defaults of the others.

    Raises :class:`UnknownNameError` for an option that ``function`` does not have, and :class:`UsageError` for a number
    outside its bounds, a required option that is missing, and a study file that cannot be read.
    """
    options = options_of(declaration)
    for name in values:
        if name not in options:
            raise UnknownNameError(f"argument of {function}", name, options, argument_hint(name, options))
    for name, option in options.items():
        if option.study_file and values.get(name) is not None:
            values = {**read_study_file(Path(values[name]), declaration), **values}
    missing = [name for name, option in options.items() if option.default is REQUIRED and name not in values]
    if missing:
        raise UsageError(f"{function} needs {missing[0]}: {options[missing[0]].help}")
    all_values = {name: values.get(name, option.default) for name, option in options.items()}
    return {name: checked_number(declaration, name, value) for name, value in all_values.items()}


def checked_number(declaration: Any, name: str, value: Any) -> Any:
    """Return a value, numbers of NumPy as Python's; raises :class:`UsageError` for a number outside its bounds."""
    option = options_of(declaration)[name]
    if value is None or (option.least is None and option.most is None):
        return value
    number = value.tolist() if hasattr(value, "tolist") else value
    annotation = type_of(declaration, name)
    whole = float not in (annotation, *get_args(annotation))
    plain = isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)
    least = -math.inf if option.least is None else option.least
    most = math.inf if option.most is None else option.most
    if not plain or (whole and number != int(number)) or not least <= number <= most:
        bounds = [f"at least {option.least}"] if option.least is not None else []
        bounds += [f"at most {option.most}"] if option.most is not None else []
        raise UsageError(f"{name}={quoted(value)}: expected a {'whole ' * whole}number, {', '.join(bounds)}")
    return int(number) if whole else number


def with_options(declaration: Any) -> Callable[[_Function], _Function]:
    """Let ``help`` and :func:`inspect.signature` show the options of a function that takes them as ``**options``."""

    def decorate(function: _Function) -> _Function:
        signature = inspect.signature(function)
        parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        named = {p.name for p in parameters}
        parameters += [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=type_of(declaration, name)
            )
            for name, option in options_of(declaration).items()
            if name not in named
        ]
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return function

    return decorate


# What make_dataset takes beside the arrays; no option has the name of one.
_OF_DATA = ("unseen", "split", "name", "class_names", "groups", "folds")


def takes_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function of a method, a data set and a task take the arrays X, y and S of a data set in their place."""

    @functools.wraps(function)
    def call(*positional: Any, **options: Any) -> Any:
        first = positional[0] if positional else None
        if not (isinstance(first, list | tuple | Mapping) or hasattr(first, "shape")):
            return function(*positional, **options)
        if len(positional) not in (2, 3) or "dataset" in options:
            line = f"{function.__name__}(X, y, S, unseen=[...], method='eszsl')"
            raise UsageError(f"{len(positional)} arguments, of which the first is an array; expected {line}")
        dataset = dict(zip(("X", "y", "S"), positional, strict=False))
        dataset |= {name: options.pop(name) for name in _OF_DATA if name in options}
        return function(dataset=dataset, **options)

    return call


def read_study_file(path: Path, declaration: Any) -> dict[str, Any]:
    """Return the options that a study file holds: TOML with the options of ``tune`` by their names.

        method = "eszsl"
        dataset = "CIFAR100(features=mnv2)"
        trials = 40

        [set]
        gamma = 1.0

        [space]
        alpha = "1e-3..1e3:log"

    Options that may be repeated take a list, ``set`` and ``space`` a table as well. Raises :class:`UsageError` for a
    file that cannot be read or a value that does not fit, and :class:`UnknownNameError` for a key that is no option.
    """
    from zslplat.config import toml_content

    try:
        content = toml_content(path)
    except OSError as error:
        raise UsageError(f"study file {path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"study file {path} is no TOML: {error}") from error
    names = [name for name, option in options_of(declaration).items() if not option.not_in_study_file]
    values = {}
    for key, value in content.items():
        name = key.replace("-", "_")
        if name not in names:
            raise UnknownNameError(f"key of a study file ({path})", key, names, argument_hint(name, names))
        values[name] = _value_of_file(path, name, value, declaration)
    return values


def _value_of_file(path: Path, name: str, value: Any, declaration: Any) -> Any:
    """Return the value of a key as Python takes it; raises :class:`UsageError` for one that does not fit."""
    option, cli_type = options_of(declaration)[name], cli_type_of(declaration, name)
    types = (cli_type, *get_args(cli_type))
    repeated = is_list(cli_type)
    if bool in types:
        expected, fits = "true or false", isinstance(value, bool)
    elif int in types or float in types:
        expected, fits = "a number", isinstance(value, int | float) and not isinstance(value, bool)
    elif repeated and option.parse_cli is not None:
        expected = "a list of texts or a table"
        if isinstance(value, dict):
            from zslplat.spec import format_value

            plain = all(isinstance(one, str | int | float) for one in value.values())
            value = [f"{key}={one if isinstance(one, str) else format_value(one)}" for key, one in value.items()]
            fits = plain
        else:
            fits = isinstance(value, list) and all(isinstance(one, str) for one in value)
    elif repeated:
        expected, fits = "a list of texts", isinstance(value, list) and all(isinstance(one, str) for one in value)
    else:
        expected, fits = "one value, a text", isinstance(value, str)
    if not fits:
        raise UsageError(f"study file {path}: {name}={quoted(value)}; expected {expected}")
    try:
        return checked_number(declaration, name, option.parse_cli(value) if option.parse_cli else value)
    except UsageError as error:
        raise UsageError(f"study file {path}: {error}") from error


def write_study_file(path: Path, options: Mapping[str, Any], declaration: Any) -> None:
    """Write options as a study file: those that are not at their defaults, and those that make the study what it is.

    Raises :class:`UsageError` where the file exists or cannot be written.
    """
    import tomli_w

    content: dict[str, Any] = {}
    for name, option in options_of(declaration).items():
        value = options[name]
        if (
            option.not_in_study_file
            or value in (None, [], {})
            or (value == option.default and not option.write_even_if_default)
        ):
            continue
        if isinstance(value, Mapping):
            value = {key: one if isinstance(one, str | int | float) else str(one) for key, one in value.items()}
        content[name] = value if isinstance(value, str | int | float | list | dict) else str(value)
    ordered = sorted(content.items(), key=lambda item: isinstance(item[1], dict))  # tables come last in TOML
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(tomli_w.dumps(dict(ordered)))
    except FileExistsError as error:
        raise UsageError(f"{path} is there already; give another name to --write-config, or remove it") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
