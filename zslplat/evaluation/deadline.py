"""When the search of a study ends, and what is foreseen before: that no trial will be complete by then.

What has to be done before the first trial is complete (statistics, then the trial) comes in pieces. So many are done,
and no more than one for each worker is at work, so that a bound is known before the first piece ends: with pieces
that take equally long, all of them take at least as long as the work so far, times all pieces, over those that are
done or at work.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

# Starting workers is no measure of anything.
_TOO_EARLY_SECONDS = 2.0


class Deadline:
    """The end of a search that may take ``seconds`` from now, by default as long as it likes.

    ``warn`` is told what is foreseen: by the bound, and better once a piece is done. ``awaited``: whether no trial is
    complete yet.
    """

    def __init__(
        self,
        seconds: float = math.inf,
        warn: Callable[[str], None] = lambda text: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        # Its own time is what counts, not the wall clock, which may be set meanwhile.
        self.seconds, self.warn, self.clock = seconds, warn, clock
        self.began = clock()
        self.awaited, self._warned = True, set[bool]()
        self.begin("", 0, 1)

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return max(0.0, self.began + self.seconds - self.clock())

    def begin(self, what: str, pieces: float, at_once: float) -> None:
        """Begin a work of so many pieces, of which so many may be at work at once."""
        self._what, self._pieces, self._at_once, self._done = what, pieces, at_once, 0.0
        self._start = self.clock()

    def moved(self, done: float) -> None:
        """Take how many pieces of the work are done, at the least."""
        self._done = max(self._done, done)

    def look(self) -> None:
        """Warn where no trial will be complete in time: once before a piece is done, and once after."""
        measured = self._done > 0
        if self.awaited and measured not in self._warned and self.needed > self.seconds:
            self._warned |= {False, measured}
            if measured:
                self.warn(f"{self.foreseen}; what is prepared is kept, and the same command goes on from there")
            else:
                self.warn(
                    f"{self._what} takes longer than --timeout {self.seconds:g} s: after {_words(self._worked)} none "
                    f"of its {self._pieces:g} parts is done; give much more, or none"
                )

    @property
    def needed(self) -> float:
        """The seconds from the beginning that this work takes at least; 0 where that is not known."""
        if self._worked < _TOO_EARLY_SECONDS or not self._pieces:
            return 0.0
        share = min(1.0, (self._done + self._at_once) / self._pieces)
        return self._start - self.began + self._worked / share if share else 0.0

    @property
    def _worked(self) -> float:
        return self.clock() - self._start

    @property
    def foreseen(self) -> str:
        """What is known of the time that the first complete trial takes, in words."""
        needed, text = self.needed, f"no trial is complete within --timeout {self.seconds:g} s"
        if not needed:
            return f"{text}; give more, or none"
        return (
            f"{text}: {self._what} takes until {_words(needed)} after the beginning, or longer; give --timeout "
            f"{_rounded(1.5 * needed)} or more, or none"
        )


def _words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _rounded(seconds: float) -> int:
    """Return a number of seconds as people write them."""
    unit = 10 if seconds < 300 else 60 if seconds < 3600 else 600
    return int(-(-seconds // unit) * unit)
