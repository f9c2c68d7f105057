"""Every figure that README and documentation quote comes from kept results, from the program, or is said to be none."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the documentation is not beside the tests")


@pytest.fixture(scope="module")
def figures():
    spec = importlib.util.spec_from_file_location("documentation_figures", ROOT / "docs" / "figures.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_page_quotes_what_the_kept_results_say_and_nothing_without_a_source(figures):
    entries = figures.listed()
    wrong = []
    for page in figures.pages():
        text = (ROOT / page).read_text(encoding="utf-8")
        drawn = figures.drawn(page, text, entries)
        wrong += [] if drawn == text else [f"{page}: python docs/figures.py draws its figures anew"]
        wrong += figures.unsourced(page, text, entries)
    assert not wrong, "\n".join(wrong)


def test_every_entry_of_the_list_is_of_a_page_that_is_there(figures):
    pages = {*figures.pages(), "*"}
    assert {entry["page"] for kind in figures.listed().values() for entry in kind} <= pages
    assert {"README.md", "docs/statistics.md", "docs/checks/ZSP101.md"} <= pages


@pytest.mark.parametrize(
    ("text", "figure"),
    [
        ("it reaches .939 of all", ".939"),
        ("reaches\n0.956, say", "0.956"),
        ("it is 36 times as fast", "36"),
        ("takes 12 s of one core", "12"),
        ("ahead by +0.016", "+0.016"),
        ("| eszsl | 0.94 |", "0.94"),
        ("in 7 % of studies", "7"),
    ],
)
def test_a_figure_without_a_source_is_found(figures, text, figure):
    nothing = {"table": [], "quoted": [], "defined": []}
    (found,) = figures.unsourced("page.md", text, nothing)
    assert f": {figure} in" in found
    covered = {**nothing, "defined": [{"page": "page.md", "text": text, "as": "an example"}]}
    assert not figures.unsourced("page.md", text, covered)


@pytest.mark.parametrize(
    "text", ["```sh\nx --lam 0.5\n```", "    x = 0.5\n", "`lam=0.5`", "[here](a/1.5.md)", "10^3 rows"]
)
def test_code_is_no_figure(figures, text):
    assert not figures.unsourced("page.md", text, {"table": [], "quoted": [], "defined": []})


def test_numbers_and_tables_are_drawn_from_kept_results(figures, tmp_path):
    (tmp_path / "speed.csv").write_text("row,of,times,kept\na,fast,36.04,2026\na,slow,0.5,2026\nb,fast,4,2026\n")
    entries = {
        "table": [
            {
                "page": "p.md",
                "name": "t",
                "results": "speed",
                "rows": ["row"],
                "across": "of",
                "value": "times",
                "form": ".1f",
            }
        ],
        "quoted": [
            {
                "page": "p.md",
                "text": "it is {} times as fast",
                "sources": [{"results": "speed", "where": {"row": "a", "of": "fast"}, "value": "times", "form": ".0f"}],
            }
        ],
        "defined": [],
    }
    text = "It is so: it is 12\ntimes as fast.\n<!-- figures: t -->\n\nold\n\n<!-- end of figures -->\n"
    drawn = figures.drawn("p.md", text, entries, tmp_path)
    assert "it is 36\ntimes as fast" in drawn
    assert "|  | fast | slow |\n|---|---|---|\n| a | 36.0 | .5 |\n| b | 4.0 |  |\n" in drawn
    assert figures.drawn("p.md", drawn, entries, tmp_path) == drawn
    entries["quoted"][0]["sources"][0]["where"] = {"row": "a"}
    with pytest.raises(figures.NoSource, match="2 lines of speed"):
        figures.drawn("p.md", text, entries, tmp_path)
    with pytest.raises(figures.NoSource, match="no place for table"):
        figures.drawn("p.md", "it is 1 times as fast", entries, tmp_path)


def test_a_passage_that_is_gone_is_told(figures):
    entries = {"table": [], "quoted": [], "defined": [{"page": "p.md", "text": "gone 0.5", "as": ""}]}
    with pytest.raises(figures.NoSource, match="no passage"):
        figures.unsourced("p.md", "nothing", entries)
