"""Large and hostile logs of inspect_ai: read in parts, within stated limits, and no name in them becomes a file."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from perpend._convert import convert
from perpend.errors import DataError
from perpend.importers import zip_members
from perpend.measure.run import Run
from perpend.rows import json_stream
from tests.peak import PEAK_KB
from tests.test_compat_inspect import HEADER, SAMPLE, archive, one, output


def test_names_in_the_archive_never_become_files(tmp_path: Path) -> None:
    path = archive(tmp_path)
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("samples/../../escaped_epoch_1.json", json.dumps({**SAMPLE, "id": "../../etc/passwd"}))
    trial, _, _ = one(Run(convert(path, tmp_path / "folder" / "run")))
    assert trial.item.id == "../../etc/passwd"
    assert {entry.name for entry in tmp_path.rglob("*")} == {"log.eval", "folder", "run", "run.db", "manifest.json"}


def archive_of(path: Path, sample: str, method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method, compresslevel=9) as file:
        file.writestr("header.json", json.dumps(HEADER))
        file.writestr("samples/0_epoch_1.json", sample)
    return path


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_members, "FREE", 1 << 22)
    path = archive_of(tmp_path / "log.eval", json.dumps({**SAMPLE, "store": "x" * (1 << 24)}))
    with pytest.raises(DataError, match=r"log\.eval: unpacks to more than 100 times its size"):
        convert(path, tmp_path / "run")
    assert not (tmp_path / "run").exists()


BOMBS: dict[str, Callable[[], str]] = {
    "lists in a wanted value": lambda: '"metadata": [' + "[]," * 20_000_000 + "[]]",
    "lists in a value that is not wanted": lambda: '"store": [' + "[]," * 20_000_000 + "[]]",
    "objects": lambda: '"metadata": [' + '{"":0},' * 8_000_000 + "{}]",
    "keys": lambda: '"metadata": {' + ",".join(f'"{n}":0' for n in range(1_500_000)) + "}",
    "keys of the sample": lambda: ",".join(f'"{n}":0' for n in range(1_500_000)),
    "a string": lambda: '"store": "' + "x" * 60_000_000 + '"',
    "a wanted string": lambda: '"metadata": "' + "x" * 60_000_000 + '"',
    "a number": lambda: '"metadata": ' + "9" * 30_000_000,
    "levels": lambda: '"metadata": ' + "[" * 2_000_000 + "]" * 2_000_000,
    "levels that are not wanted": lambda: '"store": ' + "[" * 2_000_000 + "]" * 2_000_000,
    "white space": lambda: '"store": ' + " " * 60_000_000 + "1",
}
"""Made when they are tried: together they are half a gigabyte."""
LIMITED = f"""{PEAK_KB}
import sys, time
from pathlib import Path
from perpend._convert import convert
from perpend.errors import DataError
begun = time.process_time()
try:
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
except DataError as error:
    assert sys.argv[1] in str(error)
print(peak_kb() // 1024, time.process_time() - begun)
"""


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_small_archive_takes_neither_memory_nor_time(tmp_path: Path, bomb: str) -> None:
    sample = (
        json.dumps({key: value for key, value in SAMPLE.items() if key != "metadata"})[:-1] + f", {BOMBS[bomb]()}}}"
    )
    path = archive_of(tmp_path / "log.eval", sample)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path), str(tmp_path / "run")], capture_output=True, text=True, check=True
    )
    megabytes, seconds = map(float, done.stdout.split())
    assert megabytes < 300
    assert seconds < 8


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_only_the_two_ways_of_packing_that_logs_use_are_unpacked(tmp_path: Path, method: int) -> None:
    path = archive_of(tmp_path / "log.eval", json.dumps(SAMPLE), method)
    with pytest.raises(DataError, match=r"cannot be unpacked \(compression method"):
        convert(path, tmp_path / "run")


def spoiled_directory(path: Path, place: int, value: bytes) -> Path:
    """The archive with some bytes of the directory's last entry replaced."""
    body = bytearray(archive_of(path, json.dumps(SAMPLE)).read_bytes())
    at = body.rfind(b"PK\x01\x02") + place
    body[at : at + len(value)] = value
    path.write_bytes(body)
    return path


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (24, b"\x05\x00\x00\x00", "CRC"),  # the unpacked size
        (16, b"\x00\x00\x00\x00", "CRC"),
        (8, b"\x01\x00", "encrypted"),
        (42, b"\xff\xff\xff\x7f", "cannot be unpacked"),  # where it begins
        (42, b"\x05\x00\x00\x00", "shares bytes with another member"),
    ],
)
def test_a_directory_that_lies_is_said_so(tmp_path: Path, place: int, value: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        convert(spoiled_directory(tmp_path / "log.eval", place, value), tmp_path / "run")


def test_a_directory_of_a_million_members_is_refused_before_it_is_read(tmp_path: Path) -> None:
    head, entry = b"PK\x03\x04" + bytes(26), b"PK\x01\x02" + bytes(42)
    count = 1_000_000
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 1, 1, len(entry) * count, len(head), 0)
    (tmp_path / "log.eval").write_bytes(head + entry * count + end)
    with pytest.raises(DataError, match="a directory of 46000000 bytes"):
        convert(tmp_path / "log.eval", tmp_path / "run")


