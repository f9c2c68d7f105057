"""The floor of each zero-shot method: products, decompositions and passes that its mathematics needs, timed alone.

A floor is a sum over counts of bare NumPy and SciPy operations, each timed on this machine in the types that the method
takes. Counts of iterations are those that the method made on these data: :class:`Calls` records them. A product that is
made in parts, as memory or the order of the steps demands, is timed in parts. What a search shares between its trials
counts as it is shared: an eigendecomposition stays one, where a single fit could do with a Cholesky factor. Left out
are conversions, temporaries, passes over small arrays, and all that Python does.

| symbol | meaning |
|---|---|
| n, d, c, a | training rows, features, seen classes, attributes |
| m, u | scored rows, and their classes |
"""

from __future__ import annotations

import importlib
import math
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg
from scipy.linalg import blas

from zslplat.families.zero_shot.methods.keszsl import _PIVOT_BLOCK
from zslplat.families.zero_shot.methods.zskl.training import RMSprop

METHODS = "zslplat.families.zero_shot.methods."
SINGLE, DOUBLE = np.float32, np.float64

SOFTMAX = "sklearn.linear_model._linear_loss:LinearModelLoss.loss_gradient"
# Functions that are counted while a method works, by method: module and attribute.
COUNTED: dict[str, tuple[str, ...]] = {
    "sync-ovo": ("sync.squared_hinge:product", "sync.squared_hinge:transposed_product"),
    **dict.fromkeys(("sync-cs", "sync-struct"), ("sync.multiclass_hinge:_visit", "sync.multiclass_hinge:certificate")),
    "dap": ("probabilistic.attribute_prediction:expit",),
    "cmt": ("cmt.transfer:Objective.__call__",),
    **dict.fromkeys(("cmt-gaussian", "cmt-loop"), ("cmt.transfer:Objective.__call__", SOFTMAX)),
    **dict.fromkeys(("conse", "iap"), (SOFTMAX,)),
    "jlse": ("jlse:Alternation._match",),
    "tmv-hlp": ("tmv_hlp.estimator:crossing",),
    **dict.fromkeys(
        ("sse-int", "sse-relu"),
        (
            "sse.objective:intersections",
            "sse.objective:slope_by_weights",
            "sse.objective:slope_by_references",
            "sse.estimator:intersections",
        ),
    ),
}


class Calls:
    """Records shapes of arguments and seconds of the functions that :data:`COUNTED` names, from when it is made."""

    def __init__(self, method: str) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.shapes: dict[str, list[list[tuple[int, ...]]]] = defaultdict(list)
        for place in COUNTED.get(method, ()):
            module, _, path = place.partition(":")
            owner: Any = importlib.import_module(module if place == SOFTMAX else METHODS + module)
            *parents, name = path.split(".")
            for parent in parents:
                owner = getattr(owner, parent)
            setattr(owner, name, self._recorded(path, getattr(owner, name)))

    def _recorded(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **named: Any) -> Any:
            self.shapes[name].append([np.shape(one) for one in arguments])
            start = time.process_time()
            try:
                return function(*arguments, **named)
            finally:
                self.seconds[name] += time.process_time() - start

        return run

    def count(self, name: str) -> int:
        """Return how often a function was called."""
        return len(self.shapes[name])

    def size(self, name: str, argument: int, axis: int) -> int:
        """Return the sum over all calls of the length of one axis of one argument."""
        return sum(shapes[argument][axis] for shapes in self.shapes[name])


