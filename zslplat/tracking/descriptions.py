"""Descriptions of experiments and runs in Markdown: what was evaluated, on which data, what came out, how to repeat it.

The first line is a sentence of its own: MLflow shows no more of a description that is folded, and shows it as it is
written in lists.
"""

from __future__ import annotations

import colorsys
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from zslplat.evaluation.experiment import TEST, VALIDATION
from zslplat.spec import Spec
from zslplat.tuning.study_facts import chosen, short

Ends = tuple[float, float]
_MOST_POINTS = 60  # of a sweep, in its table
_OVER_ROWS = "95 % over draws of the test rows"


def result(value: float | None) -> str:
    """Return a result with three decimals and without the zero before the point, as tables of papers have it: ``.956``.

    Values of 10 and more have three digits; what is no number is ``none``.
    """
    if value is None or math.isnan(value):
        return "none"
    text = f"{value:.3f}" if abs(value) < 10 else f"{value:.3g}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def interval(ends: tuple[float, float] | None) -> str:
    """Return an interval in brackets with a blank before it, an empty text for none."""
    return f" [{result(ends[0])}, {result(ends[1])}]" if ends is not None else ""


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return a table in Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def commands(*lines: str) -> str:
    """Return commands as a block of Markdown."""
    return "\n".join(("```", *lines, "```"))


def shell_word(text: str) -> str:
    """Return a text as one word of a command; quoted where a shell would take it apart."""
    import shlex

    return shlex.quote(text)


def colour(method: str) -> str:
    """Return the colour of a method, the same in every store: a hue by its name, dark enough for a white page."""
    drawn = hashlib.sha256(f"zslplat{method}".encode()).digest()
    hue, lightness = int.from_bytes(drawn[:2], "big") / 65536, 0.2 + 0.13 * drawn[2] / 255
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in colorsys.hls_to_rgb(hue, lightness, 0.7))


def in_json(value: Any) -> str:
    """Return a value as JSON that is the same for equal values."""
    return json.dumps(value, sort_keys=True)


def experiment_note(facts: Mapping[str, Any]) -> str:
    """Return the description of an experiment; ``facts``: as :mod:`zslplat.tracking.experiment_page` gathers them."""
    datasets, tasks = list(facts["data"]), sorted(facts["tasks"])
    where = f"on {', '.join(datasets)}" if len(datasets) < 4 else f"on {len(datasets)} data sets"
    what = f"Suite {facts['suite']}: tasks" if facts["suite"] else "Task"
    primary = ", ".join(sorted(facts["primaries"]))
    lines = [f"{what} {', '.join(tasks)} {where}; primary metric {primary}.", ""]
    lines += [f"- {name}: {text}" for name, text in sorted(facts["data"].items())]
    lines += [
        "- The views of this page (menu at the upper right): **Results** are final evaluations on the test split, "
        "**Studies** the searches that they come from, **Trials** what was tried on the validation folds.",
        "- `val_` metrics are means over the validation folds, `test_` metrics are of the test split, `work/` is what "
        "it took; a hyperparameter stands behind the name of its method.",
        "",
        "Compare the methods, with intervals:",
        "",
        commands(*(f"zslplat compare --dataset {shell_word(d)} --task {shell_word(t)}" for d, t in facts["pairs"][:8])),
    ]
    return "\n".join(lines)


def data_in_words(about: Mapping[str, Any]) -> str:
    """Return the size of a data set, by what records keep of it."""
    profile = about["data"]["profile"]
    shape = " x ".join(str(n) for n in profile.get("shape", [])[1:])
    parts = [f"{profile[name]} {name}" for name in ("rows", "classes") if name in profile]
    return ", ".join([*parts[:1], *([f"{shape} features"] if shape else []), *parts[1:]])


def study_note(
    values: Mapping[str, Any],
    name: str,
    finished: Mapping[str, Any],
    winner: Mapping[str, Any],
    test: Sequence[Mapping[str, Any]],
    mean: float | None,
    ends: Ends | None,
) -> str:
    """Return the description of a study that has ended; ``mean`` and ``ends`` are of the tests' primary metric."""
    identity, about = values["identity"], values["about"]
    metric = about["primary"]["name"]
    count = f"{len(test)} repeats" if len(test) > 1 else "once"
    tested = f"- Refitted on all training rows and scored on the test split ({count})" if test else "- Not tested yet"
    lines = [
        f"{identity['method']} tuned on {identity['dataset']}, task {identity['task']}: test {metric} {result(mean)}"
        f"{interval(ends)}, validation {result(winner['metrics'].get(metric))}, {finished.get('trials', '?')} trials.",
        "",
        f"- Chosen: trial {finished['winner']}, {chosen(winner['parameters']) or 'nothing was searched'}.",
        tested + (f"; the interval is {_OVER_ROWS}." if ends is not None else "."),
        *_surroundings(values, finished.get("knows")),
        "",
    ]
    if identity["space"]:
        rows = [(k, str(text), short(winner["parameters"].get(k, ""))) for k, text in sorted(identity["space"].items())]
        lines += [table(("hyperparameter", "searched", "chosen"), rows), ""]
    config = f"zslplat run --test --config {shell_word(f'studies/{name}/best.toml')}"
    again = [f"zslplat rerun {record['run']} --check" for record in test[:1] if "run" in record]
    heading = "Repeat the test evaluation (the file lies in the store, and under Artifacts):"
    return "\n".join([*lines, heading, "", commands(*again, config)])


