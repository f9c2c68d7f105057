"""Synthesised classifiers: a classifier per seen class, and classifiers of any class made of them.

Changpinyo, Chao, Gong and Sha, "Synthesized classifiers for zero-shot learning", CVPR 2016, in the form of the authors'
code for "Classifier and exemplar synthesis for zero-shot learning", IJCV 2020 (SynC_fast.m and train_W_*.m in
github.com/pujols/Zero-shot-learning-journal). Rows are samples here.

| paper     | here           | shape  | meaning                                                                     |
|-----------|----------------|--------|-----------------------------------------------------------------------------|
| x         | X              | (n, d) | features                                                                    |
| a_c       | S / unit       | (c, a) | signatures, divided by the median distance between those of seen classes    |
| b_r       | phantoms_      | (r, a) | signatures of the phantom classes: the seen ones                            |
| w_c       | W_             | (r, d) | classifiers of the seen classes, trained by themselves, without offset      |
| s_cr      | ``similarity`` | (c, r) | exp(-scale abs(a_c - b_r)^2), each row divided by its sum                   |
| v_r       |                | (r, d) | pinv(s) W_: classifiers of the phantoms                                     |
| w_c = s v |                | (c, d) | classifiers of any classes; score of x: x w_c'                              |
| lambda    | lam            | scalar | ridge on W, in units of the mean squared length of the training rows        |

W does not depend on ``scale``: a trial with a known ``lam`` costs two products of width r. The scores X W' of a batch
are prepared with W.

Where this departs from the authors' code: the median distance is that of the seen classes (theirs is of all); W is
trained to a duality gap (their L-BFGS stops after 1000 iterations, for losses with kinks as well); singular values of
s below ``rcond`` times the largest count as 0 (theirs: below r times the machine's precision); features are split into
positive and negative parts before they are brought to unit length, which changes nothing for their non-negative ones.

Similarity to the phantom classes
---------------------------------
Equation (3), with signatures in units of their distances; scaling and the default bandwidths as in the authors' code
(get_class_signatures.m, Compute_Sim.m).

Losses of the seen classes
--------------------------
The multi-class hinge, with margins of 1 or the distances of signatures (train_W_CS.m, train_W_struct.m), and the
squared hinge of each seen class against the others (train_W_OVO.m, :mod:`.squared_hinge`).
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from scipy.spatial.distance import cdist, pdist

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.data.store.rows import float_type, rowwise
from zslplat.families.zero_shot.methods import spectral
from zslplat.families.zero_shot.methods.base import ZeroShotMethod, check_fit_inputs
from zslplat.families.zero_shot.methods.sync import multiclass_hinge, squared_hinge
from zslplat.methods.base import Arrays, Diagnostics, Prepared, Statistics
from zslplat.space import POSITIVE, Choice, Integer, Real, Space, parameter


def median_signature_distance(S: np.ndarray) -> float:
    """Return the median Euclidean distance over pairs of different signatures S (c, a); 1 where all are the same.

    Pairs of equal signatures are left out, as in the authors' code. There the median runs over all classes; here S is
    of the seen classes, so that training needs no signature of an unseen class.
    """
    distances = pdist(np.asarray(S, dtype=np.float64))
    distances = distances[distances > 0]
    return float(np.median(distances)) if len(distances) else 1.0


def similarity(A: np.ndarray, B: np.ndarray, scale: float) -> np.ndarray:
    """Return exp(-scale |a - b|^2) between rows of A (m, a) and B (r, a), each row divided by its sum (m, r).

    The nearest b keeps its weight however large ``scale`` is: the exponents are taken relative to it.
    """
    squares = cdist(A, B, "sqeuclidean")
    weights = np.exp(-scale * (squares - squares.min(axis=1, keepdims=True)))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def synthesis_weights(S: np.ndarray, phantoms: np.ndarray, scale: float, rcond: float) -> np.ndarray:
    """Return A (m, r) with which classifiers of the classes S (m, a) are A W, for W (r, d) of the phantoms (r, a).

    A = Sim(S, phantoms) pinv(Sim(phantoms, phantoms)): the phantoms are the seen classes, whose classifiers V = pinv W
    reproduces. Singular values below ``rcond`` times the largest count as 0.
    """
    inverse = np.linalg.pinv(similarity(phantoms, phantoms, scale), rcond=rcond)
    return np.asarray(similarity(S, phantoms, scale) @ inverse)


def nearest_weights(S: np.ndarray, phantoms: np.ndarray) -> np.ndarray:
    """Return A (m, r) that takes for each class of S (m, a) the mean of the phantoms (r, a) at the least distance."""
    squares = cdist(S, phantoms, "sqeuclidean")
    nearest = squares <= squares.min(axis=1, keepdims=True)
    return np.asarray(nearest / nearest.sum(axis=1, keepdims=True))


CITATION = "Changpinyo, Chao, Gong, Sha: Synthesized classifiers for zero-shot learning. CVPR 2016"


class SynthesisedClassifiers(ZeroShotMethod):
    """Base of the methods: subclasses train the classifiers of the seen classes with a loss of their own.

    Learned: ``W_`` (r, d), ``phantoms_`` (r, a), ``signature_unit_``. ``diagnostics_`` tells the primal value of the
    training, its relative duality gap, and what it took. Sums in float64, training products in the precision of X,
    scores in float64.
    """

    citation = CITATION
    preprocessing = Preprocessing(features=("split", "l2"), signatures=("l2",))
    # The authors' grid 2^-24, 2^-23, ..., 2^-9, which is for rows of unit length and tens of thousands of them, and on
    # to 2^-4 for sets with fewer rows; the default is one of the values as searches write them.
    lam = parameter(
        "ridge on the seen classifiers, in units of the mean squared length of the rows",
        POSITIVE,
        Real(2.0**-24, 2.0**-4, log=True, steps=21),
        default=float(f"{2.0**-12:.6g}"),
    )
    scale = parameter(
        "inverse squared bandwidth of the similarity, in units of the median distance between signatures",
        POSITIVE,
        Real(2.0**-5, 2.0**5, log=True),
        default=1.0,
    )
    rcond = parameter("relative size of singular values that count as 0", Real(0, 1), default=1e-8)
    seen_classifiers = parameter(
        "classifiers of seen classes when scored beside unseen ones: synthesised like those (as the authors), or as "
        "they were trained",
        Choice(("synthesised", "trained")),
        default="synthesised",
    )
    gap = parameter("duality gap at which training ends, relative to the objective", POSITIVE, default=1e-3)

    @abstractmethod
    def train(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, lam: float) -> Arrays:
        """Return W (r, d) for rows X (n, d), labels y (n,), scaled signatures S (r, a) and an absolute ridge.

        Under ``relative_gap`` (rounds,) the relative duality gap as training went on, and numbers to be told beside.
        """

    def prepare_fit(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, *, space: Space) -> Arrays:
        """Return the classifiers of the seen classes, unless what they depend on is still open."""
        check_fit_inputs(X, y, S)
        if set(self.costly) & set(space):
            return {}
        unit = median_signature_distance(S)
        lam = self.lam * mean_squared_length(X)
        rows = np.ascontiguousarray(X, dtype=float_type(X.dtype))
        trained = self.train(rows, y, np.asarray(S, dtype=np.float64) / unit, lam)
        return {**trained, "lam_absolute": np.asarray(lam), "signature_unit": np.asarray(unit)}

    def prepare_score(self, X: np.ndarray, S: np.ndarray, *, space: Space, statistics: Statistics = None) -> Arrays:
        """Return the scores (n, r) of the seen classifiers, where these are prepared."""
        return {"F": seen_scores(X, statistics["W"])} if statistics and "W" in statistics else {}

    def _fit(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> None:
        """Fit on rows X (n, d), labels y (n,) in 0..c-1 and signatures S (c, a)."""
        if "W" not in statistics:
            statistics = self.prepare_fit(X, y, S, space={})
        self.W_, self.signature_unit_ = np.asarray(statistics["W"]), float(statistics["signature_unit"])
        self.phantoms_ = np.asarray(S, dtype=np.float64) / self.signature_unit_
        numbers = {k: float(v) for k, v in statistics.items() if k not in ("W", "relative_gap")}
        gaps = [float(gap) for gap in statistics["relative_gap"]]
        self.diagnostics_ = Diagnostics({"relative_gap_by_round": gaps}, {**numbers, "relative_gap": gaps[-1]})

    def _scores(self, X: np.ndarray, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return x w' for every row of X (n, d) and the classifier of every signature of S (c, a), in float64."""
        S = np.asarray(S, dtype=np.float64) / self.signature_unit_
        A = synthesis_weights(S, self.phantoms_, self.scale, self.rcond)
        if self.seen_classifiers == "trained" and seen is not None and np.any(seen):
            A[seen] = nearest_weights(S[seen], self.phantoms_)
        F = statistics["F"] if statistics else seen_scores(X, self.W_)
        return np.asarray(F @ A.T)

    def matrices(self) -> Arrays:
        """Return W (r, d)."""
        return {"W": self.W_}


