"""The contract of methods: scikit-learn estimators with a description of their parameters and preparation.

How a method of each kind is called: one protocol object per kind, for tasks and for the conformance kit alike.

A protocol takes inputs by name and makes the four calls of a method: :meth:`Protocol.prepare_fit`,
:meth:`Protocol.prepare_score`, :meth:`Protocol.fit` (or :meth:`Protocol.fit_steps`) and :meth:`Protocol.score`. Names
that all kinds share: ``X`` training rows, ``y`` their labels, ``S`` signatures. ``statistics`` is what the preparation
of that side returned, or None: then the method prepares for itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.data.store.rows import Rows, View
from zslplat.errors import MethodError, UnknownNameError, UsageError
from zslplat.figures import Figure
from zslplat.kinds import CLASS_BALANCE, TRANSDUCTIVE, UNSEEN_SIGNATURES
from zslplat.registry import known_as
from zslplat.space import Parameter, Parameterised, Space, check_value, default_space

if TYPE_CHECKING:
    # scikit-learn carries no types: a base of unknown type would let any attribute of a method pass.
    class BaseEstimator:
        @classmethod
        def _get_param_names(cls) -> list[str]: ...
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **parameters: Any) -> Self: ...

else:
    from sklearn.base import BaseEstimator

Arrays = dict[str, np.ndarray]
# What was prepared, as ``fit`` and ``decision_function`` take it; None: a method prepares for itself.
Statistics = Mapping[str, np.ndarray] | None
Prepared = Mapping[str, np.ndarray]

# What a method that takes blocks is given as features (``Method.takes_blocks``).
Features = np.ndarray | Rows

# What a fit learned, by attribute: arrays, and what JSON holds (numbers, texts, booleans, None, lists of them).
State = dict[str, Any]


@dataclass
class Diagnostics:
    """What a fit reports of itself: series by iteration (for example the objective) and single numbers."""

    series: dict[str, list[float]] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)


class Resident:
    """An object of a method's own that tasks hand back to it, such as encoded rows: it stays in the method's process.

    It has a length, ``take(rows)`` and ``arrays()``.
    """

    __slots__ = ()


class Method(Parameterised, BaseEstimator):
    """Base of every method plugin.

    ``kind`` says which tasks take it; hyperparameters are declared in the body of the class
    (:func:`~zslplat.space.parameter`), and the constructor follows from them; ``preprocessing`` is applied by the
    platform before any array reaches the method; ``transductive`` declares that the rows of a batch are scored
    jointly; ``random`` that the seed matters, so that repeats mean something; ``step_parameter`` names the parameter
    that bounds the steps of ``fit_steps`` (its best value on validation is carried to the refit); ``tolerance`` is the
    relative deviation that reordering rows or classes, or another number of threads, may cause, with
    ``tolerance_reason`` saying why it is not tighter. ``expected_failures`` names checks of the conformance kit that
    the method cannot pass, with the reason. The tag ``monotone`` says that the objective which ``diagnostics_`` lists
    never rises (the kit looks); a method that lists one that may rise says why in ``objective_may_rise``. The tag
    ``stationary`` says that ``objective(X, y, S)`` (what of these ``fit`` takes) has no slope at the learned matrices.
    ``costly`` names hyperparameters that ``prepare_fit`` and ``prepare_score`` work out something expensive for: it is
    prepared once per problem and value, with the value in ``self`` and out of ``space``, and shared by the trials of
    that value (docs/preparation.md).
    ``variants``: by value of a parameter ``variant`` ("paper": as printed, "authors": as their public code has it), the
    values that other parameters have there; they are not searched unless a range is named, and what is passed holds.
    ``measures`` names those numbers of ``diagnostics_`` that suites may report beside the metrics of a task.
    ``takes_blocks``: it works through features with :func:`~zslplat.data.store.rows.blocks_of` and
    :func:`~zslplat.data.store.rows.rowwise`, and takes arrays as well; no fold is copied for such a method.
    Learned state ends in ``_``.
    """

    kind: ClassVar[str]
    summary: ClassVar[str] = ""
    citation: ClassVar[str] = ""
    tags: ClassVar[tuple[str, ...]] = ()
    preprocessing: ClassVar[Preprocessing] = Preprocessing()
    transductive: ClassVar[bool] = False
    random: ClassVar[bool] = False
    step_parameter: ClassVar[str] = ""
    tolerance: ClassVar[float] = 1e-9
    tolerance_reason: ClassVar[str] = ""
    expected_failures: ClassVar[Mapping[str, str]] = {}
    objective_may_rise: ClassVar[str] = ""
    costly: ClassVar[tuple[str, ...]] = ()
    measures: ClassVar[tuple[str, ...]] = ()
    takes_blocks: ClassVar[bool] = False
    views: tuple[View, ...] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.variants and "variant" not in cls.costly:  # a variant may change what is prepared
            cls.costly = (*cls.costly, "variant")

    @classmethod
    def has_steps(cls) -> bool:
        """Whether a fit may be more than one step, between which a task scores."""
        return hasattr(cls, "fit_steps")

    @property
    def space(self) -> Space:
        """The ranges that tuning searches for this instance; may depend on its parameters (its kernel, say)."""
        fixed = self.variants.get(getattr(self, "variant", ""), {})
        return {name: dimension for name, dimension in default_space(self.parameters).items() if name not in fixed}

    @property
    def domains(self) -> Mapping[str, Parameter]:
        """Meaning, legal values and ranges of all parameters by flat name; components of a method add their own."""
        return self.parameters

    @property
    def defaults(self) -> dict[str, Any]:
        """The values of this instance by flat name; components of a method add their own."""
        return dict(self.get_params(deep=False))

    @classmethod
    def build(cls, parameters: Mapping[str, Any]) -> Self:
        """Make an instance from flat parameters; raises :class:`UsageError` for unknown names and illegal values.

        Methods whose parameters are components themselves (a kernel, say) override this to accept nested names.
        """
        accepted = cls._get_param_names()
        for name in parameters:
            if name not in accepted:
                hint = "zslplat list methods --search kernel lists methods with a kernel" if name == "kernel" else ""
                raise UnknownNameError(f"parameter of {known_as(cls)}", name, accepted, hint)
        instance = cls(**parameters)
        instance.check_parameters()
        return instance

    @classmethod
    def prepared_with(cls, space: Space, values: Mapping[str, Any]) -> tuple[dict[str, Any], Space]:
        """Return what preparation for a trial with these ``values`` depends on: the costly ones, and the other ranges.

        ``space``: all that is searched. Trials that agree in the former share what is prepared.
        """
        costly = [name for name in cls.costly if name in space]
        fixed = {name: values[name] for name in costly if name in values}
        return fixed, {name: dimension for name, dimension in space.items() if name not in costly}

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters; with ``variant`` also those that it fixes."""
        return super().set_params(**{**self.variants.get(str(parameters.get("variant")), {}), **parameters})

    def check_parameters(self) -> None:
        """Raise :class:`UsageError` for a parameter outside its legal domain."""
        for name, value in self.get_params(deep=False).items():
            if name in self.parameters:
                check_value(type(self), name, value, self.parameters)

    def take_views(self, views: Sequence[View]) -> None:
        """Learn which columns of X are which named view, in their order; called before anything else sees rows.

        Methods that do not know views take X as it comes: the views side by side. Raises :class:`UsageError` where a
        view holds matrices, which only a kernel that is bound to the view can tell from vectors.
        """
        for view in views:
            if len(view.shape) > 1:
                raise UsageError(
                    f"{known_as(type(self))} takes vectors, and view {view.name!r} holds matrices {view.shape}; leave "
                    f"it out of features=..., or bind a kernel of a kernel method to it: log-euclidean@{view.name}"
                )
        self.views = tuple(views)

    def matrices(self) -> Arrays:
        """Return the learned matrices by name; they are logged as artifacts."""
        return {}

    def figures(self) -> dict[str, Figure]:
        """Return figures of what was learned by name; final and single evaluations log them."""
        return {}

    @property
    def effective_preprocessing(self) -> Preprocessing:
        """The preprocessing for these parameters; variants of a method may differ from ``preprocessing``."""
        return self.preprocessing

    @property
    def knows_of_batch(self) -> tuple[str, ...]:
        """What these parameters know of the batch that is scored, beyond the row at hand; empty for most methods.

        ``transductive``: its rows are scored jointly, against all candidates at once. ``class balance``: the candidate
        classes are taken to be about equally frequent in it. ``unseen signatures``: see :meth:`uses_unseen_signatures`.
        Wherever results are shown, this is shown with them.
        """
        return (
            *((TRANSDUCTIVE,) if self.transductive else ()),
            *((CLASS_BALANCE,) if self.assumes_balance else ()),
            *((UNSEEN_SIGNATURES,) if self.uses_unseen_signatures(self.effective_preprocessing.signatures) else ()),
        )

    @property
    def assumes_balance(self) -> bool:
        """Whether these parameters take the candidate classes to be about equally frequent in the batch."""
        return False

    def uses_unseen_signatures(self, steps: Sequence[str]) -> bool:
        """Whether signatures of unseen classes shape what is learned, or how two other classes compare for a row.

        ``steps`` is the preprocessing of signatures. Every zero-shot method scores against them; one that learns from
        them, or centres or scales by them, knows of the test classes beforehand. A score that is relative to the
        row's other candidates, as a softmax is, does not count: it changes no comparison of classes. Nor does scoring
        a batch against all candidates at once, which ``transductive`` says.
        """
        return False

    @property
    def is_random(self) -> bool:
        """Whether the seed matters for these parameters; variants of a method may differ from ``random``."""
        return type(self).random

    def state(self) -> State:
        """Return what was learned, by attribute name, so that :meth:`from_state` makes a method that scores the same.

        Every attribute that ends in ``_`` but ``diagnostics_``; ``part_.name`` for a part with a state of its own (see
        :meth:`restored_parts`). Arrays are copies: what becomes of the method, or of rows that it keeps, does not
        change them. Raises :class:`MethodError` for what is neither an array nor JSON: override then.
        """
        learned: State = {}
        for name, value in vars(self).items():
            if not name.endswith("_") or name.startswith("_") or name == "diagnostics_":
                continue
            if hasattr(value, "state"):
                learned |= {f"{name}.{part}": self.storable(f"{name}.{part}", v) for part, v in value.state().items()}
            else:
                learned[name] = self.storable(name, value)
        return learned

    def storable(self, name: str, value: Any) -> Any:
        """Return a value that was learned as an array or as JSON holds it; raises :class:`MethodError` for others."""
        if isinstance(value, np.ndarray) and value.dtype != object:
            return np.array(value)
        if isinstance(value, np.generic):
            return value.item() if isinstance(value, np.float64 | np.int64 | np.bool_ | np.str_) else np.asarray(value)
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, list | tuple):
            return [self.storable(name, one) for one in value]
        raise MethodError(
            f"{known_as(type(self))}: {name} is of type {type(value).__name__}, neither an array nor JSON; give it a "
            "state() and name it in restored_parts(), or override storable() and restore()"
        )

    def restore(self, state: Mapping[str, Any]) -> Self:
        """Set what :meth:`state` returned, whatever was learned before; numbers may be arrays of no dimension.

        Raises :class:`MethodError` for a name that no learned attribute has.
        """
        parts = self.restored_parts()
        for name, value in state.items():
            attribute = name.partition(".")[0]
            if attribute in parts:
                continue
            if (
                attribute != name
                or not name.endswith("_")
                or name.startswith("_")
                or callable(getattr(self, name, None))
            ):
                raise MethodError(f"{known_as(type(self))} learns nothing that is called {name!r}")
            setattr(self, name, _plain(value))
        for name, restored in parts.items():
            part_state = {n.partition(".")[2]: _plain(v) for n, v in state.items() if n.partition(".")[0] == name}
            setattr(self, name, restored(part_state))
        self.diagnostics_ = Diagnostics()
        return self

    @classmethod
    def from_state(cls, parameters: Mapping[str, Any], state: Mapping[str, Any]) -> Self:
        """Return a method with these parameters that has learned what another's :meth:`state` says.

        Raises :class:`UsageError` for parameters that :meth:`build` refuses.
        """
        return cls.build(parameters).restore(state)

    def restored_parts(self) -> Mapping[str, Callable[[Mapping[str, Any]], Any]]:
        """Return, by attribute, how each part with a ``state()`` of its own is made from it again."""
        return {}

    @property
    def diagnostics(self) -> Diagnostics:
        """What the last fit reported of itself (``diagnostics_``), empty where a method reports nothing."""
        return getattr(self, "diagnostics_", Diagnostics())


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value


