"""Cards by name, file and address: which address gives a file, what is compared with what, and what is said."""

import hashlib
import io
import json
import re
import shutil
import sys
import zipfile
from types import SimpleNamespace

import numpy as np
import pyarrow
import pytest
import tomli_w
from array_toys import NAMES, toy
from download_toys import archive_of, serving
from pyarrow import parquet
from support import one_line

from zslplat.data.feature_card import CARD_FILE, card_of, load_card
from zslplat.errors import DataError, UnknownNameError
from zslplat.front.datasets import load_dataset
from zslplat_papers.fetching import download
from zslplat_papers.fetching.cards import find_card
from zslplat_papers.fetching.croissant import card_of_croissant, croissant_of
from zslplat_papers.fetching.fetch import FIRST, fetch_set

DEAD = "http://127.0.0.1:9/xlsa17.zip"


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch):
    monkeypatch.setattr(download.time, "sleep", lambda _: None)


@pytest.fixture
def root(tmp_path):
    return tmp_path / "root"


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def write_card(path, **content):
    path.write_text(tomli_w.dumps(content))
    return str(path)


def npz():
    """The toy as the content of an ``.npz`` file."""
    file = io.BytesIO()
    np.savez(file, **toy())
    return file.getvalue()


def test_the_first_address_that_answers_gives_the_file_and_says_what_is_trusted(call, tmp_path, root):
    content = archive_of(tmp_path, names=("AWA2",))
    with serving(b"gone") as gone, serving(content) as server:
        gone.status = 404
        path = write_card(tmp_path / "AWA2.card.toml", files=[{"addresses": [DEAD, gone.url, server.url]}])
        done = call("data", "fetch", path, "--data-root", root, "-q")
    assert done.returncode == 0
    notes = [line for line in done.stderr.splitlines() if line.startswith("note: ")]
    assert re.search(rf"cannot download {DEAD}: Connection refused, 2 times in a row.*; now from {gone.url}", notes[0])
    assert re.search(rf"cannot download {gone.url}: the server answers 404.*; now from {server.url}", notes[1])
    assert f"AWA2: fetched, {root / 'AWA2'}, from {server.url}, SHA-256 {sha256(content)}" in done.stdout
    assert f"trusted: {FIRST}" in done.stdout
    (file,) = load_card(root / "AWA2" / CARD_FILE).files
    assert (file.addresses, file.sha256) == ((server.url, DEAD, gone.url), sha256(content))
    assert load_dataset("AWA2", data_root=root).source["loader"] == "xlsa17"


def test_where_no_address_answers_each_cause_is_said(tmp_path, root):
    with serving(b"gone") as gone:
        gone.status = 404
        path = write_card(tmp_path / "AWA2.card.toml", files=[{"addresses": [gone.url, DEAD]}])
        with pytest.raises(DataError, match=r"AWA2: no address gives xlsa17\.zip:\n.*404.*\n.*Connection refused, 5"):
            fetch_set(path, root)
    assert not (root / "AWA2").exists()


def test_a_file_of_another_digest_is_passed_over_and_not_kept(tmp_path, root):
    content, notes = archive_of(tmp_path, names=("AWA2",)), []
    with serving(content + b"changed") as other, serving(content) as server:
        files = [{"addresses": [other.url, server.url], "sha256": sha256(content)}]
        path = write_card(tmp_path / "AWA2.card.toml", files=files)
        came = fetch_set(path, root, note=notes.append)
    assert came.url == server.url
    assert came.trust == f"the SHA-256 that the card {path} states"
    assert re.search(rf"{other.url}: SHA-256 is {sha256(content + b'changed')}, expected {sha256(content)}", notes[0])


def test_what_one_address_delivered_first_is_asked_of_another(tmp_path, root):
    content = archive_of(tmp_path, names=("AWA2",))
    with serving(content) as server, serving(content + b"changed") as other:
        path = write_card(tmp_path / "AWA2.card.toml", files=[{"addresses": [server.url, other.url]}])
        fetch_set(path, root)
        shutil.rmtree(root / "AWA2")
        server.status = 404
        with pytest.raises(DataError, match=rf"404.*\n.*{other.url} has changed: SHA-256 is .*, and was"):
            fetch_set(path, root)
        server.status = 200
        assert fetch_set(path, root).trust.startswith("the SHA-256 of the first download, 2")


