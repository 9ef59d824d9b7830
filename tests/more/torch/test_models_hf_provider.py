from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from tokenizers.processors import TemplateProcessing
from transformers import MptConfig, PreTrainedTokenizerFast

from perpend.errors import ModelError, SpecError
from perpend.models.hf import Transformers, attention, candidates, generate, model, provider
from perpend.models.hf.checkpoint import token_limit
from perpend.spec.model import Budget
from perpend.studies.verbs.checkpoint import ReportOptions, report_model
from perpend.studies.verbs.folder import write_checkpoint
from perpend.studies.verbs.probes import load_heldout
from perpend.types import Message, Request, Response, Sampling
from tests.more.torch.hf_models import LONGEST, brute, tiny

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,?!:_\n<>|/'"
TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}<assistant>"


def checkpoint(
    folder: Path, name: str = "llama", template: str | None = TEMPLATE, *, bos: str | None = "<s>", frame: str = ""
) -> Path:
    """A tiny model and a tokenizer of single letters, saved as a user would have them.

    `frame` is what the tokenizer makes of a text '$A'.
    """
    vocabulary = {"<pad>": 0, "<s>": 1, "</s>": 2, "<unk>": 3} | {letter: 4 + n for n, letter in enumerate(LETTERS)}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    if frame:
        words.post_processor = TemplateProcessing(single=frame, special_tokens=[("<s>", 1), ("</s>", 2)])
    made = PreTrainedTokenizerFast(
        tokenizer_object=words, bos_token=bos, eos_token="</s>", unk_token="<unk>", pad_token="<pad>"
    )
    made.chat_template = template
    tiny(name).save_pretrained(folder)
    made.save_pretrained(folder)
    return folder


def ask(made: Transformers, requests: Sequence[Request], budget: Budget | None = None) -> dict[int, Response]:
    found: dict[int, Response] = {}
    for batch in made.answer(iter(list(enumerate(requests))), budget or Budget()):
        for key, response in batch:
            assert key not in found
            found[key] = response
    return found


def question(text: str, *choices: str, **options: object) -> Request:
    return Request((Message("user", text),), Sampling(**{"max_tokens": 6, **options}), choices)


def test_choices_get_their_log_likelihood_after_the_rendered_chat(tmp_path: Path) -> None:
    made = model(str(checkpoint(tmp_path)), device="cpu")
    response = ask(made, [question("is it so?", "yes", "no")])[0]
    assert response.choice_logprobs is not None
    for choice, score in zip(("yes", "no"), response.choice_logprobs, strict=True):
        rendered = made.checkpoint.tokens("<user>is it so?\n<assistant>" + choice)
        wanted = brute(made.checkpoint.model, rendered, len(rendered) - len(choice))
        assert score.tokens == len(choice)
        assert score.total == pytest.approx(sum(wanted), abs=1e-4)
    totals = [score.total or 0.0 for score in response.choice_logprobs]
    assert response.text == ("yes", "no")[totals.index(max(totals))]


def test_a_choice_stands_in_the_blank_of_a_plain_text(tmp_path: Path) -> None:
    folder = str(checkpoint(tmp_path))
    made = model(folder, endpoint="completions", device="cpu")
    whole = model(folder, endpoint="completions", whole_sentence=True, device="cpu")
    request = question("the dogs ___ loudly.", "bark", "barks")
    left, all_of_it = ask(made, [request])[0], ask(whole, [request])[0]
    assert left.choice_logprobs is not None
    assert all_of_it.choice_logprobs is not None
    assert [score.tokens for score in left.choice_logprobs] == [4, 5]
    assert [score.tokens for score in all_of_it.choice_logprobs] == [4 + 8, 5 + 8]


def test_choices_that_begin_alike_are_scored_from_where_the_prompt_ends(tmp_path: Path) -> None:
    made = model(str(checkpoint(tmp_path)), device="cpu")
    response = ask(made, [question("say", "aa", "aab", "aa")])[0]
    assert response.choice_logprobs is not None
    assert [score.tokens for score in response.choice_logprobs] == [2, 3, 2]
    assert response.choice_logprobs[0] == response.choice_logprobs[2]


def test_an_answer_says_how_it_finished_and_what_it_took(tmp_path: Path) -> None:
    made = model(str(checkpoint(tmp_path)), device="cpu")
    cut = ask(made, [question("hello")])[0]
    assert (cut.finish, cut.usage and cut.usage.output) == ("length", 6)
    assert cut.text is not None
    stopped = ask(made, [question("hello", stop=(cut.text[2:4],))])[0]
    assert (stopped.text, stopped.finish) == (cut.text[: cut.text.index(cut.text[2:4])], "stop")


def test_a_prompt_that_leaves_no_room_is_the_trial_s_error_and_the_others_are_answered(tmp_path: Path) -> None:
    made = model(str(checkpoint(tmp_path)), device="cpu")
    found = ask(made, [question("x" * LONGEST), question("short"), question("x" * LONGEST, "a", "b")])
    assert "the model holds 128" in (found[0].error or "")
    assert found[1].text is not None
    assert "the model holds 128" in (found[2].error or "")


