"""Rows with several labels dealt to the parts of a split such that every label is shared out as the rows are.

| symbol | here | shape | meaning |
|---|---|---|---|
| | ``labels`` | (n, c) | 1 for labels that a row has, 0 for others, -1 for those not counted |
| | ``units`` | (u, c) | how many rows of every label a unit holds: a row, or a group of rows that stay together |

Iterative stratification: the label with the fewest rows left to deal goes first, each of its units to the part that
wants most of that label, then to the one that wants most rows. Source: Sechidis, Tsoumakas, Vlahavas, "On the
Stratification of Multi-Label Data" (ECML PKDD 2011), Algorithm 1.
"""

from __future__ import annotations

import numpy as np


def dealt(
    labels: np.ndarray, groups: np.ndarray | None, shares: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
    """Return the part (n,) of each row, which gets about ``shares`` (p,) of the rows and of every label.

    Rows of one group go to one part. A label that only one unit has keeps that unit out of all parts, with -1, so that
    whoever holds out parts trains on it.
    """
    present = labels == 1
    unit_of = np.arange(len(labels)) if groups is None else np.unique(groups, return_inverse=True)[1].reshape(-1)
    units = np.zeros((int(unit_of.max()) + 1, labels.shape[1]), dtype=np.int64)
    np.add.at(units, unit_of, present)
    rows = np.bincount(unit_of)
    part = np.full(len(units), -1, dtype=np.int64)
    alone = np.flatnonzero((units > 0).sum(axis=0) == 1)
    left = np.asarray(~(units[:, alone] > 0).any(axis=1))
    wanted_labels = shares[:, None] * units[left].sum(axis=0)[None, :].astype(np.float64)
    wanted_rows = shares * float(rows[left].sum())
    while left.any():
        remaining = ((units > 0) & left[:, None]).sum(axis=0)
        # Units without any label come last, dealt by their number of rows alone.
        label = int(np.argmin(np.where(remaining > 0, remaining, len(units) + 1))) if remaining.any() else -1
        chosen = np.flatnonzero(left & (units[:, label] > 0)) if label >= 0 else np.flatnonzero(left)
        for unit in generator.permutation(chosen):
            wish = wanted_labels[:, label] if label >= 0 else wanted_rows
            best = np.flatnonzero(wish >= wish.max() - 1e-9)
            best = best[wanted_rows[best] >= wanted_rows[best].max() - 1e-9]
            taker = int(best[generator.integers(len(best))])
            part[unit] = taker
            wanted_labels[taker] -= units[unit]
            wanted_rows[taker] -= rows[unit]
        left[chosen] = False
    return part[unit_of]