def test_a_size_on_the_card_is_compared_before_and_after(tmp_path, root):
    content = archive_of(tmp_path, names=("AWA2",))
    with serving(content) as server:
        for size, message in (
            (1000, "it has .* expected at most"),
            (10**9, f"{len(content)} bytes came; the card states"),
        ):
            path = write_card(tmp_path / "AWA2.card.toml", files=[{"addresses": [server.url], "size": size}])
            with pytest.raises(DataError, match=message):
                fetch_set(path, root)
    assert not (root / "AWA2").exists()


def test_a_truncated_file_is_resumed_at_its_address_by_a_later_call(tmp_path, root):
    content = archive_of(tmp_path, names=("AWA2",))
    with serving(content) as server:
        server.drops = [1000, 0, 0]
        path = write_card(tmp_path / "AWA2.card.toml", files=[{"addresses": [server.url, DEAD]}])
        with pytest.raises(DataError, match="the same command goes on from byte 1000"):
            fetch_set(path, root)
        server.asked.clear()
        assert fetch_set(path, root).sha256 == sha256(content)
        assert server.asked == ["bytes=1000-"]


def test_single_files_come_into_one_folder_with_their_card(tmp_path, root):
    rows, labels = (io.BytesIO(), io.BytesIO())
    np.save(rows, toy()["X"])
    np.save(labels, toy()["y"])
    with serving(rows.getvalue()) as first, serving(labels.getvalue()) as second:
        files = [
            {"addresses": [server.url], "name": name}
            for server, name in ((first, "features-clip.npy"), (second, "labels.npy"))
        ]
        path = write_card(
            tmp_path / "birds.card.toml", licence="CC0", files=files, features={"clip": {"encoder": "ViT"}}
        )
        came = fetch_set(path, root)
    assert sorted(file.name for file in came.folder.iterdir()) == [CARD_FILE, "features-clip.npy", "labels.npy"]
    data = load_dataset("birds", data_root=root)
    assert (data.licence, data.source["encodings"]["features"]["clip"]["encoder"]) == ("CC0", "ViT")
    assert [file.name for file in (root / ".downloads").iterdir()] == ["digests.json"]


@pytest.mark.parametrize("name", ["../../../x.npy", "/nowhere/x.npy", "a/x.npy", "..", "..\\x.npy", "C:x.npy", "a\nb"])
@pytest.mark.parametrize("form", ["toml", "croissant"])
def test_a_card_writes_no_file_outside_the_folder_of_its_data_set(tmp_path, root, name, form):
    with serving(b"rows") as server:
        files = [{"addresses": [server.url], "name": name, "sha256": sha256(b"rows")}]
        card = tomli_w.dumps({"files": files})
        if form == "croissant":
            file = {"contentUrl": server.url, "name": name, "sha256": sha256(b"rows")}
            card = json.dumps({"conformsTo": "http://mlcommons.org/croissant/1.0", "name": "b", "distribution": [file]})
        file_name = "birds.card.toml" if form == "toml" else "birds.json"
        message = r"files\[0\]: file .* expected a bare name"
        with serving(card.encode()) as cards, pytest.raises(DataError, match=message):
            fetch_set(cards.url.replace("xlsa17.zip", file_name), root)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_digest_is_that_of_one_file(call, tmp_path, root):
    files = [{"addresses": [DEAD], "name": name} for name in ("features-clip.npy", "labels.npy")]
    path = write_card(tmp_path / "birds.card.toml", files=files)
    done = call("data", "fetch", path, "--sha256", "a" * 64, "--data-root", root)
    one_line(done, 2, "--sha256 is the digest of one file, and the card of birds names 2; leave it out")


