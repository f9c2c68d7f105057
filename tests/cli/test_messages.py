"""What messages say: names that users know, what they may have meant, which task or form would do."""

from __future__ import annotations

import re

import pytest
from store_toys import MadeStore
from support import one_line

from zslplat import registry
from zslplat.errors import UnknownNameError, UsageError, ZslplatError, near_names
from zslplat.evaluation.components import build_component, searched_space
from zslplat.kinds import require_kind
from zslplat.methods.base import Method
from zslplat.methods.kernel_parameter import KernelMethod
from zslplat.settings import resolve_settings
from zslplat.space import RANGE_FORMS, Choice, Parameter, Real, Text, parse_range
from zslplat.spec import Spec

METHODS, KERNELS, DATASETS, TASKS = (registry.names(kind) for kind in ("methods", "kernels", "datasets", "tasks"))


class Nothing:
    """A value that no parameter takes."""

    def __repr__(self):
        return "nothing"


def messages_of(*actions):
    """Return what the actions, each of which must fail in a way that users see, say."""
    said = []
    for action in actions:
        with pytest.raises(ZslplatError) as caught:
            action()
        said.append(str(caught.value))
    return said


def names_of_classes(component):
    """Return the names of a class and of those above it that are part of the platform."""
    return {cls.__name__ for cls in component.__mro__ if cls.__module__.startswith("zslplat")}


def assert_none_named(component, messages):
    assert messages
    for message in messages:
        found = {name for name in names_of_classes(component) if re.search(rf"\b{name}\b", message)}
        assert not found, message


@pytest.mark.parametrize("name", METHODS)
def test_no_error_about_a_method_shows_the_name_of_a_class(name):
    component = registry.component("methods", name)
    legal = [key for key, p in component.parameters.items() if not isinstance(p.legal, Text)]
    method = component.build({})
    actions = [lambda: component.build({"nonsense": 1}), lambda: searched_space(method, {}, {"nonsense": "1..2"})]
    actions += [lambda key=key: component.build({key: Nothing()}) for key in legal]
    kinds = {registry.component("tasks", task).kind: task for task in TASKS}
    actions += [lambda k=k, t=t: require_kind(component, k, t) for k, t in kinds.items() if k != component.kind]
    said = messages_of(*actions)
    for kernel in KERNELS if issubclass(component, KernelMethod) else ():
        try:
            component.build({"kernel": kernel})
        except ZslplatError as error:
            said.append(str(error))
    assert_none_named(component, said)
    assert name in said[0]


@pytest.mark.parametrize(
    ("kind", "name"), [(k, n) for k in ("kernels", "datasets", "tasks") for n in registry.names(k)]
)
def test_no_error_about_another_component_shows_the_name_of_a_class(kind, name):
    component = registry.component(kind, name)
    legal = [key for key, p in component.parameters.items() if not isinstance(p.legal, Text)]
    actions = [lambda: component(nonsense=1), *(lambda key=key: component(**{key: Nothing()}) for key in legal)]
    if kind == "tasks":
        actions = [lambda: build_component(kind, Spec(name, {"nonsense": 1}))]
        actions += [lambda key=key: build_component(kind, Spec(name, {key: Nothing()})) for key in legal]
    if kind == "kernels":
        from zslplat.kernels.expression import kernel_from_spec

        actions = [lambda: kernel_from_spec(Spec(name, {"nonsense": 1}))]
    said = messages_of(*actions)
    assert_none_named(component, said)
    assert name in said[0]


def test_a_class_is_called_by_its_registered_name_wherever_it_comes_from():
    for kind in registry.COMPONENTS:
        for name in registry.names(kind):
            assert registry.known_as(registry.component(kind, name)) == name

    class Unregistered(Method):
        """Nobody has given it another name."""

        parameters = {"a": Parameter("a", Choice((1,)))}

        def __init__(self, a=1):
            self.a = a

    assert registry.registered_name(Unregistered) is None
    with pytest.raises(UsageError, match="Unregistered: a=2 is out of range"):
        Unregistered.build({"a": 2})


