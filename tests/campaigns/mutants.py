"""Changes to the code that its tests must notice: a drawn number of mutants, each against the tests that cover it.

    pip install -e '.[test,mutation]'
    python tests/campaigns/mutants.py --count 300 --seed 0 [--workers 2] [--coverage FOLDER] [--results FILE.csv]

A mutant is the code with one operator, comparison, number, truth value, branch word, decorator or exception changed, as
Cosmic Ray does it. Places are drawn first, then what happens at each, over the packages named by ``--packages``; where
only annotations or docstrings change, another is drawn. The tests of a mutant are those that ran its line, as coverage
recorded them test by test, those of the file's own name and folder and the quick ones first, and the test files that
name its module; for a line that no test process runs itself (workers, compiled code), those of the folder. A mutant is

killed      a test failed, or did not come to an end in ten times its time
survived    none did; its line and change are printed, to be judged: a test that is missing, or no change of meaning

``--coverage`` names a folder with ``.coverage`` (contexts by test) and ``tests.xml`` (seconds by test) of an earlier
run; without it the suite runs once under coverage. It ends with a table by package.
"""

from __future__ import annotations

import argparse
import ast
import csv
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("evaluation", "records", "tuning", "tracking", "metrics", "data")
# They would need to be told a name, and do what no hand does.
_LEFT_OUT = ("core/VariableReplacer", "core/VariableInserter")
_UNKNOWN_SECONDS = 10.0
_PHASE = re.compile(r"\|(run|setup|teardown)$")
_COPIED = ("zslplat", "tests", "docs", "examples", "benchmarks", "pyproject.toml", "README.md", "CONTRIBUTING.md")


@dataclass
class Mutant:
    """One change: the file, the lines before and after, and what the tests said."""

    path: str
    operator: str
    line: int
    source: str = field(repr=False)
    before: str = ""
    after: str = ""
    tests: int = 0
    killed: bool = False
    by: str = ""
    seconds: float = 0.0

    @property
    def package(self) -> str:
        return self.path.split("/")[1]


def meaning(source: str) -> str:
    """Return the code without what does not run: docstrings and annotations."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body[0] = ast.Pass()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(value=None)
    return ast.dump(tree)


def drawn_mutants(root: Path, packages: list[str], count: int, seed: int) -> list[Mutant]:
    """Return so many mutants of different places, drawn over all places of the packages where a change is possible."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    operators = {name: get_operator(name)() for name in operator_names() if name not in _LEFT_OUT}
    changes: dict[tuple[str, tuple[int, int]], list[tuple[str, int]]] = defaultdict(list)
    sources: dict[str, str] = {}
    for package in packages:
        for file in sorted((root / "zslplat" / package).rglob("*.py")):
            path = str(file.relative_to(root))
            sources[path] = file.read_text(encoding="utf-8")
            nodes = list(ast_nodes(get_ast(sources[path])))
            for name, operator in operators.items():
                positions = (position for node in nodes for position in operator.mutation_positions(node))
                for occurrence, (start, _end) in enumerate(positions):
                    changes[path, start].append((name, occurrence))
    draw = random.Random(seed)
    places = sorted(changes)
    draw.shuffle(places)
    found: list[Mutant] = []
    for path, start in places:
        if len(found) == count:
            break
        name, occurrence = draw.choice(changes[path, start])
        try:
            source = mutate_code(sources[path], operators[name], occurrence)
            if source is None or meaning(source) == meaning(sources[path]):
                continue
        except (AttributeError, SyntaxError):  # an exception with a dotted name; a change that is no Python
            continue
        lines, others = sources[path].splitlines(), source.splitlines()
        number = next((i for i, (a, b) in enumerate(zip(lines, others, strict=False)) if a != b), start[0] - 1)
        before, after = (text[number].strip() if number < len(text) else "" for text in (lines, others))
        found.append(Mutant(path, name.removeprefix("core/"), number + 1, source, before, after))
    return found


