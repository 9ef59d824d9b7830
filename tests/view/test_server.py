"""The live page: who may ask, what is answered, what grows, and that nothing is written but labels."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from perpend._view import OpenedRuns, ViewOptions
from perpend.ask.runner import evaluate_task
from perpend.cli import cli
from perpend.measure.labels import LABELS, read_labels
from perpend.measure.run import Run
from perpend.models.callable import Callable as CallableModel
from perpend.report.derive import derive
from perpend.spec.runspec import ModelSpec, RunSpec
from perpend.types import Sampling
from perpend.view.live import LiveView
from perpend.view.server import Guard, application
from tests.tables import table
from tests.view.conftest import TASK, answer, make_run

TOKEN, PORT = "a-token-that-nobody-knows", 8123
HOST, ORIGIN = f"127.0.0.1:{PORT}", f"http://127.0.0.1:{PORT}"


@dataclass
class Reply:
    """What a request got."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Live:
    """A live page, asked without a network."""

    app: Guard
    view: LiveView

    def ask(
        self,
        path: str,
        method: str = "GET",
        *,
        token: str = TOKEN,
        host: str | None = HOST,
        body: bytes = b"",
        **headers: str,
    ) -> Reply:
        """Send one request below /TOKEN/."""
        return self.ask_at(f"/{token}/{path}", method, host=host, body=body, **headers)

    def ask_at(
        self, path: str, method: str = "GET", *, host: str | None = HOST, body: bytes = b"", **headers: str
    ) -> Reply:
        """Send one request."""
        path, _, query = path.partition("?")
        given = {name.replace("_", "-"): value for name, value in headers.items()} | (
            {} if host is None else {"host": host}
        )
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "scheme": "http",
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
            "client": ("127.0.0.1", 5),
            "server": ("127.0.0.1", PORT),
        }
        sent: list[Any] = []

        async def receive() -> dict[str, object]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        asyncio.run(self.app(scope, receive, send))
        start = sent[0]
        content = b"".join(message.get("body", b"") for message in sent[1:])
        return Reply(start["status"], {k.decode(): v.decode() for k, v in start["headers"]}, content)

    def label(self, body: object, **headers: str) -> Reply:
        """Post labels as the page does."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"origin": ORIGIN, "content_type": "application/json", **headers}
        return self.ask("api/labels", "POST", body=data, **given)


@contextmanager
def live_on(*folders: Path) -> Iterator[Live]:
    with ExitStack() as stack:
        opened = OpenedRuns(stack, folders, ViewOptions(figures=False))
        view = LiveView(opened.view)
        yield Live(application(view, TOKEN, PORT), view)


@pytest.fixture
def live(run_folder: Path) -> Iterator[Live]:
    with live_on(run_folder) as page:
        yield page


@pytest.fixture(scope="module")
def untouched(honest: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that no test may write to."""
    return Path(shutil.copytree(honest, tmp_path_factory.mktemp("untouched") / honest.name))


@pytest.fixture(scope="module")
def refusing(untouched: Path) -> Iterator[Live]:
    """A live page of it, for requests that are refused."""
    with live_on(untouched) as page:
        yield page


def line_of(live: Live, place: int = 0, by: str = "anna", **changes: object) -> dict[str, object]:
    """A label as the page writes it, of one of the answers to read."""
    index = live.ask("api/index").json
    asked = index["runs"][0]["labelling"]
    row, stratum, drawn, of = asked["sample"][place]
    chunk = next(n for n, one in enumerate(index["chunks"]) if one["first"] <= row < one["first"] + one["n"])
    trial = live.ask(f"api/chunk/{chunk}").json["trials"][row - index["chunks"][chunk]["first"]]
    option = asked["options"][0]
    body: dict[str, object] = {
        "trial": trial["number"], "value": option["value"], "by": by, "scorer": asked["measures"],
        "rubric": asked["rubric"], "rubric_sha256": asked["rubric_sha256"], "label": option["name"],
        "text_sha256": trial["text_sha256"], "turn": trial["text_turn"], "seed": asked["seed"],
        "stratum": stratum, "drawn": drawn, "of": of,
    }  # fmt: skip
    return body | changes


