"""Exemplars: methods that compare rows with each other, fitted on negatives alone."""

from __future__ import annotations

from zslplat.hookspecs import Kind, hookimpl


@hookimpl
def zslplat_kinds() -> dict[str, Kind]:
    """The kind."""
    return {
        "exemplar": Kind(
            words="exemplar method",
            protocol="zslplat.families.exemplars.protocol:ExemplarProtocol",
            pipeline="zslplat.families.exemplars.pipeline:ExemplarPipeline",
            model="zslplat.families.exemplars.model:ExemplarModel",
            kit="zslplat.families.exemplars.kit:ExemplarKit",
            template="zslplat.families.exemplars:template",
            usage="--task exemplar-retrieval --dataset digits",
            control="cosine",
        )
    }


@hookimpl
def zslplat_methods() -> dict[str, str]:
    """Its methods."""
    return {
        "cosine": "zslplat.families.exemplars.methods.whitening:Cosine",
        "exemplar-svm": "zslplat.families.exemplars.methods.exemplar_svm:ExemplarSVM",
        "kslem": "zslplat.families.exemplars.methods.kslem:KernelSLEM",
        "slem": "zslplat.families.exemplars.methods.slem:SLEM",
        "whitening": "zslplat.families.exemplars.methods.whitening:Whitening",
    }


@hookimpl
def zslplat_tasks() -> dict[str, str]:
    """Its tasks."""
    return {
        "exemplar-retrieval": "zslplat.families.exemplars.task:ExemplarRetrieval",
    }


@hookimpl
def zslplat_datasets() -> dict[str, str]:
    """Its data sets."""
    return {
        "digit-retrieval": "zslplat.data.sets.digits:DigitRetrieval",
    }


@hookimpl
def zslplat_checks() -> dict[str, str]:
    """Its checks."""
    return {
        "ZSP204": "zslplat.families.exemplars.checks:NotBetterThanPreprocessing",
    }
