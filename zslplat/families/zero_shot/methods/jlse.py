"""Joint latent similarity embedding: do a signature and a row match, told from a latent code of either.

Zhang and Saligrama, "Zero-Shot Learning via Joint Latent Similarity Embedding", CVPR 2016 (arXiv 1511.04512). From
memory: its abstract and reports of it confirm a binary match problem, max over latent codes of
log p(z_s | s) + log p(z_t | x) + log p(match | z_s, z_t), dictionaries for both domains, and that codes and parameters
are found in turns; the terms below could not be compared with the paper's text. Rows are samples here.

| paper | here   | shape  | meaning                                                                                  |
|-------|--------|--------|------------------------------------------------------------------------------------------|
| x_t   | X      | (n, d) | features, in units of their root mean square ``unit``                                    |
| B     | S      | (c, a) | signatures of the seen classes, the dictionary of signatures (kept as they are)          |
| z_s   | codes  | (m, c) | code of a signature on the simplex (``simplex.py``)                              |
| D     | D      | (r, d) | dictionary of features                                                                   |
| z_t   | Z      | (n, r) | latent code of each row                                                                  |
| W     | W      | (c, r) | a row and a signature match where z_s'W z_t is large; V = codes W (m, r)                 |
| y_st  | t      | (n, c) | 1 where the class of the row is the class of the signature, -1 elsewhere                 |

    J = 1/n sum_i [ 1/2 |z_i|^2 + 1/(2 noise) |x_i - D'z_i|^2 + match sum_c w_ic h(t_ic z_c'W z_i) ]
        + lam/2 |W|^2 + dictionary/2 |D|^2

Pairs are (row, class), n c of them. What is chosen here: the scale of z is free, so that its penalty is 1; the right
class of a row has the weight w = 1, all wrong ones together too (``variant="paper"``: every pair has); the hinge is
rounded over a width of delta = 1/2, h(m) = min_s s^2 / (2 delta) + max(0, 1 - m - s), so that every step has a slope; D
starts as the principal directions times the standard deviations along them, Z as the codes that D alone gives, W at 0.
One round is

1. Z: steps z - H_y^-1 g, where H_y = I + D D'/noise + match/delta sum_c w_c v_c v_c' bounds the curvature of all rows
   of class y;
2. W: steps of L-BFGS;
3. D: (Z'Z/(n noise) + dictionary I) D = Z'X/(n noise),

none of which raises J. A new row has the code z = (I + D D'/noise)^-1 D x/noise of reconstruction alone. Its cheap
score is m = z_c'W z, linear in x. Letting the code move so that row and class match, for every class by itself, has a
closed form, because h is an envelope: min over z of what the row adds to J with t = 1 is a constant plus match h(m)
with delta + match q_c in place of delta, q_c = v_c'(I + D D'/noise)^-1 v_c.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from scipy import linalg

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.families.zero_shot.methods import spectral
from zslplat.families.zero_shot.methods.base import ZeroShotMethod, check_fit_inputs
from zslplat.families.zero_shot.methods.simplex import simplex_codes
from zslplat.methods.base import Arrays, Diagnostics, Prepared
from zslplat.methods.compiled import compiled
from zslplat.methods.neighbours import largest_k
from zslplat.methods.quasi_newton import minimise
from zslplat.space import POSITIVE, Choice, Integer, Real, Space, parameter

DELTA = 0.5
# Steps of each kind in a round.
CODE_STEPS, MATCH_STEPS = 3, 10


def rounded_hinge(margins: np.ndarray, delta: float | np.ndarray = DELTA) -> np.ndarray:
    """Return h: 0 from 1 on, (1 - m)^2 / (2 delta) down to 1 - delta, 1 - m - delta/2 below."""
    short = np.maximum(1 - margins, 0)
    return np.asarray(np.where(short < delta, short**2 / (2 * delta), short - delta / 2))


@compiled(fastmath={"reassoc", "contract"}, error_model="numpy")
def match_and_slopes(products: np.ndarray, y: np.ndarray, wrong: float) -> float:
    """Return sum_ic w_ic h(t_ic m_ic) for products m (n, c) of codes with classes; w t h'(t m) takes their place.

    ``y`` (n,) labels; the right class of a row has w = 1, each other one ``wrong``.
    """
    total = 0.0
    for i in range(len(products)):
        row, right = products[i], products[i, y[i]]
        value = 0.0
        row[y[i]] = -1.0  # a wrong class there would weigh nothing
        for c in range(len(row)):
            short = max(1.0 + row[c], 0.0)
            slope = min(short / DELTA, 1.0)
            value += slope * (short - DELTA / 2 * slope)
            row[c] = wrong * slope
        short = max(1.0 - right, 0.0)
        slope = min(short / DELTA, 1.0)
        row[y[i]] = -slope
        total += wrong * value + slope * (short - DELTA / 2 * slope)
    return total


@dataclass(frozen=True)
class Terms:
    """The weights of the terms of J."""

    noise: float
    match: float
    lam: float
    dictionary: float
    every_pair: bool = False  # each pair weighs 1, of wrong classes too

    def of_wrong(self, classes: int) -> float:
        """Return the weight of a row and one wrong class."""
        return 1.0 if self.every_pair else 1 / max(1, classes - 1)


class Alternation:
    """J over rows X (n, d) in units of ``unit``, labels y (n,) and codes (c, c) of the seen classes, and its rounds.

    D, Z, W as in the head of this file, in float64; products with X run in its precision.
    """

    def __init__(
        self, X: np.ndarray, y: np.ndarray, codes: np.ndarray, D: np.ndarray, unit: float, terms: Terms
    ) -> None:
        self.X, self.y, self.codes, self.D, self.unit, self.terms = X, y, codes, D, unit, terms
        self.wrong = terms.of_wrong(len(codes))
        self.squares = float(np.einsum("ij,ij->", X, X, dtype=np.float64)) / unit**2
        self.W = np.zeros((len(codes), len(D)))
        self.Z = self._towards_rows() @ linalg.inv(precision(D, terms.noise))

    def value(self) -> float:
        """Return J."""
        terms, n = self.terms, len(self.X)
        inner = float(np.einsum("ij,ij->", self._towards_rows(), self.Z)) * terms.noise
        error = self.squares - 2 * inner + float(np.einsum("ij,ij->", self.Z.T @ self.Z, self.D @ self.D.T))
        fit = 0.5 * float(np.square(self.Z).sum()) + error / (2 * terms.noise)
        return fit / n + self._match(self.W)[0] + terms.dictionary / 2 * float(np.square(self.D).sum())

    def round(self) -> None:
        """Take the steps of one round; none raises J."""
        self._move_codes()
        self._move_match()
        self._move_dictionary()

    def _towards_rows(self) -> np.ndarray:
        """Return X D'/noise (n, r)."""
        D = (self.D / (self.terms.noise * self.unit)).astype(self.X.dtype)
        return np.asarray(self.X @ D.T, dtype=np.float64)

    def _move_codes(self) -> None:
        V, towards = self.codes @ self.W, self._towards_rows()
        A, curvature = precision(self.D, self.terms.noise), self.terms.match / DELTA
        # H_y is the same for all classes but for the weight of v_y v_y': one factor, and a correction of rank one.
        common = linalg.cho_factor(A + curvature * self.wrong * V.T @ V)
        towards_class = linalg.cho_solve(common, V.T).T
        more = curvature * (1 - self.wrong)
        share = more / (1 + more * np.einsum("cr,cr->c", V, towards_class))
        for _ in range(CODE_STEPS):
            slopes = self.Z @ V.T
            match_and_slopes(slopes, self.y, self.wrong)
            step = linalg.cho_solve(common, (self.Z @ A - towards + self.terms.match * slopes @ V).T).T
            along = share[self.y] * np.einsum("nr,nr->n", V[self.y], step)
            self.Z -= step - along[:, None] * towards_class[self.y]

    def _move_match(self) -> None:
        def value_and_slope(vector: np.ndarray) -> tuple[float, np.ndarray]:
            value, slope = self._match(vector.reshape(self.W.shape))
            return value, slope.ravel()

        *_, last = islice(minimise(value_and_slope, self.W.ravel(), tolerance=1e-6), MATCH_STEPS + 1)
        self.W = last.point.reshape(self.W.shape)

    def _match(self, W: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the terms of J that hold W, and their derivative (c, r)."""
        terms, n = self.terms, len(self.X)
        slopes = self.Z @ (self.codes @ W).T
        value = terms.match / n * match_and_slopes(slopes, self.y, self.wrong)
        slope = terms.match / n * self.codes.T @ (slopes.T @ self.Z) + terms.lam * W
        return value + terms.lam / 2 * float(np.square(W).sum()), slope

    def _move_dictionary(self) -> None:
        share = 1 / (len(self.X) * self.terms.noise)
        square = share * self.Z.T @ self.Z
        square[np.diag_indices_from(square)] += self.terms.dictionary
        products = np.asarray(self.Z.T.astype(self.X.dtype) @ self.X, dtype=np.float64)
        self.D = linalg.solve(square, share / self.unit * products, assume_a="pos")


def precision(D: np.ndarray, noise: float) -> np.ndarray:
    """Return I + D D'/noise (r, r), the curvature of what reconstruction asks of a code."""
    A = D @ D.T / noise
    A[np.diag_indices_from(A)] += 1
    return np.asarray(A)


class JLSE(ZeroShotMethod):
    r"""Joint latent similarity embedding: a class matches a row where latent codes of both say so.

    ``score="reconstruction"`` is the cheap form, linear in the row; ``"match"`` lets the code of a row move towards
    each class, as the paper does. ``variant="paper"`` has that score, and the same weight for every pair in training.
    Learned: ``D_`` (r, d) for features in units of ``unit_``, ``W_`` (c, r), ``signatures_`` (c, a).
    Not tagged ``stationary``: the turns are bounded, and validation stops them.

    Equations
    ---------
    A latent code z of a row and one of a signature match by a bilinear form, and codes, dictionary and form are learned
    in turns:

    $$\min_{z, W, D} \frac{1}{n} \sum_i \left[ \frac{1}{2} \lVert z_i \rVert^2 + \frac{1}{2 \nu} \lVert x_i - D^\top z_i
    \rVert^2 + \mu \sum_c w_{ic}\, h(t_{ic}\, z_c^\top W z_i) \right] + \frac{\lambda}{2} \lVert W \rVert^2 +
    \frac{\kappa}{2} \lVert D \rVert^2$$

    nu is ``noise``, mu ``match``, lambda ``lam``, kappa ``dictionary``; h is a rounded hinge. With ``variant="paper"``
    w is 1, and a row takes the class with which its code matches at the least cost:

    $$\hat c = \arg\min_c \min_z \frac{1}{2} \lVert z \rVert^2 + \frac{1}{2 \nu} \lVert x - D^\top z \rVert^2 + \mu\,
    h(z_c^\top W z)$$

    Related
    -------
    ``sse-int`` and ``sse-relu`` share the code of a signature, a mixture of seen classes; ``sae`` has linear codes.
    """

    summary = "matches of latent codes of signatures (simplex) and rows (dictionary), learned jointly in turns"
    citation = "Zhang, Saligrama: Zero-Shot Learning via Joint Latent Similarity Embedding. CVPR 2016"
    tags = ("inductive", "dictionary", "monotone", "from memory")
    preprocessing = Preprocessing(features=("standardise",), signatures=("center", "l2"))
    step_parameter = "rounds"
    tolerance = 1e-3
    tolerance_reason = "turns of an objective that is not convex amplify rounding in single precision"
    latent = parameter("length r of a row's code", Integer(1), Integer(20, 400, log=True), default=100)
    gamma = parameter("ridge of signatures' codes, by eigenvalue", POSITIVE, Real(1e-2, 10.0, log=True), default=0.3)
    match = parameter("weight of a match against the reconstruction", POSITIVE, Real(1e-2, 1e2, log=True), default=1.0)
    lam = parameter("penalty of W in units of the weight of a match", POSITIVE, Real(1e-4, 1.0, log=True), default=1e-2)
    noise = parameter("variance about the reconstruction, for features of unit variance", POSITIVE, default=1.0)
    # Without it directions that no row has would leave D open.
    dictionary = parameter("penalty of the dictionary", POSITIVE, default=1e-3)
    score = parameter(
        "code of a new row: by reconstruction alone, or moved so that it matches each class",
        Choice(("reconstruction", "match")),
        default="reconstruction",
    )
    rounds = parameter("rounds over codes, match and dictionary", Integer(1), default=10)
    variant = parameter(
        "default; paper: codes of new rows move towards each class, and every pair weighs the same",
        Choice(("default", "paper")),
        default="default",
    )
    variants = {"paper": {"score": "match"}}

    def prepare_fit(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, *, space: Space) -> Arrays:
        """Return the principal directions (d, k) of X and their values (k,), as many as the space can ask for."""
        check_fit_inputs(X, y, S)
        Q, values = spectral.row_space(X)
        leading = np.argsort(-values, kind="stable")[: largest_k(space, "latent", self.latent)]
        return {"directions": Q[:, leading], "values": values[leading]}

    def _fit_steps(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> Iterator[int]:
        """Fit round by round, yielding 1, 2, ..."""
        X = X if np.issubdtype(X.dtype, np.floating) else X.astype(np.float64)
        self.signatures_ = np.array(S, dtype=np.float64)
        self.unit_ = float(np.sqrt(np.einsum("ij,ij->", X, X, dtype=np.float64) / X.size)) or 1.0
        values = np.maximum(np.asarray(statistics["values"])[: self.latent], 0) / len(X)
        D = (np.asarray(statistics["directions"])[:, : self.latent] * np.sqrt(values) / self.unit_).T
        terms = Terms(self.noise, self.match, self.lam * self.match, self.dictionary, self.variant == "paper")
        turns = Alternation(X, y, self._codes(self.signatures_), D, self.unit_, terms)
        self.diagnostics_ = Diagnostics({"objective": [turns.value()]})
        for number in range(1, self.rounds + 1):
            turns.round()
            self.D_, self.W_ = turns.D.copy(), turns.W.copy()
            self.diagnostics_.series["objective"].append(turns.value())
            yield number

    def _scores(self, X: np.ndarray, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return how well every row of X (n, d) matches every signature of S (c, a), in float64."""
        A, V = precision(self.D_, self.noise), self._codes(S) @ self.W_
        towards = linalg.solve(A, V.T, assume_a="pos")  # (r, c)
        rows = X if np.issubdtype(X.dtype, np.floating) else X.astype(np.float64)
        classes = (self.D_.T @ towards / (self.noise * self.unit_)).astype(rows.dtype)
        margins = np.asarray(rows @ classes, dtype=np.float64)
        if self.score == "reconstruction":
            return margins
        reach = np.einsum("rc,cr->c", towards, V)
        return -rounded_hinge(margins, DELTA + self.match * reach)

    def matrices(self) -> Arrays:
        """Return D (r, d) and W (c, r)."""
        return {"D": self.D_, "W": self.W_}

    def _codes(self, S: np.ndarray) -> np.ndarray:
        return simplex_codes(np.asarray(S, dtype=np.float64), self.signatures_, self.gamma)
