"""Pages of Markdown and JSON from templates of a package; what comes from a run or a stranger is made inert by `md`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from perpend.inert import markdown, one_line
from perpend.report.tables import number, undefined

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def _environment(package: str) -> Environment:
    from jinja2 import ChainableUndefined, Environment, PackageLoader

    pages = Environment(
        loader=PackageLoader(package, "pages"),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=ChainableUndefined,
        autoescape=False,  # noqa: S701 - Markdown
    )
    # `path` escapes no underscore: frozen reports keep their bytes.
    path = lambda text: one_line(text).replace("|", r"\|").replace("<", r"\<")  # noqa: E731
    pages.filters |= {"md": lambda text: markdown(str(text)), "number": number, "undefined": undefined, "path": path}
    return pages


def render(package: str, page: str, **values: object) -> str:
    """The page `pages/<page>.j2` of a package with these values."""
    return _environment(package).get_template(f"{page}.j2").render(values)
