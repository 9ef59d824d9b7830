"""python -m factory build [--check [SEED]] | measure | attack | check FILE… | private KEY FOLDER | look STRATUM [N]"""

from __future__ import annotations

import csv
import hashlib
import json
import lzma
import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from factory.again.compute import motions, watched
from factory.chance import Chance
from factory.items import Item, build, disagreements, private
from factory.measure import Fact, run, text_of
from factory.systems import systems
from perpend.studies.logic.chaosbench import sets

PACKED = Path(__file__).parents[1] / "src/perpend/studies/logic/items.jsonl.xz"
SHORTCUTS = Path(__file__).parent / "shortcuts.csv"
SHORTEST_KEY = 32
CHECKED = 20
"""One fact of so many is measured anew by `build --check`."""


def packed(families: dict[str, list[Item]]) -> bytes:
    lines = "".join(f"{json.dumps(item)}\n" for family in sorted(families) for item in families[family])
    return lzma.compress(lines.encode(), preset=9 | lzma.PRESET_EXTREME)


def read(path: Path) -> list[Item]:
    """The items of a file of lines, packed or not."""
    data = path.read_bytes()
    text = (lzma.decompress(data) if path.suffix == ".xz" else data).decode()
    return [json.loads(line) for line in text.splitlines()]


def told(items: list[Item]) -> int:
    """Say what the two labellings disagree about; 0 where they agree."""
    wrong = disagreements(items)
    for item, second in wrong[:20]:
        print(f"{item['id']}: {item['ground_truth']}, the second way says {second}: {item['question']}")
    print(f"{len(items)} items, {len(wrong)} disagreements of the two labellings")
    return int(bool(wrong))


def make(check: bool) -> int:
    families = build()
    items = [item for some in families.values() for item in some]
    data = packed(families)
    counts = Counter(str(item["stratum"]) for item in items)
    print(f"{len(items)} items ({', '.join(f'{name} {n}' for name, n in counts.items())}), {len(data)} bytes packed")
    failed = told(items)
    if not check:
        PACKED.write_bytes(data)
        print(f"{sets.seal(PACKED.parent)} is the digest of the set")
        return failed
    same = PACKED.exists() and PACKED.read_bytes() == data
    print(f"sha256 {hashlib.sha256(data).hexdigest()}: {'the same' if same else 'NOT the same'} as in the package")
    return failed | int(not same) | measured_anew()


def measured_anew() -> int:
    """One fact of twenty by both methods, drawn by a seed that is printed."""
    from factory.compute import facts

    seed = sys.argv[3] if len(sys.argv) > 3 else hashlib.sha256(PACKED.read_bytes()).hexdigest()[:8]
    everything = [fact for groups in facts().values() for group in groups for fact in group]
    chosen = Chance("check", seed).some(everything, len(everything) // CHECKED)
    with ProcessPoolExecutor() as pool:
        same = list(pool.map(comes_out_again, chosen, chunksize=8))
    for fact in (fact for fact, is_same in zip(chosen, same, strict=True) if not is_same):
        print(f"comes out different: {json.dumps(fact, ensure_ascii=False)}")
    print(
        f"{len(chosen)} of {len(everything)} facts measured anew (seed {seed}): {same.count(False)} come out different"
    )
    return int(not all(same))


def comes_out_again(fact: Fact) -> bool:
    """Whether both methods see the kind of motion that is frozen."""
    first = run(systems()[fact["system"]], fact["numbers"], [float(v) for v in fact["start"].values()])
    return {first.kind, watched(motions(text_of(fact))[0]).kind} == {fact["kind"]}


def make_private(key_file: str, folder: str) -> int:
    key, target = Path(key_file).read_text(encoding="utf-8").strip(), Path(folder)
    if len(key) < SHORTEST_KEY:
        print(f"{key_file}: a key needs {SHORTEST_KEY} characters or more; for example 'openssl rand -hex 32'")
        return 2
    target.mkdir(parents=True, exist_ok=True)
    if any(target.iterdir()) or not os.access(target, os.W_OK):
        print(f"{folder}: is not empty, or cannot be written to; give an empty folder")
        return 2
    print("Every system is measured anew; on two cores this takes about ten minutes.", flush=True)
    families = private(key, read(PACKED))
    items = [item for some in families.values() for item in some]
    failed = told(items)
    files = []
    for family, some in families.items():
        path = f"data/{family}.jsonl"
        sets.write_records(target / path, some)
        files.append(sets.FileDigest(path, *sets.counted(target / path)))
    named = {"name": f"{sets.NAME} private", "version": sets.VERSION, "items": len(items)}
    selector = {"schema_version": "v2", **named, "files": [file.path for file in files]}
    (target / "data/canonical_v2_files.json").write_text(json.dumps(selector, indent=2) + "\n", encoding="utf-8")
    print(f"global sha256 {sets.global_sha256(files)}")
    return failed


def look(stratum: str, after: str = "0") -> int:
    """24 items to read aloud, after the first n, in the order of digests of the ids."""
    items = [item for item in read(PACKED) if item["stratum"] == stratum]
    items.sort(key=lambda item: hashlib.sha256(str(item["id"]).encode()).digest())
    for item in items[int(after) : int(after) + 24]:
        print(f"{item['id']} {item['ground_truth']}\n  {item['question']}")
    return 0


def attack() -> int:
    """Writes what guesses without understanding reach, by stratum, family and kind."""
    from perpend.studies.logic.chaosbench.validate import attacks

    found = attacks(read(PACKED))
    rows = [(one.name, cell, e.n, e.value, e.lo, e.hi) for one in found for cell, e in one.cells.items()]
    with SHORTCUTS.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("attack", "cell", "n", "balanced", "lo", "hi"), *rows])
    gates = [one.as_gate() for one in found]
    for gate in gates:
        print(f"{'passes' if gate.passed else 'FAILS'}  {gate.gate}: {gate.detail}")
    return int(not all(gate.passed for gate in gates))


def main(words: list[str]) -> int:  # noqa: PLR0911 - one for each verb
    match words:
        case ["build"]:
            return make(check=False)
        case ["build", "--check", *_]:
            return make(check=True)
        case ["measure"]:
            from factory.measure import freeze

            print(json.dumps(freeze(), indent=1))
            return 0
        case ["check", *files] if files:
            return max(told(read(Path(file))) for file in files)
        case ["private", key_file, folder]:
            return make_private(key_file, folder)
        case ["look", stratum, *after]:
            return look(stratum, *after)
        case ["attack"]:
            return attack()
    print(__doc__)
    return 2


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (ImportError, OSError, UnicodeDecodeError) as problem:
        print(problem)
        sys.exit(2)
