"""Files of data sets come from known addresses, are the same as the first time, and no half of anything is left."""

import errno
import hashlib
import shutil
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from download_toys import archive_of, serving
from json_documents import checked
from support import one_line
from xlsa17_toys import write_folder

from zslplat.errors import DataError, UnknownNameError
from zslplat_papers.cli.fetch import _download_progress
from zslplat_papers.fetching import archives, download
from zslplat_papers.fetching.download import FirstDigest, first_digest, remember_digest
from zslplat_papers.fetching.fetch import fetch_set


@pytest.fixture
def server(tmp_path):
    with serving(archive_of(tmp_path)) as server:
        yield server


@pytest.fixture
def root(tmp_path):
    return tmp_path / "root"


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def test_a_set_is_fetched_once_and_its_digest_is_kept_beside_the_data(server, root):
    found = fetch_set("AWA2", root, url=server.url)
    assert (found.new, found.folder, found.also) == (True, root / "AWA2", ("CUB",))
    assert found.sha256 == sha256(server.content)
    first = first_digest(root, server.url)
    assert (first.sha256, first.size) == (sha256(server.content), len(server.content))
    again = fetch_set("AWA2", root, url=server.url)
    assert not again.new
    assert again.sha256 == found.sha256
    assert len(server.asked) == 1


def test_a_file_that_changed_since_the_first_time_is_refused_and_nothing_of_it_is_kept(server, root, tmp_path):
    fetch_set("AWA2", root, url=server.url)
    before = server.content
    shutil.rmtree(root / "AWA2")
    server.content, server.tag = archive_of(tmp_path, extra=[("xlsa17/note.txt", "changed")]), '"v2"'
    message = rf"has changed: SHA-256 is {sha256(server.content)}, and was {sha256(before)} when it was first fetched"
    with pytest.raises(DataError, match=message):
        fetch_set("AWA2", root, url=server.url)
    assert not (root / "AWA2").exists()
    assert [path.name for path in (root / ".downloads").iterdir()] == ["digests.json"]
    assert first_digest(root, server.url).sha256 == sha256(before)
    # Who names the new digest has seen it.
    assert fetch_set("AWA2", root, url=server.url, sha256=sha256(server.content)).new
    assert first_digest(root, server.url).sha256 == sha256(server.content)


def test_a_data_root_is_made_with_the_folders_above_it(server, tmp_path):
    assert fetch_set("AWA2", tmp_path / "far" / "down", url=server.url).folder.is_dir()


def test_the_same_file_again_is_taken_without_a_word(server, root):
    fetch_set("CUB", root, url=server.url)
    shutil.rmtree(root / "CUB")
    assert fetch_set("CUB", root, url=server.url).new
    assert len(server.asked) == 2


def test_a_download_that_broke_off_goes_on_with_the_same_command(server, root, monkeypatch):
    monkeypatch.setattr(download.time, "sleep", lambda seconds: None)
    half = len(server.content) // 2
    server.drops = [half, 0, 0, 0, 0, 0]
    with pytest.raises(DataError, match=f"the same command goes on from byte {half}"):
        fetch_set("AWA2", root, url=server.url)
    assert fetch_set("AWA2", root, url=server.url).new
    assert server.asked[-1] == f"bytes={half}-"


def test_a_page_in_place_of_the_archive_is_removed_and_its_digest_is_not_trusted(server, root):
    whole, server.content = server.content, b"<html>please sign in</html>"
    with pytest.raises(DataError, match=r"the 27 bytes that came are no zip archive"):
        fetch_set("AWA2", root, url=server.url)
    assert list((root / ".downloads").iterdir()) == []
    server.content = whole
    assert fetch_set("AWA2", root, url=server.url).new


def damaged(content):
    """An archive of which one member is not what its checksum says."""
    place = content.find(b"MATLAB") + 200
    return content[:place] + bytes(b ^ 255 for b in content[place : place + 50]) + content[place + 50 :]