Inputs = Mapping[str, Any]


class Protocol(ABC):
    """The calls of the methods of one kind. ``training`` names the inputs that have an entry per training row."""

    training: ClassVar[tuple[str, ...]] = ("X", "y")

    @abstractmethod
    def prepare_fit(self, method: Any, inputs: Inputs, space: Space) -> Arrays:
        """Return what fitting needs and no searched parameter changes."""

    def prepare_score(self, method: Any, inputs: Inputs, space: Space, fitted: Statistics) -> Arrays:
        """Return what scoring needs and no searched parameter changes; ``fitted`` was prepared for the fit."""
        return {}

    @abstractmethod
    def fit(self, method: Any, inputs: Inputs, statistics: Statistics) -> Any:
        """Fit the method and return what its ``fit`` returns."""

    def fit_steps(self, method: Any, inputs: Inputs, statistics: Statistics) -> Iterator[int]:
        """Fit step by step, yielding 1, 2, ...; once for kinds without steps."""
        self.fit(method, inputs, statistics)
        yield 1

    @abstractmethod
    def score(self, method: Any, inputs: Inputs, statistics: Statistics) -> Arrays:
        """Return what a fitted method makes of the rows to be scored, by name, as it returned it."""


def features(method: Any, X: Any) -> Any:
    """Return features as the method wants them: rows of a file become an array, unless it takes blocks."""
    return np.asarray(X) if isinstance(X, Rows) and not method.takes_blocks else X
