"""Small zero-shot data sets and methods whose right answers are known."""

from dataclasses import replace

import numpy as np

from zslplat.data.dataset import Dataset, SignatureSet
from zslplat.families.zero_shot.methods.base import ZeroShotMethod

SENTINEL = 1.0e4


def toy(c_seen=12, c_unseen=5, rows=15, d=6, a=4, seed=0, dtype=np.float32, test_seen=True, **extra):
    """A data set whose classes are spread over the ids in random order; test rows carry values above SENTINEL."""
    rng = np.random.default_rng(seed)
    c = c_seen + c_unseen
    ids = rng.permutation(c)
    seen = ids[:c_seen]
    S = rng.normal(size=(c, a))
    y = np.repeat(np.arange(c), rows)
    y = y[rng.permutation(len(y))]
    X = (S @ rng.normal(size=(a, d)))[y] + 0.5 * rng.normal(size=(len(y), d))
    in_seen = np.isin(y, seen)
    part = rng.random(len(y)) < 0.2
    splits = {"train": np.flatnonzero(in_seen & ~(part & test_seen)), "test_unseen": np.flatnonzero(~in_seen)}
    if test_seen:
        splits["test_seen"] = np.flatnonzero(in_seen & part)
    for key, index in splits.items():
        if key != "train":
            X[index, 0] += SENTINEL
    S[np.setdiff1d(ids, seen), 0] += SENTINEL
    return Dataset(
        "toy",
        X.astype(dtype),
        y,
        tuple(f"class {i}" for i in range(c)),
        {"att": SignatureSet(S)},
        splits=splits,
        **extra,
    )


def same_problems(first, second):
    assert [p.name for p in first] == [p.name for p in second]
    for p, q in zip(first, second, strict=True):
        assert p.meta == q.meta
        for part, other in ((p.inputs, q.inputs), (p.truth, q.truth)):
            assert part.keys() == other.keys()
            for key in part:
                assert part[key].dtype == other[key].dtype, key
                assert part[key].tobytes() == other[key].tobytes(), key


def with_changed_test_data(dataset, seed=5):
    """The same data set with noise for test rows and unseen signatures, and with test labels permuted."""
    rng = np.random.default_rng(seed)
    X, y = dataset.X.copy(), dataset.y.copy()
    unseen = np.unique(dataset.y[dataset.splits["test_unseen"]])
    for key in ("test_seen", "test_unseen"):
        if key in dataset.splits:
            index = dataset.splits[key]
            X[index] = rng.normal(size=X[index].shape)
            y[index] = rng.permutation(y[index])
    S = dataset.signatures["att"].values.copy()
    classes = dataset.signatures["att"].classes
    described = np.isin(np.arange(len(S)) if classes is None else classes, unseen)
    S[described] = rng.normal(size=S[described].shape)
    return replace(dataset, X=X, y=y, signatures={"att": SignatureSet(S, classes)})


def assert_no_test_value(problem):
    for part in (problem.inputs, problem.truth):
        for key, array in part.items():
            assert array.size == 0 or np.abs(array).max() < SENTINEL / 2, key


class Kept(list):
    """A list that copies of its owner share."""

    def __deepcopy__(self, memo):
        return self


class Bilinear(ZeroShotMethod):
    """Least squares from rows to signatures; records what it was given."""

    def fit(self, X, y, S, *, statistics=None, **signature):
        self.statistics_, self.signature_ = statistics, signature
        self.calls_, self.score_statistics_ = Kept(), Kept()
        target = S[np.asarray(y)] if not signature else S[np.searchsorted(signature["signature_class"], y)]
        self.W_ = np.linalg.lstsq(X.astype(float), target, rcond=None)[0]
        return self

    def decision_function(self, X, S, *, seen=None, statistics=None, **signature):
        self.calls_.append((X.shape, S.shape, None if seen is None else seen.tolist()))
        self.score_statistics_.append(statistics)
        scores = X @ self.W_ @ S.T
        if signature:
            assert set(signature["signature_class"].tolist()) == set(range(len(seen)))
            starts = np.searchsorted(signature["signature_class"], np.unique(signature["signature_class"]))
            scores = np.maximum.reduceat(scores, starts, axis=1)
        return scores


class Prepared(Bilinear):
    def prepare_fit(self, X, y, S, *, space):
        return {"gram": X.T @ X}

    def prepare_score(self, X, S, *, space, statistics=None):
        return {"rows": np.array([len(X), len(S)])}


class Joint(Prepared):
    transductive = True


class Several(Bilinear):
    tags = ("several-signatures",)

    def _fit_steps(self, X, y, S, statistics):
        self.fit(X, y, S, signature_class=statistics["signature_class"])
        yield 1


def outcome(task, method, problem, validation_choices=None, full=True):
    *_, (_, outputs) = task.run(method, problem, {})
    return task.score(problem, outputs, validation_choices or {}, full=full)


def several_signatures(data, seed=2):
    """Two to four rows per class in random order, around the class signature."""
    rng = np.random.default_rng(seed)
    S = data.signatures["att"].values
    classes = rng.permutation(np.repeat(np.arange(len(S)), rng.integers(2, 5, len(S))))
    values = S[classes] + rng.normal(size=(len(classes), S.shape[1]))
    return replace(data, signatures={"att": SignatureSet(values, classes)})
