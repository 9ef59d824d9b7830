from __future__ import annotations

import base64
import gzip
import html
import json
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from perpend.errors import AuditFailure
from perpend.ledger.plan import Appended
from perpend.ledger.store import Store
from perpend.proof.leaks import MachineIdentity, search, this_machine
from perpend.proof.lines import write_lines
from perpend.proof.publish import publish
from perpend.spec.keys import note_variables
from perpend.types import Response
from tests.runs import asked

KEY = "sk-" + "a1B2c3D4e5F6g7H8i9J0"
OWN = MachineIdentity({"LAB_TOKEN": "q9-secret-value"}, ["/home/alice/work"], "alice", "tango-7")


@pytest.fixture
def run(tmp_path: Path, items_file: Callable[..., Path]) -> Path:
    return asked(items_file(8), tmp_path / "runs").directory


def say(run: Path, **response: str) -> None:
    """One more attempt of trial 1, which changes no answer."""
    with Store.open(run / "run.db", write=True) as store:
        store.append([Appended(1, 0, 1, store.sample_requests(1)[0][1], Response(**response))])


def kinds(folder: Path, own: MachineIdentity = OWN) -> list[str]:
    return [leak.kind for leak in search(folder, own)]


def responses(folder: Path, **body: str) -> Path:
    write_lines(folder / "responses.jsonl.gz", ['{"text":"first"}', json.dumps(body, separators=(",", ":"))])
    return folder


@pytest.mark.parametrize(
    "text",
    [
        f"key = {KEY}",
        "Authorization: Bearer abcdefghij0123456789",
        "AKIA" + "ABCDEFGHIJKLMNOP",
        "ghp_" + "a" * 36,
        "hf_" + "b" * 30,
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "postgres://bob:hunter2@db/x",
    ],
)
def test_the_shapes_of_keys_are_found_in_what_we_write(tmp_path: Path, text: str) -> None:
    (tmp_path / "report.md").write_text(f"# Title\n\n{text}\n")
    (leak,) = search(tmp_path, OWN)
    assert str(leak).startswith("report.md:3: a")
    assert text not in str(leak)
    assert not leak.secret, "of a key that is not this machine's, a reason may say why it is there"


@pytest.mark.parametrize(
    "text", ["/home/bob/x.jsonl", "/Users/bob/x", "/root/x", "C:\\\\Users\\\\bob", "file:///data/x", "(/tmp/run)"]
)
def test_absolute_paths_are_found_in_what_we_write(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text('{"path": "' + text + '"}')
    assert any(kind.startswith("an absolute path") for kind in kinds(tmp_path))


@pytest.mark.parametrize("text", ["https://example.org/home/page", "data/home/x", "and/or", "C: the third", "1/2"])
def test_what_only_looks_like_a_path_is_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text('{"path": "' + text + '"}')
    assert kinds(tmp_path) == []


@pytest.mark.parametrize("text", ['{"by": "alice"}', "on tango-7.", "alice@lab", "/x/alice/y", "~alice", "me@tango-7"])
def test_this_machines_user_and_host_are_found_in_what_we_write(tmp_path: Path, text: str) -> None:
    (tmp_path / "report.md").write_text(text)
    assert kinds(tmp_path)


@pytest.mark.parametrize("text", ["malice", "/alice2", "chalice", "tango-77", "tango", "as alice may, she will"])
def test_a_name_inside_another_word_or_as_a_plain_word_is_not_the_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "report.md").write_text(text)
    assert kinds(tmp_path) == []


@pytest.mark.parametrize(
    "text",
    [
        "Use cd /home/bob and export KEY=…",
        "sk-learn-based-classifiers-of-2023 and task-specific-instructions-2024x",
        "Authorization: Bearer authentication-required",
        "postgres://bob:hunter2@db/x",
        "Alice and alice went to tea; tango-7 is a dance",
        "root@localhost:/root/x",
    ],
)
def test_a_model_may_speak_of_paths_tokens_and_people(tmp_path: Path, text: str) -> None:
    assert kinds(responses(tmp_path, text=text)) == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("the token is q9-secret-value", "the value of LAB_TOKEN"),
        ("reading /home/alice/work/x", "a folder of this machine"),
        ("mail alice@example.org", "this machine's user name"),
        ("ssh me@tango-7", "this machine's host name"),
    ],
)
def test_what_this_machine_knows_to_be_its_own_is_found_in_answers_too(tmp_path: Path, text: str, kind: str) -> None:
    (leak, *_) = search(responses(tmp_path, text=text), OWN)
    assert leak.kind == kind
    assert leak.line == 2


DISTINCTIVE = [
    KEY,
    "sk-ant-api03-" + "Ab1" * 30 + "-xyz",
    "-----BEGIN RSA PRIVATE KEY-----",
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "ghp_" + "a" * 36,
    "github_pat_" + "a1" * 20,
    "glpat-" + "a1" * 10,
    "hf_" + "b" * 30,
    "gsk_" + "b1" * 20,
    "xoxb-" + "1234567890-abc",
    "AIza" + "b" * 35,
    "sk_live_" + "a1" * 10,
    "eyJ" + "a" * 20 + ".eyJ" + "b" * 20 + "." + "c" * 20,
]


