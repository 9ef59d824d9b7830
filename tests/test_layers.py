"""The shape of the package: imports point down, importing costs nothing, nothing catches everything."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import perpend

SOURCE = Path(perpend.__file__).parent
# Lower imports nothing from higher. Modules on one line may not import each other; a folder is one name.
LEVELS = (
    "errors canon inert progress verify",
    "types resolve database leaks receipt command",
    "text stats signature",
    "data spec conditions scorers plan",
    "flags rows",
    "store",
    "models ledger",
    "compose",
    "manifest score",
    "run measure published attempts gates",
    "claims inside datasets",
    "reports compat",
    "analyze compare export",
    "derived",
    "publish",
    "audit",
    "tasks api checkpoint",
    "demo",
    "__init__",
    "cli chaosbench",
)
RANK = {name: rank for rank, line in enumerate(LEVELS) for name in line.split()}
MODULES = sorted(SOURCE.rglob("*.py"))


def unit(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """The units of perpend that a module imports, TYPE_CHECKING blocks aside."""
    found: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "perpend":
            parts = node.module.split(".")
            found.update([parts[1]] if len(parts) > 1 else [alias.name for alias in node.names])
        elif isinstance(node, ast.Import):
            found.update(alias.name.split(".")[1] for alias in node.names if alias.name.startswith("perpend."))
    return {name if name in RANK else "__init__" for name in found}


def test_every_module_has_a_place() -> None:
    assert {unit(path) for path in MODULES} <= set(RANK)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_imports_point_down(path: Path) -> None:
    own = unit(path)
    wrong = {name for name in imports(path) if name not in (own, "__init__") and RANK[name] >= RANK[own]}
    assert not wrong, f"{own} (level {RANK[own]}) imports {sorted(wrong)}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_nothing_catches_everything_and_sql_stays_at_home(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ExceptHandler):
            caught = ast.unparse(node.type) if node.type else "everything"
            # canon.write_atomic and store's transaction clean up and raise again.
            reraised = any(isinstance(inner, ast.Raise) and inner.exc is None for inner in ast.walk(node))
            assert caught not in ("everything", "Exception")
            assert caught != "BaseException" or reraised
    if unit(path) not in ("store", "ledger", "database", "compat"):
        assert "SELECT " not in text, "SQL lives in store.py, ledger.py, database.py and compat/"


def test_importing_perpend_and_its_command_line_loads_nothing_heavy() -> None:
    heavy = ["numpy", "scipy", "matplotlib", "statsmodels", "aiohttp", "rich", "sqlite3"]
    code = f"import sys, perpend.cli; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_can_be_had_and_no_other() -> None:
    for name in perpend.__all__:
        assert getattr(perpend, name) is not None
    assert dir(perpend) == sorted(perpend.__all__)
    assert len(perpend.__all__) <= 25
    with pytest.raises(AttributeError, match="no attribute 'evaluat'"):
        _ = perpend.evaluat
