"""Zero-shot learning: methods that are fitted on seen classes and score unseen ones by their signatures."""

from __future__ import annotations

from zslplat.hookspecs import Kind, hookimpl


@hookimpl
def zslplat_kinds() -> dict[str, Kind]:
    """The kind."""
    return {
        "zero-shot": Kind(
            words="zero-shot method",
            protocol="zslplat.families.zero_shot.protocol:ZeroShotProtocol",
            pipeline="zslplat.families.zero_shot.pipeline:ZeroShotPipeline",
            model="zslplat.families.zero_shot.model:ZeroShotModel",
            kit="zslplat.families.zero_shot.kit:ZeroShotKit",
            template="zslplat.families.zero_shot:template",
            control="ridge-prototypes",
        )
    }


@hookimpl
def zslplat_methods() -> dict[str, str]:
    """Its methods."""
    return {
        "ale": "zslplat.families.zero_shot.methods.ranking.methods:ALE",
        "cmt": "zslplat.families.zero_shot.methods.cmt.transfer:CMT",
        "cmt-gaussian": "zslplat.families.zero_shot.methods.cmt.novelty:CMTGaussian",
        "cmt-loop": "zslplat.families.zero_shot.methods.cmt.novelty:CMTLoop",
        "conse": "zslplat.families.zero_shot.methods.probabilistic.conse:ConSE",
        "dap": "zslplat.families.zero_shot.methods.probabilistic.attribute_prediction:DAP",
        "devise": "zslplat.families.zero_shot.methods.ranking.methods:DeViSE",
        "eszsl": "zslplat.families.zero_shot.methods.eszsl:ESZSL",
        "eszsl-smoothed": "zslplat.families.zero_shot.methods.eszsl:SmoothedESZSL",
        "exem-1nn": "zslplat.families.zero_shot.methods.exem:Exem1NN",
        "exem-1nns": "zslplat.families.zero_shot.methods.exem:Exem1NNs",
        "gfhf": "zslplat.families.zero_shot.methods.gfhf:GFHF",
        "gfzsl": "zslplat.families.zero_shot.methods.gfzsl:GFZSL",
        "gfzsl-em": "zslplat.families.zero_shot.methods.gfzsl:TransductiveGFZSL",
        "iap": "zslplat.families.zero_shot.methods.probabilistic.attribute_prediction:IAP",
        "jlse": "zslplat.families.zero_shot.methods.jlse:JLSE",
        "keszsl": "zslplat.families.zero_shot.methods.keszsl:KernelESZSL",
        "latem": "zslplat.families.zero_shot.methods.ranking.methods:LatEm",
        "mfmr": "zslplat.families.zero_shot.methods.mfmr.common_scheme:MFMR",
        "mfmr-joint": "zslplat.families.zero_shot.methods.mfmr.joint_scheme:MFMRJoint",
        "ridge-prototypes": "zslplat.families.zero_shot.methods.ridge_prototypes:RidgePrototypes",
        "sae": "zslplat.families.zero_shot.methods.sae:SAE",
        "sje": "zslplat.families.zero_shot.methods.ranking.methods:SJE",
        "sse-int": "zslplat.families.zero_shot.methods.sse.estimator:SSEIntersection",
        "sse-relu": "zslplat.families.zero_shot.methods.sse.estimator:SSERectified",
        "sync-cs": "zslplat.families.zero_shot.methods.sync.methods:SynCCrammerSinger",
        "sync-ovo": "zslplat.families.zero_shot.methods.sync.methods:SynCOneVersusOther",
        "sync-struct": "zslplat.families.zero_shot.methods.sync.methods:SynCStructured",
        "tmv-hlp": "zslplat.families.zero_shot.methods.tmv_hlp.estimator:TMVHLP",
        "zskl": "zslplat.families.zero_shot.methods.zskl.zskl:ZSKL",
        "zskl-ort": "zslplat.families.zero_shot.methods.zskl.zskl:ZSKLOrt",
        "zskl-published": "zslplat.families.zero_shot.methods.zskl.zskl:ZSKLPublished",
        "zskl-subspaces": "zslplat.families.zero_shot.methods.zskl.subspaces:ZSKLSubspaces",
    }


@hookimpl
def zslplat_tasks() -> dict[str, str]:
    """Its tasks."""
    return {
        "gzsl": "zslplat.families.zero_shot.gzsl:GeneralizedZeroShot",
        "retrieval": "zslplat.families.zero_shot.retrieval:Retrieval",
        "zsl": "zslplat.families.zero_shot.zsl:ZeroShot",
    }


@hookimpl
def zslplat_datasets() -> dict[str, str]:
    """Its data sets."""
    return {
        "digit-pairs": "zslplat.data.sets.digit_pairs:DigitPairs",
        "redrawn": "zslplat.data.class_draws:Redrawn",
        "synthetic": "zslplat.data.sets.synthetic:Synthetic",
        "xlsa17": "zslplat.data.formats.xlsa17:Xlsa17",
    }


@hookimpl
def zslplat_checks() -> dict[str, str]:
    """Its checks."""
    return {
        "ZSP203": "zslplat.families.zero_shot.checks:NotBetterThanControl",
        "ZSP206": "zslplat.families.zero_shot.checks:FewTestClasses",
        "ZSP207": "zslplat.families.zero_shot.checks:FewRowsPerClass",
    }