def test_a_kernel_is_called_by_its_registered_name_before_it_has_a_label(monkeypatch):
    from zslplat.kernels.base import Kernel
    from zslplat.kernels.expression import parse_kernel

    class LongerName(Kernel):
        """A kernel whose class has a name of its own."""

        parameters = {"scale": Parameter("scale", Real(0))}

        def __init__(self, scale=1.0):
            super().__init__(scale=scale)

        def evaluate(self, A, B):
            return A @ B.T

    plugin = registry.Plugin("p", "p", "1")
    made = {"short": [registry.Registered("kernels", "short", plugin, LongerName)]}
    monkeypatch.setitem(registry.registry().entries, "kernels", made)
    assert str(parse_kernel("short")) == "short(scale=1.0)"
    with pytest.raises(UsageError, match=r"^kernel short: scale=-1 is out of range"):
        parse_kernel("short(scale=-1)")


@pytest.mark.parametrize(
    ("method", "task", "right"),
    [
        ("kslem", "zsl", "use --task exemplar-retrieval"),
        ("semfs", "gzsl", "use --task feature-selection"),
        ("ksc", "zsl", "use --task coding"),
        ("eszsl", "coding", "use --task gzsl or retrieval or zsl"),
    ],
)
def test_the_task_for_a_method_of_another_kind_is_suggested(call, method, task, right):
    done = call("tune", "--method", method, "--task", task, "--trials", 1)
    assert done.returncode == 2
    assert right in done.stderr
    assert f"error: {method} is a" in done.stderr


@pytest.mark.parametrize(
    ("given", "kind", "meant"),
    [
        ("MFMR", "methods", ["mfmr"]),
        ("mfmr_joint", "methods", ["mfmr-joint"]),
        ("Mfmr Joint", "methods", ["mfmr-joint"]),
        ("slem-kernel", "methods", ["kslem"]),
        ("kernel_eszsl", "methods", ["keszsl"]),
        ("mf", "methods", ["mfmr", "mfmr-joint"]),
        ("eszl", "methods", ["eszsl"]),
        ("GZSL", "tasks", ["gzsl"]),
        ("exemplar", "tasks", ["exemplar-retrieval"]),
        ("chi_squared", "kernels", ["chi-squared"]),
        ("digit-pair", "datasets", ["digit-pairs"]),
    ],
)
def test_what_was_meant_is_found_by_sense(given, kind, meant):
    assert near_names(given, registry.names(kind))[: len(meant)] == meant
    with pytest.raises(UnknownNameError, match=f"did you mean {', '.join(meant)}"):
        registry.component(kind, given)


def test_a_name_that_differs_only_in_writing_stands_alone_and_nonsense_means_nothing():
    assert near_names("MFMR", METHODS) == ["mfmr"]
    assert near_names("", METHODS) == near_names("-", METHODS) == near_names("qqqq", METHODS) == []
    assert near_names("k", ["mix", "kernel", "k2"]) == ["k2"]
    assert near_names("lambda", ["lam", "k"]) == ["lam"]
    assert near_names("Lam", ["LAM", "lam", "x"]) == ["LAM", "lam"]


@pytest.mark.parametrize(
    "text", ["1e-3..", "1,10", "1-3", "1..0", "0..1:log", "1..2:lin", "a|a", "[1, 2]", "0.5..3:int", "a..b", "-1..1"]
)
def test_errors_of_ranges_show_the_syntax(text):
    legal = registry.component("methods", "eszsl").parameters["alpha"].legal
    with pytest.raises(UsageError) as caught:
        parse_range(text, legal)
    assert str(caught.value).startswith(f"range {text!r}")
    assert str(caught.value).endswith(RANGE_FORMS)


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    [
        (("--set", "ridge=1", "--set", "ridge=2"), "--set gives ridge twice"),
        (("--set", "ridge=1", "--set", "ridge=1"), "--set gives ridge twice"),
        (("--space", "mix=0..1", "--space", "mix=0..0.5"), "--space gives mix twice"),
        (("--method", "plain(ridge=1)", "--set", "ridge=2"), "ridge is given twice"),
        (("--method", "plain(ridge=1)", "--space", "ridge=1..2"), "both fixed and searched"),
        (("--method", "keszsl(kernel=linear)", "--kernel", "gaussian"), "kernel is given twice"),
        (("--method", "keszsl(kernel=linear)", "--set", "kernel=gaussian"), "kernel is given twice"),
        (("--method", "plain(ridge=1, ridge=2)"), "'ridge' twice"),
    ],
)
def test_a_value_that_is_given_twice_is_refused(call, arguments, pattern):
    method = () if "--method" in arguments else ("--method", "plain")
    done = call("tune", *method, "--dataset", "marked", "--trials", 1, *arguments)
    assert done.returncode == 2
    assert re.search(pattern, done.stderr)


