"""Properties of parameters and search ranges."""

from __future__ import annotations

import math

import numpy as np
import pytest

from zslplat.errors import UsageError
from zslplat.space import (
    BOOLEAN,
    NON_NEGATIVE,
    POSITIVE,
    Choice,
    Integer,
    Optional,
    Parameter,
    Real,
    Text,
    check_value,
    default_space,
    is_active,
    parse_range,
    with_condition,
)


def test_domains_hold_their_ends_and_nothing_beyond():
    assert NON_NEGATIVE.contains(0)
    assert not POSITIVE.contains(0)
    assert POSITIVE.contains(5e-324)
    assert Real(0, 1).contains(1)
    assert not Real(0, 1).contains(math.nextafter(1, 2))
    assert Integer(1, 3).contains(3)
    assert not Integer(1, 3).contains(4)


@pytest.mark.parametrize("domain", [Real(), Integer(), NON_NEGATIVE, Choice((1, 0)), Choice(("a",)), Text()])
def test_no_domain_of_numbers_or_texts_holds_what_is_none_of_them(domain):
    for value in (None, math.nan, True, False, [1], object()):
        assert not domain.contains(value)


def test_truth_and_one_are_told_apart():
    assert BOOLEAN.contains(True)
    assert not BOOLEAN.contains(1)
    assert not Choice((0, 1)).contains(False)
    assert not Integer().contains(1.0)


def test_optional_adds_nothing_but_none():
    assert Optional(POSITIVE).contains(None)
    assert Optional(POSITIVE).contains(1)
    assert not Optional(POSITIVE).contains(-1)


@pytest.mark.parametrize(
    ("text", "legal", "expected"),
    [
        ("1e-3..1e3:log", None, Real(1e-3, 1e3, log=True)),
        ("-1..1", None, Real(-1, 1)),
        ("1e-3..1e3:log:7", None, Real(1e-3, 1e3, log=True, steps=7)),
        ("0..1:5", None, Real(0, 1, steps=5)),
        (" 3 .. 40 ", Integer(1), Integer(3, 40)),
        ("1..20:int", None, Integer(1, 20)),
        ("1..64:log:int", None, Integer(1, 64, log=True)),
        ("1..5", Optional(Integer(1)), Integer(1, 5)),
        ("a|b|c", None, Choice(("a", "b", "c"))),
        ("true|false", BOOLEAN, Choice((True, False))),
        ("none|1", Optional(Integer(1)), Choice((None, 1))),
        ("gaussian(sigma=1)|linear", Text(), Choice(("gaussian(sigma=1)", "linear"))),
        ("0.5", POSITIVE, Choice((0.5,))),
    ],
)
def test_ranges_are_read(text, legal, expected):
    assert parse_range(text, legal) == expected


@pytest.mark.parametrize(
    ("text", "legal", "why"),
    [
        ("3..1", None, "below the high end"),
        ("1..1", None, "below the high end"),
        ("0..inf", None, "finite"),
        ("nan..1", None, "below"),
        ("1..x", None, "write low..high"),
        ("1..2..3", None, "write low..high"),
        ("0..1:log", None, "above 0"),
        ("1..2:square", None, "unknown flag 'square'"),
        ("0..1:1", None, "2 or more"),
        ("0..1:3:4", None, "give one number of values"),
        ("1..9:3", Integer(0), "integers have no steps"),
        ("0.5..3", Integer(0), "must be integers"),
        ("0.5..3:int", None, "must be integers"),
        ("-1..1", POSITIVE, "leaves the legal values"),
        ("0..1", POSITIVE, "leaves the legal values"),
        ("a|d", Choice(("a", "b")), "leaves the legal values"),
        ("a|a", None, "twice"),
        ("a||b", None, "cannot be read"),
        ("[1]|[2]", None, "lists"),
        ("", None, "cannot be read"),
        ("1e-3...1e3", None, "three dots; write two"),
        ("0...5:log", None, "three dots; write two"),
    ],
)
def test_ranges_that_make_no_sense_are_refused(text, legal, why):
    with pytest.raises(UsageError, match=why):
        parse_range(text, legal)


@pytest.mark.parametrize(
    "dimension", [Real(1e-3, 10, log=True), Real(-1, 1), Real(-1, 1, steps=3), Choice(("a", 1, 2.5))]
)
def test_a_range_is_read_as_it_is_written(dimension):
    assert parse_range(str(dimension)) == dimension


@pytest.mark.parametrize(
    "dimension", [Real(1e-3, 1e3, log=True, steps=13), Real(-1, 3, steps=9), Real(0.1, 7, steps=2)]
)
def test_a_number_goes_to_the_nearest_step_of_its_range(dimension):
    ends = (dimension.low, dimension.high)
    spaced = np.geomspace(*ends, dimension.steps) if dimension.log else np.linspace(*ends, dimension.steps)
    scale = np.log if dimension.log else np.asarray
    for share in np.linspace(0, 1, 97):
        between = (
            dimension.low * (dimension.high / dimension.low) ** share
            if dimension.log
            else np.interp(share, (0, 1), ends)
        )
        number = float(between)
        found = dimension.on_step(number)
        assert dimension.on_step(found) == found
        assert dimension.contains(found)
        assert abs(scale(found) - scale(number)) <= abs(scale(spaced) - scale(number)).min() + 1e-5
    assert {dimension.on_step(float(value)) for value in ends} == set(ends)
    assert len({dimension.on_step(float(value)) for value in spaced}) == dimension.steps


def test_a_range_without_steps_takes_every_number():
    assert Real(1e-3, 1e3, log=True).on_step(0.1234567891) == 0.1234567891


def test_conditions_must_all_hold():
    dimension = with_condition(with_condition(Real(0, 1), {"kernel": ("gaussian", "cauchy")}), {"variant": ("paper",)})
    assert is_active(dimension, {"kernel": "cauchy", "variant": "paper"})
    assert not is_active(dimension, {"kernel": "cauchy", "variant": "own"})
    assert not is_active(dimension, {"kernel": "cauchy"})
    assert is_active(Real(0, 1), {})


def test_values_out_of_range_name_owner_parameter_value_and_what_was_expected():
    parameters = {"lam": Parameter("weight", POSITIVE, Real(1e-3, 1e3, log=True)), "k": Parameter("count", Integer(1))}
    check_value("m", "lam", 2.0, parameters)
    with pytest.raises(UsageError, match=r"m: lam=-1 is out of range; expected > 0"):
        check_value("m", "lam", -1, parameters)
    assert default_space(parameters) == {"lam": parameters["lam"].search}
