"""Flows of up to four variables: each `rate` gives the time derivative. A forcing that is zero drops out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from perpend.studies.logic.chaos.system import Array, Params, Rate


def _lorenz63(_t: Array, x: Array, p: Params) -> Array:
    return np.stack([p["sigma"] * (x[1] - x[0]), x[0] * (p["rho"] - x[2]) - x[1], x[0] * x[1] - p["beta"] * x[2]])


def _rossler(_t: Array, x: Array, p: Params) -> Array:
    return np.stack([-x[1] - x[2], x[0] + p["a"] * x[1], p["b"] + x[2] * (x[0] - p["c"])])


def _chen(_t: Array, s: Array, p: Params) -> Array:
    x, y, z = s
    return np.stack([p["a"] * (y - x), (p["c"] - p["a"]) * x - x * z + p["c"] * y, x * y - p["b"] * z])


def _chua(_t: Array, s: Array, p: Params) -> Array:
    x, y, z = s
    diode = p["m1"] * x + (p["m0"] - p["m1"]) / 2 * (np.abs(x + 1) - np.abs(x - 1))
    return np.stack([p["alpha"] * (y - x - diode), x - y + z, -p["beta"] * y])


def _lorenz84(_t: Array, s: Array, p: Params) -> Array:
    x, y, z = s
    a, b = p["a"], p["b"]
    return np.stack([-(y**2) - z**2 - a * x + a * p["F"], x * y - b * x * z - y + p["G"], b * x * y + x * z - z])


def _rikitake(_t: Array, s: Array, p: Params) -> Array:
    x, y, z = s
    return np.stack([-p["mu"] * x + z * y, -p["mu"] * y + (z - p["a"]) * x, 1 - x * y])


def _hindmarsh_rose(_t: Array, s: Array, p: Params) -> Array:
    x, y, z = s
    return np.stack([y - x**3 + p["b"] * x**2 - z + p["I"], 1 - 5 * x**2 - y, p["r"] * (4 * (x + 1.6) - z)])


def _oregonator(_t: Array, s: Array, p: Params) -> Array:
    x, z = s
    return np.stack([(x * (1 - x) - p["f"] * z * (x - p["q"]) / (x + p["q"])) / p["epsilon"], x - z])


def _brusselator(t: Array, s: Array, p: Params) -> Array:
    x, y = s
    inflow = p["A"] + p["F"] * np.cos(p["omega"] * t)
    return np.stack([inflow + x**2 * y - (p["B"] + 1) * x, p["B"] * x - x**2 * y])


def _fitzhugh_nagumo(t: Array, s: Array, p: Params) -> Array:
    v, w = s
    current = p["I"] + p["A"] * np.cos(p["omega"] * t)
    return np.stack([v - v**3 / 3 - w + current, p["epsilon"] * (v + p["a"] - p["b"] * w)])


def _lotka_volterra(_t: Array, s: Array, p: Params) -> Array:
    x, y = s
    return np.stack([x * (p["a"] * (1 - p["k"] * x) - p["b"] * y), y * (p["d"] * x - p["c"])])


def _damped(_t: Array, x: Array, p: Params) -> Array:
    return np.stack([x[1], -(p["omega"] ** 2) * x[0] - 2 * p["zeta"] * p["omega"] * x[1]])


def _harmonic(_t: Array, x: Array, p: Params) -> Array:
    return np.stack([x[1], -(p["omega"] ** 2) * x[0]])


def _double_pendulum(_t: Array, s: Array, p: Params) -> Array:
    """In canonical momenta, so that without friction the divergence vanishes identically."""
    a, b, pa, pb = s
    sin, cos = np.sin(a - b), np.cos(a - b)
    d = 1 + sin**2
    h1 = pa * pb * sin / d
    h2 = (pa**2 + 2 * pb**2 - 2 * pa * pb * cos) * sin * cos / d**2
    return np.stack(
        [
            (pa - pb * cos) / d,
            (2 * pb - pa * cos) / d,
            -2 * p["g"] * np.sin(a) - h1 + h2 - p["gamma"] * pa,
            -p["g"] * np.sin(b) + h1 - h2 - p["gamma"] * pb,
        ]
    )


def _driven_pendulum(t: Array, x: Array, p: Params) -> Array:
    return np.stack([x[1], -x[1] / p["q"] - np.sin(x[0]) + p["A"] * np.cos(p["omega"] * t)])


def _duffing(t: Array, s: Array, p: Params) -> Array:
    x, v = s
    push = p["gamma"] * np.cos(p["omega"] * t)
    return np.stack([v, -p["delta"] * v - p["alpha"] * x - p["beta"] * x**3 + push])


def _van_der_pol(t: Array, s: Array, p: Params) -> Array:
    x, v = s
    return np.stack([v, p["mu"] * (1 - x**2) * v - x + p["A"] * np.cos(p["omega"] * t)])


FLOWS: Mapping[str, Rate] = {
    "brusselator": _brusselator,
    "chen_system": _chen,
    "chua_circuit": _chua,
    "damped_driven_pendulum": _driven_pendulum,
    "damped_oscillator": _damped,
    "double_pendulum": _double_pendulum,
    "duffing": _duffing,
    "fitzhugh_nagumo": _fitzhugh_nagumo,
    "hindmarsh_rose": _hindmarsh_rose,
    "lorenz63": _lorenz63,
    "lorenz84": _lorenz84,
    "lotka_volterra": _lotka_volterra,
    "oregonator": _oregonator,
    "rikitake_dynamo": _rikitake,
    "rossler": _rossler,
    "shm": _harmonic,
    "vdp": _van_der_pol,
}
