"""Orders of methods on stand-ins beside printed columns: rank correlation, pairs in the same order, their intervals."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

from zslplat_papers.published import load_table
from zslplat_papers.reproduction.orders import agreements, in_a_sentence

TABLE = load_table("xlsa17-zsl")
ROWS = [row.id for row in TABLE.rows]
PRINTED = np.array([TABLE.cell(row, "AWA1").value for row in ROWS])


def agreement(numbers, column="AWA1"):
    (found,) = agreements(TABLE, [("x", column, "per_class_accuracy", *one) for one in zip(ROWS, numbers, strict=True)])
    return found


def test_correlation_and_pairs_are_those_of_the_definitions():
    numbers = PRINTED + np.random.default_rng(0).normal(scale=8.0, size=len(PRINTED))
    found = agreement(numbers)
    assert found.correlation == pytest.approx(spearmanr(numbers, PRINTED).statistic)
    pairs = [(numbers[i] - numbers[j]) * (PRINTED[i] - PRINTED[j]) for i, j in combinations(range(len(ROWS)), 2)]
    assert found.pairs == pytest.approx(np.mean([one > 0 for one in pairs if one != 0]))
    assert found.correlation_ends[0] < found.correlation < found.correlation_ends[1]
    assert found.pairs_ends[0] < found.pairs < found.pairs_ends[1]


@pytest.mark.parametrize(("sign", "correlation", "pairs"), [(1, 1.0, 1.0), (-1, -1.0, 0.0)])
def test_the_printed_order_agrees_with_itself_and_not_with_its_reverse(sign, correlation, pairs):
    found = agreement(sign * PRINTED)
    assert (found.correlation, found.pairs) == (pytest.approx(correlation), pairs)
    assert found.correlation_ends == pytest.approx((correlation, correlation))


def test_a_stand_in_for_no_column_is_compared_with_the_mean_ranks():
    columns = [column.id for column in TABLE.columns]
    printed = np.array([[TABLE.cell(row, column).value for column in columns] for row in ROWS], dtype=float)
    whole = np.isfinite(printed).all(axis=1)
    ranks = np.zeros(len(ROWS))
    ranks[whole] = np.mean([rankdata(values) for values in printed[whole].T], axis=0)
    assert agreement(ranks, "").methods == whole.sum()
    assert agreement(ranks, "").correlation == pytest.approx(1.0)
    assert agreement(ranks, "").printed == ", ".join(columns)


def test_few_methods_have_no_order():
    assert agreements(TABLE, [("x", "AWA1", "per_class_accuracy", row, 0.5) for row in ROWS[:4]]) == []
    assert in_a_sentence([]) == ""


def test_the_interval_holds_a_true_correlation_of_zero():
    rng = np.random.default_rng(1)
    ends = [agreement(rng.normal(size=len(ROWS))).correlation_ends for _ in range(60)]
    assert np.mean([low <= 0 <= high for low, high in ends]) > 0.85
