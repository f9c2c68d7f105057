"""What the zero-shot tasks share: compact problems, score requests, and the run of a method on them.

| symbol | here | shape | meaning |
|---|---|---|---|
| X, y | ``X``, ``y`` | (n, d), (n,) | training rows, and the row of S that describes each |
| S | ``S`` | (c_seen, a) | signatures of the classes trained on |
| | ``X_pool`` | (m, d) | rows to be scored, in a seeded random order |
| | ``S_pool`` | (c, a) | signatures of all candidate classes, in the order of their class ids |
| | ``seen`` | (c,) | which candidates were trained on |
| | ``classes:R`` | (c_R,) | request R: indices into the candidate classes, ascending |
| | ``rows:R`` | (m_R,) | truth: the rows of the pool that request R is about, ascending |
| | ``y_pool``, ``row_pool`` | (m,) | truth: candidate class and data set row of each row of ``X_pool`` |
| | ``group_pool`` | (m,) | truth: group of each row of ``X_pool``, where the data set has groups |
| | ``made_of_pool`` | (m, k) | truth: what each row of ``X_pool`` is made of, where the data set says so |

Where classes have several signatures, ``signature_class`` (rows of S) and ``signature_class_pool`` (rows of S_pool)
say which class each row describes. Methods with the tag ``several-signatures`` get all rows, and that vector as the
keyword ``signature_class``; for the others the (preprocessed) rows of a class are averaged.

Classes are made unequally frequent (``imbalance``) by keeping fewer rows:

| symbol | here          | meaning                                                                            |
|--------|---------------|------------------------------------------------------------------------------------|
| c      | ``classes``   | number of classes                                                                  |
| n_j    | ``available`` | rows of the class at place j = 0 .. c-1 of a seeded order                          |
| f      | ``factor``    | how many times as frequent the first class is as the last                          |
| m_j    | ``sizes``     | rows kept: N f^(-j / (c-1)), rounded, with the largest N for which m_j <= n_j      |

On most benchmarks the unseen classes are about equally frequent by construction, and a method that takes them to be so
(``class balance``) is never wrong there. In a geometric series it is.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from zslplat.data.dataset import Dataset, SignatureSet
from zslplat.data.store.rows import take_rows
from zslplat.errors import DataError, MethodError, NoSharedSpaceError, OutcomeWarning
from zslplat.kinds import SHARED_SPACE, protocol_of, require_kind
from zslplat.names import counted
from zslplat.registry import known_as
from zslplat.space import BOOLEAN, Integer, Optional, Real, Space, parameter
from zslplat.spec import Spec
from zslplat.tasks.base import Arrays, ModelContent, Problem, prefixed, real_numbers, selected
from zslplat.tasks.row_outcomes import RowOutcomes, common_columns, groups_of
from zslplat.tasks.splits import ClassTask

if TYPE_CHECKING:
    from zslplat.families.zero_shot.methods.base import ZeroShotMethod

Requests = Mapping[str, tuple[np.ndarray, np.ndarray]]
NO_ROWS = np.zeros(0, dtype=np.int64)


class ZeroShotTask(ClassTask):
    """Base of the tasks that score rows against class signatures.

    ``shots`` makes a few-shot task of a zero-shot one: that many labelled rows of each unseen class, drawn with
    ``shots_seed`` and not with the seed of a study, are trained on and not scored. Validation does the same with the
    classes that it holds out. Rows that share a group with them, or what they are made of, are neither trained on nor
    scored. ``seen`` still marks the classes of the split ``train``. More shots have those of fewer among them.

    ``imbalance`` leaves out rows of the unseen classes that are scored, so that class sizes fall in a geometric series
    (:mod:`zslplat.families.zero_shot.task`); training rows and scored rows of seen classes are all there. What is left
    out is drawn with ``imbalance_seed`` and not with the seed of a study, so that all studies share it. Validation
    keeps all of its rows unless ``imbalanced_validation`` is true: hyperparameters are chosen as they are on balanced
    classes, and the test shows what a wrong prior costs. Accuracies stay means over classes, so that guessing reaches
    the same; 1 makes classes equally frequent that are not.
    """

    kind = "zero-shot"
    takes_scores = True
    shots = parameter(
        "labelled rows of each unseen class that are trained on and not scored; 0 is zero-shot", Integer(0), default=0
    )
    shots_seed = parameter("draws these rows", Integer(0), default=0)
    without = parameter(
        "attribute, by its place, that no signature has, to see what it is worth; none for all",
        Optional(Integer(0)),
        default=None,
    )
    imbalance = parameter(
        "how many times as frequent the most frequent unseen class is as the rarest in the test, sizes in a geometric "
        "series, rows left out to that end; none for all rows",
        Optional(Real(1.0)),
        default=None,
    )
    imbalance_seed = parameter("draws the order of classes, and the rows that are left out", Integer(0), default=0)
    imbalanced_validation = parameter("whether imbalance holds in validation, too", BOOLEAN, default=False)
    preprocessed = {"features": ("X", "X_pool"), "signatures": ("S", "S_pool")}

    def scored_unseen(self, dataset: Dataset, rows: np.ndarray, *, fold: int = 0) -> np.ndarray:
        """Return those of the rows of unseen classes that are scored, in their order; ``fold`` 0 is the test."""
        if self.imbalance is None or (fold and not self.imbalanced_validation):
            return rows
        return imbalanced_rows(rows, dataset.y[rows], self.imbalance, (self.imbalance_seed, 4, fold))

    def control_on(self, dataset: Dataset) -> str:
        """Return the cosine where features and signatures share a space, class means with shots, else the usual one."""
        if self.shots:
            return "class-means"
        return "cosine-signatures" if self.shares_space(dataset) else super().control_on(dataset)

    def shares_space(self, dataset: Dataset) -> bool:
        """Whether signatures have the dimensions of the features, as those of one encoder pair have."""
        signatures = dataset.signature_set(self.signatures)
        return self.without is None and not signatures.per_row and dataset.X.shape[1:] == signatures.values.shape[1:]

    def require(self, method: Any, dataset: Dataset) -> None:
        """Raise :class:`NoSharedSpaceError` for a method of a shared space where there is none."""
        if SHARED_SPACE in method.tags and not self.shares_space(dataset):
            shape, signatures = dataset.X.shape[1:], dataset.signature_set(self.signatures)

            def fits(one: SignatureSet) -> bool:
                return one.values.shape[1:] == shape and not one.per_row

            changed = {n: getattr(self, n) for n, one in self.parameters.items() if getattr(self, n) != one.default}
            whole = Spec(self.name, {n: value for n, value in changed.items() if n != "without"})
            fitting = [name for name, one in dataset.signatures.items() if fits(one)]
            if fitting and not fits(signatures):
                whole = whole.with_parameters({"signatures": fitting[0]})
            hint = f"--task '{whole}'" if fits(signatures) or fitting else "ridge-prototypes, which maps them"
            lesser = f" and leaves out attribute {self.without}" if self.without is not None else ""
            raise NoSharedSpaceError(
                f"{known_as(method)} needs features and signatures of one space: {dataset.name} has "
                f"{' x '.join(map(str, shape))} features and {signatures.values.shape[1]} attributes{lesser}; "
                f"use {hint}"
            )

    def with_shots(
        self, dataset: Dataset, train: np.ndarray, unseen: np.ndarray, seen: np.ndarray = NO_ROWS, *, fold: int = 0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the rows to train on, and those of unseen and seen classes to score; ``fold`` 0 is the test."""
        if not self.shots:
            return train, unseen, seen
        shots, unseen, seen = drawn_shots(dataset, unseen, self.shots, (self.shots_seed, 5, fold), seen)
        return np.concatenate([train, shots]), unseen, seen

    def whole(self, role: str, inputs: Mapping[str, Any]) -> np.ndarray | None:
        """Return the signatures of all classes of the problem, each once; they are known before any unseen row."""
        if role != "signatures":
            return None
        if self.shots or inputs["seen"].any():
            return np.asarray(inputs["S" if self.shots else "S_pool"])
        return np.vstack([inputs["S"], inputs["S_pool"]])

    def scored_rows(self, problem: Problem) -> Mapping[str, np.ndarray]:
        """Return the data set's rows and their classes."""
        return {"id": problem.truth["row_pool"], "stratum": problem.truth["y_pool"]}

    def units(self, outcomes: RowOutcomes) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the data set's rows and their classes."""
        return outcomes.columns["row"], outcomes.columns["true"]

    def prepare(self, method: Any, problem: Problem, space: Space) -> Arrays:
        """Return ``fit/...`` and ``score/...`` (``score:R/...`` per request R for transductive methods)."""
        require_kind(type(method), self.kind, self.name)
        fitted = protocol_of(method.kind).prepare_fit(method, _trained_on(method, problem), space)
        prepared = prefixed("fit/", fitted)
        for request in _scored_requests(method, problem):
            batch = _batch(method, problem, request)
            arrays = protocol_of(method.kind).prepare_score(copy.deepcopy(method), batch, space, fitted)
            prepared |= prefixed(_score_prefix(request), arrays)
        return prepared

    def run(self, method: Any, problem: Problem, statistics: Mapping[str, np.ndarray]) -> Iterator[tuple[int, Arrays]]:
        """Fit and score; outputs are {request: scores (rows of the request, its classes)}.

        Methods that are not transductive score ``X_pool`` once, and every request is sliced out of that; transductive
        ones score each request by itself, with a fresh copy of what they learned. Raises :class:`MethodError` for
        scores of wrong shape, NaN or infinity.
        """
        require_kind(type(method), self.kind, self.name)
        trained_on = _trained_on(method, problem)
        for step in protocol_of(method.kind).fit_steps(method, trained_on, selected("fit/", statistics)):
            yield step, _outputs(method, problem, statistics)

    def model_content(self, method: Any, problem: Problem, validation_choices: Mapping[str, Any]) -> ModelContent:
        """Return the signatures of seen classes and of candidates as the method takes them, their names, and the bias.

        ``seen`` (c,) tells which candidates were trained on. Where validation chose a bias, it is taken off the scores
        of seen classes wherever these compete with others.
        """
        arrays = {"seen": problem.inputs["seen"]}
        from zslplat.families.zero_shot.methods.base import SEVERAL_SIGNATURES

        for suffix in ("", "_pool"):
            arrays |= signatures_for(method, problem.inputs, suffix)
        bias = {"bias": float(validation_choices["bias"])} if "bias" in validation_choices else {}
        named = {name: list(problem.meta[name]) for name in ("classes", "seen_classes", "attributes")}
        return ModelContent(arrays, {**named, **bias, "several_signatures": SEVERAL_SIGNATURES in method.tags})

    def outputs_of(self, problem: Problem, scores: np.ndarray) -> Arrays:
        """Return {request: scores (rows of the request, its classes)}, sliced out of scores of all rows and classes."""
        return _by_request(problem, scores)


