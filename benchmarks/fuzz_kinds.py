"""The kinds of case: which honest input is spoiled, and which command line reads it."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import fuzz_inputs
from fuzz_containers import copied, folder, mutate
from fuzz_texts import CLAIM_NAMES, shuffled


@dataclass(slots=True)
class Case:
    """One case in its own folder: inputs below in/, whatever is written below out/."""

    corpus: Path
    at: Path
    rng: random.Random
    spoiled: list[str] = field(default_factory=list)
    writes: bool = False
    """The verb may change what is below in/."""
    then: list[list[str]] = field(default_factory=list)
    """What is called after that, as long as nothing was refused: what comes of an odd input that was taken."""
    made: str = "out"
    needs: str = ""
    """What the output must name although something beside it is spoiled."""

    def take(self, name: str, new: str | None = None) -> str:
        """Copy an honest input into the case and say where it is, as the command line says it."""
        target = self.at / "in" / (new or name)
        if not target.exists():
            copied(self.corpus / name, target)
        return f"in/{new or name}"

    def spoil(self, *names: str) -> None:
        """Change one of these files, or one below these folders."""
        path = self.at / self.rng.choice(names)
        if path.is_dir():
            path = self.rng.choice(sorted(one for one in path.rglob("*") if one.is_file()))
        self.spoiled.append(f"{path.name}: {mutate(path, self.rng)}")

    def upset(self, name: str) -> None:
        """Change what a folder holds: names, links, FIFOs."""
        self.spoiled.append(folder(self.at / name, self.rng))

    def one_of(self, *commands: str) -> list[str]:
        """One of these command lines."""
        return self.rng.choice(commands).split()

    def follow(self, run: str) -> None:
        """Go on with a run, where one was made of an odd input."""
        self.made = run
        case = self.rng.choice
        after = (
            f"perpend score {run}",
            case((f"perpend analyze {run} --out out/a --no-figures", f"perpend show {run} --n-per-group 1 --json")),
            case((f"perpend export {run} --out out/t.csv", f"perpend export {run} --out out/t.parquet")),
            case((f"perpend publish {run} --to out/p --no-figures --json", f"perpend compare {run} {run} --json")),
            case((f"perpend audit {run} --workers 1 --json", "perpend audit out/p --workers 1 --json")),
            f"perpend export {run} --out out/simulation.db --as simulation.db",
        )
        self.then = [command.split() for command in self.rng.sample(after, self.rng.randint(0, 3))]


def _run(case: Case, name: str = "study") -> str:
    for file in ("items.jsonl", "study.toml", "run.toml", "template.toml", "freeze.json", "claims.toml"):
        case.take(file)
    case.take("runs/logic")
    return case.take(f"runs/{name}")


def _about_a_run(case: Case, run: str) -> list[str]:
    """Any verb on a run directory that was spoiled."""
    kind = case.rng.random()
    if kind < 0.15:
        case.writes = True
        return case.one_of(
            f"perpend score {run}",
            f"perpend score {run} --only correct@1",
            "perpend eval in/study.toml --out in/runs --quiet",
            "perpend eval in/study.toml --out in/runs --json --no-score",
        )
    if kind < 0.25:
        case.needs = "logic"
        return case.one_of(
            "perpend audit in/runs --json --workers 1", "perpend audit in/runs/logic in/runs --json --workers 1"
        )
    return case.one_of(
        f"perpend show {run}",
        f"perpend show {run} --json",
        f"perpend show {run} --n-per-group 1",
        f"perpend show {run} --where condition=control --where temperature=0 --json",
        f"perpend export {run} --out out/t.csv",
        f"perpend export {run} --out out/t.jsonl --where model=swayed",
        f"perpend export {run} --out out/t.parquet",
        f"perpend analyze {run} --out out/a --no-figures",
        f"perpend analyze {run} in/runs/logic --out out/a --no-figures --tex out/m.tex --claims in/claims.toml",
        f"perpend compare {run} in/runs/logic --out out/c",
        f"perpend compare {run} {run} --first temperature=0 --second temperature=1 --json",
        f"perpend audit {run} --workers 1 --quiet",
        f"perpend audit {run} --workers 1 --quiet --rules v1 --claims in/claims.toml --out-json out/a.json",
        f"perpend audit {run} --workers 1 --sample 3 --json",
        f"perpend claims check in/claims.toml {run}",
        f"perpend export {run} --out out/simulation.db --as simulation.db",
        f"perpend publish {run} --to out/p --no-figures --json",
        f"perpend eval in/study.toml --model replay/{run} --name again --out out --quiet",
    )


def manifest(case: Case) -> list[str]:
    """manifest.json of a run directory."""
    run = _run(case)
    case.spoil(f"{run}/manifest.json")
    return _about_a_run(case, run)


def ledger(case: Case) -> list[str]:
    """run.db: bytes, pages, rows, schema, pragmas, journals."""
    run = _run(case, case.rng.choice(("study", "study", "spec")))
    case.spoil(f"{run}/run.db")
    return _about_a_run(case, run)


def derived(case: Case) -> list[str]:
    """What stands beside the ledger: metrics.json, report, tables, labels, a look inside."""
    run = _run(case)
    case.spoil(f"{run}/metrics.json", f"{run}/metrics.json", f"{run}/labels.jsonl", f"{run}/report.md", f"{run}/inside",
               f"{run}/inside")  # fmt: skip
    if case.rng.random() < 0.5:
        _relisted(case.at / run / "inside")
    return _about_a_run(case, run)


def _relisted(path: Path) -> None:
    """Let the headers of looks state the digests of their files as they are now."""
    for header in path.glob("*/header.json"):
        with suppress(ValueError, OSError, AttributeError, TypeError, KeyError, RecursionError):
            body = json.loads(header.read_text(encoding="utf-8"))
            for name, facts in body["files"].items():
                facts["sha256"] = sha256((header.parent / name).read_bytes()).hexdigest()
            header.write_text(json.dumps(body, indent=2), encoding="utf-8")


def run_folder(case: Case) -> list[str]:
    """The files of a run directory: removed, added, linked, replaced by a folder or a FIFO."""
    run = _run(case)
    case.upset(run)
    return _about_a_run(case, run)


def spec(case: Case) -> list[str]:
    """run.toml."""
    for file in ("items.jsonl", "template.toml", "freeze.json"):
        case.take(file)
    name = case.take(case.rng.choice(("run.toml", "study.toml")))
    case.spoil(name)
    case.follow("out/" + ("spec" if name.endswith("run.toml") else "study"))
    return case.one_of(
        f"perpend eval {name} --out out --quiet",
        f"perpend eval {name} --out out --json",
        f"perpend eval {name} --out out --quiet --no-score",
        f"perpend eval {name} --dry-run",
        f"perpend eval {name} --out out --quiet --max-items 2 --temperature 0.5",
    )


def template(case: Case) -> list[str]:
    """A template of a condition."""
    case.take("items.jsonl")
    case.spoil(case.take("template.toml"))
    case.follow("out/r")
    ask = (
        "perpend eval --task questions --items in/items.jsonl --model mock/subject --name r --template in/template.toml"
    )
    return case.one_of(f"{ask} --out out --quiet", f"{ask} --dry-run --json")


def items(case: Case) -> list[str]:
    """Item files and freeze files."""
    for file in ("items.jsonl", "freeze.json", "template.toml"):
        case.take(file)
    case.spoil("in/items.jsonl", "in/items.jsonl", "in/freeze.json")
    case.follow("out/r")
    ask = "--items in/items.jsonl --model mock/subject --out out --quiet --name r"
    return case.one_of(
        "perpend freeze in/items.jsonl --out out/freeze.json",
        "perpend freeze in/items.jsonl --check in/freeze.json --json",
        f"perpend eval --task conformity {ask}",
        f"perpend eval --task questions {ask} --freeze in/freeze.json",
        f"perpend eval --task logic {ask}",
        "chaosbench validate --data in/items.jsonl",
    )


def claims(case: Case) -> list[str]:
    """claims.toml."""
    run = _run(case)
    case.take("paper.tex")
    case.spoil("in/claims.toml")
    return case.one_of(
        f"perpend claims check in/claims.toml {run}",
        f"perpend claims check in/claims.toml {run} in/runs/logic --json",
        f"perpend audit {run} --workers 1 --quiet --claims in/claims.toml",
        f"perpend analyze {run} --out out/a --no-figures --tex out/m.tex --claims in/claims.toml",
        "perpend claims extract in/paper.tex --claims in/claims.toml",
    )


_NAME = re.compile(r"[a-z_]+(?:@[0-9]+)?|[0-9.]+|'[^']*'")
_VOCABULARY = (
    "rate", "mean", "n", "k", "lo", "hi", "p", "p_exact", "difference", "override", "odds_ratio", "ece", "trials",
    "items",
    "correct@2", "endorsed@2", "refused@2", "correct", "unfinished", "mentioned@2", "'control'", "'asch_history_2'",
    "'nope'",
    "'temperature'", "'topic'", "'parity'", "''", "0", "1", "-1", "1e308", "1e-320", "0.0", "temperature",
    "condition", "over",
    "bins", "topic", "model", "1000000", "bins=0", "bins=1000000000",
)  # fmt: skip


def expressions(case: Case) -> list[str]:
    """The language of claims."""
    run = _run(case)
    rng = case.rng
    expression = rng.choice(CLAIM_NAMES)
    if rng.random() < 0.5:
        expression = shuffled(expression, rng)
    for _ in range(rng.randrange(3)):  # other words of the language in their places
        words = _NAME.findall(expression)
        expression = (
            expression.replace(rng.choice(words), rng.choice(_VOCABULARY), rng.choice((1, 1, 9))) if words else "1"
        )
    if rng.random() < 0.2:
        expression = rng.choice(("(", "-", "n(", "100*", "1 - ")) * rng.choice((3, 29, 31, 500)) + expression
    key, quoted = rng.choice(("number", "number", "order")), expression.replace("\\", "\\\\").replace('"', '\\"')
    quoted = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in quoted)
    text = f'[[claim]]\n{key} = "{quoted}"\n' + ("expect = 1\nwithin = 1e6\n" if key == "number" else "")
    text += rng.choice(
        ("", 'by = "topic"\n', 'pair = ["control", "asch_history_2"]\n', 'where = { "refused@2" = 0 }\n')
    )
    (case.at / "in/claims.toml").write_text(text, encoding="utf-8", errors="surrogatepass")
    case.spoiled.append(f"{key} = {expression!r:.200}")
    return case.one_of(
        f"perpend claims check in/claims.toml {run}", f"perpend claims check in/claims.toml {run} --json"
    )


def paper(case: Case) -> list[str]:
    """LaTeX sources."""
    for file in ("paper.tex", "other.tex", "claims.toml"):
        case.take(file)
    case.spoil("in/paper.tex", "in/paper.tex", "in/other.tex")
    return case.one_of(
        "perpend claims extract in/paper.tex",
        "perpend claims extract in/paper.tex --claims in/claims.toml --json",
        "perpend claims extract in/paper.tex --strict",
    )


def _about_published(case: Case) -> list[str]:
    if case.rng.random() < 0.15:
        case.writes = True
        _run(case)
        return case.one_of("perpend publish in/runs/study --to in/published --no-figures")
    if case.rng.random() < 0.4:
        case.needs = "logic"
        return case.one_of("perpend audit in/published --json --workers 1")
    return case.one_of(
        "perpend audit in/published --workers 1 --quiet",
        "perpend audit in/published/study --workers 1 --quiet",
        "perpend audit in/published/study --workers 1 --json --sample 3 --rules v1",
        "verify in/published/study",
        "perpend show in/published/study",
        "perpend analyze in/published/study --out out/a --no-figures",
    )


def published(case: Case) -> list[str]:
    """A published folder's JSON, JSONL and texts; half the time sealed again, as a forger would."""
    case.take("published")
    below = "in/published/study"
    case.spoil(
        *(f"{below}/{name}" for name in ("manifest.json", "plan.json", "receipt.json", "metrics.json", "report.md")),
        *(f"{below}/{name}.jsonl.gz" for name in ("items", "trials", "responses", "scores")),
        f"{below}/tables",
        "in/published/index.json",
    )
    if case.rng.random() < 0.5:
        case.spoiled.append(_sealed(case.at / below))
    return _about_published(case)


