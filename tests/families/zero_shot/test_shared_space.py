"""Baselines of a shared space: their limits, what each mends on drawn data, and what is refused."""

import numpy as np
import pytest
from scipy.special import logsumexp

from zslplat import load_dataset
from zslplat.errors import DataError, NoSharedSpaceError
from zslplat.families.zero_shot.methods.ridge_prototypes import RidgePrototypes
from zslplat.families.zero_shot.methods.shared_space import (
    CosineAdapter,
    CosineCentred,
    CosineEM,
    CosineSignatures,
)
from zslplat.families.zero_shot.task import signatures_for
from zslplat.families.zero_shot.unseen import ZeroShot
from zslplat.kinds import CLASS_BALANCE, TRANSDUCTIVE
from zslplat.metrics.accuracy import per_class_accuracy


def problem(n=80, c=6, d=10, seed=0):
    rng = np.random.default_rng(seed)
    texts = rng.normal(size=(c, d)) + 2
    y = np.concatenate([np.arange(c), rng.integers(0, c, n - c)])
    return texts[y] + 0.8 * rng.normal(size=(n, d)) - 3, y, texts


def scores(method):
    X, y, S = problem()
    return method.fit(X, y, S).decision_function(X, S)


def accuracy(method, signatures="texts", **options):
    drawn = ",".join(f"{name}={value}" for name, value in options.items())
    problem = ZeroShot(signatures=signatures).test(load_dataset(f"shared-space({drawn})"))
    inputs = {name: np.asarray(array) for name, array in problem.inputs.items()}
    method.fit(inputs["X"], inputs["y"], **signatures_for(method, inputs, ""))
    found = method.decision_function(inputs["X_pool"], signatures_for(method, inputs, "_pool")["S_pool"])
    return per_class_accuracy(problem.truth["y_pool"], found.argmax(axis=1))


def test_a_large_ridge_leaves_the_cosine():
    np.testing.assert_allclose(scores(CosineAdapter(alpha=1e12)), scores(CosineSignatures()), atol=1e-9)


def test_a_small_ridge_brings_every_signature_to_its_class_mean():
    X, y, S = problem()
    method = CosineAdapter(alpha=1e-9).fit(X, y, S)
    means = np.array([X[y == c].mean(axis=0) for c in range(len(S))])
    expected = X @ means.T / np.outer(np.linalg.norm(X, axis=1), np.linalg.norm(means, axis=1))
    np.testing.assert_allclose(method.decision_function(X, S), expected, atol=1e-6)


def test_a_mixture_without_iterations_is_the_centred_cosine():
    centred = scores(CosineCentred())
    off = scores(CosineEM(iterations=0)) - centred
    np.testing.assert_allclose(off, off[0, 0], atol=1e-12)


def test_a_mixture_whose_signatures_count_for_all_stays_where_it_began():
    off = scores(CosineEM(prior=1e9)) - scores(CosineCentred())
    np.testing.assert_allclose(off, off[0, 0], atol=1e-6)


def test_the_objective_of_the_mixture_is_its_likelihood():
    X, y, S = problem()
    method = CosineEM(iterations=0, concentration=7.0, prior=0.5).fit(X, y, S)
    cosines = CosineCentred().fit(X, y, S).decision_function(X, S)
    likelihood = logsumexp(7 * cosines - np.log(len(S)), axis=1).sum() + 7 * 0.5 * len(X)
    method.decision_function(X, S)
    assert method.diagnostics_.series["objective"] == pytest.approx([-likelihood / len(X)])


def test_moving_all_rows_or_all_signatures_alike_changes_nothing_after_centring():
    X, y, S = problem()
    unit_rows, unit_texts = (A / np.linalg.norm(A, axis=1, keepdims=True) for A in (X, S))
    about = [A - A.mean(axis=0) for A in (unit_rows, unit_texts)]
    expected = about[0] @ about[1].T / np.outer(*[np.linalg.norm(A, axis=1) for A in about])
    np.testing.assert_allclose(CosineCentred().fit(X, y, S).decision_function(X, S), expected, atol=1e-12)


