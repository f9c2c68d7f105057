"""What other data would cost: time grows with them, the memory of a process without data does not."""

from zslplat.evaluation.experiment import Experiment
from zslplat.evaluation.reporter import SilentReporter
from zslplat.settings import resolve_settings
from zslplat.spec import Spec
from zslplat.suites import costs as costs_module
from zslplat.suites.costs import SCALED, UNKNOWN, Costs, time_unknown
from zslplat.tuning.rehearsal import RECORDED, TIMED, Cost, TimedTrial

MIB = 1 << 20
COSTS = Costs(
    {
        ("eszsl", "small"): Cost(2.0, 1.0, 300 * MIB),
        ("eszsl", "medium"): Cost(12.0, 4.0, 500 * MIB),
        ("sae", "small"): Cost(1.0, 0.5, 250 * MIB),
    },
    {"small": 1e6, "medium": 5e6, "large": 1e7},
)


def test_what_is_recorded_counts_as_it_is():
    assert COSTS.of("eszsl", "small") == (COSTS.measured["eszsl", "small"], RECORDED)


def test_the_nearest_data_in_size_count_and_memory_without_data_is_not_scaled():
    cost, source = COSTS.of("eszsl", "large")
    assert source == SCALED
    assert (cost.trial, cost.test) == (24.0, 8.0)
    assert cost.peak_bytes == (250 + 2 * 250) * MIB


def test_smaller_data_are_not_said_to_take_less_memory():
    only = Costs({("eszsl", "large"): Cost(10.0, 5.0, 900 * MIB)}, COSTS.sizes)
    cost, _ = only.of("eszsl", "small")
    assert (cost.trial, cost.peak_bytes) == (1.0, 900 * MIB)


def test_of_a_method_or_data_never_seen_nothing_is_said():
    assert COSTS.of("dap", "small") == (None, UNKNOWN)
    assert COSTS.of("eszsl", "elsewhere") == (None, UNKNOWN)


def test_another_form_of_a_method_counts_where_the_form_itself_is_not_known():
    forms = Costs({("zskl(rate=1)", "small"): Cost(1.0, 1.0), ("zskl(rate=2)", "large"): Cost(50.0, 9.0)}, COSTS.sizes)
    assert forms.of("zskl(rate=1)", "large")[0].trial == 10.0
    assert forms.of("zskl(rate=2)", "small")[0].trial == 5.0
    assert forms.of("zskl(rate=3)", "large")[0].trial == 50.0


def test_each_form_is_timed_on_each_data_set_in_seconds_of_all_folds(tmp_path):
    settings, costs = resolve_settings({"store": tmp_path}), Costs()
    experiments = [
        Experiment(Spec.parse(method), Spec.parse(dataset), Spec.parse("zsl"), {}, None, None, 0)
        for method in ("eszsl(alpha=2.0)", "sae")
        for dataset in ("synthetic", "digit-pairs")
    ]
    assert time_unknown(experiments, costs, settings, 300, SilentReporter()) > 4800 * 128 * 4
    pairs = {(str(one.method), str(one.dataset)) for one in experiments}
    assert set(costs.measured) == pairs
    assert all(cost.source == TIMED and cost.trial == 2 * cost.test > 0 for cost in costs.measured.values())
    assert not time_unknown(experiments, costs, settings, 300, SilentReporter()), "nothing is left to be timed"
    assert not list(tmp_path.iterdir())


def test_a_timing_that_was_stopped_does_not_replace_what_smaller_data_let_expect(tmp_path, monkeypatch):
    def stopped(*_):
        return TimedTrial([], Cost(3.0, 1.5, source=TIMED, at_least=True))

    monkeypatch.setattr(costs_module, "time_trial", stopped)
    costs = Costs({("sae", "synthetic"): Cost(100.0, 50.0)}, {"synthetic": 1e5})
    settings, task = resolve_settings({"store": tmp_path}), Spec.parse("zsl")
    datasets = [Spec.parse(text) for text in ("digit-pairs", "synthetic")]
    methods = [Spec.parse(text) for text in ("sae", "eszsl")]
    experiments = [Experiment(m, d, task, {}, None, None, 0) for m in methods for d in datasets]
    time_unknown(experiments, costs, settings, 60, SilentReporter())
    assert ("sae", "digit-pairs") not in costs.measured
    assert [(pair, cost.at_least) for pair, cost in costs.measured.items() if pair[0] == "eszsl"] == [
        (("eszsl", "synthetic"), True)
    ]
