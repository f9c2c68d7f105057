"""What records hold of findings: those of a study's end, of a single run, of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zslplat.checks.base import UNNAMED, Finding


def recorded_findings(record: Mapping[str, Any], subject: str = "") -> list[Finding]:
    """Return all findings of a record, none silenced.

    ``record``: what a study noted at its end (``finished``), or a single evaluation. Older ones hold lines without
    codes (``warnings`` or ``lines``), which are findings of :data:`~zslplat.checks.base.UNNAMED` about ``subject``.
    """
    if "findings" in record:
        return [Finding.from_json(one) for one in record["findings"]]
    lines = record.get("lines", record.get("warnings", []))
    return [Finding(UNNAMED, line, subject, f"zslplat explain {UNNAMED}") for line in lines if isinstance(line, str)]


def findings_tags(record: Mapping[str, Any]) -> dict[str, str]:
    """Return MLflow's tags of a record's findings: ``zslplat.findings`` are their codes, and each code has its texts.

    ``zslplat.findings`` is empty where nothing was found, so that a study that goes on leaves old codes behind.
    """
    found = recorded_findings(record)
    texts: dict[str, list[str]] = {}
    for finding in found:
        texts.setdefault(finding.code, []).append(finding.text)
    tags = {f"zslplat.finding.{code}": "; ".join(lines) for code, lines in sorted(texts.items())}
    return {"zslplat.findings": ", ".join(sorted(texts)), **tags}
