"""How much memory the import of what others published takes, for each kind of source, at two sizes.

    python -m benchmarks.import_memory                    50 and 500 MB of each kind; an hour
    python -m benchmarks.import_memory --quick            1 MB of each kind
    python -m benchmarks.import_memory --kind helm        one kind
    python -m benchmarks.import_memory --audit            the whole audit, not the import alone
    python -m benchmarks.import_memory --json             one JSON object

The files are made up and written one record at a time. Each import runs in a process of its own, whose peak memory (the
high-water mark of the kernel) and processor time are taken at its end. What is wanted: 300 MB at 500 MB.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path

LIMIT_MB = 300
SIZES, QUICK = (50, 500), (1,)
_TEXT = "The answer follows from what was said, and it is given here in some words. " * 12
_CHILD = """
import re, resource, sys, time
from pathlib import Path
import perpend as pp
if sys.argv[3] == "audit":
    pp.audit(sys.argv[1])
else:
    pp.convert(sys.argv[1], sys.argv[2])
status = Path("/proc/self/status")
peak = int(re.search(r"VmHWM:\\s+(\\d+)", status.read_text())[1]) if status.exists() else resource.getrusage(
    resource.RUSAGE_SELF).ru_maxrss
print(peak / 1024, time.process_time())
"""


@dataclass(frozen=True, slots=True)
class ImportMemory:
    """What one import took."""

    kind: str
    mb: float
    peak_mb: float
    cpu_s: float


def _listed(path: Path, size: int, rows: Iterator[object], head: str = "[", end: str = "]") -> None:
    """Rows as JSON between two texts, until the file has the size."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.write(head)
        for number, row in enumerate(rows):
            file.write((", " if number else "") + json.dumps(row))
            if file.tell() > size:
                break
        file.write(end)


