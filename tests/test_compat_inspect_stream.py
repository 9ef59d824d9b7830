"""Large and hostile logs of inspect_ai: read in parts, within stated limits, and no name in them becomes a file."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from perpend._convert import convert
from perpend.errors import DataError
from perpend.importers import json_stream, zip_members
from perpend.measure.run import Run
from tests.peak import PEAK_KB
from tests.test_compat_inspect import HEADER, SAMPLE, archive, one, output


def test_names_in_the_archive_never_become_files(tmp_path: Path) -> None:
    path = archive(tmp_path)
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("samples/../../escaped_epoch_1.json", json.dumps({**SAMPLE, "id": "../../etc/passwd"}))
    trial, _, _ = one(Run(convert(path, tmp_path / "folder" / "run")))
    assert trial.item.id == "../../etc/passwd"
    assert {entry.name for entry in tmp_path.rglob("*")} == {"log.eval", "folder", "run", "run.db", "manifest.json"}


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive(tmp_path, {"input": "x" * 100_000})
    monkeypatch.setattr(zip_members, "LARGEST", 50_000)
    with pytest.raises(DataError, match="unpacks to more than 50000 bytes"):
        convert(path, tmp_path / "run")
    monkeypatch.undo()
    monkeypatch.setattr(zip_members, "LARGEST_SUM", 50_000)
    with pytest.raises(DataError, match="unpacks to more than 50000 bytes"):
        convert(path, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_value_without_an_end_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_stream, "LARGEST", 1 << 21)
    path = tmp_path / "log.json"
    path.write_text(json.dumps(HEADER, indent=1)[:-2] + ', "samples": [{"id": "' + "x" * (1 << 23) + '"}]}')
    with pytest.raises(DataError, match="more than 2097152 characters"):
        convert(path, tmp_path / "run")


def test_json_that_breaks_off_is_told_where(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps({**HEADER, "samples": [SAMPLE]}, indent=1)[:-40])
    with pytest.raises(DataError, match=r"not JSON: .* at character \d+"):
        convert(path, tmp_path / "run")


def test_a_stream_of_json_says_the_same_as_reading_it_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "_CHUNK", 3)
    body = {"a": 123456, "é": [1, 'x\\"]'], "list": [{"b": -1.5e-7}, None, [], "]"], "none": [], "z": True}
    path = tmp_path / "x.json"
    for indent in (None, 2):
        path.write_text(json.dumps(body, indent=indent), encoding="utf-8-sig")
        found = list(json_stream.members(path, "list"))
        assert [value for key, value in found if key == "list"] == body["list"]
        assert {key: value for key, value in found if key != "list"} == {k: v for k, v in body.items() if k != "list"}
    for text in ("{}", '{"list": []}'):
        path.write_text(text)
        assert list(json_stream.members(path, "list")) == []
    for text in ("[1]", '{"a" 1}', '{"a": 1', '{"a": 1]', "{1: 2}", '{"list": [1 2]}', ""):
        path.write_text(text)
        with pytest.raises(DataError, match="not JSON"):
            list(json_stream.members(path, "list"))


PEAK = f"""{PEAK_KB}
import sys
from pathlib import Path
from perpend._convert import convert
convert(Path(sys.argv[1]), Path(sys.argv[2]))
print(peak_kb())
"""


def many(count: int) -> Iterator[dict[str, object]]:
    """Samples as large as real ones: a conversation, and the events that make up most of a log."""
    for n in range(count):
        asked = {"role": "user", "content": f"What is {n} + {n}? " + "Think it over. " * 20}
        yield {
            **SAMPLE,
            "id": f"q{n}",
            "input": asked["content"],
            "target": str(2 * n),
            "messages": [asked, {"role": "assistant", "content": str(2 * n)}],
            **output(str(2 * n), usage={"input_tokens": 90, "output_tokens": 2}),
            "events": [{"event": "model", "n": k, "input": [asked], "at": "2026-01-01"} for k in range(8)],
        }


@pytest.mark.parametrize("form", ["eval", "json"])
def test_20_000_samples_are_read_within_300_megabytes(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"log.{form}"
    if form == "eval":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
            for sample in many(20_000):
                file.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
            file.writestr("header.json", json.dumps(HEADER))
    else:
        with path.open("w") as text:
            text.write(json.dumps(HEADER)[:-1] + ', "samples": [')
            for n, sample in enumerate(many(20_000)):
                text.write((",\n" if n else "\n") + json.dumps(sample))
            text.write("]}")
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(path), str(tmp_path / "run")], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) * 1024 <= 300_000_000
    run = Run(tmp_path / "run")
    assert len(run.table) == 20_000
    assert run["stored_match"].rate().value == 1.0
