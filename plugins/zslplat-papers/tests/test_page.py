"""The pages of results: what they show of kept claims, cells and suites, and that they are up to date."""

import re
import shutil
from pathlib import Path

import pytest

from zslplat.errors import StoreError, UsageError
from zslplat.suites.cells import pieces_of
from zslplat.suites.suite import load_suite
from zslplat_papers.reproduction.claims import KEY, RESULTS, recorded_claims
from zslplat_papers.reproduction.figures import claim_forest, in_words, named_forest
from zslplat_papers.reproduction.page import pages, write_page
from zslplat_papers.reproduction.reproduce import CELL_KEY
from zslplat_papers.reproduction.results import PACKAGED, keep_results
from zslplat_papers.reproduction.suite_results import SCORE_KEY
from zslplat_papers.reproduction.verdicts import HOLDS, NOT_COMPARED

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"


def test_the_pages_of_results_are_what_the_kept_results_give(tmp_path):
    write_page(tmp_path / "results.md", PACKAGED)
    made, committed = (
        {path.relative_to(folder): path.read_text() for path in [folder / "results.md", *folder.glob("results/*.md")]}
        for folder in (tmp_path, DOCS)
    )
    again = f"make it again: zslplat claims --results {PACKAGED.relative_to(ROOT)} --page docs/results.md"
    assert committed.keys() == made.keys(), again
    assert [str(path) for path in made if made[path] != committed[path]] == [], again


def test_every_figure_of_the_pages_can_be_drawn_and_says_every_row_in_words():
    names = [name for text in pages(PACKAGED).values() for name in re.findall(r"```\{forest\} (.*)", text)]
    assert len(names) == len(set(names))
    tested = [judged.claim.id for judged in recorded_claims((), PACKAGED) if judged.lines]
    assert set(tested) <= set(names)
    for name in names:
        forest = named_forest(name, PACKAGED)
        assert any(row.value is not None for row in forest.rows), name
        assert all(row.label in in_words(forest) for row in forest.rows)


def test_numbers_that_pages_link_to_are_there():
    for name, text in pages(PACKAGED).items():
        place = DOCS if not name else DOCS / "results"
        for target in re.findall(r"\]\(([^)#]+)", text):
            assert (place / target).exists(), f"{name}: {target}"


def kept_differences(folder, data, **more):
    claim, same = "000-ort-beats-plain", {"suite": "zskl", "over": "new classes", "trials": 3, "repeats": 1, "seed": 0}
    same |= {"claim": claim, "classes": 20, "low": -0.1, "high": 0.3, "difference": 0.1, "verdict": HOLDS, **more}
    lines = [same | {"contrast": f"{name}: Cauchy-Ort - Cauchy (per_class_accuracy)", **line} for name, line in data]
    keep_results(RESULTS, lines, KEY, folder, hours=0.1)
    return claim_forest(recorded_claims([claim], folder)[0])


def test_a_claim_has_a_row_per_data_set_under_what_is_compared_and_its_margin(tmp_path):
    forest, note = kept_differences(tmp_path, [("a", {}), ("b", {"low": 0.05, "high": 0.15})])
    sides = "Cauchy-Ort - Cauchy (per_class_accuracy)"
    assert [row.label for row in forest.rows] == [sides, "a", "b", "mean over data sets", "mean"]
    assert (forest.level, forest.band, note) == (0.0, (-0.02, 0.02), "")
    assert forest.rows[2].note == f"+0.100 [+0.050, +0.150]  {HOLDS}"
    assert forest.rows[1].style != forest.rows[2].style


def test_what_is_no_part_of_the_mean_is_hollow_and_sets_of_the_same_images_count_once(
    tmp_path,
):
    others = [("CIFARAWA", {"classes": 5}), ("AWA1 standard", {"classes": 8}), ("AWA1 proposed", {"classes": 10})]
    forest, note = kept_differences(
        tmp_path, [("a", {}), ("b", {}), *others, ("c", {"over": "seeds", "classes": None})]
    )
    marks = {row.label: row.mark for row in forest.rows if row.value is not None}
    assert marks == {
        **dict.fromkeys(["a", "b", "AWA1 standard", "AWA1 proposed", "c"], "filled"),
        "CIFARAWA": "hollow",
        "mean": "pooled",
    }
    assert "4 data sets" in forest.rows[-1].note
    assert note == "No part of the mean: CIFARAWA (5 classes)."


def test_an_unknown_figure_is_refused(tmp_path):
    for name in ("000-table-2/nowhere", "suite quick/nowhere", "000-ort-beats-plain"):
        with pytest.raises(UsageError, match="expected CLAIM, TABLE/COLUMN or suite SUITE/DATA"):
            named_forest(name, tmp_path)


