"""A run folder is taken at its texts: whatever else a forger changes in it, publish-run and analyze-runs see."""

from __future__ import annotations

import gzip
import json
import random
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from perpend.canon import compress, digest, digest_file
from perpend.errors import FormatError
from perpend.proof.audit import audit
from perpend.studies.logic.chaosbench.checks import examine, protocol_of
from perpend.studies.logic.chaosbench.imported import reading_of
from perpend.studies.logic.chaosbench.predictions import ParsedReply, as_stated, read_rows
from perpend.studies.logic.chaosbench.publish import acceptance, index
from perpend.studies.logic.chaosbench.rundir import summary_page
from perpend.studies.logic.metrics import SUMMARY
from tests.test_chaosbench_items import chaosbench, data_set

Body: TypeAlias = dict[str, object]
SELECTOR = Path("data/canonical_v2_files.json")
# Mostly right; some first replies are invalid, one reply is cut off, two stay invalid.
MODEL = """
from perpend.types import Response, Usage

def answer(request):
    text = request.messages[0].content
    number = float(text.split("a = ")[1].split(",")[0]) * 8
    again = len(request.messages) > 1
    if number % 10 == 3:
        return Response(text="TRUE" if again else "It may be so.", finish="stop", usage=Usage(20, 4))
    if number == 7:
        return Response(text="It depends on the parameter.", finish="stop", usage=Usage(20, 6))
    if number == 8 and "ler-8 " in text:
        return Response(text="<think>the system", finish="length", usage=Usage(20, 128))
    return Response(text="TRUE" if number % 3 else "FALSE", finish="stop", usage=Usage(20, 1))
"""
FACTS = {"wall_seconds", "usd", "usd_per_million_input", "usd_per_million_output"}
"""Numbers of run_manifest.json that nothing else states: how long the run took and what it cost."""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set with one run and its published copy."""
    root = data_set(tmp_path_factory.mktemp("set"))
    (root / "model.py").write_text(MODEL)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        code, said = chaosbench("eval", "--provider", "callable", "--model", "model.py:answer", "--quiet")
        assert code == 0, said
        (run,) = (root / "runs").iterdir()
        code, said = chaosbench("publish-run", "--run", run)
        assert code == 0, said
    return root


@pytest.fixture
def root(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it that a test may forge, with the current directory in it."""
    shutil.copytree(original, tmp_path / "set")
    monkeypatch.chdir(tmp_path / "set")
    return tmp_path / "set"


def run_of(root: Path) -> Path:
    (run,) = (root / "runs").iterdir()
    return run


def published(root: Path) -> Path:
    return root / "published_results" / "runs" / run_of(root).name


def is_seen(folder: Path) -> bool:
    """Whether the check that all commands share finds a difference."""
    return any(check.differ for check in examine(folder).checks)


def is_refused(root: Path, folder: Path) -> None:
    """publish-run, analyze-runs and perpend audit all exit with 6."""
    code, said = chaosbench("publish-run", "--run", folder, "--out", root / "elsewhere")
    assert code == 6, said
    code, said = chaosbench("analyze-runs", "--runs-dir", folder.parent, "--out-dir", root / "out")
    assert code == 6, said
    assert not all(one.ok for one in audit([folder]))


def lines(folder: Path) -> list[Body]:
    data = folder / "predictions.jsonl"
    text = (
        data.read_text() if data.is_file() else gzip.decompress((folder / "predictions.jsonl.gz").read_bytes()).decode()
    )
    return [json.loads(line) for line in text.splitlines()]


def write_lines(folder: Path, rows: list[Body]) -> None:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    if (folder / "predictions.jsonl").is_file():
        (folder / "predictions.jsonl").write_text(text)
    else:
        (folder / "predictions.jsonl.gz").write_bytes(compress(text.encode()))


def read(path: Path) -> Body:
    body = json.loads(path.read_text())
    assert isinstance(body, dict)
    return body


def reseal(folder: Path) -> None:
    """The receipt and the index of a published copy, as the forger would write them again."""
    path = folder / "publish_receipt.json"
    files = {entry.name: digest_file(entry) for entry in sorted(folder.iterdir()) if entry != path}
    path.write_text(json.dumps({**read(path), "files_sha256": files, "root_sha256": digest(files)}, indent=2) + "\n")
    (folder.parent / "README.md").write_text(index(folder.parent))


