"""The documentation of checks: a page each, which lies beside the code and is installed with it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from importlib.resources import files

from zslplat.errors import UnknownNameError
from zslplat.registry import KINDS, registry


@dataclass(frozen=True)
class Explained:
    """A check as it is explained: code, title, scope, the page in Markdown, and the distribution that it is of."""

    code: str
    title: str
    scope: str
    page: str
    distribution: str


def explained(code: str) -> Explained:
    """Return the explanation of a check; raises :class:`UnknownNameError` where there is no such code.

    A check without a page is explained by its docstring. Codes may be written in small letters.
    """
    known = registry()
    wanted = code if known.claims("checks", code) else code.upper()
    if not known.claims("checks", wanted):
        raise UnknownNameError(KINDS["checks"], code, known.spellings("checks"))
    entry = known.entry("checks", wanted)
    check = entry.load()
    stored = files("zslplat.checks").joinpath("pages", f"{entry.name}.md")
    own = stored.read_text(encoding="utf-8") if entry.plugin.distribution == "zslplat" and stored.is_file() else ""
    page = own or inspect.cleandoc(check.page) or f"# {entry.name}: {check.title}\n\n{inspect.getdoc(check) or ''}"
    return Explained(entry.name, check.title, check.scope, page.strip() + "\n", entry.plugin.distribution)
