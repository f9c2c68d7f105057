"""One call of the program: whether it shows tracebacks, and where its result goes.

With ``--json`` standard output is one JSON document, in success and in failure: all else that is written there, by
plugins, libraries or worker processes, goes to standard error. The options of all commands are declared here:
:func:`with_common_options` gives ``--debug`` and ``--help-all`` to every command, ``--json`` calls
:func:`json_callback`.
"""

import contextlib
import os
import sys
from dataclasses import dataclass
from typing import Annotated, Any, TextIO

import typer

from zslplat.names import visible

EVERYTHING = "zslplat.everything"  # the key of a context whose help shows all options and commands


@dataclass
class Invocation:
    """What is known of the call: ``debug`` shows tracebacks, ``of_plugin`` says that a plugin's command was called."""

    debug: bool = False
    of_plugin: bool = False


@dataclass
class _Results:
    """Standard output, kept for one JSON document, while all others write to standard error."""

    stream: TextIO
    replaced: Any
    written: bool = False


_results: _Results | None = None


def begin_json() -> None:
    """Keep standard output for the result, until :func:`end_json`."""
    global _results
    if _results is not None:
        return
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    _results = _Results(stream, sys.stdout)
    sys.stdout = sys.stderr


def end_json() -> None:
    """Give standard output back; does nothing where it was not kept."""
    global _results
    if _results is None:
        return
    results, _results = _results, None
    sys.stdout = results.replaced
    with contextlib.suppress(OSError, ValueError):
        os.dup2(results.stream.fileno(), 1)
    with contextlib.suppress(OSError, ValueError):
        results.stream.close()


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Write a line (a text with ``nl=False``), on standard error with ``err``; control characters are shown escaped."""
    typer.echo(visible(text), err=err, nl=nl)


def print_json(content: Any) -> None:
    """Write a result as one JSON document on standard output; numbers that are not finite are null."""
    from zslplat.plain_json import plain_json

    text = plain_json(content, indent=2)
    if _results is None:
        print(text)
        return
    _results.written = True
    print(text, file=_results.stream, flush=True)


def write_failure(error: str, exit_code: int) -> None:
    """Write what went wrong as the JSON document, where JSON was asked for and no result was written."""
    if _results is not None and not _results.written:
        with contextlib.suppress(OSError, ValueError):
            print_json({"error": error, "exit_code": exit_code})


def json_callback(value: bool) -> bool:
    """Begin with JSON as soon as the option is read, before anything of the command runs."""
    if value:
        begin_json()
    return value


def _debug_callback(ctx: typer.Context, value: bool) -> None:
    if value:
        ctx.find_root().obj.debug = True


def _help_all_callback(ctx: typer.Context, value: bool) -> None:
    if value:
        ctx.meta[EVERYTHING] = True
        echo(ctx.get_help())
        raise typer.Exit()


def _version_callback(value: bool) -> None:
    if value:
        from zslplat import __version__

        echo(f"zslplat {__version__}")
        raise typer.Exit()


def _completion_callback(value: str | None) -> None:
    if value:
        from zslplat.cli.completion import script

        echo(script(value))
        raise typer.Exit()


def with_common_options(command: Any) -> Any:
    """Return the command, group or all commands of a group with ``--help-all`` and ``--debug``, unless it has them."""
    if not any("--debug" in parameter.opts for parameter in command.params):
        command.params.append(_made("--help-all", "Show all options and commands.", _help_all_callback))
        command.params.append(_made("--debug", "Show tracebacks.", _debug_callback))
    for member in dict.values(getattr(command, "commands", {})):
        if member is not None:  # one that is made when it is used has the options then
            with_common_options(member)
    return command


def with_own_options(group: Any) -> Any:
    """Return the group of all commands with what it alone takes: ``--version`` and ``--show-completion``."""
    group.params.append(_made("--version", "Print the version and exit.", _version_callback))
    text = (
        'Print the script that completes commands, options and names in bash, zsh or fish; eval "$(zslplat '
        '--show-completion bash)" in ~/.bashrc has it in every shell.'
    )
    group.params.append(_made("--show-completion", text, _completion_callback, shell=True))
    return group


def _made(name: str, text: str, callback: Any, *, shell: bool = False) -> Any:
    """Return an option as Typer makes it of a declaration, whose own classes differ from version to version."""
    declaration = typer.Option(
        name,
        help=text,
        rich_help_panel=None if shell else "Output",
        callback=callback,
        is_eager=True,
        expose_value=False,
        metavar="SHELL" if shell else None,
    )

    def flag(value: Annotated[bool, declaration] = False) -> None:
        return

    def with_value(value: Annotated[str | None, declaration] = None) -> None:
        return

    single = typer.Typer(add_completion=False)
    single.command()(with_value if shell else flag)
    option = next(p for p in typer.main.get_command(single).params if name in p.opts)
    # Two parameters of one name would be one to the parser.
    option.name = name.removeprefix("--").replace("-", "_")
    return option
