"""What ``--only`` means where several tables are made again, and of what is not at hand."""

import pytest

from zslplat.errors import UnknownNameError, UsageError
from zslplat.settings import resolve_settings
from zslplat_papers.reproduction.cells import only_by_table
from zslplat_papers.reproduction.recipe import load_recipe
from zslplat_papers.reproduction.reproduce import reproduce


def test_of_several_tables_each_takes_what_it_has_of_only():
    tables = {name: load_recipe(name) for name in ("000-table-2", "000-table-4")}
    assert only_by_table(tables, ["eszsl"]) == {"000-table-2": ["eszsl"]}
    assert only_by_table(tables, ["gaussian", "sae/AWA1"]) == {
        "000-table-2": ["gaussian", "sae/AWA1"],
        "000-table-4": ["gaussian"],
    }
    assert only_by_table(tables, []) == {"000-table-2": [], "000-table-4": []}
    with pytest.raises(UnknownNameError, match="did you mean gaussian"):
        only_by_table(tables, ["gausian"])


def test_a_stand_in_that_is_named_and_not_at_hand_is_told():
    settings = resolve_settings({})
    found = reproduce("000-table-2", settings, only=["eszsl/ISOLET"], dry_run=True)
    assert found.made == []
    ((column, how),) = [(one.column, one.how) for one in found.missing]
    assert column == "ISOLET"
    assert "ISOLET" in how
    assert "data root" in how
    assert "ISOLET" not in {one.column for one in reproduce("000-table-2", settings, dry_run=True).missing}


def test_of_several_tables_each_takes_what_it_carries_out_of_only():
    tables = {name: load_recipe(name) for name in ("000-table-2", "xlsa17-zsl")}
    assert only_by_table(tables, ["eszsl"], ["printed", "ours"]) == {"000-table-2": ["eszsl"], "xlsa17-zsl": ["eszsl"]}
    assert only_by_table(tables, ["gaussian"], ["printed"]) == {"000-table-2": ["gaussian"]}
    with pytest.raises(UsageError, match="--only '/digit-pairs': digit-pairs is a stand-in"):
        only_by_table(tables, ["/digit-pairs"], standins=False)
