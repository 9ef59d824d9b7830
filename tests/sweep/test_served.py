"""--serve: a server for each model, in the fingerprint, and gone afterwards; without a cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from perpend.cli import cli
from perpend.errors import SpecError
from perpend.ledger.manifest import read_manifest
from perpend.ledger.store import Store
from perpend.sweep import keeper
from perpend.sweep.served import _claimed_port, check_command, flags
from tests.sweep import WORKERS, call, environment, processes, started, until, write_served


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_served(tmp_path, 6, "a", "b")


def command(spec: Path, *more: str) -> str:
    return " ".join([sys.executable, str(spec.parent / "server.py"), "{port}", "{model}", *more])


def test_each_model_is_asked_at_its_own_server_which_is_gone_afterwards(spec: Path) -> None:
    done = CliRunner().invoke(cli, ["eval", str(spec), "--serve", command(spec, "--dtype=half"), "--no-score"])
    assert done.exit_code == 0, done.output
    manifest = read_manifest(Path("runs/sweep"))
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
    models = [line.split()[0] for line in (spec.parent / "started").read_text().splitlines()]
    assert models == ["org/a", "org/b", "org/a", "org/b"], "two for the manifest, one for each shard"
    manifests = {path.read_bytes() for path in Path("runs/sweep/shards").rglob("manifest.json")}
    assert len(manifests) == 1


def test_a_server_that_ends_says_why(spec: Path) -> None:
    done = CliRunner().invoke(cli, ["eval", str(spec), "--serve", command(spec, "--broken")])
    assert "no such weights: org/a" in str(done.exception)
    assert not Path("runs").exists()


@pytest.mark.parametrize("items", [3, 60])
def test_a_server_that_dies_while_it_is_asked_says_why_and_the_same_command_resumes(spec: Path, items: int) -> None:
    """With few items nobody tries to reach it again, with many all do."""
    write_served(spec.parent, items, "a", "b")
    (spec.parent / "deadly-0").touch()
    words = ["eval", str(spec), "--no-score", "--serve", command(spec)]
    error = str(CliRunner().invoke(cli, words).exception)
    for part in ("ended with exit code 3 while it was asked", "The same command again", "\n  out of memory"):
        assert part in error
    (spec.parent / "deadly-0").unlink()
    assert CliRunner().invoke(cli, words).exit_code == 0
    with Store.open(Path("runs/sweep/run.db")) as store:
        assert store.responses() == items * 2, "what it did not answer is no failure of a trial"


def test_a_server_that_never_answers_is_given_up(spec: Path) -> None:
    (spec.parent / "dumb-0").touch()
    done = CliRunner().invoke(cli, ["eval", str(spec), "--serve", command(spec), "--serve-wait", "0.01"])
    assert "did not answer within 0.01 minutes. Allow it more with --serve-wait" in str(done.exception)
    assert "It said nothing" in str(done.exception)
    assert not processes(str(spec.parent / "server.py"))


@pytest.mark.parametrize("shell", ["setsid -w {}; true", "(setsid {} &); sleep 1000"])
def test_a_server_behind_a_shell_in_a_session_of_its_own_ends_with_a_task_that_is_killed(
    spec: Path, shell: str
) -> None:
    (spec.parent / "gate").touch()
    shell = f"bash -c '{shell.replace('{}', command(spec))}'"
    with started(spec.parent, "eval", spec, "--quiet", "--serve", shell) as task:
        until(lambda: len(asked(spec)) == WORKERS)
        assert processes(str(spec.parent / "server.py"))
        task.kill()
        until(lambda: not processes(str(spec.parent / "server.py")))


def test_a_server_whose_keeper_is_killed_ends_with_its_task(spec: Path) -> None:
    (spec.parent / "gate").touch()
    with started(spec.parent, "eval", spec, "--quiet", "--serve", command(spec)) as task:
        until(lambda: len(asked(spec)) == WORKERS)
        for pid in processes(keeper.__file__, str(spec.parent / "server.py")):
            os.kill(pid, signal.SIGKILL)
        (spec.parent / "gate").unlink()
        task.communicate()
    assert not processes(str(spec.parent / "server.py"))


def test_what_does_not_end_when_it_is_asked_to_is_killed(tmp_path: Path) -> None:
    shell = f"trap '' TERM; cd {tmp_path}; echo ready; while true; do sleep 0.1; done"
    program = (
        "import os, sys; from perpend.sweep import keeper; keeper.GRACE_S = 0.3;"
        " sys.exit(keeper.keep(os.getppid(), ['/bin/sh', '-c', sys.argv[1]]))"
    )
    words = [sys.executable, "-c", program, shell]
    with subprocess.Popen(words, env=environment(), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.terminate()
        assert process.wait() == 128 + signal.SIGKILL
    assert not processes(shell)


def test_two_servers_of_a_machine_never_have_one_port() -> None:
    """Neither listens yet when the other's is chosen."""
    (first, claim), (second, other) = _claimed_port(), _claimed_port()
    with claim, other:
        assert first != second
    again, claim = _claimed_port()
    with claim:
        assert again == first


def test_a_program_that_is_not_there_fails_its_shards_which_are_asked_again_when_it_is(spec: Path) -> None:
    program = spec.parent / "serve"
    words = ("submit", spec, "--shards", 2, "--scratch", spec.parent / "scratch", "--quiet", "--no-score", "--serve")
    program.write_text(f"#!/bin/sh\nexec {command(spec).replace('{port} {model}', '$@')}\n")
    write_served(spec.parent, 6, "a")
    call(spec.parent, *words, f"{program} {{port}} {{model}}", code=4)
    words_of_status = call(spec.parent, "status", "runs/sweep")
    for shard in (1, 2):
        assert f"shard {shard} failed: --serve: there is no program '{program}' on this machine." in words_of_status
    program.chmod(0o755)
    call(spec.parent, *words, f"{program} {{port}} {{model}}")
    assert sorted(asked(spec)) == sorted(set(asked(spec)))
    assert len(asked(spec)) == 6


def asked(spec: Path) -> list[str]:
    """Every question that a server of the run was asked."""
    notes = spec.parent / "asked"
    return notes.read_text().splitlines() if notes.exists() else []


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
    for line, kept in (
        (
            "/opt/bin/serve {model} --port={port} --download-dir=/home/me/w/ $HOME/x",
            "serve {model} --port={port} --download-dir=w x",
        ),
        (
            "bash -c '. ~/env; cd ../me && exec /opt/v/bin/vllm serve {model} --port {port}'",
            "bash -c . env; cd me && exec vllm serve {model} --port {port}",
        ),
        (
            "x {port} -v /data/me:/w/cache --url=http://a.b/c/d --lora org/a=${HOME}/l",
            "x {port} -v me:cache --url=http://a.b/c/d --lora org/a=l",
        ),
        (
            """x {port} --override '{"cache": "/home/me/c", "ratio": "1/2"}'""",
            'x {port} --override {"cache": "c", "ratio": "1/2"}',
        ),
    ):
        assert flags(line) == kept


def test_a_model_that_is_no_server_is_refused(spec: Path) -> None:
    done = CliRunner().invoke(cli, ["eval", "--task", "conformity", "--model", "mock/true", "--serve", command(spec)])
    assert isinstance(done.exception, SpecError)
    assert "openai/NAME" in str(done.exception)
