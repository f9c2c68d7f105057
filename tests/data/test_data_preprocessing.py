"""Steps of the preprocessing by property."""

import json

import numpy as np
import pytest

from zslplat.data.store.preprocessing import Preprocessing, apply_steps
from zslplat.families.zero_shot.methods.mfmr.common_scheme import MFMR
from zslplat.families.zero_shot.methods.mfmr.joint_scheme import MFMRJoint


def test_split_loses_no_negative_value_of_signatures_that_are_not_trained_on():
    seen, unseen = np.array([[0.0, 2.0], [1.0, 3.0]]), np.array([[-4.0, 1.0]])
    everything = np.vstack([seen, unseen])
    split_seen, split_unseen = apply_steps(("split",), seen, unseen, every=everything)
    np.testing.assert_array_equal(split_seen, np.hstack([seen, np.zeros_like(seen)]))
    np.testing.assert_array_equal(split_unseen, [[0, 1, 4, 0]])
    # Rows that are not known beforehand decide nothing.
    np.testing.assert_array_equal(apply_steps(("split",), seen, unseen)[1], [[0, 1]])


@pytest.mark.parametrize("step", ["shift", "lift"])
def test_making_signatures_non_negative_keeps_their_differences(step):
    seen, unseen = np.array([[0.0, 2.0], [-1.0, 3.0]]), np.array([[-4.0, 1.0]])
    done = np.vstack(apply_steps((step,), seen, unseen, every=np.vstack([seen, unseen])))
    np.testing.assert_array_equal(done - done[0], np.vstack([seen, unseen]) - seen[0])
    assert done.min(axis=0).tolist() == {"shift": [0, 5], "lift": [0, 1]}[step]


def test_what_is_told_of_the_steps_says_the_same_when_it_is_read():
    spec = Preprocessing(("split", "l2"), ("center",)).overridden("right:standardise,l2;left:none", None)
    told = [spec.text_of(role) for role in ("features", "signatures")]
    assert told == ["split,l2;left:none;right:standardise,l2", "center"]
    assert Preprocessing().overridden(*told) == spec


def test_printed_mfmr_leaves_non_negative_signatures_as_they_are():
    rng = np.random.default_rng(0)
    seen, unseen = rng.uniform(0.2, 0.8, (6, 4)), rng.uniform(0, 3, (5, 4))
    for method in (MFMR(variant="paper"), MFMRJoint(variant="paper")):
        steps = method.effective_preprocessing.signatures
        done = apply_steps(steps, seen, unseen, every=np.vstack([seen, unseen]))
        np.testing.assert_array_equal(np.vstack(done), np.vstack([seen, unseen]))
        signed = apply_steps(steps, seen, unseen - 1, every=np.vstack([seen, unseen - 1]))
        assert min(values.min() for values in signed) == 0
        np.testing.assert_allclose(signed[1] - signed[1][0], unseen - unseen[0], atol=1e-15)  # nothing is clipped


def test_show_prints_the_preprocessing_of_the_parameters_that_are_given(call):
    shown = {
        name: json.loads(call("show", name, "--json").stdout)[0]["preprocessing"]
        for name in ("mfmr", "mfmr(variant=paper)", "mfmr-joint(variant=paper)")
    }
    assert shown["mfmr"] == "features: split, l2; signatures: center, l2, split"
    assert shown["mfmr(variant=paper)"] == shown["mfmr-joint(variant=paper)"] == "features: split, l2; signatures: lift"
