"""Every command with ``--json`` has a schema, and prints what it says; the page of schemas links all of them."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest
from json_documents import FOLDER, checked, schema_of
from jsonschema import Draft202012Validator
from written_pages import write_birds

from zslplat.cli.app import _root
from zslplat.cli.invocation import Invocation

BIRDS = ("-d", "birds.csv")
SUITE = """trials = 2
tasks = ["zsl"]
data = [{ name = "birds", dataset = "birds.csv" }]
row = [{ name = "a", method = "eszsl" }, { name = "b", method = "ridge-prototypes" }]
"""
# In this order, in one store: the command, what it is called with, and the exit codes that are fine.
STEPS = [
    ("list", (), (0,)),
    ("list", ("checks",), (0,)),
    ("show", ("eszsl",), (0,)),
    ("show", ("digit-pairs",), (0,)),
    ("explain", ("ZSP101",), (0,)),
    ("settings", (), (0,)),
    ("plugins list", (), (0,)),
    ("data list", (), (0,)),
    ("data check", BIRDS[1:], (0,)),
    ("data check", ("torn/birds.csv",), (1,)),
    ("data check", ("splitless.npz",), (1,)),
    ("data info", BIRDS[1:], (0,)),
    ("data info", ("splitless.npz",), (0,)),
    ("tune", ("eszsl", "--trials", 2, *BIRDS, "--dry-run"), (0,)),
    ("tune", ("eszsl", "--trials", 2, *BIRDS, "--study", "new"), (0,)),
    ("tune", ("ridge-prototypes", "--trials", 2, *BIRDS, "--study", "base"), (0,)),
    ("gate", ("new", "--against", "base"), (0, 4, 3)),
    ("gate", ("new", "--against", "base", "--numbers"), (0, 4, 3)),
    ("run", ("-m", "eszsl", *BIRDS), (0,)),
    ("run", ("-m", "eszsl(alpha=2)", *BIRDS, "--test"), (0,)),
    ("rerun", ("new",), (0,)),
    ("sweep", ("-m", "eszsl", "--param", "alpha", "--range", "1..10", "--points", 2, *BIRDS), (0,)),
    ("bench", ("suite.toml", "--dry-run"), (0,)),
    ("bench", ("suite.toml",), (0,)),
    ("compare", BIRDS, (0,)),
    ("report", (), (0,)),
    ("studies list", (), (0,)),
    ("studies show", ("new",), (0,)),
    ("studies show", ("new", "--importance"), (0,)),
    ("models list", (), (0,)),
    ("models show", ("new",), (0,)),
    ("predict", ("X.npy", "--signatures", "new.csv", "--run", "new"), (0,)),
    ("export", ("--run", "new", "--to", "model"), (0,)),
    ("models remove", ("new",), (0,)),
    ("export-split", (*BIRDS, "--to", "split"), (0,)),
    ("store show", (), (0,)),
    ("store check", (), (0,)),
    ("store rebuild", (), (0,)),
    ("store merge", ("mlruns", "--store", "other"), (0,)),
    ("studies delete", ("base", "--yes"), (0,)),
    ("store gc", (), (0,)),
    ("published list", (), (0,)),
    ("published beside", ("digit-pairs", "gzsl", "--data", "AWA2"), (0,)),
    ("published show", ("001-table-2",), (0,)),
    ("reproduce", (), (0,)),
    ("reproduce", ("001-table-2", "--only", "eszsl/digit-pairs", "--dry-run"), (0,)),
    ("claims", (), (0, 1)),
]
# Validated where they are tried: these need a server, a package that is written first, or minutes.
ELSEWHERE = {"cross-validate", "data fetch", "encode", "keep", "parity", "plugins check", "score"}


def with_json(group, path=()):
    """Yield the commands that have ``--json``."""
    context = group.make_context("zslplat", ["--help-all"], obj=Invocation(), resilient_parsing=True)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if hasattr(command, "list_commands"):
            yield from with_json(command, (*path, name))
        elif any("--json" in parameter.opts for parameter in command.params):
            yield " ".join((*path, name))


def test_every_command_with_json_has_a_schema_that_is_one():
    commands = set(with_json(_root()))
    named = {file.stem for file in FOLDER.glob("*.json")}
    assert {command.replace(" ", "-") for command in commands} | {"error"} <= named | {"encode"}
    assert {command for command, _, _ in STEPS} | ELSEWHERE >= commands
    for file in FOLDER.glob("*.json"):
        Draft202012Validator.check_schema(schema_of(file.stem))


def test_the_page_links_every_schema():
    links = re.findall(r"\]\(json/([\w-]+)\.json\)", (FOLDER.parent / "json.md").read_text())
    assert sorted(links) == sorted(file.stem for file in FOLDER.glob("*.json"))


@pytest.mark.long
@pytest.mark.timeout(1500)  # many commands, one after another
def test_commands_print_what_their_schemas_say(call, tmp_path):
    write_birds(tmp_path)
    (tmp_path / "suite.toml").write_text(SUITE)
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "birds.csv").write_text((tmp_path / "birds.csv").read_text() + "bird 3,train,1\n")
    shutil.copy(tmp_path / "signatures.csv", tmp_path / "torn")
    np.savez(tmp_path / "splitless.npz", X=np.eye(8), y=np.repeat(np.arange(4), 2), S=np.eye(4))
    wrong = []
    for command, options, codes in STEPS:
        done = call(*command.split(), *options, "--json")
        if done.returncode not in codes:
            wrong.append(f"{command}: exit code {done.returncode}, {done.stderr[-300:]}")
            continue
        try:
            checked("error" if '"exit_code": 2' in done.stdout[-40:] else command, done.stdout)
        except AssertionError as error:
            wrong.append(str(error))
    assert wrong == []


def test_a_failure_is_the_same_document_for_all(call):
    assert checked("error", call("show", "nothing", "--json").stdout)["exit_code"] == 2


@pytest.mark.long
def test_the_other_commands_print_what_their_schemas_say(call, tmp_path):
    split = ("cross-validate", "-m", "llc", "-d", "digits", "-t", "coding", "--splits", 2, "--trials", 1, "--json")
    checked("cross-validate", call(*split).stdout)
    checked("parity", call("parity", "eszsl", "--json").stdout)
