"""Checks of plugins are found, shown, silenced and tagged like zslplat's own, and a broken one stops nothing."""

from __future__ import annotations

import json
import sqlite3

import pytest
from support import install_distribution, one_line

from zslplat.api import Check
from zslplat.registry import build_registry, registry
from zslplat.settings import resolve_settings
from zslplat.testing import run_checks
from zslplat.testing.distribution import check_entry

SOURCE = '''
import warnings
from zslplat.api import Check, OutcomeWarning, WarningCheck, hookimpl

ZSLPLAT_API = "1.0"


class RoundScore(Check):
    """Speaks of every test score that is known."""

    code, title, scope = "LAB101", "a test score", "study"
    page = "# LAB101: a test score"

    def find(self, facts):
        """Yield a line for the test score."""
        if facts.test is not None:
            yield f"the test score is\\n{facts.test.values[0]:.2f}"


class Raises(Check):
    """Fails."""

    code, title, scope = "LAB102", "fails", "study"

    def find(self, facts):
        """Fail."""
        raise RuntimeError("what a pity")


class Cold(WarningCheck):
    """Hands on that something is cold."""

    code, title = "LAB103", "cold"


class OtherCode(Check):
    """Has another code than its name."""

    code, title, scope = "LAB999", "other", "study"

    def find(self, facts):
        """Find nothing."""
        return ()


@hookimpl
def zslplat_checks():
    return {"LAB101": RoundScore, "LAB102": Raises, "LAB103": f"{__name__}:Cold", "ZSP777": RoundScore, "lab": Raises,
            "LAB104": OtherCode}
'''
TUNE = ("tune", "-m", "plain(mix=0.5)", "-d", "marked", "--trials", 2, "--workers", 1, "--repeats", 1)


@pytest.fixture
def laboratory(tmp_path, monkeypatch):
    """A distribution with checks of its own on the path."""
    monkeypatch.syspath_prepend(str(install_distribution(tmp_path / "lab", "zslplat-lab", "lab_checks", SOURCE)))
    registry.cache_clear()
    yield
    registry.cache_clear()


def tags_of(store):
    query = (
        "select t.key, t.value from tags t join tags k on k.run_uuid = t.run_uuid "
        "where k.key = 'zslplat.key' and k.value = 'study' and t.key like 'zslplat.finding%'"
    )
    return dict(sqlite3.connect(store / "mlflow.db").execute(query).fetchall())


