"""The page in a published folder: it holds what was published, and a forged one is found however it is resealed."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from perpend._audit import audit
from perpend.api import publish
from perpend.canon import JSON, as_object
from perpend.measure.run import Run
from perpend.proof import receipt as receipts
from perpend.proof.audit import Audit
from perpend.proof.audit import audit as audit_without_pages
from perpend.proof.gates import gates
from perpend.proof.pages import PAGE
from perpend.view import published as pages
from tests.attack.forge import write_statements
from tests.tables import table
from tests.view.conftest import make_run
from tests.view.pages import HELD, Page, page_of, unpacked

FACTS = ("gates", "attempts", "code")
RUN: list[Path] = []
"""The run that the pages are of, once it is made."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    RUN[:] = [make_run(folder)]
    return published(RUN[0], folder / "published")


def published(run: Path, to: Path) -> Path:
    """Publish a run with its page, whatever gates fail."""
    failed = {gate.gate: "a test" for gate in gates(Run(run)) if not gate.passed}
    return publish(run, to, accept=failed, figures=False, page=True)[0].folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made.parent, tmp_path / "published")) / made.name


def reseal(folder: Path) -> None:
    """Write the receipt and the index anew, as a forger would."""
    from perpend.proof.publish import write_index

    body = receipts.read(folder).body
    facts: dict[str, JSON] = {key: body[key] for key in FACTS}
    write_statements(folder, as_object(body["code"]))
    receipts.write(folder, folder.name, facts)
    write_index(folder.parent)


def checked(folder: Path) -> tuple[bool, str]:
    """Whether the audit finds nothing, and what it says of the page."""
    outcome: Audit = audit(folder).runs[0]
    page = [check for check in outcome.checks if check.name == PAGE]
    return outcome.ok, page[0].first if page else ""


def differences(folder: Path) -> list[str]:
    """What differs in the page alone; the run that it is of lies beside the published folders."""
    return pages.check_published(Run(RUN[0]), folder, receipts.read(folder).body)[1]


def repacked(folder: Path, part: str, change: Callable[[str], str]) -> None:
    """Change what a part of the page holds, and pack it as perpend does."""
    from perpend.view.page import packed

    text = (folder / PAGE).read_text()
    old = dict(HELD.findall(text))[part]
    new = change(gzip.decompress(base64.b64decode(old)).decode())
    (folder / PAGE).write_text(text.replace(old, packed(new.encode())))


def test_the_page_is_listed_holds_the_run_and_audits(folder: Path) -> None:
    assert PAGE in receipts.read(folder).files
    page = Page(folder / PAGE)
    assert page.run["kind"] == "published"
    assert {gate["name"] for gate in page.run["gates"]} >= {"dataset", "prompts", "private"}
    assert checked(folder) == (True, "")


def test_a_page_of_a_folder_says_that_it_shows_what_is_stored(folder: Path, tmp_path: Path) -> None:
    """Whatever somebody wrote there."""
    body = json.loads((folder / "metrics.json").read_text())
    for metric in body["metrics"]:
        metric["value"] = 0.999
    (folder / "metrics.json").write_text(json.dumps(body))
    for place in (folder, RUN[0]):
        page = page_of(tmp_path / "p.html", place)
        assert ["Audit", "no; answer, numbers and figures are as stored"] in page.run["facts"]
        assert (page.run["headline"][0]["value"] == 0.999) == (place == folder)
        assert page.run["cautions"][0].startswith("As stored, not audited") == (place == folder)


def test_publishing_again_gives_the_same_page(made: Path, tmp_path: Path) -> None:
    again = published(RUN[0], tmp_path / "again")
    assert (again / PAGE).read_bytes() == (made / PAGE).read_bytes()


def test_a_run_published_without_a_page_has_none(tmp_path: Path, made: Path) -> None:
    run = RUN[0]
    failed = {gate.gate: "a test" for gate in gates(Run(run)) if not gate.passed}
    plain = publish(run, tmp_path / "plain", accept=failed, figures=False)[0].folder
    assert not (plain / PAGE).exists()
    assert checked(plain) == (True, "")


