"""The command that measures facts again: what it takes, what it draws, what it says."""

from __future__ import annotations

import shutil
from importlib import metadata
from importlib.metadata import PackageNotFoundError

import pytest
from click.testing import CliRunner

from perpend.studies.logic.chaos.measure import main, sample, systems_like
from perpend.studies.logic.chaos.records import instance_id, load_records
from perpend.studies.logic.chaos.systems import core_systems

RECORDS = load_records()
needs_compiler = pytest.mark.skipif(
    not any(shutil.which(name) for name in ("cc", "gcc", "clang")), reason="facts are measured with a C compiler"
)


@needs_compiler
def test_the_command_measures_again_and_says_how_many() -> None:
    done = CliRunner().invoke(main, ["--check", "--only", "henon", "--sample", "3", "--seed", "5"])
    assert done.exit_code == 0, done.output
    assert "facts and exponents of 3 instances measured again: no difference" in done.output


@needs_compiler
def test_what_is_known_without_measuring_is_not_counted() -> None:
    done = CliRunner().invoke(main, ["--check", "--only", "arnold_cat_map", "--sample", "2"])
    assert done.exit_code == 0, done.output
    assert "0 facts and exponents of 0 instances" in done.output
    assert "2 instances with noise or of exact maps" in done.output


def test_a_check_that_would_compare_nothing_is_an_error() -> None:
    done = CliRunner().invoke(main, ["--check", "--only", "lorens63"])
    assert done.exit_code != 0
    assert "did you mean 'lorenz63'" in done.output
    assert CliRunner().invoke(main, []).exit_code != 0


def test_the_dysts_systems_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    done = CliRunner().invoke(main, ["--check", "--only", "dysts_*"])
    assert done.exit_code != 0
    assert "pip install --no-deps dysts==0.96" in done.output


def test_an_instance_read_back_keeps_its_id() -> None:
    """The file sorts parameters by name; ids state them in the system's order."""
    systems = core_systems()
    for record in RECORDS:
        if record.system_id in systems:
            assert instance_id(systems[record.system_id], record.instance) == record.id


def test_a_sample_is_drawn_by_its_seed() -> None:
    first = sample(RECORDS, 20, 1)
    assert first == sample(RECORDS, 20, 1)
    assert first != sample(RECORDS, 20, 2)
    assert len({record.id for record in first}) == 20


def test_without_a_pattern_the_core_systems_are_meant() -> None:
    assert set(systems_like("*")) == set(core_systems())
