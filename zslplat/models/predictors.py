"""What a saved model of each kind of method does with new rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.errors import StoreError, UnknownNameError, UsageError, quoted
from zslplat.kinds import load_part
from zslplat.methods.protocols import protocol_of
from zslplat.models.classes import NewClasses
from zslplat.models.folder import Model, read_model, unfit, using_content
from zslplat.models.model import SavedModel, finite, frozen_features, ranked_columns

INDEX = "index"


@dataclass(frozen=True)
class Candidates:
    """The classes that rows are told apart among: names (c,), signatures as the method takes them, which were seen.

    ``described`` (m,) says which class each signature describes, where classes have several and the method takes them.
    ``columns``: those of the classes that are wanted, where more have to be scored with them.
    """

    names: tuple[str, ...]
    S: np.ndarray
    seen: np.ndarray
    described: np.ndarray | None = None
    columns: np.ndarray | None = None

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the classes whose scores are wanted."""
        return self.names if self.columns is None else tuple(self.names[i] for i in self.columns)

    def restricted(self) -> Candidates:
        """Return the wanted classes alone, for methods that score candidates jointly."""
        if self.columns is None:
            return self
        if self.described is None:
            return Candidates(self.output_names, self.S[self.columns], self.seen[self.columns])
        chosen = np.isin(self.described, self.columns)
        numbers = np.searchsorted(self.columns, self.described[chosen])
        return Candidates(self.output_names, self.S[chosen], self.seen[self.columns], numbers)


class ZeroShotModel(SavedModel):
    """Tells rows apart among the unseen classes of its run, or among new ones by their signatures.

    ``generalised``: the classes that it was trained on compete with them; where validation chose a bias, it is taken
    off their scores, as the task does.
    """

    kind = "zero-shot"

    def __init__(self, stored: Model) -> None:
        super().__init__(stored)
        self.signatures = frozen_features(self.content, "signatures")
        self.bias = float(self.facts.get("bias", 0.0))
        for names, suffix in ((self.facts["seen_classes"], ""), (self.facts["classes"], "_pool")):
            described = self.arrays.get(f"signature_class{suffix}")
            _check_names(names, len(self.arrays[f"S{suffix}"]) if described is None else int(described.max()) + 1)
        _check_names(self.facts["attributes"], len(self.facts["attributes"]))
        if not self.classes:
            raise ValueError("no class is unseen")
        self.candidates_for(None, True)

    @property
    def classes(self) -> tuple[str, ...]:
        """The unseen classes of the run."""
        return tuple(n for n, seen in zip(self.facts["classes"], self.arrays["seen"], strict=True) if not seen)

    @property
    def seen_classes(self) -> tuple[str, ...]:
        """The classes that it was trained on."""
        return tuple(self.facts["seen_classes"])

    def candidates_for(self, signatures: Any = None, generalised: bool = False) -> Candidates:
        """Return the candidates; raises :class:`UsageError` for signatures that do not fit."""
        return self._candidates(None if signatures is None else NewClasses.of(signatures), generalised)

    @using_content
    def _candidates(self, new_classes: NewClasses | None, generalised: bool) -> Candidates:
        pool = self._stored_candidates(
            "_pool", tuple(self.facts["classes"]), np.asarray(self.arrays["seen"], dtype=bool)
        )
        seen = self._stored_candidates("", self.seen_classes, np.ones(len(self.seen_classes), dtype=bool))
        if new_classes is None:
            if not pool.seen.any():
                return _joined(seen, pool) if generalised else pool
            columns = None if generalised else np.flatnonzero(~pool.seen)
            return Candidates(pool.names, pool.S, pool.seen, pool.described, columns)
        new = self._new_candidates(new_classes)
        if not generalised:
            return new
        twice = [name for name in new.names if name in self.seen_classes]
        if twice:
            raise UsageError(
                f"class {quoted(twice[0])} was trained on, and is one of the new ones, too; leave it out of the "
                "signatures, or do not ask for generalised"
            )
        return _joined(seen, new)

    def decision_function(self, X: Any, signatures: Any = None, *, generalised: bool = False) -> np.ndarray:
        """Return scores (n, c) of rows X (n, d), in the order of the classes.

        Without ``signatures`` the classes are those of :attr:`classes`; with them, theirs (see
        :meth:`zslplat.models.classes.NewClasses.of`). ``generalised``: those that were trained on are there, too (the
        names: :meth:`candidates_for`). Raises :class:`UsageError` and :class:`DataError` for what does not fit.
        """
        return self._scores(self.checked(X), self.candidates_for(signatures, generalised))

    def predict(self, X: Any, signatures: Any = None, *, generalised: bool = False) -> np.ndarray:
        """Return the name of the class with the highest score, for every row of X (n, d)."""
        candidates = self.candidates_for(signatures, generalised)
        return np.asarray(
            np.array(candidates.output_names)[np.argmax(self._scores(self.checked(X), candidates), axis=1)]
        )

    def table(self, X: np.ndarray, first: int, top: int, candidates: Any, *, scores: bool) -> dict[str, Any]:
        """Return ``row``, ``class``, ``score`` and those of the next best."""
        return ranked_columns(self._scores(X, candidates), candidates.output_names, first, top, every=scores)

    def describe(self) -> dict[str, Any]:
        """Return what the model is; of zero-shot ones the seen classes, the attributes and the bias, too."""
        more = {"seen_classes": list(self.seen_classes), "signatures": self.signatures.width}
        more |= {"attributes": list(self.facts["attributes"])} if self.facts["attributes"] else {}
        return super().describe() | more | ({"bias": self.bias} if "bias" in self.facts else {})

    @using_content
    def _scores(self, X: np.ndarray, candidates: Candidates) -> np.ndarray:
        if self.joint:
            candidates = candidates.restricted()
        batch: dict[str, Any] = {"X_pool": self.features.apply(X), "S_pool": candidates.S, "seen": candidates.seen}
        if candidates.described is not None:
            batch["signature_class_pool"] = candidates.described
        returned = protocol_of(self.kind).score(self._fresh(), batch, None)["scores"]
        scores = finite(self.method_name, returned, (len(X), len(candidates.seen)))
        if candidates.columns is not None:
            return scores[:, candidates.columns]
        if self.bias and candidates.seen.any() and not candidates.seen.all():
            return np.asarray(scores - np.where(candidates.seen, self.bias, 0.0))
        return scores

    def _stored_candidates(self, suffix: str, names: tuple[str, ...], seen: np.ndarray) -> Candidates:
        return Candidates(names, self.arrays[f"S{suffix}"], seen, self.arrays.get(f"signature_class{suffix}"))

    def _new_candidates(self, classes: NewClasses) -> Candidates:
        fitting = classes.fitting(self.signatures.width, self.facts["attributes"])
        S = self.signatures.apply(fitting.values)
        described: np.ndarray | None = fitting.described
        if not self.facts["several_signatures"]:
            counts = np.bincount(fitting.described)
            if counts.max() > 1:
                starts = np.r_[0, np.cumsum(counts)[:-1]]
                S = (np.add.reduceat(S, starts, axis=0, dtype=np.float64) / counts[:, None]).astype(S.dtype)
            described = None
        return Candidates(fitting.names, S, np.isin(fitting.names, self.seen_classes), described)


