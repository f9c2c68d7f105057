"""
Generalised zero-shot learning
==============================

Out there nobody says whether a row is of a class that was trained on. The task ``gzsl`` puts seen and unseen classes
among the candidates, and most methods then answer with seen ones. This tutorial shows why, what is tuned, and how a
bias chosen on validation puts it right.
"""

# %%
# The problem in a picture
# ------------------------
# A method with its preprocessing is fitted on the 80 seen classes of ``digit-pairs``. It scores test rows of seen and
# of unseen classes against all 100.

import numpy as np

import zslplat

digits = zslplat.load_dataset("digit-pairs")
S = digits.S
rows = {name: digits.rows(name) for name in ("train", "test_seen", "test_unseen")}

model = zslplat.make("conse").fit(digits.X[rows["train"]], digits.y[rows["train"]], S)
scores = {name: model.decision_function(digits.X[rows[name]]) for name in ("test_seen", "test_unseen")}


def accuracy(name, bias):
    """Return the mean per-class accuracy with so much taken off the scores of seen classes."""
    predicted = (scores[name] - bias * model.seen_).argmax(axis=1)
    truth = digits.y[rows[name]]
    return np.mean([np.mean(predicted[truth == c] == c) for c in np.unique(truth)])


print(f"without bias: seen {accuracy('test_seen', 0):.2f}, unseen {accuracy('test_unseen', 0):.2f}")

# %%
# Each bias on the seen classes is a point of the curve. The area under it (AUSUC) needs no bias to be chosen, and is
# tuned. Papers report the harmonic mean H of a point.

import matplotlib.pyplot as plt

spread = max(np.abs(part).max() for part in scores.values())
biases = np.linspace(-spread, spread, 400)
curve = np.array([[accuracy("test_seen", bias), accuracy("test_unseen", bias)] for bias in biases])
harmonic = 2 * curve.prod(axis=1) / np.maximum(curve.sum(axis=1), 1e-12)

figure, axes = plt.subplots(figsize=(5, 4), layout="constrained")
axes.plot(curve[:, 0], curve[:, 1])
axes.plot(accuracy("test_seen", 0), accuracy("test_unseen", 0), "o", label="no bias")
axes.set(
    xlabel="accuracy on rows of seen classes", ylabel="accuracy on rows of unseen classes", xlim=(0, 1), ylim=(0, 1)
)
axes.legend()
print(f"largest H on these rows, were the bias chosen by looking: {harmonic.max():.2f}")

# %%
# The bias is chosen on validation
# --------------------------------
# Choosing it on the test rows would be cheating, and is reported as ``oracle_H``, an upper mark. The task holds out
# seen classes *and* some rows of the others. There it chooses hyperparameters by AUSUC and the bias by H, and carries
# both over.

study = zslplat.tune("conse", task="gzsl", trials=6, quiet=True)
study

# %%
# ``calibrated_u``, ``calibrated_s`` and ``calibrated_H`` are with the bias that validation chose. Methods with a gate
# of their own, ``cmt-gaussian`` and ``cmt-loop``, tell new rows by themselves. The same on the command line:
# ``zslplat tune --method conse --task gzsl --trials 6``.
