"""Which tests run: short ones, unless more is requested; with ``--changed`` those of the code that was edited.

Tests of more than about two seconds are marked ``long``. They run with ``--all``, with ``-m``, ``-k`` and ``--lf``, and
where a test is named by itself (``file::test``). Folders and files run their short tests.

``--changed`` compares the working tree with the last commit (``--changed=REVISION``: with that one). It runs the test
files that import an edited module, directly or through other modules of the package, and the tests of the conformance
kit that name a class of an edited module. Where more than forty test files import an edited module, only those that
import it directly are run.
"""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

from import_graph import ROOT, imported_by, importers, modules

TESTS = ROOT / "tests"
FOLDERS = (TESTS, *sorted((ROOT / "plugins").glob("*/tests")))
# The tests of the conformance kit go over the registry: what they test is in their names.
REGISTRY_TESTS = {TESTS / "testing" / "test_kit.py"}
MOST_FILES = 40


class Changes:
    """The test files and the classes that belong to edited files; ``paths`` are absolute."""

    def __init__(self, paths):
        names = {path: name for name, path in modules().items()}
        edited = {names[path] for path in paths if path in names}
        helpers = {path.stem for path in paths if path.parent == TESTS and not path.name.startswith("test_")}
        self.other = sorted(path for path in paths if path.suffix != ".py")
        tests = {path: path.read_text() for folder in FOLDERS for path in folder.rglob("test_*.py")}
        self.files = {path for path in paths if path in tests}
        self.files |= {path for path, text in tests.items() if any(f"from {name} import" in text for name in helpers)}
        for name in edited:
            reached = importers([name])
            files = {path for path in tests if imported_by(path) & reached}
            direct = {path for path in tests if name in imported_by(path)}
            self.files |= files if len(files) <= MOST_FILES else direct
        self.classes = {
            node.name
            for name in edited
            for node in ast.walk(ast.parse(modules()[name].read_text()))
            if isinstance(node, ast.ClassDef)
        }

    def has_file(self, path):
        """Whether tests of a file may run."""
        return path in self.files or (bool(self.classes) and path in REGISTRY_TESTS)

    def has(self, item):
        """Whether a test runs: by its file, or a class that its name holds as ``[Class(``."""
        return item.path in self.files or any(f"[{name}(" in item.name for name in self.classes)


def edited_files(revision):
    """Return the files that differ from a revision or are new, as absolute paths; those that are gone are left out."""
    commands = (("diff", "--name-only", revision), ("ls-files", "--others", "--exclude-standard"))
    done = [
        subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=True) for command in commands
    ]
    lines = [line for one in done for line in one.stdout.splitlines()]
    return {path for path in (ROOT / line for line in lines) if path.is_file()}


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="run all tests, those that are marked long, too")
    parser.addoption(
        "--changed",
        nargs="?",
        const="HEAD",
        metavar="REVISION",
        help="run the tests of what was edited since the last commit, or since REVISION",
    )


def pytest_configure(config):
    """Turn what is requested into the option ``--all``; each process of ``-n`` has the same command line."""
    option = config.option
    named = any("::" in text for text in config.args)
    option.all = option.all or named or bool(option.keyword or option.markexpr or getattr(option, "lf", False))
    config.changes = Changes(edited_files(option.changed)) if option.changed else None


def pytest_report_header(config):
    lines = [] if config.option.all else ["long tests are left out; --all runs them, too"]
    if config.changes is not None:
        lines.append(f"tests of what was edited: {len(config.changes.files)} files")
        lines += [f"no test is known for {path.relative_to(ROOT)}" for path in config.changes.other]
    return lines


def pytest_ignore_collect(collection_path: Path, config):
    if config.changes is not None and collection_path.suffix == ".py" and not config.changes.has_file(collection_path):
        return True
    return None


def pytest_collection_modifyitems(config, items):
    skipped = [] if config.option.all else [item for item in items if item.get_closest_marker("long")]
    if config.changes is not None:
        skipped += [item for item in items if not config.changes.has(item)]
    if skipped:
        skipped = set(skipped)
        config.hook.pytest_deselected(items=list(skipped))
        items[:] = [item for item in items if item not in skipped]
