"""What all kernel coding methods share: kernel values, dictionary, alternation, classification rule.

| paper   | here            | shape  | meaning                                                      |
|---------|-----------------|--------|--------------------------------------------------------------|
| x_i     | X               | (M, d) | training samples, or (M, p, p) matrices                      |
| D       | weights_        | (M, N) | atoms as weighted sums of training samples, one per column   |
| y_i     | codes_          | (M, N) | training codes, one per row                                  |
| W, A_j  | classifier_     |        | (c, N) linear (23), (M, c) bilinear (24)                     |

Harandi and Salzmann, "Kernel Coding: General Formulation and Special Cases".
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from zslplat.errors import DataError, MethodError, UsageError
from zslplat.families.coding.methods.alternation import Atoms, Learned, Plan, alternate, plain_codes
from zslplat.families.coding.methods.base import (
    CodingMethod,
    check_coding_inputs,
    counted,
    indicators,
    label_count,
    strata,
)
from zslplat.families.coding.methods.classifiers import (
    bilinear_scores,
    fit_bilinear,
    fit_linear,
    nearest_scores,
    residual_scores,
)
from zslplat.families.coding.methods.dictionary import choose_rows, is_drawn
from zslplat.families.coding.methods.indefinite import clipped, positive_projection
from zslplat.families.coding.methods.kernel_rows import (
    PairValues,
    equivalent_kernel,
    equivalent_rows,
    prepare_term_values,
    prepare_values,
)
from zslplat.families.coding.methods.schemes import EPSILON as RIDGE
from zslplat.families.coding.methods.schemes import Scheme, SparseScheme
from zslplat.families.coding.methods.sparse_codes import vanishing_gamma
from zslplat.kernels.base import Kernel
from zslplat.kernels.expression import parse_kernel
from zslplat.kernels.on_view import has_views
from zslplat.methods.base import Arrays, Diagnostics, Statistics
from zslplat.methods.kernel_parameter import PREFIX, KernelMethod
from zslplat.metrics.accuracy import look_at_codes
from zslplat.registry import known_as
from zslplat.space import ANY, BOOLEAN, NON_NEGATIVE, POSITIVE, Choice, Integer, Optional, Real, Space, parameter

CITATION = "Harandi and Salzmann, Kernel Coding: General Formulation and Special Cases (ACCV 2014)"

GAMMA = parameter("weight of the l1 norm", POSITIVE, Real(1e-4, 0.1, log=True), default=1e-3)
NEIGHBOURS = parameter("nearest atoms that reconstruct a sample", Integer(1), Integer(5, 300, log=True), default=30)
EPSILON = parameter("ridge of local codes, by the nearest atoms' mean squared distance", NON_NEGATIVE, default=RIDGE)


class KernelCodingMethod(KernelMethod, CodingMethod):
    """Base of the kernel coding methods.

    A subclass names its ``supervision`` (none, linear, bilinear) and makes its :class:`Scheme`. Fitting raises
    :class:`UsageError` for more atoms than samples and for kernels that do not fit, :class:`MethodError` where every
    code vanishes. Not tagged ``stationary``: the codes of one row are exact minimisers, with dictionary and classifier
    as they are, but codes, dictionary and classifier take turns for so many rounds only.
    """

    citation = CITATION
    kernel_psd = False  # decided by ``indefinite``
    label_sets = True
    supervision: ClassVar[str] = "none"
    objective_may_rise: ClassVar[str] = (
        "where the kernel is learned, each round measures in another kernel, whose step lowers reconstruction relative "
        "to the spread of the atoms, (14), and not the objective of the codes; with the kernel fixed it never rises"
    )
    tolerance: ClassVar[float] = 1e-6
    tolerance_reason: ClassVar[str] = "sums over samples run in another order, and iterations add up the difference"
    dictionary = parameter(
        "which samples are atoms, or the first atoms where the dictionary is learned: all or at random, at random per "
        "class, nearest to kernel k-means centres, the same per class",
        Choice(("samples", "class-samples", "k-means", "class-k-means")),
        default="samples",
    )
    atoms = parameter(
        "number of atoms; none for all samples, or half of them where the dictionary is learned without labels",
        Optional(Integer(1)),
        default=None,
    )
    threads = parameter("threads that share out the queries of sparse coding", Integer(1), default=1)
    seed = parameter("draws atoms", Integer(0), default=0)

    # What a :class:`LearnedCoding` leaves open, and a supervised one.
    learning = "fixed"
    iterations = 1
    learn_kernel = "fixed"
    include_prior = False
    togetherness = 1.0
    rule = "residual"
    rho = 1.0
    code_scaling = "raw"
    scale = "mean"
    indefinite = "refuse"
    eta = 1.0
    recode = True

    @abstractmethod
    def scheme(self) -> Scheme:
        """Return the coding scheme with this instance's parameters."""

    @property
    def is_random(self) -> bool:
        """Whether atoms are drawn: not where they are all samples, nor where k-means chooses them."""
        # Half of the samples, of which the number is not known here, are drawn as any number is.
        halved = self.learning != "fixed" and self.supervision == "none"
        return is_drawn(self.dictionary, 1 if halved else self.atoms)

    def check_parameters(self) -> None:
        """Raise :class:`UsageError` for values outside their domain and for combinations without meaning."""
        super().check_parameters()
        if self.rule == "residual" and self.learning != "fixed":
            raise UsageError("rule=residual needs atoms that are samples: set learning=fixed, or another rule")
        if self.supervision != "none" and self.rule not in ("auto", self.supervision):
            raise UsageError(f"{known_as(type(self))} learns a {self.supervision} classifier; leave rule=auto")
        if str(self.kernel) != ANY and not self.parsed_kernel().psd and self.indefinite == "refuse":
            raise UsageError(
                f"{known_as(type(self))}: kernel {self.kernel} is not positive semi-definite; choose another one, or "
                "set indefinite=clip"
            )

    @property
    def space(self) -> Space:
        """The ranges that tuning searches; not the weights of a sum of kernels where these are learned."""
        learned = self.learn_kernel.startswith("weights")
        return {n: r for n, r in super().space.items() if not (learned and n.startswith(f"{PREFIX}weight."))}

    def prepare_fit(self, X: np.ndarray, y: np.ndarray, *, space: Space) -> Arrays:
        """Return kernel values between training rows, or the inner products that they follow from."""
        return self._prepared(X, None, space)

    def prepare_score(self, X: np.ndarray, train: np.ndarray, *, space: Space, statistics: Statistics = None) -> Arrays:
        """Return the same between rows X that will be scored and the training rows."""
        return self._prepared(X, train, space)

    def fit(self, X: np.ndarray, y: np.ndarray, *, statistics: Statistics = None) -> Self:
        """Fit on rows X (M, d) or (M, p, p) and labels y (M,) in 0..c-1, or y (M, c) of 1, 0 and -1.

        Each class needs at least one row, each label one with it and one without. Without ``statistics`` the method
        prepares for itself, with the same result.
        """
        self.check_parameters()
        check_coding_inputs(X, y, label_sets=True)
        self.train_, self.y_ = X, np.asarray(y)
        self.n_classes_ = label_count(self.y_)
        values = _TrainingValues(self.parsed_kernel(), X, None, statistics)
        kernel = equivalent_kernel(self.parsed_kernel())
        if not kernel.is_resolved:
            kernel = values.resolved(kernel)
        values.relative = self.scale == "mean"
        values.take_unit_of(kernel)
        scheme = self.scheme()
        self.rule_ = self._chosen_rule()
        K_X = values.gram(kernel)
        if isinstance(scheme, SparseScheme) and scheme.gamma >= vanishing_gamma(K_X):
            raise MethodError(
                f"gamma={scheme.gamma:g}: every code is zero from gamma={vanishing_gamma(K_X):.3g} on; choose less"
            )
        rows = choose_rows(self.dictionary, K_X, strata(self.y_), self._atoms(len(y)), self.seed)
        plan = self._plan(scheme)
        needs_codes = self.rule_ != "residual"
        state = alternate(plan, kernel, values, rows, self.y_, self.n_classes_, needs_codes=needs_codes)
        self.kernel_, self.atoms_, self.unit_ = state.kernel, state.atoms(), values.unit
        indefinite = not state.kernel.psd
        self.projection_ = positive_projection(PairValues.gram(values, state.kernel)) if indefinite else None
        self._fit_rule(plan, state)
        self._report(state)
        return self

    def transform(self, X: np.ndarray, *, statistics: Statistics = None) -> np.ndarray:
        """Return the codes (n, N) of rows X (n, ...)."""
        return self._encode(X, statistics)[0]

    def decision_function(self, X: np.ndarray, *, statistics: Statistics = None) -> np.ndarray:
        """Return scores (n, c), higher for likelier classes."""
        codes, K, k = self._encode(X, statistics)
        look_at_codes(codes)
        if self.rule_ == "residual":
            return residual_scores(self.atoms_.K_D, k, codes, self.y_[self.atoms_.rows], self.n_classes_)
        assert self.codes_ is not None
        codes = self._scaled(codes)
        if self.classifier_ is None:
            return nearest_scores(codes, self.codes_, self.y_, self.n_classes_)
        if self.rule_ == "linear":
            return np.asarray(codes @ self.classifier_.T)
        return bilinear_scores(K, codes, self.codes_, self.classifier_)

    def restored_parts(self) -> Mapping[str, Callable[[Mapping[str, Any]], Any]]:
        """Return how the atoms are made again."""
        return {"atoms_": lambda state: Atoms(**state)}

    def matrices(self) -> Arrays:
        """Return the dictionary (``atom_rows`` or ``weights``), the training codes and the classifier."""
        arrays: Arrays = {}
        for name, array in (("weights", self.atoms_.A), ("atom_rows", self.atoms_.rows)):
            if array is not None:
                arrays[name] = array
        if self.codes_ is not None:
            arrays["codes"] = self.codes_
        if self.classifier_ is not None:
            arrays["classifier"] = self.classifier_
        return arrays

    @classmethod
    def fitting_kernels(cls) -> dict[str, Kernel]:
        """Return the registered positive semi-definite kernels on vectors."""
        return {n: k for n, k in super().fitting_kernels().items() if k.psd and k.input == "vectors"}

    @classmethod
    def _misfit(cls, kernel: Kernel) -> str:
        return ""

    def _atoms(self, samples: int) -> int | None:
        """Without labels a dictionary of all samples has nothing to learn; with labels it begins at that of ksc."""
        if self.atoms is not None or self.learning == "fixed" or self.supervision != "none":
            return self.atoms
        return max(1, samples // 2)

    def _chosen_rule(self) -> str:
        if self.supervision != "none":
            return self.supervision
        if self.rule != "auto":
            return self.rule
        return "residual" if self.learning == "fixed" else "nearest"

    def _plan(self, scheme: Scheme) -> Plan:
        return Plan(
            scheme,
            learning=self.learning,
            iterations=self.iterations,
            supervision=self.supervision,
            eta=self.eta,
            rho=self.rho,
            kernel_learning=self.learn_kernel,
            include_prior=self.include_prior,
            togetherness=self.togetherness,
        )

    def _fit_rule(self, plan: Plan, state: Learned) -> None:
        """Code the training samples as new ones will be coded, and fit the classifier on that."""
        self.codes_: np.ndarray | None = None
        self.classifier_: np.ndarray | None = None
        if self.rule_ == "residual":
            return
        if self.supervision != "none" and not self.recode:
            self.codes_ = state.codes if state.fitted is None else state.fitted
            self.classifier_ = state.classifier
            return
        self.codes_ = self._scaled(state.codes if self.supervision == "none" else plain_codes(plan, state))
        L, counts = indicators(self.y_, self.n_classes_), counted(self.y_)
        if self.rule_ == "linear":
            self.classifier_ = fit_linear(self.codes_, L, plan.eta, plan.rho, counts)
        elif self.rule_ == "bilinear":
            self.classifier_ = fit_bilinear(state.K_X, self.codes_, L, plan.eta, plan.rho, counts)

    def _scaled(self, codes: np.ndarray) -> np.ndarray:
        if self.code_scaling == "raw":
            return codes
        norms = np.linalg.norm(codes, axis=1, keepdims=True)
        return codes / np.where(norms > 0, norms, 1.0)

    def _encode(self, X: np.ndarray, statistics: Statistics) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if not np.isfinite(X).all():
            raise DataError("X holds NaN or infinity")
        values = PairValues(self.parsed_kernel(), X, self.train_, statistics, self.unit_)
        K = values.gram(self.kernel_)
        if self.projection_ is not None:
            K = K @ self.projection_
        k = self.atoms_.towards(K)
        return self.scheme().encode(self.atoms_.K_D, k, values.diagonal(self.kernel_)), K, k

    def _report(self, state: Learned) -> None:
        numbers = {**state.numbers, "mean k(x, x)": self.unit_, **self.resolved_numbers(state.kernel)}
        self.diagnostics_ = Diagnostics({"objective": list(state.rounds)} if state.rounds else {}, numbers)
        if self.codes_ is not None:
            self.diagnostics_.numbers["nonzeros per code"] = float(np.count_nonzero(self.codes_) / len(self.codes_))
            self.diagnostics_.numbers["empty codes"] = float((~self.codes_.any(axis=1)).mean())

    def _prepared(self, X: np.ndarray, train: np.ndarray | None, space: Space) -> Arrays:
        nested = [name for name in space if name == "kernel" or name.startswith(PREFIX)]
        searched = bool(nested) or self.learn_kernel != "fixed"
        if "learn_kernel" in space:
            searched = True
        prepared_kernel = parse_kernel("linear") if str(self.kernel) == ANY else self.parsed_kernel()
        if has_views(prepared_kernel):
            paths = set(prepared_kernel.values) if "kernel" in space else {name.removeprefix(PREFIX) for name in nested}
            return prepare_term_values(prepared_kernel, X, train, paths)
        rows = equivalent_rows(prepared_kernel, X)
        train_rows = None if train is None else equivalent_rows(prepared_kernel, train)
        return prepare_values(equivalent_kernel(prepared_kernel), rows, train_rows, searched=searched)


class _TrainingValues(PairValues):
    """Training values with the negative part of an indefinite kernel taken out."""

    def gram(self, kernel: Kernel) -> np.ndarray:
        K = super().gram(kernel)
        return K if kernel.psd else clipped(K)


class LearnedCoding(KernelCodingMethod, listed_last=True):
    """Base of the methods that may learn their dictionary, and the kernel with it."""

    learning = parameter(
        "dictionary: the samples themselves; least squares, atoms of sparse codes then normalised; least squares under "
        "bounded norms",
        Choice(("fixed", "free", "constrained")),
        default="fixed",
    )
    iterations = parameter("rounds over codes, classifier, dictionary and kernel", Integer(1), default=8)
    learn_kernel = parameter(
        "learn a Gaussian's bandwidth or a polynomial's bias, the weights of a sum of kernels, or these as printed "
        "(one kernel wins)",
        Choice(("fixed", "bandwidth", "weights", "weights-paper")),
        default="fixed",
    )
    include_prior = parameter("count the prior in the error that sets the bandwidth", BOOLEAN, default=False)
    togetherness = parameter("how alike learned kernel weights are; large: the average", POSITIVE, default=1.0)
    rule = parameter(
        "classifier: auto takes a supervised method's own, residual where atoms are samples, nearest otherwise",
        Choice(("auto", "residual", "nearest", "linear", "bilinear")),
        default="auto",
    )
    rho = parameter("ridge of the linear and bilinear classifiers", POSITIVE, default=1e-4)
    code_scaling = parameter("l2: codes of unit length where a rule learns", Choice(("raw", "l2")), default="raw")
    scale = parameter("unit of weights and prices: mean k(x, x), or 1", Choice(("mean", "absolute")), default="mean")
    indefinite = parameter("indefinite kernels are refused, or clipped", Choice(("refuse", "clip")), default="refuse")


class SupervisedCoding(LearnedCoding, listed_last=True):
    """Base of the methods whose codes feel the loss of a classifier."""

    dictionary = "class-k-means"
    learning = "constrained"
    eta = parameter("weight of the classification loss in coding", POSITIVE, Real(1e-3, 1, log=True), default=0.1)
    rho = parameter("ridge of the classifier", POSITIVE, Real(1e-7, 1e-2, log=True), default=1e-5)
    recode = parameter("code training samples without labels before the last classifier fit", BOOLEAN, default=True)
