"""With CI set, nothing here is absent quietly: a test that skips fails, and so does a part without tests."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PARTS = {path.parent.name for path in HERE.glob("*/__init__.py")}
PASSED: set[str] = set()
MAY_SKIP = ("no vLLM here", "(../shared/data/public) are absent")
"""What CI does not have: another environment with vLLM, and data that the repository does not hold."""


def not_quietly(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Make a skip a failure."""
    if "CI" in os.environ and report.skipped and isinstance(report.longrepr, tuple):
        _, _, why = report.longrepr
        if not any(reason in why for reason in MAY_SKIP):
            report.outcome, report.longrepr = "failed", f"{report.nodeid} must not skip with CI set. {why}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if item.path.is_relative_to(HERE):
        not_quietly(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if collector.path.is_relative_to(HERE):
        not_quietly(report)
    return report


def absent(config: pytest.Config) -> set[str]:
    """The parts of which no test passed, where CI asked for all of them."""
    asked = {Path(config.invocation_params.dir, name).resolve() for name in config.args}
    return PARTS - PASSED if "CI" in os.environ and HERE in asked and not hasattr(config, "workerinput") else set()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" and report.passed and report.nodeid.startswith("tests/more/"):
        PASSED.add(report.nodeid.split("/")[2])


def pytest_sessionfinish(session: pytest.Session) -> None:
    if absent(session.config):
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for part in sorted(absent(config)):
        terminalreporter.write_line(f"FAILED tests/more/{part}: no test of it passed", red=True)
