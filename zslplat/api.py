"""All that a plugin author imports: the hook marker, the base classes and the words that describe parameters."""

from __future__ import annotations

from zslplat.data.dataset import ClassFold, Dataset, SignatureSet
from zslplat.data.preprocessing import Preprocessing
from zslplat.data.source import DataPlaces, DataSource
from zslplat.errors import DataError, MethodError, OutcomeWarning, UsageError, ZslplatError
from zslplat.exemplars.base import Encoding, ExemplarMethod
from zslplat.hookspecs import hookimpl
from zslplat.kernels import DotProductKernel, InnerProductKernel, Kernel, RadialKernel, parse_kernel
from zslplat.methods.base import Diagnostics, Method, ZeroShotMethod, check_fit_inputs
from zslplat.selection.base import FeatureSelector
from zslplat.space import (
    BOOLEAN,
    NON_NEGATIVE,
    POSITIVE,
    Choice,
    Integer,
    Optional,
    Parameter,
    Real,
    Scaled,
    Space,
    Text,
)
from zslplat.tasks.base import (
    Curve,
    MatrixFigure,
    Metric,
    Outcome,
    Problem,
    ScatterFigure,
    Table,
    Task,
)

__all__ = [
    "BOOLEAN",
    "NON_NEGATIVE",
    "POSITIVE",
    "Choice",
    "ClassFold",
    "Curve",
    "DataError",
    "DataPlaces",
    "DataSource",
    "Dataset",
    "Diagnostics",
    "DotProductKernel",
    "Encoding",
    "ExemplarMethod",
    "FeatureSelector",
    "InnerProductKernel",
    "Integer",
    "Kernel",
    "MatrixFigure",
    "Method",
    "MethodError",
    "Metric",
    "Optional",
    "Outcome",
    "OutcomeWarning",
    "Parameter",
    "Preprocessing",
    "Problem",
    "RadialKernel",
    "Real",
    "Scaled",
    "ScatterFigure",
    "SignatureSet",
    "Space",
    "Table",
    "Task",
    "Text",
    "UsageError",
    "ZeroShotMethod",
    "ZslplatError",
    "check_fit_inputs",
    "hookimpl",
    "parse_kernel",
]