@pytest.mark.parametrize(*table("pages_changed"))
def test_changed_data_are_found(folder: Path, part: str, old: str, new: str) -> None:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    repacked(folder, part, change)
    assert len(differences(folder)) == 1
    assert PAGE in differences(folder)[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("<script>", "<script>alert(1);", 1),
        lambda text: text.replace("</body>", "<script src='https://example.invalid/x.js'></script></body>"),
        lambda text: text.replace("</style>", " body{display:none}</style>", 1),
        lambda text: re.sub(r'content="default-src[^"]*"', 'content="default-src *"', text, count=1),
        lambda text: text + "<p>and more</p>",
        lambda text: text.replace("<main", "<p>right: 100%</p><main", 1),
        lambda text: text.replace("</body>", '<script type="text/plain" id="index"></script></body>'),
    ],
)
def test_another_program_in_the_page_is_found(folder: Path, change: Callable[[str], str]) -> None:
    text = (folder / PAGE).read_text()
    assert change(text) != text
    (folder / PAGE).write_text(change(text))
    assert "do not open it" in differences(folder)[0]


@pytest.mark.parametrize(
    "data",
    [
        lambda data: gzip.compress(data + b" "),
        lambda data: gzip.compress(data) + b"more",
        lambda data: gzip.compress(data) + gzip.compress(b"more"),
        lambda data: gzip.compress(b"\0" * 100_000_000),
        lambda data: b"not gzip",
        lambda data: b"",
        lambda data: gzip.compress(data, mtime=17),
        lambda data: gzip.compress(data)[:-4],
    ],
)
def test_what_is_packed_otherwise_is_found_and_never_unpacked_further(
    folder: Path, data: Callable[[bytes], bytes]
) -> None:
    text = (folder / PAGE).read_text()
    old = dict(HELD.findall(text))["chunk-0"]
    new = base64.b64encode(data(gzip.decompress(base64.b64decode(old)))).decode()
    (folder / PAGE).write_text(text.replace(old, new))
    assert len(differences(folder)) == 1


@pytest.mark.parametrize("number", [1, 7])
def test_a_part_too_many_or_missing_is_found(folder: Path, number: int) -> None:
    text = (folder / PAGE).read_text()
    extra = f'<script type="text/plain" id="chunk-{number}">AAAA</script>\n</body>'
    (folder / PAGE).write_text(text.replace("</body>", extra))
    assert "parts" in differences(folder)[0]
    (folder / PAGE).write_text(HELD.sub("", text))
    assert differences(folder)


def test_a_forged_page_fails_the_audit_though_everything_is_resealed(folder: Path) -> None:
    repacked(folder, "chunk-0", lambda text: text.replace("It is Toronto.", "It is Ottawa."))
    reseal(folder)
    ok, first = checked(folder)
    assert not ok
    assert "Toronto" in first


def test_an_empty_page_a_folder_in_its_place_and_stray_files_are_found(folder: Path) -> None:
    page = (folder / PAGE).read_bytes()
    (folder / PAGE).write_bytes(b"")
    reseal(folder)
    assert "empty" in checked(folder)[1]
    (folder / PAGE).write_bytes(page)
    (folder / "page_data").mkdir()
    (folder / "page_data" / "0.js").write_text("alert(1)")
    assert "nothing in this run gives" in differences(folder)[0]
    (folder / PAGE).unlink()
    reseal(folder)
    assert "missing" in checked(folder)[1]


def test_a_page_that_nobody_checks_is_a_file_that_nothing_gives(folder: Path) -> None:
    assert not audit_without_pages([folder])[0].ok


def test_a_page_with_a_folder_of_trials_is_checked_file_by_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Path
) -> None:
    monkeypatch.setattr(pages, "LARGEST_FILE", 5)
    folder = published(RUN[0], tmp_path / "p")
    assert (folder / "page_data" / "0.js").is_file()
    assert differences(folder) == []
    text = (folder / "page_data" / "0.js").read_text()
    for forged in (text.replace('"', "'"), text + "alert(1)", "alert(1);" + text, text.replace("(0,", "(1,")):
        (folder / "page_data" / "0.js").write_text(forged)
        assert "not a part of a page" in differences(folder)[0]
    (folder / "page_data" / "0.js").write_text(text)
    (folder / "page_data" / "1.js").write_text(text)
    assert "page_data/1.js" in differences(folder)[0]
    (folder / "page_data" / "0.js").unlink()
    assert "page_data/0.js: missing" in differences(folder)


def test_forged_numbers_that_the_page_repeats_are_found_by_their_own_check(folder: Path) -> None:
    metrics = json.loads((folder / "metrics.json").read_text())
    index = unpacked(dict(HELD.findall((folder / PAGE).read_text()))["index"])
    assert index["runs"][0]["headline"][0]["value"] in [one["value"] for one in metrics["metrics"]]
    (folder / "metrics.json").write_text((folder / "metrics.json").read_text().replace('"value":0.5', '"value":0.25'))
    reseal(folder)
    assert not checked(folder)[0]
