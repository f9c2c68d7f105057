"""zslplat: a plugin-based experiment platform with tracking for zero-shot learning and kernel methods.

Plugin authors import from :mod:`zslplat.api`; importing this package alone loads nothing heavy.
"""

__version__ = "0.1.0"
