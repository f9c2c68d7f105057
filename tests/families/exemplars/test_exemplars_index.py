"""A saved index answers as the method in memory does, and preprocesses new rows as its gallery was."""

import json

import numpy as np
import pytest

from zslplat.data.store.preprocessing import STEPS, FrozenFeatures, Preprocessing, apply_steps
from zslplat.data.store.rows import Rows
from zslplat.errors import StoreError, UsageError
from zslplat.families.exemplars.methods import base, index
from zslplat.families.exemplars.methods.baselines import Cosine, ExemplarSVM, Whitening
from zslplat.families.exemplars.methods.index import ExemplarIndex, write_index
from zslplat.families.exemplars.methods.kslem import KernelSLEM
from zslplat.families.exemplars.methods.slem import SLEM

METHODS = [
    Cosine(center=True),
    SLEM(lam=0.1),
    SLEM(scores="raw"),
    KernelSLEM("gaussian(sigma=2.0)", rank=10),
    KernelSLEM("gaussian", rank=None),
    Whitening(),
    ExemplarSVM(negatives=20),
]


def written(folder, method, gallery, **options):
    write_index(folder, method, gallery, **options)
    return ExemplarIndex.load(folder)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(50, 6)), rng.normal(size=(40, 6)), rng.normal(size=(7, 6))


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_opened_index_ranks_as_the_method_does(method, data, tmp_path, monkeypatch):
    negatives, gallery, queries = data
    monkeypatch.setattr(index, "BLOCK_ROWS", 16)
    method.fit(negatives)
    scores = method.similarity(method.encode(queries), method.encode(gallery))
    written(tmp_path / "index", method, gallery, rows=np.arange(40) + 100)
    hits = ExemplarIndex.load(tmp_path / "index").query(queries, top=5)
    best = np.argsort(-scores, axis=1)[:, :5]
    assert np.array_equal(hits.rows, best + 100)
    assert np.allclose(hits.scores, np.take_along_axis(scores, best, axis=1), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("steps", [(), ("l2",), ("center", "l2"), ("standardise",), ("shift", "hellinger")], ids=str)
def test_queries_are_preprocessed_like_the_gallery(steps, data, tmp_path):
    negatives, gallery, queries = data
    prepared, prepared_gallery, prepared_queries = apply_steps(steps, negatives, gallery, queries)
    method = SLEM(lam=0.1).fit(prepared)
    frozen = FrozenFeatures.fitted(Preprocessing(features=steps), negatives)
    opened = written(tmp_path / "index", method, prepared_gallery, steps=frozen)
    expected = method.similarity(method.encode(prepared_queries), method.encode(prepared_gallery)).max(axis=1)
    assert np.allclose(opened.query(queries, top=1).scores[:, 0], expected, rtol=1e-12)


@pytest.mark.parametrize("step", STEPS)
def test_every_step_can_be_frozen(step, data):
    negatives, _, queries = data
    negatives, queries = (np.abs(m) if step == "hellinger" else m for m in (negatives, queries))
    kept = FrozenFeatures.fitted(Preprocessing(features=(step,)), negatives)
    frozen = FrozenFeatures.from_facts(json.loads(json.dumps(kept.facts())), kept.arrays()).apply(queries)
    assert np.allclose(frozen, apply_steps((step,), negatives, queries)[1], rtol=1e-12, atol=1e-13)


def test_float32_rows_stay_float32_on_disk(data, tmp_path):
    negatives, gallery, _ = data
    method = KernelSLEM("gaussian", rank=5).fit(negatives)
    opened = written(tmp_path / "index", method, gallery.astype(np.float32))
    assert opened.gallery.points.dtype == np.float32
    assert isinstance(opened.gallery.vectors, np.memmap)


def test_hits_have_the_class_of_their_row_and_end_with_the_gallery(data, tmp_path):
    negatives, gallery, queries = data
    opened = written(tmp_path / "index", SLEM().fit(negatives), gallery, labels=[f"c{i % 3}" for i in range(40)])
    hits = opened.query(queries, top=3)
    assert hits.labels[0, 0] == f"c{hits.rows[0, 0] % 3}"
    assert len(opened.query(queries, top=100).rows[0]) == 40


def test_broken_or_wrong_indices_are_one_clear_line(data, tmp_path):
    negatives, gallery, queries = data
    method = SLEM().fit(negatives)
    folder = tmp_path / "index"
    opened = written(folder, method, gallery, steps=FrozenFeatures.fitted(Preprocessing(features=("l2",)), negatives))
    with pytest.raises(UsageError, match="exists"):
        written(folder, method, gallery)
    with pytest.raises(UsageError, match=r"\(n, 6\), the width of the rows learned from"):
        opened.query(queries[:, :4])
    with pytest.raises(UsageError, match="top=0"):
        opened.query(queries, top=0)
    with pytest.raises(StoreError, match="holds no whole index"):
        ExemplarIndex.load(tmp_path / "nothing")
    (folder / "gallery" / "vectors.npy").unlink()
    with pytest.raises(StoreError, match=r"vectors\.npy is missing"):
        ExemplarIndex.load(folder)
    meta = json.loads((folder / "index.json").read_text())
    (folder / "index.json").write_text(json.dumps({**meta, "format": 3}))
    with pytest.raises(StoreError, match="reads format 2"):
        ExemplarIndex.load(folder)


class Unregistered(Cosine):
    pass


def test_a_failed_write_leaves_nothing_behind(data, tmp_path, monkeypatch):
    negatives, gallery, _ = data
    with pytest.raises(UsageError, match="no registered method"):
        written(tmp_path / "index", Unregistered().fit(negatives), gallery)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(index.np, "save", full)
    with pytest.raises(StoreError, match="No space left"):
        written(tmp_path / "index", Cosine().fit(negatives), gallery)
    assert list(tmp_path.iterdir()) == []


def test_encodings_can_be_cut_unless_they_are_grouped(data):
    negatives, gallery, _ = data
    method = SLEM().fit(negatives)
    whole = method.encode(gallery, member=np.arange(40) < 3)
    part = whole.take(np.array([0, 5]))
    assert np.allclose(method.similarity(part, whole), method.similarity(whole, whole)[[0, 5]])
    with pytest.raises(UsageError, match="encode the part"):
        method.encode(gallery, group=np.arange(40) // 2).take(slice(0, 2))
    assert base.Encoding(np.zeros((0, 2)), group=np.zeros(0, dtype=int)).exemplars == 0


def test_the_steps_of_views_are_kept_with_the_index(data, tmp_path):
    negatives, gallery, queries = data
    rows = Rows.of({"left": negatives[:, :2], "right": negatives[:, 2:]})
    spec = Preprocessing(features=("center",)).overridden("right:standardise,l2", None)
    kept = FrozenFeatures.fitted(spec, rows)
    method = SLEM().fit(kept.apply(negatives))
    opened = written(tmp_path / "index", method, kept.apply(gallery), steps=kept)
    left = apply_steps(("center",), negatives[:, :2], queries[:, :2])[1]
    right = apply_steps(("standardise", "l2"), negatives[:, 2:], queries[:, 2:])[1]
    prepared = method.encode(np.hstack([left, right]))
    expected = method.similarity(prepared, method.encode(kept.apply(gallery))).max(axis=1)
    assert np.allclose(opened.query(queries, top=1).scores[:, 0], expected)
