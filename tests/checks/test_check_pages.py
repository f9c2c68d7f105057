"""Every code has a page, every page a code, and both say the same."""

import re
import tomllib
from pathlib import Path

import pytest

from zslplat import checks
from zslplat.checks.base import check_page
from zslplat.errors import UnknownNameError
from zslplat.registry import component, names

PAGES = Path(checks.__file__).parent / "pages"
ROOT = Path(__file__).parents[2]
CODES = [code for code in names("checks") if code.startswith("ZSP")]
PARTS = ["What was found", "When it speaks", "Causes", "What to do", "Silence it", "Example"]


def test_pages_and_codes_are_the_same():
    assert sorted(path.stem for path in PAGES.iterdir()) == CODES


@pytest.mark.parametrize("code", CODES)
def test_page_has_the_title_of_the_check_all_parts_and_an_example_with_its_code(code):
    text = (PAGES / f"{code}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {code}: {component('checks', code).title}\n")
    assert re.findall(r"^## (.*)$", text, flags=re.MULTILINE) == PARTS
    assert all(part.strip() for part in re.split(r"^#+ .*$", text, flags=re.MULTILINE)[1:][1:])
    assert f"warning: {code} " in text.partition("## Example")[2]
    assert f"--silence {code}" in text
    assert check_page(code).page == text


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the documentation is not beside the tests")
def test_documentation_and_package_share_the_pages():
    assert (ROOT / "docs" / "checks").resolve() == PAGES.resolve()
    packaged = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["zslplat"]
    assert "checks/pages/*.md" in packaged


def test_codes_may_be_written_small_and_unknown_ones_are_refused():
    assert check_page("zsp101").code == "ZSP101"
    with pytest.raises(UnknownNameError, match="unknown check 'ZSP999'"):
        check_page("ZSP999")


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the documentation is not beside the tests")
def test_documentation_lists_every_check_with_its_title():
    text = (ROOT / "docs" / "checks.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(ZSP\d+)\]\(checks/\1\.md\) \| (.*) \|$", text, flags=re.MULTILINE)
    assert rows == [(code, component("checks", code).title) for code in CODES]
