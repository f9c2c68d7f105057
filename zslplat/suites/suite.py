"""A suite: which methods are tuned on which data sets for which tasks, read from TOML and checked.

summary = "what it shows"
trials = 20                            # of every row; nothing to search: 1
repeats = 5                            # of the test evaluations of random methods
workers = 2                            # where the command does not say it; none: the cores of the machine
tasks = ["zsl", "gzsl", "retrieval"]   # the first is tuned, the others are given what it found
only_tested = ["retrieval"]            # tasks whose validation hands nothing on
metric = "H"                           # selects in the tuned tasks that have it; the others select by their own
differences = [["sae", "eszsl"]]       # pairs of rows: ahead, behind
class_folds = 5                        # in place of the given splits, each class unseen in one; none: the given splits
draws = 10                             # draws of classes; with class_folds 5 two arrangements of folds; none: one

[metrics]                              # that are reported, by task; default: its primary one
zsl = ["per_class_accuracy"]

[[data]]
name = "AWA1 proposed"
dataset = "AWA1(features=surf)"
first_steps = ["hellinger"]            # of preprocessing, before each method's own
fixed = { epochs = 10 }                # for the methods that have these parameters
trials = 24                            # in place of the suite's; so is tasks

[[row]]
name = "eszsl, centred"
method = "eszsl"
features = "center,l2"                 # in place of the method's own; so is signatures
space = { lam = "1e-3..1e3:log" }      # in place of the method's own ranges
tasks = ["gzsl", "zsl"]                # in place of the suite's and the data set's
not_on = ["AWA1 proposed"]             # data sets that are left out
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from zslplat.config import toml_content
from zslplat.data.catalogue import parse_dataset
from zslplat.data.class_draws import drawn_from
from zslplat.errors import NotAtHand, UnknownNameError, UsageError, ZslplatError, quoted
from zslplat.evaluation.components import source_of
from zslplat.registry import Registered, registry
from zslplat.settings import Settings
from zslplat.spec import Spec
from zslplat.suites.sections import Section

TRIALS, REPEATS = 20, 5
SMALLEST = """tasks = ["zsl"]
data = [{ name = "pairs", dataset = "digit-pairs" }]
row = [{ name = "a", method = "eszsl" }, { name = "b", method = "sae" }]"""
MEAN = "mean"  # what tables call the score of all draws of classes together


@dataclass(frozen=True)
class SuiteData:
    """A data set of a suite; ``trials`` and ``tasks`` in place of the suite's where they are given.

    ``fixed``: values for the methods that have parameters of these names; ``first_steps``: preprocessing of the
    features that comes before each method's own. ``where`` it stands, of all parts of a suite, is what errors say.
    """

    name: str
    dataset: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    first_steps: tuple[str, ...] = ()
    trials: int | None = None
    tasks: tuple[str, ...] = ()
    where: str = field(default="", compare=False)


@dataclass(frozen=True)
class SuiteRow:
    """A method of a suite; ``features``, ``signatures`` and ``space`` in place of its own, ``tasks`` of the suite's."""

    name: str
    method: str
    features: str | None = None
    signatures: str | None = None
    space: Mapping[str, str] = field(default_factory=dict)
    tasks: tuple[str, ...] = ()
    not_on: tuple[str, ...] = ()
    where: str = field(default="", compare=False)

    @property
    def spec(self) -> Spec:
        """The method with plain values: a kernel is its text."""
        written = Spec.parse(self.method)
        return Spec(written.name, {k: str(v) if isinstance(v, Spec) else v for k, v in written.parameters.items()})


