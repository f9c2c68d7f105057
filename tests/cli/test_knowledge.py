"""What methods know of the batch that they score: said by each method, and wherever its results are shown."""

import csv
import json

import numpy as np
import pytest

from zslplat.data.store.preprocessing import apply_steps, looks_at_all_classes
from zslplat.evaluation.components import describe_knowledge
from zslplat.families.zero_shot.methods.base import ZeroShotMethod
from zslplat.registry import registry
from zslplat.spec import Spec

BOTH = "transductive, class balance"
DATA = (
    "synthetic(rows_train=160, rows_test_seen=10, rows_test_unseen=30, dimensions=12, attributes=5, classes_seen=10, "
    "classes_unseen=3, classes_validation=2)"
)
SUITE = """
trials = 2
tasks = ["zsl"]
workers = 1
differences = [["gfhf", "eszsl, uncentred"]]
[metrics]
zsl = ["per_class_accuracy"]
[[data]]
name = "tiny"
dataset = "DATA"
[[row]]
name = "eszsl, uncentred"
method = "eszsl"
features = "l2"
[[row]]
name = "gfhf"
method = "gfhf(balance=0)"
[[row]]
name = "zskl"
method = "zskl(epochs=3)"
"""


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("eszsl", "nothing"),
        ("mfmr", "nothing"),
        ("mfmr-joint(balance=1)", BOTH),
        ("mfmr-joint(balance=0.5)", BOTH),
        ("mfmr-joint(balance=0)", "transductive"),
        # Its columns are scaled to equal sums whatever balance is, and signatures lifted by the least of all classes.
        ("mfmr-joint(variant=paper, balance=0)", f"{BOTH}, unseen signatures"),
        ("mfmr(variant=paper)", "unseen signatures"),
        ("zskl-ort(variant=authors)", "unseen signatures"),  # signatures are centred by the mean of all classes
        ("zskl", "nothing"),
        ("gfhf(balance=0)", "transductive"),
        ("gfhf(balance=1)", BOTH),
        ("eszsl-smoothed(balance=0)", "transductive"),
        ("eszsl-smoothed(balance=1)", BOTH),
    ],
)
def test_methods_say_what_they_know(method, expected):
    assert describe_knowledge(Spec.parse(method)) == expected


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ("center,l2", False),
        ("center_all,l2", True),
        ("shift", True),
        ("center,lift", True),
        ("split", True),
        ("l2,split", True),
        ("center,l2,split", False),  # centred signatures have negative values whatever the unseen ones are
        ("center,split,lift", False),  # nothing is left to lift
        ("unit,shift", False),
        ("none", False),
    ],
)
def test_preprocessing_in_place_of_a_methods_own_is_counted(steps, told):
    assert describe_knowledge(Spec.parse("eszsl"), steps) == ("unseen signatures" if told else "nothing")
    assert describe_knowledge(Spec.parse("gfhf"), steps) == (f"{BOTH}, unseen signatures" if told else BOTH)
    authors = Spec.parse("zskl-ort(variant=authors)")
    assert describe_knowledge(authors, steps) == ("unseen signatures" if told else "nothing")
    # Methods that score no signatures are told none.
    assert describe_knowledge(Spec.parse("semfs"), steps) == "nothing"


@pytest.mark.parametrize("steps", ["center", "standardise,l2", "shift", "lift", "split", "center,split", "center_all"])
def test_what_a_method_is_told_of_unseen_signatures_shows_in_what_it_trains_on(steps):
    rng = np.random.default_rng(0)
    seen, unseen = 0.1 + rng.random((6, 4)), 0.1 + rng.random((3, 4))
    changed = any(
        not np.array_equal(
            apply_steps(steps.split(","), seen, every=np.vstack([seen, unseen]))[0],
            apply_steps(steps.split(","), seen, every=np.vstack([seen, other]))[0],
        )
        for other in (unseen - 5, -unseen, unseen + 1)
    )
    assert looks_at_all_classes(steps.split(",")) == changed


