"""Feature selection: methods that rank features by seen classes, for classes that come later."""

from __future__ import annotations

from zslplat.hookspecs import Kind, hookimpl


@hookimpl
def zslplat_kinds() -> dict[str, Kind]:
    """The kind."""
    return {
        "feature-selection": Kind(
            words="feature selector",
            protocol="zslplat.methods.protocols:SelectionProtocol",
            pipeline="zslplat.pipelines.selection:SelectionPipeline",
            model="zslplat.models.predictors:SelectionModel",
            kit="zslplat.testing.selection:SelectionKit",
            template="zslplat.scaffold:templates/feature-selection",
            usage="--task feature-selection",
        )
    }


@hookimpl
def zslplat_methods() -> dict[str, str]:
    """Its methods."""
    return {
        "fsasl": "zslplat.methods.selection.fsasl:FSASL",
        "l20alm": "zslplat.methods.selection.l20alm:L20ALM",
        "lasso-attributes": "zslplat.methods.selection.lasso:LassoAttributes",
        "lasso-labels": "zslplat.methods.selection.lasso:LassoLabels",
        "mcfs": "zslplat.methods.selection.mcfs:MCFS",
        "mutual-information": "zslplat.methods.selection.baselines:MutualInformation",
        "random-features": "zslplat.methods.selection.baselines:RandomFeatures",
        "semfs": "zslplat.methods.selection.semfs:SemFS",
        "semfs-c": "zslplat.methods.selection.semfs:SemFSWithoutCentres",
        "variance": "zslplat.methods.selection.baselines:Variance",
        "wknn": "zslplat.methods.selection.wknn:WkNN",
    }


@hookimpl
def zslplat_tasks() -> dict[str, str]:
    """Its tasks."""
    return {
        "feature-selection": "zslplat.tasks.feature_selection:FeatureSelection",
    }
