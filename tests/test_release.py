"""A release is refused where something is not green: tree, version, changelog, tag, links, recipe, bytes."""

from __future__ import annotations

import gzip
import hashlib
import io
import shutil
import subprocess
import tarfile

import pytest
import release
from import_graph import ROOT

COPIED = ("pyproject.toml", "CITATION.cff", "CHANGELOG.md", "README.md", "recipe", "plugins")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository with the files that are read, committed; changed by ``edit(name, old, new)``."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            few = shutil.ignore_patterns("zslplat_*", "tests", "*.egg-info")
            shutil.copytree(source, tmp_path / name, ignore=few)
        else:
            shutil.copy(source, tmp_path / name)
    monkeypatch.setattr(release, "ROOT", tmp_path)
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    return tmp_path


def git(folder, *words):
    subprocess.run(["git", "-C", folder, "-c", "user.name=A", "-c", "user.email=a@b.example", *words], check=True)


def commit(folder):
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "State", "--allow-empty")


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_a_change_that_is_not_committed_is_refused(project):
    assert release.clean_tree()
    (project / "left.txt").write_text("over")
    with pytest.raises(release.Refused, match=r"left\.txt"):
        release.clean_tree()


def test_another_version_in_the_citation_or_outside_the_range_of_a_plugin_is_refused(project):
    assert release.version_everywhere() == release.project()["version"]
    edit(project / "CITATION.cff", "version: 0", "version: 7")
    with pytest.raises(release.Refused, match=r"CITATION\.cff"):
        release.version_everywhere()
    edit(project / "CITATION.cff", "version: 7", "version: 0")
    edit(project / "plugins" / "zslplat-papers" / "pyproject.toml", "zslplat>=0.1,<1", "zslplat>=0.2,<1")
    with pytest.raises(release.Refused, match="zslplat-papers"):
        release.version_everywhere()


def test_a_version_without_a_dated_entry_is_refused(project):
    version = release.project()["version"]
    (project / "CHANGELOG.md").write_text(f"# Changelog\n\n## {version} (unreleased)\n")
    with pytest.raises(release.Refused, match=version):
        release.changelog()
    edit(project / "CHANGELOG.md", "unreleased", "2030-01-31")
    assert release.changelog() == f"## {version} (2030-01-31)"


def test_the_tag_of_another_commit_is_refused(project):
    git(project, "tag", f"v{release.project()['version']}")
    assert release.tag()
    commit(project)
    with pytest.raises(release.Refused, match="another commit"):
        release.tag()


def test_a_picture_that_an_index_cannot_follow_is_refused(project):
    (project / "README.md").write_text("![a picture](https://example.org/a.png) [a place](#here)\n")
    assert release.absolute_links()
    (project / "README.md").write_text("![a picture](docs/a.png)\n")
    with pytest.raises(release.Refused, match=r"docs/a\.png"):
        release.absolute_links()


def test_a_recipe_that_asks_for_something_else_is_refused(project):
    pytest.importorskip("rattler_build")
    assert release.conda_recipe()
    edit(project / "recipe" / "recipe.yaml", "- pluggy", "- plugger")
    with pytest.raises(release.Refused, match=r"pluggy.*plugger|plugger.*pluggy"):
        release.conda_recipe()


def test_a_recipe_for_another_oldest_python_or_without_a_test_on_the_newest_is_refused(project):
    pytest.importorskip("rattler_build")
    edit(project / "recipe" / "recipe.yaml", '  python_min: "3.11"\n', "")
    with pytest.raises(release.Refused, match=r"python >=3\.10, python >=3\.11"):
        release.conda_recipe()
    edit(project / "recipe" / "recipe.yaml", "context:\n", 'context:\n  python_min: "3.11"\n')
    edit(project / "recipe" / "recipe.yaml", '        - "*"\n', "")
    with pytest.raises(release.Refused, match="the newest"):
        release.conda_recipe()


def test_conda_forge_takes_a_recipe_with_homepage_and_maintainers_and_the_digest_of_the_source(project, tmp_path):
    pytest.importorskip("rattler_build")
    source = tmp_path / f"zslplat-{release.project()['version']}.tar.gz"
    source.write_bytes(b"source")
    with pytest.raises(release.Refused, match=r"homepage: .* and recipe-maintainers: "):
        release.conda_forge(tmp_path)
    edit(project / "recipe" / "recipe.yaml", "about:\n", "about:\n  homepage: https://example.org\n")
    with (project / "recipe" / "recipe.yaml").open("a") as file:
        file.write("extra:\n  recipe-maintainers: [ada]\n")
    assert hashlib.sha256(b"source").hexdigest() in release.conda_forge(tmp_path)


def test_a_commit_is_tested_once_and_a_red_one_is_refused(project):
    (project / ".ci").mkdir()
    (project / ".ci" / "run").write_text("exit 3\n")
    commit(project)
    with pytest.raises(release.Refused, match="exit code 3"):
        release.tests()
    (project / ".ci" / "run").write_text("echo green\n")
    commit(project)
    assert release.tests()
    assert (project / ".git" / "tested-commit").read_text() == release.run("git", "rev-parse", "HEAD").strip()
    assert release.tests()


def test_archives_of_the_same_files_have_the_same_bytes(tmp_path):
    for name, user, clock in (("a.tar.gz", "anna", 5), ("b.tar.gz", "bert", 9)):
        with gzip.open(tmp_path / name, "wb") as file, tarfile.open(fileobj=file, mode="w") as archive:
            for member in ("z", "y") if user == "anna" else ("y", "z"):
                info = tarfile.TarInfo(member)
                info.size, info.uname, info.mtime = len(member), user, clock
                archive.addfile(info, io.BytesIO(member.encode()))
        release.same_bytes(tmp_path / name, 1000)
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()
    with tarfile.open(tmp_path / "a.tar.gz") as archive:
        assert [(m.name, m.mtime, m.uname) for m in archive.getmembers()] == [("y", 1000, ""), ("z", 1000, "")]