def test_an_architecture_without_a_mask_answers_and_says_how_it_scored(tmp_path: Path) -> None:
    made = model(str(checkpoint(tmp_path, "mamba")), device="cpu")
    assert "padded rows" in made.fingerprint()["candidates"]
    found = ask(made, [question("hello"), question("is it so?", "yes", "no")])
    assert found[0].finish in ("stop", "length")
    assert found[1].choice_logprobs is not None


def test_a_text_beyond_the_sliding_window_is_continued_as_the_model_itself_would(tmp_path: Path) -> None:
    made = model(str(checkpoint(tmp_path, "gemma2")), device="cpu")
    long = question("a long question that is longer than the window of the model", max_tokens=4)
    assert ask(made, [long])[0].finish in ("stop", "length")


def test_many_windows_of_requests_are_answered_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One window follows the other in the places; choices and prompts without room between them are answered."""
    made = model(str(checkpoint(tmp_path)), device="cpu", places=2)
    texts = [question(f"number {n}?", max_tokens=1 + n % 5) for n in range(14)]
    requests = [*texts[:8], question("is it so?", "yes", "no"), question("x" * LONGEST), *texts[8:]]
    whole = ask(made, requests)
    monkeypatch.setattr(provider, "_WINDOW", 3)
    parts = ask(made, requests)
    assert [parts[n].text for n in range(16)] == [whole[n].text for n in range(16)]
    assert [parts[n].usage for n in range(16)] == [whole[n].usage for n in range(16)]
    assert [n for n in range(16) if parts[n].error is not None] == [9]


def test_an_answer_without_memory_is_the_trial_s_error(tmp_path: Path) -> None:
    made = model(str(checkpoint(tmp_path)), device="cpu", places=2)

    def small_device(_: object, inputs: tuple[torch.Tensor, ...]) -> None:
        if inputs[0].shape[1] > 48:
            raise torch.OutOfMemoryError("no room")

    made.checkpoint.model.get_input_embeddings().register_forward_pre_hook(small_device)
    responses = ask(made, [question("short?"), question("long " * 10)])
    assert responses[0].text is not None
    assert responses[1].error == "hf: out of memory, even alone"
    assert made.places == 1


def test_the_budget_is_asked_before_every_request(tmp_path: Path) -> None:
    made = model(str(checkpoint(tmp_path)), device="cpu")
    assert len(ask(made, [question("hello")] * 5, Budget(max_requests=3))) == 3


def test_the_fingerprint_follows_the_weights_and_names_no_path(tmp_path: Path) -> None:
    one = model(str(checkpoint(tmp_path / "a")), device="cpu")
    same = model(str(checkpoint(tmp_path / "b")), device="cpu")
    other = model(str(checkpoint(tmp_path / "c", "qwen2")), device="cpu")
    assert one.fingerprint() == same.fingerprint()
    assert one.fingerprint()["weights_sha256"] != other.fingerprint()["weights_sha256"]
    assert str(tmp_path) not in str(one.fingerprint())
    assert one.name == "hf/a"


def test_what_is_not_on_this_machine_is_not_fetched(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="fetches nothing from a hub"):
        model("someone/some-model")
    with pytest.raises(ModelError, match="brings no chat template"):
        model(str(checkpoint(tmp_path, template=None)))
    with pytest.raises(ModelError, match="dtype must be one of float32"):
        model(str(tmp_path), dtype="float8")
    with pytest.raises(SpecError, match="'chat' or 'completions'"):
        model(str(tmp_path), endpoint="talk")
    with pytest.raises(SpecError, match="places must be 1 or more"):
        model(str(tmp_path), places=0)


def test_what_the_model_read_is_digested(tmp_path: Path) -> None:
    made = model(str(checkpoint(tmp_path)), device="cpu")
    found = ask(made, [question("hello"), question("hello", "yes", "no"), question("other")])
    wanted = hashlib.sha256(b"<user>hello\n<assistant>").hexdigest()
    assert [response.usage and response.usage.prompt_sha256 for response in found.values()].count(wanted) == 2


def test_a_text_has_the_log_likelihood_of_each_of_its_tokens_after_the_beginning(tmp_path: Path) -> None:
    made = model(str(checkpoint(tmp_path)), endpoint="completions", device="cpu")
    short, long = made.text_logprobs(["ab", "hello there"])
    assert (len(short), len(long)) == (2, 11)
    letters = made.checkpoint.tokenizer("hello there", add_special_tokens=False)["input_ids"]
    assert long == pytest.approx(brute(made.checkpoint.model, (1, *letters), 1), abs=1e-4)
    with pytest.raises(ModelError, match="has 0 tokens"):
        made.text_logprobs([""])
    with pytest.raises(ModelError, match="the model holds 1 to 128"):
        made.text_logprobs(["x" * (LONGEST + 1)])


def test_a_checkpoint_s_report_asks_it_plain_text_and_states_its_perplexity(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "tiny", template=None)
    page = write_checkpoint(report_model(f"hf/{folder}", tmp_path / "out", ReportOptions("tiny")), tmp_path / "out")
    assert "erplexity" in (page / "REPORT.md").read_text(encoding="utf-8")
    assert len((page / "held_out.jsonl").read_text(encoding="utf-8").splitlines()) == len(list(load_heldout()))


def test_a_choice_in_a_blank_at_the_beginning_follows_the_token_that_begins_a_text(tmp_path: Path) -> None:
    """All of its tokens are scored, whether the tokenizer adds that token by itself or not."""
    request = question("___ is it", "yes", "no")
    for frame in ("", "<s> $A"):
        made = model(str(checkpoint(tmp_path, frame=frame)), endpoint="completions", device="cpu")
        response = ask(made, [request])[0]
        assert response.choice_logprobs is not None
        for choice, score in zip(("yes", "no"), response.choice_logprobs, strict=True):
            letters = made.checkpoint.tokenizer(choice, add_special_tokens=False)["input_ids"]
            assert score.tokens == len(choice)
            assert score.total == pytest.approx(sum(brute(made.checkpoint.model, (1, *letters), 1)), abs=1e-4)
        assert response.usage is not None
        assert response.usage.input == 1


def test_where_nothing_begins_a_text_an_empty_prompt_is_the_trial_s_error(tmp_path: Path) -> None:
    made = model(str(checkpoint(tmp_path, bos=None)), endpoint="completions", device="cpu")
    asked = [question(""), question("ok"), question("___ is it", "yes", "no"), question("is it", "yes", "no")]
    found = ask(made, asked)
    assert "the prompt is empty, and this tokenizer has no token that begins a text" in (found[0].error or "")
    assert "nothing comes before the choices" in (found[2].error or "")
    assert found[1].error is None
    assert found[3].choice_logprobs is not None
    begun = model(str(checkpoint(tmp_path)), endpoint="completions", device="cpu")
    assert begun.checkpoint.prompt(asked[0]) == (1,)


def test_an_end_that_the_tokenizer_adds_is_in_no_prompt_and_no_choice(tmp_path: Path) -> None:
    made = model(str(checkpoint(tmp_path, frame="<s> $A </s>")), endpoint="completions", device="cpu").checkpoint
    a, b = 4, 5
    assert made.prompt(question("ab")) == (1, a, b)
    assert [(one.tokens, one.start) for one in made.passages(question("a", "b"))] == [((1, a, b), 2)]


@pytest.mark.parametrize("name", ["mamba", "gemma2"])
def test_a_text_that_is_continued_alone_and_finds_no_memory_is_the_trial_s_error(tmp_path: Path, name: str) -> None:
    made = model(str(checkpoint(tmp_path, name)), endpoint="completions", device="cpu")

    def small_device(_: object, inputs: tuple[torch.Tensor, ...]) -> None:
        if inputs[0].shape[1] > 32:
            raise torch.OutOfMemoryError("no room")

    made.checkpoint.model.get_input_embeddings().register_forward_pre_hook(small_device)
    found = ask(made, [question("a" * 40), question("abc")])
    assert found[0].error == "hf: out of memory, even alone"
    assert found[1].text is not None


def test_a_device_that_is_not_there_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("not even a configuration", encoding="utf-8")
    for device in ("nonsense", "cuda:99", "meta", "cpu:7"):
        with pytest.raises(SpecError, match=f"there is no device '{device}' here; this machine has: cpu"):
            model(str(tmp_path), endpoint="completions", device=device)


def test_a_processor_by_its_number_computes_in_full_precision(tmp_path: Path) -> None:
    made = model(str(checkpoint(tmp_path)), device="cpu:0")
    assert made.checkpoint.model.dtype == torch.float32


def test_every_pass_is_made_on_the_device_of_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which need not be the one that torch uses where none is named; a GPU's context is counted here in its place."""
    made, inside = model(str(checkpoint(tmp_path)), device="cpu"), list[str]()

    @contextmanager
    def counted(_: object) -> Iterator[None]:
        inside.append("")
        yield
        inside.pop()

    def check(*_: object) -> None:
        assert inside

    for module in (candidates, generate):
        monkeypatch.setattr(module, "on_device", counted)
    made.checkpoint.model.get_input_embeddings().register_forward_pre_hook(check)
    ask(made, [question("hello"), question("is it so?", "yes", "no")])
    made.weigher.steps = False
    ask(made, [question("hello")])
    assert attention.on_device(SimpleNamespace(device=torch.device("cuda:1"))).idx == 1


def test_the_length_of_a_model_is_read_by_each_of_its_names() -> None:
    assert token_limit(SimpleNamespace(config=MptConfig(max_seq_len=77))) == 77
    assert token_limit(tiny("gpt2")) == token_limit(tiny("llama")) == LONGEST
    assert token_limit(tiny("mamba")) > 10**9
