"""Claims are whole, name what there is, and quote numbers that are printed."""

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from zslplat.errors import DataError
from zslplat.registry import registry
from zslplat_papers.published import load_claims, load_table, table_ids
from zslplat_papers.published.claims import read_claims

CLAIMS = load_claims()
NUMBER = re.compile(r"(?<![\w.\-])[+-]?\d+\.\d+")
DATA = Path(os.environ.get("ZSLPLAT_TEST_DATA", Path(__file__).parents[4] / "shared" / "data"))
PAPERS = {path.name[:3]: path for path in (DATA.parent / "papers").glob("[0-9][0-9][0-9]_*.txt")}

SMALL = """
[[claims]]
id = "000-small"
paper = "000"
text = "One beats the other."
where = "Table 2"
kind = "comparison"
first = "zskl-ort"
second = "zskl"
data = ["AWA1"]
metric = "accuracy"
direction = "higher"
printed = "+9.6"
confirms = "It does."
refutes = "It does not."

[[claims.comparisons]]
table = "000-table-2"
first = "gaussian-ort"
second = "gaussian"
columns = ["AWA1"]
"""


@pytest.fixture
def written(tmp_path):
    def write(old="", new="", times=1):
        path = tmp_path / "claims.toml"
        path.write_text(SMALL.replace(old, new) * times, encoding="utf-8")
        return read_claims(path)

    return write


def test_a_claim_gives_the_printed_effect_and_whether_it_is_as_claimed(written):
    (effect,) = written()[0].effects()
    assert (effect.difference, effect.as_claimed) == (9.6, True)
    assert written('"higher"', '"lower"')[0].effects()[0].as_claimed is False
    assert written('"higher"', '"level"')[0].effects()[0].as_claimed is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('refutes = "It does not."\n', "", "lacks 'refutes'"),
        ('where = "Table 2"', 'were = "Table 2"', "claim 000-small has were"),
        ('"higher"', '"better"', "direction of claim 000-small is 'better'"),
        ('"comparison"', '"guess"', "kind of claim 000-small is 'guess'"),
        ('paper = "000"', 'paper = "999"', "paper of claim 000-small is '999'"),
        ('table = "000-table-2"', 'tabel = "000-table-2"', "a comparison of claim 000-small has tabel"),
    ],
)
def test_a_faulty_claim_is_refused(written, old, new, message):
    with pytest.raises(DataError, match=message):
        written(old, new)


def test_a_claim_said_twice_is_refused(written):
    with pytest.raises(DataError, match="claim 000-small is there more than once"):
        written(times=2)


def test_every_paper_has_claims_and_ids_begin_with_it():
    counts = Counter(claim.paper.code for claim in CLAIMS)
    assert set(counts) == {"000", "001", "002", "003", "004"}
    assert all(claim.id.startswith(f"{claim.paper.code}-") for claim in CLAIMS)
    assert min(counts.values()) >= 5


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_rows_and_columns_of_a_claim_exist_and_have_numbers(claim):
    """``effects`` looks each of them up; a claim of one side against another has both."""
    assert len(claim.effects()) == sum(len(comparison.columns) for comparison in claim.comparisons)
    assert claim.first != claim.second
    assert claim.data


@pytest.mark.parametrize("claim", [c for c in CLAIMS if c.comparisons], ids=lambda claim: claim.id)
def test_signed_numbers_of_a_printed_effect_are_differences_in_its_tables(claim):
    differences = {round(effect.difference, 3) for effect in claim.effects()}
    signed = {float(number) for number in NUMBER.findall(claim.printed) if number[0] in "+-"}
    assert signed <= differences


@pytest.mark.skipif(not PAPERS, reason="the papers' text is not at hand; set ZSLPLAT_TEST_DATA")
@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_other_numbers_of_a_printed_effect_are_in_the_text(claim):
    text = PAPERS[claim.paper.code].read_text(encoding="utf-8")
    plain = {number for number in NUMBER.findall(claim.printed) if number[0] not in "+-"}
    assert {number for number in plain if not re.search(rf"(?<![\d.]){re.escape(number)}(?![\d])", text)} == set()


def test_every_table_of_results_bears_on_a_claim():
    """A table of methods that no claim mentions would be a claim forgotten; data sets and stated ranges have none."""
    used = {t for c in CLAIMS for comparison in c.comparisons for t in (comparison.table, comparison.second_table)}
    unused = {name for name in table_ids() if name not in used and load_table(name).status != "second-hand"}
    described = {"000-table-5", "000-table-6", "000-figure-3", "001-figure-4"}
    described |= {"003-figure-4", "003-figure-6", "003-figure-8"}
    assert unused == {"001-table-1", "003-table-1", *described}


def test_sides_that_look_like_methods_are_registered():
    """A side is words and names of methods; a word with a method's shape that nothing answers to is a slip."""
    known = set(registry().entries["methods"])
    named = {word for c in CLAIMS for side in (c.first, c.second) for word in re.findall(r"[\w-]+", side)}
    families = tuple(name.partition("-")[0] for name in known)
    shaped = {word for word in named if "-" in word and word.islower() and word.partition("-")[0] in families}
    assert shaped <= known
    assert {"zskl-ort", "mfmr-joint", "semfs-c", "kslem", "bi-sksc"} <= named & known
