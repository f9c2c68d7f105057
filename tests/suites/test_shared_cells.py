"""A study that counts in several suites is shown as a cell of each, whoever carried it out."""

import pytest

import zslplat
from zslplat.errors import UnknownNameError, UsageError
from zslplat.evaluation.reporter import SilentReporter
from zslplat.records.database import Records
from zslplat.records.maintenance import merge
from zslplat.reports.contents import ReportRequest, collect_contents
from zslplat.settings import resolve_settings
from zslplat.suites.cells import GridOptions
from zslplat.suites.grid import carry_out
from zslplat.suites.suite import load_suite

DATA = [{"name": "digits", "dataset": "digit-pairs"}]
LINEAR = {"name": "linear", "method": "eszsl"}
RIDGE = {"name": "ridge", "method": "ridge-prototypes"}
TASKS = ("zsl", "retrieval")


def bench(store, name, *rows, **more):
    content = {"name": name, "tasks": TASKS, "only_tested": ["retrieval"], "trials": 1, "data": DATA, "row": rows}
    grid = zslplat.bench(content | more, workers=1, quiet=True, no_model=True, store=store)
    assert grid.failed == []
    return grid


def compared(store, suite, task="zsl"):
    return sorted(zslplat.compare(suite=suite, task=task, store=store).to_frame()["method"])


def reported(store, suite):
    facts = collect_contents(resolve_settings({"store": str(store)}), ReportRequest(suite=suite))
    found = {(chapter.task, entry.method) for chapter in facts.chapters for entry in chapter.results.values()}
    return found


@pytest.fixture(scope="module", name="store")
def _store(tmp_path_factory):
    """A store with one study that was tuned by itself, and two suites that share its experiment and another one."""
    store = tmp_path_factory.mktemp("shared") / "store"
    zslplat.tune("eszsl", "digit-pairs", trials=1, workers=1, quiet=True, no_model=True, store=store)
    bench(store, "first", LINEAR, RIDGE)
    second = bench(store, "second", {**RIDGE, "name": "control"}, LINEAR)
    assert [cell.new for cell in second.result.cells] == [False] * 4
    return store


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("suite", ["first", "second"])
def test_compare_shows_every_cell_of_a_suite_whoever_computed_it(store, suite, task):
    assert len(compared(store, suite, task)) == 2


@pytest.mark.parametrize("suite", ["first", "second"])
def test_a_report_has_every_cell_of_a_suite_and_misses_none(store, suite):
    found = reported(store, suite)
    assert {task for task, _ in found} == set(TASKS)
    assert len(found) == 4


def test_rows_are_found_by_what_either_suite_calls_them(store):
    for name in ("ridge", "control"):
        assert len(zslplat.compare(name, dataset="digit-pairs", task="zsl", store=store).to_frame()) == 1


def test_to_ask_again_adds_nothing(store):
    settings = resolve_settings({"store": str(store)})

    def told():
        records = Records(settings, print)
        about = [str(records.study(name).values()["about"]) for name in sorted(records.identities())]
        content = sorted(
            (owner, key, str(one["about"])) for owner, key, one in records.all_evaluations() if "about" in one
        )
        records.close()
        return about, content

    before = told()
    bench(store, "first", LINEAR, RIDGE)
    bench(store, "second", {**RIDGE, "name": "control"}, LINEAR)
    assert told() == before


def test_cells_that_were_not_asked_for_are_part_of_the_suite_when_its_tables_have_them(tmp_path):
    store = tmp_path / "store"
    bench(store, "first", LINEAR, RIDGE)
    content = {"name": "second", "tasks": ["zsl"], "trials": 1, "data": DATA, "row": [LINEAR, RIDGE]}
    zslplat.bench(content, only="ridge", workers=1, quiet=True, no_model=True, store=store)
    assert len((store / "suites" / "second" / "scores.csv").read_text().splitlines()) == 3
    assert len(compared(store, "second")) == 2


def test_a_merge_unites_the_suites_of_copies(store, tmp_path):
    ours = tmp_path / "ours"
    bench(ours, "third", LINEAR)
    with pytest.raises(UnknownNameError):
        compared(ours, "first")
    settings, theirs = resolve_settings({"store": str(ours)}), resolve_settings({"store": str(store)})
    records, other = Records(settings, print), Records(theirs, print)
    merge(records, settings, other, theirs)
    records.close()
    other.close()
    for suite in ("first", "second", "third"):
        assert compared(ours, suite)


def test_another_suite_of_one_name_is_told_of_before_it_takes_the_tables(tmp_path):
    text = 'tasks = ["zsl"]\ntrials = 1\n[[data]]\nname = "d"\ndataset = "digit-pairs"\n'
    files = [tmp_path / folder / "exp.toml" for folder in ("a", "b")]
    for file, row in zip(files, (LINEAR, RIDGE), strict=True):
        file.parent.mkdir()
        file.write_text(text + f'[[row]]\nname = "{row["name"]}"\nmethod = "{row["method"]}"\n')
    settings = resolve_settings({"store": str(tmp_path / "store")})
    told = []
    for file in (files[0], files[0], files[1], files[1]):
        reporter = Telling()
        assert (
            carry_out(load_suite(file), GridOptions(workers=1, out=tmp_path / "exp"), settings, reporter).exit_code == 0
        )
        told.append([line for line in reporter.warned if "another suite of that name" in line])
    assert told[0] == told[1] == told[3] == []
    assert str(files[0]) in told[2][0]


def test_a_file_whose_name_can_be_none_of_a_folder_is_refused(tmp_path):
    file = tmp_path / "...toml"
    file.write_text('tasks = ["zsl"]\n')
    assert file.stem == ".."
    with pytest.raises(UsageError, match="is that of its folder of tables"):
        load_suite(file)


class Telling(SilentReporter):
    """Keeps what it is warned of."""

    def __init__(self):
        self.warned = []

    def warn(self, text):
        self.warned.append(text)
