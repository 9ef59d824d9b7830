"""Statements about volumes: the divergence of a flow, the determinant of a map."""

from __future__ import annotations

from fractions import Fraction

from perpend.studies.logic.chaos.questions.reason.definitions import DETERMINANT, DIVERGENCE
from perpend.studies.logic.chaos.questions.reason.poly import plain
from perpend.studies.logic.chaos.questions.reason.remarks import Remark


def _volumes(size: int) -> tuple[str, str]:
    return ("area", "areas") if size == 2 else ("volume", "volumes")


def volume_rate(size: int, discrete: bool, value: Fraction) -> Remark:
    """The divergence of a flow, or the size of the determinant of a map, is this number everywhere."""
    one, many = _volumes(size)
    v = plain(value)
    return _factor(size, one, many, v) if discrete else _rate(size, one, many, v)


def _factor(size: int, one: str, many: str, v: str) -> Remark:
    the_size = "the absolute value of the determinant of the Jacobian matrix"
    return Remark(
        "volume_factor",
        v,
        (
            (
                f"each step multiplies every small {one} by {v}",
                f"a single step does not multiply small {many} by {v}",
            ),
            (f"{the_size} is {v} everywhere", f"{the_size} is not {v}"),
            (
                f"one application of the map scales all small {many} by the factor {v}",
                f"small {many} are not scaled by the factor {v} in one step",
            ),
            (
                f"|det J| = {v} at every point, where J is the Jacobian matrix",
                f"|det J| is not equal to {v}, where J is the Jacobian matrix",
            ),
            (
                f"a small {one} ends up with {v} times its size after one step",
                f"a small {one} does not end up with {v} times its size after one step",
            ),
            (
                f"under one step of the map, the size of a small {one} changes by the factor {v}",
                f"under one step of the map, the size of a small {one} does not change by the factor {v}",
            ),
            (
                f"at every point the Jacobian matrix has a determinant of absolute value {v}",
                f"the Jacobian matrix does not have a determinant of absolute value {v}",
            ),
            (
                f"the map multiplies each small {one} by {v} when it is applied once",
                f"the map does not multiply each small {one} by {v} when it is applied once",
            ),
            (
                f"after one step, small {many} are {v} times as large as before",
                f"after one step, small {many} are not {v} times as large as before",
            ),
            (
                f"the absolute Jacobian determinant equals {v} at all points",
                f"the absolute Jacobian determinant does not equal {v}",
            ),
        ),
        size,
        DETERMINANT,
    )


def _rate(size: int, one: str, many: str, v: str) -> Remark:
    return Remark(
        "volume_rate",
        v,
        (
            (
                f"the divergence of the vector field is {v} at every point",
                f"the divergence of the vector field is not {v}",
            ),
            (
                f"the trace of the Jacobian matrix equals {v} everywhere",
                f"the trace of the Jacobian matrix is not equal to {v}",
            ),
            (
                f"the diagonal entries of the Jacobian matrix add up to {v} at every point",
                f"the diagonal entries of the Jacobian matrix do not add up to {v}",
            ),
            (
                f"small {many} carried along by the flow change in proportion to exp({v} t)",
                f"small {many} carried along by the flow do not change in proportion to exp({v} t)",
            ),
            (
                f"a small {one} that moves with the flow is multiplied by exp({v} t) in a time t",
                f"a small {one} that moves with the flow is not multiplied by exp({v} t) in a time t",
            ),
            (
                f"the vector field has the constant divergence {v}",
                f"the vector field does not have the constant divergence {v}",
            ),
            (
                f"the sum of the diagonal entries of the Jacobian matrix is {v}, wherever it is evaluated",
                f"the sum of the diagonal entries of the Jacobian matrix is not {v}",
            ),
            (
                f"the logarithm of a small {one} changes at the rate {v} along the flow",
                f"the logarithm of a small {one} does not change at the rate {v} along the flow",
            ),
            (
                f"adding up the derivatives of all right-hand sides, each in its own variable, gives {v}",
                f"adding up the derivatives of all right-hand sides, each in its own variable, does not give {v}",
            ),
            (
                f"the size of a small {one} is proportional to exp({v} t) while it moves with the flow",
                f"the size of a small {one} is not proportional to exp({v} t) while it moves with the flow",
            ),
        ),
        size,
        DIVERGENCE,
    )


