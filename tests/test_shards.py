"""Shards: however a run is cut, killed and put together, it is the run that one process would have made."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import perpend as pp
from perpend.ask.merging import Merged
from perpend.ask.merging import merge as merge_shards
from perpend.ask.sharding import place_shard
from perpend.cli import cli
from perpend.errors import SpecError, StoreError
from perpend.ledger.digest import content_digest
from perpend.ledger.journal import noted_spent
from perpend.ledger.manifest import read_manifest
from perpend.ledger.shards import Shard, parse_shard, shard_folders
from perpend.ledger.snapshot import snapshot
from perpend.ledger.store import Store

ITEMS, CONDITIONS, MODELS, TEMPERATURES, REPEATS = 7, 2, 2, 2, 2
TRIALS = ITEMS * CONDITIONS * MODELS * TEMPERATURES * REPEATS


def items(folder: Path, count: int = ITEMS) -> Path:
    path = folder / "items.jsonl"
    rows = [
        {"id": f"item-{n}", "prompt": f"Is {n} even?", "target": "yes" if n % 2 == 0 else "no", "decoy": "perhaps"}
        for n in range(count)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def ask(out: Path, shard: str | None = None, *, most: int | None = None, scratch: Path | None = None) -> pp.Run:
    """The study of this file, or one part of it, with at most so many requests."""
    out.mkdir(parents=True, exist_ok=True)
    path = out.parent / "items.jsonl"
    return pp.evaluate(
        pp.task(
            "conformity", items=path if path.exists() else items(out.parent), conditions=["control", "asch_history_5"]
        ),
        [pp.model("mock/subject", sway=0.4), pp.model("mock/subject", label="other", sway=0.1)],
        temperature=[0.0, 0.7],
        repeats=REPEATS,
        name="study",
        out=out,
        shard=shard,
        scratch=scratch,
        limits=pp.Limits(max_requests=most),
        quiet=True,
    )


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run as one process makes it."""
    return ask(tmp_path_factory.mktemp("one") / "runs").directory


def test_blocks_are_shared_out_once_and_evenly() -> None:
    for models, count, of in ((1, 1, 1), (3, 7, 4), (2, 5, 64), (5, 1, 3), (1, 1000, 64)):
        blocks = []
        sizes = []
        for number in range(1, of + 1):
            spans = [Shard(number, of).items_of(model, models, count) for model in range(models)]
            own = [(m, n) for m, (first, last) in enumerate(spans) for n in range(first, last + 1)]
            blocks += own
            sizes.append(len(own))
        assert blocks == [(m, n) for m in range(models) for n in range(1, count + 1)]
        assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("written", ["0/8", "9/8", "3", "3/", "a/b", "1/0", "-1/2", "1/2/3", ""])
def test_what_is_no_shard_is_refused(written: str) -> None:
    with pytest.raises(SpecError, match="write k/N"):
        parse_shard(written)


def test_a_shard_has_the_numbers_of_the_whole_plan_and_the_manifest_of_all(one: Path, tmp_path: Path) -> None:
    whole_run = ask(tmp_path / "runs", "2/3").directory
    other = ask(tmp_path / "runs", "3/3").directory
    assert whole_run.name == "0002-of-0003"
    assert (whole_run / "manifest.json").read_bytes() == (other / "manifest.json").read_bytes()
    assert read_manifest(whole_run).trials == TRIALS
    with snapshot(one / "run.db") as plan, snapshot(whole_run / "run.db") as part:
        planned, own = {row[0]: row for row in plan.trials()}, list(part.trials())
        assert [planned[row[0]] for row in own] == own
        blocks = {(row[3], row[1]) for row in own}
        assert len(own) == len(blocks) * CONDITIONS * TEMPERATURES * REPEATS
        assert {row[0] for row in part.numbered_items()} == {row[1] for row in own}
    assert not list(whole_run.glob("run.db-*"))


