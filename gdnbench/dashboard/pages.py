"""Pages from templates, and the folder that they are written into."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from gdnbench.dashboard import words
from gdnbench.dashboard.inert import inside

ASSETS = ("site.css", "theme.js", "site.js", "list.js", "columns.js", "series.js", "plot.js", "releases.js")


class Pages:
    """The pages of one site.

    Args:
        folder: an empty one, which they are written into.
        everywhere: what every page is given.
    """

    def __init__(self, folder: Path, everywhere: Mapping[str, Any]) -> None:
        self.folder = folder
        self._made = {folder}
        self._environment = Environment(
            loader=PackageLoader("gdnbench.dashboard"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals |= {"words": words, "inside": inside, **everywhere}

    def write(self, path: str, template: str, **given: Any) -> None:
        """A page from a template.

        Args:
            path: in the folder, with `/`.
        """
        root = "../" * path.count("/")
        self.put(path, self._environment.get_template(f"{template}.html.j2").render(root=root, path=path, **given))

    def put(self, path: str, content: str) -> None:
        """A file with this text."""
        target = self.folder / path
        if target.parent not in self._made:
            target.parent.mkdir()
            self._made.add(target.parent)
        target.write_bytes(content.encode("utf-8"))

    def assets(self) -> None:
        """What all pages share: style, scripts, and plotly's library, whole and once."""
        own = files("gdnbench.dashboard") / "assets"
        for name in ASSETS:
            self.put(f"assets/{name}", (own / name).read_text("utf-8"))
        plotly = files("plotly") / "package_data" / "plotly.min.js"
        self.put("assets/plotly.min.js", plotly.read_text("utf-8"))
