"""Parameters of components: what they mean, which values are legal, and which range is worth searching.

One vocabulary serves both: :class:`Real`, :class:`Integer` and :class:`Choice` describe a set of values, used as
the legal domain of a parameter and as its search range. A search range may be conditional (``when``): it is
searched only where another searched or fixed parameter has one of the listed values.

Values that only mean something against the data (bandwidths, shifts) are searched in units of it: the range
``0.1*median..10*median`` holds texts such as ``0.7*median``, see :mod:`zslplat.multiples`.
"""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from zslplat.errors import UsageError, near_names, quoted
from zslplat.multiples import read_multiple, write_multiple
from zslplat.registry import known_as
from zslplat.spec import Spec, parse_value

_LARGEST = sys.float_info.max
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Domain(Generic[T_co]):
    """A set of values of type ``T_co``."""

    def contains(self, value: Any) -> bool:
        """Tell whether ``value`` is in the set."""
        raise NotImplementedError


@dataclass(frozen=True)
class Real(Domain[float]):
    """The real numbers in [low, high]; ``log`` searches them on a logarithmic scale; ``open_low`` excludes low.

    With a ``unit`` (``*median``, say) it holds multiples of that unit, as texts such as ``0.7*median``. A range with
    ``steps`` is searched on so many values, evenly spaced on its scale from low to high, so that trials share them; a
    default between two of them is tried as it is.
    """

    low: float = -math.inf
    high: float = math.inf
    log: bool = False
    open_low: bool = False
    when: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    unit: str = ""
    steps: int = 0

    def contains(self, value: Any) -> bool:
        """Tell whether ``value`` is a finite number (not a bool) inside the interval, or such a multiple."""
        if self.unit:
            multiple = read_multiple(value)
            if multiple is None or multiple[1] != self.unit:
                return False
            value = multiple[0]
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        # An integer may be larger than any floating number.
        if isinstance(value, float) and not math.isfinite(value):
            return False
        return (
            abs(value) <= _LARGEST and (self.low < value if self.open_low else self.low <= value) and value <= self.high
        )

    def number(self, value: Any) -> float:
        """Return the place of a value that :meth:`contains` accepts on the axis from low to high."""
        multiple = read_multiple(value) if self.unit else None
        return float(value if multiple is None else multiple[0])

    def value(self, number: float) -> Any:
        """Return the value at a place on the axis: the number itself, or that multiple of the unit."""
        return write_multiple(number, self.unit) if self.unit else number

    def on_step(self, number: float) -> float:
        """Return the place on the axis that is searched in place of ``number``: the nearest step, where there are."""
        if not self.steps:
            return number
        scale, back = (math.log, math.exp) if self.log else (float, float)
        low, high = scale(self.low), scale(self.high)
        step = round((scale(number) - low) / (high - low) * (self.steps - 1))
        if step in (0, self.steps - 1):
            return self.high if step else self.low
        # Six digits, so that a value can be read and given again.
        return float(f"{back(low + step / (self.steps - 1) * (high - low)):.6g}")

    def __str__(self) -> str:
        flags = (":log" if self.log else "") + (f":{self.steps}" if self.steps else "")
        return _interval(self.low, self.high, self.open_low, self.unit) + flags


@dataclass(frozen=True)
class Integer(Domain[int]):
    """The integers in [low, high]; ``log`` searches them on a logarithmic scale."""

    low: float = -math.inf
    high: float = math.inf
    log: bool = False
    when: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def contains(self, value: Any) -> bool:
        """Tell whether ``value`` is an integer (not a bool) inside the interval."""
        return isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high

    def __str__(self) -> str:
        return "int " + _interval(self.low, self.high) + (":log" if self.log else "")


@dataclass(frozen=True)
class Choice(Domain[T_co]):
    """One of the listed values (numbers, strings, booleans or None)."""

    values: tuple[T_co, ...]
    when: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def contains(self, value: Any) -> bool:
        """Tell whether ``value`` is one of the listed values, of the same type."""
        return any(value == v and isinstance(value, bool) == isinstance(v, bool) for v in self.values)

    def __str__(self) -> str:
        return "|".join(str(v) for v in self.values)


