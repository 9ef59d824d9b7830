"""Claims checked on runs, on published folders and on what others published, as `perpend claims check` takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from perpend.errors import SpecError

if TYPE_CHECKING:
    from perpend.measure.run import Run
    from perpend.proof.claims import Verdict


def check_claims(
    claims: Path,
    paths: Sequence[Path] = (),
    *,
    fields: str | Mapping[str, str] | None = None,
    trust_code: bool = False,
    quiet: bool = True,
) -> list[Verdict]:
    """The verdict on every claim of a file, from the raw answers of `paths`; without any, of the `runs` that it names.

    A path is a run, a published folder, a folder of these, or what an importer reads; `fields` is the map of a table.
    """
    from perpend.proof.claims import check, read_claims_file

    body = read_claims_file(claims)
    places = list(paths) or list(body.runs)
    if not places:
        raise SpecError(
            f'{claims}: no run is given; name it on the command line, or write runs = ["…"] above the claims'
        )
    with opened_runs(places, fields=fields, trust_code=trust_code, quiet=quiet) as runs:
        return check(body.claims, runs, quiet=quiet)


@contextmanager
def opened_runs(
    paths: Sequence[Path],
    *,
    fields: str | Mapping[str, str] | None = None,
    trust_code: bool = False,
    quiet: bool = True,
) -> Iterator[list[Run]]:
    """The runs of some paths; for the time of the block published folders are restored and sources imported."""
    with ExitStack() as stack:
        yield [run for path in paths for run in _opened(stack, path, fields, trust_code=trust_code, quiet=quiet)]


def _opened(
    stack: ExitStack, path: Path, fields: str | Mapping[str, str] | None, *, trust_code: bool, quiet: bool
) -> Iterator[Run]:
    from perpend._convert import is_source
    from perpend.measure.run import Run
    from perpend.proof.audit.places import places, run_directory, scored_in

    if (path / "run.db").is_file():
        yield Run(path, trust_code=trust_code)
        return
    if is_source(path, fields):
        yield from _imported(stack, path, fields)
        return
    for place in places([path]):
        yield scored_in(stack, stack.enter_context(run_directory(place, quiet=quiet)), trust_code=trust_code)


def _imported(stack: ExitStack, path: Path, fields: str | Mapping[str, str] | None) -> Iterator[Run]:
    from perpend._convert import convert_each
    from perpend.canon import portable_name
    from perpend.disk import temporary_folder
    from perpend.measure.run import Run

    tmpdir = stack.enter_context(temporary_folder("claims"))
    source = path.resolve()
    name = portable_name(source.stem if source.is_file() else source.name)
    for directory in list(convert_each([path], tmpdir / name, fields)):
        run = Run(directory)
        run.score()
        yield run