def published_folder(case: Case) -> list[str]:
    """The files of a published folder: removed, added, linked, replaced by a folder or a FIFO."""
    case.take("published")
    case.upset(case.rng.choice(("in/published/study", "in/published/study", "in/published")))
    if case.rng.random() < 0.3:
        case.spoiled.append(_sealed(case.at / "in/published/study"))
    command = _about_published(case)
    case.needs = ""  # the healthy one may be what was upset
    return command


def _sealed(path: Path) -> str:
    """Write the receipt of a folder anew, as far as it can be read."""
    from perpend.canon import as_object, digest, pretty, read_object
    from perpend.errors import PerpendError
    from perpend.proof.receipt import digests

    try:
        if any(one.is_fifo() for one in path.rglob("*")):
            return "not sealed"
        body = dict(read_object(path / "receipt.json"))
        body["files"] = files = {**as_object(body.get("files")), **digests(path)}
        body["root_sha256"] = digest(files)
        body["receipt_sha256"] = digest({key: value for key, value in body.items() if key != "receipt_sha256"})
        (path / "receipt.json").write_text(pretty(body), encoding="utf-8")
    except (PerpendError, OSError, ValueError):
        return "not sealed"
    return "sealed"


def inspect_logs(case: Case) -> list[str]:
    """Logs of inspect_ai."""
    name = case.take(case.rng.choice(("sources/log.eval", "sources/inspect.json")))
    case.spoil(name)
    case.follow("out/run")
    return case.one_of(f"perpend import {name} out/run")


