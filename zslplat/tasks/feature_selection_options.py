"""The options of zero-shot feature selection: which classes are seen, what is clustered, and how often."""

from __future__ import annotations

from collections.abc import Mapping

from zslplat.space import Choice, Integer, Optional, Parameter, Real, Text
from zslplat.tasks.zero_shot import CLASS_PARAMETERS

MOST_DRAWS = 1000

PARAMETERS: Mapping[str, Parameter] = {
    **CLASS_PARAMETERS,
    "seen": Parameter(
        "which classes are seen: the data set's own split, drawn at random, or one pair of classes",
        Choice(("files", "random", "pairs")),
        default="files",
    ),
    "draw": Parameter("number of the draw (seen=random) or of the pair (seen=pairs), from 1", Integer(1), default=1),
    "draws": Parameter(
        f"draws (or pairs) from that number on that the test is the mean of; none for all pairs, at most {MOST_DRAWS}",
        Optional(Integer(1, MOST_DRAWS)),
        default=1,
    ),
    "seen_share": Parameter(
        "seen=random: share of the classes; none for the data set's own", Optional(Real(0, 1)), default=None
    ),
    "labelled_ratio": Parameter(
        "share of the seen rows or classes that the selector gets", Real(0, 1, open_low=True), default=1.0
    ),
    "labelled_by": Parameter("what labelled_ratio is a share of", Choice(("rows", "classes")), default="rows"),
    "scaling": Parameter(
        "steps applied to the clustered rows, with statistics of the seen rows; none for features as they are",
        Text(),
        default="none",
    ),
    "first": Parameter("smallest number of features", Integer(1), default=5),
    "last": Parameter("largest number of features", Integer(1), default=50),
    "step": Parameter("step between the numbers of features", Integer(1), default=5),
    "repeats": Parameter("random starts of k-means on the test split", Integer(1), default=20),
    "validation_repeats": Parameter("random starts of k-means on validation folds", Integer(1), default=5),
    "rows": Parameter(
        "unseen rows clustered at most, even over classes; none for all", Optional(Integer(2)), default=None
    ),
    "validation_rows": Parameter("the same on validation folds", Optional(Integer(2)), default=2000),
    "zero_shot": Parameter(
        "zero-shot method to run on the selected features, for example eszsl; empty for none", Text(), default=""
    ),
}
