"""What we write in every_eval_ever's shared schema is valid by that schema."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from perpend.report.every_eval_ever import write_records
from tests.attack.conftest import Copied, copied, source
from tests.source_files import SOURCES
from tests.test_import_sources import PUBLIC, imported

__all__ = ["copied", "source"]
SCHEMAS = PUBLIC / "every_eval_ever" / "every_eval_ever" / "schemas"
pytestmark = pytest.mark.skipif(not SCHEMAS.is_dir(), reason="the published files (../shared/data/public) are absent")


def valid(text: str, schema: str) -> None:
    jsonschema.validate(json.loads(text), json.loads((SCHEMAS / schema).read_text(encoding="utf-8")))


def test_a_record_is_valid_by_the_schema_of_every_eval_ever(copied: Copied) -> None:
    for folder in (copied("published/swayed"), copied("published/tastes")):
        for path in (folder / "every_eval_ever").iterdir():
            valid(path.read_text(encoding="utf-8"), "eval.schema.json")


@pytest.mark.parametrize("name", ["helm", "evals", "judged", "dialogues", "solutions"])
def test_exported_records_and_their_samples_are_valid(name: str, tmp_path: Path) -> None:
    run = imported(SOURCES[name](tmp_path / "source"), tmp_path / "run")
    run.score()
    for path in write_records(run, tmp_path / "records"):
        valid(path.read_text(encoding="utf-8"), "eval.schema.json")
        for line in path.with_name(f"{path.stem}_samples.jsonl").read_text(encoding="utf-8").splitlines():
            valid(line, "instance_level_eval.schema.json")