class Machine:
    """Processor seconds of single operations on this machine, each timed once: the mean of half a second."""

    def __init__(self) -> None:
        self.times: dict[tuple[Any, ...], float] = {}
        self.random = np.random.default_rng(0)

    def timed(self, key: tuple[Any, ...], make: Callable[[], Callable[[], object]]) -> float:
        """Return the seconds of what ``make`` returns; a key is timed once."""
        if key not in self.times:
            work, calls = make(), 0
            work()
            # The clock of a process may stand still for some milliseconds: one call says little.
            start = time.process_time()
            while time.process_time() - start < 0.5:
                for _ in range(max(1, calls)):
                    work()
                calls += max(1, calls)
            self.times[key] = (time.process_time() - start) / calls
        return self.times[key]

    def drawn(self, *shape: int, dtype: type = SINGLE) -> np.ndarray:
        """Return random numbers."""
        return self.random.random(shape, dtype=np.float32).astype(dtype, copy=False)

    def product(self, m: int, k: int, n: int, dtype: type = SINGLE) -> float:
        """(m, k) times (k, n)."""
        if m > 4096:  # in rows that a part of is as good as all
            return m / 4096 * self.product(4096, k, n, dtype)

        def make() -> Callable[[], object]:
            A, B, out = self.drawn(m, k, dtype=dtype), self.drawn(k, n, dtype=dtype), np.empty((m, n), dtype)
            return lambda: np.matmul(A, B, out=out)

        return self.timed(("product", m, k, n, dtype), make)

    def turned(self, n: int, d: int, c: int, dtype: type = SINGLE) -> float:
        """X'A for X (n, d) and A (n, c)."""
        if n > 4096:
            return n / 4096 * self.turned(4096, d, c, dtype)

        def make() -> Callable[[], object]:
            X, A, out = self.drawn(n, d, dtype=dtype), self.drawn(n, c, dtype=dtype), np.empty((d, c), dtype)
            return lambda: np.matmul(X.T, A, out=out)

        return self.timed(("turned", n, d, c, dtype), make)

    def gram(self, n: int, d: int, dtype: type = SINGLE) -> float:
        """X'X of X (n, d), half of the product."""
        if n > 4096:
            return n / 4096 * self.gram(4096, d, dtype)

        def make() -> Callable[[], object]:
            X = self.drawn(n, d, dtype=dtype)
            return lambda: X.T @ X

        return self.timed(("gram", n, d, dtype), make)

    def eigh(self, d: int) -> float:
        """All eigenvectors of a symmetric matrix (d, d) in float64."""

        def make() -> Callable[[], object]:
            X = self.drawn(2 * d, d, dtype=DOUBLE)
            A = X.T @ X
            return lambda: linalg.eigh(A, driver="evd", check_finite=False)

        return self.timed(("eigh", d), make)

    def solve(self, d: int, columns: int) -> float:
        """A symmetric positive definite system (d, d) in float64."""

        def make() -> Callable[[], object]:
            A, B = self.drawn(d, d, dtype=DOUBLE), self.drawn(d, columns, dtype=DOUBLE)
            A = A + A.T + 2 * d * np.eye(d)
            return lambda: linalg.solve(A, B, assume_a="pos", check_finite=False)

        return self.timed(("solve", d, columns), make)

    def passes(self, *shape: int, dtype: type = SINGLE, of: Callable[..., object] = np.multiply) -> float:
        """One pass that reads entries once or twice and writes them: by default a product entry by entry."""
        entries = math.prod(shape)
        if entries > 1 << 24:
            return entries / (1 << 24) * self.passes(1 << 24, dtype=dtype, of=of)

        def make() -> Callable[[], object]:
            A = self.drawn(entries, dtype=dtype)
            arguments = (A, A) if of in (np.multiply, np.add, np.minimum) else (A,)
            out = np.empty_like(A)
            return lambda: of(*arguments, out=out)

        return self.timed(("passes", entries, dtype, of), make)

    def read(self, n: int, d: int) -> float:
        """One sum over the rows (n, d), which class sums and a look for NaN take."""
        if n > 4096:
            return n / 4096 * self.read(4096, d)

        def make() -> Callable[[], object]:
            X = self.drawn(n, d)
            return lambda: X.sum(axis=0, dtype=np.float64)

        return self.timed(("read", n, d), make)

    def batch(self, b: int, d: int, r: int, maps: int, moved: float) -> float:
        """A batch X_b of b rows taken from many, X_b W for each map (d, r), and W -= X_b'R for a share of the rows."""

        def make() -> Callable[[], object]:
            X, W, rows = self.drawn(8192, d), self.drawn(maps, d, r), np.empty((b, d), dtype=SINGLE)
            R, part = self.drawn(b, r), max(1, round(b * moved))
            order, step = self.random.permutation(8192), 0

            def work() -> None:
                nonlocal step
                X.take(order[step % 64 * b :][:b], axis=0, out=rows, mode="clip")
                np.matmul(rows, W)
                blas.sgemm(-1e-9, R[:part].T, rows[:part].T, beta=1.0, c=W[0].T, trans_b=True, overwrite_c=True)
                step += 1

            return work

        return self.timed(("batch", b, d, r, maps, round(moved, 2)), make)