def seen_scores(X: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Return X W' (n, r) in float64: what is small in it may be enlarged by an inverse."""
    return rowwise(X, lambda rows: np.asarray(rows.astype(np.float64) @ W.T))


def mean_squared_length(X: np.ndarray) -> float:
    """Return the mean of |x|^2 over rows (n, d); 1 where all are 0."""
    return float(np.einsum("ij,ij->", X, X, dtype=np.float64)) / len(X) or 1.0


class SynCCrammerSinger(SynthesisedClassifiers):
    r"""Synthesised classifiers from the multi-class hinge of Crammer and Singer (Changpinyo et al., 2016).

    The mean over rows of max_c (1(c != y) + x w_c' - x w_y'), plus lam / 2 |W|^2, is minimised by coordinate ascent in
    the dual until the duality gap is ``gap`` of the value, or after ``passes`` over the rows: very small ``lam`` may
    need more, and ``relative_gap`` says what was reached. The head of this file has symbols, units, and what departs
    from the authors' code.

    Equations
    ---------
    Classifiers W of the seen classes are trained by themselves, and those of any class are mixtures of phantom
    classifiers v:

    $$w_c = \sum_r \sigma_{cr}\, v_r, \qquad \sigma_{cr} = \frac{e^{-\beta \lVert a_c - b_r \rVert^2}}{\sum_q e^{-\beta
    \lVert a_c - b_q \rVert^2}}, \qquad V = \Sigma^{+} W$$

    $$\min_W \frac{1}{n} \sum_i \max_c \left( [c \ne y_i] + x_i^\top w_c - x_i^\top w_{y_i} \right) + \frac{\lambda}{2}
    \lVert W \rVert^2$$

    beta is ``scale``, and t is 1 for the class of the row and -1 for others.

    Related
    -------
    ``sync-struct`` has margins from the signatures; ``sync-ovo`` a squared hinge for each class; ``exem-1nn``
    synthesises exemplars in place of classifiers.
    """

    summary = "synthesised classifiers, multi-class hinge of the seen classes (Crammer-Singer)"
    tags = ("inductive", "linear", "convex")
    tolerance = 1e-2
    tolerance_reason = "training stops at a duality gap, where classifiers still differ by about its root"
    costly = ("lam", "gap", "passes")
    passes = parameter("passes of the training at most", Integer(1), default=200)

    def train(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, lam: float) -> Arrays:
        """Return the classifiers, with the value and the relative duality gaps of the training."""
        solution = multiclass_hinge.solve(X, y, self.margins(S), lam, self.gap, self.passes)
        return {
            "W": solution.W,
            "relative_gap": np.asarray(solution.gaps),
            "value": np.asarray(solution.value),
            "passes_made": np.asarray(solution.passes),
        }

    def margins(self, S: np.ndarray) -> np.ndarray:
        """Return the margin (r, r) that each class keeps from rows of each other one."""
        return 1 - np.eye(len(S))


class SynCStructured(SynCCrammerSinger):
    r"""Synthesised classifiers from the multi-class hinge with margins |a_c - a_y| (Changpinyo et al., 2016).

    The Euclidean distance of the scaled signatures takes the place of 1(c != y); else as
    :class:`SynCCrammerSinger`.

    Equations
    ---------
    Classifiers W of the seen classes are trained by themselves, and those of any class are mixtures of phantom
    classifiers v:

    $$w_c = \sum_r \sigma_{cr}\, v_r, \qquad \sigma_{cr} = \frac{e^{-\beta \lVert a_c - b_r \rVert^2}}{\sum_q e^{-\beta
    \lVert a_c - b_q \rVert^2}}, \qquad V = \Sigma^{+} W$$

    $$\min_W \frac{1}{n} \sum_i \max_c \left( \lVert a_c - a_{y_i} \rVert + x_i^\top w_c - x_i^\top w_{y_i} \right) +
    \frac{\lambda}{2} \lVert W \rVert^2$$

    beta is ``scale``, and t is 1 for the class of the row and -1 for others.

    Related
    -------
    ``sync-cs`` has margins of 1; ``sync-ovo`` a squared hinge for each class; ``exem-1nn`` synthesises exemplars.
    """

    summary = "synthesised classifiers, multi-class hinge with distances of signatures as margins"

    def margins(self, S: np.ndarray) -> np.ndarray:
        """Return the distances (r, r) between scaled signatures."""
        return np.asarray(cdist(S, S))


class SynCOneVersusOther(SynthesisedClassifiers):
    r"""Synthesised classifiers from squared hinges, one seen class against the others (Changpinyo et al., 2016).

    The mean over rows and classes of max(0, 1 - t x w')^2, plus lam / 2 |W|^2, is minimised by truncated Newton steps
    until the duality gap is ``gap`` of the value for every class. The head of this file has symbols, units, and what
    departs from the authors' code.

    Equations
    ---------
    Classifiers W of the seen classes are trained by themselves, and those of any class are mixtures of phantom
    classifiers v:

    $$w_c = \sum_r \sigma_{cr}\, v_r, \qquad \sigma_{cr} = \frac{e^{-\beta \lVert a_c - b_r \rVert^2}}{\sum_q e^{-\beta
    \lVert a_c - b_q \rVert^2}}, \qquad V = \Sigma^{+} W$$

    $$\min_W \frac{1}{n c} \sum_{i, c} \max(0,\; 1 - t_{ic}\, x_i^\top w_c)^2 + \frac{\lambda}{2} \lVert W \rVert^2$$

    beta is ``scale``, and t is 1 for the class of the row and -1 for others.

    Related
    -------
    ``sync-cs`` and ``sync-struct`` train the seen classes jointly; ``exem-1nn`` synthesises exemplars; ``sse-int``
    mixes similarities to seen classes.
    """

    summary = "synthesised classifiers, squared hinge of one seen class against the others"
    tags = ("inductive", "linear", "convex", "stationary")
    tolerance = 1e-3
    tolerance_reason = "training stops at a duality gap, and products in the precision of X depend on the order of rows"
    costly = ("lam", "gap", "steps")
    gap = 1e-6
    steps = parameter("steps of the training at most", Integer(1), default=50)

    def train(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, lam: float) -> Arrays:
        """Return the classifiers, with the value and the relative duality gap of the training."""
        solution = squared_hinge.solve(X, y, len(S), lam, spectral.row_space(X), self.gap, self.steps)
        return {
            "W": solution.W,
            "relative_gap": np.asarray([solution.gap / solution.value]),
            "value": np.asarray(solution.value),
            "newton_steps": np.asarray(solution.steps),
            "products_with_features": np.asarray(solution.products),
        }

    def objective(self, X: np.ndarray, y: np.ndarray, S: np.ndarray) -> float:
        """Return the mean squared hinge plus lam / 2 |W|^2 at the learned W, which minimises it."""
        F = np.asarray(X, dtype=np.float64) @ self.W_.T
        T = np.where(y[:, None] == np.arange(len(S)), 1, -1)
        lam = self.lam * mean_squared_length(X)
        return float((np.maximum(0, 1 - T * F) ** 2).mean() + lam / 2 * (self.W_**2).sum())
