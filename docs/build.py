"""Build the site: python docs/build.py [FOLDER] [--pack] [--no-tutorials] [--lenient], every warning an error.

A build works on a copy of ``docs`` and ``examples``, because the pages of components are written among the pages and an
installation may be read-only. A second build into the same folder does what has changed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# The last holds the numbers to which the pages of results link.
FOLDERS = ("docs", "examples", "plugins/zslplat-papers/zslplat_papers/reproduction/results")
# Written during a build.
MADE = ("generated", "tutorials")
IGNORED = ("_build", *MADE, "__pycache__", "*.pyc", ".ipynb_checkpoints")


def build(folder: Path, *, lenient: bool = False, execute: bool = True) -> int:
    """Build the site into ``folder/html``; return the exit code of Sphinx.

    ``lenient``: warnings are no errors, and a tutorial that fails is shown as failed. ``execute``: run the tutorials.
    """
    from sphinx.cmd.build import main

    from zslplat.documentation_site import CHECK_PAGES

    work = folder / "work"
    copy_sources(ROOT, work)
    # In a clone a link; an installation has them in the package alone.
    shutil.copytree(CHECK_PAGES, work / "docs" / "checks", dirs_exist_ok=True)
    options = ["-b", "html", "-q", "-d", str(folder / "doctrees")]
    options += [] if lenient else ["--fail-on-warning", "--keep-going"]
    options += [] if execute else ["-D", "plot_gallery=0"]
    # Tutorials call the program of this installation.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    if lenient:
        os.environ["ZSLPLAT_DOCS_LENIENT"] = "1"
    code = int(main([*options, str(work / "docs"), str(folder / "html")]))
    if not code:
        (folder / "html" / "llms.txt").write_text(contents_for_programs(ROOT / "docs"), encoding="utf-8")
    return code


def contents_for_programs(docs: Path) -> str:
    """Return ``llms.txt`` (https://llmstxt.org): the page for programs, and links to all pages with their titles."""
    links = []
    for page in sorted(docs.glob("*.md")):
        title = next(line for line in page.read_text("utf-8").splitlines() if line.startswith("# ")).removeprefix("# ")
        links.append(f"- [{title}]({page.stem}.html)")
    links += [f"- [{name}](generated/{name}/index.html)" for name in ("methods", "kernels", "tasks", "datasets")]
    return (ROOT / "AGENTS.md").read_text("utf-8") + "\n## Pages\n\n" + "\n".join(links) + "\n"


def copy_sources(root: Path, work: Path) -> None:
    """Bring a copy of the sources up to date; files keep their times, so that Sphinx reads what has changed."""
    for name in filter(lambda name: (root / name).is_dir(), FOLDERS):
        copy = work / name
        sources = {path.relative_to(root / name) for path in files_in(root / name)}
        for path in files_in(copy):
            place = path.relative_to(copy)
            if place not in sources and place.parts[0] not in MADE:
                path.unlink()
        shutil.copytree(root / name, copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*IGNORED))


def files_in(folder: Path) -> list[Path]:
    """Return all files in a folder; a folder that is a link is walked, too."""
    return [Path(place) / name for place, _, names in os.walk(folder, followlinks=True) for name in names]


def pack(site: Path, file: Path) -> None:
    """Put a built site into one file."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(files_in(site)):
            archive.write(path, path.relative_to(site))


def main(arguments: list[str] | None = None) -> int:
    """Build the site and return the exit code."""
    parser = argparse.ArgumentParser(description="Build the documentation.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "docs" / "_build", help="default: docs/_build")
    parser.add_argument("--pack", action="store_true", help="also write site.zip there, which wheels then bring along")
    parser.add_argument("--no-tutorials", action="store_true", help="show tutorials without running them")
    parser.add_argument("--lenient", action="store_true", help="warnings are no errors")
    options = parser.parse_args(arguments)
    folder = options.folder.resolve()
    if code := build(folder, lenient=options.lenient, execute=not options.no_tutorials):
        return code
    if options.pack:
        pack(folder / "html", folder / "site.zip")
    print(folder / "html" / "index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
