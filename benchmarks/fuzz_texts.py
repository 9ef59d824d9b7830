"""Mutations of texts: their bytes, encodings, lines and words; the trees of JSON and TOML. Seeded, no clock."""

from __future__ import annotations

import gzip
import json
import random
import re
from pathlib import Path


class Raw(str):
    """A text that is written into JSON or TOML as it is."""

    __slots__ = ()


class Pairs(list):  # type: ignore[type-arg]
    """A JSON object as pairs, so that a key can be there twice."""


DEEP = 4000
# fmt: off
GARBAGE = tuple(map(Raw, (
    "01", "+1", "1.", ".5", "0x10", "tru", "'a'", '"', "", "{", "]", "//", "nul", '"\n"', '"\x01"', '"\\x"', "1 2",
)))
"""No JSON."""
HOSTILE = tuple(map(Raw, (
    "NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1e-400", "1" + "0" * 400, "-1" + "0" * 400, "1" * 5000,
    str(2**63), str(-(2**63) - 1), str(2**64), "[" * DEEP + "]" * DEEP, '{"a":' * DEEP + "1" + "}" * DEEP,
    '"\\ud800"', '"\\udfff\\ud800"', '"a\\u0000b"', "[" * 99 + "]" * 99, '{"a":1,"a":2}', '"' + "x" * 300_000 + '"',
)))
"""JSON for some readers and not for others, or too much of it."""
ORDINARY: tuple[object, ...] = (
    Raw("-0.0"), Raw("1e308"), Raw("5e-324"), Raw(str(2**63 - 1)), Raw("0.1e1"), Raw('"\\u001b[31m"'), Raw('"\\u202e"'),
    Raw('"\\r\\n"'), Raw('"\\b\\u007f\\u009b"'), Raw('"\\ud83d\\ude00"'),
    "", " ", "é" * 300, "../../up", "/etc/passwd", "a/b", ".", "..", "-", "--help", "~", "con", "a\tb", "x" * 300,
    "nan", "inf", "1e999", "[0]", "{question}", "{other9}", "{0.__class__}", "%s%n", "=1+1", "<script>", "\u2028", "𝕏",
    "\ufeff", "true", "control", "asch_history_2", "correct@2", "label@9", "mock/true", "x.py", "os:system", "0", "1.0",
    "2026-01-01T00:00:00Z", "9999-99-99", "import", "swayed", "TRUE", "item-0", "parity", "a" * 64, "0" * 64,
    None, True, False, 0, 1, -1, 2, 3, 7, 24, 1.5, 0.5, -2.5, 10**6, 10**9, 10**12, -(10**9), 1e300, 2**31, 1e-9,
    [], [[]], [None], ["x", None], [1, "a"], {}, {"a": 1}, {"": None}, [{"type": "text"}], ["a"] * 300, [0, 1], [1,
    0], "{}",
)
"""JSON for every reader, and not what was meant."""
KEYS = ("", " ", "a", "\ud800", "x" * 3000, "__class__", "format", "name", "id", "trial", "é", "a.b", "\x00", "NaN")
# fmt: on


def value(rng: random.Random) -> object:
    """Something else than what was there; most of it can be read, so that what comes after the reading is tried too."""
    return rng.choice(rng.choices((ORDINARY, HOSTILE, GARBAGE), (75, 20, 5))[0])


# --- bytes ---------------------------------------------------------------------------------------------------------


def octets(path: Path, rng: random.Random) -> None:
    """Flip, cut, insert, double, swap, fill or empty bytes."""
    path.write_bytes(changed_octets(path.read_bytes(), rng))


def changed_octets(data: bytes, rng: random.Random) -> bytes:
    """Bytes with one change."""
    size = len(data)
    start = rng.randrange(size + 1)
    end = min(size, start + rng.choice((1, 1, 2, 8, 64, 4096)))
    junk = rng.randbytes(rng.choice((1, 1, 3, 16, 300)))
    spoiled = bytearray(data)
    kind = rng.randrange(9)
    if kind == 0 and size:
        for _ in range(rng.choice((1, 1, 2, 10))):
            spoiled[rng.randrange(size)] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del spoiled[start:]
    elif kind == 2:
        del spoiled[start:end]
    elif kind == 3:
        spoiled[start:start] = junk
    elif kind == 4:
        spoiled[start:start] = data[start:end] * rng.choice((1, 2, 50))
    elif kind == 5:
        spoiled[start:end] = bytes(end - start)
    elif kind == 6:
        spoiled[start:end] = rng.choice((b"\x00", b"\xff", b"\n", b"\r", b'"', b"\\", b"\x1b]0;x\x07", b"\xed\xa0\x80"))
    elif kind == 7:
        spoiled = bytearray(rng.choice((b"", b"\n", b"\x00" * 100, data + data, junk, data[::-1])))
    else:
        spoiled[start:start] = rng.choice((b"[" * DEEP, b"9" * 6000, b"NaN", b"1e999", b"\xef\xbb\xbf", b"\xf0\x9f"))
    return bytes(spoiled)


