"""The conformity study's simulation.db → a run, with everything that a run has a place for.

The first output of a trial (earliest created_at, then smallest output_id) is its answer, later ones are further
attempts. A trial without an output stays planned and unanswered. Tables about what happens inside a model are kept
beside the run; those that a run has no place for are counted.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from perpend.canon import JSON, count_or_none, digest_file, dumps, json_object, number_of, object_of, opened, parse
from perpend.errors import StoreError
from perpend.importers.harness import AS_STORED
from perpend.importers.intake import ImportRecord, Intake, item_of
from perpend.ledger.database import connect, translated
from perpend.ledger.plan import Dataset
from perpend.studies.conformity import reference
from perpend.studies.conformity.prompts import Rendered, condition_of, derived, render
from perpend.studies.conformity.simulation_kept import TABLES, Kept
from perpend.studies.conformity.simulation_out import write
from perpend.types import Condition, Response, Sampling, Score, Usage

__all__ = ["FORMAT", "is_simulation", "read", "read_sweep", "write"]

FORMAT = "simulation.db"
_SQLITE = b"SQLite format 3\x00"
NEEDED = ("conformity_datasets", "conformity_items", "conformity_conditions", "conformity_trials", "conformity_outputs")
_MOST = 2000
_USED = {*NEEDED, "runs", "conformity_prompts"}
_NO_PROMPTS = (
    "(SELECT NULL AS trial_id, NULL AS system_prompt, NULL AS user_prompt, NULL AS chat_history_json,"
    " NULL AS rendered_prompt_hash)"
)
_FIRST_PROMPTS = (
    "(SELECT trial_id, system_prompt, user_prompt, chat_history_json, rendered_prompt_hash, min(rowid)"
    " FROM conformity_prompts GROUP BY trial_id)"
)
_ROWS = (
    "SELECT t.trial_id, t.run_id, t.model_id, t.variant, t.item_id AS wanted_item, t.condition_id, t.seed,"
    " t.temperature, i.item_id, i.domain, i.question, i.ground_truth_text, i.ground_truth_json, i.source_json,"
    " d.name AS dataset_name, d.version, d.path, d.sha256, o.output_id, o.raw_text, o.parsed_answer_text,"
    " o.parsed_answer_json, o.is_correct, o.refusal_flag, o.latency_ms, o.token_usage_json,"
    " o.created_at AS answered_at, p.system_prompt, p.user_prompt, p.chat_history_json, p.rendered_prompt_hash"
    " FROM conformity_trials t LEFT JOIN conformity_items i ON i.item_id = t.item_id"
    " LEFT JOIN conformity_datasets d ON d.dataset_id = i.dataset_id"
    " LEFT JOIN conformity_outputs o ON o.trial_id = t.trial_id LEFT JOIN {prompts} p ON p.trial_id = t.trial_id"
    " ORDER BY t.created_at, t.rowid, o.created_at, o.output_id"
)
_COUNTS = (
    "SELECT (SELECT count(*) FROM conformity_trials t LEFT JOIN conformity_outputs o ON o.trial_id = t.trial_id),"
    " (SELECT count(*) FROM conformity_trials) + (SELECT count(*) FROM conformity_outputs)"
)
_PROMPTS = (
    "SELECT i.item_id, i.domain, i.question, i.ground_truth_text, i.ground_truth_json, i.source_json,"
    " d.name AS dataset_name, t.run_id, p.system_prompt, p.user_prompt, p.chat_history_json"
    " FROM conformity_prompts p JOIN conformity_trials t ON t.trial_id = p.trial_id"
    " JOIN conformity_items i ON i.item_id = t.item_id JOIN conformity_datasets d ON d.dataset_id = i.dataset_id"
    " WHERE t.condition_id = ? ORDER BY length(json_extract(i.source_json, '$.wrong_answer')) DESC, i.item_id"
)


@dataclass(slots=True)
class _Source:
    """One open simulation.db: what is read once, and the last item and samplings, which repeat from row to row."""

    path: Path
    db: sqlite3.Connection
    tables: set[str]
    configs: Mapping[str, Mapping[str, JSON]]
    conditions: dict[str, str] = field(default_factory=dict)
    """The name in the run of each condition_id."""
    templated: set[str] = field(default_factory=set)
    """The condition_ids whose prompts are all given by a template."""
    samplings: dict[tuple[object, ...], Sampling] = field(default_factory=dict)
    item: tuple[object, Mapping[str, JSON]] = (None, {})


def read(source: Path, destination: Path) -> Path:
    """Import one simulation.db as the run directory `destination`."""
    return read_sweep([source], destination)


def read_sweep(sources: Sequence[Path], destination: Path) -> Path:
    """Import several, such as one for each temperature, as one run: items, conditions and models by their names."""
    with Intake(destination, "conformity") as intake:
        kept = Kept(intake.folder / "run")
        files = [_read_one(path, intake, kept) for path in sources]
        kept.finish()
        return intake.write({"format": FORMAT, "files": files})


def is_simulation(path: Path) -> bool:
    """Whether a file is SQLite and has the study's table of trials."""
    with opened(path) as file:
        if file.read(len(_SQLITE)) != _SQLITE:
            return False
    with translated(path), closing(connect(path, "ro")) as db:
        return "conformity_trials" in _tables(db)