def lm_eval_logs(case: Case) -> list[str]:
    """Samples and results of lm-evaluation-harness."""
    case.take("sources/lm")
    case.spoil("in/sources/lm")
    stamp = "2026-01-02T03-04-05.678"
    case.follow("out/run")
    return case.one_of(
        "perpend import in/sources/lm out/run",
        "perpend import in/sources/lm out/run",
        f"perpend import in/sources/lm/results_{stamp}.json out/run",
        f"perpend import in/sources/lm/samples_pick_{stamp}.jsonl out/run",
    )


def judges(case: Case) -> list[str]:
    """Tables of several judges' scores, and labelled dialogues."""
    case.take("sources/judges.csv")
    case.take("sources/dialogues")
    case.spoil("in/sources/judges.csv", "in/sources/dialogues")
    case.follow("out/run")
    return case.one_of(
        "perpend import in/sources/judges.csv out/run",
        "perpend import in/sources/dialogues out/run",
        "perpend import in/sources/dialogues/m_prompt0_output.csv out/run",
    )


def rubrics(case: Case) -> list[str]:
    """A rubric of one's own, and labels from elsewhere."""
    run = _run(case)
    for name in ("rubric.toml", "readings.csv", "readings.jsonl"):
        case.take(name)
    case.spoil("in/rubric.toml", "in/readings.csv", "in/readings.jsonl")
    case.writes = True
    case.then = [f"perpend audit {run} --workers 1 --json".split()]
    return case.one_of(
        f"perpend judge {run} --model mock/echo --rubric in/rubric.toml --sample 4 --out out --quiet",
        f"perpend judge {run} --model mock/echo --rubric in/rubric.toml --likelihoods --dry-run --out out",
        f"perpend label {run} --rubric in/rubric.toml --from in/readings.csv --map trial=row,label=verdict,by=who",
        f"perpend label {run} --rubric in/rubric.toml --from in/readings.jsonl",
        f"perpend label {run} --rubric correct --from in/readings.jsonl --json",
    )


