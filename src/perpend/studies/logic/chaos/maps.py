"""Maps: each `rate` gives the next state. Angles are not reduced here; the stepper takes them modulo their turn."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from perpend.studies.logic.chaos.system import Array, Params, Rate


def _logistic(_t: Array, x: Array, p: Params) -> Array:
    return p["r"] * x * (1 - x)


def _tent(_t: Array, x: Array, p: Params) -> Array:
    return p["mu"] * np.minimum(x, 1 - x)


def _gauss(_t: Array, x: Array, p: Params) -> Array:
    return np.exp(-p["alpha"] * x**2) + p["beta"]


def _ricker(_t: Array, x: Array, p: Params) -> Array:
    return x * np.exp(p["r"] * (1 - x))


def _henon(_t: Array, x: Array, p: Params) -> Array:
    return np.stack([1 - p["a"] * x[0] ** 2 + x[1], p["b"] * x[0]])


def _lozi(_t: Array, x: Array, p: Params) -> Array:
    return np.stack([1 - p["a"] * np.abs(x[0]) + x[1], p["b"] * x[0]])


def _ikeda(_t: Array, x: Array, p: Params) -> Array:
    angle = 0.4 - 6 / (1 + x[0] ** 2 + x[1] ** 2)
    cos, sin = np.cos(angle), np.sin(angle)
    return np.stack([1 + p["u"] * (x[0] * cos - x[1] * sin), p["u"] * (x[0] * sin + x[1] * cos)])


def _burgers(_t: Array, x: Array, p: Params) -> Array:
    return np.stack([(1 - p["nu"]) * x[0] - x[1] ** 2, (1 + p["mu"] + x[0]) * x[1]])


def _cat(_t: Array, x: Array, p: Params) -> Array:
    return np.stack([x[0] + x[1], p["k"] * x[0] + (p["k"] + 1) * x[1]])


def _baker(_t: Array, x: Array, p: Params) -> Array:
    right = x[0] >= 0.5
    return np.stack([p["s"] * x[0] + (1 - p["s"]) * right, p["c"] * x[1] + (1 - p["c"]) * right])


def _circle(_t: Array, x: Array, p: Params) -> Array:
    return x + p["Omega"] - p["K"] / (2 * np.pi) * np.sin(2 * np.pi * x)


def _standard(_t: Array, x: Array, p: Params) -> Array:
    momentum = x[1] + p["K"] * np.sin(x[0])
    return np.stack([x[0] + momentum, momentum])


MAPS: Mapping[str, Rate] = {
    "arnold_cat_map": _cat, "bakers_map": _baker, "burgers_map": _burgers, "circle_map": _circle, "gauss_map":
    _gauss, "henon": _henon, "ikeda_map": _ikeda, "logistic": _logistic, "lozi_map": _lozi, "ricker_map": _ricker,
    "standard_map": _standard, "tent_map": _tent,
}  # fmt: skip
