"""python -m tests.inventory record|compare [--only PART] [--keep FOLDER] [--junit FILE]

What a user relies on, as it was at the commit that `recorded/commit` names: tests, golden cases, verdicts on forgeries,
public names, and the digest of every file that fixed commands write. `compare` makes all of it anew and says what
vanished, what differs and what is new; it exits with 1 where anything vanished or changed that named.toml does not
name, or where an entry there names nothing.

    python -m tests.inventory compare                     all parts; 15 minutes, most of it forgeries
    python -m tests.inventory compare --only runs         four runs and what is published of them; one minute
    python -m tests.inventory compare --keep FOLDER       keep what the commands wrote in FOLDER, to look into it
    python -m tests.inventory record --only seeds         write a part anew, at the commit that is to be kept
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import lzma
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.inventory import counted, written

FOLDER = Path(__file__).parent
RECORDED = FOLDER / "recorded"
PARTS = ("runs", "seeds", "tests", "golden", "doors", "forgeries")
WRITTEN = ("runs", "seeds")
SEP = "\t"


@dataclass(frozen=True, slots=True)
class Measured:
    """What a part holds, line by line; what commands wrote as texts; and the commands that were left out."""

    lines: Mapping[str, str]
    texts: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()


def measured(part: str, work: Path) -> Measured:
    """What a part holds now."""
    if part in WRITTEN:
        left_out = written.write(part, work)
        return of_files(written.contents(work / part), left_out)
    if part == "forgeries":
        from tests.inventory.forged import verdicts

        lines = verdicts(work)
    else:
        lines = {name: str(value) for name, value in getattr(counted, part)().items()}
    return Measured(lines)


def of_files(files: Mapping[str, tuple[str, bytes]], left_out: Sequence[str] = ()) -> Measured:
    """The lines and texts of files. Of third parties' data no text is kept."""
    lines = {name: f"{raw}{SEP}{written.digest(normal)}" for name, (raw, normal) in files.items()}
    texts = {
        name: normal.decode()
        for name, (_, normal) in files.items()
        if not name.endswith((".png", ".pdf")) and "_real/" not in name
    }
    return Measured(lines, texts, tuple(left_out))


def read(part: str) -> dict[str, str]:
    """What was recorded of a part."""
    text = lzma.decompress((RECORDED / f"{part}.tsv.xz").read_bytes()).decode()
    return dict(line.split(SEP, 1) for line in text.splitlines())


def read_texts(part: str) -> dict[str, str]:
    """What recorded files said, to show how another one differs."""
    texts: dict[str, str] = json.loads(lzma.decompress((RECORDED / f"{part}.texts.xz").read_bytes()))
    return texts


def write(part: str, lines: Mapping[str, str], texts: Mapping[str, str]) -> None:
    """Record a part."""
    if texts:
        packed = lzma.compress(json.dumps(texts, sort_keys=True).encode(), preset=9)
        (RECORDED / f"{part}.texts.xz").write_bytes(packed)
    text = "".join(f"{name}{SEP}{value}\n" for name, value in sorted(lines.items()))
    (RECORDED / f"{part}.tsv.xz").write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{part}: {len(lines)} lines recorded")


@dataclass(frozen=True, slots=True)
class Difference:
    """What became of one line of a part: 'vanished', 'changed', or one of the words that need no reason."""

    part: str
    name: str
    how: str
    words: str = ""

    @property
    def counts(self) -> bool:
        """Whether somebody has to name it."""
        return self.how in ("vanished", "changed")


def differences(part: str, before: Mapping[str, str], now: Mapping[str, str]) -> list[Difference]:
    """Everything that is not as it was."""
    found = [Difference(part, name, "new", now[name]) for name in now if name not in before]
    if part == "tests":
        return found + _of_tests(before, now)
    for name, old in before.items():
        if name not in now:
            found.append(Difference(part, name, "vanished", old.replace(SEP, ": ")))
        elif part in WRITTEN:
            (raw, normal), (raw_now, normal_now) = old.split(SEP), now[name].split(SEP)
            if raw != raw_now:
                found.append(Difference(part, name, "only by version" if normal == normal_now else "changed"))
        elif old != now[name]:
            is_caught = part == "forgeries" and now[name].startswith("caught")
            how = "caught by other checks" if is_caught else "changed"
            found.append(Difference(part, name, how, f"{old} → {now[name]}".replace(SEP, ": ")))
    return found


def _of_tests(before: Mapping[str, str], now: Mapping[str, str]) -> list[Difference]:
    """Test functions that vanished, moved to another file, or have fewer cases."""
    added = {part: name for name in now if name not in before for part in (name.rpartition("::")[2], _short(name))}
    skipped = {name.rpartition("::")[0].rpartition("/")[2] for name in now if name.endswith("::skipped")}
    found = []
    for name, old in before.items():
        file, _, function = name.rpartition("::")
        place = name if name in now else added.get(_short(name), added.get(function))
        if place is None:
            how = "not collected here" if file.rpartition("/")[2] in skipped else "vanished"
            found.append(Difference("tests", name, how, old))
        elif int(now[place].split()[0]) < int(old.split()[0]):
            found.append(Difference("tests", name, "changed", f"{old.split()[0]} cases, now {now[place]}"))
        elif place != name:
            found.append(Difference("tests", name, "moved", place))
    return found


