"""The page of an audit of what others published: the same numbers as the text, and nothing that runs or loads."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import perpend as pp
from perpend.cli import cli
from perpend.errors import AuditFailure, SpecError
from perpend.measure.stated import SourceNumber
from perpend.proof.source_audit import CheckedNumber
from perpend.view.source_page import figures, page_of_sources
from tests import source_files
from tests.test_import_damage import replaced
from tests.view.pages import Elements

EVIL = "</td><script>alert(1)</script>\n<img src=x onerror=y>\u202e\x1b[2J"


def test_the_page_says_what_does_not_follow_and_where(tmp_path: Path) -> None:
    source = source_files.helm(tmp_path / "capitals")
    replaced("stats.json", '"mean": 0.25', '"mean": 0.5')(source)
    shown = CliRunner().invoke(cli, ["audit", str(source), "--page", str(tmp_path / "page.html"), "--quiet"])
    assert isinstance(shown.exception, AuditFailure)
    text = " ".join(" ".join(Elements((tmp_path / "page.html").read_text(encoding="utf-8")).text).split())
    for part in (
        "1 stated number does not follow from the verdicts",
        "4 answers of 1 model to 4 items under 1 condition; 1 column of stored verdicts; 3 stated numbers",
        "exact_match, as HELM defines it the source's 4 of 4",
        "exact_match test stats.json, entry 1, mean 0.5 0.25 does not follow",
        "the source holds no 'bleu' of single answers 1",
    ):
        assert part in text, part
    pp.audit(source).write_page(tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == (tmp_path / "page.html").read_bytes()
    assert str(tmp_path) not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_hostile_source_runs_nothing_and_forges_nothing(tmp_path: Path) -> None:
    folder = source_files.alpaca(tmp_path / "alpaca")
    rows = json.loads((folder / "annotations.json").read_text())
    (folder / "annotations.json").write_text(
        json.dumps([{**row, "generator_2": EVIL, "generator_1": EVIL, "annotator": EVIL} for row in rows])
    )
    [outcome] = pp.audit(folder).sources
    stated = SourceNumber(EVIL, 1.0, EVIL, EVIL)
    numbers = [CheckedNumber(stated, 0.5, "", agrees=False), CheckedNumber(stated, None, EVIL, agrees=False)]
    hostile = replace(outcome, name=EVIL, format=EVIL, numbers=numbers, notes={EVIL: 1}, files=[{"name": EVIL}])
    page = page_of_sources([hostile, replace(hostile, unreadable=[EVIL])])
    elements = Elements(page)
    assert not elements.names & {"script", "img", "iframe", "object", "link", "form", "foreignobject"}
    assert not any(name.startswith("on") or name in ("src", "style") for _, own in elements.tags for name in own)
    assert all((own["href"] or "").startswith("#") for tag, own in elements.tags if tag == "a")
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e]", page)
    [policy] = [str(own["content"]) for _, own in elements.tags if own.get("http-equiv")]
    style = page.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def test_a_figure_has_a_point_for_each_number_and_says_how_many_do_not_follow() -> None:
    def one(stated: float, value: float, statistic: str = "mean") -> CheckedNumber:
        number = SourceNumber("x", stated, "f", "p", "c", statistic)
        return CheckedNumber(number, value, "", agrees=stated == value)

    shares, percents, others = figures(
        [one(0.0, 0.0), one(1.0, 0.5), one(100.0, 100.0, "percent"), one(0.0, 0.0, "percent"), one(5000.0, 10.0)]
    )
    assert shares.caption == "Shares: 2 numbers, 1 of which does not follow."
    assert [(point.x, point.y, point.agrees) for point in shares.points] == [(40, 260, True), (165, 10, False)]
    assert [(point.x, point.y) for point in percents.points] == [(290, 10), (40, 260)]
    assert (others.highest, len(others.points)) == ("5,000", 1)
    assert list(figures([one(7.0, 7.0)])) == []


def test_a_page_without_a_source_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="of what others published"):
        pp.audit([]).write_page(tmp_path / "page.html")


def test_a_line_feed_in_a_name_writes_no_line_of_its_own(tmp_path: Path) -> None:
    folder = source_files.helm(tmp_path / "capitals")
    forged = "x\\n\\neverything: follows"
    for name in ("per_instance_stats.json", "stats.json"):
        path = folder / name
        path.write_text(path.read_text().replace('"exact_match"', f'"{forged}"'))
    replaced("stats.json", '"mean": 0.25', '"mean": 0.5')(folder)
    shown = CliRunner().invoke(cli, ["audit", str(folder)])
    assert isinstance(shown.exception, AuditFailure)
    assert not [line for line in shown.output.splitlines() if line.startswith("everything")]
