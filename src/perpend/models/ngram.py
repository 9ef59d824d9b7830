"""ngram: a small real language model, interpolated Kneser–Ney over words, trained in seconds on the package's corpus.

`ngram/early` and `ngram/final` are its two checkpoints, after a tenth of the corpus and after all of it, trained in
memory when first asked for; `ngram/PATH` is a checkpoint file. Unknown words are spelled, letter by letter, by a second
model of the same kind, so every word has an exact probability and two checkpoints can be compared on one text.
"""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path

from perpend.canon import JSON, as_list, dumps, list_of, read_object, whole_of, write_atomic
from perpend.errors import DataError, ModelError
from perpend.models.base import BLANK, cut_at, in_order
from perpend.spec.model import Answers, Budget
from perpend.types import ChoiceLogprob, Request, Response, Sampling, Usage

ORDER = 4
SPELLING_ORDER = 4
START, END, UNKNOWN = "<s>", "</s>", "<unk>"
# Fixed, not learned: two checkpoints give the same words a probability, or the same words none.
ALPHABET = "abcdefghijklmnopqrstuvwxyzáéíóúüñ0123456789'-.,;:!?¿¡()\""

_FORMAT = "perpend n-gram 1"
_BATCH = 64
_LONGEST_ORDER = 16
_TOKEN = re.compile(r"[^\W_]+(?:['-][^\W_]+)*|[^\w\s]|_")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_CLOSES_UP = frozenset(".,;:!?)")

Counts = Mapping[tuple[str, ...], Mapping[str, int]]


class KneserNey:
    """P(symbol | history) by interpolated Kneser–Ney with one absolute discount for each order.

    The longest histories use counts of occurrence; each shorter one counts in how many longer histories the symbol was
    seen; below all lies 1 / `size`, the number of symbols that can come. D = n1 / (n1 + 2 n2), with n1 and n2 the
    numbers of n-grams counted once and twice, and 0.75 where either is 0. A history never seen leaves all to the next.
    """

    def __init__(self, counts: Counts, order: int, size: int) -> None:
        self._size = size
        self._levels: list[tuple[float, dict[tuple[str, ...], tuple[Mapping[str, int], int]]]] = []
        for length in range(order - 1, -1, -1):
            self._levels.append((_discount(counts), {h: (seen, sum(seen.values())) for h, seen in counts.items()}))
            if length:
                counts = _continuations(counts)

    def probability(self, symbol: str, history: tuple[str, ...]) -> float:
        """P(symbol | the last order − 1 of `history`, which must be that long): positive, and 1 summed over symbols."""
        result, weight = 0.0, 1.0
        for number, (discount, contexts) in enumerate(self._levels):
            context = contexts.get(history[number:])
            if context is not None:
                seen, total = context
                result += weight * max(seen.get(symbol, 0) - discount, 0.0) / total
                weight *= discount * len(seen) / total
        return result + weight / self._size


@dataclass(frozen=True, slots=True)
class Perplexity:
    """exp(−mean log-probability) over `tokens`: words, punctuation and each sentence's end. None without any token.

    `left_out` counts words with a character outside the alphabet, which have no probability.
    """

    value: float | None
    tokens: int
    left_out: int


