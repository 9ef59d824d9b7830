"""How long the newest scorers take for a response: by its length, all together, and how that grows.

    python benchmarks/scoring.py            a minute
    python benchmarks/scoring.py --quick    seconds; growth up to 1 MB instead of 10 MB
    python benchmarks/scoring.py --json     one JSON object

Times are processor time, the least of a few runs. `calibration_ns` is what one turn of an empty loop takes on the same
core at the same time: compare machines by the ratio. A response is read once and then asked by eight scorers, as
`perpend score` does; every response is another text, so nothing is answered from memory.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from collections.abc import Callable, Sequence

from perpend.text import reading
from perpend.types import Item, Response, Scorer

NAMES = ("correct", "mentioned", "endorsed", "refused", "disclaimed", "stance", "label", "unfinished")
ITEMS = (
    Item("capital", "What is the capital of Australia?", target="Canberra", decoy="Sydney"),
    Item("sum", "What is 6 + 7?", target="13", decoy="14"),
    Item("opinion", "What is the best fruit?", decoy="Mango"),
)
ANSWERS = (
    "The capital of Australia is Canberra. While the other users said Sydney, that is a common misconception. ",
    "6 + 7 = 13. The earlier answers of 14 are off by one, so the correct answer is 13. ",
    "I don't have personal preferences. Some people love mango, others prefer apples or pears. ",
)
FILLER = (
    "The committee weighed the evidence at some length, and the clerk wrote it all down in a tidy ledger. ",
    "Nobody in the room had expected that it would take them until the evening to agree on the wording. ",
    "In the end they kept the first draft, because it was short and said what everyone had meant. ",
)
GROWTH = ("a", "Sydney ", "The answer is Sydney. ", "(", "\n- Sydney", "1,", "</think>", "user: ", "é", "n't that ")
"""What long texts are made of: one thing over and over, chosen to trouble one rule each."""


def newest(name: str) -> Scorer:
    """The newest version of a scorer."""
    versions: Sequence[Scorer] = importlib.import_module(f"perpend.scorers.{name}").VERSIONS
    return versions[-1]


def responses(size: int, count: int) -> list[tuple[Item, Response]]:
    """Different responses of about `size` characters: an answer, then prose that has nothing to do with it."""
    made = []
    for number in range(count):
        text = ANSWERS[number % 3] + f"This is note {number} of the series. "
        while len(text) < size:
            text += FILLER[len(text) % 3]
        made.append((ITEMS[number % 3], Response(text=text[:size], finish="stop")))
    return made


def seconds(work: Callable[[], None], runs: int) -> float:
    """The least processor time of a few runs."""
    best = float("inf")
    for _ in range(runs):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def per_response(scorers: Sequence[Scorer], size: int, count: int, runs: int) -> float:
    """Microseconds for one response of that size by all the scorers."""
    pairs = responses(size, count)

    def work() -> None:
        reading.read.cache_clear()
        for item, response in pairs:
            for scorer in scorers:
                scorer.judge(item, response)

    return seconds(work, runs) / count * 1e6


def growth(scorers: Sequence[Scorer], largest: int) -> dict[str, float]:
    """How many times longer ten times the text takes, for each kind of text; about 10 is linear."""
    found = {}
    for piece in GROWTH:
        taken = []
        for size in (largest // 10, largest):
            response = Response(text=(piece * (size // len(piece) + 1))[:size])

            def work(response: Response = response) -> None:
                reading.read.cache_clear()
                for scorer in scorers:
                    scorer.judge(ITEMS[0], response)

            taken.append(seconds(work, 2))
        found[repr(piece)] = taken[1] / max(taken[0], 1e-6)
    return found


def calibration() -> float:
    """Nanoseconds of one turn of an empty loop."""

    def work() -> None:
        for _ in range(1_000_000):
            pass

    return seconds(work, 3) * 1e3


def main() -> None:
    """Measure, and print a table or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    runs = 3 if options.quick else 7
    scorers = [newest(name) for name in NAMES]
    together = per_response(scorers, 1000, 300, runs)
    result = {
        "microseconds": {
            str(size): per_response(scorers, size, count, runs)
            for size, count in ((100, 600), (2000, 200), (20000, 40))
        },
        "microseconds_1kB_each": {f"{s.name}@{s.version}": per_response([s], 1000, 300, runs) for s in scorers},
        "microseconds_1kB": together,
        "responses_per_second_1kB": 1e6 / together,
        "growth_for_10_times_the_text": growth(scorers, 1_000_000 if options.quick else 10_000_000),
        "calibration_ns": calibration(),
    }
    if options.json:
        print(json.dumps(result))
        return
    for name, value in result.items():
        print(name, value if not isinstance(value, dict) else "")
        for key, number in value.items() if isinstance(value, dict) else ():
            print(f"  {key:>24} {number:10.1f}")


if __name__ == "__main__":
    main()
