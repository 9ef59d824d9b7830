"""The n-gram model: exact probabilities, checkpoints that are the same bytes everywhere, a provider like any other."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from perpend.errors import DataError, ModelError
from perpend.judging.scorers import SCORERS
from perpend.ledger.items import load_items
from perpend.models.ngram import (
    ALPHABET,
    END,
    START,
    UNKNOWN,
    KneserNey,
    checkpoint,
    load,
    make_checkpoints,
    model,
    sentences,
    tokens,
    train,
)
from perpend.spec.model import Budget
from perpend.studies.verbs.probes import ADVERSARIAL, CORE, CORPUS, load_heldout
from perpend.types import ChoiceLogprob, Item, Message, Request, Response, Sampling

TOY = ["the cat sees the dog.", "the dog sees a cat.", "the cat eats.", "a dog eats the bone.", "the cat sees a dog."]


def ask(
    name: str, text: str, *choices: str, whole_sentence: bool = False, sampling: Sampling | None = None
) -> Response:
    request = Request((Message("user", text),), sampling or Sampling(), choices)
    batches = model(name, whole_sentence=whole_sentence).answer(iter([(0, request)]), Budget())
    return next(iter(batches))[0][1]


def scored(response: Response) -> tuple[ChoiceLogprob, ...]:
    assert response.choice_logprobs is not None
    return response.choice_logprobs


def brute_force(lines: list[tuple[str, ...]], order: int, vocabulary: list[str]) -> dict[tuple[str, ...], Fraction]:
    """P(word | history) for every history and word by the textbook formula, in exact fractions, with plain loops."""
    grams: Counter[tuple[str, ...]] = Counter()
    for line in lines:
        padded = (START,) * (order - 1) + line + (END,)
        grams.update(padded[at - order + 1 : at + 1] for at in range(order - 1, len(padded)))
    levels = [grams]
    for _ in range(order - 1):
        levels.append(Counter(gram[1:] for gram in levels[-1]))

    def probability(history: tuple[str, ...], word: str, level: int) -> Fraction:
        if level == order:
            return Fraction(1, len(vocabulary))
        counts = levels[level]
        n1 = sum(1 for count in counts.values() if count == 1)
        n2 = sum(1 for count in counts.values() if count == 2)
        discount = Fraction(n1, n1 + 2 * n2) if n1 and n2 else Fraction(3, 4)
        total = sum(count for gram, count in counts.items() if gram[:-1] == history)
        lower = probability(history[1:], word, level + 1)
        if total == 0:
            return lower
        types = sum(1 for gram in counts if gram[:-1] == history)
        own = max(Fraction(counts[(*history, word)]) - discount, Fraction(0))
        return own / total + discount * types / total * lower

    histories = itertools.product([START, *vocabulary], repeat=order - 1)
    return {(*history, word): probability(history, word, 0) for history in histories for word in vocabulary}


@pytest.mark.parametrize("order", [2, 3])
def test_probabilities_are_those_of_the_textbook_formula(order: int) -> None:
    toy = train(TOY, order)
    lines = [tuple(word if word in toy.vocabulary else UNKNOWN for word in tokens(line)) for line in TOY]
    everything = [*sorted(toy.vocabulary), END, UNKNOWN]
    kneser_ney = KneserNey(toy.counts, order, len(everything))
    for gram, exact in brute_force(lines, order, everything).items():
        assert kneser_ney.probability(gram[-1], gram[:-1]) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize(
    "before", ["", "yesterday i", "mi hermana ha", "zzz qqq xyz", "i have never", "tomorrow she will"]
)
@pytest.mark.parametrize("name", ["early", "final"])
def test_probabilities_sum_to_one_over_the_vocabulary(name: str, before: str) -> None:
    shares = checkpoint(name).distribution(tokens(before))
    assert math.fsum(shares.values()) == pytest.approx(1.0, abs=1e-12)
    assert min(shares.values()) > 0


def test_all_unknown_words_together_have_the_probability_of_the_unknown_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perpend.models.ngram.ALPHABET", "ab")
    toy = train(["ab ab b b a aa ba", "ab b aa bab"], 2)
    assert toy.vocabulary == {"ab", "b", "aa"}
    strings = ["".join(letters) for n in range(1, 13) for letters in itertools.product("ab", repeat=n)]
    unknown = [toy.logprob(word, ("b",)) for word in strings if word not in toy.vocabulary]
    total = math.fsum(math.exp(value) for value in unknown if value is not None)
    # Words of more than twelve letters hold what is missing.
    assert total == pytest.approx(toy.distribution(("b",))[UNKNOWN], rel=1e-4)


def test_a_word_with_a_letter_outside_the_alphabet_has_no_probability() -> None:
    assert checkpoint("final").logprob("ошибка", ()) is None
    assert checkpoint("final").logprob("goed", ()) is not None


def test_words_seen_once_are_unknown_and_words_seen_twice_are_known() -> None:
    toy = train(["one one two."], 2)
    assert toy.vocabulary == {"one"}
    assert toy.words == {"one", "two", "."}
    assert toy.step == 1


def test_perplexity_is_that_of_the_log_probabilities_and_undefined_without_text() -> None:
    toy = train(TOY, 3)
    scores = toy.score("the dog sees the cat. a cat eats.")
    found = toy.perplexity(["the dog sees the cat.", "a cat eats."])
    assert found.tokens == len(scores) == 12
    assert found.value == pytest.approx(math.exp(-sum(score or 0.0 for score in scores) / 12))
    assert toy.perplexity([]).value is None
    assert toy.perplexity(["кот спит."]).left_out == 2


def test_a_saved_checkpoint_loads_to_the_same_model_and_the_same_bytes(tmp_path: Path) -> None:
    paths = make_checkpoints(tmp_path)
    for name, path in paths.items():
        again = load(path)
        assert again == checkpoint(name)
        assert again.as_bytes() == path.read_bytes() == checkpoint(name).as_bytes()
        assert again.distribution(("i", "have")) == checkpoint(name).distribution(("i", "have"))
        assert again.score("Ayer yo goed.") == checkpoint(name).score("Ayer yo goed.")
    assert checkpoint("early").step * 10 <= checkpoint("final").step == 5002


def test_training_does_not_depend_on_the_order_of_sets() -> None:
    code = (
        "from perpend.models.ngram import checkpoint as c; m = c('early'); "
        "print(m.sha256, m.score('Yesterday I goed home.'))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


@pytest.mark.parametrize(
    "content", ["", "{}", '{"format":"perpend n-gram 1"}', '{"format":"perpend n-gram 1","names":3}']
)
def test_a_file_that_is_no_checkpoint_is_named(content: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=r"other\.json"):
        load(path)


def test_nothing_to_train_on_and_a_useless_order_are_errors() -> None:
    with pytest.raises(DataError, match="no sentence"):
        train([" ", ""])
    with pytest.raises(DataError, match="order 1"):
        train(TOY, 1)
    with pytest.raises(DataError, match="'late'"):
        checkpoint("late")
    with pytest.raises(ModelError, match="neither"):
        model("nowhere.json")


def right(name: str, probes: Path) -> tuple[int, int]:
    """(right, decided) over the probes with one right answer."""
    values = [
        SCORERS["choice"][-1].judge(probe, ask(name, probe.prompt, *probe.choices)).value
        for probe in load_items([probes])
        if probe.tags["label"] == "correct"
    ]
    decided = [value for value in values if value is not None]
    return int(sum(decided)), len(decided)


def perplexity(name: str, language: str) -> float:
    found = checkpoint(name).perplexity(sentence for code, sentence in load_heldout() if code == language)
    assert found.left_out == 0
    assert found.value is not None
    return found.value


def test_the_final_checkpoint_knows_more_than_the_early_one() -> None:
    (early, of_early), (final, of_final) = right("early", CORE), right("final", CORE)
    assert min(of_early, of_final) > 0.95 * 300
    assert 0.4 < early / of_early < final / of_final - 0.1


@pytest.mark.parametrize("language", ["en", "es"])
def test_the_held_out_text_is_less_perplexing_to_the_final_checkpoint(language: str) -> None:
    assert perplexity("final", language) < perplexity("early", language) / 2


def test_a_choice_scores_its_words_after_the_text_before_the_blank() -> None:
    final = checkpoint("final")
    first, second = scored(ask("final", "Tomorrow I ___ to school.", "will walk", "walked"))
    will, walk = final.logprob("will", ("tomorrow", "i")), final.logprob("walk", ("tomorrow", "i", "will"))
    assert will is not None
    assert walk is not None
    assert first == ChoiceLogprob(will + walk, 2)
    assert second == ChoiceLogprob(final.logprob("walked", ("tomorrow", "i")), 1)


def test_only_the_sentence_of_the_blank_is_its_context() -> None:
    (long,) = scored(ask("final", "It was late. Yesterday I ___ home.", "went"))
    (short,) = scored(ask("final", "Yesterday I ___ home.", "went"))
    assert long == short


def test_after_a_finished_sentence_a_new_one_begins() -> None:
    assert scored(ask("final", "It was late.", "yesterday")) == scored(ask("final", "", "yesterday"))
    assert ask("final", "It was late.", sampling=Sampling(0.0, 20, 1)).text


def test_the_whole_sentence_is_scored_when_asked_for() -> None:
    (found,) = scored(ask("final", "Yesterday I ___ home.", "went", whole_sentence=True))
    scores = checkpoint("final").score("Yesterday I went home.")
    assert found.tokens == len(scores) == 6
    assert found.total == pytest.approx(sum(score or 0.0 for score in scores))


@pytest.mark.parametrize("whole_sentence", [False, True])
def test_a_choice_that_cannot_be_represented_has_no_total_and_the_probe_is_out_of_vocabulary(
    whole_sentence: bool,
) -> None:
    probe = load_items([ADVERSARIAL])[0]
    response = ask("final", probe.prompt, "went", "пошёл", whole_sentence=whole_sentence)
    assert [score.total is None for score in scored(response)] == [False, True]
    assert response.text == "went"
    item = Item("a", probe.prompt, target="went", choices=("went", "пошёл"))
    assert SCORERS["choice"][-1].judge(item, response).reason.startswith("model_oov")
    assert ask("final", probe.prompt, "иду", "пошёл", whole_sentence=whole_sentence).text == ""


def test_an_unspellable_word_beside_the_blank_does_not_silence_the_choices() -> None:
    for whole_sentence in (False, True):
        response = ask("final", "Иван: I ___ home.", "go", "goes", whole_sentence=whole_sentence)
        assert all(score.total is not None for score in scored(response))


def test_two_blanks_are_a_failed_request_and_no_blank_means_the_end() -> None:
    assert "more than one blank" in (ask("final", "I ___ and ___ .", "eat", "see").error or "")
    assert scored(ask("final", "Yesterday I", "went")) == scored(ask("final", "Yesterday I ___", "went"))


def test_text_is_drawn_by_the_seed_and_ends_with_the_sentence_or_the_limit() -> None:
    drawn = [ask("final", "Yesterday I", sampling=Sampling(1.0, 40, seed)) for seed in (1, 1, 2, 3, 4, 5)]
    assert drawn[0] == drawn[1]
    assert len({response.text for response in drawn}) > 1
    assert {response.finish for response in drawn} <= {"stop", "length"}
    cut = ask("final", "Yesterday I", sampling=Sampling(1.0, 2, 1))
    assert cut.finish == "length"
    assert cut.usage is not None
    assert cut.usage.output == 2
    assert all(UNKNOWN not in str(response.text) for response in drawn)


def test_temperature_zero_is_the_likeliest_word_whatever_the_seed_and_a_stop_text_cuts() -> None:
    likeliest = ask("final", "Tomorrow she will", sampling=Sampling(0.0, 20, 1)).text
    assert likeliest == ask("final", "Tomorrow she will", sampling=Sampling(0.0, 20, 2)).text
    assert likeliest == ask("final", "Tomorrow she will", sampling=Sampling(1.0, 20, 2, top_p=1e-9)).text
    stopped = ask("final", "Tomorrow she will", sampling=Sampling(0.0, 20, 1, stop=(".",)))
    assert stopped.text == str(likeliest).rstrip(".")
    assert stopped.finish == "stop"


def test_the_provider_keeps_to_the_protocol(tmp_path: Path) -> None:
    path = make_checkpoints(tmp_path)["early"]
    made = model(str(path))
    assert made.name == "ngram/early.json"
    assert made.fingerprint() == model("early").fingerprint()
    assert made.fingerprint() != model("final").fingerprint()
    assert made.fingerprint() != model("early", whole_sentence=True).fingerprint()
    assert str(tmp_path) not in repr(made)
    assert len(repr(made)) < 200

    def requests() -> Iterator[tuple[int, Request]]:
        for key in range(100):
            yield key, Request((Message("user", "I ___ home."),), Sampling(), ("go", "goes"))

    assert [key for batch in made.answer(requests(), Budget()) for key, _ in batch] == list(range(100))
    budget = Budget(max_requests=7)
    assert sum(len(batch) for batch in made.answer(requests(), budget)) == budget.sent == 7
    assert list(made.answer(iter([]), Budget())) == []


def test_sentences_end_at_marks_and_words_keep_their_apostrophes() -> None:
    assert sentences(" Hola. ¿Qué tal?  Bien ") == ["Hola.", "¿Qué tal?", "Bien"]
    assert tokens("¿DON’T you see, Ana?") == ("¿", "don't", "you", "see", ",", "ana", "?")


def test_the_corpus_has_no_word_that_the_model_cannot_spell() -> None:
    letters = {letter for word in tokens(CORPUS.read_text(encoding="utf-8")) for letter in word}
    assert letters <= set(ALPHABET)
