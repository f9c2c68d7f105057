"""An HTML page as a tree, read with the standard library: enough to ask for elements, texts and tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


@dataclass
class Element:
    """An element: its name, attributes, and what is in it, elements and texts in order."""

    tag: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    content: list = field(default_factory=list)

    def every(self, *tags):
        """Yield the elements of these names below this one, in the order of the page; all where none are given."""
        for part in self.content:
            if isinstance(part, Element):
                if not tags or part.tag in tags:
                    yield part
                yield from part.every(*tags)

    @property
    def text(self):
        """The text below this element, with single spaces."""
        return " ".join("".join(part if isinstance(part, str) else part.text + " " for part in self.content).split())


class Reader(HTMLParser):
    """Builds the tree; elements that are not closed in their order are an error."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.root = Element("document")
        self.open = [self.root]

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"{tag} has an attribute twice: {names}"
        element = Element(tag, dict(attrs))
        self.open[-1].content.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.open[-1].content.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open[-1].tag == tag, f"</{tag}> at line {self.getpos()[0]} closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data):
        self.open[-1].content.append(data)


def read_html(text):
    """Return the page as an element; fails where it is not well formed."""
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert [element.tag for element in reader.open] == ["document"]
    return reader.root


def table_called(page, caption):
    """Return headings, and rows of (text, exact value or None), of the first table whose caption holds a text."""
    table = next(t for t in page.every("table") if caption in next(t.every("caption")).text)
    headings = [heading.text for heading in next(table.every("thead")).every("th")]
    rows = []
    for row in next(table.every("tbody")).every("tr"):
        cells = list(row.every("th", "td"))
        values = [cell.attributes.get("data-value") for cell in cells]
        rows.append([(c.text, None if v is None else float(v)) for c, v in zip(cells, values, strict=True)])
    return headings, rows
