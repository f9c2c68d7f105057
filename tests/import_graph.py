"""Which module of the package imports which, read from the source: imports inside functions are counted."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "zslplat"


@cache
def modules():
    """Return {name: path} of the modules of the package."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in PACKAGE.rglob("*.py")
    }


def imported_by(path):
    """Return the modules of the package that a file imports."""
    names = modules()
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names if alias.name in names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "zslplat":
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                imported.add(full if full in names else node.module)
    return imported


@cache
def imports():
    """Return {module: modules of the package that it imports}."""
    graph = defaultdict(set)
    for name, path in modules().items():
        graph[name] = imported_by(path) - {name}
    return graph


def importers(changed):
    """Return the modules that import one of ``changed``, directly or through others, and those themselves."""
    reached, waiting = set(changed), list(changed)
    backwards = defaultdict(set)
    for name, targets in imports().items():
        for target in targets:
            backwards[target].add(name)
    while waiting:
        new = backwards[waiting.pop()] - reached
        reached |= new
        waiting += new
    return reached