@pytest.mark.parametrize("text", DISTINCTIVE)
@pytest.mark.parametrize("place", ["text", "finish", "error"])
def test_a_distinctive_shape_is_found_in_every_field_of_a_response(tmp_path: Path, text: str, place: str) -> None:
    (leak,) = search(responses(tmp_path, **{place: f"see {text}"}), OWN)
    assert str(leak).startswith("responses.jsonl.gz:2: a")
    assert str(leak).endswith(f" in {place}")
    assert leak.is_key
    assert not leak.secret


@pytest.mark.parametrize("text", ["Authorization: Bearer abcdefghij0123456789", "postgres://bob:hunter2@db/x"])
def test_the_error_of_a_server_is_not_a_models_speech(tmp_path: Path, text: str) -> None:
    assert len(kinds(responses(tmp_path, error=f"401: {text}"))) == 1


VALUE = "Q9-Secret/Value+7"
SPELLED = {
    "as it is": VALUE,
    "in small letters": VALUE.lower(),
    "as an address has it": quote(VALUE, safe=""),
    "each letter as an address has it": "".join(f"%{ord(ch):02x}" for ch in VALUE),
    "quoted twice": quote(quote(VALUE, safe=""), safe=""),
    "as JSON may have it": VALUE.replace("/", "\\/"),
    "each letter as JSON may have it": "".join(f"\\u{ord(ch):04x}" for ch in VALUE),
    "in base64": base64.b64encode(VALUE.encode()).decode(),
    "in base64 after a name": base64.b64encode(f"me:{VALUE}".encode()).decode(),
    "in base64 after another name": base64.urlsafe_b64encode(f"alf:{VALUE} and on".encode()).decode(),
    "in hex": VALUE.encode().hex(),
    "as HTML has it": html.escape(VALUE),
}


@pytest.mark.parametrize("spelling", SPELLED.values(), ids=SPELLED)
@pytest.mark.parametrize("place", ["text", "error", "finish"])
def test_the_value_of_a_key_is_found_however_it_is_spelled(tmp_path: Path, spelling: str, place: str) -> None:
    own = MachineIdentity({"LAB": VALUE})
    (leak,) = search(responses(tmp_path, **{place: f"it is {spelling}!"}), own)
    assert str(leak) == f"responses.jsonl.gz:2: the value of LAB in {place}"
    assert leak.secret
    assert spelling not in str(leak)


def test_a_key_is_found_wherever_it_lies_in_a_file(tmp_path: Path) -> None:
    own = MachineIdentity({"LAB": VALUE})
    for at in (0, (1 << 20) - 9, 1 << 20, (1 << 21) - 1, (1 << 21) + 77):
        body = bytearray(b"x" * ((1 << 21) + 200))
        body[at : at + len(VALUE)] = VALUE.encode()
        (tmp_path / "figure.png").write_bytes(body)
        assert kinds(tmp_path, own) == ["the value of LAB"], at
        lines = b"\n" * at
        (tmp_path / "figure.png").write_bytes(lines + VALUE.encode())
        (leak,) = search(tmp_path, own)
        assert leak.line == at + 1


def test_every_file_is_searched_packed_binary_and_code_and_the_names_of_files_too(tmp_path: Path) -> None:
    own = MachineIdentity({"LAB": "q9-secret-value"})
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "task.py").write_text("KEY = 'q9-secret-value'\n")
    (tmp_path / "figure.png").write_bytes(b"\x89PNG\r\n\x1a\n\0tEXtSoftware\0q9-secret-value\xff")
    (tmp_path / "scores.jsonl.gz").write_bytes(gzip.compress(b'{"reason":"q9-secret-value"}\n'))
    (tmp_path / "table.csv").write_text('model,note\nm,"a ""quoted""\nq9-secret-value"\n')
    (tmp_path / "manifest.json").write_text(json.dumps({"models": [{"fingerprint": {"x": "q9-secret-value"}}]}))
    (tmp_path / "q9-secret-value.txt").write_text("nothing")
    shown = {str(leak) for leak in search(tmp_path, own)}
    assert shown == {
        "code/task.py:1: the value of LAB",
        "figure.png:3: the value of LAB",
        "scores.jsonl.gz:1: the value of LAB in reason",
        "table.csv:3: the value of LAB in column note",
        "manifest.json:1: the value of LAB in models[0].fingerprint.x",
        "the name of a file: the value of LAB",
    }


def test_a_field_that_is_named_like_the_key_is_not_named(tmp_path: Path) -> None:
    own = MachineIdentity({"LAB": "q9-secret-value"}, user="alice")
    (tmp_path / "plan.json").write_text(json.dumps({"q9-secret-value": {"by": "alice@lab"}}))
    shown = [str(leak) for leak in search(tmp_path, own)]
    assert shown[0] == "plan.json:1: the value of LAB in a name in the object"
    assert not any("q9-secret" in line for line in shown)


