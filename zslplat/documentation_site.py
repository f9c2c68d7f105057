"""The documentation site of an installation: unpacked, or built from its sources.

A distribution brings the sources (``docs`` and ``examples``, under ``share/zslplat``), and the built site as one file
where it was packed before. Without that file the site is built once by ``docs/build.py``, which needs the packages of
``zslplat[docs]``; without these the written pages are shown as plain HTML.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution, entry_points
from importlib.util import find_spec
from pathlib import Path

from zslplat.data.store.atomic_files import draft, folder_lock, mark_used, remove_unused
from zslplat.errors import StoreError, UsageError

NEEDED = ("sphinx", "myst_parser", "sphinx_design", "sphinx_gallery", "pydata_sphinx_theme")
PACKED = "site.zip"
# Part of the package, for ``zslplat explain``, and of the site as ``docs/checks``.
CHECK_PAGES = Path(__file__).parent / "checks" / "pages"
_READ = (".py", ".md", ".txt", ".css", ".svg", ".png", ".toml")
_IGNORED = ("_build", "generated", "tutorials", "__pycache__", ".ipynb_checkpoints")


def sources() -> Path:
    """Return the folder that holds ``docs`` and ``examples``; raises :class:`StoreError` where there is none."""
    checkout = Path(__file__).parents[1]
    if (checkout / "docs" / "conf.py").is_file():
        return checkout
    for path in _distributed("docs/conf.py"):
        return path.parents[1]
    raise StoreError(
        "the sources of the documentation are not beside this installation of zslplat; install it again from a clone "
        "of the repository: pip install '.[docs]'"
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


def fingerprint(root: Path) -> str:
    """Return what tells one state of sources, program and installed components from another: 16 hex digits."""
    from zslplat.registry import registry

    digest = hashlib.sha256()
    for folder in (root / "docs", root / "examples", Path(__file__).parent):
        for path in _files(folder):
            digest.update(f"{path.relative_to(folder)}\0".encode())
            digest.update(path.read_bytes())
    for plugin in registry().plugins:
        digest.update(f"{plugin.distribution} {plugin.version}\n".encode())
    return digest.hexdigest()[:16]


def _files(folder: Path) -> list[Path]:
    """Return the files that pages are made of; links to folders are not followed."""
    files = []
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _IGNORED]
        files += [Path(place) / name for name in names if Path(name).suffix in _READ]
    return sorted(files)


def cached() -> Path:
    """Return the folder for the built copy of this user."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("zslplat")) / "docs"


def start_page(*, rebuild: bool = False, report: Callable[[str], None] = print) -> Path:
    """Return the first page of a built copy that fits this installation, made now where there is none.

    What the distribution brings is unpacked; else the site is built. Without the packages of ``zslplat[docs]`` the
    pages are shown plain, or with ``rebuild`` :class:`UsageError` is raised. ``report`` is called before a long step.
    """
    archive = None if rebuild else packed()
    state = hashlib.sha256(archive.read_bytes()).hexdigest()[:16] if archive else fingerprint(sources())
    folder = cached() / state
    page = folder / "html" / "index.html"
    if page.is_file() and not rebuild:
        mark_used(folder)
        return page
    if archive:
        _unpack(archive, folder / "html")
    elif not rebuild and missing_builder():
        report("these are the plain pages; pip install 'zslplat[docs]' builds the whole site, tutorials included")
        write_plain_pages(sources(), folder / "plain")
        return folder / "plain" / "README.html"
    else:
        require_builder()
        report("building the documentation of this version once, tutorials included; this takes about two minutes")
        build(folder)
    remove_unused(old for old in cached().iterdir() if not old.name.startswith("."))
    return page


def missing_builder() -> list[str]:
    """Return the packages that build the site and are not installed."""
    return [name for name in NEEDED if find_spec(name) is None]


def write_plain_pages(root: Path, folder: Path) -> None:
    """Write README and pages as HTML, links among them included; what only a build makes has no link."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark").enable("table")
    sources = (*root.glob("*.md"), *(path for path in _files(root / "docs") if path.suffix == ".md"))
    pages = {path.relative_to(root): path for path in sources}
    pages |= {Path("docs", "checks", path.name): path for path in _files(CHECK_PAGES)}
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
    shutil.copytree(root / "docs" / "pictures", folder / "docs" / "pictures", dirs_exist_ok=True)


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


def require_builder() -> None:
    """Raise :class:`UsageError` where a package that builds the site is missing."""
    if missing := missing_builder():
        raise UsageError(
            f"building the documentation needs {', '.join(missing)}; pip install 'zslplat[docs]', or read the pages as "
            f"they are written, in {sources() / 'docs'}"
        )


def build(folder: Path) -> None:
    """Build the site into ``folder``; a tutorial that fails here is shown as failed.

    Raises :class:`StoreError` where the build fails.
    """
    command = [sys.executable, str(sources() / "docs" / "build.py"), str(folder), "--lenient"]
    code = subprocess.run(command, stdout=2, check=False).returncode
    if code:
        raise StoreError(f"the documentation could not be built: Sphinx ended with exit code {code}; see above")


def _unpack(file: Path, folder: Path) -> None:
    cached().mkdir(parents=True, exist_ok=True)
    with folder_lock(cached()), draft(cached()) as beside, zipfile.ZipFile(file) as archive:
        if (folder / "index.html").is_file():
            return  # another command was faster
        archive.extractall(beside / folder.name)
        shutil.rmtree(folder.parent, ignore_errors=True)
        beside.rename(folder.parent)
