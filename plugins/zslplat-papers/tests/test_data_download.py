"""Downloads resume, verify and never leave half a file; archives never write outside the data root."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import io
import json
import os
import stat
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from download_toys import archive_of, serving

from zslplat.data.feature_card import CARD_FILE, load_card
from zslplat.data.formats.xlsa17 import Xlsa17
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError
from zslplat_papers.fetching.archives import ArchiveError, unpack_datasets
from zslplat_papers.fetching.download import fetch
from zslplat_papers.fetching.fetch import fetch_set

CONTENT = np.random.default_rng(0).integers(0, 256, 3_000_000, dtype=np.uint8).tobytes()


@pytest.fixture
def server():
    with serving(CONTENT) as server:
        yield server


def test_whole_file_arrives_with_its_record(server, tmp_path):
    seen = []
    path = fetch(server.url, tmp_path / "a" / "f.zip", progress=lambda done, total: seen.append((done, total)))
    assert path.read_bytes() == CONTENT
    record = json.loads((tmp_path / "a" / "f.zip.json").read_text())
    assert record["sha256"] == hashlib.sha256(CONTENT).hexdigest()
    assert record["size"] == len(CONTENT)
    assert record["url"] == server.url
    assert sorted(p.name for p in path.parent.iterdir()) == ["f.zip", "f.zip.json"]
    assert seen[-1] == (len(CONTENT), len(CONTENT))


def test_complete_file_is_not_fetched_again_and_a_changed_one_is(server, tmp_path):
    path = fetch(server.url, tmp_path / "f.zip")
    fetch(server.url, path)
    assert len(server.asked) == 1
    path.write_bytes(CONTENT[:-1] + b"?")
    assert fetch(server.url, path).read_bytes() == CONTENT
    assert len(server.asked) == 2


def test_broken_connection_is_resumed_where_it_stopped(server, tmp_path):
    server.drops = [1_000_000, 500_000]
    assert fetch(server.url, tmp_path / "f.zip", pause=0).read_bytes() == CONTENT
    assert server.asked == [None, "bytes=1000000-", "bytes=1500000-"]


def test_later_call_goes_on_from_what_an_earlier_one_left(server, tmp_path):
    server.drops = [1_000_000, 0, 0, 0, 0, 0]
    with pytest.raises(DataError, match=r"5 times in a row; the same command goes on from byte 1000000"):
        fetch(server.url, tmp_path / "f.zip", pause=0)
    assert not (tmp_path / "f.zip").exists()
    assert fetch(server.url, tmp_path / "f.zip").read_bytes() == CONTENT
    assert server.asked[-1] == "bytes=1000000-"


@pytest.mark.parametrize("change", ["no ranges", "another file", "no tag"])
def test_file_is_fetched_from_its_beginning_where_it_cannot_be_resumed(server, tmp_path, change):
    server.drops = [1_000_000, 0, 0, 0, 0, 0]
    server.tag = "" if change == "no tag" else server.tag
    with pytest.raises(DataError, match="times in a row"):
        fetch(server.url, tmp_path / "f.zip", pause=0)
    if change == "no ranges":
        server.ranges = False
    if change == "another file":
        server.content, server.tag = CONTENT[::-1], '"v2"'
    assert fetch(server.url, tmp_path / "f.zip", pause=0).read_bytes() == server.content
    if change == "no tag":
        assert set(server.asked) == {None}


def test_complete_part_is_accepted_without_its_bytes_again(server, tmp_path):
    (tmp_path / "f.zip.part").write_bytes(CONTENT)
    (tmp_path / "f.zip.part.json").write_text(json.dumps({"url": server.url, "validator": '"v1"'}))
    assert fetch(server.url, tmp_path / "f.zip").read_bytes() == CONTENT
    assert server.asked == [f"bytes={len(CONTENT)}-"]


def test_part_longer_than_the_file_is_thrown_away(server, tmp_path):
    (tmp_path / "f.zip.part").write_bytes(CONTENT + b"more")
    (tmp_path / "f.zip.part.json").write_text(json.dumps({"url": server.url, "validator": '"v1"'}))
    assert fetch(server.url, tmp_path / "f.zip", pause=0).read_bytes() == CONTENT


def test_server_without_length_is_read_to_the_end(server, tmp_path):
    server.sends_length = False
    assert fetch(server.url, tmp_path / "f.zip").read_bytes() == CONTENT


def test_wrong_checksum_is_refused_and_nothing_is_kept(server, tmp_path):
    with pytest.raises(DataError, match=r"SHA-256 is [0-9a-f]{64}, expected 00"):
        fetch(server.url, tmp_path / "f.zip", sha256="00")
    assert list(tmp_path.iterdir()) == []


def test_refusals_are_one_clear_line(server, tmp_path):
    server.status = 404
    with pytest.raises(DataError, match=r"xlsa17\.zip: the server answers 404 Not Found"):
        fetch(server.url, tmp_path / "f.zip")
    assert len(server.asked) == 1
    server.status = 503
    with pytest.raises(DataError, match=r"the server answers 503 .*5 times in a row"):
        fetch(server.url, tmp_path / "f.zip", pause=0)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot save"):
        fetch(server.url, tmp_path / "file" / "f.zip")


def test_unreachable_server_is_one_clear_line(server, tmp_path):
    url = server.url
    server.server_close()
    with pytest.raises(DataError, match=r"cannot download .*refused, 5 times in a row"):
        fetch(url, tmp_path / "f.zip", pause=0)


def test_two_downloads_of_one_file_do_not_mix(server, tmp_path):
    with (tmp_path / "f.zip.part").open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(DataError, match=r"is being downloaded to .* by another process"):
            fetch(server.url, tmp_path / "f.zip")
    assert server.asked == []


# -- archives ---------------------------------------------------------------------------------------------------------


def test_prepared_archive_can_be_loaded_by_name(server, tmp_path):
    server.content = archive_of(tmp_path)
    root = tmp_path / "root"
    came = fetch_set("AWA2", root, url=server.url)
    assert (came.name, came.also) == ("AWA2", ("CUB",))
    assert sorted(p.name for p in root.iterdir()) == [".downloads", "AWA2", "CUB"]
    assert [p.name for p in (root / ".downloads").iterdir()] == ["digests.json"]
    for name in ("AWA2", "CUB"):
        (file,) = load_card(root / name / CARD_FILE).files
        assert (file.addresses[0], file.sha256) == (server.url, hashlib.sha256(server.content).hexdigest())
    here = Xlsa17(path="AWA2").load(DataPlaces(root))
    assert here.fingerprint == Xlsa17(path="AWA2").load(DataPlaces(tmp_path / "source")).fingerprint


def test_folders_that_are_there_stay_as_they_are(server, tmp_path):
    server.content = archive_of(tmp_path)
    (tmp_path / "root" / "CUB").mkdir(parents=True)
    (tmp_path / "root" / "CUB" / "mine").write_text("mine")
    assert fetch_set("AWA2", tmp_path / "root", url=server.url, keep_archive=True).also == ()
    assert [p.name for p in (tmp_path / "root" / "CUB").iterdir()] == ["mine"]
    assert (tmp_path / "root" / ".downloads" / "xlsa17.zip").is_file()
    assert not fetch_set("AWA2", tmp_path / "root", url=server.url).new


def _link():
    info = zipfile.ZipInfo("xlsa17/data/AWA2/link.mat")
    info.create_system = 3
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


EVIL = {
    "absolute path": ("/tmp/evil.mat", "write outside"),
    "parent folder": ("xlsa17/data/AWA2/../../../evil.mat", "write outside"),
    "backslash": ("xlsa17\\..\\evil.mat", "write outside"),
    "drive": ("C:evil.mat", "write outside"),
    "link": (_link(), "a link or special file"),
}


@pytest.mark.parametrize("case", EVIL)
def test_archives_that_reach_outside_are_refused_before_anything_is_written(tmp_path, case):
    member, message = EVIL[case]
    (tmp_path / "e.zip").write_bytes(archive_of(tmp_path, extra=[(member, "/etc/passwd")]))
    root = tmp_path / "root"
    root.mkdir()
    with pytest.raises(DataError, match=rf"e\.zip: refused, .*{message}"):
        unpack_datasets(tmp_path / "e.zip", root)
    assert list(root.iterdir()) == []
    assert not (tmp_path / "evil.mat").exists()


def test_absurd_sizes_are_refused(tmp_path):
    (tmp_path / "b.zip").write_bytes(archive_of(tmp_path))
    (tmp_path / "root").mkdir()
    with pytest.raises(DataError, match=r"unpacks to more than 1e-06 GB"):
        unpack_datasets(tmp_path / "b.zip", tmp_path / "root", max_bytes=1000)


def test_members_that_appear_twice_are_refused(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        content = archive_of(tmp_path, extra=[("xlsa17/data/AWA2/att_splits.mat", "other")])
    (tmp_path / "d.zip").write_bytes(content)
    with pytest.raises(DataError, match="holds a file twice"):
        unpack_datasets(tmp_path / "d.zip", tmp_path)


def test_damaged_archive_leaves_no_folder(tmp_path):
    content = bytearray(archive_of(tmp_path))
    place = content.find(b"PK\x03\x04", 200) + 100
    content[place : place + 50] = bytes(50)
    (tmp_path / "d.zip").write_bytes(content)
    (tmp_path / "t.zip").write_bytes(content[:500])
    (tmp_path / "root").mkdir()
    for name in ("d.zip", "t.zip"):
        with pytest.raises(DataError, match="cannot be read as a zip archive"):
            unpack_datasets(tmp_path / name, tmp_path / "root")
    assert list((tmp_path / "root").iterdir()) == []


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damage_is_the_fault_of_the_archive_however_it_is_packed(tmp_path, compression):
    with zipfile.ZipFile(tmp_path / "d.zip", "w", compression) as file:
        file.writestr("TOY/att_splits.mat", CONTENT[:5000])
    content = (tmp_path / "d.zip").read_bytes()
    (tmp_path / "root").mkdir()
    for place in (60, 100, 3000):
        flipped = bytes(b ^ 255 for b in content[place : place + 20])
        (tmp_path / "d.zip").write_bytes(content[:place] + flipped + content[place + 20 :])
        with pytest.raises(ArchiveError, match="cannot be read as a zip archive"):
            unpack_datasets(tmp_path / "d.zip", tmp_path / "root")
    assert list((tmp_path / "root").iterdir()) == []


def test_folders_have_entries_of_their_own_in_an_archive_or_none(tmp_path):
    content = archive_of(tmp_path)
    (tmp_path / "plain.zip").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "plain.zip") as plain, zipfile.ZipFile(tmp_path / "f.zip", "w") as file:
        for folder in ("xlsa17/", "xlsa17/data/", "xlsa17/data/AWA2/"):
            file.writestr(folder, "")
        for name in plain.namelist():
            file.writestr(name, plain.read(name))
    (tmp_path / "root").mkdir()
    assert [folder.name for folder in unpack_datasets(tmp_path / "f.zip", tmp_path / "root")] == ["AWA2", "CUB"]


def test_archive_without_data_sets_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "n.zip", "w") as file:
        file.writestr("photos/a.txt", "a")
    with pytest.raises(DataError, match="no archive of zero-shot data sets"):
        unpack_datasets(tmp_path / "n.zip", tmp_path)


@pytest.mark.parametrize("free", [2 * len(CONTENT) - 2, 10**12])
def test_more_than_is_expected_without_a_length_is_refused_and_not_kept(server, tmp_path, monkeypatch, free):
    server.sends_length = False
    monkeypatch.setattr("shutil.disk_usage", lambda place: SimpleNamespace(free=free))
    monkeypatch.setattr("zslplat_papers.fetching.download.MAX_BYTES", len(CONTENT) - 1 if free == 10**12 else 10**12)
    with pytest.raises(DataError, match=r"does not say how long the file is, and more than .* GB came"):
        fetch(server.url, tmp_path / "f.zip", pause=0)
    assert (tmp_path / "f.zip.part").stat().st_size == 0
    assert not (tmp_path / "f.zip").exists()


@pytest.mark.parametrize("suffix", [".json", ".part.json"])
def test_what_is_there_stays_where_it_cannot_be_read(server, tmp_path, monkeypatch, suffix):
    if suffix == ".json":
        fetch(server.url, tmp_path / "f.zip")
    else:
        (tmp_path / "f.zip.part").write_bytes(CONTENT[:1000])
        (tmp_path / "f.zip.part.json").write_text(json.dumps({"url": server.url, "validator": '"v1"'}))
    there = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    read_text = Path.read_text

    def refused(path, *arguments):
        if path.name == f"f.zip{suffix}":
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return read_text(path, *arguments)

    monkeypatch.setattr(Path, "read_text", refused)
    with pytest.raises(DataError, match="Too many open files"):
        fetch(server.url, tmp_path / "f.zip", pause=0)
    assert there.items() <= {path.name: path.read_bytes() for path in tmp_path.iterdir()}.items()


def test_an_archive_that_cannot_be_opened_stays(tmp_path, monkeypatch):
    with serving(archive_of(tmp_path)) as server:
        opened = io.open

        def refused(path, mode="r", *arguments, **options):
            if str(path).endswith("xlsa17.zip") and (Path(path).parent / "xlsa17.zip.json").exists():
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            return opened(path, mode, *arguments, **options)

        monkeypatch.setattr("io.open", refused)
        with pytest.raises(OSError, match="Too many open files"):
            fetch_set("AWA2", tmp_path / "root", url=server.url)
    assert next((tmp_path / "root").rglob("xlsa17.zip")).stat().st_size > 1000


@pytest.mark.parametrize("name", ["CON/a_splits.mat", "a\x1bb/a_splits.mat", "a/a_splits.mat;a/n\u202e.txt"])
def test_an_archive_brings_no_name_that_terminals_or_file_systems_stumble_over(tmp_path, name):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for member in name.split(";"):
            archive.writestr(member, b"x")
    with pytest.raises(DataError, match="is no name of a file everywhere"):
        unpack_datasets(tmp_path / "a.zip", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]
