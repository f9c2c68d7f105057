"""From what a command or a function is given to the experiment that it asks for: one way for both, with one default.

Everything here is light until it is called, as commands name these defaults before they have anything to do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from zslplat.errors import UnknownNameError, UsageError, quoted
from zslplat.settings import Settings, resolve_settings
from zslplat.spec import Spec, format_value

if TYPE_CHECKING:
    from zslplat.evaluation.experiment import Experiment
    from zslplat.methods.base import Method
    from zslplat.pipelines.base import Pipeline


DEFAULT_DATASET, DEFAULT_TASK = "digit-pairs", "zsl"
PRUNERS = ("median", "none")
# The least that the options of commands take; those of the first are whole numbers.
_WHOLE = {
    **dict.fromkeys(("trials", "patience", "batch_size", "workers", "repeats", "abreast"), 1),
    **{"seed": 0, "splits": 2, "points": 2},
}
_REAL = {"timeout": 1, "trial_timeout": 0.1, "memory": 0.1, "trial_artifacts": 0, "probe": 0}

# Tags by name, or as texts KEY=VALUE.
Tags: TypeAlias = "Mapping[str, str] | Sequence[str]"
# A method by its spec, as an estimator or the class of one, or as a pipeline.
MethodLike: TypeAlias = "str | Spec | Method | type[Method] | Pipeline"


def places(
    data_root: str | Path | None = None,
    store: str | Path | None = None,
    tracking_uri: str | None = None,
    storage_url: str | None = None,
    silence: Sequence[str] | None = None,
    tag: Tags | None = None,
) -> Settings:
    """Resolve the places, the silenced checks and the tags of what will be recorded.

    What is not given comes from environment and config files.
    Raises :class:`UnknownNameError` for a code in ``silence`` that no check has.
    """
    given = {"data_root": data_root, "store": store, "tracking_uri": tracking_uri, "storage_url": storage_url}
    settings = resolve_settings(
        {**given, "silence": silence or None, "tags": [tag] if isinstance(tag, str) else tag or None}
    )
    if silence:
        from zslplat.registry import KINDS, names

        known = names("checks")
        for code in settings.silenced:
            if code not in known:
                raise UnknownNameError(KINDS["checks"], code, known)
    return settings


def combined(spec: Spec, values: Mapping[str, Any], kernel: str | None, *, recorded: bool = False) -> Spec:
    """Combine the spec of a method, further values and a kernel into one spec of plain values.

    Raises :class:`UsageError` for a value that is given twice. ``recorded``: the method is that of a configuration,
    whose values may be replaced.
    """
    if not isinstance(values, Mapping):
        raise UsageError(f"set={quoted(values)}: expected a dictionary of hyperparameters, such as {{'alpha': 0.1}}")
    extra = {name: value if isinstance(value, Spec) else _plain(value) for name, value in values.items()}
    if kernel is not None:
        if "kernel" in extra or ("kernel" in spec.parameters and not recorded):
            raise UsageError("the kernel is given twice; use --kernel or --set kernel=..., not both")
        extra["kernel"] = kernel
    twice = sorted(set(extra) & set(spec.parameters))
    if twice and not recorded:
        raise UsageError(f"{twice[0]} is given twice, in --method {spec} and with --set; leave one out")
    all_values = {**spec.parameters, **extra}
    return Spec(spec.name, {k: str(v) if isinstance(v, Spec) else v for k, v in all_values.items()})


def asked(
    method: Spec,
    dataset: Spec,
    task: Spec,
    features: str | None,
    signatures: str | None,
    seed: int,
    ranges: Mapping[str, str] | None = None,
) -> Experiment:
    """Return the experiment; with ``ranges``, even none, the method's space is searched, these in place of its own."""
    from zslplat.evaluation.components import searched_space
    from zslplat.evaluation.experiment import Experiment
    from zslplat.registry import component

    space = {}
    if ranges is not None:
        template = component("methods", method.name).build(method.parameters)
        space = searched_space(template, method.parameters, ranges)
    return Experiment(method, dataset, task, space, features, signatures, seed)


def check_search(sampler: str, pruner: str) -> None:
    """Raise :class:`UnknownNameError` for a sampler or pruner that is not there, :class:`UsageError` for a sampler
    whose package is not.
    """
    from zslplat.tuning.samplers import require_sampler

    require_sampler(sampler)
    if pruner not in PRUNERS:
        raise UnknownNameError("pruner", pruner, PRUNERS)


