"""What the pipelines of all kinds share, and how one is made of a method or its spec (:func:`make`)."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from zslplat import registry
from zslplat.data.assembly import checked_features
from zslplat.data.dataset import check_finite
from zslplat.data.formats.array_likes import numbers_of
from zslplat.data.store.preprocessing import Preprocessing, preprocessed
from zslplat.data.store.rows import Rows, check_rows_differ
from zslplat.errors import DataError, UsageError
from zslplat.kinds import load_part
from zslplat.methods.base import BaseEstimator, Method
from zslplat.registry import known_as
from zslplat.spec import Spec

_ESTIMATORS: WeakKeyDictionary[type[Method], type[Pipeline]] = WeakKeyDictionary()
_STEPS = """features, signatures : text, default None
    preprocessing in place of the method's own, such as "center,l2" or "none"
"""


class UnfittedError(UsageError, NotFittedError):  # type: ignore[misc]  # scikit-learn carries no types
    """A pipeline is asked before it was fitted."""


class Pipeline(BaseEstimator):
    """A method with its preprocessing, as a scikit-learn estimator.

    A subclass of a kind's pipeline for each method (:func:`estimator_of`) takes the method's hyperparameters, and
    ``features`` and ``signatures``, steps in place of its own, as the options of the same names of the commands
    (``"center,l2"``, ``"none"``). ``method`` is the method with these hyperparameters.

    Learned: ``method_``, the fitted method; ``n_features_in_``; ``feature_names_in_`` where the rows came as a
    DataFrame.

    Raises :class:`~zslplat.errors.UnknownNameError` for an unknown hyperparameter or step, and
    :class:`~zslplat.errors.UsageError` for an illegal value.
    """

    kind: ClassVar[str]
    example: ClassVar[str] = ""  # of its calls, with {name} for the class
    method_class: ClassVar[type[Method]]
    method_: Method

    def __init__(self, *, features: str | None = None, signatures: str | None = None, **parameters: Any) -> None:
        self.features, self.signatures = features, signatures
        self.method = self.method_class.build(plain_values(parameters))
        for what, steps in (("features", features), ("signatures", signatures)):
            if not isinstance(steps, str | None):
                raise UsageError(f"{what}={steps!r}: expected steps as a text, such as 'center,l2'")
        self.preprocessing  # noqa: B018 - raises for steps that are unknown

    def __reduce__(self) -> tuple[Any, ...]:
        return _empty, (self.method_class,), vars(self)

    @property
    def preprocessing(self) -> Preprocessing:
        """The steps that are applied: the method's own, or those that were given in their place."""
        return self.method.effective_preprocessing.overridden(self.features, self.signatures)

    @property
    def scores_jointly(self) -> bool:
        """Whether the rows of a batch are scored jointly (the method is transductive): another batch, other scores."""
        return bool(self.method.transductive)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the hyperparameters of the method and the options of the pipeline by name."""
        return {**self.method.get_params(deep), **{name: getattr(self, name) for name in _options(type(self))}}

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name; raises UnknownNameError for a name that neither pipeline nor method has."""
        values = self.get_params(deep=False) | parameters
        type(self).__init__(self, **values)
        return self

    def _sk_visual_block_(self) -> Any:
        """Return the picture of notebooks: the preprocessing, then the method."""
        from sklearn.pipeline import make_pipeline

        steps = [f"{name}: {self.preprocessing.text_of(name)}" for name in ("features", "signatures")]
        return make_pipeline(*steps, known_as(self.method_class))._sk_visual_block_()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "method_")

    def _begun(self, X: Any) -> tuple[Method, Any]:
        """Return a fresh method, and the training rows after preprocessing, whose steps are kept."""
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


if TYPE_CHECKING:
    # Of which kind ``make`` gives a pipeline is known when it runs: what the pipelines of all kinds can do.
    class AnyPipeline(Pipeline):
        def fit(self, *data: Any, **more: Any) -> Self: ...
        def predict(self, *data: Any, **more: Any) -> np.ndarray: ...
        def decision_function(self, *data: Any, **more: Any) -> np.ndarray: ...
        def score(self, *data: Any, **more: Any) -> float: ...
        def transform(self, *data: Any, **more: Any) -> np.ndarray: ...
        def get_support(self, indices: bool = False) -> np.ndarray: ...
        def similarity(self, queries: Any, gallery: Any = None) -> np.ndarray: ...
        def rank(self, queries: Any, gallery: Any, k: int | None = None) -> np.ndarray: ...

        classes_: np.ndarray
        seen_: np.ndarray
        ranking_: np.ndarray


