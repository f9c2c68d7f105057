"""The built site is found and unpacked; without one the written pages are shown."""

import os
import re
import tomllib
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import build
from zslplat import documentation_site as site
from zslplat.errors import StoreError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(site, "cached", lambda: tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def brought(tmp_path, monkeypatch):
    """A distribution that brings a built site."""
    pages = tmp_path / "built"
    (pages / "inner").mkdir(parents=True)
    (pages / "index.html").write_text("first page")
    (pages / "inner" / "page.html").write_text("another")
    file = tmp_path / site.PACKED
    build.pack(pages, file)
    monkeypatch.setattr(site, "packed", lambda: file)
    return file


def test_what_the_distribution_brings_is_unpacked_once(cache, brought):
    page = site.start_page()
    assert page.read_text() == "first page"
    assert (page.parent / "inner" / "page.html").read_text() == "another"
    page.write_text("kept")
    assert site.start_page() == page
    assert page.read_text() == "kept"


def test_commands_abreast_find_it_whole(cache, brought):
    with ThreadPoolExecutor(8) as pool:
        pages = [page for page in pool.map(lambda _: site.start_page(), range(8)) if page.read_text() == "first page"]
    assert len(pages) == 8
    assert [path for path in cache.iterdir() if path.name.startswith(".")] == []


def test_another_state_has_a_copy_of_its_own_and_one_that_nobody_uses_goes(cache, brought):
    first = site.start_page()
    with zipfile.ZipFile(brought, "w") as archive:
        archive.writestr("index.html", "newer")
    second = site.start_page()
    assert second.read_text() == "newer"
    assert first.read_text() == "first page", "another installation's"
    os.utime(first.parents[1], (0, 0))
    with zipfile.ZipFile(brought, "w") as archive:
        archive.writestr("index.html", "newest")
    third = site.start_page()
    assert (second.exists(), third.exists()) == (True, True)
    assert not first.exists()


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the documentation is not beside the tests")
def test_without_a_built_site_plain_pages_are_shown_whose_links_lead_somewhere(cache, monkeypatch):
    monkeypatch.setattr(site, "packed", lambda: None)
    page = site.start_page()
    pages = list(page.parent.rglob("*.html"))
    assert len(pages) > 80
    for written in pages:
        text = written.read_text(encoding="utf-8")
        assert "{toctree}" not in text
        for link in re.findall(r'href="([^":#]+\.(?:html|json))|src="([^":]+)"', text):
            assert (written.parent / "".join(link)).is_file(), f"{written.name}: {link}"


def test_an_installation_without_sources_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(site, "__file__", str(tmp_path / "lib" / "zslplat" / "documentation_site.py"))
    monkeypatch.setattr(site, "_distributed", lambda name: [])
    with pytest.raises(StoreError, match="from a clone"):
        site.sources()


def test_command_prints_the_first_page_and_opens_nothing_with_path(cache, brought, monkeypatch, capsys):
    import webbrowser

    from zslplat.cli.app import run_app

    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    assert run_app(["docs", "--path"]) == 0
    page = Path(capsys.readouterr().out.strip())
    assert page.read_text() == "first page"
    assert opened == []
    assert run_app(["docs"]) == 0
    assert opened == [page.as_uri()]


def test_command_says_where_no_browser_opens(cache, brought, monkeypatch, capsys):
    import webbrowser

    from zslplat.cli.app import run_app

    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    assert run_app(["docs"]) == 0
    assert "no browser" in capsys.readouterr().err


def test_copy_of_the_sources_follows_them(tmp_path):
    root, work = tmp_path / "root", tmp_path / "work"
    for name in ("docs", "examples"):
        (root / name).mkdir(parents=True)
        (root / name / "kept.txt").write_text(name)
    (root / "docs" / "old.md").write_text("old")
    build.copy_sources(root, work)
    (work / "docs" / "generated").mkdir()
    (work / "docs" / "generated" / "made.md").write_text("made")
    (root / "docs" / "old.md").unlink()
    build.copy_sources(root, work)
    found = sorted(str(path.relative_to(work)) for path in work.rglob("*") if path.is_file())
    assert found == ["docs/generated/made.md", "docs/kept.txt", "examples/kept.txt"]


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the documentation is not beside the tests")
def test_distribution_brings_every_source_of_the_site():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["data-files"]
    brought = {
        f"{place.removeprefix('share/zslplat/')}/{path.name}"
        for place, patterns in listed.items()
        for pattern in patterns
        for path in ROOT.glob(pattern)
    }
    needed = {
        str(path.relative_to(ROOT))
        for folder in ("docs", "examples")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix != ".pyc" and "_build" not in path.parts
    }
    # The pages of checks come from the package; figures are drawn where the results are kept, in a checkout.
    needed = {name for name in needed if not name.startswith("docs/checks/")}
    assert needed - brought <= {"docs/figures.py", "docs/figures.toml"}
