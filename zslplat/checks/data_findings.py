"""What the checks of data find in a data set: at import, at ``data info``, before and after the trials of a study."""

from __future__ import annotations

import dataclasses
import json
from contextlib import suppress
from pathlib import Path

from zslplat.checks.base import DataFacts, Finding, run_checks
from zslplat.checks.data_facts import data_facts, disagreements_of, facts_from_json
from zslplat.data.dataset import Dataset
from zslplat.keys import key_of

# Another way to read the facts of data is another number, under which they are read anew.
_DATA_FACTS = 4


def data_findings(dataset: Dataset, cache: Path | None = None) -> list[Finding]:
    """Return what the checks find in a data set, none silenced; the facts are kept in the folder ``cache``, if given.

    Rows that were not read yet are read once.
    """
    return run_checks("data", data_facts(dataset) if cache is None else known_data_facts(dataset, cache))


def known_data_facts(dataset: Dataset, cache: Path) -> DataFacts:
    """Return the facts of a data set, from the cache where they were read before, under whatever name that was."""
    path = cache / f"data-facts-{key_of(dataset.fingerprint, _DATA_FACTS)}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        facts = facts_from_json(json.loads(path.read_text()))
        return dataclasses.replace(facts, subject=dataset.name, disagreements=disagreements_of(dataset))
    facts = data_facts(dataset)
    with suppress(OSError):  # nothing is lost: whoever asks next reads them again
        path.write_text(json.dumps(dataclasses.asdict(facts)))
    return facts
