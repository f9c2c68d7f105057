"""Findings and warnings as records have them: read back, as facts of checks, as lines and as tags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from zslplat.checks.base import UNNAMED, Finding
from zslplat.checks.facts import RecordedWarning
from zslplat.errors import split_code
from zslplat.registry import registry


def findings_of(record: Mapping[str, Any]) -> list[Finding]:
    """Return all findings of a record, none silenced.

    ``record``: what a study noted at its end (``finished``), or a single evaluation.
    """
    return [Finding.from_json(one) for one in record.get("findings", ())]


def findings_tags(record: Mapping[str, Any]) -> dict[str, str]:
    """Return MLflow's tags of a record's findings: ``zslplat.findings`` lists the codes, and each code has its texts.

    ``zslplat.findings`` is empty where nothing was found, so that a study that goes on replaces its old codes.
    """
    findings = findings_of(record)
    texts: dict[str, list[str]] = {}
    for finding in findings:
        texts.setdefault(finding.code, []).append(finding.text)
    tags = {f"zslplat.finding.{code}": "; ".join(lines) for code, lines in sorted(texts.items())}
    return {"zslplat.findings": ", ".join(sorted(texts)), **tags}


def warning_facts(entries: Iterable[Mapping[str, Any]], of: str = "") -> list[RecordedWarning]:
    """Return the warnings of entries as facts for checks; ``of`` is the part of a study that they come from.

    A warning whose text names no registered check belongs to :data:`~zslplat.checks.base.UNNAMED`.
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


def warnings_tag(lines: Sequence[str]) -> dict[str, str]:
    """Return the MLflow tag that shows warnings; none if there are none."""
    return {"zslplat.warnings": "; ".join(lines)} if lines else {}