@dataclass(frozen=True)
class Suite:
    """Methods (``rows``) x data sets x tasks, with one budget for all; see the module's docstring for its file.

    ``workers`` is None where the machine says how many; ``metrics`` maps the bare name of a task to what is reported,
    ``metric`` is what its searches select by. ``draws``: how many times the seen and unseen classes of each data set
    are drawn anew, ``class_folds``: as so many folds; without both the given classes are used.
    """

    name: str
    data: tuple[SuiteData, ...]
    rows: tuple[SuiteRow, ...]
    tasks: tuple[str, ...]
    summary: str = ""
    metrics: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    differences: tuple[tuple[str, str], ...] = ()
    only_tested: tuple[str, ...] = ()
    metric: str = ""
    trials: int = TRIALS
    repeats: int = REPEATS
    workers: int | None = None
    seed: int = 0
    class_folds: int | None = None
    draws: int | None = None
    where: str = field(default="", compare=False)

    @property
    def draw_numbers(self) -> list[int | None]:
        """The draws of classes, counted from 1; None alone for the given ones."""
        count = self.draws or self.class_folds
        return [None] if count is None else list(range(1, count + 1))

    @property
    def scheme(self) -> str:
        """How classes are drawn: ``5 class folds``, ``draws`` for random ones, nothing for the given ones."""
        return f"{self.class_folds} class folds" if self.class_folds else "draws" if self.draws else ""

    @property
    def origin(self) -> str:
        """Where it is from, which tells it from another one of its name: its file, or who registered it."""
        path = Path(self.where)
        return str(path.absolute()) if path.suffix == ".toml" or path.is_file() else self.where

    def tasks_of(self, row: SuiteRow, data: SuiteData) -> tuple[str, ...]:
        """Return the tasks of a row on a data set, the first of which is tuned."""
        return row.tasks or data.tasks or self.tasks

    def metrics_of(self, task: str) -> tuple[str, ...]:
        """Return the metrics that are reported of a task: those of the suite, or the task's primary one."""
        name = Spec.parse(task).name
        if name in self.metrics:
            return self.metrics[name]
        return (registry().component("tasks", name).primary.name,)

    def is_only_tested(self, task: str) -> bool:
        """Tell whether a task does without validation, by its spec or its bare name."""
        return task in self.only_tested or Spec.parse(task).name in self.only_tested


def suite_names() -> list[str]:
    """Return the names of all suites that are built in or registered by plugins."""
    return registry().spellings("suites")


def load_suite(name_or_path: str | Path, settings: Settings | None = None) -> Suite:
    """Return a suite by its name, or by the path of its TOML file.

    ``settings``: where they are given, the options of the data sets that are at hand are checked, too. Raises
    :class:`UsageError` for what is wrong in it, with the place, and :class:`UnknownNameError` for an unknown name.
    """
    text = str(name_or_path)
    if registry().claims("suites", text):
        suite = suite_of(registry().entry("suites", text))
    elif isinstance(name_or_path, Path) or text.endswith(".toml") or Path(text).is_file():
        path = Path(text).expanduser()
        suite = suite_from(path.stem, _read(path), str(path))
    else:
        raise UnknownNameError("suite (or path of a TOML file)", text, suite_names(), lister="list suites")
    if settings is not None:
        absences(suite, settings)
    return suite


def absences(suite: Suite, settings: Settings) -> dict[str, str]:
    """Return why each data set is not at hand, by its name in the suite; an empty text where it is.

    Raises :class:`UsageError` for options that a data set does not have, with the place.
    """
    reasons = {}
    for entry in suite.data:
        try:
            reasons[entry.name] = absence_of(entry.dataset, settings)
        except UsageError as error:
            raise UsageError(f"{entry.where}, dataset: {error}") from error
    return reasons


def suite_of(entry: Registered) -> Suite:
    """Return the suite of a registered entry; raises like :func:`load_suite`."""
    origin = f"suite {entry.name} of {entry.plugin.distribution}"
    target = entry.load()
    content = target if isinstance(target, Mapping) else _read(Path(target), entry)
    return suite_from(entry.name, content, origin)


