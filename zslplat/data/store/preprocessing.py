"""Declared preprocessing: what a method wants done to features and signatures before it sees them.

Statistics come from the training rows of the problem at hand, never from rows that are scored. Steps, in the order
in which they are listed:

``center``       subtract the mean of the training rows
``standardise``  subtract the mean and divide by the standard deviation of the training rows
``l1``, ``l2``   divide each row by its norm (rows of zeros stay)
``hellinger``    square root of the l1-normalised row; needs non-negative values
``shift``        make non-negative: subtract the smallest value of the whole matrix where it is negative, clip below 0
``lift``         the same column by column: columns without a negative value stay as they are
``unit``         map every column to [0, 1] by its training minimum and maximum, clip outside
``split``        make non-negative: positive and negative parts side by side, (n, d) -> (n, 2d); nothing is done
                 where there is no negative value

``shift``, ``lift`` and ``split`` look for negative values among the training rows and, of signatures, those of all
classes of the problem, so that no class loses what its signature says to the clipping.

The centre of ``center`` and ``standardise`` for signatures comes from the seen classes, unless the spec says
``center_all``, which uses the signatures of all classes of the problem (they are side information, known before any
image of an unseen class).

Of named views each is preprocessed by itself, with the same steps, or with its own: ``l2;phog:hellinger,l2``. Views of
matrices are left as they are, unless steps are named for them.

:func:`fit_steps` goes through the training rows once for each step that learns something of them, and returns
:class:`FrozenSteps`: what is applied to every block of rows that is read, here and long after the training rows are
gone.

:class:`FrozenFeatures` is arrays and JSON, stored beside what was learned from the features: the steps of every view
with what they learned, so that rows as the data set holds them become rows as the method saw them, long after the
training rows are gone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from zslplat.data.store.precision import in_type, normalise_rows
from zslplat.data.store.rows import Part, Rows, View, blocks_of, float_type
from zslplat.errors import DataError, UnknownNameError, UsageError

# Elements that a step works on at a time, so that their double-precision copies stay in a processor's cache.
_CHUNK = 1 << 17


@dataclass(frozen=True)
class Preprocessing:
    """The steps for features and for signatures, each a tuple of names out of ``STEPS``.

    ``views``: the steps of features by view, where they are other ones.
    """

    features: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()
    views: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __post_init__(self) -> None:
        for step in (*self.features, *self.signatures, *(step for _, steps in self.views for step in steps)):
            if step not in STEPS:
                raise UnknownNameError("preprocessing step", step, STEPS)

    def overridden(self, features: str | None, signatures: str | None) -> Preprocessing:
        """Return the spec with ``"center,l2"``-like strings in place of the method's own steps.

        ``"l2;phog:hellinger"`` says of single views what is done to them; without a part for all others, these keep
        the method's own steps.
        """
        common, views = self.features, dict(self.views)
        for part in [] if features is None else features.split(";"):
            name, colon, steps = part.partition(":")
            if colon:
                views[name.strip()] = parse_steps(steps)
            else:
                common = parse_steps(part)
        return Preprocessing(
            common, self.signatures if signatures is None else parse_steps(signatures), tuple(sorted(views.items()))
        )

    def steps_of(self, part: Part) -> tuple[str, ...]:
        """Return the steps for the features of one view."""
        by_view = dict(self.views)
        if part.view.name in by_view:
            return by_view[part.view.name]
        return self.features if not part.view.name or len(part.view.shape) == 1 else ()

    def text_of(self, role: str) -> str:
        """Return the steps of a role as text, which :meth:`overridden` reads."""
        texts = [",".join(getattr(self, role)) or "none"]
        if role == "features":
            texts += [f"{name}:{','.join(steps) or 'none'}" for name, steps in self.views]
        return ";".join(texts)


def parse_steps(text: str) -> tuple[str, ...]:
    """Read ``center,l2``; ``none`` or an empty string is no step."""
    steps = tuple(part.strip() for part in text.split(",") if part.strip())
    return tuple(step for step in steps if step != "none")


def looks_at_all_classes(steps: Sequence[str]) -> bool:
    """Return whether steps for signatures let those of unseen classes shape what becomes of the others.

    ``center_all`` does, and so do ``shift``, ``lift`` and ``split`` where it is open whether negative values are among
    them: not after ``center``, which leaves some for ``split`` to find in any case, and not after a step that leaves
    none.
    """
    signed: bool | None = None
    for step in steps:
        if step == "center_all":
            return True
        if step in ("shift", "lift", "split") and signed is not False and (step != "split" or signed is None):
            return True
        if step in ("center", "standardise"):
            signed = True
        elif step in ("hellinger", "shift", "lift", "unit", "split"):
            signed = False
    return False


@dataclass(frozen=True)
class FrozenStep:
    """One step with what it learned: ``arrays`` by name, and of ``split`` whether it doubles the columns."""

    name: str
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    doubles: bool = False

    def apply(self, rows: np.ndarray) -> np.ndarray:
        """Return rows (n, d) after the step; the type stays, sums and quotients are made in float64."""
        return _STEPS[self.name][1](rows, self)


@dataclass(frozen=True)
class FrozenSteps:
    """Fitted preprocessing, to be applied to any rows: :meth:`arrays` and :meth:`facts` are all there is to keep."""

    steps: tuple[FrozenStep, ...] = ()

    def apply(self, block: np.ndarray) -> np.ndarray:
        """Return rows (n, ...) after all steps; float32 stays, integers become floating numbers.

        Raises :class:`DataError` for rows of another width, and for negative values before ``hellinger``.
        """
        rows = np.asarray(block, dtype=float_type(block.dtype))
        if not self.steps:
            return rows
        flat = rows.reshape(len(rows), math.prod(rows.shape[1:]))
        shape = self.shape_after(rows.shape[1:])
        result = np.empty((len(flat), int(np.prod(shape))), dtype=flat.dtype)
        step = max(1, _CHUNK // max(1, result.shape[1]))
        for start in range(0, len(flat), step):
            chunk = flat[start : start + step]
            for one in self.steps:
                chunk = one.apply(chunk)
            result[start : start + step] = chunk
        return result.reshape(len(flat), *shape)

    def shape_after(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a row after all steps."""
        doubled = sum(step.doubles for step in self.steps)
        return (int(np.prod(shape)) << doubled,) if doubled else shape

    def arrays(self) -> dict[str, np.ndarray]:
        """Return what was learned: ``<number>/<name>`` of each array."""
        return {f"{k}/{name}": a for k, step in enumerate(self.steps) for name, a in step.arrays.items()}

    def facts(self) -> list[dict[str, Any]]:
        """Return the steps in order as JSON holds them."""
        return [{"step": step.name, "doubles": step.doubles} for step in self.steps]

    @classmethod
    def from_facts(cls, facts: Sequence[Mapping[str, Any]], arrays: Mapping[str, np.ndarray]) -> FrozenSteps:
        """Return the steps from what :meth:`facts` and :meth:`arrays` returned; raises UnknownNameError for others."""
        steps = []
        for number, fact in enumerate(facts):
            if fact["step"] not in _STEPS:
                raise UnknownNameError("preprocessing step", str(fact["step"]), STEPS)
            prefix = f"{number}/"
            of_step = {
                name.removeprefix(prefix): np.asarray(a) for name, a in arrays.items() if name.startswith(prefix)
            }
            steps.append(FrozenStep(str(fact["step"]), of_step, bool(fact["doubles"])))
        return cls(tuple(steps))


