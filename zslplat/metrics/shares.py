"""Metrics that are shares, or means of shares: no value of them is below 0 or above 1, and no interval need be.

They are known by their names, like what evaluations cost; a metric of another name may have any value.
"""

from __future__ import annotations

import re

_SHARES = re.compile(
    r"(?:\w+_)?accuracy|per_class_top_\d+|(?:precision|recall)_at_\d+|(?:centred_)?mAP(?:_11pt)?|nmi(?:_arithmetic)?"
    r"|AUSUC|(?:calibrated_|oracle_)?H|[US]_to_[UST]|calibrated_[us]"
)


def within(metric: str, estimate: float, low: float, high: float) -> tuple[float, float]:
    """Return the ends of an interval of a metric, cut at 0 and 1 where it is a share; NaN stays.

    An estimate that is no share itself, as one in percent, says that the name means something else: nothing is cut.
    """
    if not _SHARES.fullmatch(metric) or not 0 <= estimate <= 1:
        return low, high
    return max(low, 0.0), min(high, 1.0)