def _lines(path: Path, size: int, rows: Iterable[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")
            if file.tell() > size:
                break
    return path


def _csv(path: Path, size: int, rows: Iterable[list[object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        for row in rows:
            writer.writerow(row)
            if file.tell() > size:
                break
    return path


def helm(folder: Path, size: int) -> Path:
    """Four fifths of request states, the rest their statistics."""
    made = 0

    def states() -> Iterator[object]:
        nonlocal made
        for made in count(1):
            yield {
                "instance": {"id": f"id{made}", "input": {"text": f"{made}? {_TEXT}"}, "split": "test",
                             "references": [{"output": {"text": "Lima"}, "tags": ["correct"]}]},
                "train_trial_index": 0, "request_mode": None,
                "request": {"model": "lab/m", "prompt": f"{made}? {_TEXT}", "temperature": 0.0, "max_tokens": 5},
                "result": {"success": True, "completions": [{"text": "Lima", "tokens": []}], "request_time": 0.1},
            }  # fmt: skip

    head = '{"adapter_spec": {"method": "generation"}, "request_states": ['
    _listed(folder / "scenario_state.json", size * 4 // 5, states(), head, "]}")
    stat = {"count": 1, "sum": 1.0, "mean": 1.0}
    verdicts = (
        {"instance_id": f"id{n}", "train_trial_index": 0,
         "stats": [{"name": {"name": "exact_match", "split": "test"}, **stat}]}
        for n in range(1, made + 1)
    )  # fmt: skip
    _listed(folder / "per_instance_stats.json", 1 << 62, verdicts)
    total = {"name": {"name": "exact_match", "split": "test"}, "count": 1, "sum": 1.0, "mean": 1.0}
    (folder / "stats.json").write_text(json.dumps([total]))
    (folder / "run_spec.json").write_text('{"name": "capitals:model=lab_m"}')
    return folder


def alpaca(folder: Path, size: int) -> Path:
    """Annotations."""
    rows = ({"instruction": f"Say {n}.", "output_1": _TEXT, "generator_1": "base", "output_2": _TEXT,
             "generator_2": "tiny", "annotator": "j", "preference": 1 + n % 2} for n in count())  # fmt: skip
    _listed(folder / "annotations.json", size, rows)
    return folder


def records(folder: Path, size: int) -> Path:
    """Samples of every_eval_ever."""
    rows = ({"schema_version": "0.2.1", "evaluation_id": "c/lab/1", "model_id": "lab/m", "evaluation_name": "c",
             "sample_id": f"s{n}", "interaction_type": "single_turn",
             "input": {"raw": f"{n}? {_TEXT}", "reference": ["Lima"]}, "output": {"raw": [_TEXT]},
             "evaluation": {"score": float(n % 2), "is_correct": n % 2 == 1}} for n in count())  # fmt: skip
    return _lines(folder / "r_samples.jsonl", size, rows)


def evals(folder: Path, size: int) -> Path:
    """A log of OpenAI evals."""

    def events() -> Iterator[object]:
        yield {"spec": {"completion_fns": ["m"], "eval_name": "c.dev", "run_id": "r", "split": "dev"}}
        for n in count():
            own = {"run_id": "r", "sample_id": f"c.{n}", "created_at": "2024-05-01 10:00:00+00:00"}
            sampled = {"prompt": [{"role": "user", "content": f"{n}? {_TEXT}"}], "sampled": [_TEXT]}
            yield {**own, "event_id": 2 * n, "type": "sampling", "data": sampled}
            yield {**own, "event_id": 2 * n + 1, "type": "match",
                   "data": {"correct": True, "expected": "words", "picked": "words"}}  # fmt: skip

    return _lines(folder / "log.jsonl", size, events())


def dialogues(folder: Path, size: int) -> Path:
    """Dialogues of five turns with their labels."""
    turns: list[object] = [f"Response_{turn}" for turn in range(1, 6)]
    made = 0

    def rows() -> Iterator[list[object]]:
        nonlocal made
        yield ["Question", *turns]
        for made in count(1):
            yield [f"{made}?", *[_TEXT] * 5]

    _csv(folder / "m_prompt0_output.csv", size, rows())
    labels = ([n, 1, 1, 1, 0, 0] for n in range(1, made + 1))
    _csv(folder / "m_prompt0_result_all.csv", 1 << 62, (row for part in ([["Row", *turns]], labels) for row in part))
    return folder


def judged(folder: Path, size: int) -> Path:
    """Answers with the scores of two judges."""

    def rows() -> Iterator[list[object]]:
        yield ["Name", "statement", "response", "judge1_score", "judge2_score"]
        for n in count():
            yield ["a", f"{n} {_TEXT}", _TEXT, n % 5, n % 4]

    return _csv(folder / "judges.csv", size, rows())


def solutions(folder: Path, size: int) -> Path:
    """GSM8K's layout, two models wide."""
    rows = ({"question": f"{n}? {_TEXT}", "ground_truth": f"A: {n}",
             "small": {"is_correct": True, "solution": f"{_TEXT}\nA: {n}"},
             "large": {"is_correct": True, "solution": f"{_TEXT}\nA: {n}"}} for n in count())  # fmt: skip
    return _lines(folder / "solutions.jsonl", size, rows)


def lm_eval(folder: Path, size: int) -> Path:
    """Samples of lm-evaluation-harness."""
    rows = ({"doc_id": n, "doc": {"question": f"{n}? {_TEXT}"}, "target": "Lima", "arguments": [[f"{n}? {_TEXT}", {}]],
             "resps": [[_TEXT]], "filtered_resps": ["Lima"], "exact_match": 1.0, "metrics": ["exact_match"]}
            for n in count())  # fmt: skip
    return _lines(folder / "samples_c_2024-05-01T10-00-00.000000.jsonl", size, rows)


def lighteval(folder: Path, size: int) -> Path:
    """Details in Parquet, of texts that do not pack to nothing."""
    import random

    import pyarrow as pa
    from pyarrow import parquet

    rng = random.Random(0)
    path = folder / "details_ours|c|0_2024-05-01T10-00-00.000000.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    writer, n = None, 0
    while writer is None or path.stat().st_size < size:
        rows = []
        for n in range(n, n + 2000):  # noqa: B020  it goes on where it was
            text = rng.randbytes(700).hex()
            rows.append({"doc": {"id": str(n), "query": f"{n}? {text}", "choices": ["Lima"], "gold_index": [0]},
                         "model_response": {"text": [text], "input": "", "logprobs": []},
                         "metric": {"em": float(n % 2)}})  # fmt: skip
        n += 1
        batch = pa.Table.from_pylist(rows)
        writer = writer or parquet.ParquetWriter(path, batch.schema)
        writer.write_table(batch)
    writer.close()
    return path


KINDS: dict[str, Callable[[Path, int], Path]] = {
    "helm": helm, "alpaca": alpaca, "records": records, "evals": evals, "dialogues": dialogues, "judged": judged,
    "solutions": solutions, "lm_eval": lm_eval, "lighteval": lighteval,
}  # fmt: skip


def measure(kind: str, mb: int, *, audit: bool = False) -> ImportMemory:
    """Make a source of a size, import it in a process of its own, and say what that took."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        source = KINDS[kind](place / kind, mb << 20)
        files = source.rglob("*") if source.is_dir() else [source]
        size = sum(path.stat().st_size for path in files if path.is_file()) / (1 << 20)
        command = [sys.executable, "-c", _CHILD, str(source), str(place / "run"), "audit" if audit else "import"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{kind}: {done.stderr[-800:]}")
        peak, seconds = map(float, done.stdout.split())
    return ImportMemory(kind, round(size, 1), round(peak, 1), round(seconds, 1))


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the memory of imports.")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--audit", action="store_true")
    parser.add_argument("--kind", action="append", choices=sorted(KINDS))
    parser.add_argument("--mb", type=int, action="append", help="sizes of one's own")
    given = parser.parse_args()
    rows = []
    for kind in given.kind or KINDS:
        for mb in given.mb or (QUICK if given.quick else SIZES):
            rows.append(measure(kind, mb, audit=given.audit))
            if not given.json:
                one = rows[-1]
                print(f"{one.kind:10} {one.mb:7.1f} MB  peak {one.peak_mb:6.1f} MB  {one.cpu_s:6.1f} s", flush=True)
    if given.json:
        print(json.dumps({"limit_mb": LIMIT_MB, "imports": [asdict(one) for one in rows]}))


if __name__ == "__main__":
    main()