@dataclass(frozen=True)  # not slotted: what follows from the counts is computed once and kept
class NGram:
    """A trained model: how often each word followed each `order` − 1 others in `step` sentences.

    `vocabulary` are the words seen at least twice; `words` all that were seen, from whose letters unknown words are
    spelled.
    """

    order: int
    step: int
    vocabulary: frozenset[str] = field(repr=False)
    words: frozenset[str] = field(repr=False)
    counts: Counts = field(repr=False)

    def logprob(self, word: str, before: Sequence[str]) -> float | None:
        """log P(word | the words before it in its sentence). None: a character of it is outside the alphabet.

        An unknown word has P(<unk> | before) × P(its spelling | it spells no word of the vocabulary), so that the
        probabilities of all words and of the sentence's end (END) sum to 1.
        """
        history = self._history(before)
        if word == END or word in self.vocabulary:
            return math.log(self._model.probability(word, history))
        if not _is_spellable(word):
            return None
        return math.log(self._model.probability(UNKNOWN, history)) + self._spelled(word) - math.log(self._unclaimed)

    def distribution(self, before: Sequence[str]) -> dict[str, float]:
        """P of each word of the vocabulary, of END and of UNKNOWN (all other words together); they sum to 1."""
        history = self._history(before)
        return {word: self._model.probability(word, history) for word in (*sorted(self.vocabulary), END, UNKNOWN)}

    def score(self, text: str) -> list[float | None]:
        """The log-probability of every token of a text, each sentence's end included."""
        return [
            self.logprob(word, sentence[:at])
            for sentence in map(tokens, sentences(text))
            for at, word in enumerate((*sentence, END))
        ]

    def perplexity(self, texts: Iterable[str]) -> Perplexity:
        """Perplexity per token over all texts."""
        scores = [score for text in texts for score in self.score(text)]
        usable = [score for score in scores if score is not None]
        value = math.exp(-math.fsum(usable) / len(usable)) if usable else None
        return Perplexity(value, len(usable), len(scores) - len(usable))

    def as_bytes(self) -> bytes:
        """The checkpoint: canonical JSON that holds the counts as they are. Equal models, equal bytes."""
        names = sorted({*self.words, START, END, UNKNOWN})
        number = {name: at for at, name in enumerate(names)}
        grams = sorted(
            [*(number[part] for part in (*history, word)), count]
            for history, seen in self.counts.items()
            for word, count in seen.items()
        )
        body: dict[str, JSON] = {
            "format": _FORMAT,
            "order": self.order,
            "step": self.step,
            "names": names,
            "vocabulary": sorted(number[word] for word in self.vocabulary),
            "counts": grams,
        }
        return dumps(body).encode() + b"\n"

    @cached_property
    def sha256(self) -> str:
        """SHA-256, in hex, of the checkpoint: what identifies the weights."""
        return hashlib.sha256(self.as_bytes()).hexdigest()

    def save(self, path: Path) -> None:
        """Write the checkpoint file."""
        write_atomic(path, self.as_bytes())

    @cached_property
    def _model(self) -> KneserNey:
        return KneserNey(self.counts, self.order, len(self.vocabulary) + 2)

    @cached_property
    def _spelling(self) -> KneserNey:
        return KneserNey(_count(map(tuple, self.words), SPELLING_ORDER), SPELLING_ORDER, len(ALPHABET) + 1)

    @cached_property
    def _unclaimed(self) -> float:
        """What the spelling model leaves for unknown words: all but the empty one and those that have an own P."""
        return 1.0 - math.fsum(math.exp(self._spelled(word)) for word in ("", *self.vocabulary))

    def _spelled(self, word: str) -> float:
        letters = (*(START,) * (SPELLING_ORDER - 1), *word, END)
        return math.fsum(
            math.log(self._spelling.probability(letters[at], letters[at - SPELLING_ORDER + 1 : at]))
            for at in range(SPELLING_ORDER - 1, len(letters))
        )

    def _history(self, before: Sequence[str]) -> tuple[str, ...]:
        known = [
            word if word in self.vocabulary else UNKNOWN for word in before[max(0, len(before) - self.order + 1) :]
        ]
        return (*(START,) * (self.order - 1 - len(known)), *known)


def tokens(text: str) -> tuple[str, ...]:
    """Words and punctuation marks, in lower case; a word keeps its inner apostrophes and hyphens."""
    return tuple(_TOKEN.findall(unicodedata.normalize("NFC", text).replace("’", "'").lower()))


def sentences(text: str) -> list[str]:
    """The text cut after each '.', '!' or '?' that white space follows."""
    return [part for part in _SENTENCE_END.split(text.strip()) if part]


def train(texts: Iterable[str], order: int = ORDER) -> NGram:
    """The model of these texts. Words seen once count as <unk>, so that it learns where unknown words come."""
    if order < 2:
        raise DataError(f"an n-gram model of order {order} sees no word before the next; give 2 or more")
    lines = [tokens(sentence) for text in texts for sentence in sentences(text)]
    if not lines:
        raise DataError("no sentence to train on")
    often: dict[str, int] = {}
    for line in lines:
        for word in line:
            often[word] = often.get(word, 0) + 1
    words = frozenset(word for word in often if _is_spellable(word))
    vocabulary = frozenset(word for word in words if often[word] > 1)
    seen = _count((tuple(word if word in vocabulary else UNKNOWN for word in line) for line in lines), order)
    return NGram(order, len(lines), vocabulary, words, seen)


