"""Which data sets count as one: those that show the same images, and none for having the same layout."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from zslplat.data.class_draws import images_of, redrawn, same_images
from zslplat.data.dataset import SignatureSet
from zslplat.data.sets.synthetic import Shape, synthetic
from zslplat.data.store.stored_sets import in_files, stored_dataset

ROWS = "0123"
SIZES = Shape(200, 50, 50, 16, 8, 10, 4, 3)
SPEC = f"synthetic({', '.join(f'{name}={size}' for name, size in asdict(SIZES).items())}, seed=%d)"


def toy(seed):
    return synthetic(SIZES, seed=seed)


def same(one, other):
    return len(set(same_images({"one": images_of(*one), "other": images_of(*other)}).values())) == 1


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (("a", ROWS, "f"), ("b", ROWS, "f"), True),  # a copy of the features under another name
        (("a", ROWS, "f"), ("b", "4567", "f"), True),  # other splits of it
        (("synthetic(seed=0)", ROWS, "f"), ("synthetic(seed=1)", ROWS, "g"), False),  # one layout, other contents
        (("synthetic(seed=0)", ROWS, None), ("synthetic(seed=1)", ROWS, None), False),  # records that do not say
        (("a(features=x)", ROWS, "f"), ("a(features=y, signatures=s)", ROWS, "g"), True),  # described otherwise
        (("a(features=x)", ROWS, None), ("a(signatures=s)", ROWS, "g"), True),
        (("a(features=x)", ROWS, None), ("a(signatures=s)", "4567", "g"), False),
        (("a", None, None), ("a", None, None), False),
    ],
)
def test_images_are_told_by_their_features_or_by_data_set_and_rows(one, other, expected):
    assert same(one, other) == expected


def test_the_digest_of_features_stays_when_they_are_stored_and_when_classes_are_drawn(tmp_path):
    data = toy(0)
    kept = stored_dataset(tmp_path, "key", lambda: data)
    stored = in_files(data, tmp_path)
    drawn = redrawn(kept, 2)
    found = {one.features_digest for one in (data, kept, stored, drawn, stored_dataset(tmp_path, "key", None))}
    assert found == {data.features_digest}
    assert len(data.features_digest) == 64
    assert drawn.fingerprint != data.fingerprint
    described = replace(data, signatures={"other": SignatureSet(np.eye(len(data.class_names)))}, default_signatures="")
    assert described.features_digest == data.features_digest
    assert described.fingerprint != data.fingerprint
    assert toy(1).features_digest != data.features_digest
    # Copies that were kept before there was a digest have it, too.
    assert replace(kept, known_features="").features_digest == data.features_digest
    assert replace(data, X=data.X + 1, known_fingerprint=data.fingerprint).features_digest != data.features_digest


def test_families_are_told_in_the_order_in_which_they_were_asked_for():
    found = same_images({"0": {"a"}, "1": {"b"}, "2": {"a"}, "3": {"c", "b"}})
    assert list(found.items()) == [("0", "0"), ("1", "1"), ("2", "0"), ("3", "1")]


@pytest.mark.long
def test_two_seeds_are_two_data_sets_and_a_copy_with_other_signatures_is_none(call, tmp_path):
    """All three have rows and classes of the same numbers."""
    data = toy(0)
    splits = {name: data.rows(name) for name in data.splits}
    np.savez(tmp_path / "copy.npz", X=data.X, y=data.y, S=data.signature_set().values[:, :4], **splits)
    sets = [SPEC % 0, SPEC % 1, f'npz(path="{tmp_path / "copy.npz"}")']
    for name in sets:
        for method in ("eszsl", "sae"):
            done = call("run", "--method", method, "--dataset", name, "--test", "--store", tmp_path / "s")
            assert done[0] == 0, done[2]

    def counted(*names):
        asked = [part for name in names for part in ("--dataset", name)]
        status, out, _ = call("compare", *asked, "--store", tmp_path / "s", "--json")
        assert status == 0
        return json.loads(out)[0]["over_datasets"][0]["sets"]

    assert counted(*sets[:2]) == 2
    assert counted(sets[0], sets[2]) == 1
    assert counted(*sets) == 2
