"""The commands, thin: each reads its options, imports what it needs, calls one function and prints the result."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from functools import cache
from typing import Any

import typer

from zslplat.cli import catalogue, completion, data, experiments, models, plugins, results, store, studies, ui
from zslplat.cli.commands import Commands, Group, plugin_points
from zslplat.cli.guidance import corrected, in_our_words
from zslplat.cli.invocation import (
    Invocation,
    begin_json,
    echo,
    end_json,
    with_common_options,
    with_own_options,
    write_failure,
)
from zslplat.cli.process import CONTINUE
from zslplat.errors import ZslplatError
from zslplat.names import visible

INTERRUPTED = 130
# The base of all usage errors, which Typer does not export under a name of its own.
_UsageProblem: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


class RootGroup(Group):
    """The root group; it takes ``--debug`` as every command does."""

    prefix = ""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        with_own_options(with_common_options(self))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands in groups; those of plugins are imported for ``--help-all`` alone."""
        self.format_sections(ctx, formatter, self.list_commands(ctx))


app = Commands(
    cls=RootGroup,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Zero-shot learning and kernel methods: tune, run and compare, with every run tracked.",
)
experiments.register(app)
results.register(app)
catalogue.register(app)
app.add_typer(data.app, name="data")
app.add_typer(plugins.app, name="plugins")
store.register(app)
app.add_typer(studies.app, name="studies")
models.register(app)
ui.register(app)


@cache
def _root() -> Any:
    """Return the root command, which Typer makes of the declarations of all commands: once in a process."""
    return typer.main.get_command(app)


def run_app(arguments: list[str]) -> int:
    """Run a command line and return its exit code; an error is one line on standard error.

    2 for a wrong request, 1 for one that could not be carried out, 130 for Ctrl-C and SIGTERM. With ``--json`` the
    error is the JSON document on standard output, too: ``{"error": ..., "exit_code": ...}``.
    """
    invocation = Invocation()
    if completion.COMPLETING in os.environ:
        return completion.complete(_root())
    try:
        code, error = _carried_out(arguments, invocation)
        # Where the options could not be read, nobody has told that JSON is wanted.
        if code and "--json" in arguments:
            begin_json()
            write_failure(error, code)
        return code
    finally:
        end_json()


def _carried_out(arguments: list[str], invocation: Invocation) -> tuple[int, str]:
    """Run a command line; return its exit code and the error, which was shown."""
    try:
        arguments = _in_our_words(arguments)
        result = _root()(arguments, standalone_mode=False, prog_name="zslplat", obj=invocation)
        sys.stdout.flush()
        if result == INTERRUPTED:
            # Typer turns Ctrl-C into this result.
            return _shown(CONTINUE, INTERRUPTED)
        return (result, f"exit code {result}") if isinstance(result, int) else (0, "")
    except _UsageProblem as error:
        return _show_usage(error)
    except (KeyboardInterrupt, typer.Abort):
        return _shown(CONTINUE, INTERRUPTED)
    except BrokenPipeError:
        _forget_output()
        return 1, "the output was closed"
    except ZslplatError as error:
        message, _, example = str(error).partition("\n\n")
        text = _masked(" ".join(message.split()))
        if error.exit_code == INTERRUPTED:
            return _shown(text, INTERRUPTED)
        ending = _failed(text, error.exit_code, invocation)
        for line in [*example.splitlines(), *corrected(arguments, error.name, error.candidates)]:
            print(visible(f"  {_masked(line)}"), file=sys.stderr)
        return ending
    except OSError as error:
        _forget_output()
        place = f" ({error.filename})" if error.filename else ""
        text = f"{error.strerror or error}{place}; what was recorded is kept; repair that and give the command again"
        return _failed(_masked(" ".join(text.split())), 1, invocation)
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # Typer's way to end where nobody reads on
            _forget_output()
            return 1, "the output was closed"
        if invocation.of_plugin:
            code = 0 if error.code is None else error.code
            return (code, f"exit code {code}") if isinstance(code, int) else _shown(str(code), 1)
        text = f"a component ended the program (SystemExit: {error.code}); it must raise an error that says why"
        return _failed(text, 1, invocation)
    except Exception as error:
        text = _masked(" ".join(str(error).split()))
        return _failed(f"{type(error).__name__}: {text}; give --debug for the traceback", 1, invocation)


def _in_our_words(arguments: list[str]) -> list[str]:
    """Return a command line with our names of commands, and say which were replaced."""
    words = in_our_words(
        arguments, lambda name: name in _root().commands or bool(plugin_points(name=name.replace(" ", ".")))
    )
    if words != arguments and not {"--help", "--version"} & set(words):
        echo(f"note: read as {shlex.join(['zslplat', *words])}", err=True)
    return words


def _masked(text: str) -> str:
    """Return a text without the passwords of the addresses in it."""
    from zslplat.settings import masked_url

    return masked_url(text)


def _shown(text: str, code: int) -> tuple[int, str]:
    text = visible(text)
    print(text, file=sys.stderr)
    return code, text


def _failed(text: str, code: int, invocation: Invocation) -> tuple[int, str]:
    """Show the error at hand in one line, or its traceback, which may quote addresses of libraries."""
    if invocation.debug:
        import traceback

        print(visible(_masked(traceback.format_exc())), end="", file=sys.stderr)
        return code, text
    _shown(f"error: {text}", code)
    return code, text


def _show_usage(error: Any) -> tuple[int, str]:
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return int(error.exit_code), "no command was given"
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "zslplat"
    text = _masked(" ".join(error.format_message().split()).rstrip("."))
    text = f"{text}; {path} --help tells what is possible"
    _shown(f"error: {text}", 2)
    return int(error.exit_code), text


def _forget_output() -> None:
    """Throw away what standard output still holds, where writing it has failed: the interpreter would try again."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        return
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
