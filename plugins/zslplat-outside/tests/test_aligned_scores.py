"""Scores of a file are put into the order of a batch, whatever bytes and forms of letters the file has."""

import unicodedata

import numpy as np
import pytest

from zslplat.errors import UsageError
from zslplat_outside.aligned_scores import Batch, aligned, digest_of
from zslplat_outside.score_files import ScoreFile

CLASSES = ("B\u00e4r", "L\u00f6we", "Maus")
BATCH = Batch("test", np.array([4, 9]), CLASSES)
SCORES = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]])


def of(scores, classes=CLASSES, batch=BATCH):
    return aligned(ScoreFile("s", scores, batch.rows, tuple(classes)), batch)


@pytest.mark.parametrize("kind", ["f4", "f8", "i4"])
def test_the_order_of_bytes_is_no_part_of_a_number(kind):
    little, big = (of(SCORES.astype(f"{order}{kind}")) for order in "<>")
    assert little.dtype == big.dtype == (np.float32 if kind == "f4" else np.float64)
    assert digest_of(little, BATCH) == digest_of(big, BATCH)
    np.testing.assert_array_equal(big, SCORES.astype(kind))


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_name_in_another_form_of_unicode_is_the_same_name(form):
    batch = Batch("test", BATCH.rows, tuple(unicodedata.normalize(form, name) for name in CLASSES))
    for given in ("NFC", "NFD"):
        names = [unicodedata.normalize(given, name) for name in CLASSES]
        np.testing.assert_array_equal(of(SCORES[:, ::-1], names[::-1], batch), SCORES)


def test_a_form_of_unicode_that_two_classes_share_is_guessed_at_nowhere():
    both = ("L\u00f6we", "Lo\u0308we", "Maus")
    batch = Batch("test", BATCH.rows, both)
    np.testing.assert_array_equal(of(SCORES, both, batch), SCORES)
    with pytest.raises(UsageError, match="more than once among the classes"):
        of(SCORES, both, Batch("test", BATCH.rows, ("L\u00f6we", "Hase", "Maus")))
    kelvin = ("\u212b", "\u00c5", "A\u030a")  # three forms of one letter
    with pytest.raises(UsageError, match="are no classes that are scored"):
        of(SCORES, kelvin, Batch("test", BATCH.rows, (*kelvin[:2], "Maus")))


@pytest.mark.parametrize(("kind", "largest"), [(np.float32, 1e30), (np.float64, 1e100)])
def test_numbers_too_large_to_count_with_are_refused_with_what_to_give(kind, largest):
    scores = SCORES.astype(kind)
    for value, fits in (
        (largest / 10, True),
        (-largest / 10, True),
        (largest * 10, False),
        (np.finfo(kind).min, False),
    ):
        scores[1, 0] = value
        if fits:
            assert of(scores)[1, 0] == scores[1, 0]
            continue
        with pytest.raises(
            UsageError, match=r"1 of 6 scores are beyond 1e\+\d+, .*row 9, class B.*smallest score less 1"
        ):
            of(scores)
    scores[0, 1] = -np.inf  # is told first
    with pytest.raises(UsageError, match=r"1 of 6 scores are NaN or infinite, the first -inf for row 4.*give finite"):
        of(scores)


@pytest.mark.parametrize("classes", [("0.5", "1.25", "-3"), ("0", "1", "2")])
def test_numbers_in_place_of_names_are_told_what_the_first_line_is(classes):
    with pytest.raises(UsageError, match="is taken for the names of the classes, and here it holds numbers"):
        of(SCORES, classes)
    file = ScoreFile("s", SCORES[:1], None, classes)  # the first line of scores was read as the names
    with pytest.raises(UsageError, match=r"1 rows, but 2 rows .* for every row of rows\.csv, .*here it holds numbers"):
        aligned(file, BATCH, BATCH.rows, CLASSES)
