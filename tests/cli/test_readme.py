"""The README tells the truth: its commands run, its example works, its install lines are those of the checks."""

from __future__ import annotations

import importlib
import re
import shlex
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import zslplat

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def _is_command(line):
    return line.startswith("$ ")


BLOCKS = [block.splitlines() for block in re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL)]
COMMANDS = [line.removeprefix("$ ") for block in BLOCKS for line in block if line.startswith("$ ")]
# Commands of a block that shows what is printed: these are carried out to the letter.
SHOWN = {line.removeprefix("$ ") for block in BLOCKS if not all(map(_is_command, block)) for line in block}
# A score: four digits behind the point. Another processor may round another row to the other side.
SCORE, CLOSE = re.compile(r"(?<![\w.])[+-]?\d\.\d{4}(?!\d)"), 0.02


@pytest.mark.long
@pytest.mark.timeout(1500)  # many commands, one after another
def test_every_command_of_the_readme_runs(call, tmp_path):
    assert len(COMMANDS) >= 12
    _rows_and_new_classes(tmp_path)
    for command in COMMANDS:
        words = shlex.split(command)
        assert words[0] == "zslplat"
        if words[1] == "ui":
            continue
        done = call(*_filled_in(words[1:], tmp_path, as_written=command in SHOWN))
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert done.stdout.strip(), command
        for line in _output_of(command):
            assert any(_says(line, printed) for printed in done.stdout.splitlines()), f"{line}\n\n{done.stdout}"


def _output_of(command):
    """Return the lines that the README shows as the output of a command, without those that are drawn lines alone."""
    for block in BLOCKS:
        if f"$ {command}" in block:
            after = block[block.index(f"$ {command}") + 1 :]
            until = next((place for place, line in enumerate(after) if _is_command(line)), len(after))
            return [line for line in after[:until] if re.search(r"\w", line)]
    return []


def _says(shown, printed):
    """Tell whether a printed line has the words and the scores of a shown one; times and identifiers are its own."""
    words, found = ([w for w in re.findall(r"[^\W\d][\w-]*", _plain(line))] for line in (shown, printed))
    if shown.endswith("..."):  # cut in the README
        found = found[: len(words)]
    scores, values = ([float(text) for text in SCORE.findall(line)] for line in (shown, printed))
    return (
        words == found
        and len(scores) == len(values)
        and all(abs(a - b) <= CLOSE for a, b in zip(scores, values, strict=True))
    )


def _plain(line):
    """Return a line without addresses, identifiers and numbers."""
    line = re.sub(r"\S*/\S*|\b[0-9a-f]{16}\b|-[0-9a-f]{8}\b", " ", line)
    return re.sub(r"(?<![\w-])[+-]?[\d.]+(?:e[+-]?\d+)?", " ", line)


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("| acc | 0.9550 | 9.8 s", "| acc | 0.9562 | 21.4 s", True),
        ("| acc | 0.9550 | 9.8 s", "| acc | 0.9162 | 21.4 s", False),
        ("trials: 20 complete; 9.8 s", "trials: 20 failed; 9.8 s", False),
        ("study a@b-zsl-deb084d3", "study a@b-zsl-0123abcd", True),
        ("best: trial 18 (k=9, lam=0.0016...", "best: trial 3 (k=9, lam=0.0020, ridge=1)", True),
    ],
)
def test_what_is_shown_is_compared_by_words_and_scores(shown, printed, same):
    assert _says(shown, printed) == same


def _rows_and_new_classes(folder):
    """Write the rows of the README's user, and the classes that these may have."""
    data = zslplat.load_dataset("digit-pairs")
    np.save(folder / "X.npy", np.asarray(data.X)[:5])
    attributes = data.signatures["strokes"].names
    lines = [[name, *map(str, strokes)] for name, strokes in zip("uvw", np.eye(len(attributes)), strict=False)]
    (folder / "new.csv").write_text("".join(",".join(line) + "\n" for line in [["class", *attributes], *lines]))


def _filled_in(words, folder, *, as_written):
    """Put a study and a run of this folder where the README has a placeholder; four trials do where none are shown."""
    if "--trials" in words and not as_written:
        words = [*words[: words.index("--trials") + 1], "4", *words[words.index("--trials") + 2 :]]
    filled = []
    for word in words:
        if "STUDY" in word:
            studies = sorted((folder / "mlruns" / "studies").glob("mfmr-joint@*"))
            word = word.replace("STUDY", studies[0].name)
        if word == "RUN":
            connection = sqlite3.connect(folder / "mlruns" / "mlflow.db")
            kind = "final" if words[0] in ("models", "predict", "export") else "trial"
            query = "select run_uuid from tags where key = 'zslplat.kind' and value = ?"
            word = connection.execute(query, (kind,)).fetchone()[0]
        filled.append(word)
    return filled


def test_the_two_commands_are_those_of_the_checks():
    lines = re.findall(r"```sh\n(.*?)\n```", README, flags=re.DOTALL)
    assert len(lines) == 2
    assert all("\n" not in line for line in lines)
    assert lines[0].endswith("&& .venv/bin/zslplat tune --method mfmr-joint")
    checks = (ROOT / ".ci" / "run").read_text()
    for part in lines[1].split(" && "):
        assert part.replace("pip install", "pip install --quiet").replace("-m pytest", "-m pytest -q") in checks


def test_the_plugin_of_the_readme_is_a_kernel_with_its_gradient(tmp_path, monkeypatch):
    from zslplat.testing import check_kernel

    (source,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    (tmp_path / "readme_example.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    example = importlib.import_module("readme_example")
    assert example.zslplat_kernels() == {"rational": example.Rational}
    check_kernel(example.Rational())


@pytest.mark.parametrize("picture", re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README))
def test_the_pictures_are_there(picture):
    assert (ROOT / picture).stat().st_size > 5000