def encoding(path: Path, rng: random.Random) -> None:
    """The same text in another encoding, with a mark at its beginning, or with other ends of lines."""
    text = path.read_bytes().decode("utf-8")
    written = {
        "utf-16": lambda: text.encode("utf-16"),
        "utf-16-le": lambda: text.encode("utf-16-le"),
        "utf-32": lambda: text.encode("utf-32"),
        "latin-1": lambda: ("é" + text).encode("latin-1", "replace"),
        "latin-1 inside": lambda: text.replace("e", "é", 1).encode("latin-1", "replace"),
        "bom": lambda: b"\xef\xbb\xbf" + text.encode(),
        "crlf": lambda: text.replace("\n", "\r\n").encode(),
        "cr": lambda: text.replace("\n", "\r").encode(),
        "nul": lambda: text.replace(" ", "\x00", 1).encode(),
        "separator": lambda: text.replace(" ", "\u2028", 3).encode(),
        "surrogate": lambda: text.replace(" ", "\ud800", 1).encode("utf-8", "surrogatepass"),
        "gzip": lambda: gzip.compress(text.encode()),
    }
    path.write_bytes(written[rng.choice(sorted(written))]())


def lines(path: Path, rng: random.Random) -> None:
    """Swap, double, drop, join or cut lines."""
    rows = path.read_text(encoding="utf-8").split("\n")
    one, other = rng.randrange(len(rows)), rng.randrange(len(rows))
    kind = rng.randrange(6)
    if kind == 0:
        rows[one], rows[other] = rows[other], rows[one]
    elif kind == 1:
        rows.insert(other, rows[one])
    elif kind == 2:
        del rows[one]
    elif kind == 3:
        rows[one : one + 2] = ["".join(rows[one : one + 2])]
    elif kind == 4:
        rows[one] = rows[one][: rng.randrange(len(rows[one]) + 1)]
    else:
        rows = rows * rng.choice((2, 20))
    path.write_text("\n".join(rows), encoding="utf-8")


_WORD = re.compile(r"[A-Za-z_@0-9.]+|[^\sA-Za-z_@0-9.]")


def words(path: Path, rng: random.Random) -> None:
    """Change the words of a text: LaTeX, Markdown, CSV, Python."""
    path.write_text(shuffled(path.read_text(encoding="utf-8"), rng), encoding="utf-8")


TOKENS = ("(", ")", "((((", "))))", "[", "]", "{", "}",
"\\", "%", "$", "1e999", "-", "--", "*", "/", "/0", "''", '"', ",",
          "@", "=", "<", ">", "é", "x" * 500, "9" * 400, "0.1", "\n", "\\input{/etc/passwd}", "\\newcommand{\\a}{\\a}",
          "\\begin{document}", "(" * 200, "-" * 1000, "rate(", "n(", "and", "nan", "inf", "\x00", "\u2212")  # fmt: skip


def shuffled(text: str, rng: random.Random) -> str:
    """A text with one to four of its tokens dropped, doubled, swapped or replaced."""
    spans = [match.span() for match in _WORD.finditer(text)]
    for _ in range(rng.randint(1, 4)):
        if not spans:
            return text + rng.choice(TOKENS)
        (a, b), (c, d) = rng.choice(spans), rng.choice(spans)
        kind = rng.randrange(4)
        replacement = (text[a:b] * 2, "", text[c:d], rng.choice(TOKENS))[kind]
        text = text[:a] + replacement + text[b:]
        spans = [match.span() for match in _WORD.finditer(text)]
    return text


# --- JSON ----------------------------------------------------------------------------------------------------------