@dataclass(frozen=True)
class Text(Domain[str]):
    """Any string, for example a component spec; which its reader checks."""

    when: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def contains(self, value: Any) -> bool:
        """Tell whether ``value`` is a string."""
        return isinstance(value, str)

    def __str__(self) -> str:
        return "text"


@dataclass(frozen=True)
class Optional(Domain[T_co | None]):
    """``None`` or a value of the inner domain."""

    inner: Domain[T_co]

    def contains(self, value: Any) -> bool:
        """Tell whether ``value`` is None or in the inner domain."""
        return value is None or self.inner.contains(value)

    def __str__(self) -> str:
        return f"none|{self.inner}"


@dataclass(frozen=True)
class Scaled(Domain[float]):
    """A number of the inner domain, or a multiple of a unit of the data whose factor lies in it (``0.7*median``)."""

    inner: Real
    unit: str

    def contains(self, value: Any) -> bool:
        """Tell whether ``value`` is a number of the inner domain or a multiple of the unit."""
        multiple = read_multiple(value)
        return self.inner.contains(value if multiple is None else multiple[0]) and (
            multiple is None or multiple[1] == self.unit
        )

    def __str__(self) -> str:
        return f"{self.inner}, or a multiple such as {write_multiple(0.7, self.unit)}"


Range = Real | Integer | Choice[Any]
Space = dict[str, Range]

# The value of a parameter that is searched over everything that fits, where its method knows what that is.
ANY = "any"
BOOLEAN = Choice((True, False))
POSITIVE = Real(0, open_low=True)
NON_NEGATIVE = Real(0)


class _NoDefault(Enum):
    """What stands for no default: any value, ``None`` included, may be one."""

    NO_DEFAULT = "no default"


NO_DEFAULT = _NoDefault.NO_DEFAULT


@dataclass(frozen=True)
class Parameter:
    """One hyperparameter of a component: its meaning, its legal values, the range that tuning searches, its default.

    ``search=None`` means that tuning leaves the parameter alone unless the user names a range for it.
    """

    description: str
    legal: Domain[Any]
    search: Range | None = None
    default: Any = NO_DEFAULT
    last: bool = False  # listed after the parameters of subclasses


def parameter(
    description: str, legal: Domain[T], search: Range | None = None, *, default: T | str | _NoDefault = NO_DEFAULT
) -> T:
    """Declare a hyperparameter in the body of a class: ``alpha = parameter("ridge", POSITIVE, default=1.0)``.

    Type checkers see the type of its values; :class:`Parameterised` collects the :class:`Parameter`. The default of a
    parameter in units of the data is a text (``1.0*median``). A parameter has no default only where the class writes
    its own constructor.
    """
    return Parameter(description, legal, search, default)  # type: ignore[return-value]


