"""The gallery of audits: one page per folder of other people's published files, and an index.

    python -m benchmarks.gallery SOURCE_ROOT                  write docs/audits
    python -m benchmarks.gallery SOURCE_ROOT --out DIR        write them there
    python -m benchmarks.gallery SOURCE_ROOT --only tau_bench one of them, without the index
    python -m benchmarks.gallery --quick                      a small source made up here, written nowhere
    python -m benchmarks.gallery SOURCE_ROOT --json           also say what was written as one JSON object

SOURCE_ROOT has a README.md with a table: folder, source (commit), licence, what it is, what to recompute. Files stay
where they are; a page has their names, sizes and SHA-256, the command, and what the audit says. The same files give the
same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import perpend as pp
from perpend.errors import DataError
from perpend.inert import fenced, markdown
from perpend.proof.source_audit import SourceAudit
from perpend.proof.source_text import as_page, verdict

_ROW = re.compile(r"\|\s*`(?P<folder>[\w.-]+)/?`\s*\|(?P<cells>.*)\|\s*")
_SOURCE = re.compile(r"(?P<name>\S+) \((?P<commit>[^)]*)\)")
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_WORDS = """\
Each page is made by `python -m benchmarks.gallery` from files that a project has published; the files themselves are
not part of perpend. "Follows" means that the stored labels or verdicts give the number again, to the digits that were
written. "Does not follow from the stored labels" is about the files that were read, and says nothing about why: a file
may be a sample of a larger one, or of another version. [How an audit works](../how-to/audit-a-source.md)."""


@dataclass(frozen=True, slots=True)
class PublicSource:
    """A row of the README: a folder, where it is from, and under which licence."""

    folder: str
    name: str
    commit: str
    licence: str
    what: str
    wanted: str

    @property
    def state(self) -> str:
        """The commit, or what is known in its place."""
        is_commit = _COMMIT.fullmatch(self.commit) is not None
        return self.commit if is_commit else f"{self.commit}, not pinned; the files are known by their SHA-256"


def read_sources(root: Path) -> list[PublicSource]:
    """The folders that the README's table lists and that are there."""
    rows = []
    for line in (root / "README.md").read_text(encoding="utf-8").splitlines():
        match = _ROW.fullmatch(line)
        if match is None or not (root / match["folder"]).is_dir():
            continue
        source, licence, what, wanted = (cell.strip() for cell in match["cells"].split("|"))
        named = _SOURCE.fullmatch(source)
        if named is None:
            raise DataError(f"{root / 'README.md'}: {source!r} is not of the form 'owner/name (commit)'")
        rows.append(PublicSource(match["folder"], named["name"], named["commit"], licence, what, wanted))
    return rows


def page(source: PublicSource, root: Path, audits: Sequence[SourceAudit]) -> str:
    """The page of one source in Markdown."""
    return "\n".join(_lines(source, root, audits)) + "\n"


def _lines(source: PublicSource, root: Path, audits: Sequence[SourceAudit]) -> Iterator[str]:
    yield from (f"# {markdown(source.name)}", "", "| | |", "|---|---|")
    facts = {"Source": source.name, "Commit": source.state, "Licence": source.licence}
    facts |= {"What": source.what, "What to recompute": source.wanted}
    yield from (f"| {key} | {markdown(value)} |" for key, value in facts.items())
    yield from ("", "```text", f"perpend audit {source.folder}", "```", "", "## What it says", "")
    yield from (f"- {sentence}" for sentence in map(_sentence, audits))
    yield from ("", "## What the stored verdicts give", "")
    yield from ("| source | number | of | among | value | 95% interval | n |", "|---|---|---|---|--:|---|--:|")
    yield from _given(audits)
    yield from ("", "## The audit in full", "")
    for audit in audits:
        yield from (fenced(as_page(audit).rstrip("\n")), "")
    yield from ("## The files", "", "| file | bytes | SHA-256 |", "|---|--:|---|")
    for path in sorted(one for one in (root / source.folder).rglob("*") if one.is_file()):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        name = path.relative_to(root / source.folder).as_posix()
        yield f"| {markdown(name)} | {path.stat().st_size:,} | `{digest}` |"