def json_tree(path: Path, rng: random.Random) -> None:
    """One to three changes in the tree of a JSON file."""
    path.write_text(spoiled(path.read_text(encoding="utf-8"), rng, indent=rng.random() < 0.5), encoding="utf-8")


def json_lines(path: Path, rng: random.Random) -> None:
    """Changes in the tree of a line or two of a JSONL file."""
    path.write_text(changed_lines(path.read_text(encoding="utf-8"), rng), encoding="utf-8")


def changed_lines(text: str, rng: random.Random) -> str:
    """JSON lines with changes in the tree of one or two."""
    rows = text.splitlines()
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randrange(len(rows))
        rows[at] = spoiled(rows[at], rng)
    return "\n".join(rows) + "\n"


def spoiled(text: str, rng: random.Random, *, indent: bool = False) -> str:
    """A JSON text with one to three changes in its tree."""
    tree = json.loads(text, object_pairs_hook=Pairs)
    for _ in range(rng.choice((1, 1, 2, 3))):
        tree = _change(tree, rng)
    return written(tree, "\n" if indent else "")


def written(value: object, newline: str = "") -> str:
    """JSON of a tree with raw texts and doubled keys in it."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, Pairs | dict):
        pairs = value if isinstance(value, Pairs) else Pairs(value.items())
        return "{" + f",{newline}".join(f"{json.dumps(key)}:{written(one)}" for key, one in pairs) + "}"
    if isinstance(value, list):
        return "[" + f",{newline}".join(map(written, value)) + "]"
    return json.dumps(value)


def _places(tree: object, place: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    """Where every value of a tree is, by positions."""
    if len(place) > 60 or not isinstance(tree, list):
        return [place]
    inner = [one[1] for one in tree] if isinstance(tree, Pairs) else tree
    return [place, *(deeper for n, one in enumerate(inner) for deeper in _places(one, (*place, n)))]


def _at(tree: object, place: tuple[int, ...]) -> object:
    for n in place:
        assert isinstance(tree, list)
        tree = tree[n][1] if isinstance(tree, Pairs) else tree[n]
    return tree


def _change(tree: object, rng: random.Random) -> object:
    """One change at one place: another value, or its key dropped, doubled, renamed or added."""
    places = _places(tree)
    place = rng.choice(places)
    old = _at(tree, place)
    new = value(rng) if rng.random() < 0.7 else _near(old, _at(tree, rng.choice(places)), rng)
    if not place:
        return new if rng.random() < 0.2 else _inside(tree, rng)
    parent, at = _at(tree, place[:-1]), place[-1]
    assert isinstance(parent, list)
    is_object, kind = isinstance(parent, Pairs), rng.randrange(10)
    if kind == 0:
        del parent[at]
    elif kind == 1:
        parent.insert(at, (parent[at][0], new) if is_object else new)
    elif kind == 2 and is_object:
        key = parent[at][0]
        parent[at] = (rng.choice((*KEYS, key.upper(), key + "s", key[:-1], *(one[0] for one in parent))), old)
    elif kind == 3:
        _inside(parent, rng)
    else:
        parent[at] = (parent[at][0], new) if is_object else new
    return tree


def _inside(tree: object, rng: random.Random) -> object:
    if isinstance(tree, Pairs):
        tree.append((rng.choice(KEYS), value(rng)))
    elif isinstance(tree, list):
        tree.append(value(rng))
    return tree


def _near(old: object, other: object, rng: random.Random) -> object:
    """A value like the one that was there."""
    choices: list[object] = [other, [old], Pairs([("a", old)]), str(old)]
    if isinstance(old, bool):
        choices += [not old, int(old), str(old).lower()]
    elif isinstance(old, int | float):
        choices += [-old, old + 1, old - 1, old * 10**6, float(old), str(old), old * 1e300, old == 1]
    elif isinstance(old, str):
        choices += [old.upper(), old[::-1], old + " ", old * 40, old[:1], old[:-1], old.replace("a", "b"), len(old)]
    elif isinstance(old, Pairs):
        choices += [[], [list(pair) for pair in old], Pairs(reversed(old)), Pairs(old[:1])]
    elif isinstance(old, list):
        choices += [Pairs(), old[:-1], old * 2, old[::-1], Pairs((str(n), one) for n, one in enumerate(old)), [old]]
    return rng.choice(choices)


# --- TOML ----------------------------------------------------------------------------------------------------------

_ASSIGNED = re.compile(r"^(\s*[\w\"'.-]+\s*=\s*)(.*)$")
# fmt: off
TOML_GARBAGE = ("0000-00-00", "2**3", "True", "{ a = 1, a = 2 }", "'unterminated", '"""', '"\\ud800"',
'"\\U00110000"', "1_",
                "[" * DEEP + "]" * DEEP, "9" * 5000, "[1979-13-01]")