def test_the_page_its_index_and_its_chunks_are_answered(live: Live) -> None:
    page = live.ask("")
    assert page.status == 200
    assert b"perpend view" in page.body
    assert "script-src 'sha256-" in page.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert (page.headers["referrer-policy"], page.headers["cache-control"]) == ("no-referrer", "no-store")
    index = live.ask("api/index").json
    assert (index["mode"], index["n"], index["growing"]) == ("live", 20, False)
    trials = [one for chunk in index["chunks"] for one in live.ask(chunk["at"]).json["trials"]]
    assert len(trials) == 20
    assert live.ask(f"api/index?since={index['version']}").status == 204


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8123", "127.0.0.1", "127.0.0.1:80", "localhost.evil:8123", ""]
)
def test_another_host_is_refused_whatever_the_token(refusing: Live, host: str) -> None:
    assert refusing.ask("api/index", host=host).status == 421
    assert refusing.ask("api/index", host=None).status == 421


@pytest.mark.parametrize(
    "path", ["/", "/api/index", "/wrong/api/index", f"/{TOKEN}", f"/{TOKEN}x/", f"/{TOKEN[:-1]}/", "//", "/é/"]
)
def test_without_the_token_nothing_is_answered(refusing: Live, path: str) -> None:
    reply = refusing.ask_at(path)
    assert reply.status == 404
    assert TOKEN.encode() not in reply.body


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:8123", "http://127.0.0.1:9999", f"{ORIGIN}.evil"]
)
def test_another_origin_is_refused(refusing: Live, origin: str, untouched: Path) -> None:
    assert refusing.ask("api/index", origin=origin).status == 403
    line = line_of(refusing)
    assert refusing.label({"run": "capitals", "labels": [line]}, origin=origin).status == 403
    assert refusing.ask("api/index", sec_fetch_site="cross-site").status == 403
    assert not (untouched / LABELS).exists()


def test_a_post_without_an_origin_is_refused(refusing: Live) -> None:
    data = json.dumps({"run": "capitals", "labels": [line_of(refusing)]}).encode()
    assert refusing.ask("api/labels", "POST", body=data, content_type="application/json").status == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_only_labels_are_posted(refusing: Live, method: str) -> None:
    for path in ("", "api/index", "api/chunk/0"):
        assert refusing.ask(path, method, origin=ORIGIN).status == 405
    assert refusing.ask("api/labels").status == 405


@pytest.mark.parametrize(
    "path",
    ["manifest.json", "api/chunk/../../manifest.json", "../manifest.json", "api/chunk/-1", "api/chunk/999999",
     "api/chunk/1e3", "api/chunk/%2e%2e", "api", "api/labels/x", "run.db", "..%2frun.db", "api/chunk/0/..",
     "static/view.js", "docs", "openapi.json"],
)  # fmt: skip
def test_no_path_leads_to_a_file(refusing: Live, path: str) -> None:
    assert refusing.ask(path).status == 404


def test_labels_of_two_readers_are_appended_as_perpend_label_writes_them(live: Live, run_folder: Path) -> None:
    before = live.ask("api/index").json["version"]
    first, second = line_of(live), line_of(live, by="ben")
    assert live.label({"run": "capitals", "labels": [first]}).json == {"labels": 1}
    assert live.label({"run": "capitals", "labels": [second, line_of(live, 1, "ben")]}).json == {"labels": 3}
    assert {one.by for one in read_labels(Run(run_folder))} == {"anna", "ben"}
    index = live.ask(f"api/index?since={before}").json
    assert {"label:anna", "label:ben"} <= index["columns"].keys()
    assert [one["value"] for one in index["runs"][0]["labelling"]["agreement"] if one["name"] == "agreement"] == [1.0]


@pytest.mark.parametrize(*table("posted_labels_refused"))
def test_a_label_that_fits_no_answer_is_refused_with_all_that_came_with_it(
    refusing: Live, untouched: Path, changes: dict[str, object], words: str
) -> None:
    reply = refusing.label({"run": "capitals", "labels": [line_of(refusing, 1), line_of(refusing, **changes)]})
    assert reply.status in (400, 409)
    assert words in reply.json["error"]
    assert not (untouched / LABELS).exists()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"[]", 400),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b'{"run": "capitals", "labels": []}', 400),
        (b'{"run": "../other", "labels": [{}]}', 400),
        (b'{"run": "capitals", "labels": "x"}', 400),
        (b'{"run": "capitals", "labels": [1]}', 400),
        (b'{"run": "capitals", "labels": [{}], "file": "/tmp/x"}', 400),
        (b'{"a":' * 5000 + b"1" + b"}" * 5000, 400),
        (b'"' + b"x" * (1 << 20) + b'"', 413),
    ],
)
def test_a_body_that_is_no_labels_is_refused(refusing: Live, untouched: Path, body: bytes, status: int) -> None:
    assert refusing.label(body).status == status
    assert not (untouched / LABELS).exists()


