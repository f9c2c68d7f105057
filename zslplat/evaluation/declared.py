"""What a component's class declares, read from its source: whoever shows records of many methods imports none of them.

A method brings its libraries with it, and twenty of them take seconds to import. Their tags are literals in the bodies
of classes, which can be read where they stand.
"""

from __future__ import annotations

import ast
from contextlib import suppress
from functools import cache
from typing import Any

from zslplat.evaluation.modules import module_file
from zslplat.registry import registry


def declared(kind: str, name: str, attribute: str) -> Any:
    """Return a class attribute of a component: as its source says it, else of the class itself, which is imported then.

    Raises like :meth:`zslplat.registry.Registry.component`.
    """
    target = registry().entry(kind, name).target
    if isinstance(target, str):
        module, _, own = target.partition(":")
        with suppress(_UnreadableError):
            return _literal(module, own, attribute)
    return getattr(registry().component(kind, name), attribute)


class _UnreadableError(Exception):
    """The source does not say it, or not in a way that is understood here."""


def _literal(module: str, name: str, attribute: str) -> Any:
    """Return the literal that a class, or the first of its bases that has one, gives an attribute."""
    classes, imported, set_later = _top(module)
    if (name, attribute) in set_later:
        raise _UnreadableError
    if name not in classes:
        if name not in imported:
            raise _UnreadableError
        return _literal(*imported[name], attribute)
    body = classes[name]
    for statement in body.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        if any(isinstance(t, ast.Name) and t.id == attribute for t in targets):
            try:
                return ast.literal_eval(getattr(statement, "value", None) or ast.Name("none"))
            except (ValueError, TypeError):
                raise _UnreadableError from None
        if getattr(statement, "name", None) == attribute:  # a property, say
            raise _UnreadableError
    # With several bases Python may look elsewhere first; a decorator or a metaclass may set anything.
    if len(body.bases) != 1 or not isinstance(body.bases[0], ast.Name) or body.decorator_list or body.keywords:
        raise _UnreadableError
    return _literal(module, body.bases[0].id, attribute)


@cache
def _top(module: str) -> tuple[dict[str, ast.ClassDef], dict[str, tuple[str, str]], set[tuple[str, str]]]:
    """Return the classes at the top of a module, where the names come from that it imports there, and (class,
    attribute) of what it sets from outside of their bodies.
    """
    held = module_file(module)
    try:
        source = held.source() if held is not None else None
        tree = ast.parse(source or "")
    except (OSError, ValueError, SyntaxError):
        raise _UnreadableError from None
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    imported = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module and not node.level
        for alias in node.names
    }
    set_later = {
        (target.value.id, target.attr)
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)
    }
    return classes, imported, set_later
