"""What methods of all kinds share; ``zslplat.methods()`` lists the installed methods with kind and summary."""

import sys

from zslplat.listing import ListingPackage

sys.modules[__name__].__class__ = ListingPackage  # ``zslplat.methods()`` lists them
