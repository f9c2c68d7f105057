"""Retrieval sets from files in their own format: who asks, what is right and what ignored, where negatives are from."""

from dataclasses import replace

import numpy as np
import pytest

from zslplat.data.dataset import Dataset
from zslplat.data.feature_card import FeatureCard
from zslplat.data.sets.digits import GROUPS, DigitRetrieval, digit_retrieval, pyramid_of
from zslplat.data.sets.retrieval import assemble_retrieval
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError, UsageError
from zslplat.families.exemplars.task import ExemplarRetrieval
from zslplat.testing import run_checks
from zslplat.testing.running import PASSED
from zslplat_papers.data_sets.holidays import Holidays
from zslplat_papers.data_sets.oxford import Oxford

# Three groups of Holidays, in an order of no meaning.
HOLIDAYS = ["100001.jpg", "100000.jpg", "100101.jpg", "100100.jpg", "100103.jpg", "120700.jpg", "120701.jpg"]
# Two landmarks of two queries each; five images nobody asks for.
GROUND_TRUTH = {
    "all_souls_1": (
        "oxc1_all_souls_000013 136.5 34.1 648.5 955.7",
        ["all_souls_000013", "all_souls_000026"],
        ["x_1"],
        ["x_2"],
    ),
    "all_souls_2": ("oxc1_all_souls_000026 1 2 3 4", ["all_souls_000013", "all_souls_000026"], ["x_1"], ["x_2"]),
    "bodleian_1": ("oxc1_bodleian_000107 1 2 3 4", ["bodleian_000107"], ["bodleian_000108"], []),
    "bodleian_2": ("oxc1_bodleian_000108 1 2 3 4", ["bodleian_000107", "bodleian_000108"], [], ["x_1", "x_2"]),
}
OXFORD = [
    "x_1",
    "all_souls_000013",
    "bodleian_000107",
    "x_2",
    "all_souls_000026",
    "x_3",
    "bodleian_000108",
    "x_4",
    "x_5",
]


def rows(names, seed=0, d=4):
    return np.random.default_rng(seed).normal(size=(len(names), d)).astype(np.float32)


@pytest.fixture
def root(tmp_path):
    """A data root with both sets in several forms, and negatives."""
    np.savez(tmp_path / "holidays.npz", X=rows(HOLIDAYS), names=np.array(HOLIDAYS))
    numbers = np.array([int(name[:-4]) for name in HOLIDAYS])
    np.savez(tmp_path / "numbered.npz", features=rows(HOLIDAYS), ids=numbers)
    folder = tmp_path / "folder"
    folder.mkdir()
    np.save(folder / "features.npy", rows(HOLIDAYS))
    (folder / "holidays_images.dat").write_text("".join(f"jpg/{name}\n" for name in HOLIDAYS))
    np.savez(tmp_path / "oxford.npz", X=rows(OXFORD), names=np.array([f"{name}.jpg" for name in OXFORD]))
    truth = tmp_path / "gt_files_170407"
    truth.mkdir()
    for name, (query, *lists) in GROUND_TRUTH.items():
        (truth / f"{name}_query.txt").write_text(query + "\n")
        for kind, images in zip(("good", "ok", "junk"), lists, strict=True):
            (truth / f"{name}_{kind}.txt").write_text("".join(f"{image}\n" for image in images))
    np.savez(tmp_path / "flickr.npz", X=rows(range(20), seed=1), y=np.zeros(20, dtype=int))
    np.savez(tmp_path / "labelled.npz", X=rows(range(20), seed=1), y=np.arange(20) % 5)
    return tmp_path


def holidays(root, path="holidays.npz", **options):
    return Holidays(path=path, **{"negatives": "npz(path=flickr.npz)", **options}).load(DataPlaces(root))


def oxford(root, path="oxford.npz", **options):
    return Oxford(path=path, **{"negatives": "npz(path=flickr.npz)", **options}).load(DataPlaces(root))


