"""Every method that asks the database waits for a server that is away, or is called by one that does."""

import inspect
import types

import pytest

from zslplat.records.database import Records
from zslplat.records.leads import Leads
from zslplat.records.overview import Overview
from zslplat.records.studies import OpenStudy

ASKING = {"connect", "begin", "lasting_errors"}
# What they do not ask themselves: carried out inside of methods that wait; what was read before, and may be damaged.
INSIDE = {(Records, "_read_facts"), (Records, "_write_facts"), (Overview, "value")}


def names_in(code):
    """Return the names that a function uses, those of the functions inside it included."""
    inner = (names_in(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*inner)


@pytest.mark.parametrize("owner", [Records, OpenStudy, Overview, Leads])
def test_whoever_asks_the_database_waits_for_it(owner):
    asking = {}
    for name, member in vars(owner).items():
        function = member.fget if isinstance(member, property) else member
        if inspect.isfunction(function) and ASKING & names_in(inspect.unwrap(function).__code__):
            asking[name] = hasattr(function, "__wrapped__")
    assert asking
    assert {name for name, waits in asking.items() if not waits} == {name for cls, name in INSIDE if cls is owner}
