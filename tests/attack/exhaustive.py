"""Every forgery there is: python -m tests.attack.exhaustive FOLDER [--runs] [--kind K] [--only TEXT] [--most N]

The honest runs are made in FOLDER once. Each forgery is made on a copy, in a process of its own with a limit of time
and memory, and audited. What was neither caught nor falls under an entry of the printed list is shown, then a count of
all.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

from perpend.proof.audit import BEYOND
from tests.attack import honest, ledger
from tests.attack.crafted import CRAFTED
from tests.attack.files import whole_files
from tests.attack.forge import FACTS, Forgery, fields
from tests.attack.judge import FINE, Outcome, beyond, of_published, of_run

LIMIT = 40.0
MEMORY = 3 << 30


def forgeries(folder: Path, kind: str) -> list[Forgery]:
    """Every forgery of a published folder, sealed; and those of its facts also with all derived anew."""
    known = [*fields(folder), *whole_files(folder)]
    again = [one.derived() for one in known if one.file in FACTS and one.place != "file"]
    return [*known, *crafted("published", kind), *again]


def crafted(of: str, kind: str) -> list[Forgery]:
    """The forgeries with a purpose that are tried on this kind of run."""
    return [forgery for one in CRAFTED if one.of == of and kind in one.kinds for forgery in one.forgeries()]


def in_a_process(call: Callable[[], Outcome]) -> Outcome:
    """The outcome of a call in a process of its own: a hang or a crash ends that one only."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # no thread of ours is running
        pid = os.fork()
    if not pid:
        os.close(read)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        signal.setitimer(signal.ITIMER_REAL, LIMIT)
        try:
            body = asdict(call())
        except BaseException as error:  # noqa: BLE001  of the attack itself: it is shown
            body = asdict(Outcome("BROKEN", line=repr(error)))
        with os.fdopen(write, "w") as pipe:
            json.dump(body, pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    _, status = os.waitpid(pid, 0)
    is_late = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
    return Outcome(**json.loads(text)) if text else Outcome("HUNG" if is_late else "DIED", line=str(status))


def sampled(chosen: list[Forgery], most: int) -> list[Forgery]:
    """At most so many forgeries of one file at one level, drawn the same way each time."""
    groups: dict[tuple[str, str], list[Forgery]] = {}
    for forgery in chosen:
        groups.setdefault((forgery.file, forgery.level), []).append(forgery)
    rng = random.Random(0)
    return [one for group in groups.values() for one in (rng.sample(group, most) if len(group) > most else group)]


def allowed(forgery: Forgery, kind: str) -> str | None:
    """The entry of the printed list that a forgery may fall under."""
    if forgery.kind != "crafted":
        return beyond(forgery, kind)
    (one,) = [one for one in CRAFTED if one.name == forgery.place]
    return one.levels[forgery.level] if one.levels[forgery.level] in BEYOND else None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kind", action="append", choices=honest.KINDS)
    parser.add_argument("--runs", action="store_true", help="run directories instead of published folders")
    parser.add_argument("--only", default="", help="forgeries whose name holds this text")
    parser.add_argument("--most", type=int, default=10**6, help="forgeries per file and level")
    parser.add_argument("--trust-code", action="store_true")
    parser.add_argument("--out", type=Path, help="write every outcome here")
    chosen = parser.parse_args()
    if not (chosen.folder / "published").exists():
        honest.make(chosen.folder)
    where, judge = ("runs", of_run) if chosen.runs else ("published", of_published)
    tally: Counter[str] = Counter()
    lines = []
    for kind in chosen.kind or honest.KINDS:
        folder = chosen.folder / where / kind
        known = [*ledger.forgeries(folder), *crafted(where, kind)] if chosen.runs else forgeries(folder, kind)
        for forgery in sampled([one for one in known if chosen.only in f"{kind} | {one}"], chosen.most):
            with tempfile.TemporaryDirectory() as tmpdir:
                place = (chosen.folder, kind, forgery, Path(tmpdir))
                outcome = in_a_process(partial(judge, *place, trust_code=chosen.trust_code))
            key = allowed(forgery, kind) if outcome.verdict == "PASSED" else None
            is_unnamed = outcome.verdict == "caught" and forgery.kind != "crafted" and not outcome.names(forgery)
            verdict = f"beyond: {key}" if key else "caught, not named" if is_unnamed else outcome.verdict
            tally[f"{forgery.level}: {verdict}"] += 1
            lines.append(f"{verdict}\t{kind}\t{forgery}\t{json.dumps(outcome.places)[:500]}\t{outcome.line}")
            if key is None and (outcome.verdict not in FINE or is_unnamed):
                print(lines[-1][:400], flush=True)
    for name, count in sorted(tally.items()):
        print(f"{count:>6} {name}")
    if chosen.out is not None:
        chosen.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
