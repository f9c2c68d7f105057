"""Build what is released, and refuse what is not green: python tools/release.py [FOLDER] [--build-only].

Every check prints one line. Exit code 0: all are green, and the distributions lie in FOLDER (``dist``). Exit code 1:
one is not, and its line says what to do. ``--build-only`` leaves out changelog, tag, links, conda-forge and
``.ci/run``. The tools are installed by ``nox -s release``, or ``pip install`` of TOOLS in noxfile.py.

Both builds work on the files of the last commit, unpacked anew, with its time. The bytes of wheels and source
distributions then depend on the commit and on the versions of setuptools and Python, not on the clock or the machine.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECTS = (".", *sorted(f"plugins/{path.parent.name}" for path in ROOT.glob("plugins/*/pyproject.toml")))


class Refused(Exception):
    """What is not green, and what to do."""


def run(*command: str, where: Path | None = None, **environment: str) -> str:
    """Return what a command prints, in the repository or ``where``; raises :class:`Refused` where it fails."""
    variables, where = os.environ | environment, where or ROOT
    out = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(command, cwd=where, env=variables, text=True, check=False, **out)
    if done.returncode:
        raise Refused(f"{' '.join(command)} ended with exit code {done.returncode}:\n{done.stdout[-3000:]}")
    return done.stdout


def project(folder: str = ".") -> dict:
    """Return the table ``project`` of a pyproject.toml."""
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]


def clean_tree() -> str:
    """Nothing is left to commit."""
    if changes := run("git", "status", "--porcelain"):
        raise Refused(f"commit, ignore or remove:\n{changes}")
    return run("git", "rev-parse", "--short", "HEAD").strip()


def version_everywhere() -> str:
    """One version in the package, its citation and the ranges of the plugins."""
    version = project()["version"]
    if f"version: {version}\n" not in (ROOT / "CITATION.cff").read_text():
        raise Refused(f"CITATION.cff has another version than pyproject.toml; write version: {version}")
    for folder in PROJECTS[1:]:
        ranges = [text.removeprefix("zslplat") for text in project(folder)["dependencies"] if text[:9] == "zslplat>="]
        low, high = re.fullmatch(r">=([\d.]+),<([\d.]+)", ranges[0]).groups() if ranges else ("", "")
        numbers = [tuple(map(int, text.split("."))) for text in (low, version, high) if text]
        if len(numbers) != 3 or not numbers[0] <= numbers[1] < numbers[2]:
            raise Refused(f"{folder}/pyproject.toml must allow zslplat {version}: write zslplat>=LOW,<HIGH around it")
    return version


def changelog() -> str:
    """The changelog has an entry with a date for this version."""
    version = project()["version"]
    entry = re.search(rf"^## {re.escape(version)} \((.*)\)$", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)
    if not entry or not re.fullmatch(r"\d{4}-\d\d-\d\d", entry[1]):
        raise Refused(f"CHANGELOG.md needs the line '## {version} (YYYY-MM-DD)' with the day of the release")
    return entry[0]


def tag() -> str:
    """The tag of this version is on this commit, or not yet there."""
    name = f"v{project()['version']}"
    if run("git", "tag", "--list", name) and run("git", "tag", "--points-at", "HEAD", name) == "":
        raise Refused(f"{name} is the tag of another commit; raise the version in pyproject.toml and CITATION.cff")
    return name


def absolute_links() -> str:
    """Pictures and links of READMEs work on a package index, which has no files beside them."""
    for folder in PROJECTS:
        text = (ROOT / folder / "README.md").read_text()
        if relative := [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if not re.match(r"https?://|#", link)]:
            raise Refused(
                f"{folder}/README.md: write whole addresses (https://...) in place of {', '.join(relative)}, which an "
                "index cannot follow"
            )
    return f"{len(PROJECTS)} READMEs"


def tests() -> str:
    """``.ci/run`` is green on a clone of this commit; one that was is not tested twice."""
    commit = run("git", "rev-parse", "HEAD").strip()
    stamp = Path(run("git", "rev-parse", "--absolute-git-dir").strip()) / "tested-commit"
    if not stamp.is_file() or stamp.read_text() != commit:
        with tempfile.TemporaryDirectory() as folder:
            run("git", "clone", "--quiet", str(ROOT), folder)
            run("git", "checkout", "--quiet", commit, where=Path(folder))
            run("bash", ".ci/run", where=Path(folder))
        stamp.write_text(commit)
    return f".ci/run of {commit[:8]}"


def build(folder: Path, commit: str) -> dict[str, str]:
    """Build all distributions of a commit into ``folder``; return {name: SHA-256}."""
    seconds = run("git", "log", "-1", "--format=%ct", commit).strip()
    os.umask(0o022)
    with tempfile.TemporaryDirectory() as place:
        files = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
        with tarfile.open(fileobj=io.BytesIO(files)) as archive:
            archive.extractall(place, filter="data")
        for name in PROJECTS:
            command = (sys.executable, "-m", "build", "--outdir", str(folder), name)
            run(*command, where=Path(place), SOURCE_DATE_EPOCH=seconds)
    for source in folder.glob("*.tar.gz"):
        same_bytes(source, int(seconds))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def same_bytes(path: Path, seconds: int) -> None:
    """Write a source distribution anew, sorted, without clock and user, both of which setuptools notes."""
    inner = io.BytesIO()
    with tarfile.open(path) as old, tarfile.open(fileobj=inner, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            content = old.extractfile(member)
            member.mtime, member.uid, member.gid, member.uname, member.gname = seconds, 0, 0, "", ""
            member.mode = 0o755 if member.mode & 0o100 else 0o644
            member.pax_headers = {}
            new.addfile(member, content)
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, seconds) as archive:
        archive.write(inner.getvalue())


def build_twice(folder: Path) -> str:
    """Two builds give the same bytes, and are what an index accepts."""
    shutil.rmtree(folder, ignore_errors=True)
    commit = run("git", "rev-parse", "HEAD").strip()
    with tempfile.TemporaryDirectory() as other:
        digests, again = build(folder, commit), build(Path(other), commit)
    if different := [name for name in digests if digests[name] != again.get(name)]:
        raise Refused(f"two builds of one commit differ: {', '.join(different)}; compare them with diffoscope")
    return "\n".join([f"{len(digests)} files, twice", *(f"    {digest}  {name}" for name, digest in digests.items())])


def accepted(folder: Path) -> str:
    """Whether twine, check-wheel-contents and cffconvert find nothing."""
    files = [str(path) for path in sorted(folder.iterdir())]
    run(sys.executable, "-m", "twine", "check", "--strict", *files)
    run(sys.executable, "-m", "check_wheel_contents", *(file for file in files if file.endswith(".whl")))
    run(str(Path(sys.executable).with_name("cffconvert")), "--validate")
    return "twine, check-wheel-contents, cffconvert"


def render_recipe() -> dict:
    """Return recipe/recipe.yaml as rattler-build understands it."""
    from rattler_build import RattlerBuildError, Stage0Recipe, VariantConfig

    older = VariantConfig({"python_min": ["3.10"]})  # conda-forge's own, where the recipe names none
    try:
        (built,) = Stage0Recipe.from_file(str(ROOT / "recipe/recipe.yaml")).render(older)
    except RattlerBuildError as problem:
        raise Refused(f"recipe/recipe.yaml: {problem}") from problem
    return built.recipe.to_dict()


def conda_recipe() -> str:
    """rattler-build understands the recipe, which asks for what pyproject.toml asks for."""
    recipe, lowest = render_recipe(), project()["requires-python"].removeprefix(">=")
    here = {f"python >={lowest}", *(re.sub(r"(?=[>=<])", " ", text, count=1) for text in project()["dependencies"])}
    there = {text.replace("matplotlib-base", "matplotlib") for text in recipe["requirements"]["run"]}
    if here != there or recipe["package"]["version"] != project()["version"]:
        raise Refused(
            f"recipe/recipe.yaml and pyproject.toml differ: {', '.join(sorted(here ^ there)) or 'the version'}"
        )
    versions = [test["python"].get("python_version") for test in recipe["tests"] if "python" in test]
    if versions != [[f"{lowest}.*", "*"]]:
        raise Refused(f"recipe/recipe.yaml tests Python {versions}; write the lowest and the newest: {lowest}.* and *")
    return f"{len(here)} requirements"


def conda_forge(folder: Path) -> str:
    """The recipe has what conda-forge's linter asks for; its source there is the file on the index."""
    recipe = render_recipe()
    needed = {
        "homepage: ADDRESS below about:": recipe["about"].get("homepage"),
        "recipe-maintainers: [NAME-ON-GITHUB] below extra:": recipe.get("extra", {}).get("recipe-maintainers"),
    }
    if missing := [line for line, value in needed.items() if not value]:
        raise Refused(f"recipe/recipe.yaml: write {' and '.join(missing)}, which conda-forge requires")
    source = folder / f"zslplat-{project()['version']}.tar.gz"
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    address = f"https://pypi.org/packages/source/z/zslplat/{source.name}"
    return f"after the upload, in place of path:\n    url: {address}\n    sha256: {digest}"


