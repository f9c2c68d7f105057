"""A data set drawn from a seed whose rows and class signatures lie in one space, as CLIP's images and texts do.

======== ============ ======================================================================================
symbol   shape        meaning
======== ============ ======================================================================================
z_c      (k,)         what class c is like: the centre of its group of classes and something of its own
A        (k, d)       how that shows in the space
g, h     (d,)         what all rows, and all texts, have in common: the modality gap
E        (k, d)       how texts show it differently, the same for all classes
u_c      (d,)         what the name of class c says beside it
x        (n, d)       g + (z_y + within * e) A + f / 2, of unit length; e, f are noise of the row
t        (c, p, d)    h + z_c (A + distortion * E) + naming * u_c + prompt noise, of unit length, p prompts each
======== ============ ======================================================================================

Each baseline of a shared space mends one of these: an ensemble the prompt noise, centring the gap, an adapter that is
learned on seen classes the distortion, and a mixture on the batch what names say beside the point.
"""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from zslplat.data.dataset import Dataset, SignatureSet
from zslplat.data.source import DataPlaces, DataSource
from zslplat.space import Integer, Real, parameter

SEEN, UNSEEN, GROUPS, LATENT, DIMENSIONS, PROMPTS = 50, 20, 12, 16, 64, 8
ROWS = {"train": (SEEN, 30), "test_seen": (SEEN, 10), "test_unseen": (UNSEEN, 40)}  # classes, and rows of each


class SharedSpace(DataSource):
    r"""70 classes, 20 of them unseen, with rows, texts and prompts in one space of 64 dimensions, and 16 attributes.

    Signature sets: ``texts`` has one text per class, ``prompts`` eight of which that is the first, and ``attributes``
    what the classes are like, in a space of its own.

    Equations
    ---------
    $$x = g + (z_y + w\, e) A + f / 2, \qquad t_c = h + z_c (A + \text{distortion} \cdot E) + \text{naming} \cdot u_c$$

    Symbols
    -------
    | symbol | shape | meaning                                                             |
    |--------|-------|---------------------------------------------------------------------|
    | x, t   | (d,)  | a row and a text                                                    |
    | z      | (k,)  | what a class is like: its attributes                                |
    | g, h   | (d,)  | what all rows, and all texts, have in common: the modality gap      |
    | A, E   | (k, d) | how attributes show, and how texts show them differently           |
    | u      | (d,)  | what the name of a class says beside it                             |
    | e, f   |       | noise of a row, in attributes (w = 0.7) and in the space            |

    Related
    -------
    ``synthetic`` has attributes alone, and any size.
    """

    summary = "drawn rows and texts of 70 classes in one space, with a modality gap, as CLIP's images and texts"
    licence = "none needed: drawn from a seed"
    drawn_by = "seed"
    gap = parameter("how far rows and texts lie apart, in lengths of a class", Real(0, 100), default=2.0)
    distortion = parameter("how texts show all classes differently", Real(0, 100), default=0.6)
    naming = parameter("what each name says beside its class", Real(0, 100), default=0.6)
    seed = parameter("what is drawn", Integer(0), default=0)

    def load(self, places: DataPlaces) -> Dataset:
        """Draw the data set."""
        rng = np.random.default_rng([self.seed, 60])
        classes = SEEN + UNSEEN
        centres = rng.normal(size=(GROUPS, LATENT))
        Z = centres[rng.permutation(np.arange(classes) % GROUPS)] + 0.6 * rng.normal(size=(classes, LATENT))
        A, E = rng.normal(size=(2, LATENT, DIMENSIONS)) / np.sqrt(LATENT)
        g, h = self.gap * rng.normal(size=(2, DIMENSIONS))
        first = {"train": 0, "test_seen": 0, "test_unseen": SEEN}
        y = np.concatenate([first[split] + np.repeat(np.arange(c), n) for split, (c, n) in ROWS.items()])
        shown = Z[y] + 0.7 * rng.normal(size=(len(y), LATENT))
        named = self.naming * rng.normal(size=(classes, DIMENSIONS))
        described = np.repeat(np.arange(classes), PROMPTS)
        with threadpool_limits(1):
            X = _placed(g + shown @ A + 0.5 * rng.normal(size=(len(y), DIMENSIONS)))
            texts = (h + Z @ (A + self.distortion * E) + named)[described]
            prompts = _placed(texts + 0.6 * rng.normal(size=texts.shape))
        ends = np.cumsum([0, *(c * n for c, n in ROWS.values())])
        return Dataset(
            name="shared-space",
            X=X,
            y=y,
            class_names=tuple(f"{'seen' if c < SEEN else 'unseen'}-{c}" for c in range(classes)),
            signatures={
                "texts": SignatureSet(prompts[::PROMPTS]),
                "prompts": SignatureSet(prompts, classes=described),
                "attributes": SignatureSet(np.round(Z, 3)),
            },
            default_signatures="texts",
            splits={split: np.arange(ends[k], ends[k + 1]) for k, split in enumerate(ROWS)},
            description=self.summary,
            licence=self.licence,
            source={"loader": "shared-space", **self.options},
        )


def _placed(rows: np.ndarray) -> np.ndarray:
    """Return rows of unit length in single precision; the last bits of a product are no part of the data."""
    return np.asarray(np.round(rows / np.linalg.norm(rows, axis=1, keepdims=True), 6), dtype=np.float32)
