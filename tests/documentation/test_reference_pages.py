"""Every command, option, hook and public name stands in the sources of the site, with what it is."""

import inspect
import re
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import typer

import zslplat
from zslplat import api, hookspecs
from zslplat.cli.app import app
from zslplat.listeners import Listener
from zslplat.registry import REGISTERED, build_registry
from zslplat_site import reference

DOCS = Path(__file__).parents[2] / "docs"
HOOKS = [name for name, value in vars(hookspecs).items() if name.startswith("zslplat_") and inspect.isfunction(value)]
PAGE = reference.command_page()
API = reference.plugin_page()
PYTHON = reference.python_page()
PUBLIC = [name for name in getattr(zslplat, "__all__", []) if name != "__version__"]

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="the documentation is not beside the tests")


def section(page, title, level="##"):
    """Return the text below a title, up to the next of its level."""
    found = re.search(rf"^{level} {re.escape(title)}$(.*?)(?=^#{{1,{len(level)}}} |\Z)", page, re.MULTILINE | re.DOTALL)
    assert found, title
    return found[1]


def commands(group, prefix="zslplat"):
    """Yield (name, command) of a group of commands, those of groups below it included."""
    context = typer.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix} {name}")
        else:
            yield f"{prefix} {name}", command


COMMANDS = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("name", COMMANDS)
def test_command_is_described_with_all_of_its_arguments_and_options(name):
    text = section(PAGE, f"`{name}`", "#" * len(name.split()))
    assert f"$ {name}" in text
    assert " ".join(COMMANDS[name].help.split())[:40] in " ".join(text.split())
    for parameter in COMMANDS[name].params:
        if parameter.name == "help" or getattr(parameter, "hidden", False):
            continue
        for option in parameter.opts if parameter.param_type_name == "option" else []:
            assert option in text, option
        assert " ".join((parameter.help or "").split())[:15] in text, parameter.name


@pytest.mark.parametrize("name", sorted(api.__all__))
def test_name_of_the_plugin_interface_is_described(name):
    text = section(API, name, "###")
    if name in reference.VALUES:
        assert reference.VALUES[name] in text
    else:
        assert f"zslplat.api.{name}" in text
        assert (getattr(api, name).__doc__ or "").strip()


@pytest.mark.parametrize("name", PUBLIC)
def test_function_of_the_package_is_described(name):
    assert f"zslplat.{name}" in section(PYTHON, name, "###")
    assert len(getattr(zslplat, name).__doc__.split()) > 10


def test_functions_show_the_options_of_their_commands():
    arguments = section(PYTHON, "tune", "###")
    assert "task: str = 'zsl'," in arguments
    assert "trials: int | None = None" in arguments


@pytest.mark.parametrize(
    ("line", "escaped"),
    [("|a - b| of ``x | y``", r"\|a - b\| of ``x | y``"), ("    code | more", "    code | more"), ("none", "none")],
)
def test_bars_are_escaped_outside_of_code(line, escaped):
    lines = [line]
    reference.escape_bars(None, "class", "", None, None, lines)
    assert lines == [escaped]


@pytest.mark.parametrize("hook", HOOKS)
def test_hook_is_described_with_an_example(hook):
    text = section((DOCS / "plugins.md").read_text(encoding="utf-8"), hook, "###")
    (example,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert f"def {hook}(" in example
    assert "@hookimpl" in example


def test_examples_of_hooks_register_what_they_say(tmp_path, monkeypatch):
    text = (DOCS / "plugins.md").read_text(encoding="utf-8")
    examples = [e for e in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL) if "@hookimpl" in e]
    assert len(examples) == len(HOOKS)
    for number, example in enumerate(examples):
        (tmp_path / f"hook_example_{number}.py").write_text(example)
    monkeypatch.syspath_prepend(tmp_path)
    registry = build_registry([EntryPoint(f"hook{n}", f"hook_example_{n}", "zslplat") for n in range(len(examples))])
    assert registry.broken == []
    found = {kind: registry.names(kind) for kind in REGISTERED}
    assert all(len(names) == 1 for names in found.values()), found
    for kind in REGISTERED:
        # The task of the example is in a package that nobody has written yet.
        if kind != "tasks":
            registry.component(kind, found[kind][0])


@pytest.mark.parametrize(("kind", "check"), [("methods", "check_method"), ("kernels", "check_kernel")])
def test_examples_of_components_keep_their_promises(kind, check, tmp_path, monkeypatch):
    from zslplat import testing

    text = section((DOCS / "plugins.md").read_text(encoding="utf-8"), f"zslplat_{kind}", "###")
    (example,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    (tmp_path / f"kept_{kind}.py").write_text(example)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (component,) = getattr(__import__(f"kept_{kind}"), f"zslplat_{kind}")().values()
    getattr(testing, check)(component())


def test_what_listeners_are_told_is_described():
    text = section((DOCS / "plugins.md").read_text(encoding="utf-8"), "zslplat_listeners", "###")
    methods = {name for name, value in vars(Listener).items() if inspect.isfunction(value) and name != "__init__"}
    assert set(re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE)) == methods