def test_a_frame_of_zstandard_that_asks_for_gigabytes_is_refused(tmp_path: Path) -> None:
    body = json.dumps(SAMPLE).encode()
    # A frame with a window of 2 GB and one block that is not packed at all.
    frame = b"\x28\xb5\x2f\xfd\x00" + bytes([21 << 3]) + (1 | len(body) << 3).to_bytes(3, "little") + body
    path = archive_of(tmp_path / "log.eval", "", zipfile.ZIP_STORED)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("header.json", json.dumps(HEADER))
        file.writestr("samples/0_epoch_1.json", frame)
    packed = bytearray(path.read_bytes())
    for mark, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        at = packed.rfind(mark) + place
        packed[at : at + 2] = (93).to_bytes(2, "little")
    path.write_bytes(packed)
    with pytest.raises(DataError, match="requires too much memory"):
        convert(path, tmp_path / "run")


def test_a_sample_that_was_run_again_counts_once_and_is_noted(tmp_path: Path) -> None:
    path = archive_of(tmp_path / "log.eval", json.dumps({**SAMPLE, "input": "before"}))
    with zipfile.ZipFile(path, "a") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file.writestr("samples/0_epoch_1.json", json.dumps(SAMPLE))
    run = Run(convert(path, tmp_path / "run"))
    assert one(run)[0].item.prompt == SAMPLE["input"]
    assert "members of the archive that a later one of the same name replaces" in str(run.manifest.source_of_import)


def test_a_sample_with_more_events_than_fit_into_memory_is_read(tmp_path: Path) -> None:
    events = '{"event": "model", "input": [{"role": "user", "content": "a [long] \\"{text}"}]},' * 900_000
    path = archive_of(tmp_path / "log.eval", json.dumps(SAMPLE)[:-1] + f', "events": [{events} null]}}')
    code = LIMITED + "assert peak_kb() < 150 << 10\n"
    subprocess.run([sys.executable, "-c", code, str(path), str(tmp_path / "run")], capture_output=True, check=True)
    assert one(Run(tmp_path / "run"))[0].item.prompt == SAMPLE["input"]


def test_a_value_without_an_end_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_stream, "LARGEST", 1 << 21)
    path = tmp_path / "log.json"
    path.write_text(json.dumps(HEADER, indent=1)[:-2] + ', "samples": [{"id": "' + "x" * (1 << 23) + '"}]}')
    with pytest.raises(DataError, match="more than 2097152 characters"):
        convert(path, tmp_path / "run")


@pytest.mark.parametrize("chunk", [3, 7, 1 << 20])
def test_a_stream_of_json_says_the_same_as_reading_it_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(json_stream, "_CHUNK", chunk)
    monkeypatch.setattr(json_stream, "_WINDOW", 2)
    body: dict[str, Any] = {
        "a": 123456,
        "é": [1, 'x\\"]'],
        "list": [{"b": -1.5e-7}, None, [], "]"],
        "none": [],
        "z": True,
    }
    path = tmp_path / "x.json"
    for indent in (None, 2):
        path.write_text(json.dumps(body, indent=indent), encoding="utf-8-sig")
        found = list(json_stream.members(path, body, "list", {"b": None}))
        assert [value for key, value in found if key == "list"] == body["list"]
        assert {key: value for key, value in found if key != "list"} == {k: v for k, v in body.items() if k != "list"}
    for text in ("{}", '{"list": []}'):
        path.write_text(text)
        assert list(json_stream.members(path, {}, "list", {})) == []
    for text in ("[1]", '{"a" 1}', '{"a": 1', '{"a": 1]', "{1: 2}", '{"list": [1 2]}', ""):
        path.write_text(text)
        with pytest.raises(DataError, match="not JSON"):
            list(json_stream.members(path, {"a": None}, "list", {}))


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