def test_each_baseline_mends_what_it_is_for():
    cosine = accuracy(CosineSignatures())
    assert accuracy(CosineCentred()) > cosine + 0.1
    assert accuracy(CosineAdapter()) > accuracy(CosineCentred())
    assert accuracy(CosineEM()) > accuracy(CosineCentred()) + 0.05
    # Without a gap there is nothing to centre, and an ensemble of prompts is what helps.
    assert abs(accuracy(CosineCentred(), gap=0) - accuracy(CosineSignatures(), gap=0)) < 0.03
    assert accuracy(CosineSignatures(), "prompts", gap=0) > accuracy(CosineSignatures(), gap=0) + 0.03


def test_what_each_knows_of_the_batch_is_declared():
    assert [method().knows_of_batch for method in (CosineSignatures, CosineAdapter, CosineCentred, CosineEM)] == [
        (),
        (),
        (TRANSDUCTIVE, CLASS_BALANCE),
        (TRANSDUCTIVE, CLASS_BALANCE),
    ]
    assert CosineEM(weights="learned").knows_of_batch == (TRANSDUCTIVE, CLASS_BALANCE)


@pytest.mark.parametrize("method", [CosineSignatures, CosineAdapter, CosineCentred, CosineEM])
def test_spaces_that_are_not_shared_are_refused_with_a_way_out(method):
    X, y, S = problem()
    with pytest.raises(DataError, match=r"10 features and 4 attributes.*ridge-prototypes"):
        method().fit(X, y, S[:, :4])


def test_a_task_names_the_signatures_that_share_the_space_or_another_method():
    drawn, pairs = load_dataset("shared-space"), load_dataset("digit-pairs")
    ZeroShot().require(CosineSignatures, drawn)
    ZeroShot(signatures="attributes").require(RidgePrototypes, drawn)
    with pytest.raises(NoSharedSpaceError, match=r"64 features and 16 attributes; use --task '.*=texts\)'"):
        ZeroShot(signatures="attributes").require(CosineSignatures, drawn)
    with pytest.raises(NoSharedSpaceError, match="use ridge-prototypes, which maps them"):
        ZeroShot().require(CosineEM, pairs)
    ZeroShot(signatures="prompts").require(CosineSignatures, drawn)
    # An attribute less leaves no shared space; the other options of the task stay.
    for signatures in ("texts", "prompts"):
        message = rf"64 attributes and leaves out attribute 3; use --task 'zsl\(shots=2, signatures={signatures}\)'"
        with pytest.raises(NoSharedSpaceError, match=message):
            ZeroShot(signatures=signatures, without=3, shots=2).require(CosineSignatures, drawn)
    with pytest.raises(NoSharedSpaceError, match=r"leaves out attribute 3; use --task 'zsl'"):
        ZeroShot(without=3).require(CosineSignatures, drawn)


def test_the_control_depends_on_the_data_and_the_task():
    drawn, pairs = load_dataset("shared-space"), load_dataset("digit-pairs")
    assert ZeroShot().control_on(drawn) == "cosine-signatures"
    assert ZeroShot(signatures="attributes").control_on(drawn) == ZeroShot().control_on(pairs) == "ridge-prototypes"
    assert ZeroShot(shots=2).control_on(drawn) == "class-means"


SUITE = """
summary = "with and without a shared space"
trials = 1
tasks = ["zsl"]
[[data]]
name = "texts"
dataset = "shared-space"
[[data]]
name = "digits"
dataset = "digit-pairs"
[[row]]
name = "cosine"
method = "cosine-signatures"
[[row]]
name = "ridge"
method = "ridge-prototypes"
"""


@pytest.mark.long
def test_a_suite_leaves_out_the_rows_that_need_a_shared_space_and_says_why(call, tmp_path):
    (tmp_path / "both.toml").write_text(SUITE)
    done = call("bench", tmp_path / "both.toml", "--workers", 1)
    assert done.returncode == 0, done.stderr
    assert (
        "digits / cosine / zsl is left out: cosine-signatures needs features and signatures of one space" in done.stderr
    )
    shown = call("compare", "cosine-signatures", "-d", "shared-space").stdout
    assert "shared-space: differences from the control, cosine-signatures: --against cosine-signatures\n" in shown
    shown = call("compare", "ridge-prototypes", "-d", "shared-space").stdout
    assert "once it is recorded (zslplat tune -m cosine-signatures -d shared-space -t zsl)" in shown
    assert "control" not in call("compare", "-d", "shared-space", "--against", "cosine-signatures").stdout
