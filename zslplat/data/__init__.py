"""Data: the frozen :class:`~zslplat.data.dataset.Dataset`, its loaders, preprocessing and the built-in sets."""