def volumes_kept(size: int) -> Remark:
    """The flow keeps all volumes."""
    one, many = _volumes(size)
    sum_of = "the sum of the diagonal entries of the Jacobian matrix"
    return Remark(
        "volumes_kept",
        "",
        (
            (f"the flow preserves {many}", f"the flow does not preserve {many}"),
            (
                "the divergence of the vector field is zero everywhere",
                "it is not the case that the divergence of the vector field is zero everywhere",
            ),
            (
                f"small {many} of initial states keep their size",
                f"small {many} of initial states fail to keep their size",
            ),
            (
                f"a small {one} has the same size at all later times, wherever it starts",
                f"a small {one} does not in general have the same size at later times",
            ),
            (f"the flow is {one}-preserving", f"the flow is not {one}-preserving"),
            (
                "the trace of the Jacobian matrix vanishes at every point",
                "it is not the case that the trace of the Jacobian matrix vanishes at every point",
            ),
            (
                f"under the flow, every small {one} keeps its size",
                f"under the flow, not every small {one} keeps its size",
            ),
            ("the vector field is free of divergence", "the vector field is not free of divergence"),
            (f"{sum_of} is zero at all points", f"it is not the case that {sum_of} is zero at all points"),
        ),
        size,
        DIVERGENCE,
    )


def volumes_somewhere(size: int) -> Remark:
    """At some point small volumes of the flow grow."""
    one, many = _volumes(size)
    return Remark(
        "volumes_grow_somewhere",
        "",
        (
            (f"there are points at which small {many} grow", f"there is no point at which small {many} grow"),
            (
                "the divergence of the vector field is positive at some points",
                "the divergence of the vector field is never positive",
            ),
            (f"somewhere in state space a small {one} grows", f"a small {one} grows at no point of state space"),
            (
                "at some points the trace of the Jacobian matrix is positive",
                "the trace of the Jacobian matrix is positive at no point",
            ),
            (
                f"one can find states around which small {many} grow",
                f"one can find no state around which small {many} grow",
            ),
            (
                f"the flow makes a small {one} larger at one point or more",
                f"the flow makes a small {one} larger at no point",
            ),
            (
                f"small {many} grow in some part of state space",
                f"small {many} grow in no part of state space",
            ),
            (
                "the divergence of the vector field takes positive values",
                "the divergence of the vector field takes no positive values",
            ),
        ),
        size + 1,
        DIVERGENCE,
    )


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
    return Remark(
        f"volumes_{how}_everywhere",
        "",
        (
            (
                f"small {many} {how}{end} at every point of state space",
                f"there are points at which small {many} do not {how}{end}",
            ),
            (f"{test} everywhere{rest}", f"at some points it is not true that {test}{rest}"),
            (start, f"somewhere in state space a small {one} fails to {how}{end}"),
            (
                f"the {thing} makes small {many} {result} at every point",
                f"it is not the case that the {thing} makes small {many} {result} at every point",
            ),
            (
                f"everywhere in state space, small {many} {how}{end}",
                f"it is not the case that small {many} {how}{end} everywhere in state space",
            ),
            (
                f"a small {one} {how}s{end} at whatever point it lies",
                f"there are places at which a small {one} does not {how}{end}",
            ),
            (f"{test} at all points{rest}", f"it is not the case that {test} at all points{rest}"),
            (f"every small {one} gets {result}{end}", f"not every small {one} gets {result}{end}"),
        ),
        size + 1,
        DETERMINANT if discrete else DIVERGENCE,
    )


def volume_at(size: int, how: str, where: str) -> Remark:
    """At a point small volumes of a flow 'shrink' or 'grow'."""
    one, many = _volumes(size)
    sign = {"shrink": "negative", "grow": "positive"}[how]
    result = {"shrink": "smaller", "grow": "larger"}[how]
    return Remark(
        f"volumes_{how}_at",
        where,
        (
            (
                f"the divergence of the vector field is {sign} at {where}",
                f"the divergence of the vector field is not {sign} at {where}",
            ),
            (
                f"a small {one} around {where} begins to {how}",
                f"a small {one} around {where} does not begin to {how}",
            ),
            (
                f"close to {where} the flow makes small {many} {how}",
                f"close to {where} the flow does not make small {many} {how}",
            ),
            (
                f"the trace of the Jacobian matrix is {sign} at {where}",
                f"the trace of the Jacobian matrix at {where} is not {sign}",
            ),
            (
                f"at {where} the diagonal entries of the Jacobian matrix have a {sign} sum",
                f"at {where} the diagonal entries of the Jacobian matrix do not have a {sign} sum",
            ),
            (
                f"evaluated at {where}, the divergence is {sign}",
                f"evaluated at {where}, the divergence is not {sign}",
            ),
            (
                f"small {many} of initial states around {where} {how} at first",
                f"small {many} of initial states around {where} do not {how} at first",
            ),
            (
                f"the flow makes a small {one} around {where} {result} to begin with",
                f"the flow does not make a small {one} around {where} {result} to begin with",
            ),
        ),
        size + 2,
        DIVERGENCE,
    )
