"""What the pipelines of all kinds share, and how one is made of a method or its spec (:func:`make`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from zslplat import registry
from zslplat.data.assembly import checked_features
from zslplat.data.dataset import check_finite
from zslplat.data.formats.array_likes import numbers_of
from zslplat.data.store.preprocessing import Preprocessing, preprocessed
from zslplat.data.store.rows import Rows, check_rows_differ
from zslplat.errors import DataError, UnknownNameError, UsageError
from zslplat.kinds import load_part
from zslplat.methods.base import BaseEstimator, Method
from zslplat.registry import known_as
from zslplat.spec import Spec


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
        return self.method.effective_preprocessing.overridden(self.features, self.signatures)

    @property
    def scores_jointly(self) -> bool:
        """Whether the rows of a batch are scored jointly (the method is transductive): another batch, other scores."""
        return bool(self.method.transductive)

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name; raises UnknownNameError for a name that neither pipeline nor method has."""
        outer, inner = set(self._get_param_names()), set(self.method.get_params(deep=False))
        values = {}
        for name, value in parameters.items():
            bare = name.removeprefix("method__")
            if name in outer:
                values[name] = value
            elif bare in inner:
                values[f"method__{bare}"] = value
            else:
                raise UnknownNameError(f"parameter of {known_as(type(self.method))}", name, {*outer, *inner})
        super().set_params(**values)
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
        return _as_given(X, self._rows(X, fitting=False).with_steps(self._steps))

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
            arrays = {str(name): _checked(values, _where(name)) for name, values in views.items()}
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
            raise DataError(
                f"rows of X are {_shape_text(shape)}; the pipeline was fitted on rows of {_shape_text(self._shape)}"
            )
        before = vars(self).get("feature_names_in_")
        if names is not None and before is not None and not np.array_equal(names, before):
            place = int(np.argmax(names != before))
            raise DataError(
                f"column {place} of X is {str(names[place])!r} and was {str(before[place])!r} in the fit; give the "
                "columns in the same order"
            )


def _checked(values: Any, where: str) -> np.ndarray:
    array = np.asarray(checked_features(numbers_of(values, where), where))
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


def _shape_text(shape: Mapping[str, tuple[int, ...]]) -> str:
    texts = [" x ".join(map(str, one)) + (f" ({name})" if name else "") for name, one in shape.items()]
    return " and ".join(texts) + " columns" * all(len(one) == 1 for one in shape.values())


def make(
    method: str | Spec | Method | type[Method],
    *,
    features: str | None = None,
    signatures: str | None = None,
    **parameters: Any,
) -> Pipeline:
    """Return a method with its preprocessing, as a scikit-learn estimator that is not fitted yet.

    ``method`` is a spec as ``--method`` takes it (``"eszsl(alpha=.01, gamma=.01)"``), an estimator or its class;
    ``parameters`` are further hyperparameters, ``features`` and ``signatures`` preprocessing steps in place of the
    method's own (``"center,l2"``, ``"none"``). The result is the pipeline of the method's kind, for instance a
    :class:`~zslplat.families.zero_shot.pipeline.ZeroShotPipeline`.

    Raises :class:`~zslplat.errors.UnknownNameError` for an unknown method or hyperparameter, and
    :class:`~zslplat.errors.UsageError` for illegal values and for a kind of methods without a pipeline.

    >>> pipeline = make("eszsl(alpha=.01)", gamma=.1)
    >>> pipeline.get_params()["method__gamma"]
    0.1
    >>> pipeline.preprocessing.text_of("features")
    'split,l2'
    """
    for what, steps in (("features", features), ("signatures", signatures)):
        if not isinstance(steps, str | None):
            raise UsageError(f"{what}={steps!r}: expected steps as a text, such as 'center,l2'")
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in parameters.items()}
    built = method_of(method, plain)
    pipeline: Pipeline = load_part(built.kind, "pipeline")(built, features=features, signatures=signatures)
    pipeline.preprocessing  # noqa: B018 - raises for steps that are unknown
    return pipeline


def method_of(method: str | Spec | Method | type[Method], parameters: dict[str, Any]) -> Method:
    """Return a method with further hyperparameters; raises :class:`UsageError` for one that is given twice."""
    if isinstance(method, Method):
        built = method
        return type(built).build({**built.get_params(deep=False), **parameters}) if parameters else built
    if isinstance(method, type) and issubclass(method, Method):
        return method.build(parameters)
    if not isinstance(method, str | Spec):
        raise UsageError(f"method={method!r}: expected a spec such as 'eszsl(alpha=.01)', a method or its class")
    spec = Spec.parse(method) if isinstance(method, str) else method
    twice = sorted(set(parameters) & set(spec.parameters))
    if twice:
        raise UsageError(f"{twice[0]} is given twice, in {spec} and as {twice[0]}={parameters[twice[0]]!r}")
    values = {name: str(value) if isinstance(value, Spec) else value for name, value in spec.parameters.items()}
    made: Method = registry.component("methods", spec.name).build({**values, **parameters})
    return made