def judge_runs(case: Case) -> list[str]:
    """A judge run beside the run that it judges; one of them is spoiled."""
    run, judge = _run(case), case.take("runs/judge")
    case.spoil(judge, judge, f"{judge}/manifest.json", f"{judge}/run.db", f"{run}/manifest.json")
    return case.one_of(
        f"perpend audit {judge} --workers 1 --json",
        f"perpend audit {judge} {run} --workers 1 --quiet",
        f"perpend analyze {run} --judged {judge} --out out/a --no-figures",
        f"perpend analyze {judge} --out out/a --no-figures",
        f"perpend publish {judge} --to out/p --no-figures --json",
        f"perpend judge {judge} --model mock/echo --rubric correct --out out --quiet",
        f"perpend judge {run} --model replay/{judge} --rubric correct --out out --quiet",
    )


def field_maps(case: Case) -> list[str]:
    """JSONL with a map of its fields, in a file or on the command line."""
    case.take("sources/mine.jsonl")
    case.take("map.toml")
    case.spoil("in/sources/mine.jsonl", "in/sources/mine.jsonl", "in/map.toml")
    fields = fuzz_inputs.FIELDS if case.rng.random() < 0.6 else shuffled(fuzz_inputs.FIELDS, case.rng)
    given = case.rng.choice((fields, "in/map.toml"))
    case.follow("out/run")
    return ["perpend", "import", "in/sources/mine.jsonl", "out/run", "--map", given.replace("\x00", "")]