def fit_steps(steps: Sequence[str], X: np.ndarray | Rows, *, every: np.ndarray | None = None) -> FrozenSteps:
    """Fit steps on training rows X (n, ...), of one view, block by block; statistics are accumulated in float64.

    ``every``: rows that are all known beforehand, whose mean ``center_all`` subtracts and among which ``shift``,
    ``lift`` and ``split`` look for negative values (default: the training rows). Raises :class:`DataError` for
    negative values before ``hellinger``.
    """
    frozen: list[FrozenStep] = []
    all_rows = None if every is None else np.asarray(every, dtype=float_type(every.dtype)).reshape(len(every), -1)
    for step in steps:
        if step == "none":
            continue
        if step not in STEPS:
            raise UnknownNameError("preprocessing step", step, STEPS)
        so_far = FrozenSteps(tuple(frozen))

        def blocks(so_far: FrozenSteps = so_far) -> Iterator[np.ndarray]:
            for _, block in blocks_of(X):
                yield so_far.apply(block).reshape(len(block), -1)

        one = _STEPS[step][0](step, blocks, all_rows)
        frozen.append(one)
        if all_rows is not None:
            all_rows = all_rows - one.arrays["mean"] if step == "center_all" else one.apply(all_rows)
    return FrozenSteps(tuple(frozen))


