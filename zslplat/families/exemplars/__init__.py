"""Exemplars: methods that compare rows with each other, fitted on negatives alone."""

from __future__ import annotations

from zslplat.hookspecs import Kind, hookimpl


@hookimpl
def zslplat_kinds() -> dict[str, Kind]:
    """The kind."""
    return {
        "exemplar": Kind(
            words="exemplar method",
            protocol="zslplat.methods.protocols:ExemplarProtocol",
            pipeline="zslplat.pipelines.exemplars:ExemplarPipeline",
            model="zslplat.models.predictors:ExemplarModel",
            kit="zslplat.testing.exemplars:ExemplarKit",
            template="zslplat.scaffold:templates/exemplar",
            usage="--task exemplar-retrieval --dataset digits",
            control="cosine",
        )
    }


@hookimpl
def zslplat_methods() -> dict[str, str]:
    """Its methods."""
    return {
        "cosine": "zslplat.methods.exemplars.whitening:Cosine",
        "exemplar-svm": "zslplat.methods.exemplars.exemplar_svm:ExemplarSVM",
        "kslem": "zslplat.methods.exemplars.kslem:KernelSLEM",
        "slem": "zslplat.methods.exemplars.slem:SLEM",
        "whitening": "zslplat.methods.exemplars.whitening:Whitening",
    }


@hookimpl
def zslplat_tasks() -> dict[str, str]:
    """Its tasks."""
    return {
        "exemplar-retrieval": "zslplat.tasks.exemplar_retrieval:ExemplarRetrieval",
    }


@hookimpl
def zslplat_datasets() -> dict[str, str]:
    """Its data sets."""
    return {
        "digit-retrieval": "zslplat.data.sets.digits:DigitRetrieval",
    }