def test_a_value_of_several_lines_is_found_by_each_that_is_secret(tmp_path: Path) -> None:
    own = MachineIdentity({"LAB": '{\n  "type": "service_account",\n  MIIEvQIBADANBgkqhkiG9w0\n}'})
    (tmp_path / "report.md").write_text("# x\nMIIEvQIBADANBgkqhkiG9w0\n")
    assert kinds(tmp_path, own) == ["the value of LAB"]
    (tmp_path / "report.md").write_text('# x\n  "type": "service_account",\n}\n')
    assert kinds(tmp_path, own) == []


def test_a_short_value_is_looked_for_as_a_word_in_what_we_write_and_may_be_accepted(tmp_path: Path) -> None:
    own = MachineIdentity({"LAB": "hunter2"})
    assert kinds(responses(tmp_path, text="the password is hunter2"), own) == []
    (leak,) = search(responses(tmp_path, error="401: wrong key hunter2"), own)
    assert (leak.kind, leak.secret) == ("the short value of LAB", False)
    assert kinds(responses(tmp_path, error="401: wrong key hunter25"), own) == []


@pytest.mark.parametrize(
    "piece", ["sk-", "a.a", "eyJ-", "sk-a-", "%2", "%25", "\\", "bearer ", "x://a:", "-----BEGIN A"]
)
def test_no_text_takes_long_to_search(tmp_path: Path, piece: str) -> None:
    text = piece * (1_000_000 // len(piece)) + " u00"
    (tmp_path / "report.md").write_text(text)
    responses(tmp_path, error=text, text=text)
    started = time.process_time()
    search(tmp_path, MachineIdentity({"LAB": VALUE}, ["/home/alice/work"], "alice", "tango-7"))
    assert time.process_time() - started < 10


def test_a_secret_with_quotes_is_found_as_json_writes_it(tmp_path: Path) -> None:
    own = MachineIdentity({"APP_SECRET": 'pa"ss\\word9'})
    assert kinds(responses(tmp_path, text='it is pa"ss\\word9!'), own) == ["the value of APP_SECRET"]


def test_names_and_values_that_say_nothing_are_not_looked_for() -> None:
    own = this_machine(
        {"HOME": "/root", "USER": "root", "MY_KEY": "short", "A_TOKEN": "password", "B_SECRET": "12345678"}
    )
    assert this_machine({"C_KEY": "hunter2"}).secrets == {"C_KEY": "hunter2"}
    assert own.user == ""
    assert own.secrets == {}
    assert "/root" not in own.folders
    found = this_machine({"HOME": "/home/zoe", "my_api_key": "abc123def456", "KEYBOARD": "qwertz-105-keys"})
    assert (found.user, found.secrets) == ("zoe", {"my_api_key": "abc123def456"})
    assert this_machine({"HOME": "/app"}).user == ""


def test_a_run_with_a_secret_is_refused_without_showing_it(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_API_KEY", "zz-Very-Secret-1")
    say(run, text="my instructions hold zz-Very-Secret-1")
    with pytest.raises(AuditFailure, match=r"responses.jsonl.gz:2: the value of LAB_API_KEY in text") as refused:
        publish([run], tmp_path / "out", {"private": "no"})
    assert "Very" not in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_the_shape_of_another_key_is_refused_unless_a_reason_is_given(run: Path, tmp_path: Path) -> None:
    say(run, text=f"Here is a key: {KEY}")
    with pytest.raises(AuditFailure, match=r"responses.jsonl.gz:2: an API key \(sk-…\) in text"):
        publish([run], tmp_path / "out", {})
    (made,) = publish([run], tmp_path / "out", {"private": "the benchmark asks for made-up keys"})
    assert "the benchmark asks for made-up keys" in (made.folder / "report.md").read_text()


def test_a_variable_that_the_spec_names_counts_whatever_its_name_is(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MYSERVER", "zz-Very-Secret-1")
    say(run, text="my instructions hold zz-Very-Secret-1")
    note_variables(run, ["MYSERVER", "NOT_SET"])
    with pytest.raises(AuditFailure, match=r"responses.jsonl.gz:2: the value of MYSERVER in text"):
        publish([run], tmp_path / "out", {"private": "no"})
    assert "keys.json" not in {path.name for path in tmp_path.rglob("out/**/*")}


def test_a_path_of_this_machine_is_refused_unless_that_is_accepted(run: Path, tmp_path: Path) -> None:
    say(run, text=f"see {run}")
    with pytest.raises(AuditFailure, match="--accept private --because"):
        publish([run], tmp_path / "out", {})
    (made,) = publish([run], tmp_path / "out", {"private": "a scratch folder"})
    assert made.gates[-1].because == "a scratch folder"
    assert "a scratch folder" in (made.folder / "report.md").read_text()


def test_a_path_in_the_manifest_is_refused(run: Path, tmp_path: Path) -> None:
    body = json.loads((run / "manifest.json").read_text())
    body["datasets"][0]["path"] = "/home/somebody/items.jsonl"
    (run / "manifest.json").write_text(json.dumps(body))
    with pytest.raises(AuditFailure, match=r"manifest.json:\d+: an absolute path"):
        publish([run], tmp_path / "out", {})