def make(
    method: str | Spec | Method | type[Method],
    *,
    features: str | None = None,
    signatures: str | None = None,
    **parameters: Any,
) -> AnyPipeline:
    """Return a method with its preprocessing, as a scikit-learn estimator that is not fitted yet.

    ``method`` is a spec as ``--method`` takes it (``"eszsl(alpha=.01, gamma=.01)"``), a method or its class;
    ``parameters`` are further hyperparameters, ``features`` and ``signatures`` preprocessing steps in place of the
    method's own (``"center,l2"``, ``"none"``). The result is of the class that :mod:`zslplat.estimators` has for the
    method.

    Raises :class:`~zslplat.errors.UnknownNameError` for an unknown method or hyperparameter, and
    :class:`~zslplat.errors.UsageError` for illegal values and for a kind of methods without a pipeline.

    >>> pipeline = make("eszsl(alpha=.01)", gamma=.1)
    >>> pipeline
    ESZSL(alpha=0.01, gamma=0.1)
    >>> pipeline.preprocessing.text_of("features")
    'split,l2'
    """
    values: Mapping[str, Any] = {}
    if isinstance(method, Method):
        owner, parameters = type(method), {**method.get_params(deep=False), **parameters}
    elif isinstance(method, type) and issubclass(method, Method):
        owner = method
    elif isinstance(method, str | Spec):
        spec = Spec.parse(method) if isinstance(method, str) else method
        owner, values = registry.component("methods", spec.name), spec.parameters
    else:
        raise UsageError(f"method={method!r}: expected a spec such as 'eszsl(alpha=.01)', a method or its class")
    twice = sorted(set(parameters) & set(values))
    if twice:
        raise UsageError(f"{twice[0]} is given twice, in {method} and as {twice[0]}={parameters[twice[0]]!r}")
    texts = {name: str(value) if isinstance(value, Spec) else value for name, value in values.items()}
    pipeline: AnyPipeline = estimator_of(owner)(features=features, signatures=signatures, **texts, **parameters)
    return pipeline


def estimator_of(method: type[Method]) -> Any:
    """Return the pipeline class of a method: it takes its hyperparameters by name, and is called as its kind is."""
    if method in _ESTIMATORS:
        return _ESTIMATORS[method]
    base = load_part(method.kind, "pipeline")
    keyword = inspect.Parameter.KEYWORD_ONLY
    listed = [inspect.Parameter(name, keyword, default=one.default) for name, one in method.parameters.items()]
    listed += _options(base).values()

    def __init__(self: Pipeline, **values: Any) -> None:
        base.__init__(self, **values)

    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    __init__.__signature__ = inspect.Signature([first, *listed])  # type: ignore[attr-defined]
    meanings = "".join(
        f"{name} : {one.legal}, default {one.default!r}\n    {one.description}\n"
        for name, one in method.parameters.items()
    )
    meaning = (inspect.getdoc(method) or "").partition("\n\nEquations\n")[0]  # a section that notebooks do not know
    example = inspect.cleandoc(base.example.format(name=method.__name__))
    document = f"{meaning}\n\nParameters\n----------\n{meanings}{_STEPS}"
    document += f"\nExamples\n--------\n{example}\n" if example else ""
    members = {"method_class": method, "__init__": __init__, "__doc__": document, "__module__": "zslplat.estimators"}
    _ESTIMATORS[method] = type(method.__name__, (base,), members)
    return _ESTIMATORS[method]


def plain_values(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return hyperparameters with numbers of NumPy as Python's."""
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in parameters.items()}


def _options(pipeline: type[Pipeline]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a pipeline beside those of its method."""
    base = next(one for one in pipeline.__mro__ if "method_class" not in vars(one))
    parameters = inspect.signature(base).parameters
    return {name: one for name, one in parameters.items() if one.kind is one.KEYWORD_ONLY}


def _empty(method: type[Method]) -> Any:
    """Return a pipeline that a pickle fills."""
    pipeline = estimator_of(method)
    return pipeline.__new__(pipeline)