def _short(name: str) -> str:
    """The file and the function: two files may have a function of one name, and move."""
    return name.rpartition("/")[2]


def explained(found: Iterable[Difference], before: Mapping[str, str], now: Mapping[str, str]) -> list[Difference]:
    """The same, with the first lines that differ where a file changed."""
    known = []
    for one in found:
        words = one.words
        if one.how == "changed" and one.name in before and one.name in now:
            old, new = Counter(before[one.name].splitlines()), Counter(now[one.name].splitlines())
            gone, come = [*(old - new).elements()], [*(new - old).elements()]
            words = f"{len(gone)} lines are {len(come)} others: " if gone or come else "the same lines in another order"
            words += " ⏎ ".join(
                [*(f"- {line.strip():.150}" for line in gone[:2]), *(f"+ {line.strip():.150}" for line in come[:2])]
            )
        known.append(replace(one, words=words))
    return known


@dataclass(slots=True)
class Named:
    """The patterns of named.toml, each with its reason, and those that something matched."""

    reasons: Mapping[str, str]
    used: set[str] = field(default_factory=set)

    def reason(self, one: Difference) -> str | None:
        """Why a difference may be, if it is named."""
        line = f"{one.part}: {one.name}"
        for pattern, reason in self.reasons.items():
            if line == pattern or fnmatch.fnmatchcase(line, pattern):
                self.used.add(pattern)
                return reason
        return None

    def unused(self, parts: list[str]) -> list[str]:
        """Patterns that named nothing, of these parts."""
        return [one for one in self.reasons if one not in self.used and one.partition(":")[0] in parts]


def report(found: list[Difference], named: Named, parts: list[str], *, most: int) -> bool:
    """Print all differences. True where each that counts is named, and each name is of one."""
    groups: dict[str, list[str]] = {}
    is_fine = True
    for one in found:
        reason = named.reason(one) if one.counts else None
        how = f"{one.how}, named" if reason else one.how
        is_fine &= not one.counts or reason is not None
        groups.setdefault(f"{one.part}: {how}", []).append(f"  {one.name}  {reason or one.words}"[:600])
    for title, lines in sorted(groups.items()):
        print(f"{title}: {len(lines)}")
        shown = lines if title.endswith(("vanished", "changed")) else lines[:5]
        print(
            "\n".join(shown[:most])
            + (f"\n  … and {len(lines) - len(shown[:most])} more" * (len(lines) > len(shown[:most])))
        )
    for pattern in named.unused(parts):
        print(f"named.toml: {pattern!r} names nothing that vanished or changed")
        is_fine = False
    return is_fine


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.inventory")
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("--only", action="append", choices=PARTS)
    parser.add_argument("--keep", type=Path, help="a folder for what the commands write, which is kept")
    parser.add_argument(
        "--junit", type=Path, help="with record: the JUnit file of a run of all tests, for their seconds"
    )
    parser.add_argument("--most", type=int, default=60, help="lines of each kind to print")
    chosen = parser.parse_args()
    parts = chosen.only or list(PARTS)
    found: list[Difference] = []
    partly: set[str] = set()
    with tempfile.TemporaryDirectory() as tmpdir:
        for part in parts:
            work = chosen.keep or Path(tmpdir)
            now = measured(part, work)
            if chosen.what == "record":
                if now.left_out:
                    sys.exit(f"left out, for lack of shared data: {', '.join(now.left_out)}")
                times = counted.seconds(chosen.junit) if part == "tests" and chosen.junit else {}
                lines = {name: f"{value} {times.get(name, '')}".strip() for name, value in now.lines.items()}
                write(part, lines, now.texts)
            else:
                for name in now.left_out:
                    print(f"left out: {name}, for lack of ../shared/data")
                    partly.add(part)
                before = {name: value for name, value in read(part).items() if not is_of(name, now.left_out)}
                some = differences(part, before, now.lines)
                partly |= {one.part for one in some if one.how == "not collected here"}
                found += explained(some, read_texts(part), now.texts) if part in WRITTEN else some
    if chosen.what == "record":
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=FOLDER, capture_output=True, text=True, check=True)
        (RECORDED / "commit").write_text(head.stdout, encoding="utf-8")
        return 0
    # What was not looked at cannot be named.
    whole = [part for part in parts if part not in partly]
    named = Named(tomllib.loads((FOLDER / "named.toml").read_text(encoding="utf-8")))
    is_fine = report(found, named, whole, most=chosen.most)
    print("Nothing vanished or changed that is not named." if is_fine else "Something vanished or changed unnamed.")
    return 0 if is_fine else 1


def is_of(name: str, left_out: Sequence[str]) -> bool:
    """Whether a file is one that a command would have written that was left out."""
    folders = {one.partition(".")[2].partition(":")[0] for one in left_out}
    return any(name.startswith((f"{folder}/", f"printed/{folder}/")) for folder in folders)


if __name__ == "__main__":
    sys.exit(main())
