"""The files of the kit import each other in one direction, imports inside functions counted."""

import ast
import graphlib
from pathlib import Path

import zslplat.testing

PACKAGE = "zslplat.testing"


def imported_by(path):
    """Return the files of the kit that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{PACKAGE}."):
            found.add(node.module.removeprefix(f"{PACKAGE}."))
    return found


def test_no_file_of_the_kit_is_below_itself():
    files = {path.stem: path for path in Path(zslplat.testing.__file__).parent.glob("*.py") if path.stem != "__init__"}
    graph = {name: imported_by(path) & set(files) for name, path in files.items()}
    assert graph["checks"] >= {"running", "kernels", "datasets"}
    list(graphlib.TopologicalSorter(graph).static_order())