def _read_one(path: Path, intake: Intake, kept: Kept) -> dict[str, JSON]:
    if not path.is_file():
        raise StoreError(f"{path}: no such file; give a simulation.db")
    rows = 0
    with translated(path), closing(connect(path, "ro")) as db:
        db.row_factory = sqlite3.Row
        tables = _tables(db)
        _check_tables(db, tables, path)
        # The file's own constraints are expressions of a stranger's: they are not computed.
        db.execute("PRAGMA ignore_check_constraints=ON")
        state = db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if state != "ok":
            raise StoreError(f"{path}: damaged ({state}); try 'sqlite3 {path.name} .recover' on a copy of it")
        source = _Source(path, db, tables, _configs(path, db, tables))
        missing = [table for table in NEEDED if table not in source.tables]
        if missing:
            raise StoreError(f"{path}: not a simulation.db of the conformity study: no table {', '.join(missing)}")
        _take_notes(source, intake)
        intake.notes.update(kept.take(db, tables, path))
        _take_conditions(source, intake)
        prompts = _FIRST_PROMPTS if "conformity_prompts" in source.tables else _NO_PROMPTS
        most = min(db.execute(_COUNTS).fetchone())
        for row in db.execute(_ROWS.format(prompts=prompts)):
            intake.add(_record(source, row, intake))
            rows += 1
            if rows > most:
                raise StoreError(f"{path}: an item, a data set or a trial is in it twice, so its rows multiply")
    runs: list[JSON] = [*sorted(source.configs)]
    return {"name": path.name, "sha256": digest_file(path), "rows": rows, "runs": runs}


def _tables(db: sqlite3.Connection) -> set[str]:
    """The tables that are stored as such: a view or a virtual table runs what its maker wrote whenever it is read."""
    rows = db.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    )
    return {str(name) for name, sql in rows if re.match(r"CREATE\s+TABLE\b", str(sql), re.IGNORECASE)}


def _check_tables(db: sqlite3.Connection, tables: set[str], path: Path) -> None:
    """Refuse computed columns, and views in the place of the study's tables."""
    others = {str(row[0]) for row in db.execute("SELECT name FROM sqlite_master")} - tables
    for name in sorted({*_USED, *TABLES} & others):
        raise StoreError(
            f"{path}: {name} is a view or a virtual table, not a table; the study's files hold tables only"
        )
    for table in sorted(tables):
        for column in db.execute(f"PRAGMA table_xinfo({_quoted(table)})"):
            if column["hidden"]:
                raise StoreError(
                    f"{path}: column {column['name']!r:.80} of {table!r:.80} is computed; store its values"
                )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _configs(path: Path, db: sqlite3.Connection, tables: set[str]) -> dict[str, Mapping[str, JSON]]:
    """The suite of each run, as its config_json holds it."""
    if "runs" not in tables:
        return {}
    configs: dict[str, Mapping[str, JSON]] = {}
    for run, config in db.execute("SELECT run_id, config_json FROM runs"):
        where = f"{path}: run {run!r:.80}"
        configs[str(run)] = object_of(json_object(str(config), where), "suite_config", where)
        if len(configs) > _MOST:
            raise StoreError(f"{path}: more than {_MOST} runs; one file holds the runs of one study")
    return configs


def _take_notes(source: _Source, intake: Intake) -> None:
    for table in sorted(source.tables - _USED - {*TABLES}):
        count = source.db.execute(f"SELECT count(*) FROM {_quoted(table)}").fetchone()[0]  # noqa: S608 - quoted
        if count:
            intake.notes[f"rows of table {table:.80}, which a run has no place for"] += count
    opinions, shown = source.db.execute(
        "SELECT count(*), group_concat(item_id, ', ') FILTER (WHERE place <= 5) FROM (SELECT item_id, row_number()"
        " OVER (ORDER BY item_id) AS place FROM conformity_items WHERE ground_truth_text = ?)",
        (reference.NO_ANSWER,),
    ).fetchone()
    if opinions:
        shown = str(shown) + (" …" if opinions > 5 else "")
        note = (
            f"items whose ground truth was stored as the word {reference.NO_ANSWER!r}, read as opinions: {shown:.500}"
        )
        intake.notes[note] = opinions
    unused = source.db.execute(
        "SELECT count(*) FROM conformity_items WHERE item_id NOT IN (SELECT item_id FROM conformity_trials)"
    ).fetchone()[0]
    if unused:
        intake.notes["items that no trial asks about, left out"] += unused


