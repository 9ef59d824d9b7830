"""The numbers in a LaTeX source, and which of them a claim covers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from perpend.canon import JSON
from perpend.errors import DataError, SpecError
from perpend.inert import one_line
from perpend.proof.claims.file import WHOLE, Claim, read_claims
from perpend.proof.claims.tex import SEAL, TexSource, Typed, commands, is_sealed, scan

MAX_FILES = 300
MAX_BYTES = 20_000_000


@dataclass(frozen=True, slots=True)
class PrintedNumber:
    """A typed number, its file, and the names of the claims that cover it."""

    file: str
    number: Typed
    claims: tuple[str, ...]

    def as_json(self) -> dict[str, JSON]:
        """The number as JSON."""
        one = self.number
        number: dict[str, JSON] = {"line": one.line, "number": one.text, "context": one.context}
        return {"file": self.file, **number, "claims": list(self.claims)}


@dataclass(frozen=True, slots=True)
class Extraction:
    """Every number that a source and the files that it takes in type; `macros` counts uses of computed ones."""

    numbers: tuple[PrintedNumber, ...]
    claims: tuple[str, ...]
    macros: int
    notes: tuple[str, ...]

    @property
    def uncovered(self) -> tuple[PrintedNumber, ...]:
        """The numbers that no claim covers."""
        return tuple(one for one in self.numbers if not one.claims)

    def by_claim(self) -> dict[str, int]:
        """How many numbers each claim covers; 0 for a claim whose number is not in the text."""
        counts = Counter(name for one in self.numbers for name in one.claims)
        return {name: counts[name] for name in self.claims}

    def as_json(self) -> dict[str, JSON]:
        """The extraction as JSON."""
        return {
            "numbers": len(self.numbers),
            "covered": len(self.numbers) - len(self.uncovered),
            "by_claim": dict(self.by_claim()),
            "macros_used": self.macros,
            "uncovered": [one.as_json() for one in self.uncovered],
            "notes": list(self.notes),
        }

    def as_table(self) -> str:
        """The extraction as text: one line per number that nothing covers, then what is covered."""
        lines = [
            f"{one_line(one.file)}:{one.number.line}: {one_line(one.number.text)}  | {one_line(one.number.context)}"
            for one in self.uncovered
        ]
        covered = len(self.numbers) - len(self.uncovered)
        lines.append(f"{len(self.uncovered)} of {len(self.numbers)} typed numbers are covered by no claim")
        if covered:
            lines.append(f"{covered} are covered:")
            lines += [f"  {count:>4} by {one_line(name)}" for name, count in self.by_claim().items() if count]
        absent = [name for name, count in self.by_claim().items() if not count]
        if absent:
            lines.append("claims of which the text shows no number: " + one_line(", ".join(absent)))
        if self.macros:
            lines.append(f"{self.macros} uses of a computed number by its command")
        return "\n".join([*lines, *map(one_line, self.notes)]) + "\n"


def extract(paper: Path, claims: Path | Sequence[Claim] = ()) -> Extraction:
    """The numbers of a LaTeX source and of what it takes in from its own folder, and the claims that cover them."""
    entries = read_claims(claims) if isinstance(claims, Path) else claims
    if not paper.is_file():
        raise SpecError(f"{paper}: no such file; give a LaTeX source")
    reader = PaperReader(paper.parent.resolve())
    reader.read(paper.resolve())
    expected = [
        (claim.name if name == WHOLE else f"{claim.name}: {name}", value)
        for claim in entries
        for name, value in claim.expect.items()
        if value is not None
    ]
    numbers = tuple(
        PrintedNumber(file, number, tuple(dict.fromkeys(name for name, value in expected if covers(number, value))))
        for file, source in reader.sources
        for number in source.numbers
    )
    return Extraction(numbers, tuple(name for name, _ in expected), reader.uses(), tuple(reader.notes))


def covers(number: Typed, expected: Decimal) -> bool:
    """Whether a printed number is this expected value, as it is or as a percentage, rounded to what is printed.

    A number with more digits than the claim states is not covered, as nothing checks them. A number without decimals or
    percent sign must be exactly the value, and a sign is not looked at: 'falls by 3.4 points' states -0.034.
    """
    value, unit = number.value, Decimal(1).scaleb(_exponent(number.value))
    for scale in (1, 100):
        if scale == 100 and not number.is_percent and unit >= 1:
            continue
        target, finest = abs(expected) * scale, Decimal(scale).scaleb(_exponent(expected))
        if value == target:
            return True
        whole = unit >= 1 and not number.is_percent
        if not whole and value != 0 and unit >= finest and abs(value - target) <= unit / 2:
            return True
    return False


def _exponent(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


@dataclass(slots=True)
class PaperReader:
    """Reads a source and what it takes in, each file once and none from outside the folder."""

    folder: Path
    sources: list[tuple[str, TexSource]] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    defined: set[str] = field(default_factory=set)

    def read(self, first: Path) -> None:
        seen, waiting = {first}, [first]
        while waiting:
            path = waiting.pop(0)
            name = path.relative_to(self.folder).as_posix()
            text = self.text(path, name)
            if text.startswith(SEAL) and is_sealed(text):
                self.defined.update(commands(text))
                continue
            if text.startswith(SEAL):
                self.notes.append(f"{name}: was changed since perpend wrote it, so its numbers count as typed")
            source = scan(text)
            self.sources.append((name, source))
            self.texts.append((name, text))
            for line, wanted in source.inputs:
                file = self.file(wanted, path)
                if file is None:
                    self.notes.append(f"{name}:{line}: {wanted} is not a file of this folder, so it was not read")
                elif file not in seen and len(seen) < MAX_FILES:
                    seen.add(file)
                    waiting.append(file)
                elif file not in seen:
                    self.notes.append(f"{name}:{line}: {wanted} was not read: more than {MAX_FILES} files")

    def text(self, path: Path, name: str) -> str:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES and b"\0" in data:
            raise DataError(f"{path}: longer than a paper, with zero bytes in it; give the LaTeX source of the paper")
        if len(data) > MAX_BYTES:
            self.notes.append(f"{name}: only its first {MAX_BYTES} bytes were read")
        return data[:MAX_BYTES].decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")

    def file(self, wanted: str, by: Path) -> Path | None:
        """The file that \\input names: from the paper's folder, else from the file that names it."""
        for folder in (self.folder, by.parent):
            for name in (wanted, f"{wanted}.tex"):
                try:
                    path = (folder / name).resolve()
                    if path.is_relative_to(self.folder) and path.is_file():
                        return path
                except (OSError, RuntimeError, ValueError):  # too long, a null byte, a loop of links
                    return None
        return None

    def uses(self) -> int:
        """How often a command that perpend wrote occurs in the sources."""
        words: Iterable[str] = (
            word for _, source in self.sources for word in re.findall(r"\\([A-Za-z]+)", source.plain)
        )
        return sum(word in self.defined for word in words)