def asked(dataset, names, split="test"):
    """Return {name of the image that asks: (names that are right, names of junk)}."""
    queries = dataset.queries[split]
    return {
        (i, names[row]): tuple({names[r] for q, r in pairs if q == i} for pairs in (queries.positive, queries.junk))
        for i, row in enumerate(queries.rows)
    }


@pytest.mark.parametrize("path", ["holidays.npz", "numbered.npz", "folder"])
def test_the_first_of_a_group_asks_for_the_others_and_is_left_out(root, path):
    data = holidays(root, path)
    assert asked(data, HOLIDAYS) == {
        (0, "100000.jpg"): ({"100001.jpg"}, {"100000.jpg"}),
        (1, "100100.jpg"): ({"100101.jpg", "100103.jpg"}, {"100100.jpg"}),
        (2, "120700.jpg"): ({"120701.jpg"}, {"120700.jpg"}),
    }
    assert np.array_equal(data.queries["test"].database, np.arange(len(HOLIDAYS)))
    assert [data.class_names[c] for c in data.y[:2]] == ["1000", "1000"]
    assert np.array_equal(np.asarray(data.X)[: len(HOLIDAYS)], rows(HOLIDAYS))
    assert np.array_equal(np.asarray(data.X)[data.rows("train")], rows(range(20), seed=1))


def test_good_and_ok_are_right_junk_is_ignored_and_the_image_of_a_query_counts(root):
    data = oxford(root)
    names = OXFORD
    assert asked(data, names) == {
        (0, "all_souls_000013"): ({"all_souls_000013", "all_souls_000026", "x_1"}, {"x_2"}),
        (1, "all_souls_000026"): ({"all_souls_000013", "all_souls_000026", "x_1"}, {"x_2"}),
        (2, "bodleian_000107"): ({"bodleian_000107", "bodleian_000108"}, set()),
        (3, "bodleian_000108"): ({"bodleian_000107", "bodleian_000108"}, {"x_1", "x_2"}),
    }
    assert len(data.queries["test"].database) == len(OXFORD)
    assert [data.class_names[c] for c in data.y[:4]] == ["all_souls", "all_souls", "bodleian", "others"]


def test_a_row_with_the_name_of_a_query_asks_and_is_not_searched(root):
    names = [*OXFORD, *GROUND_TRUTH]
    np.savez(root / "boxes.npz", X=rows(names), names=np.array(names))
    data = oxford(root, "boxes.npz")
    assert [names[row] for row in data.queries["test"].rows] == list(GROUND_TRUTH)
    assert [names[row] for row in data.queries["test"].database] == OXFORD
    assert [data.class_names[data.y[row]] for row in data.queries["test"].rows] == ["all_souls"] * 2 + ["bodleian"] * 2


@pytest.mark.parametrize("load", [holidays, oxford])
def test_what_is_kept_of_a_load_is_what_was_loaded(root, tmp_path, load):
    class_of = {holidays: Holidays, oxford: Oxford}[load]
    path = {holidays: "folder", oxford: "oxford.npz"}[load]
    source = class_of(path=path, negatives="npz(path=labelled.npz)")
    plain, *kept = (source.load(DataPlaces(root, cache)) for cache in (None, tmp_path / "cache", tmp_path / "cache"))
    for other in kept:
        assert other.fingerprint == plain.fingerprint == replace(other, known_fingerprint="").fingerprint
        for split, queries in plain.queries.items():
            for name, array in queries.arrays():
                assert np.array_equal(array, getattr(other.queries[split], name))


@pytest.mark.parametrize(("loader", "path"), [(Holidays, "holidays.npz"), (Holidays, "folder"), (Oxford, "oxford.npz")])
def test_sources_of_files_keep_what_every_source_promises(root, loader, path):
    negatives = f'npz(path="{root / "labelled.npz"}")'
    results = run_checks(loader(path=str(root / path), negatives=negatives))
    assert not [f"{result.check}: {result.message}" for result in results if result.is_failure]
    assert sum(result.state == PASSED for result in results) > 10