def _take_conditions(source: _Source, intake: Intake) -> None:
    """Register the conditions that are used; one name for two different ones becomes 'name' and 'name~2'."""
    rows = source.db.execute(
        "SELECT condition_id, name, params_json FROM conformity_conditions"
        " WHERE condition_id IN (SELECT condition_id FROM conformity_trials) ORDER BY created_at, rowid"
    ).fetchmany(_MOST + 1)
    if len(rows) > _MOST:
        raise StoreError(f"{source.path}: more than {_MOST} conditions; a study has a handful")
    for key, name, text in rows:
        where = f"{source.path}: condition {name!r}"
        params: dict[str, JSON] = dict(json_object(str(text), where))
        template = _template(source, key, str(name), params)
        if template is not None:
            source.templated.add(key)
            params |= {part: template.params[part] for part in ("system", "user")}
        free, number = str(name), 2
        while intake.conditions.setdefault(free, params) != params:
            free, number = f"{name}~{number}", number + 1
        source.conditions[key] = free


def _template(source: _Source, key: str, name: str, params: Mapping[str, JSON]) -> Condition | None:
    """The template that gives every prompt of a condition, stated or found in the prompts; None where there is none."""
    if "conformity_prompts" not in source.tables:
        return None
    condition: Condition | None = None
    for row in source.db.execute(_PROMPTS, (key,)):
        if _history(row["chat_history_json"], f"{source.path}: a prompt of condition {name!r}"):
            return None
        item = item_of(str(row["item_id"]), _facts(source, row))
        system, user = str(row["system_prompt"]), str(row["user_prompt"])
        if condition is None:
            stated = params.get("user")
            if isinstance(stated, str):
                condition = condition_of(name, None if params.get("system") is None else str(params["system"]), stated)
            else:
                condition = derived(name, Rendered(item, system, user))
        if condition is None or (condition.needs_decoy and item.decoy is None):
            return None
        if render(condition, item) != (system, user):
            return None
    return condition


def _record(source: _Source, row: sqlite3.Row, intake: Intake) -> ImportRecord:
    where = f"{source.path}: trial {row['trial_id']!s:.200}"
    for column in row.keys():  # noqa: SIM118 - iterating a row gives its values
        if isinstance(row[column], bytes):
            raise StoreError(f"{where}: {column} holds bytes, not text or a number")
    for known, table, wanted in (
        (row["item_id"], "item", row["wanted_item"]),
        (row["dataset_name"], "data set of item", row["wanted_item"]),
        (source.conditions.get(row["condition_id"]), "condition", row["condition_id"]),
    ):
        if known is None:
            raise StoreError(f"{where}: its {table} {wanted!r} is not in the file; the file is incomplete")
    return ImportRecord(
        where=where,
        item=str(row["item_id"]),
        facts=_facts(source, row),
        dataset=Dataset(*(str(row[key]) for key in ("dataset_name", "version", "path", "sha256"))),
        condition=source.conditions[row["condition_id"]],
        variant=str(row["variant"]),
        model=str(row["model_id"]),
        sampling=_sampling(source, row, where),
        trial=str(row["trial_id"]),
        response=_response(row, intake, where),
        at=_number(row, "answered_at", where),
        prompt_sha256=_hash(row["rendered_prompt_hash"]),
        labels=dict(_labels(source, row, where)),
    )


def _facts(source: _Source, row: sqlite3.Row) -> Mapping[str, JSON]:
    """What the file states of an item: all of it where perpend wrote the file, else what the study's columns say."""
    if source.item[0] == row["item_id"]:
        return source.item[1]
    where = f"{source.path}: item {row['item_id']}"
    stated = {} if row["source_json"] is None else json_object(str(row["source_json"]), where)
    truth = None if row["ground_truth_text"] is None else str(row["ground_truth_text"])
    decoy = stated.get("wrong_answer")
    facts: dict[str, JSON] = {
        "prompt": str(row["question"]),
        "target": reference.target(truth),
        "decoy": None if decoy is None else str(decoy),
    }
    if "perpend" in stated:
        ours = object_of(stated, "perpend", where)
        facts |= {key: ours[key] for key in ("tags", "choices", "aliases") if key in ours}
    else:
        tags = reference.tags(
            dataset=str(row["dataset_name"]), topic=_topic(source, row), domain=str(row["domain"]), source=stated
        )
        tags["kind"] = reference.kind(truth)
        if row["ground_truth_json"] is not None:
            tags["ground_truth_json"] = str(row["ground_truth_json"])
        facts["tags"] = tags
    source.item = (row["item_id"], facts)
    return facts


