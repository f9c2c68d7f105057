"""The built-in components that serve every kind of methods; each kind has an entry point of its own (``families``)."""

from __future__ import annotations

from pathlib import Path

from zslplat.hookspecs import hookimpl

_SUITES = Path(__file__).parent / "suites" / "builtin"

_CHECKS = {
    "search": {
        "ZSP101": "EdgeOfRange",
        "ZSP102": "LastStep",
        "ZSP103": "ValidationAtChance",
        "ZSP104": "TestAtChance",
        "ZSP105": "FoldsDisagree",
        "ZSP106": "ValidationFarFromTest",
        "ZSP107": "MostTrialsLost",
        "ZSP108": "FewTrials",
        "ZSP109": "NothingGained",
        "ZSP110": "NoEffect",
    },
    "outcome": {
        "ZSP200": "Unnamed",
        "ZSP201": "FewPredictedClasses",
        "ZSP202": "EqualScores",
        "ZSP205": "UndefinedMetrics",
        "ZSP208": "FewerValidationClasses",
        "ZSP209": "FewDrawnFolds",
        "ZSP210": "FewerFeaturesThanTaken",
        "ZSP212": "EmptyCodes",
        "ZSP213": "NotConverged",
        "ZSP214": "MetricsLeftOut",
        "ZSP215": "TestLabelsExported",
        "ZSP217": "BiasNotCarried",
        "ZSP218": "RowsOutrankClasses",
        "ZSP219": "PlaceholderScores",
    },
    "comparison": {
        "ZSP301": "UnequalBudgets",
        "ZSP302": "OtherRows",
        "ZSP303": "OtherData",
        "ZSP304": "MixedCode",
        "ZSP305": "SlowerWithoutGain",
        "ZSP306": "TransductiveBesideInductive",
        "ZSP307": "KnowsClassBalance",
        "ZSP308": "FromMemory",
        "ZSP309": "ManyLooks",
        "ZSP310": "SamePredictions",
        "ZSP401": "UnequalBudgetsInSuite",
        "ZSP402": "MissingCells",
    },
    "data": {
        "ZSP501": "GoldenFeature",
        "ZSP502": "RepeatedRows",
        "ZSP503": "ConstantColumns",
        "ZSP504": "SameSignatures",
        "ZSP505": "SignatureSeenBefore",
        "ZSP506": "UnshownAttributes",
        "ZSP507": "Disagreements",
        "ZSP508": "RowsInNoSplit",
        "ZSP509": "ClassesWithoutRows",
        "ZSP510": "BlankSignatures",
        "ZSP511": "SentinelsInSignatures",
        "ZSP512": "FlatRows",
        "ZSP513": "FaintColumns",
        "ZSP514": "DoublePrecision",
        "ZSP515": "SeenInPretraining",
        "ZSP516": "FarValues",
    },
    "base": {
        "ZSP901": "FailedCheck",
    },
}


@hookimpl
def zslplat_kernels() -> dict[str, str]:
    """The built-in kernels."""
    return {
        "cauchy": "zslplat.kernels.forms:Cauchy",
        "chi-squared": "zslplat.kernels.histograms:ChiSquared",
        "gaussian": "zslplat.kernels.forms:Gaussian",
        "histogram-intersection": "zslplat.kernels.histograms:HistogramIntersection",
        "l1-laplacian": "zslplat.kernels.histograms:L1Laplacian",
        "l2-laplacian": "zslplat.kernels.forms:L2Laplacian",
        "linear": "zslplat.kernels.forms:Linear",
        "log-euclidean": "zslplat.kernels.log_euclidean:LogEuclidean",
        "polynomial": "zslplat.kernels.forms:Polynomial",
        "sigmoid": "zslplat.kernels.forms:Sigmoid",
    }


@hookimpl
def zslplat_datasets() -> dict[str, str]:
    """The built-in data sets and loaders."""
    return {
        "npz": "zslplat.data.formats.npz:NpzSource",
        "arrays": "zslplat.data.formats.in_memory:ArraysSource",
        "digits": "zslplat.data.sets.digits:Digits",
        "csv": "zslplat.data.formats.parquet:CsvSource",
        "npy": "zslplat.data.formats.npy_folder:NpySource",
        "parquet": "zslplat.data.formats.parquet:ParquetSource",
        "hdf5": "zslplat.data.formats.hdf5:Hdf5Source",
    }


@hookimpl
def zslplat_checks() -> dict[str, str]:
    """The built-in checks, file by file."""
    return {
        code: f"zslplat.checks.{module}:{name}" for module, names in _CHECKS.items() for code, name in names.items()
    }


@hookimpl
def zslplat_suites() -> dict[str, Path]:
    """The built-in suites."""
    return {
        name: _SUITES / f"{name}.toml"
        for name in ("mfmr", "quick", "shared-space", "zero-shot", "zero-shot-3h", "zero-shot-full", "zskl")
    }


@hookimpl
def zslplat_listeners() -> dict[str, str]:
    """The built-in listener."""
    return {"mlflow": "zslplat.tracking.listener:MLflowListener"}