def suite_from(name: str, content: Mapping[str, Any], origin: str = "") -> Suite:
    """Return the suite that a mapping describes as its file does; ``origin`` is what errors call it.

    Raises :class:`UsageError` for what is wrong in it, and for a name that can be none of a folder of tables.
    """
    if not name.strip(".") or Path(name).name != name:
        raise UsageError(
            f"{origin or 'suite'}: its name {quoted(name)} is that of its folder of tables; give one without / that is "
            "more than dots"
        )
    top = Section(content, origin or f"suite {name}", "suite")
    _require_keys(content, top.where)
    metrics = Section(top.mapping("metrics"), f"{top.where}, [metrics]", "task")
    suite = Suite(
        name=name,
        data=tuple(_data(Section(d, f"{top.where}, [[data]] {i}", "data set")) for i, d in top.tables("data")),
        rows=tuple(_row(Section(r, f"{top.where}, [[row]] {i}", "row")) for i, r in top.tables("row")),
        tasks=_tasks(top),
        summary=top.text("summary", default=""),
        metrics={task: metrics.texts(task) for task in metrics.content},
        differences=top.pairs("differences"),
        only_tested=top.texts("only_tested"),
        metric=top.text("metric", default=""),
        trials=top.count("trials", TRIALS),
        repeats=top.count("repeats", REPEATS),
        workers=top.count("workers", None),
        seed=top.count("seed", 0, least=0),
        class_folds=top.count("class_folds", None, least=2),
        draws=top.count("draws", None, least=2),
        where=top.where,
    )
    top.finish()
    for task in suite.only_tested:
        top.read("only_tested", partial(Spec.parse, task))
    suite = _written_alike(suite)
    _check(suite, top.where)
    return suite


def _require_keys(content: Mapping[str, Any], where: str) -> None:
    """Raise :class:`UsageError` that names all keys that a suite lacks, and shows the smallest suite."""
    tables: dict[str, list[Any]] = {
        key: list(content[key]) if isinstance(content.get(key), list | tuple) else [] for key in ("data", "row")
    }
    missing = [f"[[{key}]]" for key in tables if not content.get(key)]
    for key, needed in (("data", ("name", "dataset")), ("row", ("name", "method"))):
        for number, table in enumerate(tables[key], start=1):
            absent = [name for name in needed if isinstance(table, Mapping) and name not in table]
            missing += [f"{name} in [[{key}]] {number}" for name in absent]
    if "tasks" not in content and not any("tasks" in table for of_key in tables.values() for table in of_key):
        missing.insert(0, "tasks")
    if missing:
        raise UsageError(f"{where}: it lacks {', '.join(missing)}; the smallest suite is\n\n{SMALLEST}")


def _tasks(section: Section) -> tuple[str, ...]:
    """Return the tasks of a table; raises :class:`UsageError` for one that is unknown, and for one that is there twice.

    However its options are written, a task is the same.
    """
    tasks = section.texts("tasks")
    specs = [section.read("tasks", partial(Spec.parse, task)) for task in tasks]
    for spec in specs:
        section.read("tasks", partial(registry().entry, "tasks", spec.name))
    once = dict(zip(map(str, specs), tasks, strict=True))
    if len(once) < len(tasks):
        raise UsageError(f"{section.where}: tasks has an entry twice: {', '.join(tasks)}")
    return tasks


