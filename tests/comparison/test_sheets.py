"""Tables of a comparison for people: what stands in which column, and what is said under them."""

import pytest
from store_toys import MadeStore

from zslplat.comparison.compare import compare
from zslplat.comparison.exports import latex, markdown
from zslplat.comparison.sheets import number, p_value, sheets


def test_data_sets_may_be_called_like_the_columns_beside_them(settings):
    made = MadeStore(settings)
    for dataset in ("mean", "tied", "method"):
        for method, share in (("eszsl", 0.8), ("sae", 0.6)):
            made.study(method, share, dataset=dataset, rows=f"rows of {dataset}")
    found = compare(settings, warn=pytest.fail)
    (sheet,) = sheets(found)
    assert list(sheet.titles[:4]) == ["method", "mean", "tied", "method"]
    assert sheet.right == [False, True, True, True, True, False, True]
    (rows,) = sheet.sections.values()
    for row, cells in zip(("eszsl", "sae"), rows, strict=True):
        scores = {one["dataset"]: f"{one['test']:.4f}" for one in found.rows if one["short"] == row}
        assert [cells[0].text, *(cell.text for cell in cells[1:4])] == [row, *scores.values()]


def test_of_many_data_sets_those_are_shown_that_fit_and_the_others_named(settings):
    made = MadeStore(settings)
    names = [f"data-set-{number}" for number in range(9)]
    for dataset in names:
        for method, share in (("eszsl", 0.8), ("sae", 0.6)):
            made.study(method, share, dataset=dataset, rows=f"rows of {dataset}")
    found = compare(settings, warn=pytest.fail)
    (whole,), (narrow,) = sheets(found), sheets(found, width=80, gap=2)
    shown = [title for title in narrow.titles if title in names]
    assert 1 <= len(shown) < len(names)
    assert [*shown, *narrow.left_out] == names
    assert list(narrow.titles) == [title for title in whole.titles if title not in narrow.left_out]
    (lines,), (whole_lines,) = narrow.sections.values(), whole.sections.values()
    for line, whole_line in zip(lines, whole_lines, strict=True):
        assert [cell.text for cell in line] == [
            cell.text for cell, title in zip(whole_line, whole.titles, strict=True) if title in narrow.titles
        ]
        assert sum(len(cell.text) + 2 for cell in line) <= 80
    assert sheets(found, width=1000, gap=2)[0].titles == whole.titles


def test_what_counts_as_one_data_set_is_said_under_the_table(settings):
    made = MadeStore(settings)
    for dataset in ("made", "redrawn(draw=1, of=other)", "redrawn(draw=2, of=other)"):
        for method, share in (("eszsl", 0.8), ("sae", 0.6)):
            made.study(method, share, dataset=dataset, rows=f"rows of {dataset}")
    (sheet,) = sheets(compare(settings, warn=pytest.fail))
    assert list(sheet.titles[1:3]) == ["made", "other, draws of classes"]
    assert any("2 data sets," in note for note in sheet.notes)


def test_a_metric_without_an_interval_over_new_classes_says_so(settings):
    made = MadeStore(settings)
    for method in ("eszsl", "sae"):
        made.study(method, 0.8)
    found = compare(settings, warn=pytest.fail)
    told = "per_class_accuracy has no interval over new classes here: that takes two classes of each kind"
    assert not any(told in note for note in sheets(found)[0].notes)
    for row in found.rows:  # as AUSUC of one seen class
        row |= dict.fromkeys(("low_classes", "high_classes", "difference_low_classes", "difference_high_classes"))
    assert any(told in note for note in sheets(found)[0].notes)


# What explains a column, and the columns of which one has to be there.
EXPLAINED = {
    "these test rows: ": {"score on\nthese rows", "difference on\nthese rows"},
    "new classes like these: ": {"score on\nnew classes", "difference on\nnew classes", "verdict", "p (Holm)"},
    "a score on new classes that ends at 0 or 1": {"score on\nnew classes"},
    "tied: ": {"tied"},
    "other rows: ": {"difference on\nthese rows", "difference on\nnew classes", "verdict"},
}


def test_a_column_is_explained_where_it_is_shown_and_nowhere_else(settings):
    made = MadeStore(settings)
    for method, share in (("eszsl", 0.8), ("sae", 0.7)):
        made.study(method, share)
    made.study("conse", 0.6, rows="others")
    found = compare(settings, warn=pytest.fail)
    found.rows[0] |= {"low_classes": 0.6, "high_classes": 1.0}
    (whole,) = sheets(found)
    assert [words for words in EXPLAINED if not any(note.startswith(words) for note in whole.notes)] == []
    some = [{title} for title in whole.titles] + [{"test", "tied"}, {"difference on\nnew classes", "p (Holm)"}]
    told = [sheets(found, titles={"method", *titles})[0] for titles in some]
    told += [sheets(found, width=width, gap=2)[0] for width in (60, 90, 120)]
    for sheet in told:
        for words, titles in EXPLAINED.items():
            is_said = any(note.startswith(words) for note in sheet.notes)
            assert is_said == bool(titles & set(sheet.titles)), (words, sheet.titles)
    for text in (latex(found), markdown(found)):
        assert ("these test rows: " in text) == ("on these rows" in text.replace(r"\\", " "))
        assert "new classes like these: " in text


def test_a_verdict_over_these_rows_is_explained_though_no_interval_over_them_is_shown(settings):
    made = MadeStore(settings)
    for method, share in (("eszsl", 0.8), ("sae", 0.7)):
        made.study(method, share)
    found = compare(settings, warn=pytest.fail)
    for row in found.rows:
        row |= {"verdict": ""}
    assert any(row["verdict_rows"] for row in found.rows)
    (sheet,) = sheets(found, titles={"method", "verdict"})
    assert any(note.startswith("these test rows: ") for note in sheet.notes)


def test_rounding_hides_neither_the_side_of_0_nor_that_of_the_level():
    assert [number(value, sign=True) for value in (-0.00003, 0.00002, 0.0)] == ["-0.00003", "+0.00002", "+0.0000"]
    assert [p_value(value) for value in (0.0502, 0.04998, 0.05, 0.0512)] == ["0.0502", "0.04998", "0.05", "0.051"]


def test_class_folds_are_suggested_without_values_that_may_come_from_their_test_classes(settings):
    made = MadeStore(settings)
    made.study("eszsl(alpha=3, gamma=0.1, labels=signed)", 0.55)
    made.study("sae", 0.5)
    (sheet,) = sheets(compare(settings, warn=pytest.fail))
    (line,) = (note for note in sheet.notes if note.startswith("each class is tested once by:"))
    assert "zslplat tune 'eszsl(labels=signed)' -d made -t zsl -n 3 --class-folds 5" in line
