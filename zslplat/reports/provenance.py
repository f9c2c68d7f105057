"""What numbers were made with: versions, code, seeds, and the commands that make them again."""

from __future__ import annotations

import shlex
from bisect import insort
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import Any

from zslplat.evaluation.components import NOTHING
from zslplat.evaluation.experiment import TEST
from zslplat.evidence.results import Result
from zslplat.keys import METRIC
from zslplat.reports.blocks import Block, Cell, Column, Commands, Paragraph, TableBlock
from zslplat.tuning.options import BATCH_SIZE, PRUNER, SAMPLER, TRIALS

# What of a study's experiment is an option of ``tune``, where it is not the default.
_OPTIONS = {"features": "--features", "signatures": "--signatures", METRIC: "--metric"}
_DEFAULTS = {"sampler": SAMPLER, "pruner": PRUNER, "batch_size": BATCH_SIZE}


def provenance_blocks(entry: Result, store_options: str = "") -> Iterator[Block]:
    """Yield the experiment, the software and the code of an entry, and commands that repeat and check it.

    ``store_options``: the options that lead to the store, each after a blank.
    """
    rows: list[tuple[str, str]] = [("method", entry.method), ("data set", entry.dataset), ("task", entry.task)]
    rows += [("seed", str(entry.identity.get("seed", "")))]
    if entry.selected_by:
        rows.append(("selected by", entry.selected_by))
    if entry.warm_start:
        rows.append(("begins at the best trials of", str(entry.warm_start["from"])))
    if entry.about.get("preprocessing"):
        rows.append(("preprocessing", str(entry.about["preprocessing"])))
    rows.append(("data", str(entry.identity.get("data", "")) or "not recorded"))
    rows += [(f"{name} of the data", str(value)) for name, value in _profile(entry).items()]
    packages = dict(entry.environment.get("packages", {}))
    if packages:
        rows.append(("packages", ", ".join(f"{name} {version}" for name, version in packages.items())))
    plugins = dict(entry.environment.get("plugins", {}))
    if plugins:
        rows.append(("plugins", ", ".join(f"{name} {version}" for name, version in plugins.items())))
    for name in ("python", "platform", "processor", "cores"):
        if name in entry.environment:
            rows.append((name, str(entry.environment[name])))
    git = entry.environment.get("git") or {}
    if git.get("commit"):
        rows.append(("commit", str(git["commit"]) + (" with changes" if git.get("dirty") else "")))
    code = entry.tested[0].record.get("code", {}) if entry.tested else {}
    rows += [(f"code of {role}", str(text)) for role, text in code.items() if role not in packages]
    rows += [(f"run, repeat {i}" if len(entry.runs) > 1 else "run", run) for i, run in enumerate(entry.runs)]
    columns = [Column("what"), Column("value")]
    yield TableBlock("What it was made with", columns, [[Cell(name), Cell(value)] for name, value in rows])
    yield Commands("Do it again", [command + store_options for command in commands_of(entry)])
    if entry.warm_start and (entry.source is None or _trials_begun_at(entry) is None):
        gone = "is not in the store any more" if entry.source is None else "has other best trials now"
        yield Paragraph(
            f"The study at which it began ({entry.warm_start['from']}) {gone}: in another store these commands cannot "
            "give the same again.",
            "note",
        )


def commands_of(entry: Result) -> list[str]:
    """Return the commands that make an entry, evaluate its winner again and check its numbers."""
    outside = [one.record["outside"] for one in entry.tested if "outside" in one.record]
    if outside:
        return _score_commands(entry, outside)
    lines = [*_source_commands(entry), tune_command(entry)] if entry.is_study else []
    if entry.config is not None:
        lines.append(f"zslplat run --test --config {shlex.quote(str(entry.config))}")
    elif not entry.is_study:
        lines.append(_run_command(entry))
    return lines + [f"zslplat rerun {run} --check" for run in entry.runs[:1]]


def _source_commands(entry: Result) -> list[str]:
    """Return the commands of the studies at whose best trials a study began, the first of all first."""
    if entry.source is None:
        return []
    return [*_source_commands(entry.source), tune_command(entry.source, _trials_begun_at(entry))]


def _trials_begun_at(entry: Result) -> int | None:
    """Return how many trials its source had when a study began at the best of them; None where it never had these."""
    if entry.source is None or entry.warm_start is None:
        return None
    begun = {int(trial["trial"]) for trial in entry.warm_start["trials"]}
    count = int(str(entry.warm_start["from"]).rpartition(":")[2])
    primary = entry.source.primary
    sign = 1 if primary is not None and not primary.maximise else -1
    best: list[tuple[float, int]] = []
    count_then = None
    for number, record in enumerate(entry.source.trials):
        if record["state"] == "complete" and record["value"] is not None:
            insort(best, (sign * float(record["value"]), number))
            del best[count:]
        count_then = number + 1 if begun <= {place for _, place in best} else count_then
    return count_then


