"""What no cell of a suite could be carried out with is refused before anything is computed, with its place."""

import tomllib
from dataclasses import replace

import pytest
from support import install_distribution

from zslplat.errors import UnknownNameError, UsageError
from zslplat.registry import registry
from zslplat.settings import resolve_settings
from zslplat.suites.cells import GridOptions, pieces_of
from zslplat.suites.grid import carry_out
from zslplat.suites.plan import plan
from zslplat.suites.suite import absences, load_suite, suite_from, suite_names
from zslplat.suites.suite_checks import check_suite

TEXT = """
tasks = ["zsl(folds=2)"]
only_tested = ["zsl"]
differences = [["b", "a"]]
[metrics]
zsl = ["per_class_accuracy"]
[[data]]
name = "one"
dataset = "digit-pairs"
[[data]]
name = "two"
dataset = "redrawn(of=digit-pairs, draw=2)"
fixed = { epochs = 3 }
first_steps = ["hellinger"]
[[row]]
name = "a"
method = "eszsl"
features = "center,l2"
signatures = "l2"
[[row]]
name = "b"
method = "zskl-ort"
not_on = ["one"]
space = { lam = "1e-3..1:log" }
"""
METRIC = r"unknown metric of task zsl \(suite made, \[metrics\]\)"
ROW, OTHER = r"suite made, \[\[row\]\] 1 \('a'\)", r"suite made, \[\[row\]\] 2 \('b'\)"
DATA = r"suite made, \[\[data\]\] 2 \('two'\)"


def read(text=TEXT):
    return suite_from("made", tomllib.loads(text))


@pytest.mark.parametrize("name", suite_names())
def test_every_registered_suite_asks_for_what_there_is(name):
    check_suite(load_suite(name))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("per_class_accuracy", "per_class_acuracy", f"{METRIC} 'per_class_acuracy'; did you mean per_class_accuracy"),
        ("per_class_accuracy", "per_class_top_7", f"{METRIC} 'per_class_top_7'; did you mean per_class_top_5"),
        ("per_class_accuracy", "mAP", f"{METRIC} 'mAP'; known: incoherence, per_class_accuracy"),
        ("folds=2", "folds=x", "suite made, tasks: zsl: folds='x' is out of range"),
        ("folds=2", "foldz=2", "suite made, tasks: unknown option of task zsl 'foldz'; did you mean folds"),
        ('2)"]', '2)", "gzsl(protocol=own)"]', "suite made, tasks: .*protocol='own' is out of range; expected given"),
        ('["hellinger"]', '["hellingr"]', f"{DATA}, first_steps: unknown preprocessing step 'hellingr'"),
        (
            "epochs = 3",
            "epochz = 3",
            rf"which no method of the suite has \({DATA}, fixed\) 'epochz'; did you mean epochs",
        ),
        ("epochs = 3", "epochs = -1", f"{DATA}, fixed, in row 'b': zskl-ort: epochs=-1 is out of range; expected int"),
        ("epochs = 3", "lam = 2.0", f"{DATA}, fixed, in row 'b': lam is both fixed and searched"),
        ("center,l2", "centre,l2", f"{ROW}, features: unknown preprocessing step 'centre'; did you mean center"),
        ('signatures = "l2"', 'signatures = "l3"', f"{ROW}, signatures: unknown preprocessing step 'l3'"),
        ('"eszsl"', '"eszsl(alfa=1)"', f"{ROW}, method: unknown parameter of eszsl 'alfa'; did you mean alpha"),
        ('"eszsl"', '"eszsl(alpha=-1)"', f"{ROW}, method: eszsl: alpha=-1 is out of range; expected > 0"),
        ('"eszsl"', '"zskl(kernel=bogus)"', f"{ROW}, method: unknown kernel 'bogus'; known: .*cauchy"),
        ('"eszsl"', '"ksc"', f"{ROW}, on data set 'one': ksc is a coding method; task zsl takes zero-shot methods"),
        ("lam =", "lamb =", f"{OTHER}, space: unknown parameter of zskl-ort 'lamb'; did you mean lam"),
        ("1e-3..1:log", "1..x", f"{OTHER}, space: range '1..x'"),
        ('lam = "1e-3..1:log"', 'kernel = "gaussian|bogus"', f"{OTHER}, space.kernel: unknown kernel 'bogus'"),
    ],
)
def test_names_and_values_are_refused_with_their_place_before_anything_is_computed(before, after, said, tmp_path):
    assert before in TEXT
    suite, settings = read(TEXT.replace(before, after)), resolve_settings({"store": tmp_path / "store"})
    for begin in (plan, carry_out):
        with pytest.raises(UsageError, match=said):
            begin(suite, GridOptions(), settings)
    assert not settings.store.exists()


