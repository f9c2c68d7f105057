"""Properties of component specs: what is written is read back, and nonsense is refused where it begins."""

from __future__ import annotations

import math
import random
import string

import numpy as np
import pytest

from zslplat.errors import UsageError
from zslplat.spec import Spec, format_value, parse_assignment, parse_value

WORDS = [
    "gaussian",
    "l2-laplacian",
    "a.b",
    "_x",
    "3d-net",
    "true",
    "NONE",
    "inf",
    "1",
    "-2.5e3",
    "",
    " ",
    "a b",
    "(",
    "é",
]


def a_value(draw, depth=0):
    """Return a random value of any kind that a spec can hold."""
    kind = draw.choice("ifbnwsr" + ("lc" if depth < 2 else ""))
    if kind == "i":
        return draw.randint(-(10**12), 10**12)
    if kind == "f":
        return draw.choice([draw.uniform(-1, 1), 10 ** draw.uniform(-300, 300), 0.1, -0.0, math.inf, -math.inf, 1.0])
    if kind == "b":
        return draw.random() < 0.5
    if kind == "n":
        return None
    if kind == "w":
        return draw.choice(WORDS)
    if kind in "sr":
        letters = string.printable if kind == "r" else string.ascii_letters + " \"'\\,=()[]"
        return "".join(draw.choice(letters) for _ in range(draw.randint(0, 8)))
    if kind == "l":
        return [a_value(draw, depth + 1) for _ in range(draw.randint(0, 3))]
    return a_spec(draw, depth + 1)


def a_spec(draw, depth=0):
    name = draw.choice(["mfmr-joint", "rbf", "x_1", "/data/my set.npz", "it's"])
    return Spec(name, {f"p{i}.q": a_value(draw, depth) for i in range(draw.randint(1, 3))})


@pytest.mark.parametrize("seed", range(20))
def test_what_is_written_is_read_back(seed):
    draw = random.Random(seed)
    for _ in range(50):
        value = a_value(draw)
        again = parse_value(format_value(value))
        assert again == value
        assert type(again) is type(value)
        spec = a_spec(draw)
        assert Spec.parse(str(spec)) == spec


@pytest.mark.parametrize("name", ["eszsl", "mfmr-joint", "/data/a b.npz", "it's", 'a"b', "\\", "5", "none"])
def test_a_name_alone_is_read_back(name):
    assert Spec.parse(str(Spec(name))) == Spec(name)


def test_parameters_are_written_in_one_order():
    assert str(Spec("m", {"b": 1, "a": 2})) == str(Spec("m", {"a": 2, "b": 1})) == "m(a=2, b=1)"
    assert Spec.parse(" m ( b = 1 , a=2,) ") == Spec("m", {"a": 2, "b": 1})


def test_numpy_numbers_are_written_as_numbers():
    assert format_value(np.float64(0.1)) == "0.1"
    assert format_value(np.int64(3)) == "3"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("m(lam=1", "character 8: expected ','; a bracket is not closed"),
        ("m(lam)", "character 6"),
        ("m(lam=)", "character 7"),
        ("m(1=2)", "character 3"),
        ("m(a=1 b=2)", "character 7"),
        ("m)", "character 2"),
        ("m(a=[1,2)", "character 9"),
        ("m(a='x)", "character 5"),
        ("µ%", "character 1"),
        ("m(a=1, a=2)", "twice"),
        ("", "character 1"),
        ("5", "not a component"),
        ("[a]", "not a component"),
    ],
)
def test_nonsense_is_refused_where_it_begins(text, where):
    with pytest.raises(UsageError, match=where):
        Spec.parse(text)


def test_assignments_are_read():
    assert parse_assignment("lam = 1e-3") == ("lam", 1e-3)
    assert parse_assignment("kernel=gaussian(sigma=2)") == ("kernel", Spec("gaussian", {"sigma": 2}))
    assert parse_assignment("text='a=b'") == ("text", "a=b")
    for text in ("lam", "=1", "lam=", " = "):
        with pytest.raises(UsageError, match="write key=value"):
            parse_assignment(text)


def test_a_name_may_have_its_distribution_in_front():
    spec = Spec.parse("zslplat-foo:eszsl(lam=1, kernel=zslplat-bar:cauchy(sigma=2))")
    assert (spec.name, spec.parameters["kernel"].name) == ("zslplat-foo:eszsl", "zslplat-bar:cauchy")
    assert Spec.parse(str(spec)) == spec
    with pytest.raises(UsageError):
        Spec.parse("a:b:c")
