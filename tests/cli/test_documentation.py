"""Every hook, command and option is documented where users look for it."""

import inspect
import re
from pathlib import Path

import pytest
import typer

from zslplat import api, hookspecs
from zslplat.cli.app import app
from zslplat.registry import COMPONENTS

README = Path(__file__).parents[2] / "README.md"
HOOKS = [name for name, value in vars(hookspecs).items() if name.startswith("zslplat_") and inspect.isfunction(value)]


def commands(group, prefix=""):
    """Return {"data list": command} of a Typer application, groups of commands included."""
    found = {}
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            found |= {f"{prefix}{name}": command, **commands(command, f"{prefix}{name} ")}
        else:
            found[f"{prefix}{name}"] = command
    return found


COMMANDS = commands(typer.main.get_command(app))
SINGLE = {name: command for name, command in COMMANDS.items() if not hasattr(command, "commands")}
PARAMETERS = [(name, p) for name, command in SINGLE.items() for p in command.params if p.name != "help"]


def test_there_are_hooks_and_commands():
    assert {f"zslplat_{kind}" for kind in COMPONENTS} <= set(HOOKS)
    assert {"tune", "run", "list", "show", "plugins new", "plugins check"} <= set(COMMANDS)


@pytest.mark.parametrize("hook", HOOKS)
def test_hook_is_described_where_it_is_specified(hook):
    text = inspect.getdoc(getattr(hookspecs, hook)) or ""
    assert text.startswith(("Return ", "Be told ")), hook
    assert text.endswith("."), hook


@pytest.mark.parametrize("name", COMMANDS)
def test_command_has_help(name):
    assert (COMMANDS[name].help or "").strip(), name


@pytest.mark.parametrize(("command", "parameter"), PARAMETERS, ids=[f"{c} {p.name}" for c, p in PARAMETERS])
def test_option_and_argument_have_help(command, parameter):
    text = (getattr(parameter, "help", "") or "").strip()
    assert text, f"{command}: {parameter.name}"
    assert text.endswith((".", "]", "?")) or text[-1].isalnum() or text[-1] in ")|'\"", f"{command}: {text}"


@pytest.mark.parametrize("name", sorted(api.__all__))
def test_name_of_the_api_is_described(name):
    value = getattr(api, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert (inspect.getdoc(value) or "").strip(), name


@pytest.mark.skipif(not README.is_file(), reason="README.md is not beside the tests")
@pytest.mark.parametrize("name", SINGLE)
def test_command_is_in_the_readme_or_on_a_page_of_the_site(name):
    pages = [README, *(README.parent / "docs").glob("*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    assert re.search(rf"zslplat {re.escape(name.removesuffix(' list'))}\b", text), f"zslplat {name}"