@settings(max_examples=8)
@given(data=st.data())
def test_any_partition_killed_anywhere_and_merged_in_any_order_is_the_same_run(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory, one: Path
) -> None:
    out = tmp_path_factory.mktemp("many") / "runs"
    run = out / "study"
    of = data.draw(st.integers(1, 9), "shards")
    copies: list[Path] = []
    for number in data.draw(st.permutations(range(1, of + 1)), "order of asking"):
        scratch = out.parent / "scratch" if data.draw(st.booleans(), "on scratch") else None
        for most in data.draw(st.lists(st.integers(1, 40), max_size=2), "stopped after"):
            with_limit = ask(out, f"{number}/{of}", most=most, scratch=scratch).directory
            if data.draw(st.booleans(), "an old copy is kept"):
                copies.append(Path(shutil.copytree(with_limit, out.parent / f"copy-{len(copies)}")))
        if data.draw(st.booleans(), "the scratch disk is lost"):
            shutil.rmtree(out.parent / "scratch", ignore_errors=True)
        ask(out, f"{number}/{of}", scratch=scratch)
    folders = [folder for some in shard_folders(run).values() for folder in some]
    given_now = data.draw(st.permutations([*folders, *copies, *folders[:2]]), "order of merging")
    cut = data.draw(st.integers(0, len(given_now)), "merged first")
    if given_now[:cut]:
        merge_shards(run, given_now[:cut])
    merged = merge_shards(run, given_now)
    assert merged.digest == content_digest(one)
    assert (merged.planned, merged.answered, merged.missing) == (TRIALS, TRIALS, ())
    again = merge_shards(run)
    assert (again.added, again.digest) == (0, merged.digest)
    assert sum(spent.requests for spent in noted_spent(run).values()) == TRIALS
    assert not list(run.glob("*tmp*"))


