"""The stratum *textbook*: two labellings that share nothing, and sources for every row."""

from __future__ import annotations

from itertools import islice

import pytest
from factory import textbook
from factory.again import textbook as again
from factory.again.asked import asked
from factory.chance import Chance
from factory.items import bundles


@pytest.mark.parametrize("family", ["atomic", "regime_transition"])
def test_both_labellings_agree(family: str) -> None:
    for bundle in islice(bundles("textbook", family, 10_000), 0, None, 9):
        for question in bundle.questions:
            assert again.label(question.text) is question.label, question.text


def test_a_wrong_row_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {"name": "planted", "kind": "normal_form", "family": "regime_transition", "cites": "Strogatz 2015"}
    ask = [["Consider {s} of a flow on the line.", "its normal form is {v}"]]
    wrong = [["a saddle-node bifurcation", "dx/dt = r x - x^3"], ["a transcritical bifurcation", "dx/dt = r + x^2"]]
    monkeypatch.setattr(textbook, "book", lambda: {"table": [table | {"ask": ask, "rows": wrong}]})
    (bundle,) = bundles("textbook", "regime_transition", 5)
    assert [again.label(q.text) for q in bundle.questions] != [q.label for q in bundle.questions]


def test_wrong_numbers_are_found() -> None:
    setting = "In the Lorenz system dx/dt = sigma (y - x), dy/dt = x (rho - z) - y, dz/dt = x y - beta z let {}."
    said = "Is it true that the symmetric fixed points lose their stability in a Hopf bifurcation at rho = {}?"
    for parameters, rho in (("sigma = 10 and beta = 8/3", 24.74), ("sigma = 12 and beta = 4", 32.57)):
        assert again.label(f"{setting.format(parameters)} {said.format(rho)}")
        assert not again.label(f"{setting.format(parameters)} {said.format(rho + 0.01)}")


def test_every_row_has_sources_and_is_asked() -> None:
    for table in textbook.book()["table"]:
        drawn = textbook.rows(table)
        assert {row["cites"] for row in drawn} <= textbook.book()["sources"].keys(), table["name"]
        quartets = list(textbook._couples(table, Chance("test")))
        assert 2 * len(quartets) >= len(drawn) - 1
        for quartet in quartets:
            assert len(set(quartet.settings)) == len({claim.wordings for claim in quartet.claims[0]}) == 2
    for table in again.book()["table"]:
        if not any("v>" in about or "{v}" in about for about in table.get("about", [])):
            sources = {source for row in table["rows"] for source in row[-1].split("; ")}
            assert sources <= again.book()["sources"].keys(), table["rows"]


def test_no_word_of_a_claim_gives_it_away() -> None:
    """In a bundle each claim stands once with either setting: true with one, false with the other."""
    for bundle in islice(bundles("textbook", "atomic", 10_000), 40):
        said = [(asked(q.text).claim, q.label) for q in bundle.questions]
        assert len(set(said)) == 4
