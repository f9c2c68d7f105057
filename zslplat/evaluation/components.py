"""Components by their specs: built, checked, and asked what they search and what they know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from zslplat import registry
from zslplat.data.catalogue import open_source
from zslplat.data.dataset import Dataset
from zslplat.data.preprocessing import parse_steps
from zslplat.data.source import DataPlaces, DataSource
from zslplat.errors import DataError, UnknownNameError, UsageError, ZslplatError
from zslplat.evaluation.declared import declared
from zslplat.methods.knowledge import FROM_MEMORY, KNOWN, UNSEEN_SIGNATURES
from zslplat.settings import Settings
from zslplat.space import ANY, Space, check_value, parse_range
from zslplat.spec import Spec

if TYPE_CHECKING:
    # A method brings scikit-learn with it, and whoever reads records calls none.
    from zslplat.methods.base import Method

NOTHING = "nothing"  # what an inductive method knows of the batch that it scores


def build_component(kind: str, spec: Spec) -> Any:
    """Make a component from its spec; raises :class:`UsageError` for unknown options and illegal values."""
    component = registry.component(kind, spec.name)
    for name, value in spec.parameters.items():
        if name not in component.parameters:
            raise UnknownNameError(f"option of {registry.KINDS[kind]} {spec.name}", name, component.parameters)
        check_value(spec.name, name, value, component.parameters)
    return component(**spec.parameters)


def source_of(spec: Spec, settings: Settings) -> DataSource:
    """Return the source of a data set by its spec: a registered name, or a folder or file under the data root."""
    return open_source(spec, places_of(settings), registered_sources())


def places_of(settings: Settings) -> DataPlaces:
    """Return where data sets lie: the data root, the cache, and what was given as arrays."""
    return DataPlaces(settings.data_root, settings.cache / "data", settings.given)


def open_dataset(spec: Spec, settings: Settings) -> Dataset:
    """Load a data set by its spec; raises :class:`DataError` where that fails."""
    source = source_of(spec, settings)
    try:
        return source.load(places_of(settings))
    except (ZslplatError, MemoryError):
        raise
    except Exception as error:
        # A loader's own error says little to somebody who did not write the loader.
        text = " ".join(str(error).split())
        raise DataError(f"data set {spec} cannot be loaded: {type(error).__name__}: {text}") from error


def registered_sources() -> Mapping[str, Callable[[], Any]]:
    """Return the registered data sets, each imported when it is called for."""
    return registry.ByName("datasets")


def searched_space(template: Method, fixed: Mapping[str, Any], ranges: Mapping[str, str]) -> Space:
    """Combine a method's own space with ranges given on the command line; fixed parameters are not searched.

    A parameter fixed to ``any`` is one that its method searches for that very reason (``kernel=any``).
    """
    space = {name: dimension for name, dimension in template.space.items() if fixed.get(name, ANY) == ANY}
    known = template.domains
    for name, text in ranges.items():
        if name not in known and name not in template.space:
            raise UnknownNameError(f"parameter of {registry.known_as(type(template))}", name, {*known, *template.space})
        legal = known[name].legal if name in known else None
        if name in fixed:
            raise UsageError(f"{name} is both fixed and searched; give it either a value or a range")
        space[name] = parse_range(text, legal)
    return space


def knowledge(method: Spec, signatures: str | None = None) -> str:
    """Return in words what a method with these parameters knows of the batch that it scores (``knows_of_batch``).

    ``signatures``: preprocessing steps in place of the method's own, which may tell it of unseen classes, or no longer.
    """
    built: Method = registry.component("methods", method.name).build(method.parameters)
    known = set(built.knows_of_batch)
    if signatures is not None:
        told = built.told_of_unseen(parse_steps(signatures))
        known = known | {UNSEEN_SIGNATURES} if told else known - {UNSEEN_SIGNATURES}
    # What a plugin adds in words of its own comes last.
    ordered = sorted(known, key=lambda kind: (KNOWN.index(kind) if kind in KNOWN else len(KNOWN), kind))
    return ", ".join(ordered) or NOTHING


def is_from_memory(method: Spec) -> bool:
    """Return whether a method says of itself that it was written down without its source at hand."""
    return FROM_MEMORY in declared("methods", method.name, "tags")


def defaults_of(template: Method, space: Space) -> dict[str, Any]:
    """Return the default values of the searched parameters that have one."""
    values = template.defaults
    return {
        name: values[name]
        for name in space
        if name in values and (values[name] is None or isinstance(values[name], int | float | str | bool | np.number))
    }
