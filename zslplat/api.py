"""All that a plugin author imports: the hook marker, the base classes and the words that describe parameters."""

from __future__ import annotations

from zslplat.checks.base import Check, Finding, WarningCheck
from zslplat.checks.facts import ComparisonFacts, DataFacts, StudyFacts, SuiteFacts
from zslplat.data.dataset import ClassFold, Dataset, SignatureSet
from zslplat.data.feature_card import EncoderFacts
from zslplat.data.source import DataPlaces, DataSource
from zslplat.data.store.preprocessing import Preprocessing
from zslplat.data.store.rows import Rows, RowStream, View, blocks_of, rowwise, take_rows
from zslplat.errors import DataError, MethodError, OutcomeWarning, PluginError, UsageError, ZslplatError
from zslplat.families.coding.methods.base import CodingMethod, check_coding_inputs
from zslplat.families.exemplars.methods.base import Encoding, ExemplarMethod
from zslplat.families.selection.methods.base import FeatureSelector, SelectionData, check_selection_inputs
from zslplat.families.zero_shot.methods.base import ZeroShotMethod, check_fit_inputs
from zslplat.figures import Curve, MatrixFigure, ScatterFigure, Table
from zslplat.hookspecs import API_VERSION, Kind, hookimpl
from zslplat.kernels import DotProductKernel, InnerProductKernel, Kernel, RadialForm, RadialKernel, parse_kernel
from zslplat.kinds import protocol_of
from zslplat.listeners import Listener
from zslplat.methods.base import Diagnostics, Features, Method, Protocol, State
from zslplat.methods.kernel_parameter import KernelMethod
from zslplat.models.model import SavedModel
from zslplat.pipelines.base import Pipeline
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
    parameter,
)
from zslplat.tasks.base import Metric, ModelContent, Outcome, Problem, Task

__all__ = [
    "API_VERSION",
    "BOOLEAN",
    "NON_NEGATIVE",
    "POSITIVE",
    "Check",
    "Choice",
    "ClassFold",
    "CodingMethod",
    "ComparisonFacts",
    "Curve",
    "DataError",
    "DataFacts",
    "DataPlaces",
    "DataSource",
    "Dataset",
    "Diagnostics",
    "DotProductKernel",
    "EncoderFacts",
    "Encoding",
    "ExemplarMethod",
    "FeatureSelector",
    "Features",
    "Finding",
    "InnerProductKernel",
    "Integer",
    "Kernel",
    "KernelMethod",
    "Kind",
    "Listener",
    "MatrixFigure",
    "Method",
    "MethodError",
    "Metric",
    "ModelContent",
    "Optional",
    "Outcome",
    "OutcomeWarning",
    "Parameter",
    "Pipeline",
    "PluginError",
    "Preprocessing",
    "Problem",
    "Protocol",
    "RadialForm",
    "RadialKernel",
    "Real",
    "RowStream",
    "Rows",
    "SavedModel",
    "Scaled",
    "ScatterFigure",
    "SelectionData",
    "SignatureSet",
    "Space",
    "State",
    "StudyFacts",
    "SuiteFacts",
    "Table",
    "Task",
    "Text",
    "UsageError",
    "View",
    "WarningCheck",
    "ZeroShotMethod",
    "ZslplatError",
    "blocks_of",
    "check_coding_inputs",
    "check_fit_inputs",
    "check_selection_inputs",
    "hookimpl",
    "parameter",
    "parse_kernel",
    "protocol_of",
    "rowwise",
    "take_rows",
]
