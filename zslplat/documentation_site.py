"""The documentation of an installation: the built site, unpacked, or its written pages as plain HTML.

A distribution brings the sources (``docs`` and ``examples``, under ``share/zslplat``), and the built site as one file
where it was packed before (``docs/build.py --pack``).
"""

from __future__ import annotations

import hashlib
import re
import shutil
import zipfile
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution, entry_points
from importlib.util import find_spec
from pathlib import Path

from zslplat.data.store.atomic_files import draft, folder_lock, mark_used, remove_unused
from zslplat.errors import StoreError

PACKED = "site.zip"
# Part of the package, for ``zslplat explain``, and of the site as ``docs/checks``.
CHECK_PAGES = Path(__file__).parent / "checks" / "pages"
_MADE = {"_build", "generated", "tutorials", ".ipynb_checkpoints"}


def sources() -> Path:
    """Return the folder that holds ``docs`` and ``examples``; raises :class:`StoreError` where there is none."""
    checkout = Path(__file__).parents[1]
    if (checkout / "docs" / "conf.py").is_file():
        return checkout
    for path in _distributed("docs/conf.py"):
        return path.parents[1]
    raise StoreError(
        "the sources of the documentation are not beside this installation of zslplat; install it again from a clone "
        "of the repository: pip install ."
    )


def packed() -> Path | None:
    """Return the file with the built site that the distribution brings, None where it brings none."""
    return next(iter(_distributed(PACKED)), None)


def _distributed(name: str) -> list[Path]:
    """Return the files of the installed distribution under ``share/zslplat`` that have this name.

    They lie where its record says; where the installer's record is of another place (``pip install --target``), beside
    the package.
    """
    inside = f"share/zslplat/{name}"
    with suppress(PackageNotFoundError):
        files = distribution("zslplat").files or []
        paths = [Path(str(file.locate())).resolve() for file in files if str(file).endswith(inside)]
        if paths := [path for path in paths if path.is_file()]:
            return paths
    return [path for path in (Path(__file__).parents[1] / inside,) if path.is_file()]


def _pages(folder: Path) -> list[Path]:
    """Return the written pages below a folder, without what a build makes; links to folders are not followed."""
    return sorted(path for path in folder.rglob("*.md") if not set(path.relative_to(folder).parts) & _MADE)


def cached() -> Path:
    """Return the folder for the built copy of this user."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("zslplat")) / "docs"


def start_page() -> Path:
    """Return the first page of the site that the distribution brings, unpacked; else of plain pages, made now."""
    archive = packed()
    if archive is None:
        write_plain_pages(sources(), cached() / "plain")
        return cached() / "plain" / "README.html"
    folder = cached() / hashlib.sha256(archive.read_bytes()).hexdigest()[:16]
    page = folder / "html" / "index.html"
    if page.is_file():
        mark_used(folder)
        return page
    _unpack(archive, folder / "html")
    remove_unused(old for old in cached().iterdir() if not old.name.startswith("."))
    return page


def write_plain_pages(root: Path, folder: Path) -> None:
    """Write README and pages as HTML, links among them included; what only a build makes has no link."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark").enable("table")
    sources = (*root.glob("*.md"), *_pages(root / "docs"))
    pages = {path.relative_to(root): path for path in sources}
    pages |= {Path("docs", "checks", path.name): path for path in _pages(CHECK_PAGES)}
    for name, path in pages.items():
        text = re.sub(r"^(`{3,}|:{3,})\{(?:toctree|grid|forest).*?^\1$", "", path.read_text("utf-8"), flags=re.M | re.S)
        body = reader.render(text)
        if path.parent == root:  # README names pages without links, which a package index could not follow
            body = re.sub(r"<code>((?:docs/)?[\w-]+)\.md</code>", r'<a href="\1.html">\1</a>', body)
        body = re.sub(r'href="([^":]*)\.md(#[^"]*)?"', r'href="\1.html\2"', body)
        body = re.sub(r'<a href="[^":]*(?:generated|tutorials)/[^"]*">(.*?)</a>', r"\1", body)
        place = folder / name.with_suffix(".html")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(_PLAIN.format(title=path.stem, body=body), encoding="utf-8")
    for copied in ("pictures", "json"):
        shutil.copytree(root / "docs" / copied, folder / "docs" / copied, dirs_exist_ok=True)


_PLAIN = """<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>:root {{color-scheme: light dark}} body {{max-width: 50rem; margin: 2rem auto; padding: 0 1rem;
font: 1rem/1.5 sans-serif}} pre, table {{overflow-x: auto; display: block}}
td, th {{padding: .2rem .6rem; text-align: left}} img {{max-width: 100%; background: white}}</style>
{body}"""


def write_skills(folder: Path) -> list[Path]:
    """Copy ``AGENTS.md`` and the skills of zslplat and its plugins into a folder; return the files.

    A skill is a folder ``skills/NAME`` with a ``SKILL.md`` in the top package of a plugin.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = [Path(shutil.copy(sources() / "AGENTS.md", folder))]
    packages = {point.module.partition(".")[0] for point in entry_points(group="zslplat")}
    for package in sorted(packages):
        specification = find_spec(package)
        for place in (specification.submodule_search_locations or ()) if specification else ():
            for page in sorted(Path(place).glob("skills/*/SKILL.md")):
                copy = folder / page.parent.name / page.name
                copy.parent.mkdir(exist_ok=True)
                written.append(Path(shutil.copy(page, copy)))
    return written


def _unpack(file: Path, folder: Path) -> None:
    cached().mkdir(parents=True, exist_ok=True)
    with folder_lock(cached()), draft(cached()) as beside, zipfile.ZipFile(file) as archive:
        if (folder / "index.html").is_file():
            return  # another command was faster
        archive.extractall(beside / folder.name)
        shutil.rmtree(folder.parent, ignore_errors=True)
        beside.rename(folder.parent)
