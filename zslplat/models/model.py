"""A saved model that is ready for new rows: its method restored, the preprocessing that it was fitted with in front."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from zslplat import registry
from zslplat.data.formats.array_likes import named_columns, numbers_of
from zslplat.data.store.preprocessing import FrozenFeatures
from zslplat.data.store.rows import View
from zslplat.errors import DataError, StoreError, UnknownNameError, UsageError, ZslplatError, quoted
from zslplat.keys import COLUMNS
from zslplat.kinds import load_part
from zslplat.methods.rows import require_finite
from zslplat.models.folder import Model, read_model, unfit
from zslplat.spec import Spec

# What a method may make of a block of rows at a time: rows times what each of them is compared with.
_BLOCK_BYTES = 64 * 2**20


_LEAST_ROWS, _MOST_ROWS = 64, 8192


class SavedModel(ABC):
    """What a final evaluation learned.

    ``classes`` are the names of what is told apart by default, ``joint`` says that the rows of a batch
    are scored together, so that a row by itself has no score.
    """

    kind: ClassVar[str]

    def __init__(self, stored: Model) -> None:
        content = stored.content
        self.folder, self.content, self.digest = stored.folder, content, stored.digest
        self.method_name, self.facts = str(content["method"]), content["facts"]
        self.arrays: Mapping[str, np.ndarray] = content["arrays"]
        self.joint, self.columns = bool(content["transductive"]), tuple(content.get(COLUMNS, ()))
        self.features = frozen_features(content, "features")
        self._method: Any = None

    @property
    def method(self) -> Any:
        """The fitted method; raises :class:`StoreError` where this version of it does not take what was learned."""
        if self._method is None:
            self._method = _restored(self.content, self.folder)
        return self._method

    @property
    @abstractmethod
    def classes(self) -> tuple[str, ...]:
        """The names of what is told apart by default."""

    @abstractmethod
    def decision_function(self, X: Any, signatures: Any = None, *, generalised: bool = False) -> np.ndarray:
        """Return scores (n, c) of rows X (n, d), unprocessed, as data sets hold them; higher is likelier."""

    @abstractmethod
    def predict(self, X: Any, signatures: Any = None, *, generalised: bool = False) -> np.ndarray:
        """Return what is found (n,) for rows X (n, d): the name of the class with the highest score, mostly."""

    @abstractmethod
    def table(self, X: np.ndarray, first: int, top: int, candidates: Any, *, scores: bool) -> dict[str, Any]:
        """Return columns of predictions of rows X, the first of which is row ``first`` of all.

        ``candidates``: what :meth:`candidates_for` made of the candidates; ``scores``: those of all candidates, too.
        """

    def candidates_for(self, signatures: Any, generalised: bool) -> Any:
        """Return what :meth:`table` is to know of the candidates; raises :class:`UsageError` where it takes none."""
        if signatures is not None or generalised:
            raise UsageError(f"{self.method_name} is no zero-shot method: it takes neither signatures nor generalised")

    def usual_top(self) -> int:
        """Return how many candidates are listed for each row by default."""
        return 1

    @property
    def width(self) -> int:
        """The number of features of a row, all views side by side."""
        return self.features.width

    @property
    def block_rows(self) -> int:
        """How many rows are scored at a time."""
        longest = max([self.width, *(int(max(a.shape)) for a in _all_arrays(self.content["state"]) if a.ndim)])
        return int(np.clip(_BLOCK_BYTES // (8 * longest), _LEAST_ROWS, _MOST_ROWS))

    def checked(self, X: Any, first: int = 0) -> np.ndarray:
        """Return rows as an array, columns of a table by the names that the model was trained with, where it has them.

        Raises :class:`UsageError` for another width or without one of them, :class:`DataError` for no numbers.
        """
        # Rows that lie scattered in memory would give other last digits.
        array = np.ascontiguousarray(numbers_of(self._by_name(X), "X"))
        if array.ndim < 2 or int(np.prod(array.shape[1:])) != self.width:
            views = ", ".join(f"{view.name} {view.width}" for view in self.features.views if view.name)
            of_views = f", views side by side: {views}" if views else ""
            single = "; a single row is X[None]" if array.ndim == 1 else ""
            raise UsageError(
                f"rows of shape {array.shape}; the model was trained on (n, {self.width}){of_views}{single}"
            )
        if not len(array):
            raise DataError("X holds no rows")
        if array.dtype.kind == "f":
            require_finite(array, first)
        if self.joint and len(array) < 2:
            raise UsageError(
                f"{self.method_name} scores the rows of a batch jointly, against all candidates at once "
                f"(transductive), and {len(array)} row is no batch; give all rows that belong together in one call"
            )
        return array

    def _by_name(self, X: Any) -> Any:
        """Return a table's columns in the order of training; as they are where all have other names, or none."""
        labels = {str(label): label for label in (X.columns if named_columns(X) else ())}
        if labels.keys().isdisjoint(self.columns):
            return X
        if lacking := [name for name in self.columns if name not in labels]:
            raise UsageError(
                f"X has no column {quoted(lacking[0])}, which the model takes; it has {', '.join(list(labels)[:9])}"
            )
        return X[[labels[name] for name in self.columns]]

    def describe(self) -> dict[str, Any]:
        """Return what the model is, as JSON holds it: method, data, task, classes, preprocessing."""
        content = self.content
        parameters = {name: value for name, value in content["parameters"].items() if value is not None}
        steps = {
            role: [step["step"] for view in one["steps"] for step in view["steps"]]
            for role, one in content["preprocessing"].items()
        }
        return {
            "method": str(Spec(self.method_name, parameters)),
            "kind": content["kind"],
            "task": content["experiment"]["task"],
            "dataset": content["experiment"]["dataset"],
            "features": self.width,
            "views": [{"name": view.name, "shape": list(view.shape)} for view in self.features.views if view.name],
            "joint": self.joint,
            "classes": list(self.classes),
            "preprocessing": steps,
            "digest": self.digest,
        }

    @property
    def title(self) -> str:
        """The method and the data set, as in ``eszsl on digit-pairs``."""
        from zslplat.data.catalogue import title_of

        return f"{self.method_name} on {title_of(Spec.parse(self.content['experiment']['dataset']))}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.title}, task {self.content['experiment']['task']}>"

    def _fresh(self) -> Any:
        """Return the method, or a copy where it may remember a batch that is scored jointly."""
        return copy.deepcopy(self.method) if self.joint else self.method


