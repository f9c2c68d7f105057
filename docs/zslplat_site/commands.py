"""The reference of the command line, made of what Typer knows: every command with its arguments and options."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer

from zslplat_site.docstrings import to_markdown


def commands(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield ("data list", command) of a Typer application's root command, those of groups included."""
    context = typer.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


def page() -> str:
    """Return the page of all commands in Markdown."""
    from zslplat.cli.app import app

    root = typer.main.get_command(app)
    named_commands = sorted(commands(root))
    lines = [
        "# Commands",
        "What `zslplat COMMAND --help` prints, on one page. Options that a command shares with others mean the same "
        "everywhere.",
        "\n".join(
            [
                "| command | what it does |",
                "|---|---|",
                *(f"| [`zslplat {n}`](#{anchor(n)}) | {_cell(_first(c))} |" for n, c in named_commands),
            ]
        ),
    ]
    lines += [_command(name, command) for name, command in named_commands]
    return "\n\n".join(lines) + "\n"


def anchor(name: str) -> str:
    """Return the label of a command's section."""
    return "command-" + name.replace(" ", "-")


def _command(name: str, command: Any) -> str:
    parameters = [p for p in command.params if p.name != "help" and not getattr(p, "hidden", False)]
    arguments = [p for p in parameters if p.param_type_name == "argument"]
    options = [p for p in parameters if p.param_type_name == "option"]
    usage = " ".join(["zslplat", name, *(["[OPTIONS]"] if options else []), *map(_metavar, arguments)])
    parts = [
        f"({anchor(name)})=\n## {name}",
        f"```text\n{usage}\n```",
        to_markdown(inspect.cleandoc(command.help or "")),
    ]
    if arguments:
        rows = [f"| `{_metavar(p)}` | {_cell(_help(p))} |" for p in arguments]
        parts.append("\n".join(["| argument | meaning |", "|---|---|", *rows]))
    if options:
        rows = [f"| {_names(p)} | {_default(p)} | {_cell(_help(p))} |" for p in options]
        parts.append("\n".join(["| option | default | meaning |", "|---|---|---|", *rows]))
    return "\n\n".join(parts)


def _first(command: Any) -> str:
    return " ".join((command.help or "").partition("\n\n")[0].split())


def _help(parameter: Any) -> str:
    return " ".join((getattr(parameter, "help", "") or "").split())


def _metavar(argument: Any) -> str:
    name = f"{argument.metavar or argument.name.upper()}{'...' if argument.nargs == -1 else ''}"
    return name if argument.required else f"[{name}]"


def _names(parameter: Any) -> str:
    names = [*parameter.opts, *parameter.secondary_opts]
    return ", ".join(f"`{name}`" for name in names)


def _default(parameter: Any) -> str:
    value = parameter.default
    if value is None or callable(value) or value in ((), [], "") or type(value).__name__ == "Sentinel":
        return ""
    if isinstance(value, bool):
        return "yes" if value and parameter.secondary_opts else ""
    return f"`{getattr(value, 'value', value)}`".replace("|", r"\|")


def _cell(text: str) -> str:
    return to_markdown(text).replace("|", r"\|")
