"""Checks of studies of exemplar methods."""

from __future__ import annotations

from zslplat.checks.outcome import NotBetter


class NotBetterThanPreprocessing(NotBetter):
    """Speaks where exemplar retrieval is not better than the cosine of the rows as its own preprocessing gives them.

    The control is the recorded study of ``cosine`` on the same data and task with the same preprocessing: it learns
    nothing, so what is not above it was given by the preprocessing. Thresholds as in ZSP203.
    """

    code, title, scope = "ZSP204", "not better than what its own preprocessing gives", "study"
    kind, same_preprocessing, control = "exemplar", True, "what its own preprocessing gives"