def best(scores: np.ndarray, top: int) -> np.ndarray:
    """Return the columns (n, top) of the highest scores of every row, the highest first, the first of equals first."""
    top = min(top, scores.shape[1])
    if top == 1:
        return np.asarray(np.argmax(scores, axis=1))[:, None]
    return np.argsort(-scores, axis=1, kind="stable")[:, :top]


def ranked_columns(scores: np.ndarray, names: tuple[str, ...], first: int, top: int, *, every: bool) -> dict[str, Any]:
    """Return ``row``, ``class``, ``score``, then ``class_2``, ``score_2`` ..., and the scores of all where wanted."""
    chosen, named = best(scores, top), np.array(names, dtype=object)
    columns: dict[str, Any] = {"row": np.arange(first, first + len(scores))}
    for place in range(chosen.shape[1]):
        mark = "" if place == 0 else f"_{place + 1}"
        columns[f"class{mark}"] = named[chosen[:, place]]
        columns[f"score{mark}"] = np.take_along_axis(scores, chosen[:, [place]], axis=1)[:, 0]
    if every:
        columns |= {f"score of {name}": scores[:, number] for number, name in enumerate(names)}
    return columns


def frozen_features(content: Mapping[str, Any], role: str) -> FrozenFeatures:
    """Return the preprocessing of a role as a model keeps it; nothing is done where it keeps none."""
    frozen = content["preprocessing"].get(role)
    return FrozenFeatures() if frozen is None else FrozenFeatures.from_facts(frozen["steps"], frozen["arrays"])


def _restored(content: Mapping[str, Any], folder: Path) -> Any:
    name = str(content["method"])
    try:
        method_class = registry.component("methods", name)
    except UnknownNameError as error:
        raise StoreError(
            f"the model in {folder} is of method {name!r}, which is not installed here; install the package that has it"
        ) from error
    try:
        if method_class.kind != content["kind"]:
            raise UsageError(f"it is a {method_class.kind} method, and the model of a {content['kind']} one")
        method = method_class.from_state(content["parameters"], content["state"])
        if content["views"]:
            method.take_views([View(view, tuple(shape)) for view, shape in content["views"]])
    except Exception as error:
        text = error if isinstance(error, ZslplatError) else f"{type(error).__name__}: {error}"
        raise StoreError(
            f"method {name} as it is installed here does not take what the model in {folder} learned ({text}); "
            "evaluate the experiment again"
        ) from error
    return method


def _all_arrays(value: Any) -> list[np.ndarray]:
    if isinstance(value, np.ndarray):
        return [value]
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return [array for one in inner for array in _all_arrays(one)]


def finite(name: str, scores: Any, shape: tuple[int, int]) -> np.ndarray:
    """Return scores as an array.

    Raises :class:`StoreError` for another shape, for which no rows are the reason, :class:`DataError` for NaN and
    infinity.
    """
    values = np.asarray(scores)
    if values.shape != shape:
        raise StoreError(
            f"{name} gave scores of shape {values.shape}, and the model names {shape[1]} classes for {shape[0]} rows; "
            "restore the model from a copy, or evaluate the experiment again"
        )
    if not np.isfinite(values).all():
        raise DataError(f"{name} gave scores that are NaN or infinite; the rows may be far from what it was trained on")
    return values


def require_names(names: Any, count: int) -> None:
    """Raise ValueError unless there are so many names, all of them texts."""
    if not isinstance(names, list) or len(names) != count or not all(isinstance(name, str) for name in names):
        raise ValueError(f"expected {count} names of classes or attributes")


def load_saved(folder: Path) -> SavedModel:
    """Return the model in a folder.

    Raises :class:`StoreError` where there is none, or it is damaged, changed by hand, or of a newer version.
    """
    stored = read_model(folder)
    kind = str(stored.content.get("kind"))
    try:
        model_class = load_part(kind, "model")
    except (UnknownNameError, UsageError) as error:
        raise StoreError(f"the model {folder} is of a method of kind {kind!r}: {error}") from error
    try:
        model: SavedModel = model_class(stored)
        model.describe(), model.usual_top(), model.block_rows  # what is not as written fails here
    except StoreError:
        raise
    except Exception as error:
        raise unfit(folder, error) from error
    return model
