"""The engine without a cluster: shards as processes of this machine, a few at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from perpend.sweep.command import Child
from perpend.sweep.facts import Sweep, is_cancelled

_LOOK_S = 0.1


def run_shards(
    run: Path, sweep: Sweep, shards: Sequence[int], at_once: int | None, say: Callable[[str], None] | None
) -> None:
    """Ask the shards, at most `at_once` at a time (the number of cores), and return when all have ended.

    Ctrl-C and 'perpend cancel' end them all; what they have is kept.
    """
    waiting, running = list(shards), list[Child]()
    try:
        while waiting or running:
            while waiting and len(running) < (at_once or os.cpu_count() or 1) and not is_cancelled(run):
                running.append(Child(run, sweep, waiting.pop(0)))
            for child in [child for child in running if child.poll() is not None]:
                running.remove(child)
                if say is not None:
                    say(f"shard {child.shard} of {sweep.shards} ended; {len(running) + len(waiting)} to go")
            if is_cancelled(run):
                waiting.clear()
            time.sleep(_LOOK_S)
    finally:
        for child in running:
            child.stop()
        for child in running:
            child.wait()