@pytest.mark.parametrize("keep", [False, True])
def test_a_damaged_archive_is_removed_with_its_record_and_its_digest_is_not_trusted(server, root, tmp_path, keep):
    whole, server.content = server.content, damaged(server.content)
    message = (
        r"/xlsa17\.zip: cannot be read as a zip archive \(Bad CRC.*\); nothing of it was kept; the same command fetches"
    )
    for _ in range(2):
        with pytest.raises(DataError, match=message):
            fetch_set("AWA2", root, url=server.url, keep_archive=keep)
        assert [path.name for path in root.iterdir()] == [".downloads"]
        assert list((root / ".downloads").iterdir()) == []
    server.content, server.tag = whole, '"v2"'
    assert fetch_set("AWA2", root, url=server.url, keep_archive=keep).sha256 == sha256(whole)
    # From now on it is this one that is trusted.
    shutil.rmtree(root / "AWA2")
    (root / ".downloads" / "xlsa17.zip").unlink(missing_ok=True)
    server.content, server.tag = damaged(whole), '"v3"'
    with pytest.raises(DataError, match=f"has changed: SHA-256 is {sha256(damaged(whole))}, and was {sha256(whole)}"):
        fetch_set("AWA2", root, url=server.url)
    assert first_digest(root, server.url).sha256 == sha256(whole)


def test_an_archive_that_is_damaged_as_it_was_at_first_can_change_by_a_digest_alone(server, root):
    whole, server.content = server.content, damaged(server.content)
    write_folder(root / "AWA2")
    fetch_set("CUB", root, url=server.url)
    shutil.rmtree(root / "AWA2")
    with pytest.raises(
        DataError, match="it has the expected SHA-256, and will come so again; give another --url, or the"
    ):
        fetch_set("AWA2", root, url=server.url)
    assert [path.name for path in (root / ".downloads").iterdir()] == ["digests.json"]
    server.content, server.tag = whole, '"v2"'
    with pytest.raises(DataError, match="has changed"):
        fetch_set("AWA2", root, url=server.url)
    assert fetch_set("AWA2", root, url=server.url, sha256=sha256(whole)).new


def test_an_archive_that_would_write_elsewhere_is_removed_and_the_way_out_is_told(call, server, root, tmp_path):
    server.content = archive_of(tmp_path, extra=[("xlsa17/../../evil.mat", "evil")])
    done = call("data", "fetch", "AWA2", "--url", server.url, "--data-root", root, "-q")
    message = rf"{server.url}: refused, it would write outside its folder: 'xlsa17/\.\./\.\./evil\.mat'"
    one_line(done, 1, rf"{message}; nothing of it was kept; give another --url")
    assert list((root / ".downloads").iterdir()) == []
    assert not list(tmp_path.rglob("evil.mat"))


