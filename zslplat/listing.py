"""What is registered, as tables of pandas: ``zslplat.methods()``, ``kernels()`` and ``tasks()``."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from zslplat.registry import registry

if TYPE_CHECKING:
    import pandas as pd


def methods() -> pd.DataFrame:
    """Return a row per method by name: kind, summary, what it knows of the scored batch, tags, estimator, paper.

    >>> methods().loc["eszsl", ["kind", "estimator"]].tolist()
    ['zero-shot', 'ESZSL']
    """
    return _table("methods", ("kind", "summary", "knows", "tags", "estimator", "paper"))


def kernels() -> pd.DataFrame:
    """Return a row per kernel by name: summary, whether it is positive semidefinite, paper."""
    return _table("kernels", ("summary", "psd", "paper"))


def tasks() -> pd.DataFrame:
    """Return a row per task by name: the kind of methods that it takes, summary, its own metric, paper."""
    return _table("tasks", ("kind", "summary", "metric", "paper"))


class ListingPackage(ModuleType):
    """A package of components that lists what is registered of them when it is called, ``zslplat.kernels()``."""

    def __call__(self) -> pd.DataFrame:
        table: pd.DataFrame = {"methods": methods, "kernels": kernels, "tasks": tasks}[self.__name__.split(".")[-1]]()
        return table


def _table(kind: str, columns: tuple[str, ...]) -> pd.DataFrame:
    import pandas as pd

    names = registry().names(kind)
    return pd.DataFrame([_row(kind, name) for name in names], index=pd.Index(names, name="name"), columns=columns)


def _row(kind: str, name: str) -> dict[str, Any]:
    try:
        facts = facts_of(kind, registry().component(kind, name))
        return {**facts, "tags": ", ".join(facts["tags"])}
    except Exception as error:  # another package's class may fail in any way, and the others are listed all the same
        return {"summary": f"does not load: {error}"}


def facts_of(kind: str, component: Any) -> dict[str, Any]:
    """Return what a list says of a component class; ``kind``: ``methods``, ``kernels``, ``datasets`` or ``tasks``."""
    facts = {key: getattr(component, key) for key in ("kind", "psd") if hasattr(component, key)}
    facts |= {"summary": component.summary, "paper": component.citation, "tags": list(getattr(component, "tags", ()))}
    if kind == "methods":
        knows = ", ".join(component.build({}).knows_of_batch) or "nothing"
        facts |= {"knows": knows, "estimator": component.__name__}
    if kind == "tasks":
        facts["metric"] = component.primary.name
    return facts
