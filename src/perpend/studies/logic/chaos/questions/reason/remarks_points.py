"""Statements about fixed points, their number, and cycles of two points."""

from __future__ import annotations

from perpend.studies.logic.chaos.questions.reason.definitions import FIXED, TWO_CYCLE
from perpend.studies.logic.chaos.questions.reason.remarks import Remark


def fixed(where: str, size: int, discrete: bool) -> Remark:
    """The point does not move."""
    return Remark(
        "fixed_point",
        where,
        (
            (f"{where} is a fixed point", f"{where} is not a fixed point"),
            (f"there is a fixed point at {where}", f"there is no fixed point at {where}"),
            (
                f"the system stays at {where} for ever if it starts there",
                f"the system does not stay at {where} if it starts there",
            ),
            (f"one of the fixed points is {where}", f"{where} is not one of the fixed points"),
            (f"a system put at {where} stays there", f"a system put at {where} does not stay there"),
            (
                f"starting from {where}, the state remains the same",
                f"starting from {where}, the state does not remain the same",
            ),
            (
                f"{where} satisfies the conditions for a fixed point",
                f"{where} does not satisfy the conditions for a fixed point",
            ),
            *(_under_a_map(where) if discrete else _of_a_flow(where, size)),
        ),
        size,
        FIXED[discrete],
    )


def _under_a_map(where: str) -> tuple[tuple[str, str], ...]:
    return (
        (f"the map sends {where} to itself", f"the map does not send {where} to itself"),
        (f"an orbit that starts at {where} remains there", f"an orbit that starts at {where} does not remain there"),
        (f"the map leaves {where} where it is", f"the map does not leave {where} where it is"),
        (
            f"the image of {where} under the map is the same point",
            f"the image of {where} under the map is not the same point",
        ),
        (f"one step of the map takes {where} to itself", f"one step of the map does not take {where} to itself"),
    )


def _of_a_flow(where: str, size: int) -> tuple[tuple[str, str], ...]:
    if size == 1:
        sides = (
            (f"the rate of change vanishes at {where}", f"the rate of change does not vanish at {where}"),
            (f"the right-hand side is zero at {where}", f"the right-hand side is not zero at {where}"),
        )
    else:
        sides = (
            (f"every rate of change vanishes at {where}", f"at {where} the rates of change do not all vanish"),
            (f"the right-hand sides are all zero at {where}", f"the right-hand sides are not all zero at {where}"),
        )
    return (
        *sides,
        (f"{where} is an equilibrium", f"{where} is not an equilibrium"),
        (f"{where} is a steady state", f"{where} is not a steady state"),
        (f"the vector field vanishes at {where}", f"the vector field does not vanish at {where}"),
        (f"the system is at rest at {where}", f"the system is not at rest at {where}"),
    )


_COUNTS = {1: "one", 3: "three", 9: "nine", 27: "twenty-seven"}


def fixed_count(number: int, steps: int) -> Remark:
    """There are exactly so many real fixed points of a flow: a power of three."""
    points, solutions, states = (word if number == 1 else f"{word}s" for word in ("fixed point", "solution", "state"))
    n, are = _COUNTS[number], "is" if number == 1 else "are"
    return Remark(
        "fixed_points_number",
        str(number),
        (
            (f"the flow has exactly {n} real {points}", f"the flow does not have exactly {n} real {points}"),
            (
                f"there {are} exactly {n} real {points}",
                f"it is not the case that there {are} exactly {n} real {points}",
            ),
            (f"the number of real fixed points is {n}", f"the number of real fixed points is not {n}"),
            (
                f"the conditions for a fixed point have exactly {n} real {solutions}",
                f"the conditions for a fixed point do not have exactly {n} real {solutions}",
            ),
            (
                f"setting all right-hand sides to zero gives exactly {n} real {solutions}",
                f"setting all right-hand sides to zero does not give exactly {n} real {solutions}",
            ),
            (
                f"one finds exactly {n} real {points} by setting every right-hand side to zero",
                f"one does not find exactly {n} real {points} by setting every right-hand side to zero",
            ),
            (
                f"the system can rest in exactly {n} real {states}",
                f"it is not the case that the system can rest in exactly {n} real {states}",
            ),
            (
                f"counted over the real numbers, the number of fixed points is {n}",
                f"counted over the real numbers, the number of fixed points is not {n}",
            ),
        ),
        steps,
        FIXED[False],
    )


def two_cycle(first: str, second: str, size: int) -> Remark:
    """The map sends each of the two points to the other."""
    return Remark(
        "two_cycle",
        f"{first} and {second}",
        (
            (
                f"{first} and {second} form a cycle of period two",
                f"{first} and {second} do not form a cycle of period two",
            ),
            (
                f"the map sends {first} to {second} and {second} back to {first}",
                f"it is not the case that the map sends {first} to {second} and {second} back to {first}",
            ),
            (
                f"an orbit that starts at {first} goes on to {second} and then returns",
                f"an orbit that starts at {first} does not go on to {second} and then return",
            ),
            (f"the map exchanges {first} and {second}", f"the map does not exchange {first} and {second}"),
            (
                f"{first} and {second} are the two points of a cycle of period two",
                f"{first} and {second} are not the two points of a cycle of period two",
            ),
            (f"the map swaps {first} and {second}", f"the map does not swap {first} and {second}"),
            (
                f"the map takes each of the points {first} and {second} to the other",
                f"the map does not take each of the points {first} and {second} to the other",
            ),
            (
                f"{first} and {second} make up an orbit of period two",
                f"{first} and {second} do not make up an orbit of period two",
            ),
            (
                f"starting from {first}, the map is at {second} after one step and back at {first} after two",
                f"starting from {first}, the map is not at {second} after one step and back at {first} after two",
            ),
        ),
        2 * size + 1,
        TWO_CYCLE,
    )