def test_a_named_folder_of_an_archive_is_the_data_set(tmp_path, root):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("release/birds/toy.npz", npz())
        archive.writestr("release/README", "birds")
    with serving(file.getvalue()) as server:
        files = [{"addresses": [server.url], "folder": "release/fish"}]
        with pytest.raises(DataError, match="holds no folder 'release/fish', which the card names"):
            fetch_set(write_card(tmp_path / "birds.card.toml", files=files), root)
        files[0]["folder"] = "release/birds"
        fetch_set(write_card(tmp_path / "birds.card.toml", files=files), root)
    assert sorted(file.name for file in (root / "birds").iterdir()) == [CARD_FILE, "toy.npz"]


@pytest.mark.parametrize("zipped", [False, True])
def test_a_data_set_of_one_file_is_loaded_and_listed_with_its_card(call, tmp_path, root, zipped):
    content, name = npz(), "toy.npz"
    if zipped:
        file, name = io.BytesIO(), "toy.zip"
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("toy.npz", content)
        content = file.getvalue()
    with serving(content) as server:
        files = [{"addresses": [server.url], "name": name}]
        card = {"licence": "CC0", "files": files, "features": {"clip": {"encoder": "ViT"}}}
        path = write_card(tmp_path / "birds.card.toml", **card)
        assert fetch_set(path, root).new
    for text in ("birds", str(root / "birds"), str(root / "birds" / "toy.npz")):
        data = load_dataset(text, data_root=root)
        encoder = data.source["encodings"]["features"]["clip"]["encoder"]
        assert (data.name, data.licence, encoder) == ("birds", "CC0", "ViT")
    assert not fetch_set(path, root).new
    assert not fetch_set("birds(features=clip)", root).new
    listed = call("data", "list", "--data-root", root)
    assert "birds" in listed.stdout
    assert "folders below" not in listed.stdout + listed.stderr


def test_a_dead_address_of_a_card_is_mended_by_that_of_another_card(call, root):
    with serving(b"") as server:
        server.status = 404
        done = call("data", "fetch", server.url.replace("xlsa17.zip", "birds.card.toml"), "--data-root", root)
    one_line(done, 1, "answers 404 .*zslplat data fetch https://example.org/birds.card.toml")


def test_a_card_comes_by_address_and_features_of_it_are_chosen(call, tmp_path, root):
    content = archive_of(tmp_path, names=("AWA2",))
    with serving(content) as server:
        card = {"files": [{"addresses": [server.url], "features": ["res101"]}], "features": {"res101": {}}}
        with serving(tomli_w.dumps(card).encode()) as cards:
            came = fetch_set(cards.url.replace("xlsa17.zip", "AWA2.card.toml"), root)
        path = write_card(tmp_path / "AWA2.card.toml", **card)
        spec, found, author = find_card(path, root)
        assert (spec.name, found, author) == ("AWA2", card_of(card, "card"), f"the card {path}")
    assert (came.name, came.sha256) == ("AWA2", sha256(content))
    assert sorted(file.name for file in (root / ".downloads").iterdir()) == ["digests.json"]
    with pytest.raises(UnknownNameError, match=r"features on the card of AWA2: 'res10'; did you mean res101"):
        fetch_set("AWA2(features=res10)", tmp_path / "empty")
    one_line(
        call("data", "fetch", "AWA2(features=clip)", "--data-root", tmp_path / "empty"),
        2,
        "features on the card of AWA2",
    )
    with serving(b"x" * (5 << 20)) as large, pytest.raises(DataError, match="it has 5 MB; expected at most 4 MB"):
        fetch_set(large.url.replace("xlsa17.zip", "card.toml"), root)


def test_features_that_other_weights_made_are_not_taken_for_those_of_a_card(tmp_path, root):
    content = archive_of(tmp_path, names=("AWA2",))
    with serving(content) as server:
        card = {"files": [{"addresses": [server.url]}], "features": {"res101": {"weights_sha256": "a" * 64}}}
        fetch_set(write_card(tmp_path / "AWA2.card.toml", **card), root)
        card["features"]["res101"]["weights_sha256"] = "b" * 64
        path = write_card(tmp_path / "AWA2.card.toml", **card)
        message = (
            r"its features res101 were made by weights of SHA-256 aaaaaaaaaaaa\.\.\., and the card .* bbbbbbbbbbbb"
        )
        with pytest.raises(DataError, match=message):
            fetch_set(path, root)


