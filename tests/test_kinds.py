"""Kinds of methods come from plugins: a fifth one with all that belongs to it, and a platform with one alone."""

import json
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest
from support import install_distribution

import zslplat
from zslplat.errors import UnknownNameError, UsageError
from zslplat.kinds import kind_of, load_part, tasks_for
from zslplat.registry import GROUP, build_registry, registry
from zslplat.testing.distribution import subjects_of

TOYS = Path(__file__).with_name("kind_toys.py")
FAMILIES = ("coding", "exemplars", "selection")


@pytest.fixture
def fifth_kind(call, tmp_path, monkeypatch):
    """A command in a place where a plugin brings a fifth kind of methods."""
    site = install_distribution(tmp_path / "site", "zslplat-density", "zslplat_density", TOYS.read_text())
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", str(site))
    registry.cache_clear()
    return call


def test_a_fifth_kind_is_tuned_saved_and_predicts(fifth_kind, tmp_path):
    done = fifth_kind("run", "-m", "gaussian-density", "-t", "novelty", "--test", "--workers", 1, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["metrics"][0]["auc"] > 0.5
    data = zslplat.load_dataset("digit-pairs")
    X = data.X[data.splits["test_unseen"][:20]]
    model = zslplat.load_model(result["run_ids"][0], store=tmp_path / "mlruns")
    pipeline = zslplat.make("gaussian-density").fit(data.X[data.splits["train"]])
    np.testing.assert_allclose(model.predict(X), pipeline.density(X))
    np.save(tmp_path / "rows.npy", X)
    table = fifth_kind("predict", "--run", result["run_ids"][0], "--input", "rows.npy", "--output", "densities.csv")
    assert table.returncode == 0, table.stderr
    assert (tmp_path / "densities.csv").read_text().startswith("row,density\n")


def test_the_kit_checks_a_fifth_kind_and_what_is_of_it(fifth_kind):
    results = {(s.kind, s.name): s.check() for s in subjects_of(build_registry(), "zslplat-density")}
    assert list(results) == [
        ("plugin", "zslplat_density"),
        ("kind of methods", "density"),
        ("method", "gaussian-density"),
        ("task", "novelty"),
    ]
    assert "a_row_has_one_density" in {result.check for result in results["method", "gaussian-density"]}
    assert {r.check: r.message for found in results.values() for r in found if r.is_failure} == {}


def test_methods_of_a_fifth_kind_are_listed_and_sent_to_their_task(fifth_kind):
    done = fifth_kind("list", "--kind", "density", "--json")
    assert {row["name"] for row in json.loads(done.stdout)["components"]} == {"gaussian-density", "novelty"}
    refused = fifth_kind("run", "-m", "gaussian-density", "--workers", 1)
    assert refused.returncode == 2
    assert "use --task novelty" in refused.stderr


def test_zero_shot_learning_works_without_the_other_kinds(call, tmp_path, monkeypatch):
    # Of two distributions of one name, the first on the path is the one that counts.
    own = [point for point in entry_points(group=GROUP) if point.dist.name == "zslplat"]
    left = [f"{point.name} = {point.value}" for point in own if point.name not in FAMILIES]
    assert len(left) == len(own) - len(FAMILIES)
    site = install_distribution(tmp_path / "site", "zslplat", "not_a_plugin", "", version=zslplat.__version__)
    (info,) = site.glob("*.dist-info")
    (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *left]))
    monkeypatch.syspath_prepend(str(site))
    registry.cache_clear()
    assert registry().names("kinds") == ["zero-shot"]
    done = call("list", "--json")
    components = [
        row for row in json.loads(done.stdout)["components"] if not row["from"][0].startswith("zslplat-papers ")
    ]
    assert {row["for"] for row in components if "for" in row} == {"zero-shot"}
    tuned = call("tune", "-m", "eszsl", "-d", "digit-pairs(rows=20)", "--trials", 2, "--workers", 1, "--json")
    assert tuned.returncode == 0, tuned.stderr
    ran = call("run", "-m", "eszsl", "-d", "digit-pairs(rows=20)", "--test", "--workers", 1, "--json")
    data = zslplat.load_dataset("digit-pairs(rows=20)")
    np.save(tmp_path / "rows.npy", data.X[data.splits["test_unseen"]])
    run = json.loads(ran.stdout)["run_ids"][0]
    done = call("predict", "--run", run, "--input", "rows.npy", "--output", "classes.csv")
    assert done.returncode == 0, done.stderr
    assert "registry" not in tuned.stderr + done.stderr


def test_parts_of_kinds_are_found_or_refused(tmp_path):
    assert tasks_for("zero-shot") == ["gzsl", "retrieval", "zsl"]
    assert kind_of("exemplar").control == "cosine"
    with pytest.raises(UnknownNameError, match="unknown kind of methods 'codings'; did you mean coding"):
        load_part("codings", "kit")


def test_a_kind_may_lack_parts(monkeypatch, tmp_path):
    source = (
        "from zslplat.api import Kind, hookimpl\n\n"
        "@hookimpl\ndef zslplat_kinds():\n"
        "    return {'bare': Kind('bare method', protocol='zslplat.families.coding.methods.base:CodingProtocol'),\n"
        "            'odd': Kind('odd method', protocol='nowhere'), 'no': 3,\n"
        "            'wrong': Kind('wrong method', protocol='zslplat.methods.base:features')}\n"
    )
    monkeypatch.syspath_prepend(str(install_distribution(tmp_path, "zslplat-bare", "zslplat_bare", source)))
    found = build_registry()
    with pytest.raises(UsageError, match="kind of methods 'bare' of zslplat-bare has no pipeline"):
        found.entry("kinds", "bare").load_part("pipeline")
    with pytest.raises(Exception, match="expected a subclass of zslplat"):
        found.entry("kinds", "wrong").load_part("protocol")
    assert [broken.cause for broken in found.broken] == [
        "kind of methods 'odd' has the protocol 'nowhere', expected 'module:Class'",
        "kind of methods 'no' is 3, expected a zslplat.api.Kind",
    ]