def _check_names(names: Any, count: int) -> None:
    if not isinstance(names, list) or len(names) != count or not all(isinstance(name, str) for name in names):
        raise ValueError(f"expected {count} names of classes or attributes")


def _joined(first: Candidates, second: Candidates) -> Candidates:
    described = None
    if first.described is not None or second.described is not None:
        parts = [np.arange(len(c.names)) if c.described is None else c.described for c in (first, second)]
        described = np.concatenate([parts[0], parts[1] + len(first.names)])
    return Candidates(
        (*first.names, *second.names),
        np.vstack([first.S, second.S]),
        np.concatenate([first.seen, second.seen]),
        described,
    )


class CodingModel(SavedModel):
    """Tells rows apart among the classes, or ranks the labels, that it was trained on."""

    kind = "coding"

    def __init__(self, stored: Model) -> None:
        super().__init__(stored)
        _check_names(self.facts["classes"], len(self.facts["classes"]))

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that it was trained on."""
        return tuple(self.facts["classes"])

    def decision_function(self, X: Any, signatures: Any = None, *, generalised: bool = False) -> np.ndarray:
        """Return scores (n, c) of rows X (n, d), in the order of :attr:`classes`."""
        self.candidates_for(signatures, generalised)
        return self._scores(self.checked(X))

    def predict(self, X: Any, signatures: Any = None, *, generalised: bool = False) -> np.ndarray:
        """Return the name of the class with the highest score, for every row of X (n, d)."""
        scores = self.decision_function(X, signatures, generalised=generalised)
        return np.asarray(np.array(self.classes)[np.argmax(scores, axis=1)])

    def table(self, X: np.ndarray, first: int, top: int, candidates: Any, *, scores: bool) -> dict[str, Any]:
        """Return ``row``, ``class``, ``score`` and those of the next best."""
        return ranked_columns(self._scores(X), self.classes, first, top, every=scores)

    @using_content
    def _scores(self, X: np.ndarray) -> np.ndarray:
        returned = protocol_of(self.kind).score(self._fresh(), {"X_pool": self.features.apply(X)}, None)["scores"]
        return finite(self.method_name, returned, (len(X), len(self.classes)))


class SelectionModel(SavedModel):
    """Takes the best features out of rows."""

    kind = "feature-selection"

    @property
    def classes(self) -> tuple[str, ...]:
        """No classes: features are what it found."""
        return ()

    @property
    @using_content
    def ranking(self) -> np.ndarray:
        """The features (d,), the best first."""
        ranking = np.asarray(self.method.ranking_)
        if ranking.dtype.kind not in "iu" or not np.array_equal(np.sort(ranking), np.arange(self.width)):
            raise StoreError(
                f"the ranking of the model in {self.folder} is none of {self.width} features; restore it from a copy, "
                "or evaluate the experiment again"
            )
        return ranking

    def decision_function(self, X: Any, signatures: Any = None, *, generalised: bool = False) -> np.ndarray:
        """Refuse: rows have no scores here."""
        raise UsageError(f"{self.method_name} selects features and scores no rows; predict() returns the selected ones")

    def predict(
        self, X: Any, signatures: Any = None, *, generalised: bool = False, top: int | None = None
    ) -> np.ndarray:
        """Return the best features (n, top) of rows X (n, d), as they come in, the best first."""
        self.candidates_for(signatures, generalised)
        return self.checked(X)[:, self.ranking[: top or self.usual_top()]]

    def table(self, X: np.ndarray, first: int, top: int, candidates: Any, *, scores: bool) -> dict[str, Any]:
        """Return ``row`` and a column for each of the best features, by its number."""
        chosen = self.ranking[:top]
        taken = {f"feature {number}": X[:, number] for number in chosen.tolist()}
        return {"row": np.arange(first, first + len(X)), **taken}

    def usual_top(self) -> int:
        """Return the largest number of features that the task judged."""
        return int(max(self.facts["counts"]))


class ExemplarModel(SavedModel):
    """Finds the rows of its run's gallery that are most similar."""

    kind = "exemplar"
    holds_state = False  # the index does

    def __init__(self, stored: Model) -> None:
        super().__init__(stored)
        self._index: Any = None

    @property
    @using_content
    def index(self) -> Any:
        """The index of the gallery; raises :class:`StoreError` where it is gone."""
        if self._index is None:
            from zslplat.methods.exemplars.index import ExemplarIndex

            loaded = ExemplarIndex.load(index_of(self.folder))
            if loaded.steps.width != self.width:
                raise ValueError(f"its index takes rows of {loaded.steps.width} numbers")
            self._index = loaded
        return self._index

    @property
    def method(self) -> Any:
        """The fitted method, as the index holds it."""
        return self.index.method

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of the gallery, where they are known."""
        labels = self.index.labels
        return () if labels is None else tuple(str(name) for name in np.unique(labels))

    def decision_function(self, X: Any, signatures: Any = None, *, generalised: bool = False) -> np.ndarray:
        """Return similarities (n, g) of rows X (n, d) and the gallery, in its order (``index.rows``)."""
        self.candidates_for(signatures, generalised)
        return self._similarity(self.checked(X))

    def predict(self, X: Any, signatures: Any = None, *, generalised: bool = False) -> np.ndarray:
        """Return the class of the most similar row of the gallery for every row of X; its number without classes."""
        self.candidates_for(signatures, generalised)
        hits = self.index.query(self.checked(X), 1)
        return np.asarray(hits.rows if hits.labels is None else hits.labels)[:, 0]

    def table(self, X: np.ndarray, first: int, top: int, candidates: Any, *, scores: bool) -> dict[str, Any]:
        """Return ``row``, ``found``, the row of the gallery, its class and similarity, and those of the next best."""
        hits = self.index.query(X, min(top, len(self.index.gallery)))
        columns: dict[str, Any] = {"row": np.arange(first, first + len(X))}
        for place in range(hits.rows.shape[1]):
            mark = "" if place == 0 else f"_{place + 1}"
            columns[f"found{mark}"] = hits.rows[:, place]
            if hits.labels is not None:
                columns[f"class{mark}"] = hits.labels[:, place].astype(object)
            columns[f"score{mark}"] = hits.scores[:, place]
        return columns

    @property
    def block_rows(self) -> int:
        """How many rows are looked up at a time."""
        return 1024

    @using_content
    def _similarity(self, X: np.ndarray) -> np.ndarray:
        encoded = self.method.encode(self.index.steps.apply(X))
        return np.asarray(self.method.similarity(encoded, self.index.gallery))


def load_saved(folder: Path, shared: Path | None = None) -> SavedModel:
    """Return the model in a folder; ``shared``: where arrays lie that are not in it.

    Raises :class:`StoreError` where there is none, or it is damaged, changed by hand, or of a newer version.
    """
    stored = read_model(folder, shared)
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


def index_of(folder: Path) -> Path:
    """Return the index of an exemplar model: inside the folder of an export, beside it in a store."""
    inside = folder / INDEX
    return inside if inside.exists() else folder.parent / "artifacts" / INDEX
