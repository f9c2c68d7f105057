"""The site: where its sources are, how it is built, and the built copy that belongs to an installation.

Sources are the folders ``docs`` and ``examples``: of a checkout, or as the installed distribution brings them. A build
works on a copy of them, since the pages of components are written among them and an installation may be read-only.
``pack`` puts a built site into one file, which a distribution that is made of the checkout then brings along: its
users need no Sphinx.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from zslplat.data.store.atomic_files import draft, folder_lock, mark_used, remove_unused
from zslplat.errors import StoreError, UsageError

NEEDED = ("sphinx", "myst_parser", "sphinx_gallery", "pydata_sphinx_theme")
PACKED = "site.zip"
# Where a built site says what it was built of.
_MARK = "built-of.txt"
_FOLDERS = ("docs", "examples")
_READ = (".py", ".md", ".txt", ".css", ".svg", ".png", ".toml")
_IGNORED = ("_build", "generated", "tutorials", "__pycache__", "*.pyc", ".ipynb_checkpoints")


def sources() -> Path:
    """Return the folder that holds ``docs`` and ``examples``; raises :class:`StoreError` where there is none."""
    checkout = Path(__file__).parents[2]
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
        found = [Path(str(file.locate())).resolve() for file in files if str(file).endswith(inside)]
        if any(path.is_file() for path in found):
            return [path for path in found if path.is_file()]
    return [path for path in (Path(__file__).parents[2] / inside,) if path.is_file()]


def fingerprint(root: Path) -> str:
    """Return what tells one state of sources, program and installed components from another: 16 hex digits."""
    from zslplat.registry import registry

    digest = hashlib.sha256()
    package = Path(__file__).parents[1]
    for folder in (*(root / name for name in _FOLDERS), package):
        for path in _files(folder):
            digest.update(f"{path.relative_to(folder)}\0".encode())
            digest.update(path.read_bytes())
    for plugin in registry().plugins:
        digest.update(f"{plugin.distribution} {plugin.version}\n".encode())
    return digest.hexdigest()[:16]


def _files(folder: Path) -> list[Path]:
    """Return the files that pages are made of; a folder that is a link is walked, too: the pages of checks are one."""
    found = []
    for place, folders, names in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if name not in _IGNORED]
        found += [Path(place) / name for name in names if Path(name).suffix in _READ]
    return sorted(found)


def cached() -> Path:
    """Return the folder for the built copy of this user."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("zslplat")) / "docs"


def start_page(*, rebuild: bool = False, told: object = None) -> Path:
    """Return the first page of a built copy that fits this installation, made now where there is none.

    What the distribution brings is unpacked; else, or with ``rebuild``, the site is built, which needs the packages of
    ``zslplat[docs]``. ``told`` is called with a line before what takes long. Raises :class:`UsageError` where they are
    missing.
    """
    brought = None if rebuild else packed()
    state = hashlib.sha256(brought.read_bytes()).hexdigest()[:16] if brought else fingerprint(sources())
    folder = cached() / state
    page = folder / "html" / "index.html"
    if page.is_file() and not rebuild:
        mark_used(folder)
        return page
    if brought:
        _unpack(brought, folder / "html")
    else:
        require_builder()
        if callable(told):
            told("building the documentation of this version once, tutorials included; this takes about two minutes")
        build(folder / "html", strict=False)
    remove_unused(old for old in cached().iterdir() if not old.name.startswith("."))
    return page


def require_builder() -> None:
    """Raise :class:`UsageError` where a package that builds the site is missing."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"building the documentation needs {', '.join(missing)}; pip install 'zslplat[docs]', or read the pages as "
            f"they are written, in {sources() / 'docs'}"
        )


def build(target: Path, *, strict: bool = True, execute: bool = True) -> None:
    """Build the site into a folder; ``strict``: every warning is an error. Raises :class:`StoreError` where it fails.

    ``execute``: tutorials are carried out. A second build into the same folder does what has changed.
    """
    require_builder()
    from sphinx.cmd.build import main

    root, work = sources(), target.parent / "work"
    _copy(root, work)
    options = ["-b", "html", "-q", "-d", str(target.parent / "doctrees")]
    options += ["--fail-on-warning", "--keep-going"] if strict else []
    options += [] if execute else ["-D", "plot_gallery=0"]
    # Tutorials call the program of this installation.
    here = {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])}
    with _environment(here if strict else {**here, "ZSLPLAT_DOCS_LENIENT": "1"}):
        code = main([*options, str(work / "docs"), str(target)])
    if code:
        raise StoreError(f"the documentation could not be built: Sphinx ended with exit code {code}; see above")
    (target / _MARK).write_text(fingerprint(root), encoding="utf-8")


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables of the environment for a while."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _copy(root: Path, work: Path) -> None:
    """Bring a copy of the sources up to date; files keep their times, so that Sphinx reads what has changed."""
    for name in _FOLDERS:
        kept = {"generated", "tutorials"} if name == "docs" else set()
        there = work / name
        if there.is_dir():
            wanted = {path.relative_to(root / name) for path in _all_files(root / name)}
            for path in _all_files(there):
                place = path.relative_to(there)
                if place not in wanted and place.parts[0] not in kept:
                    path.unlink()
        shutil.copytree(root / name, there, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*_IGNORED))


def _all_files(folder: Path) -> list[Path]:
    return [Path(place) / name for place, _, names in os.walk(folder, followlinks=True) for name in names]


def pack(site: Path, file: Path) -> None:
    """Put a built site into one file."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(_all_files(site)):
            archive.write(path, path.relative_to(site))


def _unpack(file: Path, folder: Path) -> None:
    cached().mkdir(parents=True, exist_ok=True)
    with folder_lock(cached()), draft(cached()) as beside, zipfile.ZipFile(file) as archive:
        if (folder / "index.html").is_file():
            return  # another command was faster
        archive.extractall(beside / folder.name)
        shutil.rmtree(folder.parent, ignore_errors=True)
        beside.rename(folder.parent)
