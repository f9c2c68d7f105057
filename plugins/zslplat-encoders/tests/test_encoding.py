"""A run that was killed goes on and leaves the same bytes; what has changed in between is named."""

import json

import numpy as np
import pytest
from drawn_images import draw_folder

from zslplat.api import EncoderFacts
from zslplat.errors import DataError, UsageError
from zslplat_encoders.encoder import Encoder
from zslplat_encoders.encoding import STATE, encode_images, read_state
from zslplat_encoders.image_files import ImageList, list_images

KILL = 5


class Means(Encoder):
    """Mean colours; stops the run at the image after ``last``."""

    summary = "mean colours"
    encodes = ("images",)
    digest = "a" * 64

    def __init__(self, last=10**6):
        self.last = last

    def open(self, *, download=False):
        return EncoderFacts("mean colours", "drawn", self.digest, "none", packages="numpy 2")

    def encode_images(self, images):
        self.last -= len(images)
        if self.last < 0:
            raise KeyboardInterrupt
        return np.stack([image.mean(axis=(0, 1)) for image in images]).astype(np.float32)


def encoders(**of_label):
    return {label: (encoder, encoder.open()) for label, encoder in of_label.items()}


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture
def images(tmp_path):
    draw_folder(tmp_path / "images")
    (tmp_path / "images" / "red_circle" / "1.png").write_bytes(b"no image")
    return list_images(tmp_path / "images")


@pytest.mark.parametrize("last", [0, 5, 11, 20])
def test_a_run_that_was_killed_goes_on_and_leaves_the_same_bytes(images, tmp_path, last):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    encode_images(images, encoders(a=Means(), b=Means()), whole, batch=KILL)
    with pytest.raises(KeyboardInterrupt):
        encode_images(images, encoders(a=Means(), b=Means(last)), killed, batch=KILL)
    # What a batch wrote that is not counted yet is cut off again.
    for path in killed.glob("features-*.npy"):
        path.write_bytes(path.read_bytes() + b"half a batch")
    encode_images(images, encoders(a=Means(), b=Means()), killed, batch=KILL if last == 0 else 99)
    assert bytes_of(killed) == bytes_of(whole)
    rows = np.load(killed / "features-a.npy")
    assert rows.shape == (len(images.names) - 1, 3)
    assert np.array_equal(rows, np.load(killed / "features-b.npy"))


def test_an_image_that_cannot_be_read_is_named_and_has_no_row(images, tmp_path):
    state = encode_images(images, encoders(a=Means()), tmp_path, batch=4)
    assert state.unreadable == {"red_circle/1.png": "is no image of a known format"}
    assert (state.read, state.rows) == (len(images.names), len(images.names) - 1)
    assert vars(read_state(tmp_path)) == json.loads(json.dumps(vars(state)))


def test_a_finished_view_is_not_encoded_again_and_another_is_added(images, tmp_path):
    encode_images(images, encoders(a=Means()), tmp_path, batch=4)
    first = (tmp_path / "features-a.npy").stat().st_mtime_ns
    state = encode_images(images, encoders(a=Means(last=0), b=Means()), tmp_path, batch=4)
    assert list(state.views) == ["a", "b"]
    assert (tmp_path / "features-a.npy").stat().st_mtime_ns == first
    assert np.array_equal(np.load(tmp_path / "features-a.npy"), np.load(tmp_path / "features-b.npy"))


def test_changed_weights_and_other_images_are_refused_with_what_to_do(images, tmp_path):
    encode_images(images, encoders(a=Means()), tmp_path, batch=4)
    changed = Means()
    changed.digest = "b" * 64
    with pytest.raises(
        UsageError, match=f"view a: the weights have changed, from {'a' * 64} to {'b' * 64}; give a label"
    ):
        encode_images(images, encoders(a=changed), tmp_path)
    fewer = ImageList(images.names[1:], images.labels[1:], images.splits[1:], images.read)
    message = f"other images: SHA-256 of their names, .* is {fewer.digest}, and was {images.digest}; .*--restart"
    with pytest.raises(UsageError, match=message):
        encode_images(fewer, encoders(a=Means()), tmp_path)


def test_a_view_of_other_bytes_is_refused_and_those_that_are_there_stay(images, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    before = encode_images(images, encoders(a=Means()), folder, batch=4).content
    files = bytes_of(folder)

    def read(index):
        return images.read(index) if index != 7 else b"other bytes"

    changed = ImageList(images.names, images.labels, images.splits, read)
    with pytest.raises(UsageError, match=f"SHA-256 of their bytes is .*, and was {before}; .*--restart"):
        encode_images(changed, encoders(b=Means()), folder, batch=4)
    assert bytes_of(folder) == files
    assert list(encode_images(images, encoders(b=Means()), folder, batch=4).views) == ["a", "b"]


def test_where_no_image_can_be_read_one_line_says_so(images, tmp_path):
    nothing = ImageList(images.names, images.labels, images.splits, lambda _: b"")
    for _ in range(2):
        with pytest.raises(DataError, match=r"none of 24 images can be read, first .*\.png: is empty; .*--restart"):
            encode_images(nothing, encoders(a=Means()), tmp_path, batch=5)


def test_an_unfinished_view_must_be_finished_first(images, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        encode_images(images, encoders(a=Means(8)), tmp_path, batch=4)
    with pytest.raises(UsageError, match="a is not finished, 8 of 24 images"):
        encode_images(images, encoders(b=Means()), tmp_path)
    assert json.loads((tmp_path / STATE).read_text())["read"] == 8