def test_cells_on_other_data_have_no_verdict_but_say_what_the_data_are(tmp_path):
    same = {"table": "000-table-2", "way": "ours", "metric": "accuracy", "seed": 0, "trials": 3, "ours": 0.5}
    same |= {"verdict": NOT_COMPARED, "low_classes": -0.05, "high_classes": 0.4, "oracle": 0.625}
    lines = [
        same | {"row": "eszsl", "column": "AWA1", "why": "the interval is wide", "paper": 58.2},
        same | {"row": "eszsl", "column": "letters", "stand_in": "yes", "why": "other data: spoken letters"},
        same | {"row": "ale", "column": "letters", "stand_in": "yes", "why": "other data: spoken letters"},
    ]
    keep_results("reproduce-000-table-2", lines, CELL_KEY, tmp_path, hours=0.1)
    text = pages(tmp_path)["000"]
    assert text.count("<summary>letters: stand-in, other data: spoken letters</summary>") == 1
    assert "<summary>AWA1</summary>" in text
    (_, own), (_, *others) = (named_forest(f"000-table-2/{column}", tmp_path).rows for column in ("AWA1", "letters"))
    assert own.note == "0.500  paper 58.2: not compared"
    assert own.wide == (-0.05, 0.4)
    assert own.narrow is None
    assert [(row.label, row.note) for row in others] == [("ALE", "0.500"), ("ESZSL", "0.500")]


def test_a_table_of_which_a_part_is_kept_says_which(tmp_path):
    same = {"table": "004-virus", "metric": "accuracy", "seed": 0, "trials": 3, "ours": 0.5, "verdict": NOT_COMPARED}
    same |= {"column": "COIL20-covariances", "stand_in": "yes", "why": "other data: turned objects"}
    cells = [(row, way) for row in ("ksc", "kllc") for way in ("printed", "ours")]
    lines = [same | {"row": row, "way": way, "oracle": 0.625} for row, way in cells]
    lines[1]["oracle"] = None
    keep_results("reproduce-004-virus", lines[:3], CELL_KEY, tmp_path, hours=0.5)
    part = "Cells: 3 of 4 on stand-ins (COIL20-covariances 3 of 4), 0 of 4 on the paper's own data"
    assert f" {part}; 1 without an oracle. " in pages(tmp_path)["004"]
    keep_results("reproduce-004-virus", [lines[1] | {"oracle": 0.5}, lines[3]], CELL_KEY, tmp_path, hours=0.5)
    assert " Cells: 4 of 4 on stand-ins, 0 of 4 on the paper's own data. " in pages(tmp_path)["004"]


def test_scores_of_a_suite_are_a_figure_by_data_set_and_say_what_methods_know(tmp_path):
    same = {"data": "letters", "draw": "given", "low": 0.4, "high": 0.6, "knows_of_batch": "nothing", "trials": 20}
    same |= {"task": "zsl", "metric": "accuracy", "from_memory": False}
    lines = [
        same | {"row": "sse", "test": 0.5, "from_memory": True},
        same | {"row": "sse", "task": "gzsl", "metric": "AUSUC", "test": 0.45},
        same | {"row": "gfhf", "test": 0.55, "knows_of_batch": "transductive", "low": "nan", "high": "nan"},
        same | {"row": "gfhf", "test": 0.25, "draw": "mean"},
    ]
    keep_results("bench-drawn-scores", lines[3:], SCORE_KEY, tmp_path, hours=0.5)
    assert "suites" not in pages(tmp_path)
    keep_results("bench-small-scores", lines, SCORE_KEY, tmp_path, hours=0.5)
    text = pages(tmp_path)["suites"]
    assert "## Suite small" in text
    assert ", 0.50 hours. " in text
    forest = named_forest("suite small/letters", tmp_path)
    assert forest.xlabel == "zsl: accuracy"
    assert [(row.label, row.narrow, row.note) for row in forest.rows] == [
        ("gfhf", None, "0.550  transductive"),
        ("sse *", (0.4, 0.6), "0.500"),
    ]


def test_a_suite_of_which_a_part_is_kept_says_so(tmp_path):
    whole = sum(len(piece.cells) for piece in pieces_of(load_suite("quick")))
    line = {"data": "digit-pairs", "row": "eszsl", "task": "zsl", "metric": "accuracy", "draw": "given"}
    line |= {"test": 0.5, "low": 0.4, "high": 0.6, "knows_of_batch": "nothing", "from_memory": False, "trials": 3}
    keep_results("bench-quick-scores", [line], SCORE_KEY, tmp_path, hours=0.5)
    assert f"1 of {whole} cells, 0.50 hours." in pages(tmp_path)["suites"]


def test_a_page_takes_the_place_of_a_page_alone(tmp_path):
    file, kept = tmp_path / "page.md", tmp_path / "kept"
    shutil.copy(DOCS / "results.md", file)
    write_page(file, kept)
    assert file.read_text().startswith("# Results\n\n<!-- Made by `zslplat claims --page`")
    assert "(page/000.md)" in file.read_text()
    assert not (tmp_path / "page" / "suites.md").exists()
    write_page(file, kept)
    below = tmp_path / "page" / "001.md"
    for path in (below, file):
        for content in ("", "# Results\n\nof my own"):
            path.write_text(content)
            with pytest.raises(UsageError, match=rf"{path.name} exists and is no page of results; give --page another"):
                write_page(file, kept)
            assert path.read_text() == content
        path.unlink()
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
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page", "page.md"]
