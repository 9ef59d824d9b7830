"""Item files, their digests and where they are found."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from perpend.cli.chaosbench import cli
from perpend.errors import DataError, PerpendError
from perpend.studies.logic.chaosbench.sets import (
    FileDigest,
    MissingDataError,
    counted,
    global_sha256,
    ids_hash,
    label_of,
    lines_of,
    load_records,
    normalised,
    open_source,
    read_selector,
    to_item,
    write_records,
)

PREDICATES = ("chaotic", "periodic", "bounded", "mixing")


def record(number: int, family: str = "atomic", **more: str) -> dict[str, str]:
    """One item: families share the twelve systems, and labels follow no tag."""
    system, predicate = number % 12, PREDICATES[number // 12 % 4]
    truth = "TRUE" if int(hashlib.sha256(f"{family}{number}".encode()).hexdigest(), 16) % 2 else "FALSE"
    return {
        "id": f"{family}_{number:04}",
        "question": f"With a = {number / 8:g}, is the Rössler-{system} system {predicate}?",
        "ground_truth": truth,
        "type": family,
        "system_id": f"sys{system}",
        "template": f"T{number % 3}",
        "predicate": predicate,
        "group": f"{family}-{number // 2}",
        "split": "core",
        **more,
    }


def data_set(root: Path, families: Sequence[str] = ("atomic", "multi_hop"), count: int = 60) -> Path:
    """A small canonical set below a folder, with a selector and a subset of 20 items; returns the folder."""
    for family in families:
        write_records(root / "data" / f"v22_{family}.jsonl", [record(n, family) for n in range(count)])
    listed = [f"data/v22_{family}.jsonl" for family in families]
    selector = {"schema_version": "v2", "description": "a small set", "files": listed}
    (root / "data" / "canonical_v2_files.json").write_text(json.dumps(selector))
    few = [record(n, families[n % len(families)]) for n in range(20)]
    write_records(root / "data" / "subsets" / "few.jsonl", few)
    return root


def chaosbench(*arguments: str | Path) -> tuple[int, str]:
    """The exit code and everything that was printed, as `main` would have it."""
    done = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    if isinstance(done.exception, PerpendError):
        return done.exception.exit_code, f"{done.output}\nerror: {done.exception}"
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def without(body: Mapping[str, object], *keys: str) -> dict[str, object]:
    return {key: value for key, value in body.items() if key not in keys}


def test_a_line_is_ascii_and_ends_in_one_line_feed(tmp_path: Path) -> None:
    write_records(tmp_path / "items.jsonl", [record(1)])
    data = (tmp_path / "items.jsonl").read_bytes()
    assert data.isascii()
    assert data.endswith(b'"split": "core"}\n')
    assert data.count(b"\n") == 1
    assert b"R\\u00f6ssler" in data
    assert load_records([tmp_path / "items.jsonl"]) == [record(1)]
    assert lines_of([{"id": "a", "_note": "x"}]) == '{"id": "a"}\n'


def test_a_record_becomes_an_item_and_a_tag_that_is_no_text_its_json() -> None:
    item = to_item({**record(3), "hops": 2}, "here")
    assert (item.id, item.target, item.tags["predicate"]) == ("atomic_0003", record(3)["ground_truth"], "chaotic")
    assert item.tags["hops"] == "2"


def test_labels_are_read_in_any_case() -> None:
    assert {label_of({"answer": word}) for word in ("yes", "Y", " TRUE ", "t")} == {"TRUE"}
    assert normalised("maybe") is None


def test_an_item_without_a_label_names_its_place() -> None:
    with pytest.raises(DataError, match="here.*'MAYBE'"):
        to_item({**record(1), "ground_truth": "MAYBE"}, "here")


def test_an_id_that_is_missing_or_occurs_twice_is_an_error_with_its_places(tmp_path: Path) -> None:
    for rows, told in (
        ([record(1), record(1)], r"jsonl:2: .*jsonl:1 already"),
        ([without(record(1), "id")], "missing"),
    ):
        write_records(tmp_path / "items.jsonl", rows)  # type: ignore[arg-type]
        with pytest.raises(DataError, match=told):
            load_records([tmp_path / "items.jsonl"])


def test_the_global_digest_is_over_sorted_lines_of_path_digest_and_count() -> None:
    files = [FileDigest("data/b.jsonl", 2, "bb"), FileDigest("data/a.jsonl", 1, "aa")]
    assert global_sha256(files) == hashlib.sha256(b"data/a.jsonl:aa:1\ndata/b.jsonl:bb:2\n").hexdigest()
    assert global_sha256(files, legacy=True) == hashlib.sha256(b"data/a.jsonl:aa\ndata/b.jsonl:bb\n").hexdigest()


def test_blank_lines_are_not_counted_and_the_digest_of_ids_is_blind_to_their_order(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "1"}\n\n  \n{"id": "2"}\n')
    assert counted(tmp_path / "a.jsonl")[0] == 2
    assert ids_hash(["b", "a"]) == hashlib.sha256(b"a|b").hexdigest()[:16]


def test_a_selector_finds_its_files_from_any_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = data_set(tmp_path / "set")
    monkeypatch.chdir(tmp_path)
    selector = read_selector(root / "data" / "canonical_v2_files.json")
    assert selector.base == root.absolute()
    assert len(selector.records) == 120
    with pytest.raises(MissingDataError, match="no such selector"):
        read_selector(Path("nowhere.json"))


def test_a_subset_knows_the_canonical_set_around_it_and_why_it_is_none_of_it(tmp_path: Path) -> None:
    root = data_set(tmp_path)
    path = root / "data" / "subsets" / "few.jsonl"
    source = open_source(path, "canonical")
    assert (source.path, source.note) == ("data/subsets/few.jsonl", "")
    assert source.global_sha256 == global_sha256(read_selector(root / "data/canonical_v2_files.json").digests)
    path.write_text(path.read_text().replace("chaotic", "Chaotic", 1))
    source = open_source(path, "canonical")
    assert source.global_sha256 is None
    assert "1 of 20 items are not in the canonical set" in source.note
    (root / "data" / "v22_multi_hop.jsonl").unlink()
    source = open_source(path, "canonical")
    assert source.global_sha256 is None
    assert "1 of 2 files are missing, as data/v22_multi_hop.jsonl" in source.note
    assert str(tmp_path) not in source.note
