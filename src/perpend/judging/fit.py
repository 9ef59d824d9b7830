"""Fit the weights of perpend@2: `python -m perpend.judging.fit --data FOLDER --golden FOLDER [--write]`.

Reads labelled answers, holds back the items whose SHA-256 is 0 modulo 3, and fits by L-BFGS under the signs of
`rules.toml`. It prints every set that it used, by the digest of its file, with rows and items.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from perpend.judging.cues import Rules, rules
from perpend.judging.verdict import SIDES, Evidence, evidence
from perpend.types import Item

OUTCOMES: Final = (*SIDES, "none")
ALL: Final = frozenset(OUTCOMES)
Array = npt.NDArray[np.float64]


class Row(NamedTuple):
    """One labelled answer. `allowed`: which outcomes agree with the reader; `group`: its set, its weight by `weight`."""

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
            item = Item(key, str(row.get("question") or QUESTIONS.get(key, "?")), target=None if target is None else str(target), decoy=str(row["wrong_answer"]))  # fmt: skip
            allowed = only("decoy") if label == 1 else only("target") if right == 1 else ALL - {"decoy"}
            if label == 0 and right == 0:
                allowed = only("other", "none")
            yield Row("conformity", key, item, text, None, allowed, 3.0)


QUESTIONS: dict[str, str] = {}


def of_open(path: Path) -> Iterator[Row]:
    """Open questions with five systems' answers, and natural decoys: another system's short wrong answer."""
    from perpend.judging.mentions import _content
    from perpend.judging.words import Words, fold

    for row in lines(path):
        key, gold = str(row["question"]), str(row["golden_answer"]).split("/")
        if is_held_back(key) or row["improper"]:
            continue
        systems = [name[7:] for name in row if name.startswith("answer_")]
        judged = {name: (str(row[f"answer_{name}"]), bool(row[f"judge_{name}"])) for name in systems}
        item = Item(key, key, target=gold[0], aliases=tuple(gold[1:]))
        for text, right in judged.values():
            yield Row("open", key, item, text, None, only("target") if right else ALL - {"target"}, 1.0)
        taken = {word for text in (*gold, key) for word in _content(Words(fold(text).text).keys)}
        for name, (decoy, right) in judged.items():
            words = _content(Words(fold(decoy).text).keys)
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
                else:
                    yield Row("decoy not there", key, planted, text, None, ALL - {"decoy"}, 0.2)


def of_sums(path: Path) -> Iterator[Row]:
    """Solutions of word problems, as they are and without their last line."""
    for row in lines(path):
        key = str(row["question"])
        if is_held_back(key):
            continue
        target = str(row["ground_truth"]).rpartition("A:")[2].strip()
        for name, found in row.items():
            if not isinstance(found, dict):
                continue
            text, right = str(found["solution"]), bool(found["is_correct"])
            allowed = only("target") if right else ALL - {"target"}
            item = Item(key, key, target=target)
            has_line = "\nA:" in text
            yield Row("sums" if has_line else "sums, no last line", key, item, text, None, allowed, 0.25)
            if has_line:
                yield Row("sums, line removed", key, item, text.rpartition("\nA:")[0], None, allowed, 0.25)


VERSIONS: Final = {"correct": "target", "endorsed": "decoy"}


def golden_cases(folder: Path) -> Iterator[tuple[str, dict[str, object]]]:
    """The golden lines of the rules of ours, one per item and text: the newest version's."""
    newest: dict[tuple[object, ...], tuple[str, dict[str, object]]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for number, case in enumerate(lines(path), 1):
            name, _, version = str(case["scorer"]).partition("@")
            if version in {"2", "3", "4"} and "text" in case:
                key = (name, *(str(case.get(field)) for field in ("prompt", "target", "decoy", "text", "choices", "aliases", "finish")))  # fmt: skip
                if key not in newest or str(newest[key][1]["scorer"])[-1] < version:
                    newest[key] = f"{path.stem}:{number}", case
    yield from newest.values()


def golden_item(case: dict[str, object]) -> Item:
    def texts(field: str) -> tuple[str, ...]:
        found = case.get(field, ())
        return tuple(map(str, found)) if isinstance(found, list) else ()

    target, decoy = case.get("target"), case.get("decoy")
    return Item("golden", str(case.get("prompt", "?")), target=None if target is None else str(target), choices=texts("choices"),
        decoy=None if decoy is None else str(decoy), aliases=texts("aliases"))  # fmt: skip


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
        if allowed:
            yield Row("golden", item.prompt + str(case["text"])[:40], item, str(case["text"]), None if finish is None else str(finish), allowed, 1.0)  # fmt: skip


def of_frames(path: Path) -> Iterator[Row]:
    """Our own frames, each with three of its items; where an answer is given, it is the target or the decoy."""
    for kind, body in tomllib.loads(path.read_text(encoding="utf-8")).items():
        for place, (frame, is_given) in enumerate([(one, True) for one in body["given"]] + [(one, False) for one in body["nothing"]]):  # fmt: skip
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
                yield Row("frames", frame, item, text[0].upper() + text[1:], None, allowed, 1.0)


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
        yield Row("crafted", str(row["id"]), item, str(row["text"]), None, allowed, 1.0)


class Design(NamedTuple):
    """Rows as arrays. `features` of candidates in one matrix; `owner` and `side` of each; `allowed` outcomes by row."""

    features: object
    owner: npt.NDArray[np.int64]
    side: npt.NDArray[np.int64]
    allowed: npt.NDArray[np.bool_]
    weight: Array


def design(found: list[Evidence], rows: list[Row], known: Rules) -> Design:
    """The matrix of all candidates: mentions, parts of a target that is not there, and silence."""
    from scipy import sparse

    columns: list[int] = []
    pointers, owner, side = [0], [], []
    for place, one in enumerate(found):
        listed = [(SIDES.index(mention.side), marks) for mention, marks in one.candidates]
        listed += [(0, marks) for _, marks in one.parts]
        listed += [(1, marks) for _, marks in one.agreement]
        listed.append((3, set(one.silence)))
        for which, marks in listed:
            columns += sorted(marks)
            pointers.append(len(columns))
            owner.append(place)
            side.append(which)
    data = np.ones(len(columns))
    matrix = sparse.csr_matrix((data, columns, pointers), shape=(len(owner), len(known.names)))
    allowed = np.array([[name in row.allowed for name in OUTCOMES] for row in rows])
    return Design(matrix, np.array(owner), np.array(side), allowed, np.array([row.weight for row in rows]))


def best_of(z: Array, data: Design, rows: int) -> tuple[Array, npt.NDArray[np.int64]]:
    """The strongest candidate of each row and outcome: its z and its number; -inf and -1 where there is none."""
    order = np.lexsort((z, data.side, data.owner))
    slots = data.owner[order] * 4 + data.side[order]
    top, which = np.full(rows * 4, -np.inf), np.full(rows * 4, -1)
    top[slots], which[slots] = z[order], order  # the last of a slot wins: the greatest
    return top.reshape(rows, 4), which.reshape(rows, 4)


def fitted(data: Design, known: Rules, l2: float = 5e-5, rounds: int = 4, start: Array | None = None) -> Array:
    """The weights with the greatest marginal likelihood of what readers allow, under the signs; the strongest mention of
    a side is chosen anew in each round."""
    from scipy.optimize import minimize

    n = len(data.weight)
    matrix = data.features
    bounds = [
        (0.0, None) if sign == "for" else (None, 0.0) if sign == "against" else (None, None) for sign in known.signs
    ]
    prior = np.array(known.expected)
    weights = prior.copy() if start is None else start.copy()
    possible = None
    for _ in range(rounds):
        _, which = best_of(np.asarray(matrix @ weights), data, n)
        chosen = which[which >= 0]
        part = matrix[chosen]
        there = which >= 0
        allowed = data.allowed & there
        possible = allowed.any(axis=1)
        total = float((data.weight * possible).sum())

        def loss(w: Array) -> tuple[float, Array]:
            z = np.full((n, 4), -np.inf)
            z[there] = part @ w
            top = z.max(axis=1, keepdims=True)
            raised = np.exp(z - top)
            p = raised / raised.sum(axis=1, keepdims=True)
            good = (p * allowed).sum(axis=1)
            good = np.where(possible, np.maximum(good, 1e-12), 1.0)
            value = -(data.weight * np.log(good)).sum() / total + l2 * float((w - prior) @ (w - prior))
            slope = np.where(possible[:, None], p - p * allowed / good[:, None], 0.0) * data.weight[:, None] / total
            return value, np.asarray(part.T @ slope[there]) + 2 * l2 * (w - prior)

        weights = minimize(
            loss, weights, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 400, "gtol": 1e-7}
        ).x
    return np.asarray(weights)