class Cell:
    """What a floor is computed from: the shape, the fitted method, the calls that it made, and the machine."""

    def __init__(self, shape: Any, method: Any, calls: Calls, machine: Machine) -> None:
        self.n, self.m, self.d = shape.rows, shape.scored, 2048
        self.c, self.u, self.a = shape.classes, shape.scored_classes, shape.attributes
        self.method, self.calls, self.machine = method, calls, machine

    def scores(self) -> float:
        """The product of scored rows and their classes."""
        return self.machine.product(self.m, self.d, self.u)

    def spectrum(self) -> float:
        """X'X and its eigenvectors."""
        return self.machine.gram(self.n, self.d) + self.machine.eigh(self.d)


def closed_form(cell: Cell) -> float:
    """eszsl, sae: class sums, X'X and S'S decomposed, sums in the eigenvectors, prototypes of the scored classes."""
    m, d, c, u, a = cell.machine, cell.d, cell.c, cell.u, cell.a
    sums = m.read(cell.n, d) + m.product(c, d, d, DOUBLE) + m.product(d, c, a, DOUBLE)
    return sums + cell.spectrum() + m.eigh(a) + m.product(d, d, u, DOUBLE) + cell.scores()


def metric(cell: Cell) -> float:
    """ridge-prototypes, class-means: class sums, within-class scatter, its eigenvectors, rows and classes in them."""
    m = cell.machine
    fit = m.read(cell.n, cell.d) + m.passes(cell.n, cell.d) + cell.spectrum()
    return fit + m.product(cell.m, cell.d, cell.d) + cell.scores()


def updates(cell: Cell, rows: int, columns: int, count: float, neighbours: int, dtype: type = SINGLE) -> float:
    """Multiplicative updates of F (rows, columns): F times its Gram matrix, the graph, and three passes."""
    m = cell.machine
    one = m.product(rows, columns, columns, dtype) + (neighbours + 3) * m.passes(rows, columns, dtype=dtype)
    return count * one


def mfmr(cell: Cell) -> float:
    """mfmr: as ridge-prototypes, cosines of all pairs of features, and the updates of U (d, 2 a)."""
    numbers, m = cell.method.diagnostics.numbers, cell.machine
    graph = 2 * m.passes(cell.d, cell.d)
    return metric(cell) + graph + updates(cell, cell.d, 2 * cell.a, numbers["updates"], cell.method.k)


def mfmr_joint(cell: Cell) -> float:
    """mfmr-joint: mfmr, all pairs of scored rows compared, and the updates of V (m, u)."""
    count = cell.method.diagnostics.numbers["updates_joint"]
    return mfmr(cell) + neighbours(cell) + updates(cell, cell.m, cell.u, count, cell.method.k, DOUBLE)


def neighbours(cell: Cell, width: int = 2048) -> float:
    """Cosines of all pairs of scored rows (m, width), each once, and one look at each."""
    m, rows = cell.machine, cell.m
    return rows / 2048 / 2 * (m.product(2048, width, rows) + m.passes(2048, rows, of=np.abs))


