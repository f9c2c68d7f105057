"""The commands, thin: each reads its options, imports what it needs, calls one function and prints the result."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from importlib.metadata import entry_points
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from zslplat.cli import catalogue, compare, data, experiments, interface, plugins, query, store
from zslplat.cli.interrupts import CONTINUE
from zslplat.errors import ZslplatError
from zslplat.settings import masked_url

COMMAND_GROUP = "zslplat.commands"
INTERRUPTED = 130
# The base of all usage errors, which Typer does not export under a name of its own.
_UsageProblem: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


class PluginGroup(TyperGroup):
    """The root group: built-in commands, and those that other packages name in ``zslplat.commands``.

    Names come from the packages' metadata; a plugin's module is imported when its command is called.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return [*super().list_commands(ctx), *sorted(point.name for point in entry_points(group=COMMAND_GROUP))]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a built-in command, or import one of a plugin."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        for point in entry_points(group=COMMAND_GROUP, name=cmd_name):
            if set(sys.argv[1:2]) & {"--help"} or len(sys.argv) < 2:
                source = point.dist.name if point.dist else point.value
                return TyperCommand(cmd_name, short_help=f"Command of the plugin {source}.")
            return _plugin_command(point)
        return None


def _plugin_command(point: Any) -> Any:
    try:
        loaded = point.load()
    except Exception as error:
        source = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
        raise ZslplatError(
            f"command {point.name!r} of {source} does not load: {type(error).__name__}: {error}"
        ) from error
    if isinstance(loaded, typer.Typer):
        return typer.main.get_command(loaded)
    single = typer.Typer()
    single.command(point.name)(loaded)
    return typer.main.get_command(single)


app = typer.Typer(
    cls=PluginGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Zero-shot learning and kernel methods: tune, run and compare, with every run tracked.",
)
experiments.register(app)
compare.register(app)
catalogue.register(app)
app.add_typer(data.app, name="data")
app.add_typer(plugins.app, name="plugins")
app.add_typer(store.app, name="store")
query.register(app)
interface.register(app)


def run_app(arguments: list[str]) -> int:
    """Run a command line and return its exit code; an error is one line on standard error.

    2 for a wrong request, 1 for one that could not be carried out, 130 for Ctrl-C.
    """
    debug = "--debug" in arguments
    try:
        result = app(arguments, standalone_mode=False, prog_name="zslplat")
        sys.stdout.flush()
        if result == INTERRUPTED:
            # Typer turns Ctrl-C into this result.
            print(CONTINUE, file=sys.stderr)
        return result if isinstance(result, int) else 0
    except _UsageProblem as error:
        return _show_usage(error)
    except (KeyboardInterrupt, typer.Abort):
        print(CONTINUE, file=sys.stderr)
        return 130
    except BrokenPipeError:
        _forget_output()
        return 1
    except ZslplatError as error:
        if debug and error.exit_code != INTERRUPTED:
            return _show_traceback(error.exit_code)
        text = masked_url(" ".join(str(error).split()))
        print(text if error.exit_code == INTERRUPTED else f"error: {text}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        _forget_output()
        if debug:
            return _show_traceback(1)
        place = f" ({error.filename})" if error.filename else ""
        text = f"{error.strerror or error}{place}; what was recorded is kept; repair that and give the command again"
        print(f"error: {masked_url(' '.join(text.split()))}", file=sys.stderr)
        return 1
    except Exception as error:
        if debug:
            return _show_traceback(1)
        text = masked_url(" ".join(str(error).split()))
        print(f"error: {type(error).__name__}: {text}; give --debug for the traceback", file=sys.stderr)
        return 1


def _show_traceback(code: int) -> int:
    """Print the traceback of the error at hand; the errors of libraries that it tells of quote addresses."""
    print(masked_url(traceback.format_exc()), end="", file=sys.stderr)
    return code


def _show_usage(error: Any) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return int(error.exit_code)
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "zslplat"
    text = masked_url(" ".join(error.format_message().split()).rstrip("."))
    print(f"error: {text}; {path} --help tells what is possible", file=sys.stderr)
    return int(error.exit_code)


def _forget_output() -> None:
    """Throw away what standard output still holds, where writing it has failed: the interpreter would try again."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        return
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
