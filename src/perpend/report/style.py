"""What all figures share: texts that can be drawn, and files with the same bytes each time."""

from __future__ import annotations

import io
import multiprocessing
import pickle
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from perpend.ask.progress import Progress
from perpend.canon import write_atomic
from perpend.errors import PerpendError
from perpend.inert import terminal
from perpend.measure.study import FigureOf

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONGEST = 40
_MANY = 8


@cache
def _glyphs() -> frozenset[int]:
    """The characters that the font has."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return frozenset(get_font(findfont(FontProperties())).get_charmap())


def drawable(text: str, longest: int = LONGEST) -> str:
    """The text as one line of a figure: no mathematics, no control characters, no glyph that the font lacks.

    Of a long one the middle is left out.
    """
    glyphs = _glyphs()
    clean = " ".join(terminal(text).split())
    if len(clean) > longest:  # names of models often differ at their ends only
        clean = f"{clean[: longest // 2]}…{clean[len(clean) - (longest - 1) // 2 :]}"
    return "".join(ch if ord(ch) in glyphs else "\N{WHITE SQUARE}" for ch in clean).replace("$", r"\$")


def drawable_rows(labels: Sequence[str], longest: int = LONGEST) -> list[str]:
    """Labels of rows, 'model, condition', as lines of a figure: of a model the same is left out in every row."""
    parts = [label.rpartition(", ") for label in labels]
    if all(len(label) <= longest for label in labels):
        return [drawable(label, longest) for label in labels]
    room = max(longest - max(len(comma + end) for _, comma, end in parts), longest // 2)
    return [
        f"{drawable(start, room)}{comma}{drawable(end, longest - min(room, len(start)) - 2)}"
        if comma
        else drawable(end, longest)
        for start, comma, end in parts
    ]


def save_all(figures: Sequence[FigureOf], folder: Path, *, workers: int = 1, quiet: bool = True) -> None:
    """Draw and write figures below a folder, in several processes where there are many. The bytes are the same.

    A figure that no other process can draw (that of a study of somebody's own) is drawn here.
    """
    sent = [figure for figure in figures if _can_be_sent(figure)] if workers > 1 and len(figures) >= _MANY else []
    here = [figure for figure in figures if figure not in sent]
    with ExitStack() as stack:
        drawings = []
        if sent:
            # Fresh processes, because a fork copies locks of threads.
            context = multiprocessing.get_context("spawn")
            pool = stack.enter_context(ProcessPoolExecutor(min(workers, len(sent)), mp_context=context))
            drawings = [pool.submit(_draw, figure, folder) for figure in sent]
        progress = stack.enter_context(Progress("drawing figures", len(figures), quiet=quiet or len(figures) < _MANY))
        for figure in here:
            _draw(figure, folder)
            progress.advance(1)
        for drawing in as_completed(drawings):
            try:
                drawing.result()
            except BrokenProcessPool as error:
                advice = "is memory short? Without --all-figures only the main ones are drawn"
                raise PerpendError(f"a process that drew figures was ended from outside ({error}); {advice}.") from None
            progress.advance(1)


def _can_be_sent(figure: FigureOf) -> bool:
    """Whether a fresh process can draw it: it finds perpend's functions, but not those of a file somewhere."""
    drawer = figure.draw.func if isinstance(figure.draw, partial) else figure.draw
    if not str(getattr(drawer, "__module__", "")).startswith("perpend."):
        return False
    try:
        pickle.dumps(figure)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


def _draw(figure: FigureOf, folder: Path) -> None:
    save(figure.draw(), folder / figure.name)


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write PNG at 300 dpi and PDF, with no time and no version in them."""
    # The layout is found once: left on, every file would be drawn twice, to find it again.
    # At the resolution of the file: letters are a little wider at 300 dpi than at 100, and would be cut.
    figure.set_dpi(300)
    if figure.get_layout_engine() is not None:
        figure.draw_without_rendering()
        figure.set_layout_engine(None)
    paths = []
    for kind in ("png", "pdf"):
        data = io.BytesIO()
        if kind == "png":
            # Level 3 takes half the time of the default and a tenth more room.
            figure.savefig(data, format=kind, dpi=300, metadata={"Software": None}, pil_kwargs={"compress_level": 3})
        else:
            nothing = {"CreationDate": None, "Creator": None, "Producer": None}
            figure.savefig(data, format=kind, dpi=300, metadata=nothing)
        paths.append(stem.parent / f"{stem.name}.{kind}")
        write_atomic(paths[-1], data.getvalue())
    return paths
