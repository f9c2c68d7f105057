"""MLflow's runs for whoever only reads them: nothing is made that is not there, and what fails is one clear line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from zslplat.errors import StoreError, UsageError
from zslplat.records.opening import tables_of_file
from zslplat.settings import Settings
from zslplat.tracking.projection import quiet_mlflow

_TABLE = "experiments"


@contextmanager
def reading(settings: Settings, what: str = "the runs") -> Iterator[Any]:
    """Give MLflow's client; errors inside become :class:`StoreError`, which says that ``what`` cannot be read.

    Raises :class:`StoreError` for a file of sqlite that is not there (the client would make it), or holds no runs.
    """
    quiet_mlflow(settings)
    import sqlalchemy as sa
    from alembic.util import CommandError
    from mlflow.exceptions import MlflowException
    from mlflow.tracking import MlflowClient

    try:
        _require_runs(settings)
        yield MlflowClient(tracking_uri=settings.tracking_uri)
    except (MlflowException, sa.exc.SQLAlchemyError, CommandError, OSError) as error:
        text = settings.masked(" ".join(str(error).split()))[:300]
        raise StoreError(f"{what} in {settings.shown_tracking_uri} cannot be read: {text}") from error


def _require_runs(settings: Settings) -> None:
    import sqlalchemy as sa

    if not settings.tracking_uri.startswith("sqlite"):
        return
    try:
        database = sa.engine.make_url(settings.tracking_uri).database
    except (sa.exc.SQLAlchemyError, ValueError):
        raise UsageError(
            f"tracking URI {settings.shown_tracking_uri!r} cannot be read; write sqlite:////folder/mlflow.db or http://host"
        ) from None
    path = Path(database or "").absolute()
    place = settings.store if settings.tracking_is_local else path
    if not path.is_file():
        raise StoreError(f"no runs in {place}; give --store or --tracking-uri, or tune something first")
    if _TABLE not in tables_of_file(path):
        raise StoreError(f"{path} is no database of MLflow's; give --store or --tracking-uri of one that is")
