"""
Zero-shot learning in ten minutes
=================================

What zero-shot learning is, how it is measured, and where numbers mislead. Every figure is computed on this page.
"""

# %%
# Classes that nobody has trained on
# ----------------------------------
# A zero-shot classifier names classes without a single training row, by their **signatures**: a row of numbers that
# describes a class. Here a class is a pair of digits, and its signature says which strokes of a display are lit. 80
# pairs are **seen** in training, 20 are **unseen**.

import matplotlib.pyplot as plt
import numpy as np

import zslplat

data = zslplat.load_dataset("digit-pairs")
X, y, S = data.X, data.y, data.S
rows = {split: data.rows(split) for split in ("train", "test_seen", "test_unseen")}
seen, unseen = np.unique(y[rows["train"]]), np.unique(y[rows["test_unseen"]])

figure, axes = plt.subplots(2, 6, figsize=(8, 2.2), layout="constrained", height_ratios=(2, 1))
for column, label in enumerate([*seen[[3, 22, 48]], *unseen[[2, 9, 15]]]):
    pair = X[y == label][0].reshape(2, 8, 8)
    axes[0, column].imshow(np.hstack(list(pair)), cmap="gray_r")
    kind = "seen" if label in seen else "unseen"
    axes[0, column].set_title(f"{data.class_names[label]} ({kind})", color="C0" if kind == "seen" else "C1")
    axes[1, column].imshow(S[label].reshape(2, 7), cmap="Greens", vmin=0, vmax=1.4)
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("a row")
axes[1, 0].set_ylabel("signature")

# %%
# Two questions of one model
# --------------------------
# A zero-shot method learns a **compatibility**: a score of a row and a signature, high where the two fit.

model = zslplat.make("eszsl(alpha=.01, gamma=.01)").fit(X[rows["train"]], y[rows["train"]], S)
test = rows["test_unseen"]
among_unseen = model.score(X[test], y[test], S)
among_all = model.score(X[test], y[test], S, generalised=True)
print(f"unseen rows, 20 unseen candidates: {among_unseen:.2f} (guessing: {1 / 20:.2f})")
print(f"the same rows, all 100 candidates: {among_all:.2f} (guessing: {1 / 100:.2f})")

# %%
# The first question is the task ``zsl``, the second is part of ``gzsl``. Their numbers must not be mixed.
#
# Validation by class
# -------------------
# Held-out *rows* of seen classes reward a method that knows its training classes by heart. Held-out *classes* ask what
# the test will ask, so hyperparameters are chosen on them.

names = np.array(data.class_names)
train = rows["train"][::4]  # fewer rows, so that this page is made quickly
folds = {
    "validation: rows held out": np.random.default_rng(0).permutation(len(train)) < len(train) // 4,
    "validation: classes held out": np.isin(y[train], seen[::4]),
}
widths = (0.03, 0.1, 0.2, 0.5, 1, 2)
curves: dict[str, list[float]] = {name: [] for name in (*folds, "test: unseen classes")}
for width in widths:
    spec = f"keszsl(kernel=gaussian(sigma={width}*median), alpha=.01, gamma=.01)"
    for name, held in folds.items():
        fitted = zslplat.make(spec).fit(X[train[~held]], names[y[train[~held]]], S[seen], classes=names[seen])
        curves[name].append(fitted.score(X[train[held]], names[y[train[held]]], generalised="rows" in name))
    fitted = zslplat.make(spec).fit(X[train], y[train], S)
    curves["test: unseen classes"].append(fitted.score(X[test], y[test], S))

figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
for (name, values), style in zip(curves.items(), (":", "--", "-"), strict=True):
    ax.semilogx(widths, values, style, marker="o", label=name)
ax.set(xlabel="width of a Gaussian kernel, in median distances", ylabel="per-class accuracy", ylim=(0, 1))
ax.legend()

# %%
# A narrow kernel recognises its training rows and is lost on new classes. Only held-out classes show it.
#
# Seen and unseen together
# ------------------------
# Most methods prefer the classes that they were trained on. A **bias** takes a constant off the scores of seen classes,
# and each bias gives one point.

scores = {split: model.decision_function(X[rows[split]], S) for split in ("test_seen", "test_unseen")}


def accuracy(split, bias):
    """Return the per-class accuracy of a split with a bias against seen classes."""
    predicted = (scores[split] - bias * np.isin(np.arange(len(S)), seen)).argmax(axis=1)
    truth = y[rows[split]]
    return np.mean([np.mean(predicted[truth == label] == label) for label in np.unique(truth)])


biases = np.linspace(-1, 1, 201) * np.ptp(scores["test_unseen"])
points = np.array([[accuracy(split, bias) for split in scores] for bias in biases])
harmonic = 2 * points.prod(axis=1) / points.sum(axis=1).clip(1e-9)
best, plain = points[harmonic.argmax()], points[np.abs(biases).argmin()]

figure, ax = plt.subplots(figsize=(4.6, 3.6), layout="constrained")
ax.plot(*points.T, color="C0")
ax.fill_between(*points[np.argsort(points[:, 0])].T, alpha=0.15)
ax.plot(*plain, "s", color="C1", label="no bias")
ax.plot(*best, "o", color="C2", label=f"largest H, {harmonic.max():.2f}")
ax.set(xlabel="accuracy on seen classes", ylabel="accuracy on unseen classes", xlim=(0, 1.02), ylim=(0, 1.02))
ax.legend(loc="lower left")

# %%
# **H** is the harmonic mean of the two accuracies, **AUSUC** the area under the curve (:doc:`04_generalised`).
#
# Is the difference real?
# -----------------------
# Two methods on the same 20 unseen classes. A dot is a class, and its height is the difference of the methods.

rival = zslplat.make("ridge-prototypes").fit(X[rows["train"]], y[rows["train"]], S)
right = [unseen[m.predict(X[test], S[unseen])] == y[test] for m in (model, rival)]
difference = np.array([np.mean(right[0][y[test] == c]) - np.mean(right[1][y[test] == c]) for c in unseen])
draws = np.random.default_rng(0).choice(difference, size=(5000, len(difference)))
low, high = np.quantile(draws.mean(axis=1), (0.025, 0.975))

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.axhspan(low, high, alpha=0.2, label="95 % interval of the mean over classes")
ax.axhline(difference.mean(), label="mean")
ax.axhline(0, color="black", linewidth=0.8)
ax.plot(np.sort(difference), "o", color="C1")
ax.set(xticks=[], xlabel="unseen classes, sorted", ylabel="eszsl - ridge-prototypes")
ax.legend()

# %%
# Twenty other classes might move the mean, however many rows these have. ``zslplat compare`` lets that question decide.
# Go on with :doc:`01_own_data` and :doc:`03_comparing`.
