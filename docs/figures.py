"""Draw the figures that README and documentation quote from where they come from, or say which do not fit.

    python docs/figures.py            # draw them anew
    python docs/figures.py --check    # say what would change, and which figures have no source; a test does the same

``figures.toml`` beside this file lists them. A ``[[table]]`` is drawn between ``<!-- figures: NAME -->`` and
``<!-- end of figures -->`` from the kept results of the package ``zslplat-papers``, each line with its provenance.
A ``[[quoted]]`` is a passage in which every ``{}`` stands for a number, one source for each:

``results``, ``where``, ``value``    the one line of kept results that fits, and the column to quote; ``form``: ".3f"
``code``                             what the program itself goes by, as an expression of its modules (``module:name``)
``formula``                          arithmetic, with ``stats`` (scipy's), ``sqrt`` and ``exp``
``published``                        "TABLE/ROW/COLUMN" of the papers' tables, or "TABLE: NOTE" for a number in a note

and a ``[[defined]]`` is a passage whose numbers were never measured: levels, sizes, versions; ``as`` says what.
Every other figure in running text has no source, and is told. Code, commands and their output are no running text: what
a command prints is compared with what it prints (``tests/cli/test_readme.py``).
"""

from __future__ import annotations

import argparse
import importlib
import math
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from scipy import stats

from zslplat_papers.published import load_table
from zslplat_papers.reproduction.results import PACKAGED, read_file

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_name("figures.toml")
# The whole page is made by ``zslplat claims --page``, as those of ``docs/results``, and has a test of its own.
DRAWN_WHOLE = {"docs/results.md"}
END = "<!-- end of figures -->"
_NUMBER = r"[-+]?(?:\d+\.\d+|\.\d+|\d+)"
# What counts as a figure: a decimal number, a share in percent, a time, a multiple.
_UNIT = r" %| ?(?:s|ms|seconds?|minutes?|hours?)\b| times\b| x (?:faster|slower)"
_FIGURE = re.compile(rf"(?<![\w./^-])[-+]?(?:\d*\.\d+\b|\d+(?={_UNIT}))(?!\.\d)")
_CODE = re.compile(r"^```.*?^```|^(?: {4}).*?$|`[^`]*`|\]\([^)]*\)|^<!--.*?-->", flags=re.MULTILINE | re.DOTALL)


class NoSource(Exception):
    """A figure's source says something else, or nothing."""


def pages() -> list[str]:
    """Return the pages whose figures are looked at, relative to the root of the repository."""
    inside = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "checks").glob("*.md")]  # the latter is a link
    found = ["README.md", "CONTRIBUTING.md", *(str(path.relative_to(ROOT)) for path in sorted(inside))]
    return [name for name in found if name not in DRAWN_WHOLE]


def listed() -> dict[str, list[dict[str, Any]]]:
    """Return what the list holds, by kind."""
    content = tomllib.loads(LIST.read_text(encoding="utf-8"))
    return {kind: content.get(kind, []) for kind in ("table", "quoted", "defined")}


def drawn(page: str, text: str, entries: Mapping[str, Sequence[Mapping[str, Any]]], results: Path = PACKAGED) -> str:
    """Return the text of a page with its figures drawn anew; raises :class:`NoSource` where one cannot be."""
    for entry in entries["table"]:
        if entry["page"] == page:
            start = f"<!-- figures: {entry['name']} -->\n"
            before, found, rest = text.partition(start)
            _, ended, after = rest.partition(END)
            if not (found and ended):
                raise NoSource(f"{page} has no place for table {entry['name']!r}")
            text = f"{before}{start}\n{_table(entry, results)}\n\n{END}{after}"
    for entry in entries["quoted"]:
        if entry["page"] == page:
            numbers = [_written(source, results) for source in entry["sources"]]
            if entry["text"].count("{}") != len(numbers):
                raise NoSource(f"{page}: {entry['text']!r} has {len(numbers)} sources")
            text, count = _passage(entry["text"]).subn(lambda match, n=numbers: _with(match, n), text)
            if count != 1:
                raise NoSource(f"{page} has {count} passages {entry['text']!r}; expected one")
    return text


