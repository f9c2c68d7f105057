"""Files of a comparison: equal numbers in all that hold rows, and sound Markdown and LaTeX."""

import csv
import html
import io
import json
import re
import shutil
import subprocess

import matplotlib
import pytest
from rich.console import Console
from store_toys import BOTH, MadeStore

from zslplat.cli.results import _print_sheet
from zslplat.comparison.compare import compare
from zslplat.comparison.exports import FORMATS, export_each, latex, markdown
from zslplat.comparison.sheets import BEST, TIED, letters_of, sheets, standings
from zslplat.errors import UsageError
from zslplat.settings import resolve_settings

SPECIAL = 'l2alm(kernel="50%_of #1 & {x} $y$ ~a^b <c> \\d [e]")'


@pytest.fixture
def settings(new_store):
    settings = resolve_settings({"store": new_store()})
    made = MadeStore(settings)
    made.study("eszsl", 0.8, repeats=3)
    made.study("sae", 0.79, trials=5)
    made.study("conse", 0.3, steps=4.0)
    made.study("gfhf", 0.9, knows=BOTH)
    made.study("eszsl", 0.7, dataset="made(seed=1)", rows="other rows")
    made.study("sae", 0.6, dataset="made(seed=1)", rows="other rows")
    return settings


@pytest.fixture
def show(settings):
    return lambda *datasets: compare(settings, datasets, warn=pytest.fail)


def test_numbers_are_equal_to_the_last_bit_wherever_they_are_written(show, call, tmp_path):
    found = show()
    assert len(found.datasets) == 2
    floats = [value for row in found.rows for value in row.values() if isinstance(value, float)]
    assert len({value for value in floats if value != round(value, 6)}) > 40
    for ending in (".csv", ".json"):
        done = call("compare", "--out", tmp_path / f"table{ending}", "--json")
        assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [found.to_json()]
    assert json.loads((tmp_path / "table.json").read_text()) == [found.to_json()]
    with open(tmp_path / "table.csv", newline="", encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    assert len(read) == len(found.rows)
    for line, row in zip(read, found.rows, strict=True):
        for name, value in row.items():
            if isinstance(value, float):
                assert float(line[name]) == value
            else:
                assert line[name] == ("" if value is None else str(value))


def test_an_ending_that_says_nothing_is_refused_before_anything_is_read(settings, call, tmp_path):
    done = call("compare", "--out", tmp_path / "table.docx")
    assert done.returncode == 2
    assert f"give one of {', '.join(FORMATS)}" in done.stderr
    with pytest.raises(UsageError, match="the ending says what is written"):
        export_each([None], tmp_path / "table")


def test_the_folder_of_a_table_is_made(settings, call, tmp_path):
    table = tmp_path / "new folder" / "table.md"
    assert call("compare", "-d", "made", "--out", table).returncode == 0
    assert table.read_text().count("|")
    assert call("compare", "-d", "made", "--out", table / "table.md").returncode == 1


def test_markdown_has_the_rounded_numbers_and_marks(show):
    found = show("made")
    text = markdown(found)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.count("|") - line.count("\\|") for line in lines} == {lines[0].count("|")}
    for row in found.rows:
        (line,) = (line for line in lines if line.startswith(f"| {row['short']} "))
        assert f"{row['test']:.4f}" in line
        group = [other for other in found.rows if other["group"] == row["group"]]
        best = letters_of(group[0]["tied"])
        assert ("**" in line) == (row is group[0])
        assert ("†" in line) == (row is not group[0] and bool(letters_of(row["tied"]) & best))
    assert "† " not in text.split("- best score")[0].replace("† |", "")
    assert {"**" in line for line in lines} == {True, False}
    assert any("†" in line for line in lines)
    assert "- new classes like these: " in text


