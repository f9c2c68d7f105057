"""An option is one declaration: command, function, study file and page are made of it."""

import inspect
from typing import Annotated, TypedDict, Unpack

import pytest

import zslplat
from zslplat.cli.app import _root
from zslplat.cli.commands import make_command
from zslplat.errors import UsageError
from zslplat.front import options as declared
from zslplat.front import table_options
from zslplat.front.schema import (
    Option,
    complete_options,
    options_of,
    read_study_file,
    type_of,
    with_options,
    write_study_file,
)

DECLARATIONS = {"tune": declared.TuneCommand, "run": declared.RunCommand, "sweep": declared.SweepCommand}
DECLARATIONS |= {"bench": table_options.BenchCommand, "compare": table_options.CompareCommand}


class MoreOptions(declared.TuneCommand, total=False):
    """The options of tune, and one that was added by this line."""

    depth: Annotated[int, Option("How deep to look.", 3, least=1, complete=("1", "2"))]


class Keywords(TypedDict, total=False):
    depth: Annotated[int, Option("How deep to look.", 3, least=1)]


class Bounded(TypedDict, total=False):
    port: Annotated[int, Option("Where to listen.", 5, least=1, most=9)]


@pytest.mark.parametrize("port", [0, 10])
def test_a_number_outside_its_bounds_is_refused(port):
    with pytest.raises(UsageError, match=f"port={port}: expected a whole number, at least 1, at most 9"):
        complete_options(Bounded, {"port": port}, "listen()")
    assert complete_options(Bounded, {"port": 9}, "listen()") == {"port": 9}


def test_one_line_adds_an_option_to_command_function_and_study_file(tmp_path):
    received = {}

    def tune(options: MoreOptions) -> None:
        """Search."""
        received.update(options)

    def function(method: str, **options: Unpack[Keywords]) -> None:
        """Search."""

    command = make_command("tune", tune)
    (option,) = (p for p in command.params if p.name == "depth")
    assert (option.opts, option.default, option.help) == (["--depth"], 3, "How deep to look.")
    path = tmp_path / "study.toml"
    command(["-m", "eszsl", "--depth", "5"], standalone_mode=False)
    write_study_file(path, received, MoreOptions)
    assert read_study_file(path, MoreOptions)["depth"] == 5
    command(["--config", str(path)], standalone_mode=False)
    assert (received["depth"], received["method"]) == (5, "eszsl")
    command(["--config", str(path), "--depth", "3"], standalone_mode=False)
    assert received["depth"] == 3
    parameter = inspect.signature(with_options(Keywords)(function)).parameters["depth"]
    assert (parameter.default, parameter.annotation, parameter.kind) == (3, int, parameter.KEYWORD_ONLY)
    with pytest.raises(UsageError, match="depth=0: expected a whole number, at least 1"):
        complete_options(Keywords, {"depth": 0}, "search")


@pytest.mark.parametrize("name", DECLARATIONS)
def test_a_command_has_the_declared_options_and_no_other(name):
    options = options_of(DECLARATIONS[name])
    parameters = {parameter.name: parameter for parameter in _root().commands[name].params}
    on_command_line = {key: option for key, option in options.items() if not option.study_file_only}
    by_position = {f"{key}_by_position" for key, option in options.items() if option.by_position}
    assert set(parameters) == {*on_command_line, *by_position, "debug", "help_all"}
    for key, option in on_command_line.items():
        assert parameters[key].help == option.help


@pytest.mark.parametrize("name", ["tune", "sweep", "bench", "compare"])
def test_a_function_shows_types_and_defaults(name):
    parameters = inspect.signature(getattr(zslplat, name)).parameters
    declaration = DECLARATIONS[name]
    for key, option in options_of(declaration).items():
        if (
            key in parameters
            and parameters[key].kind is inspect.Parameter.KEYWORD_ONLY
            and key not in ("dry_run", "class_folds")
        ):
            assert parameters[key].default == option.default
            assert parameters[key].annotation == type_of(declaration, key)
    assert not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
