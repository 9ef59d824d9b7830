"""Statements about changes of variables that leave a system as it is."""

from __future__ import annotations

from collections.abc import Sequence

from perpend.studies.logic.chaos.questions.reason.definitions import REVERSAL, SYMMETRY
from perpend.studies.logic.chaos.questions.reason.remarks import Remark


def symmetry(names: Sequence[str], image: Sequence[str], phrase: str, discrete: bool) -> Remark:
    """The change of variables maps the system onto itself; `phrase` says the change, 'changing the sign of x'."""
    arrow = f"({', '.join(names)}) -> ({', '.join(image)})"
    carried = (
        (
            f"applying {arrow} to every point of an orbit always gives an orbit again",
            f"applying {arrow} to every point of an orbit does not always give an orbit",
        )
        if discrete
        else (
            f"the change of variables {arrow} turns every solution into a solution",
            f"the change of variables {arrow} does not turn every solution into a solution",
        )
    )
    return Remark(
        "symmetry",
        arrow,
        (
            (f"the equations keep their form under {arrow}", f"the equations do not keep their form under {arrow}"),
            (
                f"the transformation {arrow} is a symmetry of the equations",
                f"the transformation {arrow} is not a symmetry of the equations",
            ),
            (f"{phrase} leaves the equations unchanged", f"{phrase} does not leave the equations unchanged"),
            (f"the system is unchanged by {phrase}", f"the system is not unchanged by {phrase}"),
            (f"{phrase} gives the same equations again", f"{phrase} fails to give the same equations again"),
            carried,
            (f"the equations are invariant under {arrow}", f"the equations are not invariant under {arrow}"),
            (f"the system has the symmetry {arrow}", f"the system does not have the symmetry {arrow}"),
            (
                f"rewritten by means of {arrow}, the equations are the same as before",
                f"rewritten by means of {arrow}, the equations are not the same as before",
            ),
            (f"the equations look the same after {phrase}", f"the equations do not look the same after {phrase}"),
            (
                f"{phrase} is a symmetry of the system",
                f"{phrase} is not a symmetry of the system",
            ),
            (
                f"applying {arrow} to the variables reproduces the equations",
                f"applying {arrow} to the variables does not reproduce the equations",
            ),
        ),
        len(names) + sum(a != b for a, b in zip(names, image, strict=True)),
        SYMMETRY,
    )


def reversal(names: Sequence[str], image: Sequence[str]) -> Remark:
    """The change of variables together with t -> -t maps the flow onto itself."""
    arrow = f"({', '.join(names)}, t) -> ({', '.join(image)}, -t)"
    return Remark(
        "reversal",
        arrow,
        (
            (f"the equations keep their form under {arrow}", f"the equations do not keep their form under {arrow}"),
            (
                f"the transformation {arrow}, which runs time backwards, leaves the equations unchanged",
                f"the transformation {arrow}, which runs time backwards, does not leave the equations unchanged",
            ),
            (
                f"running time backwards by {arrow} gives the same equations again",
                f"running time backwards by {arrow} fails to give the same equations again",
            ),
            (f"the flow is reversible under {arrow}", f"the flow is not reversible under {arrow}"),
            (
                f"{arrow} is a time-reversal symmetry of the flow",
                f"{arrow} is not a time-reversal symmetry of the flow",
            ),
            (f"the equations are the same after {arrow}", f"the equations are not the same after {arrow}"),
            (f"the flow has the reversing symmetry {arrow}", f"the flow does not have the reversing symmetry {arrow}"),
            (
                f"every solution is turned into a solution by {arrow}",
                f"it is not the case that every solution is turned into a solution by {arrow}",
            ),
            (
                f"the substitution {arrow} brings back the same equations",
                f"the substitution {arrow} does not bring back the same equations",
            ),
            (
                f"the equations look the same when time is reversed by way of {arrow}",
                f"the equations do not look the same when time is reversed by way of {arrow}",
            ),
        ),
        2 * len(names),
        REVERSAL,
    )