class Declared:
    """Base of components whose parameters are declared once, in the body of the class (:func:`parameter`).

    ``parameters`` lists them by name: those of the base classes first, then the class's own. A subclass inherits
    them; it changes a default with a plain value (``alpha = 2.0``) and anything else by another declaration. Those of
    a base class with ``listed_last=True`` come after the parameters of its subclasses. A class that takes over only
    some says which: ``parameters = {"alpha": Base.parameters["alpha"]}``. On the class each attribute is the default.
    """

    parameters: ClassVar[Mapping[str, Parameter]] = {}

    def __init_subclass__(cls, *, listed_last: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        listed = vars(cls).get("parameters")
        if listed is None:
            listed = {}
            for base in cls.__bases__:
                listed |= {n: one for n, one in getattr(base, "parameters", {}).items() if n not in listed}
        declared = {n: replace(v, last=listed_last) for n, v in vars(cls).items() if isinstance(v, Parameter)}
        for name in vars(cls).keys() & listed.keys() - declared.keys():
            value = vars(cls)[name]
            check_value(cls.__name__, name, value, listed)
            declared[name] = replace(listed[name], default=value)
        cls.parameters = dict(sorted((listed | declared).items(), key=lambda item: item[1].last))
        for name, one in cls.parameters.items():
            if one.default is not NO_DEFAULT:
                setattr(cls, name, one.default)
            elif name in declared:
                delattr(cls, name)


class Parameterised(Declared):
    """Base of components whose constructor follows from their parameters.

    A class that writes no ``__init__`` is given one: it takes exactly the names of the parameters, by position or
    keyword, and stores each value under its name (:meth:`take_parameters`). As for any Python constructor an unknown
    name is a TypeError, and ``inspect.signature`` shows names and defaults, which is what ``get_params``,
    ``set_params`` and ``clone`` of scikit-learn go by. The values are checked where a component is built by name.

    ``variants`` says, by value of the parameter ``variant``, which defaults other parameters have under it.
    """

    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    if TYPE_CHECKING:

        def __init__(self, *args: Any, **values: Any) -> None: ...

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        writer = next(base for base in cls.__mro__ if "__init__" in vars(base))
        complete = all(one.default is not NO_DEFAULT for one in cls.parameters.values())
        if complete and cls.parameters != getattr(writer, "parameters", {}):
            cls.__init__ = _constructor(cls)  # type: ignore[method-assign]

    def take_parameters(self, values: Mapping[str, Any]) -> None:
        """Store the values of all parameters under their names."""
        for name, value in values.items():
            setattr(self, name, value)


def _constructor(cls: type[Parameterised]) -> Callable[..., None]:
    """Return the ``__init__`` that follows from the parameters of ``cls``."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    listed = [inspect.Parameter(name, kind, default=p.default) for name, p in cls.parameters.items()]
    arguments = inspect.Signature(listed)

    def __init__(self: Parameterised, *args: Any, **values: Any) -> None:
        try:
            bound = arguments.bind(*args, **values)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}() {error}") from None
        of_variant = cls.variants.get(str(bound.arguments.get("variant")), {})
        bound.arguments |= {name: value for name, value in of_variant.items() if name not in bound.arguments}
        bound.apply_defaults()
        self.take_parameters(bound.arguments)

    first = inspect.Parameter("self", kind)
    __init__.__signature__ = inspect.Signature([first, *listed])  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    __init__.__module__ = cls.__module__
    return __init__


def default_space(parameters: Mapping[str, Parameter]) -> Space:
    """Return the ranges that tuning searches when nothing else is said."""
    return {name: p.search for name, p in parameters.items() if p.search is not None}


def check_value(owner: str | type, name: str, value: Any, parameters: Mapping[str, Parameter]) -> None:
    """Raise :class:`UsageError` when ``value`` is no legal value of the parameter ``name`` of ``owner``.

    ``owner``: what the message calls it, or a component's class, which is called by its registered name.
    """
    legal = parameters[name].legal
    if not legal.contains(value):
        registered = isinstance(owner, type)
        owner = known_as(owner) if isinstance(owner, type) else owner
        more = f"; zslplat show {owner} lists the ranges" if registered else ""
        raise UsageError(f"{owner}: {name}={quoted(value)} is out of range; expected {legal}{more}")


def is_active(dimension: Range, values: Mapping[str, Any]) -> bool:
    """Tell whether a conditional range applies, given the values of the parameters that it depends on."""
    return all(values.get(other) in allowed for other, allowed in dimension.when.items())


RANGE_FORMS = (
    "write low..high (1..20), low..high:log (1e-3..1e3:log), low..high:log:15 for 15 values, low..high:int or a|b|c"
)
_MOST_CHARACTERS = 1000
_RANGE = re.compile(r"^\s*(?P<low>[^:|]+?)\.\.(?P<high>[^:|]+?)(?P<flags>(:[a-z0-9]+)*)\s*$")


def parse_range(text: str, legal: Domain[Any] | None = None) -> Range:
    """Read ``1e-3..1e3:log``, ``1..20:int``, ``3..40`` or ``a|b|c``; integer where the legal domain is.

    Raises :class:`UsageError` with the accepted forms when the text is none of them, or leaves the legal domain.
    """
    core = legal.inner if isinstance(legal, Optional) else legal
    # What is longer can only be a list of values.
    match = _RANGE.match(text) if len(text) <= _MOST_CHARACTERS else None
    result = _parse_interval(text, match, whole=isinstance(core, Integer)) if match else _parse_choice(text)
    if isinstance(result, Choice):
        ends = result.values
    else:
        ends = (result.low, result.high)
        ends = tuple(map(result.value, ends)) if isinstance(result, Real) else ends
    for end in ends:
        if legal is not None and not legal.contains(end):
            raise UsageError(f"range {quoted(text)} leaves the legal values: {legal}; {RANGE_FORMS}")
    return result


def _parse_interval(text: str, match: re.Match[str], *, whole: bool) -> Real | Integer:
    """Read ``low..high`` with its flags; ``whole``: the parameter takes integers alone."""
    if "..." in text:
        # It could mean 0..0.5 as well as 0..5.
        raise _range_error(text, "three dots; write two, and 0.5 for .5: 0..0.5")
    try:
        (low, unit), (high, other) = _end(match["low"]), _end(match["high"])
    except ValueError as error:
        raise _range_error(text, str(error)) from None
    if unit != other:
        raise _range_error(text, "give both ends in the same unit, for example 0.1*median..10*median:log", "")
    flags = {flag for flag in match["flags"].split(":") if flag}
    steps = _steps(text, {flag for flag in flags if flag.isdecimal()})
    flags = {flag for flag in flags if not flag.isdecimal()}
    if flags - {"log", "int"}:
        flag = sorted(flags - {"log", "int"})[0]
        unknown = _range_error(text, f"unknown flag {flag!r}")
        unknown.name, unknown.candidates = flag, dict.fromkeys(near_names(flag, ("log", "int")), "")
        raise unknown
    if not low < high or not (math.isfinite(low) and math.isfinite(high)):
        raise _range_error(text, "the low end must be below the high end, both finite")
    if "log" in flags and low <= 0:
        raise _range_error(text, "a logarithmic range must start above 0")
    if not (whole or "int" in flags):
        return Real(low, high, log="log" in flags, unit=unit, steps=steps)
    if not (low.is_integer() and high.is_integer()):
        raise _range_error(text, "the ends of a range of integers must be integers")
    if steps:
        raise _range_error(text, "integers have no steps; list those to search, for example 1|5|25", "")
    if unit:
        raise _range_error(text, "integers have no unit; write low..high, for example 1..20", "")
    return Integer(int(low), int(high), log="log" in flags)


def _steps(text: str, counts: set[str]) -> int:
    """Return the number of values that a range is searched on, 0 where none is named."""
    if any(len(count) > 6 for count in counts):
        raise _range_error(text, "too many values to search")
    steps = int(max(counts, default="0", key=int))
    if len(counts) > 1 or (counts and steps < 2):
        raise _range_error(text, "give one number of values, 2 or more")
    return steps


def _parse_choice(text: str) -> Choice[Any]:
    """Read ``a|b|c``."""
    try:
        parsed = [parse_value(part) for part in text.split("|")]
    except UsageError:
        raise UsageError(f"range {quoted(text)} cannot be read; {RANGE_FORMS}") from None
    values = tuple(str(value) if isinstance(value, Spec) else value for value in parsed)
    if len(set(map(str, values))) < len(values):
        raise UsageError(f"range {quoted(text)} lists a value twice; {RANGE_FORMS}")
    if any(isinstance(value, list) for value in values):
        raise _range_error(text, "lists cannot be searched")
    return Choice(values)


def _range_error(text: str, problem: str, forms: str = RANGE_FORMS) -> UsageError:
    return UsageError(f"range {quoted(text)}: {problem}" + (f"; {forms}" if forms else ""))


def with_condition(dimension: Range, when: Mapping[str, tuple[Any, ...]]) -> Range:
    """Return the same range under further conditions."""
    return replace(dimension, when={**dimension.when, **when})


def _end(text: str) -> tuple[float, str]:
    multiple = read_multiple(text) if "*" in text or "/" in text else None
    return multiple or (float(text), "")


def _interval(low: float, high: float, open_low: bool = False, unit: str = "") -> str:
    if low == -math.inf and high == math.inf:
        return "any number"
    if high == math.inf:
        return f"{'>' if open_low else '>='} {low:g}{unit}"
    if low == -math.inf:
        return f"<= {high:g}{unit}"
    return f"{low:g}{unit}..{high:g}{unit}"
