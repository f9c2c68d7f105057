"""Suites are read from names, files and mappings, and what is wrong in one is said with its place."""

import tomllib

import pytest

from zslplat.errors import UnknownNameError, UsageError
from zslplat.registry import Plugin, Registered, registry
from zslplat.spec import Spec
from zslplat.suites.cells import pieces_of
from zslplat.suites.suite import load_suite, suite_from, suite_names, suite_of

TEXT = """
trials = 2
tasks = ["zsl", "retrieval"]
only_tested = ["retrieval"]
differences = [["b", "a"]]
[metrics]
zsl = ["per_class_accuracy"]
[[data]]
name = "one"
dataset = "digit-pairs"
[[data]]
name = "two"
dataset = "digit-pairs(seed=1)"
tasks = ["zsl"]
trials = 5
fixed = { epochs = 3 }
first_steps = ["hellinger"]
[[row]]
name = "a"
method = "eszsl"
features = "center,l2"
[[row]]
name = "b"
method = 'zskl-ort(kernel=gaussian)'
tasks = ["gzsl", "zsl"]
not_on = ["one"]
space = { lam = "1e-3..1:log" }
"""


def read(text=TEXT):
    return suite_from("made", tomllib.loads(text))


@pytest.mark.parametrize("name", suite_names())
def test_every_registered_suite_is_sound_and_builds_its_settings(name):
    suite = load_suite(name)
    assert suite.summary
    for piece in pieces_of(suite):
        experiment = piece.experiment(piece.tasks[0])
        assert registry().claims("methods", experiment.method.name)
        piece.template()


def test_settings_follow_the_rules_of_the_file():
    suite = read()
    pieces = {(p.data.name, p.row.name): p for p in pieces_of(suite)}
    assert set(pieces) == {("one", "a"), ("two", "a"), ("two", "b")}
    assert pieces["one", "a"].tasks == ("zsl", "retrieval")
    assert pieces["two", "a"].tasks == ("zsl",)
    assert pieces["two", "b"].tasks == ("gzsl", "zsl")
    # Steps of the data set come first, before the row's own.
    assert pieces["one", "a"].experiment("zsl").features == "center,l2"
    assert pieces["two", "a"].experiment("zsl").features == "hellinger,center,l2"
    # Values are fixed where a method has them; the first task is searched, the others take what it found.
    first = pieces["two", "b"].experiment("gzsl")
    assert first.method.parameters == {"kernel": "gaussian", "epochs": 3}
    assert str(first.space["lam"]) == "0.001..1:log"
    other = pieces["two", "b"].experiment("zsl", {"lam": 0.5})
    assert other.space == {}
    assert other.method == Spec("zskl-ort", {"kernel": "gaussian", "epochs": 3, "lam": 0.5})
    assert "epochs" not in pieces["two", "a"].experiment("zsl").method.parameters
    assert pieces["one", "a"].only_tested("retrieval")
    assert not pieces["one", "a"].only_tested("zsl")
    assert suite.metrics_of("gzsl") == ("AUSUC",)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("trials = 2", "trails = 2", r"unknown key of a suite \(suite made\) 'trails'; did you mean trials"),
        ('features = "center,l2"', 'feature = "l2"', r"key of a row \(.*\[\[row\]\] 1 \('a'\)\) 'feature'.*features"),
        ('method = "eszsl"', 'method = "eszls"', r"\[\[row\]\] 1 \('a'\), method: .*did you mean eszsl"),
        ('method = "eszsl"', 'method = "eszsl("', r"\[\[row\]\] 1 \('a'\), method: cannot read"),
        ('dataset = "digit-pairs"', 'dataset = "birds("', r"\[\[data\]\] 1 \('one'\), dataset: "),
        ('dataset = "digit-pairs"', "", r"it lacks dataset in \[\[data\]\] 1; the smallest suite is"),
        ('name = "two"', 'name = "one"', r"two \[\[data\]\] are named 'one'"),
        ('name = "b"', 'name = "a"', r"two \[\[row\]\] are named 'a'"),
        ('name = "two"', 'name = " two"', r"\[\[data\]\] 2: name=' two'; expected a text in one line, without blanks"),
        ('name = "b"', 'name = "b\\nc"', r"\[\[row\]\] 2: name='b\\nc'; expected a text in one line"),
        ('[["b", "a"]]', '[["b", "c"]]', "unknown row in differences .* 'c'"),
        ('[["b", "a"]]', '[["b", "b"]]', "'b' against itself"),
        ('[["b", "a"]]', '["b", "a"]', "expected a list of pairs"),
        ('not_on = ["one"]', 'not_on = ["three"]', "unknown data set in not_on of row 'b' .* 'three'"),
        ('tasks = ["gzsl", "zsl"]', 'tasks = ["gzls"]', "unknown task 'gzls'; did you mean gzsl"),
        ("zsl = [", "coding = [", r"unknown task in \[metrics\] .* 'coding'"),
        ('["per_class_accuracy"]', "[]", r"\[metrics\]: zsl has none; name at least one"),
        ("trials = 5", "trials = 0", r"trials=0; expected a whole number, 1 or more"),
        ("trials = 5", "trials = true", r"trials=True; expected a whole number"),
        ('only_tested = ["retrieval"]', 'only_tested = ["coding"]', "unknown task in only_tested .* 'coding'"),
        ('"1e-3..1:log"', "3", r"space.lam=3; expected a range in quotes"),
    ],
)
def test_what_is_wrong_in_a_suite_is_said_with_its_place(before, after, said):
    assert before in TEXT
    with pytest.raises(UsageError, match=said):
        read(TEXT.replace(before, after))


