"""A manifest that declares more than the folder holds costs no more than reading it: exit code 6, and what differs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import perpend as pp
from tests.attack.conftest import Copied
from tests.attack.forge import Body, edit, seal
from tests.attack.ledger import run_sql
from tests.attack.test_cli import perpend

LIMIT = 60
MANY = 5000


def _models(body: Body) -> None:
    body["models"] += [{**body["models"][0], "label": f"copy {n}"} for n in range(MANY)]


def _samplings(body: Body) -> None:
    body["samplings"] += [{**body["samplings"][0], "seed": n} for n in range(MANY)]


def _limits(body: Body) -> None:
    _models(body)
    for number, model in enumerate(body["models"]):
        model["max_tokens"] = number + 1


def _trials(body: Body) -> None:
    body["trials"] = 10**15


def _product(body: Body) -> None:
    body["trials"] = body["items"]["n"] * body["repeats"] * len(body["models"]) * len(body["samplings"])


FORGED: dict[str, tuple[Callable[[Body], None], ...]] = {
    "trials": (_trials,),
    "models and samplings": (_models, _samplings),
    "models and samplings, counted as trials": (_models, _samplings, _product),
    "token limits and samplings": (_limits, _samplings),
}


@pytest.mark.parametrize("name", FORGED)
def test_what_is_declared_and_not_there_ends_soon_with_a_difference(copied: Copied, name: str) -> None:
    for kind in ("published", "runs"):
        folder = copied(f"{kind}/questions")
        for change in FORGED[name]:
            edit("manifest.json", change)(folder)
        if kind == "published":
            seal(folder, restate=False)
        done = perpend("audit", folder, "--workers", "1", limit=LIMIT)
        assert done.returncode == 6, done.stderr
        assert "plan is complete" in done.stdout
        assert "Traceback" not in done.stderr


def test_a_trial_with_a_number_beyond_all_others_ends_soon_with_a_difference(copied: Copied) -> None:
    run = copied("runs/questions")
    last = "(SELECT max(trial) FROM trial)"
    run_sql(
        run,
        f"UPDATE response SET trial = 1000000000000000 WHERE trial = {last}",
        f"UPDATE score SET trial = 1000000000000000 WHERE trial = {last}",
        f"UPDATE trial SET trial = 1000000000000000 WHERE trial = {last}",
    )
    done = perpend("audit", run, "--workers", "1", limit=LIMIT)
    assert done.returncode == 6, done.stderr
    assert "trials are numbered 1, 2, 3" in done.stdout
    done = perpend("score", run, limit=LIMIT)
    assert done.returncode == 5
    assert "trials are not numbered 1, 2, 3" in done.stderr


def test_a_run_with_a_stopping_rule_is_exported_up_to_its_end_whatever_its_manifest_declares(tmp_path: Path) -> None:
    items = [{"id": f"q{n}", "prompt": f"{n} + {n}?", "target": str(2 * n), "decoy": str(n)} for n in range(1, 41)]
    run = pp.evaluate(
        pp.task("questions", items=items),
        pp.model("mock/subject", accuracy=0.65),
        stop_when="width(correct) < 0.6",
        look_every=10,
        name="stopped",
        out=tmp_path,
        quiet=True,
    )
    edit("manifest.json", lambda body: body.update(repeats=10**15))(run.directory)
    done = perpend("export", run.directory, "--out", tmp_path / "trials.csv", limit=LIMIT)
    assert done.returncode in {0, 5}, done.stderr
    assert "Traceback" not in done.stderr
