"""What a check is, what it finds, how all checks of a scope are run, and the page of each.

A check is a small class with a code, a title and a scope; its method ``find`` is a pure function from facts
(:mod:`zslplat.checks.facts`) to lines of text. Those of zslplat have codes that begin with ``ZSP``; plugins add their
own through the hook ``zslplat_checks``, with codes of another prefix. Codes are silenced where findings are shown;
every finding is recorded all the same.
"""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from string import ascii_letters
from typing import Any, ClassVar, Literal

from zslplat.checks.facts import ComparisonFacts, DataFacts, RecordedWarning, StudyFacts, SuiteFacts
from zslplat.errors import PluginError, UnknownNameError, split_code
from zslplat.registry import COMPONENTS, Registered, one_line, registry

Scope = Literal["study", "data", "comparison", "suite"]
SCOPES: dict[str, type] = {"study": StudyFacts, "data": DataFacts, "comparison": ComparisonFacts, "suite": SuiteFacts}
# The code under which a check that fails is reported.
BROKEN = "ZSP901"
# The code under which warnings that name no check are shown.
UNNAMED = "ZSP200"
_MOST_PLACES = 4
_VARYING = re.compile(r"'[^']*'|(?<![A-Za-z\d])[-+]?\d+(\.\d+)?(e[-+]?\d+)?")


