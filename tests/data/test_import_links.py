"""Importing by hard links: no space is taken, and where it cannot be done that is said before anything is there."""

import os

import pytest
from file_toys import write_npy, write_parquet

from zslplat.data.importing import import_arrays
from zslplat.errors import DataError


def files_under(folder):
    return {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("write", [write_npy, write_parquet])
def test_linked_files_are_those_of_the_source_and_outlive_it(tmp_path, write):
    source, root = write(tmp_path / "toy"), tmp_path / "root"
    import_arrays(source, root, "mine", link=True)
    own, theirs = files_under(root / "mine"), files_under(source)
    assert own.keys() == theirs.keys()
    assert all(os.path.samefile(own[name], theirs[name]) for name in own)
    content = {name: path.read_bytes() for name, path in own.items()}
    for path in theirs.values():
        path.unlink()
    assert {name: path.read_bytes() for name, path in own.items()} == content


def test_what_is_behind_a_symbolic_link_is_linked(tmp_path):
    source, root = write_npy(tmp_path / "toy"), tmp_path / "root"
    labels = source / "labels.npy"
    labels.rename(tmp_path / "elsewhere.npy")
    labels.symlink_to(tmp_path / "elsewhere.npy")
    import_arrays(source, root, "mine", link=True)
    assert not (root / "mine" / "labels.npy").is_symlink()
    assert os.path.samefile(root / "mine" / "labels.npy", tmp_path / "elsewhere.npy")


def test_without_links_the_copy_is_apart(tmp_path):
    source, root = write_npy(tmp_path / "toy"), tmp_path / "root"
    import_arrays(source, root, "mine")
    assert not any(os.path.samefile(path, root / "mine" / name) for name, path in files_under(source).items())


def test_a_file_system_that_cannot_link_is_told_and_nothing_is_left(tmp_path, monkeypatch):
    source, root = write_npy(tmp_path / "toy"), tmp_path / "root"

    def refuse(*_):
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr("os.link", refuse)
    with pytest.raises(DataError, match=r"Invalid cross-device link; a link needs both on one file system.*--link"):
        import_arrays(source, root, "mine", link=True)
    assert list(root.iterdir()) == []


def test_the_command_links(tmp_path, call):
    source, root = write_npy(tmp_path / "toy"), tmp_path / "root"
    done = call("data", "import", source, "--name", "mine", "--link", "--data-root", root)
    assert "imported mine: " in done.stdout, done.stderr
    assert (root / "mine" / "features.npy").stat().st_nlink == 2