def load(path: Path) -> NGram:
    """The model in a checkpoint file; DataError for a file that `save` did not write."""
    body = read_object(path, advice="make_checkpoints(folder) writes two", most=1 << 21)
    if body.get("format") != _FORMAT:
        raise DataError(f"{path}: not a checkpoint of format {_FORMAT!r}")
    where = str(path)
    order, step, names = whole_of(body, "order", where), whole_of(body, "step", where), list_of(body, "names", where)
    words = {name for name in names if isinstance(name, str) and _is_spellable(name)}
    numbers = range(len(names))
    grams, known = list_of(body, "counts", where), list_of(body, "vocabulary", where)
    is_whole = len(words) + 3 == len(set(map(str, names))) == len(names) and {START, END, UNKNOWN} <= set(names)
    if not (2 <= order <= _LONGEST_ORDER and step > 0 and is_whole and all(number in numbers for number in known)):
        raise DataError(f"{path}: a damaged checkpoint; make it again")
    counts: dict[tuple[str, ...], dict[str, int]] = {}
    for place, gram in enumerate(grams, 1):
        parts = [part for part in as_list(gram) if type(part) is int and 0 <= part < 1 << 53]
        if len(parts) != order + 1 or not all(part in numbers for part in parts[:-1]) or not parts[-1]:
            raise DataError(f"{path}: a damaged checkpoint: entry {place} of 'counts' is {gram!r:.80}; make it again")
        *history, word = (str(names[part]) for part in parts[:-1])
        counts.setdefault(tuple(history), {})[word] = parts[-1]
    listed = set(map(str, known))
    vocabulary = frozenset(str(name) for number, name in enumerate(names) if str(number) in listed)
    return NGram(order, step, vocabulary & words, frozenset(words), counts)