def running_note(values: Mapping[str, Any]) -> str:
    """Return the description of a study that has no result yet."""
    identity = values["identity"]
    line = f"{identity['method']} on {identity['dataset']}, task {identity['task']}: no result yet."
    more = "A study that was stopped goes on where the same `zslplat tune` is given again."
    return "\n".join([line, "", *_surroundings(values, None), "", more])


def evaluation_note(
    experiment: Mapping[str, Any],
    about: Mapping[str, Any],
    record: Mapping[str, Any],
    *,
    study: str = "",
    validation: float | None = None,
    ends: Ends | None = None,
) -> str:
    """Return the description of one evaluation, of a study's winner or of its own."""
    metric, split, spec = about["primary"]["name"], experiment["split"], Spec.parse(experiment["method"])
    of_winner = f", validation {result(validation)}" if validation is not None else ""
    lines = [
        f"{spec.name} on {experiment['dataset']}, task {experiment['task']}: {split} {metric} "
        f"{result(record['metrics'].get(metric))}{interval(ends)}{of_winner}.",
        "",
    ]
    if ends is not None:
        lines.append(f"- The interval is {_OVER_ROWS}.")
    if study:
        lines.append(f"- The winner of study `{study}`, trial {record['winner']}, repeat {record['repeat']}.")
    elif split == TEST:
        lines.append("- Evaluated as it was given, without a search.")
    lines.append(f"- Hyperparameters: {chosen(spec.parameters) or 'the defaults'}.")
    lines.append(f"- Data: {about['data']['name']}, {data_in_words(about)}; scored: {_scored(split, record)}.")
    lines.append(f"- Preprocessing: {about['preprocessing']}.")
    if "outside" in record:
        return "\n".join([*lines, "- Its scores were made elsewhere; `zslplat score` checked and scored them."])
    if "run" in record:
        lines += ["", "Evaluate it again and compare every number:", ""]
        lines.append(commands(f"zslplat rerun {record['run']} --check"))
    return "\n".join(lines)


def sweep_note(record: Mapping[str, Any]) -> str:
    """Return the description of a sweep, with a table of its curves."""
    experiment, about = record["experiment"], record["about"]
    metric, parameter = about["primary"]["name"], record["parameter"]
    option = parameter.removeprefix("task option ")
    methods = sorted({name.rpartition(" ")[0] for name in record["curves"]} - {""}) or [experiment["method"]]
    curves = record["curves"]
    rows = [
        (value, *(result(curve[i]) for curve in curves.values()))
        for i, value in enumerate(record["values"][:_MOST_POINTS])
    ]
    method_options = " ".join(f"--method {shell_word(method)}" for method in methods)
    swept = f"task.{option}" if option != parameter else parameter
    on_test = any(name.rpartition(" ")[2] == TEST for name in curves)
    # On lines of their own: a long one would push the page's other column out of sight.
    again = (
        f"zslplat sweep {method_options} \\",
        f"  --param {swept} --range {shell_word('|'.join(record['values']))} \\",
        f"  --dataset {shell_word(experiment['dataset'])} --task {shell_word(experiment['task'])}"
        + (" --test" if on_test else ""),
    )
    return "\n".join(
        [
            f"{', '.join(methods)} on {experiment['dataset']}, task {experiment['task']}: "
            f"{metric} against {parameter}.",
            "",
            f"Analysis: {'it shows the test split, and ' if on_test else ''}nothing ever selects by it.",
            "",
            table((parameter, *curves), rows),
            "",
            commands(*again),
        ]
    )


def _surroundings(values: Mapping[str, Any], knows: str | None) -> list[str]:
    about, identity = values["about"], values["identity"]
    lines = [f"- Data: {about['data']['name']}, {data_in_words(about)}; preprocessing: {about['preprocessing']}."]
    lines.append(f"- Seed {identity['seed']}; searched on validation folds, which hold no row of the test split.")
    return [*lines, f"- Of the scored batch the method knows: {knows}."] if knows else lines


def _scored(split: str, record: Mapping[str, Any]) -> str:
    return "the test split" if split == TEST else f"{len(record['folds'])} {VALIDATION} folds"
