"""Kernel expressions: text such as ``0.5*gaussian(sigma=1) + 0.5*polynomial(r=2)`` to a kernel; ``str`` writes it back.

Grammar, binding from loose to tight:

    sum     product + product + ...
    product factor * factor * ...       a factor that is a number is a weight
    factor  part, or part ^ p           ** is read as ^
    part    atom, or atom @ view        every kernel of the atom is on that view of the rows
    atom    name, name(key=value, ...), normalised(sum), or (sum)

The name of a view holds letters, digits, ``_``, ``-`` and ``.``. Bound to the views of a data set, a kernel has its
columns behind the name, ``gaussian@cq[0:64]``, and is read again with them (:mod:`zslplat.kernels.on_view`).

Parameters of a single kernel are reached as ``sigma``; inside an expression as ``gaussian.sigma``, numbered from left
to right where a kernel occurs twice (``gaussian.1.sigma``, ``gaussian.2.sigma``), the weights of a sum as
``weight.1``, ``weight.2``, an exponent as ``exponent``; those of a kernel on a view with the name of the view in front
(``cq.gaussian.sigma``; ``sigma`` where it is all there is). See :attr:`zslplat.kernels.base.Kernel.values`, ``space``
and ``replaced``.
"""

from __future__ import annotations

import re

from zslplat.errors import UsageError
from zslplat.kernels.base import Kernel
from zslplat.kernels.composition import normalised, power, product, weighted_sum
from zslplat.kernels.on_view import Columns, on_view
from zslplat.registry import component
from zslplat.spec import Spec

_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])")
_NAME = re.compile(r"\s*([A-Za-z_](?:[\w.]|-(?=\w))*(?::[A-Za-z_](?:[\w.]|-(?=\w))*)?)")
_MARK = re.compile(r"\s*(\*\*|[()+*^])")
_AT = re.compile(r"\s*(@)")
_VIEW = re.compile(r"\s*(\w(?:[\w.]|-(?=\w))*)")
_COLUMNS = re.compile(r"\s*\[([^\]]*)\]")
_NORMALISED = ("normalised", "normalized")


def parse_kernel(text: object, *, fix_given: bool = False) -> Kernel:
    """Read a kernel expression; a kernel is returned as it is, a :class:`~zslplat.spec.Spec` is read as its text.

    With ``fix_given`` the values that the text gives are fixed: they are left out of the kernel's search space.
    Names are looked up in the registry. Raises :class:`UsageError` that points at the first character that does not
    fit, UnknownNameError with near matches, UsageError for illegal parameters.
    """
    if isinstance(text, Kernel):
        return text
    return _Reader(str(text), fix_given).read_all()


def kernel_from_spec(spec: Spec) -> Kernel:
    """Return the registered kernel that a spec names; raises UsageError for unknown names and illegal values."""
    cls = component("kernels", spec.name)
    try:
        kernel: Kernel = cls(**spec.parameters)
    except TypeError:
        unknown = sorted(set(spec.parameters) - set(cls.parameters))
        if not unknown:
            raise
        names = ", ".join(cls.parameters) or "none"
        raise UsageError(f"kernel {spec.name} has no parameter {unknown[0]!r}; parameters: {names}") from None
    kernel.label = spec.name
    return kernel


class _Reader:
    def __init__(self, text: str, fix_given: bool) -> None:
        self.text, self.fix_given, self.position = text, fix_given, 0

    def read_all(self) -> Kernel:
        kernel = self._sum()
        if self.text[self.position :].strip():
            raise self._error("+, *, @ or the end")
        return kernel

    def _error(self, expected: str) -> UsageError:
        rest = self.text[self.position :]
        place = self.position + len(rest) - len(rest.lstrip()) + 1
        return UsageError(f"cannot read kernel {self.text!r} at character {place}: expected {expected}")

    def _match(self, pattern: re.Pattern[str]) -> str | None:
        match = pattern.match(self.text, self.position)
        if not match:
            return None
        self.position = match.end()
        return match[1]

    def _mark(self, *marks: str) -> str | None:
        match = _MARK.match(self.text, self.position)
        if not match or match[1] not in marks:
            return None
        self.position = match.end()
        return match[1]

    def _sum(self) -> Kernel:
        weight, term = self._product()
        weights, terms = [weight], [term]
        while self._mark("+"):
            weight, term = self._product()
            weights.append(weight)
            terms.append(term)
        return weighted_sum(weights, terms)

    def _product(self) -> tuple[float, Kernel]:
        weight = 1.0
        factors: list[Kernel] = []
        while True:
            number = self._match(_NUMBER)
            if number is not None:
                weight *= float(number)
            else:
                factors.append(self._factor())
            if not self._mark("*"):
                break
        if not factors:
            raise self._error("* and a kernel after the weight")
        return weight, product(factors)

    def _factor(self) -> Kernel:
        base = self._part()
        if not self._mark("^", "**"):
            return base
        exponent = self._match(_NUMBER)
        if exponent is None:
            raise self._error("a number as exponent")
        return power(base, float(exponent))

    def _part(self) -> Kernel:
        kernel = self._atom()
        if not self._match(_AT):
            return kernel
        view = self._match(_VIEW) or ""
        start = self.position
        text = self._match(_COLUMNS)
        columns = None if text is None else Columns.parse(text)
        if columns is None and (text is not None or not view):
            self.position = start
            raise self._error("the name of a view" if text is None else "columns such as [0:64] or [64:89,5x5]")
        return on_view(kernel, view, columns)

    def _atom(self) -> Kernel:
        if self._mark("("):
            kernel = self._sum()
            self._close()
            return kernel
        start = self.position
        name = self._match(_NAME)
        if name is None:
            raise self._error("a kernel")
        if name in _NORMALISED:
            if not self._mark("("):
                raise self._error("( after normalised")
            kernel = self._sum()
            self._close()
            return normalised(kernel)
        if self._mark("("):
            self._skip_arguments()
        spec = Spec.parse(self.text[start : self.position])
        kernel = kernel_from_spec(spec)
        if self.fix_given:
            kernel.fixed = frozenset(spec.parameters)
        return kernel

    def _close(self) -> None:
        if not self._mark(")"):
            raise self._error(")")

    def _skip_arguments(self) -> None:
        depth = 1
        while depth:
            if self.position >= len(self.text):
                raise self._error(")")
            depth += {"(": 1, ")": -1}.get(self.text[self.position], 0)
            self.position += 1
