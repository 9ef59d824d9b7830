"""The curated results: tables of subjects and what belongs to each, in our own sentences, with their sources.

A table is a set of results of one sort: every subject has one value, and a sentence frame joins the two. Any subject
may be joined to any value, so the same words make a right statement in one place and a wrong one in another.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from perpend.errors import DataError
from perpend.studies.logic.chaos.records import SystemWords

FOLDER = Path(__file__).parent / "results"
KINDS = ("constant", "theorem", "definition", "normal_form", "canonical", "source")


@dataclass(frozen=True, slots=True)
class Result:
    """One named result: a subject, the value that belongs to it, and who states it."""

    subject: str
    value: str
    cites: str


@dataclass(frozen=True, slots=True)
class ResultTable:
    """Results of one sort. Two that share a value are never played against each other."""

    name: str
    kind: str
    level: int
    """1: a definition or name to recall; 2: a value or an equation; 3: a theorem's condition, or a formula to apply."""
    transition: bool
    """Whether the results are about a change of regime."""
    lead: str
    """A sentence that comes first and states what is fixed, or ''."""
    clauses: tuple[str, ...]
    """Wordings with {s} for the subject and {v} for the value; each can follow 'that'."""
    results: tuple[Result, ...]

    def said(self, clause: int, subject: Result, value: Result) -> str:
        """The statement that the subject of one result has the value of another."""
        # A subject that ends in an apposition brings its comma along.
        return self.clauses[clause].format(s=subject.subject, v=value.value).rstrip(",")


def load_tables(folder: Path = FOLDER) -> tuple[ResultTable, ...]:
    """All curated tables, in the order of their names. DataError where a file breaks the rules above."""
    tables = [table for path in sorted(folder.glob("*.toml")) for table in _tables(path)]
    names = [table.name for table in tables]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise DataError(f"results: tables named twice: {', '.join(twice)}; give each its own name")
    return tuple(sorted(tables, key=lambda table: table.name))


def _tables(path: Path) -> Iterator[ResultTable]:
    for name, body in tomllib.loads(path.read_text(encoding="utf-8")).items():
        try:
            yield ResultTable(
                name=name,
                kind=body["kind"],
                level=body["level"],
                transition=body.get("transition", False),
                lead=body.get("lead", ""),
                clauses=tuple(body["clauses"]),
                results=tuple(
                    Result(row[0], row[1], row[2] if len(row) > 2 else body["cites"]) for row in body["rows"]
                ),
            )
        except (KeyError, IndexError) as e:
            raise DataError(f"{path.name}: table {name} lacks {e}; see the other tables") from e


EQUATION_CLAUSES = (
    "a textbook states {s} as {v}",
    "{s} is the system defined by {v}",
    "{s} is written as {v}",
    "written out in full, {s} reads {v}",
    "someone who wants to simulate {s} has to code {v}",
)
EQUATION_GROUPS: Mapping[str, Mapping[str, str]] = {
    "maps of one variable": {"logistic": "", "tent_map": "", "gauss_map": "", "ricker_map": ""},
    "maps of two variables": {"henon": "", "lozi_map": "", "burgers_map": ""},
    "maps on the torus and circle": {"standard_map": "", "arnold_cat_map": "", "circle_map": "", "ikeda_map": ""},
    "convection and its kin": {
        "lorenz63": "", "chen_system": "", "dysts_luchen": "Lü and Chen 2002",
        "dysts_shimizumorioka": "Shimizu and Morioka 1980", "dysts_rucklidge": "Rucklidge 1992",
    },
    "three-variable flows": {
        "rossler": "", "rikitake_dynamo": "", "dysts_nosehoover": "Hoover 1985", "dysts_halvorsen": "Sprott 2010",
        "dysts_thomas": "Thomas 1999",
    },
    "oscillators": {
        "duffing": "", "damped_driven_pendulum": "", "dysts_moorespiegel": "Moore and Spiegel 1966",
        "damped_oscillator": "",
    },
    "chemistry and ecology": {
        "oregonator": "", "lotka_volterra": "", "dysts_hastingspowell": "Hastings and Powell 1991",
        "dysts_blasius": "Blasius, Huppert and Stone 1999",
    },
    "Sprott's flows from B to E": {f"dysts_sprott{letter}": "Sprott 1994" for letter in "bcde"},
    "Sprott's flows from F to I": {f"dysts_sprott{letter}": "Sprott 1994" for letter in "fghi"},
    "Sprott's flows from K to N": {f"dysts_sprott{letter}": "Sprott 1994" for letter in "klmn"},
    "jerk flows": {
        "dysts_sprottjerk": "Sprott 1997", "dysts_genesiotesi": "Genesio and Tesi 1992",
        "dysts_arneodo": "Arneodo, Coullet and Tresser 1980",
    },
    "atmosphere and oceans": {
        "lorenz84": "", "lorenz96": "", "dysts_valliselnino": "Vallis 1988",
        "dysts_atmosphericregime": "Tuwankotta 2006",
    },
    "delays": {"mackey_glass": "", "dysts_ikedadelay": "Ikeda and Matsumoto 1987", "dysts_vossdelay": "Voss 2002"},
}  # fmt: skip
"""Systems of like form by id, and the source in short; '' where the system's own citation is short already."""


def equations_of(words: SystemWords) -> str:
    """A system's equations as a sentence prints them: products without a star."""
    return words.equations.replace(" * ", " ")


def equation_tables(systems: Mapping[str, SystemWords]) -> Iterator[ResultTable]:
    """One table for each group of systems of like form: which equations are whose. Systems not stored are left out."""
    for name, sources in EQUATION_GROUPS.items():
        known = [(systems[key], cites) for key, cites in sources.items() if key in systems]
        if len(known) < 2:
            continue
        rows = tuple(Result(words.name, equations_of(words), cites or words.citation) for words, cites in known)
        yield ResultTable(f"equations: {name}", "canonical", 2, False, "", EQUATION_CLAUSES, rows)