@cache
def checkpoint(name: str) -> NGram:
    """'early' (the first tenth of the packaged corpus) or 'final' (all of it), trained now and kept in memory."""
    corpus = files("perpend.models").joinpath("corpus.txt").read_text(encoding="utf-8").splitlines()
    shares = {"early": len(corpus) // 10, "final": len(corpus)}
    if name not in shares:
        raise DataError(f"no packaged checkpoint {name!r}; there are 'early' and 'final'")
    return train(corpus[: shares[name]])


def make_checkpoints(folder: Path) -> dict[str, Path]:
    """Write early.json and final.json into a folder; the same bytes each time."""
    paths = {name: folder / f"{name}.json" for name in ("early", "final")}
    for name, path in paths.items():
        checkpoint(name).save(path)
    return paths


@dataclass(frozen=True, slots=True)
class Provider:
    """An n-gram model that answers requests: candidates get their exact log-likelihood, other requests a text."""

    label: str
    ngram: NGram
    whole_sentence: bool = False

    @property
    def name(self) -> str:
        """'ngram/' and 'early', 'final' or the checkpoint file's name."""
        return f"ngram/{self.label}"

    def fingerprint(self) -> Mapping[str, str]:
        """The digest of the checkpoint, how many sentences it was trained on, and what of a choice is scored."""
        return {
            "provider": "ngram",
            "checkpoint_sha256": self.ngram.sha256,
            "step": str(self.ngram.step),
            "scored": "whole sentence" if self.whole_sentence else "choice after left context",
        }

    def answer(self, requests: Iterator[tuple[int, Request]], budget: Budget) -> Iterator[Answers]:
        """Batches of answers, in order."""
        return in_order(requests, budget, self._reply, size=_BATCH)

    def _reply(self, request: Request) -> Response:
        return self.weigh(request) if request.choices else self.speak(request)

    def weigh(self, request: Request) -> Response:
        """Each choice in the blank of the last message, or after its end; the text is the one of greatest total."""
        before, blank, after = request.messages[-1].content.partition(BLANK)
        if BLANK in after:
            return Response(error=f"ngram: the message has more than one blank {BLANK!r}")
        scores = tuple(self._choice(before if blank else before + " ", choice, after) for choice in request.choices)
        best = max((score.total for score in scores if score.total is not None), default=math.nan)
        text = next((choice for choice, score in zip(request.choices, scores, strict=True) if score.total == best), "")
        usage = Usage(len(tokens(before)), sum(score.tokens for score in scores))
        return Response(text=text, choice_logprobs=scores, finish="stop", usage=usage, ms=0.0)

    def speak(self, request: Request) -> Response:
        """A continuation of the last message, drawn word by word with the request's seed until the sentence ends."""
        before = _open_sentence(request.messages[-1].content)
        text, finish, count = _continue(self.ngram, before, request.sampling)
        return Response(text=text, finish=finish, usage=Usage(len(before), count), ms=0.0)

    def _choice(self, before: str, choice: str, after: str) -> ChoiceLogprob:
        words = tokens(choice)
        if self.whole_sentence:
            scores = self.ngram.score(before + choice + after)
        else:
            context = _open_sentence(before)
            scores = [self.ngram.logprob(word, (*context, *words[:at])) for at, word in enumerate(words)]
        if not words or not all(map(_is_spellable, words)):
            return ChoiceLogprob(None, len(words))
        # Around the blank, a word that cannot be spelled is left out: it is the same one for every choice.
        usable = [score for score in scores if score is not None]
        return ChoiceLogprob(math.fsum(usable), len(usable))


def model(name: str, *, whole_sentence: bool = False) -> Provider:
    """'early', 'final' or a checkpoint file. `whole_sentence` scores the filled sentence, not the choice alone."""
    if name in ("early", "final"):
        return Provider(name, checkpoint(name), whole_sentence)
    path = Path(name)
    if not path.is_file():
        raise ModelError(
            f"ngram/{name}: neither 'early' nor 'final' nor a checkpoint file; make_checkpoints writes two"
        )
    return Provider(path.name, load(path), whole_sentence)


def _continue(ngram: NGram, before: Sequence[str], sampling: Sampling) -> tuple[str, str, int]:
    """(text, finish, number of words). <unk> is never drawn: it is no word that could be written."""
    import numpy as np

    rng = np.random.default_rng(sampling.seed)
    written: list[str] = []
    while len(written) < sampling.max_tokens:
        shares = ngram.distribution((*before, *written))
        del shares[UNKNOWN]
        words = sorted(shares, key=lambda word: -shares[word])  # stable: equal words stay in alphabetical order
        chosen = words[0]
        if sampling.temperature > 0:
            weights = np.array([shares[word] for word in words]) ** (1 / sampling.temperature)
            weights /= weights.sum()
            if sampling.top_p is not None:
                # The likeliest words up to and with the one that reaches top_p; never none.
                weights[1:][np.cumsum(weights)[:-1] >= sampling.top_p] = 0.0
                weights /= weights.sum()
            chosen = words[int(rng.choice(len(words), p=weights))]
        if chosen == END:
            return _joined(written), "stop", len(written)
        written.append(chosen)
        if (text := cut_at(_joined(written), sampling.stop)) is not None:
            return text, "stop", len(written)
    return _joined(written), "length", len(written)


def _joined(words: Sequence[str]) -> str:
    text = ""
    for word in words:
        text += word if not text or word in _CLOSES_UP or text[-1] in "¿¡(" else f" {word}"
    return text


def _open_sentence(text: str) -> tuple[str, ...]:
    """The words of the sentence that the text ends in the middle of; none when its last sentence is finished."""
    last = tokens(_SENTENCE_END.split(text)[-1])
    return () if last and last[-1] in (".", "!", "?") else last


def _is_spellable(word: str) -> bool:
    return bool(word) and all(letter in ALPHABET for letter in word)


def _count(lines: Iterable[tuple[str, ...]], order: int) -> dict[tuple[str, ...], dict[str, int]]:
    """How often each symbol and each line's end followed each `order` − 1 symbols; each line starts with START."""
    counts: dict[tuple[str, ...], dict[str, int]] = {}
    for line in lines:
        padded = (*(START,) * (order - 1), *line, END)
        for at in range(order - 1, len(padded)):
            seen = counts.setdefault(padded[at - order + 1 : at], {})
            seen[padded[at]] = seen.get(padded[at], 0) + 1
    return counts


def _continuations(counts: Counts) -> dict[tuple[str, ...], dict[str, int]]:
    """For each history without its first symbol: in how many of these histories each symbol was seen."""
    shorter: dict[tuple[str, ...], dict[str, int]] = {}
    for history, seen in counts.items():
        kept = shorter.setdefault(history[1:], {})
        for symbol in seen:
            kept[symbol] = kept.get(symbol, 0) + 1
    return shorter


def _discount(counts: Counts) -> float:
    once = sum(1 for seen in counts.values() for count in seen.values() if count == 1)
    twice = sum(1 for seen in counts.values() for count in seen.values() if count == 2)
    return once / (once + 2 * twice) if once and twice else 0.75
