"""The built-in components, registered through the same entry point group as everybody else's."""

from __future__ import annotations

from zslplat.hookspecs import hookimpl


@hookimpl
def zslplat_methods() -> dict[str, str]:
    """The built-in methods."""
    return {
        "eszsl": "zslplat.methods.eszsl:ESZSL",
        "sae": "zslplat.methods.sae:SAE",
        "mfmr": "zslplat.methods.mfmr:MFMR",
        "mfmr-joint": "zslplat.methods.mfmr_joint:MFMRJoint",
    }


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
        "synthetic": "zslplat.data.synthetic:Synthetic",
        "xlsa17": "zslplat.data.xlsa17:Xlsa17",
        "npz": "zslplat.data.arrays:NpzSource",
        "csv": "zslplat.data.arrays:CsvSource",
    }


@hookimpl
def zslplat_tasks() -> dict[str, str]:
    """The built-in tasks."""
    return {
        "zsl": "zslplat.tasks.zsl:ZeroShot",
        "gzsl": "zslplat.tasks.gzsl:GeneralizedZeroShot",
        "retrieval": "zslplat.tasks.retrieval:Retrieval",
    }
