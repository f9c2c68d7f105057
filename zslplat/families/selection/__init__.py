"""Feature selection: methods that rank features by seen classes, for classes that come later."""

from __future__ import annotations

from zslplat.hookspecs import Kind, hookimpl


@hookimpl
def zslplat_kinds() -> dict[str, Kind]:
    """The kind."""
    return {
        "feature-selection": Kind(
            words="feature selector",
            protocol="zslplat.families.selection.protocol:SelectionProtocol",
            pipeline="zslplat.families.selection.pipeline:SelectionPipeline",
            model="zslplat.families.selection.model:SelectionModel",
            kit="zslplat.families.selection.kit:SelectionKit",
            template="zslplat.families.selection:template",
            usage="--task feature-selection",
        )
    }


@hookimpl
def zslplat_methods() -> dict[str, str]:
    """Its methods."""
    return {
        "fsasl": "zslplat.families.selection.methods.fsasl:FSASL",
        "l20alm": "zslplat.families.selection.methods.l20alm:L20ALM",
        "lasso-attributes": "zslplat.families.selection.methods.lasso:LassoAttributes",
        "lasso-labels": "zslplat.families.selection.methods.lasso:LassoLabels",
        "mcfs": "zslplat.families.selection.methods.mcfs:MCFS",
        "mutual-information": "zslplat.families.selection.methods.baselines:MutualInformation",
        "random-features": "zslplat.families.selection.methods.baselines:RandomFeatures",
        "semfs": "zslplat.families.selection.methods.semfs:SemFS",
        "semfs-c": "zslplat.families.selection.methods.semfs:SemFSWithoutCentres",
        "variance": "zslplat.families.selection.methods.baselines:Variance",
        "wknn": "zslplat.families.selection.methods.wknn:WkNN",
    }


@hookimpl
def zslplat_tasks() -> dict[str, str]:
    """Its tasks."""
    return {
        "feature-selection": "zslplat.families.selection.task:FeatureSelection",
    }