def test_negatives_are_part_of_what_a_data_set_is_and_keep_their_classes(root):
    first, second = holidays(root), holidays(root, negatives="npz(path=labelled.npz)")
    assert first.fingerprint != second.fingerprint
    assert {first.class_names[c] for c in first.y[first.rows("train")]} == {"unlabelled negatives"}
    assert {second.class_names[c] for c in second.y[second.rows("train")]} == {f"labelled: {c}" for c in range(5)}
    assert second.source["negatives"] == "labelled"
    assert second.source["statistics"] == "of the negatives"
    # Classes of negatives can be held out, so that there is something to tune on.
    assert len(ExemplarRetrieval(validation_classes=0.4).validation(second)) == 3
    np.savez(root / "flickr.npz", X=rows(range(20), seed=2), y=np.zeros(20, dtype=int))
    assert holidays(root).fingerprint != first.fingerprint


def test_negatives_that_are_none_are_refused(root):
    with pytest.raises(UsageError, match=r"no negatives; name the data set"):
        Holidays(path="holidays.npz").load(DataPlaces(root))
    np.savez(root / "wide.npz", X=rows(range(5), d=6), y=np.zeros(5, dtype=int))
    with pytest.raises(DataError, match=r"features are \(4,\) and those of the negatives, wide, \(6,\)"):
        holidays(root, negatives="npz(path=wide.npz)")
    X = rows(range(20), seed=1)
    X[7] = rows(HOLIDAYS)[3]
    np.savez(root / "copies.npz", X=X, y=np.zeros(20, dtype=int))
    with pytest.raises(DataError, match="1 negatives of copies have exactly the features"):
        holidays(root, negatives="npz(path=copies.npz)")


def test_groups_and_names_that_do_not_fit_are_refused(root):
    cases = {
        "is there twice": [*HOLIDAYS[:-1], "100001.png"],
        "no number for a name": [*HOLIDAYS[:-1], "church.jpg"],
        "1 groups have no query, first group 1207": [*HOLIDAYS[:-2], "120702.jpg", "120701.jpg"],
        "1 groups have no image but its query, first group 1208": [*HOLIDAYS, "120800.jpg"],
    }
    for message, names in cases.items():
        np.savez(root / "wrong.npz", X=rows(names), names=np.array(names))
        with pytest.raises(DataError, match=message):
            holidays(root, "wrong.npz")
    np.savez(root / "wrong.npz", X=rows(HOLIDAYS), names=np.array(HOLIDAYS[:-1]))
    with pytest.raises(DataError, match="7 rows of features but 6 names"):
        holidays(root, "wrong.npz")
    np.savez(root / "wrong.npz", X=rows(HOLIDAYS))
    with pytest.raises(DataError, match="expected X or features, and names, ids or images"):
        holidays(root, "wrong.npz")
    (root / "bare").mkdir()
    with pytest.raises(DataError, match=r"expected features\.npy and holidays_images\.dat"):
        holidays(root, "bare")


def test_ground_truth_that_does_not_fit_is_refused(root):
    truth = root / "gt_files_170407"
    (truth / "bodleian_1_good.txt").write_text("bodleian_000999\n")
    with pytest.raises(DataError, match=r"bodleian_1_good\.txt: image 'bodleian_000999' has no features"):
        oxford(root)
    (truth / "bodleian_1_query.txt").write_text("bodleian_000107\n")
    with pytest.raises(DataError, match="four numbers of its box"):
        oxford(root)
    (truth / "bodleian_1_query.txt").unlink()
    (truth / "bodleian_2_junk.txt").unlink()
    with pytest.raises(DataError, match=r"bodleian_2_junk\.txt: cannot be read"):
        oxford(root)
    (root / "nothing").mkdir()
    with pytest.raises(DataError, match=r"no file \*_query\.txt"):
        oxford(root, ground_truth="nothing")


