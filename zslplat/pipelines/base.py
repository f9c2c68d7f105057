"""What the pipelines of all kinds share, and how one is made of a method or its spec (:func:`make`).

Labels of rows and names of classes, as people give them: positions or names, in arrays, lists or tables.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from zslplat import registry
from zslplat.data.assembly import checked_features, looks_transposed
from zslplat.data.dataset import check_finite
from zslplat.data.formats.array_likes import array_of, named_columns, numbers_of, plain_labels, table_of
from zslplat.data.store.precision import DOUBLE, in_type
from zslplat.data.store.preprocessing import Preprocessing, preprocessed
from zslplat.data.store.rows import Rows, check_rows_differ
from zslplat.errors import DataError, UnknownNameError, UsageError, quoted
from zslplat.kinds import load_part
from zslplat.methods.base import BaseEstimator, Method
from zslplat.registry import known_as
from zslplat.spec import Spec

_INTEGERS = "iu"


class Signatures:
    """Signatures of classes as they were given.

    ``values`` (m, a); ``classes`` (c,) what each class is called, positions where nothing was said, and ``named``
    whether anything was; ``described`` (m,) the class of each row of ``values``, None where row j describes class j;
    ``attributes`` (a,) what the columns are called, None where nothing was said.
    """

    def __init__(
        self,
        values: np.ndarray,
        classes: np.ndarray,
        described: np.ndarray | None,
        *,
        named: bool,
        attributes: tuple[str, ...] | None = None,
    ) -> None:
        self.values, self.classes, self.described, self.named = values, classes, described, named
        self.attributes = attributes

    def __len__(self) -> int:
        return len(self.classes)

    def ordered_as(self, reference: Signatures) -> Signatures:
        """Return these with their columns in the order of others, by their names where both have them.

        Raises :class:`DataError` for another number of attributes, or other ones.
        """
        width = reference.values.shape[1]
        if self.values.shape[1] != width:
            raise DataError(f"S has {self.values.shape[1]} attributes; the pipeline was fitted on {width}")
        names, expected = self.attributes, reference.attributes
        counted = tuple(map(str, range(width)))
        if expected is None and names is not None and set(names) == set(counted):
            expected = counted  # columns of a frame that were numbers, in order then and in another now
        if names is None or expected is None or names == expected:
            return self
        lost = next((name for name in expected if name not in names), None)
        if lost is not None or len(set(names)) < len(names):
            what = f"attribute {quoted(lost)} is missing" if lost is not None else "an attribute is there twice"
            raise DataError(f"columns of S are not those of the fit: {what}; give the same attributes, in any order")
        values = self.values[:, [names.index(name) for name in expected]]
        return Signatures(values, self.classes, self.described, named=self.named, attributes=expected)

    def only(self, ids: np.ndarray) -> Signatures:
        """Return the signatures of some classes, by ascending ids."""
        values, described = self.of(ids)
        return Signatures(values, self.classes[ids], described, named=self.named, attributes=self.attributes)

    def of(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the signatures of some classes, in ascending order of ids, and the class (within these) of each row.

        None in place of the classes where there is one row for each.
        """
        if self.described is None:
            return self.values[ids], None
        rows = np.flatnonzero(np.isin(self.described, ids))
        rows = rows[np.argsort(self.described[rows], kind="stable")]
        compact = np.searchsorted(ids, self.described[rows])
        return self.values[rows], compact if len(rows) > len(ids) else None


def read_signatures(S: Any, classes: Sequence[Any] | None, what: str = "S") -> Signatures:
    """Read signatures (m, a): an array, a DataFrame whose index names the class of each row, or {class: signature}.

    ``classes`` (m,) names the class of each row in place of the index. A class that is named in several rows has
    several signatures. Raises :class:`DataError` for what is no matrix of finite numbers.
    """
    if S is None:
        raise UsageError(f"{what} is missing; write fit(X, y, S): the signatures of the classes, one row per class")
    if isinstance(S, Mapping):
        if classes is not None:
            raise UsageError(f"{what} names its classes, and so does classes; give one of the two")
        S, classes = table_of(S, what)
    index = getattr(S, "index", None)
    values = numbers_of(S, what)
    if values.ndim != 2 or 0 in values.shape:
        raise DataError(f"{what} has shape {values.shape}; expected (classes, attributes)")
    if values.dtype not in (np.float32, np.float64):
        values = in_type(values, DOUBLE, what)
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values).all(axis=1)))
        raise DataError(f"{what}: row {row} holds NaN or infinity")
    named = classes is not None or _is_named(index)
    labels = classes if classes is not None else index if named else np.arange(len(values))
    names, attributes = _entries(labels, "classes"), named_columns(S)
    if names.shape != (len(values),):
        hint = looks_transposed(values.shape, len(names), "class") if names.ndim == 1 else ""
        raise DataError(f"{what} has {len(values)} rows and classes names {names.size}; give a name for each row{hint}")
    order, first, inverse = np.unique(names, return_index=True, return_inverse=True)
    if len(order) == len(names):
        return Signatures(values, names, None, named=named, attributes=attributes)
    # Classes come in the order in which they are named first.
    place = np.argsort(np.argsort(first))
    described = place[inverse.reshape(-1)]
    return Signatures(values, names[np.sort(first)], described, named=named, attributes=attributes)


