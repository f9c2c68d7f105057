"""What the pipelines of all kinds share: parameters, rows as people give them, preprocessing that is learned once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from zslplat.data.assembly import checked_features
from zslplat.data.dataset import check_finite
from zslplat.data.formats.array_likes import numbers_of
from zslplat.data.store.preprocessing import Preprocessing, preprocessed
from zslplat.data.store.rows import Rows, check_rows_differ
from zslplat.errors import DataError, UnknownNameError, UsageError
from zslplat.methods.base import BaseEstimator, Method
from zslplat.registry import known_as


class UnfittedError(UsageError, NotFittedError):  # type: ignore[misc]  # scikit-learn carries no types
    """A pipeline is asked before it was fitted."""


class Pipeline(BaseEstimator):
    """A method with its preprocessing, as a scikit-learn estimator.

    ``method`` is the method with its hyperparameters, ``features`` and ``signatures`` are steps in place of its own, as
    the options of the same names of the commands (``"center,l2"``, ``"none"``). Parameters of the method are reached as
    ``method__alpha``, and ``set_params`` takes them by their own names, too.

    Learned: ``method_``, the fitted method; ``n_features_in_``; ``feature_names_in_`` where the rows came as a
    DataFrame.
    """

    kind: ClassVar[str]
    method_: Method

    def __init__(self, method: Method, *, features: str | None = None, signatures: str | None = None) -> None:
        self.method = method
        self.features = features
        self.signatures = signatures

    @property
    def preprocessing(self) -> Preprocessing:
        """The steps that are applied: the method's own, or those that were given in their place."""
        return self.method.wanted_preprocessing.overridden(self.features, self.signatures)

    @property
    def scores_jointly(self) -> bool:
        """Whether the rows of a batch are scored jointly (the method is transductive): another batch, other scores."""
        return bool(self.method.transductive)

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name; raises UnknownNameError for a name that neither pipeline nor method has."""
        own, inner = set(self._get_param_names()), set(self.method.get_params(deep=False))
        asked = {}
        for name, value in parameters.items():
            bare = name.removeprefix("method__")
            if name in own:
                asked[name] = value
            elif bare in inner:
                asked[f"method__{bare}"] = value
            else:
                raise UnknownNameError(f"parameter of {known_as(type(self.method))}", name, {*own, *inner})
        super().set_params(**asked)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "method_")

    def _begun(self, X: Any) -> tuple[Method, Any]:
        """Return a fresh method, and the training rows after preprocessing, whose steps are kept."""
        if not isinstance(self.method, Method) or self.method.kind != self.kind:
            raise UsageError(f"{type(self).__name__} takes a {self.kind} method, not {self.method!r}; use zslplat.make")
        method = clone(self.method)
        method.check_parameters()
        rows = self._rows(X, fitting=True)
        check_rows_differ("X", rows)
        done = preprocessed([rows], self.preprocessing)[0]
        self._steps = [part.steps for part in done.parts]
        if done.views:
            method.take_views(done.views)
        return method, _as_given(X, done)

    def _later(self, X: Any) -> Any:
        """Return rows that come later, after the steps that were learned of the training rows."""
        self._require_fitted()
        return _as_given(X, self._rows(X, fitting=False).after(self._steps))

    def _require_fitted(self) -> None:
        if not hasattr(self, "method_"):
            raise UnfittedError(f"this pipeline of {known_as(type(self.method))} is not fitted; call fit first")

    def _rows(self, X: Any, *, fitting: bool) -> Rows:
        """Return rows as they were given, checked; raises :class:`DataError` where they are not like the training rows.

        An array, a DataFrame, rows of a data set, or {view: array} of several feature sets of the same rows.
        """
        names = _column_names(X)
        if isinstance(X, Rows):
            rows = X
        else:
            views = X if isinstance(X, Mapping) and names is None else {"": X}
            arrays = {str(name): _checked(given, _where(name)) for name, given in views.items()}
            if not arrays:
                raise DataError("X holds no feature set; expected rows (n, d)")
            rows = Rows.of(arrays)
        shape = {part.view.name: part.view.shape for part in rows.parts}
        if fitting:
            self._shape = shape
            self.n_features_in_ = int(sum(np.prod(one) for one in shape.values()))
            vars(self).pop("feature_names_in_", None)
            if names is not None:
                self.feature_names_in_ = names
            return rows
        self._compare(shape, names)
        return rows

    def _compare(self, shape: dict[str, tuple[int, ...]], names: np.ndarray | None) -> None:
        if shape != self._shape:
            raise DataError(f"rows of X are {_told(shape)}; the pipeline was fitted on rows of {_told(self._shape)}")
        known = vars(self).get("feature_names_in_")
        if names is not None and known is not None and not np.array_equal(names, known):
            place = int(np.argmax(names != known))
            raise DataError(
                f"column {place} of X is {str(names[place])!r} and was {str(known[place])!r} in the fit; give the "
                "columns in the same order"
            )


def _checked(given: Any, where: str) -> np.ndarray:
    array = np.asarray(checked_features(numbers_of(given, where), where))
    check_finite(where, array)
    return array


def _where(view: object) -> str:
    return f"X, view {view!r}" if view else "X"


def _column_names(X: Any) -> np.ndarray | None:
    columns = getattr(X, "columns", None)
    if columns is None or callable(columns) or isinstance(X, Rows):
        return None
    return np.asarray([str(name) for name in columns], dtype=object)


def _as_given(X: Any, rows: Rows) -> Any:
    """Return rows in files as such, for methods that take blocks; those in memory as an array."""
    return rows if isinstance(X, Rows) else np.asarray(rows)


def _told(shape: Mapping[str, tuple[int, ...]]) -> str:
    texts = [" x ".join(map(str, one)) + (f" ({name})" if name else "") for name, one in shape.items()]
    return " and ".join(texts) + " columns" * all(len(one) == 1 for one in shape.values())