def test_what_is_set_apart_for_validation_takes_its_images_along(root):
    data = oxford(root, validation=0.5)
    test, validation = (asked(data, OXFORD, split) for split in ("test", "validation"))
    landmarks = [{name.rpartition("_")[0] for _, name in one} for one in (test, validation)]
    assert sorted(map(len, landmarks)) == [1, 1]
    assert not landmarks[0] & landmarks[1]
    members = [set(data.queries[split].database) for split in ("test", "validation")]
    assert not members[0] & members[1]
    assert members[0] | members[1] == set(range(len(OXFORD)))
    # Of the four images that nobody asks for, half go along.
    nobody = {OXFORD.index(name) for name in ("x_2", "x_3", "x_4", "x_5")}
    assert [len(nobody & one) for one in members] == [2, 2]
    task = ExemplarRetrieval()
    fold, final = task.validation(data)[0], task.test(data)
    assert set(fold.truth["row"]) == members[1]
    assert set(final.truth["row"]) == members[0]
    with pytest.raises(DataError, match="leave some"):
        oxford(root, validation=0.9)


def test_a_draw_for_validation_follows_names_and_not_the_order_of_the_file():
    raw = digit_retrieval()
    order = np.random.default_rng(3).permutation(len(raw.names))
    place = np.argsort(order)
    queries = raw.queries
    pairs = [np.column_stack([one[:, 0], place[one[:, 1]]]) for one in (queries.positive, queries.junk)]
    other = replace(
        raw,
        X=raw.X[order],
        names=[raw.names[i] for i in order],
        classes=[raw.classes[i] for i in order],
        queries=replace(
            queries, rows=place[queries.rows], database=place[queries.database], positive=pairs[0], junk=pairs[1]
        ),
        negatives=place[raw.negatives],
    )
    held = []
    for one in (raw, other):
        data = assemble_retrieval(one, None, FeatureCard(), {}, share=0.25, seed=1)
        held.append({one.names[row] for row in data.rows("validation")})
    assert held[0] == held[1]


def test_digits_that_ask_are_no_negatives_and_junk_shows_a_quarter():
    raw = digit_retrieval()
    data = DigitRetrieval().load(DataPlaces())
    sizes = {split: len(queries.rows) for split, queries in data.queries.items()}
    assert sizes == {"test": 200, "validation": 100}
    assert len(data.rows("train")) == 797
    for queries in data.queries.values():
        assert (np.bincount(queries.positive[:, 0]) == 3).all()
        # A query is junk to itself, as is the quarter of its digit.
        assert (np.bincount(queries.junk[:, 0]) == 2).all()
        assert set(zip(range(len(queries.rows)), queries.rows, strict=True)) <= set(map(tuple, queries.junk.tolist()))
    contrast = raw.X[: 5 * GROUPS].reshape(5, GROUPS, -1).std(axis=2).mean(axis=1)
    assert contrast[4] < 0.8 * contrast[:4].min()
    assert DigitRetrieval().load(DataPlaces()).fingerprint == data.fingerprint
    assert DigitRetrieval(seed=1).load(DataPlaces()).fingerprint != data.fingerprint
    with_others = DigitRetrieval(negatives="digit-pairs", validation=0.0)
    with pytest.raises(DataError, match="negatives need the same features"):
        with_others.load(DataPlaces())
    assert isinstance(DigitRetrieval(negatives="digits").load(DataPlaces()), Dataset)


def test_the_pyramid_of_a_picture_tells_at_each_level_where_its_edges_run():
    images = np.zeros((3, 8, 8))
    images[0, :, 4:] = 1  # an edge down the middle
    images[1, :3, :] = 0.5  # one across
    pyramid = pyramid_of(images)
    assert pyramid.shape == (3, 84)
    levels = [level.reshape(3, -1, 4) for level in np.split(pyramid, [4, 20], axis=1)]
    for level, cells in zip(levels, (1, 4, 16), strict=True):
        assert level.shape == (3, cells, 4)
        np.testing.assert_allclose(level.sum(axis=(1, 2)), [1, 1, 0], rtol=1e-6)
        assert np.count_nonzero(level[:2].sum(axis=1)) == 2  # one direction each
    np.testing.assert_allclose(levels[1][0].sum(axis=1), [0.25] * 4, rtol=1e-6)
    np.testing.assert_allclose(levels[1][1].sum(axis=1), [0.5, 0.5, 0, 0], rtol=1e-6)