@dataclass(frozen=True)
class Finding:
    """What a check found: its code, one line of text, its subject, and the command that shows the check's page.

    ``failed`` is the code of the check that failed, where the finding is such a failure (:data:`BROKEN`); silencing
    either code silences the finding.
    """

    code: str
    text: str
    subject: str
    page: str
    failed: str = ""

    @property
    def line(self) -> str:
        """``ZSP101 the best value of lam, 1000.0, lies at the high end ...``."""
        return f"{self.code} {self.text}"

    def to_json(self) -> dict[str, str]:
        """Return the finding as records and ``--json`` hold it."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Finding:
        """Return the finding that :meth:`to_json` wrote."""
        code, text, subject, page = (str(content[name]) for name in ("code", "text", "subject", "page"))
        return cls(code, text, subject, page, str(content.get("failed", "")))

    def silenced_by(self, codes: Collection[str]) -> set[str]:
        """Return the given codes that silence the finding."""
        return {self.code, self.failed} & set(codes)


class Check(ABC):
    """Base class of checks.

    ``code`` is capital letters and digits (``ZSP101``; plugins use letters of their own), ``title`` the finding in a
    few words, ``scope`` what is examined: ``study`` (:class:`StudyFacts`), ``data`` (:class:`DataFacts`),
    ``comparison`` (:class:`ComparisonFacts`) or ``suite`` (:class:`SuiteFacts`). The docstring says when the check
    speaks and why there. ``page`` is its documentation in Markdown: cause, remedy, example; the pages of zslplat are in
    ``docs/checks``. ``urgency`` puts what is found in order: 1 where a result may mean nothing, 2 where it could be
    better or less sure than it looks, 3 for what is good to know.
    """

    code: ClassVar[str]
    title: ClassVar[str]
    scope: ClassVar[Scope]
    page: ClassVar[str] = ""
    urgency: ClassVar[int] = 2

    def __str__(self) -> str:
        return self.code

    @abstractmethod
    def find(self, facts: Any) -> Iterable[str]:
        """Yield one line for each finding; nothing where there is none.

        ``facts`` are of the check's scope. Unknown facts are None or empty, and the check says nothing about them.
        """


class WarningCheck(Check):
    """Base class of checks that show the warnings of data, tasks and methods that name the check's code.

    Such a warning is ``warnings.warn(OutcomeWarning(text, code), stacklevel=2)``.
    """

    scope: ClassVar[Scope] = "study"

    def find(self, facts: StudyFacts) -> Iterable[str]:
        """Yield a line for each such warning."""
        for warned in facts.warnings:
            if warned.code == self.code:
                yield warned.line


def run_checks(scope: Scope, facts: Any, silenced: Collection[str] = ()) -> list[Finding]:
    """Run all checks of a scope that are not silenced, with those of plugins; what is most urgent comes first.

    A check that fails, or does not load, is itself a finding (:data:`BROKEN`) and stops no other. Code that records
    findings silences nothing here and calls :func:`drop_silenced` where they are shown.
    """
    findings: list[Finding] = []
    urgency: dict[str, int] = {}
    for entry in entries():
        if entry.name in silenced:
            continue
        try:
            check = entry.load()
            if check.scope != scope:
                continue
            urgency[entry.name] = check.urgency
            lines = [" ".join(str(text).split()) for text in check().find(facts)]
        except KeyboardInterrupt:
            raise
        except Exception as error:
            if BROKEN not in silenced:
                reason = str(error) if isinstance(error, PluginError) else f"check {entry.full_name}: {one_line(error)}"
                findings.append(replace(_finding(BROKEN, reason, facts), failed=entry.name))
            continue
        findings += [_finding(entry.name, text, facts) for text in lines]
    return sorted(findings, key=lambda finding: urgency.get(finding.code, 1))


def drop_silenced(findings: Iterable[Finding], silenced: Collection[str]) -> tuple[list[Finding], int]:
    """Return the findings to show, and the number of those that are silenced."""
    all_findings = list(findings)
    visible = [finding for finding in all_findings if not finding.silenced_by(silenced)]
    return visible, len(all_findings) - len(visible)


def finding_lines(findings: Iterable[Finding], silenced: Collection[str] = ()) -> list[str]:
    """Return the lines that show findings: one for each, and one that counts the silenced ones with their codes."""
    all_findings = list(findings)
    visible, count = drop_silenced(all_findings, silenced)
    codes = sorted(set().union(*(finding.silenced_by(silenced) for finding in all_findings)))
    return [finding.line for finding in visible] + ([f"{count} silenced ({', '.join(codes)})"] if count else [])


def lines_of_places(lines: Iterable[tuple[str, str]]) -> list[str]:
    """Return one line of what checks say of several places alike: what holds of the first, and where else.

    ``lines``: places, such as folds, data sets or cells of a suite, each with a line that begins with a code. Lines are
    alike where they differ in numbers and quoted names alone.
    """
    groups: dict[tuple[str, int], dict[str, str]] = {}
    for place, line in lines:
        form, of_place = _VARYING.sub("", line), 0
        while place in groups.setdefault((form, of_place), {}):
            of_place += 1  # a place of which much is said alike has a line for each
        groups[form, of_place][place] = line
    merged = []
    for by_place in groups.values():
        first, *others = by_place
        code, _, text = by_place[first].partition(" ")
        more = f" and {len(others) - _MOST_PLACES} more" if len(others) > _MOST_PLACES else ""
        alike = "also" if len(set(by_place.values())) == 1 else "alike, with other values, in"
        also = f"; {alike} {', '.join(others[:_MOST_PLACES])}{more}" if others else ""
        merged.append(f"{code} {first}: {text}{also}")
    return merged


def entries() -> list[Registered]:
    """Return the registered checks by code; where two packages claim a code, each of them."""
    registered = registry().entries["checks"]
    return [entry for code in sorted(registered) for entry in registered[code]]


def _finding(code: str, text: str, facts: Any) -> Finding:
    return Finding(code, text, str(getattr(facts, "subject", "")), f"zslplat explain {code}")


class FailedCheck(Check):
    """Stands for checks that do not load or raise an error; :func:`run_checks` makes the findings itself."""

    code, title, scope = BROKEN, "a check failed", "study"

    def find(self, facts: Any) -> Iterable[str]:
        """Find nothing: :func:`run_checks` notices failures."""
        return ()


@dataclass(frozen=True)
class CheckPage:
    """The documentation of a check: code, title, scope, the page in Markdown, and the distribution it belongs to."""

    code: str
    title: str
    scope: str
    page: str
    distribution: str


def check_page(code: str) -> CheckPage:
    """Return the documentation of a check; raises :class:`UnknownNameError` if there is no such code.

    A check without a page is documented by its docstring. Codes may be written in small letters, and the digits alone
    where one check has them.
    """
    from importlib.resources import files

    components = registry()
    name = code if components.claims("checks", code) else code.upper()
    if code.isdecimal():
        numbered = [other for other in components.spellings("checks") if other.lstrip(ascii_letters) == code]
        name = numbered[0] if len(numbered) == 1 else name
    if not components.claims("checks", name):
        raise UnknownNameError(COMPONENTS["checks"], code, components.spellings("checks"), lister="list checks")
    entry = components.entry("checks", name)
    check = entry.load()
    stored = files("zslplat.checks").joinpath("pages", f"{entry.name}.md")
    stored_page = (
        stored.read_text(encoding="utf-8") if entry.plugin.distribution == "zslplat" and stored.is_file() else ""
    )
    page = (
        stored_page or inspect.cleandoc(check.page) or f"# {entry.name}: {check.title}\n\n{inspect.getdoc(check) or ''}"
    )
    return CheckPage(entry.name, check.title, check.scope, page.strip() + "\n", entry.plugin.distribution)


def findings_of(record: Mapping[str, Any]) -> list[Finding]:
    """Return all findings of a record, none silenced.

    ``record``: what a study noted at its end (``finished``), or a single evaluation.
    """
    return [Finding.from_json(one) for one in record.get("findings", ())]


def warning_facts(entries: Iterable[Mapping[str, Any]], of: str = "") -> list[RecordedWarning]:
    """Return the warnings of entries as facts for checks; ``of`` is the part of a study that they come from.

    A warning whose text names no registered check belongs to :data:`UNNAMED`.
    """
    registered = registry().entries["checks"]
    facts = []
    for entry in entries:
        text, code = split_code(entry["text"])
        if code not in registered:
            text, code = entry["text"], UNNAMED
        facts.append(RecordedWarning(text, code, of, tuple(entry["where"])))
    return facts


def warning_lines(entries: Iterable[Mapping[str, Any]], of: str = "") -> list[str]:
    """Return a line for each entry: ``ZSP212 best trial: all codes are empty (fold-1, fold-3)``."""
    return [f"{warned.code} {warned.line}" for warned in warning_facts(entries, of)]
