"""Components by their specs: built and checked, with what they search, know and declare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from zslplat import registry
from zslplat.data.catalogue import open_source
from zslplat.data.dataset import Dataset
from zslplat.data.source import DataPlaces, DataSource
from zslplat.data.store.preprocessing import parse_steps
from zslplat.errors import DataError, UnknownNameError, UsageError, ZslplatError
from zslplat.kinds import KNOWN, UNSEEN_SIGNATURES
from zslplat.settings import Settings
from zslplat.space import ANY, Space, check_value, parse_range
from zslplat.spec import Spec

if TYPE_CHECKING:
    # Methods import scikit-learn, which reading records does not need.
    from zslplat.methods.base import Method

NOTHING = "nothing"  # what an inductive method knows of the batch that it scores


def build_component(kind: str, spec: Spec) -> Any:
    """Build a component from its spec; raises :class:`UsageError` for unknown options and illegal values."""
    component = registry.component(kind, spec.name)
    for name, value in spec.parameters.items():
        if name not in component.parameters:
            raise UnknownNameError(f"option of {registry.COMPONENTS[kind]} {spec.name}", name, component.parameters)
        check_value(spec.name, name, value, component.parameters)
    return component(**spec.parameters)


def source_of(spec: Spec, settings: Settings) -> DataSource:
    """Return the source of a data set by its spec: a registered name, or a folder or file under the data root."""
    return open_source(spec, places_of(settings), registered_sources())


def places_of(settings: Settings) -> DataPlaces:
    """Return where data sets are stored: the data root, the cache, and data that were passed as arrays."""
    return DataPlaces(settings.data_root, settings.cache / "data", settings.arrays)


def open_dataset(spec: Spec, settings: Settings) -> Dataset:
    """Load a data set by its spec; raises :class:`DataError` where that fails."""
    source = source_of(spec, settings)
    try:
        return source.load(places_of(settings))
    except (ZslplatError, MemoryError):
        raise
    except Exception as error:
        # A loader's error says little to users who did not write the loader.
        text = " ".join(str(error).split())
        raise DataError(f"data set {spec} cannot be loaded: {type(error).__name__}: {text}") from error


def registered_sources() -> Mapping[str, Callable[[], Any]]:
    """Return the registered data sets; each is imported when it is used."""
    return registry.ByName("datasets")


def searched_space(template: Method, fixed: Mapping[str, Any], ranges: Mapping[str, str]) -> Space:
    """Combine a method's space with the ranges that were requested; fixed parameters are not searched.

    A parameter fixed to ``any`` is searched by its method for that very reason (``kernel=any``).
    """
    space = {name: dimension for name, dimension in template.space.items() if fixed.get(name, ANY) == ANY}
    domains = template.domains
    for name, text in ranges.items():
        if name not in domains and name not in template.space:
            raise UnknownNameError(
                f"parameter of {registry.known_as(type(template))}", name, {*domains, *template.space}
            )
        legal = domains[name].legal if name in domains else None
        if name in fixed:
            raise UsageError(f"{name} is both fixed and searched; give it either a value or a range")
        space[name] = parse_range(text, legal)
    return space


def describe_knowledge(method: Spec, signatures: str | None = None) -> str:
    """Return in words what a method with these parameters knows of the batch that it scores (``knows_of_batch``).

    ``signatures``: preprocessing steps in place of the method's own; they may reveal unseen classes to it, or hide
    them.
    """
    method_object: Method = registry.component("methods", method.name).build(method.parameters)
    kinds = set(method_object.knows_of_batch)
    if signatures is not None:
        informed = method_object.uses_unseen_signatures(parse_steps(signatures))
        kinds = kinds | {UNSEEN_SIGNATURES} if informed else kinds - {UNSEEN_SIGNATURES}
    # Words that a plugin adds come last.
    ordered = sorted(kinds, key=lambda kind: (KNOWN.index(kind) if kind in KNOWN else len(KNOWN), kind))
    return ", ".join(ordered) or NOTHING


def defaults_of(template: Method, space: Space) -> dict[str, Any]:
    """Return the default values of the searched parameters that have one."""
    values = template.defaults
    return {
        name: values[name]
        for name in space
        if name in values and (values[name] is None or isinstance(values[name], int | float | str | bool | np.number))
    }
