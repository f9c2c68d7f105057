"""Docstrings as Markdown: roles, tables, lists of definitions and indented code as the pages of the site want them.

A docstring of a component may end in sections, each a title underlined with ``-``: :data:`SECTIONS`. ``Equations``
holds formulas between ``$$``, in LaTeX, and words; ``Symbols`` a table; ``Example`` what a Python prompt shows;
``Related`` other components, with what they have to do with this one.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

SECTIONS = ("Equations", "Symbols", "Example", "Related")
_TITLE = re.compile(rf"^({'|'.join(SECTIONS)})\n-{{3,}}$", flags=re.MULTILINE)
_ROLE = re.compile(r":(class|func|mod|meth|attr|data|exc):`([^`]+)`")
_DEFINED = re.compile(r"^(``[^`]+``(?:, ``[^`]+``)*)(?:\s{2,}(\S.*))?$")
_FORMULA = re.compile(r"\$\$(.+?)\$\$", flags=re.DOTALL)
_RULE = re.compile(r"^\|[-| ]+\|$")
# Outside of code spans these would begin an HTML tag or a formula.
_SPANS = re.compile(r"(``.+?``|`[^`]*`)", flags=re.DOTALL)

# Returns where a name is described, an empty text where it is not.
Linked = Callable[[str], str]


@dataclass(frozen=True)
class Docstring:
    """The text of a docstring before its sections, and the sections by title."""

    lead: str
    sections: dict[str, str]

    @property
    def first(self) -> str:
        """The first paragraph, in one line."""
        return " ".join(self.lead.partition("\n\n")[0].split())

    @property
    def rest(self) -> str:
        """What follows the first paragraph."""
        return self.lead.partition("\n\n")[2]


def read_docstring(value: object) -> Docstring:
    """Return the docstring that an object itself has, taken apart; empty where it has none."""
    text = inspect.cleandoc(value if isinstance(value, str) else getattr(value, "__doc__", None) or "")
    parts = _TITLE.split(text)
    return Docstring(parts[0].strip(), {t: b.strip() for t, b in zip(parts[1::2], parts[2::2], strict=True)})


def to_markdown(text: str, linked: Linked = lambda name: "") -> str:
    """Return text of a docstring as MyST Markdown; ``linked`` says where names in roles are described."""
    return "\n\n".join(_blocks(text, linked))


def without_tables(text: str) -> str:
    """Return the text without its Markdown tables."""
    return "\n\n".join(b for b in re.split(r"\n\s*\n", text) if not _is_table(b)).strip()


def tables_of(text: str) -> list[str]:
    """Return the Markdown tables of a text, as they are written."""
    return [inspect.cleandoc(b) for b in re.split(r"\n\s*\n", text) if _is_table(b)]


def _is_table(block: str) -> bool:
    lines = [line.strip() for line in block.strip().splitlines()]
    return len(lines) > 1 and lines[0].startswith("|") and bool(_RULE.match(lines[1]))


def _blocks(text: str, linked: Linked) -> Iterator[str]:
    """Yield Markdown blocks; code that is indented becomes fenced, however many paragraphs it has."""
    code: list[str] = []
    blocks = [block.strip("\n") for block in re.split(r"\n[ \t]*\n", text) if block.strip()]
    in_list = False
    for block in blocks:
        indent = len(block) - len(block.lstrip(" "))
        if indent >= 4 and not in_list:
            code.append(block)
            continue
        if code:
            yield _fenced("\n\n".join(code))
            code = []
        in_list = block.lstrip().startswith(("* ", "- ")) or (in_list and indent > 0)
        yield _block(block, linked)
    if code:
        yield _fenced("\n\n".join(code))


def _fenced(code: str, language: str = "text") -> str:
    return f"```{language}\n{inspect.cleandoc(code)}\n```"


def _block(block: str, linked: Linked) -> str:
    lines = block.splitlines()
    if block.lstrip().startswith(">>>"):
        return _fenced(block, "pycon")
    if any(re.match(r"^\s*={3,}[ =]*$", line) for line in lines):
        return _fenced(block)
    if _is_table(block):
        return _table(inspect.cleandoc(block), linked)
    if _DEFINED.match(lines[0]) and len(lines) > 1:
        return _definitions(lines, linked)
    formulas = _FORMULA.split(block)
    if len(formulas) > 1:
        parts = [
            f"```{{math}}\n{inspect.cleandoc(part).strip()}\n```" if place % 2 else _inline(part.strip(), linked)
            for place, part in enumerate(formulas)
        ]
        return "\n\n".join(part for part in parts if part)
    # An indented block may follow inside the same one: "such as::" and its code.
    code = next((i for i, line in enumerate(lines) if i and line.startswith("    ") and not _continues(lines, i)), None)
    if code is not None:
        return "\n\n".join([_inline("\n".join(lines[:code]), linked), _fenced("\n".join(lines[code:]))])
    return _inline(block, linked)


def _continues(lines: list[str], place: int) -> bool:
    """Whether a line that is indented belongs to an entry of a list."""
    return any(line.lstrip().startswith(("* ", "- ", "1. ", "2. ", "3. ")) for line in lines[:place])


def _definitions(lines: list[str], linked: Linked) -> str:
    """Return lines "``name``    meaning", with what they are continued by, as a list."""
    entries: list[list[str]] = []
    for line in lines:
        match = _DEFINED.match(line)
        if match:
            entries.append([match[1], match[2] or ""])
        elif entries:
            entries[-1][1] += " " + line.strip()
    return "\n".join(_inline(f"- {name}: {' '.join(text.split())}", linked) for name, text in entries)


def _table(block: str, linked: Linked) -> str:
    """Return a table whose cells may hold the sign | : where its columns are aligned, they are cut there."""
    lines = block.splitlines()
    ends = [place for place, sign in enumerate(lines[1]) if sign == "|"]
    rows = []
    for line in [lines[0], *lines[2:]]:
        aligned = len(line) > ends[-1] and all(line[end] == "|" for end in ends)
        cells = (
            [line[a + 1 : b] for a, b in pairwise(ends)] if aligned else _cells(line.strip().strip("|"), len(ends) - 1)
        )
        rows.append([_inline(cell.strip(), linked).replace("|", r"\|") for cell in cells])
    rule = ["---"] * (len(ends) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [rows[0], rule, *rows[1:]])


def _cells(line: str, count: int) -> list[str]:
    """Return the cells of a line that is out of line: signs with a blank on either side divide, the last first."""
    texts = re.split(r"\s\|(?=\s|$)", line)
    if len(texts) > count:
        # More signs than columns: those of the first cells belong to their text, as in p(y | x).
        spare = len(texts) - count
        texts = [" | ".join(part.strip() for part in texts[: spare + 1]), *texts[spare + 1 :]]
    return [*texts, *[""] * (count - len(texts))]


def _inline(text: str, linked: Linked) -> str:
    """Return running text: roles as code, linked where the name is described, and no sign that would be a tag."""
    text = _ROLE.sub(lambda match: _named(match[2], linked), text)
    text = re.sub(r"::(?=\s*$)", ":", text)
    pieces = _SPANS.split(text)
    for place in range(0, len(pieces), 2):
        piece = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", pieces[place])
        piece = re.sub(r"(?<![\w*\\])\*(?=[\w(])(?![^*\n]*\*)", r"\\*", piece)
        pieces[place] = piece.replace("{", r"\{").replace("]_", r"]\_")
    return "".join(pieces)


def _named(target: str, linked: Linked) -> str:
    short = target.lstrip("~.").rpartition(".")[2] if target.startswith("~") else target.lstrip(".")
    place = linked(target.lstrip("~"))
    return f"[`{short}`]({place})" if place else f"`{short}`"