def study_rows(case: Case) -> list[str]:
    """Rows, items and suites of the conformity study."""
    case.take("sources/rows.jsonl")
    case.take("sources/suite")
    name = case.rng.choice(("sources/rows.jsonl", "sources/suite/suite.json", "sources/suite/data/facts.jsonl"))
    case.spoil(f"in/{name}")
    read = case.rng.choice((name, name, "sources/suite/suite.json"))
    case.follow("out/run")
    return case.one_of(f"perpend import in/{read} out/run", f"perpend import in/{read} out/run.jsonl")


def simulation(case: Case) -> list[str]:
    """simulation.db of the conformity study, and the sweep's metadata."""
    case.take("sources/sweep")
    below = "in/sources/sweep"
    case.spoil(f"{below}/run0/simulation.db", f"{below}/run0/simulation.db", f"{below}/runs_metadata.json")
    if case.rng.random() < 0.1:
        case.upset(below)
    case.follow("out/run")
    return case.one_of(
        f"perpend import {below}/run0/simulation.db out/run",
        f"perpend import {below}/run0 out/run",
        f"perpend import {below}/runs_metadata.json out/run",
        f"perpend import {below} out/run --metadata {below}/runs_metadata.json",
        f"perpend audit {below}/run0 --workers 1 --json",
        f"perpend audit {below} --workers 1 --quiet --metadata {below}/runs_metadata.json --rules v1",
    )


def checkpoints(case: Case) -> list[str]:
    """Predictions of a checkpoint, and the folders that are made of them."""
    if case.rng.random() < 0.5:
        case.spoil(case.take("predictions.jsonl"))
        return case.one_of("perpend checkpoint --predictions in/predictions.jsonl --name x --out out")
    case.take("checkpoints")
    case.spoil("in/checkpoints/one")
    if case.rng.random() < 0.2:
        case.upset("in/checkpoints/one")
    return case.one_of(
        "perpend compare in/checkpoints/one in/checkpoints/two --out out",
        "perpend compare in/checkpoints/two in/checkpoints/one --out out --json",
    )


