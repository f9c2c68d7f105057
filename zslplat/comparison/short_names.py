"""Short names of entries: of the parameters that a method was given, those in which the shown entries differ.

A short name is again a name that commands take (:mod:`zslplat.comparison.naming`): a parameter that it leaves out may
have any value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zslplat.comparison.paired import Scored
from zslplat.comparison.recorded import Recorded
from zslplat.errors import UsageError
from zslplat.spec import Spec, format_value

LONG = 30  # a spec of at most so many characters that stands alone is shown as it is


def short_names(entries: Sequence[Scored], groups: Sequence[Recorded]) -> tuple[list[str], dict[str, str]]:
    """Return a short name per entry, all different, and {method: the parameters that its names leave out}."""
    specs = [_parsed(entry.method) for entry in entries]
    names, left_out = [], {}
    for spec in specs:
        alike = [other for other in specs if other.name == spec.name]
        same = {k: v for k, v in spec.parameters.items() if len({_text(other, k) for other in alike}) == 1}
        if len({str(other) for other in alike}) == 1 and len(str(spec)) <= LONG:
            same = {}
        if same:
            left_out[spec.name] = ", ".join(f"{key}={format_value(same[key])}" for key in sorted(same))
        names.append(str(Spec(spec.name, {k: v for k, v in spec.parameters.items() if k not in same})))
    return [_told_apart(i, names, groups) for i in range(len(names))], left_out


def _told_apart(place: int, names: Sequence[str], groups: Sequence[Recorded]) -> str:
    """Return a name with what tells it from its equals: what was asked beside parameters; of last resort the study."""
    name, own = names[place], groups[place]
    twins = [group for group, other in zip(groups, names, strict=True) if other == name]
    if len(twins) == 1:
        return name
    known = {key: {twin.particulars[key] for twin in twins} for key in own.particulars}
    words = [own.particulars[key] for key, values in known.items() if len(values) > 1]
    same = sum(twin.particulars == own.particulars for twin in twins)
    told = "; ".join(words) if same == 1 and all(len(word) <= LONG for word in words) else own.name
    return f"{name} [{told}]"


def _parsed(method: str) -> Spec:
    try:
        return Spec.parse(method)
    except UsageError:
        return Spec(method)


def _text(spec: Spec, key: str) -> str | None:
    parameters: Mapping[str, object] = spec.parameters
    return format_value(parameters[key]) if key in parameters else None
