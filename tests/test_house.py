"""The code stays plain: names that say what a thing is, short signatures, few branches, no file for one other file."""

from __future__ import annotations

import ast
from functools import cache

import pytest
from import_graph import PACKAGES, imported_by, modules

# Words that say how one came by a thing, where a name should say what the thing is.
STOP_LIST = {
    *("found", "told", "given", "asked", "wanted", "own", "known", "held", "kept", "took", "whose", "meant", "telling"),
}
MOST_PARAMETERS = 12
MOST_BRANCHES = 30
LEAST_LINES = 80
BRANCHES = (*(ast.If, ast.For, ast.While, ast.IfExp, ast.ExceptHandler, ast.comprehension, ast.And, ast.Or),)
# Functions with more parameters than that, each with its reason.
LONG_SIGNATURES: dict[str, str] = {
    "zslplat.families.coding.methods.active_set:_slide": "a compiled loop takes its arrays one by one",
    "zslplat.families.zero_shot.methods.mfmr.multiplicative_updates:learn_both": "the factors and terms of the paper",
}
# Files of fewer lines that one other file imports, each with its reason.
SMALL_FILES: dict[str, str] = {}


@cache
def trees():
    """Return {module: its syntax tree}."""
    return {name: ast.parse(path.read_text()) for name, path in modules().items()}


@cache
def functions():
    """Return [(``module:function``, its node)] of all packages."""
    return [
        (f"{module}:{node.name}", node)
        for module, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def parameters(function):
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def test_names_say_what_a_thing_is():
    offenders = []
    for name, function in functions():
        names = {
            node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        names |= {parameter.arg for parameter in parameters(function)} | {function.name.strip("_")}
        offenders += [f"{name}: {word}" for word in sorted(names & STOP_LIST)]
    offenders += [module for module in modules() if module.rpartition(".")[2] in STOP_LIST]
    assert offenders == []


def test_signatures_are_short():
    long = {name for name, function in functions() if len(parameters(function)) > MOST_PARAMETERS}
    assert long == set(LONG_SIGNATURES)


def test_functions_have_few_branches():
    counts = {
        name: 1 + sum(isinstance(node, BRANCHES) for node in ast.walk(function)) for name, function in functions()
    }
    assert {name: count for name, count in counts.items() if count > MOST_BRANCHES} == {}


def test_a_small_file_serves_several_or_says_why_not():
    importers = dict.fromkeys(modules(), 0)
    for module, path in modules().items():
        for target in imported_by(path) - {module}:
            importers[target] = importers.get(target, 0) + 1
    small = {
        module
        for module, path in modules().items()
        if importers[module] == 1 and path.name != "__init__.py" and len(path.read_text().splitlines()) < LEAST_LINES
    }
    assert small == set(SMALL_FILES)


@pytest.mark.parametrize("reasons", [LONG_SIGNATURES, SMALL_FILES], ids=["signatures", "files"])
def test_every_exception_has_a_reason(reasons):
    assert all(len(reason.split()) > 3 for reason in reasons.values())


def test_the_packages_are_those_of_this_repository():
    assert {"zslplat", "zslplat_papers"} <= set(PACKAGES)