@pytest.mark.long
def test_a_plugins_check_is_shown_recorded_tagged_and_silenced(call, laboratory, tmp_path):
    done = call(*TUNE, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    lines = {line.partition(" ")[0]: line for line in result["warnings"]}
    assert lines["LAB101"] == f"LAB101 the test score is {result['test'][0]['per_class_accuracy']:.2f}"
    assert any(line.startswith("ZSP901") and "LAB102: RuntimeError: what a pity" in line for line in result["warnings"])
    assert any(line.startswith("ZSP901") and "LAB999" in line for line in result["warnings"])
    assert result["silenced"] == 0
    assert [f"{one['code']} {one['text']}" for one in result["findings"]] == result["warnings"]
    assert len(set(result["warnings"])) == len(result["warnings"])  # a check that does not load is told once
    tags = tags_of(tmp_path / "mlruns")
    assert tags["zslplat.findings"] == ", ".join(sorted(lines))
    assert tags["zslplat.finding.LAB101"] == lines["LAB101"].removeprefix("LAB101 ")
    silent = json.loads(call(*TUNE, "--silence", "LAB101", "--silence", "ZSP108,ZSP207", "--json").stdout)
    kept = [line for line in result["warnings"] if not line.startswith(("LAB101", "ZSP108", "ZSP207"))]
    assert silent["warnings"] == kept
    assert silent["silenced"] == len(result["warnings"]) - len(kept)
    assert tags_of(tmp_path / "mlruns") == tags


@pytest.mark.long
@pytest.mark.parametrize("code", ["LAB102", "LAB104"])  # one that raises, one that does not load
def test_a_check_that_fails_is_silenced_by_its_own_code(call, laboratory, code):
    told = json.loads(call(*TUNE, "--json").stdout)["warnings"]
    (failed,) = [line for line in told if line.startswith("ZSP901") and code in line]
    silent = json.loads(call(*TUNE, "--silence", code, "--json").stdout)
    left = [line for line in told if line != failed]
    assert silent["warnings"] == left
    assert any(line.startswith("ZSP901") for line in left)
    assert silent["silenced"] == 1


def test_checks_are_silenced_by_environment_and_configuration(call, laboratory, tmp_path, monkeypatch):
    monkeypatch.setenv("ZSLPLAT_SILENCE", "LAB101, ZSP101")
    monkeypatch.chdir(tmp_path)
    assert resolve_settings().silenced == ("LAB101", "ZSP101")
    assert resolve_settings({"silence": ["ZSP102"]}).silenced == ("ZSP102",)
    monkeypatch.delenv("ZSLPLAT_SILENCE")
    (tmp_path / "zslplat.toml").write_text('silence = ["LAB101", "ZSP901"]\n')
    assert resolve_settings().silenced == ("LAB101", "ZSP901")
    (tmp_path / "zslplat.toml").write_text('silence = ["edges"]\n')
    one_line(call(*TUNE), 2, "'edges' is no code of a check")
    (tmp_path / "zslplat.toml").unlink()
    one_line(call(*TUNE, "--silence", "LAB909"), 2, "unknown check 'LAB909'; did you mean LAB10")


def test_codes_of_zslplat_and_names_that_are_no_codes_are_refused(laboratory):
    causes = [broken.cause for broken in build_registry().broken]
    assert any("'ZSP777' begins with ZSP, which is kept for zslplat's own checks" in cause for cause in causes)
    assert any("'lab' is no code" in cause for cause in causes)
    assert {"LAB101", "LAB102", "LAB103"} <= set(build_registry().names("checks"))


def test_checks_are_listed_and_explained(call, laboratory):
    listed = json.loads(call("list", "checks", "--json").stdout)["components"]
    by_name = {one["name"]: one for one in listed}
    assert (by_name["LAB101"]["scope"], by_name["LAB101"]["title"]) == ("study", "a test score")
    assert "does not load" in by_name["LAB104"]["title"]
    assert by_name["ZSP101"]["from"][0].startswith("zslplat ")
    assert call("explain", "LAB101").stdout == "# LAB101: a test score\n"
    assert "Speaks of" not in call("explain", "LAB103").stdout
    assert "Hands on that something is cold." in call("explain", "LAB103").stdout
    assert call("explain", "zsp101").stdout.startswith("# ZSP101: best value at the edge")
    one_line(call("explain", "ZSP999"), 2, "unknown check 'ZSP999'")


def test_a_warning_that_names_a_check_belongs_to_it_and_any_other_to_none(laboratory):
    import warnings

    from zslplat.checks.base import warning_lines
    from zslplat.errors import OutcomeWarning
    from zslplat.evaluation.scoring.messages import collect_warnings, warning_entries

    with collect_warnings() as found:
        warnings.warn(OutcomeWarning("x" * 400, "LAB103"), stacklevel=1)
        warnings.warn(OutcomeWarning("it is cold", "LAB555"), stacklevel=1)
        warnings.warn("it is warm", OutcomeWarning, stacklevel=1)
    lines = warning_lines(warning_entries([("fold-1", found)]), "test")
    assert lines[0] == f"LAB103 test: {'x' * 300} (fold-1)"
    assert lines[1:] == ["ZSP200 test: it is cold [LAB555] (fold-1)", "ZSP200 test: it is warm (fold-1)"]


def test_the_kit_checks_checks(laboratory):
    known = build_registry()
    assert all(result.state == "passed" for result in check_entry(known, known.entry("checks", "LAB101")))
    failed = [result for result in check_entry(known, known.entry("checks", "LAB102")) if result.is_failure]
    assert {result.check for result in failed} == {
        "nothing_is_said_of_what_is_not_known",
        "the_same_facts_give_the_same_lines",
    }

    class Nameless(Check):
        code, title, scope = "lab", "", "everything"

        def find(self, facts):
            return ()

    assert run_checks(Nameless())[0].is_failure
