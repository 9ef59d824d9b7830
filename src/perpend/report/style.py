"""What all figures share: texts that can be drawn, and files with the same bytes each time."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from perpend.canon import write_atomic
from perpend.inert import terminal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONGEST = 40


def drawable(text: str, longest: int = LONGEST) -> str:
    """The text as one line of a figure: no mathematics, no control characters, no glyph that the font lacks.

    Of a long one the middle is left out.
    """
    from matplotlib.font_manager import FontProperties, findfont, get_font

    glyphs = get_font(findfont(FontProperties())).get_charmap()
    clean = " ".join(terminal(text).split())
    if len(clean) > longest:  # names of models often differ at their ends only
        clean = f"{clean[: longest // 2]}…{clean[len(clean) - (longest - 1) // 2 :]}"
    return "".join(ch if ord(ch) in glyphs else "\N{WHITE SQUARE}" for ch in clean).replace("$", r"\$")


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write PNG at 300 dpi and PDF, with no time and no version in them."""
    metadata: dict[str, dict[str, str | None]] = {
        "png": {"Software": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    }
    # The layout is found once: left on, every file would be drawn twice, to find it again.
    figure.draw_without_rendering()
    figure.set_layout_engine(None)
    paths = []
    for kind, facts in metadata.items():
        data = io.BytesIO()
        figure.savefig(data, format=kind, dpi=300, metadata=facts)
        paths.append(stem.parent / f"{stem.name}.{kind}")
        write_atomic(paths[-1], data.getvalue())
    return paths