@pytest.mark.parametrize("metric", ["per_sample_accuracy", "per_class_top_5", "incoherence", "seconds"])
def test_metrics_of_tasks_measures_of_methods_and_costs_can_be_asked_for(metric):
    check_suite(read(TEXT.replace("per_class_accuracy", metric)))


def test_what_is_drawn_anew_and_its_options_are_known(tmp_path):
    settings = resolve_settings({"store": tmp_path / "store"})
    assert absences(read(), settings) == {"one": "", "two": ""}
    odd = "'redrawn(of=\"digit-pairs(seet=3)\")'"
    with pytest.raises(UsageError, match=f"{DATA}, dataset: .*unknown option 'seet'"):
        absences(read(TEXT.replace('"redrawn(of=digit-pairs, draw=2)"', odd)), settings)
    with pytest.raises(UsageError, match=r"the classes of data set 'two', .* are drawn anew already; name"):
        pieces_of(replace(read(), draws=3))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('["zsl(folds=2)"]', '["zsl(folds=2, top_k=3)", "zsl( top_k=3,folds=2)"]', "tasks has an entry twice"),
        ('[["b", "a"]]', '[["b", "a"], ["b", "a"]]', "differences has an entry twice"),
        ("tasks", "seed = 9223372036854775808\ntasks", r"seed=9223372036854775808; expected .* below 2\^63"),
        ("tasks", f"seed = 0x{'f' * 5000}\ntasks", "seed=a value too large to be written; expected a whole number"),
    ],
)
def test_what_would_be_one_cell_twice_or_fits_no_record_is_refused(before, after, said):
    with pytest.raises(UsageError, match=said):
        read(TEXT.replace(before, after, 1))


def test_a_component_that_does_not_load_fails_its_own_cells_alone(call, tmp_path, monkeypatch):
    source = (
        "from zslplat.api import hookimpl\n@hookimpl\ndef zslplat_methods():\n    return {'gone': 'nowhere:Gone'}\n"
    )
    monkeypatch.syspath_prepend(str(install_distribution(tmp_path / "plugin", "zslplat-gone", "gone_hooks", source)))
    registry.cache_clear()
    (tmp_path / "suite.toml").write_text(TEXT.replace('"eszsl"', '"gone"'))
    done = call("bench", "suite.toml", "--dry-run", "--probe", 0)
    assert done.returncode == 0, done.stderr
    assert "will fail: one / a / zsl(folds=2): method 'gone' of zslplat-gone" in done.stdout
    assert "1 cell to be done, 2 cells that will fail" in done.stdout


def test_a_task_that_does_not_say_what_it_gives_may_be_asked_for_anything(monkeypatch):
    from zslplat.families.zero_shot.unseen import ZeroShot

    monkeypatch.setattr(ZeroShot, "metric_names", lambda self: ())
    check_suite(read(TEXT.replace("per_class_accuracy", "of_its_own")))
    with pytest.raises(UnknownNameError):
        check_suite(read(TEXT.replace("epochs", "epochz")))
