"""Methods that take a kernel: nested parameter names, the kernel's search space, and ``kernel="any"``.

The kernel is one constructor parameter, ``kernel``: an expression such as ``gaussian(sigma=0.6)``. Its own parameters
are reached as ``kernel.sigma`` (``kernel.gaussian.sigma`` inside an expression, or for any kernel by its name), are
searched together with the method's as far as the given text leaves them open, and end up inside the text of
``kernel``. With ``kernel="any"`` the search space holds the choice of a kernel and, under the condition of that choice,
the parameters of each.

Where the rows have named views, the kernel is bound to them (``gaussian@cq``, see :mod:`zslplat.kernels.on_view`) as
soon as the method knows them; names, values and ranges of its parameters are the same before and after.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from zslplat.data.store.rows import View
from zslplat.errors import UsageError
from zslplat.kernels.base import Kernel
from zslplat.kernels.expression import parse_kernel
from zslplat.kernels.inner_product import InnerProductKernel
from zslplat.kernels.on_view import has_views
from zslplat.methods.base import Method
from zslplat.multiples import read_multiple
from zslplat.registry import known_as, names
from zslplat.space import ANY, Choice, Parameter, Scaled, Space, Text, parameter, with_condition

PREFIX = "kernel."


class KernelMethod(Method):
    """A method with a parameter ``kernel``; says which kernels fit by ``kernel_gradients`` and ``kernel_psd``.

    ``kernel_on``: what the kernel compares, ``features`` or ``signatures``; views are of features alone.
    """

    kernel_on: ClassVar[str] = "features"
    kernel_gradients: ClassVar[bool] = False
    kernel_psd: ClassVar[bool] = True
    kernel: Any = parameter("kernel expression; its parameters are tuned with the method's", Text(), default="gaussian")
    kernel_: Any
    _kernel_given = False  # whether the kernel was passed, rather than the default of the class

    @classmethod
    def build(cls, parameters: Mapping[str, Any]) -> Self:
        """Make an instance from flat parameters, ``kernel.sigma`` and the like included.

        Raises UnknownNameError for names that neither method nor kernel has, UsageError for illegal values and for
        kernels without the shape that the method needs.
        """
        flat = {name: value for name, value in parameters.items() if not name.startswith(PREFIX)}
        nested = {name.removeprefix(PREFIX): v for name, v in parameters.items() if name.startswith(PREFIX)}
        if "kernel" in flat and not isinstance(flat["kernel"], Kernel):
            flat["kernel"] = str(flat["kernel"])
        instance = super().build(flat)
        # What the text of a kernel says is not searched; a method's own default kernel is only where the search begins.
        instance._kernel_given = "kernel" in flat or "kernel" in cls.variants.get(str(flat.get("variant")), {})
        if nested:
            if str(instance.kernel) == ANY:
                raise UsageError(f"kernel=any leaves the kernel open; choose one to set {PREFIX}{min(nested)}")
            instance.kernel = str(parse_kernel(instance.kernel).replaced(nested))
            instance.check_parameters()
        return instance

    def check_parameters(self) -> None:
        """Raise :class:`UsageError` for a parameter outside its legal domain, or a kernel that does not fit."""
        kernel = self.kernel
        self.kernel = str(kernel)
        try:
            super().check_parameters()
        finally:
            self.kernel = kernel
        if str(kernel) != ANY:
            self.parsed_kernel()

    def take_views(self, views: Sequence[View]) -> None:
        """Learn which columns of X are which view; from now on the kernel is bound to them.

        Raises UnknownNameError for a kernel on a view that is not there, :class:`UsageError` for one that does not fit
        its view, and for a view of matrices that no kernel is on.
        """
        if str(self.kernel) == ANY or self.kernel_gradients or self.kernel_on != "features":
            super().take_views(views)
        if str(self.kernel) != ANY and self.kernel_on == "features":
            parse_kernel(self.kernel).bound(views)
        self.views = tuple(views)

    def parsed_kernel(self) -> Kernel:
        """Return the kernel, bound to the views where they are known.

        Raises :class:`UsageError` where it lacks the shape that this method needs.
        """
        if str(self.kernel) == ANY:
            raise UsageError("kernel=any is a search space; tune over it, or name one kernel to fit")
        kernel = parse_kernel(self.kernel)
        reason = self._misfit(kernel)
        if reason:
            fitting = ", ".join(self.fitting_kernels())
            raise UsageError(f"{known_as(type(self))} {reason}; {kernel} does not fit, choose one of {fitting}")
        return self._bound(kernel)

    @property
    def space(self) -> Space:
        """The ranges that tuning searches: the method's own, and the kernel's under ``kernel.``."""
        space = {name: r for name, r in super().space.items() if name != "kernel"}
        if str(self.kernel) != ANY:
            kernel = parse_kernel(self.kernel, fix_given=self._kernel_given)
            return {**space, **{PREFIX + path: r for path, r in kernel.space.items()}}
        fitting = self.fitting_kernels()
        space["kernel"] = Choice(tuple(fitting))
        for name, kernel in fitting.items():
            for path, dimension in kernel.space.items():
                space[f"{PREFIX}{name}.{path}"] = with_condition(dimension, {"kernel": (name,)})
        return space

    @property
    def domains(self) -> dict[str, Parameter]:
        """Meaning, legal values and ranges of all parameters by flat name, the kernel's included."""
        kernels = self.fitting_kernels() if str(self.kernel) == ANY else {"": self.parsed_kernel()}
        nested = {
            f"{PREFIX}{name}.{path}" if name else PREFIX + path: parameter
            for name, kernel in kernels.items()
            for path, parameter in kernel.domains.items()
        }
        return {**self.parameters, **nested}

    @property
    def defaults(self) -> dict[str, Any]:
        """The values of this instance by flat name, the kernel's parameters included.

        Where any kernel may be chosen, the default is the method's own, with that kernel's parameters.
        """
        values = dict(self.get_params(deep=False))
        if str(self.kernel) != ANY:
            return values | {PREFIX + path: value for path, value in self.parsed_kernel().values.items()}
        kernel = parse_kernel(inspect.signature(type(self)).parameters["kernel"].default)
        nested = {f"{PREFIX}{kernel.label}.{path}": value for path, value in kernel.values.items()}
        return values | {"kernel": kernel.label} | nested

    def storable(self, name: str, value: Any) -> Any:
        """Return what was learned as an array or JSON; a fitted kernel as its text, which holds every digit."""
        return str(value) if isinstance(value, Kernel) else super().storable(name, value)

    def restore(self, state: Mapping[str, Any]) -> Self:
        """Set what :meth:`state` returned; raises UnknownNameError for a kernel that is not registered."""
        super().restore(state)
        if "kernel_" in state:
            self.kernel_ = parse_kernel(str(state["kernel_"]))
        return self

    def resolved_numbers(self, kernel: Kernel) -> dict[str, float]:
        """Return what multiples of a scale among this method's kernel parameters became in the fitted ``kernel``."""
        initial, domains, fitted = self.parsed_kernel().values, kernel.domains, kernel.values
        return {
            f"{PREFIX}{path} resolved": float(fitted[path])
            for path, value in initial.items()
            if path in fitted and isinstance(domains[path].legal, Scaled) and read_multiple(value)
        }

    @classmethod
    def fitting_kernels(cls) -> dict[str, Kernel]:
        """Return the registered kernels that this method can take with their default parameters, by name.

        Kernels whose rows have a layout fit only data that have it, and are chosen by name.
        """
        fitting: dict[str, Kernel] = {}
        for name in names("kernels"):
            try:
                kernel = parse_kernel(name)
                misfit = cls._misfit(kernel)
            except KeyboardInterrupt:
                raise
            except BaseException:
                continue  # a broken plugin, or a kernel without defaults, is no candidate and hides no other
            if not misfit and kernel.width_multiple == 1:
                fitting[name] = kernel
        return fitting

    def _bound(self, kernel: Kernel) -> Kernel:
        return kernel.bound(self.views) if self.views and self.kernel_on == "features" else kernel

    @classmethod
    def _misfit(cls, kernel: Kernel) -> str:
        if kernel.input != "vectors":
            return "needs a kernel on vectors"
        if kernel.non_negative and "center" in getattr(cls.preprocessing, cls.kernel_on):
            return f"centres its {cls.kernel_on} and needs a kernel that takes negative values"
        if cls.kernel_on != "features" and has_views(kernel):
            return f"compares {cls.kernel_on}, which have no views, and needs a kernel that is on no view"
        if cls.kernel_gradients and has_views(kernel):
            return "learns a projection of all features and needs the derivatives of a kernel that is on no view"
        if cls.kernel_gradients and not isinstance(kernel, InnerProductKernel):
            return "needs a kernel of inner products, with derivatives, not one that offers its Gram matrix only"
        if cls.kernel_psd and not kernel.psd:
            return "needs a positive semidefinite kernel, not an indefinite one"
        return ""
