"""What other data would cost: time grows with them, the memory of a process without data does not."""

from zslplat.suites.costs import SCALED, UNKNOWN, Costs
from zslplat.tuning.rehearsal import RECORDED, Cost

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