def build_problem(
    name: str,
    dataset: Dataset,
    signatures: str,
    *,
    train_rows: np.ndarray,
    pool_rows: np.ndarray,
    seen_classes: Iterable[int],
    pool_classes: Iterable[int],
    seed: int,
    meta: Mapping[str, Any],
    without: int | None = None,
) -> Problem:
    """Take the rows and classes of one problem, with the pool in a random order; requests are added later.

    ``seen_classes`` are those that ``seen`` marks, ``pool_classes`` the candidates that are scored; ``y`` counts within
    the classes of ``train_rows`` and ``y_pool`` within the candidates, in ascending order of class ids. Rows of a data
    set in memory are copied. ``without``: the place of an attribute that is left out.
    """
    trained_ids = np.unique(dataset.y[train_rows])
    pool_ids = np.array(sorted(pool_classes), dtype=np.int64)
    pool_rows = np.random.default_rng([seed, 3]).permutation(pool_rows)
    inputs: dict[str, Any] = {
        "X": take_rows(dataset.X, train_rows),
        "y": np.searchsorted(trained_ids, dataset.y[train_rows]),
        "X_pool": take_rows(dataset.X, pool_rows),
        "seen": np.isin(pool_ids, list(seen_classes)),
    }
    for suffix, ids in (("", trained_ids), ("_pool", pool_ids)):
        inputs |= _class_rows(dataset, signatures, ids, suffix)
    names = list(dataset.signature_set(signatures).names)
    if without is not None:
        width = inputs["S"].shape[1]
        if without >= width:
            raise DataError(f"{dataset.name}: without={without} of {width} attributes; give 0 to {width - 1}")
        inputs |= {name: np.delete(inputs[name], without, axis=1) for name in ("S", "S_pool")}
        names = names[:without] + names[without + 1 :]
    truth = {"y_pool": np.searchsorted(pool_ids, dataset.y[pool_rows]), "row_pool": np.asarray(pool_rows)}
    truth |= groups_of(dataset, pool_rows, "group_pool")
    if dataset.made_of is not None:
        truth["made_of_pool"] = dataset.made_of[pool_rows]
    described = {
        "dataset": dataset.name,
        "classes": [dataset.class_names[i] for i in pool_ids],
        "seen_classes": [dataset.class_names[i] for i in trained_ids],
        "attributes": names,
        **meta,
    }
    return Problem(name, inputs, truth, described)


