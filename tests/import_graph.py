"""Which module imports which, in zslplat and the packages of ``plugins``; imports inside functions are counted."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "zslplat"
# Package by its name: the plugins lie in folders of their distributions.
PACKAGES = {path.name: path for path in (PACKAGE, *sorted((ROOT / "plugins").glob("*/zslplat_*")))}


@cache
def modules():
    """Return {name: path} of the modules of all packages."""
    return {
        ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for package in PACKAGES.values()
        for path in package.rglob("*.py")
    }


def imported_by(path):
    """Return the modules of the packages that a file imports."""
    names = modules()
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names if alias.name in names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in PACKAGES:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                imported.add(full if full in names else node.module)
    return imported


@cache
def imports():
    """Return {module: modules of the packages that it imports}."""
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
