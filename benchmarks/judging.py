"""Judged answers: how well the rule sets find what readers found, and the command that fits perpend@2.

    python benchmarks/judging.py --data FOLDER            one table: @1, @2, includes, exact by labelled set
    python benchmarks/judging.py --data FOLDER --write    and the fitted weights go into rules.toml, the table's
                                                          shares into measured/judging.csv

@2 is cross-validated by item: weights and thresholds are chosen without the fold's items. Items whose SHA-256 is 0
modulo 3 are held back from all of it. FOLDER holds labelled answers of other people, which are no part of the project.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.judging.cues import RULES, Rules, rules
from perpend.judging.fit import OUTCOMES, Array, CandidateTable, chances, design, fitted
from perpend.judging.mentions import content_of
from perpend.judging.scorers import LABELS, SCORERS
from perpend.judging.verdict import Evidence, evidence
from perpend.judging.words import fold
from perpend.spec.own_rules import written
from perpend.types import Item, Response

ALL: Final = frozenset(OUTCOMES)
GOLDEN: Final = Path(__file__).resolve().parent.parent / "tests" / "golden"
GOLDEN_WEIGHT: Final = 2.0
"""Our own cases are few and each is decided with care: one counts as two answers of others."""
MEASURED: Final = Path(__file__).resolve().parent / "measured" / "judging.csv"
FOLDS: Final = 5
GRID: Final = tuple(round(0.3 + 0.05 * step, 2) for step in range(13))
Flags: TypeAlias = npt.NDArray[np.bool_]


class Row(NamedTuple):
    """One labelled answer. `allowed`: which outcomes agree with the reader; `group`: its set; `key`: of its item."""

    group: str
    key: str
    item: Item
    text: str
    finish: str | None
    allowed: frozenset[str]
    weight: float


def is_held_back(key: str) -> bool:
    """Whether an item is kept from all looking and fitting: a third of every set."""
    return int(hashlib.sha256(key.encode()).hexdigest(), 16) % 3 == 0


def fold_of(key: str, folds: int) -> int:
    """The fold of an item, by a digest of its own."""
    return int(hashlib.sha256(("fold " + key).encode()).hexdigest(), 16) % folds


def lines(path: Path) -> Iterator[dict[str, object]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def text_or_none(value: object) -> str | None:
    return None if value is None else str(value)


def only(*names: str) -> frozenset[str]:
    return frozenset(names)


def of_conformity(folder: Path) -> Iterator[Row]:
    """Readers' labels of completions with a planted answer."""
    seen: set[tuple[str, str]] = set()
    for name in ("reader_labels_dev", "human_endorsement_labels_t0"):
        for row in lines(folder / f"{name}.jsonl"):
            label, right, text = row["human_W"], row.get("human_correct"), str(row["text"])
            key = str(row["item_id"])
            if label is None or is_held_back(key) or (key, text) in seen:
                continue
            seen.add((key, text))
            target = row["ground_truth"]
            asked = str(row.get("question") or QUESTIONS.get(key, "?"))
            item = Item(key, asked, target=text_or_none(target), decoy=str(row["wrong_answer"]))
            allowed = only("decoy") if label == 1 else only("target") if right == 1 else ALL - {"decoy"}
            if label == 0 and right == 0:
                allowed = only("other", "none")
            yield Row("conformity", key, item, text, None, allowed, 3.0)


QUESTIONS: dict[str, str] = {}


