"""Measures: differences on claims that no suite can test, by slow references; judged and kept like those of suites."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import t

import zslplat_papers.reproduction.claims as claims
from zslplat.errors import DataError, MethodError, OutcomeWarning
from zslplat.evaluation.cache.problems import preprocess
from zslplat.evaluation.reporter import SilentReporter
from zslplat.families.selection.outcomes import judge
from zslplat.families.zero_shot.unseen import ZeroShot
from zslplat.settings import resolve_settings
from zslplat.statistics import NOT_ENOUGH
from zslplat.suites.cells import GridOptions
from zslplat_papers.repeated_tasks import RepeatedFeatureSelection, overlap
from zslplat_papers.reproduction.claim_tests import ClaimTests, MeasuredTest, load_claim_tests, read_claim_tests
from zslplat_papers.reproduction.figures import claim_forest
from zslplat_papers.reproduction.measures import MEASURES, choices, cost, load_measure, objectives, selection, training
from zslplat_papers.reproduction.measures.ground import (
    DRAWN,
    Ground,
    accuracies,
    build,
    held_out_accuracies,
    over_classes,
    over_draws,
    seen_classes,
    seen_rows,
)
from zslplat_papers.reproduction.measures.separation import compact_classes, silhouettes
from zslplat_papers.reproduction.page import pages
from zslplat_papers.reproduction.verdicts import HOLDS, HOLDS_NOT, NOT_TESTED, Contrast, contrast_verdict

EXPERIMENTS = [one for several in load_claim_tests().measured.values() for one in several]
PAIRS = "digit-pairs"


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    return resolve_settings({"store": tmp_path_factory.mktemp("measures") / "mlruns"})


@pytest.fixture
def ground(settings):
    said = []
    return Ground(settings, only=(PAIRS,), draws=3, say=said.append), said


@pytest.fixture(scope="module")
def pairs(settings):
    ((name, dataset),) = Ground(settings, only=(PAIRS,)).data()
    assert name == PAIRS
    return dataset


@pytest.mark.parametrize("one", EXPERIMENTS, ids=lambda one: f"{one.claim}-{one.suite}")
def test_the_methods_that_a_measure_is_given_exist(one):
    texts = [one.given.get(name) for name in ("method", "first", "second", "own", "others")]
    flat = [text for found in texts for text in (found if isinstance(found, list) else [found])]
    for text in flat:
        if text and not (one.suite == "compact-classes" and "scheme" in text):
            build(text)
    for value in one.given.get("values", ()):
        build(one.given["method"], **{one.given["parameter"]: value})


def test_every_measure_can_be_loaded_and_is_used():
    assert {one.suite for one in EXPERIMENTS} == set(MEASURES)
    assert all(callable(load_measure(name)) for name in MEASURES)


def test_an_experiment_with_an_unknown_measure_is_refused(tmp_path):
    (tmp_path / "e.toml").write_text('[[measured]]\nclaim = "003-centre-loss-steadies"\nmeasure = "weight"')
    with pytest.raises(DataError, match="no measure of these: power-of-rows"):
        read_claim_tests(tmp_path / "e.toml")


def test_intervals_are_those_of_means_and_constants_have_none():
    values = np.array([0.1, 0.3, 0.2, 0.6])
    half = t.ppf(0.975, 3) * values.std(ddof=1) / 2
    for found in (over_draws("x", values, "draws"), over_classes("x", np.append(values, np.nan))):
        assert (found.difference, found.low, found.high) == pytest.approx((0.3, 0.3 - half, 0.3 + half))
    assert over_classes("x", np.append(values, np.nan)).classes == 4
    assert np.isnan(over_draws("x", [0.5] * 5, "draws").low)
    assert contrast_verdict(over_draws("x", [0.5] * 5, "draws")) == NOT_ENOUGH


def test_draws_of_classes_that_overlap_have_wider_intervals():
    values = np.array([0.1, 0.3, 0.2, 0.6])
    apart = over_draws("x", values, "draws", [["a"], ["b"], ["c"], ["d"]])
    assert (apart.low, apart.high) == (over_draws("x", values, "draws").low, over_draws("x", values, "draws").high)
    classes = [["a", "b"], ["b", "c"], ["c", "d"], ["d", "a"]]
    shared = over_draws("x", values, "draws", classes)
    # Means of independent effects of classes, by simulation: the interval is in proportion to the root of the ratio of
    # the variance of the mean over draws to what one expects of s^2 / J.
    effects = np.random.default_rng(0).normal(size=(200_000, 4))
    drawn = np.stack([effects[:, ["abcd".index(name) for name in one]].mean(axis=1) for one in classes], axis=1)
    ratio = drawn.mean(axis=1).var() / (drawn.var(axis=1, ddof=1).mean() / 4)
    assert (shared.high - shared.low) / (apart.high - apart.low) == pytest.approx(np.sqrt(ratio), rel=0.02)
    assert np.isnan(over_draws("x", values, "draws", [["a", "b"]] * 4).low)


def test_the_classes_of_draws_are_those_of_the_rows(pairs):
    for own, (_, y, S) in zip(seen_classes(pairs, 0.5, 3), seen_rows(pairs, 0.5, 3), strict=True):
        assert len(own) == len(S) == len(np.unique(y))
        assert np.isin(pairs.y[pairs.rows("train")], own).sum() == len(y)


def test_accuracies_are_those_that_the_task_scores(pairs):
    task, problem = ZeroShot(), ZeroShot().validation(pairs)[0]
    path = accuracies(build("zskl-ort(epochs=3)"), task, problem)
    method = build("zskl-ort(epochs=3)")
    view = preprocess(problem, task, method.effective_preprocessing)
    outputs = [outputs for _, outputs in task.run(method, view, task.prepare(method, view, {}))]
    scored = [task.score(view, one, {}, full=False).metrics["per_class_accuracy"] for one in outputs]
    assert path.mean(axis=1) == pytest.approx(scored)
    folds = [accuracies(build("eszsl"), task, fold)[-1].mean() for fold in task.validation(pairs)]
    # The folds hold out as many classes each, so that the mean over classes is the one over folds.
    assert held_out_accuracies(lambda: build("eszsl"), pairs)[-1].mean() == pytest.approx(np.mean(folds))


def test_drawn_seen_rows_are_centred_and_told_apart_by_their_own_signatures(pairs):
    draws = list(seen_rows(pairs, 0.5, 2))
    seen = len(np.unique(pairs.y[pairs.rows("train")]))
    for X, y, S in draws:
        assert len(S) == len(np.unique(y)) == round(seen / 2)
        assert np.abs(X.mean(axis=0)).max() < 1e-12
        assert len(X) == len(y)
    assert not np.array_equal(draws[0][2], draws[1][2])


@pytest.mark.parametrize(("power", "verdict"), [(1.0, HOLDS), (2.0, HOLDS_NOT)])
def test_the_power_of_the_rows_is_the_slope_of_the_times(ground, monkeypatch, power, verdict):
    noise = np.random.default_rng(0)
    spent = lambda method, X, y, S: 1e-6 * len(X) ** power * np.exp(0.01 * noise.standard_normal())  # noqa: E731
    monkeypatch.setattr(cost, "ROWS", (400, 800, 1600))
    monkeypatch.setattr(cost, "_seconds", spent)
    options = {"method": "eszsl", "at_most": 1.15}
    assert list(cost.power_of_rows(ground[0], options)) == []  # --only names other data
    (found,) = cost.power_of_rows(Ground(ground[0].settings, only=(DRAWN,), draws=4), options)
    assert found.difference == pytest.approx(1.15 - power, abs=0.05)
    assert contrast_verdict(found, 0.0) == verdict


def test_a_fit_takes_time():
    X, y, S = cost.drawn(400, 0)
    assert X.min() >= 0
    assert np.bincount(y).tolist() == [10] * cost.CLASSES
    assert 0 < cost._seconds("eszsl", X, y, S) < 60


def fitting(series):
    """Return a builder of methods whose objective is a given path, with a little noise of each draw."""
    noise = np.random.default_rng(0)

    def build(text, **given):
        path = np.array(series(given.get("iterations", 0))) * (1 + 1e-3 * noise.random())
        fitted = SimpleNamespace(diagnostics_=SimpleNamespace(series={"objective": path.tolist()}), scores_=path)
        return SimpleNamespace(fit=lambda X, y, S: fitted)

    return build


@pytest.mark.parametrize(
    ("series", "verdicts"),
    [
        (lambda n: 1 + 0.5 ** np.arange(n), [HOLDS, HOLDS]),
        (lambda n: 1 + 0.5 ** np.arange(n) + 0.1 * (np.arange(n) == 5), [HOLDS_NOT, HOLDS]),
        (lambda n: 0.9 ** np.arange(n), [HOLDS, HOLDS_NOT]),
    ],
    ids=["falls and is level", "rises once", "goes on falling"],
)
def test_an_objective_falls_and_is_level_or_not(ground, monkeypatch, series, verdicts):
    noise = np.random.default_rng(1)
    monkeypatch.setattr(objectives, "build", fitting(lambda n: series(n) + 1e-10 * noise.random(n)))
    found = list(objectives.objective_falls(ground[0], {"method": "m", "iterations": 20}))
    assert [contrast_verdict(one, 0.0) for one in found] == verdicts
    (level,) = objectives.level_after_updates(ground[0], {"method": "m", "iterations": 40})
    left = series(40)[20] / series(40)[-1] - 1
    assert level.difference == pytest.approx(0.01 - left, rel=1e-2, abs=1e-6)


def test_scores_that_grow_do_not_shrink(ground):
    (found,) = objectives.last_scores_shrink(ground[0], {"method": "semfs(variant=paper, iterations=3)"})
    assert contrast_verdict(found, 0.0) == HOLDS_NOT
    assert -1 < found.difference < 0


@pytest.mark.parametrize(
    ("path", "goal", "epochs"),
    [([0.1, 0.3, 0.5], 0.4, 2.5), ([0.1, 0.3, 0.5], 0.5, 3), ([0.6, 0.7], 0.5, 1), ([0.1, 0.2], 0.5, 3)],
    ids=["between", "at the end", "at once", "never"],
)
def test_epochs_to_a_goal(path, goal, epochs):
    assert training.epochs_to(np.array(path), goal) == pytest.approx(epochs)


def test_training_rises_settles_and_saves_epochs_as_its_paths_say(ground, monkeypatch):
    slow, fast = np.linspace(0.1, 0.8, 8), np.array([0.4, 0.8, *[0.9] * 5, 0.85])
    one = lambda path: np.array(path)[:, None] + 0.01 * np.arange(8)  # noqa: E731
    fitted = SimpleNamespace(diagnostics_=SimpleNamespace(series={"objective": [2.0, 1.0]}))
    monkeypatch.setattr(training, "build", lambda text, **given: fitted)
    monkeypatch.setattr(training, "held_out_accuracies", lambda make, data: (make(), one(fast))[1])
    (settled,) = training.training_settles(ground[0], {"method": "m"})
    assert settled.difference == pytest.approx(0.02 - 0.05)
    rises, falls = training.training_rises(ground[0], {"method": "m"})
    assert (rises.difference, falls.difference) == pytest.approx((0.45, 0.5))
    noise = np.random.default_rng(0)
    by_name = {"slow": slow, "fast": fast}
    monkeypatch.setattr(training, "build", lambda text, **given: (text, given["rate"]))
    monkeypatch.setattr(
        training,
        "accuracies",
        lambda method, task, problem: one(by_name[method[0]] * method[1] + 1e-6 * noise.standard_normal(8)),
    )
    (saved,) = training.epochs_saved(ground[0], {"first": "fast", "second": "slow", "rates": [0.5, 1.0]})
    goal = 0.95 * (0.8 + 0.035) - 0.035  # of the slower one's best mean, less what the classes add
    wanted = 1 - (1 + (goal - 0.4) / 0.4) / (1 + (goal - 0.1) / 0.1)
    assert saved.difference == pytest.approx(wanted, abs=1e-3)


def train_classes(dataset):
    return np.unique(dataset.y[dataset.rows("train")])


def test_what_the_objective_falls_by_is_as_sure_as_folds_that_share_classes_make_it(ground, monkeypatch):
    falls = iter([[2.0, 1.0], [2.0, 1.1], [2.0, 0.8]])
    made = lambda text: SimpleNamespace(diagnostics_=SimpleNamespace(series={"objective": next(falls)}))  # noqa: E731
    monkeypatch.setattr(training, "build", made)
    monkeypatch.setattr(
        training, "held_out_accuracies", lambda make, data: [make() for _ in range(3)] and np.zeros((2, 8))
    )
    _, found = training.training_rises(ground[0], {"method": "m"})
    plain = t.ppf(0.975, 2) * np.std([0.5, 0.45, 0.6], ddof=1) / np.sqrt(3)
    # The folds train on classes that they share: what their overlap makes of the variance is in the interval.
    ((_, dataset),) = ground[0].data()
    trained = [train_classes(dataset).size - len(p.meta["classes"]) for p in ZeroShot().validation(dataset)]
    held_out = [[dataset.class_names.index(n) for n in p.meta["classes"]] for p in ZeroShot().validation(dataset)]
    member = ~np.array([np.isin(train_classes(dataset), own) for own in held_out])
    assert member.sum(axis=1).tolist() == trained
    assert overlap(member) > 4
    assert (found.high - found.low) / (2 * plain) == pytest.approx(np.sqrt(overlap(member)))


def test_the_price_of_a_choice_is_made_anew_in_every_draw(ground, monkeypatch):
    same = np.tile([[0.2], [0.9], [0.4]], 6)
    assert choices.replicates_of_price(same, same).max() == 0
    other = same[[0, 2, 1]]
    assert choices.replicates_of_price(same, other) == pytest.approx(np.full(2000, 0.5))
    rng = np.random.default_rng(3)
    held, tested = rng.random((3, 6)), rng.random((3, 6))
    monkeypatch.setattr(choices, "build", lambda text, v, seed: v)
    monkeypatch.setattr(choices, "held_out_accuracies", lambda make, data: held[make()][None])
    monkeypatch.setattr(choices, "accuracies", lambda value, task, problem: tested[value][None])
    given = {"method": "m", "parameter": "v", "values": [0, 1, 2]}
    (found,) = choices.price_of_validation(ground[0], {**given, "claimed": "differs"})
    price = tested[tested.mean(axis=1).argmax()] - tested[held.mean(axis=1).argmax()]
    assert found.difference == pytest.approx(price.mean() - 0.01)
    ends = np.percentile(choices.replicates_of_price(held, tested), (2.5, 97.5)) - 0.01
    assert found.low <= ends[0]
    assert ends[1] <= found.high
    (mirrored,) = choices.price_of_validation(ground[0], {**given, "claimed": "agrees"})
    assert (mirrored.low, mirrored.high) == pytest.approx((-found.high, -found.low))
    assert "the best v is" in ground[1][0]


def test_silhouettes_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    rows, y = rng.standard_normal((12, 4)), np.arange(12) % 3
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    apart = 1 - unit @ unit.T
    values = []
    for i in range(12):
        means = [apart[i, (y == c) & (np.arange(12) != i)].mean() for c in range(3)]
        own, nearest = means[y[i]], min(m for c, m in enumerate(means) if c != y[i])
        values.append((nearest - own) / max(own, nearest))
    wanted = [np.mean(np.array(values)[y == c]) for c in range(3)]
    np.testing.assert_allclose(silhouettes(rows, y), wanted, rtol=1e-10)


def test_the_joint_scheme_makes_classes_more_compact(ground):
    options = {"method": "mfmr-joint", "first": "joint scheme", "second": "common scheme"}
    (found,) = compact_classes(ground[0], options)
    assert found.classes == 20
    assert found.low > 0


def test_curves_of_selected_features_are_those_of_the_task(pairs, monkeypatch):
    monkeypatch.setattr(selection, "ROWS", 120)
    monkeypatch.setattr(selection, "STARTS", 2)
    (curve,) = selection._curves(pairs, "variance", 1, last=10)
    task = RepeatedFeatureSelection(draw=1, draws=1, rows=120, repeats=2, last=10)
    problem = task.test(pairs)
    view = preprocess(problem, task, build("variance").effective_preprocessing)
    ((_, outputs),) = task.run(build("variance"), view, {})
    assert curve.mean(axis=1).tolist() == pytest.approx(judge(view, outputs).curve["accuracy"])
    assert curve.shape == (2, 2)


def test_selection_by_numbers_starts_and_labelled_shares(ground, monkeypatch):
    asked, noise = [], np.random.default_rng(0)
    levels = {"own": 0.6, "weak": 0.2, "strong": 0.5}

    def curves(data, text, draws, **more):
        asked.append((text, more))
        for _ in range(draws):
            level = levels[text] * (1 + more.get("labelled_ratio", 0)) + 1e-4 * noise.standard_normal()
            yield np.array([[level, level + 0.1 * (text == "strong")], [level, level]])

    monkeypatch.setattr(selection, "_curves", curves)
    given = {"features": 20, "claimed": 0.1, "own": ["own"], "others": ["weak", "strong"]}
    (gain,) = selection.gain_at_features(ground[0], given)
    assert gain.difference == pytest.approx(0.6 / 0.525 - 1 - 0.1, abs=1e-3)
    assert asked[0] == ("own", {"first": 20, "last": 20})
    over, along = selection.spread_over_starts(ground[0], {"first": "own", "second": "strong"})
    assert (over.difference, along.difference) == pytest.approx((0.025, 0.05), abs=1e-3)
    options = {"own": "own", "others": ["weak", "strong"], "share": 0.5}
    weak, strong = selection.lead_by_labelled_share(ground[0], options)
    assert (weak.difference, strong.difference) == pytest.approx((0.2, 0.05), abs=1e-3)


@pytest.fixture
def measured(monkeypatch):
    """A claim with two experiments of one measure, which fails where it is told to."""
    name = "003-centre-loss-steadies"

    def measure(ground, given):
        if given.get("fails"):
            raise MethodError("no room")
        warnings.warn(OutcomeWarning(f"{given['of']} is odd", "ZSP210"), stacklevel=1)
        yield Contrast(f"x: {given['of']}", given["by"], given["by"] - 0.1, given["by"] + 0.1, "3 draws")

    several = tuple(MeasuredTest(name, "weight", {"of": of, "by": by}, "all") for of, by in (("a", 0.3), ("b", 0.2)))
    broken = {"003-few-seen-classes-suffice": (MeasuredTest("003-few-seen-classes-suffice", "other", {"fails": True}),)}
    found = ClaimTests({}, {}, {}, {name: several, **broken})
    monkeypatch.setattr(claims, "load_claim_tests", lambda: found)
    monkeypatch.setattr(claims, "load_measure", lambda name: measure)
    return name, *broken


def test_claims_are_judged_by_measures_and_kept(measured, settings, tmp_path):
    name, broken = measured
    warned, noted = [], []
    reporter = SilentReporter()
    reporter.warn, reporter.note = warned.append, noted.append
    found = claims.run_claims([name, broken], settings, GridOptions(), reporter=reporter)
    assert [(one.verdict.verdict, one.experiment) for one in found] == [(HOLDS, "weight"), (NOT_TESTED, "other")]
    assert "1 measures failed, the first: measure other: no room" in found[1].verdict.why
    assert warned == ["measure other: no room"]
    assert noted == [f"measure weight: said 1 times, first: {of} is odd [ZSP210]" for of in "ab"]
    claims.keep_claims(found, tmp_path)
    kept, missing = claims.recorded_claims([name, broken], tmp_path)
    assert kept.verdict == found[0].verdict
    assert missing.verdict.why == f"zslplat claims {broken} --run carries out measure other"
    text = "\n".join(pages(tmp_path).values())
    assert f"```{{forest}} {name}\n```" in text
    assert any(row.note.startswith("+0.300 [+0.200, +0.400]") for row in claim_forest(kept)[0].rows)
    skipped, _ = claims.run_claims([name, broken], settings, suites=["other"])
    assert skipped.verdict.verdict == NOT_TESTED
