"""Optuna's storage over an engine that is there already: only who writes studies, or opens one, needs it."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import sqlalchemy as sa

from zslplat.records.servers import engine_options

# What Optuna keeps studies in; where some are missing, it makes them.
_TABLES = frozenset(
    (
        *("studies", "study_directions", "study_user_attributes", "trials", "trial_user_attributes", "trial_params"),
        *("trial_values", "trial_intermediate_values", "version_info", "alembic_version"),
    )
)


def form_of_tables(engine: sa.Engine) -> str | None:
    """Return which form Optuna's tables have, by the name that its migrations give it; None where some are missing."""
    if not set(sa.inspect(engine).get_table_names()) >= _TABLES:
        return None
    with engine.connect() as connection:
        return str(connection.execute(sa.text("select version_num from alembic_version")).scalar())


def optuna_storage(engine: sa.Engine) -> Any:
    """Return Optuna's storage, which makes its tables where there are none; its imports take half a second."""
    import optuna
    from optuna.storages import RDBStorage

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    url = engine.url.render_as_string(hide_password=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        storage = RDBStorage(url, engine_kwargs=engine_options(url), skip_compatibility_check=True)
        if storage.get_current_version() != _newest_form():
            RDBStorage(url, engine_kwargs=engine_options(url))  # whose check says what is wrong
    # One engine for all, so that closing it closes everything.
    storage.scoped_session.remove()
    storage.engine.dispose()
    storage.engine = engine
    storage.scoped_session.configure(bind=engine)
    return storage


@cache
def _newest_form() -> str:
    """Return the form of the tables that the installed Optuna writes; it reads all its migrations to tell."""
    from optuna.storages import RDBStorage

    return RDBStorage("sqlite:///:memory:", skip_compatibility_check=True).get_head_version()
