"""Coding: methods that turn rows into codes, and codes into scores of classes or labels."""

from __future__ import annotations

from zslplat.hookspecs import Kind, hookimpl

# The methods by name, with their classes inside the package ``methods``.
_METHODS = {
    "bi-skllc": "kernel_coding:BilinearSupervisedLLC",
    "bi-sksc": "kernel_coding:BilinearSupervisedSparseCoding",
    "kbow": "kernel_coding:KernelBagOfWords",
    "kllc": "kernel_coding:KernelLLC",
    "ksc": "kernel_coding:KernelSparseCoding",
    "l-skllc": "kernel_coding:LinearSupervisedLLC",
    "l-sksc": "kernel_coding:LinearSupervisedSparseCoding",
    "lc-ksvd": "lc_ksvd:LCKSVD",
    "llc": "kernel_coding:LLC",
    "sc": "kernel_coding:SparseCoding",
    "src": "kernel_coding:SRC",
}


@hookimpl
def zslplat_kinds() -> dict[str, Kind]:
    """The kind of the methods of coding."""
    return {
        "coding": Kind(
            noun="coding method",
            protocol="zslplat.families.coding.methods.base:CodingProtocol",
            pipeline="zslplat.families.coding.model:CodingPipeline",
            model="zslplat.families.coding.model:CodingModel",
            kit="zslplat.families.coding.kit:CodingKit",
            template="zslplat.families.coding:template",
            usage="--task coding --dataset digits",
        )
    }


@hookimpl
def zslplat_methods() -> dict[str, str]:
    """The methods of coding."""
    return {name: f"zslplat.families.coding.methods.{target}" for name, target in _METHODS.items()}


@hookimpl
def zslplat_tasks() -> dict[str, str]:
    """The tasks of coding."""
    return {"coding": "zslplat.families.coding.task:Coding"}


@hookimpl
def zslplat_datasets() -> dict[str, str]:
    """The data sets of coding."""
    return {"digit-sets": "zslplat.data.sets.digits:DigitSets"}