def tune_command(entry: Result, trials: int | None = None) -> str:
    """Return the ``tune`` command of a study: every option that is not the default.

    ``trials``: how many there are to be, by default as many as there are. One that has not come to its end gets the
    default number, as the requested one is not recorded.
    """
    identity, words = entry.identity, ["zslplat", "tune", *_common(entry)]
    for name, text in _searched_ranges(entry).items():
        words += ["--space", f"{name}={text}"]
    count = len(entry.trials)
    if trials or entry.finished is not None or (count > TRIALS and identity.get("sampler") != "grid"):
        words += ["--trials", str(trials or count)]
    if entry.warm_start:
        words += ["--warm-start", str(entry.warm_start["from"])]
    for name, usual in _DEFAULTS.items():
        if identity.get(name, usual) != usual:
            words += [f"--{name.replace('_', '-')}", str(identity[name])]
    words += ["--repeats", str(len(entry.tested))] if entry.tested else []
    return shlex.join([*words, "--study", entry.name])


def _searched_ranges(entry: Result) -> dict[str, str]:
    """Return the ranges of a study that are not its method's own, as an option takes them."""
    ranges = dict(entry.identity.get("space", {}))
    names = entry.about.get("own_ranges", ranges)
    options = {}
    for name, text in ranges.items():
        if name not in names:
            continue
        text = text.partition(" if ")[0]
        options[name] = f"{text.removeprefix('int ')}:int" if text.startswith("int ") else text
    return options


def _run_command(entry: Result) -> str:
    words = ["zslplat", "run", *_common(entry), *(["--test"] if entry.split == TEST else [])]
    words += ["--repeats", str(len(entry.tested))] if len(entry.tested) > 1 else []
    return shlex.join(words)


def _score_commands(entry: Result, outside: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the commands that take scores made elsewhere, with the names that their files had.

    What said the order of rows and classes says it again: a file, or a split that is exported again. Scores whose order
    was said otherwise than that of those before them have a command of their own.
    """
    dataset, task, seed = entry.dataset, entry.task, entry.identity.get("seed", 0)
    of = ["--dataset", dataset, "--task", task, *(["--seed", str(seed)] if seed else [])]
    exported = any(one.get("labels_exported") for one in outside)
    commands: list[list[str]] = []
    for order, members in groupby(entry.tested, key=lambda one: _order(one.record)):
        tested, (rows, classes, manifest) = list(members), order
        first = tested[0].record
        words = ["zslplat", "score", "--name", str(outside[0]["name"]), *of]
        words += [] if entry.split == TEST else ["--split", entry.split]
        words += ["--repeat", str(first["repeat"])] if commands else []
        files = [("--scores", file) for one in tested for file in _files(one.record)]
        validated = [] if commands else entry.validated
        files += [("--validation", file) for one in validated for file in _files(one.record)]
        words += chain.from_iterable(files)
        words += ["--rows", rows] if rows else []
        words += ["--classes", classes] if classes else []
        words += ["--knows", str(first["knows"])] if first.get("knows") not in (None, NOTHING) else []
        described = first.get("outside", outside[0]).get("description")
        words += ["--description", str(described)] if described else []
        words += ["--seconds", str(first["seconds"])] if "seconds" in first else []
        needs = exported or manifest or any(_order(one.record)[2] for one in validated)
        commands.append([*words, *(["--manifest", "split"] if needs else [])])
    export = ["zslplat", "export-split", "--to", "split", *of, *(["--with-labels"] if exported else [])]
    needed = [export] if any("--manifest" in words for words in commands) else []
    return [shlex.join(words) for words in (*needed, *commands)]


def _order(record: Mapping[str, Any]) -> tuple[str, str, bool]:
    """Return the files that gave the order of rows and classes of scores, and whether a manifest did."""
    sources = record["outside"]["order"]
    return str(sources.get("rows", "")), str(sources.get("classes", "")), bool(sources["manifest"])


def _files(record: Mapping[str, Any]) -> list[str]:
    """Return the names of the files of scores of an evaluation; a file that held all folds once."""
    names, folds = list(record["outside"]["files"]), [str(fold["name"]) for fold in record["folds"]]
    if len(names) == len(folds):
        names = [name.removesuffix(f", {fold}") for name, fold in zip(names, folds, strict=True)]
    return list(dict.fromkeys(names))


def _common(entry: Result) -> Sequence[str]:
    dataset, task = entry.dataset, entry.task
    words = ["--method", entry.method, "--dataset", dataset, "--task", task]
    for name, option in _OPTIONS.items():
        if entry.identity.get(name) is not None:
            words += [option, str(entry.identity[name])]
    seed = entry.identity.get("seed", 0)
    return [*words, "--seed", str(seed)] if seed else words


def _profile(entry: Result) -> Mapping[str, object]:
    profile = dict(entry.about.get("data", {}).get("profile", {}))
    return {name: value for name, value in profile.items() if name in ("rows", "classes", "splits", "shape")}