def leaves(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The place of every number in a structure."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from leaves(one, (*path, key))
    elif isinstance(value, list):
        for n, one in enumerate(value):
            yield from leaves(one, (*path, n))
    elif isinstance(value, int | float):
        yield path


def changed(value: object) -> object:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1 if value > 1 else value + 0.01 if isinstance(value, float) else value + 1
    return {"TRUE": "FALSE", "FALSE": "TRUE", "VALID_TRUE": "VALID_FALSE", "VALID_FALSE": "VALID_TRUE"}.get(
        str(value), "INVALID" if str(value).isupper() and value != "INVALID" else f"{value}x"
    )


def forge(body: object, path: tuple[str | int, ...]) -> None:
    for key in path[:-1]:
        body = body[key]  # type: ignore[index]
    body[path[-1]] = changed(body[path[-1]])  # type: ignore[index]


def test_nothing_differs_before_anything_is_forged(root: Path) -> None:
    rows = {str(row["outcome"]) for row in lines(run_of(root))}
    assert rows == {"VALID_TRUE", "VALID_FALSE", "INVALID", "UNFINISHED"}
    for folder in (run_of(root), published(root)):
        assert not is_seen(folder)
        code, said = chaosbench("analyze-runs", "--runs-dir", folder.parent, "--out-dir", root / "out")
        assert code == 0, said
        assert [check for check in audit([folder])[0].checks if check.differ] == []


STATED = ("parsed_label", "outcome", "correct", "retry_outcome", "first_outcome", "retry_pred_text", "meta")


@pytest.mark.parametrize("key", [*STATED, "ground_truth", "pred_text", "latency_s", "output_tokens", "finish", "tags"])
def test_each_field_of_a_prediction_is_compared_with_the_ledger(root: Path, key: str) -> None:
    rows = lines(run_of(root))
    row = next(row for row in rows if row["retry_outcome"] == "VALID_TRUE")
    forge(row, ("meta", "parse_reason") if key == "meta" else ("tags", "type") if key == "tags" else (key,))
    write_lines(run_of(root), rows)
    is_refused(root, run_of(root))


@pytest.mark.parametrize("key", [*STATED, "ground_truth", "task_family", "split", "first_pred_text"])
def test_each_label_of_a_published_copy_is_read_again(root: Path, key: str) -> None:
    rows = lines(published(root))
    row = next(row for row in rows if row["retry_outcome"] == "VALID_TRUE")
    if key == "first_pred_text":
        row[key] = "TRUE"
    else:
        forge(row, ("meta", "parse_confidence") if key == "meta" else (key,))
    write_lines(published(root), rows)
    reseal(published(root))
    is_refused(root, published(root))


@pytest.mark.parametrize("place", ["run", "published"])
@pytest.mark.parametrize("file", ["metrics.json", "run_manifest.json"])
def test_every_number_recomputes(root: Path, place: str, file: str) -> None:
    folder = run_of(root) if place == "run" else published(root)
    before = (folder / file).read_text()
    facts = FACTS | ({"tokens"} if place == "published" else set())
    paths = [path for path in leaves(json.loads(before)) if not facts & {*path}]
    # Every number of the manifest; of the thousands of metrics.json a sample, half of it at the top level.
    top = [path for path in paths if len(path) == 1]
    rng = random.Random(7)
    chosen = paths if file == "run_manifest.json" else rng.sample(top, 12) + rng.sample(paths, 12)
    missed = []
    for path in chosen:
        body = json.loads(before)
        forge(body, path)
        (folder / file).write_text(json.dumps(body))
        if place == "published":
            reseal(folder)
        if path == ("dataset", "items"):  # only the freeze knows how many items there were
            assert not all(gate.passed for gate in acceptance(folder, SELECTOR))
        elif path == ("format",):
            with pytest.raises(FormatError):
                examine(folder)
        elif not is_seen(folder):
            missed.append(path)
    assert not missed
    is_refused(root, folder)


@pytest.mark.parametrize("place", ["run", "published"])
def test_every_number_of_the_summary_recomputes(root: Path, place: str) -> None:
    folder = run_of(root) if place == "run" else published(root)
    page = (folder / "summary.md").read_text()
    numbers = [found for found in re.finditer(r"\d+(?:\.\d+)?", page) if page[: found.start()].count("\n") > 8]
    for found in random.Random(3).sample(numbers, 25):
        other = str(changed(float(found.group()) if "." in found.group() else int(found.group())))
        (folder / "summary.md").write_text(page[: found.start()] + other + page[found.end() :])
        if place == "published":
            reseal(folder)
        assert is_seen(folder), page[found.start() - 20 : found.end()]
    is_refused(root, folder)


def test_receipt_and_index_of_a_published_copy_recompute(root: Path) -> None:
    folder = published(root)
    receipt, readme = (folder / "publish_receipt.json").read_text(), folder.parent / "README.md"
    for name, entry in enumerate(json.loads(receipt)["checks"][2:4], 2):
        body = json.loads(receipt)
        body["checks"][name]["found"] = str(entry["found"]).replace("0", "1", 1)
        (folder / "publish_receipt.json").write_text(json.dumps(body))
        assert is_seen(folder), entry
    for key in ("root_sha256", "run_id"):
        (folder / "publish_receipt.json").write_text(json.dumps({**json.loads(receipt), key: "0"}))
        assert is_seen(folder), key
    (folder / "publish_receipt.json").write_text(receipt)
    assert not is_seen(folder)
    cells = readme.read_text().split("\n")[-2].split(" | ")
    for n in range(2, 6):
        row = " | ".join([*cells[:n], str(float(cells[n]) + 0.1)[:6], *cells[n + 1 :]])
        readme.write_text("\n".join([*readme.read_text().split("\n")[:-2], row, ""]))
        assert is_seen(folder), cells[n]


def forge_all(folder: Path, change: Callable[[Body], None]) -> None:
    """Rows changed, and then every number of the folder computed from them as if they were true."""
    manifest, rows = read(folder / "run_manifest.json"), lines(folder)
    for row in rows:
        change(row)
    write_lines(folder, rows)
    reading = reading_of(manifest)
    path = next(entry for entry in folder.iterdir() if entry.name.startswith("predictions"))
    read_again = read_rows(path, ParsedReply(reading.read))
    believed = [as_stated(row.stated, row.prediction, row.place) for row in read_again]
    body = protocol_of(believed, str(manifest["parser"]), 128)
    metrics = {**read(folder / "metrics.json"), **body}
    manifest["metrics_summary"] = {name: body[name] for name in SUMMARY}
    (folder / "metrics.json").write_text(json.dumps(metrics, sort_keys=True, indent=2, ensure_ascii=False) + "\n")
    (folder / "run_manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    (folder / "summary.md").write_text(summary_page(manifest, metrics))
    if (folder / "publish_receipt.json").is_file():
        reseal(folder)


@pytest.mark.parametrize("place", ["run", "published"])
def test_labels_that_are_forged_with_every_number_that_follows_are_seen(root: Path, place: str) -> None:
    folder = run_of(root) if place == "run" else published(root)
    left = [6]

    def make_right(row: Body) -> None:
        if row["correct"] is False and left[0]:
            left[0] -= 1
            outcome = f"VALID_{row['ground_truth']}"
            row |= {"parsed_label": row["ground_truth"], "outcome": outcome, "correct": True, "first_outcome": outcome}

    before = float(str(read(folder / "metrics.json")["balanced_accuracy"]))
    forge_all(folder, make_right)
    assert float(str(read(folder / "metrics.json")["balanced_accuracy"])) > before
    is_refused(root, folder)


@pytest.mark.parametrize("place", ["run", "published"])
def test_true_labels_that_are_forged_with_every_number_that_follows_are_seen(root: Path, place: str) -> None:
    folder = run_of(root) if place == "run" else published(root)

    def move_the_goal(row: Body) -> None:
        if row["correct"] is False:
            row |= {"ground_truth": row["parsed_label"], "correct": True}

    forge_all(folder, move_the_goal)
    is_refused(root, folder)


def test_a_parser_is_never_looked_up_from_a_path(root: Path) -> None:
    (root / "evil.py").write_text("raise SystemExit('ran')\n")
    for folder in (run_of(root), published(root)):
        manifest = read(folder / "run_manifest.json")
        (folder / "run_manifest.json").write_text(json.dumps({**manifest, "parser": "evil.py"}))
        assert is_seen(folder)
        assert "unknown parser 'evil.py'" in chaosbench("publish-run", "--run", folder, "--out", "elsewhere")[1]


def test_a_copy_without_its_ledger_s_manifest_is_not_taken_at_its_word(root: Path) -> None:
    (run_of(root) / "manifest.json").unlink()
    assert is_seen(run_of(root))


def test_shortened_texts_without_a_ledger_are_said_not_to_be_recomputed(root: Path) -> None:
    folder = published(root)
    rows, manifest = lines(folder), read(folder / "run_manifest.json")
    settings, budget = manifest["settings"], manifest["budget"]
    assert isinstance(settings, dict)
    assert isinstance(budget, dict)
    manifest |= {"settings": settings | {"truncate_pred_text": 4}, "budget": budget | {"truncate_pred_text": 4}}
    for row in rows:
        for key in ("pred_text", "retry_pred_text", "first_pred_text"):
            row[key] = None if row[key] is None else str(row[key])[:4]
    write_lines(folder, rows)
    (folder / "run_manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    reseal(folder)
    code, said = chaosbench("analyze-runs", "--runs-dir", folder.parent, "--out-dir", root / "out")
    assert (code, "left out" in said) == (0, True)
    assert "not recomputed: texts were shortened" in (root / "out" / "summary.json").read_text()
    rows[0]["correct"] = not rows[0]["correct"]
    write_lines(folder, rows)
    reseal(folder)
    assert is_seen(folder)
