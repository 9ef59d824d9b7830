"""What a trial costs: perpend end to end against a bare aiohttp loop on the same local server, and other harnesses.

    python benchmarks/throughput.py [--json] [--quick] [--n 20000] [--peers-python .venv-peers/bin/python]

Each measurement is a process of its own; CPU and peak memory are the operating system's (wait4), so start-up counts.
The server answers a canned chat completion of about 400 bytes after 0 or 20 ms, right for four items of five. All
clients keep 64 requests in flight. The bare loop decodes, scores and appends one JSON line an item: it does the work,
without a plan, retries, a budget, a durable commit of every batch, or a way to resume. Like perpend, it opens a
connection for each request; the row 'kept' is the same loop with connections that are kept. The 'perpend' row asks and
stores; 'perpend, scored' also scores, measures and writes the report, while the bare loop's score is one comparison.
Only the standard library is imported here, so that a harness can be measured in an environment of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from stub_server import answer, prompt

WORKERS = 64
ROWS = ("bare", "kept", "client", "perpend", "perpend, scored")
# What each peer must be able to import: inspect_ai brings its client of OpenAI's protocol only with the openai package.
PEERS = {"inspect_ai": "inspect_ai, openai", "lm_eval": "lm_eval, aiohttp, tenacity"}
HERE = Path(__file__).resolve()
STUB = HERE.with_name("stub_server.py")
PERPEND = [sys.executable, "-c", "from perpend.cli import main; main()"]
TASK = """
from perpend.ask.task import Task
from perpend.ask.conditions import control

def task():
    return Task(name="truefalse", conditions=(control(system=None),), scorers=("label",))
"""
INSPECT_SCRIPT = """
import json, os, sys
from pathlib import Path
url, items, folder = sys.argv[1:]
os.environ |= {"STUB_API_KEY": "none", "STUB_BASE_URL": url}
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import exact
from inspect_ai.solver import generate

