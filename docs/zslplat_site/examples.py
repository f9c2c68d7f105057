"""Examples of components, carried out when the site is built: what stands on a page is what was printed.

An example is what the section ``Example`` of a docstring shows, which tests carry out; else it is made here, of the
kind of the component, on data that are built in. An example that fails ends the build.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zslplat.cli.app import run_app
from zslplat.errors import UsageError, ZslplatError
from zslplat.kinds import SHARED_SPACE, kind_of
from zslplat_site.components import ComponentFacts
from zslplat_site.docstrings import to_markdown

_ZERO_SHOT = """\
import numpy as np
import zslplat

data = zslplat.load_dataset("{data}")
S = data.S
train, test = data.splits["train"], data.splits["test_unseen"]
unseen = np.unique(data.y[test])

model = zslplat.make("{name}")
model.fit(data.X[train], data.y[train], S)
accuracy = model.score(data.X[test], data.y[test], S[unseen], classes=unseen)
print(f"{{len(train)}} rows of {{model.seen_.sum()}} seen classes")
print(f"mean accuracy over {{len(unseen)}} unseen classes: {{accuracy:.2f}}, chance {{1 / len(unseen):.2f}}")"""
_CODING = """\
import numpy as np
import zslplat

digits = zslplat.load_dataset("digits")
order = np.random.default_rng(0).permutation(len(digits.X))
train, test = order[:200], order[200:400]

model = zslplat.make("{name}")
model.fit(digits.X[train], digits.y[train])
right = model.predict(digits.X[test]) == digits.y[test]
print(f"accuracy on {{len(test)}} held-out rows: {{right.mean():.2f}}, chance 0.10")"""
_SELECTION = """\
import zslplat

digits = zslplat.load_dataset("digit-pairs(rows=5)")
S = digits.S
train = digits.splits["train"]

model = zslplat.make("{name}")
model.fit(digits.X[train], digits.y[train], S)
print("the ten best of", digits.X.shape[1], "features:", *model.ranking_[:10])"""
_EXEMPLAR = """\
import numpy as np
import zslplat

digits = zslplat.load_dataset("digits")
negatives = digits.X[digits.y < 5]
gallery, labels = digits.X[digits.y >= 5], digits.y[digits.y >= 5]

model = zslplat.make("{name}")
model.fit(negatives)
nearest = model.rank(gallery[:50], gallery, k=2)[:, 1]  # the first is the query itself
print(f"nearest row is of the same digit: {{np.mean(labels[nearest] == labels[:50]):.2f}}, chance 0.20")"""
_KERNEL = """\
import numpy as np
from zslplat.api import parse_kernel

rows = np.random.default_rng(0).random((4, 3))
kernel = parse_kernel("{name}").resolved(rows)
print(kernel)
print(np.round(kernel(rows), 3))"""
_MATRICES = """\
import numpy as np
from zslplat.api import parse_kernel

rows = np.random.default_rng(0).normal(size=(4, 3, 8))
matrices = rows @ rows.swapaxes(1, 2) / 8
kernel = parse_kernel("{name}").resolved(matrices)
print(kernel)
print(np.round(kernel(matrices), 3))"""
_DATASET = """\
import zslplat

data = zslplat.load_dataset("{name}")
print("X", data.X.shape, "y", data.y.shape, len(data.class_names), "classes")
for name, signatures in data.signatures.items():
    print("signatures", name, signatures.values.shape)
print({{name: len(rows) for name, rows in data.splits.items()}})"""
_TASKS = {
    "zsl": ("eszsl", "digit-pairs(rows=20)"),
    "gzsl": ("eszsl", "digit-pairs(rows=20)"),
    "retrieval": ("eszsl", "digit-pairs(rows=20)"),
    "coding": ("llc", "digits"),
    "exemplar-retrieval": ("slem", "digits"),
    "feature-selection": ("variance", "digit-pairs(rows=5)"),
}
_METHODS = {"zero-shot": _ZERO_SHOT, "coding": _CODING, "feature-selection": _SELECTION, "exemplar": _EXEMPLAR}
_NEXT = {
    "methods": "Tuned on validation classes, with every run recorded: `zslplat tune --method {name}{task}`.",
    "kernels": "In a kernel method: `zslplat tune --method zskl-ort --kernel {name}`.",
}


def shown(facts: ComponentFacts) -> str:
    """Return the example of a component in Markdown, with what it prints."""
    example = facts.example()
    if example:
        return to_markdown(example)
    name, kind = facts.entry.name, facts.entry.kind
    if kind == "tasks":
        return _of_a_task(name)
    code = code_of(facts)
    if not code:
        return f"`zslplat show {name}` prints what is above."
    try:
        printed = carried_out(code)
    except UsageError:
        # A data set of somebody else's that wants options; zslplat's own show how they are used.
        if kind != "datasets" or facts.entry.plugin.distribution == "zslplat":
            raise
        return f'`zslplat data info "{name}(...)"` shows what it holds, with the options above.'
    text = f"```python\n{code}\n```\n\n```text\n{printed}\n```"
    task = f" {kind_of(str(getattr(facts.component, 'kind', ''))).usage}".rstrip() if kind == "methods" else ""
    return f"{text}\n\n{_NEXT[kind].format(name=name, task=task)}" if kind in _NEXT else text


def code_of(facts: ComponentFacts) -> str:
    """Return the code of the example that is made of the kind of a component; empty where there is none for it."""
    kind, name = facts.entry.kind, facts.entry.name
    if kind == "methods":
        data = "shared-space" if SHARED_SPACE in getattr(facts.component, "tags", ()) else "digit-pairs(rows=20)"
        return _METHODS.get(str(getattr(facts.component, "kind", "")), "").format(name=name, data=data)
    if kind == "kernels":
        return _KERNEL.format(name=name)
    return _DATASET.format(name=name) if kind == "datasets" else ""


def _of_a_task(name: str) -> str:
    """Return the validation of a method on a task, as a command and what it prints; another's task has no such method.

    Raises :class:`ZslplatError` where the command fails.
    """
    if name not in _TASKS:
        return f"`zslplat tune --method NAME --task {name}` tunes a method that the task takes."
    method, dataset = _TASKS[name]
    options = ["run", "--method", method, "--task", name, "--dataset", dataset]
    out, err = io.StringIO(), io.StringIO()
    with _elsewhere(COLUMNS="100", TERM="dumb"), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run_app(options)
    if code:
        raise ZslplatError(f"the example of task {name} failed: {err.getvalue().strip()}")
    # Where it was recorded is a folder that is gone.
    printed = [line for line in out.getvalue().rstrip().splitlines() if not line.startswith("runs: ")]
    command = shlex.join(["zslplat", *options])
    return "```console\n$ " + command + "\n" + "\n".join(printed) + "\n```"


def carried_out(code: str) -> str:
    """Run code in a namespace and a folder of its own, and return what it prints; raises what it raises."""
    printed = io.StringIO()
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with _elsewhere(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "<example>", "exec"), namespace)
    return printed.getvalue().rstrip()


@contextlib.contextmanager
def _elsewhere(**variables: str) -> Iterator[None]:
    """Work in a folder of its own, so that an example writes nothing into the user's; with variables set meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        before = {name: os.environ.get(name) for name in ("ZSLPLAT_STORE", "ZSLPLAT_DATA_ROOT", *variables)}
        os.environ.update(variables, ZSLPLAT_STORE=str(Path(folder) / "mlruns"))
        os.environ.pop("ZSLPLAT_DATA_ROOT", None)
        try:
            with contextlib.chdir(folder):
                yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
