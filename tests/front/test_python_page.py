"""The page about Python shows what comes out, line by line."""

import contextlib
import doctest
import io
import json
import re
import shlex
from pathlib import Path

import pytest

import zslplat

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
START = PAGE.with_name("start.md")


@pytest.mark.long
def test_examples_of_the_page_give_what_it_shows(tmp_path, monkeypatch):
    blocks = re.findall(r"^```pycon\n(.*?)^```$", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) > 4
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ZSLPLAT_STORE", str(tmp_path / "mlruns"))
    monkeypatch.delenv("ZSLPLAT_DATA_ROOT", raising=False)
    test = doctest.DocTestParser().get_doctest("\n\n".join(blocks), {}, PAGE.name, str(PAGE), 0)
    said = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    doctest.DocTestRunner(optionflags=flags).run(test, out=said.append)
    assert not said, "".join(said)


def test_the_first_lines_of_python_print_what_the_command_prints(call):
    text = START.read_text()
    (lines,) = re.findall(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    (shown,) = re.findall(r"^```text\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    printed = io.StringIO()
    names = {}
    with contextlib.redirect_stdout(printed):
        exec(lines, names)
    assert printed.getvalue() == shown
    (command,) = re.findall(r"test score of `zslplat ([^`]+)`", text)
    done = call(*command.split(), "--workers", 1, "--json")
    assert f"{json.loads(done.stdout)['metrics'][0]['per_class_accuracy']:.4f}" == shown.split()[0]


@pytest.mark.long
def test_the_pipeline_of_the_page_reaches_what_its_command_reaches(call):
    ((command, score),) = re.findall(r"# zslplat (run .*)\n([\d.]+)$", PAGE.read_text(), re.MULTILINE)
    done = call(*shlex.split(command), "--workers", 1, "--json")
    assert f"{json.loads(done.stdout)['metrics'][0]['per_class_accuracy']:.4f}" == score


def test_every_public_function_is_named():
    text = PAGE.read_text()
    assert [name for name in (*zslplat._EXPORTED, *zslplat._LISTED) if f"zslplat.{name}(" not in text] == []
