"""A run folder is taken at its texts: whatever else a forger changes in it, publish-run and analyze-runs see.

Every key is known, every line has its source, and what cannot be recomputed is named in the verdict.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest

from perpend.canon import compress, digest, digest_file, read_object
from perpend.errors import AuditFailure, FormatError
from perpend.proof.audit import Audit, audit
from perpend.studies.logic.chaosbench.check import acceptance, examine, protocol_of
from perpend.studies.logic.chaosbench.runs import index, read_rows, summary_page
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
    return dict(read_object(path))


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


def test_nothing_differs_before_anything_is_forged(root: Path, bare: Path) -> None:
    rows = {str(row["outcome"]) for row in lines(run_of(root))}
    assert rows == {"VALID_TRUE", "VALID_FALSE", "INVALID", "UNFINISHED"}
    for folder in (run_of(root), published(root)):
        assert not is_seen(folder)
        code, said = chaosbench("analyze-runs", "--runs-dir", folder.parent, "--out-dir", root / "out")
        assert code == 0, said
    for folder in (run_of(root), published(root), bare):
        assert [check for check in _audited(folder).checks if check.differ] == []
        assert not [name for name in _audited(folder).not_recomputed if name.startswith("chaosbench")]


STATED = ("parsed_label", "outcome", "correct", "retry_outcome", "first_outcome", "retry_pred_text", "ground_truth")
ROWS = {
    "run": (*STATED, "meta.parse_reason", "pred_text", "latency_s", "output_tokens", "finish", "tags.type"),
    "published": (*STATED, "meta.parse_confidence", "task_family", "split", "first_pred_text"),
}


@pytest.mark.parametrize(("place", "key"), [(place, key) for place, keys in ROWS.items() for key in keys])
def test_each_field_of_a_prediction_is_compared_with_the_ledger_or_read_again(root: Path, place: str, key: str) -> None:
    folder = run_of(root) if place == "run" else published(root)
    rows = lines(folder)
    row = next(row for row in rows if row["retry_outcome"] == "VALID_TRUE")
    if key == "first_pred_text":
        row[key] = "TRUE"
    else:
        forge(row, tuple(key.split(".")))
    write_lines(folder, rows)
    if place == "published":
        reseal(folder)
    is_refused(root, folder)


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
    path = next(entry for entry in folder.iterdir() if entry.name.startswith("predictions"))
    believed = [
        replace(row.prediction, outcome=row.stated["outcome"], first=row.stated["first_outcome"])  # type: ignore[arg-type]
        for row in read_rows(path, manifest)
    ]
    body = protocol_of(believed, str(manifest["parser"]), 128)
    metrics = {**read(folder / "metrics.json"), **body}
    manifest["metrics_summary"] = {name: body[name] for name in SUMMARY}
    (folder / "metrics.json").write_text(json.dumps(metrics, sort_keys=True, indent=2, ensure_ascii=False) + "\n")
    (folder / "run_manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    (folder / "summary.md").write_text(summary_page(manifest, metrics))
    if (folder / "publish_receipt.json").is_file():
        reseal(folder)


def make_right(row: Body) -> None:
    if row["correct"] is False and row["retry_outcome"] is None:
        outcome = f"VALID_{row['ground_truth']}"
        row |= {"parsed_label": row["ground_truth"], "outcome": outcome, "correct": True, "first_outcome": outcome}


def move_the_goal(row: Body) -> None:
    if row["correct"] is False:
        row |= {"ground_truth": row["parsed_label"], "correct": True}


@pytest.mark.parametrize("place", ["run", "published"])
@pytest.mark.parametrize("change", [make_right, move_the_goal])
def test_labels_that_are_forged_with_every_number_that_follows_are_seen(
    root: Path, place: str, change: Callable[[Body], None]
) -> None:
    folder = run_of(root) if place == "run" else published(root)
    before = float(str(read(folder / "metrics.json")["balanced_accuracy"]))
    forge_all(folder, change)
    assert float(str(read(folder / "metrics.json")["balanced_accuracy"])) > before
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


def _write(path: Path, body: Body) -> None:
    path.write_text(json.dumps(body, indent=2) + "\n")


def _cut(folder: Path, length: object) -> None:
    """Say in both places of the manifest that texts were cut to that length."""
    for key in ("settings", "budget"):
        _put(folder, key, truncate_pred_text=length)


def _longest(folder: Path) -> int:
    return max(len(str(row["pred_text"])) for row in lines(folder))


def _audited(folder: Path) -> Audit:
    (outcome,) = audit([folder])
    return outcome


@pytest.fixture
def bare(root: Path) -> Path:
    """The published copy without receipt, index and ledger: texts and what is stated of them."""
    folder = Path(shutil.copytree(published(root), root / "bare"))
    (folder / "publish_receipt.json").unlink()
    return folder


def test_a_cut_at_the_longest_text_does_not_switch_off_the_comparison(root: Path, bare: Path) -> None:
    for folder in (published(root), bare):
        _cut(folder, _longest(folder))
        body = read(folder / "metrics.json")
        metrics = body["metrics"]
        assert isinstance(metrics, list)
        parser = read(folder / "run_manifest.json")["parser"]
        forged = [
            one for one in metrics if one["value"] is not None and one["scorer"] == parser and "part" in one["where"]
        ]
        assert len(forged) > 40
        for one in forged:
            one["value"] = 0.999
        _write(folder / "metrics.json", body)
        if folder != bare:
            reseal(folder)
        outcome = _audited(folder)
        assert "chaosbench: metrics recompute" in {check.name for check in outcome.checks if check.differ}


def test_what_shortened_texts_do_not_give_is_named_in_the_verdict(root: Path, bare: Path) -> None:
    _cut(bare, _longest(bare))
    outcome = _audited(bare)
    assert outcome.ok
    left = ["chaosbench: predictions recompute", "chaosbench: metrics recompute"]
    assert [name for name in outcome.not_recomputed if name.startswith("chaosbench")] == left
    assert all(name in outcome.verdict for name in left)


@pytest.mark.parametrize("file", ["metrics.json", "run_manifest.json", "publish_receipt.json"])
@pytest.mark.parametrize("is_cut", [False, True])
def test_a_key_that_nothing_gives_is_a_difference(root: Path, file: str, is_cut: bool) -> None:
    folder = published(root)
    if is_cut:
        _cut(folder, _longest(folder))
    reseal(folder)
    assert not is_seen(folder)
    _write(folder / file, {**read(folder / file), "human_baseline": 0.2})
    if file != "publish_receipt.json":
        reseal(folder)
    assert is_seen(folder)


MANIFESTS: dict[str, Callable[[Path], object]] = {
    **{f"cut to {n!r}": lambda bare, n=n: _cut(bare, n) for n in (0, -1, True, "9", 1.5)},  # type: ignore[misc]
    "cut below the longest": lambda bare: _cut(bare, _longest(bare) - 1),
    **{f"a key in {key}": lambda bare, key=key: _put(bare, key, reviewed_by="NIST")  # type: ignore[misc]
       for key in ("dataset", "items", "code", "tokens", "budget")},
    **{f"{key} is {value!r}": lambda bare, key=key, value=value: _put(bare, "", **{key: value})  # type: ignore[misc]
       for key, value in {"created_utc": "yesterday", "git_commit": "abc", "resumed_from": "another run", "usd": -1.0,
                          "usd_note": 3}.items()},
}  # fmt: skip


def _put(folder: Path, part: str, **values: object) -> None:
    body = read(folder / "run_manifest.json")
    inner = body[part] if part else body
    assert isinstance(inner, dict)
    inner |= values
    _write(folder / "run_manifest.json", body)


@pytest.mark.parametrize("name", MANIFESTS)
def test_every_fact_of_a_manifest_has_its_kind_and_no_other_is_there(bare: Path, name: str) -> None:
    MANIFESTS[name](bare)
    assert is_seen(bare)


def _checks(receipt: Body) -> list[Body]:
    checks = receipt["checks"]
    assert isinstance(checks, list)
    return checks


FORGED: dict[str, Callable[[Body], object]] = {
    "invented": lambda body: _checks(body).append({"check": "peer review", "passed": True, "found": "Nature 2026"}),
    "removed": lambda body: _checks(body).pop(0),
    "swapped": lambda body: _checks(body).reverse(),
    "words": lambda body: _checks(body)[4].update(found="60 rows, confirmed by NIST"),
    "key": lambda body: _checks(body)[4].update(by="NIST"),
    "dataset": lambda body: _checks(body)[0].update(found="0" * 64),
    "prompt": lambda body: _checks(body)[1].update(found="0" * 16),
    "source": lambda body: body.update(source_run_dir="elsewhere"),
    "time": lambda body: body.update(published_utc="never"),
    "skipped": lambda body: body.update(artifacts_skipped=["secrets.txt"]),
}


@pytest.mark.parametrize("name", FORGED)
def test_every_line_of_a_receipt_has_its_source(root: Path, name: str) -> None:
    folder = published(root)
    body = read(folder / "publish_receipt.json")
    FORGED[name](body)
    _write(folder / "publish_receipt.json", body)
    assert is_seen(folder)


@pytest.mark.parametrize("name", ["extra/report.html", "extra/run_me.py", "extra/deep/er", "run_me.py", "items.jsonl"])
def test_no_other_file_is_in_a_published_folder(root: Path, name: str) -> None:
    folder = published(root)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("print(1)")
    path = folder / "publish_receipt.json"
    files = {one.name: digest_file(one) for one in sorted(folder.iterdir()) if one.is_file() and one != path}
    sealed = {"files_sha256": files, "root_sha256": digest(files), "artifacts_copied": list(files)}
    _write(path, {**read(path), **sealed})
    assert is_seen(folder)
    with pytest.raises(AuditFailure):
        _audited(folder).raise_for_failures()


@pytest.mark.parametrize(
    "line",
    [
        "**gpt-9 reaches 99.9 % balanced accuracy.**",
        "| [gpt-9](ghost) | gpt-9 | 5000 | 0.999 | 0.999 | 0.999 | 2026-01-01 |",
        "",
    ],
)
def test_every_line_of_the_index_has_its_source(root: Path, line: str) -> None:
    readme = published(root).parent / "README.md"
    before = readme.read_text()
    readme.write_text(f"{before}{line}\n")
    assert is_seen(published(root))
    readme.write_text(f"{line}\n{before}")
    assert is_seen(published(root))


def test_other_files_beside_texts_without_a_ledger_are_named(bare: Path) -> None:
    (bare / "report.md").write_text("Balanced accuracy: 0.999\n")
    assert "chaosbench: other files" in _audited(bare).not_recomputed


def test_a_published_run_whose_texts_were_cut_is_read_but_not_accepted(root: Path, bare: Path) -> None:
    """As `eval --truncate-pred-text` and `publish-run` write it: the ledger has the texts, the copy has not."""
    rows = lines(published(root))
    for row in rows:
        for key in ("pred_text", "retry_pred_text", "first_pred_text"):
            row[key] = None if row[key] is None else str(row[key])[:4]
    for folder in (bare, published(root)):
        write_lines(folder, rows)
        _cut(folder, 4)
    assert _audited(bare).ok
    folder = published(root)
    reseal(folder)
    shutil.rmtree(bare)
    code, said = chaosbench("analyze-runs", "--runs-dir", folder.parent, "--out-dir", root / "out")
    assert (code, "left out" in said) == (0, True), said
    assert "not recomputed: texts were shortened" in (root / "out" / "summary.json").read_text()
    rows[0]["correct"] = not rows[0]["correct"]
    write_lines(folder, rows)
    reseal(folder)
    assert is_seen(folder)