def chances(weights: Array, data: Design) -> Array:
    """The probabilities of the four outcomes of every row."""
    n = len(data.weight)
    z, _ = best_of(np.asarray(data.features @ weights), data, n)
    raised = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def take(found: list[Evidence], rows: list[Row], keep: Iterable[int]) -> tuple[list[Evidence], list[Row]]:
    kept = list(keep)
    return [found[place] for place in kept], [rows[place] for place in kept]


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
    )
    for path, rows in sources:
        if path.exists():
            print(f"{path.name} sha256:{hashlib.sha256(path.read_bytes()).hexdigest()[:16]}", file=sys.stderr)
            yield from rows(path)
    yield from of_golden(golden)
    yield from of_frames(golden.parent / "judging" / "frames.toml")


def write(weights: Array, known: Rules, path: Path) -> None:
    """Put the weights into the rule file, behind its lists."""
    head = path.read_text(encoding="utf-8").partition("\n# Fitted by")[0].rstrip("\n")
    body = ["", "# Fitted by `python -m perpend.judging.fit`. What is not here weighs nothing.", "[weights]"]
    body += [f'"{name}" = {value:.2f}' for name, value in zip(known.names, weights, strict=True) if abs(value) >= 0.05]
    path.write_text(head + "\n" + "\n".join(body) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description="Fit the weights of the rule set.")
    parser.add_argument("--data", type=Path, required=True, help="Folder of labelled answers.")
    parser.add_argument("--golden", type=Path, required=True, help="Folder of golden cases.")
    parser.add_argument("--l2", type=float, default=2e-4)
    parser.add_argument("--write", type=Path, help="Rule file to write the weights into.")
    given = parser.parse_args()
    known, rows = rules(), list(load(given.data, given.golden))
    found = [evidence(row.item, row.text, row.finish, known) for row in rows]
    weights = fitted(design(found, rows, known), known, given.l2)
    if given.write:
        write(weights, known, given.write)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