def spec_of(method: MethodLike) -> Spec:
    """Return the spec of a method: given as one, as an estimator or its class, or as a pipeline.

    Of an estimator the spec holds the values that are not its class's defaults. Raises :class:`UsageError` for a class
    that no plugin registers: workers build methods by their names.
    """
    from zslplat.methods.base import Method
    from zslplat.registry import registered_name

    if isinstance(method, Spec):
        return method
    if isinstance(method, str):
        return Spec.parse(method)
    built = method.method if _is_pipeline(method) else method
    owner = built if isinstance(built, type) else type(built)
    if not issubclass(owner, Method):
        raise UsageError(
            f"method={quoted(method)}: expected a spec such as 'eszsl(alpha=.01)', an estimator or its class"
        )
    name = registered_name(owner, "methods")
    if name is None:
        raise UsageError(
            f"{owner.__name__} is no registered method, and workers build methods by their names; register it in a "
            "package: zslplat plugins new method NAME writes one"
        )
    if isinstance(built, type):
        return Spec(name)
    usual = owner.build({}).get_params(deep=False)
    given = {key: _plain(value) for key, value in built.get_params(deep=False).items()}
    return Spec(name, {key: value for key, value in given.items() if value != _plain(usual[key])})


def steps_of(method: MethodLike, features: str | None, signatures: str | None) -> tuple[str | None, str | None]:
    """Return the preprocessing of features and of signatures: as given, else what a pipeline has of its own."""
    if _is_pipeline(method):
        features = method.features if features is None else features
        signatures = method.signatures if signatures is None else signatures
    for what, steps in (("features", features), ("signatures", signatures)):
        if not isinstance(steps, str | None):
            raise UsageError(f"{what}={quoted(steps)}: expected steps as a text, such as 'center,l2'")
    return features, signatures


def parsed(given: str | Spec, what: str) -> Spec:
    """Return a spec that is given as one, or as a text; raises :class:`UsageError` for anything else."""
    if isinstance(given, Spec):
        return given
    if not isinstance(given, str):
        raise UsageError(f"{what}={quoted(given)}: expected a name or name(key=value, ...), as a text")
    return Spec.parse(given)


def option_numbers(**given: Any) -> dict[str, Any]:
    """Return numbers by the names of their options, those of NumPy as Python's.

    Raises :class:`UsageError` for what is no such number, or below the least that the option takes.
    """
    return {name: None if value is None else _option_number(name, value) for name, value in given.items()}


def _option_number(name: str, given: Any) -> int | float:
    value, whole = _plain(given), name in _WHOLE
    least = {**_WHOLE, **_REAL}[name]
    if not _is_number(value) or not math.isfinite(value) or (whole and value != int(value)) or value < least:
        raise UsageError(f"{name}={quoted(given)}: expected a {'whole ' * whole}number, at least {least}")
    return int(value) if whole else value


def _is_pipeline(method: Any) -> TypeGuard[Pipeline]:
    from zslplat.methods.base import Method

    return not isinstance(method, Method | str | Spec | type) and hasattr(method, "method")


def range_texts(space: Mapping[str, Any] | None) -> dict[str, str]:
    """Return ranges as ``--space`` writes them, see :func:`range_text`."""
    if not isinstance(space, Mapping | None):
        raise UsageError(
            f"space={quoted(space)}: expected a dictionary of ranges, such as {{'alpha': (1e-3, 1, 'log')}}"
        )
    return {name: range_text(given) for name, given in (space or {}).items()}


def range_text(given: Any) -> str:
    """Return a range, a text already, (low, high), (low, high, "log") or a list of values, as ``--space`` writes it.

    Raises :class:`UsageError` for anything else.
    """
    if isinstance(given, str):
        return given
    if isinstance(given, tuple):
        given = tuple(_plain(value) for value in given)
    elif hasattr(given, "tolist") and getattr(given, "ndim", 0) == 1:
        given = given.tolist()
    pair = isinstance(given, tuple) and len(given) > 1 and all(_is_number(value) for value in given[:2])
    if pair and (len(given) == 2 or isinstance(given[2], str)):
        flags = "".join(f":{flag}" for flag in given[2:])
        return f"{format_value(given[0])}..{format_value(given[1])}{flags}"
    if isinstance(given, Sequence) and len(given):
        return "|".join(format_value(_plain(value)) for value in given)
    found = str(given)
    if hasattr(given, "when"):  # a range of zslplat.api
        return found
    raise UsageError(
        f"range {quoted(given)}: expected (low, high), (low, high, 'log'), a list of values, or a text such as "
        "'1e-3..1e3:log'"
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return value if value is None or isinstance(value, bool | int | float | str | list | tuple) else str(value)
