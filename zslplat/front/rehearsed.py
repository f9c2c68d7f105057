"""What a study would do, and about how long it takes, as ``zslplat tune --dry-run`` tells it."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from zslplat.front.results import Summary
from zslplat.tuning.rehearsal import Rehearsal, space_lines
from zslplat.wording import counted


@dataclass(frozen=True, repr=False)
class Rehearsed:
    """What a study would do: ``result`` holds all that the command prints as JSON; nothing was recorded."""

    result: Rehearsal

    @property
    def seconds(self) -> float | None:
        """About how long the rest of the study takes; None where the trial that was timed failed."""
        return self.result.seconds

    def to_dict(self) -> dict[str, object]:
        """Return all of it, as JSON holds it."""
        return asdict(self.result)

    def __repr__(self) -> str:
        return self._summary().text()

    def _repr_html_(self) -> str:
        return self._summary().html()

    def _summary(self) -> Summary:
        found = self.result
        least = "at least " if found.at_least else "about "
        workers = counted(found.workers, "worker")
        return Summary(
            f"{found.method} on {found.dataset}, task {found.task}: study {found.study}, not begun",
            [],
            [
                f"data: {found.data}; validation: {len(found.folds)} folds; metric: {found.primary}",
                *(f"searched: {line}" for line in space_lines(found.searched, found.defaults)),
                f"trials: {found.trials}, {found.recorded} recorded; test repeats: {found.tests}",
                f"the trial that was timed failed: {found.reason}" if found.reason else "",
                "" if found.seconds is None else f"takes {least}{found.seconds:.0f} s with {workers}",
            ],
        )