def test_cards_of_public_sets_state_two_addresses_and_no_digest():
    for name in ("AWA1", "AWA2", "CUB", "SUN", "APY"):
        _, card, author = find_card(name, None)
        (file,) = card.files
        assert (len(file.addresses), file.sha256, author) == (2, "", "the card of zslplat-papers")
        assert card.features["res101"].pretraining == "imagenet-1k"


def test_a_card_survives_as_croissant_and_one_without_digests_is_refused(call, tmp_path, root):
    content = archive_of(tmp_path, names=("AWA2",))
    out = tmp_path / "croissant.json"
    one_line(call("data", "card", "AWA2", "--to", out, "--data-root", root), 1, "no SHA-256 of xlsa17.zip")
    with serving(content) as server:
        fetch_set("AWA2", root, url=server.url)
        assert call("data", "card", "AWA2", "--to", out, "--data-root", root).returncode == 0
        card = load_card(root / "AWA2" / CARD_FILE)
        written = json.loads(out.read_text())
        assert card_of_croissant(written, "file") == ("AWA2", card)
        (file,) = written["distribution"]
        assert (file["contentUrl"], file["sha256"]) == (server.url, sha256(content))
        shutil.rmtree(root / "AWA2")
        came = fetch_set(str(out), root)
    assert came.trust == f"the SHA-256 that the card {out} states"
    assert call("data", "card", "AWA2", "--data-root", root).stdout == card.to_toml()


def test_croissant_of_others_gives_texts_and_files():
    file = {"addresses": ["https://a.example/x.zip", "https://b.example/x"], "sha256": "a" * 64, "size": 12}
    texts = {"description": "42 kinds", "licence": "CC0", "citation": "me", "made_by": "us"}
    content = croissant_of("birds", card_of({**texts, "files": [{**file, "name": "x.zip"}]}, "card"))
    own = card_of_croissant(content, "file")
    del content["zslplat:card"]
    content["distribution"].append({"@type": "cr:FileSet", "name": "inside"})
    assert card_of_croissant(content, "file") == own
    with pytest.raises(DataError, match=r"is no Croissant: conformsTo is ''; expected 'http://mlcommons"):
        card_of_croissant({"name": "birds"}, "file")


def test_a_data_set_of_the_hub_needs_its_library_and_becomes_parquet(call, tmp_path, root, monkeypatch):
    """Without the library a line says how to get it; with one, each split is a file, and a card says where from."""
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DataError, match=r"hub:me/birds: the library datasets is not installed; pip install 'zslplat-p"):
        fetch_set("hub:me/birds", root)
    saved = tmp_path / "birds"
    saved.mkdir()

    class Rows:
        info = SimpleNamespace(description="42 kinds", license="CC0", citation="")

        def __init__(self, rows):
            self.rows = rows

        def to_parquet(self, path):
            X, y = toy()["X"][self.rows], toy()["y"][self.rows]
            columns = {"label": [NAMES[k] for k in y], "features": [row.tolist() for row in X]}
            parquet.write_table(pyarrow.table(columns), path)

    rows = {split: Rows(toy()[split]) for split in ("train", "test_seen", "test_unseen")}
    library = SimpleNamespace(load_from_disk=lambda path: rows if path == str(saved) else None)
    monkeypatch.setitem(sys.modules, "datasets", library)
    came = fetch_set(f"hub:{saved}", root)
    assert came.trust.startswith("the hub and the library datasets")
    data = load_dataset("birds", data_root=root)
    assert (data.description, data.licence) == ("42 kinds", "CC0")
    assert {name: len(index) for name, index in data.splits.items()} == {name: len(toy()[name]) for name in rows}
    assert not fetch_set(f"hub:{saved}", root).new
    library.load_from_disk = lambda path: {}[path]
    with pytest.raises(DataError, match=r"KeyError.*; correct the name, or look whether the hub answers"):
        fetch_set(f"hub:{saved}", tmp_path / "other")