def preprocessed(rows: Sequence[Rows], spec: Preprocessing) -> list[Rows]:
    """Return rows of the same views with the steps of a spec, fitted view by view on the first of them.

    Raises :class:`UsageError` for steps of a view that is not there.
    """
    parts = rows[0].parts
    unknown = [name for name, _ in spec.views if name not in {part.view.name for part in parts}]
    if unknown:
        views = ", ".join(part.view.name for part in parts if part.view.name) or "none"
        raise UsageError(f"preprocessing of view {unknown[0]!r}, which the data set does not have; its views: {views}")
    frozen = []
    for part in parts:
        steps = spec.steps_of(part)
        frozen.append(fit_steps(steps, Rows([part], rows[0].index)) if steps else None)
    return [some.with_steps(frozen) for some in rows]


def apply_steps(
    steps: Sequence[str], fit_rows: np.ndarray, *others: np.ndarray, every: np.ndarray | None = None
) -> list[np.ndarray]:
    """Fit the steps on the training rows and apply them to these and to the other matrices.

    ``every``: see :func:`fit_steps`. Returns the transformed training rows first. float32 stays float32;
    other types become what holds all their numbers.
    """
    frozen = fit_steps(steps, fit_rows, every=every)
    return [frozen.apply(m) for m in (fit_rows, *others)]


def after_steps(steps: FrozenSteps, rows: np.ndarray | Rows) -> np.ndarray | Rows:
    """Return rows after fitted steps: of rows of one view in a file a view that applies them block by block."""
    if isinstance(rows, Rows) and len(rows.parts) == 1:
        return rows.with_steps([steps])
    return steps.apply(np.asarray(rows))


Blocks = Callable[[], Iterator[np.ndarray]]


def _fit_nothing(step: str, blocks: Blocks, every: np.ndarray | None) -> FrozenStep:
    return FrozenStep(step)


def _fit_hellinger(step: str, blocks: Blocks, every: np.ndarray | None) -> FrozenStep:
    if any(block.size and float(block.min()) < 0 for block in blocks()):
        raise DataError("hellinger needs non-negative values; put shift or split before it")
    return FrozenStep(step)


def _fit_center(step: str, blocks: Blocks, every: np.ndarray | None) -> FrozenStep:
    if step == "center_all" and every is not None and len(every):
        mean = _between(every.mean(axis=0, dtype=np.float64), every.min(axis=0), every.max(axis=0))
        return FrozenStep(step, {"mean": mean})
    total: Any = 0.0
    rows = 0
    low: Any = np.inf
    high: Any = -np.inf
    for block in blocks():
        total = total + block.sum(axis=0, dtype=np.float64)
        rows += len(block)
        low, high = np.minimum(low, block.min(axis=0)), np.maximum(high, block.max(axis=0))
    return FrozenStep(step, {"mean": _between(total / rows, low, high)})


def _fit_standardise(step: str, blocks: Blocks, every: np.ndarray | None) -> FrozenStep:
    rows, mean, squares, low, high = 0, np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0)
    for chunk in _chunks(blocks):
        chunk_mean = chunk.mean(axis=0)
        about = np.einsum("ij,ij->j", chunk - chunk_mean, chunk - chunk_mean)
        if not rows:
            rows, mean, squares, low, high = len(chunk), chunk_mean, about, chunk.min(axis=0), chunk.max(axis=0)
            continue
        # Chan, Golub and LeVeque (1983): means and sums of squared deviations of two parts of a sample.
        all_rows, change = rows + len(chunk), chunk_mean - mean
        mean = mean + change * (len(chunk) / all_rows)
        squares = squares + about + change**2 * (rows * len(chunk) / all_rows)
        rows, low, high = all_rows, np.minimum(low, chunk.min(axis=0)), np.maximum(high, chunk.max(axis=0))
    # What is constant stays so; where squares leave float64, the range measures what varies.
    varies = (squares > 0) & np.isfinite(squares)
    scale = np.where(varies, np.sqrt(squares / rows), np.where(high > low, high - low, 1.0))
    return FrozenStep(step, {"mean": _between(mean, low, high), "scale": scale})


