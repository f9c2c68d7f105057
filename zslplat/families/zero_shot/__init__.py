"""Zero-shot learning: methods that are fitted on seen classes and score unseen ones by their signatures."""

from __future__ import annotations

from zslplat.hookspecs import Kind, hookimpl


@hookimpl
def zslplat_kinds() -> dict[str, Kind]:
    """The kind."""
    return {
        "zero-shot": Kind(
            words="zero-shot method",
            protocol="zslplat.methods.protocols:ZeroShotProtocol",
            pipeline="zslplat.pipelines.zero_shot:ZeroShotPipeline",
            model="zslplat.models.predictors:ZeroShotModel",
            kit="zslplat.testing.zero_shot:ZeroShotKit",
            template="zslplat.scaffold:templates/zero-shot",
            control="ridge-prototypes",
        )
    }


@hookimpl
def zslplat_methods() -> dict[str, str]:
    """Its methods."""
    return {
        "ale": "zslplat.methods.zero_shot.ranking.methods:ALE",
        "cmt": "zslplat.methods.zero_shot.cmt.transfer:CMT",
        "cmt-gaussian": "zslplat.methods.zero_shot.cmt.novelty:CMTGaussian",
        "cmt-loop": "zslplat.methods.zero_shot.cmt.novelty:CMTLoop",
        "conse": "zslplat.methods.zero_shot.probabilistic.conse:ConSE",
        "dap": "zslplat.methods.zero_shot.probabilistic.attribute_prediction:DAP",
        "devise": "zslplat.methods.zero_shot.ranking.methods:DeViSE",
        "eszsl": "zslplat.methods.zero_shot.eszsl:ESZSL",
        "eszsl-smoothed": "zslplat.methods.zero_shot.eszsl:SmoothedESZSL",
        "exem-1nn": "zslplat.methods.zero_shot.exem:Exem1NN",
        "exem-1nns": "zslplat.methods.zero_shot.exem:Exem1NNs",
        "gfhf": "zslplat.methods.zero_shot.gfhf:GFHF",
        "gfzsl": "zslplat.methods.zero_shot.gfzsl:GFZSL",
        "gfzsl-em": "zslplat.methods.zero_shot.gfzsl:TransductiveGFZSL",
        "iap": "zslplat.methods.zero_shot.probabilistic.attribute_prediction:IAP",
        "jlse": "zslplat.methods.zero_shot.jlse:JLSE",
        "keszsl": "zslplat.methods.zero_shot.keszsl:KernelESZSL",
        "latem": "zslplat.methods.zero_shot.ranking.methods:LatEm",
        "mfmr": "zslplat.methods.zero_shot.mfmr.common_scheme:MFMR",
        "mfmr-joint": "zslplat.methods.zero_shot.mfmr.joint_scheme:MFMRJoint",
        "ridge-prototypes": "zslplat.methods.zero_shot.ridge_prototypes:RidgePrototypes",
        "sae": "zslplat.methods.zero_shot.sae:SAE",
        "sje": "zslplat.methods.zero_shot.ranking.methods:SJE",
        "sse-int": "zslplat.methods.zero_shot.sse.estimator:SSEIntersection",
        "sse-relu": "zslplat.methods.zero_shot.sse.estimator:SSERectified",
        "sync-cs": "zslplat.methods.zero_shot.sync.methods:SynCCrammerSinger",
        "sync-ovo": "zslplat.methods.zero_shot.sync.methods:SynCOneVersusOther",
        "sync-struct": "zslplat.methods.zero_shot.sync.methods:SynCStructured",
        "tmv-hlp": "zslplat.methods.zero_shot.tmv_hlp.estimator:TMVHLP",
        "zskl": "zslplat.methods.zero_shot.zskl.zskl:ZSKL",
        "zskl-ort": "zslplat.methods.zero_shot.zskl.zskl:ZSKLOrt",
        "zskl-published": "zslplat.methods.zero_shot.zskl.zskl:ZSKLPublished",
        "zskl-subspaces": "zslplat.methods.zero_shot.zskl.subspaces:ZSKLSubspaces",
    }


@hookimpl
def zslplat_tasks() -> dict[str, str]:
    """Its tasks."""
    return {
        "gzsl": "zslplat.tasks.gzsl:GeneralizedZeroShot",
        "retrieval": "zslplat.tasks.retrieval:Retrieval",
        "zsl": "zslplat.tasks.zsl:ZeroShot",
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
