"""Intervals of shares end at 0 and 1; those of other metrics end where they do."""

import numpy as np
import pytest

from zslplat.metrics.intervals import within

SHARES = (
    *("accuracy", "per_class_accuracy", "per_sample_accuracy", "per_class_top_5", "nearest_accuracy", "AUSUC", "H"),
    *("calibrated_H", "oracle_H", "U_to_U", "S_to_S", "U_to_T", "S_to_T", "calibrated_u", "calibrated_s", "mAP"),
    *("mAP_11pt", "centred_mAP", "precision_at_10", "recall_at_10", "clustering_accuracy", "nmi"),
    "nmi_arithmetic",
)


@pytest.mark.parametrize("metric", SHARES)
def test_a_share_is_within_0_and_1(metric):
    assert within(metric, 0.78, -0.149, 1.716) == (0, 1)
    assert within(metric, 0.78, 0.7, 0.9) == (0.7, 0.9)
    assert within(metric, 0.0, 0.0, 0.0) == (0, 0)
    assert np.isnan(within(metric, 0.78, np.nan, np.nan)).all()


@pytest.mark.parametrize("metric", ["bias", "seconds", "acc", "clustering_accuracy_std", "U_to_U_loss", "HH"])
def test_what_may_have_any_value_is_not_cut(metric):
    assert within(metric, 0.78, -0.149, 1.716) == (-0.149, 1.716)


def test_a_value_beyond_says_that_the_name_means_something_else():
    assert within("accuracy", 78.0, 60.0, 96.0) == (60, 96)