def test_an_archive_that_finds_no_room_is_kept_and_unpacked_by_the_same_command(server, root, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(archives, "_extract", full)
        with pytest.raises(DataError, match=r"cannot be unpacked into .*No space left"):
            fetch_set("AWA2", root, url=server.url)
    assert fetch_set("AWA2", root, url=server.url).new
    assert len(server.asked) == 1


def test_an_address_that_is_gone_is_one_clear_line(server, root):
    server.status = 404
    with pytest.raises(DataError, match=r"the server answers 404 Not Found; .*give another --url"):
        fetch_set("AWA2", root, url=server.url)


def test_no_network_is_one_clear_line(root, monkeypatch):
    def nobody(*_, **__):
        raise download.urllib.error.URLError(download.socket.gaierror(-3, "Temporary failure in name resolution"))

    monkeypatch.setattr(download.urllib.request.OpenerDirector, "open", nobody)
    with pytest.raises(DataError, match=r"Temporary failure in name resolution; is this machine online\?"):
        fetch_set("AWA2", root)


def test_a_disk_without_room_is_told_before_anything_is_written(server, root, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(download.shutil, "disk_usage", lambda path: usage(10**12, 10**12, 100))
    with pytest.raises(DataError, match=r"GB are to come, and 0\.00 GB are free in .*; free space"):
        fetch_set("AWA2", root, url=server.url)
    assert not (root / "AWA2").exists()


def test_a_disk_that_fills_up_keeps_what_came(server, root, monkeypatch):
    class Full:
        def __init__(self, file):
            self.file = file

        def __getattr__(self, name):
            return getattr(self.file, name)

        def write(self, chunk):
            raise OSError(errno.ENOSPC, "No space left on device")

    whole = download._Transfer.__init__

    def made(self, url, file, *rest):
        whole(self, url, Full(file), *rest)

    monkeypatch.setattr(download._Transfer, "__init__", made)
    with pytest.raises(DataError, match=r"No space left on device; the same command goes on from byte 0"):
        fetch_set("AWA2", root, url=server.url)


def test_what_has_no_known_address_says_so(root):
    with pytest.raises(
        DataError, match=r"digits: nothing is fetched for it: it is built in .*known for APY, AWA1, AWA2"
    ):
        fetch_set("digits", root, ["digits"])
    with pytest.raises(UnknownNameError, match=r"unknown data set to fetch 'AWA3'; did you mean"):
        fetch_set("AWA3", root)
    write_folder(root / "mine")
    np.savez(root / "own.npz", X=np.eye(3))
    for name, place in (("mine", root / "mine"), ("own", root / "own.npz")):
        found = fetch_set(name, root)
        assert (found.new, found.folder) == (False, place)


@pytest.mark.parametrize("name", ["", " ", ".", "..", ".downloads", "/etc", "a/AWA2", "../root/AWA2", "AWA2/", "A\nB"])
def test_what_is_no_name_of_one_folder_is_refused_whatever_is_there(call, root, name):
    (root / ".downloads").mkdir(parents=True)
    done = call("data", "fetch", name, "--data-root", root)
    one_line(done, 2, "it is empty|begins or ends with a dot|is a path|control characters", "AWA1, AWA2, CUB or SUN")
    assert done.stdout == ""


def test_an_empty_folder_is_no_data_set_and_is_filled(server, root):
    (root / "AWA2").mkdir(parents=True)
    (root / "mine").mkdir()
    found = fetch_set("AWA2", root, url=server.url)
    assert (found.new, found.also) == (True, ("CUB",))
    assert (root / "AWA2" / "card.toml").is_file()
    with pytest.raises(UnknownNameError, match="unknown data set to fetch 'mine'"):
        fetch_set("mine", root)


def test_what_is_in_the_way_is_told_before_anything_is_downloaded(call, server, root):
    (root / "CUB").mkdir(parents=True)
    (root / "CUB" / "notes.txt").write_text("mine")
    (root / "AWA2").write_text("mine")
    (root / "AWA1").symlink_to("nowhere")
    for name, what in (("AWA2", "is a file"), ("AWA1", "is a link"), ("CUB", "holds no data set in a layout")):
        done = call("data", "fetch", name, "--url", server.url, "--data-root", root)
        one_line(done, 1, rf"{root / name} {what}.*; move it away, or give another --data-root")
    assert not server.asked
    assert (root / "AWA2").read_text() == (root / "CUB" / "notes.txt").read_text() == "mine"


def test_an_archive_without_the_set_says_what_it_holds(tmp_path, root):
    only = pytest.raises(DataError, match="the archive holds no AWA2, only CUB")
    with serving(archive_of(tmp_path, names=("CUB",))) as server, only:
        fetch_set("AWA2", root, url=server.url)

    nothing = pytest.raises(
        DataError, match="holds no AWA2, nor another set that is not there already; give another --url"
    )
    with serving(archive_of(tmp_path, names=("CUB",))) as server, nothing:
        fetch_set("AWA2", root, url=server.url)


def test_damaged_digests_are_not_passed_over(server, root):
    fetch_set("AWA2", root, url=server.url)
    (root / ".downloads" / "digests.json").write_text("[{}]")
    shutil.rmtree(root / "AWA2")
    with pytest.raises(DataError, match=r"digests\.json: the digests of earlier downloads cannot be read"):
        fetch_set("AWA2", root, url=server.url)


def test_the_command_fetches_and_prints_where_from(call, server, root):
    done = call("data", "fetch", "CUB", "--url", server.url, "--data-root", root, "--json")
    assert done.returncode == 0, done.stderr
    told = checked("data fetch", done.stdout)
    assert told["new"] is True
    assert told["sha256"] == sha256(server.content)
    done = call("data", "fetch", "CUB", "--url", server.url, "--data-root", root)
    assert f"CUB: there already, {root / 'CUB'}, from {server.url}, SHA-256 {sha256(server.content)}" in done.stdout


def test_a_query_of_the_address_is_in_no_name_of_a_file(server, root):
    fetch_set("AWA2", root, url=f"{server.url}?token=secret&x={'a' * 300}", keep_archive=True)
    names = [path.name for path in (root / ".downloads").iterdir()]
    assert not [name for name in names if "secret" in name or "?" in name]


@pytest.mark.parametrize("last", ["digests.json", "..", "a.zip.json", f"{'a' * 300}.zip", "get"])
def test_no_name_in_an_address_gets_in_the_way_of_the_records(server, root, last):
    fetch_set("AWA2", root, url=server.url)
    before = (root / ".downloads" / "digests.json").read_text()
    whole, server.content = server.content, b"<html>please sign in</html>"
    shutil.rmtree(root / "AWA2")
    with pytest.raises(DataError, match="no zip archive"):
        fetch_set("AWA2", root, url=server.url.replace("xlsa17.zip", last))
    assert {path.name: path.read_text() for path in (root / ".downloads").iterdir()} == {"digests.json": before}
    server.content = whole
    assert fetch_set("AWA2", root, url=server.url.replace("xlsa17.zip", last)).new


def test_an_archive_that_is_kept_is_not_taken_for_that_of_another_address(server, root, tmp_path):
    fetch_set("AWA2", root, url=server.url, keep_archive=True)
    shutil.rmtree(root / "AWA2")
    with serving(archive_of(tmp_path, extra=[("xlsa17/note.txt", "another")])) as other:
        assert fetch_set("AWA2", root, url=other.url).url == other.url
        assert first_digest(root, other.url).sha256 == sha256(other.content) != first_digest(root, server.url).sha256


@pytest.mark.parametrize("given", ["zz", "0" * 63, "g" * 64, "sha256:" + "0" * 64])
def test_what_is_no_digest_is_refused_before_anything_is_downloaded(call, server, root, given):
    message = rf"--sha256 '{given}': {len(given)} characters; expected the 64 hex digits that sha256sum prints"
    one_line(call("data", "fetch", "CUB", "--url", server.url, "--data-root", root, "--sha256", given), 2, message)
    assert not server.asked
    assert not root.exists()


def test_a_bar_is_drawn_from_the_first_bytes_on_and_none_where_nothing_comes(capfd):
    with _download_progress(quiet=False):
        pass
    assert capfd.readouterr().err == ""
    with _download_progress(quiet=False) as progress:
        progress(500, 1000)
        progress(1000, 1000)
    assert "downloading" in capfd.readouterr().err
    assert _download_progress(quiet=True).__enter__() is None


def test_a_digest_is_compared_with_what_is_there_already(server, root):
    digest = fetch_set("AWA2", root, url=server.url).sha256
    assert fetch_set("AWA2", root, url=server.url, sha256=digest.upper()).sha256 == digest
    with pytest.raises(DataError, match=rf"is there already, from an archive of checksum {digest}; expected 1111"):
        fetch_set("AWA2", root, url=server.url, sha256="1" * 64)
    (root / "AWA2" / "card.toml").unlink()
    with pytest.raises(DataError, match="is there already, and does not say of which archive; expected"):
        fetch_set("AWA2", root, url=server.url, sha256=digest)


def test_digests_of_downloads_abreast_are_all_remembered(tmp_path):
    found = [FirstDigest(f"https://example.org/{number}.zip", number, "0" * 64, "today") for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda digest: remember_digest(tmp_path, digest), found))
    assert [first_digest(tmp_path, digest.url) for digest in found] == found
