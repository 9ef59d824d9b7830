"""What stored verdicts give, by plain scripts that import nothing of perpend: the oracle of the gallery.

For each kind of source, rows (number, of, among, value to four decimals, n), as the pages of docs/audits have them.
"""

from __future__ import annotations

import csv
import json
import math
import re
import statistics
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

Row: TypeAlias = tuple[str, str, str, str, int]


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def average(what: str, of: str, among: str, values: Sequence[float]) -> Row:
    return what, of, among, f"{sum(values) / len(values):.4f}", len(values)


def solutions(path: Path) -> Iterator[Row]:
    body = lines(path)
    for model in body[0].keys() - {"question", "ground_truth"}:
        yield average("rate", "stored_correct", model, [float(one[model]["is_correct"]) for one in body])


def flags_again(path: Path) -> int:
    """How many flags say whether the text after the last 'A:' is that of the worked solution."""

    def final(text: str) -> str:
        return re.split(r"A:", text)[-1].strip().replace(",", "").replace("$", "")

    return sum(
        (final(cell["solution"]) == final(one["ground_truth"])) == cell["is_correct"]
        for one in lines(path)
        for cell in one.values()
        if isinstance(cell, dict)
    )


def outputs(path: Path) -> list[float]:
    """1 where the text after 'answer is', or all of it, is the target."""
    marks = []
    for one in json.loads(path.read_text(encoding="utf-8"))["outputs"]:
        text = one["prediction"].strip()
        answer = text.split("answer is ", 1)[-1] if "answer is " in text else text
        marks.append(float(answer.strip().removesuffix(".").strip() == one["target"].strip()))
    return marks


def judged(path: Path) -> Iterator[Row]:
    rows = table(path)
    names = [name for name in rows[0] if re.fullmatch(r"(judge\d+|median)_score", name)]
    for name in names:
        for model in {row["Name"]: None for row in rows}:
            marks = [float(row[name]) for row in rows if row["Name"] == model and row[name].strip()]
            if marks:
                yield average("mean", f"stored_{name.removesuffix('_score')}", model, marks)
    judges = [name for name in names if name.startswith("judge")]
    rated = [[float(row[name]) for name in judges if row[name].strip()] for row in rows]
    rated = [marks for marks in rated if len(marks) > 1]
    of = ", ".join(name.removesuffix("_score") for name in judges)
    same = [sum(a == b for a, b in combinations(marks, 2)) / math.comb(len(marks), 2) for marks in rated]
    yield average("agreement", of, "all", same)
    every = [mark for marks in rated for mark in marks]
    observed = sum(sum((a - b) ** 2 for a, b in combinations(marks, 2)) * 2 / (len(marks) - 1) for marks in rated)
    square, total = sum(mark * mark for mark in every), sum(every)
    chance = 2 * (len(every) * square - total * total) / (len(every) - 1)
    yield "alpha", of, "all", f"{1 - observed / chance:.4f}", len(rated)


def medians_again(path: Path) -> int:
    judges = [name for name in table(path)[0] if re.fullmatch(r"judge\d+_score", name)]
    return sum(
        statistics.median(float(row[name]) for name in judges if row[name].strip()) == float(row["median_score"])
        for row in table(path)
    )


def dialogues(folder: Path) -> Iterator[Row]:
    files = sorted(folder.glob("*_prompt*_result_all.csv"))
    for path in files:
        prompt = re.findall(r"prompt\d+", path.name)[-1]
        rows = table(path)
        for turn in range(1, len(rows[0])):
            labels = [float(row[f"Response_{turn}"]) for row in rows]
            yield average("rate", "stored_label", f"{prompt}_turn_{turn}", labels)


def flips(path: Path) -> list[int]:
    """For how many turns from the first each dialogue keeps the label 1."""
    kept = []
    for row in table(path):
        labels = [row[name] for name in row if name.startswith("Response")]
        kept.append(next((turn for turn, label in enumerate(labels) if label != "1"), len(labels)))
    return kept


def preferences(path: Path) -> list[float]:
    """1 where the second answer is preferred, 0 where the first is, 0.5 for a draw."""
    return [(one["preference"] or 1.5) - 1 for one in json.loads(path.read_text(encoding="utf-8"))]


def rewards(path: Path) -> Iterator[Row]:
    tries: Mapping[Any, list[float]] = defaultdict(list)
    for one in lines(path):
        tries[one["task_id"]].append(one["reward"])
    yield average("rate", "stored_reward", "all", [mark for own in tries.values() for mark in own])
    for k in range(1, max(map(len, tries.values())) + 1):
        some, every = [], []
        for own in tries.values():
            n, c = len(own), int(sum(own))
            some.append(1 - math.comb(n - c, k) / math.comb(n, k))
            every.append(math.comb(c, k) / math.comb(n, k))
        yield average(f"pass@{k}", "stored_reward", "all", some)
        yield average(f"pass^{k}", "stored_reward", "all", every)


def exact_matches(folder: Path) -> list[float]:
    """HELM's exact_match of every instance."""
    stats = json.loads((folder / "per_instance_stats.json").read_text(encoding="utf-8"))
    return [
        stat["sum"] / stat["count"] for one in stats for stat in one["stats"] if stat["name"]["name"] == "exact_match"
    ]


def inspect_log(path: Path) -> tuple[dict[str, float], list[float]]:
    """The metrics that a log of inspect_ai states, and the score of each sample."""
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("header.json"))
        samples = [json.loads(archive.read(name)) for name in archive.namelist() if name.startswith("samples/")]
    stated = {key: one["value"] for key, one in header["results"]["scores"][0]["metrics"].items()}
    words = {"C": 1.0, "I": 0.0}
    values = [next(iter(one["scores"].values()))["value"] for one in samples]
    return stated, [words[value] if isinstance(value, str) else float(value) for value in values]
