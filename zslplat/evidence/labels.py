"""Short names of results, of rows of suites and of data sets, as tables and charts show them.

A short name has those parameters of the method in which the shown results differ. It is again a name
that commands take (:mod:`zslplat.evidence.matching`): a parameter that it leaves out may have any value. A name that
stands for results on several data sets is made distinct by what was requested, never by a study, which is of one.

Scores that were made elsewhere have the name that the user gave. The digest that their method holds beside it is
another one on every data set, and stands there only where a data set has several results of the name.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence

from zslplat.data.catalogue import title_of
from zslplat.data.class_draws import draw_in_words, draw_of
from zslplat.data.formats.in_memory import NAME as IN_MEMORY
from zslplat.errors import UsageError
from zslplat.evidence.results import Result, ResultGroup
from zslplat.spec import Spec, format_value

LONG = 36  # a name of more characters is cut, and stands in full beside the table
ALONE = 30  # a spec of at most so many characters that has none beside it is shown as it is
_DIGEST = "scores"
_SEVERAL = "other scores on each data set; their digests stand under method in the rows of .csv and .json"


def short_names(results: Sequence[Result]) -> tuple[list[str], dict[str, str]]:
    """Return a short name per result, and {method or name: the parameters that it leaves out}.

    Names differ on a data set; the same experiment has the same name on all of them.
    """
    methods = _without_digests(results)
    requests = [(method, *_particulars(result)) for method, result in zip(methods, results, strict=True)]
    counts = Counter((result.dataset, request) for result, request in zip(results, requests, strict=True))
    identities: list[Hashable] = [
        request if counts[result.dataset, request] == 1 else (request, result.name)
        for result, request in zip(results, requests, strict=True)
    ]
    first = {identity: place for place, identity in reversed(list(enumerate(identities)))}
    places = sorted(first.values())
    datasets: dict[Hashable, set[str]] = {}
    for identity, result in zip(identities, results, strict=True):
        datasets.setdefault(identity, set()).add(result.dataset)
    tags = [results[i].tag if len(datasets[identities[i]]) == 1 else results[i].digest for i in places]
    names, left_out = _names([methods[i] for i in places], [results[i] for i in places], tags)
    by_identity = {identities[place]: name for place, name in zip(places, names, strict=True)}
    short = [by_identity[identity] for identity in identities]
    return short, left_out | _digests(short, methods, results)


def _digests(short: Sequence[str], methods: Sequence[str], results: Sequence[Result]) -> dict[str, str]:
    """Return the digest that each short name leaves out, and a note for those names that have several."""
    by_name: dict[str, list[str]] = {}
    for name, method, result in zip(short, methods, results, strict=True):
        if method != result.method:
            by_name.setdefault(name, []).append(str(_parsed(result.method).parameters[_DIGEST]))
    several = ", ".join(name for name, digests in by_name.items() if len(digests) > 1)
    single = {name: f"{_DIGEST}={digests[0]}" for name, digests in by_name.items() if len(digests) == 1}
    return ({several: _SEVERAL} if several else {}) | single


def _without_digests(results: Sequence[Result]) -> list[str]:
    """Return the method of each result; of scores made elsewhere the name alone, where its data set has one result."""
    names = [_parsed(result.method).name if _is_outside(result) else result.method for result in results]
    requests = [(result.dataset, name, *_particulars(result)) for result, name in zip(results, names, strict=True)]
    counts = Counter(requests)
    return [
        name if counts[request] == 1 else result.method
        for result, name, request in zip(results, names, requests, strict=True)
    ]


def _is_outside(result: Result) -> bool:
    return "outside" in result.tested[0].record and _DIGEST in _parsed(result.method).parameters


def _particulars(result: Result) -> list[str]:
    """Return what was requested beside the method, whichever data set it is of."""
    return [text for key, text in result.particulars.items() if key != "data"]


def _names(methods: Sequence[str], results: Sequence[Result], tags: Sequence[str]) -> tuple[list[str], dict[str, str]]:
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
    names = list(short)
    for place, (name, spec) in enumerate(zip(short, specs, strict=True)):
        words = _distinguishing_words(place, short, results) if counts[name] > 1 else []
        if words and all(len(word) <= ALONE for word in words):
            names[place] = f"{name} [{'; '.join(words)}]"
        elif counts[name] > 1:
            names[place] = f"{name} [{tags[place]}]"
            if tags[place] == results[place].digest:
                left_out[names[place]] = "; ".join(words)
        if len(names[place]) > LONG and spec.parameters:  # of a name alone nothing can be left out
            whole = names[place].removeprefix(spec.name)
            names[place] = f"{spec.name} [{tags[place]}]"
            left_out[names[place]] = whole
    return names, left_out


def _distinguishing_words(place: int, names: Sequence[str], results: Sequence[Result]) -> list[str]:
    """Return what was requested beside parameters that makes a name distinct; nothing where nothing does."""
    result = results[place]
    twins = [twin for twin, name in zip(results, names, strict=True) if name == names[place]]
    # Data sets differ in their data, whatever was requested.
    keys = [key for key in result.particulars if key != "data" or len({twin.dataset for twin in twins}) == 1]
    differing = [key for key in keys if len({twin.particulars[key] for twin in twins}) > 1]
    same = sum(all(twin.particulars[key] == result.particulars[key] for key in differing) for twin in twins)
    return [result.particulars[key] for key in differing] if same == 1 else []


def _parsed(method: str) -> Spec:
    try:
        return Spec.parse(method)
    except UsageError:
        return Spec(method)


def parameter_text(spec: Spec, key: str) -> str | None:
    """Return the value of a parameter as specs write it, None where the spec lacks it."""
    parameters: Mapping[str, object] = spec.parameters
    return format_value(parameters[key]) if key in parameters else None


def dataset_titles(datasets: Iterable[str]) -> dict[str, str]:
    """Return {data set: its title}: its name, with the options in which those of one name differ.

    Draws of the classes of birds are ``birds #3``, ``birds #3 of 5 class folds``, and of all draws of a scheme together
    ``birds, draws of classes`` and ``birds, 5 class folds``. No two have one title; a data set whose title would be
    another's, too, has its whole spec.
    """
    names = list(dict.fromkeys(datasets))
    source = {name: draw_of(name) or name for name in names}
    short = _shortest(list(dict.fromkeys(source.values())))
    titles = {name: short[of] if of == name else f"{short[of]}{draw_in_words(name)}" for name, of in source.items()}
    for title, count in Counter(titles.values()).items():
        alike = [name for name in names if titles[name] == title] if count > 1 else []
        for number, name in enumerate(alike, start=1):
            in_memory = Spec.parse(name).name == IN_MEMORY  # no key tells its reader anything
            titles[name] = f"{title} ({number})" if in_memory else name
    return titles


def _shortest(datasets: list[str]) -> dict[str, str]:
    specs = {dataset: Spec.parse(dataset) for dataset in datasets}

    def differs(name: str, key: str) -> bool:
        return len({parameter_text(spec, key) for spec in specs.values() if spec.name == name}) > 1

    return {
        dataset: str(Spec(spec.name, {k: v for k, v in spec.parameters.items() if differs(spec.name, k)}))
        if title_of(spec) == spec.name
        else title_of(spec)
        for dataset, spec in specs.items()
    }


def suite_row_names(groups: Sequence[ResultGroup], short: Sequence[str]) -> tuple[dict[int, str], dict[str, str]]:
    """Return {place: name of its suite's row} of the groups that are one row by several experiments, and notes by name.

    A suite may fix parameters for a data set (``fixed = { epochs = 10 }``), and scores other tasks with the winner
    for the first: one of its rows is then other experiments on other data sets, and by its experiment alone it would
    have a score on some data sets and for some tasks only.

    ``short`` are the names of the groups as experiments. A row has its name where it stands for several of them, each
    on data sets of its own, and where it is called like its method: where it has two on one data set, nothing says
    which of them is the row.
    """
    places: dict[tuple[str, str], list[int]] = {}
    for place, group in enumerate(groups):
        for key in sorted(group.suite_rows):
            places.setdefault(key, []).append(place)
    rows = {
        key: of_row
        for key, of_row in places.items()
        if (len({short[i] for i in of_row}) > 1 or _is_method(key[1], [short[i] for i in of_row]))
        and len({groups[i].shown.dataset for i in of_row}) == len(of_row)
    }
    titles = dataset_titles(group.shown.dataset for group in groups)
    names: dict[int, str] = {}
    notes: dict[str, str] = {}
    for (suite, row), of_row in rows.items():
        if names.keys() & set(of_row):
            continue  # rows of two suites share an experiment: the first one has it
        others = {name for place, name in enumerate(short) if place not in of_row} | {*names.values()}
        name = row if row not in others else _of_suite(row, suite)
        names |= dict.fromkeys(of_row, name)
        experiments = dict.fromkeys(f"{short[place]} on {titles[groups[place].shown.dataset]}" for place in of_row)
        notes[name] = f"row of suite {suite}: {', '.join(experiments)}"
    return names, notes


def row_names(keys: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Return what rows of suites, each with its suite, can be called."""
    return frozenset(name for suite, row in keys for name in (row, _of_suite(row, suite)))


def _of_suite(row: str, suite: str) -> str:
    return f"{row} [{suite}]"


def _is_method(row: str, short: Sequence[str]) -> bool:
    """Tell whether a row is called like the method of its experiments, of which short names show parameters."""
    return any(name != row for name in short) and all(name.partition("(")[0] == row for name in short)


def quoted_in_list(name: str) -> str:
    """Return a name as a list with commas has it: in quotes where it could be read as two."""
    return json.dumps(name, ensure_ascii=False) if {",", '"'} & set(name) else name