class Covering:
    """Which tests run a line, and how long each takes."""

    def __init__(self, folder: Path, root: Path = ROOT) -> None:
        from coverage import CoverageData

        self.texts = {str(path.relative_to(root)): path.read_text() for path in sorted(root.glob("tests/**/test_*.py"))}

        self.data = CoverageData(basename=str(folder / ".coverage"))
        self.data.read()
        self.files = {name[name.index("zslplat/") :]: name for name in self.data.measured_files() if "zslplat/" in name}
        self.seconds: dict[str, float] = {}
        for case in xml.etree.ElementTree.parse(folder / "tests.xml").getroot().iter("testcase"):
            where = case.get("classname", "").replace(".", "/") + ".py"
            if case.find("skipped") is None and case.find("failure") is None and case.find("error") is None:
                self.seconds[f"{where}::{case.get('name')}"] = float(case.get("time", 0))
        self._lines: dict[str, dict[int, list[str]]] = {}

    def tests(self, mutant: Mutant) -> list[str]:
        """Return the tests that ran the mutant's line, those first that are most likely to notice and are quick."""
        if mutant.path not in self._lines:
            name = self.files.get(mutant.path)
            self._lines[mutant.path] = self.data.contexts_by_lineno(name) if name else {}
        lines = self._lines[mutant.path]
        found = {_PHASE.sub("", context) for context in lines.get(mutant.line, ())} & set(self.seconds)
        if not found:
            found = {test for test in self.seconds if test.startswith(f"tests/{mutant.package}/")}
        stem = Path(mutant.path).stem

        def likely(test: str) -> tuple[bool, bool, float]:
            own_folder = test.startswith(f"tests/{mutant.package}/")
            return stem not in test.split("::")[0], not own_folder, self.seconds[test]

        dotted = mutant.path.removesuffix(".py").replace("/", ".")
        naming = [path for path, text in self.texts.items() if dotted in text]
        ordered = sorted(found, key=likely)
        # Files that name the module, whole, after what is known to run the line.
        known = {test.split("::")[0] for test in found}
        return [*ordered, *(path for path in naming if path not in known)]

    def took(self, test: str) -> float:
        """Return the seconds of a test, or of a file of tests as far as they are known."""
        if "::" in test:
            return self.seconds[test]
        return (
            sum(seconds for name, seconds in self.seconds.items() if name.startswith(f"{test}::")) or _UNKNOWN_SECONDS
        )


