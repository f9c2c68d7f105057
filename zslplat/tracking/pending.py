"""Single runs that MLflow does not show yet: kept as files until a later command can show them.

Studies and sweeps are shown again from their records whenever their command is given; a single run has no command that
comes back to it, so what it would have shown lies beside its artifacts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from zslplat.errors import StoreError
from zslplat.records.locks import file_lock
from zslplat.settings import Settings
from zslplat.tracking.projection import Projection, RunView

_SUFFIX = ".pending.json"
LOCK = "show.lock"


def keep(folder: Path, experiment: str, owner: str, view: RunView) -> None:
    """Write down a view that is about to be shown."""
    content = asdict(view) | {"artifacts": str(view.artifacts) if view.artifacts else None}
    text = json.dumps({"experiment": experiment, "owner": owner, "view": content})
    (folder / f"{view.key}{_SUFFIX}").write_text(text)


def done(folder: Path, view: RunView) -> None:
    """Forget a view that is shown."""
    (folder / f"{view.key}{_SUFFIX}").unlink(missing_ok=True)


def catch_up(settings: Settings, warn: Callable[[str], None]) -> int:
    """Show what earlier runs could not; runs that another process shows just now are left to it. Return how many."""
    shown = 0
    for folder in sorted({path.parent for path in settings.studies.glob(f"run-*/*{_SUFFIX}")}):
        # Busy: whoever holds the lock is showing these.
        with suppress(StoreError), file_lock(folder / LOCK, wait_seconds=0):
            for path in sorted(folder.glob(f"*{_SUFFIX}")):
                content = json.loads(path.read_text())
                fields = content["view"]
                view = RunView(**fields | {"artifacts": Path(fields["artifacts"]) if fields["artifacts"] else None})
                projection = Projection(settings, content["experiment"], content["owner"], warn)
                if not projection.is_shown(view.key):
                    projection.show(view)
                projection.close()
                if projection.away:
                    return shown
                done(folder, view)
                shown += 1
    return shown