def checks(folder: Path, build_only: bool) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield the name of each check, and the check, the quick ones first."""
    yield "clean tree", clean_tree
    yield "one version", version_everywhere
    yield "conda recipe", conda_recipe
    if not build_only:
        yield "changelog", changelog
        yield "tag", tag
        yield "absolute links", absolute_links
    yield "same bytes", lambda: build_twice(folder)
    yield "accepted by an index", lambda: accepted(folder)
    if not build_only:
        yield "conda-forge", lambda: conda_forge(folder)
        yield "tests", tests


def main(arguments: list[str] | None = None) -> int:
    """Carry out the checks and return the exit code."""
    parser = argparse.ArgumentParser(description="Build what is released, and refuse what is not green.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "dist", help="default: dist")
    parser.add_argument("--build-only", action="store_true", help="no changelog, tag, links, conda-forge and .ci/run")
    options = parser.parse_args(arguments)
    refused = 0
    for name, check in checks(options.folder.resolve(), options.build_only):
        try:
            print(f"ok       {name}: {check()}", flush=True)
        except Refused as problem:
            refused += 1
            print(f"REFUSED  {name}: {problem}", flush=True)
    if refused:
        print(f"not released: {refused} of the checks above refused", file=sys.stderr)
    elif not options.build_only:
        print(f"green. Now: git tag -s v{project()['version']} && git push --tags && twine upload {options.folder}/*")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
