"""What a saved zero-shot model does with new rows.

Classes by their signatures, given to a model that has not seen them: a file, a mapping, a frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.formats.array_likes import array_of, named_columns, names_of, numbers_of, table_of
from zslplat.data.formats.csv_tables import read_signatures
from zslplat.data.store.precision import float_type, in_type
from zslplat.errors import DataError, UsageError, quoted, require_package
from zslplat.kinds import protocol_of
from zslplat.models.folder import Model, using_content
from zslplat.models.model import SavedModel, finite, frozen_features, ranked_columns, require_names

FORM = "one line per class: its name, then its attributes, such as zebra,0.8,0,1"


@dataclass(frozen=True)
class NewClasses:
    """Names of classes (c,), and signatures (m, a) of which row j describes class ``described[j]``.

    ``attributes``: names of the columns, where they are known; ``source``: what messages call them.
    """

    names: tuple[str, ...]
    values: np.ndarray
    described: np.ndarray
    attributes: tuple[str, ...] = ()
    source: str = "signatures"

    @classmethod
    def of(cls, source: Any) -> NewClasses:
        """Read classes from what was given; raises :class:`DataError` and :class:`UsageError` for what is unfit.

        ``source``: the path of a CSV, Parquet or ``.npz`` file, {name: signature (a,), or several of them (k, a)}, a
        pandas frame with the names as its index, or a pair of names (m,) and signatures (m, a).
        """
        if isinstance(source, NewClasses):
            return source
        if isinstance(source, str | Path):
            return cls.read(Path(source))
        if isinstance(source, Mapping):
            rows, named = table_of(source, "signatures")
            return cls._of_rows(
                names_of(named, "names of classes"), numbers_of(rows, "signatures"), named_columns(rows)
            )
        if hasattr(source, "index") and hasattr(source, "columns"):
            values = numbers_of(source, "signatures")
            return cls._of_rows(names_of(source.index, "names of classes"), values, named_columns(source))
        if isinstance(source, Sequence) and len(source) == 2:
            names = array_of(source[0], "names of classes").reshape(-1).tolist()
            return cls._of_rows(names_of(names, "names of classes"), numbers_of(source[1], "signatures"))
        raise UsageError(
            f"signatures of type {type(source).__name__}; expected {{name: signature}}, a frame with names as its "
            "index, (names, signatures), or the path of a file"
        )

    @classmethod
    def read(cls, path: Path) -> NewClasses:
        """Read a CSV, Parquet or ``.npz`` file; raises :class:`DataError` for one that cannot be used."""
        if not path.is_file():
            raise UsageError(f"{path}: no such file of signatures; expected {FORM}")
        if path.suffix.lower() == ".csv":
            table = read_signatures(path)
        else:
            # The library that reads tables is large, and few processes read any.
            require_package("pyarrow", "files", f"{path}: reading signatures that are no CSV")
            from zslplat.data.formats import parquet_columns

            table = parquet_columns.read_signatures(path)
        if table.classes is None:
            raise DataError(f"{path}: names no classes; expected {FORM}")
        names = np.asarray(table.classes).tolist()
        return cls._of_rows(names, np.asarray(table.values), tuple(table.names), str(path))

    @classmethod
    def _of_rows(
        cls,
        names: Sequence[str],
        values: np.ndarray,
        attributes: tuple[str, ...] | None = None,
        source: str = "signatures",
    ) -> NewClasses:
        values = np.asarray(values)
        if values.ndim != 2 or len(values) != len(names) or not len(names):
            raise UsageError(f"{source}: {len(names)} names and signatures of shape {values.shape}; expected {FORM}")
        if values.dtype.kind not in "fiub":
            raise UsageError(f"{source}: signatures of type {values.dtype}; expected numbers")
        values = in_type(values, float_type(values.dtype), source)
        finite = np.isfinite(values).all(axis=1)
        if not finite.all():
            raise DataError(f"{source}: the signature of {quoted(names[int(np.argmin(finite))])} holds NaN or infinity")
        distinct = tuple(dict.fromkeys(names))
        where = {name: number for number, name in enumerate(distinct)}
        described = np.array([where[name] for name in names])
        # Rows of a class follow each other, in the order of the classes, as methods are given them.
        order = np.argsort(described, kind="stable")
        return cls(distinct, values[order], described[order], attributes or (), source)

    def fitting(self, width: int, attributes: Sequence[str]) -> NewClasses:
        """Return the classes with columns in the order that a model knows, by their names where both have them.

        Raises :class:`UsageError` for another number of attributes, or other ones.
        """
        if self.values.shape[1] != width:
            raise UsageError(
                f"{self.source}: {self.values.shape[1]} attributes per class; the model was trained on {width}"
                f"{_named(attributes)}"
            )
        if not attributes or not self.attributes or tuple(attributes) == self.attributes:
            return self
        lacking = [name for name in attributes if name not in self.attributes]
        if lacking or len(set(self.attributes)) < len(self.attributes):
            raise UsageError(
                f"{self.source}: columns {', '.join(map(quoted, self.attributes[:5]))} ... are not what the model was "
                f"trained on: {quoted(lacking[0]) if lacking else 'one of them'} "
                f"{'is missing' if lacking else 'is there twice'}; expected{_named(attributes).replace(':', '', 1)}"
            )
        order = [self.attributes.index(name) for name in attributes]
        return NewClasses(self.names, self.values[:, order], self.described, tuple(attributes), self.source)


def _named(attributes: Sequence[str]) -> str:
    if not attributes:
        return ""
    return ": " + ", ".join(attributes[:5]) + (f", ... {attributes[-1]}" if len(attributes) > 5 else "")


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
            require_names(names, len(self.arrays[f"S{suffix}"]) if described is None else int(described.max()) + 1)
        require_names(self.facts["attributes"], len(self.facts["attributes"]))
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
        shots = np.isin(self.seen_classes, self.classes)  # unseen classes with some rows in the fit
        seen = self._stored_candidates("", self.seen_classes, ~shots)
        if new_classes is None:
            if not pool.seen.any():
                return pool if not generalised else seen if shots.any() else _joined(seen, pool)
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
        :meth:`zslplat.families.zero_shot.model.NewClasses.of`). ``generalised``: those that were trained on are
        there, too (the names: :meth:`candidates_for`). Raises :class:`UsageError` and :class:`DataError` for what does
        not fit.
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