def _topic(source: _Source, row: sqlite3.Row) -> str | None:
    """The category that the run's suite gives the item's data set."""
    datasets = source.configs.get(row["run_id"], {}).get("datasets")
    for entry in datasets if isinstance(datasets, list) else ():
        if isinstance(entry, Mapping) and entry.get("name") == row["dataset_name"] and entry.get("category"):
            return str(entry["category"])
    return None


def _sampling(source: _Source, row: sqlite3.Row, where: str) -> Sampling:
    """The trial's temperature and seed, and what the run's suite states of the rest."""
    key = tuple(row[name] for name in ("run_id", "variant", "model_id", "temperature", "seed"))
    if key not in source.samplings:
        suite = source.configs.get(row["run_id"], {})
        stated = object_of(suite, "run", where)
        models = suite.get("models")
        limits: list[JSON] = [
            entry.get("max_tokens")
            for entry in (models if isinstance(models, list) else ())
            if isinstance(entry, Mapping) and (entry.get("variant"), entry.get("model_id")) == key[1:3]
        ]
        if not isinstance(row["temperature"], float | int) or not row["temperature"] >= 0:
            raise StoreError(f"{where}: temperature {row['temperature']!r} is not a number of 0 or more")
        drawn: dict[str, JSON] = {
            # A seed that was not sent is null in the suite; the column of trials must hold a number.
            "seed": None if "seed" in stated and stated["seed"] is None else row["seed"],
            "max_tokens": limits[0] if limits else None,
            "top_p": stated.get("top_p", stated.get("nucleus_p")),
            "stop": stated.get("stop"),
        }
        source.samplings[key] = reference.sampling(float(row["temperature"]), str(row["model_id"]), drawn, where)
    return source.samplings[key]


def _response(row: sqlite3.Row, intake: Intake, where: str) -> Response | None:
    if row["output_id"] is None:
        intake.notes["trials without an output, kept as planned and unanswered"] += 1
        return None
    text = row["raw_text"]
    if not isinstance(text, str):
        raise StoreError(f"{where}: raw_text must be a string, not {text!r}")
    tokens = {} if row["token_usage_json"] is None else json_object(str(row["token_usage_json"]), where)
    fed, spoken = (count_or_none(tokens.get(key)) for key in ("input", "output"))
    usage = Usage(fed, spoken) if fed or spoken else None
    return Response(text=text, ms=_number(row, "latency_ms", where), usage=usage)


def _labels(source: _Source, row: sqlite3.Row, where: str) -> Iterator[tuple[str, Score]]:
    yield "stored_trial", Score(None, str(row["trial_id"]), "the trial's id in the source")
    if row["condition_id"] not in source.templated and row["user_prompt"] is not None:
        prompt: dict[str, JSON] = {
            "system": str(row["system_prompt"]),
            "user": str(row["user_prompt"]),
            "history": _history(row["chat_history_json"], where),
        }
        yield "stored_prompt", Score(None, dumps(prompt), "the rendered prompt of the source")
    if row["output_id"] is None:
        return
    truth = None if row["ground_truth_text"] is None else str(row["ground_truth_text"])
    yield "stored_correct", reference.stored_correct(_number(row, "is_correct", where), truth)
    yield "stored_refused", Score(_number(row, "refusal_flag", where), None, AS_STORED)
    for name, column in (
        ("stored_parsed", "parsed_answer_text"),
        ("stored_judge", "parsed_answer_json"),
        ("stored_usage", "token_usage_json"),
    ):
        if row[column] is not None:
            yield name, Score(None, str(row[column]), AS_STORED)


def _number(row: sqlite3.Row, column: str, where: str) -> float | None:
    return number_of({column: row[column]}, column, where)


def _history(value: object, where: str) -> list[JSON]:
    """The turns before the prompt; none where the column holds no list."""
    try:
        turns = [] if value is None else parse(str(value))
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{where}: chat_history_json cannot be read as JSON: {error}") from None
    return turns if isinstance(turns, list) else []


def _hash(value: object) -> str:
    """The stored hash of the prompt where it is one, else nothing."""
    try:
        return bytes.fromhex(str(value)).hex()
    except ValueError:
        return ""
