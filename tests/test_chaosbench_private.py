"""A private set: the same bytes from the same key, no question of the public set, and the key in no file or line."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from perpend.errors import SpecError, StoreError
from perpend.studies.logic.chaos.questions import items
from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.data import bundles as data
from perpend.studies.logic.chaos.questions.plain import plain_text
from perpend.studies.logic.chaos.questions.world import sources
from perpend.studies.logic.chaosbench import private
from perpend.studies.logic.chaosbench.card import CARD, CROISSANT, described
from perpend.studies.logic.chaosbench.items import Record
from perpend.studies.logic.chaosbench.packaged import files_of
from tests.test_chaosbench_items import chaosbench

KEY, OTHER = "0123456789abcdef" * 2, "fedcba9876543210" * 2
Families = dict[str, list[Record]]


@pytest.fixture(scope="module")
def public() -> Families:
    """The public set of the stratum that is made fastest; that a key changes each other is tried beside its own."""
    return items.build(sources(), (data.bundles,))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private, "build", partial(items.build, makers=(data.bundles,)))


def texts(families: Families) -> set[str]:
    return {plain_text(str(record["question"])) for records in families.values() for record in records}


def test_a_key_makes_the_same_set_and_another_key_another(public: Families) -> None:
    one, again, other = (private.private_families(key, public) for key in (KEY, KEY, OTHER))
    assert one == again
    assert not texts(one) & texts(public)
    assert not texts(one) & texts(other)
    records = [record for records in one.values() for record in records]
    assert {record["split"] for record in records} == {private.SPLIT}
    share = len(records) / sum(map(len, public.values()))
    assert 0.2 < share < 0.4
    assert set(one) == set(public)


def test_a_text_of_the_public_set_is_left_out_with_its_bundle(public: Families) -> None:
    fresh = items.build(sources(Chance(f"private {KEY}")), (data.bundles,))
    # As if the public set had had one of its questions.
    family, asked = next((name, record) for name in fresh for record in fresh[name] if record["split"] == "test")
    left = private.private_families(KEY, {**public, family: [*public[family], asked]})
    assert asked["question"] not in {record["question"] for record in left[family]}
    assert asked["pair"] not in {record["pair"] for record in left[family]}
    assert len(left[family]) > 100, "and its bundle alone"


def test_the_command_prints_the_digest_and_never_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, public: Families
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(private, "private_families", partial(private.private_families, public=public))
    (tmp_path / "key.txt").write_text(f"{KEY}\n")
    code, said = chaosbench("private", "--key-file", "key.txt")
    assert code == 0, said
    digest = said.splitlines()[-1]
    assert digest.startswith("global_sha256: ")
    assert not (tmp_path / "out").exists()
    monkeypatch.setenv(private.KEY_ENV, KEY)
    code, again = chaosbench("private", "--out", "out")
    assert digest in again
    written = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert all(KEY not in path.read_text() for path in written)
    assert KEY not in said + again
    assert chaosbench("private", "--out", "out")[0] == 0
    code, said = chaosbench(
        "eval", "--provider", "mock", "--dataset", "out/data/canonical_v2_files.json", "--limit", "5", "--quiet"
    )
    assert code == 0, said
    (run,) = (tmp_path / "runs").iterdir()
    assert json.loads((run / "run_manifest.json").read_text())["dataset_global_sha256"] == digest.split()[1]
    (tmp_path / "out" / "mine.txt").write_text("mine")
    with pytest.raises(StoreError, match=r"holds mine\.txt"):
        private.write_private(KEY, tmp_path / "out")


@pytest.mark.parametrize("key", ["", "brief!", "x" * 31, " " * 40])
def test_a_short_key_is_refused_without_being_shown(key: str, tmp_path: Path) -> None:
    (tmp_path / "key.txt").write_text(key)
    with pytest.raises(SpecError, match="32 characters") as refused:
        private.read_key(tmp_path / "key.txt")
    assert not key.strip() or key not in str(refused.value)


def test_a_key_that_cannot_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(private.KEY_ENV, raising=False)
    with pytest.raises(SpecError, match=r"none\.txt"):
        private.read_key(tmp_path / "none.txt")
    with pytest.raises(SpecError, match="give --key-file"):
        private.read_key(None)


def test_the_card_and_the_metadata_say_what_the_files_hold(public: Families) -> None:
    made = files_of(public)
    about = described(public, made)
    card, body = about[CARD], json.loads(about[CROISSANT])
    total = sum(map(len, public.values()))
    assert f"{total} items" in card
    for words in ("CC BY 4.0", "## Errata", "## Known limits", items.CANARY, "| data |", "| train |"):
        assert words in card, words
    files = {entry["@id"]: entry for entry in body["distribution"]}
    assert set(files) == {f"data/{family}.jsonl" for family in public}
    assert all(len(entry["sha256"]) == 64 and entry["sha256"] in card for entry in files.values())
    assert body["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    assert body["license"].startswith("https://creativecommons.org/licenses/by/4.0")
    assert {record["name"] for record in body["recordSet"]} == set(public)
    assert all(items.CANARY in line for path, text in made.items() if path.endswith("l") for line in text.splitlines())
    assert about == described(public, made)