def _written_alike(suite: Suite) -> Suite:
    """Return the suite with every task written as it is where it comes first, whatever the order of its options."""
    first: dict[str, str] = {}
    for text in _texts(suite.tasks, *(d.tasks for d in suite.data), *(r.tasks for r in suite.rows)):
        first.setdefault(str(Spec.parse(text)), text)

    def alike(tasks: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(first.get(str(Spec.parse(text)), text) for text in tasks)

    return replace(
        suite,
        tasks=alike(suite.tasks),
        only_tested=alike(suite.only_tested),
        data=tuple(replace(data, tasks=alike(data.tasks)) for data in suite.data),
        rows=tuple(replace(row, tasks=alike(row.tasks)) for row in suite.rows),
    )


def _data(section: Section) -> SuiteData:
    entry = SuiteData(
        name=section.named(),
        dataset=section.text("dataset"),
        fixed=section.mapping("fixed"),
        first_steps=section.texts("first_steps"),
        trials=section.count("trials", None),
        tasks=_tasks(section),
        where=section.where,
    )
    section.finish()
    section.read("dataset", lambda: parse_dataset(entry.dataset))
    return entry


def _row(section: Section) -> SuiteRow:
    name = section.named()
    row = SuiteRow(
        name=name,
        method=section.text("method"),
        features=section.text("features", default=None),
        signatures=section.text("signatures", default=None),
        space=section.mapping("space"),
        tasks=_tasks(section),
        not_on=section.texts("not_on"),
        where=section.where,
    )
    section.finish()
    for parameter, text in row.space.items():
        if not isinstance(text, str):
            raise UsageError(
                f'{section.where}: space.{parameter}={text!r}; expected a range in quotes, "1e-3..1e3:log"'
            )
    section.read("method", lambda: registry().entry("methods", row.spec.name))
    return row


def _check(suite: Suite, where: str) -> None:
    """Check what parts of a suite say of each other."""
    for what, names in (("[[data]]", [d.name for d in suite.data]), ("[[row]]", [r.name for r in suite.rows])):
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise UsageError(f"{where}: two {what} are named {twice[0]!r}; names tell them apart")
    rows, data = [row.name for row in suite.rows], [entry.name for entry in suite.data]
    for row in suite.rows:
        _require_names(row.not_on, data, f"data set in not_on of row {row.name!r} ({where})")
        for entry in suite.data:
            if entry.name not in row.not_on and not suite.tasks_of(row, entry):
                raise UsageError(f"{where}: row {row.name!r} has no task on {entry.name!r}; give tasks = [...]")
    for ahead, behind in suite.differences:
        _require_names((ahead, behind), rows, f"row in differences ({where})")
        if ahead == behind:
            raise UsageError(f"{where}: differences has {ahead!r} against itself")
    task_texts = _texts(suite.tasks, *(r.tasks for r in suite.rows), *(d.tasks for d in suite.data))
    bare = _texts([Spec.parse(task).name for task in task_texts])
    for task, metrics in suite.metrics.items():
        if not metrics:
            raise UsageError(f"{where}, [metrics]: {task} has none; name at least one, or leave it out for its own")
    _require_names(suite.metrics, bare, f"task in [metrics] ({where})")
    _require_names(suite.only_tested, [*task_texts, *bare], f"task in only_tested ({where})")


def _require_names(names: Sequence[str] | Mapping[str, Any], available: Sequence[str], what: str) -> None:
    for name in names:
        if name not in available:
            raise UnknownNameError(what, name, set(available))


def _texts(*lists: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(text for texts in lists for text in texts))


def _read(path: Path, entry: Registered | None = None) -> Mapping[str, Any]:
    """Return what a file holds; errors name the distribution where the file is that of a registered ``entry``."""
    what, instead, mend = f"suite {path}", f"; give a name ({', '.join(suite_names())}) or a file", ""
    if entry is not None:
        distribution = entry.plugin.distribution
        what = f"suite {entry.name} of {distribution}: its file {path}"
        instead = mend = f"; repair or uninstall {distribution}"
    try:
        return toml_content(path)
    except OSError as error:
        raise UsageError(f"{what} cannot be read: {error.strerror or error}{instead}") from error
    except ValueError as error:
        raise UsageError(f"{what} is no TOML: {error}{mend}") from error


def absence_of(dataset: str, settings: Settings) -> str:
    """Return why a data set is not at hand, an empty text where it is; nothing is loaded.

    Raises :class:`UsageError` for options that the data set does not have.
    """
    spec = parse_dataset(dataset)
    try:
        for part in (spec, drawn_from(spec)):
            source_of(part, settings)
    except ZslplatError as error:
        if isinstance(error, NotAtHand):
            return str(error)
        raise
    return ""
