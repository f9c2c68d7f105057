"""The built-in components, registered through the same entry point group as everybody else's."""

from __future__ import annotations

from pathlib import Path

from zslplat.hookspecs import hookimpl

_SUITES = Path(__file__).parent / "suites" / "builtin"

_ZERO_SHOT = {
    "ale": "zslplat.methods.zero_shot.ranking.ale:ALE",
    "cmt": "zslplat.methods.zero_shot.cmt.transfer:CMT",
    "cmt-gaussian": "zslplat.methods.zero_shot.cmt.novelty:CMTGaussian",
    "cmt-loop": "zslplat.methods.zero_shot.cmt.novelty:CMTLoop",
    "conse": "zslplat.methods.zero_shot.probabilistic.conse:ConSE",
    "dap": "zslplat.methods.zero_shot.probabilistic.dap:DAP",
    "devise": "zslplat.methods.zero_shot.ranking.devise:DeViSE",
    "eszsl": "zslplat.methods.zero_shot.eszsl:ESZSL",
    "eszsl-smoothed": "zslplat.methods.zero_shot.eszsl_smoothed:SmoothedESZSL",
    "exem-1nn": "zslplat.methods.zero_shot.exem:Exem1NN",
    "exem-1nns": "zslplat.methods.zero_shot.exem:Exem1NNs",
    "gfhf": "zslplat.methods.zero_shot.gfhf:GFHF",
    "gfzsl": "zslplat.methods.zero_shot.gfzsl:GFZSL",
    "gfzsl-em": "zslplat.methods.zero_shot.gfzsl_em:TransductiveGFZSL",
    "iap": "zslplat.methods.zero_shot.probabilistic.iap:IAP",
    "jlse": "zslplat.methods.zero_shot.jlse:JLSE",
    "keszsl": "zslplat.methods.zero_shot.keszsl:KernelESZSL",
    "latem": "zslplat.methods.zero_shot.ranking.latem:LatEm",
    "mfmr": "zslplat.methods.zero_shot.mfmr.common_scheme:MFMR",
    "mfmr-joint": "zslplat.methods.zero_shot.mfmr.joint_scheme:MFMRJoint",
    "ridge-prototypes": "zslplat.methods.zero_shot.ridge_prototypes:RidgePrototypes",
    "sae": "zslplat.methods.zero_shot.sae:SAE",
    "sje": "zslplat.methods.zero_shot.ranking.sje:SJE",
    "sse-int": "zslplat.methods.zero_shot.sse.estimator:SSEIntersection",
    "sse-relu": "zslplat.methods.zero_shot.sse.estimator:SSERectified",
    "sync-cs": "zslplat.methods.zero_shot.sync.crammer_singer:SynCCrammerSinger",
    "sync-ovo": "zslplat.methods.zero_shot.sync.one_versus_other:SynCOneVersusOther",
    "sync-struct": "zslplat.methods.zero_shot.sync.crammer_singer:SynCStructured",
    "tmv-hlp": "zslplat.methods.zero_shot.tmv_hlp.estimator:TMVHLP",
    "zskl": "zslplat.methods.zero_shot.zskl.zskl:ZSKL",
    "zskl-ort": "zslplat.methods.zero_shot.zskl.ort:ZSKLOrt",
    "zskl-published": "zslplat.methods.zero_shot.zskl.published:ZSKLPublished",
    "zskl-subspaces": "zslplat.methods.zero_shot.zskl.subspaces:ZSKLSubspaces",
}
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
        "ZSP203": "NotBetterThanControl",
        "ZSP204": "NotBetterThanPreprocessing",
        "ZSP205": "UndefinedMetrics",
        "ZSP206": "FewTestClasses",
        "ZSP207": "FewRowsPerClass",
        "ZSP208": "FewerValidationClasses",
        "ZSP209": "FewDrawnFolds",
        "ZSP210": "FewerFeaturesThanTaken",
        "ZSP211": "SearchSawTestRows",
        "ZSP212": "EmptyCodes",
        "ZSP213": "NotConverged",
        "ZSP214": "MetricsLeftOut",
        "ZSP215": "TestLabelsExported",
        "ZSP216": "NeighboursMissed",
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
        "ZSP401": "UnequalBudgetsInSuite",
        "ZSP402": "MissingCells",
        "ZSP403": "FewDataSets",
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
    },
    "base": {
        "ZSP901": "FailedCheck",
    },
}
_CODING = {
    "bi-skllc": "zslplat.methods.coding.supervised:BilinearSupervisedLLC",
    "bi-sksc": "zslplat.methods.coding.supervised:BilinearSupervisedSparseCoding",
    "kbow": "zslplat.methods.coding.kbow:KernelBagOfWords",
    "kllc": "zslplat.methods.coding.kllc:KernelLLC",
    "ksc": "zslplat.methods.coding.ksc:KernelSparseCoding",
    "l-skllc": "zslplat.methods.coding.supervised:LinearSupervisedLLC",
    "l-sksc": "zslplat.methods.coding.supervised:LinearSupervisedSparseCoding",
    "lc-ksvd": "zslplat.methods.coding.lc_ksvd:LCKSVD",
    "llc": "zslplat.methods.coding.kllc:LLC",
    "sc": "zslplat.methods.coding.ksc:SparseCoding",
    "src": "zslplat.methods.coding.src:SRC",
}
_EXEMPLARS = {
    "cosine": "zslplat.methods.exemplars.cosine:Cosine",
    "exemplar-svm": "zslplat.methods.exemplars.exemplar_svm:ExemplarSVM",
    "kslem": "zslplat.methods.exemplars.kslem:KernelSLEM",
    "slem": "zslplat.methods.exemplars.slem:SLEM",
    "whitening": "zslplat.methods.exemplars.whitening:Whitening",
}
_SELECTION = {
    "fsasl": "zslplat.methods.selection.fsasl:FSASL",
    "l20alm": "zslplat.methods.selection.l20alm:L20ALM",
    "lasso-attributes": "zslplat.methods.selection.lasso:LassoAttributes",
    "lasso-labels": "zslplat.methods.selection.lasso:LassoLabels",
    "mcfs": "zslplat.methods.selection.mcfs:MCFS",
    "mutual-information": "zslplat.methods.selection.mutual_information:MutualInformation",
    "random-features": "zslplat.methods.selection.random_features:RandomFeatures",
    "semfs": "zslplat.methods.selection.semfs:SemFS",
    "semfs-c": "zslplat.methods.selection.semfs:SemFSWithoutCentres",
    "variance": "zslplat.methods.selection.variance:Variance",
    "wknn": "zslplat.methods.selection.wknn:WkNN",
}