def test_labels_are_json_by_their_type(refusing: Live) -> None:
    body = {"run": "capitals", "labels": [line_of(refusing)]}
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        assert refusing.label(body, content_type=kind).status == 415


def test_a_link_in_the_place_of_the_labels_is_not_followed(live: Live, run_folder: Path, tmp_path: Path) -> None:
    line = line_of(live)
    (tmp_path / "elsewhere").write_text("")
    (run_folder / LABELS).symlink_to(tmp_path / "elsewhere")
    assert live.label({"run": "capitals", "labels": [line]}).status == 409
    assert (tmp_path / "elsewhere").read_text() == ""


def test_nothing_but_labels_is_written(live: Live, run_folder: Path) -> None:
    def state() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in run_folder.rglob("*") if path.is_file()}

    before = state()
    for path in ("", "api/index", "api/chunk/0"):
        live.ask(path)
    assert state() == before
    live.label({"run": "capitals", "labels": [line_of(live)]})
    after = state()
    assert after.keys() - before.keys() == {LABELS}
    assert {name: after[name] for name in before} == before


def test_an_imported_log_takes_no_labels(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    body = {"raw_text": "It is Ottawa.", "condition": "control", "variant": "m", "item_id": "c", "temperature": 0.0,
            "question": "Capital of Canada?", "ground_truth_text": "Ottawa"}  # fmt: skip
    log.write_text(json.dumps(body) + "\n")
    with live_on(log) as page:
        reply = page.label({"run": "log", "labels": [line_of(page)]})
    assert reply.status == 409
    assert "save them" in reply.json["error"]


def _ask_more(folder: Path, most: int | None) -> None:
    """Ask the rest of a run that was stopped, or some of it."""
    from perpend.spec.runspec import Limits

    samplings = (Sampling(temperature=0.0), Sampling(temperature=0.7))
    spec = RunSpec("t", (ModelSpec("callable/m", "m"),), samplings=samplings, items=(folder / "items.jsonl",),
                   name="capitals", limits=Limits(max_requests=most))  # fmt: skip
    evaluate_task(spec, TASK, [CallableModel("m", answer)], folder / "runs", quiet=True)


def test_the_page_grows_while_the_run_is_asked_and_rows_stay_where_they_are(tmp_path: Path) -> None:
    folder = make_run(tmp_path, most=8)
    with live_on(folder) as page:
        first = page.ask("api/index").json
        assert (first["n"], first["growing"]) == (20, True)
        assert first["runs"][0]["answered"] + first["runs"][0]["failed"] == 8
        _ask_more(tmp_path, 14)
        second = page.ask(f"api/index?since={first['version']}").json
        assert (second["n"], second["growing"]) == (20, True)
        assert second["runs"][0]["answered"] > first["runs"][0]["answered"]
        assert second["chunks"][0]["key"] != first["chunks"][0]["key"]
        assert second["columns"]["item"] == first["columns"]["item"]
        run = Run(folder)
        run.score()
        derive([run], folder, figures=False)
        third = page.ask(f"api/index?since={second['version']}").json
        assert third["runs"][0]["headline"] != second["runs"][0]["headline"]
        assert page.ask(f"api/index?since={third['version']}").status == 204


def test_a_port_in_use_and_a_missing_package_are_said_in_a_sentence(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = CliRunner().invoke(cli, ["view", str(run_folder), "--port", str(port), "--no-browser"])
    assert f"port {port} is in use" in str(done.exception)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = CliRunner().invoke(cli, ["view", str(run_folder), "--no-browser"])
    assert "pip install 'perpend[view]'" in str(done.exception)


@pytest.mark.real
def test_the_server_listens_on_loopback_only_and_ends_when_it_is_interrupted(run_folder: Path) -> None:
    command = [sys.executable, "-c", "from perpend.cli import main; main()", "view", str(run_folder), "--no-browser"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().removeprefix("Page: ").strip()
            assert address.startswith("http://127.0.0.1:")
            with urllib.request.urlopen(f"{address}api/index") as reply:
                assert json.load(reply)["n"] == 20
            with urllib.request.urlopen(address) as reply:
                assert b"perpend view" in reply.read()
                assert "server" not in {name.lower() for name in reply.headers}
        finally:
            process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode in (0, 130)
    assert "Traceback" not in err
