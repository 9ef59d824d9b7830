"""Statements about a system, each in several wordings.

A wording that denies holds exactly one of the words in `DENIALS`, a wording that says holds none: so a reader can
count them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from perpend.studies.logic.chaos.questions.reason.poly import plain

DENIALS = ("not", "no", "never", "fails", "fail", "wrong", "false")


@dataclass(frozen=True, slots=True)
class Remark:
    """One statement. `arguments` tells two remarks of the same predicate apart; `steps` counts the work by hand."""

    predicate: str
    arguments: str
    says: tuple[str, ...]
    denies: tuple[str, ...]
    steps: int
    definition: str = ""


def listed(names: Sequence[str]) -> str:
    """'x', 'x and y', 'x, y and z'."""
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def _volumes(size: int) -> tuple[str, str]:
    return {1: ("interval", "intervals"), 2: ("area", "areas")}.get(size, ("volume", "volumes"))


def volume_rate(size: int, discrete: bool, value: Fraction) -> Remark:
    """The divergence of a flow, or the size of the determinant of a map, is this number everywhere."""
    one, many = _volumes(size)
    v = plain(value)
    if discrete:
        return Remark(
            "volume_factor",
            v,
            (
                f"each step multiplies every small {one} by {v}",
                f"the absolute value of the determinant of the Jacobian matrix is {v} everywhere",
                f"one application of the map scales all small {many} by the factor {v}",
                f"|det J| = {v} at every point, where J is the Jacobian matrix",
                f"a small {one} ends up with {v} times its size after one step",
            ),
            (
                f"a single step does not multiply small {many} by {v}",
                f"the absolute value of the determinant of the Jacobian matrix is not {v}",
                f"small {many} are not scaled by the factor {v} in one step",
                f"|det J| is not equal to {v}, where J is the Jacobian matrix",
            ),
            size,
        )
    return Remark(
        "volume_rate",
        v,
        (
            f"the divergence of the vector field is {v} at every point",
            f"the trace of the Jacobian matrix equals {v} everywhere",
            f"the diagonal entries of the Jacobian matrix add up to {v} at every point",
            f"small {many} carried along by the flow change in proportion to exp({v} t)",
            f"a small {one} that moves with the flow is multiplied by exp({v} t) in a time t",
        ),
        (
            f"the divergence of the vector field is not {v}",
            f"the trace of the Jacobian matrix is not equal to {v}",
            f"the diagonal entries of the Jacobian matrix do not add up to {v}",
            f"small {many} carried along by the flow do not change in proportion to exp({v} t)",
        ),
        size,
    )


def volumes_kept(size: int) -> Remark:
    """The flow keeps all volumes."""
    one, many = _volumes(size)
    says = (
        f"the flow preserves {many}",
        "the divergence of the vector field is zero everywhere",
        f"small {many} of initial states keep their size",
        f"a small {one} has the same size at all later times, wherever it starts",
    )
    denies = (
        f"the flow does not preserve {many}",
        "it is not so that the divergence of the vector field is zero everywhere",
        f"small {many} of initial states fail to keep their size",
    )
    return Remark("volumes_kept", "", says, denies, size)


def volumes_somewhere(size: int) -> Remark:
    """At some point small volumes of the flow grow."""
    one, many = _volumes(size)
    says = (
        f"there are points at which small {many} grow",
        "the divergence of the vector field is positive at some points",
        f"somewhere in state space a small {one} grows",
    )
    denies = (
        f"there is no point at which small {many} grow",
        "the divergence of the vector field is never positive",
        f"a small {one} grows at no point of state space",
    )
    return Remark("volumes_grow_somewhere", "", says, denies, size + 1)


def volumes_everywhere(size: int, discrete: bool, how: str) -> Remark:
    """Small volumes 'shrink' or 'grow' at every point."""
    one, many = _volumes(size)
    result = {"shrink": "smaller", "grow": "larger"}[how]
    if discrete:
        end, thing, rest = " in one step", "map", ", where J is the Jacobian matrix"
        test = f"|det J| is {'less' if how == 'shrink' else 'greater'} than 1"
        start = f"wherever it lies, a small {one} {how}s in one step"
    else:
        end, thing, rest = "", "flow", ""
        test = f"the divergence of the vector field is {'negative' if how == 'shrink' else 'positive'}"
        start = f"wherever it starts, a small {one} of initial states begins to {how}"
    says = (
        f"small {many} {how}{end} at every point of state space",
        f"{test} everywhere{rest}",
        start,
        f"the {thing} makes small {many} {result} at every point",
    )
    denies = (
        f"there are points at which small {many} do not {how}{end}",
        f"at some points it is not true that {test}{rest}",
        f"somewhere in state space a small {one} fails to {how}{end}",
    )
    return Remark(f"volumes_{how}_everywhere", "", says, denies, size + 1)


def volume_at(size: int, how: str, where: str) -> Remark:
    """At a point small volumes of a flow 'shrink' or 'grow'."""
    one, many = _volumes(size)
    sign = {"shrink": "negative", "grow": "positive"}[how]
    return Remark(
        f"volumes_{how}_at",
        where,
        (
            f"the divergence of the vector field is {sign} at {where}",
            f"a small {one} around {where} begins to {how}",
            f"close to {where} the flow makes small {many} {how}",
            f"the trace of the Jacobian matrix is {sign} at {where}",
        ),
        (
            f"the divergence of the vector field is not {sign} at {where}",
            f"a small {one} around {where} does not begin to {how}",
            f"the trace of the Jacobian matrix at {where} is not {sign}",
        ),
        size + 2,
    )


def symmetry(names: Sequence[str], image: Sequence[str], phrase: str, discrete: bool) -> Remark:
    """The change of variables maps the system onto itself; `phrase` says the change, 'changing the sign of x'."""
    arrow = f"({', '.join(names)}) -> ({', '.join(image)})"
    says = [
        f"the equations keep their form under {arrow}",
        f"the transformation {arrow} is a symmetry of the equations",
        f"{phrase} leaves the equations unchanged",
        f"the system is unchanged by {phrase}",
    ]
    denies = [
        f"the equations do not keep their form under {arrow}",
        f"the transformation {arrow} is not a symmetry of the equations",
        f"{phrase} does not leave the equations unchanged",
        f"{phrase} fails to give the same equations again",
    ]
    if discrete:
        says.append(f"applying {arrow} to every point of an orbit always gives an orbit again")
        denies.append(f"applying {arrow} to every point of an orbit does not always give an orbit")
    else:
        says.append(f"the change of variables {arrow} turns every solution into a solution")
        denies.append(f"the change of variables {arrow} does not turn every solution into a solution")
    return Remark(
        "symmetry",
        arrow,
        tuple(says),
        tuple(denies),
        len(names) + sum(a != b for a, b in zip(names, image, strict=True)),
    )


def reversal(names: Sequence[str], image: Sequence[str]) -> Remark:
    """The change of variables together with t -> -t maps the flow onto itself."""
    arrow = f"({', '.join(names)}, t) -> ({', '.join(image)}, -t)"
    return Remark(
        "reversal",
        arrow,
        (
            f"the equations keep their form under {arrow}",
            f"the transformation {arrow}, which runs time backwards, leaves the equations unchanged",
            f"running time backwards by {arrow} gives the same equations again",
            f"the flow is reversible under {arrow}",
        ),
        (
            f"the equations do not keep their form under {arrow}",
            f"the transformation {arrow}, which runs time backwards, does not leave the equations unchanged",
            f"running time backwards by {arrow} fails to give the same equations again",
            f"the flow is not reversible under {arrow}",
        ),
        2 * len(names),
    )


def fixed(where: str, size: int, discrete: bool) -> Remark:
    """The point does not move."""
    says = [
        f"{where} is a fixed point",
        f"there is a fixed point at {where}",
        f"the system stays at {where} for ever if it starts there",
    ]
    denies = [
        f"{where} is not a fixed point",
        f"there is no fixed point at {where}",
        f"the system does not stay at {where} if it starts there",
    ]
    if discrete:
        says += [f"the map sends {where} to itself", f"an orbit that starts at {where} remains there"]
        denies += [f"the map does not send {where} to itself"]
    else:
        says += [
            f"every rate of change vanishes at {where}",
            f"{where} is an equilibrium",
            f"{where} is a steady state",
        ]
        denies += [
            f"at {where} the rates of change do not all vanish",
            f"{where} is not an equilibrium",
            f"{where} is not a steady state",
        ]
    return Remark("fixed_point", where, tuple(says), tuple(denies), size)


_COUNTS = {1: "one", 3: "three", 9: "nine", 27: "twenty-seven"}


def fixed_count(number: int, steps: int, discrete: bool) -> Remark:
    """There are exactly so many real fixed points: a power of three."""
    points = "fixed point" if number == 1 else "fixed points"
    n = _COUNTS[number]
    return Remark(
        "fixed_points_number",
        str(number),
        (
            f"the {'map' if discrete else 'flow'} has exactly {n} real {points}",
            f"there {'is' if number == 1 else 'are'} exactly {n} real {points}",
            f"the number of real fixed points is {n}",
            f"the conditions for a fixed point have exactly {n} real solution{'' if number == 1 else 's'}",
        ),
        (
            f"the {'map' if discrete else 'flow'} does not have exactly {n} real {points}",
            f"the number of real fixed points is not {n}",
            f"the conditions for a fixed point do not have exactly {n} real solution{'' if number == 1 else 's'}",
        ),
        steps,
    )


def two_cycle(first: str, second: str, size: int) -> Remark:
    """The map sends each of the two points to the other."""
    return Remark(
        "two_cycle",
        f"{first} and {second}",
        (
            f"{first} and {second} form a cycle of period two",
            f"the map sends {first} to {second} and {second} back to {first}",
            f"an orbit that starts at {first} goes on to {second} and then returns",
            f"the map exchanges {first} and {second}",
        ),
        (
            f"{first} and {second} do not form a cycle of period two",
            f"the map does not exchange {first} and {second}",
            f"it is not so that the map sends {first} to {second} and {second} back to {first}",
        ),
        2 * size + 1,
    )