def test_only_restricts_to_data_sets_rows_or_both():
    suite = read()

    def names(*only):
        return [(p.data.name, p.row.name) for p in pieces_of(suite, only)]

    assert names("one") == [("one", "a")]
    assert names("a") == [("one", "a"), ("two", "a")]
    assert names("two/b") == [("two", "b")]
    assert names("one", "two/b") == [("one", "a"), ("two", "b")]
    with pytest.raises(UnknownNameError, match="'thre'"):
        names("thre")
    with pytest.raises(UsageError, match="leaves these rows out"):
        names("one/b")


def test_a_suite_that_leaves_everything_out_says_so_and_blames_no_option():
    text = TEXT.replace('features = "center,l2"', 'not_on = ["one", "two"]').replace('["one"]', '["one", "two"]')
    with pytest.raises(
        UsageError, match=r"^suite made: every row is left out on every data set; take .* out of not_on$"
    ):
        pieces_of(read(text))
    with pytest.raises(UsageError, match=r"^--only a: suite made leaves these rows out"):
        pieces_of(read(text), ["a"])


def test_unknown_names_and_files_are_named():
    with pytest.raises(UnknownNameError, match="did you mean zero-shot"):
        load_suite("zero_shot")
    with pytest.raises(UsageError, match=r"suite nowhere.toml cannot be read"):
        load_suite("nowhere.toml")


def test_the_file_of_a_plugins_suite_is_the_affair_of_its_distribution(tmp_path):
    entry = Registered("suites", "table", Plugin("lab", "zslplat-lab", "1.0"), str(tmp_path / "table.toml"))
    with pytest.raises(UsageError) as raised:
        suite_of(entry)
    assert str(raised.value) == (
        f"suite table of zslplat-lab: its file {tmp_path / 'table.toml'} cannot be read: No such file or directory; "
        "repair or uninstall zslplat-lab"
    )
    (tmp_path / "table.toml").write_text("trials = ")
    with pytest.raises(
        UsageError, match=r"^suite table of zslplat-lab: its file .* is no TOML: .*; repair or uninstall"
    ):
        suite_of(entry)


def test_options_that_a_data_set_does_not_have_are_refused_and_what_is_not_at_hand_is_not(tmp_path):
    from zslplat.settings import resolve_settings

    settings = resolve_settings({"store": tmp_path})
    (tmp_path / "s.toml").write_text(TEXT.replace("digit-pairs(seed=1)", "digit-pairs(sead=1)"))
    with pytest.raises(UsageError, match="unknown option 'sead'"):
        load_suite(tmp_path / "s.toml", settings)
    (tmp_path / "s.toml").write_text(TEXT.replace("digit-pairs(seed=1)", "AWA9(features=surf)"))
    assert load_suite(tmp_path / "s.toml", settings).name == "s"
