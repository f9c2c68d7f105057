"""Coding: methods that turn rows into codes, and codes into scores of classes or labels."""

from __future__ import annotations

from zslplat.hookspecs import Kind, hookimpl


@hookimpl
def zslplat_kinds() -> dict[str, Kind]:
    """The kind."""
    return {
        "coding": Kind(
            words="coding method",
            protocol="zslplat.methods.protocols:CodingProtocol",
            pipeline="zslplat.pipelines.coding:CodingPipeline",
            model="zslplat.models.predictors:CodingModel",
            kit="zslplat.testing.coding:CodingKit",
            template="zslplat.scaffold:templates/coding",
            usage="--task coding --dataset digits",
        )
    }


@hookimpl
def zslplat_methods() -> dict[str, str]:
    """Its methods."""
    return {
        "bi-skllc": "zslplat.methods.coding.kernel_coding:BilinearSupervisedLLC",
        "bi-sksc": "zslplat.methods.coding.kernel_coding:BilinearSupervisedSparseCoding",
        "kbow": "zslplat.methods.coding.kernel_coding:KernelBagOfWords",
        "kllc": "zslplat.methods.coding.kernel_coding:KernelLLC",
        "ksc": "zslplat.methods.coding.kernel_coding:KernelSparseCoding",
        "l-skllc": "zslplat.methods.coding.kernel_coding:LinearSupervisedLLC",
        "l-sksc": "zslplat.methods.coding.kernel_coding:LinearSupervisedSparseCoding",
        "lc-ksvd": "zslplat.methods.coding.lc_ksvd:LCKSVD",
        "llc": "zslplat.methods.coding.kernel_coding:LLC",
        "sc": "zslplat.methods.coding.kernel_coding:SparseCoding",
        "src": "zslplat.methods.coding.kernel_coding:SRC",
    }


@hookimpl
def zslplat_tasks() -> dict[str, str]:
    """Its tasks."""
    return {
        "coding": "zslplat.tasks.coding:Coding",
    }


@hookimpl
def zslplat_datasets() -> dict[str, str]:
    """Its data sets."""
    return {
        "digit-sets": "zslplat.data.sets.digits:DigitSets",
        "region-covariance": "zslplat.data.sets.region_covariance:RegionCovariance",
    }