@hookimpl
def zslplat_methods() -> dict[str, str]:
    """The built-in methods."""
    return {**_ZERO_SHOT, **_CODING, **_EXEMPLARS, **_SELECTION}


@hookimpl
def zslplat_kernels() -> dict[str, str]:
    """The built-in kernels."""
    return {
        "cauchy": "zslplat.kernels.cauchy:Cauchy",
        "chi-squared": "zslplat.kernels.chi_squared:ChiSquared",
        "gaussian": "zslplat.kernels.gaussian:Gaussian",
        "histogram-intersection": "zslplat.kernels.histogram_intersection:HistogramIntersection",
        "l1-laplacian": "zslplat.kernels.l1_laplacian:L1Laplacian",
        "l2-laplacian": "zslplat.kernels.l2_laplacian:L2Laplacian",
        "linear": "zslplat.kernels.linear:Linear",
        "log-euclidean": "zslplat.kernels.log_euclidean:LogEuclidean",
        "polynomial": "zslplat.kernels.polynomial:Polynomial",
        "sigmoid": "zslplat.kernels.sigmoid:Sigmoid",
        "spatial-pyramid": "zslplat.kernels.spatial_pyramid:SpatialPyramid",
    }


@hookimpl
def zslplat_datasets() -> dict[str, str]:
    """The built-in data sets and loaders."""
    return {
        "digit-pairs": "zslplat.data.sets.digit_pairs:DigitPairs",
        "digit-sets": "zslplat.data.sets.digits:DigitSets",
        "redrawn": "zslplat.data.class_draws:Redrawn",
        "region-covariance": "zslplat.data.sets.region_covariance:RegionCovariance",
        "synthetic": "zslplat.data.sets.synthetic:Synthetic",
        "voc07": "zslplat.data.sets.voc07:Voc07",
        "xlsa17": "zslplat.data.formats.xlsa17:Xlsa17",
        "npz": "zslplat.data.formats.npz:NpzSource",
        "arrays": "zslplat.data.formats.in_memory:ArraysSource",
        "digit-retrieval": "zslplat.data.sets.digits:DigitRetrieval",
        "digits": "zslplat.data.sets.digits:Digits",
        "holidays": "zslplat.data.sets.holidays:Holidays",
        "oxford": "zslplat.data.sets.oxford:Oxford",
        "csv": "zslplat.data.formats.csv_tables:CsvSource",
        "npy": "zslplat.data.formats.npy_folder:NpySource",
        "parquet": "zslplat.data.formats.parquet:ParquetSource",
        "arrow": "zslplat.data.formats.parquet:ArrowSource",
        "torch": "zslplat.data.formats.torch_files:TorchSource",
        "hdf5": "zslplat.data.formats.hdf5:Hdf5Source",
    }


@hookimpl
def zslplat_checks() -> dict[str, str]:
    """The built-in checks, file by file."""
    return {
        code: f"zslplat.checks.{module}:{name}" for module, found in _CHECKS.items() for code, name in found.items()
    }


@hookimpl
def zslplat_tasks() -> dict[str, str]:
    """The built-in tasks."""
    return {
        "coding": "zslplat.tasks.coding:Coding",
        "exemplar-retrieval": "zslplat.tasks.exemplar_retrieval:ExemplarRetrieval",
        "feature-selection": "zslplat.tasks.feature_selection:FeatureSelection",
        "zsl": "zslplat.tasks.zsl:ZeroShot",
        "gzsl": "zslplat.tasks.gzsl:GeneralizedZeroShot",
        "retrieval": "zslplat.tasks.retrieval:Retrieval",
    }


@hookimpl
def zslplat_suites() -> dict[str, Path]:
    """The built-in suites."""
    return {
        name: _SUITES / f"{name}.toml"
        for name in ("mfmr", "quick", "zero-shot", "zero-shot-3h", "zero-shot-full", "zskl")
    }


@hookimpl
def zslplat_listeners() -> dict[str, str]:
    """The built-in listener."""
    return {"mlflow": "zslplat.tracking.listener:MLflowListener"}