def unsourced(page: str, text: str, entries: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Return the figures in running text that nothing in the list stands for, each with its line."""
    covered: list[tuple[int, int]] = [match.span() for match in _CODE.finditer(text)]
    start = 0
    while (start := text.find("<!-- figures: ", start)) >= 0:
        end = text.index(END, start)
        covered.append((start, end))
        start = end
    for entry in [*entries["quoted"], *entries["defined"]]:
        if fnmatchcase(page, entry["page"]):
            matches = list(_passage(entry["text"]).finditer(text))
            if not matches and "*" not in entry["page"]:
                raise NoSource(f"{page} has no passage {entry['text']!r}")
            covered += [match.span() for match in matches]
    found = []
    for match in _FIGURE.finditer(text):
        if not any(low <= match.start() < high for low, high in covered):
            line = text.count("\n", 0, match.start())
            found.append(f"{page}:{line + 1}: {match[0]} in {text.splitlines()[line].strip()!r}")
    return found


def _passage(text: str) -> re.Pattern[str]:
    """Return a pattern of a passage, wherever its lines end: ``{}`` is any number."""
    words = re.escape(" ".join(text.split())).replace(r"\ ", r"\s+")
    return re.compile(words.replace(r"\{\}", f"({_NUMBER})"))


def _with(match: re.Match[str], numbers: Sequence[str]) -> str:
    """Return a passage with these numbers."""
    text, at = "", match.start()
    for place, number in enumerate(numbers, start=1):
        text += match.string[at : match.start(place)] + number
        at = match.end(place)
    return text + match.string[at : match.end()]


def _written(source: Mapping[str, Any], results: Path) -> str:
    """Return a number as it is quoted."""
    if "published" in source:
        return _published(source)
    if "results" in source:
        lines = list(_lines(source["results"], source.get("where", {}), results))
        if len(lines) != 1:
            raise NoSource(f"{len(lines)} lines of {source['results']} fit {source.get('where')}; expected one")
        value = float(lines[0][source["value"]])
    elif "code" in source:
        module, _, name = source["code"].partition(":")
        value = float(eval(name, vars(importlib.import_module(module))))
    else:
        value = float(eval(source["formula"], {"stats": stats, "sqrt": math.sqrt, "exp": math.exp}))
    value *= source.get("times", 1)
    text = format(value, source.get("form", "g"))
    return text.replace("0.", ".", 1) if source.get("short") else text


def _published(source: Mapping[str, Any]) -> str:
    """Return a number of a published table, or one that a note in it states."""
    place = source["published"]
    if ": " in place:
        name, _, number = place.partition(": ")
        table = load_table(name)
        notes = [*(note for record in table.records() for note in record["notes"]), *table.notes]
        notes += [note for row in table.rows for note in row.notes]
        if not any(re.search(rf"(?<![\d.]){re.escape(number)}(?![\d])", str(note)) for note in notes):
            raise NoSource(f"no note of {name} states {number}")
        return number
    name, row, column = place.split("/")
    return str(load_table(name).cell(row, column).printed)


def _lines(name: str, where: Mapping[str, Any], results: Path) -> Iterator[dict[str, str]]:
    for line in read_file(results / f"{name}.csv"):
        if all(fnmatchcase(line.get(key, ""), str(value)) for key, value in where.items()):
            yield line


def _table(entry: Mapping[str, Any], results: Path) -> str:
    """Return a table in Markdown: ``rows`` name a line, ``across`` is the column whose values are its columns."""
    lines = list(_lines(entry["results"], entry.get("where", {}), results))
    if not lines:
        raise NoSource(f"no line of {entry['results']} fits {entry.get('where')}")
    across, value, form = entry["across"], entry["value"], entry["form"]
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for line in lines:
        number = format(float(line[value]), form)
        cells.setdefault(tuple(line[key] for key in entry["rows"]), {})[line[across]] = number.replace("0.", ".", 1)
    columns = entry.get("columns") or list(dict.fromkeys(line[across] for line in lines))
    text = ["| " + " | ".join([""] * len(entry["rows"])) + " | " + " | ".join(columns) + " |"]
    text.append("|" + "---|" * (len(entry["rows"]) + len(columns)))
    for names in sorted(cells, key=lambda names: tuple(map(_natural, names))):
        text.append("| " + " | ".join([*names, *(cells[names].get(column, "") for column in columns)]) + " |")
    return "\n".join(text)


def _natural(text: str) -> list[Any]:
    """Return a key by which 5 comes before 10."""
    return [
        (0, float(part), "") if part[0].isdigit() else (1, 0.0, part) for part in re.findall(r"\d+\.?\d*|\D+", text)
    ]


def main() -> int:
    """Draw or check all pages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="change nothing; say what does not fit")
    check, wrong = parser.parse_args().check, []
    entries = listed()
    for page in pages():
        path = ROOT / page
        before = path.read_text(encoding="utf-8")
        try:
            after = drawn(page, before, entries)
            wrong += unsourced(page, after, entries)
        except NoSource as error:
            wrong.append(str(error))
            continue
        if after != before:
            if check:
                wrong.append(f"{page}: figures are not those of the kept results; python docs/figures.py draws them")
            else:
                path.write_text(after, encoding="utf-8")
    print("\n".join(wrong) or "every figure has its source")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
