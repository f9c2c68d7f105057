"""What numbers were made with: versions, code, seeds, and the commands that make them again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from zslplat.evaluation.components import NOTHING
from zslplat.evaluation.experiment import TEST
from zslplat.evidence.results import Result
from zslplat.keys import METRIC
from zslplat.reports.blocks import Block, Cell, Column, Commands, TableBlock
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


def commands_of(entry: Result) -> list[str]:
    """Return the commands that make an entry, evaluate its winner again and check its numbers."""
    if any("outside" in one.record for one in entry.tested):
        return [_score_command(entry)]
    lines = [tune_command(entry)] if entry.is_study else []
    if entry.config is not None:
        lines.append(f"zslplat run --test --config {shlex.quote(str(entry.config))}")
    elif not entry.is_study:
        lines.append(_run_command(entry))
    return lines + [f"zslplat rerun {run} --check" for run in entry.runs[:1]]


def tune_command(entry: Result) -> str:
    """Return the ``tune`` command of a study: every option that is not the default.

    One that has not come to its end gets the default number of trials, as the requested one is not recorded.
    """
    identity, words = entry.identity, ["zslplat", "tune", *_common(entry)]
    for name, text in _searched_ranges(entry).items():
        words += ["--space", f"{name}={text}"]
    count = len(entry.trials)
    if entry.finished is not None or (count > TRIALS and identity.get("sampler") != "grid"):
        words += ["--trials", str(count)]
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


def _score_command(entry: Result) -> str:
    """Return the command that takes scores made elsewhere, with the names that their files had.

    Rows and classes are in the order of the split that ``export-split`` writes, unless files say another.
    """
    first, seed = entry.tested[0].record, entry.identity.get("seed", 0)
    words = ["zslplat", "score", "--name", str(first["outside"]["name"]), "--dataset", entry.dataset]
    words += ["--task", entry.task, *(["--seed", str(seed)] if seed else [])]
    words += [] if entry.split == TEST else ["--split", entry.split]
    for option, evaluations in (("--scores", entry.tested), ("--validation", entry.validated)):
        for name in dict.fromkeys(name for one in evaluations for name in one.record["outside"]["files"]):
            words += [option, str(name)]
    return shlex.join([*words, *(["--knows", str(first["knows"])] if first.get("knows", NOTHING) != NOTHING else [])])


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
