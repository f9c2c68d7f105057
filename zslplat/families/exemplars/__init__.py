"""Exemplars: methods that compare rows with each other, fitted on negatives alone."""

from __future__ import annotations

from zslplat.hookspecs import Kind, hookimpl

# The methods by name, with their classes inside the package ``methods``.
_METHODS = {
    "cosine": "baselines:Cosine",
    "exemplar-svm": "baselines:ExemplarSVM",
    "kslem": "kslem:KernelSLEM",
    "slem": "slem:SLEM",
    "whitening": "baselines:Whitening",
}


@hookimpl
def zslplat_kinds() -> dict[str, Kind]:
    """The kind of the methods of learning from exemplars."""
    return {
        "exemplar": Kind(
            noun="exemplar method",
            protocol="zslplat.families.exemplars.methods.base:ExemplarProtocol",
            pipeline="zslplat.families.exemplars.model:ExemplarPipeline",
            model="zslplat.families.exemplars.model:ExemplarModel",
            kit="zslplat.families.exemplars.kit:ExemplarKit",
            template="zslplat.families.exemplars:template",
            usage="--task exemplar-retrieval --dataset digits",
            control="cosine",
        )
    }


@hookimpl
def zslplat_methods() -> dict[str, str]:
    """The methods of learning from exemplars."""
    return {name: f"zslplat.families.exemplars.methods.{target}" for name, target in _METHODS.items()}


@hookimpl
def zslplat_tasks() -> dict[str, str]:
    """The tasks of learning from exemplars."""
    return {"exemplar-retrieval": "zslplat.families.exemplars.task:ExemplarRetrieval"}


@hookimpl
def zslplat_datasets() -> dict[str, str]:
    """The data sets of learning from exemplars."""
    return {"digit-retrieval": "zslplat.data.sets.digits:DigitRetrieval"}


@hookimpl
def zslplat_checks() -> dict[str, str]:
    """The checks of learning from exemplars."""
    return {"ZSP204": "zslplat.families.exemplars.checks:NotBetterThanPreprocessing"}