def test_a_method_that_learns_of_unseen_classes_itself_says_so():
    class Told(ZeroShotMethod):
        transductive = True

        def uses_unseen_signatures(self, steps):
            return True

        @property
        def assumes_balance(self):
            return True

        def fit(self, X, y, S, *, statistics=None):
            return self

        def decision_function(self, X, S, *, seen=None, statistics=None):
            return X @ S.T

    assert Told().knows_of_batch == ("transductive", "class balance", "unseen signatures")


def test_every_transductive_method_says_so():
    known = registry()
    methods = {name: known.entry("methods", name).load() for name in known.entries["methods"]}
    marked = {n for n, m in methods.items() if issubclass(m, ZeroShotMethod) and "transductive" in m().knows_of_batch}
    assert marked == {n for n, m in methods.items() if m.transductive} >= {"mfmr-joint", "gfhf", "eszsl-smoothed"}


@pytest.mark.long
def test_commands_and_records_say_what_a_method_knows(call, tmp_path):
    assert "knows of the scored batch: transductive" in call("show", "gfhf(balance=0)").stdout
    assert "knows of the scored batch: nothing" in call("show", "eszsl").stdout
    listed = {row["name"]: row for row in json.loads(call("list", "methods", "--json").stdout)["components"]}
    assert (listed["gfhf"]["knows"], listed["eszsl"]["knows"]) == (BOTH, "nothing")
    assert (listed["gfhf"]["for"], listed["slem"]["for"]) == ("zero-shot", "exemplar")
    # The search may choose whether balance is known: what the winner knows is what counts.
    tuned = call("tune", "-m", "gfhf", "--space", "balance=0|0.0", "-n", 1, "--workers", 1)
    assert "knows of the scored batch: transductive\n" in tuned.stdout, tuned.stderr
    tested = call("run", "-m", "gfhf(balance=1)", "--test", "-q")
    assert tested.returncode == 0, tested.stderr
    rows = json.loads(call("compare", "--json").stdout)[0]["rows"]
    assert {row["knows"] for row in rows} == {"transductive", BOTH}
    assert BOTH in call("compare").stdout


@pytest.mark.long
def test_records_say_that_preprocessing_told_of_unseen_signatures(call):
    assert "knows of the scored batch: unseen signatures" in call("show", "mfmr(variant=paper)").stdout
    given = ("-d", DATA, "--signatures", "center_all,l2", "-q")
    tested = call("run", "-m", "eszsl", "--test", *given)
    assert tested.returncode == 0, tested.stderr
    assert call("tune", "-m", "ridge-prototypes", "-n", 1, "--workers", 1, *given).returncode == 0
    rows = json.loads(call("compare", "-d", DATA, "--json").stdout)[0]["rows"]
    assert {row["knows"] for row in rows} == {"unseen signatures"}
    assert len(rows) == 2


@pytest.mark.long
def test_tables_print_knowledge_and_budgets(call, tmp_path):
    (tmp_path / "suite.toml").write_text(SUITE.replace("DATA", DATA))
    done = call("bench", "suite.toml", "--out", "out")
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "out" / "budgets.csv", newline="") as file:
        budgets = {row["row"]: row for row in csv.DictReader(file)}
    assert [row["trials"] for row in budgets.values()] == ["2", "2", "2"]
    assert [row["knows_of_batch"] for row in budgets.values()] == ["nothing", "transductive", "nothing"]
    assert budgets["zskl"]["most_epochs"] == "3"
    assert 1 <= float(budgets["zskl"]["chosen_epoch"]) <= 3
    assert budgets["gfhf"]["chosen_epoch"] == ""
    assert "transductive" in done.stdout
    with open(tmp_path / "out" / "scores.csv", newline="") as file:
        assert {row["knows_of_batch"] for row in csv.DictReader(file)} == {"nothing", "transductive"}