rows = [json.loads(line) for line in Path(items).read_text().splitlines()]
samples = [Sample(input=row["prompt"], target=row["target"], id=row["id"]) for row in rows]
task = Task(dataset=samples, solver=generate(), scorer=exact(), config=GenerateConfig(temperature=0, max_tokens=16))
log = eval(task, model="openai-api/stub/stub", display="none", max_samples=64, max_connections=64, log_dir=folder)[0]
assert log.status == "success"
"""
LM_EVAL_TASK = """
task: truefalse
dataset_path: json
dataset_kwargs: {{data_files: {{test: {items}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{prompt}}}}"
doc_to_target: "{{{{target}}}}"
generation_kwargs: {{until: ["\\n"], max_gen_toks: 16, do_sample: false}}
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
"""


@dataclass(frozen=True)
class Cost:
    """What one process cost: seconds of wall clock and CPU (user and system), and its peak memory."""

    wall_s: float
    cpu_s: float
    rss_mb: float


def write_items(path: Path, n: int) -> Path:
    """Write item by item: a child's peak memory counts from what this process held when it started it."""
    with path.open("w", encoding="utf-8") as file:
        for k in range(n):
            file.write(json.dumps({"id": f"i{k:06d}", "prompt": prompt(k), "target": "TRUE"}) + "\n")
    return path


async def bare_loop(url: str, n: int, out: Path, *, is_kept: bool) -> None:
    import aiohttp

    numbers = iter(range(n))
    with out.open("w", encoding="utf-8") as file:

        async def work(session: aiohttp.ClientSession) -> None:
            for number in numbers:
                messages = [{"role": "user", "content": prompt(number)}]
                body = {"model": "stub", "messages": messages, "temperature": 0.0, "max_tokens": 16, "seed": 42}
                async with session.post(url, json=body) as reply:
                    text = (await reply.json())["choices"][0]["message"]["content"]
                file.write(json.dumps({"id": number, "text": text, "correct": text == "TRUE"}) + "\n")

        connector = aiohttp.TCPConnector(limit=WORKERS, force_close=not is_kept)
        async with aiohttp.ClientSession(connector=connector) as session:
            await asyncio.gather(*(work(session) for _ in range(WORKERS)))


def client_only(url: str, n: int) -> None:
    """Our provider with a consumer that only counts: what the HTTP client costs without plan and storage."""
    from perpend.models import openai
    from perpend.spec.model import Budget
    from perpend.types import Message, Request, Sampling

    sampling = Sampling(max_tokens=16)
    requests = ((k, Request((Message("user", prompt(k)),), sampling)) for k in range(n))
    model = openai.model("stub", base_url=url, workers=WORKERS)
    right = sum(r.text == answer(key) for batch in model.answer(requests, Budget()) for key, r in batch)
    assert right == n, f"{right} of {n} answers are the server's"


@contextmanager
def stub(latency_ms: float) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A server of its own process; its base URL and the process, whose output says when the first request came."""
    process = subprocess.Popen([sys.executable, str(STUB), str(latency_ms)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1", process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def spend(command: Sequence[str], env: dict[str, str] | None = None) -> Cost:
    """Run a command to its end and say what it cost; what it prints is shown only when it fails."""
    with tempfile.TemporaryFile() as said:
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=said, stderr=said, env={**os.environ, **(env or {})})
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            sys.exit(f"{' '.join(command)}\n{said.read().decode(errors='replace')[-3000:]}")
    scale = 2**20 if sys.platform == "darwin" else 2**10
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / scale)


def middle(costs: Sequence[Cost]) -> Cost:
    return Cost(*(median(column) for column in zip(*(asdict(cost).values() for cost in costs), strict=True)))


def perpend_eval(folder: Path, items: Path, name: str, *more: str, is_scored: bool = False) -> list[str]:
    (folder / "truefalse.py").write_text(TASK, encoding="utf-8")
    asked = [
        "--task",
        str(folder / "truefalse.py"),
        "--items",
        str(items),
        "--name",
        name,
        "--out",
        str(folder / "runs"),
    ]
    unscored = [] if is_scored else ["--no-score"]
    return [*PERPEND, "eval", *asked, "--max-tokens", "16", "--quiet", *unscored, *more]


def over_http(url: str) -> list[str]:
    return ["--model", "openai/stub", "--model-option", f"base_url={url}", "--workers", str(WORKERS)]


def compare(
    folder: Path, n: int, repeats: int, latency_ms: int, rows: Sequence[str] = ROWS
) -> dict[str, dict[str, object]]:
    """Bare loops, our client alone and perpend end to end, in turn, against the same server; medians.

    CPU an item is without the cost of starting, which is that of a run of one item; wall ratios include it.
    """

    def commands(size: int, name: str) -> dict[str, list[str]]:
        items = write_items(folder / f"items-{size}.jsonl", size)
        every = {
            "bare": [sys.executable, str(HERE), "bare", url, str(size), str(folder / "bare.jsonl")],
            "kept": [sys.executable, str(HERE), "kept", url, str(size), str(folder / "kept.jsonl")],
            "client": [sys.executable, str(HERE), "client", url, str(size)],
            "perpend": perpend_eval(folder, items, name, *over_http(url)),
            "perpend, scored": perpend_eval(folder, items, f"{name}-scored", *over_http(url), is_scored=True),
        }
        return {who: every[who] for who in rows}

    costs: dict[str, list[Cost]] = {who: [] for who in rows}
    with stub(latency_ms) as (url, _):
        start = {who: spend(command) for who, command in commands(1, f"start-{latency_ms}").items()}
        for repeat in range(repeats):
            for who, command in commands(n, f"http-{latency_ms}-{repeat}").items():
                costs[who].append(spend(command))
    found: dict[str, dict[str, object]] = {}
    for who, spent in costs.items():
        cost, bare = middle(spent), middle(costs["bare"])
        found[who] = {
            **asdict(cost),
            "start_s": start[who].wall_s,
            "wall_ms_per_item": 1000 * cost.wall_s / n,
            "cpu_ms_per_item": 1000 * (cost.cpu_s - start[who].cpu_s) / n,
            "wall_ratio": cost.wall_s / bare.wall_s,
            "wall_ratios": [mine.wall_s / theirs.wall_s for mine, theirs in zip(spent, costs["bare"], strict=True)],
        }
    return found


def storage(database: Path) -> dict[str, float]:
    """Bytes an item: all of run.db, and what is neither a question's nor an answer's text."""
    with sqlite3.connect(database) as db:
        n, said = db.execute("SELECT count(*), sum(length(CAST(text AS BLOB))) FROM response").fetchone()
        asked = db.execute("SELECT sum(length(CAST(json_extract(body, '$.prompt') AS BLOB))) FROM item").fetchone()[0]
    db.close()
    size = database.stat().st_size
    return {"total": size / n, "beyond_texts": (size - said - asked) / n}


def first_request_s(folder: Path, repeats: int = 5) -> float:
    """From the start of `perpend eval` to the moment when the server has its first request; the median."""
    items = write_items(folder / "items-20.jsonl", 20)
    seconds = []
    for repeat in range(repeats):
        with stub(0) as (url, process):
            started = time.time()
            spend(perpend_eval(folder, items, f"first-{repeat}", *over_http(url)))
            assert process.stdout is not None
            seconds.append(float(process.stdout.readline().split()[1]) - started)
    return median(seconds)


def memory_mb(folder: Path, sizes: Sequence[int]) -> dict[str, float]:
    """Peak memory of runs of different lengths over HTTP."""
    found = {}
    with stub(0) as (url, _):
        for n in sizes:
            items = write_items(folder / f"items-{n}.jsonl", n)
            found[str(n)] = spend(perpend_eval(folder, items, f"memory-{n}", *over_http(url))).rss_mb
    return found


def resume_s(folder: Path, trials: int) -> dict[str, float]:
    """A run that lacks 100 of its trials, resumed: all of the second command, its 100 answers included."""
    items = write_items(folder / "items-resume.jsonl", trials // 100)
    command = perpend_eval(folder, items, "resume", "--model", "mock/true", "--repeats", "100")
    first = spend([*command, "--max-requests", str(trials - 100)])
    second = spend(command)
    return {"trials": trials, "first_wall_s": first.wall_s, "resume_wall_s": second.wall_s, "rss_mb": second.rss_mb}


def peers(folder: Path, python: str, n: int) -> dict[str, object]:
    """inspect_ai and lm-eval on the same items at 0 ms, where installed; CPU an item without the cost of starting."""
    found: dict[str, object] = {}
    for peer, modules in PEERS.items():
        if subprocess.run([python, "-c", f"import {modules}"], capture_output=True, check=False).returncode:
            found[peer] = None
            continue
        with stub(0) as (url, _):
            one, many = (spend(*peer_command(peer, python, url, size, folder)) for size in (1, n))
        found[peer] = {
            **asdict(many),
            "n": n,
            "start_s": one.wall_s,
            "wall_ms_per_item": per_item(many.wall_s - one.wall_s, n - 1),
            "cpu_ms_per_item": per_item(many.cpu_s - one.cpu_s, n - 1),
        }
    return found


def per_item(seconds: float, n: int) -> float | None:
    """Milliseconds an item; None where starting costs so much more that the difference is noise."""
    return 1000 * seconds / n if seconds > 0 else None


def peer_command(peer: str, python: str, url: str, n: int, folder: Path) -> tuple[list[str], dict[str, str]]:
    own = folder / f"{peer}-{n}"
    own.mkdir()
    items = write_items(own / "items.jsonl", n)
    if peer == "inspect_ai":
        (own / "script.py").write_text(INSPECT_SCRIPT, encoding="utf-8")
        return [python, str(own / "script.py"), url, str(items), str(own / "logs")], {}
    (own / "truefalse.yaml").write_text(LM_EVAL_TASK.format(items=items), encoding="utf-8")
    model = f"model=stub,base_url={url}/chat/completions,num_concurrent={WORKERS},tokenizer_backend=None"
    command = [python, "-m", "lm_eval", "--model", "local-chat-completions", "--model_args", model]
    command += ["--tasks", "truefalse", "--include_path", str(own), "--output_path", str(own), "--log_samples"]
    return [*command, "--apply_chat_template"], {"OPENAI_API_KEY": "none", "HF_HOME": str(own), "HF_HUB_OFFLINE": "1"}


def measure(options: argparse.Namespace, folder: Path) -> dict[str, object]:
    """Everything, one after the other."""
    n, quick = options.n, options.quick
    rows = ("bare", "perpend") if quick else ROWS
    latencies = {str(ms): compare(folder, n, 1 if quick else options.repeats, ms, rows) for ms in (0, 20)}
    run = folder / "runs" / "http-0-0"
    asked = storage(run / "run.db")
    score = spend([*PERPEND, "score", "--trust-code", str(run)])
    return {
        "n": n,
        "workers": WORKERS,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "latency_ms": latencies,
        "storage_bytes_per_item": {"asked": asked, "scored": storage(run / "run.db")},
        "first_request_s": first_request_s(folder, 1 if quick else 5),
        "score_s": score.wall_s,
        "peak_memory_mb": memory_mb(folder, (100, 200) if quick else (5_000, 200_000)),
        "resume": resume_s(folder, 2_000 if quick else 1_000_000),
        "peers": {} if quick else peers(folder, options.peers_python, 2_000),
    }


def targets(found: dict[str, object]) -> list[dict[str, object]]:
    """Each target with what was measured; `met` is the comparison, nothing more."""

    def at(*path: str) -> float:
        value: object = found
        for key in path:
            assert isinstance(value, dict)
            value = value[key]
        assert isinstance(value, int | float)
        return float(value)

    sizes = list(found["peak_memory_mb"]) if isinstance(found["peak_memory_mb"], dict) else []
    rows = [
        ("wall against the bare loop, 0 ms", at("latency_ms", "0", "perpend", "wall_ratio"), 1.5),
        ("wall against the bare loop, 20 ms", at("latency_ms", "20", "perpend", "wall_ratio"), 1.5),
        ("CPU ms an item, 0 ms", at("latency_ms", "0", "perpend", "cpu_ms_per_item"), 0.30),
        ("CPU ms an item, 20 ms", at("latency_ms", "20", "perpend", "cpu_ms_per_item"), 0.30),
        ("bytes an item beyond the texts", at("storage_bytes_per_item", "asked", "beyond_texts"), 400.0),
        ("seconds to the first request", at("first_request_s"), 0.5),
        ("seconds to score them again", at("score_s"), 2.0),
        (f"peak MB at {sizes[-1]} trials", at("peak_memory_mb", sizes[-1]), 120.0),
        (
            f"peak MB at {sizes[-1]} over {sizes[0]} trials",
            at("peak_memory_mb", sizes[-1]) / at("peak_memory_mb", sizes[0]),
            1.25,
        ),
        (f"seconds to resume {at('resume', 'trials'):.0f} trials", at("resume", "resume_wall_s"), 2.0),
    ]
    return [{"target": name, "value": value, "limit": limit, "met": value <= limit} for name, value, limit in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="print exactly one JSON object")
    parser.add_argument("--quick", action="store_true", help="seconds, without other harnesses; the numbers say little")
    parser.add_argument("--n", type=int, help="items of the comparison [20000; quick 200]")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peers-python", default=sys.executable, help="a Python that has inspect_ai or lm_eval")
    options = parser.parse_args()
    options.n = options.n or (200 if options.quick else 20_000)
    with tempfile.TemporaryDirectory() as folder:
        found = measure(options, Path(folder))
    found["targets"] = targets(found)
    if options.json:
        print(json.dumps(found, sort_keys=True))
        return
    show(found)


def show(found: dict[str, object]) -> None:
    """The same for people."""
    latencies, others = found["latency_ms"], found["peers"]
    assert isinstance(latencies, dict)
    assert isinstance(others, dict)
    print(f"{found['n']} items, {WORKERS} in flight, Python {found['python']}, {found['cores']} cores")
    print(f"{'':24}{'wall ms':>10}{'CPU ms':>10}{'x bare':>8}{'peak MB':>9}{'start s':>9}")
    rows = [(f"{who}, {ms} ms", row) for ms, at in latencies.items() for who, row in at.items()]
    rows += [(f"{peer}, 0 ms", row) for peer, row in others.items() if row]
    for name, row in rows:
        ratio = f"{row['wall_ratio']:8.2f}" if "wall_ratio" in row else f"{'':8}"
        costs = [row["wall_ms_per_item"], row["cpu_ms_per_item"]]
        shown = "".join(f"{'?':>10}" if cost is None else f"{cost:10.3f}" for cost in costs)
        print(f"{name:24}{shown}{ratio}{row['rss_mb']:9.0f}{row['start_s']:9.2f}")
    for target in targets(found):
        print(
            f"{'met   ' if target['met'] else 'MISSED'} {target['target']}: {target['value']:.3g} ≤ {target['limit']:g}"
        )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["bare" | "kept" as who, url, n, out]:
            asyncio.run(bare_loop(f"{url}/chat/completions", int(n), Path(out), is_kept=who == "kept"))
        case ["client", url, n]:
            client_only(url, int(n))
        case _:
            main()
