"""An oracle tells the price of another metric than that of the search from the price of the test split."""

import pytest

from zslplat_papers.reproduction.oracle import _oracle, gain_words


@pytest.mark.parametrize(
    ("validated", "gains"),
    [
        # The search went by another metric, and chose trial 0; by H validation would have chosen 2, or 1.
        ({0: 0.1, 1: 0.2, 2: 0.3}, (0.4, 0.1, "(+0.400; +0.100 by H)")),
        ({0: 0.1, 1: 0.5, 2: 0.3, 3: 0.9}, (0.4, 0.0, "(+0.400; +0.000 by H)")),  # 3 failed on the test split
        ({0: 0.3, 1: 0.2, 2: 0.3}, (0.4, 0.4, "(+0.400)")),  # of equals that which the search chose
        ({0: None, 1: None}, (0.4, None, "(+0.400)")),
    ],
)
def test_the_price_of_a_metric_that_was_not_searched_by_is_told_from_that_of_the_test_split(validated, gains):
    found = _oracle({0: 0.1, 1: 0.5, 2: 0.4, 3: None}, validated, "H", 0, "study", less_is_better=False)
    assert found.gain == pytest.approx(gains[0])
    assert found.gain_by_metric == (None if gains[1] is None else pytest.approx(gains[1]))
    assert gain_words(found.gain, found.gain_by_metric, "H") == gains[2]
