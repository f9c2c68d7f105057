"""Folds until verdicts are made: rows of open verdicts alone go on, a budget ends it, and what is decided stays so."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import zslplat
from zslplat.errors import UsageError
from zslplat.evidence.scores import Scored
from zslplat.settings import resolve_settings
from zslplat.statistics import estimate_mean
from zslplat.suites import sequential
from zslplat.suites.cells import Cell, GridOptions
from zslplat.suites.result import GridResult
from zslplat.suites.sequential import sequential_p, sequential_reach
from zslplat.suites.suite import suite_from

CLASSES, METRIC = 40, "per_class_accuracy"
CONTENT = {
    "tasks": ["zsl"],
    "differences": [["good", "base"], ["alike", "base"]],
    "data": [{"name": "one", "dataset": "digit-pairs"}],
    "row": [{"name": name, "method": "eszsl"} for name in ("base", "good", "alike")],
}
RAISED = {"base": 0.0, "good": 0.15, "alike": 0.01}


@pytest.fixture
def commands(monkeypatch):
    """What is carried out, fold after fold, in place of studies; each class has a value of its own in each row."""
    done, scores = [], {}
    rng = np.random.default_rng(0)
    values = {name: rng.normal(0.5 + by, 0.1, CLASSES) for name, by in RAISED.items()}

    def carry_out(suite, options, settings, reporter):
        done.append((suite.draws, sorted(name.partition("/")[2] for name in options.only)))
        for name in done[-1][1]:
            classes = np.arange(suite.draws - 1, CLASSES, suite.class_folds) % CLASSES
            found = values[name][classes] + rng.normal(0, 0.02, len(classes))
            scores["one", name, "zsl", suite.draws] = Scored(
                *(name, name, name, {METRIC: [found.mean()]}, {}, {}),
                rows=f"rows {suite.draws}",
                classes={METRIC: found[None]},
                class_names=classes.astype(str),
            )
        return GridResult(suite, tuple(Cell(*key) for key in scores), scores=dict(scores))

    monkeypatch.setattr(sequential, "carry_out", carry_out)
    return done


@pytest.fixture
def settings(tmp_path):
    return resolve_settings({"store": tmp_path / "store"})


def test_rows_of_open_verdicts_alone_get_further_folds(commands, settings, monkeypatch):
    clock = iter(range(10**6))
    monkeypatch.setattr(sequential.time, "monotonic", lambda: float(next(clock)))
    found = sequential.decide(suite_from("s", CONTENT), GridOptions(), settings, 25.0)
    verdicts = {one.ahead: one for one in found.verdicts}
    assert verdicts["good"].verdict == "ahead"
    assert verdicts["alike"].verdict == "not enough data"
    last = verdicts["good"].folds
    assert [names for number, names in commands if number > last] == [["alike", "base"]] * (len(commands) - last)
    assert all(names == ["alike", "base", "good"] for number, names in commands if number <= last)
    assert len(commands) < 12  # the budget
    assert found.lines[0].startswith("decided: good - base on one, zsl per_class_accuracy: ahead, +0.")
    assert found.lines[1].startswith("open: alike - base")
    assert "about" in found.lines[1]
    assert found.lines[2] == "intervals and verdicts allow for a look after every fold"
    assert found.lines[3].startswith("5 more folds of all that is open take about")
    assert found.counts == "1 decided, 1 open"


def test_rows_of_unequal_budgets_have_no_verdict(settings, monkeypatch):
    cells = tuple(Cell("one", row, "zsl", 1) for row in ("base", "good"))
    trials = dict(zip(cells, (10, 20), strict=True))
    entries = {cell.key: SimpleNamespace(trials=n, searched=True) for cell, n in trials.items()}
    monkeypatch.setattr(sequential, "carry_out", lambda suite, *_: GridResult(suite, cells, entries=entries))
    with pytest.raises(UsageError, match=r"good has 20 trials on one and base has 10: .* --trials 20"):
        sequential.decide(suite_from("s", CONTENT), GridOptions(), settings, 100.0)


def test_it_ends_where_all_is_decided_and_a_suite_must_have_a_pair(commands, settings):
    suite = replace(suite_from("s", CONTENT), differences=(("good", "base"),))
    found = sequential.decide(suite, GridOptions(), settings, 1e9)
    assert [one.verdict for one in found.verdicts] == ["ahead"]
    assert commands[-1][0] == found.verdicts[0].folds <= 5
    alone = suite_from("s", {**CONTENT, "differences": [], "row": CONTENT["row"][:1]})
    with pytest.raises(UsageError, match="it has 'base' alone; add a row"):
        sequential.decide(alone, GridOptions(), settings, 1.0)
    # Without differences every row is beside the first.
    found = sequential.decide(suite_from("s", {**CONTENT, "differences": []}), GridOptions(), settings, 0.0)
    assert [(one.ahead, one.behind) for one in found.verdicts] == [("good", "base"), ("alike", "base")]


def test_a_budget_belongs_to_until_decided(tmp_path):
    with pytest.raises(UsageError, match="--budget is the time of --until-decided"):
        zslplat.bench({"name": "s", **CONTENT}, budget="2m", store=tmp_path, quiet=True)


def test_a_budget_is_a_time():
    assert [sequential.seconds_of(text) for text in ("2h", "90min", "1.5 m", "30s", 12)] == [7200, 5400, 90, 30, 12]
    for text in ("soon", "2 weeks", "-1h", "0"):
        with pytest.raises(UsageError, match="expected a time such as 2h"):
            sequential.seconds_of(text)


@pytest.mark.parametrize("law", ["normal", "exponential", "sparse"])
def test_looking_after_every_fold_and_arrangement_keeps_the_level(law):
    # 40 classes whose values get steadier with every arrangement of 5 folds; no difference.
    rng, wrong, plain, times = np.random.default_rng(6), 0, 0, 500
    for _ in range(times):
        draws = {"normal": rng.normal, "exponential": lambda size: rng.exponential(size=size) - 1}
        effects = draws[law](size=40) if law in draws else (rng.random(40) < 0.3) * rng.normal(size=40)
        noise = rng.normal(size=(3, 40))
        looks = [(k / 5, 1, (effects + noise[0])[: 8 * k]) for k in range(1, 6)]
        looks += [(1.0, a, effects + noise[:a].mean(axis=0)) for a in (2, 3)]
        p_values = [(estimate_mean(values, bounds=None).p_value, share, a) for share, a, values in looks]
        wrong += min(sequential_p(*look) for look in p_values) <= 0.05
        plain += min(p for p, _, _ in p_values) <= 0.05
    assert wrong / times <= 0.05
    assert plain / times > 0.09  # without it looking costs the level


def test_the_interval_of_a_look_goes_with_its_p_value():
    for share, arrangement in ((0.2, 1), (0.8, 1), (1.0, 1), (1.0, 3)):
        z = sequential_reach(share, arrangement)
        assert sequential_p(2 * float(stats.norm.sf(z)), share, arrangement) == pytest.approx(0.05)
    reaches = [sequential_reach(share, 1) for share in (0.2, 0.6, 1.0)]
    assert reaches[0] > reaches[1] > reaches[2] > 1.96
