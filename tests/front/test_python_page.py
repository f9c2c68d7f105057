"""The page about Python shows what comes out, line by line."""

import doctest
import re
from pathlib import Path

import pytest

import zslplat

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


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


def test_every_public_function_is_named():
    text = PAGE.read_text()
    assert [name for name in zslplat._EXPORTED if f"zslplat.{name}(" not in text] == []
