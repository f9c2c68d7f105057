"""From the options of a command or function to the experiment, the settings and the workers that they name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from zslplat.errors import UnknownNameError, UsageError, quoted
from zslplat.settings import Settings, resolve_settings
from zslplat.spec import Spec, format_value

if TYPE_CHECKING:
    from zslplat.evaluation.experiment import Experiment
    from zslplat.methods.base import Method
    from zslplat.pipelines.base import Pipeline


PRUNERS = ("median", "none")

# A method by its spec, as an estimator or the class of one, or as a pipeline.
MethodLike: TypeAlias = "str | Spec | Method | type[Method] | Pipeline | type[Pipeline]"


def settings_of(options: Mapping[str, Any]) -> Settings:
    """Return the places, the silenced checks and the tags that options name.

    Those that are not named come from environment and config files.
    Raises :class:`UnknownNameError` for a code in ``silence`` that no check has.
    """
    places = {name: options.get(name) for name in ("data_root", "store", "tracking_uri", "storage_url")}
    silence, tag = options.get("silence"), options.get("tag")
    settings = resolve_settings(
        {**places, "silence": silence or None, "tags": [tag] if isinstance(tag, str) else tag or None}
    )
    if silence:
        from zslplat.registry import COMPONENTS, names

        codes = names("checks")
        for code in settings.silenced:
            if code not in codes:
                raise UnknownNameError(COMPONENTS["checks"], code, codes, lister="list checks")
    return settings


@dataclass(frozen=True)
class Workforce:
    """How many processes work, where, and how much memory and time each may take."""

    workers: int
    cluster: str | None
    memory_bytes: int | None
    trial_timeout: float | None


def workforce_of(options: Mapping[str, Any], workers: int | None = None) -> Workforce:
    """Return who does the work; ``workers`` is their number where the options do not say it."""
    from zslplat.evaluation.workers.memory import memory_limit, worker_count

    count, cluster = options["workers"] or workers, options["cluster"]
    count = count if count and cluster else worker_count(count, options["memory"])
    return Workforce(count, cluster, memory_limit(options["memory"], count, cluster), options["trial_timeout"])


def combine_spec(spec: Spec, values: Mapping[str, Any], kernel: str | None, *, recorded: bool = False) -> Spec:
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


def experiment_of(
    method: MethodLike,
    dataset: Spec,
    task: str | Spec,
    options: Mapping[str, Any],
    ranges: Mapping[str, str] | None = None,
    *,
    recorded: bool = False,
) -> Experiment:
    """Return the experiment; with ``ranges``, even none, the method's space is searched, these in place of its own.

    ``recorded``: the method is that of a configuration, whose values the options may replace.
    """
    from zslplat.evaluation.components import searched_space
    from zslplat.evaluation.experiment import Experiment
    from zslplat.registry import component

    spec = combine_spec(spec_of(method), options["set"] or {}, options["kernel"], recorded=recorded)
    features, signatures = preprocessing_of(method, options["features"], options["signatures"])
    space = {}
    if ranges is not None:
        template = component("methods", spec.name).build(spec.parameters)
        space = searched_space(template, spec.parameters, ranges)
    protocol = parse_spec(task, "task")
    search = {}
    if metric := options.get("metric"):
        from zslplat.evaluation.components import build_component
        from zslplat.evaluation.criteria import search_entry
        from zslplat.registry import names

        built = build_component("tasks", protocol)
        try:
            search = search_entry(built, metric)
        except UnknownNameError as error:
            others = [name for name in names("tasks") if component("tasks", name).kind == built.kind]
            having = [name for name in others if error.name in build_component("tasks", Spec(name)).criteria()]
            hint = f"task {having[0]} has it: add --task {having[0]}" if having else ""
            raise UnknownNameError(error.kind, error.name, error.choices, hint, f"show {protocol.name}") from None
    return Experiment(spec, dataset, protocol, space, features, signatures, options["seed"], search=search)


def check_search(sampler: str | None, pruner: str) -> None:
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
    method = getattr(method, "method_class", method) if isinstance(method, type) else method
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
    defaults = owner.build({}).get_params(deep=False)
    values = {key: _plain(value) for key, value in built.get_params(deep=False).items()}
    return Spec(name, {key: value for key, value in values.items() if value != _plain(defaults[key])})


def preprocessing_of(method: MethodLike, features: str | None, signatures: str | None) -> tuple[str | None, str | None]:
    """Return the preprocessing of features and of signatures: as given, else what a pipeline has of its own."""
    if _is_pipeline(method):
        features = method.features if features is None else features
        signatures = method.signatures if signatures is None else signatures
    for name, steps in (("features", features), ("signatures", signatures)):
        if not isinstance(steps, str | None):
            raise UsageError(f"{name}={quoted(steps)}: expected steps as a text, such as 'center,l2'")
    return features, signatures


def parse_spec(value: str | Spec, name: str) -> Spec:
    """Return the spec of a text, or one as it is; raises :class:`UsageError` for anything else."""
    if isinstance(value, Spec):
        return value
    if not isinstance(value, str):
        raise UsageError(f"{name}={quoted(value)}: expected a name or name(key=value, ...), as a text")
    return Spec.parse(value)


def _is_pipeline(method: Any) -> TypeGuard[Pipeline]:
    from zslplat.methods.base import Method

    return not isinstance(method, Method | str | Spec | type) and hasattr(method, "method")


def range_texts(space: Mapping[str, Any] | None) -> dict[str, str]:
    """Return ranges as ``--space`` writes them, see :func:`range_text`."""
    if not isinstance(space, Mapping | None):
        raise UsageError(
            f"space={quoted(space)}: expected a dictionary of ranges, such as {{'alpha': (1e-3, 1, 'log')}}"
        )
    return {name: range_text(value) for name, value in (space or {}).items()}


def range_text(value: Any) -> str:
    """Return a range, a text already, (low, high), (low, high, "log") or a list of values, as ``--space`` writes it.

    Raises :class:`UsageError` for anything else.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        value = tuple(_plain(one) for one in value)
    elif hasattr(value, "tolist") and getattr(value, "ndim", 0) == 1:
        value = value.tolist()
    pair = isinstance(value, tuple) and len(value) > 1 and all(_is_number(one) for one in value[:2])
    if pair and (len(value) == 2 or isinstance(value[2], str)):
        flags = "".join(f":{flag}" for flag in value[2:])
        return f"{format_value(value[0])}..{format_value(value[1])}{flags}"
    if isinstance(value, Sequence) and len(value):
        return "|".join(format_value(_plain(one)) for one in value)
    if hasattr(value, "when"):  # a range of zslplat.api
        return str(value)
    raise UsageError(
        f"range {quoted(value)}: expected (low, high), (low, high, 'log'), a list of values, or a text such as "
        "'1e-3..1e3:log'"
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return value if value is None or isinstance(value, bool | int | float | str | list | tuple) else str(value)