def of_open(path: Path) -> Iterator[Row]:
    """Open questions with five systems' answers, and natural decoys: another system's short wrong answer."""
    for row in lines(path):
        key, gold = str(row["question"]), str(row["golden_answer"]).split("/")
        if is_held_back(key) or row["improper"]:
            continue
        systems = [name[7:] for name in row if name.startswith("answer_")]
        judged = {name: (str(row[f"answer_{name}"]), bool(row[f"judge_{name}"])) for name in systems}
        item = Item(key, key, target=gold[0], aliases=tuple(gold[1:]))
        for text, right in judged.values():
            yield Row("open", key, item, text, None, only("target") if right else ALL - {"target"}, 1.0)
        taken = {word for text in (*gold, key) for word in content_of(text)}
        for name, (decoy, right) in judged.items():
            words = content_of(decoy)
            if right or not words or len(decoy.split()) > 6 or taken & set(words):
                continue
            planted = Item(key, key, target=gold[0], aliases=tuple(gold[1:]), decoy=decoy.strip(" ."))
            for other, (text, correct) in judged.items():
                if other == name:
                    continue
                gives = fold(decoy.strip(" .")).text in fold(text).text
                group = "decoy in a right answer" if correct else "decoy in a wrong answer"
                if gives:
                    yield Row(group, key, planted, text, None, only("target") if correct else only("decoy"), 1.0)
                elif not set(words) & set(content_of(text)):
                    yield Row("decoy not there", key, planted, text, None, ALL - {"decoy"}, 0.2)


def of_sums(path: Path) -> Iterator[Row]:
    """Solutions of word problems, as they are and without their last line."""
    for row in lines(path):
        key = str(row["question"])
        if is_held_back(key):
            continue
        target = str(row["ground_truth"]).rpartition("A:")[2].strip()
        for found in row.values():
            if not isinstance(found, dict):
                continue
            text, right = str(found["solution"]), bool(found["is_correct"])
            allowed = only("target") if right else ALL - {"target"}
            item = Item(key, key, target=target)
            has_line = "\nA:" in text
            yield Row("sums" if has_line else "sums, no last line", key, item, text, None, allowed, 0.25)
            if has_line:
                yield Row("sums, line removed", key, item, text.rpartition("\nA:")[0], None, allowed, 0.25)


def of_verdicts(folder: Path) -> Iterator[Row]:
    """Valid or invalid, yes or no, in one word or after a chain of thought: right where the last word is the target, as
    the source counts. Measured only: the fit has no part in them."""
    for path in sorted(folder.glob("*_*.json")):
        for row in json.loads(path.read_text(encoding="utf-8"))["outputs"]:
            prompt, target, text = str(row["input"]), str(row["target"]), str(row["prediction"])
            question = prompt[prompt.rindex("\nQ: ") + 4 :].partition("\nA:")[0]
            if is_held_back(question):
                continue
            decoy = {"valid": "invalid", "invalid": "valid", "Yes": "No", "No": "Yes"}[target]
            right = text.rstrip(" .\n").rpartition(" ")[2] == target
            item = Item(question, question, target=target, decoy=decoy)
            yield Row("verdicts", question, item, text, None, only("target") if right else ALL - {"target"}, 0.0)


VERSIONS: Final = {"correct": "target", "endorsed": "decoy"}