def test_all_of_equal_best_scores_are_bold(show):
    for found in (show("made"), show()):
        first, second = found.rows[:2]
        assert {first["short"], second["short"]} == {"eszsl", "sae"}
        found.rows[:2] = [{**first, "test": 0.1 + 0.2}, {**second, "test": 0.3}]
        (sheet,) = sheets(found)
        place = 1 if len(found.datasets) > 1 else list(sheet.titles).index("test")
        inductive = next(iter(sheet.sections.values()))
        assert {cells[0].text for cells in inductive if cells[place].standing == BEST} == {"eszsl", "sae"}
        terminal = Console(force_terminal=True, color_system="standard", width=300, file=io.StringIO())
        _print_sheet(terminal, sheet)
        for text, mark in (
            (markdown(found), "**"),
            (latex(found), r"\textbf{"),
            (terminal.file.getvalue(), "\x1b[1m"),
        ):
            assert text.replace(" ", "").count(f"{mark}0.3000") == 2


def test_scores_that_differ_by_rounding_alone_are_equally_good():
    values = [(0.1 + 0.2, "a"), (0.3, "a"), (0.3 - 1e-9, "a"), (0.2, "b")]
    rows = [{"group": group, "test": v, "tied": t} for group in ("inductive", "joint") for v, t in values]
    assert standings(rows) == [BEST, BEST, TIED, ""] * 2


def test_markdown_and_latex_of_several_data_sets_have_a_column_for_each(show):
    found = show()
    for text, head in ((markdown(found), "| made | made(seed=1) |"), (latex(found), "{made(seed=1)}")):
        assert head in text.replace("\\_", "_")
        for row in found.rows:
            assert f"{row['test']:.4f}" in text


def sound(text):
    """Check what LaTeX would: environments and braces are closed, and every line of a table has as many cells."""
    text = text.replace(r"$^{\dagger}$", "")
    plain = re.sub(r"\\[\\&%$#_{}]", "", text)
    assert plain.count("{") == plain.count("}")
    assert plain.count("$") % 2 == 0
    stack = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if kind == "begin":
            stack.append(name)
        else:
            assert stack.pop() == name
    assert stack == []
    assert not re.search(r"(?<!\\)[#_^~]", "\n".join(line for line in text.splitlines() if not line.startswith("%")))
    for table in re.findall(r"\\begin\{tabular\}.*?\\end\{tabular\}", text, re.DOTALL):
        layout = re.search(r"\\begin\{tabular\}\{((?:p\{[^}]*\})?)(\w+)\}", table)
        columns = len(layout[2]) + bool(layout[1])
        for line in table.splitlines():
            if line.endswith(r"\\") and "multicolumn" not in line:
                assert len(re.findall(r"(?<!\\)&", line)) == columns - 1, line


def compiles(text, folder):
    document = "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n" + text + "\\end{document}\n"
    (folder / "document.tex").write_text(document, encoding="utf-8")
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "document.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=800)
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


def test_latex_is_closed_and_even_whatever_names_hold(settings, show, tmp_path):
    MadeStore(settings).study(SPECIAL, 0.5, trials=1)
    one, several = latex(show("made")), latex(show())
    for text in (one, several):
        sound(text)
        assert r"\toprule" in text
        assert r"\bottomrule" in text
    assert r"\textbf{0.7" in one or r"\textbf{0.8" in one
    assert r"$^{\dagger}$" in one.split(r"\bottomrule")[0]
    assert r"50\%\_of \#1 \& \{x\} \$y\$ \textasciitilde{}a\textasciicircum{}b" in one
    if shutil.which("pdflatex") is None:
        return  # what can be told without it has been
    said = compiles(one + several, tmp_path)
    widths = [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt too wide\)", said)]
    assert max(widths, default=0) < 60


def test_differences_are_drawn_whatever_names_hold(settings, show, tmp_path):
    made = MadeStore(settings)
    name = r'odd(name="a$\\frac{$b")'
    for dataset in ("made", "made(seed=1)"):
        made.study(name, 0.8, dataset=dataset, rows=f"rows of {dataset}")
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        export_each([show(), show("made")], tmp_path / "plots.svg")
    assert f">{name}<" in html.unescape((tmp_path / "plots.svg").read_text())
    export_each([show("made")], tmp_path / "scores.png")
    assert (tmp_path / "scores.png").read_bytes().startswith(b"\x89PNG")
