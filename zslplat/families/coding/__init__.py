"""Coding: methods that turn rows into codes, and codes into scores of classes or labels."""

from __future__ import annotations

from zslplat.hookspecs import Kind, hookimpl


@hookimpl
def zslplat_kinds() -> dict[str, Kind]:
    """The kind."""
    return {
        "coding": Kind(
            words="coding method",
            protocol="zslplat.families.coding.protocol:CodingProtocol",
            pipeline="zslplat.families.coding.pipeline:CodingPipeline",
            model="zslplat.families.coding.model:CodingModel",
            kit="zslplat.families.coding.kit:CodingKit",
            template="zslplat.families.coding:template",
            usage="--task coding --dataset digits",
        )
    }


@hookimpl
def zslplat_methods() -> dict[str, str]:
    """Its methods."""
    return {
        "bi-skllc": "zslplat.families.coding.methods.kernel_coding:BilinearSupervisedLLC",
        "bi-sksc": "zslplat.families.coding.methods.kernel_coding:BilinearSupervisedSparseCoding",
        "kbow": "zslplat.families.coding.methods.kernel_coding:KernelBagOfWords",
        "kllc": "zslplat.families.coding.methods.kernel_coding:KernelLLC",
        "ksc": "zslplat.families.coding.methods.kernel_coding:KernelSparseCoding",
        "l-skllc": "zslplat.families.coding.methods.kernel_coding:LinearSupervisedLLC",
        "l-sksc": "zslplat.families.coding.methods.kernel_coding:LinearSupervisedSparseCoding",
        "lc-ksvd": "zslplat.families.coding.methods.lc_ksvd:LCKSVD",
        "llc": "zslplat.families.coding.methods.kernel_coding:LLC",
        "sc": "zslplat.families.coding.methods.kernel_coding:SparseCoding",
        "src": "zslplat.families.coding.methods.kernel_coding:SRC",
    }


@hookimpl
def zslplat_tasks() -> dict[str, str]:
    """Its tasks."""
    return {
        "coding": "zslplat.families.coding.task:Coding",
    }


@hookimpl
def zslplat_datasets() -> dict[str, str]:
    """Its data sets."""
    return {
        "digit-sets": "zslplat.data.sets.digits:DigitSets",
        "region-covariance": "zslplat.data.sets.region_covariance:RegionCovariance",
    }
