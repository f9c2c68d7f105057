"""The page of results: what it shows of kept cells and suites, and that it is up to date."""

import re
import shutil
from pathlib import Path

import pytest

from zslplat.errors import StoreError, UsageError
from zslplat.suites.cells import pieces_of
from zslplat.suites.earlier_results import SCORE_KEY
from zslplat.suites.suite import load_suite
from zslplat_papers.reproduction.page import page, write_page
from zslplat_papers.reproduction.reproduce import CELL_KEY
from zslplat_papers.reproduction.results import PACKAGED, keep_results
from zslplat_papers.reproduction.verdicts import CANNOT_TELL

ROOT = Path(__file__).parents[3]


def test_the_page_of_results_is_what_the_kept_results_give(tmp_path):
    write_page(tmp_path / "page.md", PACKAGED)
    assert (ROOT / "docs" / "results.md").read_text() == (tmp_path / "page.md").read_text(), (
        f"make it again: zslplat claims --results {PACKAGED.relative_to(ROOT)} --page docs/results.md"
    )


def test_cells_on_other_data_have_no_verdict_on_the_page_but_say_what_the_data_are(tmp_path):
    same = {"table": "000-table-2", "way": "ours", "metric": "accuracy", "seed": 0, "trials": 3, "ours": 0.5}
    same |= {"verdict": CANNOT_TELL, "low_classes": -0.05, "high_classes": 0.4, "oracle": 0.625}
    lines = [
        same | {"row": "eszsl", "column": "AWA1", "why": "the interval is wide", "paper": 58.2},
        same | {"row": "eszsl", "column": "letters", "stand_in": "yes", "why": "other data: spoken letters"},
        same | {"row": "ale", "column": "letters", "stand_in": "yes", "why": "other data: spoken letters"},
    ]
    keep_results("reproduce-000-table-2", lines, CELL_KEY, tmp_path, hours=0.1)
    text = page(tmp_path)
    assert "| eszsl | AWA1 | ours | 3 | accuracy | 58.2 | 0.500 |" in text
    assert "| 0.625 | cannot tell: the interval is wide |" in text
    assert "| ale | letters | ours | 3 | accuracy |  | 0.500 |  | -0.050 .. 0.400 | 0.625 | stand-in |" in text
    assert text.count("spoken letters") == 1
    assert "Stand-ins: letters: other data: spoken letters." in text


def test_a_table_of_which_a_part_is_kept_says_which(tmp_path):
    same = {"table": "004-virus", "metric": "accuracy", "seed": 0, "trials": 3, "ours": 0.5, "verdict": CANNOT_TELL}
    same |= {"column": "COIL20-covariances", "stand_in": "yes", "why": "other data: turned objects"}
    cells = [(row, way) for row in ("ksc", "kllc") for way in ("printed", "ours")]
    lines = [same | {"row": row, "way": way, "oracle": 0.625} for row, way in cells]
    lines[1]["oracle"] = None
    keep_results("reproduce-004-virus", lines[:3], CELL_KEY, tmp_path, hours=0.5)
    part = "Cells: 3 of 4 on stand-ins (COIL20-covariances 3 of 4), 0 of 4 on the paper's own data"
    assert f"\n{part}; 1 without an oracle. Commits: " in page(tmp_path)
    keep_results("reproduce-004-virus", [lines[1] | {"oracle": 0.5}, lines[3]], CELL_KEY, tmp_path, hours=0.5)
    assert "\nCells: 4 of 4 on stand-ins, 0 of 4 on the paper's own data. Commits: " in page(tmp_path)


def test_scores_of_a_suite_stand_on_the_page_by_data_set_with_their_budgets(tmp_path):
    same = {"data": "letters", "split": "given", "low": 0.4, "high": 0.6, "knows_of_batch": "nothing", "trials": 20}
    lines = [
        same | {"row": "sse", "task": "zsl", "metric": "accuracy", "test": 0.5, "from_memory": True},
        same | {"row": "sse", "task": "gzsl", "metric": "AUSUC", "test": 0.45, "from_memory": True},
        same | {"row": "gfhf", "task": "zsl", "metric": "accuracy", "test": 0.55, "knows_of_batch": "transductive"},
        same | {"row": "gfhf", "task": "zsl", "metric": "accuracy", "test": 0.25, "split": "mean"},
        same
        | {"row": "gfhf", "task": "gzsl", "metric": "AUSUC", "test": 1.5, "low": "nan", "high": "nan"}
        | {"knows_of_batch": "transductive"},
    ]
    lines = [{"from_memory": False, **line} for line in lines]
    keep_results("bench-drawn-scores", lines[3:4], SCORE_KEY, tmp_path, hours=0.5)
    assert "Suite" not in page(tmp_path)
    keep_results("bench-small-scores", lines, SCORE_KEY, tmp_path, hours=0.5)
    text = page(tmp_path)
    assert "### Suite small: letters" in text
    assert "| row | knows of the batch | trials | gzsl: AUSUC | zsl: accuracy |" in text
    assert "| sse * | nothing | 20 | 0.450 (0.400 .. 0.600) | 0.500 (0.400 .. 0.600) |" in text
    assert "| gfhf | transductive | 20 | 1.500 | 0.550 (0.400 .. 0.600) |" in text
    assert "0.250" not in text  # means over draws of classes are other numbers
    assert "; 0.50 hours." in text


def test_a_suite_of_which_a_part_is_kept_says_so(tmp_path):
    whole = sum(len(piece.cells) for piece in pieces_of(load_suite("quick")))
    line = {"data": "digit-pairs", "row": "eszsl", "task": "zsl", "metric": "accuracy", "split": "given"}
    line |= {"test": 0.5, "low": 0.4, "high": 0.6, "knows_of_batch": "nothing", "from_memory": False, "trials": 3}
    keep_results("bench-quick-scores", [line], SCORE_KEY, tmp_path, hours=0.5)
    assert re.search(rf"Suite quick: 1 of {whole} cells\. Commits: .*; 0\.50 hours\.", page(tmp_path))


def test_a_page_takes_the_place_of_a_page_alone(tmp_path):
    file, kept = tmp_path / "page.md", tmp_path / "kept"
    shutil.copy(ROOT / "docs" / "results.md", file)
    write_page(file, kept)
    first = file.read_text()
    assert first.startswith("# Results\n\nMade by `zslplat claims --page")
    assert "Suite" not in first
    write_page(file, kept)
    for content in ("", "# Results\n\nof my own", "Made by `zslplat claims --page`"):
        file.write_text(content)
        with pytest.raises(UsageError, match=r"page\.md exists and is no page of results; give --page another name"):
            write_page(file, kept)
        assert file.read_text() == content
    with pytest.raises(UsageError, match="is a folder"):
        write_page(tmp_path, kept)


def test_a_page_that_cannot_be_written_whole_leaves_what_was_there(tmp_path, monkeypatch):
    file, kept = tmp_path / "page.md", tmp_path / "kept"
    write_page(file, kept)
    before = file.read_text()

    def write_text(path, text, **options):
        whole(path, text[:100], **options)
        raise OSError(28, "No space left on device")

    whole = Path.write_text
    monkeypatch.setattr(Path, "write_text", write_text)
    with pytest.raises(
        StoreError, match=r"the page of results cannot be written to .*page\.md: No space left on device; give --page"
    ):
        write_page(file, kept)
    assert file.read_text() == before
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]
