"""Stopping early: the rule's language, the looks of a run, what is shown, published and audited of them."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import perpend as pp
from perpend.ask.looking import LookPlan, scored_items
from perpend.cli import cli
from perpend.errors import DataError, ModelError, SpecError, StoreError
from perpend.ledger.manifest import read_manifest
from perpend.ledger.stopping import StopFacts, StopLook, read_looks, seeded_place, stop_facts
from perpend.ledger.store import Store
from perpend.measure.run import Run
from perpend.spec.runspec import ModelSpec, RunSpec, parse_spec
from perpend.spec.stopping import parse_rule, stop_spec
from perpend.stats.betting import paired_sequence, sequence
from tests.attack.forge import failed, seal
from tests.tables import table

RULE = "width(correct) < 0.45"
PAIR = "low(correct, asch_history_5 - control) > 0 or high(correct, asch_history_5 - control) < 0"
ITEMS = [
    {"id": f"q{n}", "prompt": f"What is {n} plus {n}?", "target": str(2 * n), "decoy": str(n)} for n in range(1, 201)
]


MODE = {"fails": lambda number: False, "asked": 0}
"""What the one model of these tests does, and how often it was asked: another function would be another model."""


def right_often(prompt: str) -> pp.Response:
    """Right on about two items in three."""
    number = int(prompt.rpartition("What is ")[2].split()[0])
    MODE["asked"] += 1
    return pp.Response(error="down") if MODE["fails"](number) else pp.Response(text=reply(number))


def reply(number: int) -> str:
    return str(2 * number) if number * 7919 % 100 < 65 else "no idea, but 7"


@pytest.fixture(autouse=True)
def calm() -> None:
    MODE.update(fails=lambda number: False, asked=0)


def ask(folder: Path, rule: str | None = RULE, **more: object) -> Run:
    task = pp.task("questions", items=ITEMS)
    settings = {"name": "a", "look_every": 10, **more}
    return pp.evaluate(task, pp.model(right_often, label="m"), stop_when=rule, out=folder, quiet=True, **settings)  # type: ignore[arg-type]


def looks_of(run: Run | Path) -> list[StopLook]:
    with Store.open((run if isinstance(run, Path) else run.directory) / "run.db") as store:
        return read_looks(store)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return ask(tmp_path_factory.mktemp("stopped"))


# The language.


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("width(correct)<.05", "width(correct) < 0.05"),
        (" low( correct@2 , control )>=0.5 ", "low(correct@2, control) >= 0.5"),
        ("high(correct, asch - control) < -1e-1", "high(correct, asch - control) < -0.1"),
        ("width('my score', \"a b\" - c.d) < 1", 'width("my score", "a b" - c.d) < 1'),
        ("low(a) > 0 and high(a) < 1 or width(b) < .5", "low(a) > 0 and high(a) < 1 or width(b) < 0.5"),
    ],
)
def test_a_rule_is_read_and_written_in_one_way(text: str, canonical: str) -> None:
    assert str(parse_rule(text)) == canonical
    assert parse_rule(canonical) == parse_rule(text)


@pytest.mark.parametrize(
    *table(
        "stopping_refused", ("width(correct) < 0.1" + " and width(correct) < 0.1" * 99, "characters; 1000 are the most")
    )
)
def test_what_is_no_rule_is_refused_with_what_was_expected_where(text: str, why: str) -> None:
    with pytest.raises(SpecError) as error:
        parse_rule(text)
    assert why in str(error.value)


def test_unknown_names_are_refused_with_the_near_ones_before_anything_is_asked(tmp_path: Path) -> None:
    for rule, why in (
        ("width(corect) < 0.1", "no score 'corect'; did you mean 'correct'"),
        ("width(correct@9) < 0.1", "no score 'correct@9'; did you mean 'correct@2'"),
        ("width(correct, contol) < 0.1", "no condition 'contol'; did you mean 'control'"),
        ("width(correct, control - asch) < 0.1", "no condition 'asch'; known: control"),
    ):
        with pytest.raises(SpecError, match=why.replace("(", r"\(")):
            ask(tmp_path, rule)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"looks": 5}, "'looks' cannot be planned; stop_when = "),
        ({"stop_when": RULE, "looks": 5}, "'looks' cannot be planned; stop_when = "),
        ({"look_every": 5}, "look_every says when to look"),
        ({"stop_when": RULE, "look_every": 0}, "look_every must be an integer of 1 or more"),
        ({"stop_when": RULE, "look_every": True}, "look_every must be an integer of 1 or more"),
        ({"stop_when": 5}, "stop_when must be a string, not 5"),
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused(keys: dict[str, object], why: str) -> None:
    with pytest.raises(SpecError, match=why):
        parse_spec({"task": "questions", "model": [{"name": "mock/true"}], **keys}, folder=Path(), where="run.toml")


def test_a_rule_is_of_one_model_at_one_temperature() -> None:
    models = [ModelSpec("mock/true", "a"), ModelSpec("mock/false", "b")]
    with pytest.raises(SpecError, match=r"one model, and the run has 2 \(a, b\): run each by itself"):
        RunSpec("questions", tuple(models), stop=stop_spec(RULE))
    with pytest.raises(SpecError, match="one sampling, and the run has 2"):
        RunSpec("questions", tuple(models[:1]), samplings=(pp.Sampling(0.0), pp.Sampling(1.0)), stop=stop_spec(RULE))


@pytest.mark.parametrize(
    ("items", "every", "points"),
    [
        (25, 10, [10, 20, 25]),
        (20, 10, [10, 20]),
        (5, None, [5]),
        (1000, None, list(range(50, 1001, 50))),
    ],
)
def test_looks_come_after_whole_batches_and_the_last_after_all_items(
    items: int, every: int | None, points: list[int]
) -> None:
    assert stop_facts(RULE, every, items).points(items) == points


# A run.


def test_a_run_stops_at_the_first_look_at_which_the_rule_holds(stopped: Run) -> None:
    looks = looks_of(stopped)
    widths = [float(look.numbers[0]["hi"]) - float(look.numbers[0]["lo"]) for look in looks]  # type: ignore[arg-type]
    assert widths[-1] < 0.45 <= min(widths[:-1])
    assert [look.stop for look in looks] == [False] * (len(looks) - 1) + [True]
    assert [look.items for look in looks] == list(range(10, looks[-1].items + 1, 10))
    assert 30 <= looks[-1].items < 100
    with stopped.open() as store:
        assert store.responses() == looks[-1].items


def test_the_interval_is_that_of_the_raw_answers_in_the_order_of_the_seed(stopped: Run) -> None:
    last = looks_of(stopped)[-1]
    ordered = sorted(ITEMS, key=lambda item: seeded_place(42, str(item["id"])))[: last.items]
    right = [float(reply(int(str(item["id"])[1:])) == item["target"]) for item in ordered]
    (expected,) = sequence(right, looks=[last.items])
    assert (last.numbers[0]["lo"], last.numbers[0]["hi"]) == pytest.approx((expected.lo, expected.hi), abs=1e-12)
    metrics = json.loads((stopped.directory / "metrics.json").read_text())["metrics"]
    stated = next(one for one in metrics if one["metric"] == "sequential_rate")
    assert (stated["lo"], stated["n"]) == (pytest.approx(expected.lo), last.items)
    assert stated["method"] == "confidence sequence, hedged betting"


def test_the_order_is_that_of_the_seed_and_another_seed_gives_another(stopped: Run, tmp_path: Path) -> None:
    with stopped.open() as store:
        first = [item.id for item in store.items()]
    assert first == sorted(first, key=lambda name: seeded_place(42, name))
    with ask(tmp_path, seed=7).open() as store:
        assert [item.id for item in store.items()] != first


def test_a_second_call_asks_nothing_and_changes_nothing(stopped: Run) -> None:
    before = {path.name: path.read_bytes() for path in stopped.directory.iterdir() if path.is_file()}
    ask(stopped.directory.parent)
    assert MODE["asked"] == 0
    after = {path.name: path.read_bytes() for path in stopped.directory.iterdir() if path.is_file()}
    assert {name: after[name] for name in ("manifest.json", "metrics.json", "report.md")} == {
        name: before[name] for name in ("manifest.json", "metrics.json", "report.md")
    }


@pytest.mark.parametrize("requests", [1, 10, 25])
def test_a_run_that_was_interrupted_anywhere_has_the_same_looks_and_the_same_stop(
    stopped: Run, tmp_path: Path, requests: int
) -> None:
    partly = ask(tmp_path, limits=pp.Limits(max_requests=requests))
    assert len(looks_of(partly)) == requests // 10
    resumed = ask(tmp_path)
    assert looks_of(resumed) == looks_of(stopped)
    assert (resumed.directory / "metrics.json").read_bytes() == (stopped.directory / "metrics.json").read_bytes()


def test_a_run_that_was_killed_before_it_recorded_a_look_records_it_then(stopped: Run, tmp_path: Path) -> None:
    shutil.copytree(stopped.directory, tmp_path / "a")
    change_looks(tmp_path / "a", lambda db: db.execute("DELETE FROM look WHERE stop = 1"))
    (outcome,) = pp.audit(tmp_path / "a").runs
    assert any("not recorded yet" in check.note for check in outcome.checks)
    ask(tmp_path)
    assert (looks_of(tmp_path / "a"), MODE["asked"]) == (looks_of(stopped), 0)


def test_another_rule_or_schedule_is_another_run(stopped: Run) -> None:
    for changes in ({"rule": "width(correct) < 0.44"}, {"rule": None, "look_every": None}, {"look_every": 20}):
        with pytest.raises(StoreError, match=r"holds another run; it differs in\s+(?:items|stop)"):
            ask(stopped.directory.parent, **changes)  # type: ignore[arg-type]


def test_flags_keys_and_arguments_mean_the_same_run(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    items = items_file(30)
    flags = ["--task", "questions", "--items", str(items), "--model", "mock/true", "--stop-when", "width(correct)<.4"]
    (tmp_path / "run.toml").write_text(
        f'task = "questions"\nitems = "{items}"\nstop_when = "width(correct@2) < 0.4"\n[[model]]\nname = "mock/true"\n'
    )
    for arguments in (flags, [str(tmp_path / "run.toml")]):
        done = CliRunner().invoke(cli, ["eval", *arguments, "--out", str(tmp_path / "runs"), "--json"])
        assert done.exit_code == 0, done.output
    (run,) = (tmp_path / "runs").iterdir()
    assert read_manifest(run).stop == StopFacts("width(correct@2) < 0.4", 10)
    assert json.loads(done.stdout)["requests"] == 0


def test_a_run_without_a_rule_has_no_trace_of_one(tmp_path: Path) -> None:
    run = ask(tmp_path, None, look_every=None, max_items=5)
    assert json.loads((run.directory / "manifest.json").read_text())["stop"] is None
    with sqlite3.connect(run.directory / "run.db") as db:
        assert db.execute("SELECT count(*) FROM look").fetchone() == (0,)
    assert "sequential" not in (run.directory / "metrics.json").read_text()
    assert RunSpec("questions", (ModelSpec("mock/true", "a"),)).identity()["stop"] is None


def test_a_rule_that_never_holds_asks_everything(tmp_path: Path) -> None:
    run = ask(tmp_path, "width(correct) < 0.01", max_items=30)
    assert [look.stop for look in looks_of(run)] == [False] * 3
    page = (run.directory / "report.md").read_text().replace("\\", "")
    assert "All 30 items were asked in 3 looks; width(correct@2) < 0.01 held at no look." in page
    assert pp.audit(run.directory).ok


def test_a_rule_without_a_condition_is_of_every_condition() -> None:
    """One condition is right on every item, the other on every second: the rule waits for the worse one."""
    plan = LookPlan(parse_rule("low(c@1) > 0.6"), StopFacts("", 40), ("a", "b"), 40)
    values = np.ones((40, 2, 1))
    values[::2, 1] = 0.0
    assert plan.look(1, {"c@1": scored_items(np.ones(80), (2, 1), ())}).stop
    assert not plan.look(1, {"c@1": scored_items(values, (2, 1), ())}).stop


# Pairs and repeats.


def test_a_paired_difference_with_repeats_is_decided_by_items(tmp_path: Path) -> None:
    subject = pp.model("mock/subject", sway=0.6)
    run = pp.evaluate(
        "conformity", subject, stop_when=PAIR, repeats=2, temperature=0.7, out=tmp_path, name="p", quiet=True
    )
    last = looks_of(run)[-1]
    (number,) = last.numbers
    assert number["condition"] == "control → asch_history_5"
    assert last.stop
    pair = run["correct"].pair("control", "asch_history_5")
    control, pressure, item = pair.values()
    expected = paired_sequence(control, pressure, item, looks=[int(number["n"])])[-1]  # type: ignore[call-overload]
    assert (number["lo"], number["hi"]) == pytest.approx((expected.lo, expected.hi), abs=1e-12)
    metrics = json.loads((run.directory / "metrics.json").read_text())["metrics"]
    stated = next(one for one in metrics if one["metric"] == "sequential_difference")
    assert stated["where"]["condition"] == "control → asch_history_5"
    assert stated["also"]["p"] == pytest.approx(expected.also["p"])
    assert number["missing"] == 0, "opinions have no target: they are not missing"
    assert int(number["n"]) < last.items  # type: ignore[call-overload]
    assert pp.audit(run.directory).ok


def in_two_turns(messages: list[dict[str, str]]) -> str:
    """No label at first on every third statement, a label when it is asked again."""
    number = int(messages[0]["content"].rpartition("Statement ")[2].partition(":")[0])
    return "Hm." if number % 3 == 0 and len(messages) == 1 else "FALSE" if number % 7 == 0 else "TRUE"


def test_second_turns_are_asked_before_the_look_and_interrupted_runs_look_the_same(tmp_path: Path) -> None:
    items = [
        {"id": f"s{n}", "prompt": f"Statement {n}: yes. Is it TRUE or FALSE?", "target": "TRUE", "decoy": "FALSE"}
        for n in range(80)
    ]
    runs = []
    for name, requests in (("whole", None), ("parts", 14), ("parts", 31), ("parts", None)):
        limits = pp.Limits(max_requests=requests)
        task = pp.task("logic", items=items)
        runs.append(
            pp.evaluate(task, pp.model(in_two_turns, label="m"), stop_when="width(label) < 0.5", look_every=10,
                        name=name, limits=limits, out=tmp_path, quiet=True)
        )  # fmt: skip
    assert looks_of(runs[0])[-1].stop
    assert looks_of(runs[0])[0].numbers[0]["missing"] == 0
    assert looks_of(runs[-1]) == looks_of(runs[0])
    assert pp.audit([runs[0].directory, runs[-1].directory]).ok


def test_a_trial_table_holds_what_was_due_and_no_more(stopped: Run, tmp_path: Path) -> None:
    assert pp.export(stopped, tmp_path / "trials.csv") == looks_of(stopped)[-1].items


def test_more_looks_than_anybody_can_wait_for_are_refused() -> None:
    with pytest.raises(SpecError, match="look_every = 1 is more than 1000 looks at 1001 items"):
        stop_facts(RULE, 1, 1001)


# Calls that fail.


def test_an_item_whose_calls_fail_is_missing_and_stated_with_bounds(tmp_path: Path) -> None:
    MODE["fails"] = lambda number: number % 5 == 3
    run = ask(tmp_path)
    last = looks_of(run)[-1]
    failing = [item for item in run.table.items if int(item.id[1:]) % 5 == 3]
    assert len(failing) > 1
    assert (last.numbers[0]["missing"], last.numbers[0]["n"]) == (len(failing), last.items - len(failing))
    metrics = json.loads((run.directory / "metrics.json").read_text())["metrics"]
    one = next(metric for metric in metrics if metric["metric"] == "sequential_rate")
    assert one["also"]["least"] < one["lo"] < one["hi"] < one["also"]["most"]
    with run.open() as store:
        assert set(store.failures(0).values()) == {2}, "asked once more before the look"
    assert pp.audit(run.directory).ok


def test_what_a_look_has_counted_as_missing_is_not_asked_again(tmp_path: Path) -> None:
    MODE["fails"] = lambda number: number % 5 == 3
    before = looks_of(ask(tmp_path))
    MODE.update(fails=lambda number: False, asked=0)
    assert looks_of(ask(tmp_path)) == before
    assert MODE["asked"] == 0


def test_a_batch_that_fails_as_a_whole_is_not_looked_at(tmp_path: Path) -> None:
    MODE["fails"] = lambda number: int(MODE["asked"]) > 10
    with pytest.raises(ModelError, match="trials 11 to 20 were asked twice, none was answered; the last failure: down"):
        ask(tmp_path)
    assert len(looks_of(tmp_path / "a")) == 1
    MODE["fails"] = lambda number: False
    assert looks_of(ask(tmp_path))[-1].stop


def test_a_score_outside_0_and_1_is_refused_at_the_first_look(tmp_path: Path) -> None:
    task = pp.task("questions", items=ITEMS[:20], scorers=pp.scorer(lambda item, text: len(text), name="length"))
    with pytest.raises(DataError, match=r"length@\w+ gives .*, outside \[0, 1\]"):
        pp.evaluate(task, pp.model(right_often, label="m"), stop_when="width(length) < 0.1", out=tmp_path, quiet=True)


# What is shown, published and audited.


def test_what_was_not_asked_because_of_the_stop_is_not_missing(stopped: Run) -> None:
    items = looks_of(stopped)[-1].items
    assert (len(stopped.table), len(stopped.table.items)) == (items, items)
    page = (stopped.directory / "report.md").read_text().replace("\\", "")
    assert page.startswith(
        f"# a\n\n- Stopped at look {items // 10} of 20, after {items} of 200 items: width(correct@2)"
    )
    assert f"{items} trials planned, {items} answered, 0 without an answer." in page
    assert "no answer and no verdict" not in page
    assert "STAT040" in page
    shown = CliRunner().invoke(cli, ["show", str(stopped.directory)]).stdout
    assert f"{items} of 200" in shown
    assert f"200 trials, {items} answered, 0 failed, {200 - items} not needed" in shown
    assert f"Stopped at look {items // 10} of 20" in shown
    listed = CliRunner().invoke(cli, ["list", "runs", str(stopped.directory.parent)]).stdout
    assert f"{items} of 200 answered, stopped by its rule" in listed


def test_the_table_of_show_has_the_interval_of_the_look(stopped: Run) -> None:
    number = looks_of(stopped)[-1].numbers[0]
    rows = json.loads(CliRunner().invoke(cli, ["show", str(stopped.directory), "--json"]).stdout)["rows"]
    assert rows[0]["rates"]["correct@2"]["lo"] == number["lo"]


def test_the_terminal_says_where_it_stopped_and_cautions(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    arguments = ["eval", "--task", "questions", "--items", str(items_file(60)), "--model", "mock/true", "--out"]
    done = CliRunner().invoke(cli, [*arguments, str(tmp_path / "runs"), "--stop-when", "width(correct) < 0.45"])
    assert done.exit_code == 0, done.output
    assert done.stdout.count("Stopped at look") == 1
    assert "valid at any look" in done.stdout
    assert "intervals for a fixed number of items cover too little here" in done.stdout
    assert "not needed" in done.stdout
    assert "Run the same command" not in done.output


def test_a_dry_run_says_when_it_would_look(items_file: Callable[..., Path], tmp_path: Path) -> None:
    arguments = ["eval", "--task", "questions", "--items", str(items_file(60)), "--model", "mock/true", "--dry-run"]
    done = CliRunner().invoke(cli, [*arguments, "--out", str(tmp_path), "--stop-when", RULE])
    assert (
        "It stops as soon as width(correct@2) < 0.45, looked at after every 10 items, 6 times at most." in done.stdout
    )


def change_looks(run: Path, change: Callable[[sqlite3.Connection], object]) -> None:
    """Edit the looks as somebody would who knows SQLite: without the triggers, which are put back."""
    with sqlite3.connect(run / "run.db") as db:
        triggers = db.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'look%'"
        ).fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        change(db)
        for _, sql in triggers:
            db.execute(sql)


def test_looks_are_append_only(stopped: Run, tmp_path: Path) -> None:
    shutil.copytree(stopped.directory, tmp_path / "a")
    with sqlite3.connect(tmp_path / "a" / "run.db") as db:
        for sql in ("DELETE FROM look", "UPDATE look SET stop = 0"):
            with pytest.raises(sqlite3.IntegrityError, match="looks are facts"):
                db.execute(sql)


LOOKS = "looks and the stop follow from the answers"


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        (
            "UPDATE look SET numbers = replace(numbers, '\"n\":10,', '\"n\":11,') WHERE look = 1",
            "look 1, numbers[0], n",
        ),
        ("DELETE FROM look WHERE look = 2", "look 2"),
        ("UPDATE look SET stop = 1 WHERE look = 2", ""),
        ("DELETE FROM look WHERE look > 1", "look 2: stored None"),
        ("INSERT INTO look SELECT look + 1, items + 10, stop, numbers FROM look WHERE stop = 1", "stored"),
    ],
)
def test_a_look_that_was_changed_or_removed_is_named(stopped: Run, tmp_path: Path, sql: str, words: str) -> None:
    shutil.copytree(stopped.directory, tmp_path / "a")
    change_looks(tmp_path / "a", lambda db: db.execute(sql))
    differences = failed(tmp_path / "a")
    assert differences
    assert not words or words in differences[LOOKS].first
    if "look > 1" in sql:  # as if it had been killed earlier: the same looks again, and no other chance
        ask(tmp_path)
        assert looks_of(tmp_path / "a") == looks_of(stopped)
    else:
        with pytest.raises(StoreError, match="does not follow from the answers"):
            ask(tmp_path)
    assert MODE["asked"] == 0


def test_going_on_after_a_stop_is_named(stopped: Run, tmp_path: Path) -> None:
    """The stop is taken out and the run goes on: a second chance, which the looks of its answers give away."""
    shutil.copytree(stopped.directory, tmp_path / "a")
    more = looks_of(stopped)[-1].items + 1
    with sqlite3.connect(tmp_path / "a" / "run.db") as db:
        db.execute("INSERT INTO response SELECT ?, turn, attempt, request_sha256, text, error, logprobs, finish, usage,"
                   " ms, at FROM response WHERE trial = 1", (more,))  # fmt: skip
    assert failed(tmp_path / "a")
    change_looks(tmp_path / "a", lambda db: db.execute("DELETE FROM look WHERE stop = 1"))
    assert "asked after look" in failed(tmp_path / "a")[LOOKS].first


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE look SET numbers = '[1]'",
        "UPDATE look SET numbers = '{}'",
        "UPDATE look SET numbers = '[ ]'",
        "UPDATE look SET items = -5",
        "UPDATE look SET look = -look",
    ],
)
def test_looks_of_another_shape_are_an_error_for_every_reader(stopped: Run, tmp_path: Path, sql: str) -> None:
    shutil.copytree(stopped.directory, tmp_path / "a")
    change_looks(tmp_path / "a", lambda db: db.execute(sql))
    for verb in ("show", "analyze", "export"):
        out = {"analyze": ["--out", str(tmp_path / "out")], "export": ["--out", str(tmp_path / "out.csv")]}.get(
            verb, []
        )
        with pytest.raises(StoreError, match="not what a look holds"):
            CliRunner().invoke(cli, [verb, str(tmp_path / "a"), *out], standalone_mode=False, catch_exceptions=False)
    assert failed(tmp_path / "a")


def test_a_sweep_with_a_stopped_run_says_so(stopped: Run, tmp_path: Path) -> None:
    other = ask(tmp_path, "width(correct) < 0.5", name="b")
    page = pp.analyze([stopped, other], tmp_path / "sweep", figures=False).read_text()
    assert "STAT040" in page


@pytest.fixture(scope="module")
def published(stopped: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    (one,) = pp.publish(stopped, tmp_path_factory.mktemp("published"), figures=False)
    return one.folder


def test_a_stopped_run_passes_the_gates_and_its_publication_says_that_it_stopped(stopped: Run, published: Path) -> None:
    items = looks_of(stopped)[-1].items
    gates = {gate["gate"]: gate for gate in json.loads((published / "receipt.json").read_text())["gates"]}
    assert gates["plan"]["found"] == (
        f"{items} of {items} trials were asked; stopped at look {items // 10} of 20, after {items} of 200 items"
    )
    assert gates["coverage"]["found"].startswith(f"{items} of {items} planned trials have an answer")
    assert len((published / "looks.jsonl").read_text().splitlines()) == items // 10
    headline = json.loads((published / "receipt.json").read_text())["attempts"]["headline"]
    assert headline["metric"] == "sequential_rate"
    audited = pp.audit(published)
    assert audited.ok
    assert any(f"stopped after {items} of 200 items" in check.note for check in audited.runs[0].checks)


def lines_of(folder: Path, change: Callable[[list[dict[str, object]]], object]) -> None:
    rows = [json.loads(line) for line in (folder / "looks.jsonl").read_text().splitlines()]
    change(rows)
    text = "".join(json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n" for row in rows)
    (folder / "looks.jsonl").write_text(text)


@pytest.mark.parametrize(
    "forge",
    [
        lambda folder: lines_of(folder, lambda rows: rows.pop(0)),
        lambda folder: lines_of(folder, lambda rows: rows.pop()),
        lambda folder: lines_of(folder, lambda rows: rows[0].update(items=9)),
        lambda folder: lines_of(folder, lambda rows: rows[-1].update(stop=False)),
        lambda folder: lines_of(folder, lambda rows: rows[-1]["numbers"][0].update(lo=0.5)),
        lambda folder: lines_of(folder, lambda rows: rows[-1].update(more=1)),
        lambda folder: (folder / "looks.jsonl").unlink(),
        lambda folder: (folder / "looks.jsonl").write_text(""),
        lambda folder: rule_of(folder, when="width(correct@2) < 0.4"),
        lambda folder: rule_of(folder, when="__import__('os')"),
        lambda folder: rule_of(folder, look_every=20),
        lambda folder: rule_of(folder, None),
    ],
)
def test_a_publication_whose_looks_or_rule_were_changed_and_sealed_again_differs(
    published: Path, tmp_path: Path, forge: Callable[[Path], object]
) -> None:
    folder = tmp_path / "published" / "a"
    shutil.copytree(published, folder)
    forge(folder)
    seal(folder)
    assert failed(folder)


@pytest.mark.parametrize("stop", [{"look_every": 0}, {"looks": 2}, {"looks": 2, "look_every": 2}, {"more": 1}, {}])
def test_a_manifest_with_another_kind_of_schedule_is_refused(
    stopped: Run, tmp_path: Path, stop: dict[str, int]
) -> None:
    body = json.loads((stopped.directory / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps({**body, "stop": {"when": RULE, **stop}}))
    with pytest.raises(StoreError, match="stop"):
        read_manifest(tmp_path)


def rule_of(folder: Path, keep: str | None = "stop", **changes: object) -> None:
    body = json.loads((folder / "manifest.json").read_text())
    body["stop"] |= changes
    if keep is None:
        body["stop"] = None
    (folder / "manifest.json").write_text(json.dumps(body, indent=2, sort_keys=True, ensure_ascii=False) + "\n")


def test_an_interrupted_run_cannot_pass_for_a_stopped_one(tmp_path: Path) -> None:
    run = ask(tmp_path, limits=pp.Limits(max_requests=25))
    with pytest.raises(
        pp.AuditFailure, match="25 of 200 trials were asked; 175 never were; 2 of 20 looks were recorded"
    ):
        pp.publish(run, tmp_path / "published")


def test_a_comparison_with_a_run_that_could_stop_says_so(tmp_path: Path) -> None:
    stopped, whole = ask(tmp_path), ask(tmp_path, None, name="b", look_every=None)
    assert any(note.startswith("STAT040: a could stop at a look") for note in pp.compare(whole, stopped).notes)
    again = ask(tmp_path, None, name="c", look_every=None)
    assert not any("STAT040" in note for note in pp.compare(whole, again).notes)