def smoothed(cell: Cell) -> float:
    """eszsl-smoothed: eszsl and the graph of the scored rows; the sparse systems are left out."""
    return closed_form(cell) + neighbours(cell)


def gfhf(cell: Cell) -> float:
    """gfhf: class sums, a regression, the graph of the scored rows; the sparse systems are left out."""
    m = cell.machine
    return 2 * m.read(cell.n, cell.d) + m.solve(cell.a, cell.d) + neighbours(cell) + cell.scores()


def gaussians(cell: Cell) -> float:
    """gfzsl: means and variances in two passes in float64; rows and squares of scored rows with the classes."""
    m = cell.machine
    fit = m.read(cell.n, cell.d) + 2 * m.passes(cell.n, cell.d, dtype=DOUBLE) + m.eigh(cell.c)
    return fit + 4 * m.product(cell.c, cell.c, cell.d, DOUBLE) + densities(cell)


def densities(cell: Cell) -> float:
    """Squares of the scored rows, and both products with the classes."""
    m = cell.machine
    return 2 * m.passes(cell.m, cell.d, dtype=DOUBLE) + 2 * m.product(cell.m, cell.d, cell.u, DOUBLE)


def mixture(cell: Cell) -> float:
    """gfzsl-em: gfzsl, then densities and two sums over the rows for each iteration."""
    m, count = cell.machine, len(cell.method.diagnostics.series["objective"]) - 1
    return gaussians(cell) + count * (densities(cell) + 2 * m.turned(cell.m, cell.d, cell.u, DOUBLE))


def exemplars(cell: Cell) -> float:
    """exem-1nn(s): the centred scatter and its eigenvectors, rows in 500 of them, distances from the classes."""
    m, k = cell.machine, cell.method.directions_.shape[1]
    fit = m.read(cell.n, cell.d) + m.passes(cell.n, cell.d) + cell.spectrum()
    if cell.method.standardised:
        fit += m.product(cell.n, cell.d, k) + 2 * m.passes(cell.n, k, dtype=DOUBLE)
    return fit + m.product(cell.m, cell.d, k) + m.product(cell.m, k, cell.u, DOUBLE)


def low_rank(cell: Cell) -> float:
    """keszsl: r kernel rows against all, in blocks, since each block of pivots depends on the last; the triangular
    factor and its Gram matrix; r kernel values of a scored row."""
    m, r = cell.machine, len(cell.method.landmarks_)
    blocks = r / _PIVOT_BLOCK * m.product(cell.n, cell.d, _PIVOT_BLOCK, DOUBLE)
    kernel = blocks + m.passes(cell.n, r, dtype=DOUBLE, of=np.exp)
    factor = m.product(cell.n, r, r, DOUBLE) / 2 + m.gram(cell.n, r, DOUBLE) + m.eigh(r)
    scored = m.product(cell.m, cell.d, r, DOUBLE) + m.passes(cell.m, r, dtype=DOUBLE, of=np.exp)
    return kernel + factor + scored + m.product(cell.m, r, cell.u, DOUBLE)


