"""Chains, a truncated PDE, the delay equation, and the drift of the stochastic process."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from perpend.studies.logic.chaos.system import Array, Params, Rate


def _lorenz96(_t: Array, x: Array, p: Params) -> Array:
    return (np.roll(x, -1, axis=0) - np.roll(x, 2, axis=0)) * np.roll(x, 1, axis=0) - x + p["F"]


def _kuramoto_sivashinsky(_t: Array, a: Array, p: Params) -> Array:
    """Sine modes of u_t = (u²)_x − u_xx − ν u_xxxx on an interval of length 2π, odd solutions only."""
    n = len(a)
    k = np.arange(1, n + 1, dtype=np.float64).reshape(-1, *(1,) * (a.ndim - 1))
    # a[-k] = -a[k], a[0] = 0: the whole line of modes -n … n, of which products with sum k are added.
    line = np.concatenate([-a[::-1], np.zeros_like(a[:1]), a])
    total = np.empty_like(a)
    for mode in range(1, n + 1):
        total[mode - 1] = (line[mode : 2 * n + 1] * line[mode : 2 * n + 1][::-1]).sum(axis=0)
    rate: Array = (k**2 - p["nu"] * k**4) * a - k * total
    return rate


def _sine_gordon(t: Array, s: Array, p: Params) -> Array:
    half = len(s) // 2
    u, v = s[:half], s[half:]
    spring: Array = p["kappa"] * (np.roll(u, 1, axis=0) - 2 * u + np.roll(u, -1, axis=0))
    force = spring - np.sin(u) - p["alpha"] * v + p["gamma"] * np.cos(p["omega"] * t)
    return np.concatenate([v, force])


def _mackey_glass(_t: Array, x: Array, p: Params) -> Array:
    """x[0] is the state now, x[1] the state one delay ago."""
    rate: Array = p["beta"] * x[1] / (1 + np.abs(x[1]) ** p["n"]) - p["gamma"] * x[0]
    return rate[None]


def _ornstein_uhlenbeck(_t: Array, x: Array, p: Params) -> Array:
    """The drift alone: what is left when the noise is zero. Noisy instances are never integrated."""
    return -p["theta"] * x


EXTENDED: Mapping[str, Rate] = {
    "kuramoto_sivashinsky": _kuramoto_sivashinsky,
    "lorenz96": _lorenz96,
    "mackey_glass": _mackey_glass,
    "ornstein_uhlenbeck": _ornstein_uhlenbeck,
    "sine_gordon": _sine_gordon,
}
