"""How values show themselves in a notebook: tables as inert HTML, and as columns for pandas and polars.

Names, prompts and answers are foreign text: nothing of them is markup, and no control character passes.
"""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.errors import SpecError
from perpend.inert import one_line

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Cells: TypeAlias = "Sequence[object] | npt.NDArray[np.generic]"
_LONGEST = 200


def html_text(value: object) -> str:
    """A value as the text of an HTML element: one line, escaped, shortened; '' for None, 'NA' for what is undefined."""
    if value is None:
        return ""
    text = one_line(f"{value:.4g}" if isinstance(value, float) else str(value))
    return html.escape(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")


def html_table(head: Sequence[str], rows: Sequence[Sequence[object]], caption: str) -> str:
    """A table with a line above it; no script, no style, no link."""
    cells = "".join(f"<th>{html_text(name)}</th>" for name in head)
    lines = "".join("<tr>" + "".join(f"<td>{html_text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f"<table><caption>{html_text(caption)}</caption><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table>"
    )


def html_columns(columns: Mapping[str, Cells], caption: str) -> str:
    """Columns as a table; NaN is an empty cell."""
    rows = [
        [None if isinstance(cell, float) and np.isnan(cell) else cell for cell in row]
        for row in zip(*(np.asarray(values, dtype=object).tolist() for values in columns.values()), strict=True)
    ]
    return html_table(list(columns), rows, caption)


class Framed(ABC):
    """What has columns, and gives them to pandas and polars."""

    __slots__ = ()

    @abstractmethod
    def columns_of(self) -> Mapping[str, Cells]:
        """The columns by their names."""

    def to_pandas(self) -> pd.DataFrame:
        """One row per trial, contrast or ranked model; NaN where a value is undefined."""
        try:
            import pandas as pd
        except ImportError:
            raise SpecError("to_pandas needs one more package: pip install pandas") from None
        return pd.DataFrame(dict(self.columns_of()))

    def to_polars(self) -> pl.DataFrame:
        """The same as a polars DataFrame, null where a value is undefined."""
        try:
            import polars as pl
        except ImportError:
            raise SpecError("to_polars needs one more package: pip install polars") from None
        return pl.DataFrame(dict(self.columns_of()), strict=False, nan_to_null=True)
