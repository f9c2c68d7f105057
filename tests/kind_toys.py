"""A fifth kind of methods, as a plugin brings it: densities of rows, which are low for rows of new classes."""

from __future__ import annotations

import numpy as np

from zslplat.api import (
    DataError,
    Dataset,
    Kind,
    Method,
    MethodError,
    Metric,
    ModelContent,
    Outcome,
    Pipeline,
    Preprocessing,
    Problem,
    Protocol,
    SavedModel,
    Task,
    hookimpl,
)
from zslplat.testing import MethodKit, Player

HERE = __name__


class DensityProtocol(Protocol):
    """Fit on X; score ``X_pool``."""

    training = ("X",)

    def prepare_fit(self, method, inputs, space):
        """Prepare nothing."""
        return {}

    def fit(self, method, inputs, statistics):
        """Fit on X."""
        return method.fit(np.asarray(inputs["X"]))

    def score(self, method, inputs, statistics):
        """Return ``density`` (rows of the pool,)."""
        return {"density": method.density(np.asarray(inputs["X_pool"]))}


class Gaussian(Method):
    """The density of one Gaussian with equal variances."""

    kind = "density"
    summary = "one Gaussian"
    preprocessing = Preprocessing(features=("standardise",))

    def fit(self, X):
        """Fit on rows X (n, d)."""
        if not np.isfinite(X).all():
            raise DataError("X holds NaN or infinity")
        self.mean_ = np.asarray(X, dtype=np.float64).mean(axis=0)
        return self

    def density(self, X):
        """Return logarithms of densities (n,), up to a constant."""
        return -((X - self.mean_) ** 2).sum(axis=1)


class DensityPipeline(Pipeline):
    """A density with its preprocessing: ``fit(X)``, ``density(X)``."""

    kind = "density"

    def fit(self, X, y=None):
        """Fit on rows X (n, d)."""
        method, rows = self._begun(X)
        DensityProtocol().fit(method, {"X": rows}, None)
        self.method_ = method
        return self

    def density(self, X):
        """Return logarithms of densities (n,)."""
        return DensityProtocol().score(self.method_, {"X_pool": self._later(X)}, None)["density"]


class DensityModel(SavedModel):
    """Tells how likely rows are."""

    kind = "density"
    classes = ()

    def decision_function(self, X, signatures=None, *, generalised=False):
        """Return logarithms of densities (n, 1)."""
        return self.predict(X)[:, None]

    def predict(self, X, signatures=None, *, generalised=False):
        """Return logarithms of densities (n,)."""
        return self.method.density(self.features.apply(self.checked(X)))

    def table(self, X, first, top, asked, *, scores):
        """Return ``row`` and ``density``."""
        return {"row": np.arange(first, first + len(X)), "density": self.predict(X)}


class Guessing(Player, Gaussian):
    """The density, or guesses."""

    def density(self, X):
        """Return what this behaviour gives."""
        return self.shown(super().density(X))


class DensityKit(MethodKit):
    """Fit on rows, score others."""

    kind = "density"
    player = Guessing

    def named(self, problem):
        """Return X and X_pool."""
        return {"X": problem.X, "X_pool": problem.X_pool}

    def checks(self, method):
        """Return the one check of densities."""
        return (a_row_has_one_density,)


def a_row_has_one_density(method):
    """Every row has one density."""
    kit = DensityKit()
    arrays = kit.arrays(method)
    assert kit.apply(method, arrays)["density"].shape == (len(arrays["X_pool"]),)


class Novelty(Task):
    """Rows of unseen classes have lower densities than held-out rows of seen ones."""

    name = "novelty"
    summary = "rows of new classes told by their density"
    kind = "density"
    primary = Metric("auc")
    preprocessed = {"features": ("X", "X_pool")}

    def validation(self, dataset, *, seed=0):
        """Hold out half of the classes of the training rows, and a third of the rows of the others."""
        rows, *_ = self._splits(dataset)
        classes = np.unique(dataset.y[rows])
        new = np.isin(dataset.y[rows], classes[len(classes) // 2 :])
        third = np.arange(len(rows)) % 3 == 0
        return [self._problem("fold-1", dataset, rows[~new & ~third], rows[~new & third], rows[new], seed)]

    def test(self, dataset, *, seed=0):
        """Fit on the training rows."""
        return self._problem("test", dataset, *self._splits(dataset), seed)

    def _splits(self, dataset):
        names = ("train", "test_seen", "test_unseen")
        if dataset.y.ndim != 1 or not set(names) <= set(dataset.splits):
            raise DataError(f"{dataset.name} has no splits {', '.join(names)}, or several labels per row")
        return [dataset.rows(name) for name in names]

    def example_dataset(self):
        """Return rows of eight classes around zero, and of four that lie elsewhere."""
        rng = np.random.default_rng(0)
        y = rng.permutation(np.repeat(np.arange(12), 12))
        X = rng.normal(size=(len(y), 5)) + 3 * rng.normal(size=(12, 5))[y] * (y >= 8)[:, None]
        turn = rng.permutation(len(y)) % 3 == 0
        splits = {"train": (y < 8) & ~turn, "test_seen": (y < 8) & turn, "test_unseen": y >= 8}
        names = tuple(f"class {label}" for label in range(12))
        return Dataset("around zero", X, y, names, splits={name: np.flatnonzero(rows) for name, rows in splits.items()})

    def _problem(self, name, dataset, train, seen, unseen, seed):
        pool = np.random.default_rng([seed, 1]).permutation(np.concatenate([seen, unseen]))
        inputs = {"X": np.array(dataset.X[train]), "X_pool": np.array(dataset.X[pool])}
        return Problem(name, inputs, {"y_seen": np.isin(pool, seen), "row_pool": pool}, {"dataset": dataset.name})

    def run(self, method, problem, statistics):
        """Fit once and score."""
        DensityProtocol().fit(method, problem.inputs, None)
        density = np.asarray(DensityProtocol().score(method, problem.inputs, None)["density"])
        if density.shape != (len(problem.inputs["X_pool"]),) or not np.isfinite(density).all():
            raise MethodError("densities are not finite, one for every row")
        yield 1, {"density": density}

    def score(self, problem, outputs, validation_choices, *, full):
        """Return the area under the curve."""
        seen, density = problem.truth["y_seen"], outputs["density"]
        above = density[seen][:, None] > density[~seen]
        return Outcome({"auc": float(above.mean())})

    def chance(self, problem):
        """Return a half."""
        return 0.5

    def model_content(self, method, problem, validation_choices):
        """Return nothing: the method is all."""
        return ModelContent()


@hookimpl
def zslplat_kinds():
    """The kind, whole."""
    return {
        "density": Kind(
            noun="density",
            protocol=f"{HERE}:DensityProtocol",
            pipeline=f"{HERE}:DensityPipeline",
            model=f"{HERE}:DensityModel",
            kit=f"{HERE}:DensityKit",
            usage="--task novelty",
        )
    }


@hookimpl
def zslplat_methods():
    """Its method."""
    return {"gaussian-density": f"{HERE}:Gaussian"}


@hookimpl
def zslplat_tasks():
    """Its task."""
    return {"novelty": f"{HERE}:Novelty"}
