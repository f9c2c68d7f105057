"""The built-in components, registered through the same entry point group as everybody else's."""

from __future__ import annotations

from zslplat.hookspecs import hookimpl

_ZERO_SHOT = {
    "eszsl": "zslplat.methods.eszsl:ESZSL",
    "eszsl-smoothed": "zslplat.methods.eszsl_smoothed:SmoothedESZSL",
    "gfhf": "zslplat.methods.gfhf:GFHF",
    "keszsl": "zslplat.methods.keszsl:KernelESZSL",
    "mfmr": "zslplat.methods.mfmr:MFMR",
    "mfmr-joint": "zslplat.methods.mfmr_joint:MFMRJoint",
    "ridge-prototypes": "zslplat.methods.ridge_prototypes:RidgePrototypes",
    "sae": "zslplat.methods.sae:SAE",
    "zskl": "zslplat.methods.zskl:ZSKL",
    "zskl-ort": "zslplat.methods.zskl_ort:ZSKLOrt",
    "zskl-published": "zslplat.methods.zskl_published:ZSKLPublished",
    "zskl-subspaces": "zslplat.methods.zskl_subspaces:ZSKLSubspaces",
}
_CODING = {
    "bi-skllc": "zslplat.coding.supervised:BilinearSupervisedLLC",
    "bi-sksc": "zslplat.coding.supervised:BilinearSupervisedSparseCoding",
    "kbow": "zslplat.coding.kbow:KernelBagOfWords",
    "kllc": "zslplat.coding.kllc:KernelLLC",
    "ksc": "zslplat.coding.ksc:KernelSparseCoding",
    "l-skllc": "zslplat.coding.supervised:LinearSupervisedLLC",
    "l-sksc": "zslplat.coding.supervised:LinearSupervisedSparseCoding",
    "lc-ksvd": "zslplat.coding.lc_ksvd:LCKSVD",
    "llc": "zslplat.coding.kllc:LLC",
    "sc": "zslplat.coding.ksc:SparseCoding",
    "src": "zslplat.coding.src:SRC",
}
_EXEMPLARS = {
    "cosine": "zslplat.exemplars.cosine:Cosine",
    "exemplar-svm": "zslplat.exemplars.exemplar_svm:ExemplarSVM",
    "kslem": "zslplat.exemplars.kslem:KernelSLEM",
    "slem": "zslplat.exemplars.slem:SLEM",
    "whitening": "zslplat.exemplars.whitening:Whitening",
}
_SELECTION = {
    "fsasl": "zslplat.selection.fsasl:FSASL",
    "l20alm": "zslplat.selection.l20alm:L20ALM",
    "lasso-attributes": "zslplat.selection.lasso:LassoAttributes",
    "lasso-labels": "zslplat.selection.lasso:LassoLabels",
    "mcfs": "zslplat.selection.mcfs:MCFS",
    "mutual-information": "zslplat.selection.mutual_information:MutualInformation",
    "random-features": "zslplat.selection.random_features:RandomFeatures",
    "semfs": "zslplat.selection.semfs:SemFS",
    "semfs-c": "zslplat.selection.semfs:SemFSWithoutCentres",
    "variance": "zslplat.selection.variance:Variance",
    "wknn": "zslplat.selection.wknn:WkNN",
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
    }


@hookimpl
def zslplat_datasets() -> dict[str, str]:
    """The built-in data sets and loaders."""
    return {
        "digit-pairs": "zslplat.data.digit_pairs:DigitPairs",
        "region-covariance": "zslplat.data.region_covariance:RegionCovariance",
        "synthetic": "zslplat.data.synthetic:Synthetic",
        "xlsa17": "zslplat.data.xlsa17:Xlsa17",
        "npz": "zslplat.data.arrays:NpzSource",
        "digits": "zslplat.data.digits:Digits",
        "csv": "zslplat.data.arrays:CsvSource",
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
