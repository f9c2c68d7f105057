"""Writes ``zslplat/estimators.pyi``, what type checkers and editors know of the estimators: run this file."""

from __future__ import annotations

import inspect
import textwrap
from pathlib import Path
from typing import Any

from zslplat import estimators
from zslplat.registry import registry
from zslplat.space import Choice, Domain, Integer, Optional, Real, Scaled

STUB = Path(estimators.__file__).with_suffix(".pyi")
HEAD = '''"""Every method with its preprocessing, as a scikit-learn estimator (by tests/front/estimator_stub.py)."""

# fmt: off
from typing import Literal

'''
INSIDE = "\0"  # a space that no line is broken at
LAYOUT: dict[str, Any] = {
    **{"width": 120, "initial_indent": " " * 4, "subsequent_indent": " " * 8},
    **{"break_on_hyphens": False, "break_long_words": False},
}


def type_text(name: str, legal: Domain[Any]) -> str:
    """Return the annotation of a hyperparameter."""
    if isinstance(legal, Optional):
        return f"{type_text(name, legal.inner)} | None"
    if isinstance(legal, Choice):
        numbers = {type(value).__name__ for value in legal.values if isinstance(value, float)}
        texts = [repr(value) for value in legal.values if not isinstance(value, float)]
        if set(texts) == {"True", "False"}:
            return "bool"
        return " | ".join([*numbers, *([f"Literal[{', '.join(texts)}]"] if texts else [])])
    if isinstance(legal, Scaled) or (isinstance(legal, Real) and legal.unit):
        return "float | str"
    if name == "kernel":
        return "str | Kernel"
    return "int" if isinstance(legal, Integer) else "float" if isinstance(legal, Real) else "str"


def stub_text() -> str:
    """Return the content of the stub: the estimators of zslplat's own methods."""
    bases: dict[str, str] = {"Kernel": "zslplat.kernels.base"}
    classes = []
    for name, method in sorted(estimators.methods_by_class_name().items()):
        if registry().entry("methods", method).plugin.distribution != "zslplat":
            continue
        estimator = getattr(estimators, name)
        base = estimator.__mro__[1]
        bases[base.__name__] = base.__module__
        legal = {key: type_text(key, one.legal) for key, one in estimator.method_class.parameters.items()}
        listed = [
            f"{one.name}: {legal.get(one.name, one.annotation)} = {one.default!r}"
            for one in list(inspect.signature(estimator.__init__).parameters.values())[1:]
        ]
        summary = estimator.method_class.summary
        whole = ", ".join(one.replace(" ", INSIDE) for one in listed) + ") -> None: ...".replace(" ", INSIDE)
        head = textwrap.fill(f"def __init__(self, *, {whole}", **LAYOUT)
        classes.append(
            f'class {name}({base.__name__}):\n    """{summary[0].upper()}{summary[1:]}."""\n\n'
            f"{head.replace(INSIDE, ' ')}\n"
        )
    imports = "".join(f"from {module} import {base}\n" for base, module in sorted(bases.items(), key=lambda b: b[1]))
    return "\n".join([HEAD + imports, *classes])


if __name__ == "__main__":
    STUB.write_text(stub_text())