def _between(mean: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    # The mean of equal numbers may differ from them in its last digit, and what is left of a constant column is scaled.
    return np.asarray(np.clip(mean, low, high))


def _chunks(blocks: Blocks) -> Iterator[np.ndarray]:
    for block in blocks():
        rows = max(1, _CHUNK // max(1, block.shape[1]))
        for start in range(0, len(block), rows):
            yield block[start : start + rows].astype(np.float64)


def _extremes(blocks: Blocks) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest value of every column."""
    extremes = [(block.min(axis=0), block.max(axis=0)) for block in blocks()]
    return np.min([low for low, _ in extremes], axis=0), np.max([high for _, high in extremes], axis=0)


def _fit_lowest(step: str, blocks: Blocks, every: np.ndarray | None) -> FrozenStep:
    low = _extremes(blocks)[0]
    if every is not None:
        low = np.minimum(low, every.min(axis=0))
    return FrozenStep(step, {"low": np.minimum(low if step == "lift" else low.min(), 0)})


def _fit_unit(step: str, blocks: Blocks, every: np.ndarray | None) -> FrozenStep:
    low, high = _extremes(blocks)
    return FrozenStep(step, {"low": low, "width": np.where(high > low, high - low, 1).astype(low.dtype)})


def _fit_split(step: str, blocks: Blocks, every: np.ndarray | None) -> FrozenStep:
    negative = every is not None and bool(every.size) and float(every.min()) < 0
    # Most often the first block tells.
    negative = negative or any(block.size and float(block.min()) < 0 for block in blocks())
    return FrozenStep(step, {}, negative)


def _apply_center(rows: np.ndarray, step: FrozenStep) -> np.ndarray:
    result: np.ndarray = np.subtract(rows, step.arrays["mean"], dtype=np.float64)
    if "scale" in step.arrays:
        result /= step.arrays["scale"]
    return result.astype(rows.dtype, copy=False)


def _apply_norm(rows: np.ndarray, step: FrozenStep) -> np.ndarray:
    return normalise_rows(rows, step.name)


def _apply_hellinger(rows: np.ndarray, step: FrozenStep) -> np.ndarray:
    if rows.size and float(rows.min()) < 0:
        raise DataError("hellinger needs non-negative values; put shift or split before it")
    result = normalise_rows(rows, "l1")
    return np.asarray(np.sqrt(result, out=result))


def _apply_lowest(rows: np.ndarray, step: FrozenStep) -> np.ndarray:
    result = rows - step.arrays["low"].astype(rows.dtype)
    return np.asarray(np.maximum(result, 0, out=result))


def _apply_unit(rows: np.ndarray, step: FrozenStep) -> np.ndarray:
    result = (rows - step.arrays["low"]) / step.arrays["width"]
    return np.asarray(np.clip(result, 0, 1, out=result)).astype(rows.dtype, copy=False)


def _apply_split(rows: np.ndarray, step: FrozenStep) -> np.ndarray:
    if not step.doubles:
        return np.asarray(np.maximum(rows, 0))
    return np.hstack([np.maximum(rows, 0), np.maximum(-rows, 0)])


Fit = Callable[[str, Blocks, np.ndarray | None], FrozenStep]
Apply = Callable[[np.ndarray, FrozenStep], np.ndarray]
# By name: what learns a step from the training rows, and what applies it to any rows.
_STEPS: dict[str, tuple[Fit, Apply]] = {
    "center": (_fit_center, _apply_center),
    "center_all": (_fit_center, _apply_center),
    "standardise": (_fit_standardise, _apply_center),
    "l1": (_fit_nothing, _apply_norm),
    "l2": (_fit_nothing, _apply_norm),
    "hellinger": (_fit_hellinger, _apply_hellinger),
    "shift": (_fit_lowest, _apply_lowest),
    "lift": (_fit_lowest, _apply_lowest),
    "unit": (_fit_unit, _apply_unit),
    "split": (_fit_split, _apply_split),
}
STEPS = (*_STEPS, "none")


@dataclass(frozen=True)
class FrozenFeatures:
    """The steps of every view, in the order of the columns; a single feature set without a name is one view.

    ``types``: the types of the numbers that were learned from, by view, where they are kept: new rows in other floating
    numbers are read as these.
    """

    views: tuple[View, ...] = ()
    steps: tuple[FrozenSteps, ...] = ()
    types: tuple[str, ...] = ()

    @classmethod
    def fitted(cls, spec: Preprocessing, X: np.ndarray | Rows) -> FrozenFeatures:
        """Fit the steps of a spec on training rows X (n, ...) that nothing was done to yet."""
        if not isinstance(X, Rows):
            return cls((View("", tuple(X.shape[1:])),), (fit_steps(spec.features, X),))
        return replace(cls.of_rows(preprocessed([X], spec)[0]), types=())

    @classmethod
    def of_rows(cls, X: Rows) -> FrozenFeatures:
        """Return the steps, and the types, of rows that these are applied to."""
        steps = tuple(part.steps if isinstance(part.steps, FrozenSteps) else FrozenSteps() for part in X.parts)
        return cls(tuple(part.view for part in X.parts), steps, tuple(np.dtype(p.source.dtype).str for p in X.parts))

    @classmethod
    def of_array(cls, X: np.ndarray, steps: FrozenSteps) -> FrozenFeatures:
        """Return the steps that were fitted on an array X (n, ...), as those of one view without a name."""
        return cls((View("", tuple(X.shape[1:])),), (steps,), (X.dtype.str,))

    @property
    def width(self) -> int:
        """The number of columns of the rows that come in."""
        return sum(view.width for view in self.views)

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return rows X (n, ...), views side by side, after the steps; raises UsageError where the width is another."""
        if not self.views:
            return X
        width = self.width
        flat = X.reshape(len(X), -1)
        if X.ndim < 2 or flat.shape[1] != width:
            raise UsageError(f"rows have shape {X.shape}; expected (n, {width}), the width of the rows learned from")
        views, start = [], 0
        types = self.types or ("",) * len(self.views)
        for view, steps, kind in zip(self.views, self.steps, types, strict=True):
            block = flat[:, start : start + view.width].reshape(len(X), *view.shape)
            if kind and np.dtype(kind).kind == "f":
                block = in_type(block, np.dtype(kind), "X")
            block = steps.apply(block)
            views.append(block if len(self.views) == 1 else block.reshape(len(X), -1))
            start += view.width
        return views[0] if len(views) == 1 else np.hstack(views)

    def facts(self) -> list[dict[str, Any]]:
        """Return what JSON holds: every view with its steps."""
        facts: list[dict[str, Any]] = [
            {"view": view.name, "row": list(view.shape), "steps": steps.facts()}
            for view, steps in zip(self.views, self.steps, strict=True)
        ]
        return [{**fact, "type": kind} for fact, kind in zip(facts, self.types, strict=True)] if self.types else facts

    def arrays(self) -> dict[str, np.ndarray]:
        """Return what the steps learned, by ``<view>/<step>/<name>``, both counted from 0."""
        return {f"{k}/{name}": array for k, steps in enumerate(self.steps) for name, array in steps.arrays().items()}

    @classmethod
    def from_facts(cls, facts: Sequence[Mapping[str, Any]], arrays: Mapping[str, np.ndarray]) -> FrozenFeatures:
        """Return what :meth:`facts` and :meth:`arrays` told.

        Raises UnknownNameError for a step that is not known, ValueError for a row that has no shape.
        """
        if any(type(length) is not int or length < 0 for fact in facts for length in fact["row"]):
            raise ValueError("the shape of a row is one or several numbers")
        views = tuple(View(str(fact["view"]), tuple(fact["row"])) for fact in facts)
        steps = []
        for number, fact in enumerate(facts):
            prefix = f"{number}/"
            of_view = {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
            steps.append(FrozenSteps.from_facts(fact["steps"], of_view))
        types = tuple(str(fact["type"]) for fact in facts if "type" in fact)
        return cls(views, tuple(steps), types if len(types) == len(views) else ())
