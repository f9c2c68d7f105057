"""Figures and tables as files: every kind is drawn, shows its data, and is the same file again."""

import csv
import warnings
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure as Canvas
from matplotlib.image import imread

from zslplat.drawing import NAME, draw_figure, label_text, optional_picture, render, save
from zslplat.figures import Curve, Forest, ForestRow, MatrixFigure, ScatterFigure, Table, write_table


def curve(**extra):
    x = np.linspace(0, 0.4, 200)
    lines = {f"method {i}": (x.tolist(), (0.7 * (1 - (x / 0.4) ** (i + 2))).tolist()) for i in range(3)}
    return Curve(lines, "accuracy on unseen classes", "accuracy on seen classes", "a title", **extra)


def matrix(rows, columns, seed=0):
    values = np.random.default_rng(seed).dirichlet(np.full(columns, 0.3), size=rows)
    names = [f"class number {i}" for i in range(max(rows, columns))]
    return MatrixFigure(values, names[:rows], names[:columns], "predicted class", "true class", "confusion")


def scatter(classes, panels=2, n=400):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, classes, n)
    centres = rng.normal(size=(classes, 2)) * 6
    maps = {f"method {p}": centres[labels] + rng.normal(size=(n, 2)) for p in range(panels)}
    return ScatterFigure(maps, labels, [f"class {i}" for i in range(classes)], "map")


FIGURES = {
    "curve": curve(points={"no bias": (0.05, 0.69), "best H": (0.25, 0.4)}),
    "bands": Curve(
        {"v": ([0.01, 0.1, 1.0], [0.2, 0.5, 0.4])},
        "lam",
        "acc",
        logx=True,
        bands={"v": ([0.1, 0.4, 0.3], [0.3, 0.6, 0.5])},
    ),
    "one point": Curve({"objective": ([1], [3.0])}, "iteration", "objective"),
    "no line": Curve({}, "iteration", "objective"),
    "many lines": Curve({f"line {i}": ([0, 1], [i, i + 1]) for i in range(16)}, "x", "y"),
    "few classes": matrix(10, 10),
    "some classes": matrix(20, 20),
    "all classes of a joint space": matrix(50, 50),
    "many classes": matrix(200, 200),
    "wide": matrix(3, 40),
    "signed": MatrixFigure(np.array([[1.0, -2.0], [0.0, np.nan]]), ["a", "b"], ["c", "d"]),
    "zeros": MatrixFigure(np.zeros((2, 2)), ["a", "b"], ["c", "d"]),
    "scatter": scatter(12),
    "one panel": scatter(5, panels=1),
    "many labels": scatter(80, panels=3),
    "forest": Forest([ForestRow("a"), ForestRow("b", 0.1, (0, 0.2), (-0.1, 0.3), "b")] * 8, "x", "t", 0.0, (0, 0.01)),
}


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_becomes_a_readable_png(name, tmp_path):
    render(FIGURES[name], tmp_path / "figure.png")
    image = imread(tmp_path / "figure.png")
    height, width = image.shape[:2]
    assert 400 <= height <= 1600
    assert 500 <= width <= 2000
    assert image[..., :3].min() < 0.5 < image[..., :3].mean()


