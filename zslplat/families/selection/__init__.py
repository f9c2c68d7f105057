"""Feature selection: methods that rank features by seen classes, for classes that come later."""

from __future__ import annotations

from zslplat.hookspecs import Kind, hookimpl

# The methods by name, with their classes inside the package ``methods``.
_METHODS = {
    "fsasl": "fsasl:FSASL",
    "l20alm": "l20alm:L20ALM",
    "lasso-attributes": "lasso:LassoAttributes",
    "lasso-labels": "lasso:LassoLabels",
    "mcfs": "mcfs:MCFS",
    "mutual-information": "baselines:MutualInformation",
    "random-features": "baselines:RandomFeatures",
    "semfs": "semfs:SemFS",
    "semfs-c": "semfs:SemFSWithoutCentres",
    "variance": "baselines:Variance",
    "wknn": "wknn:WkNN",
}


@hookimpl
def zslplat_kinds() -> dict[str, Kind]:
    """The kind of the methods of feature selection."""
    return {
        "feature-selection": Kind(
            noun="feature selector",
            protocol="zslplat.families.selection.methods.base:SelectionProtocol",
            pipeline="zslplat.families.selection.model:SelectionPipeline",
            model="zslplat.families.selection.model:SelectionModel",
            kit="zslplat.families.selection.kit:SelectionKit",
            template="zslplat.families.selection:template",
            usage="--task feature-selection",
        )
    }


@hookimpl
def zslplat_methods() -> dict[str, str]:
    """The methods of feature selection."""
    return {name: f"zslplat.families.selection.methods.{target}" for name, target in _METHODS.items()}


@hookimpl
def zslplat_tasks() -> dict[str, str]:
    """The tasks of feature selection."""
    return {"feature-selection": "zslplat.families.selection.task:FeatureSelection"}
