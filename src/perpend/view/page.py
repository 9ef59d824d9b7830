"""The page as files: one with everything inline, or a page with its trials in a folder beside it."""

from __future__ import annotations

import base64
import gc
import gzip
import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal, TypeAlias

from perpend.ask.progress import Progress
from perpend.disk import replacing, temporary_folder, writing
from perpend.errors import StoreError
from perpend.view.data import View, encoded

Mode: TypeAlias = Literal["file", "folder", "live"]
LARGEST_FILE = 20_000
"""Trials up to which everything is in one file."""
TITLE = "perpend view"
_LEVEL = 1
"""On texts of models: a quarter of the time of gzip's default, and a sixth more room."""
_CHUNK_FILE = re.compile(r"\d+\.js")


def packed(data: bytes) -> str:
    """gzip in base64, as the page unpacks it; no time and no name, so the same data give the same text."""
    zipped = bytearray(gzip.compress(data, compresslevel=_LEVEL, mtime=0))
    zipped[8:10] = b"\x00\xff"  # 'unknown': levels, systems and versions of Python write different numbers here
    return base64.b64encode(zipped).decode("ascii")


@cache
def _asset(name: str) -> str:
    return files("perpend.view").joinpath("assets", *name.split("/")).read_text(encoding="utf-8")


@cache
def script() -> str:
    """The page's program: its files in their order."""
    order = [line.strip() for line in _asset("js/ORDER").split("\n")]
    return "\n".join(_asset(f"js/{name}") for name in order if name and not name.startswith("#"))


@cache
def policy(mode: Mode) -> str:
    """The Content-Security-Policy: this script, this style, pictures that are inline; nothing from elsewhere.

    A page with a folder may load scripts of its own place; a live one may ask its own server.
    """
    own = {"file": "", "folder": " 'self' file:", "live": ""}[mode]
    parts = {
        "default-src": "'none'",
        "script-src": f"'sha256-{_hash(script())}'{own}",
        "style-src": f"'sha256-{_hash(_asset('view.css'))}'",
        "img-src": "data:",
        "worker-src": "blob:",
        "connect-src": "'self'" if mode == "live" else "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in parts.items())


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def shell(mode: Mode, index: str, chunks: Iterator[tuple[str, str]] | Sequence[tuple[str, str]] = ()) -> Iterator[str]:
    """The page, piece by piece: the template with the index and the chunks in their places."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    assets = PackageLoader("perpend.view", "assets")  # ours alone: no folder of a run is looked into
    environment = Environment(loader=assets, autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    template = environment.get_template("page.html.j2")
    yield from template.generate(
        title=TITLE,
        mode=mode,
        csp=policy(mode),
        css=Markup(_asset("view.css")),  # noqa: S704  ours, and in the policy by its hash
        js=Markup(script()),  # noqa: S704
        index=index,
        chunks=chunks,
    )


@dataclass(frozen=True, slots=True)
class WrittenPage:
    """The page that was written, and the folder of its trials where they are not in it."""

    page: Path
    trials: int
    folder: Path | None


def write_page(view: View, out: Path, *, most: int = LARGEST_FILE, quiet: bool = True) -> WrittenPage:
    """Write the page of some runs to a file; of more than `most` trials, into a folder beside it what they hold.

    The same runs give the same bytes: no time, no path and no name of this machine is in them.
    """
    if len(view) > most:
        return _write_folder(view, out, quiet=quiet)
    with temporary_folder("view") as tmpdir:
        trials = tmpdir / "chunks"
        with trials.open("w", encoding="ascii") as lines:
            names = []
            for number, data in enumerate(_read(view, quiet=quiet)):
                lines.write(packed(data) + "\n")
                names.append(f"chunk-{number}")
        index = packed(encoded(view.index("file", names)))
        with replacing(out) as temporary, trials.open(encoding="ascii") as lines:
            chunks = zip(names, (line.rstrip("\n") for line in lines), strict=True)
            with temporary.open("w", encoding="utf-8", newline="\n") as page:
                page.writelines(shell("file", index, chunks))
    return WrittenPage(out, len(view), None)


def folder_of(out: Path) -> Path:
    """The folder of a page's trials: 'page_data' beside 'page.html'."""
    return out.with_name(f"{out.stem}_data")


def _read(view: View, *, quiet: bool) -> Iterator[bytes]:
    """Every chunk, with a bar for who waits."""
    with Progress("writing the page", len(view), quiet=quiet) as progress, _uncollected():
        for chunk in view.chunks():
            yield view.read(chunk)
            progress.advance(chunk.last - chunk.first)


@contextmanager
def _uncollected() -> Iterator[None]:
    """No search for cycles meanwhile: a chunk has none, and to look through its values takes a fifth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _write_folder(view: View, out: Path, *, quiet: bool) -> WrittenPage:
    folder = folder_of(out)
    _check_own(folder)
    with temporary_folder("view", out.parent) as tmpdir:
        names = []
        for number, data in enumerate(_read(view, quiet=quiet)):
            text = packed(data)
            (tmpdir / f"{number}.js").write_text(chunk_file(number, text), encoding="ascii")
            names.append(f"{folder.name}/{number}.js")
        index = packed(encoded(view.index("folder", names)))
        with writing(folder):
            folder.mkdir(exist_ok=True)
            for path in folder.iterdir():
                path.unlink()
            for path in sorted(tmpdir.iterdir()):
                path.chmod(0o644)
                path.replace(folder / path.name)
    with replacing(out) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as page:
        page.writelines(shell("folder", index))
    return WrittenPage(out, len(view), folder)


def chunk_file(number: int, text: str) -> str:
    """A file of the folder: one call that hands a chunk to the page."""
    return f'perpendChunk({number}, "{text}")\n'


def _check_own(folder: Path) -> None:
    """Refuse a folder that holds anything but chunks of a page: what is in it is replaced."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise StoreError(f"{folder}: not a folder; give another --out")
    others = [path.name for path in folder.iterdir() if not _CHUNK_FILE.fullmatch(path.name)] if folder.is_dir() else []
    if others:
        raise StoreError(f"{folder}: holds {others[0]!r}, which no page wrote; give another --out")
