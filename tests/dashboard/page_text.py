"""A page as a reader without a browser has it: its text in lines, its links, its identifiers."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "link", "img", "br", "input"}
BLOCKS = {"p", "h1", "h2", "h3", "li", "tr", "dt", "dd", "div", "summary", "figcaption", "section", "nav", "title"}


class Page(HTMLParser):
    """Tags are closed as they were opened, and none has a handler of its own."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self._parts: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        assert not any(name.startswith("on") or name == "style" for name, _ in attributes)
        self.tags.append(tag)
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            elif name in ("src", "srcset") or (tag, name) == ("link", "href"):
                self.loads.append(value)
            elif name in ("href", "action"):
                self.links.append(value)
        if tag in BLOCKS:
            self._parts.append("\n")
        if tag in ("td", "th"):
            self._parts.append(" | ")
        if tag == "br":
            self._parts.append(" ")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag in BLOCKS:
            self._parts.append("\n")

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_data(self, data):
        if not {"script", "style", "noscript", "title"} & set(self.open[-1:]) and "rect" not in self.open:
            self._parts.append(data.replace("\n", " "))

    @property
    def text(self) -> str:
        lines = (" ".join(line.split()).removeprefix("| ") for line in "".join(self._parts).split("\n"))
        return "\n".join(line for line in lines if line) + "\n"
