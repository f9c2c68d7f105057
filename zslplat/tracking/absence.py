"""A tracking server that is away: since when, when to look for it again, and for how long to wait at the end."""

from __future__ import annotations

import time

from zslplat.settings import Settings

_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 60.0
_POLL_SECONDS = 1.0
_ANSWER_SECONDS = 3.0


class Absence:
    """Whether the tracking server is away just now; looking for it costs little, and is done ever more seldom."""

    def __init__(self, settings: Settings) -> None:
        self.address, self.seconds = settings.tracking_uri, settings.outage_seconds
        self.lasts = False
        self._known = False  # that it answered this command
        self._began, self._looks_at, self._pause = 0.0, 0.0, _FIRST_PAUSE

    def begins(self) -> bool:
        """Note that the server did not answer; returns whether that is news."""
        news, now = not self.lasts, time.monotonic()
        if news:
            self.lasts, self._began, self._pause = True, now, _FIRST_PAUSE
        self._looks_at = now + self._pause
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        return news

    def answered(self) -> None:
        """Note that the server has answered."""
        self._known, self.lasts = True, False

    def is_over(self, *, wait: bool) -> bool:
        """Look whether the server is there again, where it is time to; see :meth:`Projection.returned`."""
        while self.lasts:
            now = time.monotonic()
            waits = wait and self._known and now < self._began + self.seconds
            if waits or now >= self._looks_at:
                if self._is_there():
                    return True
                self.begins()
            if not waits:
                return False
            time.sleep(_POLL_SECONDS)
        return False

    def _is_there(self) -> bool:
        """Tell whether anything answers at the address; MLflow's own clients may try for minutes."""
        if self.address.startswith("http"):
            import requests

            try:
                with requests.get(self.address, timeout=_ANSWER_SECONDS, stream=True) as answer:  # whatever it sends
                    return answer.status_code < 500
            except requests.RequestException as error:
                # Whom to trust is the affair of MLflow's client.
                return isinstance(error, requests.exceptions.SSLError)
        import sqlalchemy as sa

        from zslplat.records.engines import tables_of

        try:
            tables_of(self.address)
        except sa.exc.ArgumentError:
            return True  # no database: only MLflow's client knows how to ask
        except (sa.exc.SQLAlchemyError, OSError):
            return False
        return True
