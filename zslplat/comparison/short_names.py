"""Short names of entries: of the parameters that a method was given, those in which the shown entries differ.

A short name is again a name that commands take (:mod:`zslplat.comparison.naming`): a parameter that it leaves out may
have any value.

Scores that were made elsewhere are called by the name that they were given. The digest that their method holds beside
it is another one on every data set, and stands there only where a data set has several entries of the name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

from zslplat.comparison.recorded import Recorded
from zslplat.errors import UsageError
from zslplat.spec import Spec, format_value

LONG = 36  # a name of more characters is cut, and stands in full beside the table
ALONE = 30  # a spec of at most so many characters that has none beside it is shown as it is
_DIGEST = "scores"
_SEVERAL = "other scores on each data set; their digests stand under method in the rows of .csv, .parquet and .json"


def short_names(groups: Sequence[Recorded]) -> tuple[list[str], dict[str, str]]:
    """Return a short name per group, and {method or name: the parameters that it leaves out}.

    Names differ on a data set; the same setting has the same name on all of them.
    """
    methods = _without_digests(groups)
    asked = [(method, *_particulars(group)) for method, group in zip(methods, groups, strict=True)]
    alike = Counter((group.dataset, own) for group, own in zip(groups, asked, strict=True))
    identities: list[Hashable] = [
        own if alike[group.dataset, own] == 1 else (own, group.name) for group, own in zip(groups, asked, strict=True)
    ]
    first = {identity: place for place, identity in reversed(list(enumerate(identities)))}
    places = sorted(first.values())
    found, left_out = _names([methods[i] for i in places], [groups[i] for i in places])
    by_identity = {identities[place]: name for place, name in zip(places, found, strict=True)}
    short = [by_identity[identity] for identity in identities]
    return short, left_out | _digests(short, methods, groups)


def _digests(short: Sequence[str], methods: Sequence[str], groups: Sequence[Recorded]) -> dict[str, str]:
    """Return what is said of the digests that short names leave out: one itself, several where they are."""
    found: dict[str, list[str]] = {}
    for name, own, group in zip(short, methods, groups, strict=True):
        if own != group.method:
            found.setdefault(name, []).append(str(_parsed(group.method).parameters[_DIGEST]))
    several = ", ".join(name for name, digests in found.items() if len(digests) > 1)
    told = {name: f"{_DIGEST}={digests[0]}" for name, digests in found.items() if len(digests) == 1}
    return ({several: _SEVERAL} if several else {}) | told


def _without_digests(groups: Sequence[Recorded]) -> list[str]:
    """Return the method of each group; of scores made elsewhere the name alone, where its data set has one entry."""
    names = [_parsed(group.method).name if _is_outside(group) else group.method for group in groups]
    asked = [(group.dataset, name, *_particulars(group)) for group, name in zip(groups, names, strict=True)]
    alike = Counter(asked)
    return [name if alike[own] == 1 else group.method for group, name, own in zip(groups, names, asked, strict=True)]


def _is_outside(group: Recorded) -> bool:
    return "outside" in group.tested[0] and _DIGEST in _parsed(group.method).parameters


def _particulars(group: Recorded) -> list[str]:
    """Return what a group was asked for beside its method, whichever data set it is of."""
    return [text for key, text in group.particulars.items() if key != "data"]


def _names(methods: Sequence[str], groups: Sequence[Recorded]) -> tuple[list[str], dict[str, str]]:
    specs = [_parsed(method) for method in methods]
    values: dict[tuple[str, str], set[str | None]] = {}
    for key in {(spec.name, name) for spec in specs for name in spec.parameters}:
        values[key] = {parameter_text(spec, key[1]) for spec in specs if spec.name == key[0]}
    differing = {(spec.name, str(spec)) for spec in specs}
    short: list[str] = []
    left_out: dict[str, str] = {}
    for spec in specs:
        same = {k: v for k, v in spec.parameters.items() if len(values[spec.name, k]) == 1}
        if sum(name == spec.name for name, _ in differing) == 1 and len(str(spec)) <= ALONE:
            same = {}
        if same:
            left_out[f"{spec.name}, everywhere"] = ", ".join(f"{k}={format_value(same[k])}" for k in sorted(same))
        short.append(str(Spec(spec.name, {k: v for k, v in spec.parameters.items() if k not in same})))
    counts = Counter(short)
    told = [n if counts[n] == 1 else _told_apart(place, short, groups) for place, n in enumerate(short)]
    for place, (name, spec) in enumerate(zip(told, specs, strict=True)):
        if len(name) > LONG and spec.parameters:  # of a name alone nothing can be left out
            told[place] = f"{spec.name} [{groups[place].tag}]"
            left_out[told[place]] = name.removeprefix(spec.name)
    return told, left_out


def _told_apart(place: int, names: Sequence[str], groups: Sequence[Recorded]) -> str:
    """Return a name with what tells it from its equals: what was asked beside parameters; of last resort the study."""
    name, own = names[place], groups[place]
    twins = [group for group, other in zip(groups, names, strict=True) if other == name]
    known = {key: {twin.particulars[key] for twin in twins} for key in own.particulars}
    words = [own.particulars[key] for key, values in known.items() if len(values) > 1]
    same = sum(twin.particulars == own.particulars for twin in twins)
    told = "; ".join(words) if same == 1 and all(len(word) <= ALONE for word in words) else own.tag
    return f"{name} [{told}]"


def _parsed(method: str) -> Spec:
    try:
        return Spec.parse(method)
    except UsageError:
        return Spec(method)


def parameter_text(spec: Spec, key: str) -> str | None:
    """Return the value of a parameter as specs write it, None where it is not given."""
    parameters: Mapping[str, object] = spec.parameters
    return format_value(parameters[key]) if key in parameters else None
