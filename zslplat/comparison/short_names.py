"""Short names of entries: of the parameters that a method was given, those in which the shown entries differ.

A name that stands for several data sets is told from its like by what was asked, never by a study, which is of one.

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

    Names differ on a data set; the same experiment has the same name on all of them.
    """
    methods = _without_digests(groups)
    asked = [(method, *_particulars(group)) for method, group in zip(methods, groups, strict=True)]
    alike = Counter((group.dataset, own) for group, own in zip(groups, asked, strict=True))
    identities: list[Hashable] = [
        own if alike[group.dataset, own] == 1 else (own, group.name) for group, own in zip(groups, asked, strict=True)
    ]
    first = {identity: place for place, identity in reversed(list(enumerate(identities)))}
    places = sorted(first.values())
    datasets: dict[Hashable, set[str]] = {}
    for identity, group in zip(identities, groups, strict=True):
        datasets.setdefault(identity, set()).add(group.dataset)
    tags = [groups[i].tag if len(datasets[identities[i]]) == 1 else groups[i].digest for i in places]
    found, left_out = _names([methods[i] for i in places], [groups[i] for i in places], tags)
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


def _names(methods: Sequence[str], groups: Sequence[Recorded], tags: Sequence[str]) -> tuple[list[str], dict[str, str]]:
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
    told = list(short)
    for place, (name, spec) in enumerate(zip(short, specs, strict=True)):
        words = _words_apart(place, short, groups) if counts[name] > 1 else []
        if words and all(len(word) <= ALONE for word in words):
            told[place] = f"{name} [{'; '.join(words)}]"
        elif counts[name] > 1:
            told[place] = f"{name} [{tags[place]}]"
            if tags[place] == groups[place].digest:
                left_out[told[place]] = "; ".join(words)
        if len(told[place]) > LONG and spec.parameters:  # of a name alone nothing can be left out
            whole = told[place].removeprefix(spec.name)
            told[place] = f"{spec.name} [{tags[place]}]"
            left_out[told[place]] = whole
    return told, left_out


def _words_apart(place: int, names: Sequence[str], groups: Sequence[Recorded]) -> list[str]:
    """Return what was asked beside parameters that tells a name from its equals; nothing where nothing does."""
    own = groups[place]
    twins = [group for group, other in zip(groups, names, strict=True) if other == names[place]]
    # Data sets differ in their data, whatever was asked.
    keys = [key for key in own.particulars if key != "data" or len({twin.dataset for twin in twins}) == 1]
    differing = [key for key in keys if len({twin.particulars[key] for twin in twins}) > 1]
    same = sum(all(twin.particulars[key] == own.particulars[key] for key in differing) for twin in twins)
    return [own.particulars[key] for key in differing] if same == 1 else []


def _parsed(method: str) -> Spec:
    try:
        return Spec.parse(method)
    except UsageError:
        return Spec(method)


def parameter_text(spec: Spec, key: str) -> str | None:
    """Return the value of a parameter as specs write it, None where it is not given."""
    parameters: Mapping[str, object] = spec.parameters
    return format_value(parameters[key]) if key in parameters else None
