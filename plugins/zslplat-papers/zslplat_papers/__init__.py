"""The papers' tables and claims as data, and their reproduction: what this package registers."""

from pathlib import Path

from zslplat.hookspecs import hookimpl

ZSLPLAT_API = "1.0"


@hookimpl
def zslplat_cards() -> dict[str, Path]:
    """Return the cards of the public zero-shot data sets."""
    return {path.stem: path for path in sorted((Path(__file__).parent / "fetching" / "public").glob("*.toml"))}


@hookimpl
def zslplat_datasets() -> dict[str, str]:
    """Return the data sets of the papers that need files of their authors."""
    return {
        "holidays": "zslplat_papers.data_sets.holidays:Holidays",
        "oxford": "zslplat_papers.data_sets.oxford:Oxford",
        "region-covariance": "zslplat_papers.data_sets.region_covariance:RegionCovariance",
        "voc07": "zslplat_papers.data_sets.voc07:Voc07",
    }


@hookimpl
def zslplat_kernels() -> dict[str, str]:
    """Return the kernel of images that are cut into cells."""
    return {"spatial-pyramid": "zslplat_papers.spatial_pyramid:SpatialPyramid"}


@hookimpl
def zslplat_tasks() -> dict[str, str]:
    """Return the tasks that average a test over several splits, as the papers do."""
    return {
        "coding-splits": "zslplat_papers.repeated_tasks:RepeatedCoding",
        "feature-selection-draws": "zslplat_papers.repeated_tasks:RepeatedFeatureSelection",
    }
