"""MLflow's runs for whoever only reads them: nothing is made that is not there, and what fails is one clear line."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from zslplat.errors import StoreError, UsageError
from zslplat.settings import Settings
from zslplat.tracking.projection import check_sqlite

_TABLE = "experiments"


@contextmanager
def reading(settings: Settings, what: str = "the runs") -> Iterator[Any]:
    """Give MLflow's client; errors inside become :class:`StoreError`, which says that ``what`` cannot be read.

    Raises :class:`StoreError` for a file of sqlite that is not there (the client would make it), or holds no runs.
    """
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    import sqlalchemy as sa
    from alembic.util import CommandError
    from mlflow.exceptions import MlflowException
    from mlflow.tracking import MlflowClient

    # What fails is shown as one line; the libraries would print their own account of it before.
    for name in ("mlflow", "sqlalchemy.pool", "alembic"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    uri = settings.tracking_uri
    try:
        _require_runs(settings)
        yield MlflowClient(tracking_uri=uri)
    except (MlflowException, sa.exc.SQLAlchemyError, CommandError, OSError) as error:
        text = " ".join(str(error).split())[:300]
        raise StoreError(f"{what} in {uri} cannot be read: {text}") from error


def _require_runs(settings: Settings) -> None:
    import sqlalchemy as sa

    if not settings.tracking_uri.startswith("sqlite"):
        return
    try:
        database = sa.engine.make_url(settings.tracking_uri).database
    except (sa.exc.SQLAlchemyError, ValueError):
        raise UsageError(
            f"tracking URI {settings.tracking_uri!r} cannot be read; write sqlite:////folder/mlflow.db or http://host"
        ) from None
    path = Path(database or "").absolute()
    place = settings.store if settings.tracking_is_local else path
    if not path.is_file():
        raise StoreError(f"no runs in {place}; give --store or --tracking-uri, or tune something first")
    if _TABLE not in check_sqlite(path):
        raise StoreError(f"{path} is no database of MLflow's; give --store or --tracking-uri of one that is")
