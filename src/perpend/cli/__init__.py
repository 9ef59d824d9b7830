"""The verbs: parse, call one function, print, exit code. No logic lives here.

Results go to standard output, progress and messages to standard error.
"""

from __future__ import annotations

from perpend.cli import (
    asking,
    checking,
    comparing,
    inside,
    judging,
    listing,
    moving,
    planning,
    reading,
    showing,
    sweeping,
    viewing,
)  # each adds its verbs to the group
from perpend.cli.command import run
from perpend.cli.group import group as cli

__all__ = [
    "asking",
    "checking",
    "cli",
    "comparing",
    "inside",
    "judging",
    "listing",
    "main",
    "moving",
    "planning",
    "reading",
    "showing",
    "sweeping",
    "viewing",
]


def main() -> None:
    """Run the command line."""
    run(cli)
