"""How few classes are too few to tell a difference over new classes: one rule for verdicts, ties, claims."""

from __future__ import annotations

# The exact sign-flip test of five classes has no p-value below 2 / 2^5 = .0625, that of six has 2 / 2^6 = .031.
LEAST_CLASSES = 6
TOO_FEW, TOO_FEW_DRAWS = "too few classes to tell", "too few draws to tell"


def too_few(classes: int | None) -> bool:
    """Tell whether a test of so many classes can show nothing at level .05; None, for what is not known, is not."""
    return classes is not None and classes < LEAST_CLASSES