def ranking(cell: Cell) -> float:
    """ale, devise, sje, latem: for each batch the rows, both products with a map, and those with the signatures."""
    m, method = cell.machine, cell.method
    shares = method.diagnostics.series["violated"]
    r = min(cell.a, -(-min(cell.c, cell.a) // 16) * 16)
    b, batches = method.batch_size, cell.n / method.batch_size
    total = 2 * m.read(cell.n, cell.d)
    for share in shares:
        one = m.batch(b, cell.d, r, method.maps, share if share < 0.75 else 1.0)
        if method.maps == 1:
            one += 2 * m.product(b, r, cell.c) + 3 * m.passes(b, cell.c)
        total += batches * one
    return total + method.maps * m.product(cell.m, cell.d, cell.a) + method.maps * m.product(cell.m, cell.a, cell.u)


def rmsprop_step(cell: Cell, matrices: int = 1) -> float:
    """One pass of RMSprop over so many W (d, a): many lie in memory, one in the cache."""
    G = cell.machine.drawn(matrices, cell.d, cell.a)
    solver = RMSprop(cell.machine.drawn(matrices, cell.d, cell.a))
    solver.step(G, 1e-9)
    return cell.machine.timed(("rmsprop", matrices, cell.d, cell.a), lambda: lambda: solver.step(G, 1e-9))


def kernel_learning(cell: Cell) -> float:
    """zskl, zskl-ort: for each batch the rows, X W, X'R, the cheaper way through W, and one pass of RMSprop."""
    m, method, b = cell.machine, cell.method, cell.method.batch_size
    one = rmsprop_step(cell)
    one += m.batch(b, cell.d, cell.a, 1, 1.0) + 2 * m.product(b, cell.a, cell.c) + m.passes(b, cell.c, of=np.exp)
    if method.both_projections:
        by_gram = m.gram(cell.d, cell.a) + m.product(cell.d, cell.a, cell.a)
        by_signatures = m.product(cell.c, cell.a, cell.d) + m.turned(cell.c, cell.d, cell.a)
        one += min(by_gram, by_signatures) + m.passes(b, cell.c, of=np.exp)
    total = 2 * m.read(cell.n, cell.d) + method.epochs * cell.n / b * one
    return total + m.product(cell.m, cell.d, cell.a) + m.product(cell.m, cell.a, cell.u)


def subspaces(cell: Cell) -> float:
    """zskl-subspaces: RMSprop over all D_r, products of each with what is near, and W_c of drawn classes.

    Of a drawn class: W_c, its products with all rows of the batch, and their gradient. Of the other rows: the product
    with W; then D_r is multiplied by the rows of the classes near r, and by the signatures of these classes. One
    product gives the gradient of both. A sum of squares stands for reading D from memory.
    """
    m, method, b = cell.machine, cell.method, cell.method.batch_size
    drawn, near = min(method.drawn_classes, cell.c), min(method.neighbours, cell.c)
    in_play = (cell.c - drawn) * (1 - (1 - 1 / cell.c) ** b)
    rest = round(b * (1 - drawn / cell.c))
    few, signatures = math.ceil(rest * near / cell.c), math.ceil(in_play * near / cell.c)
    one_pass = m.passes(cell.d, cell.a)
    step = drawn * (m.product(b, cell.d, cell.a) + m.turned(b, cell.d, cell.a) + (2 * near + 1) * one_pass)
    forth = m.product(few, cell.d, cell.a) + m.product(signatures, cell.a, cell.d)
    step += m.product(rest, cell.d, cell.a) + m.turned(rest, cell.d, cell.a)
    step += cell.c * (forth + m.turned(few + signatures, cell.d, cell.a)) if few else 0
    read = m.passes(64, cell.d, cell.a, of=lambda A, out: np.vdot(A, A))
    step += rmsprop_step(cell) + cell.c / 64 * (rmsprop_step(cell, 64) + read)
    scored = cell.u * (m.product(cell.m, cell.d, cell.a) + near * one_pass)
    return method.epochs * cell.n / b * step + scored


def squared_hinges(cell: Cell) -> float:
    """sync-ovo: X'X decomposed, every product with X that the Newton steps made, and the preconditioner's."""
    m, calls, W = cell.machine, cell.calls, cell.c
    forth = calls.size("product", 1, 0) / W * m.product(cell.n, cell.d, W)
    columns = calls.size("transposed_product", 1, 1)
    back = columns / W * m.turned(cell.n, cell.d, W)
    preconditioned = columns / W * 2 * m.product(W, cell.d, cell.d, DOUBLE)
    hinges = columns / W * 3 * m.passes(cell.n, W)
    scored = m.product(cell.m, cell.d, cell.c, DOUBLE) + m.product(cell.m, cell.c, cell.u, DOUBLE)
    return cell.spectrum() + forth + back + preconditioned + hinges + scored


def multiclass_hinge(cell: Cell) -> float:
    """sync-cs, sync-struct: for each block of 64 visited rows X W', the Gram matrix and X'A; two products a round."""
    m, calls, b = cell.machine, cell.calls, 64
    visited = calls.size("_visit", 7, 0)
    one = m.product(b, cell.d, cell.c) + m.product(b, cell.d, b) + m.turned(b, cell.d, cell.c)
    one += 3 * m.passes(b, cell.c, dtype=DOUBLE) + m.passes(cell.c, cell.d, dtype=DOUBLE)
    rounds = calls.count("certificate") * (m.product(cell.n, cell.d, cell.c) + m.turned(cell.n, cell.d, cell.c))
    scored = m.product(cell.m, cell.d, cell.c, DOUBLE) + m.product(cell.m, cell.c, cell.u, DOUBLE)
    return visited / b * one + rounds + scored


def softmax(cell: Cell) -> float:
    """conse, iap: for each evaluation X W, X'R, the exponentials, and 40 passes over the weights."""
    return softmax_steps(cell) + cell.machine.product(cell.m, cell.d, cell.c, DOUBLE)


def softmax_steps(cell: Cell) -> float:
    """Evaluations of a softmax's loss and slope, with what L-BFGS of ten pairs takes for the next point."""
    m, count = cell.machine, cell.calls.count("LinearModelLoss.loss_gradient")
    products = m.product(cell.n, cell.d, cell.c) + m.turned(cell.n, cell.d, cell.c)
    return count * (products + m.passes(cell.n, cell.c, of=np.exp) + 40 * m.passes(cell.d, cell.c, dtype=DOUBLE))


def attributes(cell: Cell) -> float:
    """dap: X'X decomposed, for each evaluation X W, X'R and both products with the eigenvectors, two logarithms."""
    m, calls = cell.machine, cell.calls
    shapes = [one[0] for one in calls.shapes["expit"] if one[0][0] == cell.n]
    p = shapes[0][1] if shapes else cell.a
    one = m.product(cell.n, cell.d, p) + m.turned(cell.n, cell.d, p) + 2 * m.product(cell.d, cell.d, p)
    one += 2 * m.passes(cell.n, p, dtype=DOUBLE, of=np.exp) + m.passes(cell.n, p, dtype=DOUBLE, of=np.log1p)
    one += 40 * m.passes(cell.d, p, dtype=DOUBLE)
    scored = m.product(cell.m, cell.d, cell.a, DOUBLE) + 3 * m.passes(cell.m, cell.a, dtype=DOUBLE, of=np.exp)
    return 2 * m.read(cell.n, cell.d) + cell.spectrum() + len(shapes) * one + scored


def network(cell: Cell) -> float:
    """cmt: for each evaluation both products with X and four with the hidden units, tanh, and L-BFGS's passes."""
    m, h = cell.machine, cell.method.hidden
    one = m.product(cell.n, cell.d, h) + m.turned(cell.n, cell.d, h) + m.passes(cell.n, h, of=np.tanh)
    one += 2 * m.product(cell.n, h, cell.a) + m.turned(cell.n, h, cell.a) + 3 * m.passes(cell.n, h)
    one += 40 * m.passes(cell.d + cell.a, h, dtype=DOUBLE)
    scored = m.product(cell.m, cell.d, h) + m.product(cell.m, h, cell.a) + m.product(cell.m, cell.a, cell.u, DOUBLE)
    return cell.calls.count("Objective.__call__") * one + scored


def gated_network(cell: Cell) -> float:
    """cmt-gaussian, cmt-loop: cmt, the softmax of the seen classes, the rows mapped after every round."""
    m, h = cell.machine, cell.method.hidden
    rounds = math.ceil(len(cell.method.diagnostics.series["objective"]) / 10)
    mapped = m.product(cell.n, cell.d, h) + m.product(cell.n, h, cell.a) + 2 * m.passes(cell.n, cell.a, dtype=DOUBLE)
    return network(cell) + softmax_steps(cell) + rounds * mapped


def similarities(cell: Cell) -> float:
    """sse-int, sse-relu: the compiled loops, their own floor, and f Z' and G Z for all rows that they met."""
    m, rows = cell.machine, cell.calls.size("intersections", 0, 0)
    return 2 * m.read(cell.n, cell.d) + sum(cell.calls.seconds.values()) + 2 * m.product(rows, cell.c, cell.c, DOUBLE)


def latent_codes(cell: Cell) -> float:
    """jlse: X'X decomposed; each round the codes' steps, the evaluations of the match, and the dictionary."""
    m, method = cell.machine, cell.method
    n, d, c, r = cell.n, cell.d, cell.c, len(method.D_)
    rounds = len(method.diagnostics.series["objective"]) - 1
    code = m.product(n, r, c, DOUBLE) + m.product(n, c, r, DOUBLE) + 3 * m.product(n, r, r, DOUBLE)
    code += 2 * m.passes(n, c, dtype=DOUBLE)
    match = m.product(n, r, c, DOUBLE) + m.turned(n, c, r, DOUBLE) + 2 * m.passes(n, c, dtype=DOUBLE)
    fit = 2 * m.product(n, d, r) + m.turned(n, r, d)
    total = m.read(n, d) + cell.spectrum() + rounds * (3 * code + fit) + cell.calls.count("Alternation._match") * match
    return total + m.product(cell.m, d, cell.u)


def hypergraph(cell: Cell) -> float:
    """tmv-hlp: X'X and a system; one space of D = d + 2 a columns; three views' and six crossings' pairs of rows.

    A crossing takes the cosines of all pairs and their exponentials twice, as no n x n matrix is held, and four passes
    over them. The propagation is left out.
    """
    m, D, r = cell.machine, cell.d + 2 * cell.a, cell.calls.shapes["crossing"][0][0][1]
    fit = m.read(cell.n, cell.d) + m.gram(cell.n, cell.d) + m.solve(cell.d, 2 * cell.a)
    space = m.gram(cell.m, D, DOUBLE) + m.solve(D, D) + m.eigh(D) / 2 + m.product(cell.m, D, r, DOUBLE)
    crossing = 2 * (m.product(cell.m, r, cell.m) + m.passes(cell.m, cell.m, of=np.exp)) + 4 * m.passes(cell.m, cell.m)
    return fit + space + 3 * neighbours(cell, r) + 6 * crossing


FLOORS: dict[str, Callable[[Cell], float]] = {
    **dict.fromkeys(("eszsl", "sae"), closed_form),
    **dict.fromkeys(("ridge-prototypes", "class-means"), metric),
    **dict.fromkeys(("ale", "devise", "sje", "latem"), ranking),
    **dict.fromkeys(("zskl", "zskl-ort"), kernel_learning),
    **dict.fromkeys(("sync-cs", "sync-struct"), multiclass_hinge),
    **dict.fromkeys(("conse", "iap"), softmax),
    **dict.fromkeys(("exem-1nn", "exem-1nns"), exemplars),
    **dict.fromkeys(("sse-int", "sse-relu"), similarities),
    **dict.fromkeys(("cmt-gaussian", "cmt-loop"), gated_network),
    "mfmr": mfmr,
    "mfmr-joint": mfmr_joint,
    "eszsl-smoothed": smoothed,
    "gfhf": gfhf,
    "gfzsl": gaussians,
    "gfzsl-em": mixture,
    "keszsl": low_rank,
    "zskl-subspaces": subspaces,
    "sync-ovo": squared_hinges,
    "dap": attributes,
    "cmt": network,
    "jlse": latent_codes,
    "tmv-hlp": hypergraph,
}
