"""The written pages: links lead somewhere, commands are commands, everything is in a table of contents."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from zslplat.cli.app import app
from zslplat.registry import registry
from zslplat_site import reference
from zslplat_site.components import KINDS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*DOCS.glob("*.md"), *(ROOT / "zslplat" / "checks" / "pages").glob("*.md"), *ROOT.glob("*.md")]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", flags=re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="the documentation is not beside the tests")


def anchors(text):
    """Return the places in a page that a link may name: its headings as Markdown spells them, and labels."""
    plain = CODE.sub(lambda match: match[0] if match[0].startswith("`") and "\n" not in match[0] else "", text)
    headings = [h.replace("`", "").lower() for h in re.findall(r"^#+ (.*)$", plain, flags=re.MULTILINE)]
    found = {re.sub(r"[^\w\s-]", "", heading).strip().replace(" ", "-") for heading in headings}
    return found | set(re.findall(r"^\(([\w-]+)\)=$", text, flags=re.MULTILINE))


def generated():
    """Return {place: text or None} of the pages that are made when the site is built."""
    found = {f"generated/{kind}/{name}.md": None for kind in KINDS for name in [*registry().names(kind), "index"]}
    found |= {f"tutorials/{path.stem}.rst": None for path in EXAMPLES} | {"tutorials/index.rst": None}
    found["generated/api.md"] = reference.plugin_page()
    found["generated/python.md"] = reference.python_page()
    return found | {"generated/commands.md": reference.command_page()}


MADE = generated()


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_to_files_and_headings_that_are_there(page):
    text = page.read_text(encoding="utf-8")
    lost = []
    for link in LINK.findall(CODE.sub("", text)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        if page.parent == DOCS and path in MADE:
            there, other = True, MADE[path] or ""
        else:
            target = page.parent / path if path else page
            there, other = target.exists(), target.read_text(encoding="utf-8") if target.suffix == ".md" else ""
        if not there or (anchor and anchor not in anchors(other)):
            lost.append(link)
    assert lost == []


def lines_of_commands(text):
    """Yield the commands that a text shows: after a dollar sign, or at the beginning of a line of code."""
    blocks = re.findall(r"^```(?:console|sh)?\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    blocks += re.findall(r"(?:^ {4}.*\n?)+", text, flags=re.MULTILINE)
    for line in "\n".join(blocks).splitlines():
        match = re.match(r"\s*(?:\$ |\w+\$\s+)?(zslplat [a-z].*)$", line)
        if match:
            yield re.split(r"\s{2,}#|\s\||\s&&|\s>", match[1])[0].strip()


SHOWN = sorted({(p.name, line) for p in PAGES for line in lines_of_commands(p.read_text(encoding="utf-8"))})
ROOT_COMMAND = typer.main.get_command(app)


def test_commands_are_shown():
    assert len(SHOWN) > 40


@pytest.mark.parametrize(("page", "line"), SHOWN)
def test_shown_command_exists_with_its_options(page, line):
    # Pages show what may be left out in brackets, and alternatives.
    words = shlex.split(re.sub(r"[\[\]]|\.\.\.", "", line), comments=True)[1:]
    command, at, context = ROOT_COMMAND, 0, typer.Context(ROOT_COMMAND)
    while hasattr(command, "commands") and at < len(words) and (below := command.get_command(context, words[at])):
        command, at = below, at + 1
    if at == 0:
        # Commands of plugins, which a page tells how to write.
        assert words[0] in ("count-plugins", "NAME", "COMMAND"), line
        return
    known = {option for p in command.params for option in (*p.opts, *p.secondary_opts)}
    given = {word.partition("=")[0] for word in words[at:] if re.match(r"--?[a-z]", word)}
    assert given <= known | {"--help"}, line


def test_every_page_is_in_a_table_of_contents():
    listed = {
        entry.strip()
        for page in DOCS.glob("*.md")
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for entry in block.splitlines()
        if entry.strip() and not entry.startswith(":")
    }
    assert {page.stem for page in DOCS.glob("*.md")} - {"index"} <= listed
    made = {place.removesuffix(".md").removesuffix(".rst") for place in MADE}
    assert listed - {page.stem for page in DOCS.glob("*.md")} <= made


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_tutorial_has_a_title_says_what_it_shows_and_names_pages_that_are_there(path):
    text = path.read_text(encoding="utf-8")
    assert re.match(r'r?"""\n.+\n=+\n\n\w', text)
    assert "# %%" in text
    for name in re.findall(r":doc:`/([^`]+)`", text):
        assert (DOCS / f"{name}.md").is_file(), name
