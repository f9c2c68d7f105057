"""What every encoder promises: rows that do not depend on their batch, for images of any size and texts of any length.

One whose library or weights are not there is skipped with the reason; an encoder that needs options is checked as an
instance with them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from zslplat.data.feature_card import EncoderFacts
from zslplat.errors import DataError, UsageError
from zslplat.testing.running import Check, Skipped, assert_refused, check_declared
from zslplat_encoders.encoder import IMAGES, TEXTS, Encoder

_WORDS = ["red circle", "a photo of a blue square.", "night", "the oldest of the four green triangles in the picture"]


def _images() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, (h, w, 3), dtype=np.uint8) for h, w in ((48, 64), (1, 1), (7, 200), (96, 96), (3, 2))]


def _facts(encoder: Encoder) -> EncoderFacts:
    try:
        return encoder.open()
    except (UsageError, DataError) as error:
        raise Skipped(f"needs a library, weights or options: {error}") from error


def _encoded(encoder: Encoder) -> Iterator[tuple[str, Any, list[Any], np.ndarray]]:
    """Yield what is encoded, the function that does it, its inputs, and the rows that it returns for all."""
    _facts(encoder)
    calls: tuple[tuple[str, Any, list[Any]], ...] = (
        (IMAGES, encoder.encode_images, _images()),
        (TEXTS, encoder.encode_texts, _WORDS),
    )
    for what, encode, inputs in calls:
        if what in encoder.encodes:
            yield what, encode, inputs, encode(inputs)


def encoder_is_described(encoder: Encoder) -> None:
    """Class, summary and every parameter say what they mean, and ``encodes`` names images, texts or both."""
    cls = type(encoder)
    assert (inspect.getdoc(cls) or "").strip(), f"{cls.__name__} has no docstring"
    assert cls.summary.strip(), f"{cls.__name__} has no summary, which lists show beside its name"
    assert set(cls.encodes) in ({IMAGES}, {TEXTS}, {IMAGES, TEXTS}), f"encodes is {cls.encodes!r}"
    check_declared(cls.parameters)


def parameters_that_are_not_legal_are_refused(encoder: Encoder) -> None:
    """A value outside the legal domain of a parameter raises UsageError where the encoder is built by name."""
    from zslplat.evaluation.components import build_component
    from zslplat.registry import registered_name
    from zslplat.spec import Spec

    name = registered_name(type(encoder), "encoders")
    if name is None:
        raise Skipped("is not registered, so it is not built by name")
    assert_refused(
        lambda **values: build_component("encoders", Spec(name, values)), type(encoder).parameters, "no_such_option"
    )


def weights_are_named_by_their_digest(encoder: Encoder) -> None:
    """``open`` says what the card needs: encoder, preprocessing and packages, and SHA-256 where there are weights."""
    facts = _facts(encoder)
    missing = [key for key in ("encoder", "preprocessing", "packages") if not getattr(facts, key)]
    assert not missing, f"open() does not say {', '.join(missing)}"
    assert not facts.weights or re.fullmatch(r"[0-9a-f]{64}", facts.weights_sha256), "weights without weights_sha256"


def rows_are_finite_vectors(encoder: Encoder) -> None:
    """Every image, of one pixel or many, and every text becomes one row of finite float32 numbers."""
    widths = set()
    for what, _, inputs, rows in _encoded(encoder):
        assert (rows.dtype.name, rows.ndim) == ("float32", 2), f"{what}: rows are {rows.dtype} {rows.shape}"
        assert len(rows) == len(inputs), f"{len(inputs)} {what} gave {len(rows)} rows"
        assert np.isfinite(rows).all(), f"{what}: a row holds NaN or infinity"
        widths.add(rows.shape[1])
    assert len(widths) == 1, f"images and texts do not share a space: widths {widths}"


def rows_do_not_depend_on_their_batch(encoder: Encoder) -> None:
    """Rows encoded one by one, or in another order, are those of the batch within the tolerance; twice, the same."""
    for what, encode, inputs, rows in _encoded(encoder):
        allowed = encoder.tolerance * np.abs(rows).max()
        alone = np.vstack([encode([one]) for one in inputs])
        for how, others in (("one by one", alone), ("in reverse", encode(inputs[::-1])[::-1])):
            gap = np.abs(others - rows).max()
            assert gap <= allowed, f"{what} {how} differ by {gap:.2g}; the tolerance allows {allowed:.2g}"
        assert np.array_equal(encode(inputs), rows), f"the same {what} gave other rows the second time"


ENCODER_CHECKS: tuple[Check, ...] = (
    encoder_is_described,
    parameters_that_are_not_legal_are_refused,
    weights_are_named_by_their_digest,
    rows_are_finite_vectors,
    rows_do_not_depend_on_their_batch,
)