def record_coverage(root: Path, folder: Path, workers: int) -> None:
    """Run the whole suite once under coverage, with the name of the test as the context of each line."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "coveragerc"
    settings.write_text(
        f"[run]\nbranch = true\nrelative_files = true\nsource = zslplat\ndata_file = {folder}/.coverage\n"
    )
    asked = ["--all", "--cov=zslplat", f"--cov-config={settings}", "--cov-context=test", "--cov-report="]
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(workers), *asked, f"--junitxml={folder}/tests.xml"]
    subprocess.run(command, cwd=root, env=environment(root), check=False)


def environment(root: Path) -> dict[str, str]:
    """Return the variables of a process that imports the package of this folder."""
    path = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def judge(mutant: Mutant, copy: Path, covering: Covering, most: float) -> None:
    """Put the mutant into a copy of the project, run its tests until one fails, and put the code back."""
    tests = covering.tests(mutant)
    kept = (copy / mutant.path).read_text(encoding="utf-8")
    (copy / mutant.path).write_text(mutant.source, encoding="utf-8")
    start = time.monotonic()
    try:
        for some in batches(tests, covering.took, most):
            failed = failing(some, copy, 60 + 10 * sum(map(covering.took, some)))
            mutant.tests += len(some)
            if failed:
                mutant.killed, mutant.by = True, failed
                break
    finally:
        (copy / mutant.path).write_text(kept, encoding="utf-8")
    mutant.seconds = time.monotonic() - start


def batches(tests: list[str], seconds: Callable[[str], float], most: float) -> Iterator[list[str]]:
    """Yield the tests in their order, a few first and then ever more, as long as they take so many seconds in all."""
    size, spent, some = 20.0, 0.0, []
    batch = 0.0
    for test in tests:
        if spent + seconds(test) > most:
            continue
        some.append(test)
        spent, batch = spent + seconds(test), batch + seconds(test)
        if batch > size or len(some) >= 400:
            yield some
            some, batch, size = [], 0.0, 2 * size
    if some:
        yield some


def failing(tests: list[str], copy: Path, limit: float) -> str:
    """Return the first of the tests that fails in the copy, or why none could run; empty where all pass."""
    options = ["-x", "-q", "-n", "0", "--no-header", "-p", "no:cacheprovider", "--tb=no", "-o", "addopts="]
    names = copy / "names.txt"
    names.write_text("\n".join(tests))
    command = [sys.executable, "-m", "pytest", *options, f"@{names}"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    process = subprocess.Popen(command, cwd=copy, env=environment(copy), start_new_session=True, **pipes)
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"no end after {limit:.0f} s"
    if process.returncode == 0:
        return ""
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
    return found[1] if found else f"pytest ended with {process.returncode}: {output.strip()[-200:]}"


def copy_of(root: Path, folder: Path) -> Path:
    """Copy what the tests need of the project."""
    folder.mkdir()
    ignored = shutil.ignore_patterns("__pycache__", "_build", "mlruns", ".*")
    for name in _COPIED:
        if (root / name).is_dir():
            shutil.copytree(root / name, folder / name, ignore=ignored)
        else:
            shutil.copy(root / name, folder / name)
    return folder


def table(mutants: list[Mutant]) -> list[str]:
    """Return the lines of the table: a row per package, and one for all."""
    lines = [f"{'package':14s} {'mutants':>8s} {'killed':>7s} {'survived':>9s} {'killed %':>9s}"]
    for name in [*sorted({mutant.package for mutant in mutants}), "all"]:
        some = [mutant for mutant in mutants if name in ("all", mutant.package)]
        killed = sum(mutant.killed for mutant in some)
        lines.append(f"{name:14s} {len(some):8d} {killed:7d} {len(some) - killed:9d} {100 * killed / len(some):8.1f}")
    kinds = Counter(re.sub(r"_.*", "", mutant.operator) for mutant in mutants if not mutant.killed)
    lines.append("survived: " + (", ".join(f"{kind} {count}" for kind, count in kinds.most_common()) or "none"))
    return lines


def main(arguments: list[str] | None = None) -> int:
    """Draw, judge and print; return 0 whatever survives: survivors are to be read."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300, help="mutants (300)")
    parser.add_argument("--seed", type=int, default=0, help="from which they are drawn (0)")
    parser.add_argument("--packages", nargs="+", default=list(PACKAGES), help="parts of zslplat")
    parser.add_argument("--workers", type=int, default=1, help="mutants judged at a time (1)")
    parser.add_argument("--most", type=float, default=300.0, help="seconds of tests at most for each mutant (300)")
    parser.add_argument("--coverage", type=Path, help="folder of an earlier run under coverage")
    parser.add_argument("--results", type=Path, help="CSV file for all mutants; those in it are not judged again")
    parser.add_argument("--dry-run", action="store_true", help="print the mutants and the number of their tests")
    asked = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="zslplat-mutants-"))
    try:
        coverage = asked.coverage or folder / "coverage"
        if asked.coverage is None:
            record_coverage(ROOT, coverage, asked.workers)
        covering = Covering(coverage)
        mutants = drawn_mutants(ROOT, asked.packages, asked.count, asked.seed)
        if asked.dry_run:
            for mutant in mutants:
                print(f"{mutant.path}:{mutant.line} {mutant.operator}, {len(covering.tests(mutant))} tests")
                print(f"    - {mutant.before}\n    + {mutant.after}")
            return 0
        known = recorded(asked.results)
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(asked.workers):
            copies.put(copy_of(ROOT, folder / f"copy-{number}"))

        def one(mutant: Mutant) -> None:
            key = mutant.path, str(mutant.line), mutant.operator, mutant.after
            if key in known:
                mutant.killed, mutant.by = known[key]["killed"] == "True", known[key]["by"]
                return
            copy = copies.get()
            try:
                judge(mutant, copy, covering, asked.most)
            finally:
                copies.put(copy)
            said = f"killed by {mutant.by}" if mutant.killed else f"SURVIVED {mutant.tests} tests"
            print(f"{mutant.path}:{mutant.line} {mutant.operator} {mutant.seconds:.0f} s: {said}", flush=True)
            if not mutant.killed:
                print(f"    - {mutant.before}\n    + {mutant.after}", flush=True)
            record(asked.results, mutant)

        with ThreadPoolExecutor(asked.workers) as pool:
            list(pool.map(one, mutants))
        print("\n".join(table(mutants)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


_COLUMNS = ("path", "line", "operator", "before", "after", "tests", "killed", "by", "seconds")


def recorded(results: Path | None) -> dict[tuple[str, ...], dict[str, str]]:
    """Return the mutants of an earlier run by place and change."""
    if results is None or not results.exists():
        return {}
    with results.open(newline="", encoding="utf-8") as file:
        return {(row["path"], row["line"], row["operator"], row["after"]): row for row in csv.DictReader(file)}


def record(results: Path | None, mutant: Mutant) -> None:
    """Add a judged mutant to the file."""
    if results is None:
        return
    fresh = not results.exists()
    with results.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        if fresh:
            writer.writerow(_COLUMNS)
        writer.writerow([getattr(mutant, name) for name in _COLUMNS])


if __name__ == "__main__":
    sys.exit(main())
