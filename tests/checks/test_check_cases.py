"""Each check speaks in a made case, and is silent in one near to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from zslplat.checks.base import (
    SCOPES,
    UNNAMED,
    Finding,
    drop_silenced,
    finding_lines,
    lines_of_places,
    run_checks,
)
from zslplat.checks.facts import (
    CellFacts,
    ColumnScore,
    ComparisonFacts,
    ConstantDimensions,
    ControlScore,
    DataFacts,
    PrimaryScores,
    RecordedWarning,
    RowFacts,
    SearchedRange,
    Sentinel,
    StudyFacts,
    SuiteFacts,
    TrainingSteps,
    TrialFacts,
)
from zslplat.data.exposure import Exposure
from zslplat.registry import component, names

CODES = [code for code in names("checks") if code.startswith("ZSP")]


def reached(*values, chance=0.1, **more):
    return PrimaryScores("the result", "accuracy", values, (chance,) * len(values), **more)


def trials(*values, folds=(), pruned=0, failed=0):
    found = [TrialFacts(i, "complete", v, folds[i] if folds else ()) for i, v in enumerate(values)]
    lost = [TrialFacts(len(found) + i, "pruned") for i in range(pruned)]
    return (*found, *lost, *(TrialFacts(len(found) + pruned + i, "failed") for i in range(failed)))


def study(**facts):
    return StudyFacts("a study", kind="zero-shot", metric="accuracy", **facts)


def warned(code):
    return study(warnings=(RecordedWarning("should be looked at", code, "test"),)), study(
        warnings=(RecordedWarning("text", UNNAMED),)
    )


def table(*rows, **facts):
    return ComparisonFacts("a table", "accuracy", tuple(RowFacts(**row) for row in rows), **facts)


def suite(*cells):
    return SuiteFacts("a suite", tuple(CellFacts(*cell) for cell in cells))


def data(**facts):
    return DataFacts("some data", **facts)


def counts(*rows):
    return {f"class {i}": count for i, count in enumerate(rows)}


EVEN = counts(*[50] * 10)
RIDGE = ControlScore("control", "ridge-prototypes", 0.5)
FAR = [(0.9, 0.88), *[(0.3, 0.35)] * 11]

# Code: facts of which the check speaks, and facts of which it does not.
CASES = {
    "ZSP101": (
        study(searched=(SearchedRange("lam", "0.001", "0.001..1:log", 0.01),)),
        study(
            searched=(
                SearchedRange("lam", "0.1", "0.001..1:log", 0.03),
                SearchedRange("share", "0", "0..1", 0.0, False),
            )
        ),
    ),
    "ZSP102": (study(steps=TrainingSteps("epochs", 20, 20)), study(steps=TrainingSteps("epochs", 20, 19))),
    "ZSP103": (study(validation=reached(0.1, 0.11, 0.1)), study(validation=reached(0.14, 0.15, 0.14))),
    "ZSP104": (study(test=reached(0.1)), study(test=reached(0.11))),
    "ZSP105": (study(validation=reached(0.9, 0.12, 0.13)), study(validation=reached(0.9, 0.4, 0.5))),
    "ZSP106": (
        study(validation=reached(0.50, 0.52, 0.51, 0.53), test=reached(0.35)),
        study(validation=reached(0.40, 0.52, 0.51, 0.63), test=reached(0.35)),
    ),
    "ZSP107": (study(trials=trials(*[0.1] * 4, failed=6)), study(trials=trials(*[0.1] * 5, failed=1, pruned=4))),
    "ZSP108": (
        study(trials=trials(0.1, 0.2, 0.3), dimensions=2),
        study(trials=trials(0.1, 0.2, 0.3), dimensions=2, combinations=3),
    ),
    "ZSP109": (
        study(winner=0, trials=trials(*[a for a, _ in FAR], folds=FAR)),
        study(winner=0, trials=trials(*[0.9] * 12, folds=[(0.9, 0.88), *[(0.91, 0.86)] * 11])),
    ),
    "ZSP110": (study(trials=trials(*[0.1] * 5)), study(trials=trials(*[0.1] * 4, 0.2))),
    "ZSP200": warned("ZSP202")[::-1],
    "ZSP201": (
        study(true=EVEN, predicted=counts(300, 150, 50, *[0] * 7)),
        study(true=EVEN, predicted=counts(100, 100, 100, 80, 60, 40, 20, 0, 0, 0)),
    ),
    "ZSP202": warned("ZSP202"),
    "ZSP203": (
        study(test=reached(0.5), controls=(RIDGE,)),
        study(test=reached(0.51), controls=(RIDGE,)),
    ),
    "ZSP204": (
        StudyFacts("s", kind="exemplar", test=reached(0.4), controls=(replace(RIDGE, same_preprocessing=True),)),
        StudyFacts("s", kind="exemplar", test=reached(0.4), controls=(RIDGE,)),
    ),
    "ZSP205": (study(test_metrics=({"accuracy": float("nan")},)), study(test_metrics=({"accuracy": 0.0},), true=EVEN)),
    "ZSP206": (study(true=counts(*[100] * 5)), study(true=counts(*[100] * 6))),
    "ZSP207": (study(true=counts(*[3] * 25)), study(true=counts(*[4] * 25))),
    **{f"ZSP{number}": warned(f"ZSP{number}") for number in (*range(208, 211), *range(212, 216))},
    "ZSP217": (
        study(test_metrics=({"calibrated_H": 0.1, "oracle_H": 0.4}, {"calibrated_H": 0.29, "oracle_H": 0.4})),
        study(
            test_metrics=({"calibrated_H": 0.1, "oracle_H": 0.4}, {"calibrated_H": 0.31, "oracle_H": 0.4}, {"H": 0.0})
        ),
    ),
    "ZSP218": (
        study(test_metrics=({"mAP": 0.2, "centred_mAP": 0.3},)),
        study(test_metrics=({"mAP": 0.23, "centred_mAP": 0.3}, {"mAP": 0.1})),
    ),
    "ZSP219": warned("ZSP219"),
    "ZSP301": (
        table({"label": "a", "trials": 20}, {"label": "b", "trials": 40}),
        table({"label": "a", "trials": 20}, {"label": "b", "trials": 25}, {"label": "nothing to search", "trials": 1}),
    ),
    "ZSP302": (
        table({"label": "a", "rows": "1"}, {"label": "b", "rows": "2"}),
        table({"label": "a", "rows": "1"}, {"label": "b", "rows": None}),
    ),
    "ZSP303": (
        table({"label": "a", "data": "1"}, {"label": "b", "data": "2"}),
        table({"label": "a", "data": "1"}, {"label": "b", "data": "1"}),
    ),
    "ZSP304": (table({"label": "a", "code": "mixed"}), table({"label": "a", "code": ""})),
    "ZSP305": (
        table(
            {"label": "a", "seconds": 1.0},
            {"label": "b", "seconds": 11.0, "baseline": "a", "verdict": "not enough data"},
        ),
        table(
            {"label": "a", "seconds": 1.0},
            {"label": "b", "seconds": 11.0, "baseline": "a", "verdict": "ahead"},
            {"label": "c", "seconds": 9.0, "baseline": "a", "verdict": "behind"},
        ),
    ),
    "ZSP306": (
        table({"label": "a", "knows": "transductive"}, {"label": "b", "knows": "nothing"}),
        table({"label": "a", "knows": "transductive"}, {"label": "b", "knows": "transductive, class balance"}),
    ),
    "ZSP307": (
        table({"label": "a", "knows": "transductive, class balance"}, {"label": "b", "knows": "transductive"}),
        table({"label": "a", "knows": "transductive"}, {"label": "b", "knows": "nothing"}),
    ),
    "ZSP308": (table({"label": "a", "from_memory": True}), table({"label": "a"})),
    "ZSP309": (table({"label": "a"}, looks=25), table({"label": "a"}, looks=24)),
    "ZSP310": (
        table({"label": "a", "labels": "1"}, {"label": "b", "labels": "2"}, {"label": "c", "labels": "1"}),
        table({"label": "a", "labels": "1"}, {"label": "b", "labels": "2"}, {"label": "c"}, {"label": "d"}),
    ),
    "ZSP401": (
        suite(("d", "a", "zsl", "done", 20), ("d", "b", "zsl", "done", 40)),
        suite(("d", "a", "zsl", "done", 20), ("e", "b", "zsl", "done", 40)),
    ),
    "ZSP402": (suite(("d", "a", "zsl"), ("d", "b", "zsl", "failed")), suite(("d", "a", "zsl"), ("d", "b", "zsl"))),
    "ZSP501": (data(revealing=(ColumnScore("column 3", 0.99),)), data(columns=8)),
    "ZSP502": (data(test_rows=100, repeated_rows=2), data(test_rows=100, repeated_rows=1)),
    "ZSP503": (
        data(columns=8, constant_columns=2, deviation_share=0.02),
        data(columns=10, constant_columns=2, deviation_share=0.0),
    ),
    "ZSP504": (data(equal_within={"att": (("wolf", "dog"),)}), data(equal_across={"att": (("wolf", "dog"),)})),
    "ZSP505": (data(equal_across={"att": (("wolf", "dog"),)}), data(equal_within={"att": (("wolf", "dog"),)})),
    "ZSP514": (data(float32_loss="column 0: 16777217.0 would be 16777216"), data()),
    "ZSP515": (
        data(exposures=(Exposure("res101", "imagenet-1k", 10, {"lion": "lion"}),)),
        data(exposures=(Exposure("res101", "imagenet-1k", 10, {}, {"pig": "hog, pig"}),)),
    ),
    "ZSP516": (data(far_values=("row 9 has 1e+06 in column 3 (both from 0), the others lie from 1 to 3",)), data()),
    "ZSP506": (
        data(constant_dimensions={"att": ConstantDimensions(2, 35, 0.02)}),
        data(constant_dimensions={"att": ConstantDimensions(2, 35, 0.01)}),
    ),
    "ZSP507": (data(disagreements=("the lists differ",)), data(rows=9)),
    "ZSP508": (data(rows=9, rows_in_no_split={"unseen": 2}), data(rows=9)),
    "ZSP509": (data(classes=9, classes_without_rows=("wolf",)), data(classes=9)),
    "ZSP510": (data(zero_signatures={"att": ("wolf",)}), data(equal_within={"att": (("wolf", "dog"),)})),
    "ZSP511": (data(sentinels={"att": Sentinel(-1.0, 4, 4250, "wolf")}), data(zero_signatures={"att": ("wolf",)})),
    "ZSP512": (data(rows=9, uniform_rows=1), data(rows=9, constant_columns=1)),
    "ZSP513": (data(columns=10, tiny_columns=1), data(columns=10, constant_columns=1)),
}


def found(code, facts):
    return list(component("checks", code)().find(facts))


def test_every_check_has_its_cases():
    assert sorted([*CASES, "ZSP901"]) == CODES


@pytest.mark.parametrize("code", CASES)
def test_check_speaks_of_its_case_and_not_of_the_near_one(code):
    speaks, silent = CASES[code]
    lines = found(code, speaks)
    assert lines
    assert all(line and "\n" not in line for line in lines)
    assert found(code, silent) == []


@pytest.mark.parametrize("code", CODES)
def test_check_says_nothing_of_what_is_not_known(code):
    check = component("checks", code)
    assert found(code, SCOPES[check.scope]("nothing known")) == []


def test_methods_that_agree_are_not_called_constant():
    facts = table({"label": "a", "labels": "1"}, {"label": "b", "labels": "1"})
    (line,) = found("ZSP310", facts)
    assert line.startswith("a, b: the two methods give the same label on every test row: ")


def test_a_best_value_of_trials_that_are_all_equal_is_at_no_edge():
    speaks, _ = CASES["ZSP101"]
    assert found("ZSP101", replace(speaks, trials=trials(*[0.1] * 4, 0.2)))
    assert found("ZSP101", replace(speaks, trials=trials(*[0.1] * 5))) == []


def test_seen_and_unseen_classes_of_the_generalised_task_are_judged_apart():
    few = {**counts(*[100] * 30), **{f"new {n}": 100 for n in range(4)}}
    told = study(true=few, seen=frozenset(counts(*[100] * 30)), method="sae", dataset="birds.csv", task="gzsl")
    assert found("ZSP206", study(true=few)) == []
    (line,) = found("ZSP206", told)
    assert "the test has 4 unseen classes" in line
    assert "zslplat tune sae -d birds.csv -t gzsl --class-folds 5" in line
    assert found("ZSP206", replace(told, dataset="redrawn(draw=1, folds=5, of=birds.csv)")) == []
    assert found("ZSP207", told) == []
    (line,) = found("ZSP207", replace(told, true={**few, **{f"new {n}": 3 for n in range(4)}}))
    assert "test: 12 rows in 4 unseen classes, 3 of 'new 0'" in line
    assert "+-0.28" in line


def test_smaller_is_better_where_the_metric_says_so():
    below = study(test=reached(0.4), controls=(RIDGE,))
    assert found("ZSP203", below)
    assert found("ZSP203", replace(below, maximise=False)) == []


def test_a_lead_over_the_control_counts_where_its_interval_leaves_out_0():
    def said(ends, **more):
        control = replace(RIDGE, lead=ends)
        return found("ZSP203", replace(study(test=reached(0.51), controls=(control,)), **more))

    (line,) = said((-0.02, 0.05))
    assert "is not surely better than" in line
    assert "difference -0.0200 .. +0.0500 over these test rows" in line
    assert said((0.002, 0.05)) == []
    assert "is not better than" in said((-0.05, -0.01), maximise=False, test=reached(0.55))[0]
    assert said((-0.05, -0.01), maximise=False, test=reached(0.4)) == []


def test_a_single_test_value_is_at_chance_within_the_error_of_its_rows():
    facts = study(test=reached(0.13))
    assert found("ZSP104", facts) == []
    assert found("ZSP104", replace(facts, test_error=0.02))
    assert found("ZSP104", replace(facts, test_error=0.01)) == []
    # Repeats on the same rows do not make the rows more.
    assert found("ZSP104", study(test=reached(*[0.13] * 5), test_error=0.02))


def test_a_search_that_ended_early_is_told_from_a_short_one():
    (line,) = found("ZSP108", study(trials=trials(*[0.1] * 12), requested_trials=20, dimensions=1))
    assert "12 of 20" in line
    assert found("ZSP108", study(trials=trials(0.1), requested_trials=1, dimensions=3)) == []


def test_the_test_is_as_far_from_the_folds_as_another_fold_in_one_of_a_hundred_cases():
    generator = np.random.default_rng(0)
    draws = generator.normal(0.5, 0.05, size=(4000, 5))
    far = [found("ZSP106", study(validation=reached(*row[:4]), test=reached(row[4]))) for row in draws]
    assert 0.004 < np.mean([bool(lines) for lines in far]) < 0.018


def test_findings_are_of_one_scope_in_the_order_of_their_codes_and_one_line_each():
    facts = study(true=counts(3, 3), steps=TrainingSteps("epochs", 2, 2))
    findings = run_checks("study", facts)
    assert [finding.code for finding in findings] == ["ZSP102", "ZSP206", "ZSP207"]
    assert all(
        finding.subject == "a study" and finding.page == f"zslplat explain {finding.code}" for finding in findings
    )
    assert run_checks("comparison", table({"label": "a"})) == []
    assert [Finding.from_json(finding.to_json()) for finding in findings] == findings


def test_what_checks_say_of_several_folds_alike_is_one_line_that_names_them():
    few, more = study(true=counts(3, 3)), study(true=counts(4, 5, 4))
    pairs = [
        (f"fold {k}", finding.line) for k in range(1, 8) for finding in run_checks("study", few if k == 1 else more)
    ]
    assert len({line for _, line in pairs if line.startswith("ZSP207")}) == 2, "the folds differ in their numbers"
    (line,) = (one for one in lines_of_places(pairs) if one.startswith("ZSP207"))
    assert line.startswith("ZSP207 fold 1: test: 6 rows in 2 classes")
    assert line.endswith("; alike, with other values, in fold 2, fold 3, fold 4, fold 5 and 2 more")


def test_no_other_finding_is_lost_among_those_of_several_folds():
    lines = ["ZSP101 the best value of alpha, 1e3, is at the end", "ZSP101 the best value of gamma, 1e3, is at the end"]
    assert lines_of_places([("fold 1", line) for line in lines]) == [f"ZSP101 fold 1: {line[7:]}" for line in lines]
    alike = ["ZSP302 'a' has 4 trials, 'b' 20", "ZSP302 'a' has 4 trials, 'c' 30"]
    merged = lines_of_places((place, line) for place in ("CUB", "AWA2") for line in alike)
    assert merged == [f"ZSP302 CUB: {line[7:]}; also AWA2" for line in alike]
    assert lines_of_places([]) == []


def test_lines_of_other_checks_and_of_other_names_stay_apart():
    lines = ["ZSP101 x", "ZSP102 x", "ZSP103 kernel l1-laplacian", "ZSP103 kernel l2-laplacian"]
    merged = lines_of_places((f"fold {k}", line) for k, line in enumerate(lines))
    assert merged == [f"{line[:6]} fold {k}: {line[7:]}" for k, line in enumerate(lines)]


def test_silenced_findings_are_counted():
    findings = run_checks("study", study(true=counts(3, 3), steps=TrainingSteps("epochs", 2, 2)))
    kept, silenced = drop_silenced(findings, ("ZSP206", "ZSP207", "ZSP101"))
    assert ([finding.code for finding in kept], silenced) == (["ZSP102"], 2)
    *lines, last = finding_lines(findings, ("ZSP206", "ZSP207"))
    assert [line[:6] for line in lines] == ["ZSP102"]
    assert last == "2 silenced (ZSP206, ZSP207)"
    assert run_checks("study", study(true=counts(3, 3)), ("ZSP206", "ZSP207")) == []