def _sentence(audit: SourceAudit) -> str:
    name = markdown(audit.name)
    if audit.unreadable:
        return f"{name}: could not be read: {markdown('; '.join(audit.unreadable))}."
    checked = [one for one in audit.numbers if one.value is not None]
    parts = [verdict(audit)]
    if audit.rules:
        again = sum(rule.checked - rule.differ for rule in audit.rules)
        parts.append(f"its own rules give {again:,} of {sum(rule.checked for rule in audit.rules):,} again")
    if checked:
        parts.append(f"{sum(one.agrees for one in checked):,} of {len(checked):,} stated numbers follow")
    parts += [
        f"{one.stated.what} ({one.stated.file}, {one.stated.place}) is stated as {one.stated.value:.10g}, and the "
        f"files give {one.value:.10g}"
        for one in audit.differing[:20]
    ]
    return f"{name}: {markdown('; '.join(parts))}."


def _given(audits: Sequence[SourceAudit]) -> Iterator[str]:
    for audit in audits:
        for one in audit.given:
            estimate = one.estimate
            among = ", ".join(one.where.values()) or "all"
            value = "undefined" if estimate.value is None else f"{estimate.value:.4f}"
            ends = "" if estimate.lo is None or estimate.hi is None else f"{estimate.lo:.4f} to {estimate.hi:.4f}"
            cells = (audit.name, one.statistic, one.column.removesuffix("@import"), among, value, ends)
            yield f"| {' | '.join(map(markdown, cells))} | {estimate.n:,} |"


def index(rows: Sequence[tuple[PublicSource, Sequence[SourceAudit]]]) -> str:
    """The page that names all the others."""
    lines = ["# Audits of what others published", "", _WORDS, ""]
    lines += [
        "| source | licence | answers | rules of the source | stated numbers | not checked |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for source, audits in rows:
        rules = [rule for audit in audits for rule in audit.rules]
        numbers = [one for audit in audits for one in audit.numbers]
        checked = [one for one in numbers if one.value is not None]
        again = f"{sum(rule.checked - rule.differ for rule in rules):,} of {sum(rule.checked for rule in rules):,}"
        follow = f"{sum(one.agrees for one in checked):,} of {len(checked):,}"
        answers = sum(audit.shape.get("answers", 0) for audit in audits)
        cells = [f"[{markdown(source.name)}]({source.folder}.md)", markdown(source.licence), f"{answers:,}"]
        cells += [again if rules else "none known", follow if checked else "none stated"]
        lines.append(f"| {' | '.join(cells)} | {len(numbers) - len(checked):,} |")
    lines += [
        "",
        "Rules of the source: verdicts that a rule which the source states gives again. Stated numbers: means,",
    ]
    lines += ["rates, standard errors and counts that follow from the stored verdicts."]
    return "\n".join(lines) + "\n"


def write(root: Path, out: Path, only: Sequence[str] = ()) -> list[Path]:
    """Write the pages of a root, and the index unless only some are wanted."""
    out.mkdir(parents=True, exist_ok=True)
    rows, pages = [], []
    for source in read_sources(root):
        if only and source.folder not in only:
            continue
        audits = pp.audit(root / source.folder).sources
        rows.append((source, audits))
        pages.append(out / f"{source.folder}.md")
        pages[-1].write_text(page(source, root, audits), encoding="utf-8", newline="\n")
    if not only:
        pages.append(out / "index.md")
        pages[-1].write_text(index(rows), encoding="utf-8", newline="\n")
    return pages


def make_up(root: Path) -> Path:
    """A root with one source: four answers that two judges have scored."""
    (root / "judges").mkdir(parents=True)
    rows = [f"a,statement {n},answer {n},{n % 5},{n % 4}" for n in range(1, 5)]
    table = "\n".join(["Name,statement,response,judge1_score,judge2_score", *rows]) + "\n"
    (root / "judges" / "judges.csv").write_text(table, encoding="utf-8")
    row = "| `judges/` | nobody/judges (0000000) | MIT | made up | the scores |\n"
    (root / "README.md").write_text(row, encoding="utf-8")
    return root


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the gallery of audits.")
    parser.add_argument("root", type=Path, nargs="?", help="folder of published files, with a README.md")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent.parent / "docs" / "audits")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--quick", action="store_true", help="a small source made up here, written nowhere")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    if given.quick == (given.root is not None):
        parser.error("give a folder of published files, or --quick")
    with tempfile.TemporaryDirectory() as scratch:
        own = Path(scratch)
        root, out = (make_up(own / "public"), own / "pages") if given.quick else (given.root, given.out)
        pages = [
            (path.name if given.quick else str(path), path.stat().st_size) for path in write(root, out, given.only)
        ]
    if given.json:
        print(json.dumps({"pages": [{"path": path, "bytes": size} for path, size in pages]}))
        return
    for path, _ in pages:
        print(path)


if __name__ == "__main__":
    main()