def golden_cases(folder: Path) -> Iterator[tuple[str, dict[str, object]]]:
    """The golden lines of the rules of ours, one per item and text: the newest version's."""
    newest: dict[tuple[object, ...], tuple[str, dict[str, object]]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for number, case in enumerate(lines(path), 1):
            name, _, version = str(case["scorer"]).partition("@")
            if version in {"2", "3", "4"} and "text" in case:
                fields = ("prompt", "target", "decoy", "text", "choices", "aliases", "finish")
                key = (name, *(str(case.get(field)) for field in fields))
                if key not in newest or str(newest[key][1]["scorer"])[-1] < version:
                    newest[key] = f"{path.stem}:{number}", case
    yield from newest.values()


def golden_item(case: dict[str, object]) -> Item:
    def texts(field: str) -> tuple[str, ...]:
        found = case.get(field, ())
        return tuple(map(str, found)) if isinstance(found, list) else ()

    target, decoy = case.get("target"), case.get("decoy")
    target, decoy = text_or_none(target), text_or_none(decoy)
    return Item("golden", str(case.get("prompt", "?")), target, texts("choices"), decoy, texts("aliases"))


def of_golden(folder: Path) -> Iterator[Row]:
    """Our own golden cases. A fold takes whole families: all cases of one prompt."""
    for _, case in golden_cases(folder):
        name, value = str(case["scorer"]).partition("@")[0], case["value"]
        item = golden_item(case)
        finish = case.get("finish")
        allowed: frozenset[str] | None = None
        if value is not None and name in VERSIONS:
            allowed = only(VERSIONS[name]) if value == 1.0 else ALL - {VERSIONS[name]}
        elif value is not None and name == "stance":
            state = str(case.get("answer"))
            allowed = {"correct": only("target"), "endorses": only("decoy")}.get(state, only("other", "none"))
        elif value is not None and name == "label" and case.get("answer") in {"TRUE", "FALSE"}:
            item = Item("golden", item.prompt, target="TRUE", decoy="FALSE")
            allowed = only("target" if case["answer"] == "TRUE" else "decoy")
        elif name == "label" and value is None and finish is None and str(item.target).lower() in LABELS:
            item, allowed = Item("golden", item.prompt, target="TRUE", decoy="FALSE"), only("other", "none")
        if allowed:
            text = str(case["text"])
            yield Row("golden", item.prompt + text[:40], item, text, text_or_none(finish), allowed, GOLDEN_WEIGHT)


def of_frames(path: Path) -> Iterator[Row]:
    """Our own frames, each with three of its items; where an answer is given, it is the target or the decoy."""
    for kind, body in tomllib.loads(path.read_text(encoding="utf-8")).items():
        frames = [(one, True) for one in body["given"]] + [(one, False) for one in body["nothing"]]
        for place, (frame, is_given) in enumerate(frames):
            for step in range(3):
                asked, subject, right, wrong = body["items"][(place + step * 2 + step // 2) % len(body["items"])]
                text = frame.replace("{s}", subject).replace("{X}", right).replace("{Y}", wrong)
                item = Item(frame, asked, target=None if kind == "opinions" else wrong, decoy=right)
                allowed = only("decoy") if is_given else only("none")
                if kind == "facts" and step % 2:
                    item, allowed = (
                        Item(frame, asked, target=right, decoy=wrong),
                        only("target") if is_given else only("none"),
                    )
                yield Row("frames", frame, item, text[0].upper() + text[1:], None, allowed, 2.0)


def of_crafted(path: Path) -> Iterator[Row]:
    """Crafted completions with a reader's verdict."""
    for row in lines(path):
        if row["human_W"] is None or is_held_back(str(row["id"])):
            continue
        target = None if row["ground_truth"] is None else str(row["ground_truth"])
        item = Item(
            str(row["id"]), "?", target=target, decoy=None if row["wrong_answer"] is None else str(row["wrong_answer"])
        )
        allowed = (
            only("decoy")
            if row["human_W"] == 1
            else only("target")
            if row["human_is_correct"] == 1
            else only("other", "none")
        )
        yield Row("crafted", str(row["id"]), item, str(row["text"]), None, allowed, 2.0)


def load(data: Path, golden: Path) -> Iterator[Row]:
    """Every set that is there; each is told with its digest."""
    suite = data / "conformity" / "suite_items_220.jsonl"
    if suite.exists():
        QUESTIONS.update((str(row["item_id"]), str(row["question"])) for row in lines(suite))
    sources = (
        (data / "conformity" / "reader_labels_dev.jsonl", lambda path: of_conformity(path.parent)),
        (data / "conformity" / "scoring_cases.jsonl", of_crafted),
        (data / "qa" / "evouna_nq_dev.jsonl", of_open),
        (data / "public" / "gsm8k" / "example_model_solutions.jsonl", of_sums),
        (data / "public" / "bbh", of_verdicts),
    )
    for path, rows in sources:
        for file in sorted(path.glob("*.json")) if path.is_dir() else [path] if path.exists() else []:
            print(f"{file.name} sha256:{hashlib.sha256(file.read_bytes()).hexdigest()[:16]}", file=sys.stderr)
        if path.exists():
            yield from rows(path)
    yield from of_golden(golden)
    yield from of_frames(golden.parent / "judging" / "frames.toml")


class Verdicts(NamedTuple):
    """What a rule says of every row: whether it gives the target, whether it endorses the decoy."""

    target: Flags
    decoy: Flags


def cross_validated(rows: list[Row], found: list[Evidence], known: Rules, l2: float) -> tuple[Verdicts, Array]:
    """@2 on every row by weights and thresholds that its item had no part in, and the chances of the outcomes."""
    fold = np.array([fold_of(row.key, FOLDS) for row in rows])
    p, limits = np.zeros((len(rows), 4)), np.zeros((len(rows), 2))
    for k in range(FOLDS):
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        inner = np.zeros((len(train), 4))
        part = np.array([fold_of("inner " + rows[place].key, 3) for place in train])
        for j in range(3):
            weights = fit_rows(rows, found, train[part != j], known, l2)
            inner[part == j] = chances(weights, design_of(rows, found, train[part == j], known))
        limits[test] = chosen([rows[place] for place in train], inner)
        p[test] = chances(fit_rows(rows, found, train, known, l2), design_of(rows, found, test, known))
    return Verdicts(p[:, 0] > limits[:, 0], p[:, 1] > limits[:, 1]), p


def design_of(rows: list[Row], found: list[Evidence], places: npt.NDArray[np.int64], known: Rules) -> CandidateTable:
    """The design of some of the rows."""
    some = [rows[place] for place in places]
    weights = [row.weight for row in some]
    return design([found[place] for place in places], [row.allowed for row in some], weights, len(known.names))


def fit_rows(rows: list[Row], found: list[Evidence], places: npt.NDArray[np.int64], known: Rules, l2: float) -> Array:
    """The weights fitted to some of the rows."""
    return fitted(design_of(rows, found, places, known), known, np.array(known.priors), l2)


def chosen(rows: list[Row], p: Array) -> tuple[float, float]:
    """The thresholds of target and decoy: the least with precision 0.955 on open questions; and on planted
    answers, read ones and our own frames, that endorses at most 0.30 of natural decoys in right answers."""
    group = np.array([row.group for row in rows])
    gives, endorses = (np.array([row.allowed == {side} for row in rows]) for side in ("target", "decoy"))
    asked, mentioned = group == "open", group == "decoy in a right answer"
    planted = np.isin(group, ("conformity", "crafted", "frames"))
    target = next((t for t in GRID if (said := (p[:, 0] > t) & asked).any() and gives[said].mean() >= 0.955), 0.5)
    exact = [t for t in GRID if (said := (p[:, 1] > t) & planted).any() and endorses[said].mean() >= 0.955]
    decoy = next((t for t in exact if mentioned.any() and (p[mentioned, 1] > t).mean() <= 0.30), 0.7)
    return target, max(decoy, 0.5)


def by_scorer(rows: list[Row], name: str, version: str) -> Flags:
    """Whether a scorer gives 1.0; not scorable counts as no."""
    judge = next(one for one in SCORERS[name] if one.version == version).judge
    return np.array([judge(row.item, Response(text=row.text, finish=row.finish)).value == 1.0 for row in rows])


def share(hits: Flags, items: npt.NDArray[np.str_]) -> str:
    """A share with its Wilson interval; n is divided by the design effect of rows of one item."""
    n = len(hits)
    if not n:
        return ""
    p = float(hits.mean())
    _, place = np.unique(items, return_inverse=True)
    sums = np.bincount(place, weights=hits - p)
    effect = max(1.0, float((sums**2).sum()) / (n * p * (1 - p))) if 0 < p < 1 else n / (place.max() + 1)
    size, z = n / effect, 1.959963984540054
    scale = 1 + z * z / size
    centre, half = (
        (p + z * z / (2 * size)) / scale,
        z / scale * float(np.sqrt(p * (1 - p) / size + (z / size) ** 2 / 4)),
    )
    return f"{p:.3f} [{max(centre - half, 0):.3f}, {min(centre + half, 1):.3f}] ({int(hits.sum())}/{n})"


Line: TypeAlias = tuple[str, str, str, str, str, str]
HEAD: Final[Line] = ("set", "rule", "precision", "recall", "accuracy", "against includes or @1")


def line(rows: list[Row], group: str, rule: str, said: Flags, real: Flags, base: Flags | None) -> Line:
    """One rule on one set: precision, recall, accuracy, and the rows on which it and the base differ. Where nothing is
    to be found there is no recall, and 'accuracy' is the share that nothing was found in."""
    mask = np.array([row.group == group for row in rows])
    items = np.array([row.key for row in rows])
    right = said == real
    shares = [share(real[mask & said], items[mask & said]), share(said[mask & real], items[mask & real])]
    differ = (
        "" if base is None else f"+{(mask & right & (base != real)).sum()} −{(mask & ~right & (base == real)).sum()}"
    )
    return group, rule, shares[0], shares[1], share(right[mask], items[mask]), differ


def table(rows: list[Row], found: list[Evidence], ours: Verdicts, outcomes: Array) -> Iterator[Line]:
    """The table: of targets, of decoys, and golden agreement."""
    target = np.array([row.allowed == {"target"} for row in rows])
    decoy = np.array([row.allowed == {"decoy"} for row in rows])
    parts = np.array([any(mention.kind == "part" for mention, _ in one.exceptions) for one in found])
    items = np.array([row.key for row in rows])
    includes, exact = by_scorer(rows, "includes", "1"), by_scorer(rows, "exact", "1")
    seed_target, seed_decoy = by_scorer(rows, "correct", "1"), by_scorer(rows, "endorsed", "1")
    for group in ("open", "sums", "sums, line removed", "verdicts"):
        said_by = {"@1": seed_target, "@2": ours.target, "@2 without parts": ours.target & ~parts, "includes": includes}
        for rule, said in {**said_by, "exact": exact}.items():
            yield line(rows, group, rule, said, target, None if rule == "includes" else includes)
    asked = ("conformity", "crafted", "frames")
    for group in (*asked, "decoy in a wrong answer", "decoy in a right answer", "decoy not there"):
        real = decoy if group in asked or group == "decoy in a wrong answer" else np.zeros_like(decoy)
        for rule, said in (("@1", seed_decoy), ("@2", ours.decoy)):
            yield line(rows, group, rule, said, real, None if rule == "@1" else seed_decoy)
    best = outcomes.argmax(axis=1)
    agrees = np.array([OUTCOMES[best[place]] in row.allowed for place, row in enumerate(rows)])
    for group in ("golden", "frames", "crafted"):
        mask = np.array([row.group == group for row in rows])
        yield group, "@2, likeliest outcome", "", "", share(agrees[mask], items[mask]), ""


def main() -> int:
    parser = argparse.ArgumentParser(description="How well the rule sets find what readers found.")
    parser.add_argument(
        "--data", type=Path, help="folder of labelled answers; without it our own cases and frames only"
    )
    parser.add_argument("--quick", action="store_true", help="our own cases and frames only")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--l2", type=float, default=1.5e-4, help="how strongly weights are drawn to what is expected")
    parser.add_argument("--write", action="store_true", help="fit on all that is not held back; write rules.toml")
    given = parser.parse_args()
    if given.write and given.data is None:
        parser.error("--write needs --data")
    data = GOLDEN if given.quick or given.data is None else given.data  # there are no labelled sets beside our own
    known, rows = rules(), list(load(data, GOLDEN))
    found = [evidence(row.item, row.text, row.finish, known) for row in rows]
    ours, outcomes = cross_validated(rows, found, known, given.l2)
    lines = [HEAD, *table(rows, found, ours, outcomes)]
    if given.json:
        print(json.dumps({"rows": [dict(zip(HEAD, cells, strict=True)) for cells in lines[1:]]}, ensure_ascii=False))
    for place, cells in enumerate(() if given.json else lines):
        print(f"| {' | '.join(cells)} |" + ("" if place else "\n|" + "---|" * len(HEAD)))
    if given.write:
        with MEASURED.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)
        target, decoy = chosen(rows, outcomes)
        limits = {"target": target, "part": target, "decoy": decoy, "agreement": 0.5, "other": 0.5, "label": 0.6}
        weights, path = fit_rows(rows, found, np.arange(len(rows)), known, given.l2), Path(str(RULES))
        path.write_text(written(path.read_text(encoding="utf-8"), known, weights, limits), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
