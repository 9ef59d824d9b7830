"""Whatever a log of another harness holds, it is imported or refused in plain words, and nothing is left behind."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from perpend.errors import PerpendError
from perpend.importers import field_map, inspect_log, lm_eval_log
from perpend.measure.run import Run
from perpend.report.export import export
from perpend.rows.mapping import parse_map
from tests.test_compat_inspect import HEADER, SAMPLE, output
from tests.test_compat_lm_eval import PICKED, SAID

# fmt: off
WRONG: tuple[object, ...] = (
    None, True, 0, -1, 1.5, float("nan"), float("inf"), 2**63, "", " ", "x", "\ud800", "\x00", "attachment://q", [], {},
    [[]], {"a": 1}, ["x", None], [{"type": "text"}], {"type": "reasoning"}, "1e999", "[0]", "B", "../x",
)
# fmt: on
FULL: Mapping[str, object] = {
    **SAMPLE,
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "attachment://q"}]},
        {"role": "assistant", "content": "2"},
    ],
    "choices": ["2", "3"],
    "metadata": {"topic": "sums"},
    "limit": {"type": "token", "limit": 3},
    "model_usage": {"m": {"input_tokens": 1, "output_tokens": 2}},
    "attachments": {"q": "Q?"},
    "completed_at": "2026-01-01T00:00:00Z",
    **output([{"type": "reasoning", "reasoning": "r"}, {"type": "text", "text": "2"}], time=1.0, usage={}),
    "scores": {"m": {"value": "C", "answer": "2", "explanation": "e"}, "d": {"value": {"a": 1}}},
}
# fmt: off
LINE: Mapping[str, object] = {
    "id": 7, "q": "Q?", "a": "Lima", "out": "Lima", "acc": 1, "c": ["Lima", "x"], "m": {"t": "a"}, "r": 1, "s": 5,
    "t": 0.5, "chat": [{"role": "user", "content": "x"}], "why": None, "stop": ["."],
}
# fmt: on
MAP = parse_map(
    "id=id,prompt=q,target=a,text=out,score.acc=acc,choices=c,aliases=c,tag.t=m.t,model=m.t,repeat=r,seed=s,temperature=t,"
    "ms=t,at=t,stop=stop,messages=chat,error=why,input_tokens=r,max_tokens=r"
)


def places(value: object, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if place:
        yield place
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield from places(entry, (*place, key))


def spoiled(body: Mapping[str, object], rng: random.Random) -> dict[str, object]:
    """The body with one to three of its values replaced by something else, or removed."""
    copy = json.loads(json.dumps(body))
    for place in rng.sample(list(places(copy)), rng.randint(1, 3)):
        parent = copy
        for key in place[:-1]:
            inside = isinstance(parent, dict | list) and (
                key in parent if isinstance(parent, dict) else key < len(parent)
            )
            parent = parent[key] if inside else None
        if isinstance(parent, dict):
            parent[place[-1]] = rng.choice(WRONG)
            if rng.random() < 0.2:
                del parent[place[-1]]
        elif isinstance(parent, list) and place[-1] < len(parent):
            parent[place[-1]] = rng.choice(WRONG)
    return dict(copy)


def of_inspect(folder: Path, rng: random.Random) -> Path:
    path = folder / "log.json"
    header = spoiled(HEADER, rng) if rng.random() < 0.3 else HEADER
    path.write_text(json.dumps({**header, "samples": [spoiled(FULL, rng), {**FULL, "id": "whole"}]}))
    return inspect_log.read(path, folder / "run")


def of_lm_eval(folder: Path, rng: random.Random) -> Path:
    path = folder / "samples_quiz_2026-01-01T00.jsonl"
    path.write_text(json.dumps(spoiled(rng.choice((PICKED, SAID)), rng)) + "\n")
    results = {"results": {"quiz": {"acc,none": 1.0}}, "versions": {"quiz": 1}, "model_name": "m", "date": 1.0}
    (folder / "results_2026-01-01T00.json").write_text(json.dumps(spoiled(results, rng)))
    return lm_eval_log.read(path, folder / "run")


def of_a_map(folder: Path, rng: random.Random) -> Path:
    path = folder / "lines.jsonl"
    path.write_text(json.dumps(spoiled(LINE, rng)) + "\n" + json.dumps({**LINE, "id": "whole"}) + "\n")
    return field_map.read(path, folder / "run", MAP)


@pytest.mark.parametrize("importer", [of_inspect, of_lm_eval, of_a_map])
def test_a_spoiled_log_is_read_or_refused(importer: Callable[[Path, random.Random], Path], tmp_path: Path) -> None:
    read, refused = 0, 0
    for seed in range(24):
        folder = tmp_path / str(seed)
        folder.mkdir()
        said = ""
        try:
            run = Run(importer(folder, random.Random(seed)))
        except PerpendError as error:
            said = str(error)
        if said:
            refused += 1
            assert str(folder) in said, seed
            assert not [entry for entry in folder.iterdir() if entry.is_dir()], seed
            continue
        read += 1
        run.score()
        for ending in ("csv", "jsonl", "parquet"):
            export(run, folder / f"trials.{ending}")
    assert read
    assert refused