def test_options_replace_the_values_of_a_configuration(call, tmp_path):
    (tmp_path / "run.toml").write_text('method = "plain(mix=0.5, ridge=1.0)"\ndataset = "marked"\n')
    done = call("run", "--config", "run.toml", "--set", "ridge=2", "--workers", 1)
    assert done.returncode == 0, done.stderr
    assert "plain(mix=0.5, ridge=2)" in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "mend"),
    [
        (("tune", "eszsl", "--metric", "H"), 2, "task gzsl has it: add --task gzsl"),
        (("tune", "eszsl", "--trials", "many"), 2, "expected a whole number, as in zslplat tune --trials 20"),
        (("compare", "-q"), 2, "zslplat compare --json is for programs"),
        (("tune", "eszsl", "sae"), 2, "'sae' is a method, and a data set was expected here"),
        (("tune", "zskl", "--kernel", "rbf"), 2, "here it is called gaussian"),
        (("tune", "eszsl", "--kernel", "gaussian"), 2, "zslplat list methods --search kernel"),
        (("tune", "eszsl", "--set", "alpha=-1"), 2, "zslplat show eszsl lists the ranges"),
        (("show", "quick"), 2, "did you mean zslplat bench --dry-run quick?"),
    ],
)
def test_wrong_inputs_are_answered_with_what_mends_them(call, words, code, mend):
    one_line(call(*words), code, re.escape(mend))


@pytest.mark.parametrize(
    ("line", "meant", "lister"),
    [
        ("tune eszls", "tune eszsl", "list methods"),
        ("sweep eszls alpha", "sweep eszsl alpha", "list methods"),
        ("tune zskl --kernel gausian", "tune zskl --kernel gaussian", "list kernels"),
        ("tune eszsl -t zls", "tune eszsl -t zsl", "list tasks"),
        ("tune eszsl digit-pear", "tune eszsl digit-pairs", "data list"),
        ("data info digit-pear", "data info digit-pairs", "data list"),
        ("tune eszsl --metric per_class_acuracy", "tune eszsl --metric per_class_accuracy", "show zsl"),
        ("tune eszsl --silence ZSP1011", "tune eszsl --silence ZSP101", "list checks"),
        ("explain ZSP1011", "explain ZSP101", "list checks"),
        ("bench quik", "bench quick", "list suites"),
        ("show eszls", "show eszsl", "list"),
        ("compare eszls", "compare eszsl", "studies"),
        ("compare --study madee", "compare --study made", "studies"),
        ("compare --against eszls", "compare --against eszsl", "studies"),
        ("report eszls", "report eszsl", "studies"),
        ("studies show eszls", "studies show eszsl", "studies"),
        ("studies delete madee", "studies delete made", "studies"),
        ("models show eszls", "models show eszsl", "studies"),
        ("predict rows.npy --run eszls", "predict rows.npy --run eszsl", "studies"),
        ("export --run eszls --to folder", "export --run eszsl --to folder", "studies"),
        ("rerun eszls", "rerun eszsl", "studies"),
    ],
)
def test_an_unknown_name_leads_to_near_ones_and_to_the_command_that_lists_all(call, new_store, line, meant, lister):
    made = MadeStore(resolve_settings({"store": new_store()}))
    for study, method in (("made", "eszsl"), ("another", "sae")):
        made.study(method, 0.8, name=study, data="digit-pairs")
    done = call(*line.split())
    one_line(done, 2, rf"did you mean [a-zA-Z]+.* zslplat {lister} lists all")
    assert f"  zslplat {meant}\n" in done.stderr
    assert call(*lister.split()).returncode == 0


@pytest.mark.parametrize("name", ["nothing-here", "nothing.csv", "./nothing", "CIFAR100(features=mnv2)"])
def test_data_that_are_nowhere_are_a_wrong_request(call, name):
    one_line(call("tune", "eszsl", name), 2, r"data set '(\./)?nothing|data root")