def ngrams(case: Case) -> list[str]:
    """Checkpoints of the n-gram model, recorded answers of the replay model."""
    case.take("items.jsonl")
    if case.rng.random() < 0.5:
        case.spoil(case.take("tiny.json"))
        model = "ngram/in/tiny.json"
    else:
        case.spoil(case.take("answers.jsonl"))
        model = "replay/in/answers.jsonl"
    case.follow("out/r")
    return case.one_of(
        f"perpend eval --task questions --items in/items.jsonl --model {model} --out out --name r --quiet",
        f"perpend eval --task logic --items in/items.jsonl --model {model} --temperature 1 --max-tokens 20 --out out"
        " --name r --json",
    )


def chaos_items(case: Case) -> list[str]:
    """The chaos-logic study: items, selector, freeze."""
    case.take("chaos/data", "data")
    case.take("chaos/artifacts", "artifacts")
    case.spoil("in/data/v22_atomic.jsonl", "in/data/subsets/few_atomic.jsonl", "in/data/canonical_v2_files.json",
               "in/artifacts")  # fmt: skip
    selector = "--selector in/data/canonical_v2_files.json"
    case.writes = True
    case.then = [["chaosbench", "analyze-runs", "--runs-dir", "out", "--out-dir", "out/audit"]]
    return case.one_of(
        "chaosbench eval --provider mock --subset in/data/subsets/few_atomic.jsonl --output-dir out --quiet",
        "chaosbench eval --provider mock --dataset in/data/v22_atomic.jsonl --max-items 3 --output-dir out --quiet",
        "chaosbench validate --data in/data",
        "chaosbench validate --data in/data/v22_atomic.jsonl --json",
        f"chaosbench freeze {selector} --output-dir in/artifacts/freeze",
        f"chaosbench freeze {selector} --output-dir in/artifacts/freeze --force --make-selector",
        "chaosbench subset --size 6 --source in/data/v22_atomic.jsonl --balance-labels --balance-families"
        " --out out/s.jsonl",
        "chaosbench subset --size 4 --source in/data/v22_atomic.jsonl --out out/s.jsonl",
    )


def chaos_runs(case: Case) -> list[str]:
    """The chaos-logic study: run folders."""
    case.take("chaos/data", "data")
    case.take("chaos/runs", "runs")
    [run] = sorted(one.name for one in (case.at / "in/runs").iterdir())
    case.spoil(f"in/runs/{run}")
    if case.rng.random() < 0.2:
        case.upset(f"in/runs/{run}")
    if case.rng.random() < 0.4:
        case.writes = True
        return case.one_of(f"chaosbench report --run in/runs/{run}", f"chaosbench eval --resume in/runs/{run} --quiet")
    return case.one_of(
        f"chaosbench publish-run --run in/runs/{run} --out out --selector in/data/canonical_v2_files.json",
        "chaosbench analyze-runs --runs-dir in/runs --out-dir out --selector in/data/canonical_v2_files.json",
        "chaosbench analyze-runs --runs-dir in/runs --out-dir out --items in/data/v22_atomic.jsonl --include-failed",
        f"perpend import in/runs/{run} out/run",
        f"perpend audit in/runs/{run} --workers 1 --json",
        f"perpend show in/runs/{run} --json",
    )


_HOSTILE = (
    *("", " ", "-", "--", "~", ".", "..", "/dev/null", "/dev/full", "/proc/self/mem", "in", "in/items.jsonl/x"),
    *(
        "x" * 300,
        "a/" * 2000 + "b",
        "é",
        "\udcff\udcfe",
        "a\nb",
        "\x1b[31m",
        "*",
        "$(id)",
        "nope",
        "in/fifo",
        "in/loop",
    ),
    *(
        "nan",
        "inf",
        "-1",
        "0",
        "1e999",
        "9" * 400,
        "1979-05-27",
        "[[[",
        "KEY",
        "=",
        "a=",
        "a=b=c",
        "seed=1e999",
        "--help",
    ),
    *("condition=\udcff", "temperature=nan", "temperature=1e999", "item=", "a=[" + "[" * 3000, "sway=nan", "seed=-1"),
    *(
        "true",
        "99999999999999999999",
        "-5",
        "1.5",
        "mock/",
        "mock/nope",
        "/mock",
        "x.py",
        "os:system",
        "correct@",
        "@1",
    ),
)


