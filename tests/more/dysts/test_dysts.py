"""The systems that are read from the package dysts: traced and compiled as the core systems are."""

from __future__ import annotations

from perpend.studies.logic.chaos.dysts_adapter import dysts_systems
from tests.test_chaos_measuring_engine import assert_compiled, assert_traced, needs_compiler


def test_the_systems_of_dysts_are_traced_with_their_jacobians() -> None:
    for system in dysts_systems().values():
        assert_traced(system)


@needs_compiler
def test_compiled_code_is_the_right_hand_side_of_every_system_of_dysts() -> None:
    assert_compiled(dysts_systems())
