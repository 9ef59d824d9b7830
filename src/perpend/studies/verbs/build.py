"""Writes what is derived in this folder: corpus.txt, heldout.txt, the item files and freeze.json. Run it as a module.

Each sentence is a pattern of grammar.toml filled with a subject, a verb form, a complement and a time. Every choice is
a function of the sentence's place (its SHA-256), so the files are the same on every machine and Python.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from perpend.canon import dumps, pretty, write_atomic
from perpend.inert import guard_output
from perpend.ledger.items import freeze, read_items
from perpend.studies.verbs.domains import TENSES, VERBS, check_probe
from perpend.studies.verbs.probes import ADVERSARIAL, CORE, CORPUS, check_leaks
from perpend.studies.verbs.study import FOLDER

PER_CELL = 27
"""Sentences tried for each language, verb and tense; those that come out twice are kept once."""
HELD_OUT = 150
"""Sentences of each language in the held-out text."""
ITEMS = {CORE: "verbs_core.jsonl", ADVERSARIAL: "verbs_adversarial.jsonl"}

_PERSONS = ("1sg", "2sg", "3sg", "3pl")
# Singular persons are what the probes ask for; a plural now and then keeps plural forms in the vocabulary.
_PERSON_SHARES = ("1sg",) * 5 + ("2sg",) * 5 + ("3sg",) * 7 + ("3pl",) * 3

Grammar = Mapping[str, Mapping[str, Sequence[str]]]


def sentences() -> Iterator[tuple[str, str]]:
    """(language, sentence), each sentence once, language by language and verb by verb."""
    seen: set[str] = set()
    for language, make in (("en", _english), ("es", _spanish)):
        for verb in VERBS:
            for tense in TENSES:
                for number in range(PER_CELL):
                    sentence = make(verb, tense, f"{language}|{verb}|{tense}|{number}")
                    if sentence not in seen:
                        seen.add(sentence)
                        yield language, sentence


def texts() -> tuple[list[str], list[str]]:
    """(lines of the corpus, lines of the held-out text), disjoint. A held-out line is 'language<TAB>sentence'."""
    # Shuffled by digest, so that the first tenth, which the early checkpoint sees, is a sample of the whole.
    ordered = sorted(sentences(), key=lambda pair: hashlib.sha256(f"order|{pair[1]}".encode()).digest())
    left_out = [pair for code in ("en", "es") for pair in [p for p in ordered if p[0] == code][:HELD_OUT]]
    taken = {sentence for _, sentence in left_out}
    return [s for _, s in ordered if s not in taken], [f"{code}\t{sentence}" for code, sentence in left_out]


def build(folder: Path, corpus_file: Path) -> None:
    """Write the corpus, and heldout.txt, the item files and freeze.json into a folder; a leaked probe is an error."""
    corpus, held_out = texts()
    write_atomic(corpus_file, "\n".join(corpus) + "\n")
    write_atomic(folder / "heldout.txt", "\n".join(held_out) + "\n")
    for source, name in ITEMS.items():
        probes = list(read_items(source))
        for where, item in probes:
            check_probe(item, where, {})
        check_leaks(probes, corpus_file)
        check_leaks(probes, folder / "heldout.txt")
        write_atomic(folder / name, "".join(dumps(item.as_json()) + "\n" for _, item in probes))
    write_atomic(folder / "freeze.json", pretty(freeze(folder / name for name in ITEMS.values())))


@cache
def _grammar(language: str) -> Grammar:
    with (FOLDER / "grammar.toml").open("rb") as file:
        whole: Mapping[str, Grammar] = tomllib.load(file)
    return whole[language]


def _english(verb: str, tense: str, key: str) -> str:
    grammar = _grammar("english")
    person = _pick(_PERSON_SHARES, f"{key}|person")
    at = _PERSONS.index(person)
    base, third, past, participle = grammar["forms"][verb]
    finite = past if tense == "past_simple" else third if person == "3sg" else base
    patterns = grammar["patterns"][tense]
    if verb == "be":
        patterns = grammar["patterns_be"].get(tense, patterns)
        finite = grammar["auxiliaries"]["was" if tense == "past_simple" else "am"][at]
    parts = {name: forms[at] for name, forms in grammar["auxiliaries"].items()} | {
        "s": _pick(grammar["subjects"][person], f"{key}|subject"),
        "v": finite,
        "b": base,
        "p": participle,
        "c": _pick(grammar["complements"][verb], f"{key}|complement"),
        "t": _pick(grammar["times"][tense], f"{key}|time"),
    }
    return _sentence(_pick(patterns, f"{key}|pattern").format_map(parts))


def _spanish(verb: str, tense: str, key: str) -> str:
    grammar = _grammar("spanish")
    person = _pick(_PERSON_SHARES, f"{key}|person")
    at = _PERSONS.index(person)
    infinitive, *forms, participle, stem = grammar["forms"][verb]
    patterns, subjects, pronoun = grammar["patterns"][tense], grammar["subjects"], ""
    if verb == "like":
        # What is liked governs 'gustar' and its auxiliaries; who likes is the pronoun before them.
        patterns, subjects = grammar["patterns_like"].get(tense, patterns), grammar["subjects_like"]
        pronoun, at = f"{grammar['pronouns_like'][person][0]} ", _PERSONS.index("3sg")
    parts = {name: pronoun + forms[at] for name, forms in grammar["auxiliaries"].items()} | {
        "s": _pick(subjects[person], f"{key}|subject"),
        "v": pronoun + forms[at + 4 if tense == "past_simple" else at],
        "b": infinitive,
        "p": participle,
        "f": pronoun + stem + ("é", "ás", "á", "án")[at],
        "c": _pick(grammar["complements"][verb], f"{key}|complement"),
        "t": _pick(grammar["times"][tense], f"{key}|time"),
    }
    return _sentence(_pick(patterns, f"{key}|pattern").format_map(parts))


def _sentence(filled: str) -> str:
    """One space between words, a capital at the start."""
    text = " ".join(filled.split()).replace("¿ ", "¿")
    first = next(at for at, letter in enumerate(text) if letter.isalpha())
    return text[:first] + text[first].upper() + text[first + 1 :]


def _pick(options: Sequence[str], key: str) -> str:
    return options[int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") % len(options)]


if __name__ == "__main__":
    guard_output()
    build(FOLDER, CORPUS)