def test_64_shards_and_one_process_give_the_same_numbers_and_the_same_published_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The clock stands still: times are all that is published and that another run would have otherwise.
    monkeypatch.setattr("time.time", lambda: 1_700_000_000.0)
    monkeypatch.setattr("perpend.ask.task.now", lambda: "2026-01-01T00:00:00+00:00")
    first = ask(tmp_path / "one" / "runs").directory
    for number in random.Random(1).sample(range(1, 65), 64):
        ask(tmp_path / "many" / "runs", f"{number}/64")
    many = pp.merge(tmp_path / "many" / "runs" / "study").directory
    assert content_digest(many) == content_digest(first)
    assert (many / "metrics.json").read_bytes() == (first / "metrics.json").read_bytes()
    published = [pp.publish(run, run.parent.parent / "published", figures=False)[0].folder for run in (first, many)]
    files = [
        {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in published
    ]
    assert files[0] == files[1]
    pp.audit(published[1]).raise_for_failures()


def test_a_shard_that_is_killed_is_resumed_and_nothing_is_lost(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import time\n\n\ndef answer(prompt: str) -> str:\n    time.sleep(0.01)\n    return prompt[-9:]\n"
    )
    items(tmp_path, 40)
    words = [
        "eval",
        "--task",
        "questions",
        "--items",
        "items.jsonl",
        "--model",
        "callable/slow.py:answer",
        "--name",
        "study",
    ]

    def start(*more: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", "from perpend.cli import main; main()", *words, "--quiet", *more]
        return subprocess.Popen(command, cwd=tmp_path, env=dict(os.environ), stderr=subprocess.PIPE)

    folder = tmp_path / "runs" / "study" / "shards" / "0001-of-0002"
    with start("--shard", "1/2") as process:
        while process.poll() is None and not (folder / "manifest.journal").exists():
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    for number in (1, 2):
        with start("--shard", f"{number}/2") as process:
            _, error = process.communicate(timeout=60)
            assert process.returncode == 0, error
    with start("--out", "alone") as process:
        assert process.wait(timeout=60) == 0
    merged = merge_shards(tmp_path / "runs" / "study")
    assert merged.digest == content_digest(tmp_path / "alone" / "study")


def test_missing_shards_are_named_and_can_be_asked_by_the_run_itself(tmp_path: Path, one: Path) -> None:
    out = tmp_path / "runs"
    for number in (1, 2, 4, 5, 6, 8):
        ask(out, f"{number}/8")
    with pytest.raises(StoreError, match="perpend merge"):
        ask(out)
    merged = merge_shards(out / "study")
    assert merged.missing_words() == "shards 3 and 7 of 8 are not there"
    assert merged.answered < TRIALS
    ask(out, "3/8")
    assert merge_shards(out / "study").missing_words() == "shard 7 of 8 is not there"
    assert ask(out).status()["answered"] == TRIALS
    assert content_digest(out / "study") == content_digest(one)
    assert merge_shards(out / "study").missing == ()
    assert ask(out, "3/8").status()["answered"]  # it has every answer of its own; nothing is asked
    with pytest.raises(StoreError, match="without --shard"):
        ask(out, "7/8")


def test_what_the_run_has_answered_itself_no_shard_asks_again(tmp_path: Path) -> None:
    """A shard was stopped and merged, and the run went on without shards: the shard's own ledger lacks answers."""
    out = tmp_path / "runs"
    ask(out, "1/2", most=5)
    merge_shards(out / "study")
    ask(out, "1/2", most=7)  # the run has nothing that the shard does not have
    ask(out, most=20)
    merged = content_digest(out / "study")
    with pytest.raises(StoreError, match="without --shard"):
        ask(out, "1/2")
    assert ask(out).status()["answered"] == TRIALS
    assert content_digest(out / "study") != merged


@pytest.mark.parametrize(("first", "second"), [("1/2", "1/3"), ("3/3", "2/2"), ("1/2", "2/3")])
def test_shards_of_another_cut_that_have_the_same_trials_are_refused_before_they_ask(
    tmp_path: Path, first: str, second: str
) -> None:
    out = tmp_path / "runs"
    ask(out, first, most=5)
    with pytest.raises(StoreError, match=rf"shard {first} .* use --shard k/{first[-1]}"):
        ask(out, second)
    assert len(shard_folders(out / "study")) == 1
    assert merge_shards(out / "study").asked == 5


def test_shards_of_another_cut_that_have_other_trials_are_asked(tmp_path: Path, one: Path) -> None:
    out = tmp_path / "runs"
    for part in ("1/2", "3/4", "4/4"):
        ask(out, part)
    assert merge_shards(out / "study").digest == content_digest(one)


def test_a_few_shards_can_be_merged_elsewhere_only_with_the_items_of_all(tmp_path: Path, one: Path) -> None:
    folders = [ask(tmp_path / "runs", f"{number}/4").directory for number in (1, 2, 3, 4)]
    away = [Path(shutil.copytree(folder, tmp_path / f"node-{n}" / folder.name)) for n, folder in enumerate(folders)]
    with pytest.raises(StoreError, match="items.jsonl.gz"):
        merge_shards(tmp_path / "elsewhere", away[:1])
    assert not (tmp_path / "elsewhere").exists()
    assert merge_shards(tmp_path / "elsewhere", away).digest == content_digest(one)


def changed(folder: Path, sql: str) -> None:
    with sqlite3.connect(folder / "run.db") as db:
        for trigger in ("response_is_a_fact", "response_stays"):
            (kept,) = db.execute("SELECT sql FROM sqlite_master WHERE name = ?", (trigger,)).fetchone()
            db.execute(f"DROP TRIGGER {trigger}")
            if trigger == "response_is_a_fact":
                db.execute(sql)
            db.execute(kept)


@pytest.mark.parametrize(
    ("column", "value"),
    [("text", "'forged'"), ("finish", "'length'"), ("request_sha256", "zeroblob(32)"), ("usage", "NULL")],
)
def test_a_shard_that_answers_otherwise_is_refused_with_what_differs(tmp_path: Path, column: str, value: str) -> None:
    shard = ask(tmp_path / "runs", "1/2").directory
    other = Path(shutil.copytree(shard, tmp_path / "other" / shard.name))
    changed(other, f"UPDATE response SET {column} = {value} WHERE trial = 3")
    run = tmp_path / "runs" / "study"
    merge_shards(run)
    before = content_digest(run)
    with pytest.raises(StoreError) as error:
        merge_shards(run, [other])
    assert "trial 3 (item 'item-0', condition 'asch_history_5', model 'mock/subject'), turn 0, attempt 0" in str(
        error.value
    )
    assert f"{column}: " in str(error.value)
    assert content_digest(run) == before
    with pytest.raises(StoreError, match="nothing was merged"):
        merge_shards(tmp_path / "new", [shard, other])
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("shard", [(1, 2), 1])
def test_in_python_a_shard_is_written_as_a_text(tmp_path: Path, shard: object) -> None:
    with pytest.raises(SpecError, match="write k/N"):
        ask(tmp_path / "runs", shard)  # type: ignore[arg-type]  # what is refused


def test_in_python_one_path_is_one_shard(tmp_path: Path) -> None:
    shard = ask(tmp_path / "runs", "1/1").directory
    assert pp.merge(tmp_path / "merged", str(shard)).status()["answered"] == TRIALS


def test_times_that_differ_are_no_conflict(tmp_path: Path) -> None:
    shard = ask(tmp_path / "runs", "1/2").directory
    other = Path(shutil.copytree(shard, tmp_path / "other" / shard.name))
    changed(other, "UPDATE response SET ms = 9, at = 9")
    merged = merge_shards(tmp_path / "runs" / "study", [shard, other])
    assert merged.digest == merge_shards(tmp_path / "runs" / "study", [other]).digest


def test_a_shard_of_another_run_is_refused_with_what_differs(tmp_path: Path) -> None:
    ask(tmp_path / "runs", "1/2")
    (tmp_path / "b").mkdir()
    items(tmp_path / "b", ITEMS + 1)
    foreign = ask(tmp_path / "b" / "runs", "2/2").directory
    with pytest.raises(StoreError, match="items.n: 7 → 8"):
        merge_shards(tmp_path / "runs" / "study", [tmp_path / "runs/study/shards/0001-of-0002", foreign])
    assert not (tmp_path / "runs" / "study" / "run.db").exists()


def test_a_shard_that_would_ask_something_else_than_the_others_is_refused(tmp_path: Path) -> None:
    ask(tmp_path / "runs", "1/2")
    items(tmp_path, ITEMS + 1)
    for part in ("2/2", "1/3"):
        with pytest.raises(StoreError, match="items.n: 7 → 8"):
            ask(tmp_path / "runs", part)
    merge_shards(tmp_path / "runs" / "study")
    with pytest.raises(StoreError, match="items.n: 7 → 8"):
        ask(tmp_path / "runs", "1/3")


def test_a_shard_has_no_numbers_and_a_rule_no_shards(tmp_path: Path) -> None:
    run = ask(tmp_path / "runs", "1/2")
    for look in (run.score, lambda: run["correct"], lambda: pp.audit(run.directory).raise_for_failures()):
        with pytest.raises(pp.PerpendError):
            look()
    with pytest.raises(StoreError, match="perpend merge RUN"):
        run.score()
    with pytest.raises(SpecError, match="stopping rule"):
        pp.evaluate(
            pp.task("questions", items=items(tmp_path)),
            "mock/true",
            stop_when="width(correct) < 0.05",
            shard="1/2",
            out=tmp_path,
        )


def test_a_placed_shard_is_immutable_named_by_its_content_and_where_the_next_begins(tmp_path: Path) -> None:
    out, scratch = tmp_path / "runs", tmp_path / "scratch"
    early = ask(out, "1/2", most=5, scratch=scratch).directory
    assert early.name == f"0001-of-0002-{content_digest(early)[:12]}"
    assert not (early / "run.db").stat().st_mode & 0o222
    with sqlite3.connect(f"file:{early / 'run.db'}?immutable=1", uri=True) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() != ("wal",)
    shutil.rmtree(scratch)
    late = ask(out, "1/2", scratch=scratch).directory
    assert late != early
    assert not early.exists()
    assert sum(spent.requests for spent in noted_spent(late).values()) == TRIALS / 2
    assert place_shard(scratch / "study" / "0001-of-0002", out / "study") == late


def test_an_older_scratch_begins_from_the_newer_copy(tmp_path: Path) -> None:
    out, here, there = tmp_path / "runs", tmp_path / "here", tmp_path / "there"
    ask(out, "1/2", most=5, scratch=here)
    late = ask(out, "1/2", scratch=there).directory
    assert ask(out, "1/2", scratch=here).directory == late
    assert content_digest(here / "study" / "0001-of-0002") == content_digest(late)


def test_a_merge_that_fails_half_way_leaves_the_run_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, run = tmp_path / "runs", tmp_path / "runs" / "study"
    for number in (1, 2):
        ask(out, f"{number}/2")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("perpend.ask.merging.add_spent", killed)
        with pytest.raises(KeyboardInterrupt):
            merge_shards(run)
    assert merge_shards(run).answered == TRIALS
    assert sum(spent.requests for spent in noted_spent(run).values()) == TRIALS
    with Store.open(run / "run.db") as store:
        assert store.lost() == 0


@pytest.mark.parametrize("spent", [[None, 0, 0, 0], [1], [-1, 0, 0, 0], "many"])
def test_what_a_merged_shard_has_spent_is_never_read_as_nothing(tmp_path: Path, spent: object) -> None:
    run = ask(tmp_path, "1/2").directory.parent.parent
    merge_shards(run)
    known = json.loads((run / "merged.json").read_text())
    known["shards"]["1/2"] = dict.fromkeys(known["shards"]["1/2"], spent)
    (run / "merged.json").write_text(json.dumps(known))
    with pytest.raises(StoreError, match=r"merged.json: what .* has spent cannot be read"):
        merge_shards(run)


def test_what_a_merge_says() -> None:
    merged = Merged(Path("run"), 1, 1, 10, 4, 3, tuple(Shard(n, 40) for n in range(2, 41)), "0" * 64)
    assert merged.as_text() == "1 shard merged, 1 response added; 3 of 10 trials answered, 1 failed, 6 not asked yet."
    assert merged.missing_words() == "shards 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 and 27 more of 40 are not there"


def test_a_run_keeps_its_name_wherever_it_is_merged(tmp_path: Path) -> None:
    for shard in ("1/2", "2/2"):
        ask(tmp_path / "runs", shard)
    folders = [folder for some in shard_folders(tmp_path / "runs" / "study").values() for folder in some]
    elsewhere = tmp_path / "elsewhere"
    merge_shards(elsewhere, folders)
    run = pp.Run(elsewhere)
    run.score()
    assert pp.audit(elsewhere).ok
    pp.publish(run, to=tmp_path / "published", figures=False)
    assert pp.audit(tmp_path / "published").ok


def test_shards_that_are_not_merged_are_named_by_every_verb(tmp_path: Path) -> None:
    ask(tmp_path / "runs", "1/2")
    run = tmp_path / "runs" / "study"
    for words in (
        ["show"],
        ["audit"],
        ["view", "--out", str(tmp_path / "page.html")],
        ["compare", str(run)],
        ["score"],
    ):
        done = CliRunner().invoke(cli, [words[0], str(run), *words[1:]])
        assert "were not put together yet; 'perpend merge' does it" in str(done.exception), words
    with pytest.raises(StoreError, match="part 1/2 of a run"):
        pp.publish(run / "shards" / "0001-of-0002", to=tmp_path / "published")
