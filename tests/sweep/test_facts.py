"""What a sweep writes down: leases that never exceed the whole, files that may be a stranger's, files to print."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perpend.errors import SpecError, StoreError
from perpend.sweep.budget import give_back, lease, settle, share, take
from perpend.sweep.facts import (
    ShardState,
    Sweep,
    SweepJob,
    add_job,
    read_state,
    states,
    the_sweep,
    write_state,
    write_sweep,
)
from perpend.sweep.plain import write_files
from perpend.sweep.slurm import queued
from perpend.sweep.submitting import minutes, standing

SWEEP = Sweep(3, "local", "run.toml", "runs", max_requests=100, max_usd=1.0)


@given(st.integers(0, 10**9), st.integers(1, 200))
def test_shares_add_up(total: int, shards: int) -> None:
    parts = [share(total, shard, shards) for shard in range(1, shards + 1)]
    assert sum(parts) == total
    assert max(parts) - min(parts) <= 1


@given(
    st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["take", "give"]), st.floats(0, 1)), min_size=1, max_size=12)
)
def test_leases_together_are_never_more_than_the_whole(tmp_path_factory: pytest.TempPathFactory, steps: list) -> None:
    """Whatever is taken and given back, in any order; what was spent stays with the shard that spent it."""
    run = tmp_path_factory.mktemp("run")
    for shard, what, part in steps:
        own = lease(run, SWEEP, shard)
        assert own.requests is not None
        assert own.microusd is not None
        if what == "take":
            take(run, shard)
        else:
            give_back(run, SWEEP, shard, (int(own.requests * part), own.microusd * part / 1e6))
        leases = [lease(run, SWEEP, one) for one in (1, 2, 3)]
        assert sum(one.requests or 0 for one in leases) <= 100
        assert sum(one.microusd or 0 for one in leases) <= 1_000_000
        assert all((one.requests or 0) >= 0 and (one.microusd or 0) >= 0 for one in leases)


def test_what_one_gives_back_only_one_takes(tmp_path: Path) -> None:
    give_back(tmp_path, SWEEP, 1, (10, 0.1))
    assert take(tmp_path, 2)
    assert not take(tmp_path, 3)
    assert [lease(tmp_path, SWEEP, shard).requests for shard in (1, 2, 3)] == [10, 33 + 23, 34]


@given(st.lists(st.tuples(st.integers(0, 90), st.booleans()), min_size=3, max_size=3), st.integers(0, 200))
def test_what_is_left_is_shared_out_anew(
    tmp_path_factory: pytest.TempPathFactory, shards: list[tuple[int, bool]], most: int
) -> None:
    run = tmp_path_factory.mktemp("run")
    give_back(run, SWEEP, 1, (0, 0.0))
    sweep = replace(SWEEP, max_requests=most)
    spent = {shard: (requests, requests / 1000) for shard, (requests, _) in enumerate(shards, start=1)}
    open_ = [shard for shard, (_, is_open) in enumerate(shards, start=1) if is_open]
    settle(run, sweep, spent, open_)
    leases = {shard: lease(run, sweep, shard) for shard in spent}
    used = sum(requests for requests, _ in spent.values())
    assert all((leases[shard].requests or 0) >= spent[shard][0] for shard in spent)
    assert all((leases[shard].microusd or 0) >= spent[shard][0] * 999 for shard in spent)
    assert sum(one.requests or 0 for one in leases.values()) == (max(most, used) if open_ else used)
    assert not take(run, 2)


def test_shards_that_spent_less_get_more_of_what_is_left(tmp_path: Path) -> None:
    """Equal parts of the rest would leave one with too little, which stops before another gives back."""
    settle(tmp_path, replace(SWEEP, max_requests=61), {1: (13, 0.0), 2: (12, 0.0), 3: (2, 0.0)}, [1, 2, 3])
    assert [lease(tmp_path, replace(SWEEP, max_requests=61), shard).requests for shard in (1, 2, 3)] == [21, 20, 20]
    settle(tmp_path, replace(SWEEP, max_requests=61), {1: (40, 0.0), 2: (12, 0.0), 3: (2, 0.0)}, [2, 3])
    assert [lease(tmp_path, replace(SWEEP, max_requests=61), shard).requests for shard in (1, 2, 3)] == [40, 12, 9]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("90", 90), ("90:30", 91), ("1:30:00", 90), ("2-12", 3600), ("2-12:30", 3630), ("0-0:0:1", 1)],
)
def test_times_are_read_as_sbatch_reads_them(text: str, expected: int) -> None:
    assert minutes(text) == expected


@pytest.mark.parametrize("text", ["", "soon", "1:2:3:4", "-5", "0", "1h"])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(SpecError, match="--time"):
        minutes(text)


@pytest.mark.parametrize(
    "body", ["{}", "[]", "{", '{"shards": "2", "engine": "local", "spec": "a", "out": "b"}', '{"shards": 2, "evil": 1}']
)
def test_a_file_that_is_no_fact_is_refused(tmp_path: Path, body: str) -> None:
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "sweep.json").write_text(body)
    with pytest.raises(StoreError, match=r"sweep\.json"):
        the_sweep(tmp_path)


def test_jobs_of_a_strangers_file_are_numbers_only(tmp_path: Path) -> None:
    write_sweep(tmp_path, SWEEP)
    add_job(tmp_path, SweepJob("--user=root", (1,)))
    assert queued(tmp_path) in ({}, None)


def test_how_a_sweep_stands(tmp_path: Path) -> None:
    """Time left is at the rate of now, for shards not begun by the size of the others; or unknown, and why."""
    write_sweep(tmp_path, SWEEP)
    assert standing(tmp_path).seconds_left() == (None, "no task has asked anything yet")
    began, heard = "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:10+00:00"
    running = ShardState(1, "running", 100, 60, 0, answered_before=10, began=began, heard=heard)
    write_state(tmp_path, running)
    seen = replace(standing(tmp_path), shards=tuple(states(tmp_path, SWEEP)))
    assert seen.rate == 5.0
    assert seen.seconds_left() == ((40 + 200) / 5.0, "")
    silent = standing(tmp_path).shards[0]
    assert (silent.state, silent.why.startswith("its task is gone; it was last heard of")) == ("failed", True)
    write_state(tmp_path, replace(running, heard=""))
    assert standing(tmp_path).shards[0].why == "its task is gone; it was never heard of"
    write_state(tmp_path, replace(running, state="done", answered=100))
    assert standing(tmp_path).seconds_left() == (None, "nothing is being answered")
    write_state(tmp_path, replace(running, why="x" * 9999))
    assert len(read_state(tmp_path, 1).why) == 500


def test_printed_files_are_shell_and_split_at_the_limit(tmp_path: Path) -> None:
    run = tmp_path / "a run"
    sweep = replace(SWEEP, shards=7, spec="it's run.toml", gpus=2, minutes=90, partition="gpu", setup="module load x",
                    serve="vllm serve {model} --port {port}")  # fmt: skip
    *arrays, merge = write_files(run, sweep, range(1, 8), 3)
    texts = [path.read_text() for path in arrays]
    assert [text.count("--array=0-2") + text.count("--array=0-0") for text in texts] == [1, 1, 1]
    assert ["shards=(1 2 3)" in texts[0], "shards=(7)" in texts[2]] == [True, True]
    for path in (*arrays, merge):
        subprocess.run(["bash", "-n", path], check=True)
    for line in ("--gpus-per-node=2", "--time=90", "--partition=gpu", "--requeue", "module load x", '"$shard"/7'):
        assert line in texts[0], line
    assert "--gpus" not in merge.read_text()
    assert "# 120 seconds before the time limit" in texts[0]
    (short, _) = write_files(run, replace(sweep, minutes=2), [1], 3)
    assert "# 30 seconds before the time limit" in short.read_text()