def class_numbers(y: Any, described: Signatures, what: str = "y") -> np.ndarray:
    """Return which of the known classes each label (n,) is: labels are names, or positions among the classes.

    Raises :class:`DataError` for a label that is neither.
    """
    labels = _entries(y, what)
    if labels.ndim == 2 and 1 in labels.shape:
        labels = labels.reshape(-1)
    if labels.ndim != 1:
        raise DataError(f"{what} has shape {labels.shape}; expected one label per row, (n,)")
    integers = labels.dtype.kind in _INTEGERS
    if not integers and not described.named:
        raise DataError(
            f"{what} holds {_shown(labels)}, and classes have no names; give a DataFrame of signatures whose index "
            "names the classes, or classes=[...], or label rows by the number of their class"
        )
    if described.named and (not integers or _are_names(labels, described.classes)):
        return _positions(labels, described.classes, what)
    if len(labels) and (labels.min() < 0 or labels.max() >= len(described)):
        raise DataError(
            f"{what} runs from {labels.min()} to {labels.max()}, but there are signatures of {len(described)} classes, "
            "counted from 0"
        )
    return np.asarray(labels, dtype=np.int64)


def _are_names(labels: np.ndarray, names: np.ndarray) -> bool:
    """Tell whether labels that are numbers are what the classes are called, also where these are texts."""
    return names.dtype.kind in _INTEGERS or bool(np.isin(labels.astype(np.str_), names).all())


def _positions(labels: np.ndarray, names: np.ndarray, what: str) -> np.ndarray:
    if (labels.dtype.kind in _INTEGERS) != (names.dtype.kind in _INTEGERS):
        labels, names = labels.astype(np.str_), names.astype(np.str_)
    numbers = {name: number for number, name in enumerate(names.tolist())}
    strange = [label for label in dict.fromkeys(labels.tolist()) if label not in numbers]
    if strange:
        raise UnknownNameError(f"class in {what}", str(strange[0]), [str(name) for name in numbers])
    return np.array([numbers[label] for label in labels.tolist()], dtype=np.int64)


def _entries(values: Any, what: str) -> np.ndarray:
    """Return labels or names as an array of texts or integers; raises :class:`DataError` for a missing one."""
    entries = plain_labels(array_of(values, what), what)
    if entries.dtype.kind not in "iuUSb":
        raise DataError(f"labels are of type {entries.dtype}; expected names, or numbers of classes")
    return (
        entries.astype(np.str_)
        if entries.dtype.kind == "S"
        else entries.astype(np.int64)
        if entries.dtype == bool
        else entries
    )


def _is_named(index: Any) -> bool:
    """Tell whether a DataFrame's index names its rows, rather than counting them."""
    return index is not None and not callable(index) and not _counts(index)


def _counts(index: Any) -> bool:
    values = np.asarray(index)
    return values.dtype.kind in _INTEGERS and bool(np.array_equal(values, np.arange(len(values))))


def _shown(values: np.ndarray) -> str:
    return quoted(values.reshape(-1)[0].item() if values.size else None)


def read_labels(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return labels as numbers (n,) from 0 on with the classes (c,), ascending; or (n, c) of 1, 0 and -1 as they are.

    Columns of a DataFrame of several labels name the classes. Raises :class:`DataError` for other shapes and values.
    """
    columns = getattr(y, "columns", None)
    labels = _entries(y, "y")
    if labels.ndim == 2 and 1 in labels.shape:
        labels = labels.reshape(-1)
    if labels.ndim == 1:
        classes, numbers = np.unique(labels, return_inverse=True)
        return numbers.reshape(-1).astype(np.int64), classes
    if labels.ndim != 2 or not np.isin(labels, (-1, 0, 1)).all():
        raise DataError(
            f"y has shape {labels.shape}; expected one label per row (n,), or several as a matrix (n, c) of 1 "
            "(present), 0 (absent) and -1 (not counted)"
        )
    names = np.arange(labels.shape[1]) if columns is None else np.asarray([str(name) for name in columns])
    return labels, names


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
        of_variant = self.method_class.variants.get(str(parameters.get("variant")), {})
        values = {**self.get_params(deep=False), **of_variant, **parameters}
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