def test_same_figure_is_the_same_file(tmp_path):
    for name in ("a.png", "b.png"):
        render(FIGURES["curve"], tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_other_values_give_another_file(tmp_path):
    render(matrix(10, 10, seed=0), tmp_path / "a.png")
    render(matrix(10, 10, seed=1), tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() != (tmp_path / "b.png").read_bytes()


def test_unknown_figures_are_refused(tmp_path):
    with pytest.raises(TypeError, match="expected Curve"):
        render("a picture", tmp_path / "figure.png")


def test_table_is_written_with_full_precision(tmp_path):
    third = 1 / 3
    columns = {"class": ["a, b", 'c "d"', "é"], "x": [third, np.float64(third), None], "n": [1, np.int64(2), 3]}
    write_table(Table(columns), tmp_path / "t.csv")
    with open(tmp_path / "t.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [r["class"] for r in rows] == columns["class"]
    assert [float(r["x"]) for r in rows[:2]] == [third, third]
    assert rows[2]["x"] == ""
    assert [r["n"] for r in rows] == ["1", "2", "3"]


def test_columns_of_unequal_length_are_refused(tmp_path):
    with pytest.raises(ValueError):
        write_table(Table({"a": [1, 2], "b": [1]}), tmp_path / "t.csv")


@pytest.mark.long
def test_a_figure_is_drawn_once(tmp_path, monkeypatch):
    drawn, draw = [], Canvas.draw
    monkeypatch.setattr(Canvas, "draw", lambda canvas, renderer: (drawn.append(canvas), draw(canvas, renderer)))
    for name, figure in FIGURES.items():
        render(figure, tmp_path / f"{name}.png")
    assert len(drawn) == len(FIGURES)


ODD = [
    r"a$\frac{$b",
    "$x$",
    "price $5 and $6",
    "one $ alone",
    r"\$already\$",
    "_underscore",
    r"back\slash_{2}^%#&~",
    "two\nlines",
    "nul \0, half \ud800",
    "שלום",
    "😀👩\u200d🔬",
    "word " * 100,
    "w" * 500,
]


def texts_of(path):
    return [element.text for element in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("name", ODD)
def test_names_are_drawn_letter_by_letter(name, tmp_path):
    points = np.eye(2)
    figures = [
        Curve({name: ([1, 2], [3, 4]), "other": ([1, 2], [4, 3])}, "x " + name, "y " + name, "t " + name),
        Curve({f"{name}{i}": ([1, 2], [3, i]) for i in range(9)}, "x", "y", points={name: (1, 2)}, logx=True),
        MatrixFigure(points, [name, "a"], ["b", name], "x " + name, "y " + name, "t " + name),
        ScatterFigure({"p " + name: points, name: points}, np.arange(2), [name, "other"], "t " + name),
    ]
    shown = label_text(name).replace(r"\$", "$")
    for number, figure in enumerate(figures):
        with warnings.catch_warnings(), matplotlib.rc_context({"svg.fonttype": "none"}):
            warnings.simplefilter("error")
            render(figure, tmp_path / f"{number}.png")
            save(draw_figure(figure), tmp_path / f"{number}.svg")
        found = texts_of(tmp_path / f"{number}.svg")
        assert [text for text in found if text.removeprefix("t ").startswith(shown.rstrip("…"))], found


def test_dollars_of_a_name_are_shown_as_they_are():
    text = matplotlib.text.Text
    for name in ODD[:5]:
        drawn_text, is_formula = text()._preprocess_math(label_text(name))
        assert (drawn_text, is_formula) == (name, False)
    assert label_text("a\tb\nc") == r"a\tb\nc"
    assert label_text("w" * 500) == "w" * (NAME - 1) + "…"


def test_letters_that_the_usual_font_lacks_are_taken_from_others_that_are_installed(tmp_path, monkeypatch):
    names = ("\u1d15 bird", "plain")  # DejaVu Sans has no such letter, DejaVu Serif has
    figure = MatrixFigure(np.eye(2), names, names, "class", "class", names[0])

    def picture(*fonts):
        monkeypatch.setattr("zslplat.pictures.MORE_FONTS", fonts)
        render(figure, tmp_path / "figure.png")
        return (tmp_path / "figure.png").read_bytes()

    boxes = picture("no such font")
    assert boxes == picture()
    assert picture("no such font", "DejaVu Serif") != boxes
    ascii_alone = MatrixFigure(np.eye(2), ("a", "b"), ("a", "b"), "class", "class", "plain")
    pictures = []
    for fonts in ((), ("DejaVu Serif",)):
        monkeypatch.setattr("zslplat.pictures.MORE_FONTS", fonts)
        render(ascii_alone, tmp_path / "plain.png")
        pictures.append((tmp_path / "plain.png").read_bytes())
    assert pictures[0] == pictures[1]


def test_logarithmic_axes_keep_their_powers(tmp_path):
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        save(draw_figure(Curve({"$v$": ([0.01, 0.1, 1.0], [1, 2, 3])}, "lam", "acc", logx=True)), tmp_path / "f.svg")
    assert "mathdefault" not in "".join(filter(None, texts_of(tmp_path / "f.svg")))
    assert "tspan" in (tmp_path / "f.svg").read_text()


def test_a_picture_that_fails_costs_a_warning(tmp_path):
    said = []
    path = tmp_path / "map.png"
    path.write_text("of an earlier time")
    with optional_picture(path, said.append):
        render("a picture", path)
    expected = "expected Curve, MatrixFigure, ScatterFigure or Forest"
    assert said == [f"the picture map.png is not drawn: TypeError: no figure: str; {expected}"]
    assert not path.exists()
    with pytest.raises(FileNotFoundError), optional_picture(path, said.append):
        render(FIGURES["curve"], tmp_path / "missing" / "map.png")
    assert len(said) == 1
