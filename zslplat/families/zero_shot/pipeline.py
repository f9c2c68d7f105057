"""Zero-shot methods with their preprocessing: fit on rows of seen classes, predict among any classes by signature."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from zslplat.data.store.preprocessing import FrozenSteps, fit_steps, looks_at_all_classes
from zslplat.errors import DataError, OutcomeWarning, UsageError, quoted
from zslplat.families.zero_shot.methods.base import ZeroShotProtocol
from zslplat.families.zero_shot.task import checked_scores, signatures_for
from zslplat.metrics.accuracy import per_class_accuracy
from zslplat.pipelines.base import Pipeline, Signatures, class_numbers, read_signatures
from zslplat.registry import known_as

CALLS = ZeroShotProtocol()


class ZeroShotPipeline(Pipeline):
    """A zero-shot method with its preprocessing.

    ``fit(X, y, S)`` learns of rows X (n, d) of seen classes; ``predict(X, S)`` tells rows apart among the classes that
    S (c, a) describes, seen or not. S is an array whose row j describes class j, a DataFrame whose index names the
    classes, or {class: signature}; ``classes`` names them in place of an index, and one that is named in several rows
    has several signatures. Where the columns are named, those of later signatures are found by their names. Labels are
    names of classes, or their positions in S.

    Classes of the fit's S without a training row are unseen. They play no part in what the method learns; preprocessing
    that looks at the signatures of all classes (``center_all``) knows them, as it does in a task.

    Learned, beside what all pipelines have: ``classes_`` (c,), the classes of the fit's S, and ``seen_`` (c,) bool,
    those that were trained on.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> S = rng.normal(size=(12, 6))
    >>> y = np.repeat(np.arange(8), 20)
    >>> X = S[y] @ rng.normal(size=(6, 10)) + .1 * rng.normal(size=(160, 10))
    >>> pipeline = make("eszsl(alpha=.01, gamma=.01)").fit(X, y, S)
    >>> pipeline.predict(X[::40], S)
    array([0, 2, 4, 6])
    >>> int(pipeline.seen_.sum())
    8
    """

    kind = "zero-shot"
    # Signatures reach these calls through the searches and pipelines of scikit-learn.
    __metadata_request__fit = __metadata_request__predict = __metadata_request__decision_function = {"S": True}
    __metadata_request__score = {"S": True, "sample_weight": None}  # which pipelines of scikit-learn always name
    example = """
    >>> import zslplat
    >>> from zslplat.estimators import {name}
    >>> data = zslplat.load_dataset("synthetic(classes_seen=8, rows_train=96, dimensions=16, attributes=16)")
    >>> train, test = data.rows("train"), data.rows("test_unseen")
    >>> model = {name}().fit(data.X[train], data.y[train], data.S)
    >>> model.predict(data.X[test], data.S).shape == test.shape
    True
    """

    def fit(self, X: Any, y: Any, S: Any, *, classes: Sequence[Any] | None = None) -> Self:
        """Learn preprocessing and method of rows X (n, d), their labels y (n,) and the signatures S of the classes.

        Raises :class:`~zslplat.errors.DataError` where shapes do not fit, values are not finite, a label has no
        signature or fewer than two classes have rows.
        """
        described_classes = read_signatures(S, classes)
        numbers = class_numbers(y, described_classes)
        method, rows = self._begun(X)
        if len(rows) != len(numbers):
            raise DataError(f"{len(rows)} rows in X but {len(numbers)} labels in y")
        seen = np.unique(numbers)
        if len(seen) < 2:
            raise DataError(f"y holds {len(seen)} class; at least two are needed to learn from")
        values, described = described_classes.of(seen)
        unseen, _ = described_classes.of(np.setdiff1d(np.arange(len(described_classes)), seen))
        steps = self.preprocessing.signatures
        if looks_at_all_classes(steps) and not len(unseen):
            warnings.warn(
                OutcomeWarning(
                    f"preprocessing of signatures ({','.join(steps)}) looks at those of all classes, and S describes "
                    "none without training rows; give the rows of the other classes, too, as a task does"
                ),
                stacklevel=2,
            )
        self._signature_steps = fit_steps(steps, values, every=np.vstack([values, unseen]))
        inputs = {"X": rows, "y": np.searchsorted(seen, numbers)}
        CALLS.fit(method, inputs | signatures_for(method, self._inputs("", values, described), ""), None)
        self.method_, self._known = method, described_classes
        self.classes_, self.seen_ = described_classes.classes, np.isin(np.arange(len(described_classes)), seen)
        return self

    def decision_function(
        self, X: Any, S: Any = None, *, classes: Sequence[Any] | None = None, seen: Any = None
    ) -> np.ndarray:
        """Return scores (n, c) of rows X (n, d) against the classes of S, higher for more compatible ones.

        Columns are the classes in the order of S; without S they are those of the fit, ``classes_``. ``seen`` (c,)
        marks those that were trained on, for methods that ask; by default those whose name was, or where classes have
        no names those whose signature was. A method that scores a batch jointly (``scores_jointly``) knows of the other
        rows of X, and refuses a single one.
        """
        self._require_fitted()
        return self._scores(X, *self._candidates(S, classes, seen))

    def predict(self, X: Any, S: Any = None, *, classes: Sequence[Any] | None = None, seen: Any = None) -> np.ndarray:
        """Return the class (n,) of S with the highest score for each row: its name, or its position in S."""
        self._require_fitted()
        candidates, mask = self._candidates(S, classes, seen)
        return np.asarray(candidates.classes[self._scores(X, candidates, mask).argmax(axis=1)])

    def score(
        self,
        X: Any,
        y: Any,
        S: Any = None,
        *,
        classes: Sequence[Any] | None = None,
        seen: Any = None,
        generalised: bool | None = None,
    ) -> float:
        """Return the mean per-class accuracy of rows X (n, d) with labels y (n,), given as in fit.

        Rows of unseen classes are told apart among the unseen classes of S, as in task ``zsl``; with
        ``generalised=True``, or where y holds a class that was trained on, among all classes of S.

        Raises :class:`~zslplat.errors.DataError` for a label that is none of the classes of S, and
        :class:`~zslplat.errors.UsageError` for ``generalised=False`` where y holds a class that was trained on.
        """
        self._require_fitted()
        candidates, mask = self._candidates(S, classes, seen)
        numbers = class_numbers(y, candidates)
        trained = mask[numbers]
        if generalised is False and trained.any():
            name = quoted(candidates.classes[numbers[trained.argmax()]].item())
            raise UsageError(
                f"y holds class {name}, which was trained on; generalised=True takes seen and unseen classes"
            )
        if not (generalised or trained.any() or mask.all()):
            unseen = np.flatnonzero(~mask)
            candidates, mask, numbers = candidates.only(unseen), mask[unseen], np.searchsorted(unseen, numbers)
        scores = self._scores(X, candidates, mask)
        if len(numbers) != len(scores):
            raise DataError(f"{len(scores)} rows in X but {len(numbers)} labels in y")
        return per_class_accuracy(numbers, scores.argmax(axis=1))

    def _candidates(self, S: Any, classes: Sequence[Any] | None, seen: Any) -> tuple[Signatures, np.ndarray]:
        """Return the classes to tell apart, and which of them were trained on."""
        if S is None:
            if classes is not None:
                raise UsageError("classes names the rows of S; give S, too")
            candidates = self._known
        else:
            candidates = read_signatures(S, classes).ordered_as(self._known)
        fitted = self._known
        if seen is not None:
            return candidates, _mask(seen, candidates)
        if candidates is fitted or (not candidates.named and np.array_equal(candidates.values, fitted.values)):
            return candidates, self.seen_
        if candidates.named and fitted.named:
            return candidates, np.isin(candidates.classes, self.classes_[self.seen_])
        trained = {row.tobytes() for row in fitted.of(np.flatnonzero(self.seen_))[0].astype(np.float64)}
        firsts = (
            np.arange(len(candidates))
            if candidates.described is None
            else np.unique(candidates.described, return_index=True)[1]
        )
        return candidates, np.array([row.tobytes() in trained for row in candidates.values[firsts].astype(np.float64)])

    def _scores(self, X: Any, candidates: Signatures, seen: np.ndarray) -> np.ndarray:
        rows = self._later(X)
        if self.scores_jointly and len(rows) < 2:
            raise UsageError(
                f"{known_as(type(self.method))} scores the rows of a batch jointly, and {len(rows)} make none; give "
                "all rows that are to be told apart at once"
            )
        values, described = candidates.of(np.arange(len(candidates)))
        method = self.method_
        signatures = signatures_for(method, self._inputs("_pool", values, described), "_pool")
        # What a method remembers of one batch must not tell it about the next.
        scorer = copy.deepcopy(method) if self.scores_jointly else method
        scores = CALLS.score(scorer, {"X_pool": rows, "seen": seen, **signatures}, None)["scores"]
        return checked_scores(method, scores, (len(rows), len(candidates)))

    def _inputs(self, suffix: str, values: np.ndarray, described: np.ndarray | None) -> dict[str, np.ndarray]:
        steps: FrozenSteps = self._signature_steps
        inputs = {f"S{suffix}": steps.apply(values)}
        return inputs if described is None else {**inputs, f"signature_class{suffix}": described}


def _mask(seen: Any, candidates: Signatures) -> np.ndarray:
    """Return which candidates (c,) are seen: from a mask, or from their names or positions."""
    values = np.asarray(seen)
    if values.dtype == bool:
        if values.shape != (len(candidates),):
            raise DataError(f"seen has shape {values.shape}; expected a mask ({len(candidates)},), or names of classes")
        return values
    if values.ndim != 1:
        raise UsageError(f"seen={quoted(seen)}: expected a mask of the classes of S, or the names of some")
    return np.isin(np.arange(len(candidates)), class_numbers(values, candidates, "seen"))
