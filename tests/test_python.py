"""From Python: what may be given in place of names and files, and how values show themselves."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import perpend as pp
from perpend.spec.function import standalone
from tests.conftest import ROOT
from tests.view.pages import Elements

ITEMS: list[dict[str, object]] = [
    {"id": f"q{n}", "prompt": f"Capital number {n}?", "target": "Lima", "decoy": "Cusco", "tags": {"part": str(n % 2)}}
    for n in range(6)
]
LIMIT = 3
WORD = re.compile(r"\w+")
HOSTILE = "<img src=x onerror=alert(1)>\x1b[31m&\"'`|$x$\n</table><script>evil()</script>"


def words(text: str) -> int:
    return len(WORD.findall(text))


def brief(item: pp.Item, text: str) -> bool:
    """At most three words."""
    return words(text) <= LIMIT


def lima(prompt: str) -> str:
    return "Lima" if "others" not in prompt else "I now think that it is Cusco"


def ask(where: Path, what: pp.Task, models: object = lima, **more: object) -> pp.Run:
    return pp.evaluate(what, models, out=where / "runs", quiet=True, **more)  # type: ignore[arg-type]


@pytest.fixture
def run(tmp_path: Path) -> pp.Run:
    task = pp.task(
        "questions", items=ITEMS, conditions=["control", pp.condition("others", "{question} others")], scorers=brief
    )
    return ask(tmp_path, task, name="own")


def test_items_in_memory_conditions_and_functions_give_a_run_that_audits(run: pp.Run, tmp_path: Path) -> None:
    assert run["correct"].where(condition="control").rate().value == 1.0
    assert run["brief"].pair("control", "others").difference().value == -1.0
    pp.publish(run, to=tmp_path / "published", figures=False)
    for trust_code in (False, True):
        audited = pp.audit([run.directory, tmp_path / "published"], trust_code=trust_code)
        audited.raise_for_failures()
        scores = [check for check in audited.runs[1].checks if check.name.startswith("scores of brief")]
        assert [bool(check.missing) for check in scores] == [not trust_code]
    assert repr(audited) == "Audited(own: ok, own: ok)"


def test_a_changed_verdict_of_an_own_function_is_found(run: pp.Run) -> None:
    code = next((run.directory / "code").glob("brief-*.py"))
    assert "LIMIT = 3" in code.read_text()
    assert "def words" in code.read_text()
    code.write_text(code.read_text().replace("LIMIT = 3", "LIMIT = 99"))
    assert not pp.audit(run.directory).ok
    with pytest.raises(pp.StoreError, match="does not match the digest"):
        _ = pp.Run(run.directory, trust_code=True).code


def test_the_same_items_in_memory_resume_and_others_are_another_run(tmp_path: Path) -> None:
    task = pp.task("questions", items=ITEMS)
    first = ask(tmp_path, task)
    assert ask(tmp_path, pp.task("questions", items=[pp.Item(**one) for one in ITEMS])).directory == first.directory  # type: ignore[arg-type]
    assert ask(tmp_path, pp.task("questions", items=ITEMS[:3])).directory != first.directory
    assert not list(Path(tmp_path).rglob("*perpend-tmp*"))


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([], "empty list"),
        ([{"id": "a"}], r"items\[0\].*'prompt' is missing"),
        ([ITEMS[0], {**ITEMS[1], "promt": "?"}], r"items\[1\].*did you mean 'prompt'"),
        ([{**ITEMS[0], "tags": {"x": object()}}], r"items\[0\].*JSON"),
        ([3], r"items\[0\].*not an int"),
        ([*ITEMS, "file.jsonl"], "not both"),
        (pd.DataFrame(ITEMS), "to_dict"),
    ],
)
def test_an_item_that_is_none_is_named(items: list[object], message: str) -> None:
    with pytest.raises(pp.PerpendError, match=message):
        pp.task("questions", items=items)  # type: ignore[arg-type]


def test_one_item_needs_no_list() -> None:
    assert pp.task("questions", items=ITEMS[0]).in_memory == pp.task("questions", items=ITEMS[:1]).in_memory  # type: ignore[arg-type]
    assert len(pp.task("questions", items=pp.Item("a", "?")).in_memory) == 1


def test_an_id_twice_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(pp.DataError, match="q0"):
        ask(tmp_path, pp.task("questions", items=[ITEMS[0], ITEMS[0]]))


def test_one_model_needs_no_list_and_a_name_is_a_model(tmp_path: Path) -> None:
    task = pp.task("questions", items=ITEMS)
    for number, models in enumerate(("mock/true", ["mock/true"], pp.model("mock/true"), [pp.model("mock/true")])):
        assert ask(tmp_path, task, models, name=f"r{number}").manifest.models[0].name == "mock/true"
    both = ask(tmp_path, task, ["mock/true", lima], name="both")
    assert [model.label for model in both.manifest.models] == ["mock/true", "callable/lima"]
    with pytest.raises(pp.SpecError, match="mock"):
        ask(tmp_path, task, "mok/true")
    with pytest.raises(pp.SpecError, match="not an int"):
        ask(tmp_path, task, 3)


def test_lost_answers_are_asked_again_where_the_loss_is_accepted(tmp_path: Path) -> None:
    task = pp.task("questions", items=ITEMS)
    database = ask(tmp_path, task, name="kept", durable=True, limits=pp.Limits(max_requests=2)).directory / "run.db"
    older = database.read_bytes()
    ask(tmp_path, task, name="kept")
    database.write_bytes(older)
    with pytest.raises(pp.StoreError, match="4 answers that were kept are missing"):
        ask(tmp_path, task, name="kept")
    assert ask(tmp_path, task, name="kept", accept_loss=True).status()["answered"] == 6


def test_a_local_disk_is_for_one_part_of_a_run(tmp_path: Path) -> None:
    task, scratch = pp.task("questions", items=ITEMS), tmp_path / "scratch"
    with pytest.raises(pp.SpecError, match="give shard='K/N', too"):
        ask(tmp_path, task, scratch=scratch)
    part = ask(tmp_path, task, name="part", shard="1/1", scratch=str(scratch))
    assert part.directory.parent == tmp_path / "runs" / "part" / "shards"
    assert (scratch / "part" / "0001-of-0001" / "run.db").is_file()


def test_a_task_may_be_named_too(tmp_path: Path) -> None:
    run = pp.evaluate("conformity", "mock/subject", max_items=2, out=tmp_path, quiet=True)
    assert run.manifest.task == "conformity"


class Engine:
    """A model that is an instance with a state of its own."""

    def __call__(self, messages: list[dict[str, str]]) -> str:
        assert [sorted(one) for one in messages] == [["content", "role"]] * len(messages)
        return messages[-1]["role"]


def test_a_function_gets_a_prompt_messages_or_the_request(tmp_path: Path) -> None:
    task = pp.task("questions", items=ITEMS[:1])
    cases: dict[str, tuple[Callable[..., object], str]] = {
        "prompt": (lambda text: text[-18:], " Capital number 0?"),
        "messages": (lambda messages: messages[0]["role"], "system"),
        "request": (lambda request: str(request.sampling.max_tokens), "512"),
        "engine": (Engine(), "user"),
        "partial": (functools.partial(lambda extra, prompt: extra, "x"), "x"),
    }
    for name, (function, answer) in cases.items():
        run = ask(tmp_path, task, function, name=name)
        assert run.to_pandas()["text"][0].strip() == answer.strip(), name


def test_a_function_s_reply_must_be_a_text_or_a_response(tmp_path: Path) -> None:
    task = pp.task("questions", items=ITEMS[:2])
    failed = ask(
        tmp_path,
        task,
        lambda prompt: pp.Response(error="no" if "0" in prompt else None, text=None if "0" in prompt else "x"),
        name="f",
    )
    assert failed["correct"].rate().n == 1
    with pytest.raises(pp.ModelError, match="returned a NoneType"):
        ask(tmp_path, task, lambda prompt: None, name="none")
    with pytest.raises(pp.SpecError, match="one argument"):
        ask(tmp_path, task, lambda prompt, more: "x", name="two")


def test_the_manifest_says_what_is_known_of_a_function(tmp_path: Path) -> None:
    task = pp.task("questions", items=ITEMS[:1])
    facts = ask(tmp_path, task, lima, name="a").manifest.models[0].fingerprint
    assert facts["function"] == "lima"
    assert re.fullmatch("[0-9a-f]{64}", str(facts["source_sha256"]))
    space: dict[str, Callable[[str], str]] = {}
    exec("def typed(prompt): return 'Lima'", space)
    facts = (
        ask(tmp_path, task, pp.model(space["typed"], label="typed at a prompt"), name="b")
        .manifest.models[0]
        .fingerprint
    )
    assert re.fullmatch("[0-9a-f]{64}", str(facts["code_sha256"]))
    known = {key: value for key, value in facts.items() if key != "code_sha256"}
    assert known == {"provider": "callable", "function": "typed", "source": "not available"}
    assert str(tmp_path) not in json.dumps(dict(facts))


def test_scorers_are_names_objects_and_functions(tmp_path: Path) -> None:
    def judge(item: pp.Item, response: pp.Response) -> pp.Score:
        return pp.Score(1.0, None, "always")

    space: dict[str, Callable[..., object]] = {}
    exec("def typed(item, text): return None", space)
    scorers = [
        "mentioned@1",
        pp.Scorer("always", "7", judge),
        brief,
        lambda item, response: 0.25,
        space["typed"],
        "correct",
    ]
    run = ask(tmp_path, pp.task("questions", items=ITEMS[:2], scorers=scorers))  # type: ignore[arg-type]
    names = run.manifest.scorers
    own = names.index("mentioned@1")
    assert names[:own] == tuple(pp.task("questions").judges())
    assert names[own + 1] == "always@7"
    assert [name.partition("@")[0] for name in names[own + 2 :]] == ["brief", "lambda", "typed"]
    assert names[-1] == "typed@unrecorded"
    assert run["lambda"].mean().value == 0.25
    assert run["typed"].rate().value is None
    kept = sorted(path.name for path in (run.directory / "code").iterdir())
    assert [name.partition("-")[0] for name in kept] == ["always", "brief", "lambda"]


@pytest.mark.parametrize(
    ("function", "message"),
    [(lambda item: 1, "takes an item"), (lambda a, b, c: 1, "takes an item"), (3, "not an int")],
)
def test_a_scorer_that_is_none_is_an_error(function: object, message: str) -> None:
    with pytest.raises(pp.SpecError, match=message):
        pp.task("questions", items=ITEMS, scorers=[function])  # type: ignore[list-item]


def test_a_scorer_that_returns_words_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(pp.SpecError, match="returned a str for item 'q0'"):
        ask(tmp_path, pp.task("questions", items=ITEMS, scorers=lambda item, text: "yes"))


def test_another_text_of_a_function_is_another_version() -> None:
    one, other = pp.scorer(lambda item, text: len(text) > 1), pp.scorer(lambda item, text: len(text) > 2)
    assert one.name == other.name == "lambda"
    assert one.version != other.version
    assert pp.scorer(brief, name="short", version="2").version == "2"
    assert pp.scorer(brief).judge(pp.Item("a", "?"), pp.Response(error="gone")).reason == "error: gone"


def test_what_no_text_can_give_is_not_written_as_if_it_could() -> None:
    limit = LIMIT
    assert standalone(brief, "judge") is not None
    assert standalone(lambda item, text: len(text) < limit, "judge") is None  # of the enclosing function
    assert standalone(functools.partial(brief), "judge") is None
    assert standalone(Engine(), "judge") is None
    assert standalone(len, "judge") is not None
    assert standalone(_of_the_machine, "judge") is None


def test_a_key_is_not_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    assert standalone(_with_a_key, "judge") is None
    assert standalone(_with_a_value, "judge") is not None
    monkeypatch.setenv("LAB_API_KEY", LAB)
    assert standalone(_with_a_value, "judge") is None


LAB = API_KEY = "zz-Very-Secret-1"


def _with_a_key(item: pp.Item, text: str) -> bool:
    return API_KEY in text


def _with_a_value(item: pp.Item, text: str) -> bool:
    return LAB in text


def _of_the_machine(item: pp.Item, text: str) -> bool:
    return text in ROOTS


ROOTS = {Path("/")}


def test_conditions_are_names_templates_and_objects(tmp_path: Path) -> None:
    (tmp_path / "polite.toml").write_text('name = "polite"\nuser = "Please: {question}"\n')
    wanted = ["control", "asch", str(tmp_path / "polite.toml"), tmp_path / "polite.toml", pp.condition("x", "{prompt}")]
    task = pp.task("questions", items=ITEMS, conditions=[wanted[0], wanted[1], wanted[2], wanted[4]])  # type: ignore[list-item]
    assert [one.name for one in task.conditions] == ["control", "asch_history_5", "polite", "x"]
    assert pp.task("questions", conditions="control").conditions[0].name == "control"
    kept = pp.task("conformity", conditions=["control", "asch_history_5"])
    assert [one.name for one in kept.conditions] == ["control", "asch_history_5"]
    mixed = pp.task("conformity", conditions=["control", pp.template(tmp_path / "polite.toml")])
    assert [one.name for one in mixed.conditions] == ["control", "polite"]
    run = ask(tmp_path, mixed, "mock/subject", max_items=2, name="mixed")
    pp.audit(run.directory).raise_for_failures()
    with pytest.raises(pp.SpecError, match="did you mean 'control'"):
        pp.task("questions", conditions=["contrl"])
    with pytest.raises(pp.SpecError, match="not an int"):
        pp.task("questions", conditions=[3])  # type: ignore[list-item]


def test_a_run_is_opened_by_its_path_and_a_near_name_is_suggested(run: pp.Run) -> None:
    for where in (run.directory, str(run.directory)):
        assert pp.Run(where).name == "own"
    with pytest.raises(pp.StoreError, match="did you mean 'own'"):
        pp.Run(run.directory.with_name("ownn"))
    with pytest.raises(pp.StoreError, match="a folder"):
        pp.Run(run.directory / "run.db")


def test_values_have_a_short_repr(run: pp.Run) -> None:
    comparison = pp.compare(run, run, first_where={"condition": "control"}, second_where={"condition": "others"})
    report, numbers = run.report(), run["correct"].rate()
    for value in (
        run,
        run.table,
        run["brief"],
        run["brief"].pair("control", "others"),
        numbers,
        comparison,
        report,
        comparison.contrasts[0],
        pp.task("conformity"),
        pp.Metric("rate", "x@1", {"model": "m"}, numbers),
    ):
        text = repr(value)
        assert text.startswith(type(value).__name__.replace("Interactive", "") + "("), text
        assert len(text) < 300
        assert "\n" not in text
    assert repr(pp.Estimate(0.5, 4, 0.2, 0.8)) == "Estimate(0.500 [0.200, 0.800] n=4)"
    assert repr(pp.Estimate(None, 0, note="no trial")) == "Estimate(NA (no trial) n=0)"


def test_html_is_a_table_and_inert_whatever_the_names(tmp_path: Path) -> None:
    items = [{**one, "id": f"{one['id']}{HOSTILE}", "tags": {HOSTILE: HOSTILE}} for one in ITEMS]
    conditions = ["control", pp.condition(HOSTILE, "{question} others")]
    task = pp.task("questions", items=items, conditions=conditions, scorers=brief)  # type: ignore[arg-type]
    run = ask(tmp_path, task, pp.model(lambda prompt: HOSTILE, label=HOSTILE), name="hostile")
    comparison = pp.compare(run, run, first_where={"condition": "control"}, second_where={"condition": HOSTILE})
    for value in (run, run.table, comparison):
        page = value._repr_html_()  # type: ignore[attr-defined]
        tags = Elements(page)
        assert tags.names <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
        assert not any(attributes for _, attributes in tags.tags)
        assert "\x1b" not in page
        assert "\x1b" not in repr(value)
        assert "\n" not in repr(value)
        assert "onerror" in page  # it is shown, and does nothing
    run.plot(), comparison.plot()


def test_a_run_whose_numbers_are_damaged_still_shows_itself(run: pp.Run) -> None:
    (run.directory / "metrics.json").write_text("<script>")
    assert "damaged" in run._repr_html_()
    assert Elements(run._repr_html_()).names <= {"table", "caption", "thead", "tbody", "tr"}
    (run.directory / "metrics.json").unlink()
    assert "not scored yet" in run._repr_html_()


def test_frames_have_one_row_per_trial_or_contrast(run: pp.Run) -> None:
    for frame in (run.to_pandas(), run.table.to_pandas()):
        assert len(frame) == 12
        assert {"item", "condition", "model", "correct@2"} <= {*frame.columns}
    assert len(run.to_pandas(where={"condition": "control"}, only=["item"])) == 6
    comparison = pp.compare(run, run, first_where={"condition": "control"}, second_where={"condition": "others"})
    assert comparison.to_pandas().shape == (len(comparison.contrasts), 18)
    row = comparison.to_pandas().set_index("column").loc["correct@2"]
    assert row["difference"] == -1.0
    assert row["n"] == 6


def test_plot_is_the_report_s_figure(run: pp.Run, tmp_path: Path) -> None:
    from matplotlib.figure import Figure

    assert isinstance(run.plot(), Figure)
    study = pp.evaluate("conformity", "mock/subject", max_items=4, out=tmp_path, quiet=True)
    report = study.report()
    assert _drawn(study.plot()) == _drawn(report.figures[0].draw())
    never = pp.Task(
        "own", [pp.condition("c", "{question}")], [pp.scorer(lambda item, text: None)], in_memory=[pp.Item("a", "?")]
    )  # type: ignore[arg-type]
    with pytest.raises(pp.SpecError, match="no rate to draw"):
        ask(tmp_path, never).plot()


def _drawn(figure: object) -> list[str]:
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    assert isinstance(figure, Figure)
    return [text.get_text() for text in figure.findobj(Text)]  # type: ignore[attr-defined]


def test_an_estimate_is_a_float_where_it_is_defined() -> None:
    assert float(pp.Estimate(0.25, 4)) == 0.25
    assert f"{pp.Estimate(0.25, 4):.1%}" == "25.0%"
    assert f"{pp.Estimate(None, 0, note='no trial'):.1%}" == "NA"
    assert f"{pp.Estimate(0.25, 4)}" == "0.250 n=4"
    with pytest.raises(pp.DataError, match="undefined: no trial"):
        float(pp.Estimate(None, 0, note="no trial"))


def test_ece_is_an_estimate_of_arrays_or_columns(tmp_path: Path) -> None:
    from perpend.stats.calibration import ece as plain

    confidences, correct = [0.9] * 20 + [0.6] * 20, [1] * 15 + [0] * 5 + [1] * 14 + [0] * 6
    estimate = pp.ece(confidences, correct)
    assert float(estimate) == pytest.approx(plain(confidences, correct))
    assert estimate.lo is not None
    assert estimate.hi is not None
    assert estimate.lo <= float(estimate) <= estimate.hi
    assert float(pp.ece(confidences, correct, 5)) == float(pp.ece(confidences, correct, n_bins=5))
    assert pp.ece(confidences, correct) == estimate
    run = ask(tmp_path, pp.task("questions", items=ITEMS, scorers=[lambda item, text: 0.8, brief]))
    sure, right = run["lambda"], run["correct"]
    assert float(pp.ece(sure, right, bins=10)) == pytest.approx(0.2)
    assert pp.ece(sure, right).n == 6
    nothing = pp.ece(sure.where(part="0"), right.where(part="1"))
    assert nothing.value is None
    assert "no trial has both" in nothing.note
    with pytest.raises(pp.SpecError, match="two columns"):
        pp.ece(sure, [1] * 6)


def test_the_reference_names_every_public_name() -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    missing = [name for name in pp.__all__ if not re.search(rf"\b{name}\b", page)]
    assert not missing