TOML_VALUES = (
    "1979-05-27", "1979-05-27T07:32:00Z", "07:32:00", "9999-12-31T23:59:59Z", "nan", "-inf", "inf", "1e999", "-0.0",
    "0", "-1",
    "1" * 30, "0x" + "f" * 400, "1.5", "[" * 90 + "]" * 90, "{a=" * 90 + "1" + "}" * 90, "[]", "[[]]", "{}", "[1, 'a']",
    '""', '" "', '"\\u0000"', "'''a\nb'''", '"\\u001b[2J"', '"' + "x" * 5000 + '"', '"../../up"', '"/etc/passwd"',
    '"."',
    '"mock/true"', '"mock/subject"', '"x.py"', '"os:system"', '"correct"', '"nope"', '"é"', "true", "false",
    "1000000000",
    "10000000000000", "100000000000000000000", "{ temperature = 1979-05-27 }", "[0.0, 1.0]", "[1979-05-27]",
    "[0, 0]", "[nan]",
    "0.1", "2", "64", "1", "5", "100", '"{question}"', '"{decoy} {question} {other1}"', '"{question} {other99}"',
    '"control"',
    '["items.jsonl"]', '["items.jsonl", "items.jsonl"]', '"template.toml"', '["nope.jsonl"]', '"questions"',
    '"conformity"',
    '"logic"', '"verbs"', '"undefined"', "{ a = 1 }", '{ parity = 1, numbers = "undefined" }', '["control", "nope"]',
    "1e-300",
)
# fmt: on


def toml(path: Path, rng: random.Random) -> None:
    """Another value, another key, a line dropped, doubled or moved, a table opened."""
    rows = path.read_text(encoding="utf-8").split("\n")
    assigned = [n for n, row in enumerate(rows) if _ASSIGNED.match(row)]
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.choice(assigned) if assigned else 0
        match = _ASSIGNED.match(rows[at])
        kind = rng.randrange(10)
        if kind < 5 and match:
            rows[at] = match[1] + rng.choice(TOML_GARBAGE if rng.random() < 0.07 else TOML_VALUES)
        elif kind == 5 and match:
            key = rng.choice(("", '""', "a.b.c", '"\\u0000"', "x" * 2000, "name", "sampling", "é", ".".join("a" * 900)))
            rows[at] = f"{key} = {match[2]}"
        elif kind == 6:
            rows.insert(at, rng.choice(("[a]", "[[model]]", "[[claim]]", "[options]", "[" + ".".join("a" * 900) + "]",
                                        "[sampling]", "[a.b", "[[a]]", "#é", "=")))  # fmt: skip
        elif kind == 7:
            rows.insert(rng.randrange(len(rows)), rows[at])
        elif kind == 8 and match:
            rows[at] = match[1] + shuffled(match[2], rng)
        else:
            rows[at] = ""
    path.write_text("\n".join(rows), encoding="utf-8", errors="surrogatepass")


CLAIM_NAMES = (
    "100 * rate(correct@2, condition='control')",
    "k(override(correct@2, 'control', 'asch_history_2')) / n(correct@2)",
    "difference(correct@2, 'control', 'asch_history_2', model='swayed')",
    "p(difference(correct@2, 0, 1, over='temperature')) + p_exact(odds_ratio(endorsed@2, 'control', 'asch_history_2'))",
    "1 - lo(rate(refused@2)) - hi(mean(correct@2)) * -2.5e-3",
    "ece(correct@2, correct@2, bins=15) + brier(correct@2, correct@2)",
    "balanced_accuracy(correct@2) - mcc(correct@2) + flip(endorsed@2, 'control', 'asch_history_2')",
    "trials() / items() + disagreement(correct@2, endorsed@2)",
    "rate(correct@2) >= rate(endorsed@2) > 0.1",
    "0 <= rescue(correct@2, 'control', 'asch_history_2') < 2",
)