def with_requests(problem: Problem, requests: Requests) -> Problem:
    """Return the problem with named score requests: rows of ``X_pool`` and classes of ``S_pool`` for each."""
    inputs, truth = dict(problem.inputs), dict(problem.truth)
    for request, (rows, classes) in requests.items():
        # Which rows a request is about says of each whether its class is seen.
        truth[f"rows:{request}"] = np.asarray(rows, dtype=np.int64)
        inputs[f"classes:{request}"] = np.asarray(classes, dtype=np.int64)
    return Problem(problem.name, inputs, truth, {**problem.meta, "requests": list(requests)})


def seen_mask(problem: Problem) -> np.ndarray:
    """Return which candidate classes (c,) were trained on."""
    return np.asarray(problem.inputs["seen"])


def requested(problem: Problem, request: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the pool (m_R,) and the candidate classes (c_R,) of a request."""
    return problem.truth[f"rows:{request}"], problem.inputs[f"classes:{request}"]


def pool_outcomes(
    problem: Problem, predicted: np.ndarray, score: np.ndarray, more: Mapping[str, np.ndarray], **meta: Any
) -> RowOutcomes:
    """Return the common columns of the pool's rows, in its order, with those of ``more``, and the classes' names."""
    truth = problem.truth
    common = common_columns(truth["row_pool"], truth["y_pool"], predicted, score, truth.get("group_pool"))
    if "made_of_pool" in truth:
        common["made_of"] = truth["made_of_pool"].astype(np.int32)
    return RowOutcomes({**common, **more}, {"classes": list(problem.meta["classes"]), **meta})


def require_classes(dataset: Dataset, what: str, classes: np.ndarray) -> None:
    """Raise :class:`DataError` where fewer than two classes are left to tell apart."""
    if len(classes) < 2:
        raise DataError(f"{dataset.name}: {what} holds {len(classes)} class; at least two are needed")


def _class_rows(dataset: Dataset, signatures: str, ids: np.ndarray, suffix: str) -> Arrays:
    values, described = dataset.class_signatures(signatures)
    if described is None:
        return {f"S{suffix}": np.asarray(values[ids])}
    # Rows in the order of the classes; a stable sort keeps the rows of one class in the order of the file.
    rows = np.flatnonzero(np.isin(described, ids))
    rows = rows[np.argsort(described[rows], kind="stable")]
    compact = np.searchsorted(ids, described[rows])
    arrays = {f"S{suffix}": np.asarray(values[rows])}
    if len(rows) > len(ids):
        arrays[f"signature_class{suffix}"] = compact
    return arrays


def signatures_for(method: Any, inputs: Mapping[str, Any], suffix: str) -> Arrays:
    """Return S or S_pool as the method takes it, with what says which class each row describes, where it takes that."""
    name, described = f"S{suffix}", inputs.get(f"signature_class{suffix}")
    S = inputs[name]
    if described is None:
        return {name: S}
    from zslplat.families.zero_shot.methods.base import SEVERAL_SIGNATURES

    if SEVERAL_SIGNATURES in method.tags:
        return {name: S, f"signature_class{suffix}": described}
    starts = np.flatnonzero(np.r_[True, np.diff(described) > 0])
    counts = np.diff(np.r_[starts, len(described)])
    means = np.add.reduceat(S, starts, axis=0, dtype=np.float64) / counts[:, None]
    return {name: means.astype(S.dtype) if np.issubdtype(S.dtype, np.floating) else means}


def _scored_requests(method: ZeroShotMethod, problem: Problem) -> list[str]:
    """Return the requests that the method scores by itself; "" is the whole pool against all candidates."""
    return list(problem.meta["requests"]) if method.transductive else [""]


def _score_prefix(request: str) -> str:
    return f"score:{request}/" if request else "score/"


def _trained_on(method: ZeroShotMethod, problem: Problem) -> dict[str, Any]:
    return {name: problem.inputs[name] for name in ("X", "y")} | signatures_for(method, problem.inputs, "")


def _batch(method: ZeroShotMethod, problem: Problem, request: str) -> dict[str, Any]:
    """Return the rows, the signatures and the seen mask of one request, as the protocol names them."""
    inputs = problem.inputs
    X, seen = inputs["X_pool"], inputs["seen"]
    signatures = signatures_for(method, inputs, "_pool")
    if not request:
        return {"X_pool": X, "seen": seen, **signatures}
    rows, classes = problem.truth[f"rows:{request}"], inputs[f"classes:{request}"]
    batch = {"X_pool": X if len(rows) == len(X) else take_rows(X, rows), "seen": seen[classes]}
    if "signature_class_pool" not in signatures:
        return {**batch, "S_pool": signatures["S_pool"][classes]}
    described = signatures["signature_class_pool"]
    chosen = np.isin(described, classes)
    numbers = np.searchsorted(classes, described[chosen])
    return {**batch, "S_pool": signatures["S_pool"][chosen], "signature_class_pool": numbers}


def request_batch(method: ZeroShotMethod, problem: Problem, request: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows (m, d) and the signatures (c, a) of a request, as the method is given them."""
    batch = _batch(method, problem, request)
    return np.asarray(batch["X_pool"]), batch["S_pool"]


def _outputs(method: ZeroShotMethod, problem: Problem, statistics: Mapping[str, np.ndarray]) -> Arrays:
    scored = {}
    requests = _scored_requests(method, problem)
    for number, request in enumerate(requests, start=1):
        batch = _batch(method, problem, request)
        # What a method remembers of one batch must not tell it about the next. One that learns no further may score
        # the last batch itself: what it then shows of itself is of that batch.
        itself = not method.transductive or (number == len(requests) and not method.step_parameter)
        scorer = method if itself else copy.deepcopy(method)
        scores = protocol_of(method.kind).score(scorer, batch, selected(_score_prefix(request), statistics))["scores"]
        scored[request] = checked_scores(method, scores, (len(batch["X_pool"]), len(batch["seen"])))
    if method.transductive:
        return scored
    return _by_request(problem, scored[""])


def _by_request(problem: Problem, whole: np.ndarray) -> Arrays:
    """Return what every request wants of the scores of the whole pool against all candidate classes."""
    return {
        request: _sliced(whole, problem.truth[f"rows:{request}"], problem.inputs[f"classes:{request}"])
        for request in problem.meta["requests"]
    }


def _sliced(scores: np.ndarray, rows: np.ndarray, classes: np.ndarray) -> np.ndarray:
    return scores if scores.shape == (len(rows), len(classes)) else scores[np.ix_(rows, classes)]


def checked_scores(method: Any, returned: Any, shape: tuple[int, int]) -> np.ndarray:
    """Return the scores of a method; raises :class:`MethodError` for another shape or type, NaN or infinity."""
    name = known_as(type(method))
    scores = real_numbers(name, returned)
    if scores.shape != shape:
        raise MethodError(f"{name} returned scores of shape {scores.shape} for {shape[0]} rows and {shape[1]} classes")
    bad = int(scores.size - np.count_nonzero(np.isfinite(scores)))
    if bad:
        raise MethodError(f"{name} returned {bad} scores of {scores.size} that are NaN or infinite")
    return scores


def drawn_shots(
    dataset: Dataset, rows: np.ndarray, count: int, stream: tuple[int, ...], seen: np.ndarray = NO_ROWS
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``count`` of the ``rows`` (n,) of each class, and what is scored of the others and of ``seen`` (m,).

    ``stream`` seeds the draw, ``seen`` are scored rows of seen classes. Rows that share something with a shot are not
    scored: a group, or where ``made_of`` says more, what they are made of.

    Raises :class:`DataError` where an unseen class has no row left, or no row of seen classes is.
    """
    order = np.random.default_rng(stream).permutation(rows)
    shots = np.concatenate([order[dataset.y[order] == label][:count] for label in np.unique(dataset.y[rows])])
    things = dataset.groups if dataset.made_of is None else dataset.made_of

    def apart(scored: np.ndarray) -> np.ndarray:
        if things is None or not len(scored):
            return scored
        shared = np.isin(things[scored], things[shots])
        return scored[~shared.reshape(len(scored), -1).any(axis=1)]

    rest, seen_rest = apart(np.setdiff1d(rows, shots)), apart(seen)
    lost = np.setdiff1d(dataset.y[rows], dataset.y[rest])
    if len(lost) or (len(seen) and not len(seen_rest)):
        left = "no row of a seen class to score"
        cause = "rows that share images or a group with a shot are not scored; use fewer shots"
        if len(lost):
            sizes = [int(np.count_nonzero(dataset.y[rows] == label)) for label in lost]
            fewest = min(sizes)
            first = dataset.class_names[lost[sizes.index(fewest)]]
            left = f"{counted(len(lost), 'class', 'classes')} without a row to score, first {first!r}"
            if fewest <= count:
                cause = f"it has {counted(fewest, 'row')}: at most shots={fewest - 1}"
        raise DataError(f"{dataset.name}: shots={count} leaves {left}: {cause}")
    whole, scored = len(rows) - len(shots) + len(seen), len(rest) + len(seen_rest)
    if scored < whole:
        warnings.warn(
            OutcomeWarning(
                f"{dataset.name}: {whole - scored} of {whole} rows share images or a group with the {len(shots)} "
                "shots, and are not scored"
            ),
            stacklevel=3,
        )
    return shots, rest, seen_rest


# Of each class, so that a mean over its rows is one and a neighbour of its own kind exists; all where it has fewer.
LEAST_ROWS = 2


def imbalanced_rows(rows: np.ndarray, y: np.ndarray, factor: float, stream: tuple[int, ...]) -> np.ndarray:
    """Return those of ``rows`` (n,) that are kept, in their order, so that class sizes fall by ``factor``.

    ``y`` (n,) are the classes of the rows. ``stream`` seeds the order of the classes, from the most to the least
    frequent, and the draw of the rows of each. Every class keeps at least two rows, or all that it has; where that or
    rounding acts, the series is cut there.
    """
    generator = np.random.default_rng(stream)
    order = generator.permutation(np.unique(y))
    members = [np.flatnonzero(y == label) for label in order]
    sizes = geometric_sizes(np.array([len(member) for member in members]), factor)
    chosen = [generator.permutation(member)[:size] for member, size in zip(members, sizes, strict=True)]
    return np.asarray(rows[np.sort(np.concatenate(chosen))])


def geometric_sizes(available: np.ndarray, factor: float) -> np.ndarray:
    """Return how many rows (c,) each class keeps of those ``available`` (c,), the classes from the most frequent on."""
    fall = float(factor) ** -(np.arange(len(available)) / max(1, len(available) - 1))
    most = float(np.min(available / fall))
    sizes = np.round(most * fall).astype(np.int64)
    return np.asarray(np.minimum(np.maximum(sizes, LEAST_ROWS), available))
