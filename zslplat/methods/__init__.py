"""Zero-shot methods and baselines, one algorithm per file."""

import sys

from zslplat.listing import ListingPackage

sys.modules[__name__].__class__ = ListingPackage  # ``zslplat.methods()`` lists them
