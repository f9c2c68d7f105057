"""Sums, products, powers and normalisation of kernels.

Each rule (:class:`Sum`, :class:`Product`, :class:`Power`, :class:`Normalised`) comes in two forms: over any kernels,
where it combines the Gram matrices of its parts, and over kernels of inner products, where the result is one, too,
with partial derivatives by the rules of calculus:

    sum            f = sum_i w_i f_i
    product        f = prod_i f_i
    power          f = f_1^p
    normalisation  f = f_1(t, u, v) / sqrt(h(u) h(v)),  h(u) = f_1(u, u, u),  h' = (f_1t + f_1u + f_1v)(u, u, u)

:func:`weighted_sum`, :func:`product`, :func:`power` and :func:`normalised` choose between them; ``+ * **`` call these.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from zslplat.errors import UsageError
from zslplat.kernels.base import BLOCK_ELEMENTS, Kernel, Operators, ParameterGroup
from zslplat.kernels.inner_product import InnerProductKernel, Partial
from zslplat.kernels.on_view import bound
from zslplat.space import POSITIVE, Parameter, Real
from zslplat.spec import format_value

WEIGHT = Parameter("weight of a term of a sum", Real(), Real(0.0, 1.0))
SINGLE_WEIGHT = Parameter("factor of a kernel", Real())
EXPONENT = Parameter("exponent", POSITIVE)

Diagonals = Callable[[], tuple[np.ndarray, np.ndarray | None]]


class Composite(Kernel):
    """A kernel made of others (``parts``) and of numbers of its own (weights or an exponent)."""

    operator: ClassVar[str] = ""

    def __init__(self, parts: Sequence[Kernel], numbers: Sequence[float] = ()) -> None:
        super().__init__()
        self.parts = list(parts)
        self.numbers = [float(number) for number in numbers]
        kinds = {part.input for part in parts}
        if len(kinds) > 1:
            raise UsageError(
                f"{self} mixes kernels on vectors with kernels on matrices; where rows have views of both, put each on "
                "its own, as in gaussian@pixels + log-euclidean@covariances"
            )
        self.input = kinds.pop()
        self.width_multiple = int(np.lcm.reduce([part.width_multiple for part in parts]))
        self.non_negative = any(part.non_negative for part in parts)
        self.psd = all(part.psd for part in parts) and self._keeps_psd()

    def _keeps_psd(self) -> bool:
        return True

    def _number(self) -> Parameter:
        return EXPONENT

    def resolved(self, X: np.ndarray) -> Kernel:
        """Return the kernel with every part resolved on the rows X."""
        return type(self)([part.resolved(X) for part in self.parts], self.numbers)

    def diag(self, X: np.ndarray) -> np.ndarray:
        """Return the combined diagonals (n,)."""
        return self.combine([part.diag(X) for part in self.parts])

    def leaves(self) -> list[Kernel]:
        """Return the single kernels of all parts."""
        return [leaf for part in self.parts for leaf in part.leaves()]

    def mapped(self, change: Callable[[Kernel], Kernel]) -> Kernel:
        """Return the same composition of changed kernels, of inner products where they still are."""
        return _composed(self, [part.mapped(change) for part in self.parts])

    @abstractmethod
    def combine(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """Return the diagonal (n,) from those of the parts; sums, products and powers combine every entry so."""

    def _paths(self) -> list[tuple[str, Parameter, Any]]:
        groups = self._groups()
        labels = [label for label, _ in groups]
        count: dict[str, int] = {}
        paths: list[tuple[str, Parameter, Any]] = []
        for label, members in groups:
            count[label] = count.get(label, 0) + 1
            prefix = f"{label}.{count[label]}" if labels.count(label) > 1 else label
            paths += [(f"{prefix}.{name}" if name else prefix, p, value) for name, p, value in members]
        return paths

    def _own_path(self, path: str) -> str:
        return path

    def _groups(self) -> list[ParameterGroup]:
        groups: list[ParameterGroup] = []
        for index, part in enumerate(self.parts):
            if index < len(self.numbers):
                groups.append((self.operator, [("", self._number(), self.numbers[index])]))
            groups += part._groups()
        return groups

    def _filled(self, values: Iterator[Any]) -> Kernel:
        numbers, parts = [], []
        for index, part in enumerate(self.parts):
            if index < len(self.numbers):
                number = next(values)
                parameter = self._number()
                if not parameter.legal.contains(number):
                    raise UsageError(f"{self}: {self.operator}={number!r} is out of range; expected {parameter.legal}")
                numbers.append(number)
            parts.append(part._filled(values))
        return type(self)(parts, numbers)


class Sum(Composite):
    """sum_i w_i k_i; positive semidefinite where all terms are and no weight is negative."""

    operator = "weight"
    summary = "weighted sum"

    def _keeps_psd(self) -> bool:
        return all(weight >= 0 for weight in self.numbers)

    def _number(self) -> Parameter:
        return WEIGHT if len(self.numbers) > 1 else SINGLE_WEIGHT

    def combine(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """Return the weighted sum."""
        total = values[0] * self.numbers[0]
        for weight, term in zip(self.numbers[1:], values[1:], strict=True):
            total += weight * term
        return total

    def __str__(self) -> str:
        terms = []
        for weight, part in zip(self.numbers, self.parts, strict=True):
            text = f"({part})" if isinstance(part, Sum) else str(part)
            terms.append(text if weight == 1 and len(self.parts) > 1 else f"{format_value(weight)}*{text}")
        return " + ".join(terms)


class Product(Composite):
    """prod_i k_i; the Schur product of positive semidefinite kernels is one."""

    summary = "product"

    def combine(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """Return the elementwise product."""
        total = values[0]
        for factor in values[1:]:
            total = total * factor
        return total

    def __str__(self) -> str:
        return " * ".join(f"({part})" if isinstance(part, Sum) else str(part) for part in self.parts)


class Power(Composite):
    """k^p, p > 0; positive semidefinite for whole p (other powers may not be, and are declared indefinite)."""

    operator = "exponent"
    summary = "power"

    def _keeps_psd(self) -> bool:
        return self.numbers[0] == int(self.numbers[0])

    def combine(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """Return the elementwise power."""
        return _power(values[0], self.numbers[0])

    def __str__(self) -> str:
        part = self.parts[0]
        text = f"({part})" if isinstance(part, Sum | Product | Power) else str(part)
        exponent = self.numbers[0]
        return f"{text}^{int(exponent) if exponent == int(exponent) else format_value(exponent)}"


class Normalised(Composite):
    """k(a, b) / sqrt(k(a, a) k(b, b)), the cosine in feature space; 0 where a norm is 0."""

    summary = "normalisation to k(x, x) = 1"

    def combine(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """Return 1, or 0 where the norm is 0."""
        return (values[0] > 0).astype(values[0].dtype)

    def __str__(self) -> str:
        return f"normalised({self.parts[0]})"


class GramComposite(Composite):
    """A composite over any kernels, computed from the Gram matrices of its parts."""

    def __call__(self, X: np.ndarray, Y: np.ndarray | None = None) -> np.ndarray:
        """Return the Gram matrix, combined from the parts' own."""

        def diagonals() -> tuple[np.ndarray, np.ndarray | None]:
            return self.parts[0].diag(X), None if Y is None else self.parts[0].diag(Y)

        return self.combine_grams([part(X, Y) for part in self.parts], diagonals)

    def blocks(self, X: np.ndarray, Y: np.ndarray, *, rows: int = 0) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the parts' blocks, combined."""
        rows = rows or max(1, BLOCK_ELEMENTS // max(1, len(Y)))
        for start in range(0, len(X), rows):
            part = slice(start, min(start + rows, len(X)))
            yield part, self(X[part], Y)

    def evaluate(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the kernel between rows A and B."""
        return self(A, B)

    def combine_grams(self, grams: Sequence[np.ndarray], diagonals: Diagonals) -> np.ndarray:
        """Return the Gram matrix from those of the parts: every entry is combined as the diagonal is.

        ``diagonals`` returns those of the first part, of the rows and of the others (None where these are the rows).
        """
        return self.combine(grams)


class GramSum(GramComposite, Sum):
    """sum_i w_i K_i."""


class GramProduct(GramComposite, Product):
    """prod_i K_i, entry by entry."""


class GramPower(GramComposite, Power):
    """K^p, entry by entry."""


class GramNormalised(GramComposite, Normalised):
    """K divided by the roots of both diagonals."""

    def combine_grams(self, grams: Sequence[np.ndarray], diagonals: Diagonals) -> np.ndarray:
        """Return K divided by the roots of both diagonals."""
        left_diagonal, others = diagonals()
        left = _inverse_root(left_diagonal)
        right = left if others is None else _inverse_root(others)
        K: np.ndarray = grams[0] * (left[:, None] * right[None, :])
        if others is None:
            np.fill_diagonal(K, self.combine([left_diagonal]))
        return K


class InnerProductComposite(Composite, InnerProductKernel):
    """A composite whose parts are kernels of inner products, and which is one itself: one set of products for all."""

    parts: list[InnerProductKernel]  # type: ignore[assignment]

    def __init__(self, parts: Sequence[Kernel], numbers: Sequence[float] = ()) -> None:
        super().__init__(parts, numbers)
        self.of_inner_product_alone = all(part.of_inner_product_alone for part in self.parts)

    def f(self, t: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the combined values."""
        return self.f_and_partials(t, u, v)[0]

    def partials(self, t: np.ndarray, u: np.ndarray, v: np.ndarray) -> tuple[Partial, Partial, Partial]:
        """Return the combined derivatives."""
        return self.f_and_partials(t, u, v)[1:]


class InnerProductSum(InnerProductComposite, Sum):
    """sum_i w_i f_i."""

    def f(self, t: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return sum_i w_i f_i."""
        return self.combine([part.f(t, u, v) for part in self.parts])

    def f_and_partials(
        self, t: np.ndarray, u: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, Partial, Partial, Partial]:
        """Return the weighted sums of values and of derivatives."""
        values = [part.f_and_partials(t, u, v) for part in self.parts]
        totals = [sum(w * one[i] for w, one in zip(self.numbers, values, strict=True)) for i in range(4)]
        return np.asarray(totals[0]), totals[1], totals[2], totals[3]


class InnerProductProduct(InnerProductComposite, Product):
    """prod_i f_i, by the product rule from left to right."""

    def f_and_partials(
        self, t: np.ndarray, u: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, Partial, Partial, Partial]:
        """Return the product and its derivatives."""
        value, *slopes = self.parts[0].f_and_partials(t, u, v)
        for part in self.parts[1:]:
            other, *others = part.f_and_partials(t, u, v)
            slopes = [one * other + value * two for one, two in zip(slopes, others, strict=True)]
            value = value * other
        return value, slopes[0], slopes[1], slopes[2]


class InnerProductPower(InnerProductComposite, Power):
    """f^p, derivatives p f^(p-1) f'."""

    def f_and_partials(
        self, t: np.ndarray, u: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, Partial, Partial, Partial]:
        """Return the power and its derivatives."""
        exponent = self.numbers[0]
        value, *slopes = self.parts[0].f_and_partials(t, u, v)
        factor = exponent * _power(value, exponent - 1) if exponent != 1 else 1.0
        return _power(value, exponent), factor * slopes[0], factor * slopes[1], factor * slopes[2]


class InnerProductNormalised(InnerProductComposite, Normalised):
    """f(t, u, v) / sqrt(h(u) h(v)) with h(u) = f(u, u, u), which depends on the norms whatever f does."""

    def __init__(self, parts: Sequence[Kernel], numbers: Sequence[float] = ()) -> None:
        super().__init__(parts, numbers)
        self.of_inner_product_alone = False

    def f_and_partials(
        self, t: np.ndarray, u: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, Partial, Partial, Partial]:
        """Return the normalised value and its derivatives, by the quotient rule."""
        part = self.parts[0]
        value, f_t, f_u, f_v = part.f_and_partials(t, u, v)
        norms = []
        for w in (u, v):
            h, *slopes = part.f_and_partials(w, w, w)
            norms.append((_inverse_root(h), np.asarray(sum(slopes), dtype=t.dtype)))
        (left, h_u), (right, h_v) = norms
        scale = left * right
        k = value * scale
        # d/du of h(u)^(-1/2) is -h' h^(-3/2) / 2.
        return k, f_t * scale, f_u * scale - 0.5 * k * h_u * left**2, f_v * scale - 0.5 * k * h_v * right**2


def weighted_sum(weights: Sequence[float], terms: Sequence[Kernel]) -> Kernel:
    """Return sum_i w_i k_i; sums inside sums are flattened."""
    flat_weights: list[float] = []
    flat_terms: list[Kernel] = []
    for weight, term in zip(weights, terms, strict=True):
        if isinstance(term, Sum):
            flat_weights += [weight * inner for inner in term.numbers]
            flat_terms += term.parts
        else:
            flat_weights.append(weight)
            flat_terms.append(term)
    if len(flat_terms) == 1 and flat_weights[0] == 1:
        return flat_terms[0]
    return (InnerProductSum if _all_inner_product(flat_terms) else GramSum)(flat_terms, flat_weights)


def product(factors: Sequence[Kernel]) -> Kernel:
    """Return prod_i k_i; products inside products are flattened."""
    flat: list[Kernel] = []
    for factor in factors:
        flat += factor.parts if isinstance(factor, Product) else [factor]
    if len(flat) == 1:
        return flat[0]
    return (InnerProductProduct if _all_inner_product(flat) else GramProduct)(flat)


def power(base: Kernel, exponent: float) -> Kernel:
    """Return k^p; raises UsageError unless p > 0."""
    if not EXPONENT.legal.contains(exponent):
        raise UsageError(f"({base})^{exponent}: the exponent of a kernel must be above 0")
    return (InnerProductPower if isinstance(base, InnerProductKernel) else GramPower)([base], [exponent])


def normalised(base: Kernel) -> Kernel:
    """Return k(a, b) / sqrt(k(a, a) k(b, b))."""
    return (InnerProductNormalised if isinstance(base, InnerProductKernel) else GramNormalised)([base])


Kernel.operators = Operators(weighted_sum, product, power, bound)


def _composed(rule: Composite, parts: Sequence[Kernel]) -> Kernel:
    if isinstance(rule, Sum):
        return weighted_sum(rule.numbers, parts)
    if isinstance(rule, Product):
        return product(parts)
    return power(parts[0], rule.numbers[0]) if isinstance(rule, Power) else normalised(parts[0])


def _all_inner_product(parts: Sequence[Kernel]) -> bool:
    return all(isinstance(part, InnerProductKernel) for part in parts)


def _inverse_root(diagonal: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(diagonal > 0, 1 / np.sqrt(diagonal), 0).astype(diagonal.dtype)


def _power(values: np.ndarray, exponent: float) -> np.ndarray:
    if exponent == int(exponent) and 0 <= exponent <= 4:
        result = np.ones_like(values)
        for _ in range(int(exponent)):
            result = result * values
        return result
    return values**exponent
