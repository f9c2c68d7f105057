"""What a check of a plugin promises: it says what it is, and expects facts of which nothing is known."""

from __future__ import annotations

import copy
import inspect
import re

from zslplat.checks.base import SCOPES, Check

_CODE = re.compile(r"[A-Z]+[0-9]+")


def check_says_what_it_is(check: Check) -> None:
    """A check has a code of capital letters and digits, a title, a scope, and a page or a docstring."""
    for name in ("code", "title", "scope"):
        assert isinstance(getattr(check, name, None), str), f"{name} is {getattr(check, name, None)!r}, expected a text"
    assert _CODE.fullmatch(check.code), f"the code is {check.code!r}, expected capital letters and digits: LAB101"
    assert check.title.strip(), "the title is empty; say in a few words what is found"
    assert check.scope in SCOPES, f"the scope is {check.scope!r}, expected one of {', '.join(SCOPES)}"
    own = inspect.cleandoc(check.page) or inspect.getdoc(type(check)) or ""
    assert own.strip(), "there is neither a page nor a docstring, which `zslplat explain` shows"


def nothing_is_said_of_what_is_not_known(check: Check) -> None:
    """Facts that are None or empty give no finding and no error."""
    lines = list(check.find(SCOPES[check.scope]("nothing known")))
    assert lines == [], f"of facts of which nothing is known it says {lines[0]!r}"


def the_same_facts_give_the_same_lines(check: Check) -> None:
    """A check keeps no state: asked twice, and after a copy, it says the same."""
    facts = SCOPES[check.scope]("nothing known")
    before = copy.deepcopy(vars(check))
    first = list(check.find(facts))
    assert list(check.find(facts)) == first == list(type(check)().find(facts)), "asked again it says something else"
    assert vars(check) == before, f"it keeps something of what it saw: {sorted(vars(check))}"


CODED_CHECKS = (check_says_what_it_is, nothing_is_said_of_what_is_not_known, the_same_facts_give_the_same_lines)
