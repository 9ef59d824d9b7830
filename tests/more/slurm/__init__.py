"""A real SLURM of one node, for the length of a test: its own munge, its own ports, its own folder."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "munged")
HOW = "SLURM is not here: as root, apt-get install slurm-wlm munge"
ARRAY_LIMIT = 5
CORES = 8
"""More than a small machine has: the tasks of these tests wait most of the time."""


def missing() -> str:
    """Why no SLURM can be started here, in one line; empty where it can."""
    paths = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    if any(shutil.which(name, path=paths) is None for name in PROGRAMS):
        return HOW
    return "" if os.geteuid() == 0 else "a SLURM of the test's own needs root"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running SLURM. Commands find it by `environment`."""

    folder: Path
    environment: dict[str, str]

    def call(self, *words: str) -> str:
        """What one of its commands prints."""
        return subprocess.run(words, env=self.environment, capture_output=True, text=True, check=True).stdout

    def queue(self) -> str:
        """What is in its queue, one line per task."""
        return self.call("squeue", "--noheader", "--array", "--format", "%F_%K %T %r")

    def logs(self) -> str:
        """The last lines of its logs, for a test that fails."""
        return "".join(path.read_text(errors="replace")[-3000:] for path in (self.folder / "log").glob("*"))


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Start SLURM in a folder and stop it after the block, with all that it runs."""
    for name in ("spool", "state", "log", "munge"):
        (folder / name).mkdir(parents=True)
    conf, node = folder / "slurm.conf", platform.node().partition(".")[0]
    munge = folder / "munge"
    (munge / "key").write_bytes(os.urandom(1024))
    (munge / "key").chmod(0o400)
    conf.write_text(
        f"""ClusterName=test
SlurmctldHost={node}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={munge}/socket,cred_expire=5
SlurmctldPort={_free_port()}
SlurmdPort={_free_port()}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/log/slurmctld
SlurmdLogFile={folder}/log/slurmd
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=1
ReturnToService=2
KillWait=5
MinJobAge=3600
MaxArraySize={ARRAY_LIMIT}
NodeName={node} NodeAddr=127.0.0.1 CPUs={CORES} RealMemory=4000 State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
""",
        encoding="utf-8",
    )
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    environment = {**os.environ, "PATH": path, "SLURM_CONF": str(conf)}
    commands = {
        "munged": [
            "munged",
            "--foreground",
            "--force",
            f"--key-file={munge}/key",
            f"--socket={munge}/socket",
            f"--pid-file={munge}/pid",
            f"--log-file={munge}/log",
            f"--seed-file={munge}/seed",
        ],
        "slurmctld": ["slurmctld", "-D", "-f", str(conf)],
        "slurmd": ["slurmd", "-D", "-f", str(conf), "-N", node],
    }
    running: list[subprocess.Popen[bytes]] = []
    try:
        for name, words in commands.items():
            with (folder / "log" / f"{name}.out").open("wb") as log:
                running.append(subprocess.Popen(words, env=environment, stdout=log, stderr=log))
            if name == "munged":
                _until((munge / "socket").exists, running, folder)
        started = Cluster(folder, environment)
        _until(lambda: "idle" in _answer(started, "sinfo", "--noheader", "--format", "%T"), running, folder)
        yield started
        _answer(started, "scancel", "--user=root")
    finally:
        for process in reversed(running):
            process.terminate()
        for process in running:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _answer(started: Cluster, *words: str) -> str:
    try:
        return started.call(*words)
    except subprocess.CalledProcessError:
        return ""


def _until(ready: object, running: list[subprocess.Popen[bytes]], folder: Path) -> None:
    assert callable(ready)
    for _ in range(600):
        if ready():
            return
        if any(process.poll() is not None for process in running):
            break
        time.sleep(0.1)
    logs = {path.name: path.read_text(errors="replace")[-2000:] for path in (folder / "log").glob("*")}
    raise AssertionError(f"SLURM did not start: {logs}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
