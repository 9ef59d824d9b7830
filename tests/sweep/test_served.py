"""--serve: a server for each model, in the fingerprint, and gone afterwards; without a cluster."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from perpend.cli import cli
from perpend.errors import SpecError
from perpend.ledger.manifest import read_manifest
from perpend.sweep.served import check_command, flags
from tests.sweep import processes

SERVER = r"""
import http.server, json, os, sys, time
port, model = int(sys.argv[1]), sys.argv[2]
if "--broken" in sys.argv:
    sys.exit("no such weights: " + model)
open(sys.argv[0] + ".started", "a").write(model + "\n")
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *words): pass
    def send(self, body):
        data = json.dumps(body).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(data))); self.end_headers()
        self.wfile.write(data)
    def do_GET(self):
        bodies = {"/health": {}, "/version": {"version": "9.1"}, "/v1/models": {"data": [{"id": model}]}}
        self.send(bodies[self.path]) if self.path in bodies else self.send_error(404)
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = {"role": "assistant", "content": model + ": " + body["messages"][-1]["content"]}
        self.send({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": {}})
http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "items.csv").write_text("id,prompt,target\n" + "".join(f"i{n},{n}?,{n}\n" for n in range(6)))
    models = "".join(f'[[model]]\nname = "openai/org/{name}"\n' for name in ("a", "b"))
    path = tmp_path / "run.toml"
    path.write_text(f'task = "questions"\nitems = ["items.csv"]\nname = "served"\n{models}')
    return path


def command(spec: Path, *more: str) -> str:
    return " ".join([sys.executable, str(spec.parent / "server.py"), "{port}", "{model}", *more])


def test_each_model_is_asked_at_its_own_server_which_is_gone_afterwards(spec: Path) -> None:
    done = CliRunner().invoke(cli, ["eval", str(spec), "--serve", command(spec, "--dtype=half"), "--no-score"])
    assert done.exit_code == 0, done.output
    manifest = read_manifest(Path("runs/served"))
    for facts, name in zip(manifest.models, ("org/a", "org/b"), strict=True):
        assert facts.fingerprint["model"] == name
        assert facts.fingerprint["server"] == f"{Path(sys.executable).name} 9.1"
        assert (
            facts.fingerprint["server_flags"]
            == f"{Path(sys.executable).name} server.py {{port}} {{model}} --dtype=half"
        )
        assert str(spec.parent) not in json.dumps(dict(facts.fingerprint))
    assert not processes(str(spec.parent / "server.py"))


def test_other_flags_are_another_run(spec: Path) -> None:
    asked = ["eval", str(spec), "--no-score", "--max-requests", "3", "--serve"]
    assert CliRunner().invoke(cli, [*asked, command(spec)]).exit_code == 0
    done = CliRunner().invoke(cli, [*asked, command(spec, "--dtype=half")])
    assert "server_flags" in str(done.exception)


def test_a_shard_starts_no_server_for_a_model_that_it_does_not_ask(spec: Path) -> None:
    """The first shard takes both fingerprints; the others start the one server that they need."""
    for shard in ("1/4", "4/4"):
        done = CliRunner().invoke(
            cli, ["eval", str(spec), "--shard", shard, "--serve", command(spec, "--x"), "--quiet"]
        )
        assert done.exit_code == 0, done.output + str(done.exception)
    started = (spec.parent / "server.py.started").read_text().split()
    assert started == ["org/a", "org/b", "org/a", "org/b"], "two for the manifest, one for each shard"
    manifests = {path.read_bytes() for path in Path("runs/served/shards").rglob("manifest.json")}
    assert len(manifests) == 1


def test_a_server_that_ends_says_why(spec: Path) -> None:
    done = CliRunner().invoke(cli, ["eval", str(spec), "--serve", command(spec, "--broken")])
    assert "no such weights: org/a" in str(done.exception)
    assert not Path("runs").exists()


def test_what_no_fingerprint_may_hold_is_refused_or_left_out() -> None:
    for text in (
        "vllm serve {model} --port {port} --api-key sk-1",
        "x {port} --hf-token=abc",
        "x '{port}",
        "x {prot}",
        "",
    ):
        with pytest.raises(SpecError):
            check_command(text)
    check_command("""vllm serve {model} --port {port} --override '{"temperature": 0}' --max-num-batched-tokens 9""")
    assert flags("/opt/bin/serve {model} --port={port} --download-dir=/home/me/w $HOME/x") == (
        "serve {model} --port={port} --download-dir=w x"
    )


def test_a_model_that_is_no_server_is_refused(spec: Path) -> None:
    done = CliRunner().invoke(cli, ["eval", "--task", "conformity", "--model", "mock/true", "--serve", command(spec)])
    assert isinstance(done.exception, SpecError)
    assert "openai/NAME" in str(done.exception)
