"""How the program leads its users: groups of commands, their names elsewhere, corrections, what comes next."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from zslplat.errors import UsageError

# What `zslplat --help` shows. All other commands follow below one heading, with their summaries in --help-all.
SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Experiments", ("tune", "run", "sweep", "bench")),
    ("Results", ("compare", "report", "studies", "explain", "ui")),
    ("Models", ("predict", "models", "export")),
    ("Data, components, help", ("data", "list", "show", "settings", "docs")),
)
OTHERS = "More commands"

# The command that a plugin brings, not the platform itself.
FETCH = "data fetch"
# Names that other programs use, and what is run here instead.
OTHER_COMMANDS = {
    **dict.fromkeys(("train", "fit", "optimize", "optimise", "search", "hpo"), "tune"),
    **dict.fromkeys(("evaluate", "eval"), "run"),
    "test": "run --test",
    **dict.fromkeys(("results", "result", "leaderboard", "best", "table"), "compare"),
    **dict.fromkeys(("benchmark", "suite"), "bench"),
    **dict.fromkeys(("cv", "cross-val"), "cross-validate"),
    **dict.fromkeys(("dashboard", "mlflow", "server"), "ui"),
    **dict.fromkeys(("study", "runs", "trials", "history"), "studies"),
    **dict.fromkeys(("methods", "method"), "list methods"),
    **dict.fromkeys(("kernels", "kernel"), "list kernels"),
    **dict.fromkeys(("tasks", "task"), "list tasks"),
    **dict.fromkeys(("suites",), "list suites"),
    "checks": "list checks",
    "check": "data check",
    **dict.fromkeys(("datasets", "dataset", "data ls"), "data list"),
    **dict.fromkeys(("data show", "data describe"), "data info"),
    **dict.fromkeys(("data download", "data get", "data prepare", "download", "fetch", FETCH), FETCH),
    **dict.fromkeys(("ls", "components"), "list"),
    **dict.fromkeys(("describe", "info"), "show"),
    **dict.fromkeys(("config", "env", "where"), "settings"),
    **dict.fromkeys(("model", "models ls"), "models list"),
    **dict.fromkeys(("plugin", "plugins ls", "list plugins"), "plugins list"),
    **dict.fromkeys(("models delete", "models rm"), "models remove"),
    **dict.fromkeys(("studies remove", "studies rm"), "studies delete"),
    "studies ls": "studies list",
    "plugins create": "plugins new",
    "serve": "export",
    "rerun-check": "rerun --check",
    "version": "--version",
    "doc": "docs",
}


def in_our_words(arguments: Sequence[str], is_command: Callable[[str], bool]) -> list[str]:
    """Return a command line in which other programs' names of commands are ours; ``help`` goes to the end.

    Raises :class:`UsageError` for the name of a command that only a plugin brings which is not installed.
    """
    words = list(arguments)
    first = next((i for i, word in enumerate(words) if not word.startswith("-")), None)
    if first is None or (is_command(words[first]) and " ".join(words[first : first + 2]) not in OTHER_COMMANDS):
        return words
    if words[first] == "help":
        return [*words[:first], *words[first + 1 :], "--help"]
    for count in (2, 1):
        name = " ".join(words[first : first + count])
        if name in OTHER_COMMANDS:
            if OTHER_COMMANDS[name] == FETCH and not is_command(FETCH):
                raise UsageError(
                    f"zslplat {name}: fetching data sets is a command of zslplat-papers, which is not installed; in "
                    "the source tree: pip install -e ./plugins/zslplat-papers"
                )
            command, flag, option = OTHER_COMMANDS[name].partition("--")
            return [*words[:first], *command.split(), *words[first + count :], *([flag + option] if flag else [])]
    return words


def corrected(arguments: Sequence[str], name: str, candidates: Mapping[str, str]) -> list[str]:
    """Return the command line once per candidate, its description as a comment; nothing where ``name`` is not on it."""
    word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    fitting = (i for i, argument in enumerate(arguments) if word.search(argument))
    place = arguments.index(name) if name in arguments else next(fitting, None)
    if place is None:
        return []
    lines = []
    for candidate, description in candidates.items():
        written = word.sub(lambda match, text=candidate: text, arguments[place], count=1)  # type: ignore[misc]
        line = shlex.join(["zslplat", *arguments[:place], written, *arguments[place + 1 :]])
        lines.append(f"{line}  # {description}" if description else line)
    return lines


def meaning_of(word: str) -> list[str]:
    """Return the commands that fit a word that is a component, a check or a file, but no command."""
    from pathlib import Path

    from zslplat.registry import registry

    installed, quoted = registry(), shlex.quote(word)
    by_kind = {
        "methods": ("tune", "show"),
        "kernels": ("show",),
        "datasets": ("data info", "show"),
        "tasks": ("show",),
        "suites": ("bench --dry-run",),
    }
    name = word.partition("(")[0]
    commands = [command for kind, several in by_kind.items() if installed.claims(kind, name) for command in several]
    if installed.claims("checks", word.upper()):
        commands.append("explain")
    if not commands and Path(word).exists():
        commands = ["tune --config"] if word.endswith(".toml") else ["data check"]
    return [f"zslplat {command} {quoted}" for command in dict.fromkeys(commands)]


def _after_run(options: Mapping[str, Any]) -> str:
    if options["test"]:
        return "zslplat compare"
    return f"zslplat tune {_argument(options['method'])}" if options["method"] else "zslplat compare"


def _after_show(options: Mapping[str, Any]) -> str:
    return {
        "method": "zslplat tune {name}",
        "kernel": "zslplat list methods --search kernel",
        "data set": "zslplat data info {name}",
    }.get(options["kind"], "zslplat list methods").format(name=_argument(options["name"]))


# By command: what most people want next, with options of the command and what it returned in braces.
NEXT: dict[str, str | Callable[[Mapping[str, Any]], str]] = {
    "run": _after_run,
    "rerun": "zslplat report",
    "sweep": "zslplat tune {method}",
    "cross-validate": "zslplat report",
    "bench": "zslplat report --suite {suite}",
    "compare": "zslplat report",
    "predict": "zslplat export --run {run} --to model",
    "list": "zslplat show {name}",
    "show": _after_show,
    "explain": "zslplat studies",
    "data list": "zslplat data info {name}",
    "data info": "zslplat tune eszsl {name}",
    "data check": "zslplat tune eszsl {name}",
    "studies list": "zslplat compare",
    "studies show": "zslplat compare",
    "studies delete": "zslplat studies",
    "models list": "zslplat predict rows.npy --run {run}",
    "models show": "zslplat predict rows.npy --run {run}",
    "models remove": "zslplat models",
    "score": "zslplat compare",
    "store check": "zslplat studies",
    "store rebuild": "zslplat ui",
    "store merge": "zslplat store rebuild",
    "store gc": "zslplat store check",
}


def print_next(command: str, options: Mapping[str, Any]) -> None:
    """Print the next command to somebody who reads it on a terminal, with the options of places that it needs."""
    from zslplat.cli.invocation import echo
    from zslplat.cli.output import place_options
    from zslplat.front.requests import settings_of

    template = NEXT.get(command)
    if template is None or not sys.stdout.isatty():
        return
    if callable(template):
        line = template(options)
    else:
        needed = re.findall(r"{(\w+)}", template)
        if any(options.get(name) in (None, "", []) for name in needed):
            return
        line = template.format_map({name: _argument(options[name]) for name in needed})
    echo(f"next: {line}{place_options(settings_of(options)) if 'store' in options else ''}")


def _argument(value: Any) -> str:
    return shlex.quote(str(value[0] if isinstance(value, list) else value))
