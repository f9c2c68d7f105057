"""Zero-shot learning: methods that are fitted on seen classes and score unseen ones by their signatures."""

from __future__ import annotations

from zslplat.hookspecs import Kind, hookimpl

# The methods by name, with their classes inside the package ``methods``.
_METHODS = {
    "ale": "ranking.methods:ALE",
    "class-means": "ridge_prototypes:ClassMeans",
    "cmt": "cmt.transfer:CMT",
    "cmt-gaussian": "cmt.novelty:CMTGaussian",
    "cmt-loop": "cmt.novelty:CMTLoop",
    "conse": "probabilistic.conse:ConSE",
    "cosine-adapter": "shared_space:CosineAdapter",
    "cosine-centred": "shared_space:CosineCentred",
    "cosine-em": "shared_space:CosineEM",
    "cosine-signatures": "shared_space:CosineSignatures",
    "dap": "probabilistic.attribute_prediction:DAP",
    "devise": "ranking.methods:DeViSE",
    "eszsl": "eszsl:ESZSL",
    "eszsl-smoothed": "eszsl:SmoothedESZSL",
    "exem-1nn": "exem:Exem1NN",
    "exem-1nns": "exem:Exem1NNs",
    "gfhf": "gfhf:GFHF",
    "gfzsl": "gfzsl:GFZSL",
    "gfzsl-em": "gfzsl:TransductiveGFZSL",
    "iap": "probabilistic.attribute_prediction:IAP",
    "jlse": "jlse:JLSE",
    "keszsl": "keszsl:KernelESZSL",
    "latem": "ranking.methods:LatEm",
    "mfmr": "mfmr.common_scheme:MFMR",
    "mfmr-joint": "mfmr.joint_scheme:MFMRJoint",
    "ridge-prototypes": "ridge_prototypes:RidgePrototypes",
    "sae": "sae:SAE",
    "sje": "ranking.methods:SJE",
    "sse-int": "sse.estimator:SSEIntersection",
    "sse-relu": "sse.estimator:SSERectified",
    "sync-cs": "sync.methods:SynCCrammerSinger",
    "sync-ovo": "sync.methods:SynCOneVersusOther",
    "sync-struct": "sync.methods:SynCStructured",
    "tmv-hlp": "tmv_hlp.estimator:TMVHLP",
    "zskl": "zskl.zskl:ZSKL",
    "zskl-ort": "zskl.zskl:ZSKLOrt",
    "zskl-subspaces": "zskl.subspaces:ZSKLSubspaces",
}


@hookimpl
def zslplat_kinds() -> dict[str, Kind]:
    """The kind of the methods of zero-shot learning."""
    return {
        "zero-shot": Kind(
            noun="zero-shot method",
            protocol="zslplat.families.zero_shot.methods.base:ZeroShotProtocol",
            pipeline="zslplat.families.zero_shot.pipeline:ZeroShotPipeline",
            model="zslplat.families.zero_shot.model:ZeroShotModel",
            kit="zslplat.families.zero_shot.kit:ZeroShotKit",
            template="zslplat.families.zero_shot:template",
            control="ridge-prototypes",
        )
    }


@hookimpl
def zslplat_methods() -> dict[str, str]:
    """The methods of zero-shot learning."""
    return {name: f"zslplat.families.zero_shot.methods.{target}" for name, target in _METHODS.items()}


@hookimpl
def zslplat_tasks() -> dict[str, str]:
    """The tasks of zero-shot learning."""
    return {
        "gzsl": "zslplat.families.zero_shot.gzsl:GeneralizedZeroShot",
        "retrieval": "zslplat.families.zero_shot.unseen:Retrieval",
        "zsl": "zslplat.families.zero_shot.unseen:ZeroShot",
    }


@hookimpl
def zslplat_datasets() -> dict[str, str]:
    """The data sets of zero-shot learning."""
    return {
        "digit-pairs": "zslplat.data.sets.digit_pairs:DigitPairs",
        "redrawn": "zslplat.data.class_draws:Redrawn",
        "shared-space": "zslplat.data.sets.shared_space:SharedSpace",
        "synthetic": "zslplat.data.sets.synthetic:Synthetic",
        "xlsa17": "zslplat.data.formats.xlsa17:Xlsa17",
    }


@hookimpl
def zslplat_checks() -> dict[str, str]:
    """The checks of zero-shot learning."""
    return {
        "ZSP203": "zslplat.families.zero_shot.checks:NotBetterThanControl",
        "ZSP206": "zslplat.families.zero_shot.checks:FewTestClasses",
        "ZSP207": "zslplat.families.zero_shot.checks:FewRowsPerClass",
    }
