"""The gallery of audits: what perpend says of other people's published files, one data file per folder of them.

    python -m benchmarks.gallery SOURCE_ROOT                  write benchmarks/audits/*.json
    python -m benchmarks.gallery SOURCE_ROOT --out DIR        write them there
    python -m benchmarks.gallery SOURCE_ROOT --only tau_bench one of them
    python -m benchmarks.gallery --quick                      a small source made up here, written nowhere
    python -m benchmarks.gallery SOURCE_ROOT --json           also say what was written as one JSON object

SOURCE_ROOT has a README.md with a table: folder, source (commit), licence, what it is, what to recompute. Files stay
where they are; a data file has that row, the names, sizes and SHA-256 of the files, and what `perpend audit FOLDER
--json` says, of comparisons only those that survive. The same files give the same bytes. docs/audits/index.md has a row
per data file, written by `python -m tests.generated_docs`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import perpend as pp
from perpend.errors import DataError
from perpend.inert import markdown
from perpend.proof.source_audit import SourceAudit

_ROW = re.compile(r"\|\s*`(?P<folder>[\w.-]+)/?`\s*\|(?P<cells>.*)\|\s*")
_SOURCE = re.compile(r"(?P<name>\S+) \((?P<commit>[^)]*)\)")
OUT = Path(__file__).with_name("audits")


@dataclass(frozen=True, slots=True)
class PublicSource:
    """A row of the README: a folder, where it is from, and under which licence."""

    folder: str
    name: str
    commit: str
    licence: str
    what: str
    wanted: str


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


def entry(source: PublicSource, root: Path, audits: Sequence[SourceAudit]) -> dict[str, Any]:
    """The data file of one source."""
    folder = root / source.folder
    return {
        **asdict(source),
        "files": {
            path.relative_to(folder).as_posix(): {
                "bytes": path.stat().st_size,
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            }
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        },
        "audits": [
            {
                **audit.as_json(),
                "comparisons": [one.as_json() for one in audit.comparisons if one.survives],
                "compared": len(audit.comparisons),
            }
            for audit in audits
        ],
    }


def table(sources: Sequence[Mapping[str, Any]]) -> str:
    """A row per source in Markdown: whose it is, what follows of what was recomputed, and what differs."""
    head = ("source", "licence", "verdicts by its own rules", "stated numbers", "not checked", "what differs", "data")
    lines = [f"| {' | '.join(head)} |", "|---|---|--:|--:|--:|---|---|"]
    for one in sources:
        rules = [rule for audit in one["audits"] for rule in audit["rules"]]
        numbers = [number for audit in one["audits"] for number in audit["numbers"]]
        status = Counter(number["status"] for number in numbers)
        checked = len(numbers) - status["not checked"]
        again = f"{sum(rule['checked'] - rule['differ'] for rule in rules):,} of {sum(r['checked'] for r in rules):,}"
        follow = f"{status['follows']:,} of {checked:,}"
        cells = [f"{one['name']} ({one['commit']})", one["licence"], again if rules else "no rule known"]
        cells += [follow if checked else "none", f"{status['not checked']:,}", "; ".join(differing(one)) or "nothing"]
        lines.append(f"| {' | '.join(map(markdown, cells))} | `{one['folder']}.json` |")
    return "\n".join(lines)


def differing(source: Mapping[str, Any]) -> Iterator[str]:
    """What of a source is not what it states, or could not be read."""
    for audit in source["audits"]:
        for number in audit["numbers"]:
            if number["status"] == "does not follow":
                stated = f"{number['what']} ({number['file']}) is stated as {number['value']:.10g}"
                yield f"{stated}, and the files give {number['recomputed']:.10g}"
        yield from (f"{rule['what']}: not in {rule['differ']:,}" for rule in audit["rules"] if rule["differ"])
        yield from (f"not read: {line}" for line in audit["unreadable"])


def entries(folder: Path = OUT) -> list[dict[str, Any]]:
    """The data files of a folder, by name."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]


def write(root: Path, out: Path, only: Sequence[str] = ()) -> list[Path]:
    """Write the data files of a root, or of some of its folders."""
    out.mkdir(parents=True, exist_ok=True)
    paths = []
    for source in read_sources(root):
        if only and source.folder not in only:
            continue
        body = entry(source, root, pp.audit(root / source.folder).sources)
        paths.append(out / f"{source.folder}.json")
        text = json.dumps(body, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
        paths[-1].write_text(text, encoding="utf-8", newline="\n")
    return paths


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
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--quick", action="store_true", help="a small source made up here, written nowhere")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    if given.quick == (given.root is not None):
        parser.error("give a folder of published files, or --quick")
    with tempfile.TemporaryDirectory() as scratch:
        own = Path(scratch)
        root, out = (make_up(own / "public"), own / "audits") if given.quick else (given.root, given.out)
        files = [
            (path.name if given.quick else str(path), path.stat().st_size) for path in write(root, out, given.only)
        ]
    if given.json:
        print(json.dumps({"files": [{"path": path, "bytes": size} for path, size in files]}))
        return
    for path, _ in files:
        print(path)


if __name__ == "__main__":
    main()
