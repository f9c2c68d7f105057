"""Arc-cosine kernels for zslplat: what this package registers."""

from zslplat.api import hookimpl

ZSLPLAT_API = "1"


@hookimpl
def zslplat_kernels() -> dict[str, str]:
    """Return the kernel under its name; it is imported when it is used."""
    return {"arc-cosine": "zslplat_arccos.arc_cosine:ArcCosine"}