def names(case: Case) -> list[str]:
    """What is typed: names, numbers and KEY=VALUE on the command line."""
    import os

    run = _run(case)
    for file in ("paper.tex", "predictions.jsonl"):
        case.take(file)
    case.take("sources/mine.jsonl")
    case.take("chaos/data", "data")
    os.mkfifo(case.at / "in/fifo")
    (case.at / "in/loop").symlink_to("loop")
    case.writes = True
    command = case.one_of(
        "perpend eval in/study.toml --out out --quiet --name n --repeats 1 --max-items 2 --seed 1 --temperature 0",
        "perpend eval --task questions --model mock/subject --items in/items.jsonl --out out --quiet --max-tokens 9",
        "perpend eval --task conformity --option confederates=2 --model-option sway=0.5 --model mock/subject --dry-run",
        "perpend eval --task questions --model mock/true --items in/items.jsonl --template in/template.toml --dry-run",
        "perpend eval in/study.toml --out out --quiet --max-usd 1 --max-requests 5 --max-minutes 1 --workers 1"
        " --retries 1",
        f"perpend show {run} --where model=swayed --by model --n-per-group 1 --seed 1 --out-md out/x.md",
        f"perpend export {run} --out out/t.csv --where model=swayed --columns trial,item",
        f"perpend analyze {run} --out out/a --no-figures --tex out/m.tex --claims in/claims.toml",
        f"perpend compare {run} {run} --first temperature=0 --second temperature=1 --column correct --out out/c",
        f"perpend audit {run} --workers 1 --sample 2 --seed 1 --claims in/claims.toml --out-json out/a.json --quiet",
        f"perpend publish {run} --to out/p --no-figures --accept plan --because why",
        f"perpend publish {run} --to out/p --no-figures",
        "perpend freeze in/items.jsonl --out out/f.json",
        "perpend freeze in/items.jsonl --check in/freeze.json",
        f"perpend score {run} --only correct@2",
        f"perpend claims check in/claims.toml {run}",
        "perpend claims extract in/paper.tex --claims in/claims.toml",
        "perpend import in/sources/mine.jsonl out/run --map id=qid,prompt=question,text=output",
        f"perpend export {run} --out out/simulation.db --as simulation.db",
        "perpend checkpoint --predictions in/predictions.jsonl --name n --out out",
        "perpend demo --out out/d --model mock/nope --no-figures --quiet",
        "chaosbench eval --provider mock --subset in/data/subsets/few_atomic.jsonl --output-dir out --max-items 2"
        " --quiet",
        "chaosbench subset --size 4 --source in/data/v22_atomic.jsonl --out out/s.jsonl --seed 1 --family-weights {}",
        "chaosbench validate --data in/data",
        "chaosbench freeze --selector in/data/canonical_v2_files.json --output-dir out",
        "chaosbench analyze-runs --runs-dir in/runs --out-dir out",
    )
    for _ in range(case.rng.choice((1, 1, 2))):
        at = case.rng.randrange(1, len(command))
        command[at] = case.rng.choice(_HOSTILE)
    case.spoiled.append(repr(command)[:300])
    return command


KINDS: dict[str, Callable[[Case], list[str]]] = {
    kind.__name__: kind
    for kind in (
        spec, template, items, claims, expressions, paper, manifest, ledger, derived, run_folder, published,
        published_folder, inspect_logs, lm_eval_logs, judges, rubrics, judge_runs, field_maps, study_rows, simulation, checkpoints, ngrams,
        chaos_items,
        chaos_runs, names,
    )
}  # fmt: skip
